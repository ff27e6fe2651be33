"""Numbers and kinds of arguments: what cannot be meant is refused by name, and nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Prompt,
    Scripted,
    Thread,
    ToolCall,
    generate,
    generate_sync,
    open_store,
    preview_turn_sync,
    stream,
    stream_sync,
    tool,
)
from thusfar.errors import OptionsError
from thusfar.models.anthropic import Anthropic
from thusfar.models.gemini import Gemini
from thusfar.models.litellm import LiteLLM
from thusfar.models.local import Local
from thusfar.models.openai_chat import OpenAIChat
from thusfar.models.openai_responses import OpenAIResponses
from thusfar.runtime.edge import Runtime
from thusfar.runtime.planning import plan, plan_sync
from thusfar.runtime.previewing import compact_now_sync, preview_sync

NO_LIMITS = [0, -1, True, 1.5, float("nan"), "5", 2**60]
NO_TIMES = [0, -1, True, float("nan"), float("inf"), "5", None, 10**12]
ADAPTERS = [Anthropic, Gemini, LiteLLM, OpenAIChat, OpenAIResponses]
SAID = [{"role": "user", "content": "Hi."}]


def refused(option: str, call: Callable[[], Any]) -> None:
    with pytest.raises(OptionsError) as raised:
        call()
    assert raised.value.facts["option"] == option


@pytest.mark.parametrize("value", NO_LIMITS)
def test_an_output_limit_that_is_none_is_refused_wherever_it_is_taken(value: Any) -> None:
    model = Scripted([])
    said: dict[str, Any] = {"max_output_tokens": value}
    for call in (
        lambda: generate_sync("Hi.", model=model, **said),
        lambda: asyncio.run(generate("Hi.", model=model, **said)),
        lambda: stream_sync("Hi.", model=model, **said).result(),
        lambda: stream("Hi.", model=model, **said),
        lambda: preview_turn_sync("Hi.", model=model, **said),
        lambda: Prompt(prompt="Hi.", **said),
        lambda: plan_sync(SAID, model="gpt-5", **said),
        lambda: asyncio.run(plan(SAID, model="gpt-5", **said)),
        lambda: preview_sync(SAID, model="gpt-5", **said),
        lambda: compact_now_sync(SAID, model="gpt-5", runtime=Runtime(), **said),
        lambda: model.generate_text(prompt="Hi.", **said),
        lambda: model.generate_object(prompt="Hi.", schema={}, **said),
        lambda: Anthropic("m", api_key="k").generate_text(prompt="Hi.", **said),
    ):
        refused("max_output_tokens", call)
    assert (model.requests, model.calls) == ([], [])


@pytest.mark.parametrize("name", ["max_steps", "max_retries"])
@pytest.mark.parametrize("value", [-1, True, 1.5, float("nan"), "5"])
def test_a_number_of_steps_or_repetitions_that_is_none_is_refused(name: str, value: Any) -> None:
    refused(name, lambda: generate_sync("Hi.", model=Scripted([]), **{name: value}))


def test_a_bad_number_is_refused_before_a_tool_that_waited_is_run() -> None:
    ran = []

    @tool(needs_approval=True)
    def pay() -> str:
        ran.append(1)
        return "paid"

    store = open_store("memory:")
    thread = Thread("t", store=store)
    model = Scripted([ToolCall("c", "pay")])
    generate_sync("Pay.", model=model, thread=thread, tools=[pay])

    asked = {"model": model, "thread": thread, "tools": [pay], "approvals": {"c": True}}
    refused("max_output_tokens", lambda: generate_sync(**asked, max_output_tokens=0))
    assert ran == []
    store.close()


@pytest.mark.parametrize("kind", ADAPTERS)
def test_an_adapter_refuses_times_repetitions_settings_and_names_that_are_none(kind: Any) -> None:
    for value in NO_TIMES:
        refused("timeout_seconds", lambda given=value: kind("m", timeout_seconds=given))
    for value in (-1, True, 1.5, "2", None):
        refused("max_retries", lambda given=value: kind("m", max_retries=given))
    for value in (float("nan"), float("-inf"), [1.0, float("nan")], {"a": float("inf")}):
        refused("temperature", lambda given=value: kind("m", settings={"temperature": given}))
    refused("settings", lambda: kind("m", settings=["temperature"]))
    for value in ("", None, 5):
        refused("name", lambda given=value: kind(given))


@pytest.mark.parametrize("value", NO_LIMITS)
def test_a_window_that_is_none_is_refused(value: Any) -> None:
    refused("window", lambda: Scripted(window=value))
    refused("window", lambda: Local(window=value))
    refused("threads", lambda: Local(threads=value))


@pytest.mark.parametrize("value", NO_TIMES)
def test_a_runtime_refuses_times_that_are_none(value: Any) -> None:
    refused("support_timeout_seconds", lambda: Runtime(support_timeout_seconds=value))
    if value is not None:
        refused("lease_seconds", lambda: Runtime(lease_seconds=value))


@pytest.mark.parametrize(
    "said", [{"budget": 800}, {"runtime": "r"}, {"resources": ["a"]}, {"prepare_step": 5}]
)
def test_an_argument_of_a_turn_of_another_kind_is_refused(said: dict[str, Any]) -> None:
    (name,) = said
    refused(name, lambda: generate_sync("Hi.", model=Scripted([]), **said))


def test_a_prompt_refuses_a_budget_of_another_kind() -> None:
    refused("budget", lambda: Prompt(budget=800))
    assert Prompt(budget=InputBudget(max=800)).budget == InputBudget(max=800)


@pytest.mark.parametrize("value", [-1, True, 1.5, "5"])
def test_a_reported_count_that_is_none_is_refused(value: Any) -> None:
    planned = plan_sync(SAID, model="gpt-5")
    refused("input_tokens", lambda: planned.accept_sync(input_tokens=value))
