"""Check a store: the conformance suite for anything that claims to keep threads.

Each law is a function with a sentence for a name. It works in a namespace of its own, so the suite
may run on a database that is in use.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

from thusfar.errors import OptionsError
from thusfar.storage.base import Store
from thusfar.testing.store_laws import (
    appending,
    branching,
    erasing,
    keeping,
    racing,
    reading,
    running,
    searching,
    whole,
)

Law = Callable[[Store], None]


def list_laws() -> dict[str, Law]:
    """List the laws by name: what holds for every store.

    Example:
        >>> "an_append_is_read_back_equal" in list_laws()
        True
    """
    found: dict[str, Law] = {}
    modules = (
        appending,
        reading,
        searching,
        branching,
        racing,
        erasing,
        keeping,
        whole,
        running,
    )
    for module in modules:
        for name, value in vars(module).items():
            own = callable(value) and getattr(value, "__module__", "") == module.__name__
            if own and not name.startswith("_"):
                found[name] = value
    return found


def check_store(store: Store) -> tuple[str, ...]:
    """Run every law against a store.

    Args:
        store: A store that can be written. Rows stay behind, in namespaces of their own.

    Returns:
        Names of the laws that were checked.

    Raises:
        AssertionError: for the first law that does not hold: its sentence, and what was expected
            or raised instead.
        OptionsError: `INVALID_OPTIONS`, for what is no store, and under `python -O`, which takes
            every expectation out of the laws.

    Example:
        >>> from thusfar.storage import open_store
        >>> len(check_store(open_store("memory:"))) > 40
        True
    """
    _require_store(store)
    laws = list_laws()
    for name, law in laws.items():
        check_law(store, law, name)
    return tuple(laws)


def check_law(store: Any, law: Law, name: str) -> None:
    """Run one law in a namespace of its own.

    Raises:
        AssertionError: when it does not hold, or when anything else is raised meanwhile; the
            message names the law.
    """
    try:
        law(store.within(f"check-{os.urandom(8).hex()}"))
    except Exception as error:
        sentence = name.replace("_", " ")
        raise AssertionError(f"A store broke a law: {sentence}. {_told(error)}") from error


def _told(error: Exception) -> str:
    """Say what a law expected, or what was raised in its place."""
    if not isinstance(error, AssertionError):
        return f"It raised {type(error).__name__}: {error}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"It expected: {last.line}{f' ({error})' if str(error) else ''}"


def _require_store(store: object) -> None:
    if not __debug__:
        raise OptionsError(
            "The laws of a store were checked by an interpreter that leaves out expectations.",
            fix="Run it without -O and PYTHONOPTIMIZE.",
        )
    callables = ("clock", "within", "run", "arun", "close", "aclose")
    missing = [name for name in callables if not callable(getattr(store, name, None))]
    missing += [] if isinstance(getattr(store, "namespace", None), str) else ["namespace"]
    if missing:
        raise OptionsError(
            f"What was to be checked is no store: it lacks {', '.join(missing)}.",
            fix="Pass an object with all that thusfar.storage.Store asks for.",
        )
