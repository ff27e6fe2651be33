"""Kinds: what a process, its tasks and its runs may be given; anything else is a typed refusal."""

from __future__ import annotations

import datetime
import inspect
import math
from typing import Any

import pytest

from thusfar.errors import HistoryError, InvalidDefinitionError, OptionsError
from thusfar.models import Scripted
from thusfar.process import (
    END,
    Capture,
    CommitChanges,
    DecisionTask,
    PartialPromptConfig,
    Process,
    Replay,
    RequestSettings,
    RunLimits,
    Runs,
    ScriptTask,
    SubProcess,
    Task,
    Transition,
    from_data,
    load_process,
    run_markdown,
)
from thusfar.storage import MemoryStore

GIVEN: dict[Any, dict[str, Any]] = {
    Process: {"tasks": [Task(id="a", next_task=END)], "model": Scripted("x")},
    Task: {"id": "a"},
    ScriptTask: {"id": "a", "run": str},
    DecisionTask: {"id": "a", "decisions": []},
    SubProcess: {"id": "a", "process": Process([Task(id="b")], model=Scripted("x"))},
    Transition: {"to": "a"},
    CommitChanges: {},
    RunLimits: {},
    RequestSettings: {},
    PartialPromptConfig: {},
    Replay: {"tape": {"records": []}},
    Runs: {"store": MemoryStore()},
}
JUNK: list[Any] = [
    None, 0, -1, 1.5, True, "", "x", "a b", b"x", [], [1], ["x"], [None], {}, {"x": 1}, {1: 2},
    object(), float("nan"), math.inf, {"history": 1}, {"a"}, range(3), "${", "${x}", 10**30, int,
    [{}], [[]], {"fieldName": 1}, "\ud800", Task(id="t"),
]  # fmt: skip
OPEN_TO_CODE = {"clock", "on_event", "counter", "store", "input", "output"}
"""What an author's function or type may do as it likes."""


def used(value: Any) -> None:
    """Put what was made to use, as a caller would."""
    end = Task(id="x", next_task=END)
    model = Scripted('{"goTo": "x"}')
    if isinstance(value, Task | ScriptTask | DecisionTask | SubProcess):
        value = Process([value, end], model=model)
    elif isinstance(value, Transition):
        value = Process([Task(id="q", transitions=[value]), Task(id="a"), end], model=model)
    elif isinstance(value, RunLimits):
        value = Process([end], limits=value, model=model)
    elif isinstance(value, PartialPromptConfig):
        Process([end]).partial_prompt(value)
    if isinstance(value, Process):
        value.check()
        outcome = value.run_sync()
        value.snapshot()
        run_markdown(value, outcome)


@pytest.mark.parametrize("made", GIVEN, ids=lambda made: made.__name__)
def test_whatever_an_option_is_given_it_works_or_is_refused_by_a_typed_error(made: Any):
    tried = 0
    for name in inspect.signature(made).parameters:
        for junk in JUNK if name not in OPEN_TO_CODE else ():
            tried += 1
            try:
                used(made(**{**GIVEN[made], name: junk}))
            except HistoryError as error:
                assert error.fix, name
    assert tried >= len(JUNK)


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: type(junk).__name__)
def test_whatever_a_method_is_given_is_taken_or_refused_by_a_typed_error(junk: Any):
    process = Process([Task(id="a", next_task=END)], model=Scripted("x"))
    calls = [
        process.run_sync,
        process.run_task_sync,
        process.restore,
        process.partial_prompt,
        process.add_history,
        from_data,
        load_process,
        run_markdown,
        lambda given: process.run_sync(tape=given),
        lambda given: from_data({"tasks": [{"id": "a"}]}, hooks=given),
        process.reset,
    ]
    for call in calls:
        try:
            call(junk)
        except HistoryError as error:
            assert error.fix


def test_a_task_is_named_by_its_id_and_not_given_as_itself():
    for made in (
        lambda: Task(id="a", next_task=Task(id="b")),  # type: ignore[arg-type]
        lambda: ScriptTask(id="a", run=str, failure_task=Task(id="b")),  # type: ignore[arg-type]
        lambda: DecisionTask(id="a", decisions=[], otherwise=Task(id="b")),  # type: ignore[arg-type]
        lambda: Process([Task(id="a")], error_task=Task(id="a")),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidDefinitionError, match="had a Task as") as refused:
            made()
        assert refused.value.fix == "Pass the id of a task, or END."


def test_steps_and_retries_always_have_a_limit():
    for name in ("max_steps", "max_retries"):
        with pytest.raises(OptionsError, match=f"got None for {name}"):
            RunLimits(**{name: None})


def test_a_tape_is_passed_as_what_records_or_answers():
    process = Process([Task(id="a", next_task=END)], model=Scripted("x"))
    capture = Capture()
    process.run_sync(tape=capture)

    with pytest.raises(OptionsError, match="a Tape as its tape") as refused:
        process.run_sync(tape=capture.tape)  # type: ignore[arg-type]
    assert "Replay(tape)" in refused.value.fix
    assert not process.running


@pytest.mark.parametrize("clock", [lambda: "noon", lambda: None, lambda: 1 / 0])
def test_a_clock_that_gives_no_time_is_a_typed_failure_of_the_step(clock: Any):
    process = Process([Task(id="a", next_task=END)], model=Scripted("x"), clock=clock)

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.message) == (
        "INVALID_OPTIONS", "The clock of a process gave no time.",
    )  # fmt: skip
    assert len(process.history) == 0


def test_a_time_without_a_zone_is_taken_for_utc():
    noon = datetime.datetime(2026, 3, 1, 12)
    process = Process([Task(id="a", next_task=END)], model=Scripted("x"), clock=lambda: noon)

    process.run_sync()

    assert process.history[0].ts == "2026-03-01T12:00:00+00:00"


@pytest.mark.parametrize("output", [lambda value: value, len, "".join])
def test_a_function_is_no_schema_of_an_output(output: Any):
    with pytest.raises(InvalidDefinitionError, match="was not a schema"):
        Task(id="a", output=output)
