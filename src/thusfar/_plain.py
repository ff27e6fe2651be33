"""The common case of a recent window: plain turns, read newest first until a cap is reached.

A shortcut only: it answers exactly as grouping and selection do, or not at all. A property test
holds the two together.

Source:
    docs/adr/0002-grouping-a-growing-slice.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from thusfar._options import RecentHistoryOptions
from thusfar._recent import Caps
from thusfar.dialects import Dialect
from thusfar.tokens import Measure


class PlainWindow(msgspec.Struct):
    """A window of whole plain turns.

    Attributes:
        system: Number of messages in the leading system run.
        start: First message of the window.
        units: Turns in it.
        exchanges: Exchanges in it.
        caps: Both caps, and what the window uses of them.
    """

    system: int
    start: int
    units: int
    exchanges: int
    caps: Caps


def choose_plain(
    messages: Sequence[Any],
    dialect: Dialect,
    options: RecentHistoryOptions,
    measure: Measure | None,
) -> PlainWindow | None:
    """Choose the window where all that decides it is plain; `None` where it takes a closer look."""
    turn_at = getattr(dialect, "plain_turn", None)
    if turn_at is None or options.cut == "exchange" or options.pinned or options.advance:
        return None
    if measure is not None and measure.counts_messages:
        return None
    system, end = 0, len(messages)
    while system < end and dialect.describe(messages[system]).role == "system":
        system += 1
    caps = Caps(options.messages, options.tokens)
    window = PlainWindow(system, end, 0, 0, caps)
    while window.start > system:
        turn = turn_at(messages, window.start, system)
        if turn is None:
            return None
        size = window.start - turn.start
        weight = (size, 0)
        if measure is not None and options.tokens is not None:
            weight = (size, sum(measure.count_flat(turn.texts)) + measure.framing * size)
        if not caps.admit(weight):
            if not window.units or (options.cut == "auto" and caps.under_half()):
                return None
            break
        caps.add(weight)
        window.start = turn.start
        window.units += 1
        window.exchanges += turn.exchanges
    return window
