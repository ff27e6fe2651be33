"""The laws of the port, over every adapter with its real SDK against a loopback server."""

from __future__ import annotations

import asyncio
import copy
import json
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from model_adapters import ADAPTERS, QUIET, Adapter, answered_by_each_face, closing
from thusfar.dialects import dialect
from thusfar.errors import ProviderError
from thusfar.messages import Reasoning, ToolCall
from thusfar.models.litellm import LiteLLM
from thusfar.models.port import (
    ModelReply,
    ReasoningDelta,
    Replied,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from thusfar.runtime.wire import messages_of_response
from thusfar.testing.loopback import Answer, Fault, LoopbackServer
from thusfar.testing.loopback import Usage as Reported

pytestmark = [
    pytest.mark.parametrize("adapter", ADAPTERS, ids=str),
    *(pytest.mark.filterwarnings(each) for each in QUIET),
]

CALLS = (
    ToolCall("call_1", "weather", '{"city":"Paris"}'),
    ToolCall("call_2", "weather", '{"city":"Rome"}'),
)
RICH = Answer(
    text="It is sunny in Paris today.",
    reasoning=Reasoning("They ask about the weather.", signature="c2lnbmVk"),
    tool_calls=CALLS,
    usage=Reported(input_tokens=120, output_tokens=40, cache_read_tokens=100, reasoning_tokens=10),
)
PATIENCE = 300  # seconds; only a test that fails waits for it


def test_the_arguments_are_not_changed(adapter: Adapter) -> None:
    arguments = adapter.asking("Hello")
    before = copy.deepcopy(arguments)
    with LoopbackServer("Hi.") as server:
        model = adapter.to(server)
        model.generate_sync(arguments)
        list(model.stream_sync(arguments))
        model.close()
    assert arguments == before


def test_an_answer_is_one_value_whole_or_streamed_on_a_loop_or_not(adapter: Adapter) -> None:
    replies = answered_by_each_face(adapter, RICH)
    assert len(replies) == 4
    assert all(reply == replies[0] for reply in replies)
    assert replies[0].text == "It is sunny in Paris today."
    assert replies[0].finish == "tool-calls"
    calls = [p for m in replies[0].messages for p in m.parts if isinstance(p, ToolCall)]
    assert [(c.id, c.name, c.arguments) for c in calls] == [
        (c.id, c.name, c.arguments) for c in CALLS
    ]


def test_a_stream_hands_out_all_text_reasoning_and_arguments(adapter: Adapter) -> None:
    with LoopbackServer(RICH) as server:
        model = adapter.to(server)
        events = list(model.stream_sync(adapter.asking("Hello")))
        model.close()
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    arguments = {
        index: "".join(piece.arguments for piece in pieces if piece.index == index)
        for index in (0, 1)
    }
    assert said == "It is sunny in Paris today."
    assert thought == "They ask about the weather."
    assert arguments == {0: '{"city":"Paris"}', 1: '{"city":"Rome"}'}
    assert [piece.id for piece in pieces if piece.id] == ["call_1", "call_2"]
    assert [type(event) is Replied for event in events] == [False] * (len(events) - 1) + [True]


def test_the_usage_counts_what_a_cache_served_and_what_was_reasoning(adapter: Adapter) -> None:
    for reply in answered_by_each_face(adapter, RICH):
        usage = reply.usage
        assert (usage.input_tokens, usage.output_tokens) == (120, 40)
        assert (usage.cache_read_tokens, usage.reasoning_tokens) == (100, 10)


def test_what_was_answered_is_sent_back_as_it_was_received(adapter: Adapter) -> None:
    """The server checks the second request by the rules of its wire."""
    wire = dialect(adapter.wire)
    arguments = adapter.asking("Hello", **adapter.tools())
    with LoopbackServer([RICH, "Done."]) as server:
        model = adapter.to(server)
        reply = model.generate_sync(arguments)
        lowered = [made for message in reply.messages for made in wire.lower(message)]
        messages = [*arguments[adapter.messages_name], *lowered, *adapter.results(CALLS)]
        done = model.generate_sync({**arguments, adapter.messages_name: messages})
        model.close()
        first, sent = server.requests
    with LoopbackServer(RICH) as server:
        raw = posted(server.origin + first.path, first.raw)
    assert lowered == adapter.tidied(messages_of_response(raw, wire))
    assert done.text == "Done."
    assert sent.findings == ()
    assert adapter.sent_messages(sent.body)[1 : 1 + len(lowered)] == lowered


def posted(url: str, body: bytes) -> Any:
    """Send a request without any SDK, and give the JSON that comes back."""
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


@pytest.mark.parametrize(
    ("finish", "expected"),
    [("length", "length"), ("content-filter", "content-filter"), ("refusal", "content-filter")],
)
def test_the_finish_says_why_it_ended(adapter: Adapter, finish: Any, expected: str) -> None:
    if adapter.wire == "anthropic" and finish == "content-filter":
        pytest.skip("the wire calls it a refusal")
    if adapter.kind is LiteLLM and finish == "refusal":
        pytest.skip("LiteLLM leaves refusals out of streams")
    for reply in answered_by_each_face(adapter, Answer(text="It is", finish=finish)):
        assert reply.finish == expected


def test_cancelling_a_call_closes_its_connection(adapter: Adapter) -> None:
    async def cancelled(call: Callable[[Any], Awaitable[Any]]) -> None:
        with LoopbackServer(Fault.stall(30.0)) as server:
            model = adapter.to(server)
            task = asyncio.ensure_future(call(model))
            assert await asyncio.to_thread(server.wait, 1, timeout=PATIENCE)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await left(server)
            await closing(model)

    async def read(model: Any) -> None:
        async for _ in model.stream(adapter.asking("Hello")):
            pass

    asyncio.run(cancelled(lambda model: model.generate(adapter.asking("Hello"))))
    asyncio.run(cancelled(read))


def test_leaving_a_stream_closes_its_connection(adapter: Adapter) -> None:
    long = Fault.stall(30.0, Answer(text="One two three. " * 9), after_chunks=7)

    async def begun() -> None:
        with LoopbackServer(long) as server:
            model = adapter.to(server)
            events = model.stream(adapter.asking("Hello"))
            async for _ in events:
                break
            await events.aclose()  # type: ignore[attr-defined]
            await left(server)
            await closing(model)

    asyncio.run(begun())
    with LoopbackServer(long) as server:
        model = adapter.to(server)
        events = model.stream_sync(adapter.asking("Hello"))
        next(iter(events))
        events.close()  # type: ignore[attr-defined]
        asyncio.run(left(server))
        model.close()


async def left(server: LoopbackServer) -> None:
    """Wait until the server has seen its client leave."""

    async def seen() -> None:
        while not server.hung_up:
            await asyncio.sleep(0.01)

    await asyncio.wait_for(seen(), PATIENCE)


def test_tokens_are_counted_where_the_provider_counts_them(adapter: Adapter) -> None:
    async def counted() -> int | None:
        model = adapter.to(server)
        tokens = await model.count_tokens(adapter.asking("Hello"))
        await closing(model)
        return tokens

    with LoopbackServer(counts=17) as server:
        model = adapter.to(server)
        expected = None if adapter.wire == "openai-chat" else 17
        assert model.count_tokens_sync(adapter.asking("Hello")) == expected
        assert asyncio.run(counted()) == expected
        model.close()


def test_a_client_of_the_caller_is_used_and_stays_open(adapter: Adapter) -> None:
    async def asked(model: Any) -> ModelReply:
        reply: ModelReply = await model.generate(adapter.asking("Hello"))
        if adapter.wire == "gemini":  # whose one client has connections of the loop too
            await client.aio.aclose()
        return reply

    with LoopbackServer("Hi.") as server:
        first = adapter.to(server)
        client = first.make_client(asynchronous=False)
        second = adapter.kind(adapter.model, client=client, **adapter.for_own_client(server))
        reply = second.generate_sync(adapter.asking("Hello"))
        second.close()
        again = second.generate_sync(adapter.asking("Hello"))
        asynchronous = asyncio.run(asked(second))
        first.close_client(client)
    assert (reply.text, again.text, asynchronous.text) == ("Hi.", "Hi.", "Hi.")


def test_the_small_contracts_answer_with_text_and_with_a_value(adapter: Adapter) -> None:
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    with LoopbackServer(["Four.", Answer(structured={"sum": 4})]) as server:
        model = adapter.to(server)
        text = model.generate_text(model="", prompt="Two and two?", system="Be brief.")
        value = model.generate_object(prompt="Two and two?", schema=schema)
        model.close()
    assert (text.text, text.finish) == ("Four.", "stop")
    assert (value.value, value.finish) == ({"sum": 4}, "stop")


def test_settings_are_added_and_the_request_wins(adapter: Adapter) -> None:
    with LoopbackServer("Hi.") as server:
        model = adapter.to(server, settings=adapter.settings(0.25, "auto"))
        own = adapter.settings(None, "priority")
        model.generate_sync(adapter.asking("Hello", **adapter.as_arguments(own)))
        model.close()
        body = server.requests[0].body
    assert adapter.settings_sent(body) == adapter.settings(0.25, "priority")


def test_an_answer_that_cannot_be_said_on_the_wire_has_no_usage(adapter: Adapter) -> None:
    assert Usage() + Usage(input_tokens=1) == Usage(input_tokens=1)
    with LoopbackServer([]) as server:
        model = adapter.to(server, max_retries=0)
        with pytest.raises(ProviderError):
            model.generate_sync(adapter.asking("Hello"))
        model.close()
