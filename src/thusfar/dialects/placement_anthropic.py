"""Placement for Anthropic's Messages API.

Source:
    docs/spec/placement.md#anthropic
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from thusfar.dialects.placement_ids import (
    IdRule,
    rename_ids,
    rename_tools,
    replace_block,
    tool_names,
)
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
    runs_of,
    without_system_run,
    written,
)
from thusfar.dialects.placement_values import DRAWN, EMPTY, GONE, Notes, Placed
from thusfar.dialects.shapes import role_at

IDS: Final = IdRule("a-zA-Z0-9_-", 256, unique="request")
NAMES: Final = IdRule("a-zA-Z0-9_-", 200)
_TAKES_SYSTEM: Final = re.compile(r"claude-opus-4[-.]8")
_SERVER_CALL: Final = "server_tool_use"
_RESULT: Final = "_tool_result"
_MEDIA: Final = ("image", "document")
_OF_RESPONSES: Final = frozenset(
    {
        "id",
        "type",
        "model",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "usage",
        "container",
        "context_management",
        "diagnostics",
    }
)


class AnthropicBlocks:
    """How Anthropic writes messages; see `BlockWire`."""

    joining: Final[Joining] = "answers"

    def read(self, body: Block) -> tuple[str, list[Block]]:
        """Give the role and the blocks; text content is one block."""
        content = body.get("content")
        if isinstance(content, str):
            return role_at(body), [{"type": "text", "text": content}] if content else []
        return role_at(body), opened_blocks(body, "content")

    def write(self, body: Block, role: str, blocks: list[Block]) -> dict[str, Any]:
        """Write a message."""
        return {**body, "role": role, "content": list(blocks)}

    def kind(self, block: Block) -> Kind:
        """Tell what a block is."""
        return _KINDS.get(str(block.get("type")), "other")

    def text(self, block: Block) -> str:
        """Read a text block."""
        return str(block.get("text", ""))

    def said(self, text: str) -> Block:
        """Write a text block."""
        return {"type": "text", "text": text}

    def key(self, block: Block) -> Key:
        """Read what a call or a result pairs by."""
        call_id = block.get("id" if block.get("type") == "tool_use" else "tool_use_id")
        name = block.get("name")
        return call_id if isinstance(call_id, str) else None, name if name else None

    def with_key(self, block: Block, key: Key) -> Block:
        """Copy a call or a result with another id."""
        if block.get("type") == "tool_use":
            return {**block, "id": key[0], "name": key[1]}
        return {**block, "tool_use_id": key[0]}


_KINDS: Final[dict[str, Kind]] = {
    "text": "text",
    "tool_use": "call",
    "tool_result": "result",
    "thinking": "thought",
    "redacted_thinking": "thought",
}
WIRE: Final = AnthropicBlocks()


def place_anthropic(
    messages: Sequence[Any],
    *,
    system: Any,
    tools: Sequence[Any] | None,
    model: str | None,
    spoken: int,
    prefix_kept: bool,
) -> Placed:
    """Place a view; see `thusfar.dialects.placement.place`."""
    notes = Notes()
    run, entries = without_system_run(read_entries(WIRE, messages, notes))
    system = _with_run(system, run)
    entries = [_as_message(entry, notes) for entry in entries]
    _leave_out_unanswered(entries, notes)
    _hand_on_media(entries, notes)
    entries = _without_empty(entries, notes)
    entries = join_summary(entries, spoken, notes)
    placed_by = _inline(entries, model)
    entries = fence_system(WIRE, entries, notes, inline=lambda at: at in placed_by)
    entries = gather_results(WIRE, entries, notes)
    entries = join_turns(WIRE, entries, notes)
    start = loop_start(WIRE, entries)
    stripped = strip_thoughts(
        WIRE,
        entries,
        notes,
        keep=lambda at, block: (prefix_kept or at >= start) and _is_signed(block),
    )
    if stripped is not entries:
        entries = join_turns(WIRE, _without_empty(stripped, notes), notes)
    if messages:
        entries = begin_with_user(WIRE, entries, notes, may_begin=_may_begin)
    rename_ids(WIRE, entries, notes, IDS)
    rename_tools(WIRE, entries, notes, NAMES)
    entries = _trimmed(entries, notes)
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
    blocks = [block for entry in run for block in entry.blocks if block.get("text") != ""]
    if all(block.keys() == {"type", "text"} for block in blocks):
        texts = ["".join(map(WIRE.text, entry.blocks)) for entry in run]
        return joined_system(system, [text for text in texts if text])
    return joined_blocks(system, blocks, typed=True)


def _as_message(entry: Entry, notes: Notes) -> Entry:
    """Leave out what only a response has, where a response was given back as it was received."""
    if entry.body.keys().isdisjoint(_OF_RESPONSES):
        return entry
    notes.note("response-fields", entry.at)
    entry.body = {key: value for key, value in entry.body.items() if key not in _OF_RESPONSES}
    entry.changed = True
    return entry


def _leave_out_unanswered(entries: list[Entry], notes: Notes) -> None:
    """Leave out calls that the provider was to run itself and has no result of, in place.

    At the end of the request it goes on with them, and behind our results it runs them.
    """
    runs = runs_of([entry for entry in entries if entry.role != "system"])
    for run, after in pairwise(runs):
        blocks = [block for entry in run for block in entry.blocks]
        asked = {b.get("id") for b in blocks if b.get("type") == _SERVER_CALL}
        asked -= {b.get("tool_use_id") for b in blocks if str(b.get("type")).endswith(_RESULT)}
        if not asked or any(WIRE.kind(b) == "result" for entry in after for b in entry.blocks):
            continue
        for entry in run:
            kept = [
                b for b in entry.blocks if b.get("type") != _SERVER_CALL or b.get("id") not in asked
            ]
            if len(kept) < len(entry.blocks):
                notes.note("parts-left-out", entry.at)
                entry.blocks, entry.changed = kept, True


def _hand_on_media(entries: list[Entry], notes: Notes) -> None:
    """Show what a model drew with the next words of the user, which alone may hold it, in place.

    At the end of the request, where there are none, it is left out.
    """
    held: list[Block] = []
    for entry in entries:
        if entry.role == "assistant":
            drawn = [block for block in entry.blocks if block.get("type") in _MEDIA]
            if drawn:
                held += drawn
                entry.blocks = [b for b in entry.blocks if b.get("type") not in _MEDIA]
                entry.changed = True
                notes.note("media-moved", entry.at)
        elif entry.role == "user" and held:
            results = [block for block in entry.blocks if WIRE.kind(block) == "result"]
            rest = [block for block in entry.blocks if WIRE.kind(block) != "result"]
            entry.blocks = [*results, WIRE.said(notes.wrote(DRAWN)), *held, *rest]
            entry.changed, held = True, []
    if held and not entries[-1].blocks:
        entries.pop()


def _inline(entries: list[Entry], model: str | None) -> set[int]:
    """Find the system messages that the model takes where they stand."""
    if model is None or not _TAKES_SYSTEM.search(model):
        return set()
    roles = ["", *(entry.role for entry in entries), "assistant"]
    return {
        at
        for at in range(len(entries))
        if roles[at : at + 3] == ["user", "system", "assistant"] and not entries[at - 1].joins
    }


def _without_empty(entries: list[Entry], notes: Notes) -> list[Entry]:
    last = len(entries) - 1
    return fill_or_leave_out(
        WIRE,
        entries,
        notes,
        cleaned=_cleaned,
        may_be_empty=lambda at: at == last and entries[at].role == "assistant",
    )


def _cleaned(entry: Entry) -> list[Block]:
    if len(entry.blocks) == 1 and WIRE.text(entry.blocks[0]).strip():
        return entry.blocks
    kept = [
        _full(block) for block in entry.blocks if block.get("type") != "text" or WIRE.text(block)
    ]
    blank = all(b.get("type") == "text" and not WIRE.text(b).strip() for b in kept)
    return [] if blank else kept


def _full(block: Block) -> Block:
    """Take empty texts out of a result; a failed one must say something."""
    if block.get("type") != "tool_result":
        return block
    content = block.get("content")
    if isinstance(content, list | tuple):
        kept = [c for c in content if not (isinstance(c, Mapping) and _is_empty(c))]
        if len(kept) < len(content):
            block, content = {**block, "content": kept}, kept
    if block.get("is_error") is True and not content:
        return {**block, "content": EMPTY}
    return block


def _is_empty(block: Block) -> bool:
    return block.get("type") == "text" and block.get("text") == ""


def _is_signed(block: Block) -> bool:
    return block.get("type") != "thinking" or bool(block.get("signature"))


def _may_begin(entry: Entry) -> bool:
    return bool(entry.blocks) and entry.blocks[0].get("type") == "compaction"


def _trimmed(entries: list[Entry], notes: Notes) -> list[Entry]:
    """Cut white space off the end of what the model is to continue."""
    last = entries[-1] if entries and entries[-1].role == "assistant" else None
    while last is not None and last.blocks and last.blocks[-1].get("type") == "text":
        text = WIRE.text(last.blocks[-1])
        if text == text.rstrip() and text:
            break
        notes.note("trailing-space", last.at)
        if text.rstrip():
            block = {**last.blocks[-1], "text": text.rstrip()}
            replace_block(last, len(last.blocks) - 1, block)
        else:
            last.blocks, last.changed = last.blocks[:-1], True
            if not last.blocks:
                return entries[:-1]
    return entries


def _stubs(
    entries: list[Entry], tools: Sequence[Any] | None, notes: Notes
) -> tuple[dict[str, Any], ...]:
    """Define the tools that were called, where none is offered any more."""
    names = tool_names(WIRE, entries) if tools is not None and not tools else []
    if names:
        notes.note("tools-added")
    schema = {"type": "object"}
    return tuple({"name": name, "description": GONE, "input_schema": schema} for name in names)
