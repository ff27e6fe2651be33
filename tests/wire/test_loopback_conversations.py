"""What a loopback server says can be sent back to it: conversations with tools, turn after turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thusfar import Reasoning, ToolCall
from thusfar.codec import canonical_json, decode_message, encode_message
from thusfar.dialects import dialect
from thusfar.facts import content_of, facts_of
from thusfar.testing.loopback import WIRES, Answer, LoopbackServer
from thusfar.testing.loopback.checking import messages_of
from wire.sdks import ASK, anthropic_client, gemini_client, openai_client

TURNS = 3
LOOK = Answer(
    reasoning=Reasoning("I look it up.", signature="c2VhbGVk"),
    tool_calls=[ToolCall(None, "weather", '{"city":"Oslo"}'), ToolCall(None, "now")],
)
SAY = Answer(reasoning="Easy.", text="3 degrees.")
ANSWERS = [LOOK, SAY] * TURNS


def chat(server: LoopbackServer) -> None:
    messages: list[Any] = []
    with openai_client(server, "openai-chat") as client:
        for answer in ANSWERS:
            if answer is LOOK:
                messages.append({"role": "user", "content": ASK})
            found = client.chat.completions.create(model="m", messages=messages)
            said = found.choices[0].message
            messages.append(said.model_dump(exclude_unset=True))
            for call in said.tool_calls or ():
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "3 C"})


def responses(server: LoopbackServer) -> None:
    items: list[Any] = []
    with openai_client(server, "openai-responses") as client:
        for answer in ANSWERS:
            if answer is LOOK:
                items.append({"role": "user", "content": ASK})
            found = client.responses.create(
                model="m", input=items, store=False, include=["reasoning.encrypted_content"]
            )
            items += [item.model_dump(exclude_unset=True, mode="json") for item in found.output]
            for item in found.output:
                if item.type == "function_call":
                    result = {"call_id": item.call_id, "output": "3 C"}
                    items.append({"type": "function_call_output", **result})


def anthropic(server: LoopbackServer) -> None:
    messages: list[Any] = []
    with anthropic_client(server) as client:
        for answer in ANSWERS:
            if answer is LOOK:
                messages.append({"role": "user", "content": ASK})
            with client.messages.stream(model="m", max_tokens=99, messages=messages) as events:
                said = events.get_final_message()
            blocks = [block.to_dict() for block in said.content]
            messages.append({"role": "assistant", "content": blocks})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": "3 C"}
                for block in said.content
                if block.type == "tool_use"
            ]
            if results:
                messages.append({"role": "user", "content": results})


def gemini(server: LoopbackServer) -> None:
    contents: list[Any] = []
    with gemini_client(server) as client:
        for answer in ANSWERS:
            if answer is LOOK:
                contents.append({"role": "user", "parts": [{"text": ASK}]})
            found = client.models.generate_content(model="gemini-3", contents=contents)
            said = found.candidates[0].content
            contents.append(json.loads(said.model_dump_json(exclude_none=True, by_alias=True)))
            results = [
                {"functionResponse": {"name": part.function_call.name, "response": {"c": 3}}}
                for part in said.parts
                if part.function_call
            ]
            if results:
                contents.append({"role": "user", "parts": results})


TALKS = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_said_is_accepted_again_and_read_by_the_dialect(wire):
    with LoopbackServer(ANSWERS) as server:
        TALKS[wire](server)

    assert len(server.requests) == 2 * TURNS
    assert [received.findings for received in server.requests] == [()] * (2 * TURNS)
    format_ = dialect(wire)
    messages = messages_of(wire, server.requests[-1].body)
    assert len(messages) >= 3 * TURNS
    for message in messages:
        lifted = format_.lift(message)
        (lowered,) = format_.lower(decode_message(encode_message(lifted)))
        assert canonical_json(lowered) == canonical_json(message)
        assert format_.describe(message) == facts_of(lifted)
        assert format_.content(message) == content_of(lifted)
