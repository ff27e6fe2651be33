"""Runs of a process: routing, answers, retries, commits that are whole or not at all."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Annotated, Any

import msgspec
import pytest

from thusfar.budget import InputBudget
from thusfar.errors import (
    InvalidDefinitionError,
    InvalidStateError,
    InvalidTemplateError,
    ProcessRunningError,
    RetriesExhaustedError,
)
from thusfar.models import GeneratedObject, GeneratedText, Scripted
from thusfar.process import (
    END,
    CommitChanges,
    DecisionTask,
    PartialPromptConfig,
    Process,
    RequestSettings,
    RunLimits,
    ScriptTask,
    SubProcess,
    Task,
    Transition,
)


def choose(to: str, intent: str = "why", step_after: str = "then") -> str:
    return json.dumps({"goTo": to, "intent": intent, "stepAfter": step_after})


class Rated(msgspec.Struct):
    tags: list[str]
    score: Annotated[float, msgspec.Meta(ge=0, le=10)]


@dataclasses.dataclass
class Point:
    x: int


SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}


def one(task: Task, answers: Any, **options: Any) -> Process:
    return Process([task], model=Scripted(answers), **options)


@pytest.mark.parametrize("output", [Point, SCHEMA])
def test_an_output_is_held_to_its_schema_and_the_model_is_told_what_was_wrong(output: Any):
    task = Task(id="a", output=output, state_updates="point", next_task=END)
    process = one(task, ['{"x": "one"}', "no json", '{"x": 1}'])

    assert process.run_sync().output == {"point": {"x": 1}}
    first, second, third = (call.prompt for call in process.model.calls)
    assert '"x"' in first
    assert "Correct this" not in first
    assert "$.x" in second
    assert "one" not in second.split("Correct this:")[1]
    assert "not one JSON value" in third
    assert len(process.history) == 1


def test_an_output_may_be_a_pydantic_model():
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Made", x=(int, ...))
    process = one(Task(id="a", output=model, state_updates="p", next_task=END), ['{"x": 2}'])

    assert process.run_sync().output == {"p": {"x": 2}}


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"x": 1}\n```',
        '\n```\n{"x": 1}```\n ',
        ' {"x": 1}\n',
        "  ```json\n" + " " * 200_000 + '{"x":1}\n```',
    ],
)
def test_an_answer_in_a_code_block_is_read(answer: str):
    process = one(Task(id="a", output=Point, state_updates="p"), [answer])

    assert process.run_sync().output == {"p": {"x": 1}}


@pytest.mark.parametrize(
    "answer",
    [
        'Sure: {"x": 1}',
        '```json\n{"x": 1}\n``` done',
        '```{"x": 1}```',
        '{"x": 1} {"x": 2}',
        '{"x": 1, "x": 2}',
        '{"x": NaN}',
    ],
)
def test_json_inside_other_text_is_not_dug_out(answer: str):
    process = one(Task(id="a", output=Point, state_updates="p", max_retries=0), [answer])

    assert process.run_sync().status == "failed"


def test_a_native_structured_answer_is_used_where_the_model_has_it():
    class Native:
        name = "native"

        def generate_object(self, *, schema: Any, **_: Any) -> GeneratedObject:
            assert schema["$defs"]["Point"]["required"] == ["x"]
            return GeneratedObject(value={"x": 3})

    process = Process([Task(id="a", output=Point, state_updates="p")], model=Native())

    assert process.run_sync().output == {"p": {"x": 3}}


def test_an_answer_that_was_cut_off_is_refused():
    answers = [GeneratedText(text='{"x": 1}', finish="length"), '{"x": 2}']
    process = one(Task(id="a", output=Point, state_updates="p"), answers)

    assert process.run_sync().output == {"p": {"x": 2}}
    assert "not finished (length)" in process.model.calls[1].prompt


def test_exhausted_retries_leave_everything_as_it_was_and_the_run_can_go_on():
    task = Task(id="a", output=Point, state_updates="p", max_retries=1)
    process = one(task, ["1", "2", '{"x": 1}'], state={"n": 1})
    before = process.snapshot()

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.attempt, outcome.calls) == (
        "RETRIES_EXHAUSTED", 2, 2,
    )  # fmt: skip
    assert outcome.failure.errors
    with pytest.raises(RetriesExhaustedError):
        outcome.require()
    after = process.snapshot()
    assert (after["state"], after["log"]) == (before["state"], before["log"])
    assert process.run_sync().output == {"n": 1, "p": {"x": 1}}


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"goTo": "c"}, "goTo must be one of: b"),
        ({"goTo": 3}, "goTo must be text"),
        ({"goTo": "b", "go_to": "a"}, "given twice"),
        ({"goTo": "b", "x": 1}, "either choose or answer"),
        ({"intent": "go"}, "goTo must be one of: b"),
        ({"x": 1}, "chose no transition"),
        ([], "not one JSON object"),
    ],
)
def test_a_bad_transition_is_refused(answer: Any, complaint: str):
    hidden = Transition("c", visible_when={"fieldName": "n", "operator": "notNull"})
    tasks = [Task(id="a", transitions=["b", hidden]), Task(id="b", next_task=END), Task(id="c")]
    process = Process(tasks, model=Scripted([json.dumps(answer), choose("b"), "x"]))

    assert process.run_sync().status == "finished"
    assert complaint in process.model.calls[1].prompt
    assert "- c:" not in process.model.calls[0].prompt
    assert [entry.kind for entry in process.history] == ["transition", "result"]


def test_snake_case_is_understood():
    answer = {"go_to": END, "intent": "i", "step_after": None}
    process = one(Task(id="a", transitions=[END]), [json.dumps(answer)])

    assert process.run_sync().status == "finished"
    assert process.history[0].step_after == ""


def test_a_task_without_transitions_cannot_be_left_by_one():
    process = one(Task(id="a", output=dict, state_updates="p", max_retries=0), [choose(END)])

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert "no transitions" in outcome.failure.errors[0]


def test_fields_that_a_schema_declares_are_outputs_and_no_transition():
    output = {"type": "object", "properties": {"intent": {"type": "string"}}}
    task = Task(id="a", output=output, transitions=["a", END], state_updates="p", next_task=END)
    process = one(task, ['{"intent": "buy"}'])

    assert process.run_sync().output == {"p": {"intent": "buy"}}
    with pytest.raises(InvalidDefinitionError):
        Task(id="a", output={"properties": {"goTo": {}}}, transitions=[END])


def test_routing_goes_by_task_then_sequence_then_return_task_then_caller():
    def route(**options: Any) -> list[str]:
        ran: list[str] = []
        tasks = [
            Task(id="a", transitions=["b"]),
            ScriptTask(id="b", run=lambda _: None, **options.pop("b", {})),
            ScriptTask(id="c", run=lambda _: None, next_task=END),
            ScriptTask(id="d", run=lambda _: None, next_task=END),
        ]
        process = Process(
            tasks,
            start="a",
            model=Scripted([choose("b"), "{}"]),
            on_event=lambda event: ran.append(event.task_id) if hasattr(event, "entries") else None,
            limits=RunLimits(max_steps=3, max_retries=0),
            **options,
        )
        process.run_sync()
        return ran

    assert route(b={"next_task": "d"}, sequence=["b", "c"], default_return_task="c") == list("abd")
    assert route(sequence=["b", "c"], default_return_task="d") == list("abc")
    assert route(default_return_task="d") == list("abd")
    assert route() == list("ab"), "back at the hub, whose answer is refused"


def test_a_spoke_returns_to_its_hub_and_the_callers_do_not_pile_up():
    answers = [choose("spoke"), "x"] * 40 + [choose(END)]
    tasks = [Task(id="hub", transitions=["spoke", END]), Task(id="spoke", state_updates="x")]
    process = Process(tasks, model=Scripted(answers))

    assert process.run_sync().steps == 81
    assert process.position.callers == ("hub",)


def test_a_decision_is_made_from_state_without_a_model():
    tasks = [
        DecisionTask(
            id="d",
            decisions=[({"fieldName": "n", "operator": "greaterThan", "value": 5}, "big")],
            otherwise="small",
            record=True,
        ),
        ScriptTask(id="big", run=lambda state: state.update(size="big"), next_task=END),
        ScriptTask(id="small", run=lambda state: state.update(size="small"), next_task=END),
    ]

    assert Process(tasks, state={"n": 6}).run_sync().output == {"n": 6, "size": "big"}
    process = Process(tasks, state={"n": 5})
    assert process.run_sync().output == {"n": 5, "size": "small"}
    assert [entry.action for entry in process.history] == ["d -> small"]


def test_a_hook_that_raises_leaves_state_and_log_as_they_were():
    def broken(outputs: Any, state: Any) -> None:
        state["list"].append(outputs)
        process.add_history(summary="half")
        raise RuntimeError("secret")

    task = Task(id="a", state_updates="list[]", process_outputs=broken)
    process = one(task, ["x"], state={"list": []})

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "TASK_FAILED"
    assert isinstance(outcome.failure.cause.__cause__, RuntimeError)
    assert "secret" not in str(outcome.failure.cause)
    assert dict(process.state) == {"list": [], "history": ()}
    assert process.log.next_seq == 1


def test_hooks_review_change_and_are_told():
    told: list[Any] = []

    def review(outputs: Any, _: Any) -> CommitChanges:
        if outputs["x"] > 5:
            return CommitChanges(errors=("x is too large",))
        return CommitChanges(outputs={"x": outputs["x"] + 1}, state_updates={"seen": True})

    def work(outputs: Any, state: Any) -> str:
        state["double"] = outputs["x"] * 2
        process.add_history(summary="by hand")
        return "b"

    tasks = [
        Task(
            id="a",
            output=Point,
            state_updates="p",
            before_commit=review,
            process_outputs=work,
            after_commit=lambda outputs, state: told.append((outputs, len(state.history))),
            history_summary="x is ${output.x}",
            next_task=END,
        ),
        ScriptTask(id="b", run=lambda _: {"ok": True}, state_updates="b", next_task=END),
    ]
    process = Process(tasks, model=Scripted(['{"x": 9}', '{"x": 1}']))

    outcome = process.run_sync()

    assert outcome.output == {
        "p": {"x": 2}, "seen": True, "double": 4, "b": {"ok": True},
    }  # fmt: skip
    assert told == [({"x": 2}, 2)]
    assert [entry.summary for entry in process.history] == ["by hand", "x is 2"]
    assert [entry.seq for entry in process.history] == [1, 2]
    assert "x is too large" in process.model.calls[1].prompt


def test_a_path_that_cannot_be_written_changes_nothing():
    task = Task(id="a", state_updates={"first": "$output", "n.deep": "$output"})
    process = one(task, ["x"], state={"n": 1})

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "INVALID_STATE"
    assert process.state.values_only == {"n": 1}
    assert len(process.history) == 0


def test_history_in_state_is_a_reserved_name_everywhere():
    with pytest.raises(InvalidStateError):
        Task(id="a", state_updates="history[]")
    with pytest.raises(InvalidStateError):
        Process([Task(id="a")], state={"history": []})
    writes = ScriptTask(id="a", run=lambda state: state.update(history=[]))
    outcome = Process([writes]).run_sync()
    assert outcome.failure is not None
    assert outcome.failure.code == "INVALID_STATE"
    outcome = Process([writes]).run_sync({"history": []})
    assert outcome.failure is not None
    assert outcome.failure.code == "INVALID_STATE"


def test_a_sub_process_is_one_entry_with_a_log_of_its_own():
    child = Process(
        [Task(id="c", title="C", state_updates="found", next_task=END)],
        id="child",
        input={"type": "object", "required": ["ask"]},
        output={
            "type": "object",
            "properties": {"found": {"type": "string"}},
            "required": ["found"],
        },
    )
    tasks = [
        SubProcess(
            id="sub", process=child, inputs={"ask": "$state.topic"}, state_updates="got[]",
            next_task="again",
        ),
        SubProcess(id="again", process=child, inputs={"ask": "x"}, state_updates="got[]"),
    ]  # fmt: skip
    process = Process(tasks, model=Scripted(["one", "two"]), state={"topic": "t"})

    outcome = process.run_sync()

    assert outcome.output == {"topic": "t", "got": [{"found": "one"}, {"found": "two"}]}
    assert outcome.calls == 2
    assert [entry.kind for entry in process.history] == ["child", "child"]
    assert process.history[0].result == {"outcome": "finished", "steps": 1, "entries": 1}
    assert [nested.action for nested in process.history[0].nested] == ["C"]
    assert len(child.history) == 1


def test_a_failed_sub_process_leads_to_its_failure_task_or_fails_the_whole():
    child = Process([Task(id="c", output=Point, max_retries=0)], id="child")
    rescue = ScriptTask(id="rescue", run=lambda _: None, next_task=END)
    caught = Process(
        [SubProcess(id="sub", process=child, failure_task="rescue"), rescue], model=Scripted("no")
    )
    assert caught.run_sync().status == "finished"
    assert caught.history[0].result["failure"] == "RETRIES_EXHAUSTED"

    outcome = Process([SubProcess(id="sub", process=child)], model=Scripted("no")).run_sync()
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.task_id) == ("RETRIES_EXHAUSTED", "sub")
    assert outcome.failure.errors


def test_check_names_what_is_wrong_with_a_graph():
    def kinds(*tasks: Any, **options: Any) -> list[tuple[str, str]]:
        return [(found.kind, found.task_id) for found in Process(tasks, **options).check()]

    assert kinds(Task(id="a", transitions=["nowhere"])) == [("unknown-target", "a")]
    assert kinds(Task(id="a", next_task=END), Task(id="b")) == [("unreachable", "b")]
    assert kinds(Task(id="a", transitions=["b"]), Task(id="b")) == [("no-end", "")]
    hub = [Task(id="hub", transitions=["spoke", END]), Task(id="spoke")]
    assert kinds(*hub) == []
    assert kinds(*hub, record_history=False) == [("unrecorded", "hub")]
    assert not Process(hub, record_history=False).check()[0].stops
    line = [Task(id="a", transitions=["b"]), Task(id="b", next_task=END)]
    assert kinds(*line, record_history=False) == []
    loop = [Task(id="a", next_task="s"), ScriptTask(id="s", run=print, next_task="a")]
    assert ("unrecorded", "a") in kinds(*loop, record_history=False)
    assert kinds(Task(id="a", omit=["nothing"])) == [("unknown-part", "a")]
    asking = Task(id="a", task_prompt="${prt(['goal', 'nothing'])} ${promptPart('goal')}")
    assert kinds(asking) == [("unknown-part", "a")]
    assert kinds(Task(id="a"), intro_prompt="${promptPart('nothing')}") == [("unknown-part", "")]
    assert kinds(asking, optional_prompts={"nothing": "${prt('less')}"}) == [("unknown-part", "")]
    modes = {"own": PartialPromptConfig(omit=["nothing"])}
    assert kinds(Task(id="a"), prompt_modes=modes) == [("unknown-part", "")]
    hooked = Task(id="b", process_outputs=lambda outputs, state: END)
    assert kinds(Task(id="a", transitions=["b"]), hooked) == [], "the function may end the run"
    both = Task(id="a", transitions=["b"], output={"type": "object"}, next_task="b")
    assert kinds(both, Task(id="b")) == [], "behind a that answered, b ends the run"
    assert kinds(Task(id="a", transitions=["b", END]), Task(id="b")) == []
    assert kinds(Task(id="a"), Task(id="b"), sequence=["a", "b"]) == []
    with pytest.raises(InvalidDefinitionError):
        Process([Task(id="a", next_task="nowhere")], model=Scripted("x")).run_sync()
    for bad in ([], [Task(id="a"), Task(id="a")], [{"id": "a", "nope": 1}], [3]):
        with pytest.raises(InvalidDefinitionError):
            Process(bad)


def test_limits_end_a_run():
    def failing(**limits: Any) -> str:
        loop = Task(id="a", output=Point, transitions=["a", END])
        model = Scripted(lambda _: choose("a"))
        outcome = Process([loop], model=model, limits=RunLimits(**limits)).run_sync()
        assert outcome.failure is not None
        return f"{outcome.failure.code} {outcome.steps} {outcome.calls}"

    assert failing(max_steps=3) == "STEP_LIMIT 3 3"
    assert failing(max_calls=2) == "CALL_LIMIT 2 2"


def test_a_late_answer_is_not_used():
    now = [0.0]

    def slow(_: Any) -> str:
        now[0] += 50
        return choose(END)

    process = one(Task(id="a", transitions=[END]), slow, limits=RunLimits(step_timeout_seconds=40))
    process.monotonic = lambda: now[0]

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "STEP_TIMEOUT"
    assert len(process.history) == 0


def test_an_awaited_call_is_cancelled_when_it_takes_too_long():
    cancelled: list[bool] = []

    class Hanging:
        name = "hanging"

        async def generate_text(self, **_: Any) -> str:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(True)
            return ""

    limits = RunLimits(step_timeout_seconds=0.05)
    process = Process([Task(id="a")], model=Hanging(), limits=limits)
    process.monotonic = lambda: 0.0  # what comes before the call takes no time of the step

    outcome = asyncio.run(process.run())

    assert outcome.failure is not None
    assert (outcome.failure.code, cancelled) == ("STEP_TIMEOUT", [True])


def test_a_run_works_with_and_without_an_event_loop():
    async def review(outputs: Any, _: Any) -> None:
        await asyncio.sleep(0)

    task = Task(id="a", state_updates="x", before_commit=review)

    assert asyncio.run(one(task, ["1x"]).run()).output == {"x": "1x"}
    outcome = one(task, ["1x"]).run_sync()
    assert outcome.failure is not None
    assert outcome.failure.code == "INVALID_OPTIONS"


def test_one_object_runs_once_at_a_time():
    def again(_: Any) -> None:
        process.run_sync()

    process = Process([ScriptTask(id="a", run=again)])

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert isinstance(outcome.failure.cause, ProcessRunningError)


def test_a_snapshot_goes_on_where_it_was_taken_without_repeating_a_step():
    answers = [choose("b", "collect", "review"), "found", choose(END)]
    tasks = [Task(id="a", transitions=["b", END]), Task(id="b", state_updates="b")]
    whole = Process(tasks, model=Scripted(answers), history_detail_items=1)
    whole.run_sync()
    for done in range(3):
        first = Process(tasks, model=Scripted(answers[:done]), history_detail_items=1)
        first.run_sync()
        saved = json.loads(json.dumps(first.snapshot()))
        second = Process(tasks, model=Scripted(answers[done:]), history_detail_items=1)

        second.restore(saved)
        outcome = second.run_sync()

        assert (outcome.status, outcome.steps) == ("finished", 3)
        assert [(e.seq, e.task_id) for e in second.history] == [(1, "a"), (2, "b"), (3, "a")]
        assert second.log.older_lines() == whole.log.older_lines()
    with pytest.raises(InvalidStateError):
        Process([Task(id="z")], id="other").restore(saved)
    with pytest.raises(InvalidStateError):
        second.restore({**saved, "log": {}})


def test_templates_see_what_they_may_and_values_are_never_read_as_templates():
    task = Task(
        id="a",
        task_prompt="${state.order.items} ${json(state)} \\${x} ${process.steps_executed} "
        "${prt('own')}",
        omit=["goal"],
    )
    state = {"order": {"items": "${goal} {% x %} {{ y }}"}}
    process = one(
        task, ["x"], state=state, goal="G" * 9, intro_prompt="${promptPart('goal')}",
        optional_prompts={"own": "OWN of ${task.title}"},
    )  # fmt: skip
    process.add_history(summary="${goal} ${promptPart('taskPrompt')}", taskID="${goal}")

    process.run_sync()

    prompt = process.model.calls[0].prompt
    assert "${goal} {% x %} {{ y }} " in prompt
    assert '{"order":{"items":"${goal} {% x %} {{ y }}"}} ${x} 1 ' in prompt
    assert "OWN of a" in prompt
    assert "GGG" not in prompt
    assert '"summary":"${goal} ${promptPart(\'taskPrompt\')}"' in prompt


@pytest.mark.parametrize(
    "template",
    [
        "${nope}",
        "${state.nope}",
        "${state.__class__}",
        "${''.__class__}",
        "${state.list.append(1)}",
        "${promptPart(goal)}",
        "${promptPart('taskPrompt')}",
        "${1/0}",
    ],
)
def test_a_template_that_does_what_it_may_not_is_refused_before_the_model_is_called(template: str):
    process = one(Task(id="a", task_prompt=template), ["x"], state={"list": []})

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.calls) == ("INVALID_TEMPLATE", 0)
    assert process.state["list"] == []


def test_a_template_that_cannot_be_read_is_refused_at_once():
    for bad in ("${", "${1 +}", "\ufdd0"):
        with pytest.raises(InvalidTemplateError):
            Task(id="a", task_prompt=bad)


def test_every_attempt_has_a_receipt_with_its_parts():
    events: list[Any] = []
    process = one(
        Task(id="a", output=Point, task_prompt="Point.", state_updates="p"),
        ["no", '{"x": 1}'],
        goal="Go",
        on_event=events.append,
        requests=RequestSettings(budget=InputBudget(max=5_000)),
    )
    process.add_history(summary="s")

    process.run_sync()

    first, second = (event.receipt for event in events if hasattr(event, "receipt"))
    assert (first.attempt, second.attempt, second.step, second.task_id) == (1, 2, 1, "a")
    assert first.request.max_input_tokens is not None
    assert first.request.max_input_tokens <= 5_000
    assert "errors" not in dict(first.parts)
    assert dict(second.parts).keys() == {
        "system", "text", "outputFormat", "goal", "history", "errors", "taskPrompt", "schema",
    }  # fmt: skip
    assert next(iter(dict(second.parts))) == "system"
    assert all(tokens > 0 for _, tokens in second.parts)
    assert sum(tokens for _, tokens in second.parts) <= second.request.input_tokens
    assert second.history is not None
    assert (second.history.recorded, second.history.in_full) == (1, 1)


def test_stable_parts_stand_before_those_that_change():
    tasks = [Task(id="a", task_prompt="TASK", transitions=["a", END])]
    answers = [choose("a", f"n{n}") for n in range(30)] + [choose(END)]
    process = Process(tasks, model=Scripted(answers), goal="G", history_detail_items=3)

    process.run_sync()

    before, after = process.model.calls[29].prompt, process.model.calls[30].prompt
    end = before.index("</completed-work>")
    assert after.startswith(before[:end])


def test_recording_can_be_switched_off_for_a_process_and_a_task():
    tasks = [Task(id="a", state_updates="x", next_task="b"), Task(id="b", state_updates="y")]
    silent = Process(tasks, model=Scripted(["1x", "2x"]), record_history=False, sequence=["a", "b"])
    silent.add_history(summary="by hand")
    silent.run_sync()
    assert [entry.kind for entry in silent.history] == ["manual"]

    quiet = Task(id="a", state_updates="x", no_history=True, next_task="b")
    process = Process([quiet, tasks[1]], model=Scripted(["1x", "2x"]))
    process.add_history(summary="by hand")
    process.run_sync()
    assert [entry.task_id for entry in process.history] == ["", "b"]
    assert "by hand" not in process.model.calls[0].prompt
    assert "by hand" in process.model.calls[1].prompt


@pytest.mark.parametrize(
    ("output", "answer", "value"),
    [
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "integer"}, "5", 5),
        ({"type": ["object", "null"]}, "null", None),
        (list[int], "[1]", [1]),
        (Point | None, "null", None),
    ],
)
@pytest.mark.parametrize("edges", [[], [END]])
def test_an_output_may_be_no_object_also_beside_transitions(
    output: Any, answer: str, value: Any, edges: Any
):
    task = Task(id="a", output=output, transitions=edges, state_updates="got", next_task=END)
    process = one(task, [answer])

    assert process.run_sync().output == {"got": value}


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("${state.nope.deep}", "The template of a.task_prompt named what does not exist: nope."),
        ("${nope}", "The template of a.task_prompt named what does not exist: nope."),
        ("${state.xs[7]}", "The template of a.task_prompt named what does not exist: 7."),
        (
            "${1 / state.zero}",
            "The template of a.task_prompt could not be rendered: ZeroDivisionError.",
        ),
    ],
)
def test_a_template_that_cannot_be_rendered_says_what_was_missing(template: str, told: str):
    process = one(
        Task(id="a", task_prompt=template), ["x"], state={"xs": [], "zero": 0, "word": "SECRET"}
    )

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.message) == ("INVALID_TEMPLATE", told)
    assert outcome.calls == 0


def test_a_template_that_cannot_be_read_says_why():
    with pytest.raises(InvalidTemplateError, match="could not be read: No filter named 'shout'"):
        Task(id="a", task_prompt="${state|shout}")


def test_what_does_not_fit_of_an_input_or_an_output_is_among_the_complaints():
    wanted = {"type": "object", "properties": {"q": {"type": "integer"}}, "required": ["q"]}
    asking = Process([Task(id="a", next_task=END)], id="in", input=wanted, model=Scripted("x"))
    giving = Process(
        [Task(id="a", state_updates="q", next_task=END)],
        id="out",
        output=wanted,
        model=Scripted("x"),
    )

    refused = asking.run_sync({"q": "two"}).failure
    given = giving.run_sync().failure
    around = Process([SubProcess(id="sub", process=asking, inputs={"q": "two"})]).run_sync().failure

    assert refused is not None
    assert given is not None
    assert around is not None
    assert (refused.code, given.code, around.code) == (
        "INPUT_INVALID", "OUTPUT_INVALID", "INPUT_INVALID",
    )  # fmt: skip
    for failure in (refused, given, around):
        (complaint,) = failure.errors
        assert "`$.q`" in complaint


def test_a_source_that_is_not_there_is_named():
    task = Task(id="a", output={"type": "object"}, state_updates={"a": "$output.order.total"})

    outcome = one(task, ['{"order": {}}']).run_sync()

    assert outcome.failure is not None
    assert outcome.failure.message == "The path order.total led to nothing."


@pytest.mark.parametrize(
    ("task", "kind", "told"),
    [
        (Task(id="a", task_prompt="${stats.total}"), "unknown-name", "a.task_prompt uses stats"),
        (Task(id="a", prompt="${goal} ${json(states)}"), "unknown-name", "a.prompt uses states"),
        (Task(id="a", history_summary="${outputs.x}"), "unknown-name", "summary uses outputs"),
        (
            Task(id="a", transitions=[END], state_updates="x", next_task=END),
            "unused",
            "never uses state_updates, next_task",
        ),
        (
            Task(id="a", transitions=[END], after_commit=lambda outputs, state: None),
            "unused",
            "never uses after_commit",
        ),
    ],
)  # fmt: skip
def test_check_names_what_would_fail_or_never_be_used(task: Task, kind: str, told: str):
    (found,) = Process([task]).check()

    assert (found.kind, found.task_id, found.stops) == (kind, "a", False)
    assert told in found.message


def test_check_finds_nothing_in_what_is_there_and_used():
    names = "${state.x} ${goal} ${inputs} ${failure} ${task.id} ${process.id} ${json(1)} \\${no}"
    task = Task(
        id="a",
        task_prompt=names + "${promptPart('goal')}${prompt_part('own')}${prt('errors')}",
        output={"type": "object"},
        transitions=[END],
        state_updates="x",
        next_task=END,
        history_summary="${output.x} ${state.x} ${json(output)} ${goal}",
    )

    assert Process([task], optional_prompts={"own": names}).check() == ()
