"""Lists: messages that stand in a list, one a line, or in an object of our own command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from thusfar.dialects import detect
from thusfar.errors import TranscriptError
from thusfar.sources.bodies import load_request
from thusfar.sources.loaded import Loaded, require_fit, unreadable


def load_list(
    messages: Sequence[Any], name: str | None = None, *, lines: Sequence[int] = ()
) -> Loaded:
    """Read messages that are given as such.

    Args:
        messages: The messages, in order; the same objects are given back.
        name: Dialect they are in; `None` to detect it.
        lines: Line of each, where they stood one a line.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when they are of no dialect, or of several that
            disagree, naming the line or position.
    """
    if name is None:
        _refuse_transcripts(messages)
        try:
            name = detect(messages).name
        except TranscriptError as error:
            raise _with_line(error, lines) from None
    else:
        require_fit(name, messages, lines=lines)
    return Loaded(
        kind="messages",
        dialect=name,
        messages=tuple(messages),
        facts={"messages": len(messages)},
    )


def load_wrapped(value: Mapping[str, Any], name: str | None = None) -> Loaded:
    """Read the object that our own command line prints: messages beside a receipt."""
    own = value.get("dialect")
    return load_list(value["messages"], name or (own if isinstance(own, str) else None))


def load_planned(value: Mapping[str, Any], name: str | None = None) -> Loaded | None:
    """Read the object that `thusfar plan --json` prints: a request beside a receipt.

    Returns:
        The messages, with what the request says besides; `None` when it is no such object.
    """
    request = value.get("request")
    if "receipt" not in value or not isinstance(request, Mapping):
        return None
    loaded = load_request(request, name)
    return None if loaded is None else replace(loaded, kind="messages")


def _refuse_transcripts(messages: Sequence[Any]) -> None:
    """Refuse a list of whole requests or lists, which is several transcripts, not one."""
    for each in messages:
        held = each.get("messages", each.get("contents")) if isinstance(each, Mapping) else each
        if isinstance(held, list):
            raise unreadable(
                f"The input holds {len(messages)} transcripts.",
                fix="Pass one of them at a time.",
                transcripts=len(messages),
            )


def _with_line(error: TranscriptError, lines: Sequence[int]) -> TranscriptError:
    """Add the line to an error about a position."""
    position = error.facts.get("position")
    if not lines or not isinstance(position, int):
        return error
    line = lines[position]
    facts = {**error.facts, "line": line}
    return unreadable(f"{error.args[0]} It is on line {line}.", fix=error.fix, **facts)
