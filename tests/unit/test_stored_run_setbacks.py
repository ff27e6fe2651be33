"""Stored runs with failures that were taken over, skipped tasks, answers by hand, and limits."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from thusfar.errors import InvalidStateError
from thusfar.models import GeneratedText, Scripted
from thusfar.process import (
    END,
    Process,
    RunLimits,
    Runs,
    ScriptTask,
    Skip,
    SubProcess,
    Task,
    Use,
    run_markdown,
)
from thusfar.storage import MemoryStore, open_store

WANTED = {"type": "object", "required": ["x"]}


def broken(state: Any) -> None:
    raise ValueError("no")


def mended(answers: list[Any], **options: Any) -> Process:
    tasks = [
        ScriptTask(id="work", run=broken, failure_task="mend"),
        Task(id="mend", task_prompt="${json(failure)}", state_updates="said", next_task="ask"),
        Task(id="ask", output=WANTED, state_updates="asked", next_task=END),
    ]
    return Process(tasks, model=Scripted(answers), **options)


def test_a_run_broken_off_at_its_failure_task_goes_on_there_and_knows_what_failed(tmp_path: Path):
    with closing(open_store(f"sqlite:///{tmp_path}/runs.db")) as store:
        runs = Runs(store).sync
        first = runs.run(mended([]), run_id="r")
        process = mended(["sorry", '{"x": 1}'])
        second = runs.resume(process, "r")
        replayed = runs.replay(mended([]), "r")
        entries = runs.entries("r")

    assert first.failure is not None
    assert (first.failure.code, first.failure.task_id) == ("PROVIDER_FAILED", "mend")
    assert (second.status, second.steps) == ("finished", 3)
    assert '"code":"TASK_FAILED"' in process.model.calls[0].prompt
    assert replayed.same, replayed
    assert [entry.task_id for entry in entries] == ["mend", "ask"]
    assert "## Step 2: mend" in run_markdown(entries, second)


def test_skipped_tasks_and_answers_by_hand_are_replayed_from_the_store():
    decisions: list[Any] = [Skip(), Use({"x": 2})]
    runs = Runs(MemoryStore()).sync

    outcome = runs.run(mended([], interceptor=lambda _: decisions.pop(0)), run_id="r")
    replayed = runs.replay(mended([]), "r")

    assert outcome.output == {"asked": {"x": 2}}
    assert replayed.same, replayed
    assert [entry.kind for entry in runs.entries("r")] == ["skipped", "result"]


def test_tokens_and_circles_are_counted_across_a_resume():
    answer = json.dumps({"goTo": "hub", "intent": "again", "stepAfter": ""})

    def circling(**limits: Any) -> Process:
        reported = GeneratedText(text=answer, input_tokens=90, output_tokens=10)
        hub = Task(id="hub", transitions=["hub", END])
        return Process([hub], model=Scripted(lambda _: reported), limits=RunLimits(**limits))

    runs = Runs(MemoryStore()).sync
    first = runs.run(circling(max_steps=2, loop_threshold=2), run_id="r")
    second = runs.resume(circling(loop_threshold=2, max_retries=0), "r")
    third = runs.resume(circling(max_tokens=310), "r")

    assert (first.steps, first.tokens) == (2, 200)
    assert second.failure is not None
    assert (second.failure.code, second.steps, second.tokens) == ("LOOP_DETECTED", 2, 300)
    assert third.failure is not None
    assert (third.failure.code, third.calls, third.tokens) == ("TOKEN_LIMIT", 3, 300)


def test_a_run_is_listed_with_the_tokens_that_went_in_and_came_out():
    """W-54: those of sub-processes, refused answers, resumes and forks too."""
    runs = Runs(open_store("memory:")).sync
    texts = ["one", GeneratedText(text="no", input_tokens=60, output_tokens=6), '{"n": 1}']

    def process(*answers: Any) -> Process:
        said = [
            GeneratedText(text=each, input_tokens=100, output_tokens=10)
            if isinstance(each, str)
            else each
            for each in answers
        ]
        numbered = {"type": "object", "required": ["n"]}
        inner = Process([Task(id="in", output=numbered)], id="inner")
        tasks = [
            Task(id="a", next_task="sub"),
            SubProcess(id="sub", process=inner, next_task="b"),
            Task(id="b", next_task=END),
        ]
        return Process(tasks, model=Scripted(said))

    assert runs.run(process(*texts), run_id="r").status == "failed"
    info = runs.info("r")
    assert (info.calls, info.input_tokens, info.output_tokens) == (4, 260, 26)
    outcome = runs.resume(process("end"), "r")
    info = runs.info("r")
    assert outcome.tokens == info.input_tokens + info.output_tokens == 396
    assert (info.calls, info.output_tokens) == (5, 36)
    assert runs.list() == (info,)
    forked = runs.fork("r", entry=1, new_id="f")
    assert (forked.calls, forked.input_tokens, forked.output_tokens) == (1, 100, 10)
    assert runs.replay(process(), "r").same


def around(child: Process) -> Process:
    work = SubProcess(id="work", process=child, state_updates="got", next_task=END)
    mend = ScriptTask(id="mend", run=lambda _: None, next_task=END)
    return Process([work, mend], id="outer", error_task="mend")


@pytest.mark.parametrize("change", ["another process", "a task less"])
def test_a_sub_process_that_was_broken_off_goes_on_with_its_own_definition_only(change: str):
    """What is wrong with the definition is no failure that a task takes over."""

    class Stop(BaseException):
        pass

    def ask(call: Any) -> str:
        if "SECOND" in call.prompt:
            raise Stop
        return "x"

    def inner(model: Any, **options: Any) -> Process:
        tasks = [
            Task(id="one", task_prompt="FIRST", next_task="two"),
            Task(id="two", task_prompt="SECOND", next_task=END),
        ]
        return Process(tasks, model=model, **{"id": "inner", **options})

    runs = Runs(MemoryStore()).sync
    with pytest.raises(Stop):
        runs.run(around(inner(Scripted(ask))), run_id="r")

    other = (
        inner(Scripted("x"), id="other")
        if change == "another process"
        else Process([Task(id="one", next_task=END)], id="inner", model=Scripted("x"))
    )
    with pytest.raises(InvalidStateError, match="lead elsewhere"):
        runs.resume(around(other), "r")
    refused = runs.resume(around(other), "r", allow_changed=True)
    assert refused.failure is not None
    assert refused.failure.code == "INVALID_DEFINITION"
    assert runs.info("r").steps == 0

    model = Scripted("x")
    assert runs.resume(around(inner(model)), "r", allow_changed=True).status == "finished"
    assert len(model.calls) == 1, "the committed step is not repeated"
