"""The LangChain dialect: message objects by duck typing, and the two JSON forms of them.

LangChain is imported only to make objects, never to read them. An object comes back equal and of
the same class. The JSON forms are those of `messages_to_dict` and of `dumpd`.

Source:
    langchain-core 1.8.3, langchain_core/messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.codec import json_text, parse_json, to_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.langchain_blocks import NAME, lift_block, lower_block, style_of
from thusfar.dialects.langchain_forms import Envelope, class_name, closed, opened
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.rules import Rule
from thusfar.dialects.shapes import unsupported
from thusfar.errors import TranscriptError
from thusfar.facts import ASSISTANT, SYSTEM, USER, Content, Facts, Link, content_of, facts_of
from thusfar.messages import Message, Native, Part, Reasoning, Role, Text, ToolCall, ToolResult

RULES: Final[tuple[Rule, ...]] = ()  # what a provider refuses is known behind LangChain

_ROLES: Final[dict[str, Role]] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
}
_CHAT_ROLES: Final[dict[str, Role]] = {
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "control": "system",
}
_TYPES: Final = {role: kind for kind, role in _ROLES.items() if kind != "function"}
_PLAIN: Final = {"human": USER, "system": SYSTEM}


class LangChain:
    """Reads and writes LangChain messages; keeps no state."""

    name: Final = NAME

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one message; see `Dialect.describe`.

        Raises:
            DialectMismatch: for anything but a LangChain message.
        """
        envelope = opened(message)
        fields = envelope.fields
        if not isinstance(fields["content"], str) or fields.get("additional_kwargs"):
            return facts_of(_lift(envelope))
        match envelope.speaker:
            case "human" | "system" as speaker:
                return _PLAIN[speaker]
            case "ai":
                entries = _entries(fields)
                calls = tuple(Link(each.get("id"), each.get("name") or "") for each in entries)
                return Facts("assistant", calls) if calls else ASSISTANT
            case "chat":
                return facts_of(Message(_role(envelope)))
            case _:
                return Facts("tool", results=(Link(*_answers(envelope)),))

    def content(self, message: Any) -> Content:
        """Derive what is counted of one message; see `Dialect.content`."""
        return content_of(_lift(opened(message)))

    def lift(self, message: Any) -> Message:
        """Convert one message to canonical form, losing nothing.

        Values that are not JSON (the artifact of a tool, say) are converted as everywhere.

        Raises:
            DialectMismatch: for anything but a LangChain message.
            TranscriptError: `INVALID_TRANSCRIPT`, for a value that has no JSON form.
        """
        return _lift(opened(message))

    def lower(self, message: Message) -> tuple[Any, ...]:
        """Convert one canonical message to LangChain messages.

        A lifted one comes back in its own form; any other becomes objects, one for each tool
        result and one for the rest.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form here.
            MissingExtraError: `MISSING_EXTRA`, when langchain-core is not installed.
        """
        left = unpack(NAME, message.wire)
        if left:
            return (_close(message, left),)
        return tuple(_close(piece, {}) for piece in _pieces(message))

    def lower_beside(self, message: Message, neighbour: Any) -> tuple[Any, ...]:
        """Convert a new message to the form of its neighbour; see `base.lower_beside`."""
        form = opened(neighbour).form
        return tuple(
            _close(piece, with_form({}, _alike(form, piece))) for piece in _pieces(message)
        )


def _alike(form: Mapping[str, Any], message: Message) -> dict[str, Any]:
    """Take the form of one message for another, perhaps of another class."""
    kept = {name: form[name] for name in ("form", "id") if name in form}
    if "id" in kept:
        kept["id"] = [*kept["id"][:-1], class_name(_default_kind(message))]
    return kept


def _lift(envelope: Envelope) -> Message:
    fields = to_json(envelope.fields)
    role = _role(envelope)
    name, identity = fields.get("name"), fields.get("id")
    if role == "tool":
        call_id, name = _answers(envelope)
        parts = _lift_content(fields["content"], {})
        inside = tuple(_inside(part) for part in parts)
        failed = fields.get("status") == "error"
        parts, name = (ToolResult(call_id, name, inside, is_error=failed),), None
    else:
        parts = _lift_all(fields) if role == "assistant" else _lift_content(fields["content"], {})
    message = Message(
        role,
        parts,
        id=identity if isinstance(identity, str) else None,
        name=name if isinstance(name, str) else None,
    )
    form = dict(envelope.form)
    if envelope.kind != _TYPES[role]:
        form["type"] = envelope.kind
    if isinstance(fields["content"], list) and isinstance(_content(_contents(message), {}), str):
        form["listed"] = True
    left = leftovers(fields, _render(message, form))
    return Message(
        role, parts, id=message.id, name=message.name, wire=pack(NAME, with_form(left, form))
    )


def _role(envelope: Envelope) -> Role:
    if envelope.speaker != "chat":
        return _ROLES[envelope.speaker]
    role = envelope.fields.get("role")
    if not isinstance(role, str):
        raise DialectMismatch("a chat message without a role")
    return _CHAT_ROLES.get(role, "user")


def _answers(envelope: Envelope) -> tuple[str | None, str | None]:
    """Read the call id and the tool name of a result."""
    name = envelope.fields.get("name")
    name = name if isinstance(name, str) else None
    if envelope.speaker == "function":
        return None, name
    call_id = envelope.fields.get("tool_call_id")
    if not isinstance(call_id, str):
        raise DialectMismatch("a tool message without a call id")
    return call_id, name


def _entries(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the calls of a message, those with arguments that are no JSON object last."""
    entries: list[Any] = []
    for key in ("tool_calls", "invalid_tool_calls"):
        told = fields.get(key) or []
        if not isinstance(told, list | tuple):
            raise DialectMismatch("tool calls of another shape")
        entries += told
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str | None):
            raise DialectMismatch("a tool call of another shape")
        if not isinstance(entry.get("name"), str | None):
            raise DialectMismatch("a tool call of another shape")
    return entries


def _lift_all(fields: Mapping[str, Any]) -> tuple[Part, ...]:
    """Lift a reply: what stands beside the content first, then the content, then its calls."""
    entries = _entries(fields)
    by_id = {entry["id"]: entry for entry in entries if entry.get("id") is not None}
    beside = fields.get("additional_kwargs")
    before, after = _lift_beside(beside if isinstance(beside, Mapping) else {}, bool(entries))
    content = _lift_content(fields["content"], by_id)
    told = {part.id for part in content if isinstance(part, ToolCall)}
    calls = tuple(
        _lift_entry(each)
        for each in entries
        if each.get("id") not in told or each.get("id") is None
    )
    return (*before, *content, *calls, *after)


def _lift_content(content: Any, calls: Mapping[str, Any]) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        raise DialectMismatch("content of another shape")
    # What is left of a streamed call stands in the calls as a whole.
    blocks = [block for block in content if not (calls and _is_remnant(block))]
    return tuple(lift_block(block, calls) for block in blocks)


def _is_remnant(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "input_json_delta"


def _lift_beside(beside: Mapping[str, Any], called: bool) -> tuple[list[Part], list[Part]]:
    """Lift what providers put into `additional_kwargs`: reasoning, a refusal, an old call."""
    before: list[Part] = []
    after: list[Part] = []
    if isinstance(text := beside.get("reasoning_content"), str):
        before.append(Reasoning(text, wire=_at("reasoning_content")))
    if isinstance(text := beside.get("refusal"), str):
        after.append(Text(text, wire=_at("refusal")))
    match beside.get("function_call"):
        case {"name": str(name), "arguments": str(arguments)} if not called:
            after.append(ToolCall(None, name, arguments, wire=_at("function_call")))
    return before, after


def _at(place: str) -> str:
    return pack(NAME, with_form({}, {"at": place}))


def _lift_entry(entry: Mapping[str, Any]) -> ToolCall:
    arguments = entry.get("args")
    if isinstance(arguments, Mapping):
        return ToolCall(entry.get("id"), entry.get("name") or "", json_text(arguments))
    text = arguments if isinstance(arguments, str) else ""
    form = {"error": entry.get("error")}
    wire = pack(NAME, with_form({}, {"invalid": form}))
    return ToolCall(entry.get("id"), entry.get("name") or "", text, wire=wire)


def _inside(part: Part) -> Any:
    """Keep what a result can hold; a block that is a call or reasoning there stays native."""
    if isinstance(part, ToolCall | Reasoning):
        return Native(NAME, "", json_text(lower_block(part)))
    return part


def _pieces(message: Message) -> list[Message]:
    """Split a message of another dialect into what LangChain has messages for."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
    pieces = [Message("tool", (result,)) for result in results]
    if rest or not results:
        role: Role = "user" if message.role == "tool" else message.role
        pieces.append(Message(role, rest, name=message.name))
    return (
        [Message(p.role, p.parts, id=message.id, name=p.name) for p in pieces]
        if len(pieces) == 1
        else pieces
    )


def _close(message: Message, left: Mapping[str, Any]) -> Any:
    form = dict(form_of(left))
    kind = form.pop("type", None) or _default_kind(message)
    fields = restore(_render(message, form_of(left)), left)
    return closed(Envelope(kind=kind, fields=fields, form=form))


def _default_kind(message: Message) -> str:
    """Name the type for a canonical message; a result without a call id is an old function."""
    match message.parts:
        case (ToolResult(call_id=None, name=name),):
            if name is None:
                unsupported("tool_result", NAME, "it has neither a call id nor a name")
            return "function"
    return _TYPES[message.role]


def _render(message: Message, form: Mapping[str, Any]) -> dict[str, Any]:
    """Write the fields of a message from its canonical form alone."""
    if message.role == "tool":
        fields = _render_result(message)
    else:
        fields = {"content": _content(_contents(message), form)}
        fields |= _render_calls(message)
        if message.name is not None:
            fields["name"] = message.name
    if message.id is not None:
        fields["id"] = message.id
    if form.get("form") in ("dict", "dumpd"):
        fields["type"] = form.get("type", _TYPES[message.role])
    return fields


def _contents(message: Message) -> list[Part]:
    """List the parts that stand in the content."""
    if message.role == "tool":
        (result,) = message.parts
        return list(result.parts) if isinstance(result, ToolResult) else []
    return [part for part in message.parts if _in_content(part)]


def _in_content(part: Part) -> bool:
    style = style_of(part)
    return "style" in style if isinstance(part, ToolCall) else "at" not in style


def _content(parts: list[Part], form: Mapping[str, Any]) -> str | list[Any]:
    if form.get("listed"):
        return [lower_block(part) for part in parts]
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text) and not unpack(NAME, parts[0].wire):
        return parts[0].text
    return [lower_block(part) for part in parts]


def _render_result(message: Message) -> dict[str, Any]:
    if len(message.parts) != 1 or not isinstance(result := message.parts[0], ToolResult):
        unsupported("tool_result", NAME, "a tool message holds exactly one result")
    fields: dict[str, Any] = {"content": _content(_contents(message), {})}
    if result.call_id is not None:
        fields |= {
            "tool_call_id": result.call_id,
            "status": "error" if result.is_error else "success",
        }
    return fields if result.name is None else {**fields, "name": result.name}


def _render_calls(message: Message) -> dict[str, Any]:
    """Write the calls of a message, and what stands beside its content."""
    fields: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    for part in message.parts:
        style = style_of(part)
        if isinstance(part, ToolCall):
            if message.role != "assistant":
                unsupported("tool_call", NAME, "only a model makes calls there")
            if style.get("at"):
                beside["function_call"] = {"name": part.name, "arguments": part.arguments}
            elif not style.get("only"):
                key, entry = _render_entry(part, style)
                fields.setdefault(key, []).append(entry)
        elif isinstance(part, Text | Reasoning) and "at" in style:
            beside[style["at"]] = part.text
    return {**fields, "additional_kwargs": beside} if beside else fields


def _render_entry(call: ToolCall, style: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    named = {"name": call.name, "id": call.id}
    if invalid := style.get("invalid"):
        text = {"args": call.arguments, "error": invalid.get("error")}
        return "invalid_tool_calls", {**named, **text, "type": "invalid_tool_call"}
    try:
        arguments = parse_json(call.arguments, where="the arguments of a call")
    except TranscriptError:
        arguments = None
    if isinstance(arguments, dict):
        return "tool_calls", {**named, "args": arguments, "type": "tool_call"}
    text = {"args": call.arguments, "error": None}
    return "invalid_tool_calls", {**named, **text, "type": "invalid_tool_call"}


LANGCHAIN: Final = LangChain()
