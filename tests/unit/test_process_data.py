"""Definitions as data: every field, read and written, and the place of whatever is wrong."""

from __future__ import annotations

import dataclasses
import inspect
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from thusfar.budget import InputBudget
from thusfar.capacity import ModelCapacity
from thusfar.errors import (
    InvalidDefinitionError,
    InvalidStateError,
    InvalidTemplateError,
    OptionsError,
)
from thusfar.models import Scripted
from thusfar.process import (
    END,
    DecisionTask,
    PartialPromptConfig,
    Process,
    RequestSettings,
    RunLimits,
    ScriptTask,
    SubProcess,
    Task,
    Transition,
    fields,
    from_data,
    load_process,
    to_data,
)


def checked(outputs: Any, state: Any) -> None:
    """A hook of the tests."""


@dataclasses.dataclass
class Order:
    """An output of the tests."""

    number: int


MODEL = Scripted("yes")
HOOKS: dict[str, Any] = {
    "model": MODEL,
    "checked": checked,
    "Order": Order,
    "many": lambda state: len(state["lines"]) > 1,
    "work": lambda state: None,
    "told": lambda event: None,
    "clock": lambda: None,
}

TOML = r"""
id = "orders"
start = "take"
default_return_task = "take"
model = "model"
goal = "Take orders."
intro_prompt = "Number ${state.number}."
optional_prompts = { rules = "Be brief." }
history_detail_items = 3
on_history_limit = "fail"
state = { number = 1, lines = [] }
limits = { max_steps = 9, step_timeout_seconds = 2.5 }
requests = { budget = { max = 5000 }, capacity = 9000 }
prompt_modes = { short = { omit = ["history"], truncate_errors = 1 } }
on_event = "told"

[output]
type = "object"
properties = { number = { type = "integer" } }

[[tasks]]
id = "take"
task_prompt = "Take one. ${promptPart('rules')}"
output = "Order"
state_updates = { "number" = "$output.number", "lines[]" = "$output" }
omit = ["goal"]
before_commit = "checked"
[[tasks.transitions]]
to = "check"
[[tasks.transitions]]
to = "END"
label = "stop"
visible_when = { fieldName = "number", operator = "greaterThan", value = 3 }

[[tasks]]
kind = "decision"
id = "check"
decisions = [{ when = "many", go_to = "END" }]
otherwise = "inside"

[[tasks]]
kind = "process"
id = "inside"
inputs = { "lines" = "$state.lines" }
[tasks.process]
id = "inner"
[[tasks.process.tasks]]
kind = "script"
id = "work"
run = "work"
record = true
"""


def test_a_toml_definition_is_the_process_that_it_says():
    process = from_data(tomllib.loads(TOML), hooks=HOOKS)

    take, check, inside = process.graph.tasks.values()
    assert (process.id, process.model, process.graph.start) == ("orders", MODEL, "take")
    assert process.limits == RunLimits(max_steps=9, step_timeout_seconds=2.5)
    assert process.requests == RequestSettings(budget=InputBudget(max=5000), capacity=9000)
    assert process.prompt_modes == {
        "short": PartialPromptConfig(omit=("history",), truncate_errors=1)
    }
    assert process.state.values_only == {"number": 1, "lines": []}
    assert process.log.options.on_history_limit == "fail"
    assert isinstance(take, Task)
    assert (take.output, take.before_commit, take.omit) == (Order, checked, ("goal",))
    assert take.edges[0] == Transition("check")
    assert take.edges[1].visible_when == {
        "fieldName": "number", "operator": "greaterThan", "value": 3
    }  # fmt: skip
    assert isinstance(check, DecisionTask)
    assert check.decisions == ((HOOKS["many"], END),)
    assert isinstance(inside, SubProcess)
    assert inside.process.id == "inner"
    work = inside.process.graph.tasks["work"]
    assert isinstance(work, ScriptTask)
    assert (work.run, work.record) == (HOOKS["work"], True)


def test_every_field_of_the_python_definitions_can_be_data():
    for kind, (made, named) in fields.TASKS.items():
        own = {field.name for field in dataclasses.fields(made) if field.init}
        assert own == named.keys(), kind
    assert inspect.signature(Process).parameters.keys() == fields.PROCESS.keys()
    for made, named in (
        (Transition, fields.TRANSITION),
        (RunLimits, fields.LIMITS),
        (RequestSettings, fields.REQUESTS),
        (InputBudget, fields.BUDGET),
        (ModelCapacity, fields.CAPACITY),
        (PartialPromptConfig, fields.MODE),
    ):
        assert inspect.signature(made).parameters.keys() == named.keys()


MODE = PartialPromptConfig(
    mode="minimal",
    omit=["o"],
    omit_state_vars=["x"],
    add=["goal"],
    remove=["o"],
    truncate_history=1,
    truncate_errors=2,
)


def everything() -> Process:
    """A process with every field at another value than its default."""
    inner = Process([ScriptTask(id="in", run=HOOKS["work"])], id="inner")
    task = Task(
        id="a", title="A", description="does a", task_prompt="Do.", prompt="All: ${goal}",
        output=Order, state_updates="a", transitions=["b", Transition("c", "see", HOOKS["many"])],
        next_task="b", failure_task="d", max_retries=0, errors_primer="Wrong:", no_history=True,
        omit=("goal",), require_intent=True, interceptor=HOOKS["told"],
        history_summary="${output.number}", model=MODEL, before_commit=checked,
        process_outputs=checked, after_commit=checked,
    )  # fmt: skip
    return Process(
        [
            DecisionTask(
                id="b", title="B", description="does b", otherwise="c", record=True,
                decisions=[({"fieldName": "a", "operator": "isNull"}, "a"), (HOOKS["many"], END)],
            ),
            task,
            ScriptTask(
                id="c", run=HOOKS["work"], state_updates={"x[]": "$output"}, next_task="d",
                failure_task="d", title="C", description="does c", record=True,
            ),
            SubProcess(
                id="d", process=inner, inputs={"x": "$state.x"}, state_updates="d", next_task=END,
                failure_task="a", title="D", description="does d",
            ),
        ],
        id="all", start="a", sequence=("c", "d"), default_return_task="b",
        error_task="d", model=MODEL, state={"x": [1, 2.0, None]}, input={"type": "object"},
        output={}, goal="Goal.",
        intro_prompt="Intro.", system_prompt="System.", standard_prompt="${promptPart('goal')}",
        optional_prompts={"o": "O."}, goal_primer="G:", history_primer="H:",
        completed_work_primer="C:", transitions_primer="T:", errors_primer="E:",
        history_detail_items=1, history_result_max_chars=50, history_max_items=7,
        state_history_max_items=2, on_history_limit="fail", collapse_equal=True,
        open_intents=True, no_history=True, record_history=False,
        prompt_modes={"m": MODE},
        limits=RunLimits(
            max_retries=1, max_steps=2, max_calls=3, max_tokens=6, loop_threshold=2,
            call_timeout_seconds=2.0, step_timeout_seconds=4.0,
            run_timeout_seconds=5,
        ),
        requests=RequestSettings(
            budget=InputBudget(optimize_at=2, max=3, prepare_at=1),
            capacity=ModelCapacity(context_window=900, vendor="openai"), counter="chars",
            max_output_tokens=10,
        ),
        interceptor=HOOKS["told"], on_event=HOOKS["told"], clock=HOOKS["clock"],
    )  # fmt: skip


def test_a_definition_written_and_read_again_is_the_same():
    data = to_data(everything(), hooks=HOOKS)

    assert data.keys() == {"schema", *fields.PROCESS}
    own = {name for task in data["tasks"] for name in task}
    assert own == {"kind", *(name for _, named in fields.TASKS.values() for name in named)}
    text = json.dumps(data)
    again = from_data(json.loads(text), hooks=HOOKS)
    assert to_data(again, hooks=HOOKS) == data
    assert list(again.graph.tasks) == ["b", "a", "c", "d"]
    for name in ("b", "c"):
        assert again.graph.tasks[name] == everything().graph.tasks[name]
    assert again.texts == everything().texts
    assert again.log.options == everything().log.options


def test_a_plain_definition_has_no_more_than_was_said():
    process = Process([Task(id="a", next_task=END), {"id": "b"}], model=MODEL)

    assert to_data(process, hooks=HOOKS) == {
        "schema": 1,
        "tasks": [{"id": "a", "next_task": "END"}, {"id": "b"}],
        "model": "model",
    }


def test_hooks_are_imported_only_where_that_is_allowed():
    data = {"tasks": [{"kind": "script", "id": "a", "run": "json:dumps"}]}

    with pytest.raises(InvalidDefinitionError, match=r"tasks\[0\]\.run named a hook to be imp"):
        from_data(data)
    process = from_data(data, allow_imports=True)

    assert process.graph.tasks["a"].run is json.dumps  # type: ignore[union-attr]
    assert to_data(process, allow_imports=True)["tasks"][0]["run"] == "json:dumps"
    with pytest.raises(InvalidDefinitionError, match=r"tasks\[0\]\.run held an object without"):
        to_data(process)


def test_models_are_named_as_elsewhere():
    process = from_data({"model": "anthropic:claude-sonnet-5", "tasks": [{"id": "a"}]})

    assert repr(process.model) == "Anthropic('claude-sonnet-5')"
    assert to_data(process)["model"] == "anthropic:claude-sonnet-5"


@pytest.mark.parametrize(
    ("place", "data"),
    [
        ("", []),
        ("schema", {"schema": 2, "tasks": []}),
        ("gaol", {"gaol": "x", "tasks": [{"id": "a"}]}),
        ("goal", {"goal": 1, "tasks": [{"id": "a"}]}),
        ("tasks", {"tasks": {}}),
        ("tasks[0]", {"tasks": ["a"]}),
        ("tasks[0]", {"tasks": [{"title": "no id"}]}),
        ("tasks[1].id", {"tasks": [{"id": "a"}, {"id": "END"}]}),
        ("tasks[0].kind", {"tasks": [{"id": "a", "kind": "robot"}]}),
        ("tasks[0].colour", {"tasks": [{"id": "a", "colour": "red"}]}),
        ("tasks[0].omit", {"tasks": [{"id": "a", "omit": "goal"}]}),
        ("tasks[0].no_history", {"tasks": [{"id": "a", "no_history": 1}]}),
        ("tasks[0].max_retries", {"tasks": [{"id": "a", "max_retries": 1.5}]}),
        ("tasks[0].kind", {"tasks": [{"id": "a", "kind": ["task"]}]}),
        ("tasks[0].task_prompt", {"tasks": [{"id": "a", "task_prompt": "${"}]}),
        ("tasks[0].state_updates", {"tasks": [{"id": "a", "state_updates": "history"}]}),
        ("tasks[0].state_updates", {"tasks": [{"id": "a", "state_updates": {"x": "$other.y"}}]}),
        ("tasks[0].output", {"tasks": [{"id": "a", "output": {"type": "wrong"}}]}),
        ("intro_prompt", {"intro_prompt": "${", "tasks": [{"id": "a"}]}),
        ("optional_prompts", {"optional_prompts": {"goal": "x"}, "tasks": [{"id": "a"}]}),
        ("state", {"state": {"history": []}, "tasks": [{"id": "a"}]}),
        ("history_detail_items", {"history_detail_items": -1, "tasks": [{"id": "a"}]}),
        ("requests.capacity", {"requests": {"capacity": -5}, "tasks": [{"id": "a"}]}),
        ("default_return_task", {"default_return_task": "x", "tasks": [{"id": "a"}]}),
        ("error_task", {"error_task": "x", "tasks": [{"id": "a"}]}),
        ("sequence", {"sequence": ["x"], "tasks": [{"id": "a"}]}),
        ("sequence", {"sequence": ["a", "a"], "tasks": [{"id": "a"}]}),
        ("tasks", {"tasks": [{"id": "a"}, {"id": "a"}]}),
        ("tasks[0].output", {"tasks": [{"id": "a", "output": "Nothing"}]}),
        ("tasks[0].before_commit", {"tasks": [{"id": "a", "before_commit": "nothing"}]}),
        ("tasks[0].before_commit", {"tasks": [{"id": "a", "before_commit": "model"}]}),
        ("tasks[0].model", {"tasks": [{"id": "a", "model": "nothing"}]}),
        ("tasks[0].transitions[1]", {"tasks": [{"id": "a", "transitions": ["END", {}]}]}),
        (
            "tasks[0].transitions[0].visible_when",
            {"tasks": [{"id": "a", "transitions": [
                {"to": "END", "visible_when": {"fieldName": "x", "operator": "like"}}]}]},
        ),
        (
            "tasks[0].transitions[0].visible_when",
            {"tasks": [{"id": "a", "transitions": [
                {"to": "END", "visible_when": {
                    "fieldName": "x", "operator": "equals", "valeu": 1}}]}]},
        ),
        ("tasks[0].decisions[0]", {"tasks": [
            {"id": "a", "kind": "decision", "decisions": [{"go_to": "END"}]}]}),
        ("tasks[0].process.tasks[0].run", {"tasks": [{"id": "a", "kind": "process", "process": {
            "tasks": [{"id": "in", "kind": "script", "run": "nothing"}]}}]}),
        ("tasks[0].process", {"tasks": [{"id": "a", "kind": "process", "process": "checked"}]}),
        ("limits.max_steps", {"limits": {"max_steps": 0}, "tasks": [{"id": "a"}]}),
        ("limits.run_timeout_seconds", {
            "limits": {"run_timeout_seconds": float("inf")}, "tasks": [{"id": "a"}]}),
        ("limits.step_timeout_seconds", {"limits": {"step_timeout_seconds": "1"}, "tasks": []}),
        ("requests.capacity", {"requests": {"capacity": {}}, "tasks": [{"id": "a"}]}),
        ("prompt_modes.m.add", {"prompt_modes": {"m": {"add": "x"}}, "tasks": [{"id": "a"}]}),
        ("", {}),
        ("tasks", {"tasks": []}),
        ("start", {"tasks": [{"id": "a"}], "start": "b"}),
    ],
)  # fmt: skip
def test_whatever_is_wrong_is_named_with_its_place(place: str, data: Any):
    hooks = {**HOOKS, "model": 7, "checked": checked}

    with pytest.raises(InvalidDefinitionError) as caught:
        from_data(data, hooks=hooks)

    assert caught.value.facts["place"] == place
    assert caught.value.fix
    assert (f"at {place}" if place else "A definition") in str(caught.value)


@pytest.mark.parametrize(
    ("lacks", "data"),
    [
        ("tasks", {}),
        ("id", {"tasks": [{"title": "x"}]}),
        ("run", {"tasks": [{"id": "a", "kind": "script"}]}),
        ("process", {"tasks": [{"id": "a", "kind": "process"}]}),
        ("decisions", {"tasks": [{"id": "a", "kind": "decision"}]}),
        ("go_to", {"tasks": [{"id": "a", "kind": "decision", "decisions": [
            {"when": {"fieldName": "x", "operator": "isNull"}}]}]}),
        ("to", {"tasks": [{"id": "a", "transitions": [{"label": "x"}]}]}),
    ],
)  # fmt: skip
def test_a_field_that_is_lacking_is_named(lacks: str, data: Any):
    with pytest.raises(InvalidDefinitionError) as caught:
        from_data(data)

    assert caught.value.args[0].endswith(f"lacked {lacks}.")


@pytest.mark.parametrize(
    "given",
    [
        {"goal": 5}, {"intro_prompt": 5}, {"goal_primer": []}, {"state": [1]}, {"limits": {}},
        {"requests": {}}, {"on_event": 5}, {"interceptor": "x"}, {"sequence": "a"},
    ],
)  # fmt: skip
def test_a_process_of_values_of_other_kinds_is_refused(given: Any):
    with pytest.raises((InvalidDefinitionError, InvalidTemplateError, OptionsError)):
        Process([Task(id="a")], **given)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Task(id="a", title=5), lambda: Task(id="a", task_prompt=5),  # type: ignore[arg-type]
        lambda: Task(id="a", transitions="END"), lambda: Task(id="a", omit="goal"),
        lambda: Task(id="a", before_commit=5), lambda: Task(id="a", errors_primer=5),  # type: ignore[arg-type]
        lambda: Task(id="a", state_updates={5: 1}), lambda: Transition("a", label=5),  # type: ignore[arg-type]
        lambda: ScriptTask(id="a", run=None), lambda: DecisionTask(id="a", decisions=[5]),  # type: ignore[arg-type, list-item]
        lambda: DecisionTask(id="a", decisions={"x": "y"}),  # type: ignore[arg-type]
        lambda: Process([SubProcess(id="a", process=None)]),
    ],
)  # fmt: skip
def test_a_task_of_values_of_other_kinds_is_refused(made: Any):
    with pytest.raises((InvalidDefinitionError, InvalidTemplateError, InvalidStateError)):
        made()


def test_a_listener_that_has_to_be_awaited_is_refused():
    async def told(event: Any) -> None:
        pass

    with pytest.raises(InvalidDefinitionError):
        Process([Task(id="a")], on_event=told)


@pytest.mark.parametrize("code", ["raise RuntimeError", "import sys; sys.exit(3)", "def f(:"])
def test_a_module_that_cannot_be_run_is_named(code: str, tmp_path: Path, monkeypatch: Any):
    name = f"broken_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(InvalidDefinitionError) as caught:
        from_data({"tasks": [{"id": "a", "output": f"{name}:X"}]}, allow_imports=True)

    assert caught.value.facts["place"] == "tasks[0].output"


def test_a_function_that_makes_no_process_but_raises_is_named():
    def build() -> Any:
        raise RuntimeError("no")

    data = {"tasks": [{"id": "a", "kind": "process", "process": "build"}]}
    with pytest.raises(InvalidDefinitionError) as caught:
        from_data(data, hooks={"build": build})

    assert caught.value.facts["place"] == "tasks[0].process"
    assert "RuntimeError" in caught.value.args[0]


def test_files_are_read_by_the_end_of_their_name(tmp_path: Path):
    (tmp_path / "p.toml").write_text(TOML)
    (tmp_path / "p.json").write_text(json.dumps(to_data(everything(), hooks=HOOKS)))
    (tmp_path / "bad.toml").write_text("tasks = [")
    (tmp_path / "bad.json").write_text('{"tasks": [], "tasks": []}')
    (tmp_path / "p.yaml").write_text("tasks: []")

    assert load_process(tmp_path / "p.toml", hooks=HOOKS).id == "orders"
    assert load_process(str(tmp_path / "p.json"), hooks=HOOKS).id == "all"
    for name in ("bad.toml", "bad.json", "p.yaml", "absent.json"):
        with pytest.raises(InvalidDefinitionError):
            load_process(tmp_path / name)


def test_a_process_from_data_runs():
    data = {
        "tasks": [
            {"id": "ask", "state_updates": "said", "next_task": "end"},
            {"kind": "decision", "id": "end", "decisions": [], "otherwise": "END"},
        ],
        "model": "model",
    }

    outcome = from_data(data, hooks=HOOKS).run_sync()

    assert outcome.output == {"said": "yes"}


def test_a_sub_process_that_was_passed_in_is_written_by_its_name_wherever_it_stands():
    inside = Process([ScriptTask(id="in", run=lambda _: None)], id="inside")
    subs = [SubProcess(id=name, process=inside) for name in ("a", "b")]

    data = to_data(Process(subs, sequence=["a", "b"]), hooks={"shared": inside})

    assert [task["process"] for task in data["tasks"]] == ["shared", "shared"]
    again = from_data(data, hooks={"shared": inside})
    assert all(task.process is inside for task in again.graph.tasks.values())
    with pytest.raises(InvalidDefinitionError, match="without a name"):
        to_data(Process(subs, sequence=["a", "b"]), hooks={})
