"""Clients: those of the caller, those made here, and none at all."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from model_adapters import ADAPTERS, QUIET, Adapter
from thusfar.errors import MissingExtraError, OptionsError
from thusfar.models import Anthropic, Gemini, LiteLLM, OpenAIChat
from thusfar.models.errors import ProviderRefusedError
from thusfar.testing.loopback import LoopbackServer

pytestmark = [pytest.mark.filterwarnings(each) for each in QUIET]

ASKED: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hello"}]}


def test_an_async_client_alone_answers_on_a_loop_and_says_so_elsewhere() -> None:
    import openai

    async def answered() -> str:
        async with openai.AsyncOpenAI(base_url=url, api_key="a-key") as client:
            model = OpenAIChat("gpt-5", client=client)
            with pytest.raises(OptionsError):
                await asyncio.to_thread(model.generate_sync, ASKED)
            return (await model.generate(ASKED)).text

    with LoopbackServer("Hi.") as server:
        url = server.base_url("openai-chat")
        assert asyncio.run(answered()) == "Hi."


def test_a_client_with_the_limits_of_its_sdk_may_be_asked_for_much() -> None:
    import anthropic

    with LoopbackServer("Hi.") as server:
        client = anthropic.Anthropic(base_url=server.base_url("anthropic"), api_key="a-key")
        model = Anthropic("claude-opus-4-6", client=client)
        reply = model.generate_sync({**ASKED, "model": model.name, "max_tokens": 64_000})
        client.close()
    assert reply.text == "Hi."


def test_a_router_of_litellm_is_a_client() -> None:
    import litellm

    with LoopbackServer("Hi.") as server:
        url = server.base_url("openai-chat")
        to = {"model": "openai/gpt-4.1", "api_base": url, "api_key": "a-key"}
        router = litellm.Router(model_list=[{"model_name": "fast", "litellm_params": to}])
        model = LiteLLM("fast", client=router)
        asked = {**ASKED, "model": "fast"}
        assert model.generate_sync(asked).text == "Hi."
        assert asyncio.run(model.generate(asked)).text == "Hi."


@pytest.mark.parametrize("adapter", ADAPTERS[:4], ids=str)
def test_without_a_key_the_request_is_refused_once(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "OPENAI_ADMIN", "ANTHROPIC", "GEMINI", "GOOGLE"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
        monkeypatch.delenv(f"{name}_KEY", raising=False)
    with pytest.raises(ProviderRefusedError) as caught:
        adapter.kind(adapter.model).generate_sync(adapter.asking("Hello"))
    assert caught.value.__cause__ is not None
    assert caught.value.fix == f"Change what the cause names; {adapter.kind.keys[0]} is not set."


@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
def test_without_the_sdk_the_error_names_the_extra(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(**_: Any) -> Any:
        raise ModuleNotFoundError

    model = adapter.kind(adapter.model)
    monkeypatch.setattr(model, "make_client", absent)
    with pytest.raises(MissingExtraError, match=rf"thusfar\[{model.extra}\]"):
        model.generate_sync(adapter.asking("Hello"))


def test_threads_share_the_client_that_is_made() -> None:
    made: list[Any] = []

    class Counting(OpenAIChat):
        def make_client(self, *, asynchronous: bool) -> Any:
            made.append(asynchronous)
            return super().make_client(asynchronous=asynchronous)

    with LoopbackServer("Hi.") as server:
        model = Counting("gpt-5", base_url=server.base_url("openai-chat"), api_key="a-key")
        threads = [threading.Thread(target=model.generate_sync, args=(ASKED,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        model.close()
    assert made == [False]
    assert len(server.requests) == 4


def test_event_loops_have_clients_of_their_own() -> None:
    with LoopbackServer("Hi.") as server:
        model = Gemini("gemini-3-pro", base_url=server.origin, api_key="a-key")

        async def twice() -> list[str]:
            asked = {"model": model.name, "contents": [{"role": "user", "parts": [{"text": "x"}]}]}
            replies = await asyncio.gather(model.generate(asked), model.generate(asked))
            await model.aclose()
            return [reply.text for reply in replies]

        assert asyncio.run(twice()) + asyncio.run(twice()) == ["Hi."] * 4


@pytest.mark.parametrize("retries", [-1, True, 1.5, "2"])
def test_a_number_of_retries_is_a_whole_number(retries: Any) -> None:
    with pytest.raises(OptionsError):
        OpenAIChat("gpt-5", max_retries=retries)


def test_a_sync_client_alone_streams_on_a_loop_too() -> None:
    import openai

    async def streamed(model: OpenAIChat) -> list[Any]:
        return [event async for event in model.stream(ASKED)]

    with LoopbackServer("It is sunny in Paris.") as server:
        client = openai.OpenAI(base_url=server.base_url("openai-chat"), api_key="a-key")
        model = OpenAIChat("gpt-5", client=client)
        assert asyncio.run(streamed(model))[:-1] == list(model.stream_sync(ASKED))[:-1]
        client.close()
