"""Refusing: the typed errors of a request that does not fit, with counts and the way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thusfar._history import ExactHistory, ManagedHistory
from thusfar.errors import (
    Diagnostic,
    RepresentationUnavailableError,
    RequestTooLargeError,
    SummaryFailedError,
)
from thusfar.planner.facts import RequestFacts
from thusfar.planner.pages import Pages
from thusfar.planner.selection import Ladder, least_total
from thusfar.planner.sizes import trust_in
from thusfar.summaries.values import SummaryJob
from thusfar.tokens.confidence import Confidence

LARGEST_SHOWN: Final = 3


def smallest_total(ladders: Sequence[Ladder], fixed: int, *, ready: bool = False) -> int:
    """Add up the smallest form of everything.

    Args:
        ladders: All contributors.
        fixed: Tokens of everything without a ladder.
        ready: Whether only what can be used now counts.
    """
    usable = [
        [rung for rung in ladder.rungs if not ready or rung.state == "ready"] or ladder.rungs
        for ladder in ladders
    ]
    return least_total(usable, fixed)


def too_large(
    facts: RequestFacts, ladders: Sequence[Ladder], parts: dict[str, int], limit: int | None
) -> RequestTooLargeError:
    """Make the error for a request of which no authorised form fits."""
    smallest = smallest_total(ladders, sum(parts.values()))
    exact = facts.policy is None or isinstance(facts.policy, ExactHistory)
    remedy = (
        "Authorise a shorter view with history.recent() or history(), or raise the limit."
        if exact and facts.source.kind != "none"
        else "Raise the limit, cut exact input, reserve less output, or authorise a lower form."
    )
    classes = {**parts, **{each.contributor: _least(each) for each in ladders}}
    trusted = _trust(facts)
    largest = sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    diagnostics = [
        Diagnostic(
            code="REQUEST_INPUT_LIMIT",
            message=f"The request needed {smallest:,} input tokens of {limit or 0:,}.",
            facts={"input_tokens": smallest, "max_input_tokens": limit},
        ),
        *(
            Diagnostic(
                code="LARGEST_REQUIRED_CONTRIBUTOR",
                message=f"{name} took at least {tokens:,} tokens.",
                facts={"contributor": name, "tokens": tokens},
            )
            for name, tokens in largest[:LARGEST_SHOWN]
            if tokens
        ),
        Diagnostic(
            code="HISTORY_EXACT_REMEDY" if exact else "EXACT_REPRESENTATION_EXHAUSTED",
            message=remedy,
        ),
    ]
    return RequestTooLargeError(
        f"The request needed {smallest:,} input tokens ({trusted}), and the "
        f"limit is {limit or 0:,}.",
        fix=remedy,
        diagnostics=tuple(diagnostics),
        request_id=facts.request_id,
        input_tokens=smallest,
        max_input_tokens=limit,
        confidence=trusted,
    )


def _trust(facts: RequestFacts) -> Confidence:
    """Say how far the sizes of all forms can be trusted, as far as messages were read."""
    messages = facts.source.messages
    read = () if isinstance(messages, Pages) else messages
    beside = bool(facts.system or facts.tools or facts.schema is not None or facts.use)
    return trust_in(facts.measure, facts.dialect, (*read, *facts.turn), beside=beside)


def _least(ladder: Ladder) -> int:
    return min(rung.tokens for rung in ladder.rungs)


def unavailable(
    facts: RequestFacts,
    ladders: Sequence[Ladder],
    fixed: int,
    limit: int | None,
    failures: Sequence[Exception],
) -> RepresentationUnavailableError:
    """Make the error for a form that would fit and is not ready."""
    ready = smallest_total(ladders, fixed, ready=True)
    missing = [
        Diagnostic(
            code="REPRESENTATION_CAPABILITY_UNAVAILABLE",
            message=f"The {rung.kind} of {ladder.contributor} was not ready.",
            facts={"contributor": ladder.contributor, "representation": rung.kind},
        )
        for ladder in ladders
        for rung in ladder.rungs
        if rung.state != "ready"
    ]
    error = RepresentationUnavailableError(
        f"The smallest form that was ready needed {ready:,} input tokens of {limit or 0:,}, and "
        "a smaller one that is authorised could not be had.",
        fix=_way_out(facts, failures),
        diagnostics=tuple(missing),
        request_id=facts.request_id,
        input_tokens=ready,
        max_input_tokens=limit,
        failures=len(failures),
    )
    error.__cause__ = failures[-1] if failures else None
    return error


def not_shorter(job: SummaryJob) -> SummaryFailedError:
    """Make the error for a summary that is not shorter than what it stands for."""
    return SummaryFailedError(
        "A summary was not shorter than the messages it stands for.",
        fix="Keep more messages exactly, or lower max_tokens= of the summary.",
        reason="not-shorter",
        messages=job.messages,
    )


def _way_out(facts: RequestFacts, failures: Sequence[Exception]) -> str:
    if failures:
        return "See the cause; correct the summary model or authorise a form that needs none."
    policy = facts.policy
    if isinstance(policy, ManagedHistory) and policy.options.on_miss == "fail":
        return "Prepare the summary with compact_now(), or allow on_miss='inline'."
    if isinstance(policy, ManagedHistory) and not (facts.summary and facts.summary.callable):
        return (
            "Pass a model that can be called, not only its name: Runtime(summariser=...) or "
            "summary={'model': ...}; or use summary=summarize.digest(), which needs none."
        )
    return "Give the plan a store and a summary model, or authorise a form that needs none."
