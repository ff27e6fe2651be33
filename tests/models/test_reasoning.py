"""Reasoning comes back as it was received, so that the next request can hold it."""

from __future__ import annotations

from typing import Any

import pytest

from model_adapters import ADAPTERS, QUIET, Adapter, answered_by_each_face
from thusfar.dialects import dialect
from thusfar.messages import Message, Reasoning, Text, ToolCall, ToolResult
from thusfar.models.litellm import LiteLLM
from thusfar.models.port import ModelReply
from thusfar.testing.loopback import Answer, LoopbackServer

pytestmark = [pytest.mark.filterwarnings(each) for each in QUIET]

BY_WIRE = {adapter.wire: adapter for adapter in ADAPTERS if adapter.kind is not LiteLLM}
LITELLM = next(adapter for adapter in ADAPTERS if adapter.kind is LiteLLM)


def lowered(adapter: Adapter, reply: ModelReply) -> list[Any]:
    wire = dialect(adapter.wire)
    return [made for message in reply.messages for made in wire.lower(message)]


def test_anthropic_thinking_keeps_its_signature_and_its_redacted_blocks() -> None:
    answer = Answer(
        text="Yes.",
        reasoning=(Reasoning("Hm.", signature="c2lnbmVk"), Reasoning(data="b3BhcXVl")),
    )
    for reply in answered_by_each_face(BY_WIRE["anthropic"], answer):
        (message,) = lowered(BY_WIRE["anthropic"], reply)
        thinking, redacted, text = message["content"]
        assert thinking == {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
        assert redacted == {"type": "redacted_thinking", "data": "b3BhcXVl"}
        assert text["text"] == "Yes."


def test_responses_items_keep_their_ids_and_their_sealed_content() -> None:
    answer = Answer(text="Yes.", reasoning=Reasoning("Hm.", signature="c2VhbGVk"))
    for reply in answered_by_each_face(BY_WIRE["openai-responses"], answer):
        reasoning, message = lowered(BY_WIRE["openai-responses"], reply)
        assert reasoning["encrypted_content"] == "c2VhbGVk"
        assert reasoning["id"].startswith("rs_")
        assert message["id"].startswith("msg_")


def test_a_gemini_signature_stays_on_its_part_and_in_the_alphabet_of_the_wire() -> None:
    answer = Answer(text="One two three four.", reasoning=Reasoning("Hm.", signature="+/+/"))
    adapter = BY_WIRE["gemini"]
    whole, streamed, *_ = answered_by_each_face(adapter, answer)
    (message,) = lowered(adapter, whole)
    assert message["parts"][-1] == {"text": "One two three four.", "thoughtSignature": "+/+/"}
    (message,) = lowered(adapter, streamed)
    thought, *said = message["parts"]
    assert thought == {"text": "Hm.", "thought": True}
    assert "".join(part["text"] for part in said) == "One two three four."
    assert [part.get("thoughtSignature") for part in said] == [None, "+/+/"]


def test_gemini_calls_without_ids_stay_without() -> None:
    answer = Answer(tool_calls=[ToolCall(None, "weather", '{"city":"Paris"}')])
    for reply in answered_by_each_face(BY_WIRE["gemini"], answer):
        (message,) = lowered(BY_WIRE["gemini"], reply)
        assert message["parts"] == [
            {"functionCall": {"name": "weather", "args": {"city": "Paris"}}}
        ]
        assert reply.finish == "tool-calls"


def test_signed_thinking_goes_through_litellm_and_back() -> None:
    wire = dialect("openai-chat")
    call = ToolCall("call_1", "weather", '{"city": "Paris"}')
    answer = Answer(text="Wait.", reasoning=Reasoning("Hm.", signature="c2ln"), tool_calls=[call])
    with LoopbackServer([answer, "It is sunny."]) as server:
        model = LiteLLM("anthropic/claude-sonnet-4-6", base_url=server.origin, api_key="a-key")
        asked: dict[str, Any] = {
            "model": model.name,
            "messages": [{"role": "user", "content": "How is the weather?"}],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            **LITELLM.tools(),
        }
        reply = model.generate_sync(asked)
        result = Message("tool", (ToolResult("call_1", "weather", (Text("sunny"),)),))
        messages = [*asked["messages"], *lowered(LITELLM, reply), *wire.lower(result)]
        assert model.generate_sync({**asked, "messages": messages}).text == "It is sunny."
        sent = server.requests[1]
    assert sent.findings == ()
    assert sent.body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Wait."},
        {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Paris"}},
    ]
