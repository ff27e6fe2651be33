"""Summaries in flight: joined, leased, cancelled, timed out; nothing is poisoned afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Runtime,
    compact_now_sync,
    history,
    per_message,
    plan,
    plan_sync,
)
from thusfar.errors import (
    RepresentationUnavailableError,
    StorageBusyError,
    SummaryFailedError,
)
from thusfar.models import GeneratedText
from thusfar.storage import open_store
from thusfar.storage.memory import MemoryStore


def transcript() -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[i % 2], "content": f"message {i} about many things"}
        for i in range(12)
    ]


class Gate:
    """An async summary model that waits until it is let go."""

    name = "gate"
    window = None

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.open = asyncio.Event()
        self.calls = 0

    async def generate_text(self, **_: Any) -> GeneratedText:
        self.calls += 1
        self.asked.set()
        await self.open.wait()
        return GeneratedText(text="What was said.")


def arguments(model: Any, runtime: Runtime, **summary: Any) -> dict[str, Any]:
    return {
        "model": "gpt-4o",
        "counter": per_message(lambda m: 50 if "history-summary" in str(m) else 100),
        "budget": InputBudget(max=1000),
        "policy": history(recent=4, summary={"model": model, "max_tokens": 100, **summary}),
        "runtime": runtime,
    }


def artifacts(runtime: Runtime) -> list[Any]:
    return [row for space in runtime.store._spaces.values() for row in space.artifacts.values()]


def test_requests_at_once_share_one_support_call_and_one_record():
    async def main() -> None:
        gate, runtime = Gate(), Runtime()
        said = arguments(gate, runtime)
        first = asyncio.create_task(plan(transcript(), **said))
        await gate.asked.wait()
        second = asyncio.create_task(plan(transcript(), **said))
        await asyncio.sleep(0)
        gate.open.set()

        one, two = await first, await second
        third = await plan(transcript(), **said)

        codes = [[w.code for w in p.receipt.warnings] for p in (one, two, third)]
        assert codes[0] == ["HISTORY_SUMMARY_INLINE"]
        assert codes[1] == ["HISTORY_SUMMARY_JOINED"]
        assert codes[2] == []
        assert gate.calls == 1
        assert len(artifacts(runtime)) == 1
        assert one.messages == two.messages == third.messages

    asyncio.run(main())


def test_a_caller_that_gives_up_does_not_take_the_work_with_it():
    async def main() -> None:
        gate, runtime = Gate(), Runtime()
        said = arguments(gate, runtime)
        first = asyncio.create_task(plan(transcript(), **said))
        await gate.asked.wait()
        second = asyncio.create_task(plan(transcript(), **said))
        await asyncio.sleep(0)

        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        gate.open.set()

        assert (await second).receipt.history.covered == 8
        assert gate.calls == 1

    asyncio.run(main())


def test_a_failure_is_told_to_all_who_wait_and_joined_by_nobody_after():
    async def main() -> None:
        gate, runtime = Gate(), Runtime()
        said = arguments(gate, runtime)

        async def fails(**_: Any) -> str:
            raise RuntimeError("no")

        gate.generate_text = fails  # type: ignore[method-assign]
        both = await asyncio.gather(
            plan(transcript(), **said), plan(transcript(), **said), return_exceptions=True
        )
        assert all(isinstance(error, RepresentationUnavailableError) for error in both)
        del gate.generate_text
        gate.open.set()

        assert (await plan(transcript(), **said)).receipt.history.covered == 8
        assert [row.kind for row in artifacts(runtime)] != ["lease"]

    asyncio.run(main())


@pytest.mark.parametrize("after", range(14))
def test_a_request_may_be_cancelled_at_every_await(after: int):
    """The plan is cancelled after so many turns of the loop; then the same plan is made."""

    async def main() -> None:
        gate, runtime = Gate(), Runtime()
        gate.open.set()
        said = arguments(gate, runtime)
        messages = transcript()
        before = str(messages)
        task = asyncio.create_task(plan(messages, **said))
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await runtime.drain()

        again = await plan(messages, **said)

        assert str(messages) == before
        assert again.receipt.history.covered == 8
        assert gate.calls <= 2
        assert len([row for row in artifacts(runtime) if row.kind != "lease"]) == 1
        assert [row for row in artifacts(runtime) if row.kind == "lease"] == []

    asyncio.run(main())


def test_a_model_that_hangs_is_given_up_after_the_time_limit():
    async def main() -> None:
        gate = Gate()
        runtime = Runtime(support_timeout_seconds=0.02)

        with pytest.raises(RepresentationUnavailableError) as raised:
            await plan(transcript(), **arguments(gate, runtime))

        cause = raised.value.__cause__
        assert isinstance(cause, SummaryFailedError)
        assert cause.facts["reasons"] == ("timed-out", "timed-out")
        assert artifacts(runtime) == []

    asyncio.run(main())


def test_a_model_that_hangs_is_given_up_in_sync_code_too():
    release = threading.Event()

    def hangs(**_: Any) -> str:
        release.wait()
        return "late"

    runtime = Runtime(support_timeout_seconds=0.02)
    with pytest.raises(RepresentationUnavailableError) as raised:
        plan_sync(transcript(), **arguments(hangs, runtime, name="hangs", attempts=1))
    release.set()

    assert raised.value.__cause__.facts["reasons"] == ("timed-out",)
    assert artifacts(runtime) == []


class Faulty(MemoryStore):
    """A store that fails at one of its runs."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at, self.runs = at, 0

    def run(self, steps: Any) -> Any:
        self.runs += 1
        if self.runs == self.at:
            steps.close()
            raise StorageBusyError("The store was busy.", fix="Try again.")
        return super().run(steps)


@pytest.mark.parametrize("at", range(1, 8))
def test_a_store_that_fails_at_any_call_gives_a_typed_error_and_poisons_nothing(at: int):
    store = Faulty(at)
    runtime = Runtime(store)
    calls: list[int] = []

    def model(**_: Any) -> str:
        calls.append(1)
        return "What was said."

    said = arguments(model, runtime, name="model")
    messages = transcript()
    before = str(messages)
    with contextlib.suppress(StorageBusyError):
        plan_sync(messages, **said)

    again = plan_sync(messages, **said)

    assert store.runs >= at, "there are fewer calls than this test believes"
    assert str(messages) == before
    assert again.receipt.history.covered == 8
    assert len(calls) <= 2
    kept = [row for row in store._spaces["default"].artifacts.values() if row.kind != "lease"]
    assert len(kept) == 1


def test_nothing_is_read_or_written_below_the_watermark():
    class Unused(MemoryStore):
        def run(self, steps: Any) -> Any:
            raise AssertionError("the store was used")

    runtime = Runtime()
    runtime.store = Unused()
    said = arguments(lambda **_: "x", runtime, name="model")

    planned = plan_sync(transcript()[:6], **said)

    assert planned.receipt.adaptations == ()


def test_a_summary_is_found_in_another_runtime_on_the_same_store(tmp_path: Any):
    url = f"sqlite:///{tmp_path / 'summaries.db'}"
    calls: list[int] = []

    def model(**_: Any) -> str:
        calls.append(1)
        return "What was said."

    for _ in range(2):
        store = open_store(url)
        plan_sync(transcript(), **arguments(model, Runtime(store), name="model"))
        store.close()

    assert len(calls) == 1


def test_a_summary_ends_with_its_time_to_live():
    clock = [1_000_000]
    store = MemoryStore(clock=lambda: clock[0])
    calls: list[int] = []

    def model(**_: Any) -> str:
        calls.append(1)
        return "What was said."

    said = arguments(model, Runtime(store), name="model", ttl_seconds=60)
    plan_sync(transcript(), **said)
    clock[0] += 59_999
    plan_sync(transcript(), **said)
    assert len(calls) == 1
    clock[0] += 1
    plan_sync(transcript(), **said)
    assert len(calls) == 2


def test_namespaces_never_share_summaries():
    store = MemoryStore()
    calls: list[int] = []

    def model(**_: Any) -> str:
        calls.append(1)
        return "What was said."

    for name in ("north", "south"):
        runtime = Runtime(store.within(name))
        plan_sync(transcript(), **arguments(model, runtime, name="model"))

    assert len(calls) == 2


def test_superseded_summaries_are_collected_beyond_the_last_two():
    messages = transcript()
    runtime = Runtime()
    said = arguments(lambda **_: "What was said.", runtime, name="model")
    for _ in range(6):
        messages += transcript()[:6]
        plan_sync(messages, **said)

    for _ in range(5):
        messages += transcript()[:4]
        compact_now_sync(messages, **said)

    assert len(artifacts(runtime)) == 3
