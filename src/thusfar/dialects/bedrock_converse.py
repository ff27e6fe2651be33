"""The dialect of Amazon Bedrock's Converse API: blocks with one key instead of a type.

Results are blocks in a `user` message, so a user message that carries nothing but results has
the canonical role `tool`. Bytes, as boto3 takes and gives them, are accepted and come back as
bytes; media from other dialects is written as base64 text, as in the REST body.

Source:
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
    (read 2026-11-30)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.bedrock_converse_blocks import (
    MARK,
    NATIVE_KINDS,
    Checked,
    arguments_text,
    check_block,
    lift_block,
    lower_part,
)
from thusfar.dialects.bedrock_converse_media import KINDS, NAME
from thusfar.dialects.bedrock_converse_rules import RULES
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.shapes import bytes_of, facts_from, listed, opened, without_name
from thusfar.errors import TranscriptError
from thusfar.facts import Content, Facts, Link, MediaKind, content_of
from thusfar.messages import Message, Role

__all__ = ["BEDROCK_CONVERSE", "NATIVE_KINDS", "RULES", "BedrockConverse", "for_boto3"]

_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}
_FOREIGN_KEYS: Final = frozenset({"type", "parts", "kind", "tool_calls", "tool_call_id"})


class BedrockConverse:
    """Reads and writes messages of Bedrock's Converse API. Stateless."""

    name: Final = NAME

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one message.

        Raises:
            DialectMismatch: for a message of another wire.
        """
        role, blocks = _opened(message)
        return _facts(role, blocks)

    def content(self, message: Any) -> Content:
        """Derive what is counted of one message; cache points are not.

        Raises:
            DialectMismatch: for a message of another wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when a block holds what is not JSON.
        """
        texts: list[str] = []
        media: list[MediaKind] = []
        for kind, block in _opened(message)[1]:
            if kind == "text":
                texts.append(block[kind])
            elif kind == "toolUse":
                texts += (block[kind]["name"], arguments_text(block[kind]))
            elif kind != MARK:
                read = content_of(Message(role="user", parts=(lift_block((kind, block)),)))
                texts += read.texts
                media += read.media
        return Content(tuple(texts), tuple(media))

    def lift(self, message: Any) -> Message:
        """Convert one message to canonical form, losing nothing.

        Raises:
            DialectMismatch: for a message of another wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when it holds what is not JSON.
        """
        body = opened(message)
        role, blocks = _opened(body)
        rest = {key: value for key, value in body.items() if key != "content"}
        left = leftovers(rest, {"role": role})
        if marks := [[at, block] for at, (kind, block) in enumerate(blocks) if kind == MARK]:
            with_form(left, {"marks": marks})
        parts = tuple(lift_block(checked) for checked in blocks if checked[0] != MARK)
        return Message(role=_facts(role, blocks).role, parts=parts, wire=pack(NAME, left))

    def lower(self, message: Message) -> tuple[dict[str, Any]]:
        """Convert one canonical message to one message of this wire.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
            TranscriptError: `INVALID_TRANSCRIPT`, when a `wire` is not as it was lifted.
        """
        without_name(message, NAME)
        left = unpack(NAME, message.wire)
        content = [lower_part(part) for part in message.parts]
        for at, block in _marks(form_of(left).get("marks", [])):
            content.insert(at, block)
        role = "user" if message.role == "tool" else message.role
        return (restore({"role": role, "content": content}, left),)


BEDROCK_CONVERSE: Final = BedrockConverse()


def for_boto3(message: Mapping[str, Any]) -> dict[str, Any]:
    """Give base64 text as bytes, as boto3 wants it: boto3 itself would encode the text again.

    Args:
        message: A message of this wire. It is not changed; bytes in it stay as they are.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, when a text in a place for bytes is no base64.
    """
    return {**message, "content": [_with_bytes(block) for block in listed(message, "content")]}


def _with_bytes(block: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = dict(block)
    for kind, held in block.items():
        if not isinstance(held, Mapping):
            continue
        if kind == "toolResult":
            made[kind] = {**held, "content": [_with_bytes(b) for b in listed(held, "content")]}
        elif kind == "guardContent":
            made[kind] = _with_bytes(held)
        elif kind == "reasoningContent":
            made[kind] = _decoded(held, "redactedContent", "reasoning")
        elif kind in KINDS and isinstance(held.get("source"), Mapping):
            made[kind] = {**held, "source": _decoded(held["source"], "bytes", "file")}
    return made


def _decoded(holder: Mapping[str, Any], key: str, part: str) -> dict[str, Any]:
    if not isinstance(data := holder.get(key), str):
        return dict(holder)
    return {**holder, key: bytes_of(data, part=part, dialect=NAME)}


def _marks(notes: Any) -> list[tuple[int, dict[str, Any]]]:
    """Read where cache points stood."""
    marks: list[tuple[int, dict[str, Any]]] = []
    for note in notes if isinstance(notes, list) else [None]:
        match note:
            case [int(at), dict(block)]:
                marks.append((at, block))
            case _:
                raise TranscriptError(
                    "The wire field of a message did not have the shape that lifting gives it.",
                    fix="Leave wire as it was lifted, or empty it.",
                )
    return marks


def _opened(message: Any) -> tuple[Role, list[Checked]]:
    """Check the envelope and every block; give the role and the blocks."""
    body = opened(message)
    role, content = body.get("role"), body.get("content")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        raise DialectMismatch("not a role of this wire")
    if not _FOREIGN_KEYS.isdisjoint(body):
        raise DialectMismatch("a key of another wire")
    if not isinstance(content, list | tuple):
        raise DialectMismatch("no list of blocks")
    return known, [check_block(block) for block in content]


def _facts(role: Role, blocks: list[Checked]) -> Facts:
    calls: list[Link] = []
    results: list[Link] = []
    parts = thoughts = 0
    for kind, block in blocks:
        parts += kind != MARK
        if kind == "toolUse":
            calls.append(Link(block[kind]["toolUseId"], block[kind]["name"]))
        elif kind == "toolResult":
            results.append(Link(block[kind]["toolUseId"]))
        elif kind == "reasoningContent":
            thoughts += 1
    return facts_from(role, calls, results, parts=parts, thoughts=thoughts)
