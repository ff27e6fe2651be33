"""Laws of runs, replays, mirrors and partial prompts, over random answers and configurations."""

from __future__ import annotations

import datetime
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar.models import Scripted
from thusfar.process import (
    END,
    Capture,
    PartialPrompt,
    PartialPromptConfig,
    Process,
    Replay,
    RunLimits,
    Task,
)

OUTPUT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
CLOCK = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
words = st.text(st.characters(codec="utf-8"), max_size=30)
choices = st.builds(
    lambda to, intent, after: json.dumps({"goTo": to, "intent": intent, "stepAfter": after}),
    st.sampled_from(["a", "b", END, "nowhere"]), words, words,
)  # fmt: skip
results = st.builds(
    lambda x, more: json.dumps({"x": x, "more": more}), st.integers() | words, words
)
refused = st.sampled_from(["", "no json", "[]", '{"x": "no"}', '{"goTo": "nowhere"}', '{"y": 1}'])
scripts = st.lists(st.one_of(choices, results, refused), max_size=15)


def process(script: list[str], **options: Any) -> Process:
    tasks = [
        Task(id="a", task_prompt="${json(state)}", transitions=["b", END]),
        Task(id="b", output=OUTPUT, state_updates="xs[]"),
    ]
    given_options: dict[str, Any] = {
        "limits": RunLimits(max_retries=1),
        "history_detail_items": 2,
        "history_max_items": 4,
        "clock": lambda: CLOCK,
        "optional_prompts": {"extra": "Extra."},
        "goal": "Goal.",
        "intro_prompt": "Intro.",
    }
    return Process(tasks, model=Scripted(list(script)), **{**given_options, **options})


def replies(run: Process) -> str:
    return json.dumps(run.snapshot())


@settings(deadline=None)
@given(script=scripts)
def test_a_replay_of_a_captured_run_gives_the_identical_log_and_state(script):
    capture = Capture()
    whole = process(script)
    outcome = whole.run_sync(tape=capture)
    if outcome.failure is not None and outcome.failure.code == "PROVIDER_FAILED":
        return

    again = process([])
    replayed = again.run_sync(tape=Replay(json.loads(json.dumps(capture.tape.to_json()))))

    assert again.snapshot() == whole.snapshot()
    assert (replayed.status, replayed.output) == (outcome.status, outcome.output)


@settings(deadline=None)
@given(script=scripts, more=choices)
def test_a_restored_process_sends_the_identical_prompt(script, more):
    first = process(script)
    first.run_sync()
    second = process([])
    second.restore(json.loads(replies(first)))
    first.model, second.model = Scripted([more]), Scripted([more])

    first.run_sync()
    second.run_sync()

    assert [(call.system, call.prompt) for call in first.model.calls] == [
        (call.system, call.prompt) for call in second.model.calls
    ]


@settings(deadline=None)
@given(script=scripts, bad=st.lists(refused, min_size=2, max_size=2))
def test_failed_attempts_and_failed_tasks_leave_state_and_log_unchanged(script, bad):
    run = process(script)
    run.run_sync()
    position = run.position
    before = {**run.snapshot(), "position": None}
    run.model = Scripted(bad)
    run.position.at = "b" if position.at == END else position.at

    outcome = run.run_sync()

    assert outcome.status == "failed"
    assert outcome.failure is not None
    assert outcome.failure.code == "RETRIES_EXHAUSTED"
    assert {**run.snapshot(), "position": None} == before


@settings(deadline=None)
@given(script=scripts, bound=st.integers(0, 6))
def test_the_mirror_shares_nothing_that_can_be_changed_with_the_log(script, bound):
    run = process(script, state_history_max_items=bound)
    run.run_sync()
    mirror = run.state["history"]
    before = [entry.to_json() for entry in run.history]

    for entry in mirror:
        for value in (entry.result, entry.extra, entry.to_json()):
            if isinstance(value, dict):
                value["x"] = "changed"
    for value in run.state.values_only.get("xs", []):
        value["x"] = "changed"

    assert [entry.to_json() for entry in run.history] == before
    assert tuple(mirror) == tuple(run.history)[max(0, len(run.history) - bound) :]


fragments = st.sampled_from(
    ["introPrompt", "goal", "history", "errors", "taskPrompt", "outputFormat", "transitions",
     "historyPrimer", "goalPrimer", "extra", "state.xs"]
)  # fmt: skip
configs = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["taskPromptOnly", "historyOnly", "minimal", "noData"]),
        "omit": st.lists(fragments.filter(lambda name: "." not in name), max_size=3),
        "add": st.lists(fragments, max_size=3),
        "remove": st.lists(fragments, max_size=3),
        "truncate_history": st.integers(0, 5),
        "truncate_errors": st.integers(0, 5),
    },
)


@settings(deadline=None)
@given(script=scripts, config=configs)
def test_a_partial_prompt_is_of_no_sendable_type_and_add_and_remove_are_idempotent(script, config):
    run = process(script, state={"xs": []})
    run.run_sync()
    before = replies(run)
    twice = {**config, **{n: [*config[n], *config[n]] for n in ("add", "remove") if n in config}}

    shown = run.partial_prompt(PartialPromptConfig(**config), task="a")
    again = run.partial_prompt(PartialPromptConfig(**twice), task="a")

    assert type(shown) is PartialPrompt
    assert not isinstance(shown, str | bytes | dict | list)
    assert str(again) == str(shown)
    assert replies(run) == before


@settings(deadline=None)
@given(script=scripts, detail=st.integers(0, 4), cap=st.integers(10, 80))
def test_every_prompt_holds_every_entry_in_order_and_the_receipts_add_up(script, detail, cap):
    seen: list[tuple[int, Any]] = []

    def listen(event: Any) -> None:
        if hasattr(event, "receipt"):
            seen.append((run.log.recorded, event.receipt.history))

    run = process(
        script,
        history_detail_items=detail,
        history_result_max_chars=cap,
        history_max_items=max(1, detail),
        on_event=listen,
    )
    run.run_sync()

    for (recorded, part), call in zip(seen, run.model.calls, strict=False):
        head = call.prompt.partition("<completed-work>\n")[2].partition("</completed-work>")[0]
        tail = call.prompt.partition("<newest-actions>\n")[2].partition("\n</newest-actions>")[0]
        older = head.split("\n")[:-1]
        newest = [json.loads(line)["entry"] for line in tail.split("\n") if line]
        assert len(older) + len(newest) == recorded
        assert newest == list(range(len(older) + 1, recorded + 1))
        assert len(newest) == min(detail, recorded)
        assert all(len(line) <= cap for line in older)
        if part is not None:
            assert (part.recorded, part.lines, part.in_full) == (recorded, len(older), len(newest))
