"""The public cases about processes and their histories."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cases.case_file import Case, case, cases
from shared_data import needs_shared
from thusfar.errors import InvalidStateError
from thusfar.models import Scripted
from thusfar.process import END, Process, RunLimits, ScriptTask, SubProcess, Task
from thusfar.process.entries import manual_entry
from thusfar.process.log import ActionLog, LogOptions

pytestmark = needs_shared
KNOWN = {"process-render": {"C29", "C39"}, "process": {"C40", "C41", "C42", "C43"}}
OPTIONS = ("history_detail_items", "history_result_max_chars", "history_max_items")


def rendered(each: Case) -> ActionLog:
    log = ActionLog(
        LogOptions(**{name: each.input[name] for name in OPTIONS if name in each.input})
    )
    for number, fields in enumerate(each.input["entries"], 1):
        log.add(manual_entry(fields, seq=number, now=""))
    return log


@pytest.mark.parametrize("op", KNOWN)
def test_every_case_of_the_file_has_a_test(op: str):
    assert {each.id for each in cases(op)} == KNOWN[op]


def test_c29_a_cap_never_cuts_a_character_or_an_escape():
    each = case("process-render", "C29")

    log = rendered(each)

    lines = log.older_lines()
    assert (len(lines), len(log.detail_lines())) == (
        each.expected["lines"],
        each.expected["in_full"],
    )
    for line in lines:
        assert len(line) <= each.input["history_result_max_chars"]
        assert len(line.splitlines()) == 1
        line.encode()
        assert not line.rstrip("…").endswith("\\")
    assert all(line.replace("\\|", "").count("|") == 1 for line in lines)
    assert each.sentences == 3


def test_c39_a_job_finished_long_ago_is_still_named():
    each = case("process-render", "C39")

    log = rendered(each)

    lines = log.older_lines()
    assert (len(lines), len(log.detail_lines())) == (
        each.expected["lines"],
        each.expected["in_full"],
    )
    entries = each.input["entries"]
    assert lines == [f"{entry['action']} | {entry['result']}" for entry in entries[:27]]
    assert "rebuild index" in lines[0]
    assert "done, 812 rows" in lines[0]
    assert all(len(line) <= 60 for line in lines)
    assert [json.loads(line)["action"] for line in log.detail_lines()] == [
        entry["action"] for entry in entries[27:]
    ]
    assert each.sentences == 4


@pytest.mark.parametrize("no_history", [False, True])
def test_c40_history_needs_no_database(no_history: bool):
    assert case("process", "C40").sentences == 2
    answers = ['{"go_to": "B", "intent": "collect", "step_after": "review"}', "found it", "x"]
    tasks = [
        Task(id="A", transitions=["B"]),
        Task(id="B", state_updates="found", next_task="C"),
        Task(id="C", next_task=END),
    ]
    process = Process(tasks, model=Scripted(answers), no_history=no_history)

    process.run_sync()

    prompt = process.model.calls[2].prompt
    shown = [text in prompt for text in ("collect", "review", "found it")]
    assert shown == [not no_history] * 3


@pytest.mark.parametrize("number", [0, 1])
def test_c41_an_answer_that_breaks_the_schema_changes_nothing(number: int):
    each = case("process", "C41")
    assert each.sentences == 3
    output = {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"type": "string"}},
            "score": {"type": "number", "minimum": 0, "maximum": 10},
        },
        "required": ["tags", "score"],
    }
    task = Task(
        id="a",
        output=output,
        state_updates={"tags": "$output.tags", "score": "$output.score"},
        max_retries=each.input["max_retries"],
    )
    answer = json.dumps(each.input["answers"][number])
    process = Process([task], model=Scripted([answer]), state=each.input["state"])

    outcome = process.run_sync()

    assert process.state.values_only == {"tags": [], "score": 1.0}
    assert (len(process.history), process.state["history"]) == (0, ())
    assert outcome.failure is not None
    assert outcome.failure.code == "RETRIES_EXHAUSTED"
    assert outcome.failure.errors
    fresh = Process([task], model=Scripted([]))
    fresh.restore(json.loads(json.dumps(process.snapshot())))
    assert fresh.state.values_only == {"tags": [], "score": 1.0}


def test_c42_a_nested_process_does_not_hand_entries_back():
    each = case("process", "C42")
    assert each.sentences == 3

    def record(state: Any) -> None:
        child.add_history(summary=each.input["child"]["records"][0])
        state["out"] = each.input["child"]["output"]

    child = Process([ScriptTask(id="c", run=record, next_task=END)], id="child")
    tasks = [SubProcess(id="sub", process=child, state_updates="from_child", next_task=END)]
    process = Process(tasks)
    for text in each.input["parent_history"]:
        process.add_history(summary=text)

    outcome = process.run_sync()

    assert outcome.status == "finished"
    assert len(process.history) == each.expected["entries"]
    assert [entry.summary for entry in process.history][:2] == ["A done", "B done"]
    assert [entry.summary for entry in process.history[2].nested] == ["C done"]
    assert [entry.summary for entry in child.history] == ["C done"]
    with pytest.raises(InvalidStateError):
        SubProcess(id="sub", process=child, state_updates={"history": "$output.out.history"})
    mirror = process.state["history"]
    assert isinstance(mirror, tuple)
    assert not hasattr(process.history, "append")


@pytest.mark.parametrize("retries", [0, 1])
def test_c43_a_move_that_is_not_open_does_not_happen(retries: int):
    each = case("process", "C43")
    assert each.sentences == 4
    edges = each.input["transitions"]
    tasks = [Task(id=name, transitions=edges[name]) for name in edges]
    tasks.append(Task(id="done", next_task=END))
    answer = json.dumps(each.input["answer"])
    process = Process(
        tasks,
        start=each.input["at"],
        model=Scripted(answer),
        limits=RunLimits(max_retries=retries),
    )

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "RETRIES_EXHAUSTED"
    assert process.position.at == "draft"
    assert (len(process.history), process.state["history"]) == (0, ())
    if retries:
        prompt = process.model.calls[1].prompt
        assert "goTo must be one of: review." in prompt
        assert prompt.split("Next tasks:\n")[1].strip() == "- review: review"
