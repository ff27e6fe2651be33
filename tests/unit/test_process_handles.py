"""Handles: a run is paused between steps, and ended from outside without half a step."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from thusfar.errors import InvalidDefinitionError, ProcessRunningError, RunCancelledError
from thusfar.process import END, Process, RunLimits, Runs, ScriptTask, SubProcess, Task
from thusfar.storage import open_store


class Gated:
    """A model that says when it is asked, and answers when it is let."""

    name = "gated"

    def __init__(self) -> None:
        self.asked: asyncio.Queue[None] = asyncio.Queue()
        self.answers: asyncio.Queue[str] = asyncio.Queue()
        self.cancelled = 0

    async def generate_text(self, **_: Any) -> str:
        self.asked.put_nowait(None)
        try:
            return await self.answers.get()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


def two_steps(model: Any) -> Process:
    tasks = [Task(id="a", state_updates="a", next_task="b"), Task(id="b", state_updates="b")]
    return Process(tasks, model=model, sequence=["a", "b"])


def in_a_loop(scenario: Callable[[Gated], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(300):
            await scenario(Gated())

    asyncio.run(main())


def test_a_paused_run_stands_between_two_steps_until_it_is_resumed():
    async def scenario(model: Gated) -> None:
        process = two_steps(model)
        handle = process.start()
        await model.asked.get()
        assert handle.pause()
        assert not handle.paused, "the step goes on to its end"
        model.answers.put_nowait("one")
        while not handle.paused:
            await asyncio.sleep(0)
        assert process.state.values_only == {"a": "one"}
        assert model.asked.empty()
        assert handle.resume()
        model.answers.put_nowait("two")
        outcome = await handle
        assert (outcome.status, outcome.output) == ("finished", {"a": "one", "b": "two"})
        assert not handle.pause()
        assert not handle.resume()

    in_a_loop(scenario)


@pytest.mark.parametrize(("how", "output"), [("cancel", None), ("finish_early", {"a": "one"})])
def test_an_ended_run_drops_its_step_and_can_go_on(how: str, output: Any):
    async def scenario(model: Gated) -> None:
        process = two_steps(model)
        handle = process.start()
        await model.asked.get()
        model.answers.put_nowait("one")
        await model.asked.get()
        assert getattr(handle, how)("enough")
        assert not handle.cancel("later")
        outcome = await handle
        assert outcome.status == {"cancel": "cancelled", "finish_early": "early"}[how]
        assert (outcome.output, outcome.reason, outcome.steps) == (output, "enough", 1)
        assert model.cancelled == 1
        assert [entry.task_id for entry in process.history] == ["a"]
        if how == "cancel":
            with pytest.raises(RunCancelledError):
                outcome.require()
        model.answers.put_nowait("two")
        assert (await process.run()).output == {"a": "one", "b": "two"}
        assert [entry.task_id for entry in process.history] == ["a", "b"]

    in_a_loop(scenario)


def test_a_run_is_ended_while_it_is_paused():
    async def scenario(model: Gated) -> None:
        process = two_steps(model)
        handle = process.start()
        handle.pause()
        while not handle.paused:
            await asyncio.sleep(0)
        handle.cancel()
        assert (await handle).status == "cancelled"
        assert process.position.at == "a"

    in_a_loop(scenario)


def test_what_a_function_did_is_dropped_when_the_run_was_ended_meanwhile():
    async def scenario(_: Gated) -> None:
        async def work(state: Any) -> None:
            state["x"] = 1
            process.add_history(summary="half")
            handle.cancel()

        process = Process([ScriptTask(id="a", run=work)])
        handle = process.start()
        assert (await handle).status == "cancelled"
        assert process.state.values_only == {}
        assert len(process.history) == 0

    in_a_loop(scenario)


def test_a_run_is_ended_inside_a_sub_process():
    async def scenario(model: Gated) -> None:
        child = two_steps(model)
        process = Process(
            [SubProcess(id="sub", process=child, state_updates="got", failure_task="rescue"),
             ScriptTask(id="rescue", run=lambda _: None, next_task=END)]
        )  # fmt: skip
        handle = process.start()
        await model.asked.get()
        model.answers.put_nowait("one")
        await model.asked.get()
        handle.finish_early()
        outcome = await handle
        assert (outcome.status, outcome.output) == ("early", {})
        assert len(process.history) == 0

    in_a_loop(scenario)


def test_a_started_run_cannot_be_started_again():
    async def scenario(model: Gated) -> None:
        process = two_steps(model)
        handle = process.start()
        await model.asked.get()
        with pytest.raises(ProcessRunningError):
            process.start()
        handle.cancel()
        await handle

    in_a_loop(scenario)


def test_cancelling_the_awaiting_task_leaves_the_process_at_its_last_commit():
    async def scenario(model: Gated) -> None:
        process = two_steps(model)
        task = asyncio.create_task(process.run())
        await model.asked.get()
        model.answers.put_nowait("one")
        await model.asked.get()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (process.running, process.position.at) == (False, "b")
        model.answers.put_nowait("two")
        assert (await process.run()).status == "finished"

    in_a_loop(scenario)


@pytest.mark.parametrize(("method", "status"), [("cancel", "cancelled"), ("finish_early", "early")])
def test_a_run_is_ended_from_another_thread(method: str, status: str):
    async def scenario(model: Gated) -> None:
        handle = two_steps(model).start()
        await model.asked.get()
        threading.Thread(target=getattr(handle, method)).start()
        outcome = await asyncio.wait_for(handle, 300)
        assert (outcome.status, model.cancelled) == (status, 1)

    in_a_loop(scenario)


def test_a_run_is_resumed_from_another_thread():
    async def scenario(model: Gated) -> None:
        handle = two_steps(model).start()
        handle.pause()
        while not handle.paused:
            await asyncio.sleep(0)
        for answer in ("one", "two"):
            model.answers.put_nowait(answer)
        threading.Thread(target=handle.resume).start()
        outcome = await asyncio.wait_for(handle, 300)
        assert outcome.status == "finished"

    in_a_loop(scenario)


def test_only_the_first_of_many_threads_ends_a_run():
    async def scenario(model: Gated) -> None:
        handle = two_steps(model).start()
        await model.asked.get()
        said: list[bool] = []
        threads = [
            threading.Thread(target=lambda: said.append(handle.cancel("why"))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        outcome = await handle
        for thread in threads:
            thread.join()
        assert (said.count(True), outcome.reason) == (1, "why")

    in_a_loop(scenario)


def test_what_happens_is_streamed_with_what_happens_inside():
    """W-44."""

    async def scenario(model: Gated) -> None:
        inner = Process([Task(id="in")], id="inner")
        tasks = [Task(id="a", next_task="sub"), SubProcess(id="sub", process=inner)]
        handle = Process(tasks, id="outer", model=model).start()
        stream = handle.events()
        await model.asked.get()
        late = handle.events()
        model.answers.put_nowait("one")
        model.answers.put_nowait("two")
        seen = [place_of(event) async for event in stream]

        assert seen == [
            "StepStarted outer", "PromptPlanned", "StepCommitted outer",
            "StepStarted outer", "StepStarted inner", "PromptPlanned", "StepCommitted inner",
            "StepCommitted outer",
        ]  # fmt: skip
        assert (await handle).status == "finished"
        assert [place_of(event) async for event in late] == seen[2:]
        assert [event async for event in handle.events()] == []

    in_a_loop(scenario)


def place_of(event: Any) -> str:
    name = type(event).__name__
    return f"{name} {event.process_id}" if name != "PromptPlanned" else name


def test_a_stream_that_is_left_holds_nothing_up():
    async def scenario(model: Gated) -> None:
        handle = two_steps(model).start()
        stream = handle.events()
        await anext(stream)
        await stream.aclose()
        model.answers.put_nowait("one")
        model.answers.put_nowait("two")

        assert (await handle).status == "finished"

    in_a_loop(scenario)


def test_a_stream_ends_where_a_run_cannot_begin():
    async def scenario(model: Gated) -> None:
        handle = Process([Task(id="a", next_task="nowhere")], model=model).start()

        assert [event async for event in handle.events()] == []
        with pytest.raises(InvalidDefinitionError):
            await handle

    in_a_loop(scenario)


def test_the_time_in_which_a_run_is_paused_is_not_the_runs():
    async def scenario(model: Gated) -> None:
        now = [0.0]
        limits = RunLimits(step_timeout_seconds=10, run_timeout_seconds=10)
        process = Process(
            [Task(id="a", next_task="b"), Task(id="b", next_task=END)], model=model, limits=limits
        )
        process.monotonic = lambda: now[0]
        handle = process.start()
        handle.pause()
        while not handle.paused:
            await asyncio.sleep(0)
        now[0] += 3_600
        handle.resume()
        model.answers.put_nowait("one")
        model.answers.put_nowait("two")

        assert (await handle).status == "finished"

    in_a_loop(scenario)


def test_a_run_that_no_loop_can_take_is_refused_and_begins_nothing():
    process = Process([Task(id="a")], model=Gated())
    runs = Runs(open_store("memory:"))

    with pytest.raises(RuntimeError, match="no running event loop"):
        process.start()
    with pytest.raises(RuntimeError, match="no running event loop"):
        runs.start(process, run_id="r")

    gc.collect()  # a coroutine that was never awaited would complain here
    assert not process.running
    assert runs.sync.list() == ()


def test_of_several_threads_that_run_one_process_one_does():
    """Also where checking the definition takes so long that all of them are in it at once."""
    inside = threading.Barrier(3)

    class Checked(Process):
        def check(self) -> Any:
            inside.wait(20)
            return super().check()

    process = Checked([ScriptTask(id="a", run=lambda _: None, record=True)])
    ended: list[str] = []

    def run() -> None:
        try:
            ended.append(process.run_sync().status)
        except ProcessRunningError as error:
            ended.append(error.code)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    statuses = sorted(ended)
    assert len(process.history) == statuses.count("finished")
    assert set(statuses) <= {"PROCESS_RUNNING", "finished"}
    assert [entry.seq for entry in process.history] == [*range(1, len(process.history) + 1)]
