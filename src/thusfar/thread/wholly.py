"""The verbs on a thread as a whole: erasing, describing, listing, verifying, porting."""

from __future__ import annotations

# ruff: noqa: A002 - `format` is the word of the contract
from collections.abc import Mapping
from typing import Any

from thusfar.codec import parse_json
from thusfar.drive import Steps
from thusfar.storage.base import Store
from thusfar.thread import artifacts as derived
from thusfar.thread import (
    erasing,
    foreign,
    importing,
    listing,
    porting,
    reading,
    searching,
    tallying,
    verifying,
)
from thusfar.thread.paths import Context, maybe_thread
from thusfar.thread.values import Branch, Erasure, ThreadInfo, Verification
from thusfar.thread.verbs import verb


class WholeThread:
    """What a `Thread` can do as a whole; a part of it, never made alone."""

    __slots__ = ()

    store: Store
    _context: Context

    @verb
    def remove(self, message_id: str) -> Steps[tuple[str, ...]]:
        """Take a message's whole group out of transcripts, and keep it stored.

        Returns:
            Ids of the messages that were hidden by this call.

        Raises:
            MessageNotFoundError: `MESSAGE_NOT_FOUND`.
        """
        return erasing.remove_steps(self._context, self.store.clock, message_id)

    @verb
    def redact(self, *message_ids: str) -> Steps[Erasure]:
        """Erase the content of messages for good; their places and ids stay.

        Everything derived from them goes in the same write. Either all are erased or none.

        Raises:
            MessageNotFoundError: `MESSAGE_NOT_FOUND`; nothing was erased.
            OptionsError: `INVALID_OPTIONS`, without an id.
        """
        return erasing.redact_steps(self._context, self.store.clock, message_ids)

    @verb
    def delete(self, *, branch: str | None = None, force: bool = False) -> Steps[Erasure]:
        """Delete the thread for good, or one alternative with all that follows it.

        Args:
            branch: The first message of the alternative; `None` deletes the thread, and its id
                can never be used again.
            force: Delete the thread although other owners have positions on it.

        Raises:
            ThreadInUseError: `THREAD_IN_USE`, when an owner stands there.
            ThreadNotFoundError: `THREAD_NOT_FOUND`.
            MessageNotFoundError: `MESSAGE_NOT_FOUND`.
        """
        if branch is not None:
            return erasing.delete_branch_steps(self._context, self.store.clock, branch)
        return erasing.delete_steps(self._context, self.store.clock, force=force)

    @verb
    def info(self) -> Steps[ThreadInfo]:
        """Describe the thread: title, metadata, times, length.

        Raises:
            ThreadNotFoundError: `THREAD_NOT_FOUND`.
        """
        return listing.info_steps(self._context)

    @verb
    def describe(
        self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Steps[ThreadInfo]:
        """Set title and metadata of the thread; `None` keeps what there is.

        Raises:
            InvalidMessageError: `INVALID_MESSAGE`, for what cannot be stored.
        """
        return listing.describe_steps(
            self._context, self.store.clock, title=title, metadata=metadata
        )

    @verb
    def branches(self) -> Steps[tuple[Branch, ...]]:
        """List the ends of the tree, in the order in which they were begun."""
        return listing.branches_steps(self._context)

    @verb
    def owners(self) -> Steps[dict[str, str | None]]:
        """List the owners with the id of the message each stands on."""
        return listing.owners_steps(self._context)

    @verb
    def tally(self, tokenizer: str, count: tallying.CountTokens) -> Steps[int]:
        """Count the tokens of what is new on the selected path, and keep the counts.

        Args:
            tokenizer: Name that the counts are kept under; it stands for one way of counting.
            count: Counts messages, one number each. It is asked for each live message once.

        Returns:
            Tokens of all live messages of the path.

        Raises:
            InvalidMessageError: `INVALID_MESSAGE`, for a name that cannot be stored.
            OptionsError: `INVALID_OPTIONS`, when `count` answered anything but one whole number
                for each message; nothing was kept.
        """
        return tallying.tally_steps(self._context, tokenizer, count)

    @verb
    def window(
        self,
        *,
        messages: int | None = None,
        tokens: int | None = None,
        tokenizer: str | None = None,
    ) -> Steps[tallying.Window]:
        """Find where the newest messages within both caps begin, without reading them.

        The cost grows with the logarithm of the path's length and with its branches.

        Args:
            messages: At most so many live messages. `None` means no cap.
            tokens: At most so many tokens. `None` means no cap.
            tokenizer: The name that `tally` was called with.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for an impossible cap, or tokens without tokenizer.
            UnsupportedCapabilityError: `UNSUPPORTED_CAPABILITY`, before `tally` was called.
        """
        return tallying.window_steps(
            self._context, messages=messages, tokens=tokens, tokenizer=tokenizer
        )

    @verb
    def search(
        self,
        words: str,
        *,
        limit: int | None = searching.DEFAULT_FOUND,
        before: str | None = None,
    ) -> Steps[tuple[searching.Found, ...]]:
        """Find live messages of the selected path that have all these words, the newest first.

        Case and compatible forms do not count, and words may come in any order. A word of three
        characters or more is also found as the beginning of a longer one; text of a script without
        spaces is found wherever it stands. Nothing is syntax: quotes, operators and other
        punctuation only separate words. Tool names, arguments and results are searched too.

        A long path is indexed when it is searched, never when it is appended to.

        Args:
            words: What to look for. Without any word nothing is found.
            limit: At most so many. `None` means all.
            before: Only what stands before this message of the path.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for an impossible limit, or words that are no text.
            MessageNotFoundError: `MESSAGE_NOT_FOUND`, for an unknown `before`.
            InvalidGroupError: `INVALID_GROUP`, when `before` is not on the selected path.
            ThreadDeletedError: `THREAD_DELETED`.
        """
        return searching.search_steps(self._context, words, limit=limit, before=before)

    @verb
    def keep_artifact(
        self, key: str, *, kind: str, first: str, last: str, body: Mapping[str, Any]
    ) -> Steps[None]:
        """Keep a derived text over a range of messages; one with the same key is kept as it is.

        It is erased in the same write as any message of its range.

        Args:
            key: Its content address, unique in the thread.
            kind: Identity of what made it; `artifacts(kind=…)` selects by it.
            first: The first message covered.
            last: The last message covered; `first` must be on the path to it.
            body: JSON.

        Raises:
            InvalidGroupError: `INVALID_GROUP`, when the range is none, or lost a message.
            MessageNotFoundError: `MESSAGE_NOT_FOUND`.
        """
        return derived.keep_steps(
            self._context, self.store.clock, key, kind=kind, first=first, last=last, body=body
        )

    @verb
    def artifacts(self, *, kind: str | None = None) -> Steps[tuple[derived.Artifact, ...]]:
        """Find the derived texts whose whole range lies on the selected path.

        Returns:
            Shortest coverage first.
        """
        return derived.artifacts_steps(self._context, kind=kind)

    @verb
    def drop_artifacts(self, *keys: str) -> Steps[None]:
        """Forget derived texts; unknown keys are ignored."""
        return derived.drop_steps(self._context, keys)

    @verb
    def verify(self, *, erased: bool = False) -> Steps[Verification]:
        """Recompute everything stored of the thread and compare; nothing is repaired.

        Args:
            erased: Also clear what erasures left in the store's files, and say whether it is
                all gone.
        """
        return verifying.verify_steps(self._context, erased=erased)

    @verb
    def export(self, *, format: str = foreign.THUSFAR) -> Steps[str]:
        """Write the whole thread as thusfar JSONL, or its transcript in a dialect.

        Erased content is in neither.

        Args:
            format: `thusfar` writes everything, with branches, for `import_`. The name of any
                other dialect writes the live messages of the selected path as a JSON list, or as
                an object with the system text where that dialect has it outside the list.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form in the dialect.
            OptionsError: `INVALID_OPTIONS`, for a dialect that does not exist.
        """
        return self._exporting(format)

    def _exporting(self, format: str) -> Steps[str]:
        if format == foreign.THUSFAR:
            return (yield from porting.export_steps(self._context))
        transcript = yield from reading.transcript_steps(self._context)
        row = yield from maybe_thread(self._context)
        about = parse_json(row.metadata, where="the metadata of a thread") if row else {}
        return foreign.lower(transcript.messages, format, about)

    @verb
    def import_(self, data: Any, *, dialect: str | None = None) -> Steps[ThreadInfo]:
        """Fill this thread, which must be new, from an export or any known transcript.

        Args:
            data: What `export` returned; text, bytes or a parsed value in any dialect; a session
                log of Claude Code, Gemini CLI or pi, whose branches are kept; what
                `agents_sessions` or `langgraph_threads` read.
            dialect: Dialect of the messages; `None` to find out.

        Raises:
            IdentityConflictError: `IDENTITY_CONFLICT`, when the thread exists.
            TranscriptError: `INVALID_TRANSCRIPT`, for input that cannot be read; of an export it
                names the line. Nothing was stored.
        """
        return importing.import_any_steps(self._context, self.store.clock, data, dialect=dialect)
