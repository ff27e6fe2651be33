"""Repair: what a view leaves out, rewrites or adds where calls and results do not pair.

The transcript itself is never changed; every change of the view is a `Repair` on the receipt.

Source:
    docs/spec/units.md#repair
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from thusfar._options import RepairMode
from thusfar.dialects.base import Dialect
from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.receipt import Repair, RepairKind
from thusfar.units import Grouping, Place

UNKNOWN_OUTCOME: Final = (
    "[No result was recorded for this call. Its outcome is unknown; it may have taken effect.]"
)


@dataclass(slots=True)
class Repairs:
    """How the view differs from the transcript at some positions.

    Attributes:
        replaced: What stands in the view for the message at a position: nothing, a rewritten
            copy, or the caller's own message with synthetic results behind it.
        notes: One note for each change, by position.
        made: Identities of the messages that are not the caller's.
    """

    replaced: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    notes: dict[int, list[Repair]] = field(default_factory=dict)
    made: dict[int, int] = field(default_factory=dict)

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
    removed: dict[int, dict[int, str]] = {}
    for position, index in grouping.orphans:
        removed.setdefault(position, {})[index] = "orphan-result"
    answers = grouping.answers()
    for (position, index), (call, _) in answers.items():
        if call in gone:
            removed.setdefault(position, {})[index] = "paired-with-dropped"
    for position, reason in gone.items():
        ids = _ids(grouping, position, unanswered[position])
        repairs.replaced[position + first] = ()
        repairs.note("dropped", position + first, reason, ids)
    for position, results in removed.items():
        if position not in gone:
            _without_results(repairs, grouping, messages, dialect, position, results, first)
    if mode == "close":
        _close(repairs, grouping, messages, dialect, unanswered, answers, first)
    return repairs


def _by_message(places: Sequence[Place]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for position, index in places:
        found.setdefault(position, []).append(index)
    return found


def _ids(grouping: Grouping, position: int, calls: Sequence[int]) -> tuple[str, ...]:
    links = grouping.facts[position].calls
    return tuple(link.id for i in calls if (link := links[i]).id is not None)


def _without_results(
    repairs: Repairs,
    grouping: Grouping,
    messages: Sequence[Any],
    dialect: Dialect,
    position: int,
    results: dict[int, str],
    first: int,
) -> None:
    """Leave out a message that holds nothing but these results; else a copy without them."""
    facts = grouping.facts[position]
    ids = tuple(link.id for i in sorted(results) if (link := facts.results[i]).id is not None)
    reason = results[min(results)]
    lifted = dialect.lift(messages[position + first])
    kept, index = [], -1
    for part in lifted.parts:
        if isinstance(part, ToolResult):
            index += 1
            if index in results:
                continue
        kept.append(part)
    if not kept:
        repairs.replaced[position + first] = ()
        repairs.note("dropped", position + first, reason, ids)
        return
    copy = dialect.lower(msgspec.structs.replace(lifted, parts=tuple(kept)))
    repairs.replaced[position + first] = copy
    repairs.made[position + first] = len(copy)
    repairs.note("rewritten", position + first, reason, ids)


def _close(
    repairs: Repairs,
    grouping: Grouping,
    messages: Sequence[Any],
    dialect: Dialect,
    unanswered: dict[int, list[int]],
    answers: dict[Place, Place],
    first: int,
) -> None:
    """Add one marked result for each unanswered call, behind the caller's last result."""
    last: dict[int, int] = {}
    for (result, _), (call, _) in answers.items():
        last[call] = max(last.get(call, call), result)
    for position, indexes in unanswered.items():
        calls = [
            p for p in dialect.lift(messages[position + first]).parts if isinstance(p, ToolCall)
        ]
        made = dialect.lower(_unknown_results([calls[i] for i in indexes]))
        anchor = last.get(position, position) + first
        repairs.replaced[anchor] = (*repairs.replaced.get(anchor, (messages[anchor],)), *made)
        repairs.made[anchor] = repairs.made.get(anchor, 0) + len(made)
        repairs.note(
            "closed", position + first, "unanswered-call", _ids(grouping, position, indexes)
        )


def _unknown_results(calls: Sequence[ToolCall]) -> Message:
    return Message(
        "tool",
        tuple(
            ToolResult(call.id, call.name, (Text(UNKNOWN_OUTCOME),), is_error=True)
            for call in calls
        ),
    )
