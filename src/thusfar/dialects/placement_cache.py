"""Cache breakpoints: marks behind what stays the same, where a provider caches up to marks.

Source:
    docs/spec/placement.md#cache
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from thusfar.dialects.base import plain
from thusfar.dialects.placement_turns import Block, opened_blocks

MARKING: Final = frozenset({"anthropic", "bedrock-converse"})
"""Wires whose provider caches up to marks; the others cache by themselves."""

_CLAUDE: Final = "claude"  # Bedrock refuses cache points for models that cannot cache
_ANTHROPIC: Final = {"cache_control": {"type": "ephemeral"}}
_CONVERSE: Final = {"cachePoint": {"type": "default"}}
_UNMARKABLE: Final = frozenset({"thinking", "redacted_thinking"})


class Marked(NamedTuple):
    """A request with its cache breakpoints.

    Attributes:
        messages: The messages; copies of those that were marked.
        system: The system value; a list of blocks where it was marked.
        tools: The tool definitions; a marked copy of the last where there is no system value.
        at: Indexes of the messages that were marked.
        marked: Whether anything was.
    """

    messages: list[Any]
    system: Any
    tools: tuple[Any, ...]
    at: tuple[int, ...] = ()
    marked: bool = False


def breakpoints(
    wire: str,
    messages: Sequence[Any],
    *,
    system: Any = None,
    tools: Sequence[Any] = (),
    model: str | None = None,
    stable: int = 0,
) -> Marked:
    """Set cache breakpoints behind the system value, the stable head and the newest message.

    Nothing is set where the caller set one anywhere, where the wire has none, and on Bedrock for a
    model that is not known to cache. At most three of the four that are allowed are used.

    Args:
        wire: Name of the wire format.
        messages: The messages as placed.
        system: The system value as placed.
        tools: The tool definitions as placed.
        model: Name of the model.
        stable: How many of the messages are the same in the next request: those up to the end of
            the summary. 0: not known.

    Returns:
        The request; the very values given where nothing is set.
    """
    given = Marked(list(messages), system, tuple(tools))
    converse = wire == "bedrock-converse"
    caching = wire in MARKING and (not converse or _CLAUDE in (model or "").lower())
    if not caching or _count((*given.tools, *_blocks(system)), messages):
        return given
    made = given.messages
    if system:
        system = _marked_list(_blocks(system), converse=converse)
    elif given.tools:
        given = given._replace(tools=tuple(_marked_list(given.tools, converse=converse)))
    at: list[int] = []
    for place in dict.fromkeys((stable - 1, len(made) - 1)):
        if 0 <= place < len(made) and (copy := _marked(made[place], converse=converse)) is not None:
            made[place] = copy
            at.append(place)
    return given._replace(system=system, at=tuple(at), marked=bool(at or system or given.tools))


def _blocks(system: Any) -> list[Any]:
    if isinstance(system, str):
        return [{"type": "text", "text": system}] if system else []
    return list(system) if isinstance(system, list | tuple) else []


def _count(blocks: Sequence[Any], messages: Sequence[Any]) -> int:
    bodies = [plain(message) or {} for message in messages]
    held = [*blocks, *(block for body in bodies for block in opened_blocks(body, "content"))]
    inner = [
        block
        for outer in held
        if isinstance(outer, Mapping)
        for value in (outer, outer.get("toolResult"))
        if isinstance(value, Mapping)
        for block in opened_blocks(value, "content")
    ]
    return sum(
        isinstance(block, Mapping)
        and (block.get("cache_control") is not None or "cachePoint" in block)
        for block in (*held, *inner)
    )


def _marked_list(blocks: Sequence[Any], *, converse: bool) -> list[Any]:
    """Mark the end of a list of system blocks or of tools."""
    if converse:
        own = [{"text": b["text"]} if _is_typed_text(b) else b for b in blocks]
        return [*own, _CONVERSE]
    return [*blocks[:-1], {**(plain(blocks[-1]) or {}), **_ANTHROPIC}]


def _is_typed_text(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text"


def _marked(message: Any, *, converse: bool) -> Any:
    """Copy a message with a mark behind its last block that can bear one; `None` if none can."""
    body = plain(message) or {}
    content = body.get("content")
    if isinstance(content, str):
        blocks: list[Block] = [{"type": "text", "text": content}] if content.strip() else []
    else:
        blocks = opened_blocks(body, "content")
    if converse:
        return {**body, "content": [*blocks, _CONVERSE]} if blocks else None
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        blank = block.get("type") == "text" and not str(block.get("text", "")).strip()
        if block.get("type") not in _UNMARKABLE and not blank:
            marked = {**block, **_ANTHROPIC}
            return {**body, "content": [*blocks[:place], marked, *blocks[place + 1 :]]}
    return None
