"""The law of support tokens, over conversations of 5,000 messages and any pattern of refreshes."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar import (
    InputBudget,
    Message,
    Runtime,
    Scripted,
    SummaryOptions,
    Thread,
    history,
    plan,
    summarize,
)
from thusfar.artifacts import Artifact, artifact_key, chain_over, identity_of
from thusfar.drive import drive
from thusfar.runtime.keeping import usable
from thusfar.storage.memory import MemoryStore
from thusfar.summaries.making import make_summary
from thusfar.summaries.rendering import quoted
from thusfar.summaries.values import ReadRange, SummaryJob, SupportAnswer, SupportCall
from thusfar.tokens import measure_for

FENCED = re.compile(r"<(?:conversation|summary-so-far)>\n(.*?)\n</", re.DOTALL)
WORDS = measure_for(lambda text: len(text.split()))
MESSAGES = 5_000
TALK = [
    Message(("user", "assistant")[i % 2], " ".join([f"m{i}"] + ["word"] * (5 + i * 7 % 60)))
    for i in range(MESSAGES)
]
CHAINS = chain_over(TALK)
SIZES = [WORDS.text(quoted([(i, message)])) for i, message in enumerate(TALK)]


def spend(strategy: Any, ends: list[int], most: int, share: int) -> tuple[Artifact, int, int]:
    """Refresh at each of these places; count what went to the model and came back."""
    options = SummaryOptions(strategy=strategy, max_tokens=most)
    identity = identity_of(options, model="scripted")
    artifact: Artifact | None = None
    spent = calls = 0
    for end in ends:
        base = artifact.messages if artifact else 0
        borders = sorted({0, base, *range(0, end, 2)})
        job = SummaryJob(
            key=artifact_key(identity.digest, CHAINS[end - 1]),
            identity=identity,
            chain=CHAINS[end - 1],
            messages=end,
            turns=tuple(
                (low, sum(SIZES[low:high]))
                for low, high in zip(borders, [*borders[1:], end], strict=True)
            ),
            options=options,
            measure=WORDS,
            base=artifact,
        )

        def reply(question: Any) -> Any:
            nonlocal spent, calls
            if isinstance(question, ReadRange):
                return [(p, TALK[p]) for p in range(question.start, question.end)]
            assert isinstance(question, SupportCall)
            calls += 1
            # As much as may be accepted: the worst that a willing model can do.
            read = WORDS.text(" ".join(FENCED.findall(question.prompt)))
            allowed = max(1, min(most * share // 100, read * 85 // 100))
            spent += allowed
            return SupportAnswer(text="s " * allowed)

        before = artifact.spent_tokens if artifact else 0
        artifact = drive(make_summary(job), reply)
        assert artifact.spent_tokens >= before
    assert artifact is not None
    return artifact, spent, calls


@pytest.mark.parametrize(
    "strategy",
    [summarize.rolling(), summarize.hierarchical(), summarize.adaptive()],
    ids=lambda strategy: strategy.kind,
)
@given(
    st.sets(st.integers(1, MESSAGES // 2).map(lambda pair: 2 * pair), min_size=1, max_size=25),
    st.integers(40, 600),
    st.integers(1, 87),
)
@settings(max_examples=15, deadline=None)
def test_support_tokens_stay_within_the_law(strategy: Any, ends: set[int], most: int, share: int):
    check_law(strategy, sorted(ends), most, share)


@pytest.mark.parametrize(
    "strategy",
    [summarize.rolling(), summarize.hierarchical(), summarize.adaptive()],
    ids=lambda strategy: strategy.kind,
)
@given(st.integers(1, 10).map(lambda pairs: 2 * pairs), st.integers(40, 300), st.integers(1, 87))
@settings(max_examples=10, deadline=None)
def test_many_small_refreshes_stay_within_the_law(strategy: Any, step: int, most: int, share: int):
    """The same text is rewritten again and again, and read from the messages again in between."""
    check_law(strategy, list(range(step, 80 * step, step)), most, share)


def check_law(strategy: Any, ends: list[int], most: int, share: int) -> None:
    last = ends[-1]
    artifact, output, _ = spend(strategy, ends, most, share)

    n = sum(SIZES[:last])
    mean_range = n / artifact.ranges
    law = n * (1 + 2 * most / mean_range)
    assert artifact.messages == last
    assert artifact.source_tokens == n, "a range was sent twice or left out"
    assert artifact.spent_tokens <= law
    assert output <= artifact.spent_tokens
    assert [s.start for s in artifact.segments] == [0, *(s.end for s in artifact.segments[:-1])]


def test_regenerate_costs_the_whole_range_each_time_and_digest_nothing():
    artifact, _, calls = spend(summarize.regenerate(), [1000, 2000], 500, 50)

    assert artifact.source_tokens == sum(SIZES[:2000])
    assert calls == 2


class Words:
    name = "words"
    confidence = "exact"

    def count_many(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def thorough(**asked: Any) -> str:
    """As much as may be accepted: the worst that a willing model can do."""
    return "s " * min(MOST_TOKENS * 87 // 100, len(asked["prompt"].split()) * 4 // 10)


MOST_TOKENS = 200
GROUP = 20  # messages stored between two requests


@pytest.mark.parametrize(
    "strategy",
    [summarize.rolling(), summarize.hierarchical(), summarize.adaptive()],
    ids=lambda strategy: strategy.kind,
)
def test_a_conversation_of_5000_messages_stays_within_the_law_through_its_plans(strategy: Any):
    model = Scripted(lambda call: thorough(prompt=call.prompt))
    runtime = Runtime(MemoryStore(), summariser=model)
    thread = Thread("long", store=runtime.store)
    arguments: dict[str, Any] = {
        "thread": thread,
        "model": "gpt-4o",
        "counter": Words(),
        "budget": InputBudget(max=6_000),
        "policy": history(recent=40, summary={"strategy": strategy, "max_tokens": MOST_TOKENS}),
        "runtime": runtime,
    }
    sealed: list[Any] = []

    async def main() -> None:
        for low in range(0, MESSAGES, GROUP):
            thread.sync.append(TALK[low : low + GROUP])
            planned = await plan(**arguments)
            sealed.append(planned.receipt)
            await planned.accept()
            await runtime.drain()

    asyncio.run(main())

    rows = runtime.store._spaces["default"].artifacts.values()
    newest = max((usable(row, 0).artifact for row in rows), key=lambda made: made.messages)
    n = sum(SIZES[: newest.messages])
    law = n * (1 + 2 * MOST_TOKENS / (n / newest.ranges))
    fixed = min(len(f"{call.system} {call.prompt}".split()) for call in model.calls)
    sent = sum(len(call.prompt.split()) for call in model.calls)
    assert newest.messages > MESSAGES - 400
    assert newest.source_tokens == n, "a range was sent twice or left out"
    assert newest.spent_tokens <= law
    assert sent - fixed * len(model.calls) <= newest.spent_tokens, "something is not counted"
    assert all(receipt.input_tokens <= 6_000 for receipt in sealed)
    assert all(receipt.history.view.omitted == () for receipt in sealed)
    assert sum("HISTORY_SUMMARY_INLINE" in str(receipt.warnings) for receipt in sealed) == 0
