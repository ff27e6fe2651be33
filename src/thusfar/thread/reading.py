"""Reading: exact paths, pages of whole groups, siblings, and transcripts for planning.

Reading never moves a selection, and never shortens a path in silence.

Source:
    docs/spec/threads.md#read
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from thusfar._numbers import require_whole
from thusfar.digests import ROOT_CHAIN
from thusfar.drive import Steps
from thusfar.errors import IdentityConflictError, InvalidGroupError
from thusfar.storage import questions as q
from thusfar.storage.rows import (
    LIVE,
    OPEN,
    REDACTED,
    REMOVED,
    STRANDED,
    BranchRow,
    HeadRow,
    NodeRow,
    PageRow,
    first_of,
)
from thusfar.thread.paths import (
    Context,
    chain_at,
    decode_all,
    find,
    group_end,
    id_at,
    id_of,
    is_start,
    newest_range,
    older_range,
    on_path,
    owner_head,
    parent_of,
)
from thusfar.thread.tracking import chain_text, pending_calls
from thusfar.thread.values import Entry, EntryKind, ThreadSnapshot, Transcript, Variant


def read_steps(
    ctx: Context, *, at: str | None = None, before: str | None = None, limit: int | None = None
) -> Steps[ThreadSnapshot]:
    """Read a path or a page of it; see `Thread.read`."""
    check_limit(limit)
    head = yield from owner_head(ctx)
    node, depth = (head.node, head.depth) if head else (0, -1)
    if at is not None:
        target = yield from find(ctx, at)
        node, depth = target.node, target.depth
    if before is not None:
        node, depth = yield from _before(ctx, before, node, depth)
    found = yield from _newest_first(node, depth, limit)
    rows, older = yield from _whole_groups(found, limit)
    entries = yield from _entries(ctx, rows, older)
    omitted = rows[0].depth if rows else 0
    return ThreadSnapshot(
        thread_id=ctx.thread_id,
        revision=revision_of(head),
        head=head.head_id or None if head else None,
        entries=entries,
        cursor=entries[0].id if omitted else None,
        omitted=omitted,
    )


def transcript_steps(ctx: Context, *, newest: int | None = None) -> Steps[Transcript]:
    """Read the live messages of the selected path; see `Thread.transcript`."""
    check_limit(newest, "newest")
    head = yield from owner_head(ctx)
    if head is None or not head.node:
        return Transcript(
            thread_id=ctx.thread_id,
            revision=revision_of(head),
            head=None,
            messages=(),
            omitted=0,
            chain=ROOT_CHAIN,
            chain_before=ROOT_CHAIN,
        )
    rows, more = yield from newest_rows(head.node, head.depth, newest)
    decoded = zip(rows, decode_all(rows), strict=True)
    messages = tuple([message for row, message in decoded if message and row.state == LIVE])
    chain_before = ROOT_CHAIN
    if more and (parent := (yield from parent_of(rows[0]))):
        chain_before = chain_text((yield from chain_at(parent)).chain)
    return Transcript(
        thread_id=ctx.thread_id,
        revision=revision_of(head),
        head=head.head_id,
        messages=messages,
        omitted=head.messages - len(messages),
        chain=chain_text(head.chain),
        chain_before=chain_before,
        open_calls=len(pending_calls(head.pending)),
        unavailable=tuple(id_of(row) for row in rows if row.state == STRANDED),
    )


def check_revision_steps(ctx: Context, revision: str) -> Steps[None]:
    """Check that the owner's path is as it was; see `Thread.check_revision`."""
    head = yield from owner_head(ctx)
    require_revision(ctx, head, revision)


def require_revision(ctx: Context, head: HeadRow | None, revision: str) -> None:
    """Check a revision against a head."""
    if revision != revision_of(head):
        raise changed(ctx)


def changed(ctx: Context) -> IdentityConflictError:
    """Make the error for a path that is not what it was."""
    return IdentityConflictError(
        "The selected path changed since it was read.",
        fix="Read the transcript again and plan from it.",
        thread_id=ctx.thread_id,
    )


def revision_of(head: HeadRow | None) -> str:
    """Write the revision of an owner's path."""
    return str(head.revision) if head else "0"


def check_limit(limit: object, name: str = "limit") -> None:
    """Check a page size."""
    require_whole("A read", name, limit)


def _before(ctx: Context, before: str, node: int, depth: int) -> Steps[tuple[int, int]]:
    target = yield from find(ctx, before)
    start = yield from is_start(target)
    if not start or not (yield from on_path(target, node, depth)):
        raise InvalidGroupError(
            "A page was to end before a message that begins no group of this path.",
            fix="Pass the cursor of the page read last.",
        )
    parent = yield from parent_of(target)
    return parent, target.depth - 1


def newest_rows(node: int, depth: int, limit: int | None) -> Steps[tuple[list[PageRow], bool]]:
    """Read the newest whole groups of a path.

    Returns:
        The rows, oldest first, and whether older ones were left out. At most `limit` rows, unless
        the newest group alone is larger.
    """
    found = yield from _newest_first(node, depth, limit)
    rows, _ = yield from _whole_groups(found, limit)
    return rows, bool(rows) and rows[0].depth > 0


def _newest_first(node: int, depth: int, limit: int | None) -> Steps[list[PageRow]]:
    """Read the newest rows of a path, and one more than `limit` where there is one."""
    found: list[PageRow] = []
    step = yield from newest_range(node, depth)
    while step is not None:
        # A branch has no gaps, so the range itself says how many: no plan can read more of it.
        low = step.low if limit is None else max(step.low, step.high - limit + len(found))
        rows: list[PageRow] = yield q.ReadPage(low, step.high)
        found += rows
        if limit is not None and len(found) > limit:
            break
        step = yield from older_range(step)
    return found


def _whole_groups(
    newest_first: list[PageRow], limit: int | None
) -> Steps[tuple[list[PageRow], PageRow | None]]:
    """Cut to whole groups; a single group larger than the limit is completed instead.

    Returns:
        The rows, oldest first, and the row before them where it was read.
    """
    older: PageRow | None = None
    if limit is not None and len(newest_first) > limit:
        count = limit
        while count and newest_first[count - 1].at:
            count -= 1
        if not count:
            oldest = newest_first[-1]
            newest_first += yield q.ReadPage(oldest.node - oldest.at, oldest.node - 1)
            count = next(i for i, row in enumerate(newest_first) if row.at == 0) + 1
        older = newest_first[count] if count < len(newest_first) else None
        del newest_first[count:]
    newest_first.reverse()
    return newest_first, older


def _entries(
    ctx: Context, rows: Sequence[PageRow], older: PageRow | None
) -> Steps[tuple[Entry, ...]]:
    if not rows:
        return ()
    parent = older.node if older else (yield from parent_of(rows[0]))
    parent_id = id_of(older) if older else (yield from id_at(parent))
    variants = yield from variants_of(ctx, rows, parent)
    entries: list[Entry] = []
    group = ""
    for row, message in zip(rows, decode_all(rows), strict=True):
        message_id = row.message_id or id_of(row)
        if not row.at or not group:
            group = message_id
        entry = Entry(
            kind="message",
            id=message_id,
            parent_id=parent_id,
            message=message,
            created_at=row.created_at,
            group=group,
        )
        if row.state or row.flags & OPEN or (variants and row.node in variants):
            entry = _marked(entry, row, variants.get(row.node))
        entries.append(entry)
        parent_id = message_id
    return tuple(entries)


def _marked(entry: Entry, row: PageRow, variant: Variant | None) -> Entry:
    """Say of an entry what few have: that it is gone, open, or one of several."""
    return msgspec.structs.replace(
        entry,
        kind=_KINDS.get(row.state, "message"),
        message=entry.message if row.state in (LIVE, STRANDED) else None,
        open=row.flags & OPEN != 0,
        available=row.state == LIVE,
        variant=variant,
    )


_KINDS: Final[dict[int, EntryKind]] = {REMOVED: "removed", REDACTED: "redacted"}


def variants_of(ctx: Context, rows: Sequence[PageRow], parent: int) -> Steps[dict[int, Variant]]:
    """Find the siblings of the rows of a path.

    Args:
        ctx: The thread.
        rows: Consecutive rows of a path, oldest first.
        parent: The node before the first of them; 0 at the root.

    Returns:
        By node, only those that have siblings.
    """
    forks: list[BranchRow] = []
    for low, high in _spans(parent, rows):
        forks += yield q.ReadForks(ctx.thread_id, low, high)
    if not forks:
        return {}
    child_of = {parent: rows[0].node}
    child_of.update((one.node, two.node) for one, two in pairwise(rows))
    siblings: dict[int, list[int]] = {}
    for fork in forks:
        if fork.parent in child_of:
            siblings.setdefault(fork.parent, []).append(first_of(fork.branch))
    found: dict[int, Variant] = {}
    for place, starts in siblings.items():
        if place:
            following: list[NodeRow] = yield q.ReadNodes(place + 1, place + 1)
            starts = [row.node for row in following] + starts
        if len(starts) > 1:
            found[child_of[place]] = yield from _variant(starts, child_of[place])
    return found


def _spans(parent: int, rows: Sequence[PageRow]) -> list[tuple[int, int]]:
    """List the ranges of numbers that have children among the rows, one for each run."""
    last = rows[-1].node
    if last - parent == len(rows):
        return [(parent, last - 1)]
    spans: list[tuple[int, int]] = []
    for node in sorted([parent, *[row.node for row in rows[:-1]]]):
        if spans and node == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], node)
        else:
            spans.append((node, node))
    return spans


def _variant(starts: list[int], node: int) -> Steps[Variant]:
    index = starts.index(node)
    before = (yield from id_at(starts[index - 1])) if index else None
    after = (yield from id_at(starts[index + 1])) if index + 1 < len(starts) else None
    return Variant(index=index, count=len(starts), previous=before, next=after)


def whole_group(row: NodeRow) -> Steps[list[NodeRow]]:
    """Read all messages of a node's group, oldest first."""
    rows: list[NodeRow] = yield q.ReadNodes(row.node - row.at, group_end(row))
    return rows
