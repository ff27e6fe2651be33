"""Dialects: one per wire format, a registry, and detection from the messages looked at.

The modules of the dialects are imported when one of them is first asked for, so that importing
the package costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from thusfar.dialects.base import Dialect, DialectMismatch, as_sequence
from thusfar.errors import OptionsError, TranscriptError
from thusfar.facts import Facts

__all__ = [
    "DIALECTS",
    "Dialect",
    "DialectMismatch",
    "candidates",
    "detect",
    "dialect",
    "ordered",
    "register",
]

_HOMES: Final = {
    "openai-chat": ("openai_chat", "OPENAI_CHAT"),
    "openai-responses": ("openai_responses", "OPENAI_RESPONSES"),
    "anthropic": ("anthropic", "ANTHROPIC"),
    "gemini": ("gemini", "GEMINI"),
    "bedrock-converse": ("bedrock_converse", "BEDROCK_CONVERSE"),
    "thusfar": ("thusfar_json", "THUSFAR_JSON"),
    "langchain": ("langchain", "LANGCHAIN"),
    "pydantic-ai": ("pydantic_ai", "PYDANTIC_AI"),
}

DIALECTS: Final[tuple[str, ...]] = tuple(_HOMES)
"""Names of the dialects that come with the library, in the order in which they are tried."""

_VERBS: Final = ("describe", "content", "lift", "lower")
_loaded: dict[str, Dialect] = {}
_registered: dict[str, Dialect] = {}


def dialect(name: str) -> Dialect:
    """Return the dialect of that name.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when there is none; the fix lists the names.
    """
    if not isinstance(name, str) or (name not in _HOMES and name not in _registered):
        known = ", ".join((*DIALECTS, *_registered))
        raise OptionsError(
            "A dialect was asked for that does not exist.",
            fix=f"Use one of: {known}.",
            option="dialect",
        )
    if name in _HOMES and name not in _loaded:
        module, instance = _HOMES[name]
        _loaded[name] = getattr(import_module(f"thusfar.dialects.{module}"), instance)
    return _loaded.get(name) or _registered[name]


def register(new: Dialect) -> None:
    """Add a dialect for this process; it is tried after all others.

    Registering the same name again replaces the earlier one.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when the name belongs to a dialect of the library or
            when the value does not look like a dialect.
    """
    if not is_dialect(new):
        raise OptionsError(
            "A value was registered that is not a dialect.",
            fix=f"Give it a name and the methods {', '.join(_VERBS)}.",
        )
    name = new.name
    if name in _HOMES:
        raise OptionsError(
            f"The name {name!r} belongs to a dialect of the library.",
            fix="Register yours under another name.",
        )
    _registered[name] = new


def is_dialect(value: Any) -> bool:
    """Tell whether a value has the name and the methods of a dialect; its class has not."""
    return (
        not isinstance(value, type)
        and isinstance(getattr(value, "name", None), str)
        and all(callable(getattr(value, verb, None)) for verb in _VERBS)
    )


def ordered() -> Iterator[Dialect]:
    """Yield every dialect in the order in which detection tries them, loading it then."""
    yield from map(dialect, DIALECTS)
    yield from tuple(_registered.values())


def candidates(message: Any) -> tuple[Dialect, ...]:
    """Return the dialects that one message could be in, in order; empty when there is none."""
    return tuple(each for each in ordered() if not isinstance(_facts(each, message), int))


def detect(messages: Iterable[Any]) -> Dialect:
    """Find the dialect that describes all of the messages given.

    Where several do and agree on the facts of every message, the first in order is taken
    (openai-chat, where it is among them), since planning cannot tell them apart. An empty
    list is openai-chat.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when no dialect describes every message, naming
            the first position at which the best candidates stopped; or when several do and
            disagree, naming them and the first position of their disagreement.

    Source:
        docs/spec/dialects.md#detection
    """
    rows = as_sequence(messages)
    if not rows:
        return dialect(DIALECTS[0])
    fitting: list[tuple[Dialect, list[Facts]]] = []
    stopped: dict[str, int] = {}
    for each in ordered():
        described = _describe_all(each, rows)
        if isinstance(described, int):
            stopped[each.name] = described
        else:
            fitting.append((each, described))
    if not fitting:
        raise _no_dialect(stopped)
    _require_agreement(fitting)
    return fitting[0][0]


def _facts(each: Dialect, message: Any) -> Facts | int:
    described = _describe_all(each, (message,))
    return described if isinstance(described, int) else described[0]


def _describe_all(each: Dialect, rows: Iterable[Any]) -> list[Facts] | int:
    """Describe the messages, or return the position of the first that does not fit."""
    described: list[Facts] = []
    try:
        for row in rows:
            described.append(each.describe(row))
    except DialectMismatch:
        return len(described)
    return described


def _require_agreement(fitting: list[tuple[Dialect, list[Facts]]]) -> None:
    first, expected = fitting[0]
    for other, described in fitting[1:]:
        if described == expected:
            continue
        position = next(
            i for i, pair in enumerate(zip(expected, described, strict=True)) if pair[0] != pair[1]
        )
        raise TranscriptError(
            f"The messages fit {first.name} and {other.name}, which disagree about message "
            f"{position}.",
            fix=f"Pass dialect={first.name!r} or dialect={other.name!r}.",
            position=position,
            dialects=tuple(each.name for each, _ in fitting),
        )


def _no_dialect(stopped: dict[str, int]) -> TranscriptError:
    position = max(stopped.values())
    best = tuple(name for name, place in stopped.items() if place == position)
    if position == 0:
        return TranscriptError(
            "The first message fits no dialect.",
            fix=f"Pass messages in one of: {', '.join(stopped)}.",
            position=0,
        )
    return TranscriptError(
        f"No dialect fits all messages: {', '.join(best)} came furthest, up to message {position}.",
        fix=f"Correct the message at position {position}, or convert the list to one dialect.",
        position=position,
        dialects=best,
    )
