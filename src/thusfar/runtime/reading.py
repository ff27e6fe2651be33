"""Reading: a thread as the transcript of a request, read from its newest message backwards.

The first read takes the newest groups and the messages at the start; more is read only where a
plan looks at it. What was read belongs to one revision, checked before the request is sent.

Source:
    docs/spec/planner.md#threads
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from thusfar.artifacts import Artifact, End
from thusfar.dialects import Dialect, dialect
from thusfar.drive import Steps
from thusfar.errors import SummaryFailedError
from thusfar.facts import Content, facts_of
from thusfar.messages import Message, Text
from thusfar.planner.facts import Source
from thusfar.planner.pages import Pages
from thusfar.planner.questions import Found, ReadMessages, ReadPositions, SearchMessages
from thusfar.runtime.collecting import turn_of
from thusfar.runtime.keeping import Place, newest_of, usable
from thusfar.storage import questions as q
from thusfar.storage.rows import LIVE, ArtifactRow, ChainRow, NodeRow, PageRow, TallyRow
from thusfar.thread.handle import Thread
from thusfar.thread.paths import (
    Context,
    chain_at,
    damaged,
    decode,
    find,
    node_at,
    node_on_path,
    on_path,
    owner_head,
    parent_of,
)
from thusfar.thread.reading import changed, newest_rows, require_revision, revision_of
from thusfar.thread.searching import read_positions, search_path
from thusfar.thread.tracking import Pending, chain_text, pending_calls
from thusfar.tokens import Measure
from thusfar.words import Search

FIRST_READ: Final = 64  # messages of the first look
LEAST_READ: Final = 8  # messages of any later look


class _Read(msgspec.Struct, frozen=True):
    """Where a live message of the tail is stored."""

    node: int
    depth: int


def runs(nodes: Sequence[int]) -> list[tuple[int, int]]:
    """Join numbers that follow each other.

    Example:
        >>> runs([3, 4, 5, 9])
        [(3, 5), (9, 9)]
    """
    found: list[tuple[int, int]] = []
    for node in nodes:
        if found and node == found[-1][1] + 1:
            found[-1] = (found[-1][0], node)
        else:
            found.append((node, node))
    return found


def tally_name(measure: Measure) -> str:
    """Name what counts, framing included; empty for a function of the caller, which has no name."""
    if measure.tokenizer.startswith("custom:"):
        return ""
    return f"{measure.tokenizer}+{measure.contents([Content(texts=('',))])[0]}"


class ThreadReader:
    """Reads one thread for one plan.

    Args:
        thread: The thread.
        wire: Wire format that is sent. `None`: `openai-chat`.
        at: Id of the message whose path is read; an empty text is the root. `None`: the
            selected path.
    """

    def __init__(
        self, thread: Thread, wire: str | Dialect | None, *, at: str | None = None
    ) -> None:
        self.thread = thread
        named = wire or "openai-chat"
        self.target: Dialect = dialect(named) if isinstance(named, str) else named
        self.wire: Dialect = dialect("thusfar")
        self.pages = Pages(0)
        self.revision = "0"
        self.head: str | None = None
        self.open_calls = 0
        self._pending: tuple[Pending, ...] = ()
        self._ctx = Context(thread.store.namespace, thread.id, thread.owner)
        self._at = at
        self._chain = b""
        self._tip = (0, -1)
        self._oldest: PageRow | None = None
        self._places: list[_Read] = []
        self._tallied = False

    def begin_steps(self, measure: Measure) -> Steps[Source]:
        """Read the newest messages and the ones at the start, and what is known of the size.

        Args:
            measure: Counts the messages that were stored since somebody counted last.
        """
        yield q.Snapshot()
        head = yield from owner_head(self._ctx)
        self.revision = revision_of(head)
        messages = 0
        if self._at is not None:
            messages = yield from self._pin(self._at)
        elif head is not None and head.node:
            self.head = head.head_id or None
            self._pending = pending_calls(head.pending)
            self.open_calls = len(self._pending)
            self._tip, messages = (head.node, head.depth), head.messages
        if self._tip[0]:
            tail, chains = yield from self._older(FIRST_READ)
            self.pages = Pages(messages, tail=tail, chains=chains)
            if self.pages.first:
                start = yield from self._start()
                self.pages = Pages(messages, head=start, tail=tail, chains=chains)
                self.pages.total = yield from self._total(measure)
        waiting = yield from self._open_from()
        return Source(kind="thread", messages=self.pages, revision=self.revision, open_from=waiting)

    def _open_from(self) -> Steps[int | None]:
        """Find the position of the oldest exchange whose calls wait for results."""
        if not self._pending:
            return None
        depth = min(depth for _, _, depth in self._pending)
        chain = yield from chain_at((yield from node_on_path(depth, *self._tip)))
        return max(0, chain.messages - 1)

    def _pin(self, message_id: str) -> Steps[int]:
        """Take the path to a message instead of the selected one; tells how many live ones it has.

        Raises:
            MessageNotFoundError: `MESSAGE_NOT_FOUND`.
        """
        if not message_id:
            return 0
        node = yield from find(self._ctx, message_id)
        chain = yield from chain_at(node.node)
        self.head, self._tip, self._chain = message_id, (node.node, node.depth), chain.chain
        self._pending = pending_calls(node.pending)
        return chain.messages

    def _start(self) -> Steps[list[Message]]:
        """Read from the start to the first message that is not the system's."""
        found: list[Message] = []
        for depth in range(self._tip[1] + 1):
            row = yield from node_at((yield from node_on_path(depth, *self._tip)))
            if row.state == LIVE:
                found.append(decode(row))
                if found[-1].role != "system":
                    break
        return found

    def _total(self, measure: Measure) -> Steps[int | None]:
        """Add what was stored since to the newest count on the path; `None` where there is none."""
        known: dict[int, int] = {}
        if not (name := tally_name(measure)):
            return None
        for low, high in runs([place.node for place in self._places]):
            rows: list[TallyRow] = yield q.ReadTallies(name, low, high)
            known.update((row.node, row.tokens) for row in rows)
        for index in range(len(self._places) - 1, -1, -1):
            node = self._places[index].node
            if node in known:
                since = self.pages[self.pages.first + index + 1 :]
                self._tallied = not since
                return known[node] + sum(measure.count(self.wire, since))
        return None

    def tally_steps(self, measure: Measure) -> Steps[None]:
        """Keep the size of the whole path, where it is known now."""
        if rows := self.tallied(measure):
            yield q.Lock(*self.lock)
            yield q.Write((q.PutTallies(rows),))

    def tallied(self, measure: Measure) -> tuple[TallyRow, ...]:
        """Say the size of the whole path, where it is known now and was not kept yet."""
        total = self.pages.total
        if total is None and not self.pages.first:
            total = sum(measure.count(self.wire, self.pages[:]))
        name = tally_name(measure)
        if total is None or self._tallied or not self._places or not name:
            return ()
        self._tallied = True
        return (TallyRow(name, self._places[-1].node, total),)

    @property
    def system(self) -> int:
        """Length of the leading system run."""
        place = 0
        while place < len(self.pages) and self.pages[place].role == "system":
            place += 1
        return place

    def _older(self, count: int) -> Steps[tuple[list[Message], list[str]]]:
        """Read at least so many live messages before the oldest one read, while there are any."""
        node, depth = self._tip
        if self._oldest is not None:
            node, depth = (yield from parent_of(self._oldest)), self._oldest.depth - 1
        messages: list[Message] = []
        chains: list[str] = []
        places: list[_Read] = []
        while node and len(messages) < count:
            rows, more = yield from newest_rows(node, depth, max(count - len(messages), LEAST_READ))
            live = [row for row in rows if row.state == LIVE]
            by_node = yield from self._chains(rows)
            messages[:0] = [decode(row) for row in live]
            chains[:0] = [chain_text(by_node[row.node].chain) for row in live]
            places[:0] = [_Read(row.node, row.depth) for row in live]
            self._oldest = rows[0]
            if not more:
                break
            node, depth = (yield from parent_of(rows[0])), rows[0].depth - 1
        self._places[:0] = places
        return messages, chains

    def _chains(self, rows: Sequence[PageRow]) -> Steps[dict[int, ChainRow]]:
        """Read the digests of rows, run by run."""
        found: dict[int, ChainRow] = {}
        for low, high in runs([row.node for row in rows]):
            read: list[ChainRow] = yield q.ReadChains(low, high)
            found.update((row.node, row) for row in read)
        return found

    def steps_for(self, question: Any) -> Steps[Any] | None:
        """The steps that answer a question about the thread; `None` for other questions."""
        match question:
            case ReadMessages(low=low):
                return self._extend(low)
            case SearchMessages(words=words, limit=limit):
                return self._search(words, limit)
            case ReadPositions(first=first, last=last):
                return read_positions(self._tip, first, last)
        return None

    def _search(self, words: str, limit: int) -> Steps[list[tuple[int, Message]]]:
        found = yield from search_path(self._ctx, Search(words), self._tip, limit=limit)
        return [(each.position, each.message) for each in reversed(found)]

    def _extend(self, low: int) -> Steps[None]:
        pages = self.pages
        wanted = max(pages.first - low, 1)
        messages, chains = yield from self._older(wanted)
        if not messages and pages.first:
            raise damaged("A path held fewer messages than its head says.", missing=pages.first)
        pages.extend(messages, chains)

    def find_steps(self, identity: str, ends: Sequence[End], *, now: int) -> Steps[Found]:
        """Find usable summaries of this path, the one that covers most first."""
        rows: list[ArtifactRow] = yield q.ReadArtifacts(self.thread.id, identity)
        cut = ends[0][0] if ends else 0
        found: list[Artifact] = []
        damaged: list[str] = []
        for row in rows:
            kept = usable(row, now)
            ends_at: list[NodeRow] = yield q.ReadNodes(row.node, row.node)
            if kept is None or not ends_at:
                damaged.append(row.key)
                continue
            artifact = kept.artifact
            if artifact is None or artifact.messages > cut:
                continue
            if not (yield from on_path(ends_at[0], *self._tip)):
                continue
            chain = yield from chain_at(row.node)
            if chain_text(chain.chain) == artifact.chain:
                found.append(artifact)
        return newest_of(found, damaged)

    def place_steps(self, artifact: Artifact) -> Steps[Place]:
        """Find where a summary belongs, and that what it covers is still there.

        Raises:
            SummaryFailedError: `SUMMARY_FAILED`, when the messages changed while it was made.
        """
        system = self.system
        last = self._places[system + artifact.messages - 1 - self.pages.first]
        rows: list[ChainRow] = yield q.ReadChains(last.node, last.node)
        if not rows or chain_text(rows[0].chain) != artifact.chain:
            raise SummaryFailedError(
                "The messages of a summary changed while it was made.",
                fix="Plan again.",
                reason="transcript-changed",
                messages=artifact.messages,
            )
        first = self._places[system - self.pages.first].depth if system >= self.pages.first else 0
        return Place(thread_id=self.thread.id, first=first, node=last.node)

    def check_steps(self) -> Steps[None]:
        """Check that the path is what it was when it was read.

        A path to a given message stays what it is, unless something of it is erased.

        Raises:
            IdentityConflictError: `IDENTITY_CONFLICT`, when it changed.
        """
        if self._at is not None:
            if self._tip[0]:
                chain = yield from chain_at(self._tip[0])
                if chain.chain != self._chain:
                    raise changed(self._ctx)
            return
        head = yield from owner_head(self._ctx)
        require_revision(self._ctx, head, self.revision)

    def commit_steps(self, turn: Sequence[Any], answered: Sequence[Any]) -> Steps[Any]:
        """Store an answered turn behind the head it was planned from.

        Args:
            turn: What was said.
            answered: What was answered, as the wire has it. While it calls tools, the group stays
                open for their results.
        """
        commit: Any = Thread.commit_turn.__wrapped__  # type: ignore[attr-defined]
        said = [*turn, *answered]
        waits = calls_waiting(self.lifted_turn(answered))
        return (yield from commit(self.thread, said, after=self.head, open=waits))

    @property
    def lock(self) -> tuple[str, str]:
        """What is locked while something of the thread is written."""
        return self.thread.id, self.thread.owner

    def lowered(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages in the format that is sent."""
        return [made for message in messages for made in self.target.lower(message)]

    def lifted_turn(self, turn: Any) -> tuple[Message, ...]:
        """Read the current turn; text is a user message."""
        if turn is None:
            return ()
        if isinstance(turn, str):
            return (Message("user", (Text(turn),)),)
        given = turn if isinstance(turn, list | tuple) else [turn]
        with turn_of(self.target):
            return tuple(
                message if isinstance(message, Message) else self.target.lift(message)
                for message in given
            )


def calls_waiting(messages: Sequence[Message]) -> bool:
    """Tell whether messages make more calls than they have results for."""
    made = [facts_of(message) for message in messages]
    return sum(len(facts.calls) for facts in made) > sum(len(facts.results) for facts in made)
