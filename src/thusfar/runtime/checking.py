"""Checking: the arguments of a plan are what they have to be, before anything is read or run.

An argument of the wrong kind is refused by its name: one that was passed over would plan another
request than its author meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from thusfar._history import ExactHistory, ManagedHistory, RecentHistory
from thusfar._summarize import SummarizeStrategy, SummaryOptions, can_write
from thusfar.errors import OptionsError
from thusfar.planner.facts import Fingerprint
from thusfar.runtime.counting import ProviderCount
from thusfar.thread.handle import Thread

_POLICIES: Final = (ExactHistory, RecentHistory, ManagedHistory)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | Mapping)


def _is_dialect(value: Any) -> bool:
    return isinstance(value, str) or callable(getattr(value, "describe", None))


def _is_planned(value: Any) -> bool:
    return hasattr(value, "epoch") and hasattr(value, "fingerprint")


def _is_previous(value: Any) -> bool:
    return isinstance(value, Fingerprint) or hasattr(value, "fingerprint")


_KINDS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "tools": (_is_list, "Pass a list of tool definitions."),
    "use": (_is_list, "Pass a list of a policy, context(...) and the wrappers around it."),
    "policy": (
        lambda value: isinstance(value, _POLICIES),
        "Pass history.exact(), history.recent(...) or history(...).",
    ),
    "thread": (lambda value: isinstance(value, Thread), "Pass a Thread."),
    "at": (lambda value: isinstance(value, str), "Pass the id of a message of the thread."),
    "dialect": (_is_dialect, "Pass the name of a dialect."),
    "wire": (_is_dialect, "Pass the name of a dialect."),
    "leave_out": (lambda value: isinstance(value, bool), "Pass True or False."),
    "cache": (lambda value: isinstance(value, bool), "Pass True or False."),
    "count_tokens": (
        lambda value: callable(value) or isinstance(value, ProviderCount),
        "Pass a function of messages, system, tools and schema.",
    ),
    "conversation": (lambda value: isinstance(value, str), "Pass a name as text."),
    "previous": (_is_previous, "Pass what plan() returned for the request before."),
    "within": (_is_planned, "Pass what plan() returned for the request before."),
    "resources": (lambda value: isinstance(value, Mapping), "Pass a mapping of names to values."),
}


def check_kinds(caller: str, options: Mapping[str, Any]) -> None:
    """Check that every argument is of its kind; `None` stands for one that was not given.

    Args:
        caller: Name of the function that was called.
        options: Its arguments, by name.

    Raises:
        OptionsError: `INVALID_OPTIONS`, naming the first that is not.
    """
    for name, value in options.items():
        if value is None or name not in _KINDS:
            continue
        fits, fix = _KINDS[name]
        if not fits(value):
            if name == "policy" and isinstance(value, SummarizeStrategy | SummaryOptions):
                fix = "Pass it to a policy: history(summary=...)."
            raise wrong_kind(f"{caller}()", name, value, fix)
    if options.get("at") is not None and options.get("thread") is None:
        raise OptionsError(
            f"{caller}() got at= without a thread.",
            fix="Pass thread=, or leave at= out.",
            option="at",
        )


def check_runtime(store: Any, summariser: Any, host: Any, on_event: Any) -> None:
    """Check what a runtime is made of.

    Raises:
        OptionsError: `INVALID_OPTIONS`, naming the argument.
    """
    if store is not None:
        check_store("Runtime()", store)
    if summariser is not None and not can_write(summariser):
        fix = "Pass a model with generate_text, or a function of that shape."
        raise wrong_kind("Runtime()", "summariser", summariser, fix)
    if host is not None and not callable(getattr(host, "retain", None)):
        raise wrong_kind("Runtime()", "host", host, "Pass an object with retain(job).")
    if on_event is not None and not callable(on_event):
        raise wrong_kind("Runtime()", "on_event", on_event, "Pass a function of one event.")


def check_store(owner: str, store: Any) -> None:
    """Check that something can keep and find things.

    Raises:
        OptionsError: `INVALID_OPTIONS`, where it cannot.
    """
    if not (hasattr(store, "run") and hasattr(store, "arun")):
        raise wrong_kind(owner, "store", store, "Pass what open_store(...) returned.")


def wrong_kind(owner: str, option: str, value: Any, fix: str) -> OptionsError:
    """Make the error for an argument of the wrong kind.

    Args:
        owner: What was given it.
        option: Its name.
        value: What was given; only its type is told.
        fix: What to pass.
    """
    return OptionsError(f"{owner} got {option}= as {type(value).__name__}.", fix=fix, option=option)
