"""Every recorded transcript plans: within its budget, explained, on its own wire, untouched."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from readers import Transcript, transcripts
from shared_data import needs_shared
from thusfar import InputBudget, Runtime, Scripted, history, plan_sync, summarize
from thusfar.dialects import dialect as dialect_named
from thusfar.errors import (
    RequestCompositionError,
    RequestTooLargeError,
)
from thusfar.tokens import measure_for

pytestmark = needs_shared

MEASURE = measure_for()
LEAST_TOKENS = 400  # shorter transcripts have nothing to summarise
STRATEGIES = {
    "adaptive": summarize.adaptive(),
    "hierarchical": summarize.hierarchical(),
    "rolling": summarize.rolling(),
    "digest": summarize.digest(line_max_chars=80),
}


@pytest.fixture(scope="module")
def corpus() -> list[Transcript]:
    found = [each for each in transcripts() if _size(each) >= LEAST_TOKENS]
    assert len(found) > 20, "the shared data is here and hardly any transcript was read"
    return found


def _size(each: Transcript) -> int:
    return sum(MEASURE.count(dialect_named(each.dialect), each.messages))


def expand(ranges: Any) -> list[int]:
    return [position for start, end in ranges for position in range(start, end)]


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=list(STRATEGIES))
@pytest.mark.parametrize("share", [30, 60])
def test_a_recorded_transcript_is_planned_within_a_share_of_its_size(
    corpus: list[Transcript], strategy: Any, share: int, capsys: pytest.CaptureFixture[str]
):
    planned_count = refused = 0
    for each in corpus:
        full = _size(each)
        most = full * share // 100
        before = copy.deepcopy(list(each.messages)) if len(each.messages) < 200 else None
        policy = history(
            recent=history.recent(tokens=max(1, most // 2), repair="close"),
            summary={"model": Scripted("What was said."), "strategy": strategy},
        )
        try:
            planned = plan_sync(
                each.messages,
                model="answering",
                dialect=each.dialect,
                counter=MEASURE,
                budget=InputBudget(max=most),
                policy=policy,
                runtime=Runtime(),
            )
        except RequestTooLargeError as error:  # the newest unit alone may be larger than the share
            assert error.facts["input_tokens"] > most, each.name
            refused += 1
            continue
        except RequestCompositionError as error:
            pytest.fail(f"{each.name}: {error.code}")
        view = planned.receipt.history.view
        gone = expand([(r.position, r.position + 1) for r in view.repairs if r.kind == "dropped"])
        explained = expand(view.kept) + expand(view.summarised) + expand(view.omitted)
        assert planned.receipt.input_tokens <= most, each.name
        assert sorted({*explained, *gone}) == list(range(len(each.messages))), each.name
        assert len(explained) == len(set(explained)), each.name
        assert view.omitted == (), each.name
        if before is not None:
            assert list(each.messages) == before, each.name
        json.dumps(planned.receipt.to_json())
        planned_count += 1
    with capsys.disabled():
        print(f"\n{strategy.kind} at {share} %: {planned_count} planned, {refused} refused")
    assert planned_count + refused == len(corpus)
    assert planned_count > len(corpus) // 8
