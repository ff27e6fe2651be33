"""Tool calls of openai-chat messages: `tool_calls` of two types, and the old `function_call`.

The free text of a custom call becomes an object with one argument, `input`, so that any other
provider can carry it. The old form has no ids.

Source:
    openai-python 3.57.0, types/chat/chat_completion_message_tool_call_union_param.py, generated
    from the provider's OpenAPI description. Read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from thusfar.codec import json_text, parse_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_chat_parts import NAME
from thusfar.dialects.openai_notes import (
    filled,
    mapping,
    note,
    noted,
    table,
    text_or_none,
    unsupported,
    without,
)
from thusfar.errors import TranscriptError
from thusfar.messages import Role, ToolCall


class CallHead(NamedTuple):
    """What a tool call says: `arguments` is `None` where the wire has none."""

    id: str | None
    name: str
    arguments: str | None


def read_calls(message: Mapping[str, Any]) -> tuple[CallHead, ...]:
    """Read the tool calls of a user or assistant message, in order, the old form last.

    Raises:
        DialectMismatch: When calls are there in another shape.
    """
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list | tuple):
        raise DialectMismatch
    heads = tuple(_head(mapping(call)) for call in calls or ())
    if message.get("role") == "assistant" and message.get("function_call") is not None:
        old = _body(mapping(message["function_call"]), "arguments")
        if old.name:  # some servers send an empty one with every message
            heads += (old,)
    return heads


def _head(call: Mapping[str, Any]) -> CallHead:
    body, key = _call_body(call)
    return _body(body, key)._replace(id=text_or_none(call.get("id")))


def _call_body(call: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    if call.get("type") == "custom":
        return mapping(call.get("custom")), "input"
    return mapping(call.get("function")), "arguments"


def _body(body: Mapping[str, Any], key: str) -> CallHead:
    name = body.get("name")
    if not isinstance(name, str):
        raise DialectMismatch
    return CallHead(None, name, text_or_none(body.get(key)))


def lift_calls(rest: dict[str, Any], role: Role) -> list[ToolCall]:
    """Take the calls out of a message.

    Args:
        rest: The fields of the message; those that are taken are removed from it. A null or
            empty list and an empty old call stay.
        role: The canonical role; only an assistant makes calls in the old form.
    """
    heads = read_calls({**rest, "role": role})
    if not heads:
        return []
    calls = [mapping(call) for call in rest.pop("tool_calls")] if rest.get("tool_calls") else []
    made = [_lift_call(*pair) for pair in zip(calls, heads, strict=False)]
    if len(heads) > len(calls):
        body = mapping(rest.pop("function_call"))
        like = without(body, "name", "arguments")
        made.append(_tool_call(heads[-1], "arguments", body, at="function_call", like=like))
    return made


def _lift_call(call: Mapping[str, Any], head: CallHead) -> ToolCall:
    body, key = _call_body(call)
    place = "custom" if key == "input" else "function"
    like = {**call, place: without(body, "name", key)}
    if head.id is not None:
        del like["id"]
    usual = like == {"type": "function", "function": {}} and head.id is not None
    return _tool_call(head, key, body, like=None if usual else like)


def _tool_call(head: CallHead, key: str, body: Mapping[str, Any], **facts: Any) -> ToolCall:
    arguments = head.arguments
    if arguments is None:
        facts["arguments"] = "null" if key in body else "absent"
        arguments = "{}"
    elif key == "input":
        arguments = json_text({"input": arguments})
    return ToolCall(head.id, head.name, arguments, wire=note(NAME, **facts))


def lower_call(call: ToolCall, made: dict[str, Any]) -> None:
    """Add a call to `tool_calls`, or as `function_call` where it has no id.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a second call without an id.
    """
    facts = noted(call.wire, NAME)
    like = table(facts.get("like"))
    at_old = facts.get("at") == "function_call"
    if at_old and call.id is not None:  # given one for its result, which then answers by id
        like, at_old = {}, False
    old = at_old or (call.id is None and not like)
    if old and filled(table(made.get("function_call")).get("name")):
        raise unsupported("several tool calls without ids", NAME)
    if old:
        made["function_call"] = {**like, **_written_body(call, facts, "arguments")}
        return
    entry = dict(like) or {"type": "function", "function": {}}
    text = _custom_input(call) if entry.get("type") == "custom" else None
    if entry.get("type") == "custom" and text is None and call.arguments != "{}":
        entry = {"type": "function", "function": {}}  # edited: no longer free text
    if entry.get("type") == "custom":
        body = _written_body(call, facts, "input", text)
        entry["custom"] = {**table(entry.get("custom")), **body}
    else:
        body = _written_body(call, facts, "arguments")
        entry["function"] = {**table(entry.get("function")), **body}
    if call.id is not None:
        entry["id"] = call.id
    earlier = made.get("tool_calls")
    made["tool_calls"] = [*(earlier if isinstance(earlier, list) else ()), entry]


def _written_body(
    call: ToolCall, facts: Mapping[str, Any], key: str, text: str | None = None
) -> dict[str, Any]:
    body: dict[str, Any] = {"name": call.name}
    form = facts.get("arguments") if call.arguments == "{}" else None
    if form == "absent":
        return body
    body[key] = None if form == "null" else (call.arguments if text is None else text)
    return body


def _custom_input(call: ToolCall) -> str | None:
    """Read the free text of a custom tool call back; `None` when the arguments are others."""
    try:
        arguments = parse_json(call.arguments, where="the arguments of a custom tool call")
    except TranscriptError:
        return None
    if isinstance(arguments, dict) and set(arguments) == {"input"}:
        return arguments["input"] if isinstance(arguments["input"], str) else None
    return None
