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
    counted = measure if options.tokens is not None else None
    count, framing = (counted.count_flat, counted.framing) if counted else (None, 0)
    caps = Caps(options.messages, options.tokens)
    start, units, exchanges = end, 0, 0
    while start > system:
        turn = turn_at(messages, start, system)
        if turn is None:
            return None
        size = start - turn.start
        weight = (size, sum(count(turn.texts)) + framing * size if count else 0)
        if not caps.admit(weight):
            if not units or (options.cut == "auto" and caps.under_half()):
                return None
            break
        caps.used_messages += size
        caps.used_tokens += weight[1]
        start, units, exchanges = turn.start, units + 1, exchanges + turn.exchanges
    return PlainWindow(system, start, units, exchanges, caps)
