"""Placement for Chat Completions.

Source:
    docs/spec/placement.md#openai-chat
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from thusfar.dialects.base import plain
from thusfar.dialects.openai_chat import OPENAI_CHAT
from thusfar.dialects.placement_calls import quoted
from thusfar.dialects.placement_ids import UNNAMED, IdRule, fitted
from thusfar.dialects.placement_text import is_sendable, without_surrogates
from thusfar.dialects.placement_values import Notes, Placed
from thusfar.messages import ToolCall, ToolResult

_MISTRAL: Final = re.compile(r"mistral|mixtral|ministral|magistral|devstral|codestral|pixtral")
_OPENAI: Final = re.compile(r"^(?:(?:openai|azure|github_copilot)/)?(?:gpt-|chatgpt-|o\d)")
_FOR_MISTRAL: Final = IdRule("a-zA-Z0-9", 9, exact=True)
_LINKS: Final = frozenset({"tool_calls", "tool_call_id", "function_call"})
_FOR_OPENAI: Final = IdRule(r"\s\S", 40)
_NAMES: Final = IdRule("a-zA-Z0-9_-", 64)
_CALLED: Final = ("function", "custom")


@dataclass(slots=True)
class _Row:
    """One message while it is placed."""

    body: Mapping[str, Any]
    source: Any
    at: int
    changed: bool = False

    def put(self, **fields: Any) -> None:
        self.body = {**self.body, **fields}
        self.changed = True


def place_openai_chat(
    messages: Sequence[Any],
    *,
    system: Any,
    tools: Sequence[Any] | None,
    model: str | None,
    spoken: int,  # noqa: ARG001 - a summary is an assistant message, which may stand anywhere
    prefix_kept: bool,  # noqa: ARG001 - nothing here is bound to what precedes it
) -> Placed:
    """Place a view; see `thusfar.dialects.placement.place`."""
    notes = Notes()
    sendable = is_sendable(messages)
    rows = [
        _Row(message, message, position)
        if sendable and type(message) is dict
        else _read(message, position, notes)
        for position, message in enumerate(messages)
    ]
    unsettled = [row for row in rows if not _is_settled(row.body)]
    if unsettled:
        _quote_user_calls(unsettled, notes)
        for row in unsettled:
            _fill(row, notes)
        if (rule := _id_rule(model)) is not None:
            _rename(unsettled, rule, notes)
        if model is not None and _OPENAI.search(model.lower()):
            _respell(unsettled, notes)
        rows = _with_results_behind_calls(rows, notes)
    return Placed(
        messages=[row.body if row.changed else row.source for row in rows],
        system=system,
        tools=None if tools is None else tuple(tools),
        places=tuple((row.at,) for row in rows),
        notes=notes.sealed(),
    )


def _is_settled(body: Mapping[str, Any]) -> bool:
    """Tell that a message is text without calls and results, as most are: it stays as it is."""
    said, role = body.get("content"), body.get("role")
    return type(said) is str and role != "tool" and _LINKS.isdisjoint(body)


def _read(message: Any, position: int, notes: Notes) -> _Row:
    body = plain(message) or {}
    clean = without_surrogates(body)
    if clean is not body:
        notes.note("surrogates", (position,))
    return _Row(clean, message, position, clean is not body)


def _calls(row: _Row) -> list[Mapping[str, Any]]:
    held = row.body.get("tool_calls")
    if not held or row.body.get("role") != "assistant" or not isinstance(held, list | tuple):
        return []
    return [plain(call) or {} for call in held]


def _quote_user_calls(rows: list[_Row], notes: Notes) -> None:
    """Turn calls that a user made, and their results, into texts of the user."""
    if not any(r.body.get("tool_calls") and r.body.get("role") == "user" for r in rows):
        return
    waiting: set[str] = set()
    for row in rows:
        role, held = row.body.get("role"), row.body.get("tool_calls")
        if role in ("user", "assistant") and isinstance(held, list | tuple):
            ids = {str(call.get("id")) for call in map(plain, held) if call is not None}
            waiting = waiting | ids if role == "user" else waiting - ids
        mine = role == "tool" and row.body.get("tool_call_id") in waiting
        if not mine and not (role == "user" and held):
            continue
        lifted = OPENAI_CHAT.lift(row.body)
        pairing = [
            place
            for place, part in enumerate(lifted.parts)
            if isinstance(part, ToolCall | ToolResult)
        ]
        waiting.discard(str(row.body.get("tool_call_id")))
        notes.note("user-calls-quoted", (row.at,))
        row.body = OPENAI_CHAT.lower(quoted(lifted, pairing))[0]
        row.changed = True


def _fill(row: _Row, notes: Notes) -> None:
    """Write content where there must be some, and leave out what must not be empty."""
    body = row.body
    if body.get("content") is not None and "tool_calls" not in body:
        return
    if isinstance(held := body.get("tool_calls"), list | tuple) and not held:
        notes.note("empty-left-out", (row.at,))
        row.body = {key: value for key, value in body.items() if key != "tool_calls"}
        row.changed = True
    calls = _calls(row)
    if any(_function(call).get("name") == "" for call in calls):
        notes.note("names-renamed", (row.at,))
        row.put(tool_calls=[_named(call) for call in calls])
    speaks = row.body.get("role") == "assistant" and (
        calls or row.body.get("function_call") or row.body.get("audio")
    )
    if row.body.get("content") is None and not speaks and not row.body.get("refusal"):
        notes.note("empty-filled", (row.at,))
        row.put(content="")


def _function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    return plain(call.get("function")) or {}


def _named(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = _function(call)
    if function.get("name") != "":
        return call
    return {**call, "function": {**function, "name": UNNAMED}}


def _id_rule(model: str | None) -> IdRule | None:
    """Find what the model's own server demands of ids; other servers take any."""
    if model is None:
        return None
    name = model.lower()
    if _MISTRAL.search(name):
        return _FOR_MISTRAL
    return _FOR_OPENAI if _OPENAI.search(name) else None


def _rename(rows: list[_Row], rule: IdRule, notes: Notes) -> None:
    for row in rows:
        calls = _calls(row)
        ids = [call["id"] for call in calls if isinstance(call.get("id"), str)]
        if any(fitted(call_id, rule) != call_id for call_id in ids):
            notes.note("ids-renamed", (row.at,))
            row.put(
                tool_calls=[
                    {**call, "id": fitted(call["id"], rule)}
                    if isinstance(call.get("id"), str)
                    else call
                    for call in calls
                ]
            )
        answered = row.body.get("tool_call_id")
        if isinstance(answered, str) and fitted(answered, rule) != answered:
            notes.note("ids-renamed", (row.at,))
            row.put(tool_call_id=fitted(answered, rule))


def _respell(rows: list[_Row], notes: Notes) -> None:
    """Respell the names of called tools that a model of OpenAI refuses, also where it made them."""
    for row in rows:
        calls = _calls(row)
        spelled = [_spelled(call) for call in calls]
        name = row.body.get("name")
        if any(new is not old for new, old in zip(spelled, calls, strict=True)):
            notes.note("names-renamed", (row.at,))
            row.put(tool_calls=spelled)
        if row.body.get("role") == "tool" and isinstance(name, str) and _misspelled(name):
            notes.note("names-renamed", (row.at,))
            row.put(name=fitted(name, _NAMES))


def _spelled(call: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in _CALLED:
        held = plain(call.get(key)) or {}
        name = held.get("name")
        if isinstance(name, str) and _misspelled(name):
            return {**call, key: {**held, "name": fitted(name, _NAMES)}}
    return call


def _misspelled(name: str) -> bool:
    return bool(name) and fitted(name, _NAMES) != name


def _with_results_behind_calls(rows: list[_Row], notes: Notes) -> list[_Row]:
    """Put each result directly behind the message that calls; a call and its result pair by id."""
    caller: dict[str, int] = {}
    answers: dict[int, list[_Row]] = {}
    taken: set[int] = set()
    for index, row in enumerate(rows):
        for call in _calls(row):
            if isinstance(call.get("id"), str):
                caller[call["id"]] = index
        if row.body.get("role") != "tool":
            continue
        call_id = row.body.get("tool_call_id")
        at = caller.pop(call_id, None) if isinstance(call_id, str) else None
        if at is not None:
            answers.setdefault(at, []).append(row)
            taken.add(index)
    made: list[_Row] = []
    for index, row in enumerate(rows):
        made += [] if index in taken else [row, *answers.get(index, ())]
    moved = [new for new, old in zip(made, rows, strict=True) if new is not old]
    if moved:
        notes.note("results-moved", (row.at for row in moved if row.body.get("role") == "tool"))
    return made
