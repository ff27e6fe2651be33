"""Native summaries: the provider's own way, judged like any other text. Pure.

Source:
    docs/spec/summaries.md#strategies
"""

from __future__ import annotations

from thusfar.artifacts import Segment
from thusfar.drive import Steps
from thusfar.messages import Message
from thusfar.summaries.accepting import accepted, failed
from thusfar.summaries.asking import Work
from thusfar.summaries.rendering import masked
from thusfar.summaries.values import (
    NativeCall,
    ReadRange,
    Reason,
    SummaryJob,
    SupportAnswer,
    SupportFailure,
)


def make_natively(work: Work, job: SummaryJob) -> Steps[None]:
    """Let the provider summarise the whole range by its own means.

    Raises:
        SummaryFailedError: `SUMMARY_FAILED`, when a text could not be had.
    """
    read: list[tuple[int, Message]] = yield ReadRange(start=0, end=job.messages)
    mask = job.options.redact.apply if job.options.redact else None
    messages = tuple(message if mask is None else masked(message, mask) for _, message in read)
    counted = sum(tokens for _, tokens in job.turns)
    options = job.options
    reasons: list[Reason] = []
    for attempt in range(1, options.attempts + 1):
        call = NativeCall(
            messages=messages,
            input_tokens=counted,
            end=job.messages,
            strategy=options.strategy,
            max_output_tokens=options.max_tokens,
            attempt=attempt,
        )
        answer: SupportAnswer | SupportFailure = yield call
        if answer.request_id:
            work.support.append(answer.request_id)
        judged = accepted(answer, most=options.max_tokens, replaced=counted, measure=job.measure)
        if isinstance(judged, tuple):
            text, tokens = judged
            work.segments.append(Segment(start=0, end=job.messages, text=text, tokens=tokens))
            work.source, work.spent, work.ranges = counted, counted + tokens, 1
            return
        reasons.append(judged)
        work.retried += counted
    cause = answer.error if isinstance(answer, SupportFailure) else None
    raise failed(reasons, call, cause)
