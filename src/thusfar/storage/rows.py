"""Rows: what a store keeps of a thread, as plain frozen values; they hold no behaviour.

A thread is a tree of messages. Its tree is stored as *branches*: runs of messages, each the child
of the one before it. A node's number is `branch << 24 | position`, so that a run is one
range of numbers, and any path is a short list of ranges. Order never depends on a clock.

Source:
    docs/spec/storage.md
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

POSITION_BITS: Final = 24
POSITION_MASK: Final = (1 << POSITION_BITS) - 1
LARGEST_NODE: Final = (1 << 63) - 1  # what both databases hold in one column

LIVE: Final = 0  # readable, and part of the transcript
REMOVED: Final = 1  # kept, and out of the transcript
REDACTED: Final = 2  # erased: the place stays
STRANDED: Final = 3  # readable, and out of the transcript since its exchange lost a message

ANSWERED: Final = 1  # an assistant spoke since the turn began
ASKED: Final = 2  # a user spoke on this path
BOUNDARY: Final = 4  # a group may follow here
OPEN: Final = 8  # the group left calls open on purpose
ALTERNATIVE: Final = 16  # the group did not become the owner's head when it was appended
EDITED: Final = 32  # the message replaced another one
SPENT: Final = 128  # on a head: messages of the thread were deleted, so ids must be looked up
GUESSED: Final = 2  # the `tip` of a head that a store remembered and did not read
LEADS: Final = 64  # reasoning that belongs to the assistant entry behind it
CARRIED: Final = ANSWERED | ASKED | LEADS  # what the next message inherits


class ThreadRow(msgspec.Struct, frozen=True, gc=False):
    """A thread as a whole.

    Attributes:
        thread_id: The caller's id, unique within the namespace.
        title: A short name for lists; empty when there is none.
        metadata: JSON text of an object, free for the application.
        deleted: 1 when only the tombstone is left.
        spent: 1 once a branch was deleted.
        salt: Secret that the chain digests are made with; replaced by an erasure.
        created_at: Unit: milliseconds since 1970, UTC.
        updated_at: When title, metadata or content other than by an append last changed.
    """

    thread_id: str
    title: str
    metadata: str
    deleted: int
    spent: int
    salt: str
    created_at: int
    updated_at: int


class HeadRow(msgspec.Struct, frozen=True, gc=False):
    """The position of one owner, with everything that the next append needs.

    Attributes:
        thread_id: The thread.
        owner: Whose position; `main` unless somebody asked for another.
        revision: Grows whenever the selected path of this owner changes in any way.
        node: The selected tip; 0 before the first message.
        head_id: Its message id; empty before the first message.
        depth: How many messages stand before the tip on its path; -1 before the first.
        turn: Depth of the message that opened the tip's turn; -1 when none did.
        exchange: Depth of the first message of the tip's exchange.
        run: Depth of the first of the system messages that end at the tip; -1 without.
        flags: Bits of the tip.
        pending: JSON text of the calls still open at the tip; empty without.
        chain: Chained digest up to the tip, 32 bytes.
        messages: How many messages of the path are live.
        salt: As on the thread.
        updated_at: When the owner last appended or moved. Unit: milliseconds since 1970, UTC.
        tip: 1 when no stored message follows in the head's branch; `GUESSED` when the store
            remembered the row, so that only `AppendGroup` may follow. Not stored.
        base: For the databases: the revision in the stored row, where the head follows the end of
            its branch without being written; -1 where the row is the head. Not stored.
    """

    thread_id: str
    owner: str
    revision: int
    node: int
    head_id: str
    depth: int
    turn: int
    exchange: int
    run: int
    flags: int
    pending: str
    chain: bytes
    messages: int
    salt: str
    updated_at: int
    tip: int = 1
    base: int = -1


class NodeRow(msgspec.Struct, frozen=True, gc=False):
    """One message at its place in the tree.

    Attributes:
        node: Its number.
        key: Hash of namespace, thread id and message id, unique, where the caller chose the id;
            `None` for an id that was made here, which tells the number.
        message_id: The message id; `None` where only the body has it, as in schema 1.
        state: One of `LIVE`, `REMOVED`, `REDACTED`, `STRANDED`.
        at: Position in its group, from 0.
        size: Messages in its group.
        created_at: When it was appended; 0 once redacted. Unit: milliseconds since 1970, UTC.
        depth: How many messages stand before it on its path.
        turn: As on the head.
        exchange: As on the head.
        run: As on the head.
        flags: Bits.
        pending: As on the head.
        head_then: The owner's head when the group became an alternative; 0 otherwise.
        digest: SHA-256 of role, name and parts; empty once redacted.
        chain: Salted chained digest of the live messages of the path up to here, 32 bytes.
        messages: Live messages of the path up to here.
        body: The message as stored JSON; `None` once redacted.
    """

    node: int
    key: bytes | None
    message_id: str | None
    state: int
    at: int
    size: int
    created_at: int
    depth: int
    turn: int
    exchange: int
    run: int
    flags: int
    pending: str
    head_then: int
    digest: bytes
    chain: bytes
    messages: int
    body: str | None


class PageRow(msgspec.Struct, frozen=True, gc=False):
    """What a reader needs of a node; fields as on `NodeRow`."""

    node: int
    body: str | None
    state: int
    at: int
    created_at: int
    depth: int
    flags: int
    message_id: str | None


class ChainRow(msgspec.Struct, frozen=True, gc=False):
    """The digests of one message, without the rest; fields as on `NodeRow`."""

    node: int
    digest: bytes
    chain: bytes
    messages: int


class BranchRow(msgspec.Struct, frozen=True, gc=False):
    """One run of messages.

    Attributes:
        branch: Its number; larger than that of the branch it left.
        thread_id: The thread.
        parent: The node it follows; 0 at the root.
        depth: Depth of its first message.
    """

    branch: int
    thread_id: str
    parent: int
    depth: int


class LeafRow(msgspec.Struct, frozen=True, gc=False):
    """Where an alternative was left, so that selecting it again continues there.

    Attributes:
        start: The first message of the alternative.
        thread_id: The thread.
        leaf: Where its reader stood last.
    """

    start: int
    thread_id: str
    leaf: int


class ArtifactRow(msgspec.Struct, frozen=True, gc=False):
    """Derived text over a range of one path, erased with any message of that range.

    Attributes:
        key: Content address, unique within the namespace.
        thread_id: The thread.
        first: Depth of the first covered message.
        node: The last covered message.
        kind: What made it, for selection (identity of the strategy).
        body: JSON text.
        created_at: Unit: milliseconds since 1970, UTC.
    """

    key: str
    thread_id: str
    first: int
    node: int
    kind: str
    body: str
    created_at: int


class TallyRow(msgspec.Struct, frozen=True, gc=False):
    """Cumulative tokens of a path up to one message, by one tokenizer.

    Attributes:
        tokenizer: Name of the tokenizer.
        node: The message.
        tokens: Tokens of the live messages up to and including it.
    """

    tokenizer: str
    node: int
    tokens: int


Row = ThreadRow | HeadRow | NodeRow | ChainRow | BranchRow | LeafRow | ArtifactRow | TallyRow


def follows(before: HeadRow, head: HeadRow) -> bool:
    """Tell whether a head, as a database read or wrote it, moves without being written."""
    return before.base >= 0 and before.node >> POSITION_BITS == head.node >> POSITION_BITS


def branch_of(node: int) -> int:
    """Tell the branch that a node belongs to."""
    return node >> POSITION_BITS


def first_of(branch: int) -> int:
    """Tell the number of a branch's first node."""
    return branch << POSITION_BITS


def last_of(branch: int) -> int:
    """Tell the largest number a node of this branch can have."""
    return branch << POSITION_BITS | POSITION_MASK


def node_at(head: HeadRow, key: bytes | None, digest: bytes, body: str) -> tuple[Any, ...]:
    """Give the fields of the `NodeRow` of a plain message, alone in its group, that a head is at.

    Args:
        head: The head.
        key: As on `NodeRow`.
        digest: Of the message.
        body: The message as stored JSON, with its id.
    """
    return (
        head.node,
        key,
        head.head_id,
        LIVE,
        0,
        1,
        head.updated_at,
        head.depth,
        head.turn,
        head.exchange,
        head.run,
        head.flags,
        head.pending,
        0,
        digest,
        head.chain,
        head.messages,
        body,
    )
