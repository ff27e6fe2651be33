"""Stored runs with failures that were taken over, skipped tasks, answers by hand, and limits."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from thusfar.models import GeneratedText, Scripted
from thusfar.process import (
    END,
    Process,
    RunLimits,
    Runs,
    ScriptTask,
    Skip,
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
