"""Choosing a recent window in a list of messages, with its pins, repairs and refusals.

Source:
    docs/spec/projection.md
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec

from thusfar._advance import current_step, select_stepped
from thusfar._ledger import Cumulative
from thusfar._options import RecentHistoryOptions
from thusfar._recent import Caps, Selection, select_recent
from thusfar._window import (
    FIRST_LOOK,
    MOST_GUESSED,
    SLACK,
    TOKENS_A_MESSAGE,
    Meter,
    NeedOlder,
    Window,
)
from thusfar.dialects import Dialect
from thusfar.errors import Diagnostic, RequestCompositionError
from thusfar.receipt import Range, as_ranges, within
from thusfar.repair import Repairs, defects, plan_repairs
from thusfar.tokens import Measure


class Choice(msgspec.Struct):
    """A window that was chosen, with what it was chosen from."""

    window: Window
    selection: Selection
    repairs: Repairs
    pinned: tuple[Range, ...]
    meter: Meter

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Positions of the view, ascending: system run, pins, opener, suffix."""
        window, chosen = self.window, self.selection
        return as_ranges(
            [(0, window.system), *self.pinned, chosen.opener, (chosen.start, window.end)]
        )


def choose(
    messages: Sequence[Any],
    dialect: Dialect,
    options: RecentHistoryOptions,
    measure: Measure | None,
    *,
    whole: bool = False,
    open_from: int | None = None,
) -> Choice:
    """Choose the window, looking back only as far as the answer depends on.

    Args:
        messages: The caller's list.
        dialect: Its wire format.
        options: The caps and how to cut.
        measure: Counts tokens; needed for a token cap.
        whole: Whether everything is grouped, as a summary needs it.
        open_from: Position of a call that waits for its result, however much was said since; the
            window begins there at the latest.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, as `project_recent`; with `whole` for
            a defect anywhere.
    """
    end = len(messages)
    look = end if whole or options.pinned else first_look(options)
    capped = measure if options.tokens is not None else None
    stepped = capped if options.advance else None  # counts the whole list, so no ledger is kept
    window = Window(messages, dialect, look=look, measure=None if stepped else capped)
    pinned = pinned_units(window, messages, options)
    free = frozenset(p for low, high in pinned for p in range(low, high))
    sums = Cumulative(stepped, dialect, messages, window.system) if stepped else None
    while True:
        repairs = plan_repairs(
            window.grouping, messages, dialect, options.repair, first=window.first
        )
        meter = Meter(
            sums or window.ledger,
            partial(capped.count, dialect) if capped else None,
            free=free,
            replaced=repairs.replaced,
        )
        try:
            if options.advance:
                step = current_step(window.system, end, options, sums.before if sums else ())
                selection = select_stepped(window, meter, options, step)
            else:
                selection = select_recent(window, meter, options)
            if open_from is not None and open_from < selection.start:
                selection = _from_open(window, meter, options, selection, open_from)
            break
        except NeedOlder:
            window.extend(window.guess(options.tokens) if options.tokens else None)
    choice = Choice(window, selection, repairs, pinned, meter)
    if options.repair == "strict":
        refuse_defects(window, ((0, end),) if whole else choice.ranges)
    return choice


def _from_open(
    window: Window,
    meter: Meter,
    options: RecentHistoryOptions,
    chosen: Selection,
    position: int,
) -> Selection:
    """Let the window begin at the exchange of a call that waits, whatever the caps say.

    Raises:
        NeedOlder: when the window does not hold that exchange.
    """
    if not window.complete and not (window.exchanges and window.exchanges[0] <= position):
        raise NeedOlder
    start = window.exchanges[bisect_right(window.exchanges, position) - 1]
    caps = Caps(options.messages, options.tokens)
    caps.add(meter.weigh(start, window.end))
    opener = chosen.opener if chosen.opener[0] < start else (0, 0)
    outside = (opener[0], min(opener[1], start))
    return Selection(
        start,
        cut="exchange",
        opener=outside,
        opener_outside=outside[0] < outside[1],
        used=caps.used,
        units=len(window.exchanges_within(start, window.end)),
        overflow=not Caps(options.messages, options.tokens).admit(caps.used),
    )


def first_look(options: RecentHistoryOptions) -> int:
    """Guess how many messages decide the window; looking further back is always possible."""
    guesses = [] if options.messages is None else [options.messages]
    if options.tokens is not None:
        guesses.append(min(max(options.tokens // TOKENS_A_MESSAGE, FIRST_LOOK), MOST_GUESSED))
    return min(guesses) + SLACK


def pinned_units(
    window: Window, messages: Sequence[Any], options: RecentHistoryOptions
) -> tuple[Range, ...]:
    """Find the units that hold a pinned message."""
    test = options.pinned
    if test is None:
        return ()
    pins = is_marked_pinned if test is True else test
    starts = window.turns if options.cut == "turn" else window.exchanges
    return as_ranges(
        [
            (low, high)
            for low, high in pairwise([*starts, window.end])
            if any(pins(messages[p]) for p in range(low, high))
        ]
    )


def is_marked_pinned(message: Any) -> bool:
    """Tell whether a message's `metadata["pinned"]` is true."""
    metadata = (
        message.get("metadata") if isinstance(message, dict) else getattr(message, "metadata", None)
    )
    return isinstance(metadata, dict) and metadata.get("pinned") is True


def refuse_defects(window: Window, ranges: Sequence[Range]) -> None:
    """Refuse a defective message in these ranges.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, with `INVALID_HISTORY_TRANSCRIPT` and the
            positions.
    """
    found = tuple(p for p in defects(window.grouping, window.first) if within(ranges, p))
    if not found:
        return
    raise RequestCompositionError(
        f"Calls and results did not pair at {len(found)} message(s) of the view, the first at "
        f"position {found[0]}.",
        fix='Correct the transcript, or pass repair="drop" or repair="close".',
        diagnostics=(
            Diagnostic(
                code="INVALID_HISTORY_TRANSCRIPT",
                message="A result had no call, or a call was never answered.",
                positions=found,
            ),
        ),
        positions=found,
    )
