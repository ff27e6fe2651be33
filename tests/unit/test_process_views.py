"""Partial prompts: what they leave out and say they leave out; they cannot be sent."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from thusfar.errors import OptionsError, StepTimeoutError
from thusfar.models import Scripted
from thusfar.process import END, PartialPrompt, PartialPromptConfig, Process, RequestSettings, Task
from thusfar.process.answering import CallModel, answer
from thusfar.process.moments import moment_of
from thusfar.process.planning import plan_attempt
from thusfar.process.views import MODES


def made(**options: Any) -> Process:
    task = Task(
        id="a",
        task_prompt="TASK ${json(state.big)} ${state.big.deep[0].x} ${state.small}",
        output={"type": "object", "properties": {"x": {"type": "integer"}}},
        transitions=["a", END],
        max_retries=1,
    )
    process = Process(
        [task],
        model=Scripted(["[1]", "[2]"]),
        goal="GOAL",
        goal_primer="GOAL PRIMER",
        history_primer="HISTORY PRIMER",
        completed_work_primer="OLDER PRIMER",
        errors_primer="ERRORS PRIMER",
        transitions_primer="TRANSITIONS PRIMER",
        intro_prompt="INTRO",
        history_detail_items=2,
        state={"big": {"deep": [{"x": "y" * 300}]}, "small": "SMALL"},
        **options,
    )
    for number in range(1, 7):
        process.add_history(action=f"action {number}", summary=f"result {number}")
    return process


def view(config: Any, **options: Any) -> str:
    return str(made(**options).partial_prompt(config))


def test_history_is_truncated_to_the_newest_entries():
    """Can be truncated via PartialPromptConfig.truncateHistory to the N most recent entries."""
    shown = view(PartialPromptConfig(truncate_history=3))

    assert "[3 earlier entries omitted]" in shown
    assert [f"action {n}" in shown for n in range(1, 7)] == [False] * 3 + [True] * 3
    assert "action 4 | result 4" in shown
    assert '"action":"action 5"' in shown


@pytest.mark.parametrize(("newest", "omitted"), [(0, 6), (1, 5), (2, 4), (6, 0), (9, 0)])
def test_what_is_shown_and_what_is_omitted_add_up(newest: int, omitted: int):
    process = made()

    partial = process.partial_prompt(PartialPromptConfig(truncate_history=newest))

    shown = str(partial)
    assert partial.omitted_entries == omitted
    assert sum(f"action {n}" in shown for n in range(1, 7)) == 6 - omitted
    assert (f"[{omitted} earlier entries omitted]" in shown) == (omitted > 0)


def test_nothing_asked_shows_the_prompt_as_it_is_sent():
    process = made()
    shown = str(process.partial_prompt(PartialPromptConfig()))

    process.run_sync()

    call = process.model.calls[0]
    assert shown.endswith(f"{call.system}\n{call.prompt}")


def test_the_first_errors_are_kept_and_the_rest_counted():
    process = made()
    process.run_sync()
    process.last_errors = ("first", "second", "third")

    shown = str(process.partial_prompt(PartialPromptConfig(truncate_errors=1)))

    assert "ERRORS PRIMER\n- first\n[2 more errors omitted]" in shown
    assert "[3 more errors omitted]" in str(
        process.partial_prompt(PartialPromptConfig(truncate_errors=0))
    )


def test_a_state_variable_is_left_out_on_every_way_to_it():
    shown = view(PartialPromptConfig(omit_state_vars=["big"]))

    assert "yyy" not in shown
    assert 'TASK "[state.big omitted]" [state.big omitted] SMALL' in shown
    assert "yyy" not in view(PartialPromptConfig(omit_state_vars=["big.deep"]))


def test_a_hidden_history_is_not_shown_by_the_mirror():
    task = Task(id="a", task_prompt="${json(state.history)}")
    process = Process([task])
    process.add_history(summary="HIDDEN")

    assert "HIDDEN" not in str(process.partial_prompt(PartialPromptConfig(omit=["history"])))


EVERYTHING = {
    "introPrompt": "INTRO",
    "goal": "GOAL\n",
    "goalPrimer": "GOAL PRIMER",
    "history": "action 6",
    "historyPrimer": "HISTORY PRIMER",
    "completedWorkPrimer": "OLDER PRIMER",
    "transitions": "Next tasks",
    "transitionsPrimer": "TRANSITIONS PRIMER",
    "errors": "- an error",
    "errorsPrimer": "ERRORS PRIMER",
    "taskPrompt": "TASK",
    "outputFormat": "JSON Schema",
}
INSIDE = {
    "goal": {"goalPrimer"},
    "history": {"historyPrimer", "completedWorkPrimer"},
    "errors": {"errorsPrimer"},
    "transitions": {"transitionsPrimer"},
}


def shown_by(config: Any) -> set[str]:
    process = made()
    process.last_errors = ("an error",)
    text = str(process.partial_prompt(config))
    return {name for name, mark in EVERYTHING.items() if mark in text}


@pytest.mark.parametrize("name", EVERYTHING)
def test_an_omitted_fragment_is_replaced_by_a_placeholder_and_can_be_added_back(name: str):
    gone = {name} | INSIDE.get(name, set())

    assert shown_by(PartialPromptConfig(omit=[name])) == set(EVERYTHING) - gone
    assert shown_by(PartialPromptConfig(remove=[name])) == set(EVERYTHING) - gone
    assert shown_by(PartialPromptConfig(omit=[name], add=[name])) == set(EVERYTHING)
    label = {"introPrompt": "intro"}.get(name, name)
    process = made()
    process.last_errors = ("an error",)
    assert f"[{label} omitted]" in str(process.partial_prompt(PartialPromptConfig(omit=[name])))


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_leaves_out_what_it_names(mode: str):
    gone = set(MODES[mode].omit)
    gone |= {inner for name in gone for inner in INSIDE.get(name, ())}

    assert shown_by(mode) == set(EVERYTHING) - gone
    assert ("yyy" in view(mode)) == (mode not in ("minimal", "noData", "historyOnly"))


def test_a_process_may_have_modes_of_its_own():
    modes = {"mine": PartialPromptConfig(omit=["introPrompt"], truncate_history=1)}

    shown = view("mine", prompt_modes=modes)

    assert "INTRO" not in shown
    assert "[5 earlier entries omitted]" in shown
    assert "INTRO" in view(
        PartialPromptConfig(mode="mine", add=["introPrompt"]), prompt_modes=modes
    )


@pytest.mark.parametrize(
    "config",
    [
        "nope",
        PartialPromptConfig(omit=["nope"]),
        PartialPromptConfig(add=["nope"]),
        PartialPromptConfig(remove=["goal"]),
    ],
)
def test_an_unknown_or_ambiguous_name_is_refused(config: Any):
    process = Process([Task(id="a")], state={"goal": "x"})

    with pytest.raises(OptionsError):
        process.partial_prompt(config)
    assert process.partial_prompt(PartialPromptConfig(remove=["state.goal"]))


@pytest.mark.parametrize("options", [{"truncate_history": -1}, {"omit": "goal"}])
def test_an_impossible_config_is_refused(options: dict[str, Any]):
    with pytest.raises(OptionsError):
        PartialPromptConfig(**options)


def test_a_partial_prompt_is_no_text_and_cannot_be_sent():
    process = made()
    partial = process.partial_prompt("noData")
    assert isinstance(partial, PartialPrompt)
    assert not isinstance(partial, str)
    with pytest.raises(TypeError):
        json.dumps(partial)
    call = CallModel(
        model=process.model,
        prompt=partial,  # type: ignore[arg-type]
        max_output_tokens=None,
        timeout_seconds=None,
        too_late=StepTimeoutError,
        monotonic=lambda: 0.0,
    )
    with pytest.raises(OptionsError):
        answer(call)
    task = process.graph.tasks["a"]
    moment = dataclasses.replace(
        moment_of(process, task, (), errors=()), omitted=frozenset({"history"})
    )
    with pytest.raises(OptionsError):
        plan_attempt(moment, model=process.model, settings=RequestSettings(), attempt=1)
    assert process.model.calls == []


def test_a_view_changes_nothing_about_what_is_sent():
    process, other = made(), made()
    for mode in MODES:
        process.partial_prompt(mode)

    process.run_sync()
    other.run_sync()

    def without_time(text: str) -> str:
        return "".join(line for line in text.splitlines(True) if '"ts"' not in line)

    assert without_time(process.model.calls[0].prompt) == without_time(other.model.calls[0].prompt)


def test_a_variable_that_does_not_exist_is_refused_at_any_depth_where_it_would_hide():
    for config in (
        PartialPromptConfig(omit_state_vars=["big.depe"]),
        PartialPromptConfig(omit_state_vars=["big.deep[1]"]),
        PartialPromptConfig(remove=["state.big.depe"]),
        PartialPromptConfig(remove=["big.depe"]),
    ):
        with pytest.raises(OptionsError, match="no state variable"):
            view(config)
    shown = view(PartialPromptConfig(omit_state_vars=["big.deep[0]"]))
    assert "y" * 300 not in shown
    assert view(PartialPromptConfig(add=["state.not_yet"])), "what is added hides nothing"


def test_an_unknown_name_is_told_with_those_that_there_are():
    with pytest.raises(OptionsError, match="'hisotry', which is no fragment") as refused:
        view(PartialPromptConfig(omit=["hisotry"]), optional_prompts={"rules": "RULES"})

    assert "history, historyPrimer" in refused.value.fix
    assert "rules" in refused.value.fix


def test_open_intents_of_entries_that_are_cut_off_are_not_shown():
    process = Process(
        [Task(id="a", transitions=["b"]), Task(id="b", transitions=["a", END])],
        model=Scripted(
            [
                json.dumps({"goTo": "b", "intent": "SECRET", "stepAfter": "LATER"}),
                json.dumps({"goTo": "a", "intent": "NEWEST", "stepAfter": "THEN"}),
            ]
        ),
        open_intents=True,
        history_detail_items=0,
    )
    process.run_sync()

    whole, cut = (
        str(process.partial_prompt(PartialPromptConfig(truncate_history=newest)))
        for newest in (2, 1)
    )

    assert ("SECRET" in whole, "NEWEST" in whole) == (True, True)
    assert ("SECRET" in cut, "LATER" in cut, "NEWEST" in cut) == (False, False, True)


@pytest.mark.parametrize(
    "options", [{"mode": 3}, {"omit": [3]}, {"add": {"goal": 1}}, {"remove": 7}]
)
def test_what_is_no_name_is_refused_when_the_config_is_made(options: dict[str, Any]):
    with pytest.raises(OptionsError):
        PartialPromptConfig(**options)


def test_names_may_be_any_iterable():
    assert PartialPromptConfig(omit=(name for name in ("goal", "history"))).omit == (
        "goal", "history",
    )  # fmt: skip
