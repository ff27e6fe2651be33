"""Functions of the author: what they change, raise, return and take too long for."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
import time
from typing import Any

import pytest

from thusfar.errors import (
    InvalidDefinitionError,
    InvalidStateError,
    InvalidTemplateError,
    OptionsError,
    TaskFailedError,
)
from thusfar.models import GeneratedObject, Scripted
from thusfar.process import (
    END,
    CommitChanges,
    DecisionTask,
    PartialPromptConfig,
    Process,
    RunLimits,
    Runs,
    ScriptTask,
    Task,
    Transition,
)
from thusfar.storage import open_store

START: dict[str, Any] = {"list": [0], "n": 0}


def spoil(state: Any) -> None:
    """Change what a function was given, at its top and inside."""
    state["n"] = 99
    state["list"].append("spoilt")


def refuse(outputs: Any, state: Any) -> CommitChanges:
    spoil(state)
    return CommitChanges(errors=("no",))


def give_up(outputs: Any, state: Any) -> None:
    spoil(state)
    raise ValueError("no")


@pytest.mark.parametrize("hook", [refuse, give_up])
def test_a_hook_that_refuses_or_raises_leaves_state_as_it_was(hook: Any):
    task = Task(id="a", state_updates="got", before_commit=hook, max_retries=1)
    process = Process([task], model=Scripted("x"), state=START)

    assert process.run_sync().status == "failed"
    assert process.state.values_only == START


@pytest.mark.parametrize("where", ["before_commit", "after_commit"])
def test_what_a_hook_changes_of_the_state_it_sees_is_neither_in_memory_nor_in_a_store(where: str):
    hooks = {where: lambda outputs, state: spoil(state)}
    tasks = [
        Task(id="a", state_updates="got", next_task="b", **hooks),
        Task(id="b", task_prompt="${json(state)}", next_task=END),
    ]
    process = Process(tasks, model=Scripted("x"), state=START)
    runs = Runs(open_store("memory:")).sync

    runs.run(process, run_id="r")

    assert process.state.values_only == runs.state("r") == {**START, "got": "x"}
    assert "spoilt" not in process.model.calls[1].prompt


def test_after_commit_sees_the_state_behind_the_step():
    seen: list[Any] = []
    task = Task(
        id="a",
        state_updates="got",
        after_commit=lambda outputs, state: seen.append((outputs, state["got"], state.history)),
    )

    process = Process([task], model=Scripted("x"))
    process.run_sync()

    assert seen == [("x", "x", tuple(process.history))]


def test_what_process_outputs_changes_of_the_outputs_is_not_recorded():
    def work(outputs: Any, state: Any) -> None:
        outputs["forged"] = object()

    task = Task(id="a", state_updates="got", process_outputs=work, next_task=END)
    process = Process([task], model=Scripted('{"x": 1}'))

    assert process.run_sync().output == {"got": {"x": 1}}
    assert process.history[0].result == {"x": 1}


def test_a_condition_cannot_change_state():
    def holds(state: Any) -> bool:
        spoil(state)
        return False

    tasks = [
        DecisionTask(id="d", decisions=[({"operator": "not", "criteria": [holds]}, "a")]),
        Task(id="a", transitions=[Transition("d", visible_when=holds), END]),
    ]
    process = Process(tasks, model=Scripted('{"goTo": "END"}'), state=START)

    assert process.run_sync().output == START


@pytest.mark.parametrize(
    "given",
    [{"errors": "one text"}, {"errors": [5]}, {"errors": 5}, {"state_updates": [1]},
     {"state_updates": {"a..b": 1}}, {"state_updates": {"history": 1}}],
)  # fmt: skip
def test_a_hook_that_asks_for_what_is_none_fails_the_step_with_a_typed_error(given: Any):
    with pytest.raises((OptionsError, InvalidStateError, InvalidDefinitionError)):
        CommitChanges(**given)
    task = Task(id="a", before_commit=lambda *_: CommitChanges(**given))
    process = Process([task], model=Scripted("x"))

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert (outcome.calls, len(process.history)) == (1, 0)


def test_what_raised_behind_the_commit_does_not_claim_that_nothing_was_kept():
    def told(outputs: Any, state: Any) -> None:
        raise ValueError("no")

    tasks = [Task(id="a", state_updates="got", after_commit=told, next_task="b"), Task(id="b")]
    process = Process(tasks, model=Scripted("x"))

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.fix == "See the cause; the step was committed before."
    assert (process.state["got"], process.position.at) == ("x", "b")
    assert process.run_sync().status == "finished", "it goes on behind the step"


def test_a_condition_that_has_to_be_awaited_holds_for_nobody():
    async def holds(state: Any) -> bool:
        return False

    with pytest.raises(InvalidDefinitionError):
        Transition("pay", visible_when=holds)

    def later(state: Any) -> Any:
        return holds(state)

    tasks = [
        DecisionTask(id="d", decisions=[(later, "pay")], otherwise=END),
        Task(id="pay"),
    ]
    outcome = Process(tasks, model=Scripted("x")).run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.task_id) == ("TASK_FAILED", "d")


def test_a_partial_prompt_tells_of_a_condition_that_raises_as_a_run_does():
    edge = Transition(END, visible_when=lambda state: state["nowhere"])

    with pytest.raises(TaskFailedError):
        Process([Task(id="a", transitions=[edge])]).partial_prompt("minimal")


async def sleeper(*_: Any) -> None:
    await asyncio.sleep(3600)


SLOW: list[Any] = [
    ScriptTask(id="a", run=sleeper),
    Task(id="a", before_commit=sleeper),
    Task(id="a", process_outputs=sleeper),
]


@pytest.mark.parametrize("task", SLOW)
def test_a_function_that_is_awaited_too_long_is_cancelled(task: Any):
    limits = RunLimits(step_timeout_seconds=0.05)
    process = Process([task], model=Scripted("x"), limits=limits)
    begun = time.monotonic()

    outcome = asyncio.run(process.run())

    assert outcome.failure is not None
    assert outcome.failure.code == "STEP_TIMEOUT"
    assert time.monotonic() - begun < 3000
    assert len(process.history) == 0


@pytest.mark.parametrize("task", [*SLOW, Task(id="a", after_commit=sleeper)])
def test_a_function_that_is_awaited_is_cancelled_with_the_run(task: Any):
    async def scenario() -> str:
        begun = asyncio.Event()

        async def waiting(*_: Any) -> None:
            begun.set()
            await asyncio.sleep(3600)

        hooks = ("run", "before_commit", "process_outputs", "after_commit")
        (name,) = [each for each in hooks if getattr(task, each, None) is sleeper]
        made = type(task)(id="a", **{name: waiting})
        handle = Process([made], model=Scripted("x")).start()
        await begun.wait()
        handle.cancel()
        return (await asyncio.wait_for(handle, 300)).status

    assert asyncio.run(scenario()) == "cancelled"


def test_an_interceptor_that_is_awaited_is_cancelled_with_the_run_and_has_any_time():
    async def scenario() -> str:
        begun = asyncio.Event()

        async def ask(call: Any) -> None:
            begun.set()
            await asyncio.sleep(3600)

        limits = RunLimits(step_timeout_seconds=0.01)
        process = Process([Task(id="a")], model=Scripted("x"), interceptor=ask, limits=limits)
        process.monotonic = lambda: 0.0  # what comes before the call takes no time of the step
        handle = process.start()
        await begun.wait()
        await asyncio.sleep(0.05)
        assert not handle.done
        handle.cancel()
        return (await asyncio.wait_for(handle, 300)).status

    assert asyncio.run(scenario()) == "cancelled"


def test_entries_of_many_threads_are_numbered_without_a_gap_while_a_run_goes_on():
    process = Process(
        [Task(id="a", transitions=["a"])],
        model=Scripted('{"goTo": "a"}'),
        history_max_items=5_000,
        limits=RunLimits(max_steps=60),
    )

    def add() -> None:
        for number in range(200):
            process.add_history(summary=f"{number}")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    process.run_sync()
    for thread in threads:
        thread.join()

    assert [entry.seq for entry in process.history] == list(range(1, 861))
    assert process.log.part().lines + process.log.part().in_full == 860


def test_an_entry_that_is_added_while_a_step_is_stored_stands_behind_it():
    store = open_store("memory:")
    process = Process([Task(id="a", next_task="b"), Task(id="b")], model=Scripted("x"))
    runs = Runs(store)
    plain = store.arun

    async def slow(steps: Any) -> Any:
        made = await plain(steps)
        process.add_history(summary="from elsewhere")
        return made

    store.arun = slow  # type: ignore[method-assign]
    outcome = asyncio.run(runs.run(process, run_id="r"))

    assert outcome.status == "finished"
    kept = [(entry.seq, entry.task_id) for entry in runs.sync.entries("r")]
    assert kept == [(entry.seq, entry.task_id) for entry in process.history][: len(kept)]
    assert [number for number, _ in kept] == list(range(1, len(kept) + 1))
    assert [name for _, name in kept if name] == ["a", "b"]


def test_a_function_without_a_name_is_a_model():
    class Called:
        def __call__(self, **asked: Any) -> str:
            return str(asked["model"])

    def answer(**asked: Any) -> str:
        return str(asked["model"])

    for model, name in ((answer, "answer"), (Called(), "Called")):
        process = Process([Task(id="a", state_updates="got")], model=model)
        assert process.run_sync().output == {"got": name}


@pytest.mark.parametrize("answer", [None, 5, b"x"])
def test_a_model_that_answers_with_something_else_is_told_so(answer: Any):
    outcome = Process([Task(id="a")], model=lambda **_: answer).run_sync()

    assert outcome.failure is not None
    assert outcome.failure.message == f"A model answered with a {type(answer).__name__}."


def test_a_run_that_failed_at_its_first_task_keeps_its_input():
    wanted = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    process = Process([Task(id="a")], model=Scripted([ValueError("net"), "x"]), input=wanted)

    assert process.run_sync({"q": "why"}).status == "failed"
    assert process.run_sync().output == {"q": "why"}


@pytest.mark.parametrize("template", ["${5|dictsort}", "${5|xmlattr}", "${1/0}", "${[]|max}"])
def test_whatever_a_template_raises_is_a_typed_error(template: str):
    outcome = Process([Task(id="a", task_prompt=template)], model=Scripted("x")).run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "INVALID_TEMPLATE"


def test_a_template_cannot_draw_lots():
    with pytest.raises(InvalidTemplateError):
        Task(id="a", task_prompt="${state.list|random}")


@pytest.mark.parametrize("snapshot", [[], None, "text", {}])
def test_what_is_no_snapshot_is_refused(snapshot: Any):
    with pytest.raises(InvalidStateError):
        Process([Task(id="a")]).restore(snapshot)


def test_a_snapshot_that_came_from_a_task_that_is_gone_is_refused():
    hub = Task(id="hub", transitions=["a"])
    process = Process([hub, Task(id="a")], model=Scripted(['{"goTo": "a"}']))
    process.run_sync()
    saved = json.loads(json.dumps(process.snapshot()))

    with pytest.raises(InvalidStateError):
        Process([Task(id="a")]).restore(saved)


@pytest.mark.parametrize("config", [None, 5, {"mode": "minimal"}])
def test_a_partial_prompt_takes_a_config_or_a_mode(config: Any):
    with pytest.raises(OptionsError):
        Process([Task(id="a")]).partial_prompt(config)


def test_a_typing_error_in_what_a_partial_prompt_hides_does_not_show_it():
    process = Process([Task(id="a", task_prompt="${state.secret}")], state={"secret": "S"})

    with pytest.raises(OptionsError):
        process.partial_prompt(PartialPromptConfig(omit_state_vars=["secrte"]))


@pytest.mark.parametrize("whole", [True, False])
def test_no_history_is_no_history_for_templates_too(whole: bool):
    task = Task(
        id="a", task_prompt="${json(state.history)} ${state.history|length}", no_history=not whole
    )
    process = Process([task], model=Scripted("x"), no_history=whole)
    process.add_history(summary="secret")

    process.run_sync()

    assert "[] 0" in process.model.calls[0].prompt
    assert "secret" not in process.model.calls[0].prompt


@pytest.mark.parametrize(
    "template",
    ["${promptPart('history')|trim}", "${promptPart('history')[:80]}",
     "${promptPart('history')|truncate(40)}", "${'x' ~ promptPart('history')}",
     "${json(promptPart('history'))}"],
)  # fmt: skip
def test_no_template_can_cut_the_history(template: str):
    process = Process([Task(id="a", prompt=template)], model=Scripted("x"))
    process.add_history(summary="done long ago")

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.calls) == ("INVALID_TEMPLATE", 0)


@pytest.mark.parametrize("where", ["system_prompt", "intro_prompt"])
def test_history_stands_whole_and_counted_wherever_a_template_puts_it(where: str):
    receipts: list[Any] = []
    process = Process(
        [Task(id="a", prompt="${promptPart('intro')}Go on.")],
        model=Scripted("x"),
        on_event=lambda event: receipts.append(getattr(event, "receipt", None)),
        **{where: "Before. ${promptPart('history') if true else ''}"},  # type: ignore[arg-type]
    )
    process.add_history(summary="done long ago")

    process.run_sync()

    call = process.model.calls[0]
    shown = call.system if where == "system_prompt" else call.prompt
    assert "\n<newest-actions>\n{" in shown
    assert "}\n</newest-actions>" in shown
    (receipt,) = [each for each in receipts if each is not None]
    assert (receipt.history.recorded, receipt.history.in_full) == (1, 1)


def test_an_answer_that_is_wrong_at_thousands_of_places_does_not_make_the_next_prompt_too_large():
    output = {"type": "array", "items": {"type": "string"}}
    task = Task(id="a", output=output, state_updates="got")
    model = Scripted([json.dumps([1] * 9_000), '["x"]'], window=8_000)
    refused: list[Any] = []
    process = Process(
        [task], model=model, on_event=lambda event: refused.append(getattr(event, "errors", None))
    )

    assert process.run_sync().output == {"got": ["x"]}
    (errors,) = [each for each in refused if each]
    assert (len(errors), errors[-1]) == (21, "There were 8,980 more.")
    assert "- There were 8,980 more." in model.calls[1].prompt


def test_an_interceptor_cannot_change_the_schema_of_a_task():
    class Native:
        name = "native"

        def generate_object(self, **asked: Any) -> GeneratedObject:
            return GeneratedObject(value={"x": 1} if asked["schema"] else {})

    def look(call: Any) -> None:
        call.schema.clear()

    task = Task(id="a", output={"type": "object", "required": ["x"]}, state_updates="got")
    process = Process([task], model=Native(), interceptor=look)

    assert process.run_sync().output == {"got": {"x": 1}}


@pytest.mark.parametrize("entry", ["text", ["taskID"], 5, {}, None])
def test_what_is_no_entry_is_refused(entry: Any):
    with pytest.raises(OptionsError):
        Process([Task(id="a")]).add_history(entry)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_a_copy_of_a_process_runs_by_itself(copied: Any):
    process = Process([Task(id="a", state_updates="got")], model=Scripted("x"))
    process.add_history(summary="before")

    made = copied(process)

    assert made.run_sync().output == {"got": "x"}
    assert (len(made.history), len(process.history), process.state.values_only) == (2, 1, {})
    assert made.state["history"] == tuple(made.history)
