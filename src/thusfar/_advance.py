"""Moving the start of a recent window in steps, so that successive requests share a prefix.

The start is a pure function of the transcript: a grid on cumulative counts says where the window
may start, and the units as they stood when that grid point came into force say which boundary is
taken, so that it stays where it is until the next step.

Source:
    docs/spec/projection.md#advance
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from thusfar._options import RecentHistoryOptions
from thusfar._recent import Caps, Selection, newest_opener
from thusfar._window import Meter, NeedOlder, Window


class Step(msgspec.Struct, frozen=True):
    """Where the window may start now, and since when.

    Attributes:
        position: The grid point as a position in the transcript.
        since: Number of messages the transcript had when this grid point came into force.
        messages: The grid point of the message cap, behind the system run.
        tokens: The grid point of the token cap.
        before: Cumulative tokens before each message behind the system run; empty without a
            token cap.
    """

    position: int
    since: int
    messages: int = 0
    tokens: int = 0
    before: Sequence[int] = ()


def grid_point(total: int, cap: int, advance: float) -> tuple[int, int]:
    """Find the grid point for a total, and the total from which on it holds.

    Example:
        >>> grid_point(total=41, cap=40, advance=0.5)
        (20, 41)
        >>> grid_point(total=40, cap=40, advance=0.5)
        (0, 0)
    """
    if total <= cap:
        return 0, 0
    step = max(1, int(advance * cap))
    steps = -(-(total - cap) // step)
    return steps * step, cap + (steps - 1) * step + 1


def current_step(
    system: int, end: int, options: RecentHistoryOptions, before: Sequence[int]
) -> Step:
    """Find the later of the two grid points.

    Args:
        system: Number of messages in the leading system run.
        end: Number of messages in the transcript.
        options: The caps and the step.
        before: Cumulative tokens before each message behind the system run, and of all of them
            at the end; unused without a token cap.
    """
    by_messages = by_tokens = token_place = (0, 0)
    if options.messages is not None:
        by_messages = grid_point(end - system, options.messages, options.advance)
    if options.tokens is not None:
        by_tokens = grid_point(before[-1], options.tokens, options.advance)
        token_place = (bisect_left(before, by_tokens[0]), bisect_left(before, by_tokens[1]))
    place, since = max(by_messages, token_place, key=lambda pair: (pair[0], -pair[1]))
    return Step(system + place, system + since, by_messages[0], by_tokens[0], before)


def select_stepped(
    window: Window, meter: Meter, options: RecentHistoryOptions, step: Step
) -> Selection:
    """Choose the first legal boundary at or after the grid point.

    Raises:
        NeedOlder: when the answer depends on messages the window does not hold.
    """
    caps = Caps(options.messages, options.tokens)
    selection = Selection(window.system, cut=options.cut)
    if step.position > window.system:
        known = window.exchanges if options.cut == "exchange" else window.turns
        if not window.complete and not (known and known[0] <= step.position):
            raise NeedOlder
        selection = _at_step(window, meter, options, step)
    if selection.opener_outside or not selection.opener[1]:
        caps.add(meter.weigh(selection.start, window.end))
    else:
        caps.add(meter.weigh(*selection.opener))
        caps.add(meter.weigh(selection.start, window.end))
    selection.used = caps.used
    selection.overflow = not Caps(options.messages, options.tokens).admit(caps.used)
    starts = window.exchanges if selection.cut == "exchange" else window.turns
    selection.units = len(starts) - bisect_left(starts, selection.start)
    return selection


def _at_step(window: Window, meter: Meter, options: RecentHistoryOptions, step: Step) -> Selection:
    turns = window.turns_before(step.since)
    turn = _first(turns, step.position, step.since)
    if options.cut == "turn":
        start = turn if turn is not None else _first(window.turns, step.position, window.end)
        return Selection(start if start is not None else window.turns[-1])
    if options.cut == "auto" and turn is not None:
        return _with_half_rule(window, meter, options, step, turn)
    start = _first(window.exchanges, step.position, step.since)
    if start is None:  # one exchange spans the grid point and all behind it
        start = _first(window.exchanges, step.position, window.end)
    selection = Selection(window.exchanges[-1] if start is None else start, cut="exchange")
    opener = newest_opener(window, turns, step.since)
    outside = (opener[0], min(opener[1], selection.start))
    if outside[0] < outside[1]:
        selection.opener, selection.opener_outside = outside, True
    return selection


def _with_half_rule(
    window: Window, meter: Meter, options: RecentHistoryOptions, step: Step, turn: int
) -> Selection:
    """Take the turn start; where it left less than half of every cap, cut the turn before it."""
    caps = Caps(options.messages, options.tokens)
    caps.add(meter.weigh(turn, step.since))
    older = bisect_left(window.turns, turn) - 1
    if not caps.under_half() or older < 0:
        return Selection(turn)
    head = window.turns[older]
    opener_end = window.opener_end(head)
    messages, tokens = meter.weigh(head, opener_end)
    for start in window.exchanges_within(max(opener_end, step.position), turn):
        behind = start - window.system
        if options.messages is not None and behind < step.messages + messages:
            continue
        if options.tokens is not None and step.before[behind] < step.tokens + tokens:
            continue
        inside = (head, opener_end) if opener_end < start else (0, 0)
        return Selection(start, opener=inside, cut="auto")
    return Selection(turn)


def _first(starts: Sequence[int], low: int, high: int) -> int | None:
    index = bisect_left(starts, low)
    return starts[index] if index < len(starts) and starts[index] < high else None
