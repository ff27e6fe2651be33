"""The dialect of Anthropic's Messages API: roles user, assistant and system, lists of blocks.

Results are blocks in a `user` message, so a user message that carries nothing but results has
the canonical role `tool`. What the provider's own tools did pairs inside one message and makes
no links. Answers as received (with `id`, `model`, `usage`) are messages too.

Source:
    https://platform.claude.com/docs/en/api/messages (read 2026-11-30)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.codec import json_text
from thusfar.dialects.anthropic_blocks import (
    NAME,
    NATIVE_KINDS,
    THOUGHTS,
    check_block,
    is_plain_text,
    lift_block,
    lower_content,
)
from thusfar.dialects.anthropic_rules import RULES
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.shapes import facts_from, opened, without_name
from thusfar.facts import ASSISTANT, SYSTEM, USER, Content, Facts, Link, MediaKind, content_of
from thusfar.messages import Message, Part, Role, Text

__all__ = ["ANTHROPIC", "NATIVE_KINDS", "RULES", "Anthropic"]

_SPOKEN: Final[dict[str, Facts]] = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}
_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}
_FOREIGN_KEYS: Final = frozenset(
    {
        "tool_calls",
        "function_call",
        "tool_call_id",
        "refusal",
        "reasoning_content",
        "reasoning",
        "audio",
        "parts",
        "kind",
    }
)


class Anthropic:
    """Reads and writes messages of Anthropic's Messages API. Stateless."""

    name: Final = NAME

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one message.

        Raises:
            DialectMismatch: for a message of another wire.
        """
        body = message if type(message) is dict else opened(message)
        content = body.get("content")
        if type(content) is str and len(body) == 2:
            role = body.get("role")
            if type(role) is str and (facts := _SPOKEN.get(role)) is not None:
                return facts
        return _facts(_role(body), _blocks(body))

    def content(self, message: Any) -> Content:
        """Derive what is counted of one message.

        Raises:
            DialectMismatch: for a message of another wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when a block holds what is not JSON.
        """
        body = opened(message)
        _role(body)
        content = body.get("content")
        if isinstance(content, str):
            return Content((content,))
        texts: list[str] = []
        media: list[MediaKind] = []
        for block in _blocks(body) or ():
            _read(block, texts, media)
        return Content(tuple(texts), tuple(media))

    def lift(self, message: Any) -> Message:
        """Convert one message to canonical form, losing nothing.

        Raises:
            DialectMismatch: for a message of another wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when it holds what is not JSON.
        """
        body = opened(message)
        role, blocks = _role(body), _blocks(body)
        facts = _facts(role, blocks)
        form: dict[str, str] = {}
        if blocks is None:
            parts: tuple[Part, ...] = (Text(body["content"]),) if "content" in body else ()
        else:
            parts = tuple(lift_block(block) for block in blocks)
            if is_plain_text(parts):
                form["content"] = "list"
        rest = {key: value for key, value in body.items() if key != "content"}
        if "content" not in body:
            form["content"] = "none"
        left = with_form(leftovers(rest, {"role": role}), form)
        return Message(role=facts.role, parts=parts, wire=pack(NAME, left))

    def lower(self, message: Message) -> tuple[dict[str, Any]]:
        """Convert one canonical message to one message of this wire.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when a `wire` is not as it was lifted.
        """
        without_name(message, NAME)
        left = unpack(NAME, message.wire)
        written = form_of(left).get("content")
        body: dict[str, Any] = {"role": "user" if message.role == "tool" else message.role}
        if message.parts or written != "none":
            body["content"] = lower_content(message.parts, listed=written == "list")
        return (restore(body, left),)


ANTHROPIC: Final = Anthropic()


def _role(body: Mapping[str, Any]) -> Role:
    """Check the envelope and give its role."""
    role = body.get("role")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        raise DialectMismatch("not a role of this wire")
    if body.get("type", "message") != "message":
        raise DialectMismatch("an item, not a message")
    if not _FOREIGN_KEYS.isdisjoint(body):
        raise DialectMismatch("a key of another wire")
    return known


def _blocks(body: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Check the content and give its blocks; `None` where it is text, or may be missing."""
    content = body.get("content")
    if isinstance(content, list | tuple):
        return [check_block(block) for block in content]
    bare = "content" not in body and body.get("role") == "system" and "output_config" in body
    if isinstance(content, str) or bare:
        return None
    raise DialectMismatch("content is neither text nor a list")


def _facts(role: Role, blocks: list[Mapping[str, Any]] | None) -> Facts:
    if blocks is None:
        return _SPOKEN[role]
    calls: list[Link] = []
    results: list[Link] = []
    thoughts = 0
    for block in blocks:
        kind = block["type"]
        if kind == "tool_use":
            calls.append(Link(block["id"], block["name"]))
        elif kind == "tool_result":
            results.append(Link(block["tool_use_id"]))
        elif kind in THOUGHTS:
            thoughts += 1
    return facts_from(role, calls, results, parts=len(blocks), thoughts=thoughts)


def _read(block: Mapping[str, Any], texts: list[str], media: list[MediaKind]) -> None:
    """Add what is counted of a block, as `content_of` would after lifting it."""
    match block["type"]:
        case "text":
            texts.append(block["text"])
        case "tool_use":
            texts += (block["name"], json_text(block.get("input", {})))
        case "thinking":
            texts.append(block["thinking"])
        case "tool_result" if isinstance(block.get("content"), str):
            texts.append(block["content"])
        case _:
            read = content_of(Message(role="user", parts=(lift_block(block),)))
            texts += read.texts
            media += read.media
