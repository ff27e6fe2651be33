"""Servers that resemble Chat Completions: what they do otherwise, and what is read of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from thusfar.dialects.openai_chat import OPENAI_CHAT
from thusfar.messages import Reasoning, ToolCall
from thusfar.models.openai_chat_reading import ChatDecoder, reply_of
from thusfar.models.port import ModelReply, ReasoningDelta, TextDelta, ToolCallDelta


def streamed(*deltas: Mapping[str, Any], finish: str = "stop") -> tuple[ModelReply, list[Any]]:
    """Read deltas, and what they were told as."""
    decoder = ChatDecoder(None)
    events: list[Any] = []
    for delta in deltas:
        events += decoder.feed({"choices": [{"index": 0, "delta": delta}]})
    decoder.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return decoder.reply(), events


def whole(message: Mapping[str, Any]) -> ModelReply:
    return reply_of({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def piece(index: int | None, *, call_id: Any = None, name: Any = None, said: Any = None) -> Any:
    """One entry of `tool_calls`, with what is not `None`."""
    function = {"name": name, "arguments": said}
    made = {"index": index, "id": call_id, "function": function}
    made["function"] = {key: value for key, value in function.items() if value is not None}
    return {key: value for key, value in made.items() if value is not None}


def calls_of(reply: ModelReply) -> list[tuple[str | None, str, str]]:
    return [
        (part.id, part.name, part.arguments)
        for message in reply.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    ]


PIECES: dict[str, Sequence[Any]] = {
    "empty ids and names behind the first": (
        piece(0, call_id="a", name="look", said=""),
        piece(0, call_id="", name="", said='{"at":'),
        piece(0, call_id="", said="1}"),
    ),
    "id and name again with each": (
        piece(0, call_id="a", name="look", said='{"at":'),
        piece(0, call_id="a", name="look", said="1}"),
    ),
    "another id with each": (
        piece(0, call_id="a", name="look", said='{"at":'),
        piece(0, call_id="b", said="1}"),
    ),
    "no index": (
        piece(None, call_id="a", name="look", said='{"at":'),
        piece(None, said="1}"),
    ),
    "counted from one": (
        piece(1, call_id="a", name="look", said='{"at":'),
        piece(1, said="1}"),
    ),
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES.keys())
def test_a_call_keeps_its_id_and_its_name_however_its_pieces_go_on(pieces: Sequence[Any]) -> None:
    reply, events = streamed(*({"tool_calls": [each]} for each in pieces))
    assert calls_of(reply) == [("a", "look", '{"at":1}')]
    assert [event.index for event in events] == [0] * len(pieces)


@pytest.mark.parametrize("index", [0, None])
def test_calls_under_one_index_are_told_apart_by_their_ids(index: int | None) -> None:
    reply, events = streamed(
        {"tool_calls": [piece(index, call_id="a", name="look", said='{"at":1}')]},
        {"tool_calls": [piece(index, call_id="b", name="look", said='{"at":')]},
        {"tool_calls": [piece(index, said="2}")]},
    )
    assert calls_of(reply) == [("a", "look", '{"at":1}'), ("b", "look", '{"at":2}')]
    assert [event.index for event in events] == [0, 1, 1]


@pytest.mark.parametrize("said", [{}, {"arguments": None}])
def test_a_call_without_arguments_is_sent_again_with_none(said: dict[str, Any]) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", **said}}
    reply, _ = streamed({"tool_calls": [{"index": 0, **call}]})
    for each in (reply, whole({"role": "assistant", "content": None, "tool_calls": [call]})):
        sent = OPENAI_CHAT.lower(each.messages[0])[0]
        assert sent["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}


def test_an_empty_id_is_none() -> None:
    call = {"id": "", "type": "", "function": {"name": "look", "arguments": "{}"}}
    reply, _ = streamed({"tool_calls": [{"index": 0, **call}]})
    for each in (reply, whole({"role": "assistant", "content": None, "tool_calls": [call]})):
        assert calls_of(each) == [(None, "look", "{}")]


@pytest.mark.parametrize("role", [{"role": ""}, {"role": None}, {}])
def test_whoever_the_server_says_that_speaks_it_is_the_assistant(role: dict[str, Any]) -> None:
    reply, _ = streamed({**role, "content": "Rain."}, {**role, "content": None})
    for each in (reply, whole({**role, "content": "Rain."})):
        assert [(message.role, message.text) for message in each.messages] == [
            ("assistant", "Rain.")
        ]


def test_content_in_parts_goes_on_as_text() -> None:
    def thinking(text: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

    reply, events = streamed(
        {"role": "assistant", "content": ""},
        {"content": [thinking("It is ")]},
        {"content": [thinking("cold.")]},
        {"content": "Wear "},
        {"content": [{"type": "text", "text": "a hat."}]},
    )
    parts = reply.messages[0].parts
    assert [part.text for part in parts if isinstance(part, Reasoning)] == ["It is cold."]
    assert reply.text == "Wear a hat."
    assert "".join(e.text for e in events if isinstance(e, ReasoningDelta)) == "It is cold."
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "Wear a hat."


def test_the_pieces_of_a_custom_call_are_told_with_its_name_and_input() -> None:
    head = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "draw", "input": ""}}
    reply, events = streamed(
        {"tool_calls": [head]},
        {"tool_calls": [{"index": 0, "custom": {"input": "a circle"}}]},
        finish="tool_calls",
    )
    assert calls_of(reply) == [("a", "draw", '{"input":"a circle"}')]
    assert events == [
        ToolCallDelta(0, id="a", name="draw"),
        ToolCallDelta(0, arguments="a circle"),
    ]
