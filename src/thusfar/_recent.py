"""Choosing the window of an exact recent suffix: caps, cuts, openers, pins.

Pure decisions over a `Window` and a `Meter`. Where an answer depends on messages not yet looked
at, `NeedOlder` is raised and the caller looks further back; each message is described and counted
at most once.

Source:
    docs/spec/projection.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from thusfar._options import RecentHistoryOptions
from thusfar._window import Meter, NeedOlder, Window
from thusfar.receipt import Range

COUNTED_AT_ONCE: Final = (
    16  # turns up to this size are counted in one batch; larger ones stop early
)


class Selection(msgspec.Struct):
    """The window that a policy chose.

    Attributes:
        start: First message of the exact suffix.
        opener: Opener before the suffix, empty where the suffix holds it.
        opener_outside: Whether (a part of) the opener was added outside the caps.
        used: Messages and tokens inside the caps.
        units: Units kept inside the caps.
        overflow: Whether the newest unit alone breaks a cap.
        cut: The unit at which the suffix was cut: `turn`, `exchange` or `auto` for a mix.
    """

    start: int
    opener: Range = (0, 0)
    opener_outside: bool = False
    used: tuple[int, int] = (0, 0)
    units: int = 0
    overflow: bool = False
    cut: str = "turn"


class Caps(msgspec.Struct):
    """Both caps, and what is used of them."""

    messages: int | None
    tokens: int | None
    used_messages: int = 0
    used_tokens: int = 0

    def admit(self, weight: tuple[int, int]) -> bool:
        """Tell whether both caps still hold with this weight added."""
        return (self.messages is None or self.used_messages + weight[0] <= self.messages) and (
            self.tokens is None or self.used_tokens + weight[1] <= self.tokens
        )

    def add(self, weight: tuple[int, int]) -> None:
        self.used_messages += weight[0]
        self.used_tokens += weight[1]

    def under_half(self) -> bool:
        """Tell whether less than half of every cap is used."""
        return (self.messages is None or 2 * self.used_messages < self.messages) and (
            self.tokens is None or 2 * self.used_tokens < self.tokens
        )

    def used_up(self) -> bool:
        """Tell whether a cap is used up exactly."""
        return self.used_messages == self.messages or self.used_tokens == self.tokens

    @property
    def used(self) -> tuple[int, int]:
        return self.used_messages, self.used_tokens


def select_recent(window: Window, meter: Meter, options: RecentHistoryOptions) -> Selection:
    """Choose the newest units that satisfy both caps.

    Raises:
        NeedOlder: when the answer depends on messages the window does not hold.
    """
    caps = Caps(options.messages, options.tokens)
    if window.end == window.system:
        return Selection(window.end)
    match options.cut:
        case "turn":
            selection = _walk(window, meter, caps, _spans(window, window.turns))
        case "exchange":
            selection = _walk(window, meter, caps, _spans(window, window.exchanges))
            selection.cut = "exchange"
            _add_opener(window, meter, selection)
        case _:
            selection = _auto(window, meter, caps)
    selection.used = caps.used
    return selection


def _spans(window: Window, starts: list[int], end: int | None = None) -> Iterator[Range]:
    """Yield units newest first; ask for older messages when the certain ones run out."""
    end = window.end if end is None else end
    for start in reversed(starts):
        if start < end:
            yield start, end
            end = start
    if end > window.system:
        raise NeedOlder


def _walk(window: Window, meter: Meter, caps: Caps, spans: Iterator[Range]) -> Selection:
    """Add units newest to oldest; stop at the first that does not fit. The newest always stays.

    A unit that a repair leaves nothing of is passed through, so that its repair is on the receipt.
    """
    selection = Selection(window.end)
    for start, end in spans:
        if not meter.holds(start, end):
            selection.start = start
            continue
        weight = meter.weigh(start, end)
        if not caps.admit(weight):
            if selection.units:
                break
            selection.overflow = True
        caps.add(weight)
        selection.start = start
        selection.units += 1
        if selection.overflow:
            break
    return selection


def _auto(window: Window, meter: Meter, caps: Caps) -> Selection:
    selection = Selection(window.end)
    for start, end in _spans(window, window.turns):
        if not meter.holds(start, end):
            selection.start = start
            continue
        if _take(window, meter, caps, start, end):
            selection.start = start
            selection.units += 1
            continue
        if not selection.units:
            return _cut_newest(window, meter, caps, start)
        if caps.under_half():
            _cut_older(window, meter, caps, selection, (start, end))
        break
    return selection


def _take(window: Window, meter: Meter, caps: Caps, start: int, end: int) -> bool:
    """Add a turn if it fits, counting no further than the first exchange that does not."""
    if caps.tokens is None or end - start <= COUNTED_AT_ONCE:
        weight = meter.weigh(start, end)
        if not caps.admit(weight):
            return False
        caps.add(weight)
        return True
    messages = tokens = 0
    for low, high in _spans_until(window.exchanges_within(start, end), end):
        weight = meter.weigh(low, high)
        messages, tokens = messages + weight[0], tokens + weight[1]
        if not caps.admit((messages, tokens)):
            return False
    caps.add((messages, tokens))
    return True


def _cut_newest(window: Window, meter: Meter, caps: Caps, turn: int) -> Selection:
    """Cut inside the newest turn, which alone breaks a cap; its opener is in the view anyway."""
    exchanges = window.exchanges_within(turn, window.end)
    selection = _walk(window, meter, caps, _spans_until(exchanges, window.end))
    selection.cut = "exchange"
    _add_opener(window, meter, selection)
    return selection


def _spans_until(starts: list[int], end: int) -> Iterator[Range]:
    for start in reversed(starts):
        yield start, end
        end = start


def _cut_older(window: Window, meter: Meter, caps: Caps, selection: Selection, turn: Range) -> None:
    """Keep the newest exchanges of an older turn, with its opener, all inside the caps."""
    opener_end = window.opener_end(turn[0])
    opener = meter.weigh(turn[0], opener_end)
    if not caps.admit(opener):
        return
    trial = Caps(caps.messages, caps.tokens, *caps.used)
    trial.add(opener)
    start = turn[1]
    for low, high in _spans_until(window.exchanges_within(opener_end, turn[1]), turn[1]):
        weight = meter.weigh(low, high)
        if not trial.admit(weight):
            break
        trial.add(weight)
        start = low
    if start < turn[1] and meter.holds(start, turn[1]):
        caps.add((trial.used_messages - caps.used_messages, trial.used_tokens - caps.used_tokens))
        selection.start = start
        selection.opener = (turn[0], opener_end) if opener_end < start else (0, 0)
        selection.units += 1
        selection.cut = "auto"


def _add_opener(window: Window, meter: Meter, selection: Selection) -> None:
    """Add the opener of the newest turn that has user input, where the suffix lacks it."""
    start, end = newest_opener(window, window.turns, window.end)
    outside = (start, min(end, selection.start))
    if outside[0] < outside[1]:
        selection.opener = outside
        selection.opener_outside = meter.counts(*outside)


def newest_opener(window: Window, turns: list[int], end: int) -> Range:
    """Find the opener of the newest turn with user input at its head.

    Raises:
        NeedOlder: when no such turn is certain yet.
    """
    for turn in reversed(turns):
        if turn >= end:
            continue
        opener_end = window.opener_end(turn)
        if opener_end > turn:
            return turn, min(opener_end, window.exchange_border(end))
    if not window.complete:
        raise NeedOlder
    return 0, 0
