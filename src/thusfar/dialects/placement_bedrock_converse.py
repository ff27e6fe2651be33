"""Placement for Bedrock's Converse API.

Source:
    docs/spec/placement.md#bedrock-converse
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.placement_ids import IdRule, rename_ids, rename_tools, tool_names
from thusfar.dialects.placement_system import joined_blocks, joined_system
from thusfar.dialects.placement_thoughts import loop_start, strip_thoughts
from thusfar.dialects.placement_turns import (
    Block,
    Entry,
    Joining,
    Key,
    Kind,
    begin_with_user,
    fence_system,
    fill_or_leave_out,
    gather_results,
    join_summary,
    join_turns,
    opened_blocks,
    read_entries,
    without_system_run,
    written,
)
from thusfar.dialects.placement_values import DOCUMENT, EMPTY, GONE, Notes, Placed
from thusfar.dialects.shapes import role_at

IDS: Final = IdRule("a-zA-Z0-9_.:-", 64, unique="message")
NAMES: Final = IdRule("a-zA-Z0-9_-", 64)


class ConverseBlocks:
    """How Converse writes messages; see `BlockWire`."""

    joining: Final[Joining] = "all"

    def read(self, body: Block) -> tuple[str, list[Block]]:
        """Give the role and the blocks."""
        return role_at(body), opened_blocks(body, "content")

    def write(self, body: Block, role: str, blocks: list[Block]) -> dict[str, Any]:
        """Write a message."""
        return {**body, "role": role, "content": list(blocks)}

    def kind(self, block: Block) -> Kind:
        """Tell what a block is."""
        if "text" in block:
            return "text"
        for key, kind in _HELD.items():
            if isinstance(held := block.get(key), Mapping):
                return kind if held.get("type") in (None, "tool_use", "tool_result") else "other"
        if "reasoningContent" in block:
            return "thought"
        return "mark" if "cachePoint" in block else "other"

    def text(self, block: Block) -> str:
        """Read a text block."""
        return str(block.get("text", ""))

    def said(self, text: str) -> Block:
        """Write a text block."""
        return {"text": text}

    def key(self, block: Block) -> Key:
        """Read what a call or a result pairs by."""
        held = block[_key_of(block)]
        call_id, name = held.get("toolUseId"), held.get("name")
        return call_id if isinstance(call_id, str) else None, name if name else None

    def with_key(self, block: Block, key: Key) -> Block:
        """Copy a call or a result with another id, a call also with another name."""
        kind = _key_of(block)
        named = {"name": key[1]} if kind == "toolUse" else {}
        return {**block, kind: {**block[kind], "toolUseId": key[0], **named}}


_HELD: Final[dict[str, Kind]] = {"toolUse": "call", "toolResult": "result"}
WIRE: Final = ConverseBlocks()


def _key_of(block: Block) -> str:
    return "toolUse" if "toolUse" in block else "toolResult"


def place_bedrock_converse(
    messages: Sequence[Any],
    *,
    system: Any,
    tools: Sequence[Any] | None,
    model: str | None,  # noqa: ARG001 - all wires are placed alike
    spoken: int,
    prefix_kept: bool,
) -> Placed:
    """Place a view; see `thusfar.dialects.placement.place`."""
    notes = Notes()
    run, entries = without_system_run(read_entries(WIRE, messages, notes))
    system = _with_run(system, run)
    entries = _without_empty(entries, notes)
    entries = join_summary(entries, spoken, notes)
    entries = fence_system(WIRE, entries, notes, inline=lambda _: False)
    entries = gather_results(WIRE, entries, notes)
    entries = join_turns(WIRE, entries, notes)
    if not prefix_kept:
        start = loop_start(WIRE, entries)
        entries = strip_thoughts(WIRE, entries, notes, keep=lambda at, _: at >= start)
        entries = join_turns(WIRE, _without_empty(entries, notes), notes)
    if messages:
        entries = begin_with_user(WIRE, entries, notes, may_begin=lambda _: False)
    rename_ids(WIRE, entries, notes, IDS)
    rename_tools(WIRE, entries, notes, NAMES)
    _say_beside_documents(entries, notes)
    stubs = _stubs(entries, tools, notes)
    return Placed(
        messages=written(WIRE, entries),
        system=system,
        tools=None if tools is None else (*tools, *stubs),
        places=tuple(entry.at for entry in entries),
        notes=notes.sealed(),
        added=tuple(notes.added),
        stubs=stubs,
    )


def _with_run(system: Any, run: list[Entry]) -> Any:
    """Join the leading system messages; their blocks stay where they say more than text."""
    blocks = [b for entry in run for b in entry.blocks if WIRE.kind(b) != "text" or _said(b)]
    if all(block.keys() == {"text"} for block in blocks):
        texts = ["".join(map(WIRE.text, entry.blocks)) for entry in run]
        return joined_system(system, [text for text in texts if text.strip()])
    return joined_blocks(system, blocks, typed=False)


def _said(block: Block) -> bool:
    return bool(WIRE.text(block).strip())


def _without_empty(entries: list[Entry], notes: Notes) -> list[Entry]:
    return fill_or_leave_out(WIRE, entries, notes, cleaned=_cleaned, may_be_empty=lambda _: False)


def _cleaned(entry: Entry) -> list[Block]:
    return [_full(block) for block in entry.blocks if WIRE.kind(block) != "text" or _said(block)]


def _full(block: Block) -> Block:
    """Take blank texts out of a result; a failed one must say something."""
    held = block.get("toolResult")
    if WIRE.kind(block) != "result" or not isinstance(held, Mapping):
        return block
    content = held.get("content") or ()
    kept = [c for c in content if not (isinstance(c, Mapping) and "text" in c and not _said(c))]
    if not kept and held.get("status") == "error":
        kept = [WIRE.said(EMPTY)]
    elif len(kept) == len(content):
        return block
    return {**block, "toolResult": {**held, "content": kept}}


def _say_beside_documents(entries: list[Entry], notes: Notes) -> None:
    for entry in entries:
        kinds = {key for block in entry.blocks for key in block}
        if "document" in kinds and "text" not in kinds:
            notes.note("document-text", entry.at)
            entry.blocks = [*entry.blocks, WIRE.said(notes.wrote(DOCUMENT))]
            entry.changed = True


def _stubs(
    entries: list[Entry], tools: Sequence[Any] | None, notes: Notes
) -> tuple[dict[str, Any], ...]:
    """Define the tools that were called, where none is offered any more."""
    names = tool_names(WIRE, entries) if tools is not None and not tools else []
    if names:
        notes.note("tools-added")
    schema = {"json": {"type": "object"}}
    return tuple(
        {"toolSpec": {"name": name, "description": GONE, "inputSchema": schema}} for name in names
    )
