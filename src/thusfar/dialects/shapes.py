"""Shapes: the checks and conversions that wires made of content blocks have in common.

Used by the dialects whose messages are lists of blocks (anthropic, gemini, bedrock-converse).
Nothing here knows one of them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NoReturn

from thusfar.codec import parse_json
from thusfar.dialects.base import DialectMismatch, plain
from thusfar.errors import TranscriptError, UnsupportedPartError
from thusfar.facts import ASSISTANT, REASONING, SYSTEM, USER, Facts, Link
from thusfar.messages import Message, Role

_SPOKEN: dict[Role, Facts] = {"system": SYSTEM, "user": USER, "assistant": ASSISTANT}


def opened(value: Any) -> Mapping[str, Any]:
    """View a message or block (also an SDK object) as a mapping.

    Raises:
        DialectMismatch: when it is neither.
    """
    if isinstance(value, dict):
        return value
    view = plain(value)
    if view is None:
        raise DialectMismatch("not an object")
    return view


def text_at(block: Mapping[str, Any], key: str) -> str:
    """Read a field that has to be text.

    Raises:
        DialectMismatch: when it is missing or something else.
    """
    value = block.get(key)
    if not isinstance(value, str):
        raise DialectMismatch(f"{key} is not text")
    return value


def listed(message: Any, key: str) -> list[Mapping[str, Any]]:
    """List the objects in a field, for rules that look at any request; never raises."""
    value = message.get(key) if isinstance(message, Mapping) else None
    if not isinstance(value, list | tuple):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def role_at(message: Any) -> str:
    """Read the role of a message, for rules that look at any request; empty when it has none."""
    role = message.get("role") if isinstance(message, Mapping) else None
    return role if isinstance(role, str) else ""


def facts_from(
    role: Role, calls: list[Link], results: list[Link], *, parts: int, thoughts: int
) -> Facts:
    """Build the facts of a message from what its blocks are; agrees with `facts_of`.

    Args:
        role: The role it has on its wire, in canonical words.
        calls: Its calls, in order.
        results: Its results, in order.
        parts: How many parts it lifts to.
        thoughts: How many of them are reasoning.
    """
    if results:
        if role in ("user", "tool"):
            role = "tool" if len(results) == parts else "user"
        return Facts(role, tuple(calls), tuple(results))
    if calls:
        return Facts(role, tuple(calls), user_input=role == "user")
    if role == "assistant" and parts and thoughts == parts:
        return REASONING
    return _SPOKEN.get(role) or Facts(role)


def arguments_object(arguments: str, dialect: str) -> dict[str, Any]:
    """Read the arguments of a call for a wire that writes them as a JSON object.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, when the text is no JSON object.
    """
    try:
        value = parse_json(arguments, where="the arguments of a call")
    except TranscriptError:
        value = None
    if not isinstance(value, dict):
        unsupported("tool_call", dialect, "its arguments were no JSON object")
    return value


def unsupported(kind: str, dialect: str, why: str, fix: str | None = None) -> NoReturn:
    """Refuse a part that has no form on a wire.

    Args:
        kind: The part's tag, as in `thusfar.messages`.
        dialect: The dialect it was to be lowered to.
        why: Clause that says what is missing. Never content.
        fix: What to do; a sentence. `None` means the usual advice.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, always.
    """
    raise UnsupportedPartError(
        f"A part of type {kind} had no form in the dialect {dialect}: {why}.",
        fix=fix or "Pass leave_out=True, or send the message to a provider that takes it.",
        part=kind,
        dialect=dialect,
    )


def without_name(message: Message, dialect: str) -> None:
    """Refuse a message whose speaker has a name, for a wire that cannot give one.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, when it has one.
    """
    if message.name:
        unsupported(
            "name", dialect, "its messages name no speaker", "Write the name into the text."
        )


def base64_of(data: bytes | bytearray) -> str:
    """Encode bytes as base64 text."""
    return base64.b64encode(data).decode()


def bytes_of(text: str, *, part: str, dialect: str) -> bytes:
    """Decode base64 text.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, when it is not base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        unsupported(part, dialect, "its data was not base64")
