"""The seed text of the action history, sentence by sentence; each test quotes its sentence."""

from __future__ import annotations

import datetime
import json
import re
from itertools import pairwise
from typing import Any

import pytest

from shared_data import SHARED, needs_shared
from thusfar.errors import InvalidStateError
from thusfar.models import Scripted
from thusfar.process import END, STANDARD_PROMPT, PartialPromptConfig, Process, Task

CLOCK = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def choose(to: str, intent: str = "why", step_after: str = "then") -> str:
    return json.dumps({"goTo": to, "intent": intent, "stepAfter": step_after})


def made(answers: Any, **options: Any) -> tuple[Process, Scripted]:
    """A hub that chooses, and a spoke that adds a field and returns to it."""
    model = Scripted(answers)
    hub = Task(id="decide", task_prompt="Decide.", transitions=["add", END])
    add = Task(id="add", title="Add field", task_prompt="Add.", state_updates="fields[]")
    options.setdefault("clock", lambda: CLOCK)
    return Process([hub, add], model=model, **options), model


LOOP = [choose("add"), '{"name": "orderDate"}', choose("add"), '{"name": "total"}', choose(END)]


def test_the_history_maintains_the_actions_taken_across_a_series_of_tasks():
    """Automatically maintains a list of the last N actions … when it needs to execute a series."""
    process, model = made(LOOP)

    outcome = process.run_sync()

    assert outcome.status == "finished"
    assert [entry.task_id for entry in process.history] == [
        "decide", "add", "decide", "add", "decide",
    ]  # fmt: skip
    assert '"orderDate"' in model.calls[2].prompt


def test_transitions_are_recorded():
    """(a) transitions (the model emitted {goTo,intent,stepAfter})."""
    process, _ = made([choose(END, "all done", "nothing")])

    process.run_sync()

    (entry,) = process.history
    assert (entry.kind, entry.go_to, entry.intent, entry.step_after) == (
        "transition", END, "all done", "nothing",
    )  # fmt: skip


def test_results_that_were_validated_and_applied_to_state_are_recorded():
    """(b) successful non-transition results that were validated and applied to state."""
    process, _ = made(LOOP)

    process.run_sync()

    entry = process.history[1]
    assert (entry.kind, entry.action, entry.result) == (
        "result",
        "Add field",
        {"name": "orderDate"},
    )
    assert process.state["fields"] == [{"name": "orderDate"}, {"name": "total"}]


def test_the_primary_list_is_kept_on_the_process_as_history():
    """The primary list is kept on the process as history."""
    process, _ = made([choose(END)])

    process.run_sync()

    assert len(process.history) == 1


def test_a_bounded_mirror_is_maintained_in_state():
    """A bounded mirror is also maintained at process.state.history."""
    process, _ = made(LOOP, state_history_max_items=2)

    process.run_sync()

    assert process.state.history == tuple(process.history)[-2:]
    assert process.state["history"] == process.state.history


def test_a_prompt_can_use_the_mirror():
    """For ease of serialization and prompt access."""
    model = Scripted(["x"])
    task = Task(id="a", task_prompt="Before: ${json(state.history)}", next_task=END)
    process = Process([task], model=model)
    process.add_history(taskID="a", summary="one thing", ts=0)

    process.run_sync()

    assert (
        'Before: [{"entry":1,"kind":"manual","ts":"1970-01-01T00:00:00+00:00","taskID":"a",'
        '"summary":"one thing"}]' in model.calls[0].prompt
    )
    json.dumps([entry.to_json() for entry in process.state["history"]])


def test_both_lists_are_append_only_during_a_run():
    """Both lists are append-only during a run."""
    seen: list[tuple[Any, ...]] = []
    process, _ = made(LOOP, on_event=lambda _: seen.append((*process.history,)))

    process.run_sync()

    for before, after in pairwise(seen):
        assert after[: len(before)] == before
    with pytest.raises(InvalidStateError):
        process.state["history"] = []
    with pytest.raises(TypeError):
        process.history[0] = None  # type: ignore[index]
    assert not hasattr(process.history, "append")


def test_the_standard_prompt_includes_history_by_its_part():
    """Typically referenced from standard prompt template via "${promptPart('history')}"."""
    assert "${promptPart('history')}" in STANDARD_PROMPT


def test_the_history_part_includes_its_primer_and_the_data():
    """Which includes the CoTProcess.historyPrimer and history data."""
    process, model = made(LOOP, history_primer="PRIMER OF HISTORY")

    process.run_sync()

    assert "PRIMER OF HISTORY" not in model.calls[0].prompt
    assert model.calls[1].prompt.index("PRIMER OF HISTORY") < model.calls[1].prompt.index('"goTo"')


def test_entries_are_added_by_hand_as_the_text_shows():
    """process.addHistory({taskID: task.ID, summary: "Added field 'orderDate'", ts: Date.now()})."""
    process, model = made([choose(END)], state_history_max_items=1)

    process.add_history(
        {"taskID": "add", "summary": "Added field 'orderDate'", "ts": 1_767_225_600_000}
    )
    process.add_history(task_id="add", summary="And another", ts=CLOCK)
    process.run_sync()

    first, second, _ = process.history
    assert (first.task_id, first.summary) == ("add", "Added field 'orderDate'")
    assert first.ts == "2026-01-01T00:00:00+00:00"
    assert second.ts == "2026-03-01T00:00:00+00:00"
    assert len(process.state["history"]) == 1
    assert "Added field 'orderDate'" in model.calls[0].prompt


def test_the_newest_entries_are_in_full_with_intent_and_step_after():
    """The most recent historyDetailItems entries appear in full, with intent and stepAfter."""
    answers = [choose("add", f"intent {n}", f"after {n}") if n % 2 else "x" for n in range(1, 8)]
    process, model = made([*answers, choose(END)], history_detail_items=2)

    outcome = process.run_sync()

    assert outcome.status == "failed", "the scripted model ran out of answers"
    prompt = model.calls[7].prompt
    newest = prompt.split("<newest-actions>\n")[1].split("\n</newest-actions>")[0].split("\n")
    assert [json.loads(line)["entry"] for line in newest] == [6, 7]
    assert json.loads(newest[1])["intent"] == "intent 7"
    assert json.loads(newest[1])["stepAfter"] == "after 7"


def test_every_earlier_entry_is_one_capped_line():
    """Every earlier entry appears as a single action | result line, capped at … characters."""
    process, model = made(LOOP, history_detail_items=1, history_result_max_chars=20)

    process.run_sync()

    prompt = model.calls[4].prompt
    lines = prompt.split("<completed-work>\n")[1].split("\n</completed-work>")[0].split("\n")
    assert lines == [
        "decide -> add | why",
        'Add field | {"name"…',
        "decide -> add | why",
    ]
    assert all(len(line) <= 20 for line in lines)


def test_nothing_is_omitted():
    """Nothing is omitted: … an entry that disappeared would be work the process would repeat."""
    process, model = made(
        [*(choose("add", f"job {n}") if n % 2 == 0 else "x" for n in range(80)), choose(END)],
        history_detail_items=3,
        history_max_items=5,
    )

    process.run_sync()

    prompt = model.calls[80].prompt
    assert len(process.history) == 5
    assert all(f"job {n}" in prompt for n in range(0, 80, 2))


def test_the_detail_zone_trades_size_against_detail():
    """Set CoTProcess.historyDetailItems to trade prompt size against detail."""
    sizes = []
    for items in (0, 2, 4):
        process, model = made(LOOP, history_detail_items=items)
        process.run_sync()
        sizes.append(len(model.calls[4].prompt))

    assert sizes == sorted(set(sizes))


def test_no_history_leaves_history_out_of_prompts_altogether():
    """And CoTProcess.noHistory to leave history out of a prompt altogether."""
    process, model = made(LOOP, no_history=True)

    process.run_sync()

    assert all(
        "orderDate" not in call.prompt and "record" not in call.prompt for call in model.calls
    )
    assert len(process.history) == 5


def test_the_ceiling_bounds_the_list_in_memory_and_not_the_prompt():
    """historyMaxItems is a retention ceiling …, not a way to bound the prompt."""
    process, model = made(LOOP, history_detail_items=0, history_max_items=1)

    process.run_sync()

    assert [entry.seq for entry in process.history] == [5]
    prompt = model.calls[4].prompt
    assert prompt.count("decide -> add | why") == 2
    assert prompt.count("Add field | ") == 2


def test_the_mirror_defaults_to_the_ceiling_of_the_list():
    """The mirrored state.history maximum … defaults to the in-memory ceiling if unset."""
    process, _ = made(LOOP, history_detail_items=1, history_max_items=3)

    process.run_sync()

    assert process.state["history"] == tuple(process.history)
    assert len(process.state["history"]) == 3


def test_a_runaway_process_is_stopped_where_its_author_asks_for_it():
    """A guard against a runaway process."""
    hub = Task(id="decide", transitions=["decide", END])
    process = Process(
        [hub], model=Scripted(lambda _: choose("decide")), history_max_items=10,
        on_history_limit="fail",
    )  # fmt: skip

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "HISTORY_LIMIT"
    assert (len(process.history), process.steps_executed) == (10, 10)


def test_it_supports_the_more_predictable_execution_model():
    """This is needed to support the more predictable "AI Workflow" execution model."""
    process, model = made([choose("remove"), choose(END)])

    process.run_sync()

    assert [entry.go_to for entry in process.history] == [END], "only declared transitions happen"
    assert "goTo must be one of: add, END." in model.calls[1].prompt


def test_state_updates_apply_what_is_recorded():
    """(for example via CoTTask.stateUpdates)."""
    process, _ = made(LOOP)

    process.run_sync()

    recorded = [entry.result for entry in process.history if entry.kind == "result"]
    assert process.state["fields"] == recorded


def test_an_entry_made_by_hand_is_in_both_lists_within_their_limits():
    """This appends to the process history and mirrors to state.history within … limits."""
    process, _ = made([], history_detail_items=0, history_max_items=3, state_history_max_items=2)

    for number in range(5):
        process.add_history(summary=f"{number}")

    assert [entry.summary for entry in process.history] == ["2", "3", "4"]
    assert [entry.summary for entry in process.state["history"]] == ["3", "4"]


def test_history_is_rendered_in_two_zones():
    """History is rendered in two zones."""
    process, model = made(LOOP, history_detail_items=1)

    process.run_sync()

    prompt = model.calls[4].prompt
    zones = [prompt.index(mark) for mark in ("<completed-work>", "<newest-actions>")]
    assert zones == sorted(zones)


def test_history_can_be_truncated_in_partial_prompts():
    """Truncated via PartialPromptConfig.truncateHistory to include only the N most recent."""
    process, _ = made(LOOP)
    process.run_sync()

    shown = str(process.partial_prompt(PartialPromptConfig(truncate_history=2), task="decide"))

    assert "[3 earlier entries omitted]" in shown
    newest = shown.split("<newest-actions>\n")[1].split("\n</newest-actions>")[0].split("\n")
    assert [json.loads(line)["entry"] for line in newest] == [4, 5]


def test_truncation_is_for_debugging_without_the_full_history():
    """This is useful when debugging recent actions without including the full history."""
    process, _ = made(LOOP)
    process.run_sync()
    before = process.snapshot()

    partial = process.partial_prompt(PartialPromptConfig(truncate_history=0), task="decide")

    assert not isinstance(partial, str)
    assert "orderDate" not in str(partial).split("<newest-actions>")[0]
    assert process.snapshot() == before


QUOTED = (
    "maintains a list of the last N actions", 'more predictable "AI Workflow"',
    "History is tracked automatically", "the model emitted {goTo,intent,stepAfter}",
    "validated and applied to state", "primary list is kept on the process",
    "bounded mirror is also maintained", "Both lists are append", "${promptPart('history')}",
    "Add entries programmatically", "appends to the process history", "process.addHistory({",
    "rendered in two zones", "appear in full, with their intent", "Every earlier entry appears",
    "Nothing is omitted", "trade prompt size against detail", "retention ceiling",
    "defaults to the in-memory ceiling", "truncateHistory", "debugging recent actions",
)  # fmt: skip
"""A few words of each sentence; each has a test above."""


@needs_shared
def test_no_sentence_of_the_text_is_without_a_test():
    assert SHARED is not None
    (path,) = SHARED.glob("seeds/000_*.txt")
    text = path.read_text(encoding="utf-8")

    sentences = re.split(r"(?<=[.)])\s+", text)

    assert len(sentences) == 21
    assert [each for each in sentences if not any(quote in each for quote in QUOTED)] == []
    assert [quote for quote in QUOTED if quote not in text] == []
