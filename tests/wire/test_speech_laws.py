"""For any answer, the pieces of a stream make up what the whole answer says; no network is used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thusfar import Reasoning, ToolCall
from thusfar.codec import json_text
from thusfar.messages import Text
from thusfar.testing.loopback import WIRES, Answer, Received, Usage
from thusfar.testing.loopback.answering import SPEECHES
from thusfar.testing.loopback.sending import event_bytes
from thusfar.testing.loopback.wire import Event, Turn, tokens_of

wires = pytest.mark.parametrize("wire", WIRES)

BODIES: dict[str, Any] = {
    "openai-chat": {"model": "m", "messages": [], "stream_options": {"include_usage": True}},
    "openai-responses": {"model": "m", "input": []},
    "anthropic": {"model": "m", "messages": []},
    "gemini": {"contents": []},
}

texts = st.text(max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=2),
)
arguments = st.dictionaries(texts, json_values, max_size=3).map(json_text)
parts = st.one_of(
    texts.map(Text),
    st.builds(ToolCall, st.none() | st.sampled_from(["c1", "c2"]), st.just("f"), arguments),
    st.builds(Reasoning, texts, st.none() | st.just("c2VhbGVk")),
)
answers = st.builds(
    Answer,
    parts=st.lists(parts, max_size=5),
    usage=st.builds(
        Usage,
        input_tokens=st.just(100),
        output_tokens=st.just(50),
        cache_read_tokens=st.integers(0, 50),
        cache_write_tokens=st.integers(0, 50),
        reasoning_tokens=st.integers(0, 50),
    ),
)


def turn_of(wire: str, answer: Answer, piece: int) -> Turn:
    path = "/v1beta/models/m:streamGenerateContent"
    received = Received(wire=wire, kind="generate", path=path, body=BODIES[wire])
    return Turn(received, answer, tokens_of(answer.usage, received, answer), "x_1", piece)


@wires
@given(answer=answers, piece=st.integers(1, 40))
def test_the_pieces_of_a_stream_make_up_the_whole_answer(wire, answer, piece):
    turn = turn_of(wire, answer, piece)
    whole = SPEECHES[wire].reply(turn)
    events = list(SPEECHES[wire].events(turn))

    assert ASSEMBLERS[wire](events) == MEANINGS[wire](whole)


@wires
@given(answer=answers, piece=st.integers(1, 40))
def test_every_event_is_one_line_of_json_that_reads_back_equal(wire, answer, piece):
    for event in SPEECHES[wire].events(turn_of(wire, answer, piece)):
        lines = event_bytes(event).decode().split("\n")
        data = next(line.removeprefix("data: ") for line in lines if line.startswith("data: "))
        assert lines[-2:] == ["", ""]
        assert len(lines) == (4 if event.name else 3)
        assert data == "[DONE]" or json.loads(data) == event.data


@wires
@given(answer=answers, piece=st.integers(1, 40))
def test_equal_turns_are_said_equally(wire, answer, piece):
    first, second = (list(SPEECHES[wire].events(turn_of(wire, answer, piece))) for _ in "ab")

    assert first == second


def chat_meaning(whole: dict[str, Any]) -> Any:
    message = whole["choices"][0]["message"]
    return (
        message["content"] or "",
        message.get("reasoning_content", ""),
        message.get("tool_calls", []),
        whole["choices"][0]["finish_reason"],
        whole["usage"],
    )


def chat_assembled(events: list[Event]) -> Any:
    assert events[-1].data == "[DONE]"
    chunks = [event.data for event in events[:-1]]
    text = thought = finish = ""
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks[:-1]:
        assert chunk["usage"] is None
        delta = chunk["choices"][0]["delta"]
        text += delta.get("content") or ""
        thought += delta.get("reasoning_content", "")
        finish = chunk["choices"][0]["finish_reason"] or finish
        for call in delta.get("tool_calls", ()):
            index = call["index"]
            if index in calls:
                calls[index]["function"]["arguments"] += call["function"]["arguments"]
            else:
                rest = {name: value for name, value in call.items() if name != "index"}
                calls[index] = {**rest, "function": dict(rest["function"])}
    assert chunks[-1]["choices"] == []
    return text, thought, [calls[index] for index in sorted(calls)], finish, chunks[-1]["usage"]


def responses_assembled(events: list[Event]) -> Any:
    done = [e.data["item"] for e in events if e.name == "response.output_item.done"]
    last = events[-1].data["response"]
    assert done == last["output"]
    for kind, field in (
        ("response.output_text", "text"),
        ("response.function_call_arguments", "arguments"),
        ("response.reasoning_summary_text", "text"),
    ):
        deltas: dict[Any, str] = {}
        for event in events:
            if event.name == f"{kind}.delta":
                place = event.data["output_index"]
                deltas[place] = deltas.get(place, "") + event.data["delta"]
            elif event.name == f"{kind}.done":
                assert deltas.get(event.data["output_index"], "") == event.data[field]
    return last


def anthropic_assembled(events: list[Event]) -> Any:
    blocks: list[dict[str, Any]] = []
    partial = ""
    message: dict[str, Any] = {}
    for event in events:
        data = event.data
        assert data["type"] == event.name
        if event.name == "message_start":
            message = dict(data["message"])
        elif event.name == "content_block_start":
            blocks.append(dict(data["content_block"]))
            partial = ""
        elif event.name == "content_block_delta":
            delta = data["delta"]
            if delta["type"] == "input_json_delta":
                partial += delta["partial_json"]
                continue
            field = {"text_delta": "text", "thinking_delta": "thinking"}.get(
                delta["type"], "signature"
            )
            blocks[-1][field] += delta[field]
        elif event.name == "content_block_stop" and blocks[-1]["type"] == "tool_use":
            blocks[-1]["input"] = json.loads(partial)
        elif event.name == "message_delta":
            message |= data["delta"]
            message["usage"] = {**message["usage"], **data["usage"]}
    return {**message, "content": blocks}


def gemini_meaning(whole: dict[str, Any]) -> Any:
    candidate = whole["candidates"][0]
    return merged(candidate["content"]["parts"]), candidate["finishReason"], whole["usageMetadata"]


def gemini_assembled(events: list[Event]) -> Any:
    found = [part for e in events for part in e.data["candidates"][0]["content"]["parts"]]
    last = events[-1].data
    for event in events[:-1]:
        assert "finishReason" not in event.data["candidates"][0]
    return merged(found), last["candidates"][0]["finishReason"], last["usageMetadata"]


def merged(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join texts of one kind that stand together; empty ones without a signature say nothing."""
    joined: list[dict[str, Any]] = []
    for part in found:
        if part == {"text": ""} or part == {"text": "", "thought": True}:
            continue
        before = joined[-1] if joined else {}
        alike = "text" in part and "text" in before and part.get("thought") == before.get("thought")
        if alike and "thoughtSignature" not in before:
            joined[-1] = {**before, **part, "text": before["text"] + part["text"]}
        else:
            joined.append(dict(part))
    return joined


ASSEMBLERS = {
    "openai-chat": chat_assembled,
    "openai-responses": responses_assembled,
    "anthropic": anthropic_assembled,
    "gemini": gemini_assembled,
}
MEANINGS = {
    "openai-chat": chat_meaning,
    "openai-responses": lambda whole: whole,
    "anthropic": lambda whole: whole,
    "gemini": gemini_meaning,
}
