"""Form: one way in which a managed history may be sent, before it is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from thusfar.artifacts import Artifact
from thusfar.receipt import Range, ReceiptWarning

Shorter = dict[int, tuple[Any, ...]]


@dataclass(slots=True)
class Form:
    """One way to send the history.

    Attributes:
        tokens: Its size.
        ranges: Positions sent exactly (or shortened), ascending.
        covered: Positions the summary or digest stands for.
        spoken: The summary message, in the dialect of the history.
        spoken_tokens: Its size.
        shorter: What is sent instead at some positions.
        artifact: The summary used.
        tools: Tools that come with it.
        notes: Warnings of its own.
        split: Whether the exact part is the one the policy chose.
    """

    tokens: int
    ranges: tuple[Range, ...]
    covered: tuple[Range, ...] = ()
    spoken: tuple[Any, ...] = ()
    spoken_tokens: int = 0
    shorter: Shorter = field(default_factory=dict)
    artifact: Artifact | None = None
    tools: tuple[Any, ...] = ()
    notes: tuple[ReceiptWarning, ...] = ()
    split: bool = False
