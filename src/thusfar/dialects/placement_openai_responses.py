"""Placement for the Responses API.

Source:
    docs/spec/placement.md#openai-responses
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from thusfar.dialects.base import plain
from thusfar.dialects.placement_ids import IdRule, fitted
from thusfar.dialects.placement_text import without_surrogates
from thusfar.dialects.placement_values import Notes, Placed

IDS: Final = IdRule(r"\s\S", 64)
_ITEM_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_MADE: Final = frozenset({"message", "function_call", "custom_tool_call"})


@dataclass(slots=True)
class _Item:
    """One item while it is placed."""

    body: Mapping[str, Any]
    source: Any
    at: int
    changed: bool = False

    @property
    def kind(self) -> str:
        kind = self.body.get("type")
        return str(kind) if kind else "message" if "role" in self.body else "item_reference"

    @property
    def by_model(self) -> bool:
        """Whether the model wrote it."""
        return self.body.get("role", "assistant") == "assistant" and not self.is_output

    @property
    def is_output(self) -> bool:
        return self.kind.endswith("_output")


def place_openai_responses(
    messages: Sequence[Any],
    *,
    system: Any,
    tools: Sequence[Any] | None,
    model: str | None,  # noqa: ARG001 - one provider speaks this wire
    spoken: int,  # noqa: ARG001 - a summary is an assistant message, which may stand anywhere
    prefix_kept: bool,
) -> Placed:
    """Place a view; see `thusfar.dialects.placement.place`."""
    notes = Notes()
    items = [_read(message, position, notes) for position, message in enumerate(messages)]
    reasons = not prefix_kept or any(item.kind == "reasoning" for item in items)
    items = _without_lone_reasoning(items, notes)
    _without_ids(items, notes, reasons=reasons)
    for item in items:
        _rename(item, notes)
    return Placed(
        messages=[item.body if item.changed else item.source for item in items],
        system=system,
        tools=None if tools is None else tuple(tools),
        places=tuple((item.at,) for item in items),
        notes=notes.sealed(),
    )


def _read(message: Any, position: int, notes: Notes) -> _Item:
    body = plain(message) or {}
    clean = without_surrogates(body)
    if clean is not body:
        notes.note("surrogates", (position,))
    sent = _without_parsed(clean)
    if sent is not clean:
        notes.note("response-fields", (position,))
    return _Item(sent, message, position, sent is not body)


def _without_parsed(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out what the SDK's `parse` adds to an item, and leaves out itself when it sends one."""
    if "parsed_arguments" in body:
        body = {key: value for key, value in body.items() if key != "parsed_arguments"}
    parts = body.get("content")
    if not isinstance(parts, list | tuple):
        return body
    read = [plain(part) or {} for part in parts]
    if not any("parsed" in part for part in read):
        return body
    kept = [{key: value for key, value in part.items() if key != "parsed"} for part in read]
    return {**body, "content": kept}


def _without_lone_reasoning(items: list[_Item], notes: Notes) -> list[_Item]:
    """Leave out reasoning without the item that it belongs to, and what was given before."""
    seen: set[str] = set()
    gone: set[int] = set()
    for item in items:
        item_id = item.body.get("id")
        if item.kind == "reasoning" and isinstance(item_id, str):
            if item_id in seen:
                gone.add(item.at)
            seen.add(item_id)
    made: list[_Item] = []
    for item in reversed(items):
        followed = bool(made) and made[-1].by_model
        if item.kind == "reasoning" and (item.at in gone or not followed):
            notes.note("reasoning-left-out", (item.at,))
        else:
            made.append(item)
    return made[::-1]


def _is_well_formed(item: _Item, item_id: str) -> bool:
    prefix = _PREFIXES.get(item.kind, "")
    return item_id.startswith(prefix) and _ITEM_ID.fullmatch(item_id) is not None


def _without_ids(items: list[_Item], notes: Notes, *, reasons: bool) -> None:
    """Leave out ids that the provider would refuse, or that would make it ask for reasoning.

    The provider keeps what it answered under these ids: an item that it wrote behind reasoning
    is refused without it. Where `reasons` says that the model does reason, and no reasoning
    precedes an item within an answer, its id goes; no model reads it.
    """
    seen: set[str] = set()
    reasoned = False
    for item in items:
        if not item.by_model:
            reasoned = False
        elif item.kind in ("reasoning", "item_reference"):
            reasoned = True
        item_id = item.body.get("id")
        if not isinstance(item_id, str) or item.kind == "local_shell_call_output":
            continue
        lone = reasons and item.by_model and item.kind in _MADE and not reasoned
        if lone or item_id in seen or not _is_well_formed(item, item_id):
            notes.note("ids-left-out", (item.at,))
            item.body = {key: value for key, value in item.body.items() if key != "id"}
            item.changed = True
        seen.add(item_id)


def _rename(item: _Item, notes: Notes) -> None:
    call_id = item.body.get("call_id")
    if isinstance(call_id, str) and (made := fitted(call_id, IDS)) != call_id:
        notes.note("ids-renamed", (item.at,))
        item.body = {**item.body, "call_id": made}
        item.changed = True
