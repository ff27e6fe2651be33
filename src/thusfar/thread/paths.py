"""Paths: where a message stands in the tree, and which ranges of nodes lead to it.

A path is a list of ranges, one for each branch it runs through, newest first. All functions are
steps: generators that ask the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from thusfar.codec import decode_message, decode_messages
from thusfar.drive import Steps
from thusfar.errors import (
    CorruptRecordError,
    InvalidGroupError,
    InvalidMessageError,
    MessageNotFoundError,
    MessageRedactedError,
    ThreadDeletedError,
    ThreadNotFoundError,
    TranscriptError,
)
from thusfar.messages import Message
from thusfar.storage import questions as q
from thusfar.storage.rows import (
    BOUNDARY,
    POSITION_MASK,
    BranchRow,
    ChainRow,
    HeadRow,
    NodeRow,
    PageRow,
    ThreadRow,
    branch_of,
    first_of,
)
from thusfar.thread.ids import node_in
from thusfar.thread.tracking import ROOT, Place, place_of_node


class Context(NamedTuple):
    """Whose thread an operation works on.

    Attributes:
        namespace: The tenant.
        thread_id: The thread.
        owner: Whose position.
    """

    namespace: str
    thread_id: str
    owner: str

    def key(self, message_id: str) -> bytes:
        """Hash a message id to its unique key."""
        text = f"{self.namespace}\0{self.thread_id}\0{message_id}"
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


class Range(NamedTuple):
    """A run of a path within one branch.

    Attributes:
        low: Number of its first node.
        high: Number of its last node.
        depth: Depth of its first node.
    """

    low: int
    high: int
    depth: int


def live_thread(ctx: Context) -> Steps[ThreadRow]:
    """Read the thread's row.

    Raises:
        ThreadNotFoundError: `THREAD_NOT_FOUND`.
        ThreadDeletedError: `THREAD_DELETED`.
    """
    row = yield from maybe_thread(ctx)
    if row is None:
        raise ThreadNotFoundError(
            "The thread does not exist.",
            fix="Check its id and namespace, or append to it first.",
            thread_id=ctx.thread_id,
        )
    return row


def maybe_thread(ctx: Context) -> Steps[ThreadRow | None]:
    """Read the thread's row, or `None` before the first append.

    Raises:
        ThreadDeletedError: `THREAD_DELETED`.
    """
    row: ThreadRow | None = yield q.ReadThread(ctx.thread_id)
    if row is not None and row.deleted:
        raise ThreadDeletedError(
            "The thread was deleted.", fix="Use a new thread id.", thread_id=ctx.thread_id
        )
    return row


def find(ctx: Context, message_id: str) -> Steps[NodeRow]:
    """Read the node of a message.

    Raises:
        MessageNotFoundError: `MESSAGE_NOT_FOUND`.
        MessageRedactedError: `MESSAGE_REDACTED`, when it was deleted with its branch.
    """
    found = yield from find_all(ctx, (message_id,))
    return found[message_id]


def find_all(ctx: Context, message_ids: tuple[str, ...]) -> Steps[dict[str, NodeRow]]:
    """Read the nodes of messages, by id; errors as for `find`.

    Raises:
        InvalidMessageError: `INVALID_MESSAGE`, for what is no text.
    """
    if not all(isinstance(message_id, str) for message_id in message_ids):
        raise InvalidMessageError(
            "A message id was no text.", fix="Pass each id as a str; several as redact(*ids)."
        )
    found = yield from look_up(ctx, message_ids)
    missing = {ctx.key(i): i for i in message_ids if i not in found}
    if missing:
        yield from maybe_thread(ctx)
        spent = yield q.FindSpent(tuple(missing))
        if spent:
            raise MessageRedactedError(
                "A message was deleted with its branch.",
                fix="Use a message that is still stored.",
                message_id=missing[spent[0]],
            )
        raise MessageNotFoundError(
            "A message is not stored in this thread.",
            fix="Use an id that the thread has returned.",
            thread_id=ctx.thread_id,
            message_id=next(iter(missing.values())),
        )
    return {message_id: found[message_id] for message_id in message_ids}


def look_up(ctx: Context, message_ids: Sequence[str]) -> Steps[dict[str, NodeRow]]:
    """Read the nodes of those messages that are stored, by id."""
    found: dict[str, NodeRow] = {}
    for message_id in message_ids:
        if node := node_in(message_id):
            rows: list[NodeRow] = yield q.ReadNodes(node, node)
            if rows and rows[0].message_id == message_id and not rows[0].key:
                branch = yield from branch_row(branch_of(node))
                if branch.thread_id == ctx.thread_id:
                    found[message_id] = rows[0]
    keys = {ctx.key(i): i for i in message_ids if i not in found}
    if keys:
        rows_by_key: dict[bytes, NodeRow] = yield q.FindNodes(tuple(keys))
        found.update((keys[key], row) for key, row in rows_by_key.items())
    return found


def node_at(node: int) -> Steps[NodeRow]:
    """Read one node that must exist."""
    rows: list[NodeRow] = yield q.ReadNodes(node, node)
    if not rows:
        raise damaged("A stored place pointed at a message that is not stored.", node=node)
    return rows[0]


def chain_at(node: int) -> Steps[ChainRow]:
    """Read the digests of one node that must exist."""
    rows: list[ChainRow] = yield q.ReadChains(node, node)
    if not rows:
        raise damaged("A stored message had no digests.", node=node)
    return rows[0]


def place_at(node: int) -> Steps[Place]:
    """Tell where a path stands after a node; 0 is the root."""
    if not node:
        return ROOT
    return place_of_node((yield from node_at(node)))


def parent_of(row: NodeRow | PageRow) -> Steps[int]:
    """Tell the node before one; 0 at the root."""
    if row.node & POSITION_MASK:
        return row.node - 1
    branch = yield from branch_row(branch_of(row.node))
    return branch.parent


def branch_row(number: int) -> Steps[BranchRow]:
    """Read a branch that must exist."""
    row: BranchRow | None = yield q.ReadBranch(number)
    if row is None:
        raise damaged("A message belonged to a branch that is not stored.", branch=number)
    return row


def ranges(node: int, depth: int) -> Generator[Any, Any, list[Range]]:
    """List the ranges of the path to a node, newest first; empty at the root."""
    found: list[Range] = []
    while node:
        position = node & POSITION_MASK
        low = node - position
        if depth == position:
            found.append(Range(low, node, 0))
            break
        row = yield from branch_row(branch_of(node))
        found.append(Range(low, node, row.depth))
        node, depth = row.parent, row.depth - 1
    return found


def older_range(step: Range) -> Steps[Range | None]:
    """Find the range that a range of a path follows; `None` at the root."""
    if step.depth == 0:
        return None
    row = yield from branch_row(branch_of(step.low))
    parent = row.parent
    position = parent & POSITION_MASK
    if row.depth - 1 == position:
        return Range(parent - position, parent, 0)
    above = yield from branch_row(branch_of(parent))
    return Range(parent - position, parent, above.depth)


def newest_range(node: int, depth: int) -> Steps[Range | None]:
    """Find the range that ends at a node; `None` at the root."""
    if not node:
        return None
    position = node & POSITION_MASK
    if position == depth:
        return Range(node - position, node, 0)
    row = yield from branch_row(branch_of(node))
    return Range(node - position, node, row.depth)


def on_path(target: NodeRow, node: int, depth: int) -> Steps[bool]:
    """Tell whether a node stands on the path to another."""
    branch = branch_of(target.node)
    if branch == branch_of(node):
        return target.node <= node
    step = yield from newest_range(node, depth)
    while step is not None and step.depth > target.depth:
        step = yield from older_range(step)
    return step is not None and step.low <= target.node <= step.high


def node_on_path(depth: int, node: int, node_depth: int) -> Steps[int]:
    """Find the node at a depth of the path to a node; 0 for depth -1."""
    if depth < 0:
        return 0
    step = yield from newest_range(node, node_depth)
    while step is not None and step.depth > depth:
        step = yield from older_range(step)
    if step is None:
        raise damaged("A path was shorter than its depth.", depth=depth)
    return step.low + depth - step.depth


def decode(row: NodeRow | PageRow) -> Message:
    """Decode the message of a node that is not redacted.

    Raises:
        CorruptRecordError: `CORRUPT_RECORD`.
    """
    if row.body is None:
        raise damaged("A stored message had no body.", node=row.node)
    try:
        return decode_message(row.body)
    except TranscriptError as error:
        raise damaged("A stored message could not be decoded.", node=row.node) from error


def decode_all(rows: Sequence[NodeRow | PageRow]) -> list[Message | None]:
    """Decode the messages of nodes, `None` for redacted ones; errors as for `decode`."""
    bodies: list[Any] = [row.body for row in rows]
    try:
        return [*decode_messages(bodies)]
    except (TranscriptError, TypeError):  # one is damaged or has none: take each alone
        return [None if row.body is None else decode(row) for row in rows]


def id_of(row: NodeRow | PageRow) -> str:
    """Tell the message id of a node."""
    if row.message_id is not None:
        return row.message_id
    message_id = decode(row).id
    if message_id is None:
        raise damaged("A stored message had no id.", node=row.node)
    return message_id


def id_at(node: int) -> Steps[str | None]:
    """Tell the message id at a node; `None` at the root."""
    if not node:
        return None
    row = yield from node_at(node)
    return id_of(row)


def group_end(row: NodeRow) -> int:
    """Tell the last node of a node's group."""
    return row.node + row.size - 1 - row.at


def require_boundary(row: NodeRow) -> None:
    """Check that a group may follow a node.

    Raises:
        InvalidGroupError: `INVALID_GROUP`, inside a group.
    """
    if not row.flags & BOUNDARY:
        raise InvalidGroupError(
            "A place lay inside a group of messages that belong together.",
            fix="Use the last message of the group.",
            position=row.at,
            group_size=row.size,
        )


def is_start(row: NodeRow) -> Steps[bool]:
    """Tell whether a node begins what follows a boundary, so that it may have siblings."""
    if row.at == 0:
        return True
    before = yield from node_at(row.node - 1)
    return bool(before.flags & BOUNDARY)


def children(ctx: Context, parent: int) -> Steps[list[int]]:
    """List the first nodes of all that follows a place, in the order stored."""
    forks: list[BranchRow] = yield q.ReadForks(ctx.thread_id, parent, parent)
    found = [first_of(row.branch) for row in forks]
    if parent:
        following: list[NodeRow] = yield q.ReadNodes(parent + 1, parent + 1)
        found[:0] = [row.node for row in following]
    return found


def owner_head(ctx: Context) -> Steps[HeadRow | None]:
    """Read the owner's head; `None` when it never had one.

    Raises:
        ThreadDeletedError: `THREAD_DELETED`.
    """
    head: HeadRow | None = yield q.ReadHead(ctx.thread_id, ctx.owner)
    if head is None:
        yield from maybe_thread(ctx)
    return head


def damaged(message: str, **facts: int) -> CorruptRecordError:
    """Make the error for a record that contradicts another."""
    return CorruptRecordError(
        message,
        fix="Run verify on the thread and restore it from a backup or an export.",
        diagnostics=(),
        **facts,
    )
