"""The part of a transcript that a projection looks at: its newest messages, as far as needed.

A window describes and counts each message at most once, and never touches what it leaves out.
All positions are indexes into the caller's list.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final

from thusfar.dialects.base import Dialect, describe_all
from thusfar.facts import Facts
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
    """

    __slots__ = (
        "_dialect",
        "_facts",
        "_messages",
        "end",
        "exchanges",
        "first",
        "grouping",
        "system",
        "turns",
    )
    exchanges: list[int]
    turns: list[int]

    def __init__(self, messages: Sequence[Any], dialect: Dialect, *, look: int) -> None:
        self._messages = messages
        self._dialect = dialect
        self.end = len(messages)
        self.system = self._leading_system_run()
        self.first = self.end
        self._facts: list[Facts] = []
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

    def opener_end(self, turn: int) -> int:
        """End of the opener of a turn; the turn's start where it has none."""
        return self.grouping.opener_end(turn - self.first) + self.first

    def turns_before(self, end: int) -> list[int]:
        """Turn starts as they stood when the transcript had only `end` messages."""
        if end >= self.end:
            return self.turns
        then = group(self._facts[: end - self.first], complete=self.complete)
        now = set(self.grouping.turns)
        return [start + self.first for start in then.turns if start in now]

    def _look_back(self, count: int) -> None:
        first = max(self.system, self.first - max(count, 1))
        older = describe_all(self._dialect, self._messages[first : self.first])
        self._facts = older + self._facts
        self.first = first
        self.grouping = group(self._facts, complete=first == self.system)
        self.exchanges = [start + first for start in self.grouping.exchanges]
        self.turns = [start + first for start in self.grouping.turns]

    def _leading_system_run(self) -> int:
        describe, end, position = self._dialect.describe, self.end, 0
        while position < end and describe(self._messages[position]).role == "system":
            position += 1
        return position


class Meter:
    """Weighs stretches of a transcript in messages and tokens, asking for each message once."""

    __slots__ = ("_count", "_free", "_known", "_low", "_messages", "_replaced")

    def __init__(
        self,
        messages: Sequence[Any],
        count: Count | None,
        *,
        known: dict[int, int],
        free: frozenset[int] = frozenset(),
        replaced: dict[int, tuple[Any, ...]] | None = None,
    ) -> None:
        """Make a meter.

        Args:
            messages: The caller's list.
            count: Counts tokens of messages; `None` when no token cap asks.
            known: Counts by position, shared between meters over the same list.
            free: Positions that count nothing: pinned units.
            replaced: What the view holds instead of the message at a position.
        """
        self._messages = messages
        self._count = count
        self._known = known
        self._free = free
        self._replaced = replaced or {}
        self._low = min(known) if known else len(messages)

    def weigh(self, start: int, end: int) -> tuple[int, int]:
        """Weigh the messages from `start` to `end` as the view holds them."""
        if not self._free and not self._replaced:
            if not self._count:
                return end - start, 0
            if end <= self._low:  # nothing in this stretch was counted before
                counts = self._count(self._messages[start:end])
                self._known.update(zip(range(start, end), counts, strict=True))
                self._low = start
                return end - start, sum(counts)
            return end - start, self._tokens(range(start, end))
        positions = [p for p in range(start, end) if p not in self._free]
        changed = [p for p in positions if p in self._replaced]
        size = len(positions) + sum(len(self._replaced[p]) - 1 for p in changed)
        if not self._count:
            return size, 0
        made = [message for p in changed for message in self._replaced[p]]
        own = [p for p in positions if p not in self._replaced]
        return size, self._tokens(own) + (sum(self._count(made)) if made else 0)

    def holds(self, start: int, end: int) -> bool:
        """Tell whether the view holds anything between `start` and `end`."""
        if not self._replaced:
            return start < end
        return any(self._replaced.get(p) != () for p in range(start, end))

    def guess(self, tokens: int) -> int | None:
        """Guess how many more messages hold so many tokens in all, from those counted so far."""
        if not self._known:
            return None
        size = len(self._known)
        return int(1.15 * tokens * size / max(1, sum(self._known.values()))) + SLACK - size

    def _tokens(self, positions: Sequence[int]) -> int:
        known = self._known
        missing = [p for p in positions if p not in known]
        if missing and self._count:
            self._low = min(self._low, missing[0])
            known.update(
                zip(missing, self._count([self._messages[p] for p in missing]), strict=True)
            )
        return sum([known[p] for p in positions])
