"""The view of a choice: its messages as repaired, and what its receipt says of the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from thusfar._choice import Choice
from thusfar._options import RecentHistoryOptions
from thusfar._recent import Caps, Selection
from thusfar.dialects import Dialect
from thusfar.receipt import (
    HistoryReceipt,
    Range,
    ReceiptWarning,
    Repair,
    UnitCounts,
    as_ranges,
    within,
    without,
)
from thusfar.repair import Repairs
from thusfar.tokens import TokenCount


class View:
    """Builds the list of messages of a view from positions and repairs."""

    __slots__ = ("_messages", "dialect", "repairs")

    def __init__(self, messages: Sequence[Any], dialect: Dialect, repairs: Repairs) -> None:
        self._messages = messages
        self.dialect = dialect
        self.repairs = repairs

    def messages(self, ranges: Sequence[Range]) -> list[Any]:
        """The messages at these positions, as repaired, in order."""
        replaced = self.repairs.replaced
        view: list[Any] = []
        for start, end in ranges:
            if replaced:
                for position in range(start, end):
                    if position in replaced:
                        view += replaced[position]
                    else:
                        view.append(self._messages[position])
            else:
                view.extend(self._messages[start:end])  # += would take a sequence's own addition
        return view

    def absent(self, ranges: Sequence[Range]) -> tuple[Range, ...]:
        """Positions whose own message is not in the view because of a repair."""
        made, replaced = self.repairs.made, self.repairs.replaced
        return as_ranges(
            [
                (p, p + 1)
                for p, span in replaced.items()
                if len(span) == made.get(p, 0) and within(ranges, p)
            ]
        )

    def notes(self, ranges: Sequence[Range]) -> tuple[Repair, ...]:
        """The repairs made in these ranges, by position."""
        return tuple(
            note
            for position in sorted(self.repairs.notes)
            if within(ranges, position)
            for note in self.repairs.notes[position]
        )

    def added(self, ranges: Sequence[Range]) -> int:
        """How many messages of the view are not the caller's."""
        return sum(
            count for position, count in self.repairs.made.items() if within(ranges, position)
        )


def recent_receipt(
    choice: Choice, view: View, options: RecentHistoryOptions, dialect: Dialect
) -> HistoryReceipt:
    """Write the receipt of an exact recent suffix."""
    window, selection, ranges = choice.window, choice.selection, choice.ranges
    absent = view.absent(ranges)
    omitted = without(((window.system, window.end),), ranges)
    opener = as_ranges([selection.opener]) if selection.opener_outside else ()
    opener = without(opener, choice.pinned)
    return HistoryReceipt(
        policy="recent",
        options=options.to_json(),
        dialect=dialect.name,
        messages=window.end,
        system=window.system,
        kept=without(ranges, absent),
        omitted=omitted,
        opener=without(opener, absent),
        pinned=without(choice.pinned, absent),
        units=unit_counts(choice),
        added=view.added(ranges),
        repairs=view.notes(ranges),
        warnings=window_warnings(
            selection,
            options,
            omitted=bool(omitted),
            pending=len(window.grouping.pending),
        ),
    )


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What one form of managed history sends, for its receipt.

    Attributes:
        ranges: Positions sent exactly, or shortened.
        covered: Positions that a summary stands for.
        suffix: Where the exact part behind a summary starts.
        split: Whether the exact part is the one that the caps chose.
        added: Messages that are not the caller's: a summary, shortened ones.
        notes: Warnings of the form itself.
        tokens: Its size.
        summary_tokens: Size of its summary; 0 without one.
    """

    ranges: tuple[Range, ...]
    covered: tuple[Range, ...] = ()
    suffix: int = 0
    split: bool = False
    added: int = 0
    notes: tuple[ReceiptWarning, ...] = ()
    tokens: TokenCount
    summary_tokens: int = 0


def managed_receipt(
    choice: Choice, view: View, options: RecentHistoryOptions, dialect: Dialect, sent: Sent
) -> HistoryReceipt:
    """Write what a form of managed history keeps, covers and leaves out."""
    window, selection = choice.window, choice.selection
    end, ranges = window.end, as_ranges(list(sent.ranges))
    absent = view.absent(((0, end),))
    only = without(sent.covered, ranges)
    shown = sent.split or bool(sent.covered)
    opener = as_ranges([selection.opener]) if shown and selection.opener_outside else ()
    opener = without(without(opener, choice.pinned), ((sent.suffix, end),))
    warnings = window_warnings(
        selection, options, omitted=False, pending=len(window.grouping.pending)
    )
    if not sent.split:
        warnings = tuple(each for each in warnings if each.code == "HISTORY_OPEN_CALLS")
    return HistoryReceipt(
        policy="managed",
        options=options.to_json(),
        dialect=dialect.name,
        messages=end,
        system=window.system,
        kept=without(ranges, absent),
        omitted=() if sent.covered else without(without(((window.system, end),), ranges), absent),
        summarised=only,
        opener=without(opener, absent),
        pinned=without(choice.pinned, absent) if shown else (),
        units=unit_counts(choice) if sent.split else None,
        also_summarised=sum(b - a for a, b in sent.covered) - sum(b - a for a, b in only),
        added=view.added(ranges) + sent.added,
        repairs=view.notes(((0, end),)),
        warnings=(*warnings, *sent.notes),
        tokens=sent.tokens,
        summary_tokens=sent.summary_tokens or None,
    )


def unit_counts(choice: Choice) -> UnitCounts:
    """Count the units of the exact suffix."""
    chosen = choice.selection
    exchanges = choice.window.exchanges_within(chosen.start, choice.window.end)
    return UnitCounts(cut=chosen.cut, kept=chosen.units, exchanges=len(exchanges))


def window_warnings(
    chosen: Selection, options: RecentHistoryOptions, *, omitted: bool, pending: int
) -> tuple[ReceiptWarning, ...]:
    """List what a reader of the receipt should know about the window.

    Args:
        chosen: The window.
        options: The policy.
        omitted: Whether the view leaves anything out.
        pending: How many calls wait at the end of the transcript.
    """
    caps = Caps(options.messages, options.tokens, *chosen.used)
    facts: dict[str, int | float | str] = {"messages": chosen.used[0]}
    if options.tokens is not None:
        facts["tokens"] = chosen.used[1]
    warnings: list[ReceiptWarning] = []
    if chosen.overflow:
        warnings.append(ReceiptWarning(code="HISTORY_CAP_OVERFLOW", facts=facts))
    if omitted and not caps.used_up():
        warnings.append(ReceiptWarning(code="HISTORY_CAUSAL_BOUNDARY", facts=facts))
    if chosen.opener_outside:
        size = chosen.opener[1] - chosen.opener[0]
        warnings.append(ReceiptWarning(code="HISTORY_OPENER_OUTSIDE_CAP", facts={"messages": size}))
    if pending:
        warnings.append(ReceiptWarning(code="HISTORY_OPEN_CALLS", facts={"calls": pending}))
    return tuple(warnings)
