"""Shortening: old tool results cut to a head and a tail, old images to a reference.

The first loss that may be authorised, before any summary. What was cut is marked in place; the
caller's messages are not touched.

Source:
    docs/spec/planner.md#shorten
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from thusfar.dialects.base import Dialect
from thusfar.messages import Audio, File, Image, Message, Text, ToolResult
from thusfar.summaries.rendering import shortened_to
from thusfar.tokens import Measure


def shorten_message(
    message: Any, dialect: Dialect, measure: Measure, *, most: int
) -> tuple[Any, ...] | None:
    """Shorten one old message.

    Args:
        message: The caller's message.
        dialect: Its wire format.
        measure: Counts texts.
        most: Tool results with more tokens than this are cut. Unit: tokens.

    Returns:
        What is sent instead; `None` where nothing is cut.
    """
    facts = dialect.describe(message)
    if not facts.results and not dialect.content(message).media:
        return None
    lifted = dialect.lift(message)
    parts = tuple(_shorter(part, measure, most) for part in lifted.parts)
    if parts == lifted.parts:
        return None
    return dialect.lower(Message(lifted.role, parts, id=lifted.id, name=lifted.name))


def _shorter(part: Any, measure: Measure, most: int) -> Any:
    match part:
        case ToolResult(parts=inner):
            made = _shorter_inside(inner, measure, most)
            return part if made == inner else msgspec.structs.replace(part, parts=made, wire="")
        case Image() | Audio() | File():
            return _reference(part)
        case _:
            return part


def _shorter_inside(inner: Sequence[Any], measure: Measure, most: int) -> tuple[Any, ...]:
    """Shorten what a tool returned; texts that are too long together become one."""
    media = (Image, Audio, File)
    told = tuple(_reference(part) if isinstance(part, media) else part for part in inner)
    texts = [part.text for part in told if isinstance(part, Text)]
    if sum(measure.texts(texts)) <= most:
        return told
    whole = "\n".join(texts)
    cut = shortened_to(whole, most, measure)
    if cut == whole:
        return told
    return (Text(cut), *(part for part in told if not isinstance(part, Text)))


def _reference(part: Image | Audio | File) -> Text:
    name = f" {part.name}" if part.name else ""
    return Text(f"[{type(part).__name__.lower()}{name} left out]")


def shorten_before(
    messages: Sequence[Any], dialect: Dialect, measure: Measure, *, end: int, most: int
) -> dict[int, tuple[Any, ...]]:
    """Shorten the messages before a position.

    Returns:
        What is sent instead, by position; only what changed.
    """
    made: dict[int, tuple[Any, ...]] = {}
    for position in range(end):
        shorter = shorten_message(messages[position], dialect, measure, most=most)
        if shorter is not None:
            made[position] = shorter
    return made


def oldest_first(saved: Mapping[int, int]) -> list[list[int]]:
    """List which messages to shorten: some of the oldest, then more, at last all of them.

    The steps stay where they are until there are twice as many messages to shorten, so that the
    head of a request does not change with every turn.

    Args:
        saved: What shortening saves, by position; what saves nothing is never shortened. Unit:
            tokens.
    """
    places = sorted(place for place, tokens in saved.items() if tokens > 0)
    step = max(1, 1 << max(0, len(places).bit_length() - 2))
    ends = [*range(step, len(places), step), len(places)] if places else []
    return [places[:end] for end in ends]
