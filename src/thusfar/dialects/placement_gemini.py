"""Placement for Gemini's generateContent.

Source:
    docs/spec/placement.md#gemini
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.gemini_parts import SIGNATURE, field
from thusfar.dialects.gemini_rules import ASIDE
from thusfar.dialects.placement_ids import replace_block
from thusfar.dialects.placement_system import joined_system
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
from thusfar.dialects.placement_values import Notes, Placed

UNSIGNED: Final = "skip_thought_signature_validator"
"""What the provider's page says to send as the signature of a call that it did not sign."""

_CHECKS_SIGNATURES: Final = re.compile(r"gemini-([3-9]|\d\d)")
_CALL: Final = ("functionCall", "function_call")
_RESPONSE: Final = ("functionResponse", "function_response")
_ROLES: Final = {"model": "assistant", "system": "system"}


class GeminiParts:
    """How Gemini writes contents; see `BlockWire`."""

    joining: Final[Joining] = "results"

    def read(self, body: Block) -> tuple[str, list[Block]]:
        """Give the role and the parts."""
        return _ROLES.get(str(body.get("role")), "user"), opened_blocks(body, "parts")

    def write(self, body: Block, role: str, blocks: list[Block]) -> dict[str, Any]:
        """Write a content."""
        own = body.get("role") if role == "user" else None
        spoken = "model" if role == "assistant" else own if own == "function" else "user"
        return {**body, "role": spoken, "parts": list(blocks)}

    def kind(self, block: Block) -> Kind:
        """Tell what a part is; a thought stays with its message, so it is no kind of its own."""
        if _held(block, _CALL) is not None:
            return "call"
        if _held(block, _RESPONSE) is not None:
            return "result"
        is_text = isinstance(block.get("text"), str) and block.get("thought") is not True
        return "text" if is_text else "other"

    def text(self, block: Block) -> str:
        """Read a text part."""
        return str(block.get("text", ""))

    def said(self, text: str) -> Block:
        """Write a text part."""
        return {"text": text}

    def key(self, block: Block) -> Key:
        """Read what a call or a result pairs by."""
        held = _held(block, _CALL) or _held(block, _RESPONSE) or {}
        call_id, name = held.get("id"), held.get("name")
        return call_id if isinstance(call_id, str) else None, name if name else None

    def with_key(self, block: Block, key: Key) -> Block:
        """Give a part as it is: no rule is known for ids of this wire."""
        del key
        return block


WIRE: Final = GeminiParts()


def _held(block: Block, keys: tuple[str, str]) -> Mapping[str, Any] | None:
    for key in keys:
        if isinstance(held := block.get(key), Mapping):
            return held
    return None


def place_gemini(
    messages: Sequence[Any],
    *,
    system: Any,
    tools: Sequence[Any] | None,
    model: str | None,
    spoken: int,
    prefix_kept: bool,  # noqa: ARG001 - thought signatures are not bound to what precedes them
) -> Placed:
    """Place a view; see `thusfar.dialects.placement.place`."""
    notes = Notes()
    run, entries = without_system_run(read_entries(WIRE, messages, notes))
    system = joined_system(system, _texts(run))
    entries = fill_or_leave_out(
        WIRE, entries, notes, cleaned=_cleaned, may_be_empty=lambda _: False
    )
    entries = join_summary(entries, spoken, notes)
    entries = fence_system(WIRE, entries, notes, inline=lambda _: False)
    entries = gather_results(WIRE, entries, notes)
    entries = join_turns(WIRE, entries, notes)
    if messages:
        entries = begin_with_user(WIRE, entries, notes, may_begin=lambda _: False)
    if model is not None and _CHECKS_SIGNATURES.search(model):
        _sign(entries, notes)
    return Placed(
        messages=written(WIRE, entries),
        system=system,
        tools=None if tools is None else tuple(tools),
        places=tuple(entry.at for entry in entries),
        notes=notes.sealed(),
        added=tuple(notes.added),
    )


def _texts(run: list[Entry]) -> list[str]:
    texts = ["".join(WIRE.text(part) for part in entry.blocks) for entry in run]
    return [text for text in texts if text]


def _cleaned(entry: Entry) -> list[Block]:
    made = [_full(part) for part in entry.blocks]
    asked = entry.role == "user"  # the model's own empty texts are taken back
    return [part for part in made if part is not None and not (asked and part == {"text": ""})]


def _full(part: Block) -> Block | None:
    """Leave out a part without data; one that is only a signature gets an empty text."""
    if any(key not in ASIDE and held is not None for key, held in part.items()):
        return part
    return {**part, "text": ""} if field(part, SIGNATURE) else None


def _sign(entries: list[Entry], notes: Notes) -> None:
    """Mark the first call of each step that was not signed as one that another model made."""
    for run in runs_of(entries):
        calls = [
            (entry, place)
            for entry in run
            for place, part in enumerate(entry.blocks)
            if WIRE.kind(part) == "call"
        ]
        if not calls or run[0].role != "assistant":
            continue
        entry, place = calls[0]
        part = entry.blocks[place]
        if not field(part, SIGNATURE):
            notes.note("signature-skipped", entry.at)
            replace_block(entry, place, {**part, SIGNATURE: UNSIGNED})
