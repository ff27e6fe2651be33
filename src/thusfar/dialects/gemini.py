"""The dialect of Gemini's generateContent: roles user and model, lists of parts.

Function responses are parts of a `user` content (in old code of a `function` content), so one
that carries nothing else has the canonical role `tool`. Code that the provider ran pairs inside
one content and makes no links. Ids of calls are optional; without them results pair by name.

Source:
    https://ai.google.dev/api/caching#Content (read 2026-11-30)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.gemini_parts import (
    NAME,
    NATIVE_KINDS,
    Checked,
    arguments_text,
    check_part,
    field,
    lift_part,
    lower_part,
)
from thusfar.dialects.gemini_rules import RULES
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.shapes import facts_from, opened, without_name
from thusfar.facts import Content, Facts, Link, MediaKind, content_of
from thusfar.messages import Message, Role, ToolCall, ToolResult

__all__ = ["GEMINI", "NATIVE_KINDS", "RULES", "Gemini", "with_result_names"]

_ROLES: Final[dict[str | None, Role]] = {
    "user": "user",
    "model": "assistant",
    "function": "tool",
    "system": "system",  # where a systemInstruction is kept beside the contents
    None: "user",
}
_WIRE_ROLES: Final[dict[Role, str]] = {"assistant": "model", "tool": "user"}
_FOREIGN_KEYS: Final = frozenset({"content", "type", "kind", "tool_calls", "tool_call_id"})


class Gemini:
    """Reads and writes contents of Gemini's generateContent. Stateless."""

    name: Final = NAME

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one content.

        Raises:
            DialectMismatch: for a message of another wire.
        """
        role, checked = _opened(message)
        return _facts(role, checked)

    def content(self, message: Any) -> Content:
        """Derive what is counted of one content.

        Raises:
            DialectMismatch: for a message of another wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when a part holds what is not JSON.
        """
        texts: list[str] = []
        media: list[MediaKind] = []
        for kind, part in _opened(message)[1]:
            if kind == "text":
                texts.append(part["text"])
            elif kind == "functionCall":
                call = field(part, kind)
                texts += (call["name"], arguments_text(call))
            else:
                read = content_of(Message(role="user", parts=(lift_part((kind, part)),)))
                texts += read.texts
                media += read.media
        return Content(tuple(texts), tuple(media))

    def lift(self, message: Any) -> Message:
        """Convert one content to canonical form, losing nothing.

        Raises:
            DialectMismatch: for a message of another wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when it holds what is not JSON.
        """
        body = opened(message)
        role, checked = _opened(body)
        facts = _facts(role, checked)
        rest = {key: value for key, value in body.items() if key != "parts" or value is None}
        left = leftovers(rest, {"role": _WIRE_ROLES.get(facts.role, facts.role)})
        if body.get("parts") is None:
            with_form(left, {"parts": "none"})
        parts = tuple(lift_part(part) for part in checked)
        return Message(role=facts.role, parts=parts, wire=pack(NAME, left))

    def lower(self, message: Message) -> tuple[dict[str, Any]]:
        """Convert one canonical message to one content.

        A `system` message keeps its role: it belongs into `systemInstruction`.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire; for a
                result without the name of its tool see `with_result_names`.
            TranscriptError: `INVALID_TRANSCRIPT`, when a `wire` is not as it was lifted.
        """
        without_name(message, NAME)
        left = unpack(NAME, message.wire)
        body: dict[str, Any] = {"role": _WIRE_ROLES.get(message.role, message.role)}
        if message.parts or form_of(left).get("parts") != "none":
            body["parts"] = [lower_part(part) for part in message.parts]
        return (restore(body, left),)


GEMINI: Final = Gemini()


def with_result_names(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Name the tool in each result that has only an id, from the latest call of that id.

    Gemini requires the name, which other wires leave to the call.

    Args:
        messages: A transcript in order, with the calls that its results answer.

    Returns:
        The messages; those that need no name, or whose call is not there, as they were.
    """
    names: dict[str, str] = {}
    made: list[Message] = []
    for message in messages:
        parts = list(message.parts)
        for index, part in enumerate(parts):
            if isinstance(part, ToolCall) and part.id is not None:
                names[part.id] = part.name
            elif isinstance(part, ToolResult) and part.name is None and part.call_id in names:
                parts[index] = msgspec.structs.replace(part, name=names[part.call_id])
        changed = any(new is not old for new, old in zip(parts, message.parts, strict=True))
        made.append(msgspec.structs.replace(message, parts=tuple(parts)) if changed else message)
    return tuple(made)


def _opened(message: Any) -> tuple[Role, list[Checked]]:
    """Check the envelope and every part; give the role and the parts."""
    body = opened(message)
    role = body.get("role")
    known = _ROLES.get(role) if isinstance(role, str | None) else None
    parts = body.get("parts")
    if known is None:
        raise DialectMismatch("not a role of this wire")
    if not _FOREIGN_KEYS.isdisjoint(body):
        raise DialectMismatch("a key of another wire")
    if parts is None and role == "model":  # an answer that was cut off before its first part
        return known, []
    if not isinstance(parts, list | tuple):
        raise DialectMismatch("no list of parts")
    return known, [check_part(part) for part in parts]


def _facts(role: Role, checked: list[Checked]) -> Facts:
    calls: list[Link] = []
    results: list[Link] = []
    thoughts = 0
    for kind, part in checked:
        if kind == "functionCall":
            call: Mapping[str, Any] = field(part, kind)
            calls.append(Link(call.get("id"), call["name"]))
        elif kind == "functionResponse":
            result: Mapping[str, Any] = field(part, kind)
            results.append(Link(result.get("id"), result.get("name")))
        elif kind == "signature" or (kind == "text" and part.get("thought") is True):
            thoughts += 1
    return facts_from(role, calls, results, parts=len(checked), thoughts=thoughts)
