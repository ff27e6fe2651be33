"""Tracking: what an append must know about what stands before it, carried from message to message.

A `Place` says where a path stands after one message: its depth, turn, exchange, open calls and
digests. `advance` carries it over a group and refuses groups that are not causally whole. Pure.

Source:
    docs/spec/threads.md#groups
"""

from __future__ import annotations

# ruff: noqa: A002 - `id` and `open` are the words of the contract
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

from thusfar.codec import json_text, parse_json
from thusfar.digests import ROOT_CHAIN, digested
from thusfar.errors import CorruptRecordError, InvalidGroupError, TranscriptError
from thusfar.facts import ASSISTANT, SYSTEM, USER, Facts, Link, facts_of
from thusfar.messages import Message, Text
from thusfar.storage.rows import (
    ANSWERED,
    ASKED,
    BOUNDARY,
    CARRIED,
    LEADS,
    OPEN,
    HeadRow,
    NodeRow,
)
from thusfar.units import group

Pending = tuple[str | None, str | None, int]  # call id, tool name, depth of its exchange

ROOT_DIGEST: Final = bytes(32)
_TAG: Final = len("tf1:")
PLAIN: Final = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}
_pendings = msgspec.json.Decoder(tuple[Pending, ...])


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a path stands after one of its messages; fields as on `HeadRow`."""

    node: int = 0
    depth: int = -1
    turn: int = -1
    exchange: int = -1
    run: int = -1
    flags: int = BOUNDARY
    pending: str = ""
    chain: bytes = ROOT_DIGEST
    messages: int = 0


ROOT: Final = Place()


class Mark(msgspec.Struct, frozen=True, gc=False):
    """What the path looks like at one message of a group; fields as on `NodeRow`."""

    depth: int
    turn: int
    exchange: int
    run: int
    flags: int
    pending: str


def place_of_head(head: HeadRow) -> Place:
    """Tell where an owner stands."""
    return Place(
        head.node,
        head.depth,
        head.turn,
        head.exchange,
        head.run,
        head.flags,
        head.pending,
        head.chain,
        head.messages,
    )


def place_of_node(node: NodeRow) -> Place:
    """Tell where a path stands after a stored message."""
    return Place(
        node.node,
        node.depth,
        node.turn,
        node.exchange,
        node.run,
        node.flags,
        node.pending,
        node.chain,
        node.messages,
    )


def chain_text(chain: bytes) -> str:
    """Write a stored chain as the text that `digests.chain_digest` takes."""
    return ROOT_CHAIN if chain == ROOT_DIGEST else f"tf1:{chain.hex()}"


def digest_bytes(digest: str) -> bytes:
    """Read a tagged digest as the 32 bytes that are stored."""
    return ROOT_DIGEST if digest == ROOT_CHAIN else bytes.fromhex(digest[_TAG:])


def digest_of(message: Message) -> bytes:
    """Digest a message as it is stored: `digests.message_digest` without its tag."""
    return sha256(digested(message)).digest()


def extended(chain: bytes, digest: bytes, salt: str) -> bytes:
    """Extend a stored chain by one message, as `digests.chain_digest` does it in text."""
    if chain == ROOT_DIGEST:
        return sha256(f"{salt}\n{ROOT_CHAIN}\ntf1:{digest.hex()}".encode()).digest()
    return sha256(f"{salt}\ntf1:{chain.hex()}\ntf1:{digest.hex()}".encode()).digest()


def pending_calls(text: str) -> tuple[Pending, ...]:
    """Read the open calls of a place.

    Raises:
        CorruptRecordError: `CORRUPT_RECORD`.
    """
    if not text:
        return ()
    try:
        try:
            return _pendings.decode(text)
        except msgspec.DecodeError:  # only our own parser reads half of a surrogate pair
            return msgspec.convert(parse_json(text), tuple[Pending, ...])
    except (msgspec.MsgspecError, TranscriptError) as error:
        raise CorruptRecordError(
            "The open calls of a message could not be read.",
            fix="Run verify on the thread and restore it from a backup or an export.",
        ) from error


def is_place(depth: int, turn: int, exchange: int, run: int, pending: str) -> bool:
    """Tell whether what a message says of its place can be: all of it lies on its path."""
    try:
        since = [each[2] for each in pending_calls(pending)]
    except CorruptRecordError:
        return False
    before = -1 <= turn <= depth and -1 <= run <= depth and 0 <= exchange <= depth
    return before and all(0 <= each <= depth for each in since)


def is_placed(before: Place, row: NodeRow, message: Message) -> bool:
    """Tell whether what a stored message says of its place follows from the one before it.

    An erasure closes calls that waited, so that a message inside an exchange is known by the
    exchange that it names.
    """
    facts = facts_of_stored(message)
    open_calls = pending_calls(before.pending)
    waiting = [since for _, _, since in open_calls]
    if open_calls or row.exchange == row.depth:  # else an erasure may have closed those before
        known = {*open_calls, *((call.id, call.name, row.exchange) for call in facts.calls)}
        if not known.issuperset(pending_calls(row.pending)):
            return False
    reasoned = before.flags & LEADS and facts.role == "assistant"
    if waiting and row.exchange != min(waiting):
        return False
    if reasoned and not waiting and row.exchange not in (before.exchange, row.depth):
        return False
    flags = before.flags & (ANSWERED | ASKED)
    if facts.results or waiting or (row.exchange < row.depth and not reasoned):
        turn, run = (row.depth if before.turn < 0 else before.turn), -1
        flags |= ANSWERED if facts.role == "assistant" else 0
    else:
        turn, run, flags = turn_after(before.turn, before.run, flags, row.depth, facts)
    flags |= LEADS if facts.leads else 0
    last = row.at == row.size - 1
    closes = bool(row.flags & BOUNDARY) if last else not row.flags & OPEN
    kept = row.flags & (ANSWERED | ASKED | LEADS)
    return (row.turn, row.run, kept) == (turn, run, flags) and closes


def facts_of_stored(message: Message) -> Facts:
    """Derive facts, with a short way for the plain text that most messages are."""
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text and message.role in PLAIN:
        return PLAIN[message.role]
    return facts_of(message)


def advance(
    place: Place, messages: Sequence[Message], *, open: bool = False, exact: bool = True
) -> list[Mark]:
    """Carry a place over a group.

    Args:
        place: Where the group begins.
        messages: The group.
        open: Whether calls of the group may stay open, to be answered by a later append.
        exact: Whether defects are refused. An import keeps them as they are, and a call that is
            never answered though the conversation went on waits for nothing.

    Returns:
        One mark for each message.

    Raises:
        InvalidGroupError: `INVALID_GROUP`, for a result without an open call before it, and for
            a call without a result unless `open`.
    """
    if len(messages) == 1 and not place.pending and not place.flags & LEADS:
        facts = facts_of_stored(messages[0])
        if not facts.calls and not facts.results and not facts.leads:
            return [_plain_mark(place, facts)]
    walk = _Walk(place, exact=exact, may_stay_open=open)
    if not exact:
        walk.ignored = frozenset(group([facts_of_stored(m) for m in messages]).unanswered)
    marks = [walk.step(i, message) for i, message in enumerate(messages)]
    left_open = any(made > place.depth for _, _, made, _ in walk.pending)
    if left_open and exact and not open:
        raise InvalidGroupError(
            "A group ended with calls that have no result.",
            fix="Append the results in the same group, or pass open=True and append them later.",
            open_calls=len(walk.pending),
        )
    bits = BOUNDARY | (OPEN if left_open else 0)
    marks[-1] = msgspec.structs.replace(marks[-1], flags=marks[-1].flags | bits)
    question = walk.question_end
    if question is not None and question < len(marks) - 1 and not marks[question].pending:
        mark = marks[question]
        marks[question] = msgspec.structs.replace(mark, flags=mark.flags | BOUNDARY)
    return marks


def ending(mark: Mark) -> Mark:
    """Let a group end at a mark, with its calls open if some are."""
    bits = BOUNDARY | (OPEN if mark.pending else 0)
    return msgspec.structs.replace(mark, flags=mark.flags | bits)


def _plain_mark(place: Place, facts: Facts) -> Mark:
    depth = place.depth + 1
    turn, run, flags = turn_after(place.turn, place.run, place.flags, depth, facts)
    return Mark(depth, turn, depth, run, flags | BOUNDARY, "")


def turn_after(turn: int, run: int, flags: int, depth: int, facts: Facts) -> tuple[int, int, int]:
    """Apply the turn rule to one message outside every exchange; see docs/spec/units.md."""
    flags &= ANSWERED | ASKED
    if facts.role == "system":
        return turn, (run if run >= 0 else depth), flags
    if not facts.user_input:
        answered = ANSWERED if facts.role == "assistant" else 0
        return (depth if turn < 0 else turn), -1, flags | answered
    begins = not flags & ASKED or bool(flags & ANSWERED) or run > 0
    if not begins:
        return turn, -1, flags
    return (run if run > 0 else depth), -1, ASKED


class _Walk:
    """The state of `advance` between two messages of a group."""

    def __init__(self, place: Place, *, exact: bool, may_stay_open: bool) -> None:
        self.depth, self.turn, self.exchange = place.depth, place.turn, place.exchange
        self.run, self.flags = place.run, place.flags & CARRIED
        self.exact, self.may_stay_open = exact, may_stay_open
        self.begins = place.depth + 1
        self.ignored: frozenset[tuple[int, int]] = frozenset()  # calls that nobody answered
        self.pending: list[tuple[str | None, str | None, int, int]] = [
            (call_id, name, -1, since) for call_id, name, since in pending_calls(place.pending)
        ]
        self.question_end: int | None = None
        self._asking = True

    def step(self, index: int, message: Message) -> Mark:
        """Take one message."""
        facts = facts_of_stored(message)
        self.depth += 1
        inside = bool(self.pending)
        follows_reasoning = self.flags & LEADS and facts.role == "assistant"
        if inside:
            exchange = min(since for *_, since in self.pending)
        elif follows_reasoning:
            exchange = self.exchange
        else:
            exchange = self.depth
        for link in facts.results:
            self._close(link, index)
        for i, call in enumerate(facts.calls):
            if (index, i) not in self.ignored:
                self._open(call, exchange)
        self._advance_turn(facts, inside=inside)
        self.flags = self.flags & ~LEADS | (LEADS if facts.leads else 0)
        self.exchange = exchange
        self._asking = self._asking and facts.role in ("system", "user") and not facts.results
        if self._asking and facts.user_input:
            self.question_end = index
        return Mark(self.depth, self.turn, exchange, self.run, self.flags, self._pending_text())

    def _advance_turn(self, facts: Facts, *, inside: bool) -> None:
        if inside or facts.results:
            self.run = -1
            self.turn = self.depth if self.turn < 0 else self.turn
            self.flags |= ANSWERED if facts.role == "assistant" else 0
            return
        leads = self.flags & LEADS
        self.turn, self.run, self.flags = turn_after(
            self.turn, self.run, self.flags, self.depth, facts
        )
        self.flags |= leads

    def _open(self, call: Link, exchange: int) -> None:
        """Add a call; re-using the id of an open call closes the older one as unanswered."""
        for i, (call_id, _, made, _) in enumerate(self.pending):
            if call.id is not None and call_id == call.id:
                if self.exact and not self.may_stay_open and made >= self.begins:
                    raise InvalidGroupError(
                        "A group used a call id again before its first call had a result.",
                        fix="Give each call of a group its result before its id is used again.",
                    )
                del self.pending[i]
                break
        self.pending.append((call.id, call.name, self.depth, exchange))

    def _close(self, link: Link, index: int) -> None:
        """Pair a result with the latest open call of its id, or without ids by name and order."""
        if link.id is not None:
            found = next(
                (i for i in reversed(range(len(self.pending))) if self.pending[i][0] == link.id),
                None,
            )
        else:
            found = self._by_name(link.name)
        if found is not None:
            del self.pending[found]
        elif self.exact:
            raise InvalidGroupError(
                f"Message {index} of the group held a result without an open call before it.",
                fix="Append the result in the group of its call, or after the open group that "
                "made the call.",
                position=index,
            )

    def _by_name(self, name: str | None) -> int | None:
        fits = [
            i
            for i, (call_id, called, _, _) in enumerate(self.pending)
            if call_id is None and name in (None, called)
        ]
        if not fits:
            return None
        newest = max(self.pending[i][2] for i in fits)
        return next(i for i in fits if self.pending[i][2] == newest)

    def _pending_text(self) -> str:
        if not self.pending:
            return ""
        calls = [(call_id, name, since) for call_id, name, _, since in self.pending]
        try:
            return msgspec.json.encode(calls).decode()
        except UnicodeEncodeError:  # half of a surrogate pair is written as an escape
            return json_text(calls)
