"""The handle: `Thread`, an inert value whose verbs are written once and run sync or async.

Each verb is a generator of questions. Called on a `Thread` it gives an awaitable; called on
`thread.sync` it runs at once. Making a handle touches no store.
"""

from __future__ import annotations

# ruff: noqa: A002 - `id` and `open` are the words of the contract
import uuid
from collections.abc import Mapping
from typing import Any

from thusfar.drive import Steps
from thusfar.errors import OptionsError, StorageError, ThreadCommitError
from thusfar.messages import Message, Part
from thusfar.storage.base import Store, check_id
from thusfar.thread import appending, listing, moving, reading
from thusfar.thread.paths import Context
from thusfar.thread.preparing import Messages, as_messages
from thusfar.thread.replaying import HEAD, After
from thusfar.thread.shortcut import append_at_once
from thusfar.thread.values import (
    ThreadCommit,
    ThreadInfo,
    ThreadSnapshot,
    Transcript,
)
from thusfar.thread.verbs import blocking, verb
from thusfar.thread.wholly import WholeThread


class Thread(WholeThread):
    """A durable transcript with branches: append-only, with one selected path for each owner.

    Args:
        id: The thread's id, unique in the store's namespace; a new one is made when absent.
            1 to 512 printable characters.
        store: Where it is kept; see `open_store`.
        owner: Whose position on the thread this handle moves. Every owner has its own head.

    Raises:
        InvalidMessageError: `INVALID_MESSAGE`, for a bad id or owner.
        OptionsError: `INVALID_OPTIONS`, when `store` is no store.

    Source:
        docs/spec/threads.md

    Example:
        >>> from thusfar.storage import open_store
        >>> thread = Thread("support-42", store=open_store("memory:"))
        >>> thread.sync.append("Where is my order?").status
        'selected'
    """

    __slots__ = ("_context", "id", "owner", "store")

    _context: Context
    id: str
    store: Store
    owner: str

    def __init__(self, id: str | None = None, *, store: Store, owner: str = moving.MAIN) -> None:
        if not isinstance(store, Store):
            raise OptionsError(
                "A thread was made without a store.",
                fix='Pass store=open_store("sqlite:///history.db").',
            )
        made = f"thread_{uuid.uuid4().hex}" if id is None else check_id(id, "thread id")
        for name, value in (("id", made), ("store", store), ("owner", check_id(owner, "owner"))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_context", Context(store.namespace, made, owner))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A Thread is frozen; make another handle instead.")

    def __repr__(self) -> str:
        owner = "" if self.owner == moving.MAIN else f", owner={self.owner!r}"
        return f"Thread({self.id!r}{owner})"

    @property
    def sync(self) -> SyncThread:
        """The same thread for code without an event loop."""
        return SyncThread(self)

    @verb
    def append(
        self, messages: Messages, *, after: After = HEAD, open: bool = False
    ) -> Steps[ThreadCommit]:
        """Store one causal group durably, exactly once.

        Without `after` the group follows the owner's head. With it, it follows that message: as
        the new head if the head still stands there, else as an alternative beside the
        selected path. An append with the ids, content and position of an earlier one returns that
        one's receipt.

        Args:
            messages: A message, text (a user message), a message of any known dialect, or a
                sequence of them that belong together. Messages without an id get one.
            after: Id of the message it follows, which must end a group (or be the question
                of a turn); `None` is the root.
            open: Whether calls of the group may stay open, to be answered by a later append.

        Raises:
            InvalidGroupError: `INVALID_GROUP`, for a call without a result, a result without
                an open call, an empty group, or a place inside a group.
            InvalidMessageError: `INVALID_MESSAGE`, for a bad id or what is not JSON.
            IdentityConflictError: `IDENTITY_CONFLICT`, for an id stored otherwise.
            MessageNotFoundError: `MESSAGE_NOT_FOUND`, for an unknown `after`.
            MessageRedactedError: `MESSAGE_REDACTED`, for an erased id.
            ThreadDeletedError: `THREAD_DELETED`.
            StorageError: when the database could not do its work; nothing was stored.
        """
        return appending.append_steps(
            self._context, self.store.clock, messages, after=after, open=open
        )

    @verb
    def commit_turn(
        self, messages: Messages, *, after: str | None, open: bool = False
    ) -> Steps[ThreadCommit]:
        """Store an answered turn as one group behind the head it was planned from.

        Args:
            messages: The user's message, whole tool rounds and the accepted answer.
            after: `Transcript.head` of the plan; `None` when the thread was empty. If the head
                has moved meanwhile, the turn becomes an alternative.
            open: As for `append`.

        Raises:
            ThreadCommitError: `COMMIT_FAILED`, when the database could not do its work; the
                cause is its error, and nothing was stored.
            ThreadError: as for `append`.
        """
        return self._committing(messages, after, open)

    def _committing(self, messages: Messages, after: str | None, open: bool) -> Steps[ThreadCommit]:
        try:
            return (
                yield from appending.append_steps(
                    self._context, self.store.clock, messages, after=after, open=open
                )
            )
        except StorageError as error:
            raise ThreadCommitError(
                f"A turn was not stored: {error.args[0]}", fix=error.fix, thread_id=self.id
            ) from error

    @verb
    def read(
        self, *, at: str | None = None, before: str | None = None, limit: int | None = None
    ) -> Steps[ThreadSnapshot]:
        """Read the selected path, or a page of it, exactly as stored.

        Args:
            at: Read the path to this message instead; any message, also inside a group.
            before: Only what stands before this message: the cursor of a page.
            limit: At most so many of the newest entries, in whole groups; the newest group is
                whole even when it is larger. `None` means all.

        Returns:
            A snapshot; empty for a thread that nobody has appended to.

        Raises:
            MessageNotFoundError: `MESSAGE_NOT_FOUND`.
            InvalidGroupError: `INVALID_GROUP`, when `before` begins no group of the path.
            OptionsError: `INVALID_OPTIONS`, for an impossible `limit`.
            ThreadDeletedError: `THREAD_DELETED`.
        """
        return reading.read_steps(self._context, at=at, before=before, limit=limit)

    @verb
    def transcript(self, *, newest: int | None = None) -> Steps[Transcript]:
        """Read the live messages of the selected path, with the revision to plan from.

        Redacted and removed messages are left out, and so is what is left of an exchange that
        lost one of its messages.

        Args:
            newest: Read only so many of the newest messages, in whole groups; the cost does
                not depend on how many there are before them. `None` means all.
        """
        return reading.transcript_steps(self._context, newest=newest)

    @verb
    def check_revision(self, revision: str) -> Steps[None]:
        """Check that the selected path is what it was when `revision` was read.

        Raises:
            IdentityConflictError: `IDENTITY_CONFLICT`, when it changed.
        """
        return reading.check_revision_steps(self._context, revision)

    @verb
    def edit(
        self,
        message_id: str,
        content: str | tuple[Part, ...] | Message,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Steps[ThreadCommit]:
        """Put a new user message beside an old one, and select it.

        The old message and all that follows it stay as an alternative. The user message of a
        managed turn can be edited too: the branch begins before the turn.

        Args:
            message_id: The user message that begins its group.
            content: Its new text or parts.
            id: Id of the new message; repeating an edit under the same id changes nothing.
            metadata: Of the new message; `None` keeps the old.

        Raises:
            InvalidGroupError: `INVALID_GROUP`, for a message that is not from the user or
                begins no group.
            MessageRedactedError: `MESSAGE_REDACTED`.
            ThreadError: as for `append`.
        """
        return moving.edit_steps(
            self._context, self.store.clock, message_id, content, id=id, metadata=metadata
        )

    @verb
    def regenerate(
        self, question: str, messages: Messages, *, open: bool = False
    ) -> Steps[ThreadCommit]:
        """Put another answer under a question, and select it; the old answer stays.

        Args:
            question: The message that is answered; also inside a managed turn.
            messages: The new answer, as for `append`.
            open: As for `append`.

        Raises:
            ThreadError: as for `append`.
        """
        return moving.regenerate_steps(
            self._context, self.store.clock, question, messages, open=open
        )

    @verb
    def select(self, message_id: str) -> Steps[ThreadSnapshot]:
        """Select the alternative that a message begins, where it was left last.

        A message of the selected path changes nothing.

        Raises:
            InvalidGroupError: `INVALID_GROUP`, for a message inside a group.
            MessageNotFoundError: `MESSAGE_NOT_FOUND`.
        """
        return moving.select_steps(self._context, self.store.clock, message_id)

    @verb
    def rewind(self, message_id: str | None) -> Steps[ThreadSnapshot]:
        """Move the head back to a message of the selected path; what follows stays.

        Args:
            message_id: The last message of a group, or the question of a turn; `None` is the
                root.

        Raises:
            InvalidGroupError: `INVALID_GROUP`, elsewhere.
            MessageNotFoundError: `MESSAGE_NOT_FOUND`.
        """
        return moving.rewind_steps(self._context, self.store.clock, message_id)

    @verb
    def fork(self, owner: str, *, at: str | None = None) -> Steps[Thread]:
        """Give another owner a position of its own on this thread.

        Args:
            owner: Its name.
            at: Where it begins: the last message of a group; `None` is where this owner stands.

        Returns:
            A handle for that owner.

        Raises:
            IdentityConflictError: `IDENTITY_CONFLICT`, when it has a position already.
            ThreadError: as for `rewind`.
        """
        return self._forking(owner, at)

    def _forking(self, owner: str, at: str | None) -> Steps[Thread]:
        other = Thread(self.id, store=self.store, owner=owner)
        yield from moving.fork_steps(self._context, self.store.clock, owner, at)
        return other

    @verb
    def release(self) -> Steps[None]:
        """Give up this owner's position; its messages stay.

        Raises:
            ThreadInUseError: `THREAD_IN_USE`, for the owner `main`.
        """
        return moving.release_steps(self._context)


class SyncThread:
    """The sync mirror of a `Thread`: the same verbs, returning their values."""

    __slots__ = ("_thread",)

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    def __repr__(self) -> str:
        return f"{self._thread!r}.sync"

    def append(
        self, messages: Messages, *, after: After = HEAD, open: bool = False
    ) -> ThreadCommit:
        """Store one causal group durably, exactly once; see `Thread.append`."""
        thread = self._thread
        ctx, store = thread._context, thread.store
        group = (messages,) if type(messages) is Message else as_messages(messages)
        if len(group) == 1 and after is HEAD:
            commit = append_at_once(store, ctx, group[0])
            if commit is not None:
                return commit
        return store.run(appending.append_steps(ctx, store.clock, group, after=after, open=open))

    commit_turn = blocking(Thread.commit_turn)
    read = blocking(Thread.read)
    transcript = blocking(Thread.transcript)
    check_revision = blocking(Thread.check_revision)
    edit = blocking(Thread.edit)
    regenerate = blocking(Thread.regenerate)
    select = blocking(Thread.select)
    rewind = blocking(Thread.rewind)
    fork = blocking(Thread.fork)
    release = blocking(Thread.release)
    remove = blocking(Thread.remove)
    redact = blocking(Thread.redact)
    delete = blocking(Thread.delete)
    info = blocking(Thread.info)
    describe = blocking(Thread.describe)
    branches = blocking(Thread.branches)
    owners = blocking(Thread.owners)
    tally = blocking(Thread.tally)
    window = blocking(Thread.window)
    search = blocking(Thread.search)
    keep_artifact = blocking(Thread.keep_artifact)
    artifacts = blocking(Thread.artifacts)
    drop_artifacts = blocking(Thread.drop_artifacts)
    verify = blocking(Thread.verify)
    export = blocking(Thread.export)
    import_ = blocking(Thread.import_)


async def threads(
    store: Store, *, limit: int | None = None, offset: int = 0
) -> tuple[ThreadInfo, ...]:
    """List the threads of a store's namespace, newest change first.

    Args:
        store: The store.
        limit: At most so many; `None` means all.
        offset: Skip so many.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for an impossible limit or offset.
    """
    return await store.arun(listing.list_steps(limit=limit, offset=offset))


def threads_sync(
    store: Store, *, limit: int | None = None, offset: int = 0
) -> tuple[ThreadInfo, ...]:
    """List threads, for code without an event loop; see `threads`."""
    return store.run(listing.list_steps(limit=limit, offset=offset))
