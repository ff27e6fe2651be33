"""Fingerprints: requests as digests of their pieces, to find what two have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from thusfar.codec import text_of
from thusfar.dialects.base import Dialect
from thusfar.digests import digested
from thusfar.messages import Message
from thusfar.planner.facts import Fingerprint, RequestFacts


def fingerprint_of(
    facts: RequestFacts, *, head: Sequence[Any], messages: Sequence[Any], tokens: int
) -> Fingerprint:
    """Take the digests of a request, piece by piece from its head.

    Args:
        facts: What it was planned from.
        head: System value, tool definitions and output schema.
        messages: Its messages.
        tokens: Its size. Unit: tokens.
    """
    sizes = facts.measure.count(facts.dialect, messages)
    text = text_of([_named(value) for value in head])
    pieces = [(_short(_encoded(text)), tokens - sum(sizes) - facts.placement)]
    digests = (piece_of(message, facts.dialect) for message in messages)
    pieces += zip(digests, sizes, strict=True)
    return Fingerprint(request_id=facts.request_id, pieces=tuple(pieces))


def piece_of(message: Any, dialect: Dialect) -> bytes:
    """Take the digest of one message, without what is not sent of it."""
    if type(message) is Message:
        return _short(digested(message))
    if isinstance(message, Mapping):
        return _short(_encoded(text_of(message)))
    return _short(digested(dialect.lift(message)))  # ids and metadata are not sent


def common_tokens(before: Fingerprint, now: Fingerprint) -> int:
    """Add up the tokens of the pieces at the head that two requests have in common."""
    tokens = 0
    for one, two in zip(before.pieces, now.pieces, strict=False):
        if one[0] != two[0]:
            break
        tokens += two[1]
    return tokens


def _named(value: Any) -> Any:
    return value.__qualname__ if isinstance(value, type) else value


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # half of a surrogate pair has no UTF-8


def _short(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()
