"""Interceptors: somebody looks at each call of a model before it is made."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from thusfar.errors import InvalidDefinitionError
from thusfar.models import Scripted
from thusfar.process import (
    END,
    Call,
    Cancel,
    Capture,
    Forward,
    Process,
    Replay,
    RunLimits,
    Skip,
    SubProcess,
    Task,
    Use,
)

WANTED = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


def two(decisions: list[Any], answers: Any = (), **options: Any) -> tuple[Process, list[Call]]:
    """A process of two tasks, and the calls that its interceptor saw."""
    seen: list[Call] = []

    def decide(call: Call) -> Any:
        seen.append(call)
        return decisions.pop(0)

    tasks = [
        Task(id="one", task_prompt="ONE", output=WANTED, state_updates="one", next_task="two"),
        Task(id="two", task_prompt="TWO", state_updates="two", next_task=END),
    ]
    process = Process(tasks, model=Scripted(list(answers)), interceptor=decide, **options)
    return process, seen


def test_a_call_is_forwarded_or_answered_by_hand():
    process, seen = two([Use({"x": 1}), Forward()], ["from the model"])

    outcome = process.run_sync()

    assert outcome.output == {"one": {"x": 1}, "two": "from the model"}
    assert [(call.task_id, call.step, call.attempt) for call in seen] == [
        ("one", 1, 1), ("two", 2, 1),
    ]  # fmt: skip
    assert "ONE" in seen[0].prompt
    assert seen[0].schema == WANTED
    assert len(process.model.calls) == 1
    assert outcome.calls == 2


def test_an_answer_by_hand_is_held_to_the_schema_like_any_other():
    process, seen = two([Use('{"x": "no"}'), Use({"x": 2}), None], ["y"])

    assert process.run_sync().output == {"one": {"x": 2}, "two": "y"}
    assert [call.attempt for call in seen] == [1, 2, 1]
    assert seen[1].errors


def test_a_skipped_task_is_recorded_as_skipped_and_changes_no_state():
    process, _ = two([Skip(), Use("done")])

    outcome = process.run_sync()

    assert outcome.output == {"two": "done"}
    assert [(entry.kind, entry.action) for entry in process.history] == [
        ("skipped", "one"), ("result", "two"),
    ]  # fmt: skip
    assert process.log.older_lines() == []
    small = Process([Task(id="one")], history_detail_items=0, interceptor=lambda _: Skip())
    small.run_sync()
    assert small.log.older_lines() == ["one | skipped"]


def test_the_interceptor_of_a_task_is_asked_before_those_around_it():
    """W-38."""
    asked: list[str] = []

    def named(name: str, decision: Any = None) -> Any:
        def decide(call: Call) -> Any:
            asked.append(f"{name} {call.process_id}.{call.task_id}")
            return Use(name) if decision is None else decision

        return decide

    def pair() -> list[Task]:
        return [
            Task(id="own", next_task="plain", interceptor=named("task")),
            Task(id="plain", next_task=END),
        ]

    with_one = Process(pair(), id="one", interceptor=named("inner"))
    without = Process(pair(), id="two")
    tasks = [
        SubProcess(id="a", process=with_one, next_task="b"),
        SubProcess(id="b", process=without, next_task="c"),
        Task(id="c", interceptor=named("forwards", Forward()), next_task="d"),
        Task(id="d"),
    ]
    process = Process(
        tasks, id="outer", interceptor=named("outer"), model=Scripted("from the model")
    )

    process.run_sync().require()

    assert asked == [
        "task one.own", "inner one.plain", "task two.own", "outer two.plain",
        "forwards outer.c", "outer outer.d",
    ]  # fmt: skip
    assert [entry.result for entry in process.history][2:] == ["from the model", "outer"]
    assert len(process.model.calls) == 1


@pytest.mark.parametrize("on_loop", [False, True])
def test_a_run_is_cancelled_from_within_a_sub_process(on_loop: bool):
    child = Process([Task(id="in", next_task=END)], id="child")
    tasks = [Task(id="first", next_task="sub"), SubProcess(id="sub", process=child)]
    decisions = [Use("a"), Cancel("not today")]
    process = Process(tasks, interceptor=lambda _: decisions.pop(0))

    outcome = asyncio.run(process.run()) if on_loop else process.run_sync()

    assert (outcome.status, outcome.reason, outcome.steps) == ("cancelled", "not today", 1)
    assert process.position.at == "sub"
    assert not process.running


def test_an_interceptor_may_be_awaited():
    async def decide(call: Call) -> Use:
        await asyncio.sleep(0)
        return Use(call.task_id)

    process = Process([Task(id="a", state_updates="got", next_task=END)], interceptor=decide)

    assert asyncio.run(process.run()).output == {"got": "a"}


def test_what_was_decided_is_on_the_tape():
    capture = Capture()
    process, _ = two([Skip(), Forward()], ["y"], clock=lambda: __import__("datetime").datetime.min)
    process.run_sync(tape=capture)
    again, seen = two([])

    again.run_sync(tape=Replay(json.loads(json.dumps(capture.tape.to_json()))))

    assert again.snapshot() == process.snapshot()
    assert seen == []


def test_what_is_no_decision_is_refused():
    process, _ = two(["yes"])

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "INVALID_OPTIONS"


def test_what_cannot_be_called_is_no_interceptor_of_a_task():
    with pytest.raises(InvalidDefinitionError):
        Task(id="a", interceptor="me")


def test_a_call_that_is_forwarded_without_a_model_is_refused():
    process = Process([Task(id="a")], interceptor=lambda _: Forward())

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "INVALID_OPTIONS"


def test_the_time_that_an_interceptor_takes_is_not_the_steps():
    now = [0.0]

    def decide(call: Call) -> Forward:
        now[0] += 1000
        return Forward()

    process = Process(
        [Task(id="a", next_task=END)],
        model=Scripted("x"),
        interceptor=decide,
        limits=RunLimits(step_timeout_seconds=10, run_timeout_seconds=10),
    )
    process.monotonic = lambda: now[0]

    assert process.run_sync().status == "finished"
