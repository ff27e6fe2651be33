"""Tapes: a captured run replays to the same log without a model, and a divergence is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from thusfar.errors import OptionsError
from thusfar.models import GeneratedObject, Scripted
from thusfar.models.errors import ProviderRateLimitedError
from thusfar.process import (
    END,
    Capture,
    Process,
    Replay,
    RunLimits,
    Runs,
    ScriptTask,
    SubProcess,
    Tape,
    Task,
)
from thusfar.storage import open_store

OUTPUT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
ANSWERS = [
    '{"goTo": "sub", "intent": "i", "stepAfter": "s"}',
    '{"x": "no"}',
    '{"x": 1}',
    '{"goTo": "END", "intent": "done"}',
]


def tree(model: Any = None, *, prompt: str = "Ask.", extra: bool = False) -> Process:
    child = Process(
        [Task(id="ask", task_prompt=prompt, output=OUTPUT, state_updates="x", next_task="note"),
         ScriptTask(id="note", run=lambda _: None, record=True, next_task=END)],
        id="child",
    )  # fmt: skip
    tasks: list[Any] = [
        Task(id="hub", transitions=["sub", END]),
        SubProcess(
            id="sub", process=child, state_updates="got[]", next_task="two" if extra else None
        ),
    ]
    if extra:
        tasks.append(Task(id="two", next_task="hub"))
    return Process(tasks, model=model)


def captured() -> tuple[Process, Tape]:
    process, capture = tree(Scripted(ANSWERS)), Capture()
    assert process.run_sync(tape=capture).status == "finished"
    return process, Tape.of(json.loads(json.dumps(capture.tape.to_json())))


def test_a_replay_gives_the_same_log_and_state_without_a_model():
    process, tape = captured()
    for run in (
        lambda again: again.run_sync(tape=Replay(tape)),
        lambda again: asyncio.run(again.run(tape=Replay(tape))),
    ):
        again = tree()
        outcome = run(again)
        assert (outcome.status, outcome.calls) == ("finished", 4)
        assert again.snapshot() == process.snapshot()
        assert tuple(again.history) == tuple(process.history)


def test_refused_answers_are_on_the_tape():
    _, tape = captured()

    places = [record.place for record in tape.records if hasattr(record, "place")]
    assert places == ["process:hub:1:1", "child:ask:1:1", "child:ask:1:2", "process:hub:3:1"]


def test_another_prompt_ends_the_run_or_is_noted_or_is_ignored():
    _, tape = captured()
    outcome = tree(prompt="Ask otherwise.").run_sync(tape=Replay(tape))
    assert outcome.failure is not None
    assert outcome.failure.code == "REPLAY_DIVERGED"

    noting = Replay(tape, prompts="warn")
    assert tree(prompt="Ask otherwise.").run_sync(tape=noting).status == "finished"
    assert noting.changed == ["child:ask:1:1", "child:ask:1:2"]

    silent = Replay(tape, prompts="ignore")
    assert tree(prompt="Ask otherwise.").run_sync(tape=silent).status == "finished"
    assert silent.changed == []


@pytest.mark.parametrize("change", ["shorter", "longer", "swapped", "other task"])
def test_a_divergence_is_refused(change: str):
    _, tape = captured()
    records = list(tape.records)
    if change == "shorter":
        records = records[:-2]
    elif change == "longer":
        records += records[:1]
    elif change == "swapped":
        records[0], records[2] = records[2], records[0]
    process = tree(extra=change == "other task")

    outcome = process.run_sync(tape=Replay(Tape(records=tuple(records)), prompts="ignore"))

    assert outcome.failure is not None
    assert outcome.failure.code == "REPLAY_DIVERGED"
    assert not process.running
    assert process.tape is None


def test_a_native_answer_is_replayed_as_one():
    class Native:
        name = "native"

        def generate_object(self, **_: Any) -> GeneratedObject:
            return GeneratedObject(value={"x": 3})

    task = Task(id="a", output=OUTPUT, state_updates="p")
    capture = Capture()
    Process([task], model=Native()).run_sync(tape=capture)

    assert Process([task]).run_sync(tape=Replay(capture.tape)).output == {"p": {"x": 3}}


@pytest.mark.parametrize("tape", [{}, {"schema": 2, "records": []}, {"records": [{"type": "x"}]}])
def test_what_is_no_tape_is_refused(tape: Any):
    with pytest.raises(OptionsError):
        Replay(tape)
    with pytest.raises(OptionsError):
        Replay(Tape(records=()), prompts="maybe")  # type: ignore[arg-type]


class Flaky:
    """A model that raises once, and answers from then on."""

    name = "flaky"

    def __init__(self, error: Exception) -> None:
        self.errors = [error]

    def generate_text(self, **_: Any) -> str:
        if self.errors:
            raise self.errors.pop()
        return "mended"


def mended(model: Any, work: Any = None) -> Process:
    tasks = [
        work or Task(id="work", next_task=END),
        Task(id="mend", task_prompt="${json(failure)}", state_updates="said", next_task=END),
    ]
    return Process(tasks, model=model, error_task="mend", limits=RunLimits(max_retries=1))


@pytest.mark.parametrize("error", [ValueError("net"), ProviderRateLimitedError("busy", fix="wait")])
def test_a_model_that_raised_and_was_taken_over_raises_in_the_replay_too(error: Exception):
    capture = Capture()
    process = mended(Flaky(error))
    assert process.run_sync(tape=capture).output == {"said": "mended"}

    again = mended(None)
    replay = Replay(Tape.of(json.loads(json.dumps(capture.tape.to_json()))))

    assert again.run_sync(tape=replay).output == {"said": "mended"}
    assert again.snapshot() == process.snapshot()


def test_a_sub_process_that_failed_and_was_taken_over_fails_in_the_replay_too():
    def work() -> SubProcess:
        child = Process([Task(id="in", next_task="more"), Task(id="more")], id="child")
        return SubProcess(id="work", process=child)

    capture = Capture()
    process = mended(Flaky(ValueError("net")), work())
    process.run_sync(tape=capture)
    again = mended(None, work())

    assert again.run_sync(tape=Replay(capture.tape)).status == "finished"
    assert again.snapshot() == process.snapshot()
    assert [entry.kind for entry in again.history] == ["child", "result"]


def test_a_step_that_took_too_long_fails_in_the_replay_too():
    now = [0.0]

    def slow(state: Any) -> None:
        now[0] += 999

    capture = Capture()
    process = mended(Scripted("mended"), ScriptTask(id="work", run=slow, next_task=END))
    process.monotonic = lambda: now[0]
    process.run_sync(tape=capture)
    again = mended(None, ScriptTask(id="work", run=lambda _: None, next_task=END))

    assert again.run_sync(tape=Replay(capture.tape)).output == {"said": "mended"}
    assert again.snapshot() == process.snapshot()


def test_a_function_that_raised_fails_in_the_replay_whether_it_raises_again_or_not():
    def broken(state: Any) -> None:
        raise ValueError("no")

    capture = Capture()
    mended(Scripted("mended"), ScriptTask(id="work", run=broken)).run_sync(tape=capture)

    for run in (broken, lambda _: None):
        again = mended(None, ScriptTask(id="work", run=run))
        assert again.run_sync(tape=Replay(capture.tape)).output == {"said": "mended"}


def test_a_stored_run_in_which_a_model_raised_is_replayed():
    runs = Runs(open_store("memory:")).sync
    assert runs.run(mended(Flaky(ValueError("net"))), run_id="r").status == "finished"

    assert runs.replay(mended(None), "r").same
