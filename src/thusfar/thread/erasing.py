"""Erasing: removal hides a group; redaction and deletion leave no byte of what is erased.

Whatever was derived from an erased message goes with it in the same write: artifacts, token
counts, chained digests. What depended on it in one exchange leaves the transcript.

Source:
    docs/spec/threads.md#erasure
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from thusfar.digests import chain_digest
from thusfar.drive import Steps
from thusfar.errors import InvalidGroupError, OptionsError, ThreadInUseError
from thusfar.storage import questions as q
from thusfar.storage.base import Clock
from thusfar.storage.records import FINGERPRINT, DropRecords
from thusfar.storage.rows import (
    LEADS,
    LIVE,
    POSITION_MASK,
    REDACTED,
    REMOVED,
    SPENT,
    STRANDED,
    ArtifactRow,
    BranchRow,
    ChainRow,
    HeadRow,
    NodeRow,
    branch_of,
    first_of,
    last_of,
)
from thusfar.thread.appending import new_salt
from thusfar.thread.moving import MAIN
from thusfar.thread.paths import (
    Context,
    decode,
    find,
    find_all,
    id_of,
    is_start,
    live_thread,
    node_at,
    node_on_path,
    on_path,
)
from thusfar.thread.reading import whole_group
from thusfar.thread.tracking import ROOT_DIGEST, chain_text, digest_bytes, facts_of_stored
from thusfar.thread.values import Erasure


class _Lost(NamedTuple):
    """What leaves the transcript.

    Attributes:
        rows: All of it, by node.
        erased: The nodes of it whose content is erased as well.
        closed: Nodes at which open calls can no longer be answered.
    """

    rows: dict[int, NodeRow]
    erased: frozenset[int]
    closed: frozenset[int]


def redact_steps(ctx: Context, clock: Clock, message_ids: tuple[str, ...]) -> Steps[Erasure]:
    """Erase the content of messages for good; see `Thread.redact`."""
    if not message_ids:
        raise OptionsError("A redaction named no message.", fix="Pass at least one message id.")
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    yield from live_thread(ctx)
    found = yield from find_all(ctx, message_ids)
    erased = {row.node: row for row in found.values() if row.state != REDACTED}
    if not erased:
        complete = yield q.Checkpoint()
        return Erasure(message_ids=(), state="complete" if complete else "pending")
    stranded, closed = yield from _stranded(ctx, erased)
    ids = tuple((row.node, id_of(row)) for row in erased.values())
    artifacts = yield from _covering(ctx, [*erased.values(), *stranded.values()])
    changes: list[Any] = [
        q.EraseNodes(ids),
        q.SetState(tuple(n for n, row in stranded.items() if row.state == LIVE), STRANDED),
        q.ClearPending(closed),
        q.DropArtifacts(tuple(row.key for row in artifacts)),
        DropRecords(FINGERPRINT, ctx.thread_id),
    ]
    lost = _Lost({**erased, **stranded}, frozenset(erased), frozenset(closed) | erased.keys())
    changes += yield from _chained_anew(ctx, lost, clock(), salt=new_salt())
    yield q.Write(tuple(changes))
    complete = yield q.Checkpoint()
    return Erasure(
        message_ids=tuple(message_id for _, message_id in ids),
        unavailable=tuple(id_of(row) for row in stranded.values() if row.state == LIVE),
        artifacts=len(artifacts),
        state="complete" if complete else "pending",
    )


def remove_steps(ctx: Context, clock: Clock, message_id: str) -> Steps[tuple[str, ...]]:
    """Hide a whole group from transcripts and keep it; see `Thread.remove`."""
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    thread = yield from live_thread(ctx)
    target = yield from find(ctx, message_id)
    group = yield from whole_group(target)
    hidden = {row.node: row for row in group if row.state in (LIVE, STRANDED)}
    if not hidden:
        return ()
    stranded, closed = yield from _stranded(ctx, hidden)
    artifacts = yield from _covering(ctx, [*hidden.values(), *stranded.values()])
    changes: list[Any] = [
        q.SetState(tuple(hidden), REMOVED),
        q.SetState(tuple(n for n, row in stranded.items() if row.state == LIVE), STRANDED),
        q.ClearPending(closed),
        q.DropArtifacts(tuple(row.key for row in artifacts)),
    ]
    lost = _Lost({**hidden, **stranded}, frozenset(), frozenset(closed))
    changes += yield from _chained_anew(ctx, lost, clock(), salt=thread.salt)
    yield q.Write(tuple(changes))
    return tuple(id_of(row) for row in hidden.values())


def delete_steps(ctx: Context, clock: Clock, *, force: bool) -> Steps[Erasure]:
    """Delete a thread for good; see `Thread.delete`."""
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    row = yield q.ReadThread(ctx.thread_id)
    if row is not None and not row.deleted:
        heads: list[HeadRow] = yield q.ReadHeads(ctx.thread_id)
        others = tuple(head.owner for head in heads if head.owner != MAIN)
        if others and not force:
            raise ThreadInUseError(
                "Other owners have positions in the thread.",
                fix="Release them first, or pass force=True.",
                thread_id=ctx.thread_id,
                owners=others,
            )
        at = clock()
        gone = msgspec.structs.replace(
            row, title="", metadata="{}", deleted=1, salt="", created_at=at, updated_at=at
        )
        yield q.Write((q.DropThread(ctx.thread_id), q.PutThread(gone)))
    elif row is None:
        yield from live_thread(ctx)
    complete = yield q.Checkpoint()
    return Erasure(message_ids=(), state="complete" if complete else "pending")


def delete_branch_steps(ctx: Context, clock: Clock, message_id: str) -> Steps[Erasure]:
    """Delete an alternative with all that follows it; see `Thread.delete`."""
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    thread = yield from live_thread(ctx)
    target = yield from find(ctx, message_id)
    if not (yield from is_start(target)):
        raise InvalidGroupError(
            "A branch to delete began inside a group.",
            fix="Pass the first message of the alternative.",
            position=target.at,
        )
    spans = yield from _subtree(ctx, target.node)
    heads: list[HeadRow] = yield q.ReadHeads(ctx.thread_id)
    standing = tuple(h.owner for h in heads if any(lo <= h.node <= hi for lo, hi in spans))
    if standing:
        raise ThreadInUseError(
            "The branch to delete is on the selected path of an owner.",
            fix="Select another alternative for these owners first.",
            owners=standing,
        )
    artifacts: list[ArtifactRow] = yield q.ReadArtifacts(ctx.thread_id)
    lost = [a.key for a in artifacts if any(lo <= a.node <= hi for lo, hi in spans)]
    ids: list[str] = []
    changes: list[Any] = [
        q.DropArtifacts(tuple(lost)),
        DropRecords(FINGERPRINT, ctx.thread_id),
    ]
    for low, high in reversed(spans):
        rows: list[NodeRow] = yield q.ReadNodes(low, high)
        ids[:0] = [id_of(row) for row in rows]
        changes.append(q.DropNodes(low, high))
        if low & POSITION_MASK == 0:
            changes.append(q.DropBranch(branch_of(low)))
    if target.at:
        changes.append(q.ResizeGroup(target.node - target.at, target.node - 1))
    changes.append(q.SpendKeys(ctx.thread_id, tuple(map(ctx.key, ids))))
    changes.append(q.PutThread(msgspec.structs.replace(thread, spent=1, updated_at=clock())))
    changes += [
        q.PutHead(msgspec.structs.replace(head, flags=head.flags | SPENT)) for head in heads
    ]
    yield q.Write(tuple(changes))
    complete = yield q.Checkpoint()
    return Erasure(
        message_ids=tuple(ids), artifacts=len(lost), state="complete" if complete else "pending"
    )


def _subtree(ctx: Context, node: int) -> Steps[list[tuple[int, int]]]:
    """List the ranges of a node and all that follows it; each after the one it left."""
    spans: list[tuple[int, int]] = []
    starts = [node]
    while starts:
        low = starts.pop()
        high = last_of(branch_of(low))
        spans.append((low, high))
        forks: list[BranchRow] = yield q.ReadForks(ctx.thread_id, low, high)
        starts += [first_of(fork.branch) for fork in forks]
    return spans


class _Exchange(NamedTuple):
    """The messages of one exchange on all branches, and the message each of them follows."""

    rows: dict[int, NodeRow]
    parents: dict[int, int]

    def bound(self) -> set[int]:
        """Find what lies between a call and one of its results, or goes with reasoning."""
        found: set[int] = set()
        for row in self.rows.values():
            before = self.rows.get(self.parents.get(row.node, 0))
            if _answers(row) or (before is not None and before.flags & LEADS):
                node = row.node
                while node in self.rows and node not in found:
                    found.add(node)
                    node = self.parents.get(node, 0)
        return found


def _answers(row: NodeRow) -> bool:
    return row.body is None or bool(facts_of_stored(decode(row)).results)


def _calls(row: NodeRow) -> bool:
    return row.body is None or bool(facts_of_stored(decode(row)).calls)


def _stranded(
    ctx: Context, gone: dict[int, NodeRow]
) -> Steps[tuple[dict[int, NodeRow], tuple[int, ...]]]:
    """Find what every exchange that loses a message keeps of itself, on all branches.

    Returns:
        The messages that leave the transcript with it, and the nodes at which its open calls can
        no longer be answered. What was only said while a call waited stays.
    """
    found: dict[int, NodeRow] = {}
    closed: set[int] = set()
    for row in gone.values():
        start = yield from node_on_path(row.exchange, row.node, row.depth)
        exchange = yield from _exchange(ctx, start, row.exchange)
        bound = exchange.bound()
        if row.node in bound:
            found.update((n, exchange.rows[n]) for n in bound if n not in gone)
        if row.node in bound or _calls(row):
            closed.update(n for n, member in exchange.rows.items() if member.pending)
    return {n: row for n, row in found.items() if row.state != REDACTED}, tuple(sorted(closed))


def _exchange(ctx: Context, start: int, exchange: int) -> Steps[_Exchange]:
    found = _Exchange({}, {})
    starts = [(start, 0)]
    while starts:
        node, parent = starts.pop()
        end = node
        while True:
            rows: list[NodeRow] = yield q.ReadNodes(end, min(end + 63, last_of(branch_of(end))))
            kept = [row for row in rows if row.exchange == exchange]
            for row in kept:
                found.rows[row.node] = row
                found.parents[row.node] = parent if row.node == node else row.node - 1
            end += len(kept)
            if len(kept) < 64:
                break
        if end > node:
            forks: list[BranchRow] = yield q.ReadForks(ctx.thread_id, node, end - 1)
            starts += [(first_of(fork.branch), fork.parent) for fork in forks]
    return found


def _covering(ctx: Context, lost: list[NodeRow]) -> Steps[list[ArtifactRow]]:
    """Find the artifacts whose range holds one of the messages."""
    artifacts: list[ArtifactRow] = yield q.ReadArtifacts(ctx.thread_id)
    found: list[ArtifactRow] = []
    for artifact in artifacts:
        end = yield from node_at(artifact.node)
        for row in lost:
            inside = artifact.first <= row.depth <= end.depth
            if inside and (yield from on_path(row, end.node, end.depth)):
                found.append(artifact)
                break
    return found


def _chained_anew(ctx: Context, lost: _Lost, at: int, *, salt: str) -> Steps[list[Any]]:
    """Make all chained digests of the thread again, and let the heads on changed paths know."""
    thread = yield from live_thread(ctx)
    heads: list[HeadRow] = yield q.ReadHeads(ctx.thread_id)
    branches: list[BranchRow] = yield q.ReadBranches(ctx.thread_id)
    changes: list[Any] = [
        q.PutThread(msgspec.structs.replace(thread, salt=salt, updated_at=at)),
    ]
    ends = {b.parent: (ROOT_DIGEST, 0) for b in branches} | {0: (ROOT_DIGEST, 0)}
    old_ends = dict(ends)
    ends.update((h.node, (ROOT_DIGEST, 0)) for h in heads)
    for branch in branches:
        low, high = first_of(branch.branch), last_of(branch.branch)
        rows: list[ChainRow] = yield q.ReadChains(low, high)
        made = _rechain(rows, ends, old_ends, branch.parent, lost, salt)
        changes += [q.PutChains(tuple(made)), q.DropTallies(low, high)]
    for head in heads:
        touched = yield from _touches(lost.rows, head)
        chain, live = ends[head.node]
        changes.append(
            q.PutHead(
                msgspec.structs.replace(
                    head,
                    revision=head.revision + int(touched),
                    chain=chain,
                    messages=live,
                    salt=salt,
                    pending="" if head.node in lost.closed else head.pending,
                )
            )
        )
    return changes


def _rechain(
    rows: list[ChainRow],
    ends: dict[int, tuple[bytes, int]],
    old_ends: dict[int, tuple[bytes, int]],
    parent: int,
    lost: _Lost,
    salt: str,
) -> list[ChainRow]:
    """Chain one branch; a message is live if the old count grew with it and it is not gone."""
    digest, live = ends[parent]
    chain, before = chain_text(digest), old_ends[parent][1]
    made: list[ChainRow] = []
    for row in rows:
        if row.messages > before and row.node not in lost.rows:
            chain = chain_digest(chain, f"tf1:{row.digest.hex()}", salt=salt)
            live += 1
        before = row.messages
        kept = b"" if row.node in lost.erased else row.digest
        made.append(ChainRow(row.node, kept, digest_bytes(chain), live))
        if row.node in ends:
            ends[row.node] = made[-1].chain, live
            old_ends[row.node] = row.chain, row.messages
    return made


def _touches(gone: dict[int, NodeRow], head: HeadRow) -> Steps[bool]:
    for row in gone.values():
        if head.node and (yield from on_path(row, head.node, head.depth)):
            return True
    return False
