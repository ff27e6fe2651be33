"""A provider's own summaries, where they can be read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from model_adapters import ADAPTERS, QUIET
from thusfar import InputBudget, Thread, generate_sync, history, open_store, summarize
from thusfar.errors import ProviderError
from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.models.anthropic import Anthropic
from thusfar.models.contracts import ProviderHistorySummaryInput, as_text
from thusfar.models.openai_responses import OpenAIResponses
from thusfar.testing.loopback import Fault, LoopbackServer

pytestmark = [pytest.mark.filterwarnings(each) for each in QUIET]

SAID = (
    Message("system", "Be brief."),
    Message("user", "How is the weather?"),
    Message("assistant", (ToolCall("call_1", "weather", '{"city":"Paris"}'),)),
    Message("tool", (ToolResult("call_1", "weather", (Text("sunny"),)),)),
    Message("assistant", "It is sunny."),
)


def wanted(**more: Any) -> ProviderHistorySummaryInput:
    return ProviderHistorySummaryInput(
        messages=SAID, model="claude-sonnet-5", strategy=summarize.adaptive(), **more
    )


def model_at(server: LoopbackServer, name: str = "claude-sonnet-5", **options: Any) -> Anthropic:
    return Anthropic(name, base_url=server.base_url("anthropic"), api_key="a-key", **options)


def test_the_summary_is_text_with_its_usage_and_the_id_of_the_request() -> None:
    with LoopbackServer(compactions="It was sunny in Paris.") as server:
        made = asyncio.run(model_at(server).compact_history(wanted()))
        (sent,) = server.requests
    assert made.summary == "It was sunny in Paris."
    assert made.request_id == "req_loopback_1"
    assert (made.input_tokens or 0) > 0
    assert (made.output_tokens or 0) > 0
    assert as_text(made).output_tokens == made.output_tokens
    assert sent.kind == "compact"
    assert sent.findings == ()
    assert sent.headers["anthropic-beta"] == "compact-2026-09-04"
    assert sent.body["compaction"] == {"type": "summarize"}
    assert sent.body["system"] == "Be brief."
    assert [message["role"] for message in sent.body["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_a_compaction_without_a_summary_is_no_answer() -> None:
    with LoopbackServer(compactions="") as server:
        model = model_at(server, max_retries=0)
        with pytest.raises(ProviderError) as caught:
            asyncio.run(model.compact_history(wanted()))
    assert caught.value.code == "PROVIDER_ANSWER_INVALID"


def test_a_refused_compaction_has_a_code() -> None:
    with (
        LoopbackServer(compactions=Fault.status(400)) as server,
        pytest.raises(ProviderError) as caught,
    ):
        asyncio.run(model_at(server).compact_history(wanted()))
    assert caught.value.code == "PROVIDER_REFUSED"


@pytest.mark.parametrize("name", ["claude-sonnet-4-5", "claude-3-haiku"])
def test_a_model_without_it_has_no_such_method(name: str) -> None:
    assert not hasattr(Anthropic(name), "compact_history")


def test_providers_that_compact_have_the_method() -> None:
    able = {str(each) for each in ADAPTERS if hasattr(each.kind(each.model), "compact_history")}
    assert able == {"Anthropic", "OpenAIResponses"}


def responses_at(server: LoopbackServer, **options: Any) -> OpenAIResponses:
    url = server.base_url("openai-responses")
    return OpenAIResponses("gpt-5", base_url=url, api_key="a-key", **options)


def test_openai_compacts_and_then_writes_down_what_it_kept() -> None:
    with LoopbackServer("It was sunny in Paris.", compactions="sealed") as server:
        made = asyncio.run(responses_at(server).compact_history(wanted(max_output_tokens=50)))
        first, second = server.requests
    assert made.summary == "It was sunny in Paris."
    assert made.request_id == "req_loopback_2"
    assert (made.input_tokens or 0) > (as_text(made).output_tokens or 0) > 0
    assert (first.kind, second.kind) == ("compact", "generate")
    assert (first.findings, second.findings) == ((), ())
    assert [item.get("role", item.get("type")) for item in first.body["input"]] == [
        "system",
        "user",
        "function_call",
        "function_call_output",
        "assistant",
    ]
    kept, sealed, asked = second.body["input"]
    assert kept["role"] == "user"
    assert sealed["type"] == "compaction"
    assert asked["content"].endswith("in at most 50 tokens.")
    assert second.body["store"] is False
    assert second.body["max_output_tokens"] == 200


def test_a_server_of_the_wire_that_does_not_compact_writes_down_the_messages() -> None:
    with LoopbackServer("It was sunny.", compactions=Fault.status(404)) as server:
        made = asyncio.run(responses_at(server).compact_history(wanted()))
        *_, second = server.requests
    assert made.summary == "It was sunny."
    assert second.body["input"][1]["role"] == "user"
    assert len(second.body["input"]) == len(SAID) + 1


@pytest.mark.parametrize(
    ("answers", "compactions", "code"),
    [
        ("", "sealed", "PROVIDER_ANSWER_INVALID"),
        ("Fine.", Fault.status(500), "PROVIDER_UNAVAILABLE"),
        (Fault.status(500), "sealed", "PROVIDER_UNAVAILABLE"),
    ],
)
def test_a_compaction_that_fails_is_no_summary(answers: Any, compactions: Any, code: str) -> None:
    with (
        LoopbackServer(answers, compactions=compactions) as server,
        pytest.raises(ProviderError) as caught,
    ):
        asyncio.run(responses_at(server, max_retries=0).compact_history(wanted()))
    assert caught.value.code == code


def over_rivers(model: Any) -> tuple[Thread, Any]:
    """Generate a turn behind a thread that has to be summarised."""
    thread = Thread("rivers", store=open_store("memory:"))
    for number in range(8):
        thread.sync.append(
            [
                {"role": "user", "content": f"Question {number} about rivers. " * 30},
                {"role": "assistant", "content": f"Answer {number} about rivers. " * 30},
            ]
        )
    result = generate_sync(
        "And now?",
        model=model,
        use=[thread, history(recent={"tokens": 600})],
        budget=InputBudget(max=1500, optimize_at=900),
    )
    model.close()
    return thread, result


def test_a_turn_keeps_the_words_of_a_compaction_and_nothing_sealed() -> None:
    with LoopbackServer(["They spoke about rivers.", "Fine."], compactions="sealed") as server:
        model = responses_at(server)
        thread, result = over_rivers(model)
        kinds = [request.kind for request in server.requests]
        sent = str(server.requests[-1].body["input"])
    assert result.text == "Fine."
    assert kinds == ["compact", "generate", "generate"]
    assert "They spoke about rivers." in sent
    assert "encrypted_content" not in sent
    assert len(result.steps[0].request.support) == 1
    (kept,) = thread.sync.artifacts()
    assert "They spoke about rivers." in str(kept.body)
    assert "encrypted_content" not in str(kept.body)


def test_a_turn_over_a_long_thread_asks_for_it_and_sends_its_text() -> None:
    with LoopbackServer("Fine.", compactions="They spoke about rivers.") as server:
        model = model_at(server)
        _, result = over_rivers(model)
        compaction, request = server.requests
    assert result.text == "Fine."
    assert (compaction.kind, request.kind) == ("compact", "generate")
    assert (compaction.findings, request.findings) == ((), ())
    said = request.body["messages"][0]["content"][0]["text"]
    assert "They spoke about rivers." in said
