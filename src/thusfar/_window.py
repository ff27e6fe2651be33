"""The part of a transcript that a projection looks at: its newest messages, as far as needed.

A window describes and counts each message at most once, and never touches what it leaves out.
All positions are indexes into the caller's list.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from thusfar._ledger import Ledger, whole_messages
from thusfar.dialects.base import Dialect, describe_all, survey
from thusfar.facts import Facts
from thusfar.receipt import Range
from thusfar.tokens import Measure
from thusfar.tokens.measure import Size
from thusfar.units import group

FIRST_LOOK: Final = 32  # messages described at first, at least, where there is a token cap
TOKENS_A_MESSAGE: Final = 80  # a low guess: a look too short costs another grouping
MOST_GUESSED: Final = 512  # messages looked at on a guess alone
SLACK: Final = 12  # looked at beyond a message cap, to see the units around its border

Count = Callable[[Sequence[Any]], list[int]]


class NeedOlder(Exception):  # noqa: N818 - a signal to look further back, caught in this package
    """Raised where an answer depends on messages that the window does not hold yet."""


class Window:
    """The newest messages of a transcript, grouped.

    Attributes:
        system: Number of messages in the leading system run.
        end: Number of messages in the transcript.
        first: Position of the oldest message described.
        grouping: Units of the messages from `first` on; its positions are relative to it.
        exchanges: Starts of the certain exchanges, ascending.
        turns: Starts of the certain turns, ascending.
        ledger: Counts of its messages; `None` where nothing is counted.
    """

    __slots__ = (
        "_dialect",
        "_facts",
        "_measure",
        "_messages",
        "end",
        "exchanges",
        "first",
        "grouping",
        "ledger",
        "system",
        "turns",
    )
    exchanges: list[int]
    turns: list[int]

    def __init__(
        self,
        messages: Sequence[Any],
        dialect: Dialect,
        *,
        look: int,
        measure: Measure | None = None,
    ) -> None:
        """Look at the newest messages.

        Args:
            messages: The caller's list.
            dialect: Its wire format.
            look: How many messages to describe at first, behind the system run.
            measure: Counts them where an answer needs it; `None`: nothing is counted.
        """
        self._messages = messages
        self._dialect = dialect
        self.end = len(messages)
        self.system = self._leading_system_run()
        self.first = self.end
        self._facts: list[Facts] = []
        self._measure = measure
        self.ledger = Ledger(measure, self.end) if measure else None
        self._look_back(look)

    @property
    def complete(self) -> bool:
        """Whether the window reaches back to the start of the conversation."""
        return self.first == self.system

    def extend(self, more: int | None = None) -> None:
        """Look further back: by a guess of how far is enough, at most five times as far.

        Args:
            more: How many messages the answer is likely to need. `None`: as many again.

        Raises:
            NeedOlder: when there is nothing older; a caller that sees it has a fault.
        """
        if self.complete:
            raise NeedOlder
        have = self.end - self.first
        self._look_back(have if more is None else min(max(more, have // 4), 4 * have))

    def facts(self, position: int) -> Facts:
        """The facts of a described message."""
        return self._facts[position - self.first]

    def exchanges_within(self, start: int, end: int) -> list[int]:
        """Starts of the certain exchanges from `start` up to `end`, ascending."""
        return self.exchanges[bisect_left(self.exchanges, start) : bisect_left(self.exchanges, end)]

    def exchange_border(self, position: int) -> int:
        """Find the first border of exchanges at or after a position."""
        index = bisect_left(self.exchanges, position)
        return self.exchanges[index] if index < len(self.exchanges) else self.end

    def opener_end(self, turn: int) -> int:
        """End of the opener of a turn; the turn's start where it has none."""
        return self.grouping.opener_end(turn - self.first) + self.first

    def opener_cut(self, position: int) -> Range:
        """Find the opener of the turn that a position cuts; empty where a turn ends there."""
        while True:
            newer = bisect_left(self.turns, position)
            if position in self.turns[newer : newer + 1]:
                return 0, 0
            if newer:
                turn = self.turns[newer - 1]
                return turn, min(self.opener_end(turn), position)
            if self.complete:
                return 0, 0
            self.extend()

    def turns_before(self, end: int) -> list[int]:
        """Turn starts as they stood when the transcript had only `end` messages."""
        if end >= self.end:
            return self.turns
        then = group(self._facts[: end - self.first], complete=self.complete)
        now = set(self.grouping.turns)
        return [start + self.first for start in then.turns if start in now]

    def _look_back(self, count: int) -> None:
        first = max(self.system, self.first - max(count, 1))
        self._facts = self._read(self._messages[first : self.first]) + self._facts
        self.first = first
        self.grouping = group(self._facts, complete=first == self.system)
        self.exchanges = [start + first for start in self.grouping.exchanges]
        self.turns = [start + first for start in self.grouping.turns]

    def _read(self, older: Sequence[Any]) -> list[Facts]:
        if self.ledger is None:
            return describe_all(self._dialect, older)
        if self._measure and self._measure.counts_messages:
            self.ledger.prepend(whole_messages(older))
            return describe_all(self._dialect, older)
        facts, flat = survey(self._dialect, older)
        self.ledger.prepend(flat)
        return facts

    def guess(self, tokens: int) -> int | None:
        """Guess how many more messages hold so many tokens in all, from those counted so far."""
        ledger = self.ledger
        if ledger is None or not ledger.tokens_seen:
            return None
        needed = 1.15 * tokens * ledger.messages / ledger.tokens_seen
        return int(needed) + SLACK - ledger.messages

    def _leading_system_run(self) -> int:
        describe, end, position = self._dialect.describe, self.end, 0
        while position < end and describe(self._messages[position]).role == "system":
            position += 1
        return position


class Tokens(Protocol):
    """Counts stretches of a transcript: a `Ledger`, or `Cumulative` sums."""

    def tokens(self, start: int, end: int) -> int:
        """Count the messages from `start` to `end`."""
        ...

    def media(self, start: int, end: int) -> bool:
        """Tell whether a message from `start` to `end` holds media."""
        ...


class Meter:
    """Weighs stretches of a transcript in messages and tokens, as the view holds them."""

    __slots__ = ("_count", "_free", "_plain", "_replaced", "_tokens")

    def __init__(
        self,
        tokens: Tokens | None,
        count: Count | None,
        *,
        free: frozenset[int] = frozenset(),
        replaced: Mapping[int, tuple[Any, ...]] | None = None,
    ) -> None:
        """Make a meter.

        Args:
            tokens: Counts the caller's messages; `None` when no token cap asks.
            count: Counts messages made by a repair; `None` when no token cap asks.
            free: Positions that count nothing: pinned units.
            replaced: What the view holds instead of the message at a position.
        """
        self._tokens = tokens
        self._count = count
        self._free = free
        self._replaced = replaced or {}
        self._plain = not free and not replaced

    def weigh(self, start: int, end: int) -> tuple[int, int]:
        """Weigh the messages from `start` to `end`: messages and tokens."""
        if self._plain:
            return end - start, self._tokens.tokens(start, end) if self._tokens else 0
        return self._weigh([p for p in range(start, end) if p not in self._free])

    def size(self, start: int, end: int) -> Size:
        """Size a stretch of the view, pinned units included."""
        media = self._tokens is not None and self._tokens.media(start, end)
        return Size(self._weigh(range(start, end))[1], media)

    def holds(self, start: int, end: int) -> bool:
        """Tell whether the view holds anything between `start` and `end`."""
        if not self._replaced:
            return start < end
        return any(self._replaced.get(p) != () for p in range(start, end))

    def counts(self, start: int, end: int) -> bool:
        """Tell whether anything between `start` and `end` counts against the caps."""
        return any(
            position not in self._free and self._replaced.get(position) != ()
            for position in range(start, end)
        )

    def _weigh(self, positions: Sequence[int]) -> tuple[int, int]:
        replaced = self._replaced
        changed = [p for p in positions if p in replaced] if replaced else []
        size = len(positions) + sum(len(replaced[p]) - 1 for p in changed)
        if not self._tokens or not self._count:
            return size, 0
        made = [message for p in changed for message in replaced[p]]
        own = self._own([p for p in positions if p not in replaced])
        return size, own + (sum(self._count(made)) if made else 0)

    def _own(self, positions: Sequence[int]) -> int:
        """Count the caller's messages at these positions, run by run."""
        assert self._tokens is not None
        total, start = 0, 0
        for index in range(1, len(positions) + 1):
            if index == len(positions) or positions[index] != positions[index - 1] + 1:
                total += self._tokens.tokens(positions[start], positions[index - 1] + 1)
                start = index
        return total
