"""Messages of openai-chat: what they say, call and answer, to canonical form and back.

Every field that means something becomes a part; the others are kept in notes. What
`describe` in `openai_chat` accepts, `lift_message` converts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_chat_calls import lift_calls, lower_call
from thusfar.dialects.openai_chat_parts import (
    NAME,
    Content,
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
    note,
    noted,
    table,
    text_or_none,
    unsupported,
    without,
)
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
_REST: Final = frozenset({"rest"})


def read_role(message: Mapping[str, Any]) -> Role:
    """Read the canonical role of a message.

    Raises:
        DialectMismatch: For a role that this wire does not have.
    """
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise DialectMismatch
    return ROLES[role]


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
    calls = lift_calls(rest, role) if role != "system" else []
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
        linked=call_id is not None and message["role"] != "tool",
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
    if (said := _plain_text(message)) is not None:
        if not message.wire:
            return ({"role": message.role, "content": said},)
        if (facts := noted(message.wire, NAME)).keys() <= _REST:
            return ({"role": message.role, **table(facts.get("rest")), "content": said},)
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    others = [part for part in message.parts if not isinstance(part, ToolResult)]
    if results and message.role not in ("tool", "user"):
        raise unsupported(f"a tool result in the role {message.role}", NAME)
    if message.role == "tool" and (others or not results):
        raise unsupported("something other than tool results in the role tool", NAME)
    written = tuple(map(_lower_result, results))
    return written if results and not others else (*written, _lower_speaker(message, others))


def _plain_text(message: Message) -> str | None:
    """Return the text of a message that is nothing else, as most are; `None` for other ones."""
    parts = message.parts
    if len(parts) != 1 or message.name is not None or message.role == "tool":
        return None
    part = parts[0]
    return part.text if type(part) is Text and not part.wire else None


def _lower_result(result: ToolResult) -> dict[str, Any]:
    facts = noted(result.wire, NAME)
    role = facts.get("role")
    given = result.call_id is not None and not facts.get("linked")  # since it was received
    if role not in ("tool", "function") or (role == "function" and given):
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


def _lower_speaker(message: Message, parts: Sequence[Content | ToolCall]) -> dict[str, Any]:
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
            lower_call(part, made)
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
