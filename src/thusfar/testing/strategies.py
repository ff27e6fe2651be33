"""Hypothesis strategies for transcripts, for tests of this library and of those who use it.

Needs the extra `testing`. Transcripts are made in canonical form first and then lowered, so that
every dialect gets the same conversations.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from thusfar.dialects import dialect as dialect_named
from thusfar.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult

_WORDS = ("alpha", "beta", "gamma", "delta", "noch einmal", "東京", "שלום", "👩‍👩‍👧", "e\u0301")
_TOOLS = ("read", "search", "run")


def texts() -> st.SearchStrategy[str]:
    """Short texts in several scripts, with the odd control character."""
    return st.lists(st.sampled_from((*_WORDS, "\x00", "a\nb")), min_size=1, max_size=6).map(
        " ".join
    )


def transcripts(
    *,
    dialect: str = "openai-chat",
    max_turns: int = 6,
    defects: bool = False,
    system: bool = True,
) -> st.SearchStrategy[list[Any]]:
    """Whole conversations in a dialect: turns, tool rounds, parallel calls, reused ids.

    Args:
        dialect: Name of the wire format.
        max_turns: Most turns. At least 0.
        defects: Whether calls and results may fail to pair: orphans, duplicates, calls that
            are never answered.
        system: Whether leading and mid-conversation system messages may occur.

    Returns:
        Lists of wire messages, oldest first; empty ones too.
    """
    target = dialect_named(dialect)
    return canonical_transcripts(max_turns=max_turns, defects=defects, system=system).map(
        lambda messages: [wire for message in messages for wire in target.lower(message)]
    )


def canonical_transcripts(
    *, max_turns: int = 6, defects: bool = False, system: bool = True
) -> st.SearchStrategy[list[Message]]:
    """The same conversations as `Message` values; arguments as in `transcripts`."""
    return st.tuples(
        st.integers(0, max_turns), st.integers(0, 2**32 - 1), st.lists(texts(), max_size=4)
    ).map(lambda drawn: _conversation(*drawn, defects=defects, system=system))


def _conversation(
    turns: int, seed: int, extra: Sequence[str], *, defects: bool, system: bool
) -> list[Message]:
    maker = _Maker(random.Random(seed), [*_WORDS, *extra], defects=defects, system=system)  # noqa: S311 - reproducible test data
    return maker.conversation(turns)


class _Maker:
    """Writes one conversation from a seeded generator."""

    def __init__(
        self, rng: random.Random, words: Sequence[str], *, defects: bool, system: bool
    ) -> None:
        self.rng, self.words, self.defects, self.system = rng, words, defects, system
        self.out: list[Message] = []
        self.calls = 0

    def conversation(self, turns: int) -> list[Message]:
        rng = self.rng
        if self.system:
            self.out += [self.say("system") for _ in range(rng.choice((0, 1, 1, 2)))]
        if rng.random() < 0.15:
            self.out.append(self.say("assistant"))
        for _ in range(turns):
            self.turn()
        if rng.random() < 0.25 and turns:
            self.waiting()
        return self.out

    def waiting(self) -> None:
        """End with calls that wait: one at least, after the results of others of its message."""
        message, ids = self.asking(self.rng.choice((1, 1, 2, 4)))
        self.out.append(message)
        self.rng.shuffle(ids)
        for call_id, name in ids[: self.rng.randrange(len(ids))]:
            self.out.append(self.result(call_id, name))

    def turn(self) -> None:
        rng = self.rng
        if self.system and rng.random() < 0.1:
            self.out.append(self.say("system"))
        self.out += [self.say("user") for _ in range(rng.choice((1, 1, 1, 2)))]
        for _ in range(rng.choice((0, 1, 1, 2, 5))):
            self.step()
        if rng.random() < 0.85:
            self.out.append(self.say("assistant"))

    def step(self) -> None:
        rng = self.rng
        message, ids = self.asking(rng.choice((1, 1, 2, 4)))
        self.out.append(message)
        rng.shuffle(ids)
        for call_id, name in ids:
            if self.defects and rng.random() < 0.12:
                continue
            self.out.append(self.result(call_id, name))
            if self.defects and rng.random() < 0.08:
                self.out.append(self.result(call_id, name))
            if rng.random() < 0.03:
                self.out.append(self.say("user"))  # said while a call waits
                if not self.defects and (call_id, name) == ids[-1]:
                    self.out.pop()
        if self.defects and rng.random() < 0.08:
            self.out.append(self.result(f"call_{rng.randint(0, 9)}", "read"))
        if self.system and rng.random() < 0.04:
            self.out.append(self.say("system"))

    def asking(self, count: int) -> tuple[Message, list[tuple[str, str]]]:
        ids = []
        parts: list[Part] = [Text(self.text())] if self.rng.random() < 0.3 else []
        for _ in range(count):
            self.calls += 1
            ids.append((f"call_{self.calls % 7}", self.rng.choice(_TOOLS)))  # ids come again
        parts += [ToolCall(call_id, name, '{"p": 1}') for call_id, name in ids]
        return Message("assistant", tuple(parts)), ids

    def result(self, call_id: str, name: str) -> Message:
        return Message("tool", (ToolResult(call_id, name, (Text(self.text()),)),))

    def say(self, role: Any) -> Message:
        if role == "assistant" and self.rng.random() < 0.1:
            return Message(role, (Reasoning(self.text()), Text(self.text())))
        return Message(role, (Text(self.text()),))

    def text(self) -> str:
        return " ".join(self.rng.choice(self.words) for _ in range(self.rng.choice((1, 2, 8))))
