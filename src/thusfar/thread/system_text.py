"""System text: what stands outside the list of messages on some wires, as messages of a thread.

A thread has it as its leading system messages, whatever the wire; on the way out it goes back to
where the wire has it, in the form in which it came.

Source:
    docs/spec/threads.md#in-and-out
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.codec import json_text, parse_json, to_json
from thusfar.dialects.base import Dialect, DialectMismatch
from thusfar.dialects.leftovers import same
from thusfar.errors import HistoryError, TranscriptError
from thusfar.messages import Message

_KEY: Final = "system"  # in the `wire` of a message: where it stood, and its form
OUTSIDE: Final = {
    "anthropic": ("system", "messages"),
    "bedrock-converse": ("system", "messages"),
    "gemini": ("systemInstruction", "contents"),
    "openai-responses": ("instructions", "input"),
}
"""Keys of a request's body: of the system text and of the messages, by dialect."""

_ALWAYS: Final = frozenset({"anthropic", "bedrock-converse", "gemini"})
_CONTENT: Final = {"gemini": "parts"}


def lift_system(value: Any, dialect: Dialect) -> Message | None:
    """Read the system text of a request as one system message.

    Args:
        value: As the wire has it; nothing and empty text give `None`.
        dialect: The dialect of the request.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for a value of no known shape.
    """
    value = to_json(value)
    if not value:
        return None
    content = value
    if dialect.name == "gemini":
        content = _gemini_parts(value)
    elif isinstance(value, Mapping):
        content = [value]
    key = _CONTENT.get(dialect.name, "content")
    try:
        message = dialect.lift({"role": "system", key: content})
        plain = same(_value(message, dialect), value)
    except (DialectMismatch, HistoryError):
        raise TranscriptError(
            "The system text of a request had an unknown shape.", fix="Pass text, or text blocks."
        ) from None
    note: dict[str, Any] = {"dialect": dialect.name}
    if not plain:
        note["value"] = value
    held = parse_json(message.wire, where="a message") if message.wire else {}
    return msgspec.structs.replace(message, wire=json_text({**held, _KEY: note}))


def _gemini_parts(value: Any) -> Any:
    if isinstance(value, str):
        return [{"text": value}]
    if isinstance(value, Mapping):
        return value.get("parts", [value])
    return [{"text": each} if isinstance(each, str) else each for each in value]


def split_system(messages: Sequence[Message], dialect: Dialect) -> tuple[Any, Sequence[Message]]:
    """Take the system text that the wire has outside the list from the messages.

    Returns:
        Its value, `None` when there is none, and the messages that stay in the list.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form there.
    """
    if dialect.name not in OUTSIDE:
        return None, messages
    run = 0
    while run < len(messages) and messages[run].role == "system":
        if dialect.name not in _ALWAYS and _note(messages[run], dialect) is None:
            break
        run += 1
    if not run:
        return None, messages
    values = [_restored(message, dialect) for message in messages[:run]]
    return (values[0] if run == 1 else _together(values, dialect)), messages[run:]


def _restored(message: Message, dialect: Dialect) -> Any:
    note = _note(message, dialect)
    return note["value"] if note and "value" in note else _value(message, dialect)


def _note(message: Message, dialect: Dialect) -> dict[str, Any] | None:
    if not message.wire:
        return None
    note = parse_json(message.wire, where="a message").get(_KEY)
    return note if isinstance(note, dict) and note.get("dialect") == dialect.name else None


def _value(message: Message, dialect: Dialect) -> Any:
    (lowered,) = dialect.lower(message)
    if dialect.name == "gemini":
        return {"parts": lowered["parts"]}
    return lowered["content"]


def _together(values: Sequence[Any], dialect: Dialect) -> Any:
    """Join the system texts of several messages, in order."""
    if dialect.name == "openai-responses":
        return "\n\n".join(values)
    if dialect.name == "gemini":
        return {"parts": [part for value in values for part in _gemini_parts(value)]}
    blocks: list[Any] = []
    for value in values:
        if isinstance(value, str):
            blocks.append({"type": "text", "text": value})
        else:
            blocks += value
    return blocks
