"""Summaries of entries: what a script or a sub-process came to, in the words of its author."""

from __future__ import annotations

import json

import pytest

from thusfar.errors import InvalidTemplateError
from thusfar.models import Scripted
from thusfar.process import END, Process, ScriptTask, SubProcess, Task, from_data, to_data

SUMMARY = "read ${output.number} for ${state.who}"


def inside(answer: str = '{"number": "17"}') -> Process:
    task = Task(id="read", output={"type": "object", "required": ["number"]}, max_retries=0,
                process_outputs=lambda outputs, state: state.update(outputs))  # fmt: skip
    return Process([task], id="inside", model=Scripted([answer]))


def test_a_sub_process_that_finished_is_summed_up_from_its_output_and_the_state_behind_it():
    sub = SubProcess(id="sub", title="Read", process=inside(), history_summary=SUMMARY)
    process = Process([sub], state={"who": "Ada"}, history_detail_items=0)

    outcome = process.run_sync()

    assert outcome.status == "finished"
    assert process.log.older_lines() == ["Read | read 17 for Ada"]
    assert process.history[0].result == {"outcome": "finished", "steps": 1, "entries": 1}


def test_a_sub_process_that_failed_has_its_counts_and_no_summary():
    sub = SubProcess(
        id="sub", process=inside("no"), history_summary=SUMMARY, failure_task="on", next_task=END
    )
    process = Process([sub, ScriptTask(id="on", run=str, next_task=END)], state={"who": "Ada"})

    assert process.run_sync().status == "finished"
    assert process.history[0].summary is None
    assert process.history[0].result["failure"] == "RETRIES_EXHAUSTED"


def test_a_recorded_script_is_summed_up_from_what_it_returned():
    task = ScriptTask(id="count", run=lambda _: {"number": 3}, record=True, history_summary=SUMMARY)
    process = Process([task], state={"who": "Ada"}, history_detail_items=0)

    process.run_sync()

    assert process.log.older_lines() == ["count | read 3 for Ada"]


def test_a_summary_that_cannot_be_written_commits_nothing():
    task = ScriptTask(
        id="count",
        run=lambda _: {"other": 3},
        state_updates="got",
        record=True,
        history_summary=SUMMARY,
    )
    process = Process([task], state={"who": "Ada"})

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "INVALID_TEMPLATE"
    assert (process.state.values_only, len(process.history)) == ({"who": "Ada"}, 0)


@pytest.mark.parametrize("given", [7, "${", "${ a b }"])
def test_a_template_of_a_summary_is_read_when_its_task_is_made(given):
    with pytest.raises(InvalidTemplateError):
        ScriptTask(id="count", run=str, history_summary=given)
    with pytest.raises(InvalidTemplateError):
        SubProcess(id="sub", process=inside(), history_summary=given)


def test_summaries_can_be_written_as_data():
    hooks = {"run": str, "inside": inside()}
    data = {
        "tasks": [
            {"kind": "script", "id": "a", "run": "run", "record": True, "history_summary": "did"},
            {"kind": "process", "id": "b", "process": "inside", "history_summary": SUMMARY},
        ],
        "sequence": ["a", "b"],
    }

    written = to_data(from_data(json.loads(json.dumps(data)), hooks=hooks), hooks=hooks)

    assert [task["history_summary"] for task in written["tasks"]] == ["did", SUMMARY]
