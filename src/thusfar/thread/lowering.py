"""Lowering: a transcript in the wire format of a provider that may not have written it.

A result that names no tool gets the name of its call where the format needs one. What has no form
in the format raises, or is left out by an explicit option and counted; it never vanishes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from thusfar.codec import to_json
from thusfar.dialects.base import Dialect
from thusfar.errors import UnsupportedPartError
from thusfar.messages import Message, Part, ToolCall, ToolResult


class Lowered(NamedTuple):
    """A transcript in a wire format.

    Attributes:
        messages: In order.
        left_out: Parts that have no form there and were left out.
    """

    messages: list[Any]
    left_out: int


def lower_all(
    messages: Iterable[Message],
    target: Dialect,
    *,
    leave_out: bool = False,
    as_json: bool = True,
) -> Lowered:
    """Convert messages to a wire format.

    Args:
        messages: The messages, oldest first.
        target: The wire format.
        leave_out: Whether parts with no form there are left out. Calls and results never are.
        as_json: Whether messages are plain JSON values also where the format is one of objects.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form there.
    """
    names: dict[str, str] = {}
    lowered: list[Any] = []
    write = _plain if as_json else _as_it_is
    lost = 0
    for message in messages:
        names.update((p.id, p.name) for p in message.parts if isinstance(p, ToolCall) and p.id)
        if (written := _tried(message, target)) is not None:
            lowered += map(write, written)
            continue
        kept, left_out = _named(message, names), 0
        if leave_out and not _fits(kept, target):
            kept, left_out = _without(kept, target)
        lost += left_out
        if kept.parts or not left_out:
            lowered += map(write, target.lower(kept))
    return Lowered(lowered, lost)


def _as_it_is(wire: Any) -> Any:
    return wire


def _plain(wire: Any) -> Any:
    """Write a message as JSON values; an object of LangChain as its `messages_to_dict` does."""
    if type(wire).__module__.startswith("langchain_core."):
        return {"type": wire.type, "data": to_json(wire)}
    return to_json(wire)


def _tried(message: Message, target: Dialect) -> tuple[Any, ...] | None:
    try:
        return target.lower(message)
    except UnsupportedPartError:
        return None


def _fits(message: Message, target: Dialect) -> bool:
    return _tried(message, target) is not None


def _named(message: Message, names: dict[str, str]) -> Message:
    """Give each result without a tool name the name of the call that it answers."""
    parts = tuple(
        msgspec.structs.replace(part, name=names[part.call_id])
        if isinstance(part, ToolResult) and not part.name and part.call_id in names
        else part
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)


def _without(message: Message, target: Dialect) -> tuple[Message, int]:
    """Leave out the parts that have no form, also inside results; calls and results stay."""
    kept: list[Part] = []
    lost = 0
    for part in message.parts:
        if isinstance(part, ToolCall) or _fits(_alone(message, part), target):
            kept.append(part)
        elif isinstance(part, ToolResult):
            inner = tuple(
                each
                for each in part.parts
                if _fits(_alone(message, msgspec.structs.replace(part, parts=(each,))), target)
            )
            lost += len(part.parts) - len(inner)
            kept.append(msgspec.structs.replace(part, parts=inner))
        else:
            lost += 1
    return msgspec.structs.replace(message, parts=tuple(kept)), lost


def _alone(message: Message, part: Part) -> Message:
    return msgspec.structs.replace(message, parts=(part,))
