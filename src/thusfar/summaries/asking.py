"""Asking: one support call after another, what they cost, and what is accepted of them. Pure.

Source:
    docs/spec/summaries.md#support-calls
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from thusfar.artifacts import Segment
from thusfar.drive import Steps
from thusfar.summaries.accepting import accepted, failed
from thusfar.summaries.instructions import system_words, update_prompt
from thusfar.summaries.values import (
    OUTPUT_ROOM,
    Purpose,
    Reason,
    SourceJob,
    SummaryJob,
    SupportAnswer,
    SupportCall,
    SupportFailure,
)

LEAST_DATA: Final = 64  # tokens of data that a call must have room for


@dataclass(slots=True)
class Work:
    """The state of one job.

    Attributes:
        job: What is to be made.
        segments: What was made so far, oldest first.
        source: As `source_tokens` on the artifact.
        spent: As `spent_tokens` on the artifact.
        retried: As `retried_tokens` on the artifact.
        ranges: As on the artifact.
        clipped: As on the artifact.
        support: Ids of the calls.
    """

    job: SummaryJob | SourceJob
    segments: list[Segment] = field(default_factory=list)
    source: int = 0
    spent: int = 0
    retried: int = 0
    ranges: int = 0
    clipped: int = 0
    support: list[str] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Tokens of all segments."""
        return sum(segment.tokens for segment in self.segments)

    @property
    def saved(self) -> int:
        """What the law of support tokens allows and was not spent."""
        return self.source + 2 * self.job.options.max_tokens * self.ranges - self.spent

    def ask(
        self,
        purpose: Purpose,
        prompt: str,
        *,
        cost: int,
        most: int,
        replaced: int,
        span: tuple[int, int] = (0, 0),
    ) -> Steps[tuple[str, int]]:
        """Ask for a text until one is accepted or the attempts are used up.

        Args:
            purpose: What it is for.
            prompt: The words of the user.
            cost: Tokens of data in it.
            most: Most tokens of an accepted text.
            replaced: Tokens of what the text would stand for.
            span: The range it is about.

        Returns:
            The text with its size.

        Raises:
            SummaryFailedError: `SUMMARY_FAILED`, with the cause of the last attempt.
        """
        options, measure = self.job.options, self.job.measure
        system = system_words(options.instructions)
        size = measure.text(system) + measure.text(prompt)
        reasons: list[Reason] = []
        cause: Exception | None = None
        for attempt in range(1, options.attempts + 1):
            call = SupportCall(
                purpose=purpose,
                system=system,
                prompt=prompt,
                max_output_tokens=options.max_tokens * OUTPUT_ROOM,
                input_tokens=size,
                start=span[0],
                end=span[1],
                attempt=attempt,
            )
            answer: SupportAnswer | SupportFailure = yield call
            if answer.request_id:
                self.support.append(answer.request_id)
            judged = accepted(answer, most=most, replaced=replaced, measure=measure)
            if isinstance(judged, tuple):
                self.spent += cost + judged[1]
                return judged
            self.retried += cost
            if isinstance(answer, SupportAnswer):
                self.retried += measure.text(answer.text)
            cause = answer.error if isinstance(answer, SupportFailure) else None
            reasons.append(judged)
        raise failed(reasons, call, cause)


def room_for_data(job: SummaryJob | SourceJob, *, carried: int) -> int:
    """Compute how many tokens of data a call of this job may hold.

    Args:
        job: What is to be made.
        carried: Most tokens of summaries that the call carries as well.
    """
    if job.room is None:
        return 2**53 - 1
    words = job.measure.text(system_words(job.options.instructions))
    words += job.measure.text(update_prompt("", "", most=job.options.max_tokens))
    return max(LEAST_DATA, job.room - words - carried)
