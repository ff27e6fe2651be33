"""Changed definitions: a run goes on by the way through its tasks that it began by."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from thusfar.errors import InvalidStateError, OptionsError
from thusfar.models import Scripted
from thusfar.process import (
    END,
    DecisionTask,
    Process,
    RunLimits,
    Runs,
    ScriptTask,
    SubProcess,
    Task,
    Transition,
)
from thusfar.storage import MemoryStore

IDS = ("a", "b", "c")
BELOW = {"fieldName": "n", "operator": "lessThan", "value": 1}


def inner(**options: Any) -> Process:
    tasks = [ScriptTask(id="x", run=lambda _: None), ScriptTask(id="y", run=lambda _: None)]
    return Process(tasks, **{"id": "inner", "sequence": ["x", "y"], **options})


def made(
    *answers: str,
    sequence: tuple[str, ...] = IDS,
    child: Process | None = None,
    edges: tuple[Any, ...] = ("a", END),
    decided: str = END,
    **options: Any,
) -> Process:
    tasks = [
        *(Task(id=name, state_updates=f"said.{name}") for name in IDS),
        Task(id="choose", transitions=edges),
        DecisionTask(id="decide", decisions=[(BELOW, decided)], otherwise=END),
        SubProcess(id="sub", process=child or inner()),
    ]
    return Process(tasks, sequence=sequence, model=Scripted(answers), **options)


def broken_off() -> Any:
    runs = Runs(MemoryStore()).sync
    assert runs.run(made("one"), run_id="r").status == "failed"
    assert runs.info("r").task_id == "b"
    return runs


OTHER_WAYS: dict[str, Callable[..., Process]] = {
    "another order": lambda *a: made(*a, sequence=("a", "c", "b")),
    "a task less in the order": lambda *a: made(*a, sequence=("a", "b")),
    "a return task": lambda *a: made(*a, default_return_task="choose"),
    "another start": lambda *a: made(*a, start="b"),
    "another transition": lambda *a: made(*a, edges=("a", "b", END)),
    "another decision": lambda *a: made(*a, decided="a"),
    "another order inside": lambda *a: made(*a, child=inner(sequence=["y", "x"])),
    "another process inside": lambda *a: made(*a, child=inner(id="other")),
}


@pytest.mark.parametrize("way", OTHER_WAYS)
def test_a_definition_in_which_tasks_lead_elsewhere_is_refused_unless_that_is_allowed(way: str):
    runs = broken_off()
    changed = OTHER_WAYS[way]("two", "three")

    with pytest.raises(InvalidStateError, match="lead elsewhere") as refused:
        runs.resume(changed, "r")
    assert "allow_changed=True" in refused.value.fix
    assert refused.value.facts == {"task_id": "b", "run_id": "r", "process_id": "process"}
    assert changed.position.steps == 0, "nothing was taken over"
    assert runs.info("r").status == "failed"

    assert runs.resume(changed, "r", allow_changed=True).steps >= 2


def test_a_run_that_went_on_by_another_way_goes_by_that_from_then_on():
    runs = broken_off()
    other = ("a", "b", "c", "choose")

    assert runs.resume(made("two", sequence=other), "r", allow_changed=True).status == "failed"

    with pytest.raises(InvalidStateError, match="lead elsewhere"):
        runs.resume(made("three"), "r")
    answer = json.dumps({"goTo": "END", "intent": "", "stepAfter": ""})
    assert runs.resume(made("three", answer, sequence=other), "r").status == "finished"


def test_the_same_ways_may_be_declared_otherwise_and_what_is_no_way_may_change():
    tasks = [
        Task(id="a", next_task="b", task_prompt="Other words.", max_retries=0),
        Task(id="b", next_task="c", output={"type": "string"}, failure_task="choose"),
        Task(id="c", title="Last"),
        Task(
            id="choose", transitions=[Transition(END, label="stop"), Transition("a", "on", BELOW)]
        ),
        DecisionTask(id="decide", decisions=[(lambda _: True, END)], otherwise=END, record=True),
        SubProcess(id="sub", process=inner(goal="Another.", limits=RunLimits(max_steps=9))),
    ]
    corrected = Process(tasks, goal="New.", error_task="choose", model=Scripted(['"2"', "3"]))

    assert broken_off().resume(corrected, "r").status == "finished"


def test_a_fork_goes_by_the_way_of_the_run_that_it_was_made_from():
    runs = broken_off()
    runs.fork("r", entry=1, new_id="f")

    with pytest.raises(InvalidStateError, match="lead elsewhere"):
        runs.resume(made("two", sequence=("a", "c", "b")), "f")
    assert runs.resume(made("two", "three"), "f").status == "finished"


def test_a_snapshot_is_held_to_the_way_it_was_written_by():
    process = made("one")
    process.run_sync()
    saved = json.loads(json.dumps(process.snapshot()))
    other = made("two", sequence=("a", "c", "b"))

    with pytest.raises(InvalidStateError, match="lead elsewhere"):
        other.restore(saved)
    assert (other.state.values_only, other.position.steps) == ({}, 0)
    other.restore(saved, allow_changed=True)
    assert other.position.at == "b"
    same = made("two", "three")
    same.restore(saved)
    assert same.run_sync().status == "finished"


def test_what_was_written_before_ways_were_noted_is_taken_as_it_is():
    process = made("one")
    process.run_sync()
    saved = process.snapshot()
    del saved["position"]["graph"]
    other = made("two", sequence=("a", "c", "b"))

    other.restore(saved)

    assert other.position.at == "b"


def test_a_finished_run_gives_its_output_whatever_the_definition():
    runs = broken_off()
    runs.resume(made("two", "three"), "r")

    outcome = runs.resume(made(sequence=("a", "c", "b")), "r")

    assert outcome.output == {"said": {"a": "one", "b": "two", "c": "three"}}


@pytest.mark.parametrize(
    "options",
    [
        {"input": {"n": 1}, "resume": True},
        {"take_over": True},
        {"allow_changed": True},
    ],
)
def test_what_belongs_to_a_new_run_and_to_a_resumed_one_is_not_mixed(options: dict[str, Any]):
    with pytest.raises(OptionsError, match="begun and to be resumed"):
        Runs(MemoryStore()).start(made(), run_id="r", **options)
