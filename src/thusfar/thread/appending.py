"""Appending: one causal group becomes durable, once, at the place it was meant for.

An append without a place follows the owner's head. An append with one follows that message: the
head moves onto the group if it still stands there; otherwise the group becomes an alternative.
Nothing is lost and nothing is moved to another parent.

Source:
    docs/spec/threads.md#append
"""

from __future__ import annotations

# ruff: noqa: A002 - `id` and `open` are the words of the contract
import os
from collections.abc import Sequence
from typing import Any

from thusfar.drive import Steps
from thusfar.errors import (
    ThreadError,
)
from thusfar.storage import questions as q
from thusfar.storage.base import Clock
from thusfar.storage.rows import (
    ALTERNATIVE,
    GUESSED,
    POSITION_MASK,
    SPENT,
    HeadRow,
    LeafRow,
    NodeRow,
    ThreadRow,
    first_of,
)
from thusfar.thread.following import LAST_POSITION, follow
from thusfar.thread.ids import node_in
from thusfar.thread.paths import (
    Context,
    find,
    maybe_thread,
    place_at,
    require_boundary,
)
from thusfar.thread.preparing import Messages, Prepared, prepare
from thusfar.thread.replaying import HEAD, After, Head, receipt, refuse_spent, replay, stored
from thusfar.thread.tracking import (
    ROOT,
    Mark,
    Place,
    advance,
    extended,
    place_of_head,
)
from thusfar.thread.values import ThreadCommit


def append_steps(
    ctx: Context,
    clock: Clock,
    messages: Messages,
    *,
    after: After = HEAD,
    open: bool = False,
    exact: bool = True,
) -> Steps[ThreadCommit]:
    """Append one causal group; see `Thread.append`."""
    group = prepare(ctx, messages)
    return append_group_steps(ctx, clock, group, after=after, open=open, exact=exact)


def append_group_steps(
    ctx: Context,
    clock: Clock,
    group: Sequence[Prepared],
    *,
    after: After = HEAD,
    open: bool = False,
    exact: bool = True,
) -> Steps[ThreadCommit]:
    """Append one causal group that is ready to be stored."""
    at = clock()
    # No unique key says of an id that was made here that its message is stored already.
    made_here = [one for one in group if one.given and node_in(one.message.id or "")]
    if made_here and (found := (yield from stored(ctx, group))):
        return (yield from replay(ctx, group, found, after))
    behind_head, guess = isinstance(after, Head), True
    while True:
        head: HeadRow | None = yield q.Lock(ctx.thread_id, ctx.owner, not behind_head, guess)
        guess = False
        plain = None
        if behind_head and head is not None and len(group) == 1:
            plain = follow(head, group[0], at)
        if plain is None or head is None:
            commit = yield from _append_after(ctx, group, head, after, at, open=open, exact=exact)
        elif (yield plain):
            commit = receipt(ctx, plain.nodes, head.head_id, at)
        else:
            commit = yield from _replayed(ctx, group, after)
        if commit is not None:
            return commit


def _append_after(
    ctx: Context,
    group: Sequence[Prepared],
    before: HeadRow | None,
    after: After,
    at: int,
    *,
    open: bool,
    exact: bool,
) -> Steps[ThreadCommit | None]:
    """Append a group at its place; `None` when the owner stands elsewhere than was known."""
    given = any(one.given for one in group)
    head = before if before is not None else (yield from first_head(ctx, at))
    try:
        if isinstance(after, Head) or (head.node and after == head.head_id):
            place, parent = place_of_head(head), head.head_id
        else:
            place, parent = (yield from place_after(ctx, after)), after or ""
        marks = advance(place, [one.message for one in group], open=open, exact=exact)
    except ThreadError:
        if head.tip == GUESSED:
            return None
        if given and (found := (yield from stored(ctx, group))):
            return (yield from replay(ctx, group, found, after))
        raise
    needs_lock = place.node != head.node or head.flags & SPENT or not has_room(place)
    if head.tip == GUESSED and needs_lock:
        return None
    if head.flags & SPENT:
        yield from refuse_spent(group)
    if place.node == head.node:
        grown = yield from grow(ctx, place, tip=bool(head.tip), spent=head.flags & SPENT)
        nodes = rows_of(group, marks, place, grown, head.salt, at)
        if (yield q.AppendGroup(head_on(head, marks[-1], nodes, at), before, nodes)):
            return receipt(ctx, nodes, parent, at)
    else:
        if given and (found := (yield from stored(ctx, group))):
            return (yield from replay(ctx, group, found, after))
        nodes = yield from add_alternative(ctx, group, marks, place, head, at)
        return receipt(ctx, nodes, parent, at, beside=head.head_id)
    return (yield from _replayed(ctx, group, after))


def _replayed(ctx: Context, group: Sequence[Prepared], after: After) -> Steps[ThreadCommit | None]:
    """Answer an append that was not written from what is stored already, if it is."""
    found = yield from stored(ctx, group)
    return (yield from replay(ctx, group, found, after)) if found else None


def first_head(ctx: Context, at: int) -> Steps[HeadRow]:
    """Within a lock: make the head of an owner that has none, and the thread if it is new."""
    thread = yield from maybe_thread(ctx)
    if thread is None:
        new = ThreadRow(ctx.thread_id, "", "{}", 0, 0, new_salt(), at, at)
        thread = yield q.BeginThread(new)
    return empty_head(thread, ctx.owner, at)


def empty_head(thread: ThreadRow, owner: str, at: int) -> HeadRow:
    """Make the head row of an owner who stands before the first message."""
    flags = ROOT.flags | (SPENT if thread.spent else 0)
    return HeadRow(
        thread.thread_id,
        owner,
        0,
        0,
        "",
        -1,
        -1,
        -1,
        -1,
        flags,
        "",
        ROOT.chain,
        0,
        thread.salt,
        at,
        0,
    )


def new_salt() -> str:
    """Make a thread's secret. Unit: 32 hexadecimal digits."""
    return os.urandom(16).hex()


def place_after(ctx: Context, after: str | None) -> Steps[Place]:
    """Find the place behind a message, which must end a group; `None` is the root."""
    if after is None:
        return ROOT
    row = yield from find(ctx, after)
    require_boundary(row)
    return (yield from place_at(row.node))


def grow(ctx: Context, place: Place, *, tip: bool, spent: int = 0) -> Steps[int]:
    """Within a lock: choose the number of the first node behind a place.

    Args:
        ctx: The thread.
        place: The place.
        tip: Whether nothing follows it in its branch.
        spent: Whether branches of the thread were deleted. Then other branches may follow the tip
            all the same, and these are older than what is stored now.
    """
    if tip and has_room(place):
        forks = (yield q.ReadForks(ctx.thread_id, place.node, place.node)) if spent else ()
        if not forks:
            return place.node + 1
    branch: int = yield q.NewBranch(ctx.thread_id, place.node, place.depth + 1)
    return first_of(branch)


def has_room(place: Place) -> bool:
    """Tell whether the branch of a place can take another group."""
    return place.node > 0 and place.node & POSITION_MASK < LAST_POSITION


def rows_of(
    group: Sequence[Prepared],
    marks: Sequence[Mark],
    place: Place,
    node: int,
    salt: str,
    at: int,
    *,
    flags: int = 0,
    head_then: int = 0,
    states: Sequence[int] | None = None,
) -> tuple[NodeRow, ...]:
    """Make the rows of a group whose first node has the number `node`."""
    nodes: list[NodeRow] = []
    chain, live, size = place.chain, place.messages, len(group)
    for i, (one, mark) in enumerate(zip(group, marks, strict=True)):
        state = states[i] if states else 0
        message_id, body = one.at(node + i)
        if not state:
            chain = extended(chain, one.digest, salt)
            live += 1
        nodes.append(
            NodeRow(
                node + i,
                one.key,
                message_id,
                state,
                i,
                size,
                at,
                mark.depth,
                mark.turn,
                mark.exchange,
                mark.run,
                mark.flags | flags,
                mark.pending,
                head_then,
                one.digest,
                chain,
                live,
                body,
            )
        )
    return tuple(nodes)


def head_on(head: HeadRow, mark: Mark, nodes: Sequence[NodeRow], at: int) -> HeadRow:
    """Move a head onto the last message of a group."""
    node = nodes[-1]
    return HeadRow(
        head.thread_id,
        head.owner,
        head.revision + len(nodes),
        node.node,
        node.message_id or "",
        mark.depth,
        mark.turn,
        mark.exchange,
        mark.run,
        node.flags | head.flags & SPENT,
        mark.pending,
        node.chain,
        node.messages,
        head.salt,
        at,
        1,
        head.base,
    )


def add_alternative(
    ctx: Context,
    group: Sequence[Prepared],
    marks: Sequence[Mark],
    place: Place,
    head: HeadRow,
    at: int,
) -> Steps[tuple[NodeRow, ...]]:
    """Within a lock: store a group beside the selected path, remembered as where it continues."""
    following: list[NodeRow] = (
        (yield q.ReadNodes(place.node + 1, place.node + 1)) if place.node else []
    )
    first = yield from grow(ctx, place, tip=not following, spent=head.flags & SPENT)
    nodes = rows_of(
        group, marks, place, first, head.salt, at, flags=ALTERNATIVE, head_then=head.node
    )
    changes: list[Any] = [q.AddNodes(nodes)]
    if place.node:
        changes.append(q.MoveLeaves(ctx.thread_id, place.node, nodes[-1].node))
    if first & POSITION_MASK == 0:
        changes.append(q.PutLeaf(LeafRow(first, ctx.thread_id, nodes[-1].node)))
    yield q.Write(tuple(changes))
    return nodes
