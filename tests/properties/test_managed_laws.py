"""Laws of managed history with the digest: nothing disappears, nothing is covered twice."""

from __future__ import annotations

import copy
import re

from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from thusfar import (
    InputBudget,
    RequestCompositionError,
    RequestTooLargeError,
    dialect,
    history,
    per_message,
    plan_sync,
    summarize,
)
from thusfar.testing import transcripts

OPENAI = dialect("openai-chat")
FREE_SUMMARY = per_message(
    lambda m: 1 if "history-summary" in str(m.get("content")) else 100, name="free summary"
)


def quarters(text: str) -> int:
    return -(-len(text) // 4)


CUTS = st.sampled_from(["auto", "turn", "exchange"])


def positions(ranges):
    return [p for a, b in ranges for p in range(a, b)]


def project(messages, recent, cut, **more):
    policy = history(recent=history.recent(recent, cut=cut, **more), summary=summarize.digest())
    return policy.project(messages, dialect="openai-chat", counter=FREE_SUMMARY)


@given(transcripts(), st.integers(1, 12), CUTS)
@settings(max_examples=150)
def test_every_message_is_sent_exactly_or_stood_for_by_the_summary(messages, recent, cut):
    before = copy.deepcopy(messages)

    projection = project(messages, recent, cut)

    receipt = projection.receipt
    kept, covered = positions(receipt.kept), positions(receipt.summarised)
    assert sorted(kept + covered) == list(range(len(messages)))
    assert receipt.omitted == ()
    assert messages == before
    own = [m for m in projection.messages if any(m is mine for mine in messages)]
    assert [id(m) for m in own] == [id(messages[p]) for p in kept]
    assert len(projection.messages) == len(own) + receipt.added


@given(transcripts(), st.integers(1, 12), CUTS)
@settings(max_examples=150)
def test_the_digest_has_one_line_for_each_covered_exchange(messages, recent, cut):
    projection = project(messages, recent, cut)
    receipt = projection.receipt
    if not receipt.summarised:
        return

    text = projection.messages[receipt.system]["content"]

    end = int(re.search(r"\[covers messages \d+-(\d+)\]", text)[1]) + 1
    found = oracle.structure([OPENAI.describe(m) for m in messages])
    expected = [a for a, b in found.exchanges if b <= end]
    lines = text.splitlines()[2:-2]  # behind the mark and the head, before the range and the mark
    assert [int(re.match(r"\d+", line)[0]) for line in lines] == expected
    assert all(len(line) <= 200 for line in lines)
    assert projection.messages[receipt.system]["role"] == "assistant"


@given(transcripts(), st.integers(1, 12), CUTS)
def test_the_exact_part_is_the_recent_view_of_the_same_options(messages, recent, cut):
    managed = project(messages, recent, cut).receipt
    suffix = history.recent(recent, cut=cut).project(messages, dialect="openai-chat").receipt

    if managed.summarised:
        assert managed.kept == suffix.kept
        assert managed.summarised == suffix.omitted


@given(transcripts(defects=True), st.integers(1, 12), CUTS)
@settings(max_examples=150)
def test_a_defect_anywhere_is_refused_or_repaired(messages, recent, cut):
    defective = oracle.structure([OPENAI.describe(m) for m in messages]).defects

    try:
        project(messages, recent, cut)
    except RequestCompositionError as error:
        assert list(error.diagnostics[0].positions) == sorted(defective)
    else:
        assert not defective
    for repair in ("drop", "close"):
        view = project(messages, recent, cut, repair=repair).messages
        assert not oracle.structure([OPENAI.describe(m) for m in view]).defects


@given(transcripts(max_turns=10), st.integers(20, 400))
@settings(max_examples=150)
def test_with_a_budget_the_view_is_under_the_maximum_or_refused_with_numbers(messages, most):
    policy = history(summary=summarize.digest())

    try:
        projection = policy.project(messages, dialect="openai-chat", budget=InputBudget(max=most))
    except RequestCompositionError as error:
        assert error.code == "REQUEST_TOO_LARGE"
        assert error.facts["input_tokens"] > error.facts["max_input_tokens"] == most
    else:
        assert projection.receipt.tokens.tokens <= most
        full = history.exact().project(messages, dialect="openai-chat").measured().receipt.tokens
        if full.tokens <= 0.8 * most:
            assert projection.messages == messages, "fidelity was given away that fitted"


@given(
    transcripts(),
    st.integers(1, 12),
    CUTS,
    st.sampled_from([40, 100, 200]),
    st.sampled_from(["inline", "recent-only", "fail"]),
    st.integers(20, 1_500),
    st.integers(40, 100),
)
@settings(max_examples=200, deadline=None)
def test_a_projection_decides_about_a_digest_as_a_plan_does(
    messages, recent, cut, chars, on_miss, most, share
):
    policy = history(
        recent=history.recent(recent, cut=cut),
        summary=summarize.digest(line_max_chars=chars),
        on_miss=on_miss,
    )
    budget = InputBudget(max=most, optimize_at=max(1, most * share // 100))
    said = {"dialect": "openai-chat", "counter": quarters, "budget": budget}

    try:
        planned = plan_sync(messages, model="answering", policy=policy, **said).receipt
    except RequestTooLargeError:
        return
    if planned.placement:  # what it adds is not projected
        return
    view, found = planned.history.view, policy.project(messages, **said).receipt

    assert (found.kept, found.summarised, found.omitted) == (
        *(view.kept, view.summarised, view.omitted),
    )
    assert found.tokens.tokens == planned.input_tokens
