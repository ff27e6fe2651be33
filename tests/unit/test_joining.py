"""A summary in flight is joined by every policy; one that comes to nothing is missing."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from thusfar import InputBudget, Runtime, compact_now, history, per_message, plan, plan_sync
from thusfar.errors import RepresentationUnavailableError, StorageBusyError
from thusfar.runtime.previewing import preview, preview_sync
from thusfar.storage import MemoryStore


def transcript() -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[i % 2], "content": f"message {i} about many things"}
        for i in range(12)
    ]


class Gate:
    """An async summary model that waits until it is let go."""

    name = "gate"
    window = None

    def __init__(self, text: str = "What was said.") -> None:
        self.asked, self.open = asyncio.Event(), asyncio.Event()
        self.text, self.calls = text, 0

    async def generate_text(self, **_: Any) -> str:
        self.calls += 1
        self.asked.set()
        await self.open.wait()
        return self.text


def arguments(model: Any, runtime: Runtime, on_miss: str, **summary: Any) -> dict[str, Any]:
    return {
        "model": "gpt-4o",
        "counter": per_message(lambda m: 50 if "history-summary" in str(m) else 100),
        "budget": InputBudget(max=1000),
        "policy": history(
            recent=4, on_miss=on_miss, summary={"model": model, "max_tokens": 100, **summary}
        ),
        "runtime": runtime,
    }


def codes(planned: Any) -> list[str]:
    return [warning.code for warning in planned.receipt.warnings]


@pytest.mark.parametrize("on_miss", ["recent-only", "fail"])
def test_a_request_waits_for_the_summary_that_is_being_made(on_miss: Any):
    async def main() -> None:
        gate, runtime = Gate(), Runtime()
        said = arguments(gate, runtime, on_miss)
        maker = asyncio.create_task(compact_now(transcript(), **said))
        await gate.asked.wait()
        seen = await preview(transcript(), **said)
        waiting = asyncio.create_task(plan(transcript(), **said))
        await asyncio.sleep(0)
        gate.open.set()

        planned = await waiting

        assert (await maker).how == "made"
        assert planned.receipt.history.covered == 8
        assert codes(planned) == ["HISTORY_SUMMARY_JOINED"]
        assert planned.receipt.history.view.omitted == ()
        assert gate.calls == 1
        assert seen.status == "unknown"

    asyncio.run(main())


@pytest.mark.parametrize("on_miss", ["recent-only", "fail"])
def test_nothing_is_made_where_nothing_is_in_flight(on_miss: Any):
    async def main() -> None:
        gate, runtime = Gate(), Runtime(host=Nowhere())
        said = arguments(gate, runtime, on_miss)
        if on_miss == "fail":
            with pytest.raises(RepresentationUnavailableError):
                await plan(transcript(), **said)
        else:
            planned = await plan(transcript(), **said)
            assert [a.representation for a in planned.receipt.adaptations] == ["omitted"]
        assert gate.calls == 0

    asyncio.run(main())


class Nowhere:
    """A host that takes nothing."""

    def retain(self, job: Any) -> bool:
        return False


@pytest.mark.parametrize("on_miss", ["recent-only", "fail"])
def test_a_joined_summary_that_fails_counts_as_missing(on_miss: Any):
    async def main() -> None:
        gate, runtime = Gate(text=""), Runtime(host=Nowhere())
        said = arguments(gate, runtime, on_miss, attempts=1)
        maker = asyncio.create_task(compact_now(transcript(), **said))
        await gate.asked.wait()
        waiting = asyncio.create_task(plan(transcript(), **said))
        await asyncio.sleep(0)
        gate.open.set()

        outcome, _ = await asyncio.gather(waiting, maker, return_exceptions=True)

        if on_miss == "fail":
            assert isinstance(outcome, RepresentationUnavailableError)
            assert outcome.__cause__.facts["reason"] == "empty"
        else:
            assert [a.representation for a in outcome.receipt.adaptations] == ["omitted"]
            assert "HISTORY_SUMMARY_FAILED" in codes(outcome)
        assert gate.calls == 1

    asyncio.run(main())


def test_work_that_ended_between_the_look_and_the_wait_is_found_or_missing():
    """In flight when it was asked about, and over when it was to be joined."""

    async def main(kept: bool) -> Any:
        gate, runtime = Gate(), Runtime(host=Nowhere())
        gate.open.set()
        said = arguments(gate, runtime, "recent-only")
        real = runtime.in_flight.joinable

        def ended(key: str, *, blocking: bool) -> bool:
            return True

        runtime.in_flight.joinable = ended
        if kept:
            await compact_now(transcript(), **said)
        planned = await plan(transcript(), **said)
        runtime.in_flight.joinable = real
        return planned

    assert asyncio.run(main(True)).receipt.history.covered == 8
    missing = asyncio.run(main(False))
    assert [a.representation for a in missing.receipt.adaptations] == ["omitted"]


def test_a_store_that_fails_under_the_work_of_another_stops_no_request():
    class Busy(MemoryStore):
        full = False

        async def arun(self, steps: Any) -> Any:
            if self.full and steps.gi_code.co_name == "_keep":
                steps.close()
                raise StorageBusyError("The store was busy.", fix="Try again.")
            return await super().arun(steps)

    async def main() -> None:
        gate, store = Gate(), Busy()
        runtime = Runtime(store, host=Nowhere())
        said = arguments(gate, runtime, "recent-only")
        maker = asyncio.create_task(compact_now(transcript(), **said))
        await gate.asked.wait()
        waiting = asyncio.create_task(plan(transcript(), **said))
        await asyncio.sleep(0)
        gate.open.set()
        store.full = True
        await asyncio.sleep(0)

        (made,) = await asyncio.gather(maker, return_exceptions=True)
        store.full = False
        planned = await waiting

        assert isinstance(made, StorageBusyError)
        assert [a.representation for a in planned.receipt.adaptations] == ["omitted"]

    asyncio.run(main())


def test_sync_code_joins_the_work_of_another_thread_and_never_its_own():
    started, release = threading.Event(), threading.Event()
    calls: list[int] = []

    def model(**_: Any) -> str:
        calls.append(1)
        started.set()
        release.wait(300)
        return "What was said."

    runtime = Runtime(host=Nowhere())
    made: list[Any] = []
    maker = threading.Thread(
        target=lambda: made.append(
            plan_sync(transcript(), **arguments(model, runtime, "inline", name="model"))
        )
    )
    maker.start()
    assert started.wait(300)
    assert preview_sync(transcript(), **arguments(model, runtime, "fail", name="model")).status == (
        "unknown"
    )
    joined: list[Any] = []
    waiter = threading.Thread(
        target=lambda: joined.append(
            plan_sync(transcript(), **arguments(model, runtime, "fail", name="model"))
        )
    )
    waiter.start()
    release.set()
    maker.join()
    waiter.join()

    assert made[0].receipt.history.covered == joined[0].receipt.history.covered == 8
    assert len(calls) == 1


def test_sync_code_on_the_loop_of_the_work_does_not_wait_for_itself():
    async def main() -> None:
        gate, runtime = Gate(), Runtime(host=Nowhere())
        said = arguments(gate, runtime, "recent-only")
        maker = asyncio.create_task(compact_now(transcript(), **said))
        await gate.asked.wait()

        planned = plan_sync(transcript(), **said)

        assert [a.representation for a in planned.receipt.adaptations] == ["omitted"]
        gate.open.set()
        await maker

    asyncio.run(main())
