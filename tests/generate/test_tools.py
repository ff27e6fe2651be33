"""Tools: what functions, schemas and exceptions of callers come to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

import pytest

from thusfar import Scripted, ToolCall, generate, generate_sync, tool
from thusfar.errors import OptionsError

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
