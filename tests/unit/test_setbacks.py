"""A summary model that fails: waits between attempts, and a rest after all of them failed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from thusfar import (
    Runtime,
    compact_now_sync,
    droppable,
    history,
    per_message,
    plan,
    plan_sync,
    preview_sync,
    summarizable,
)
from thusfar.budget import InputBudget
from thusfar.errors import ProviderError, RepresentationUnavailableError, SummaryFailedError
from thusfar.planner.contributors import context
from thusfar.runtime.setbacks import (
    LONGEST_BACKOFF,
    LONGEST_WAIT,
    REMEMBERED,
    Setbacks,
    asked_wait,
    wait_before,
)
from thusfar.storage import MemoryStore


def refused(seconds: Any) -> ProviderError:
    """What an adapter raises where its provider says when to come back."""
    return ProviderError("No more for now.", fix="Wait.", retry_after_seconds=seconds)


class Failing:
    """A summary model that raises what it is given, and then answers."""

    name = "failing"
    window = None

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def generate_text(self, **_: Any) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "What was said."


class Place:
    """A runtime whose time is a list of waits and a clock that is set."""

    def __init__(self) -> None:
        self.now = 1_000_000
        self.waits: list[float] = []
        self.store = MemoryStore(clock=lambda: self.now)
        self.runtime = Runtime(self.store, sleep=self.waits.append)


def transcript(messages: int = 12) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[i % 2], "content": f"message {i} about many things"}
        for i in range(messages)
    ]


def arguments(model: Any, place: Place, *, most: int = 1000, **options: Any) -> dict[str, Any]:
    summary = {"model": model, "max_tokens": 100, **options.pop("summary", {})}
    return {
        "model": "gpt-4o",
        "counter": per_message(lambda m: 50 if "history-summary" in str(m) else 100),
        "budget": InputBudget(max=most),
        "policy": history(recent=4, summary=summary, **options),
        "runtime": place.runtime,
    }


def codes(planned: Any) -> list[str]:
    return [warning.code for warning in planned.receipt.warnings]


def test_the_next_attempt_waits_a_little_longer_each_time_up_to_a_limit():
    place, model = Place(), Failing(*[RuntimeError("no")] * 9)

    planned = plan_sync(transcript(), **arguments(model, place, summary={"attempts": 10}))

    assert planned.receipt.history.covered == 8
    assert place.waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


def test_async_code_waits_as_long():
    place, model = Place(), Failing(RuntimeError("no"))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    place.runtime.sleep = sleep

    planned = asyncio.run(plan(transcript(), **arguments(model, place)))

    assert planned.receipt.history.covered == 8
    assert slept == [0.1]


def test_a_provider_that_says_when_is_asked_then():
    place, model = Place(), Failing(refused(7))

    plan_sync(transcript(), **arguments(model, place))

    assert place.waits == [7.0]
    assert model.calls == 2


def test_a_provider_that_asks_for_a_long_rest_is_not_asked_again_in_this_request():
    place, model = Place(), Failing(refused(3_600), refused(3_600))

    with pytest.raises(RepresentationUnavailableError) as raised:
        plan_sync(transcript(), **arguments(model, place, summary={"attempts": 5}))

    assert isinstance(raised.value.__cause__, SummaryFailedError)
    assert raised.value.__cause__.facts["reasons"] == ("raised",) * 5
    assert (model.calls, place.waits) == (1, [])
    place.now += 3_599_000
    planned = plan_sync(transcript(10), **arguments(model, place, most=1_100))
    assert codes(planned) == ["SUMMARY_MODEL_RESTING"]


def test_a_refused_text_is_asked_for_again_at_once():
    place = Place()
    texts = ["", "What was said."]

    def model(**_: Any) -> str:
        return texts.pop(0)

    plan_sync(transcript(), **arguments(model, place, summary={"name": "model"}))

    assert place.waits == []


def test_a_model_that_failed_is_left_alone_while_something_else_fits():
    place, model = Place(), Failing(*[RuntimeError("no")] * 4)
    said = arguments(model, place, offload=True)

    first = plan_sync(transcript(), **said)
    second = plan_sync(transcript(), **said)

    assert [a.representation for a in first.receipt.adaptations] == ["offload"]
    assert codes(first) == ["HISTORY_SUMMARY_FAILED"]
    assert [a.representation for a in second.receipt.adaptations] == ["offload"]
    assert codes(second) == ["SUMMARY_MODEL_RESTING"]
    assert second.receipt.warnings[0].facts == {"seconds": 60}
    assert model.calls == 2
    assert preview_sync(transcript(), **said).warnings == second.receipt.warnings


def test_the_rest_ends_with_its_time():
    place, model = Place(), Failing(*[RuntimeError("no")] * 2)
    said = arguments(model, place, offload=True)
    plan_sync(transcript(), **said)

    place.now += 59_001
    assert plan_sync(transcript(), **said).receipt.warnings[0].facts == {"seconds": 1}
    place.now += 999
    planned = plan_sync(transcript(), **said)

    assert codes(planned) == ["HISTORY_SUMMARY_INLINE"]
    assert model.calls == 3


def test_a_model_that_fails_again_rests_longer_up_to_a_limit():
    place, model = Place(), Failing(*[RuntimeError("no")] * 99)
    said = arguments(model, place, offload=True, summary={"attempts": 1})
    rests = []
    for _ in range(5):
        plan_sync(transcript(), **said)
        rests.append(int(plan_sync(transcript(), **said).receipt.warnings[0].facts["seconds"]))
        place.now += rests[-1] * 1_000

    assert rests == [60, 120, 240, 300, 300]
    assert model.calls == 5


def test_what_is_not_the_models_fault_lets_nobody_rest():
    async def main() -> None:
        place = Place()
        gate = asyncio.Event()

        async def model(**_: Any) -> str:
            gate.set()
            await asyncio.sleep(3600)
            return ""

        said = arguments(model, place, offload=True, summary={"name": "model"})
        for _ in range(3):
            gate.clear()
            task = asyncio.create_task(plan(transcript(), **said))
            await gate.wait()
            for other in asyncio.all_tasks() - {asyncio.current_task()}:
                other.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await place.runtime.drain()

        working = arguments(Failing(), place, offload=True)
        assert codes(await plan(transcript(), **working)) == ["HISTORY_SUMMARY_INLINE"]
        assert preview_sync(transcript(), **said).status == "unknown"

    asyncio.run(main())


def test_a_request_that_cannot_be_sent_without_it_asks_all_the_same():
    place, model = Place(), Failing(*[RuntimeError("no")] * 2)
    said = arguments(model, place)

    with pytest.raises(RepresentationUnavailableError):
        plan_sync(transcript(), **said)
    planned = plan_sync(transcript(), **said)

    assert codes(planned) == ["HISTORY_SUMMARY_INLINE"]
    assert model.calls == 3
    assert plan_sync(transcript(14), **said).receipt.history.covered in (8, 10)


def test_an_answer_ends_the_rest():
    place, model = Place(), Failing(*[RuntimeError("no")] * 2)
    plan_sync(transcript(), **arguments(model, place, offload=True))

    compact_now_sync(transcript(), **arguments(model, place))

    assert codes(plan_sync(transcript(14), **arguments(model, place, offload=True))) == [
        "HISTORY_SUMMARY_STALE"
    ]
    planned = plan_sync(transcript(20), **arguments(model, place, offload=True))
    assert "SUMMARY_MODEL_RESTING" not in codes(planned)


def test_nothing_is_prepared_ahead_while_a_model_rests():
    async def main() -> None:
        place, model = Place(), Failing(*[RuntimeError("no")] * 99)
        said = arguments(model, place, most=1_200)
        for _ in range(5):
            planned = await plan(transcript(10), **said)
            accepted = await planned.accept({"role": "assistant", "content": "ok"})
            await place.runtime.drain()

        assert model.calls == 2, "the first preparation failed, and no other was tried"
        assert not accepted.preparing
        assert codes(planned) == ["SUMMARY_MODEL_RESTING"]

    asyncio.run(main())


def test_a_contributor_whose_model_rests_takes_its_next_form():
    place, model = Place(), Failing(*[RuntimeError("no")] * 4)
    notes = droppable(
        summarizable(context("notes", "many words " * 200), model=model, max_tokens=20)
    )
    said = {
        "model": "gpt-4o",
        "budget": InputBudget(max=300),
        "use": [notes],
        "runtime": place.runtime,
    }

    first = plan_sync(transcript(2), **said)
    second = plan_sync(transcript(2), **said)

    assert [a.representation for a in first.receipt.adaptations] == ["omitted"]
    assert [a.representation for a in second.receipt.adaptations] == ["omitted"]
    assert codes(second) == ["SUMMARY_MODEL_RESTING"]
    assert model.calls == 2


def test_another_way_to_make_summaries_does_not_rest():
    place, model = Place(), Failing(*[RuntimeError("no")] * 2)
    plan_sync(transcript(), **arguments(model, place, offload=True))

    other = arguments(model, place, offload=True, summary={"max_tokens": 99})

    assert codes(plan_sync(transcript(), **other)) == ["HISTORY_SUMMARY_INLINE"]


def test_what_an_error_says_of_its_rest_is_found_in_its_causes_and_nothing_else_is_read():
    deep = SummaryFailedError("It failed.", fix="Try again.")
    deep.__cause__ = refused(2.5)

    assert asked_wait(deep) == 2.5
    for wrong in (-1, True, "7", None, float("nan")):
        assert asked_wait(refused(wrong)) is None
    assert asked_wait(RuntimeError("no")) is None
    assert asked_wait(None) is None


def test_waits_are_bounded_whatever_the_attempt():
    assert wait_before(2, None) == 0.0
    assert wait_before(10_000, RuntimeError()) == LONGEST_BACKOFF
    assert wait_before(2, refused(LONGEST_WAIT)) == LONGEST_WAIT
    assert wait_before(2, refused(LONGEST_WAIT + 1)) is None


def test_setbacks_are_bounded_and_the_longest_rest_holds():
    setbacks = Setbacks()
    setbacks.failed("a", now=0, error=refused(600))
    setbacks.failed("a", now=1_000, error=RuntimeError("no"))
    assert setbacks.rest("a", now=1_000) == 599
    for i in range(REMEMBERED):
        setbacks.failed(str(i), now=0, error=RuntimeError("no"))
    assert setbacks.rest("a", now=0) == 0
    assert setbacks.rest("0", now=0) == 60
