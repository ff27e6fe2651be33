"""Repair: what a view leaves out, rewrites or adds where calls and results do not pair.

The transcript itself is never changed; every change of the view is a `Repair` on the receipt.

Source:
    docs/spec/units.md#repair
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from thusfar._options import RepairMode
from thusfar.dialects.base import Dialect, answer_note, lower_beside
from thusfar.errors import UnsupportedPartError
from thusfar.messages import Message, Part, Text, ToolCall, ToolResult
from thusfar.receipt import Repair, RepairKind
from thusfar.units import Grouping, Place

UNKNOWN_OUTCOME: Final = (
    "[No result was recorded for this call. Its outcome is unknown; it may have taken effect.]"
)


class Repairs(msgspec.Struct):
    """How the view differs from the transcript at some positions.

    Attributes:
        replaced: What stands in the view for the message at a position: nothing, a rewritten
            copy, or the caller's own message with synthetic results behind it.
        notes: One note for each change, by position.
        made: Identities of the messages that are not the caller's.
    """

    replaced: dict[int, tuple[Any, ...]] = {}
    notes: dict[int, list[Repair]] = {}
    made: dict[int, int] = {}

    def note(self, kind: RepairKind, position: int, reason: str, call_ids: tuple[str, ...]) -> None:
        """Remember one change."""
        self.notes.setdefault(position, []).append(
            Repair(kind=kind, position=position, reason=reason, call_ids=call_ids)
        )


def defects(grouping: Grouping, first: int) -> list[int]:
    """List the positions of defective messages: orphan results and unanswered calls."""
    places = [*grouping.orphans, *grouping.unanswered]
    return sorted({position + first for position, _ in places})


def plan_repairs(
    grouping: Grouping,
    messages: Sequence[Any],
    dialect: Dialect,
    mode: RepairMode,
    *,
    first: int,
) -> Repairs:
    """Decide what `drop` or `close` changes in a view; `strict` changes nothing.

    Args:
        grouping: The units, with positions relative to `first`.
        messages: The caller's messages, by absolute position.
        dialect: Their wire format; synthetic results and copies are written in it.
        mode: The policy's repair mode.
        first: Position of the grouping's first message.
    """
    repairs = Repairs()
    if mode == "strict" or not (grouping.orphans or grouping.unanswered):
        return repairs
    unanswered = _by_message(grouping.unanswered)
    gone: dict[int, str] = dict.fromkeys(unanswered, "unanswered-call") if mode == "drop" else {}
    answers = grouping.answers()
    behind = _behind(grouping, unanswered, answers) if mode == "close" else {}
    results = _unknown_results(behind, messages, dialect, first)
    taken_out = _not_closable(grouping, behind, results)
    removed: dict[int, dict[int, str]] = {position: {} for position in taken_out}
    for position, index in grouping.orphans:
        removed.setdefault(position, {})[index] = "orphan-result"
    for (position, index), (call, _) in answers.items():
        if call in gone:
            removed.setdefault(position, {})[index] = "paired-with-dropped"
    for position, reason in gone.items():
        ids = _ids(grouping, position, unanswered[position])
        repairs.replaced[position + first] = ()
        repairs.note("dropped", position + first, reason, ids)
    for position, orphans in removed.items():
        if position not in gone:
            calls = taken_out.get(position, set())
            _leave_out(repairs, grouping, messages, dialect, position, orphans, calls, first)
    for position, indexes in unanswered.items():
        calls = taken_out.get(position, set())
        closed = {i: behind[position, i] for i in indexes if i not in calls} if behind else {}
        if closed:
            _close(repairs, grouping, messages, dialect, position, closed, results, first)
    _leave_out_leading(repairs, grouping, first)
    return repairs


def _by_message(places: Sequence[Place]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for position, index in places:
        found.setdefault(position, []).append(index)
    return found


def _ids(grouping: Grouping, position: int, calls: Sequence[int]) -> tuple[str, ...]:
    links = grouping.facts[position].calls
    return tuple(link.id for i in calls if (link := links[i]).id is not None)


def _unknown_results(
    behind: dict[Place, int], messages: Sequence[Any], dialect: Dialect, first: int
) -> dict[Place, ToolResult]:
    """Make a marked result for each of these calls that has one on its wire."""
    found: dict[Place, ToolResult] = {}
    calls: dict[int, list[ToolCall]] = {}
    for position, index in behind:
        if position not in calls:
            parts = dialect.lift(messages[position + first]).parts
            calls[position] = [part for part in parts if isinstance(part, ToolCall)]
        call = calls[position][index]
        note = answer_note(dialect, call)
        result = ToolResult(call.id, call.name, (Text(UNKNOWN_OUTCOME),), True, note)
        try:
            dialect.lower(Message("tool", (result,)))
        except UnsupportedPartError:
            continue
        found[position, index] = result
    return found


def _not_closable(
    grouping: Grouping, behind: dict[Place, int], results: dict[Place, ToolResult]
) -> dict[int, set[int]]:
    """Find the unanswered calls that no result can be given to: their message goes without them.

    Their own message uses the id again; or the result would end the answer of which another
    call still waits; or no text can answer the call on its wire.
    """
    waits = min((position for position, _ in grouping.pending), default=len(grouping.facts))
    found: dict[int, set[int]] = {}
    newest: dict[tuple[int, str], int] = {}
    for position in {position for position, _ in behind}:
        for index, link in enumerate(grouping.facts[position].calls):
            if link.id is not None:
                newest[position, link.id] = index
    for (position, index), place in behind.items():
        call_id = grouping.facts[position].calls[index].id
        again = call_id is not None and newest[position, call_id] != index
        if place >= waits or again or (position, index) not in results:
            found.setdefault(position, set()).add(index)
    return found


def _leave_out(
    repairs: Repairs,
    grouping: Grouping,
    messages: Sequence[Any],
    dialect: Dialect,
    position: int,
    results: dict[int, str],
    calls: set[int],
    first: int,
) -> None:
    """Leave out a message that holds nothing but these; else a copy without them."""
    facts = grouping.facts[position]
    ids = tuple(link.id for i in sorted(results) if (link := facts.results[i]).id is not None)
    ids += _ids(grouping, position, sorted(calls))
    reason = results[min(results)] if results else "unanswered-call"
    lifted = dialect.lift(messages[position + first])
    kept = tuple(
        part
        for part, index in _numbered(lifted.parts)
        if index not in (calls if isinstance(part, ToolCall) else results)
    )
    if not kept:
        repairs.replaced[position + first] = ()
        repairs.note("dropped", position + first, reason, ids)
        return
    copy = dialect.lower(msgspec.structs.replace(lifted, parts=kept))
    repairs.replaced[position + first] = copy
    repairs.made[position + first] = len(copy)
    repairs.note("rewritten", position + first, reason, ids)


def _numbered(parts: Sequence[Part]) -> Iterator[tuple[Part, int]]:
    """Number calls and results each in their order; other parts are no number's."""
    numbers = {ToolCall: count(), ToolResult: count()}
    for part in parts:
        yield part, next(numbers[type(part)]) if type(part) in numbers else -1


def _close(
    repairs: Repairs,
    grouping: Grouping,
    messages: Sequence[Any],
    dialect: Dialect,
    position: int,
    closed: dict[int, int],
    results: dict[Place, ToolResult],
    first: int,
) -> None:
    """Add a marked result for each of these calls of one message, behind the places given."""
    at: dict[int, list[ToolResult]] = {}
    for index, place in closed.items():
        at.setdefault(place + first, []).append(results[position, index])
    for anchor, given in at.items():
        made = lower_beside(dialect, Message("tool", tuple(given)), messages[anchor])
        repairs.replaced[anchor] = (*repairs.replaced.get(anchor, (messages[anchor],)), *made)
        repairs.made[anchor] = repairs.made.get(anchor, 0) + len(made)
    ids = _ids(grouping, position, sorted(closed))
    repairs.note("closed", position + first, "unanswered-call", ids)


def _leave_out_leading(repairs: Repairs, grouping: Grouping, first: int) -> None:
    """Leave out reasoning of which every entry that it stands before was left out."""
    facts = grouping.facts
    gone = [position - first for position, span in repairs.replaced.items() if span == ()]
    survivor = oldest = len(
        facts
    )  # the oldest that is left behind a run of positions, and its head
    for position in sorted(gone, reverse=True):
        if position + 1 != oldest:
            survivor = position + 1
        oldest = position
        stranded = survivor == len(facts) or facts[survivor].role != "assistant"
        if facts[position].role != "assistant" or not stranded:
            continue
        while oldest and facts[oldest - 1].leads:
            oldest -= 1
            repairs.replaced[oldest + first] = ()
            repairs.note("dropped", oldest + first, "paired-with-dropped", ())


def _behind(
    grouping: Grouping, unanswered: dict[int, list[int]], answers: dict[Place, Place]
) -> dict[Place, int]:
    """Find the message behind which the result of each unanswered call belongs.

    The caller's last result, but before its id (or where it has none, its name) is called again:
    from there on a result would answer the newer call.
    """
    results: dict[int, list[int]] = {}
    for (result, _), (call, _) in answers.items():
        results.setdefault(call, []).append(result)
    calls: dict[tuple[str | None, str | None], list[int]] = {}
    for position, fact in enumerate(grouping.facts):
        for link in fact.calls:
            for key in ((link.id, None), (None, link.name)):
                calls.setdefault(key, []).append(position)
    found: dict[Place, int] = {}
    for position, indexes in unanswered.items():
        given = sorted(results.get(position, ()))
        for index in indexes:
            link = grouping.facts[position].calls[index]
            uses = calls[(link.id, None) if link.id is not None else (None, link.name)]
            later = bisect_right(uses, position)
            limit = uses[later] if later < len(uses) else len(grouping.facts)
            place = bisect_left(given, limit)
            found[position, index] = given[place - 1] if place else position
    return found
