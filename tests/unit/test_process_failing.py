"""Where a run goes on behind a task that failed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thusfar.errors import InvalidDefinitionError, ProviderError
from thusfar.models import Scripted
from thusfar.process import (
    END,
    Process,
    RunLimits,
    ScriptTask,
    StepFailed,
    SubProcess,
    Task,
    from_data,
)

WANTED = {"type": "object", "required": ["x"]}
MEND = Task(id="mend", task_prompt="Failed: ${json(failure)}", state_updates="said", next_task=END)


def broken(state: Any) -> None:
    state["half"] = True
    raise ValueError("no")


def test_a_task_that_fails_leads_to_its_failure_task_with_state_and_log_as_they_were():
    events: list[Any] = []
    work = Task(id="work", output=WANTED, max_retries=1, failure_task="mend", state_updates="got")
    process = Process([work, MEND], model=Scripted(["{}", "{}", "sorry"]), on_event=events.append)

    outcome = process.run_sync()

    assert (outcome.status, outcome.output, outcome.steps) == ("finished", {"said": "sorry"}, 2)
    assert [entry.task_id for entry in process.history] == ["mend"]
    told = json.loads(process.model.calls[2].prompt.split("Failed: ")[1])
    assert told["code"] == "RETRIES_EXHAUSTED"
    assert (told["task_id"], len(told["errors"])) == ("work", 1)
    (failed,) = [event for event in events if isinstance(event, StepFailed)]
    assert (failed.task_id, failed.next_task, failed.step) == ("work", "mend", 1)
    assert process.failure is None, "the step behind it went well"


@pytest.mark.parametrize(
    ("task", "code"),
    [
        (Task(id="work", output=WANTED, max_retries=0), "RETRIES_EXHAUSTED"),
        (ScriptTask(id="work", run=broken), "TASK_FAILED"),
        (Task(id="work", transitions=[{"to": "mend", "visible_when": lambda _: False}]),
         "NO_ROUTE"),
        (Task(id="work", model=Scripted([ProviderError("gone", fix="wait")])), "PROVIDER_FAILED"),
        (Task(id="work", task_prompt="x" * 99_999), "REQUEST_TOO_LARGE"),
        (SubProcess(id="work", process=Process([ScriptTask(id="in", run=broken)])), "TASK_FAILED"),
    ],
)  # fmt: skip
def test_the_error_task_takes_over_whatever_one_task_fails_with(task: Any, code: str):
    mend = ScriptTask(id="mend", run=lambda state: state.update(done=True), next_task=END)
    seen: list[str] = []
    process = Process(
        [task, mend],
        model=Scripted(["{}", "{}"], window=2_000),
        error_task="mend",
        on_event=lambda event: seen.append(getattr(event, "code", "")),
    )

    outcome = process.run_sync()

    assert (outcome.status, outcome.output) == ("finished", {"done": True}), outcome.failure
    assert code in seen
    entries = [(entry.kind, entry.task_id) for entry in process.history]
    assert entries == ([("child", "work")] if isinstance(task, SubProcess) else [])


@pytest.mark.parametrize(
    ("task", "code"),
    [
        (ScriptTask(id="work", run=lambda state: {1}), "INVALID_TRANSCRIPT"),
        (Task(id="work", task_prompt="${state.nowhere}"), "INVALID_TEMPLATE"),
        (Task(id="work", state_updates="text.inside"), "INVALID_STATE"),
        (SubProcess(id="work", process=Process([Task(id="in")], input=WANTED)), "INPUT_INVALID"),
        (SubProcess(id="work", process=Process([Task(id="in")], output=WANTED)), "OUTPUT_INVALID"),
        (SubProcess(id="work", process=Process([Task(id="in", next_task="in")],
                                               limits=RunLimits(max_steps=1))), "STEP_LIMIT"),
        (SubProcess(id="work", process=Process([Task(id="in", next_task="in")],
                                               limits=RunLimits(max_calls=1))), "CALL_LIMIT"),
        (SubProcess(id="work", process=Process([Task(id="in")],
                                               limits=RunLimits(max_tokens=1))), "TOKEN_LIMIT"),
    ],
)  # fmt: skip
def test_a_task_fails_for_its_author_whatever_it_fails_with(task: Any, code: str):
    seen: list[str] = []
    mend = ScriptTask(id="mend", run=lambda state: state.update(done=True), next_task=END)
    process = Process(
        [task, mend],
        model=Scripted("x"),
        state={"text": "x"},
        error_task="mend",
        on_event=lambda event: seen.append(getattr(event, "code", "")),
    )

    assert process.run_sync().status == "finished"
    assert [each for each in seen if each] == [code]
    nested = [entry.result["failure"] for entry in process.history if entry.kind == "child"]
    assert nested == ([code] if isinstance(task, SubProcess) else [])


@pytest.mark.parametrize("limits", [RunLimits(max_calls=1), RunLimits(max_tokens=60)])
@pytest.mark.parametrize("own", [None, "mend"])
def test_a_limit_of_the_run_that_a_sub_process_meets_is_not_taken_over(
    limits: RunLimits, own: str | None
):
    child = Process([Task(id="in", next_task="more"), Task(id="more")])
    work = SubProcess(id="work", process=child, failure_task=own)
    process = Process([work, MEND], model=Scripted("x"), error_task="mend", limits=limits)

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code in ("CALL_LIMIT", "TOKEN_LIMIT")
    assert (outcome.failure.task_id, outcome.calls, process.log.recorded) == ("work", 1, 0)


def test_nothing_takes_over_behind_a_sub_process_alone():
    child = Process([ScriptTask(id="in", run=broken)])
    work = SubProcess(id="work", process=child, failure_task="mend")

    made = Process([work, MEND], error_task="mend").run_task_sync("work")

    assert made.failure is not None
    assert (made.failure.code, made.next_task) == ("TASK_FAILED", "")


def test_an_error_task_that_fails_itself_fails_the_run():
    mend = Task(id="mend", output=WANTED, max_retries=0)
    process = Process(
        [ScriptTask(id="work", run=broken), mend], model=Scripted("{}"), error_task="mend"
    )

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.task_id) == ("RETRIES_EXHAUSTED", "mend")
    assert process.failure is not None
    assert process.failure["task_id"] == "work"


def test_the_limits_of_a_run_are_not_taken_over():
    work = Task(id="work", next_task="work")
    process = Process(
        [work, MEND], model=Scripted("x"), error_task="mend", limits=RunLimits(max_calls=2)
    )

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "CALL_LIMIT"


def test_a_run_that_was_broken_off_at_its_failure_task_still_knows_what_failed():
    work = ScriptTask(id="work", run=broken, failure_task="mend")
    first = Process([work, MEND], model=Scripted([]))
    first.run_sync()
    later = Process([work, MEND], model=Scripted(["sorry"]))
    later.restore(json.loads(json.dumps(first.snapshot())))

    assert later.run_sync().output == {"said": "sorry"}
    assert '"task_id":"work"' in later.model.calls[0].prompt


def test_check_walks_to_failure_tasks_and_names_those_that_do_not_exist():
    good = Process([ScriptTask(id="work", run=broken, failure_task="mend"), MEND])
    bad = Process([ScriptTask(id="work", run=broken, failure_task="nowhere")])

    assert good.check() == ()
    assert [finding.kind for finding in bad.check()] == ["unknown-target"]
    with pytest.raises(InvalidDefinitionError):
        Process([MEND], error_task="nowhere")


def test_failure_tasks_can_be_data():
    process = from_data(
        {
            "error_task": "mend",
            "tasks": [{"id": "work", "failure_task": "mend"}, {"id": "mend", "next_task": "END"}],
        }
    )

    assert process.graph.error_task == "mend"
    assert process.graph.behind_failure(process.graph.tasks["work"]) == "mend"


def ticking(process: Process, now: list[float]) -> Process:
    process.monotonic = lambda: now[0]
    return process


def taking(now: list[float], seconds: float) -> Any:
    def run(state: Any) -> None:
        now[0] += seconds

    return run


@pytest.mark.parametrize(
    ("limits", "status", "named"),
    [
        (RunLimits(run_timeout_seconds=5), "failed", "run_timeout_seconds"),
        (RunLimits(step_timeout_seconds=5), "finished", "step_timeout_seconds"),
        (RunLimits(step_timeout_seconds=5, run_timeout_seconds=6), "failed", "run_timeout_seconds"),
    ],
)
def test_a_step_that_took_too_long_is_taken_over_and_a_run_that_did_is_not(limits, status, named):
    now = [0.0]
    events: list[Any] = []
    tasks = [ScriptTask(id="work", run=taking(now, 9)), MEND]
    process = ticking(
        Process(tasks, model=Scripted("sorry"), error_task="mend", limits=limits), now
    )
    process.on_event = events.append

    outcome = process.run_sync()

    assert outcome.status == status
    failed = [event for event in events if isinstance(event, StepFailed)]
    assert len(failed) == (status == "finished")
    if outcome.failure is not None:
        assert (outcome.failure.code, outcome.failure.task_id) == ("STEP_TIMEOUT", "work")
        assert outcome.failure.fix.startswith(f"Raise {named},")
        assert outcome.failure.cause.facts[named] == getattr(limits, named)


def slow_inside(now: list[float]) -> Process:
    """A process that takes 9 seconds, with a task that would take over its failures."""
    tasks = [ScriptTask(id="work", run=taking(now, 9)), ScriptTask(id="spare", run=str)]
    return ticking(Process(tasks, id="inside", error_task="spare"), now)


def test_the_time_of_the_run_around_is_taken_over_neither_inside_nor_outside():
    now = [0.0]
    inside = slow_inside(now)
    limits = RunLimits(run_timeout_seconds=5)
    process = Process(
        [SubProcess(id="sub", process=inside), MEND], error_task="mend", limits=limits
    )

    outcome = ticking(process, now).run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.task_id) == ("STEP_TIMEOUT", "sub")
    assert outcome.failure.cause.facts["process_id"] == "process"
    assert inside.position.at == "work"


def test_the_time_of_the_step_around_ends_what_is_inside_and_is_taken_over_outside():
    now = [0.0]
    inside = slow_inside(now)
    process = Process(
        [SubProcess(id="sub", process=inside), MEND],
        error_task="mend",
        model=Scripted("sorry"),
        limits=RunLimits(step_timeout_seconds=5),
    )

    outcome = ticking(process, now).run_sync()

    assert (outcome.status, outcome.output) == ("finished", {"said": "sorry"})
    assert inside.position.at == "work"
