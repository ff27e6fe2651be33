"""The law of support tokens, over conversations of 5,000 messages and any pattern of refreshes."""

from __future__ import annotations

import asyncio
import re
from itertools import accumulate, pairwise
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
    compact_now_sync,
    dialect,
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
START = re.compile(r"<conversation>\n\[(\d+)\] ")
ASKED = re.compile(r"in at most (\d+) tokens")
WORDS = measure_for(lambda text: len(text.split()))
MESSAGES = 5_000
TALK = [
    Message(("user", "assistant")[i % 2], " ".join([f"m{i}"] + ["word"] * (5 + i * 7 % 60)))
    for i in range(MESSAGES)
]
CHAINS = chain_over(TALK)
THUSFAR = dialect("thusfar")
KEPT_UP = (summarize.rolling(), summarize.hierarchical(), summarize.adaptive())
SIZES = [WORDS.text(quoted([(i, message)])) for i, message in enumerate(TALK)]
TOTALS = list(accumulate(SIZES, initial=0))


def willing(prompt: str, share: int, most: int = 10**6) -> int:
    """A share of what the prompt asks for, as far as it may be accepted.

    100 % is the worst that a model does which does as it is told. One that goes on is accepted up
    to the limit of the policy, which is an eighth more.
    """
    read = WORDS.text(" ".join(FENCED.findall(prompt)))
    return max(1, min(int(ASKED.findall(prompt)[-1]) * share // 100, read * 85 // 100, most))


def spend(
    strategy: Any, ends: list[int], most: int, share: int, fits: int | None = None
) -> tuple[Artifact, int, int]:
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
                (low, TOTALS[high] - TOTALS[low])
                for low, high in zip(borders, [*borders[1:], end], strict=True)
            ),
            options=options,
            measure=WORDS,
            base=artifact,
            fits=fits,
        )

        def reply(question: Any) -> Any:
            nonlocal spent, calls
            if isinstance(question, ReadRange):
                return [(p, TALK[p]) for p in range(question.start, question.end)]
            assert isinstance(question, SupportCall)
            calls += 1
            said = willing(question.prompt, share, most)
            spent += said
            return SupportAnswer(text="s " * said)

        before = artifact.spent_tokens if artifact else 0
        artifact = drive(make_summary(job), reply)
        assert artifact.spent_tokens >= before
    assert artifact is not None
    return artifact, spent, calls


@pytest.mark.parametrize("strategy", KEPT_UP, ids=lambda strategy: strategy.kind)
@given(
    st.sets(st.integers(1, MESSAGES // 2).map(lambda pair: 2 * pair), min_size=1, max_size=25),
    st.integers(40, 600),
    st.integers(1, 120),
)
@settings(max_examples=10, deadline=None)
def test_support_tokens_stay_within_the_law(strategy: Any, ends: set[int], most: int, share: int):
    check_law(strategy, sorted(ends), most, share)


@pytest.mark.parametrize("strategy", KEPT_UP, ids=lambda strategy: strategy.kind)
@pytest.mark.parametrize("share", [120, 100, 45])
@pytest.mark.parametrize("step", [2, 6, 20])
def test_many_small_refreshes_stay_within_the_law(strategy: Any, step: int, share: int):
    """The same text is rewritten again and again, and read from the messages again in between."""
    check_law(strategy, list(range(step, 80 * step, step)), 240, share)


@pytest.mark.parametrize("strategy", KEPT_UP, ids=lambda strategy: strategy.kind)
@pytest.mark.parametrize("share", [120, 100])
def test_a_whole_conversation_of_5000_messages_stays_within_the_law_at_its_worst(
    strategy: Any, share: int
):
    """Every text is as long as it may be: merging is paid for by what is left, or waits."""
    artifact = check_law(strategy, list(range(96, MESSAGES, 96)), 240, share)

    if share == 100:
        assert len(artifact.segments) <= 24, "what is asked for does not pay for merging"


@pytest.mark.parametrize("strategy", KEPT_UP[1:], ids=lambda strategy: strategy.kind)
@pytest.mark.parametrize(("texts", "share"), [(1, 120), (2, 40), (5, 100)])
def test_a_summary_stays_within_the_room_of_its_request_and_within_the_law(
    strategy: Any, texts: int, share: int
):
    """It would else grow with every eighth range, until no request held it any more."""
    artifact = check_law(strategy, list(range(96, MESSAGES, 96)), 240, share, 240 * texts)

    assert sum(segment.tokens for segment in artifact.segments) <= 240 * (texts + 1)


def check_law(
    strategy: Any, ends: list[int], most: int, share: int, fits: int | None = None
) -> Artifact:
    last = ends[-1]
    artifact, output, _ = spend(strategy, ends, most, share, fits)

    n = sum(SIZES[:last])
    mean_range = n / artifact.ranges
    law = n * (1 + 2 * most / mean_range)
    assert artifact.messages == last
    assert artifact.source_tokens == n, "a range was sent twice or left out"
    assert artifact.spent_tokens <= law
    if strategy.kind == "adaptive" and fits is None:
        assert all(s.generation <= 6 + s.level for s in artifact.segments), "drifted too far"
    assert output <= artifact.spent_tokens
    assert [s.start for s in artifact.segments] == [0, *(s.end for s in artifact.segments[:-1])]
    return artifact


def test_regenerate_costs_the_whole_range_each_time_and_digest_nothing():
    artifact, _, calls = spend(summarize.regenerate(), [1000, 2000], 500, 50)

    assert artifact.source_tokens == sum(SIZES[:2000])
    assert calls == 2


class Words:
    name = "words"
    confidence = "exact"

    def count_many(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class Talked:
    """A stored conversation that grows turn by turn, is planned each time and prepared ahead.

    Args:
        strategy: How its older part is summarised.
        most: The maximum of a request.
        max_tokens: Of a summary.
        messages: How many are said.
        at_once: How many are stored between two requests.
    """

    def __init__(
        self, strategy: Any, *, most: int, max_tokens: int, messages: int, at_once: int
    ) -> None:
        self.model = Scripted(lambda call: "s " * willing(call.prompt, 100))
        self.runtime = Runtime(MemoryStore(), summariser=self.model)
        self.receipts: list[Any] = []
        arguments: dict[str, Any] = {
            "thread": Thread("long", store=self.runtime.store),
            "model": "gpt-4o",
            "counter": Words(),
            "budget": InputBudget(max=most),
            "policy": history(recent=40, summary={"strategy": strategy, "max_tokens": max_tokens}),
            "runtime": self.runtime,
        }
        asyncio.run(self._talk(arguments, messages, at_once))

    async def _talk(self, arguments: dict[str, Any], messages: int, at_once: int) -> None:
        for low in range(0, messages, at_once):
            arguments["thread"].sync.append(TALK[low : low + at_once])
            planned = await plan(**arguments)
            self.receipts.append(planned.receipt)
            await planned.accept()
            await self.runtime.drain()

    @property
    def newest(self) -> Artifact:
        rows = self.runtime.store._spaces["default"].artifacts.values()
        found = [kept.artifact for row in rows if (kept := usable(row, 0)) and kept.artifact]
        return max(found, key=lambda made: made.messages)

    @property
    def sent(self) -> int:
        """What went to the model, the fixed words apart."""
        fixed = min(len(f"{call.system} {call.prompt}".split()) for call in self.model.calls)
        said = sum(len(call.prompt.split()) for call in self.model.calls)
        return said - fixed * len(self.model.calls)


@pytest.mark.parametrize("strategy", KEPT_UP, ids=lambda strategy: strategy.kind)
def test_a_conversation_of_5000_messages_stays_within_the_law_through_its_plans(strategy: Any):
    most = 200
    talked = Talked(strategy, most=8_000, max_tokens=most, messages=MESSAGES, at_once=20)

    newest = talked.newest
    n = sum(SIZES[: newest.messages])
    assert newest.messages > MESSAGES - 400
    assert newest.source_tokens == n, "a range was sent twice or left out"
    assert newest.spent_tokens <= n * (1 + 2 * most / (n / newest.ranges))
    assert talked.sent <= newest.spent_tokens, "something is not counted"
    assert all(receipt.input_tokens <= 8_000 for receipt in talked.receipts)
    assert all(receipt.history.view.omitted == () for receipt in talked.receipts)
    assert not any("HISTORY_SUMMARY_INLINE" in str(r.warnings) for r in talked.receipts)


@pytest.mark.parametrize("max_tokens", [100, 200])
def test_a_refresh_ahead_is_worth_two_summaries_so_that_all_cost_at_most_as_much_again(
    max_tokens: int,
):
    """Also where every request is above the mark, and would like a newer summary at once.

    So it is while a range is one piece; eight turns hold 500 tokens and more here.
    """
    most = 2_000 + max_tokens
    talked = Talked(summarize.rolling(), most=most, max_tokens=max_tokens, messages=600, at_once=2)

    newest = talked.newest
    n = sum(SIZES[: newest.messages])
    covered = sorted({receipt.history.covered for receipt in talked.receipts})
    assert len(covered) > 600 * 30 // (4 * max_tokens), "hardly ever refreshed"
    refreshed = [sum(SIZES[low:high]) for low, high in pairwise(covered)]
    assert min(refreshed) >= 2 * max_tokens
    assert newest.spent_tokens <= 2 * n
    assert talked.sent <= newest.spent_tokens
    marks = [receipt.input_tokens > most * 3 // 4 for receipt in talked.receipts[-100:]]
    assert sum(marks) > 80, "no request was pressed"


@pytest.mark.parametrize("strategy", KEPT_UP, ids=lambda strategy: strategy.kind)
def test_a_conversation_goes_on_however_small_the_window_is(strategy: Any):
    """The room beside the exact part holds one text of the summary, and never eight."""
    talked = Talked(strategy, most=2_600, max_tokens=240, messages=1_200, at_once=12)

    assert all(receipt.input_tokens <= 2_600 for receipt in talked.receipts)
    assert talked.newest.source_tokens == sum(SIZES[: talked.newest.messages])
    n = talked.newest.source_tokens
    assert talked.newest.spent_tokens <= n + 2 * 240 * talked.newest.ranges


def test_a_receipt_states_how_far_an_adaptive_summary_has_drifted_and_what_bounds_it():
    adaptive = Talked(summarize.adaptive(), most=2_800, max_tokens=100, messages=400, at_once=2)
    rolling = Talked(summarize.rolling(), most=2_100, max_tokens=100, messages=200, at_once=2)

    stated = [receipt.history for receipt in adaptive.receipts if receipt.history.covered]
    assert {history.drift_bound for history in stated} == {6}
    merges = max(segment.level for segment in adaptive.newest.segments)
    assert 6 <= max(history.generation for history in stated) <= 6 + merges
    assert stated[-1].generation == adaptive.newest.generation
    (bound,) = {receipt.history.drift_bound for receipt in rolling.receipts}
    assert bound is None
    assert rolling.receipts[-1].history.generation == rolling.newest.ranges - 1


def test_a_drifted_summary_of_a_long_thread_is_made_from_its_messages_again():
    """Also from messages that are further back than what a plan reads."""
    model = Scripted(lambda call: "s " * (willing(call.prompt, 60) // 2))
    runtime = Runtime(MemoryStore(), summariser=model)
    thread = Thread("long", store=runtime.store)
    policy = history(recent=2, summary={"max_tokens": 300})
    for low in range(0, 480, 12):
        short = [Message(("user", "assistant")[i % 2], f"m{low + i} is short") for i in range(12)]
        thread.sync.append(short)
        compact_now_sync(
            thread=thread, model="gpt-4o", counter=Words(), policy=policy, runtime=runtime
        )

    starts = [int(found[1]) for call in model.calls if (found := START.search(call.prompt))]
    back = [sooner - later for sooner, later in pairwise(starts) if later < sooner]
    assert max(back) >= 72, "nothing was read again"


def test_a_receipt_states_what_regenerating_costs():
    talked = Talked(summarize.regenerate(), most=2_100, max_tokens=100, messages=160, at_once=2)

    last, made = talked.receipts[-1].history, talked.newest
    assert talked.receipts[0].history.regenerate_tokens is None
    assert made.source_tokens == sum(SIZES[: made.messages])
    read = sum(SIZES[: last.covered])
    newer = sum(WORDS.count(THUSFAR, TALK[last.covered : 160 - 40]))
    assert last.regenerate_tokens == read + newer
