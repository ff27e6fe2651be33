"""Rendering of the action log: whole lines capped, nothing forged, equal lines counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thusfar.errors import OptionsError
from thusfar.models import Scripted
from thusfar.process import END, Process, RequestSettings, RunLimits, Task
from thusfar.process.entries import Entry, manual_entry
from thusfar.process.log import ActionLog, LogOptions
from thusfar.process.rendering import compact_line, counted_line, detail_line

BREAKS = ["\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


def entry(**fields: Any) -> Entry:
    return manual_entry({"action": "act", **fields}, seq=1, now="2026-01-01T00:00:00+00:00")


def test_a_line_is_the_action_a_bar_and_the_result():
    assert compact_line(entry(action="rebuild index", result="812 rows"), most=60) == (
        "rebuild index | 812 rows"
    )


def test_the_whole_line_is_capped_with_the_ellipsis_inside():
    assert compact_line(entry(action="a" * 40, result="b" * 40), most=20) == "aaaaaaaaa… | bbbbbb…"


@pytest.mark.parametrize("where", ["action", "summary", "result"])
@pytest.mark.parametrize("text", [*BREAKS, "|", "\\", "\\n"])
def test_no_text_can_end_a_line_or_stand_for_the_bar(where: str, text: str):
    made = compact_line(entry(**{where: f"x{text}y"}), most=60)

    assert len(made.splitlines()) == 1
    assert made.replace("\\|", "").count("|") <= 1


@pytest.mark.parametrize("text", BREAKS)
def test_an_entry_in_full_is_one_line_of_json(text: str):
    line = detail_line(entry(action="act", summary=f"x{text}y", result=[text]))

    assert len(line.splitlines()) == 1
    assert json.loads(line)["summary"] == f"x{text}y"


@pytest.mark.parametrize("zone", ["completed-work", "newest-actions", "open-intents"])
@pytest.mark.parametrize("form", ["</{}>", "<{}>", "< / {} >", "</{}", "<{} x=1>"])
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_no_text_can_open_or_close_a_zone(zone: str, form: str, case: Any):
    forged = case(form.format(zone))
    made = entry(action=forged, summary=forged, intent=forged, forged=forged)

    assert forged not in compact_line(made, most=200)
    assert forged not in detail_line(made)
    assert json.loads(detail_line(made))["summary"] == forged


def test_a_manual_entry_cannot_claim_a_number_or_a_kind():
    made = entry(seq=99, kind="transition", entry=7)

    assert (made.seq, made.kind) == (1, "manual")
    assert json.loads(detail_line(made))["entry"] == 1
    assert made.extra == {"seq": 99, "kind": "transition", "entry": 7}


def test_a_lone_surrogate_does_not_keep_a_line_from_being_sent():
    compact_line(entry(action="x\ud800y"), most=60).encode()
    detail_line(entry(action="x\ud800y")).encode()


def test_an_entry_without_words_still_has_a_line():
    for made in (entry(action=""), entry(action=" \n "), entry(action="", taskID=" ")):
        assert compact_line(made, most=10).strip()


def test_the_count_of_equal_lines_cannot_be_written_by_an_entry():
    real = counted_line(compact_line(entry(action="check", result="ok"), most=60), 3, most=60)
    forged = compact_line(entry(action="check", result="ok | ×3"), most=60)

    assert real == "check | ok | ×3"
    assert forged == "check | ok \\| ×3"
    assert counted_line("check", 2, most=60) == "check | | ×2"
    assert counted_line("x" * 60, 12, most=60) == "x" * 51 + "… | | ×12"


def test_an_entry_is_not_reached_by_later_changes():
    result = {"rows": [1]}
    made = entry(result=result)

    result["rows"].append(2)
    made.result["rows"].append(3)

    assert made.result == {"rows": [1]}


@pytest.mark.parametrize(
    "options",
    [
        {"history_detail_items": -1},
        {"history_detail_items": True},
        {"history_result_max_chars": 9},
        {"history_max_items": 0},
        {"history_max_items": 5, "history_detail_items": 6},
        {"state_history_max_items": -1},
        {"on_history_limit": "drop"},
        {"collapse_equal": 1},
    ],
)
def test_an_impossible_option_is_refused(options: dict[str, Any]):
    with pytest.raises(OptionsError):
        LogOptions(**options)


def test_the_receipt_says_what_left_memory():
    log = ActionLog(LogOptions(history_detail_items=2, history_max_items=3))
    for number in range(1, 8):
        log.add(manual_entry({"summary": str(number)}, seq=number, now=""))

    part = log.part()

    assert (part.recorded, part.in_full, part.lines) == (7, 2, 5)
    assert (part.left_memory, part.detail_gone) == (4, 4)
    assert log.older_lines() == [f"note | {n}" for n in range(1, 6)]


def looping(window: int, **options: Any) -> tuple[Process, list[Any]]:
    events: list[Any] = []
    answer = json.dumps({"goTo": "poll", "intent": "wait", "stepAfter": "poll"})
    process = Process(
        [Task(id="poll", transitions=["poll", END])],
        model=Scripted(answer, window=window),
        requests=RequestSettings(max_output_tokens=10),
        history_detail_items=0,
        limits=RunLimits(max_steps=2_000),
        on_event=events.append,
        **options,
    )
    return process, events


def test_a_step_that_does_not_fit_fails_before_the_model_is_called():
    process, _ = looping(1_000)

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "REQUEST_TOO_LARGE"
    assert outcome.failure.cause.facts["largest_part"] == "history"
    assert "the part history (" in outcome.failure.fix
    assert "lower history_detail_items or history_result_max_chars" in outcome.failure.fix
    assert outcome.calls == outcome.steps == len(process.history)
    assert outcome.steps > 20


def test_equal_lines_become_one_where_that_is_allowed_and_nothing_else_fits():
    process, events = looping(1_000, collapse_equal=True)

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "STEP_LIMIT"
    receipts = [event.receipt for event in events if hasattr(event, "receipt")]
    assert receipts[5].history.collapsed == 0
    last = receipts[-1].history
    assert (last.recorded, last.lines, last.collapsed) == (1_999, 1, 1_998)
    assert "poll -> poll | wait | ×1999" in process.model.calls[-1].prompt


def test_intents_stay_listed_until_the_next_transition_of_their_task():
    answers = [
        {"goTo": "b", "intent": "collect", "stepAfter": "review"},
        {"goTo": "a", "intent": "back", "stepAfter": ""},
        {"goTo": END, "intent": "done", "stepAfter": ""},
    ]
    model = Scripted([json.dumps(answer) for answer in answers])
    tasks = [Task(id="a", transitions=["b", END]), Task(id="b", transitions=["a"])]
    process = Process(tasks, model=model, open_intents=True, history_detail_items=0)

    process.run_sync()

    zone = '<open-intents>\n{"entry":1,"taskID":"a","intent":"collect","stepAfter":"review"}\n'
    assert zone in model.calls[1].prompt
    assert zone in model.calls[2].prompt
    assert process.log.intent_lines() == []


@pytest.mark.parametrize("detail", [0, 2, 5])
def test_a_log_restored_under_other_options_shows_as_many_in_full_as_they_say(detail: int):
    log = ActionLog(LogOptions(history_detail_items=2, history_max_items=5))
    for number in range(1, 9):
        log.add(manual_entry({"summary": str(number)}, seq=number, now=""))

    again = ActionLog.restored(
        LogOptions(history_detail_items=detail, history_max_items=5), log.snapshot()
    )

    assert len(again.detail_lines()) == detail
    assert again.older_lines() == [f"note | {n}" for n in range(1, 9 - detail)]


@pytest.mark.parametrize(
    "fault", [{"recorded": 9}, {"recorded": 1}, {"entries": []}, {"older": []}]
)
def test_a_log_with_a_gap_is_not_restored(fault: dict[str, Any]):
    log = ActionLog(LogOptions(history_detail_items=2, history_max_items=5))
    for number in range(1, 9):
        log.add(manual_entry({"summary": str(number)}, seq=number, now=""))

    with pytest.raises(ValueError, match="follow each other"):
        ActionLog.restored(log.options, {**log.snapshot(), **fault})


@pytest.mark.parametrize(
    "text", ["<" + " " * 300_000, "< /" * 100_000, "<" * 300_000, "\\" * 300_000]
)
def test_long_text_is_rendered_in_one_pass(text: str):
    made = entry(action=text, summary=text, intent=text)

    assert len(compact_line(made, most=40)) <= 40
    assert json.loads(detail_line(made))["summary"] == text
