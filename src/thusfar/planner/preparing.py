"""Preparing: whether a newer summary should be made ahead, and making it; the same questions.

It runs after a response, over the transcript with the response in it.

Source:
    docs/spec/planner.md#preparation
"""

from __future__ import annotations

from typing import Any, Final

from thusfar.artifacts import Artifact
from thusfar.drive import Steps
from thusfar.planner.facts import RequestFacts
from thusfar.planner.histories import History, find_artifacts, history_of, room_for_summary
from thusfar.planner.ladders import ladders_of
from thusfar.planner.pages import NeedMessages
from thusfar.planner.planning import fixed_parts
from thusfar.planner.questions import Prepare, Prepared, ReadMessages
from thusfar.planner.refusing import smallest_total
from thusfar.planner.selection import total

LEAST_REFRESH: Final = 2  # accepted texts that a new range is worth: refreshes then cost at most n


def prepare_steps(facts: RequestFacts, *, force: bool = False) -> Steps[Prepared | None]:
    """Make the summary for the coming cut, where the next request would gain from it.

    Args:
        facts: As for a plan; `turn` holds what was said since, and the response.
        force: Make it however small the gain; for preparation on demand.

    Returns:
        What was prepared; `None` where nothing had to be.

    Raises:
        SummaryFailedError: `SUMMARY_FAILED`, when the summary could not be had.
        RequestCompositionError: `INVALID_COMPOSITION`, for a defective transcript.
    """
    while True:
        try:
            return (yield from _prepare(facts, force=force))
        except NeedMessages as more:
            yield ReadMessages(low=more.low)


def _prepare(facts: RequestFacts, *, force: bool) -> Steps[Prepared | None]:
    history: History = history_of(facts)
    forms = history.forms
    if forms is None or not forms.coverable() or facts.summary is None:
        return None
    fixed, others = sum(fixed_parts(facts).values()), ladders_of(facts.use, facts)
    beside = smallest_total(others, fixed)
    fixed = total({ladder.contributor: ladder.rungs[0] for ladder in others}, fixed)
    mark = facts.limits.prepare_at
    if not force and (mark is None or fixed + forms.full().tokens <= mark):
        return None
    if facts.summary.rest_seconds and not force:
        return None
    found = yield from find_artifacts(forms, facts.summary.identity.digest)
    newest: Artifact | None = found.artifacts[0] if found.artifacts else None
    begin = newest.messages if newest else 0
    if begin >= forms.cut - forms.system:
        return None
    if not force:
        form = forms.summarised(newest) if newest else None
        if form is not None and mark is not None and fixed + form.tokens <= mark:
            return None
        gained = forms.weigh(((forms.system + begin, forms.cut),))
        if gained < LEAST_REFRESH * forms.summary.max_tokens:
            return None
    job = forms.job(newest, fits=room_for_summary(forms, beside))
    if job is None:
        return None
    answer: Any = yield Prepare(job=job, read=forms.read)
    return answer if isinstance(answer, Prepared) else None
