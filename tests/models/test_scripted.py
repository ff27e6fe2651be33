"""The scripted model fulfils the whole port."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from thusfar.dialects import dialect
from thusfar.errors import ProviderError
from thusfar.messages import Message, Reasoning, Text, ToolCall
from thusfar.models import GeneratedText, Scripted
from thusfar.models.port import ModelReply, ReasoningDelta, Replied, TextDelta, ToolCallDelta
from thusfar.models.resolving import PORT

ASKED: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "Hello"}]}
WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")


def test_it_has_all_of_the_port() -> None:
    model = Scripted("Hi.")
    assert [name for name in PORT if not hasattr(model, name)] == []
    assert model.count_tokens_sync(ASKED) is None
    assert asyncio.run(model.count_tokens(ASKED)) is None
    assert Scripted("Hi.", window=100).capacity is not None


@pytest.mark.parametrize("wire", WIRES)
def test_answers_have_the_form_of_its_dialect(wire: str) -> None:
    model = Scripted((Text("Hi."), ToolCall("call_1", "look", '{"at":1}')), dialect=wire)
    reply = model.generate_sync(ASKED)
    spoken = dialect(wire)
    again = [spoken.lift(made) for message in reply.messages for made in spoken.lower(message)]
    assert again == list(reply.messages)
    assert (reply.text, reply.finish, reply.model) == ("Hi.", "tool-calls", "scripted")


def test_an_answer_may_be_text_a_reply_a_message_a_call_an_error_or_a_function() -> None:
    whole = ModelReply(messages=(Message("assistant", "Whole."),))
    model = Scripted(
        [
            "Text.",
            GeneratedText(text="Cut", finish="length", output_tokens=3),
            whole,
            Message("assistant", "Message."),
            ToolCall("call_1", "look"),
            lambda asked: f"{len(asked['messages'])} message",
            ProviderError("It failed.", fix="Wait."),
        ]
    )
    replies = [model.generate_sync(ASKED) for _ in range(6)]
    assert [reply.text for reply in replies] == [
        "Text.",
        "Cut",
        "Whole.",
        "Message.",
        "",
        "1 message",
    ]
    assert (replies[1].finish, replies[1].usage.output_tokens) == ("length", 3)
    assert replies[4].finish == "tool-calls"
    with pytest.raises(ProviderError, match=r"It failed\."):
        model.generate_sync(ASKED)
    with pytest.raises(ProviderError, match="more often"):
        model.generate_sync(ASKED)


def test_a_stream_hands_out_words_thoughts_and_calls_and_ends_with_the_reply() -> None:
    parts = (Reasoning("Hm, yes."), Text("It is sunny."), ToolCall("call_1", "look", '{"at":1}'))
    model = Scripted(parts)
    events = list(model.stream_sync(ASKED))
    assert events[:-1] == [
        ReasoningDelta("Hm, "),
        ReasoningDelta("yes."),
        TextDelta("It "),
        TextDelta("is "),
        TextDelta("sunny."),
        ToolCallDelta(0, id="call_1", name="look"),
        ToolCallDelta(0, arguments='{"at":1}'),
    ]

    async def streamed() -> list[Any]:
        return [event async for event in model.stream(ASKED)]

    assert asyncio.run(streamed()) == events
    assert events[-1] == Replied(asyncio.run(model.generate(ASKED)))


def test_what_it_was_asked_is_kept_as_it_was() -> None:
    model = Scripted("Hi.")
    asked = {**ASKED, "messages": list(ASKED["messages"])}
    model.generate_sync(asked)
    asked["messages"].append({"role": "user", "content": "Later"})
    assert model.requests == [ASKED]
    assert model.calls == []


def test_it_answers_the_small_contracts_with_the_same_answers() -> None:
    model = Scripted(["Four.", ModelReply(messages=(Message("assistant", "Whole."),)), '{"n":4}'])
    assert model.generate_text(model="m", prompt="Two and two?").text == "Four."
    assert model.generate_text(model="m", prompt="Two and two?").text == "Whole."
    assert model.generate_object(prompt="Two and two?", schema={}).value == {"n": 4}
    assert [call.prompt for call in model.calls] == ["Two and two?"] * 3
