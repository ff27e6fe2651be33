"""Summaries in flight over several event loops: joined, waited for, and never for ever."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from thusfar import InputBudget, Runtime, history, per_message, plan, plan_sync
from thusfar.models import GeneratedText
from thusfar.runtime.hosts import TaskHost

SECONDS = 10.0
MESSAGES = [
    {"role": ("user", "assistant")[i % 2], "content": f"message {i} about many things"}
    for i in range(12)
]


class Model:
    """A summary model that waits in its first call until it is let go from any thread."""

    name = "model"
    window = None

    def __init__(self) -> None:
        self.asked, self.open, self.calls = threading.Event(), threading.Event(), 0

    async def generate_text(self, **_: Any) -> GeneratedText:
        self.calls += 1
        self.asked.set()
        while self.calls == 1 and not self.open.is_set():
            await asyncio.sleep(0.001)
        return GeneratedText(text="What was said.")


def arguments(model: Any, runtime: Runtime) -> dict[str, Any]:
    return {
        "model": "gpt-4o",
        "counter": per_message(lambda m: 50 if "history-summary" in str(m) else 100),
        "budget": InputBudget(max=1000),
        "policy": history(recent=4, summary={"model": model, "max_tokens": 100}),
        "runtime": runtime,
    }


def started(main: Callable[[], Coroutine[Any, Any, Any]]) -> tuple[threading.Thread, list[Any]]:
    """Run a loop in a thread of its own; its result, or what it raised, is in the list."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(asyncio.run(main()))
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, results


def finished(thread: threading.Thread, results: list[Any]) -> Any:
    thread.join(SECONDS)
    assert not thread.is_alive()
    return results[0]


@contextmanager
def left_alone(model: Model, runtime: Runtime) -> Iterator[None]:
    """Begin a summary on a loop that nobody runs meanwhile."""
    loop = asyncio.new_event_loop()

    async def begin() -> asyncio.Task[Any]:
        task = asyncio.create_task(plan(MESSAGES, **arguments(model, runtime)))
        while not model.asked.is_set():
            await asyncio.sleep(0.001)
        return task

    task = loop.run_until_complete(begin())
    yield
    model.open.set()
    loop.run_until_complete(asyncio.wait([task]))
    loop.run_until_complete(runtime.drain())
    loop.close()


def test_nobody_waits_for_work_whose_loop_nobody_runs():
    model, runtime = Model(), Runtime()

    async def again() -> Any:
        found = await plan(MESSAGES, **arguments(model, runtime))
        await runtime.drain()
        return found

    with left_alone(model, runtime):
        assert finished(*started(again)).receipt.history.covered == 8
    assert model.calls == 2


def test_sync_code_does_not_wait_for_work_whose_loop_nobody_runs():
    model, runtime = Model(), Runtime()

    class Sync:
        name, window = "model", None

        def generate_text(self, **_: Any) -> str:
            return "What was said."

    async def again() -> Any:
        return await asyncio.to_thread(plan_sync, MESSAGES, **arguments(Sync(), runtime))

    with left_alone(model, runtime):
        assert finished(*started(again)).receipt.history.covered == 8


def test_work_on_a_loop_that_ends_meanwhile_is_told_to_those_who_wait():
    model, runtime = Model(), Runtime()

    async def leave() -> None:
        task = asyncio.create_task(plan(MESSAGES, **arguments(model, runtime)))
        while not left.is_set():
            await asyncio.sleep(0.001)
        del task

    async def join() -> Any:
        waiting.set()
        return await plan(MESSAGES, **arguments(model, runtime))

    left, waiting = threading.Event(), threading.Event()
    first = started(leave)
    assert model.asked.wait(SECONDS)
    second = started(join)
    assert waiting.wait(SECONDS)
    left.set()
    finished(*first)

    outcome = finished(*second)
    assert isinstance(outcome, Exception) or outcome.receipt.history.covered == 8
    assert finished(*started(join)).receipt.history.covered == 8


def test_draining_waits_for_the_work_of_another_loop():
    model, runtime = Model(), Runtime()
    ended: list[str] = []

    async def work() -> None:
        await plan(MESSAGES, **arguments(model, runtime))
        ended.append("work")

    async def drain() -> None:
        await runtime.drain()
        ended.append("drain")

    first = started(work)
    assert model.asked.wait(SECONDS)
    second = started(drain)
    second[0].join(0.1)
    assert second[0].is_alive()
    model.open.set()
    finished(*first)
    finished(*second)

    assert sorted(ended) == ["drain", "work"]


def test_a_host_waits_for_the_tasks_of_another_loop():
    host, begun, go_on = TaskHost(), threading.Event(), threading.Event()

    async def job() -> None:
        begun.set()
        while not go_on.is_set():
            await asyncio.sleep(0.001)

    async def keep() -> None:
        host.retain(job)
        await host.drain()

    first = started(keep)
    assert begun.wait(SECONDS)
    second = started(host.drain)
    second[0].join(0.1)
    assert second[0].is_alive()
    go_on.set()
    finished(*first)
    assert finished(*second) is None


def test_a_waiter_whose_loop_ended_is_no_concern_of_the_work(
    caplog: pytest.LogCaptureFixture,
):
    model, runtime = Model(), Runtime()

    async def work() -> Any:
        return await plan(MESSAGES, **arguments(model, runtime))

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await plan(MESSAGES, **arguments(model, runtime))

    first = started(work)
    assert model.asked.wait(SECONDS)
    assert finished(*started(give_up)) is None
    with caplog.at_level(logging.WARNING):
        model.open.set()
        assert finished(*first).receipt.history.covered == 8

    assert [record.getMessage() for record in caplog.records] == []
    assert model.calls == 1
