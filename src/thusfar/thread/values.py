"""Values: what thread operations return; frozen, and free of content where they are receipts."""

from __future__ import annotations

from typing import Literal

import msgspec

from thusfar.errors import Diagnostic
from thusfar.messages import Message

CommitStatus = Literal["selected", "alternative"]
EntryKind = Literal["message", "removed", "redacted"]


class ThreadCommit(msgspec.Struct, frozen=True, kw_only=True):
    """Proof that one causal group is stored durably. Holds ids only.

    Attributes:
        thread_id: The thread.
        status: `selected` when the owner's head moved onto the group; `alternative` when it
            became a branch beside the selected path.
        message_ids: Ids of the group, oldest first.
        parent_id: The message it follows; `None` at the root.
        selected_head: The owner's head right after the append; `None` when it has none, and for
            a replay also when that message was deleted since.
        committed_at: Unit: milliseconds since 1970, UTC.
        replayed: Whether an identical earlier append was found instead.
    """

    thread_id: str
    status: CommitStatus
    message_ids: tuple[str, ...]
    parent_id: str | None
    selected_head: str | None
    committed_at: int
    replayed: bool = False


class Variant(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The place of a message among its siblings: other messages at the same position.

    Attributes:
        index: From 0, in the order they were stored.
        count: At least 2.
        previous: Id of the sibling before; `None` for the first.
        next: Id of the sibling behind; `None` for the last.
    """

    index: int
    count: int
    previous: str | None
    next: str | None


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One place of a path.

    Attributes:
        kind: `message`; `removed` (hidden, kept); `redacted` (erased for good).
        id: The message id.
        parent_id: The entry before; `None` for the first of a thread.
        message: The message; `None` unless `kind` is `message`.
        created_at: Unit: milliseconds since 1970, UTC. 0 when redacted.
        group: Id of the first message of its group.
        open: Whether its group left calls open.
        available: Whether it is part of the transcript. A message whose exchange lost another
            message to a redaction is readable and not available.
        variant: Its siblings, when it has any.
    """

    kind: EntryKind
    id: str
    parent_id: str | None
    message: Message | None
    created_at: int
    group: str
    open: bool = False
    available: bool = True
    variant: Variant | None = None


class ThreadSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A path, or a page of whole groups of it, at one moment.

    Attributes:
        thread_id: The thread.
        revision: Changes whenever the owner's path changes; `0` before the first append.
        head: The owner's selected tip; `None` when there is none.
        entries: Oldest first.
        cursor: Pass it as `before` for the next older page; `None` when nothing is older.
        omitted: Places of the path that come before `entries`.
    """

    thread_id: str
    revision: str
    head: str | None
    entries: tuple[Entry, ...]
    cursor: str | None = None
    omitted: int = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """The readable messages of the entries."""
        return tuple(e.message for e in self.entries if e.message is not None)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the entries."""
        return tuple(e.id for e in self.entries)


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """The live messages of the owner's selected path, for planning.

    Attributes:
        thread_id: The thread.
        revision: As on the snapshot; pass it to `check_revision` or `commit_turn`.
        head: The owner's selected tip; `None` when there is none.
        messages: Live messages, oldest first; only the newest when a limit was given.
        omitted: Live messages of the path that come before `messages`.
        chain: Chained digest of all live messages of the path.
        chain_before: Chained digest of the omitted ones.
        open_calls: Calls at the end that wait for a result.
        unavailable: Ids of readable messages left out because their exchange lost a message.
    """

    thread_id: str
    revision: str
    head: str | None
    messages: tuple[Message, ...]
    omitted: int
    chain: str
    chain_before: str
    open_calls: int = 0
    unavailable: tuple[str, ...] = ()


class ThreadInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as it appears in lists.

    Attributes:
        thread_id: The thread.
        title: Empty when there is none.
        metadata: Free JSON of the application.
        created_at: Unit: milliseconds since 1970, UTC.
        updated_at: The last change of any kind. Unit: milliseconds since 1970, UTC.
        messages: Live messages on the selected path of the owner `main`.
    """

    thread_id: str
    title: str
    metadata: dict[str, object]
    created_at: int
    updated_at: int
    messages: int


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One end of the tree: a path from the root to a message that nothing follows.

    Attributes:
        leaf: Id of the last message.
        start: Id of the first message that no older branch shares.
        parent_id: The message it left the older branch at; `None` at the root.
        length: Places from the root to the leaf.
        selected_by: Owners whose head lies on it, at or behind its start.
    """

    leaf: str
    start: str
    parent_id: str | None
    length: int
    selected_by: tuple[str, ...] = ()


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """What a redaction or deletion did. Holds ids and counts only.

    Attributes:
        message_ids: Messages erased by this call; empty when all were erased before.
        unavailable: Readable messages that left the transcript with them.
        artifacts: Derived texts erased with them.
        state: `complete` when no byte is left in the store's files; `pending` while a reader
            keeps an older state alive: call `verify(erased=True)` later.
    """

    message_ids: tuple[str, ...]
    unavailable: tuple[str, ...] = ()
    artifacts: int = 0
    state: Literal["complete", "pending"] = "complete"


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What a check of everything stored of a thread found.

    Attributes:
        thread_id: The thread.
        messages: Messages checked, on every branch.
        branches: Branches checked.
        problems: One diagnostic each; none when all is well.
        erasure: `complete` or `pending` when it was asked for; `None` otherwise.
    """

    thread_id: str
    messages: int
    branches: int
    problems: tuple[Diagnostic, ...] = ()
    erasure: Literal["complete", "pending"] | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems
