"""Crossing: messages of one wire written on another one, with the calls and media it demands.

Source:
    docs/spec/placement.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thusfar.dialects.base import Dialect
from thusfar.dialects.gemini import with_result_names
from thusfar.dialects.placement import PROVIDERS, PlacementNote
from thusfar.dialects.placement_calls import complete_calls
from thusfar.dialects.placement_media import WITHOUT_MEDIA, media_behind_results
from thusfar.errors import UnsupportedPartError
from thusfar.messages import Message
from thusfar.thread.lowering import lower_all


class Crossed(NamedTuple):
    """Messages on another wire.

    Attributes:
        messages: In order.
        origins: Position of the message that each was written from.
        notes: What was changed to write them, with positions of those messages.
    """

    messages: list[Any]
    origins: list[int]
    notes: tuple[PlacementNote, ...]


def crossed(
    messages: Sequence[Any], dialect: Dialect, wire: Dialect, *, leave_out: bool
) -> Crossed:
    """Write messages of a dialect on another wire.

    Args:
        messages: The messages, oldest first.
        dialect: What they are in.
        wire: The format that is sent.
        leave_out: Whether parts with no form there are left out.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on the wire.
    """
    canonical = list(map(dialect.lift, messages))
    notes: tuple[PlacementNote, ...] = ()
    if wire.name in PROVIDERS:
        canonical, notes = complete_calls(canonical, wire.name)
    else:
        canonical = list(with_result_names(canonical))
    places: Sequence[int] = range(len(canonical))
    if wire.name in WITHOUT_MEDIA:
        canonical, places, moved = media_behind_results(canonical)
        notes = (*notes, PlacementNote(code="media-moved", positions=moved)) if moved else notes
    made: list[Any] = []
    origins: list[int] = []
    lost: list[int] = []
    for position, message in zip(places, canonical, strict=True):
        written: Sequence[Any]
        try:
            written = wire.lower(message)
        except UnsupportedPartError:
            written, left_out = lower_all([message], wire, leave_out=leave_out, as_json=False)
            lost += [position] if left_out else []
        made += written
        origins += [position] * len(written)
    if lost:
        notes = (*notes, PlacementNote(code="parts-left-out", positions=tuple(lost)))
    return Crossed(made, origins, notes)


def written_in(messages: Sequence[Message], own: Dialect) -> tuple[Any, ...]:
    """Write canonical messages in a dialect; what has no form there is left out."""
    if own.name in WITHOUT_MEDIA:
        messages = media_behind_results(messages).messages
    return tuple(lower_all(messages, own, leave_out=True, as_json=False).messages)
