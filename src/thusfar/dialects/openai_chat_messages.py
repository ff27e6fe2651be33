"""Messages of openai-chat: what they say, call and answer, to canonical form and back.

Every field that means something becomes a part; the others are kept in notes. What
`describe` in `openai_chat` accepts, `lift_message` converts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from thusfar.codec import json_text, parse_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_chat_parts import (
    NAME,
    lift_parts,
    lift_result_parts,
    lower_part,
    lower_result_parts,
)
from thusfar.dialects.openai_chat_reasoning import (
    FIELDS,
    in_content,
    lift_reasoning,
    lower_reasoning,
)
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
from thusfar.messages import (
    Audio,
    File,
    Image,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)

ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
SPOKEN: Final = ("tool_calls", "function_call", "refusal", "audio", *FIELDS)
"""Fields that let an assistant message go without `content`."""

_NOT_LIST: Final = ("string", "null", "absent")


class CallHead(NamedTuple):
    """What a tool call says: `arguments` is `None` where the wire has none."""

    id: str | None
    name: str
    arguments: str | None


def read_role(message: Mapping[str, Any]) -> Role:
    """Read the canonical role of a message.

    Raises:
        DialectMismatch: For a role that this wire does not have.
    """
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise DialectMismatch
    return ROLES[role]


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


def read_result(message: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Read the call id and the tool name of a result message; `None` where it has none.

    SWE-agent's trajectories write the id as a list of one.

    Raises:
        DialectMismatch: When they are there in another shape.
    """
    call_id = text_or_none(message.get("tool_call_id"))
    if call_id is None and "tool_call_ids" in message:
        listed = message["tool_call_ids"]
        if not isinstance(listed, list | tuple) or len(listed) != 1:
            raise DialectMismatch
        call_id = text_or_none(listed[0])
    return call_id, text_or_none(message.get("name"))


def lift_message(message: Mapping[str, Any], role: Role) -> Message:
    """Convert a message that `describe` has accepted."""
    if role == "tool":
        return Message("tool", (_lift_result(message),))
    rest = without(message, "role", "content")
    said: list[Part] = []
    repeated: list[str] = []
    if role == "assistant":
        reasoning, repeated = lift_reasoning(rest)
        said += reasoning
    content, form = _lift_content(message)
    lifted = lift_parts(content)
    said += lifted
    if role == "assistant":
        said += _lift_extras(rest)
    calls = _lift_calls(rest, role) if role != "system" else []
    name = rest.pop("name") if filled(rest.get("name")) else None
    vendor = role != "user" and any(isinstance(part, Image | Audio | File) for part in lifted)
    wire = note(
        NAME,
        role=message["role"] if message["role"] != role else None,
        content=form if vendor or form != _usual_form(content, bool(calls)) else None,
        repeated=repeated,
        rest=rest,
    )
    return Message(role, (*said, *calls), name=name, wire=wire)


def _lift_content(message: Mapping[str, Any]) -> tuple[Sequence[Any], str]:
    """Read content as a list of parts, and the form it was written in."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else [], "string"
    if isinstance(content, list | tuple):
        return content, "list"
    return [], "null" if "content" in message else "absent"


def _usual_form(content: Sequence[Any], calls: bool) -> str:
    """Name the form in which content is written when no note says otherwise."""
    if not content:
        return "null" if calls else "string"
    plain = len(content) == 1 and isinstance(content[0], Mapping)
    return "string" if plain and set(content[0]) == {"type", "text"} else "list"


def _lift_extras(rest: dict[str, Any]) -> list[Part]:
    """Take the refusal and the spoken answer out of an assistant message."""
    parts: list[Part] = []
    if filled(rest.get("refusal")):
        parts.append(Text(rest.pop("refusal"), wire=note(NAME, at="refusal")))
    audio = rest.get("audio")
    if isinstance(audio, Mapping) and filled(audio.get("id")):
        taken = ("id", "data") if filled(audio.get("data")) else ("id",)
        wire = note(NAME, at="audio", like=without(rest.pop("audio"), *taken))
        data = audio["data"] if "data" in taken else ""
        parts.append(Audio(data=data, file_id=audio["id"], wire=wire))
    return parts


def _lift_calls(rest: dict[str, Any], role: Role) -> list[Part]:
    heads = read_calls({**rest, "role": role})
    if not heads:
        return []
    calls = [mapping(call) for call in rest.pop("tool_calls", None) or ()]
    made: list[Part] = [_lift_call(*pair) for pair in zip(calls, heads, strict=False)]
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


def _lift_result(message: Mapping[str, Any]) -> ToolResult:
    call_id, name = read_result(message)
    listed = call_id is not None and message.get("tool_call_id") is None
    taken = ["role", "content"]
    if call_id is not None:
        taken.append("tool_call_ids" if listed else "tool_call_id")
    if name is not None:
        taken.append("name")
    content, form = _lift_content(message)
    parts = lift_result_parts(content)
    vendor = any(isinstance(part, Image | Audio | File) for part in parts)
    wire = note(
        NAME,
        role=message["role"] if call_id is None or message["role"] != "tool" else None,
        content=form if vendor or form != _usual_form(content, calls=False) else None,
        ids=listed,
        rest=without(message, *taken),
    )
    return ToolResult(call_id, name, parts, wire=wire)


def lower_message(message: Message) -> tuple[dict[str, Any], ...]:
    """Write a canonical message: one wire message a tool result, and one for all the rest.

    Results stand first, since they must follow their calls directly. That a result was an
    error has no field of its own here; its text says so.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part that has no form on this wire.
        TranscriptError: `INVALID_TRANSCRIPT`, when a wire note is not JSON.
    """
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    others = [part for part in message.parts if not isinstance(part, ToolResult)]
    if results and message.role not in ("tool", "user"):
        raise unsupported(f"a tool result in the role {message.role}", NAME)
    if message.role == "tool" and (others or not results):
        raise unsupported("something other than tool results in the role tool", NAME)
    written = tuple(map(_lower_result, results))
    return written if results and not others else (*written, _lower_speaker(message, others))


def _lower_result(result: ToolResult) -> dict[str, Any]:
    facts = noted(result.wire, NAME)
    role = facts.get("role")
    if role not in ("tool", "function"):
        role = "tool" if result.call_id is not None else "function"
        if result.call_id is None and result.name is None:
            raise unsupported("a tool result with neither a call id nor a name", NAME)
    content = lower_result_parts(result, lifted=facts.get("content") == "list")
    made = {"role": role, **table(facts.get("rest"))}
    if result.call_id is not None:
        listed = facts.get("ids") is True
        key = "tool_call_ids" if listed else "tool_call_id"
        made[key] = [result.call_id] if listed else result.call_id
    if result.name is not None:
        made["name"] = result.name
    return _with_content(made, content, facts.get("content"), calls=False)


def _lower_speaker(message: Message, parts: Sequence[Part]) -> dict[str, Any]:
    facts = noted(message.wire, NAME)
    role: Any = facts.get("role")
    if not isinstance(role, str) or ROLES.get(role) != message.role:
        role = message.role
    made: dict[str, Any] = {"role": role, **table(facts.get("rest"))}
    if message.name is not None:
        made["name"] = message.name
    content: list[dict[str, Any]] = []
    reasoning: list[Reasoning] = []
    vendor = facts.get("content") == "list" or message.role == "user"
    for part in parts:
        if isinstance(part, ToolCall):
            if message.role == "system":
                raise unsupported("a tool call in the role system", NAME)
            _lower_call(part, made)
        elif isinstance(part, Reasoning) and not in_content(part):
            reasoning.append(part)
        elif isinstance(part, Text | Audio) and noted(part.wire, NAME).get("at"):
            made |= _lower_extra(part)
        elif isinstance(part, Image | Audio | File) and not vendor:
            raise unsupported(f"media in the role {message.role}", NAME)
        else:
            content.append(lower_part(part))
    if reasoning and message.role != "assistant":
        raise unsupported(f"reasoning in the role {message.role}", NAME)
    made |= lower_reasoning(reasoning, facts.get("repeated"))
    calls = any(isinstance(part, ToolCall) for part in parts)
    return _with_content(made, content, facts.get("content"), calls=calls)


def _with_content(
    made: dict[str, Any], content: list[dict[str, Any]], form: Any, *, calls: bool
) -> dict[str, Any]:
    """Add content in the noted form, where what is to be said still has that form."""
    usual = _usual_form(content, calls)
    if form not in (*_NOT_LIST, "list") or (content and form in ("null", "absent")):
        form = usual
    if form == "string" and content and usual != "string":
        form = "list"
    if form == "absent":
        return made
    if form == "string":
        made["content"] = content[0]["text"] if content else ""
    else:
        made["content"] = content if form == "list" else None
    return made


def _lower_extra(part: Text | Audio) -> dict[str, Any]:
    facts = noted(part.wire, NAME)
    if isinstance(part, Text):
        return {"refusal": part.text}
    data = {"data": part.data} if part.data else {}
    return {"audio": {**table(facts.get("like")), "id": part.file_id, **data}}


def _lower_call(call: ToolCall, made: dict[str, Any]) -> None:
    """Add a call to `tool_calls`, or as `function_call` where it has no id.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a second call without an id.
    """
    facts = noted(call.wire, NAME)
    like = table(facts.get("like"))
    old = facts.get("at") == "function_call" or (call.id is None and not like)
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
