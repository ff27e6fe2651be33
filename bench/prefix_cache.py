"""A provider's prefix cache, simulated: what of each request was the head of an earlier one.

The rule is that of OpenAI's automatic caching: the longest prefix in common with any earlier
request of the same conversation counts, in steps, from a least length on. Nothing expires.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thusfar.dialects import dialect as dialect_named
from thusfar.tokens import Measure


@dataclass(frozen=True)
class Rules:
    """What the cache does and what input costs; prices are ratios to plain input.

    Attributes:
        least: Shortest prefix that is cached. Unit: tokens.
        step: A cached prefix is a multiple of it. Unit: tokens.
        cached_price: Price of input served from the cache.
        write_price: Price of input that is written to the cache.
        support_price: Price of the input of calls that make summaries.
    """

    least: int = 1024
    step: int = 128
    cached_price: float = 0.1
    write_price: float = 1.0
    support_price: float = 1.0


Piece = tuple[str, float]
"""Canonical text and tokens of a message, or of one line of a message that was made anew."""


class Scale:
    """Writes each message canonically and counts it once, for all contestants."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._dialect = dialect_named("openai-chat")
        self._known: dict[int, tuple[Any, Piece]] = {}
        self._texts: dict[str, Piece] = {}

    def weigh(self, message: dict[str, Any]) -> int:
        """Count a message of the transcript."""
        return int(self.piece(message)[1])

    def piece(self, message: dict[str, Any]) -> Piece:
        """Look a message of the transcript up, or take it in."""
        held = self._known.get(id(message))
        if held is None:
            text = canonical(message)
            piece = self._texts.setdefault(text, (text, self._count(message)))
            held = self._known[id(message)] = message, piece
        return held[1]

    def pieces(self, message: Any) -> list[Piece]:
        """Give the pieces of a message that is sent.

        One that is not of the transcript, such as a summary, is one piece a line, since a
        provider's cache also ends within a message.
        """
        held = self._known.get(id(message))
        if held is not None:
            return [held[1]]
        text = canonical(message)
        if text in self._texts:
            return [self._texts[text]]
        tokens = self._count(message)
        lines = f"{message['role']}: {message['content']}".splitlines(keepends=True)
        length = sum(map(len, lines))
        return [(line, tokens * len(line) / length) for line in lines]

    def text(self, text: str) -> int:
        """Count a text."""
        return self._measure.text(text)

    def _count(self, message: Any) -> int:
        return self._measure.count(self._dialect, [message])[0]


def canonical(message: Any) -> str:
    """Write a message as JSON, keys in order."""
    return json.dumps(message, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass
class Tally:
    """What a contestant sent, over all requests. Unit: tokens.

    Attributes:
        requests: Number of requests.
        input: Input of all requests.
        cached: What of it was served from the cache.
        support: Input of calls that made summaries.
        largest: The largest request.
        said: What receipts said was the same as in the request before; 0 where there are none.
    """

    requests: int = 0
    input: float = 0
    cached: float = 0
    support: int = 0
    largest: float = 0
    said: int = 0

    @property
    def share(self) -> float:
        """Share of the input that was served from the cache."""
        return self.cached / self.input if self.input else 0.0

    def cost(self, rules: Rules) -> float:
        """Price of all input, in plain input tokens."""
        fresh = (self.input - self.cached) * rules.write_price
        return fresh + self.cached * rules.cached_price + self.support * rules.support_price

    def add(self, other: Tally) -> None:
        """Add another tally."""
        self.requests += other.requests
        self.input += other.input
        self.cached += other.cached
        self.support += other.support
        self.said += other.said
        self.largest = max(self.largest, other.largest)


@dataclass
class PrefixCache:
    """The cache of one conversation: all prefixes that were sent, as a tree."""

    rules: Rules
    _next: dict[tuple[int, str], int] = field(default_factory=dict)

    def send(self, pieces: Sequence[Piece]) -> tuple[float, float]:
        """Send a request.

        Returns:
            Its tokens, and how many of them were served from the cache.
        """
        node, common, total = 0, 0.0, 0.0
        known = True
        for text, tokens in pieces:
            total += tokens
            follower = self._next.get((node, text)) if known else None
            if follower is None:
                known = False
                follower = self._next[node, text] = len(self._next) + 1
            else:
                common += tokens
            node = follower
        if common < self.rules.least:
            return total, 0.0
        return total, common // self.rules.step * self.rules.step
