"""Accepting: what a summary model's answer must be before it may stand for messages.

A refused text is never kept, shown or put into an error; its failure is told by a reason.
"""

from __future__ import annotations

import re
from typing import Final

from thusfar.errors import SummaryFailedError
from thusfar.summaries.values import NativeCall, Reason, SupportAnswer, SupportCall, SupportFailure
from thusfar.tokens import Measure

SHORTER_PERCENT: Final = 90  # of what it replaces: less saving triggers the next summary at once

_HALF: Final = re.compile("[\ud800-\udfff]")  # of a surrogate pair: no wire or file takes it

_SAID: Final[dict[Reason, str]] = {
    "raised": "raised an error",
    "timed-out": "did not answer in time",
    "empty": "answered with no text",
    "unfinished": "stopped before it was finished",
    "tool-calls": "called a tool instead of answering",
    "oversized": "answered with more than was allowed",
    "not-shorter": "answered with hardly less than it was given",
}


def failed(
    reasons: list[Reason], call: SupportCall | NativeCall, cause: Exception | None
) -> SummaryFailedError:
    """Make the error for a support call whose attempts are used up.

    Args:
        reasons: Why each attempt was refused, in order.
        call: The last attempt.
        cause: What the last attempt raised, if it did.
    """
    error = SummaryFailedError(
        f"The summary model {_SAID[reasons[-1]]}, in attempt {len(reasons)} of {len(reasons)}.",
        fix="Correct the summary model or its limits, and plan again.",
        reason=reasons[-1],
        reasons=tuple(reasons),
        attempts=len(reasons),
        purpose=call.purpose,
        input_tokens=call.input_tokens,
        cause_type=type(cause).__name__ if cause else None,
    )
    error.__cause__ = cause
    return error


def accepted(
    answer: SupportAnswer | SupportFailure, *, most: int, replaced: int, measure: Measure
) -> tuple[str, int] | Reason:
    """Judge an answer.

    Args:
        answer: What came back.
        most: Most tokens of an accepted text.
        replaced: Tokens of what it would stand for.
        measure: Counts it.

    Returns:
        The text with its size, or the reason why it may not be used.
    """
    if isinstance(answer, SupportFailure):
        return answer.reason
    if answer.finish == "tool-calls":
        return "tool-calls"
    text = _HALF.sub("\ufffd", answer.text.strip())
    if answer.finish in ("length", "content-filter", "pause"):
        return "unfinished"
    if not text:
        return "empty"
    tokens = measure.text(text)
    if tokens > most:
        return "oversized"
    if tokens * 100 > replaced * SHORTER_PERCENT:
        return "not-shorter"
    return text, tokens
