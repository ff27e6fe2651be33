"""The pydantic-ai dialect: requests and responses, as objects or in their JSON form.

A request may hold system prompts, what the user says and tool results together; it is one
canonical message all the same. pydantic-ai is imported only to make objects; one that was lifted
comes back equal.

Source:
    pydantic-ai-slim 2.68.0, pydantic_ai/messages.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.pydantic_ai_items import items_of
from thusfar.dialects.pydantic_ai_objects import NAME, TAG, decode, encode, is_object, listed, made
from thusfar.dialects.pydantic_ai_parts import (
    SPOKEN,
    UNREAD,
    Header,
    answers,
    lift_part,
    lower_part,
    parts_of,
    render,
)
from thusfar.dialects.rules import Rule
from thusfar.dialects.shapes import facts_from, unsupported
from thusfar.errors import TranscriptError
from thusfar.facts import Content, Facts, Link, content_of, facts_of
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

RULES: Final[tuple[Rule, ...]] = ()  # what a provider refuses is known behind pydantic-ai

_KINDS: Final = ("request", "response")
_CLASSES: Final = {
    "system-prompt": "SystemPromptPart",
    "user-prompt": "UserPromptPart",
    "tool-return": "ToolReturnPart",
    "text": "TextPart",
    "thinking": "ThinkingPart",
    "tool-call": "ToolCallPart",
    "file": "FilePart",
    "image-url": "ImageUrl",
    "audio-url": "AudioUrl",
    "video-url": "VideoUrl",
    "document-url": "DocumentUrl",
    "binary": "BinaryContent",
    "text-content": "TextContent",
    "uploaded-file": "UploadedFile",
}

Get = Callable[[Any, str], Any]


class PydanticAI:
    """Reads and writes pydantic-ai messages; keeps no state."""

    name: Final = NAME

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one message; see `Dialect.describe`.

        Raises:
            DialectMismatch: for anything but a request or response of pydantic-ai.
        """
        get = _getter(message)
        parts = listed(get(message, "parts"))
        if parts is None:
            raise DialectMismatch("a message without parts")
        role = _role(get(message, "kind"), parts, get)
        if isinstance(message, Mapping):
            return facts_of(Message(role, tuple(each for part in parts for each in parts_of(part))))
        return _outline(role, parts, get)

    def content(self, message: Any) -> Content:
        """Derive what is counted of one message; see `Dialect.content`."""
        return content_of(self.lift(message))

    def lift(self, message: Any) -> Message:
        """Convert one request or response to canonical form, losing nothing.

        Raises:
            DialectMismatch: for anything else.
            TranscriptError: `INVALID_TRANSCRIPT`, for a value that has no JSON form.
        """
        _getter(message)
        plain = message if isinstance(message, Mapping) else encode(message)
        wire_parts = listed(plain.get("parts"))
        if wire_parts is None:
            raise DialectMismatch("a message without parts")
        role = _role(plain["kind"], wire_parts, _item)
        lifted = [lift_part(part) for part in wire_parts]
        parts = tuple(part for _, made_parts in lifted for part in made_parts)
        form: dict[str, Any] = {"parts": [msgspec.to_builtins(header) for header, _ in lifted]}
        if isinstance(plain["parts"], Mapping):
            form["tuple"] = True
        rendered = {"kind": plain["kind"], "parts": plain["parts"]}
        left = with_form(leftovers(plain, rendered), form)
        return Message(role, parts, wire=pack(NAME, left))

    def lower(self, message: Message) -> tuple[Any, ...]:
        """Convert one canonical message to a request or a response.

        A lifted one comes back in its own form; any other becomes an object, whose times are
        the start of 1970 because it never had one.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form here.
            MissingExtraError: `MISSING_EXTRA`, when pydantic-ai is not installed.
        """
        left = unpack(NAME, message.wire)
        if not left:
            return (decode(_new(message)),)
        form = form_of(left)
        wire_parts: Any = _lower_parts(form, message.parts)
        if form.get("tuple"):
            wire_parts = {TAG: "tuple", "items": wire_parts}
        kind = "response" if message.role == "assistant" else "request"
        plain = restore({"kind": kind, "parts": wire_parts}, left)
        return (decode(plain) if TAG in plain else plain,)

    def lower_beside(self, message: Message, neighbour: Any) -> tuple[Any, ...]:
        """Convert a new message to an object, or to JSON beside JSON; see `base.lower_beside`."""
        plain = _new(message)
        return (_json(plain) if isinstance(neighbour, Mapping) else decode(plain),)


def _outline(role: Role, parts: Sequence[Any], get: Get) -> Facts:
    """Derive the facts of an object without writing it as plain values."""
    calls: list[Link] = []
    results: list[Link] = []
    count = thoughts = 0
    for part in parts:
        kind = _kind(part, get)
        if answers(part, get):
            results.append(Link(get(part, "tool_call_id"), get(part, "tool_name")))
        elif kind == "tool-call":
            calls.append(Link(get(part, "tool_call_id"), get(part, "tool_name")))
        thoughts += kind == "thinking"
        count += _count(part, kind, get)
    return facts_from(role, calls, results, parts=count, thoughts=thoughts)


def _lower_parts(form: Mapping[str, Any], parts: Sequence[Part]) -> list[Any]:
    headers = msgspec.convert(form.get("parts", []), list[Header])
    if sum(header.count for header in headers) != len(parts):
        raise TranscriptError(
            "The parts of a message were changed after it was lifted.",
            fix="Empty the wire field of a message when changing its parts.",
        )
    made_parts: list[Any] = []
    start = 0
    for header in headers:
        made_parts.append(lower_part(header, parts[start : start + header.count]))
        start += header.count
    return made_parts


def _getter(message: Any) -> Get:
    """Choose how to read a message; refuse what is no message of pydantic-ai."""
    if isinstance(message, Mapping):
        parts = message.get("parts")
        told = isinstance(parts, list | tuple) and all(map(_is_part, parts))
        if message.get("kind") in _KINDS and told:
            return _item
    elif is_object(message) and getattr(message, "kind", None) in _KINDS:
        return _attribute
    raise DialectMismatch("not a message of pydantic-ai")


def _is_part(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("part_kind"), str)


def _item(part: Any, key: str) -> Any:
    return part.get(key) if isinstance(part, Mapping) else None


def _attribute(part: Any, key: str) -> Any:
    return getattr(part, key, None)


def _kind(part: Any, get: Get) -> str:
    kind = get(part, "part_kind")
    if not isinstance(kind, str):
        raise DialectMismatch("a part without a kind")
    return kind


def _role(kind: str, parts: Sequence[Any], get: Get) -> Role:
    """Tell who speaks: in a request the user, if anything is theirs; else tools, else nobody."""
    if kind == "response":
        return "assistant"
    results = [answers(part, get) for part in parts]
    kinds = [_kind(part, get) for part in parts]
    if any(k in SPOKEN and not told for k, told in zip(kinds, results, strict=True)):
        return "user"
    if any(results):
        read = [told for k, told in zip(kinds, results, strict=True) if k not in UNREAD]
        return "tool" if all(read) else "user"
    return "system"


def _count(part: Any, kind: str, get: Get) -> int:
    """Count the canonical parts that a part becomes."""
    if kind in UNREAD or (kind == "instruction-delta" and get(part, "content") is None):
        return 0
    if kind == "user-prompt" and (items := items_of(get(part, "content"))) is not None:
        return len(items)
    if kind == "speech":
        transcript, sound = get(part, "transcript"), get(part, "audio")
        return isinstance(transcript, str) + (sound is not None)
    return 1


def _new(message: Message) -> dict[str, Any]:
    """Write a canonical message of another dialect as the plain value of a new object."""
    if message.role == "assistant":
        parts = [_new_part(_response_kind(part), (part,)) for part in message.parts]
        return made("ModelResponse", kind="response", parts=parts, usage=_NO_USAGE)
    if message.role == "system":
        texts = [_new_part("system-prompt", (part,)) for part in message.parts]
        return made("ModelRequest", kind="request", parts=texts)
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    said = [part for part in message.parts if not isinstance(part, ToolResult)]
    parts = [_new_part("tool-return", (result,)) for result in results]
    if said or not results:
        parts.append(_new_part("user-prompt", said))
    return made("ModelRequest", kind="request", parts=parts)


def _json(plain: Any) -> Any:
    """Write the plain value of a new object without its classes."""
    if isinstance(plain, list):
        return [_json(each) for each in plain]
    if not isinstance(plain, Mapping):
        return plain
    return {key: _json(value) for key, value in plain.items() if key != TAG and value != _NO_USAGE}


_NO_USAGE: Final = {TAG: "pydantic_ai.usage:RequestUsage"}


def _response_kind(part: Part) -> str:  # noqa: RET503 - never ends
    match part:
        case Text():
            return "text"
        case Reasoning():
            return "thinking"
        case ToolCall():
            return "tool-call"
        case Image() | Audio() | File():
            return "file"
    unsupported(str(part.__struct_config__.tag), NAME, "a response cannot hold it")


def _new_part(kind: str, parts: Sequence[Part]) -> dict[str, Any]:
    for part in parts if kind == "system-prompt" else ():
        if not isinstance(part, Text):
            unsupported(str(part.__struct_config__.tag), NAME, "a system prompt holds only text")
    return _classed(render(kind, parts, {}))


def _classed(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Name the class of a part or item that was rendered, and of those inside."""
    told = plain.get("part_kind", plain.get("kind"))
    fields = {key: _within(value) for key, value in plain.items()}
    return {TAG: _CLASSES[told], **fields} if told in _CLASSES else fields


def _within(value: Any) -> Any:
    if isinstance(value, list):
        return [_within(each) for each in value]
    return _classed(value) if isinstance(value, Mapping) else value


PYDANTIC_AI: Final = PydanticAI()
