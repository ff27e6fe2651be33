"""Tools: what functions, schemas and exceptions of callers come to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

import pytest

from thusfar import (
    Amendment,
    Prompt,
    Scripted,
    ToolCall,
    context,
    generate,
    generate_sync,
    stream,
    stream_sync,
    tool,
)
from thusfar.errors import OptionsError
from thusfar.models.errors import ProviderUnavailableError, ToolLoopLimitError
from thusfar.runtime.tools import definitions

pytestmark = pytest.mark.anyio


@dataclass
class Arguments:
    number: int


def results(result):
    parts = [p for m in result.messages if m.role == "tool" for p in m.parts]
    return [(part.is_error, part.parts[0].text) for part in parts]


@pytest.mark.parametrize("raised", [StopIteration, SystemExit, KeyboardInterrupt])
async def test_a_tool_that_raises_what_no_future_takes_is_told_to_the_model(raised):
    """GE-8."""

    def newest() -> int:
        raise raised

    model = Scripted([ToolCall("c", "newest", "{}"), "There is none."])

    result = await asyncio.wait_for(generate("Newest?", model=model, tools=[newest]), 10)

    assert results(result) == [(True, f"RuntimeError: A function raised {raised.__name__}.")]


def test_a_type_of_any_name_can_be_a_parameter():
    def look(at: Arguments) -> int:
        return at.number

    model = Scripted([ToolCall("c", "look", '{"at": {"number": 7}}'), "Seven."])

    result = generate_sync("Look.", model=model, tools=[look])

    assert tool(look).parameters["required"] == ["at"]
    assert results(result) == [(False, "7")]


def test_a_partial_function_and_a_callable_object_are_tools_too():
    class Double:
        def __call__(self, number: int) -> int:
            return number * 2

    def add(left: int, right: int) -> int:
        return left + right

    model = Scripted(
        [
            (ToolCall("a", "add", '{"left": 1}'), ToolCall("b", "Double", '{"number": 2}')),
            "Done.",
        ]
    )

    result = generate_sync("Go.", model=model, tools=[partial(add, right=2), Double()])

    assert results(result) == [(False, "3"), (False, "4")]


def test_a_signature_without_a_schema_is_refused():
    def hidden(__word: str = "") -> str:
        return __word

    def many(*words: str) -> None:
        del words

    for function in (hidden, many):
        with pytest.raises(OptionsError, match="No schema could be made"):
            tool(function)


WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")


def test_no_tool_runs_whose_result_could_not_be_told():
    """GE-10."""
    ran = []

    def work() -> str:
        ran.append(1)
        return "done"

    model = Scripted([ToolCall("a", "work", "{}"), ToolCall("b", "work", "{}")])

    with pytest.raises(ToolLoopLimitError):
        generate_sync("Go.", model=model, tools=[work], max_steps=2)

    assert ran == [1]


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_that_was_not_offered_does_not_run(wire):
    """GE-8."""

    def read() -> str:
        return "read"

    def erase() -> str:
        raise AssertionError

    model = Scripted([ToolCall("c", "erase", "{}"), "No."], dialect=wire)

    result = generate_sync(
        "Go.",
        model=model,
        tools=[read, erase],
        prepare_step=lambda _: Amendment(active_tools=["read"]),
    )

    assert results(result) == [(True, "There is no tool of this name.")]


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_given_as_a_definition_waits_on_every_wire(wire):
    """GE-9."""
    (look,) = definitions([tool(lambda: None, name="look")], wire)
    model = Scripted([ToolCall("c", "look", "{}")], dialect=wire)

    assert generate_sync("Go.", model=model, tools=[look]).pending[0].name == "look"


def test_a_hook_may_give_tools_that_are_functions():
    """GE-7."""

    def add(left: int, right: int) -> int:
        return left + right

    def amend(_: object) -> Amendment:
        return Amendment(tools=[add], add=[context("more", "More.", tools=[double])])

    def double(number: int) -> int:
        return number * 2

    async def later(seen: object) -> Amendment:
        return amend(seen)

    calls = (
        ToolCall("a", "add", '{"left": 1, "right": 2}'),
        ToolCall("b", "double", '{"number": 2}'),
    )
    for hook in (amend, later):
        model = Scripted([calls, "Done."])

        result = generate_sync("Go.", model=model, prepare_step=hook)

        assert results(result) == [(False, "3"), (False, "4")]


@pytest.mark.parametrize(
    "said",
    [
        {"use": "a thread"},
        {"thread": "t"},
        {"tools": tool(lambda: 1, name="one")},
        {"approvals": ["c"]},
        {"messages": "Hello."},
    ],
)
def test_an_argument_of_another_kind_is_refused_by_name(said):
    (name,) = said
    with pytest.raises(OptionsError) as raised:
        generate_sync("Hi.", model=Scripted([]), **said)

    assert raised.value.facts["option"] == name


def test_a_prompt_of_other_things_than_lists_and_texts_is_refused():
    with pytest.raises(OptionsError, match="no list"):
        Prompt(tools=tool(lambda: 1, name="one"))
    with pytest.raises(OptionsError, match="written as a int"):
        generate_sync(Prompt(prompt=lambda given: given), input=5, model=Scripted([]))


@pytest.mark.parametrize("wire", WIRES)
def test_a_function_and_a_definition_of_one_name_are_refused(wire):
    look = tool(lambda: None, name="look")

    with pytest.raises(OptionsError, match="Two tools had one name"):
        generate_sync(
            "Go.",
            model=Scripted([], dialect=wire),
            tools=[look],
            use=[context("more", "More.", tools=definitions([look], wire))],
        )


async def test_a_stream_that_failed_says_why_whenever_its_result_is_asked_for():
    """GE-13."""
    failing = stream_sync("Go.", model=Scripted([ProviderUnavailableError("Down.", fix="Wait.")]))
    failing_later = stream("Go.", model=Scripted([ProviderUnavailableError("Down.", fix="Wait.")]))

    for _ in range(2):
        with pytest.raises(ProviderUnavailableError):
            failing.result()
        with pytest.raises(ProviderUnavailableError):
            await failing_later.result()


@pytest.mark.parametrize("name", ["", "a b", "über", "a.b", "x" * 65, "<lambda>"])
def test_a_name_that_providers_refuse_is_refused_where_the_tool_is_made(name):
    """GE-7."""
    with pytest.raises(OptionsError, match="name"):
        tool(lambda: 1, name=name or " ")


@pytest.mark.parametrize(("said", "got"), [("7.0", 7), ("7", 7), ("[7.0, 8]", [7, 8])])
def test_a_number_without_a_fraction_is_an_integer(said, got):
    """GE-8; GE-11."""
    seen = []

    def look(at: int | list[int]) -> str:
        seen.append(at)
        return "seen"

    model = Scripted([ToolCall("c", "look", f'{{"at": {said}}}'), said])
    result = generate_sync("Look.", model=model, tools=[look], output=int | list[int])

    assert (seen, result.output) == ([got], got)
    assert str(seen[0]) == str(got)


def test_a_number_with_a_fraction_is_none():
    def look(at: int) -> str:
        return "seen"

    model = Scripted([ToolCall("c", "look", '{"at": 7.5}'), "It did not fit."])
    result = generate_sync("Look.", model=model, tools=[look])
    assert [failed for failed, _ in results(result)] == [True]
