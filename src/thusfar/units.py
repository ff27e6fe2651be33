"""Units: exchanges and turns, where a transcript may be cut, and the defects that forbid it.

`group` reads facts only, oldest first, once. It works on a whole transcript and on a slice of its
newest messages; on a slice it says from where on its answers are certain, so that a projection
need not look at what it leaves out.

Source:
    docs/spec/units.md
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from thusfar.facts import Facts, Link

Place = tuple[int, int]
"""A call or a result: index of its message in the slice, and its index within the message."""


class Grouping(msgspec.Struct, frozen=True, kw_only=True):
    """Where a slice may be cut. All positions are indexes into the slice.

    Attributes:
        facts: Facts of the messages in the slice.
        exchanges: Starts of the exchanges that are certain, ascending.
        turns: Starts of the turns that are certain, ascending.
        orphans: Results that answer no call, in order.
        unanswered: Calls that are defective: never answered though the conversation went on.
        pending: Calls that still wait at the end of the transcript; not defective.
        complete: Whether nothing older exists, so that the first unit starts at 0.
    """

    facts: Sequence[Facts]
    exchanges: list[int]
    turns: list[int]
    orphans: tuple[Place, ...] = ()
    unanswered: tuple[Place, ...] = ()
    pending: tuple[Place, ...] = ()
    complete: bool = True

    def answers(self) -> dict[Place, Place]:
        """Find the call that each result answers; computed anew at each call."""
        found: dict[Place, Place] = {}
        _pair_by_id_and_name(self.facts, _Pairs(), found, complete=self.complete)
        return found

    def exchange_start(self, position: int) -> int:
        """Find the start of the exchange that holds a position (a certain one)."""
        index = bisect_left(self.exchanges, position + 1) - 1
        return self.exchanges[index]

    def exchange_end(self, position: int) -> int:
        """Find the end (exclusive) of the exchange that holds a position."""
        index = bisect_left(self.exchanges, position + 1)
        return self.exchanges[index] if index < len(self.exchanges) else len(self.facts)

    def opener_end(self, turn: int) -> int:
        """Find where the opener of a turn ends (exclusive).

        The opener is the run of user input at the head of a turn with the system messages
        directly before it. The turn's start is returned where it has no user input there.
        """
        index = bisect_left(self.exchanges, turn)
        position, asked = turn, False
        while position < len(self.facts):
            fact = self.facts[position]
            if not fact.user_input and (asked or fact.role != "system"):
                break
            asked = asked or fact.user_input
            index += 1
            end = self.exchanges[index] if index < len(self.exchanges) else len(self.facts)
            indivisible = end - position > 1  # a tool call made by the user side
            position = end
            if indivisible:
                break
        return position if asked else turn


def group(facts: Sequence[Facts], *, complete: bool = True) -> Grouping:
    """Find the exchanges and turns of a slice that ends where the transcript ends.

    Args:
        facts: Facts of the messages behind the leading system run, oldest first.
        complete: Whether the slice starts where the conversation starts. If not, units that
            could depend on older messages are left out of the answer.

    Returns:
        The certain part of the structure; the newest unit is certain once an older boundary
        is. On a slice that is too short `exchanges` or `turns` may be empty.
    """
    pairs = _pair(facts, complete=complete)
    exchanges = _exchanges(facts, pairs, complete=complete)
    return Grouping(
        facts=facts,
        exchanges=exchanges,
        turns=_turns(facts, exchanges, complete=complete),
        orphans=tuple(pairs.orphans),
        unanswered=tuple(pairs.unanswered),
        pending=tuple(pairs.pending),
        complete=complete,
    )


class _Pairs(msgspec.Struct):
    ends: dict[int, int] = {}  # message of a call: its last result
    orphans: list[Place] = []
    unanswered: list[Place] = []
    pending: list[Place] = []
    unresolved: int = -1  # newest result whose call may be older than the slice


def _pair(facts: Sequence[Facts], *, complete: bool) -> _Pairs:
    """Pair calls and results, and sort the calls without one."""
    pairs = _Pairs()
    waiting = _pair_by_id(facts, pairs, complete=complete)
    if waiting is None:
        pairs = _Pairs()
        waiting = _pair_by_id_and_name(facts, pairs, {}, complete=complete)
    step = _open_step(facts)
    if step == 0 and not complete:  # an older entry of this step may have a pending call
        pairs.unresolved = len(facts) - 1
    for place in waiting:
        (pairs.pending if place[0] >= step else pairs.unanswered).append(place)
    pairs.unanswered.sort()
    pairs.pending.sort()
    for call, _ in pairs.pending:
        pairs.ends[call] = len(facts) - 1
    return pairs


def _pair_by_id(facts: Sequence[Facts], pairs: _Pairs, *, complete: bool) -> Iterable[Place] | None:
    """Pair where every call and result has an id, as most do; `None` where one has not."""
    by_id: dict[str, Place] = {}
    first_calls: dict[str, int] | None = None
    ends = pairs.ends
    for position, fact in enumerate(facts):
        if fact.results:
            for index, link in enumerate(fact.results):
                if link.id is None:
                    return None
                call = by_id.pop(link.id, None)
                if call is not None:
                    ends[call[0]] = position
                    continue
                if first_calls is None:
                    first_calls = {} if complete else _first_calls(facts)
                # A call in the slice closes all older ones of its id.
                if complete or first_calls.get(link.id, position) < position:
                    pairs.orphans.append((position, index))
                else:
                    pairs.unresolved = position
        if fact.calls:
            for index, link in enumerate(fact.calls):
                if link.id is None:
                    return None
                if link.id in by_id:  # the id is used again: the older call is closed
                    pairs.unanswered.append(by_id[link.id])
                by_id[link.id] = (position, index)
    return by_id.values()


def _first_calls(facts: Sequence[Facts]) -> dict[str, int]:
    """Find the first message in the slice that calls with each id."""
    found: dict[str, int] = {}
    for position in range(len(facts) - 1, -1, -1):
        for link in facts[position].calls:
            if link.id is not None:
                found[link.id] = position
    return found


def _pair_by_id_and_name(
    facts: Sequence[Facts], pairs: _Pairs, answers: dict[Place, Place], *, complete: bool
) -> Iterable[Place]:
    """Pair by id with the latest open call, and without ids by name and order."""
    waiting: dict[Place, Link] = {}
    by_id: dict[str, Place] = {}
    by_name: dict[str | None, _Named] = {}
    seen_ids: set[str] = set()
    for position, fact in enumerate(facts):
        for index, link in enumerate(fact.results):
            call: Place | None = None
            if link.id is not None:
                call = by_id.pop(link.id, None)
            elif link.name in by_name:
                call = by_name[link.name].take(waiting)
            if call is not None:
                answered = waiting.pop(call)
                if answered.id is not None and by_id.get(answered.id) == call:
                    del by_id[answered.id]
                answers[position, index] = call
                pairs.ends[call[0]] = position
            elif complete or link.id in seen_ids:
                pairs.orphans.append((position, index))
            else:
                pairs.unresolved = position
        for index, link in enumerate(fact.calls):
            place = (position, index)
            if link.id is not None:
                seen_ids.add(link.id)
                if link.id in by_id:  # the id is used again: the older call is closed
                    del waiting[by_id[link.id]]
                    pairs.unanswered.append(by_id[link.id])
                by_id[link.id] = place
            waiting[place] = link
            by_name.setdefault(link.name, _Named()).add(place, link)
    return waiting


class _Named:
    """Open calls of one tool name: the latest message first, in it those without ids first."""

    __slots__ = ("stack",)

    def __init__(self) -> None:
        self.stack: list[tuple[int, tuple[list[Place], list[Place]]]] = []

    def add(self, place: Place, call: Link) -> None:
        if not self.stack or self.stack[-1][0] != place[0]:
            self.stack.append((place[0], ([], [])))
        self.stack[-1][1][call.id is not None].append(place)

    def take(self, waiting: Mapping[Place, Link]) -> Place | None:
        """Remove and return the call that the next result of this name answers."""
        while self.stack:
            for places in self.stack[-1][1]:
                for index, place in enumerate(places):
                    if place in waiting:
                        del places[: index + 1]
                        return place
                places.clear()
            self.stack.pop()
        return None


def _open_step(facts: Sequence[Facts]) -> int:
    """Find the first message of the model step that only results follow at the end."""
    position = len(facts)
    while position and facts[position - 1].role == "tool":
        position -= 1
    if position and facts[position - 1].role == "user" and facts[position - 1].calls:
        return position - 1  # a user-side tool call that waits
    while position and facts[position - 1].role == "assistant":
        position -= 1
    return position


def _exchanges(facts: Sequence[Facts], pairs: _Pairs, *, complete: bool) -> list[int]:
    """Merge overlapping runs from each call to its last result; list the starts."""
    ends = pairs.ends
    last = len(facts) - 1
    for position, fact in enumerate(facts):
        if fact.leads and position < last and facts[position + 1].role == "assistant":
            ends[position] = max(ends.get(position, 0), position + 1)
    starts: list[int] = []
    # On a slice, whether a border stands before its first message is not known.
    reach = -1 if complete else max(pairs.unresolved, 0)
    for position in sorted(ends):
        if position > reach:
            starts += range(reach + 1, position + 1)
            reach = ends[position]
        elif ends[position] > reach:
            reach = ends[position]
    starts += range(reach + 1, last + 1)
    return starts


def _turns(facts: Sequence[Facts], exchanges: list[int], *, complete: bool) -> list[int]:
    """List the turn starts: user input after an answer, or a system run before user input."""
    if not exchanges:
        return []
    turns = [0] if complete else []
    answered = False  # an assistant entry was seen since the turn began
    unopened = complete  # no user input was seen yet, so the first one opens a turn
    system_run = -1  # start of the system messages directly before this message
    starts = iter(exchanges)
    next_start = next(starts, -1)
    for position in range(exchanges[0], len(facts)):
        fact = facts[position]
        is_start = position == next_start
        if is_start:
            next_start = next(starts, -1)
        if fact.role == "system":
            if is_start and system_run < 0:
                system_run = position
            continue
        if fact.user_input and is_start:
            opens = system_run >= 0 or answered or unopened
            start = system_run if system_run >= 0 else position
            # On a slice, a system run at its very start may begin before the slice.
            known = complete or start > 1 or (start == 1 and facts[0].role != "system")
            if opens:
                answered = False
                if known and (not turns or turns[-1] != start):
                    turns.append(start)
            unopened = False
        elif fact.role == "assistant":
            answered = True
        system_run = -1
    return turns
