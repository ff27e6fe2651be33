"""Answers without an end: cut off at the output limit, or paused by the provider."""

from __future__ import annotations

from typing import Any

import pytest

from thusfar import (
    Message,
    Scripted,
    Text,
    Thread,
    ToolCall,
    generate_sync,
    stream_sync,
    tool,
)
from thusfar.dialects import dialect
from thusfar.messages import Native, ToolResult
from thusfar.models import Anthropic
from thusfar.models.anthropic_reading import AnthropicDecoder
from thusfar.models.errors import ToolLoopLimitError
from thusfar.models.port import ModelReply
from thusfar.storage.memory import MemoryStore
from thusfar.testing.loopback import Answer, LoopbackServer

RAN: list[int] = []


@tool
def pay(amount: int = 1) -> str:
    """Pay."""
    RAN.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def _nothing_ran():
    RAN.clear()


def cut(*parts: Any) -> ModelReply:
    return ModelReply(messages=(Message("assistant", parts),), finish="length")


def results(messages: Any) -> list[tuple[Any, bool, str]]:
    parts = [p for m in messages for p in m.parts if isinstance(p, ToolResult)]
    return [(part.call_id, part.is_error, part.parts[0].text) for part in parts]


NOT_RUN = "The answer reached its output limit in this call, which was not run."


@pytest.mark.parametrize("written", ["{}", '{"amount": 5', '{"amount": 5}'])
def test_a_call_that_was_cut_off_is_not_run(written):
    """GE-8."""
    model = Scripted([cut(ToolCall("c", "pay", written)), "I could not pay."])

    result = generate_sync("Pay 50.", model=model, tools=[pay])

    assert RAN == []
    assert results(result.messages) == [("c", True, NOT_RUN)]
    assert result.text == "I could not pay."


def test_calls_before_the_one_that_was_cut_off_are_run():
    calls = ToolCall("a", "pay", '{"amount": 5}'), ToolCall("b", "pay", "{}")
    model = Scripted([cut(*calls), "Done."])

    result = generate_sync("Pay.", model=model, tools=[pay])

    assert RAN == [5]
    assert results(result.messages) == [("a", False, "paid 5"), ("b", True, NOT_RUN)]


def test_a_call_that_words_follow_was_not_cut_off():
    model = Scripted([cut(ToolCall("a", "pay", '{"amount": 5}'), Text("And n")), "Done."])
    generate_sync("Pay.", model=model, tools=[pay])
    assert RAN == [5]


def test_a_call_that_was_cut_off_waits_for_nobody():
    careful = tool(pay.function, name="pay", needs_approval=True)
    model = Scripted([cut(ToolCall("c", "pay", '{"amount": 5}')), "I could not pay."])

    result = generate_sync("Pay 50.", model=model, tools=[careful])

    assert (result.pending, result.text, RAN) == ((), "I could not pay.", [])


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_turn_goes_on_where_the_provider_paused(way):
    """GE-10."""
    search = Native(
        "anthropic",
        "server_tool_use",
        '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"tide"}}',
    )
    paused = Answer(parts=(Text("The tide is "), search), finish="pause")
    thread = Thread("harbour", store=MemoryStore())
    with LoopbackServer([paused, "high at nine.", "At three."]) as server:
        model = Anthropic("claude-sonnet-5", base_url=server.base_url("anthropic"), api_key="a-key")
        if way == "whole":
            result = generate_sync("When is high tide?", model=model, thread=thread)
        else:
            with stream_sync("When is high tide?", model=model, thread=thread) as events:
                result = events.result()
        generate_sync("And low?", model=model, thread=thread)
        model.close()

    assert (result.text, result.finish) == ("The tide is high at nine.", "stop")
    assert [step.reason for step in result.steps] == ["initial", "pause"]
    roles = [[m["role"] for m in each.body["messages"]] for each in server.requests]
    assert roles[:2] == [["user"], ["user", "assistant"]]
    assert roles[2] == ["user", "assistant", "assistant", "user"]


def test_a_turn_that_is_only_ever_paused_ends_at_its_last_step():
    thread = Thread("harbour", store=MemoryStore())
    paused = ModelReply(messages=(Message("assistant", (Text("Still "),)),), finish="pause")
    with pytest.raises(ToolLoopLimitError):
        generate_sync("Search.", model=Scripted(paused), thread=thread, max_steps=3)
    assert thread.sync.read().messages == ()


def anthropic_stream(said: str, stop: str = "tool_use") -> ModelReply:
    decoder = AnthropicDecoder(None)
    call = {"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": said}
    for event in (
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {}},
        {"type": "message_stop"},
    ):
        decoder.feed(event)
    return decoder.reply()


@pytest.mark.parametrize("said", ['{"amount": 5', '{"amount": NaN}', "pay five"])
@pytest.mark.parametrize("read", [pay, tool(pay.function, name="pay", parameters={})])
def test_arguments_of_anthropic_that_are_no_json_are_answered_and_can_be_sent_again(said, read):
    """MO-13."""
    reply = anthropic_stream(said)
    sent = dialect("anthropic").lower(reply.messages[0])[0]
    assert sent["content"][0]["input"] == {"INVALID_JSON": said}
    model = Scripted([reply, "Sorry."], dialect="anthropic")

    result = generate_sync("Pay.", model=model, tools=[read])

    assert RAN == []
    assert results(result.messages) == [("toolu_1", True, "The arguments were not JSON.")]


def test_arguments_are_checked_against_a_schema_of_the_caller_and_the_signature():
    """GE-8."""
    schema = {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 10}}}
    limited = tool(pay.function, name="pay", parameters=schema, on_error="raise")
    said = ['{"amount": 50}', '{"amount": 5, "to": "Ann"}', '{"amount": 5}']
    calls = tuple(ToolCall(str(at), "pay", each) for at, each in enumerate(said))
    model = Scripted([calls, "Done."])

    result = generate_sync("Pay.", model=model, tools=[limited])

    assert RAN == [5]
    assert [(call_id, failed) for call_id, failed, _ in results(result.messages)] == [
        ("0", True),
        ("1", True),
        ("2", False),
    ]
    assert all(
        text.startswith("The arguments did not fit the schema:")
        for _, failed, text in results(result.messages)
        if failed
    )


def test_each_kind_of_call_of_responses_is_answered_by_its_own_kind():
    """MO-12."""
    items = (
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "pay", "input": "5"},
        {
            "type": "local_shell_call",
            "id": "lsh_1",
            "call_id": "c2",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        },
    )
    responses = dialect("openai-responses")
    asked = ModelReply(messages=tuple(map(responses.lift, items)), finish="tool-calls")
    definitions = [{"type": "custom", "name": "pay"}, {"type": "local_shell"}]
    thread = Thread("till", store=MemoryStore())
    model = Scripted([asked, "Done."], dialect="openai-responses")

    paused = generate_sync("Pay.", model=model, thread=thread, tools=definitions)
    waiting = {call.id: "5 paid" for call in paused.pending}
    generate_sync(thread=thread, model=model, tools=definitions, approvals=waiting)

    answers = [
        each for each in model.requests[-1]["input"] if each.get("type", "").endswith("_output")
    ]
    assert {each["call_id"]: each["type"] for each in answers} == {
        "c1": "custom_tool_call_output",
        "c2": "local_shell_call_output",
    }
