"""Keeping: summaries, leases and receipts in a store, as steps over the questions it answers.

A lease is a row that is inserted only if it is not there, so that every backend decides races the
same way. An expired one is taken over by inserting the next.

Source:
    docs/spec/summaries.md#keeping
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.artifacts import KEPT_SUPERSEDED, Artifact, End, SourceArtifact, artifact_key
from thusfar.codec import json_text, parse_json
from thusfar.drive import Steps
from thusfar.errors import CorruptRecordError, InspectionUnavailableError, TranscriptError
from thusfar.planner.facts import Fingerprint
from thusfar.planner.questions import Found
from thusfar.planner.receipt import StoredReceipt
from thusfar.runtime.remembering import (
    Conversation,
    Usage,
    fingerprint_record,
    usage_records,
)
from thusfar.storage import questions as q
from thusfar.storage.rows import ArtifactRow
from thusfar.tokens import Measure

MOST_FOUND: Final = KEPT_SUPERSEDED + 1
LOCK: Final = "summaries"  # never a thread's name in a lock that matters: nothing is read by it
_LEASES_SEEN: Final = 8  # holders in a row that may die before a name is used again
_RECEIPT: Final = "receipt"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a stored summary.

    Attributes:
        artifact: The summary of a history.
        source: The summary of a contributor.
        expires_at: When it may not be used any more. Unit: milliseconds since 1970, UTC.
    """

    artifact: Artifact | None = None
    source: SourceArtifact | None = None
    expires_at: int | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a summary belongs in a thread, so that an erasure finds it.

    Attributes:
        thread_id: The thread; empty for caller-owned messages.
        first: Depth of the first covered message.
        node: The last covered message.
    """

    thread_id: str = ""
    first: int = 0
    node: int = 0


def find_steps(identity: str, ends: Sequence[End], *, now: int) -> Steps[Found]:
    """Find usable summaries that end at these places, the one that covers most first."""
    keys = tuple(artifact_key(identity, chain) for _, chain in ends)
    rows: dict[str, ArtifactRow] = yield q.FindArtifacts(keys)
    found: list[Artifact] = []
    damaged: list[str] = []
    for row in rows.values():
        kept = usable(row, now)
        if kept is None:
            damaged.append(row.key)
        elif kept.artifact is not None:
            found.append(kept.artifact)
    return newest_of(found, damaged)


def newest_of(found: list[Artifact], damaged: Sequence[str]) -> Found:
    """Answer with the summaries that cover most."""
    found.sort(key=lambda artifact: -artifact.messages)
    return Found(artifacts=tuple(found[:MOST_FOUND]), damaged=tuple(damaged))


def find_source_steps(key: str, *, now: int) -> Steps[Found]:
    """Find the usable summary of a contributor."""
    rows: dict[str, ArtifactRow] = yield q.FindArtifacts((key,))
    if key not in rows:
        return Found()
    kept = usable(rows[key], now)
    if kept is None:
        return Found(damaged=(key,))
    return Found(artifacts=(kept.source,) if kept.source is not None else ())


def usable(row: ArtifactRow, now: int) -> Kept | None:
    """Read a body: nothing of it where its time has passed, `None` where it is no summary.

    A summary is derived: one that is damaged is made anew, and stops nobody.
    """
    try:
        kept = msgspec.json.decode(row.body, type=Kept)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not (_is_whole(kept.artifact, row) if kept.artifact else kept.source is not None):
        return None
    if kept.source is not None and kept.source.key != row.key:
        return None
    if kept.expires_at is not None and kept.expires_at <= now:
        return Kept()
    return kept


def _is_whole(artifact: Artifact, row: ArtifactRow) -> bool:
    """Tell whether a summary is the one its key names, and covers its range without gaps."""
    borders = [0, *(segment.end for segment in artifact.segments)]
    starts = [segment.start for segment in artifact.segments]
    named = artifact.key == row.key == artifact_key(artifact.identity, artifact.chain)
    return named and starts == borders[:-1] and borders[-1] == artifact.messages > 0


def keep_steps(
    made: Artifact | SourceArtifact,
    *,
    now: int,
    ttl_seconds: int | None,
    place: Steps[Place] | None = None,
    lock: tuple[str, str] = (LOCK, LOCK),
    damaged: tuple[str, ...] = (),
) -> Steps[Any]:
    """Keep a summary, and forget what it supersedes beyond the last two.

    Args:
        made: The summary.
        now: Unit: milliseconds since 1970, UTC.
        ttl_seconds: How long it may be used. `None`: until it is superseded or erased.
        place: Steps that find where it belongs in a thread; they may refuse.
        lock: The thread and owner it belongs to.
        damaged: Keys of summaries that could not be read, which go now.

    Returns:
        The summary that is kept: an earlier one of the same key wins.
    """
    yield q.Lock(*lock)
    where = Place() if place is None else (yield from place)
    expires = None if ttl_seconds is None else now + ttl_seconds * 1000
    of_history = isinstance(made, Artifact)
    kept = Kept(
        artifact=made if isinstance(made, Artifact) else None,
        source=made if isinstance(made, SourceArtifact) else None,
        expires_at=expires,
    )
    body = msgspec.json.encode(kept).decode()
    kind = made.identity if isinstance(made, Artifact) else "source"
    row = ArtifactRow(made.key, where.thread_id, where.first, where.node, kind, body, now)
    changes: list[Any] = [q.DropArtifacts(damaged)] if damaged else []
    rows: dict[str, ArtifactRow] = yield q.FindArtifacts((made.key,))
    if made.key in rows:
        there = usable(rows[made.key], now)
        if there is not None and (there.artifact or there.source):
            return there.artifact if of_history else there.source
        changes.append(q.DropArtifacts((made.key,)))
    changes.append(q.PutArtifact(row))
    if isinstance(made, Artifact) and (old := made.lineage[KEPT_SUPERSEDED:]):
        changes.append(q.DropArtifacts(old))
    yield q.Write(tuple(changes))
    return made


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to make one summary, until it is released or its time has passed.

    Attributes:
        key: Key of the summary.
        row: Key of the row that stands for it.
        holder: Who has it.
        expires_at: Unit: milliseconds since 1970, UTC.
    """

    key: str
    row: str
    holder: str
    expires_at: int


def lease_steps(key: str, *, holder: str, now: int, until: int) -> Steps[Lease | None]:
    """Take the lease on a summary; `None` while somebody else has it."""
    names = [f"lease_{key}_{count}" for count in range(_LEASES_SEEN)]
    yield q.Lock(LOCK, LOCK)
    rows: dict[str, ArtifactRow] = yield q.FindArtifacts(tuple(names))
    held = {name: _lease(rows[name]) for name in names if name in rows}
    if any(
        lease is not None and lease.expires_at > now and lease.holder != holder
        for lease in held.values()
    ):
        return None
    spent = tuple(held)
    free = names[(names.index(max(held, key=names.index)) + 1) % _LEASES_SEEN] if held else names[0]
    lease = Lease(key=key, row=free, holder=holder, expires_at=until)
    body = msgspec.json.encode(lease).decode()
    drop = (q.DropArtifacts(spent),) if spent else ()
    yield q.Write((*drop, q.PutArtifact(ArtifactRow(free, "", 0, 0, "lease", body, now))))
    there: dict[str, ArtifactRow] = yield q.FindArtifacts((free,))
    won = free in there and _is_of(there[free], holder)
    return lease if won else None


def _lease(row: ArtifactRow) -> Lease | None:
    """Read a lease; one that is damaged binds nobody."""
    try:
        return msgspec.json.decode(row.body, type=Lease)
    except msgspec.MsgspecError:
        return None


def _is_of(row: ArtifactRow, holder: str) -> bool:
    lease = _lease(row)
    return lease is not None and lease.holder == holder


def release_steps(lease: Lease) -> Steps[None]:
    """Give a lease back."""
    yield q.Lock(LOCK, LOCK)
    rows: dict[str, ArtifactRow] = yield q.FindArtifacts((lease.row,))
    if lease.row in rows and _is_of(rows[lease.row], lease.holder):
        yield q.Write((q.DropArtifacts((lease.row,)),))


def keep_request_steps(
    stored: StoredReceipt,
    *,
    now: int,
    fingerprint: Fingerprint | None = None,
    conversation: Conversation | None = None,
    usage: Mapping[Usage, Sequence[float]] | None = None,
    reader: Any = None,
    measure: Measure | None = None,
) -> Steps[None]:
    """Keep what a request leaves to other processes, in one write.

    That is its receipt, and what the next request needs of it. The turn that is stored behind it
    makes it as durable as itself.

    Args:
        stored: The receipt.
        now: Unit: milliseconds since 1970, UTC.
        fingerprint: Digests of the request.
        conversation: Whose newest request it is.
        usage: What providers reported since the store was told last.
        reader: The thread it was planned from, which must stand where it was read.
        measure: What counted it.

    Raises:
        IdentityConflictError: `IDENTITY_CONFLICT`, when the thread moved.
    """
    locked, owner = (LOCK, LOCK) if reader is None else reader.lock
    yield q.Lock(locked, owner, durable=False)
    changes: list[Any] = []
    thread_id = ""
    if reader is not None:
        thread_id = reader.thread.id
        yield from reader.check_steps()
        if measure is not None and (rows := reader.tallied(measure)):
            changes.append(q.PutTallies(rows))
    body = msgspec.json.encode(stored).decode()
    changes.append(q.PutRecord(_RECEIPT, stored.receipt.id, thread_id, body, now))
    if fingerprint is not None and conversation is not None:
        changes.append(fingerprint_record(conversation, fingerprint, now=now))
    changes += yield from usage_records(usage or {}, now=now)
    yield q.Write(tuple(changes))


def read_receipt_steps(request_id: str) -> Steps[StoredReceipt]:
    """Read a kept receipt.

    Raises:
        InspectionUnavailableError: `REQUEST_INSPECTION_UNAVAILABLE`, when there is none.
        CorruptRecordError: `CORRUPT_RECORD`, when it is damaged.
    """
    body: str | None = yield q.ReadRecord(_RECEIPT, request_id)
    if body is None:
        raise InspectionUnavailableError(
            "No receipt of that request is kept in this store.",
            fix="Check the id and the store; receipts are kept where a plan is given a store.",
            request_id=request_id,
        )
    try:
        return msgspec.json.decode(body, type=StoredReceipt)
    except msgspec.MsgspecError as error:
        raise _damaged("receipt") from error


def _damaged(what: str) -> CorruptRecordError:
    """Make the error for a record that nothing can stand in for."""
    return CorruptRecordError(
        f"A stored {what} could not be read.", fix="Restore the database from a backup."
    )


def publish_steps(handle: str, text: str, *, now: int) -> Steps[None]:
    """Keep the exact text behind a handle."""
    yield q.Lock(LOCK, LOCK)
    yield q.Write((q.PutRecord("offload", handle, "", json_text(text), now),))


def recall_steps(handle: str) -> Steps[str | None]:
    """Read the exact text behind a handle; `None` when there is none.

    Raises:
        CorruptRecordError: `CORRUPT_RECORD`, when it is damaged.
    """
    body: str | None = yield q.ReadRecord("offload", handle)
    if body is None:
        return None
    try:
        text = parse_json(body, where="the text behind a handle")
    except TranscriptError as error:
        raise _damaged("text behind a handle") from error
    if type(text) is not str:
        raise _damaged("text behind a handle")
    return text
