"""Laws of the action log and of commits."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar.models import Scripted
from thusfar.process import END, Process, RunLimits, Task
from thusfar.process.entries import manual_entry
from thusfar.process.log import ActionLog, LogOptions
from thusfar.process.paths import apply_updates

texts = st.text(
    st.one_of(
        st.characters(codec="utf-8"), st.sampled_from("|\\\n\r\x85\u2028</>"), st.just("\ud800")
    ),
    max_size=40,
)
marks = st.sampled_from(["</completed-work>", "<newest-actions>", "| ×3", "a", "b"])
words = st.one_of(texts, marks)
values = st.recursive(st.none() | st.booleans() | st.integers() | words, st.lists, max_leaves=5)
fields = st.fixed_dictionaries(
    {"action": words},
    optional={"summary": words, "result": values, "intent": words, "more": words},
)


@st.composite
def options(draw: Any) -> LogOptions:
    detail = draw(st.integers(0, 5))
    return LogOptions(
        history_detail_items=detail,
        history_max_items=draw(st.integers(max(1, detail), 12)),
        history_result_max_chars=draw(st.integers(10, 60)),
        state_history_max_items=draw(st.none() | st.integers(0, 12)),
        collapse_equal=draw(st.booleans()),
    )


def filled(made: LogOptions, entries: list[dict[str, Any]]) -> ActionLog:
    log = ActionLog(made)
    for number, each in enumerate(entries, 1):
        log.add(manual_entry(each, seq=number, now="2026-01-01T00:00:00+00:00"))
    return log


@given(made=options(), entries=st.lists(fields, max_size=30))
def test_nothing_is_omitted_and_every_line_is_one_line_within_the_cap(made, entries):
    log = filled(made, entries)

    lines, details, part = log.older_lines(), log.detail_lines(), log.part()

    assert len(lines) + len(details) == len(entries) == log.recorded, "an entry is missing"
    assert len(details) == min(made.history_detail_items, len(entries)), "the detail zone"
    assert part.lines + part.in_full == part.recorded, "the receipt does not add up"
    for line in lines:
        assert line.strip(), "an empty line"
        assert len(line) <= made.history_result_max_chars, "over the cap"
        assert len(line.splitlines()) == 1, "not one line"
        assert line.replace("\\\\", "").replace("\\|", "").count("|") <= 1, "a forged bar"
        line.encode()
    first = len(entries) - len(details) + 1
    assert [json.loads(line)["entry"] for line in details] == list(
        range(first, len(entries) + 1)
    ), "order of the detail zone"
    assert "".join(log.older_texts()) == "".join(f"{line}\n" for line in lines)


@given(made=options(), entries=st.lists(fields, max_size=30))
def test_no_zone_can_be_forged(made, entries):
    log = filled(made, entries)

    for text in (*log.older_texts(), *log.detail_lines(), *log.older_texts(collapsed=True)):
        assert "<completed-work" not in text.lower()
        assert "</completed-work" not in text.lower()
        assert "<newest-actions" not in text.lower()


@given(made=options(), entries=st.lists(fields, max_size=30))
def test_collapsed_lines_stand_for_all_of_them(made, entries):
    log = filled(made, entries)
    if not made.collapse_equal:
        return

    shown = "".join(log.older_texts(collapsed=True)).split("\n")[:-1]
    part = log.part(collapsed=True)

    assert len(shown) == part.lines
    assert part.lines + part.collapsed + part.in_full == part.recorded
    assert all(len(line) <= made.history_result_max_chars for line in shown)
    found = [re.search(r" \|(?: .*)? \| ×(\d+)$", line) for line in shown]
    counts = [int(each[1]) if each else 1 for each in found]
    assert sum(counts) == len(log.older_lines())


@given(made=options(), entries=st.lists(fields, max_size=30))
def test_the_mirror_is_the_newest_part_of_what_is_held(made, entries):
    log = filled(made, entries)
    bound = made.state_history_max_items
    held = tuple(log.history)

    assert [entry.seq for entry in held] == list(
        range(max(0, len(entries) - made.history_max_items) + 1, len(entries) + 1)
    )
    assert log.mirror() == (held if bound is None else held[max(0, len(held) - bound) :])


@given(made=options(), entries=st.lists(fields, max_size=30), more=st.lists(fields, max_size=5))
def test_a_restored_log_renders_the_same_and_goes_on_the_same(made, entries, more):
    log = filled(made, entries)

    again = ActionLog.restored(made, json.loads(json.dumps(log.snapshot())))

    for number, each in enumerate(more, len(entries) + 1):
        for one in (log, again):
            one.add(manual_entry(each, seq=number, now="2026-01-01T00:00:00+00:00"))
    assert again.older_texts() == log.older_texts()
    assert again.older_texts(collapsed=True) == log.older_texts(collapsed=True)
    assert again.detail_lines() == log.detail_lines()
    assert (again.part(), again.mirror()) == (log.part(), log.mirror())


answers = st.sampled_from(
    [
        '{"goTo": "a", "intent": "i", "stepAfter": "s"}',
        '{"goTo": "b", "intent": "i"}',
        '{"goTo": "nowhere"}',
        '{"x": 1}',
        '{"x": "no"}',
        "no json",
        "",
        "[]",
    ]
)
OUTPUT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@settings(deadline=None)
@given(given_answers=st.lists(answers, max_size=20), cut=st.integers(0, 20))
def test_a_step_is_committed_whole_or_not_at_all_and_a_run_goes_on_from_any_snapshot(
    given_answers, cut
):
    def process(script: list[str]) -> Process:
        tasks = [
            Task(id="a", transitions=["b", END]),
            Task(id="b", output=OUTPUT, state_updates={"xs[]": "$output.x", "deep.n{}": "$output"}),
        ]
        return Process(
            tasks,
            model=Scripted(list(script)),
            limits=RunLimits(max_retries=1),
            history_detail_items=2,
            history_max_items=3,
        )

    def shape(one: Process) -> Any:
        saved = one.snapshot()
        for entry in saved["log"]["entries"] + saved["log"]["open"]:
            entry.pop("ts")
        return saved["state"], saved["log"], saved["position"]["at"]

    whole = process(given_answers)
    outcome = whole.run_sync()

    results = len(whole.state.values_only.get("xs", ()))
    assert whole.log.recorded == outcome.steps, "an entry for each committed step, and no other"
    assert results == outcome.steps - (outcome.steps + 1) // 2

    first = process(given_answers[:cut])
    failed = first.run_sync()
    attempt = failed.failure.attempt if failed.failure is not None else 0
    code = failed.failure.code if failed.failure is not None else ""
    if code == "RETRIES_EXHAUSTED":
        return
    used = failed.calls - (attempt if code == "PROVIDER_FAILED" else 0)
    second = process(given_answers[used:])
    second.restore(json.loads(json.dumps(first.snapshot())))
    second.run_sync()
    assert shape(second) == shape(whole)


paths = st.sampled_from(["a", "a.b", "a.b.c", "a[]", "a.b[]", "a{}", "a.b{?}", "a[0]", "c"])
json_values = st.recursive(
    st.integers() | st.text(max_size=3).filter(lambda text: not text.startswith("$")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=6,
)
states = st.dictionaries(st.sampled_from("abc"), json_values)


@given(state=states, updates=st.dictionaries(paths, json_values, max_size=3))
def test_updates_are_applied_whole_or_not_at_all(state, updates):
    before = json.dumps(state)

    try:
        after = apply_updates(state, updates)
    except ValueError:
        after = None

    assert json.dumps(state) == before, "the state before was changed"
    if after is not None and len(updates) == 1:
        (path,) = updates
        if path.isalnum():
            assert after == {**state, path: updates[path]}
