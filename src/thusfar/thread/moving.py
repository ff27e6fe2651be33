"""Moving: edits, selections, rewinds and forks change where an owner stands, never what is stored.

Whatever a move leaves stays as an alternative, remembered with the place where it was left.

Source:
    docs/spec/threads.md#branches
"""

from __future__ import annotations

# ruff: noqa: A002 - `id` and `open` are the words of the contract
from collections.abc import Mapping
from typing import Any

import msgspec

from thusfar.drive import Steps
from thusfar.errors import (
    IdentityConflictError,
    InvalidGroupError,
    MessageRedactedError,
    ThreadInUseError,
)
from thusfar.messages import Message, Part, Text
from thusfar.storage import questions as q
from thusfar.storage.base import Clock
from thusfar.storage.rows import EDITED, REDACTED, SPENT, HeadRow, LeafRow, NodeRow
from thusfar.thread.appending import (
    empty_head,
    grow,
    head_on,
    place_after,
    rows_of,
)
from thusfar.thread.paths import (
    Context,
    Range,
    decode,
    find,
    group_end,
    id_at,
    id_of,
    is_start,
    live_thread,
    newest_range,
    node_at,
    older_range,
    on_path,
    parent_of,
    place_at,
    require_boundary,
)
from thusfar.thread.preparing import Messages, Prepared, prepare, prepare_one, same_content
from thusfar.thread.reading import read_steps
from thusfar.thread.replaying import commit_of, refuse_spent, replay, stored
from thusfar.thread.tracking import ROOT, Place, advance, place_of_node
from thusfar.thread.values import ThreadCommit, ThreadSnapshot

MAIN = "main"


def edit_steps(
    ctx: Context,
    clock: Clock,
    message_id: str,
    content: str | tuple[Part, ...] | Message,
    *,
    id: str | None,
    metadata: Mapping[str, Any] | None,
) -> Steps[ThreadCommit]:
    """Put a new user message beside an old one and select it; see `Thread.edit`."""
    at = clock()
    head = yield from locked_head(ctx, at)
    target = yield from find(ctx, message_id)
    old = _editable(target)
    message = _edited(old, content, id=id, metadata=metadata)
    one = prepare_one(ctx, message)
    parent = yield from parent_of(target)
    if one.given and (found := (yield from stored(ctx, (one,)))):
        return (yield from _replay_edit(ctx, one, found[message.id or ""], parent, target))
    if head.flags & SPENT:
        yield from refuse_spent((one,))
    place = yield from place_at(parent)
    return (yield from _select_new(ctx, (one,), place, head, at, flags=EDITED))


def regenerate_steps(
    ctx: Context, clock: Clock, question: str, messages: Messages, *, open: bool
) -> Steps[ThreadCommit]:
    """Put another answer under a question and select it; see `Thread.regenerate`."""
    group = prepare(ctx, messages)
    at = clock()
    head = yield from locked_head(ctx, at)
    if any(one.given for one in group) and (found := (yield from stored(ctx, group))):
        return (yield from replay(ctx, group, found, question))
    if head.flags & SPENT:
        yield from refuse_spent(group)
    place = yield from place_after(ctx, question)
    return (yield from _select_new(ctx, group, place, head, at, open=open))


def _select_new(
    ctx: Context,
    group: tuple[Prepared, ...],
    place: Place,
    head: HeadRow,
    at: int,
    *,
    flags: int = 0,
    open: bool = False,
) -> Steps[ThreadCommit]:
    """Within a lock: store a group on a branch of its own, or at the tip, and move the head."""
    marks = advance(place, [one.message for one in group], open=open)
    following: list[NodeRow] = (
        (yield q.ReadNodes(place.node + 1, place.node + 1)) if place.node else []
    )
    first = yield from grow(ctx, place, tip=not following, spent=head.flags & SPENT)
    nodes = rows_of(group, marks, place, first, head.salt, at, flags=flags)
    moved = head_on(head, marks[-1], nodes, at)
    left = yield from left_behind(ctx, head, place.node, place.depth)
    yield q.Write((q.AddNodes(nodes), q.PutHead(moved), *left))
    parent_id = yield from id_at(place.node)
    return ThreadCommit(
        thread_id=ctx.thread_id,
        status="selected",
        message_ids=tuple(id_of(row) for row in nodes),
        parent_id=parent_id,
        selected_head=moved.head_id,
        committed_at=at,
    )


def _editable(target: NodeRow) -> Message:
    if target.state == REDACTED:
        raise MessageRedactedError(
            "A message to edit was redacted.", fix="Edit a message that is still stored."
        )
    message = decode(target)
    if message.role != "user" or target.at != 0:
        raise InvalidGroupError(
            "Only the user message that begins a group can be edited.",
            fix="Edit that message, or regenerate an answer.",
            position=target.at,
        )
    return message


def _edited(
    old: Message,
    content: str | tuple[Part, ...] | Message,
    *,
    id: str | None,
    metadata: Mapping[str, Any] | None,
) -> Message:
    if isinstance(content, Message):
        if content.role != "user":
            raise InvalidGroupError(
                "A user message was to be replaced by a message of another role.",
                fix="Pass a user message.",
            )
        return content if id is None else msgspec.structs.replace(content, id=id)
    parts = (Text(content),) if isinstance(content, str) else tuple(content)
    kept = old.metadata if metadata is None else dict(metadata)
    return Message("user", parts, id=id, name=old.name, metadata=kept)


def _replay_edit(
    ctx: Context, one: Prepared, row: NodeRow, parent: int, target: NodeRow
) -> Steps[ThreadCommit]:
    if row.state == REDACTED:
        raise MessageRedactedError(
            "An id belonged to a message that was redacted.", fix="Edit under a new id."
        )
    parent_then = yield from parent_of(row)
    same = row.flags & EDITED and parent_then == parent and row.node != target.node
    if not same or not same_content(decode(row), one.message):
        raise IdentityConflictError(
            "A message id is stored with other content or at another position.",
            fix="Repeat the edit exactly, or use a new id.",
            thread_id=ctx.thread_id,
        )
    parent_id = yield from id_at(parent)
    return (yield from commit_of(ctx, row, row, parent_id))


def select_steps(ctx: Context, clock: Clock, message_id: str) -> Steps[ThreadSnapshot]:
    """Move the head to another alternative; see `Thread.select`."""
    at = clock()
    head = yield from locked_head(ctx, at)
    target = yield from find(ctx, message_id)
    if not (yield from on_path(target, head.node, head.depth)):
        if not (yield from is_start(target)):
            raise InvalidGroupError(
                "A message inside a group cannot be selected.",
                fix="Select the first message of its group.",
                position=target.at,
            )
        node = yield from continuation(target)
        yield from move_head(ctx, head, node, at)
    return (yield from read_steps(ctx))


def continuation(target: NodeRow) -> Steps[int]:
    """Find where an alternative was left, or the end of its group."""
    leaf: int = yield q.ReadLeaf(target.node)
    if leaf:
        row = yield from node_at(leaf)
        if (yield from on_path(target, row.node, row.depth)):
            return leaf
    return group_end(target)


def rewind_steps(ctx: Context, clock: Clock, message_id: str | None) -> Steps[ThreadSnapshot]:
    """Move the head back along its path; see `Thread.rewind`."""
    at = clock()
    head = yield from locked_head(ctx, at)
    node = 0
    if message_id is not None:
        target = yield from find(ctx, message_id)
        if not (yield from on_path(target, head.node, head.depth)):
            raise InvalidGroupError(
                "A message to rewind to is not on the selected path.",
                fix="Select its branch first.",
            )
        require_boundary(target)
        node = target.node
    if node != head.node:
        yield from move_head(ctx, head, node, at)
    return (yield from read_steps(ctx))


def move_head(ctx: Context, head: HeadRow, node: int, at: int) -> Steps[HeadRow]:
    """Within a lock: put the head on a node and remember what it leaves."""
    row = (yield from node_at(node)) if node else None
    moved = head_at(head, row, at)
    left = yield from left_behind(ctx, head, node, moved.depth)
    yield q.Write((q.PutHead(moved), *left))
    return moved


def head_at(head: HeadRow, row: NodeRow | None, at: int) -> HeadRow:
    """Make the head row for a stored place; `None` is the root."""
    place, head_id = ROOT, ""
    if row is not None:
        place, head_id = place_of_node(row), id_of(row)
    return HeadRow(
        head.thread_id,
        head.owner,
        head.revision + 1,
        place.node,
        head_id,
        place.depth,
        place.turn,
        place.exchange,
        place.run,
        place.flags | head.flags & SPENT,
        place.pending,
        place.chain,
        place.messages,
        head.salt,
        at,
    )


def left_behind(ctx: Context, head: HeadRow, node: int, depth: int) -> Steps[tuple[q.PutLeaf, ...]]:
    """Remember the path that a head leaves when what follows is built on another node."""
    old = yield from newest_range(head.node, head.depth)
    new = yield from newest_range(node, depth)
    start = yield from _first_apart(old, new)
    return (q.PutLeaf(LeafRow(start, ctx.thread_id, head.node)),) if start else ()


def _first_apart(old: Range | None, new: Range | None) -> Steps[int]:
    """Find the first node of one path that is not on another; 0 when there is none.

    Both are walked back from their ends until they run through one branch, so that the cost is
    that of what they do not share.

    Args:
        old: The newest range of the one path; `None` at the root.
        new: The newest range of the other.
    """
    start = 0  # of what is known not to be shared
    while old is not None and (new is None or old.low != new.low):
        if new is not None and new.depth >= old.depth:
            new = yield from older_range(new)
        else:
            start = old.low
            old = yield from older_range(old)
    if old is not None and new is not None and new.high < old.high:
        return new.high + 1
    return start


def fork_steps(ctx: Context, clock: Clock, owner: str, at_message: str | None) -> Steps[None]:
    """Give another owner a position of its own; see `Thread.fork`."""
    at = clock()
    source: HeadRow | None = yield q.ReadHead(ctx.thread_id, ctx.owner)
    existing: HeadRow | None = yield q.Lock(ctx.thread_id, owner, whole=True)
    thread = yield from live_thread(ctx)
    if existing is not None:
        raise IdentityConflictError(
            "The owner has a position in this thread already.",
            fix="Use another owner name, or release that owner first.",
            thread_id=ctx.thread_id,
            owner=owner,
        )
    row: NodeRow | None = None
    if at_message is not None:
        row = yield from find(ctx, at_message)
        require_boundary(row)
    elif source is not None and source.node:
        row = yield from node_at(source.node)
    made = head_at(empty_head(thread, owner, at), row, at)
    yield q.Write((q.PutHead(made),))


def release_steps(ctx: Context) -> Steps[None]:
    """Give up the owner's position; see `Thread.release`."""
    head: HeadRow | None = yield q.Lock(ctx.thread_id, ctx.owner)
    if ctx.owner == MAIN:
        raise ThreadInUseError(
            "The position of the owner main cannot be released.", fix="Delete the thread instead."
        )
    if head is not None:
        yield q.Write((q.DropHead(ctx.thread_id, ctx.owner),))


def locked_head(ctx: Context, at: int) -> Steps[HeadRow]:
    """Begin a write and read the owner's head, an empty one when it has none.

    Raises:
        ThreadNotFoundError: `THREAD_NOT_FOUND`.
        ThreadDeletedError: `THREAD_DELETED`.
    """
    head: HeadRow | None = yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    if head is not None:
        return head
    thread = yield from live_thread(ctx)
    return empty_head(thread, ctx.owner, at)
