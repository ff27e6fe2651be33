"""Factors: how tokenizers compare, and how wide a margin a count needs.

All numbers are whole per cents, so that every division is exact.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import msgspec

from thusfar.tokens.confidence import Confidence
from thusfar.tokens.estimator import ESTIMATE_NAME


class Ratio(msgspec.Struct, frozen=True):
    """Tokens of one tokenizer relative to `o200k_base` on the same messages.

    Attributes:
        mean: Over many messages. Unit: per cent.
        spread: The 95th percentile over the mean. Unit: per cent.
    """

    mean: int
    spread: int


# Measured on 10,000 real messages. The 95th percentile is known for Claude alone (1.56 and 1.83
# times o200k_base); the wider of its two spreads stands for the others.
RATIOS: Final = MappingProxyType(
    {
        "o200k_base": Ratio(100, 100),
        "cl100k_base": Ratio(119, 147),
        "claude-3": Ratio(130, 120),
        "claude-4.7": Ratio(151, 122),
        "gemini": Ratio(106, 122),
        "llama-3": Ratio(105, 122),
        "qwen-3": Ratio(107, 122),
        "deepseek-v3": Ratio(105, 122),
        "mistral": Ratio(108, 122),
        "openai-6": Ratio(100, 122),
    }
)
"""Ratio of each tokenizer a model may have; `openai-6` is published by nobody yet."""

BPE: Final = ("o200k_base", "cl100k_base")
ESTIMATE_MARGIN: Final = 120  # the 99th percentile of the fitted estimator
PROXY_LEAST: Final = 110  # never less for a tokenizer that is not the model's own
UNKNOWN_MARGIN: Final = 150  # the mean of the most talkative tokenizer seen, Claude's newest
_OWN_WORD: Final[dict[Confidence, int]] = {
    "exact": 100,
    "estimated": ESTIMATE_MARGIN,
    "conservative": UNKNOWN_MARGIN,
}


def margin_percent(
    counter: str, *, confidence: Confidence, scaled_to: str | None, family: str | None
) -> int:
    """Compute by how much a count may fall short of what the provider counts.

    Args:
        counter: What counts texts: `o200k_base`, `cl100k_base`, `estimate-1`, or the name of a
            counter of the caller, which is taken at its word.
        confidence: Confidence of the counter.
        scaled_to: The tokenizer its counts were scaled to already; `None`: they are raw.
        family: Tokenizer of the model, as in the capacity table; `unknown` for a model that is
            not in it; `None` when no model was named.

    Returns:
        100 where the count is exact, otherwise more. Unit: per cent of the count.

    Source:
        docs/spec/tokens.md#margins
    """
    if counter not in BPE and counter != ESTIMATE_NAME:
        return _OWN_WORD[confidence]
    own = 100 if counter in BPE else ESTIMATE_MARGIN
    stands_for = counter if counter in BPE else "o200k_base"
    if family is None or family == stands_for:
        return own
    if family not in RATIOS:
        return UNKNOWN_MARGIN * own // 100
    ratio = RATIOS[family]
    if scaled_to == family:
        return -(-ratio.spread * own // 100)
    raw = ratio.mean * ratio.spread // RATIOS[stands_for].mean
    return -(-max(PROXY_LEAST, raw) * own // 100)
