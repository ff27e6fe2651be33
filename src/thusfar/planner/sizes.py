"""Sizes: tokens of a transcript by position, so that a form is weighed without counting again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from thusfar.dialects.base import Dialect
from thusfar.planner.pages import Pages
from thusfar.tokens import Measure
from thusfar.tokens.confidence import Confidence
from thusfar.tokens.measure import Size

Count = Callable[[Sequence[Any]], list[int]]


class Sizes:
    """Tokens of a transcript by position, cumulative over what is at hand.

    Args:
        messages: The transcript.
        first: Position from which on everything is at hand.
        replaced: What stands in the view for the message at a position.
        count: Counts messages.
    """

    __slots__ = ("_first", "_head", "_tail")

    def __init__(
        self,
        messages: Sequence[Any],
        first: int,
        replaced: Mapping[int, tuple[Any, ...]],
        count: Count,
    ) -> None:
        self._first = first
        head = messages.head_length if isinstance(messages, Pages) else 0
        self._head = _cumulative(messages, range(head), replaced, count)
        self._tail = _cumulative(messages, range(first, len(messages)), replaced, count)

    def between(self, start: int, end: int) -> int:
        """Add up the tokens from one position to another; what is not at hand counts nothing."""
        first, head, tail = self._first, self._head, self._tail
        known = len(head) - 1
        total = head[min(end, known)] - head[min(start, known)]
        if end > first:
            total += tail[end - first] - tail[max(start, first) - first]
        return total


def _cumulative(
    messages: Sequence[Any],
    positions: range,
    replaced: Mapping[int, tuple[Any, ...]],
    count: Count,
) -> list[int]:
    if not replaced:
        return list(accumulate(count(messages[positions.start : positions.stop]), initial=0))
    own = [p for p in positions if p not in replaced]
    sizes = dict(zip(own, count([messages[p] for p in own]), strict=True))
    for place, made in replaced.items():
        sizes[place] = sum(count(list(made)))
    return list(accumulate((sizes[p] for p in positions), initial=0))


def trust_in(
    measure: Measure, dialect: Dialect, messages: Sequence[Any], *, beside: bool
) -> Confidence:
    """Say how far the size of a request can be trusted.

    Args:
        measure: What counted it.
        dialect: What its messages are in.
        messages: Its messages.
        beside: Whether tools, a schema or a system text outside the list are in it.
    """
    if measure.confidence != "exact":  # nothing in a request raises or lowers what is weaker
        return measure.confidence
    counts_media = not measure.counts_messages
    media = counts_media and any(dialect.content(message).media for message in messages)
    return measure.whole(Size(0, media), beside=beside).confidence
