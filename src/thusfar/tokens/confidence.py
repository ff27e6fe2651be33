"""Confidence: how far a count can be trusted, and a count that carries it."""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

Confidence = Literal["exact", "estimated", "conservative"]
"""`exact`: the model's own tokenizer. `estimated`: fitted or scaled, with a known error.
`conservative`: nothing is known about the model, and margins are wide."""

CONFIDENCES: Final[tuple[Confidence, ...]] = get_args(Confidence)


class TokenCount(msgspec.Struct, frozen=True, kw_only=True):
    """A number of tokens, how it was counted and how far it can be trusted.

    Attributes:
        tokens: The count. Unit: tokens.
        tokenizer: What counted, such as `o200k_base` or `estimate-1`.
        confidence: How far the count can be trusted.
    """

    tokens: int
    tokenizer: str
    confidence: Confidence


def weakest(*confidences: Confidence) -> Confidence:
    """Combine confidences: a sum is no better than its weakest part.

    Example:
        >>> weakest("exact", "estimated")
        'estimated'
    """
    return max(confidences, key=CONFIDENCES.index, default="exact")
