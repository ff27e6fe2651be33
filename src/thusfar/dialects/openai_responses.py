"""The openai-responses dialect: items of the Responses API, as input and as output.

Each entry of the list is one item, and so one message here: a reasoning item, a call and its
output are messages of their own. Server-side tools, which call and answer inside one item, are
kept as they are. Nothing here reads a request.

Source:
    openai-python 3.57.0, types/responses, generated from the provider's OpenAPI description.
    Read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_notes import mapping
from thusfar.dialects.openai_responses_calls import (
    answer_note,
    call_kind,
    output_kind,
    read_call,
    read_output,
)
from thusfar.dialects.openai_responses_items import (
    NATIVE_KINDS,
    ROLES,
    is_image,
    lift_item,
    lower_message,
    native_role,
    read_texts,
)
from thusfar.dialects.openai_responses_parts import NAME, part_kind
from thusfar.dialects.openai_responses_rules import RULES
from thusfar.facts import ASSISTANT, REASONING, SYSTEM, USER, Content, Facts, Link, content_of
from thusfar.messages import Message, ToolCall

__all__ = ["NATIVE_KINDS", "OPENAI_RESPONSES", "RULES", "OpenAIResponses"]

_SPEAKS: Final[dict[str, Facts]] = {
    "user": USER,
    "assistant": ASSISTANT,
    "system": SYSTEM,
    "developer": SYSTEM,
}
_CHAT: Final = ("tool_calls", "function_call", "tool_call_id")


class OpenAIResponses:
    """Reads and writes Responses items; keeps no state. SDK objects are read by duck typing."""

    name: Final = NAME

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one item; see `Dialect.describe`.

        Raises:
            DialectMismatch: For a message of another wire, and for a field of a wrong type.
        """
        seen = message if type(message) is dict else mapping(message)
        kind = seen.get("type")
        if kind is None or kind == "message":
            return _describe_message(seen, kind)
        if kind == "function_call":
            call_id, name = seen.get("call_id"), seen.get("name")
            if type(call_id) is str and type(name) is str and type(seen.get("arguments")) is str:
                return Facts("assistant", (Link(call_id, name),))
        return _describe_item(seen, kind)

    def content(self, message: Any) -> Content:
        """Derive what is counted of one item; see `Dialect.content`.

        Raises:
            DialectMismatch: As `describe` does.
        """
        seen = message if type(message) is dict else mapping(message)
        self.describe(seen)
        kind = seen.get("type")
        if kind is None or kind == "message":
            text = seen.get("content")
            if type(text) is str and text:
                return Content((text,))
        elif kind == "function_call":
            name, arguments = seen["name"], seen.get("arguments")
            if type(arguments) is str:
                return Content((name, arguments))
        elif kind == "function_call_output":
            output = seen.get("output")
            if type(output) is str and output:
                return Content((output,))
        return content_of(self.lift(seen))

    def lift(self, message: Any) -> Message:
        """Convert one item to canonical form; see `Dialect.lift`.

        Raises:
            DialectMismatch: As `describe` does.
            TranscriptError: `INVALID_TRANSCRIPT`, when a leftover field is not JSON.
        """
        seen = mapping(message)
        self.describe(seen)
        return lift_item(seen)

    def lower(self, message: Message) -> tuple[dict[str, Any], ...]:
        """Convert one canonical message to the items it needs; see `Dialect.lower`.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when a wire note is not JSON.
        """
        return lower_message(message)

    def answer_note(self, call: ToolCall) -> str:
        """Write the note of a result that answers a call; see `base.answer_note`."""
        return answer_note(call)


def _describe_message(item: Mapping[str, Any], kind: Any) -> Facts:
    role = item.get("role")
    if role is None and kind is None:
        return _describe_item(item, kind)
    if not isinstance(role, str) or role not in ROLES or any(key in item for key in _CHAT):
        raise DialectMismatch
    content = item.get("content")
    if not isinstance(content, str):
        if not isinstance(content, list | tuple):
            raise DialectMismatch
        for part in content:
            part_kind(part)
    return _SPEAKS[role]


def _describe_item(item: Mapping[str, Any], kind: Any) -> Facts:
    if kind == "reasoning":
        read_texts(item)
        return REASONING
    if isinstance(kind, str):
        if (calls := call_kind(item, kind)) is not None:
            return Facts("assistant", (read_call(item, calls),))
        if (answers := output_kind(item, kind)) is not None:
            return Facts("tool", (), (read_output(item, answers),))
    if is_image(item, kind):
        return ASSISTANT
    return SYSTEM if native_role(item, kind) == "system" else ASSISTANT


OPENAI_RESPONSES: Final = OpenAIResponses()
