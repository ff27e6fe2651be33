"""Remembering: what the next request needs of the ones before, kept in the store for any process.

Of a conversation its newest request, as digests and counts of its pieces; of a model and tokenizer
the newest reported sizes over counted ones. No text is in either, and both are bounded.

Source:
    docs/spec/receipts.md#requests
"""

from __future__ import annotations

import hashlib
import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.drive import Steps
from thusfar.planner.facts import Fingerprint
from thusfar.storage import questions as q
from thusfar.storage.records import FINGERPRINT

USAGE: Final = "usage"
SAMPLES_REMEMBERED: Final = 64  # of one model and tokenizer
PIECES_KEPT: Final = 4_096  # of a request, from its head: 64 kB
NAMED_KEPT: Final = 1_024  # conversations without a thread, of one namespace
NAMED_KEPT_IN_THREAD: Final = 16
MODELS_KEPT: Final = 256
_PIECE: Final = struct.Struct(">8sQ")

Usage = tuple[str, str]
"""A model and a tokenizer."""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Whose newest request is remembered.

    Attributes:
        name: Unique among the conversations of the namespace.
        thread_id: The thread it goes away with; empty for none.
        named: Whether the caller chose the name; those are as many as callers like.
    """

    name: str
    thread_id: str = ""
    named: bool = False

    @property
    def key(self) -> str:
        """Key of its record; the names that callers choose share a bounded number of keys."""
        if not self.named:
            return _digest(self.name)
        slot = int(_digest(self.name), 16)
        if self.thread_id:
            return f"{_digest(self.thread_id)}-{slot % NAMED_KEPT_IN_THREAD}"
        return f"named-{slot % NAMED_KEPT}"


class _Request(msgspec.Struct, frozen=True):
    """The newest request of a conversation, as it is stored."""

    of: str
    request: str
    pieces: str


class _Ratios(msgspec.Struct, frozen=True):
    """Reported over counted sizes, as they are stored."""

    of: str
    ratios: list[float]


def _digest(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _usage_key(usage: Usage) -> tuple[str, str]:
    digest = _digest("\n".join(usage))
    return f"model-{int(digest, 16) % MODELS_KEPT}", digest


def read_steps(
    conversation: Conversation | None, usage: Usage
) -> Steps[tuple[Fingerprint | None, list[float]]]:
    """Read what is remembered; what cannot be read counts as nothing."""
    before: Fingerprint | None = None
    if conversation is not None:
        body: str | None = yield q.ReadRecord(FINGERPRINT, conversation.key)
        stored = _decoded(body, _Request)
        if stored is not None and stored.of == _digest(conversation.name):
            before = _unpacked(stored)
    return before, (yield from _ratios(usage))


def _ratios(usage: Usage) -> Steps[list[float]]:
    key, digest = _usage_key(usage)
    body: str | None = yield q.ReadRecord(USAGE, key)
    stored = _decoded(body, _Ratios)
    return stored.ratios if stored is not None and stored.of == digest else []


def _decoded(body: str | None, kind: type[Any]) -> Any:
    if body is None:
        return None
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError:
        return None


def _unpacked(stored: _Request) -> Fingerprint | None:
    try:
        pieces = tuple(_PIECE.iter_unpack(b64decode(stored.pieces)))
    except (ValueError, struct.error):
        return None
    return Fingerprint(request_id=stored.request, pieces=pieces)


def fingerprint_record(
    conversation: Conversation, fingerprint: Fingerprint, *, now: int
) -> q.PutRecord:
    """Write the newest request of a conversation in the place of the one before."""
    packed = b"".join(_PIECE.pack(*piece) for piece in fingerprint.pieces[:PIECES_KEPT])
    body = _Request(
        _digest(conversation.name), fingerprint.request_id, b64encode(packed).decode("ascii")
    )
    text = msgspec.json.encode(body).decode()
    return q.PutRecord(FINGERPRINT, conversation.key, conversation.thread_id, text, now)


def usage_records(
    pending: Mapping[Usage, Sequence[float]], *, now: int
) -> Steps[tuple[q.PutRecord, ...]]:
    """Within a lock: add what was reported since to what is stored."""
    records: list[q.PutRecord] = []
    for usage, added in pending.items():
        ratios = [*(yield from _ratios(usage)), *added][-SAMPLES_REMEMBERED:]
        key, digest = _usage_key(usage)
        text = msgspec.json.encode(_Ratios(digest, ratios)).decode()
        records.append(q.PutRecord(USAGE, key, "", text, now))
    return tuple(records)


def flush_steps(pending: Mapping[Usage, Sequence[float]], *, now: int) -> Steps[None]:
    """Keep what was reported since."""
    yield q.Lock("usage", "usage", durable=False)
    yield q.Write((yield from usage_records(pending, now=now)))
