"""Windows: what a model is known to hold bounds its turns, and its provider may count for it."""

from __future__ import annotations

import asyncio

import pytest

from model_adapters import ADAPTERS, QUIET, Adapter
from thusfar import InputBudget, Scripted, generate, generate_sync
from thusfar.errors import RequestTooLargeError
from thusfar.models.anthropic import Anthropic
from thusfar.models.openai_chat import OpenAIChat
from thusfar.models.recording import Recording, Replay
from thusfar.runtime.planning import plan_sync
from thusfar.testing.loopback import LoopbackServer

pytestmark = [pytest.mark.filterwarnings(each) for each in QUIET]

TALK = [
    {"role": "user", "content": "word " * 700},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "And now?"},
]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
def test_the_window_of_an_adapter_is_that_of_its_model(adapter: Adapter) -> None:
    """PL-1, MO-5."""
    named = plan_sync(TALK, model=adapter.model, dialect="openai-chat", wire=adapter.wire)
    model = adapter.kind(adapter.model, api_key="a-key")

    planned = plan_sync(TALK, model=model, dialect="openai-chat", wire=adapter.wire)

    assert planned.receipt.max_input_tokens == named.receipt.max_input_tokens is not None
    assert planned.receipt.input_tokens == named.receipt.input_tokens


def test_a_turn_that_a_model_cannot_hold_is_refused_before_it_is_sent() -> None:
    with LoopbackServer("Never.") as server:
        model = OpenAIChat("gpt-4", base_url=server.base_url("openai-chat"), api_key="a-key")
        with pytest.raises(RequestTooLargeError):
            generate_sync(messages=[{"role": "user", "content": "word " * 9_000}], model=model)
        assert server.requests == ()


def test_a_model_that_nobody_knows_is_taken_for_a_small_one() -> None:
    model = OpenAIChat("nobody-knows-it", api_key="a-key")

    planned = plan_sync(TALK, model=model, dialect="openai-chat")

    assert planned.receipt.max_input_tokens < 8_192
    assert "MODEL_CAPACITY_UNKNOWN" in [each.code for each in planned.receipt.warnings]


def test_a_scripted_model_takes_any_input_also_recorded_and_replayed(tmp_path) -> None:
    """MO-22."""
    path = tmp_path / "run.jsonl"
    recording = Recording(Scripted("Yes."), path)

    for model in (Scripted("Yes."), recording):
        assert generate_sync("Go.", model=model).request.max_input_tokens is None
    replayed = generate_sync("Go.", model=Replay(path))

    assert (replayed.text, replayed.request.max_input_tokens) == ("Yes.", None)


@pytest.mark.parametrize("color", ["sync", "async"])
def test_a_provider_that_counts_less_than_was_estimated_lets_a_turn_through(color: str) -> None:
    with LoopbackServer("Yes.") as server:
        model = Anthropic("claude-sonnet-5", base_url=server.base_url("anthropic"), api_key="k")
        asked = {"messages": TALK, "model": model, "budget": InputBudget(max=800)}
        with pytest.raises(RequestTooLargeError):
            generate_sync(**asked)
        if color == "sync":
            result = generate_sync(**asked, count_tokens=True)
        else:
            result = asyncio.run(generate(**asked, count_tokens=True))
        model.close()
        paths = [each.path for each in server.requests]

    assert result.request.measurement == "exact"
    assert paths == ["/v1/messages/count_tokens", "/v1/messages"]


@pytest.mark.parametrize("kind", [OpenAIChat, Anthropic])
def test_without_a_count_of_the_provider_the_estimate_holds(kind) -> None:
    nowhere = "http://127.0.0.1:9"  # one has no such call, and the other is not reached
    model = kind("claude-sonnet-5", base_url=nowhere, api_key="k", max_retries=0)

    with pytest.raises(RequestTooLargeError):
        generate_sync(messages=TALK, model=model, budget=InputBudget(max=800), count_tokens=True)

    model.close()
