"""Questions: all that a thread operation may ask of a store; frozen, and free of policy.

Reads may be asked at any time. `Lock` begins a write: until `Write` or `AppendGroup` is answered,
or the operation ends, nobody else changes what it covers. A write is applied whole or not at all,
and is durable when it is answered.

Source:
    docs/spec/storage.md#questions
"""

from __future__ import annotations

import msgspec

from thusfar.storage.rows import (
    ArtifactRow,
    ChainRow,
    HeadRow,
    LeafRow,
    NodeRow,
    TallyRow,
    ThreadRow,
)


class _Question(msgspec.Struct, frozen=True, gc=False):
    """Base of all questions."""


class ReadThread(_Question, frozen=True):
    """The thread's row, or `None`."""

    thread_id: str


class ReadHead(_Question, frozen=True):
    """The owner's head row, or `None`."""

    thread_id: str
    owner: str


class ReadHeads(_Question, frozen=True):
    """All head rows of a thread, by owner."""

    thread_id: str


class FindNodes(_Question, frozen=True):
    """Nodes by their keys, as a dict from key to row; unknown keys are absent."""

    keys: tuple[bytes, ...]


class FindSpent(_Question, frozen=True):
    """Those of the given keys whose messages were deleted with a branch."""

    keys: tuple[bytes, ...]


class ReadNodes(_Question, frozen=True):
    """Nodes of one branch whose numbers lie in `low … high`, as a list.

    Attributes:
        low: Smallest number.
        high: Largest number.
        limit: At most so many, the newest; `None` means all.
        newest_first: Whether they come newest first.
    """

    low: int
    high: int
    limit: int | None = None
    newest_first: bool = False


class ReadPage(_Question, frozen=True):
    """What a reader needs of the nodes `low … high` of one branch, as a list, newest first."""

    low: int
    high: int


class ReadChains(_Question, frozen=True):
    """Chain rows whose nodes lie in `low … high`, as a list, oldest first."""

    low: int
    high: int


class ReadBranch(_Question, frozen=True):
    """One branch row, or `None`."""

    branch: int


class ReadBranches(_Question, frozen=True):
    """All branch rows of a thread, by number."""

    thread_id: str


class ReadForks(_Question, frozen=True):
    """Branch rows of a thread whose parent lies in `low … high`, by number."""

    thread_id: str
    low: int
    high: int


class ReadLeaves(_Question, frozen=True):
    """All leaf rows of a thread, by start."""

    thread_id: str


class ReadLeaf(_Question, frozen=True):
    """The leaf remembered for one start, or 0."""

    start: int


class ListThreads(_Question, frozen=True):
    """Live threads with their last change and message count, newest change first.

    The answer is a list of `(ThreadRow, updated_at, messages)` of the owner `main`.

    Attributes:
        limit: At most so many; `None` means all.
        offset: Skip so many.
    """

    limit: int | None
    offset: int = 0


class ReadArtifacts(_Question, frozen=True):
    """Artifacts of a thread, of one kind or all of them, newest coverage last."""

    thread_id: str
    kind: str | None = None


class FindArtifacts(_Question, frozen=True):
    """Artifacts by their keys, as a dict from key to row; unknown keys are absent."""

    keys: tuple[str, ...]


class ReadTallies(_Question, frozen=True):
    """Tally rows of one tokenizer for `low … high`, or the newest `limit`, oldest first."""

    tokenizer: str
    low: int
    high: int
    limit: int | None = None


class ReadRecord(_Question, frozen=True):
    """The JSON text stored under a kind and a key, or `None`."""

    kind: str
    key: str


class Snapshot(_Question, frozen=True):
    """From here to the end of the operation, all reads see one state."""


class Lock(_Question, frozen=True):
    """Begin a write, and answer with the owner's head row or `None`.

    Attributes:
        thread_id: The thread.
        owner: The owner whose head is read.
        whole: Whether nobody else may append to the thread meanwhile.
        guess: Whether a head the store remembers will do, without a lock; see `GUESSED`.
        durable: Whether what is written survives a power cut at once, or with the next that does.
    """

    thread_id: str
    owner: str
    whole: bool = False
    guess: bool = False
    durable: bool = True


class BeginThread(_Question, frozen=True):
    """Within a lock: store the row of a new thread, and answer with the row that holds.

    Another process may have begun the same thread meanwhile; then its row is the answer.
    """

    row: ThreadRow


class NewBranch(_Question, frozen=True):
    """Within a lock: begin a branch behind `parent` (0 at the root), and answer with its number."""

    thread_id: str
    parent: int
    depth: int


class AppendGroup(_Question, frozen=True):
    """Within a lock: store one group and move the head onto it; `True` when it was.

    `False` when one of the ids is stored already: then nothing was written, and the lock is gone.

    Attributes:
        head: The new head.
        before: The head it replaces, as it was read; `None` when the owner had none.
        nodes: The group.
    """

    head: HeadRow
    before: HeadRow | None
    nodes: tuple[NodeRow, ...]


class PutThread(_Question, frozen=True):
    """Store a thread's row, new or changed."""

    row: ThreadRow


class PutHead(_Question, frozen=True):
    """Store a head row, new or changed."""

    row: HeadRow


class DropHead(_Question, frozen=True):
    """Forget an owner's position."""

    thread_id: str
    owner: str


class AddNodes(_Question, frozen=True):
    """Store new nodes; a head that stands at the end of their branch stays where it is."""

    nodes: tuple[NodeRow, ...]


class PutChains(_Question, frozen=True):
    """Replace chain rows."""

    rows: tuple[ChainRow, ...]


class SetState(_Question, frozen=True):
    """Set the state of nodes."""

    nodes: tuple[int, ...]
    state: int


class ResizeGroup(_Question, frozen=True):
    """Say how many messages are left of a group whose end was deleted."""

    low: int
    high: int


class ClearPending(_Question, frozen=True):
    """Forget the open calls at nodes, whose exchange can no longer be completed."""

    nodes: tuple[int, ...]


class EraseNodes(_Question, frozen=True):
    """Erase content and time of nodes, given with their ids, and keep place and id."""

    nodes: tuple[tuple[int, str], ...]


class DropNodes(_Question, frozen=True):
    """Delete nodes `low … high` with tallies and leaves; zero `head_then`."""

    low: int
    high: int


class SpendKeys(_Question, frozen=True):
    """Remember the keys of deleted messages, so that their ids are not used again."""

    thread_id: str
    keys: tuple[bytes, ...]


class DropBranch(_Question, frozen=True):
    """Delete a branch row."""

    branch: int


class DropThread(_Question, frozen=True):
    """Delete everything of a thread but its row."""

    thread_id: str


class PutLeaf(_Question, frozen=True):
    """Remember where an alternative continues."""

    row: LeafRow


class MoveLeaves(_Question, frozen=True):
    """Let what was remembered to end at one node end at another."""

    thread_id: str
    old: int
    new: int


class PutArtifact(_Question, frozen=True):
    """Store an artifact; one with the same key is kept as it is."""

    row: ArtifactRow


class DropArtifacts(_Question, frozen=True):
    """Delete artifacts by key."""

    keys: tuple[str, ...]


class PutTallies(_Question, frozen=True):
    """Store cumulative token counts."""

    rows: tuple[TallyRow, ...]


class DropTallies(_Question, frozen=True):
    """Delete the token counts of a thread's nodes `low … high`."""

    low: int
    high: int


class PutRecord(_Question, frozen=True):
    """Store JSON text under a kind and a key, replacing what was there.

    Attributes:
        kind: Such as `receipt`.
        key: Unique within the kind and the namespace.
        thread_id: The thread it goes away with; empty for none.
        body: JSON text.
        created_at: Unit: milliseconds since 1970, UTC.
    """

    kind: str
    key: str
    thread_id: str
    body: str
    created_at: int


Change = (
    PutThread
    | PutHead
    | DropHead
    | AddNodes
    | PutChains
    | SetState
    | ResizeGroup
    | ClearPending
    | EraseNodes
    | DropNodes
    | SpendKeys
    | DropBranch
    | DropThread
    | PutLeaf
    | MoveLeaves
    | PutArtifact
    | DropArtifacts
    | PutTallies
    | DropTallies
    | PutRecord
)


class Write(_Question, frozen=True):
    """Within a lock: apply all changes, in order, durably, and end the lock."""

    changes: tuple[Change, ...]


class Checkpoint(_Question, frozen=True):
    """Clear what an erasure left in the store's own files.

    The answer is `True` when nothing is left, `False` while something prevents it.

    Attributes:
        thorough: Whether work that grows with the database may be done.
    """

    thorough: bool = False
