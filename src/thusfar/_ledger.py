"""What the messages of a window count, asked for once each and only where an answer needs it.

All positions are indexes into the caller's list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from thusfar.dialects.base import Dialect, Flat
from thusfar.tokens import Measure


class Ledger:
    """Counts of described messages, by position; grows towards older messages.

    Attributes:
        messages: How many messages were counted.
        tokens_seen: How many tokens they have together.
    """

    __slots__ = (
        "_counts",
        "_first",
        "_measure",
        "_media",
        "_offsets",
        "_texts",
        "messages",
        "tokens_seen",
    )

    def __init__(self, measure: Measure, end: int) -> None:
        self._measure = measure
        self._first = end
        self._texts: list[Any] = []
        self._counts: list[int | None] = []
        self._offsets: list[int] = [0]
        self._media: dict[int, int] = {}
        self.messages = 0
        self.tokens_seen = 0

    def prepend(self, older: Flat) -> None:
        """Add what is to be counted of the messages directly before the oldest one."""
        size = len(older.texts)
        self._first -= len(older.sizes)
        self._texts = older.texts + self._texts
        self._counts[:0] = [None] * size
        offsets = list(accumulate(older.sizes, initial=0))
        self._offsets = offsets + [offset + size for offset in self._offsets[1:]]
        for index, content in older.media.items():
            self._media[self._first + index] = self._measure.media(content)

    def tokens(self, start: int, end: int) -> int:
        """Count the messages from `start` to `end`, all of them described."""
        first, measure = self._first, self._measure
        low, high = self._offsets[start - first], self._offsets[end - first]
        counts = self._counts[low:high]
        fresh = None in counts
        if fresh:
            counts = self._fill(low, high, counts)
        total = sum(counts) + measure.framing * (end - start)  # type: ignore[arg-type]  # filled
        if self._media:
            total += sum(self._media.get(position, 0) for position in range(start, end))
        if fresh:
            self.messages += end - start
            self.tokens_seen += total
        return total

    def media(self, start: int, end: int) -> bool:
        """Tell whether a message from `start` to `end` holds media."""
        return any(start <= position < end for position in self._media)

    def _fill(self, low: int, high: int, counts: list[int | None]) -> list[int | None]:
        missing = [low + i for i, count in enumerate(counts) if count is None]
        made = self._measure.count_flat([self._texts[i] for i in missing])
        if len(missing) == high - low:
            self._counts[low:high] = made
        else:
            for index, count in zip(missing, made, strict=True):
                self._counts[index] = count
        return self._counts[low:high]


class Cumulative:
    """Counts of the whole conversation, by cumulative sums: any stretch is one subtraction.

    Attributes:
        before: Tokens before each message behind the system run, and of all of them at the end.
    """

    __slots__ = ("_dialect", "_first", "_measure", "_messages", "before")

    def __init__(
        self, measure: Measure, dialect: Dialect, messages: Sequence[Any], first: int
    ) -> None:
        self._first = first
        self._measure, self._dialect, self._messages = measure, dialect, messages
        self.before = list(accumulate(measure.count(dialect, messages[first:]), initial=0))

    def tokens(self, start: int, end: int) -> int:
        """Sum the messages from `start` to `end`."""
        return self.before[end - self._first] - self.before[start - self._first]

    def media(self, start: int, end: int) -> bool:
        """Tell whether a message from `start` to `end` holds media."""
        return self._measure.size(self._dialect, self._messages[start:end]).media


def whole_messages(messages: Sequence[Any]) -> Flat:
    """List messages for a counter that counts them whole."""
    return Flat(list(messages), [1] * len(messages), {})
