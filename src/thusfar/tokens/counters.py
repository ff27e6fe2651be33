"""Counters: what turns texts into numbers of tokens, and the counters known by name.

A counter is given texts in batches and answers with one whole number for each. It must be pure:
the same text always gives the same number. Tokenizers are imported only when something is counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Final, Protocol

from thusfar.errors import MissingExtraError, OptionsError
from thusfar.tokens.confidence import Confidence
from thusfar.tokens.estimator import ESTIMATE_NAME, Estimator
from thusfar.tokens.factors import BPE

TIKTOKEN_PREFIX: Final = "tiktoken:"
_BATCH_FOR_THREADS: Final = 128  # texts; below it starting threads costs more than it saves

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


class Counter(Protocol):
    """What counts the tokens of texts."""

    @property
    def name(self) -> str:
        """Stable name, as on receipts; two counters that differ have different names."""
        ...

    @property
    def confidence(self) -> Confidence:
        """How far its numbers can be trusted for the text they are about."""
        ...

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order. Never raises for any text."""
        ...


class BpeCounter:
    """Exact counts with the ranks bundled in `toktok-rs` (extra `tokens`).

    Special-token text such as `<|endoftext|>` is counted as the plain text it is sent as. A lone
    surrogate counts as U+FFFD, as which it would be sent. The first use loads ranks for 0.3 s.

    Args:
        encoding: One of `BPE`.
    """

    __slots__ = ("name",)
    confidence: Final[Confidence] = "exact"

    def __init__(self, encoding: str) -> None:
        self.name: Final = encoding

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order.

        Raises:
            MissingExtraError: `MISSING_EXTRA`, when `toktok-rs` cannot be imported.
        """
        try:
            from toktok import batch_count
        except ImportError as error:
            raise missing_tokens(self.name) from error
        threads = 0 if len(texts) >= _BATCH_FOR_THREADS else 1
        try:
            return list(batch_count(texts, self.name, threads=threads))
        except UnicodeEncodeError:
            return list(batch_count(well_formed(texts), self.name, threads=threads))


def well_formed(texts: Sequence[str]) -> list[str]:
    """Replace every lone surrogate by U+FFFD."""
    return [_LONE_SURROGATES.sub("\ufffd", text) for text in texts]


@cache
def bpe_available() -> bool:
    """Tell whether exact OpenAI counts can be had in this process."""
    return find_spec("toktok") is not None


def missing_tokens(name: str) -> MissingExtraError:
    """Make the error for a tokenizer whose package is not installed."""
    return MissingExtraError(
        f"The tokenizer {name} was asked for, and its package is not installed.",
        fix="Install thusfar[tokens].",
        extra="tokens",
    )


def counter_named(name: str) -> Counter:
    """Make the counter with a name.

    Args:
        name: `estimate` or `estimate-1`; `o200k_base` or `cl100k_base` (extra `tokens`);
            `tiktoken:o200k_base` or `tiktoken:cl100k_base` (an installed tiktoken whose rank
            files are in its cache; it is never allowed to download them).

    Raises:
        OptionsError: `INVALID_OPTIONS`, when no counter has that name.
        MissingExtraError: `MISSING_EXTRA`, when its package is not installed.
    """
    if name in ("estimate", ESTIMATE_NAME):
        return Estimator()
    if name in BPE:
        if not bpe_available():
            raise missing_tokens(name)
        return BpeCounter(name)
    if name.startswith(TIKTOKEN_PREFIX) and name.removeprefix(TIKTOKEN_PREFIX) in BPE:
        from thusfar.tokens.tiktoken_backend import TiktokenCounter

        return TiktokenCounter(name.removeprefix(TIKTOKEN_PREFIX))
    raise OptionsError(
        "A counter was asked for by a name that does not exist.",
        fix=f"Use estimate, {', '.join(BPE)}, tiktoken:o200k_base, or pass a function.",
        option="counter",
    )
