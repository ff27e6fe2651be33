"""A summary model that keeps failing is left alone for a while, and asked again after that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Runtime,
    SummaryFailedError,
    compact_now_sync,
    history,
    plan,
    plan_sync,
)
from thusfar.errors import RepresentationUnavailableError
from thusfar.storage.memory import MemoryStore


def count_words(text: str) -> int:
    return len(text.split())


def talk(count: int) -> list[dict[str, Any]]:
    body = " ".join(["word"] * 9)
    return [{"role": ("user", "assistant")[i % 2], "content": f"m{i} {body}"} for i in range(count)]


class Setting:
    """Plans with a summary model that fails while it is told to, at a time that is set here."""

    def __init__(self, **options: Any) -> None:
        self.now = 1_000_000
        self.asked = 0
        self.failing = True
        self.runtime = Runtime(MemoryStore(clock=lambda: self.now))
        self.runtime.durable = True
        summary = {"model": self.answer, "name": "small", "attempts": 1, "max_tokens": 20}
        self.arguments: dict[str, Any] = {
            "model": "gpt-4o",
            "counter": count_words,
            "budget": InputBudget(max=100),
            "policy": history(recent=4, summary=summary, **options),
            "runtime": self.runtime,
        }

    def answer(self, **_: Any) -> str:
        self.asked += 1
        if self.failing:
            raise OSError("SECRET")
        return "They talked."

    def refused(self) -> Any:
        with pytest.raises(RepresentationUnavailableError) as raised:
            plan_sync(talk(12), **self.arguments)
        return raised.value.__cause__

    def pass_seconds(self, seconds: int) -> None:
        self.now += 1000 * seconds


def test_after_three_failures_in_a_row_the_model_is_asked_no_more_for_a_while():
    said = Setting()

    reasons = [said.refused().facts["reason"] for _ in range(6)]

    assert reasons == ["raised"] * 3 + ["resting"] * 3
    assert said.asked == 3
    assert "SECRET" not in str(said.refused())


def test_after_its_rest_it_is_asked_again_and_rests_longer_each_time_it_fails():
    said = Setting()
    for _ in range(3):
        said.refused()

    asked: list[int] = []
    for seconds in (29, 1, 59, 1, 119, 1, 239, 1, 299, 1):
        said.pass_seconds(seconds)
        said.refused()
        asked.append(said.asked)

    assert asked == [3, 4, 4, 5, 5, 6, 6, 7, 7, 8]


def test_one_summary_that_is_made_ends_it():
    said = Setting()
    for _ in range(2):
        said.refused()
    said.failing = False
    plan_sync(talk(12), **said.arguments)
    said.failing = True

    with pytest.raises(RepresentationUnavailableError):
        plan_sync(talk(30), **said.arguments)
    with pytest.raises(RepresentationUnavailableError):
        plan_sync(talk(32), **said.arguments)

    assert said.asked == 5, "two failures, a success, two failures: nobody rests"


def test_on_demand_it_is_asked_all_the_same():
    said = Setting()
    for _ in range(4):
        said.refused()
    said.failing = False

    made = compact_now_sync(talk(12), **said.arguments)
    planned = plan_sync(talk(12), **said.arguments)

    assert made.how == "made"
    assert planned.receipt.history.view.summarised == ((0, 8),)


def test_an_authorised_fallback_serves_meanwhile():
    said = Setting(offload=True)

    said.arguments["budget"] = InputBudget(max=1_500)

    planned = [plan_sync(talk(160), **said.arguments) for _ in range(5)]

    assert said.asked == 3
    assert {p.receipt.adaptations[0].representation for p in planned} == {"offload"}
    assert [w.facts["reason"] for p in planned for w in p.receipt.warnings if w.facts][:5] == [
        "raised"
    ] * 3 + ["resting"] * 2


def test_background_work_rests_too():
    said = Setting()
    said.arguments["budget"] = InputBudget(max=200, optimize_at=190, prepare_at=50)

    async def main() -> None:
        for _ in range(6):
            planned = await plan(talk(12), **said.arguments)
            assert (await planned.accept({"role": "assistant", "content": "ok"})).preparing
            await said.runtime.drain()

    asyncio.run(main())

    assert said.asked == 3


def test_another_model_does_not_rest():
    said = Setting()
    for _ in range(3):
        said.refused()
    other = history(recent=4, summary={"model": lambda **_: "They talked.", "name": "other"})

    planned = plan_sync(talk(12), **{**said.arguments, "policy": other})

    assert planned.receipt.history.view.summarised


def test_a_request_that_is_cancelled_or_a_store_that_fails_says_nothing_of_the_model():
    said = Setting()
    resting = said.runtime.resting
    for reason in ("interrupted", "transcript-changed"):
        for _ in range(5):
            error = SummaryFailedError("Not made.", fix="Plan again.", reason=reason)
            resting.note("m", error, now=0)
    for _ in range(5):
        resting.note("m", OSError("disk"), now=0)

    resting.require("m", now=0)
