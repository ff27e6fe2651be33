"""Receipts: what a projection kept, left out, stood in for, and why. Counts, ids and codes only.

A receipt is JSON-safe and versioned; it never holds text of a transcript.

Source:
    docs/spec/receipts.md
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from thusfar.codec import to_json
from thusfar.codes import CODES
from thusfar.tokens import Confidence, TokenCount

RECEIPT_SCHEMA: Final = 1
Range = tuple[int, int]
"""Positions from the first (included) to the second (excluded)."""

RepairKind = Literal["dropped", "rewritten", "closed"]


class ReceiptWarning(msgspec.Struct, frozen=True, kw_only=True):
    """A non-fatal note: a code of `thusfar.codes`, and facts. Never content."""

    code: str
    facts: dict[str, int | float | str] = {}

    @property
    def message(self) -> str:
        """The code's meaning in one sentence."""
        return str(CODES[self.code][1])


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One change that `repair` made to the view; the transcript itself is untouched.

    Attributes:
        kind: `dropped`: the message was left out. `rewritten`: a copy without its defective
            results or calls stands in its place. `closed`: a marked synthetic result was added
            behind it.
        position: Index of the message in the caller's list.
        reason: `orphan-result`, `unanswered-call` or `paired-with-dropped`.
        call_ids: Ids of the calls or results concerned, where the wire has ids.
    """

    kind: RepairKind
    position: int
    reason: str
    call_ids: tuple[str, ...] = ()


class UnitCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many units the view holds.

    Attributes:
        cut: The unit of the policy: `turn`, `exchange`, or `auto` for a mix of both.
        kept: Units inside the caps.
        exchanges: Exchanges in the exact suffix.
    """

    cut: str
    kept: int
    exchanges: int

    @property
    def cut_at(self) -> str:
        """The unit of the cut in words."""
        return "turn and exchange" if self.cut == "auto" else self.cut


class HistoryReceipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What one projection of a transcript did.

    Attributes:
        policy: `exact`, `recent` or `managed`.
        options: The policy's options that are not defaults, as JSON.
        dialect: The wire format of the messages.
        messages: Entries of the transcript. Unit: messages.
        system: Entries of the leading system run, always in the view. Unit: messages.
        kept: Positions sent exactly, ascending.
        omitted: Positions left out with the author's authority.
        summarised: Positions that only a summary stands for.
        opener: Positions of an opener added outside the caps.
        pinned: Positions kept because they are pinned, outside the caps.
        units: Units of the exact suffix; `None` for exact history.
        also_summarised: Messages in the view that the summary covers too (openers, pins).
        added: Messages in the view that are not the caller's: the summary, synthetic results
            and rewritten copies. Unit: messages.
        repairs: What `repair` changed in the view.
        warnings: Non-fatal notes.
        tokens: Size of the view; `None` until a cap, a budget or a reader asks.
        summary_tokens: Size of the summary message, where there is one.
        limit: The effective maximum the view was held to, where a budget or model was given.
        schema: Version of this shape.
    """

    policy: Literal["exact", "recent", "managed"]
    options: dict[str, Any] = {}
    dialect: str
    messages: int
    system: int
    kept: tuple[Range, ...]
    omitted: tuple[Range, ...] = ()
    summarised: tuple[Range, ...] = ()
    opener: tuple[Range, ...] = ()
    pinned: tuple[Range, ...] = ()
    units: UnitCounts | None = None
    also_summarised: int = 0
    added: int = 0
    repairs: tuple[Repair, ...] = ()
    warnings: tuple[ReceiptWarning, ...] = ()
    tokens: TokenCount | None = None
    summary_tokens: int | None = None
    limit: int | None = None
    schema: int = RECEIPT_SCHEMA

    @property
    def kept_messages(self) -> int:
        """How many of the caller's messages are in the view."""
        return _size(self.kept)

    @property
    def omitted_messages(self) -> int:
        """How many messages the view leaves out with the author's authority."""
        return _size(self.omitted)

    @property
    def summarised_messages(self) -> int:
        """How many messages only the summary stands for."""
        return _size(self.summarised)

    def to_json(self) -> dict[str, Any]:
        """Convert to plain JSON values."""
        made: dict[str, Any] = to_json(self)
        return made

    def __str__(self) -> str:
        plural = "" if self.messages == 1 else "s"
        lines = [f"{self.policy} history of {self.messages} message{plural} ({self.dialect})"]
        lines += [
            f"  {label:<11}{_size(ranges):>7}  {_show(ranges)}"
            for label, ranges in (
                ("kept", self.kept),
                ("omitted", self.omitted),
                ("summarised", self.summarised),
                ("opener", self.opener),
                ("pinned", self.pinned),
            )
            if ranges or label == "kept"
        ]
        if self.units:
            lines.append(f"  units      {self.units.kept:>7}  cut by {self.units.cut_at}")
        if self.added:
            lines.append(f"  added      {self.added:>7}  not the caller's own messages")
        if self.tokens:
            limit = f" of at most {self.limit:,}" if self.limit else ""
            lines.append(
                f"  tokens     {self.tokens.tokens:>7,}{limit}  "
                f"{self.tokens.tokenizer}, {self.tokens.confidence}"
            )
        lines += [f"  repair     {r.kind} message {r.position}: {r.reason}" for r in self.repairs]
        lines += [f"  warning    {w.code}: {w.message}" for w in self.warnings]
        return "\n".join(lines)


def as_ranges(positions: list[Range]) -> tuple[Range, ...]:
    """Sort ranges, drop empty ones, and join those that touch or overlap."""
    joined: list[Range] = []
    for start, end in sorted(positions):
        if start >= end:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)


def without(ranges: tuple[Range, ...], holes: tuple[Range, ...]) -> tuple[Range, ...]:
    """Subtract ranges from ranges; both ascending and disjoint."""
    left: list[Range] = []
    hole = 0
    for start, end in ranges:
        while hole < len(holes) and holes[hole][1] <= start:
            hole += 1
        behind = hole
        while behind < len(holes) and holes[behind][0] < end:
            low, high = holes[behind]
            left.append((start, low))
            start = max(start, high)
            behind += 1
        left.append((start, end))
    return as_ranges(left)


def within(ranges: Sequence[Range], position: int) -> bool:
    """Tell whether a position is in one of these ranges, ascending and disjoint."""
    index = bisect_left(ranges, (position + 1,)) - 1
    return index >= 0 and position < ranges[index][1]


def _size(ranges: tuple[Range, ...]) -> int:
    return sum(end - start for start, end in ranges)


def _show(ranges: tuple[Range, ...], most: int = 6) -> str:
    shown = [f"{a}" if b - a == 1 else f"{a}–{b - 1}" for a, b in ranges[:most]]
    return ", ".join(shown) + (f", … {len(ranges) - most} more" if len(ranges) > most else "")


__all__ = [
    "Confidence",
    "HistoryReceipt",
    "Range",
    "ReceiptWarning",
    "Repair",
    "UnitCounts",
    "as_ranges",
    "within",
    "without",
]
