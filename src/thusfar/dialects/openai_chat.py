"""The openai-chat dialect: messages of the Chat Completions API and of all that imitate it.

`describe` and `content` have short ways for what most messages are; everything else goes
through the conversion, so that both always agree with it. Nothing here reads a request.

Source:
    openai-python 3.57.0, types/chat, generated from the provider's OpenAPI description; the
    vendors' additions from recorded traffic. Read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.base import DialectMismatch, Flat, PlainTurn
from thusfar.dialects.openai_chat_bulk import (
    describe_all,
    flatten,
    plain_turn,
    read_usual_calls,
    survey,
)
from thusfar.dialects.openai_chat_calls import read_calls
from thusfar.dialects.openai_chat_messages import (
    SPOKEN,
    lift_message,
    lower_message,
    read_result,
    read_role,
)
from thusfar.dialects.openai_chat_parts import NAME, NATIVE_KINDS, part_kind
from thusfar.dialects.openai_chat_rules import RULES
from thusfar.dialects.openai_notes import mapping
from thusfar.facts import ASSISTANT, SYSTEM, USER, Content, Facts, Link, content_of, facts_of
from thusfar.messages import Message, Role, Text

__all__ = ["NATIVE_KINDS", "OPENAI_CHAT", "RULES", "OpenAIChat"]

_COUNTED: Final = frozenset({"name", *SPOKEN})
_SPEAKERS: Final = ("user", "assistant", "system", "developer")
_PLAIN: Final = ("user", "assistant", "system")  # written in the role they have here
_CALLING: Final = frozenset({"role", "content", "tool_calls"})


class OpenAIChat:
    """Reads and writes Chat Completions messages; keeps no state.

    SDK objects are read by duck typing. The old `function_call` and its `function` results
    have no ids: they pair by name and order.
    """

    name: Final = NAME

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one message; see `Dialect.describe`.

        Raises:
            DialectMismatch: For a message of another wire, and for a field of a wrong type.
        """
        seen = message if type(message) is dict else mapping(message)
        content = seen.get("content")
        role = seen.get("role")
        if role == "assistant" and "tool_calls" in seen:
            links = _usual_links(seen, content)
            if links:
                return Facts("assistant", links)
        elif type(content) is str and content:
            if role == "user":
                if "tool_calls" not in seen:
                    return USER
            elif role == "assistant":
                if "function_call" not in seen:
                    return ASSISTANT
            elif role == "tool":
                call_id, name = seen.get("tool_call_id"), seen.get("name")
                if type(call_id) is str and (name is None or type(name) is str):
                    return Facts("tool", (), (Link(call_id, name),))
            elif role == "system" or role == "developer":
                return SYSTEM
        return _describe(seen)

    def content(self, message: Any) -> Content:
        """Derive what is counted of one message; see `Dialect.content`.

        Raises:
            DialectMismatch: As `describe` does.
        """
        seen = message if type(message) is dict else mapping(message)
        text = seen.get("content")
        role = seen.get("role")
        if type(text) is str and text:
            if (
                role == "tool"
                and type(seen.get("tool_call_id")) is type(seen.get("name", "")) is str
            ):
                return Content((text,))
            if role in _SPEAKERS and _COUNTED.isdisjoint(seen):
                return Content((text,))
        if type(text) is list and role in _SPEAKERS and _COUNTED.isdisjoint(seen):
            texts = _texts(text)
            if texts is not None:
                return Content(texts)
        if role == "assistant" and seen.keys() == _CALLING and (text is None or type(text) is str):
            return _content_of_calls(seen, text)
        return content_of(self.lift(seen))

    def describe_all(self, messages: Sequence[Any]) -> list[Facts]:
        """Describe many messages in one loop; see `base.describe_all`.

        Raises:
            DialectMismatch: As `describe` does.
        """
        return describe_all(messages, self.describe)

    def flatten(self, messages: Sequence[Any]) -> Flat:
        """List what is counted of many messages in one loop; see `base.flatten`.

        Raises:
            DialectMismatch: As `describe` does.
        """
        return flatten(messages, self.content)

    def survey(self, messages: Sequence[Any]) -> tuple[list[Facts], Flat]:
        """Describe many messages and list their texts in one loop; see `base.survey`.

        Raises:
            DialectMismatch: As `describe` does.
        """
        return survey(messages, self.describe, self.content)

    def plain_turn(self, messages: Sequence[Any], end: int, floor: int) -> PlainTurn | None:
        """Read the turn that ends at `end` where it is plain; see `base.PlainTurn`."""
        return plain_turn(messages, end, floor)

    def lift(self, message: Any) -> Message:
        """Convert one message to canonical form; see `Dialect.lift`.

        Raises:
            DialectMismatch: As `describe` does.
            TranscriptError: `INVALID_TRANSCRIPT`, when a leftover field is not JSON.
        """
        seen = mapping(message)
        text = seen.get("content")
        if type(text) is str and text and len(seen) == 2 and seen.get("role") in _PLAIN:
            return Message(seen["role"], (Text(text),))
        role = read_role(seen)
        _check(seen, role)
        return lift_message(seen, role)

    def lower(self, message: Message) -> tuple[dict[str, Any], ...]:
        """Convert one canonical message to the wire; see `Dialect.lower`.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when a wire note is not JSON.
        """
        return lower_message(message)


def _describe(seen: Mapping[str, Any]) -> Facts:
    role = read_role(seen)
    kinds = _check(seen, role)
    if role == "tool":
        return Facts("tool", (), (Link(*read_result(seen)),))
    if role == "system":
        return SYSTEM
    calls = tuple(Link(call.id, call.name) for call in read_calls(seen))
    if role == "user":
        return Facts("user", calls, user_input=True) if calls else USER
    if calls:
        return Facts("assistant", calls)
    if "text" in kinds:
        return ASSISTANT
    return facts_of(lift_message(seen, role))  # perhaps nothing but reasoning


def _check(seen: Mapping[str, Any], role: Role) -> tuple[str, ...]:
    """Check the shape of a message and tell the types of its content parts."""
    content = seen.get("content")
    if isinstance(content, str):
        kinds: tuple[str, ...] = ("text",) if content else ()
    elif isinstance(content, list | tuple):
        kinds = tuple(map(part_kind, content))
    elif content is None and ("content" in seen or _may_go_without(seen, role)):
        kinds = ()
    else:
        raise DialectMismatch
    if role == "tool":
        read_result(seen)
    elif role != "system":
        read_calls(seen)
    return kinds


def _may_go_without(seen: Mapping[str, Any], role: Role) -> bool:
    match role:
        case "assistant":
            return any(field in seen for field in SPOKEN)
        case "user":
            return bool(seen.get("tool_calls"))
        case "tool":
            return seen.get("tool_call_id") is not None
        case _:
            return False


def _usual_links(seen: Mapping[str, Any], content: Any) -> tuple[Link, ...]:
    """Read the calls of a message in its commonest form; none where it needs a closer look."""
    if (content is not None and type(content) is not str) or "function_call" in seen:
        return ()
    if "content" not in seen:
        return ()
    return tuple([Link(call_id, name) for call_id, name, _ in read_usual_calls(seen["tool_calls"])])


def _texts(parts: list[Any]) -> tuple[str, ...] | None:
    """Read content of nothing but text parts; `None` for any other."""
    found: list[str] = []
    for part in parts:
        if type(part) is not dict or part.get("type") != "text":
            return None
        text = part.get("text")
        if type(text) is not str:
            return None
        found.append(text)
    return tuple(found)


def _content_of_calls(seen: Mapping[str, Any], text: str | None) -> Content:
    """Count a message of text and calls, the commonest of agents, without converting it."""
    calls = read_usual_calls(seen["tool_calls"])
    if not calls:
        return content_of(OPENAI_CHAT.lift(seen))
    texts = [text] if text else []
    for _, name, arguments in calls:
        texts += (name, arguments)
    return Content(tuple(texts))


OPENAI_CHAT: Final = OpenAIChat()
