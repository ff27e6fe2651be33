"""The official SDKs behind one face, for tests: every wire, both colours, whole and streamed.

Whatever an SDK hands out is checked against the SDK's own types, because the SDKs do not check
what they parse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import anthropic
import openai
from google import genai
from google.genai import types

from thusfar.testing.loopback import LoopbackServer

ASK = "Weather in Oslo?"
TIMEOUT = 20.0  # seconds; only a test that fails waits for it

# There is no TLS here, and loading certificates takes most of the time of a test.
_HTTP: dict[Any, Any] = {
    openai.OpenAI: openai.DefaultHttpxClient,
    openai.AsyncOpenAI: openai.DefaultAsyncHttpxClient,
    anthropic.Anthropic: anthropic.DefaultHttpxClient,
    anthropic.AsyncAnthropic: anthropic.DefaultAsyncHttpxClient,
}


class Heard(NamedTuple):
    """What came out of an SDK, in neutral form; see `hear`."""

    text: str
    thought: str
    signature: str | None
    calls: list[tuple[str | None, str, Any]]
    finish: str
    usage: tuple[int, int, int, int]  # input, output, cached, reasoning


Sdk = Callable[[LoopbackServer, bool, dict[str, Any]], Heard]


def checked(value: Any) -> Any:
    """Check an SDK object against its own type, and give it back."""
    type(value).model_validate(value.to_dict(mode="python"))
    return value


def hear(
    wire: str, server: LoopbackServer, *, asynchronous: bool, stream: bool, **more: Any
) -> Heard:
    """Ask one question through the official SDK of a wire and read its answer.

    Args:
        wire: Name of the dialect.
        server: Who is asked.
        asynchronous: Whether the async client is used.
        stream: Whether the answer comes piece by piece.
        more: Further arguments of the SDK's call.
    """
    face = _ASYNC[wire] if asynchronous else _SYNC[wire]
    return face(server, stream, more)


# Chat Completions


def _chat(server: LoopbackServer, stream: bool, more: dict[str, Any]) -> Heard:
    with openai_client(server, "openai-chat") as client:
        found = client.chat.completions.create(**_chat_arguments(stream), **more)
        return _chat_heard(list(found) if stream else found)


def _chat_async(server: LoopbackServer, stream: bool, more: dict[str, Any]) -> Heard:
    async def ask() -> Heard:
        async with openai_client(server, "openai-chat", openai.AsyncOpenAI) as client:
            found = await client.chat.completions.create(**_chat_arguments(stream), **more)
            return _chat_heard([chunk async for chunk in found] if stream else found)

    return asyncio.run(ask())


def openai_client(server: LoopbackServer, wire: str, kind: Any = openai.OpenAI) -> Any:
    """Make a client of the OpenAI SDK that sends nothing again."""
    url = server.base_url(wire)
    http = _HTTP[kind](verify=False)
    return kind(api_key="test", base_url=url, max_retries=0, timeout=TIMEOUT, http_client=http)


def _chat_arguments(stream: bool) -> dict[str, Any]:
    extra: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    messages = [{"role": "user", "content": ASK}]
    return {"model": "gpt-5", "messages": messages, **(extra if stream else {})}


def _chat_heard(found: Any) -> Heard:
    if not isinstance(found, list):
        checked(found)
        choice = found.choices[0]
        message = choice.message
        calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()]
        thought = getattr(message, "reasoning_content", None) or ""
        text = message.content or message.refusal or ""
        return Heard(text, thought, None, calls, choice.finish_reason, _chat_usage(found.usage))
    calls = {}
    text = thought = finish = ""
    for chunk in map(checked, found):
        for choice in chunk.choices:
            text += choice.delta.content or choice.delta.refusal or ""
            thought += getattr(choice.delta, "reasoning_content", None) or ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or ():
                known = calls.setdefault(call.index, [call.id, call.function.name, ""])
                known[2] += call.function.arguments or ""
    usages = [chunk.usage for chunk in found if chunk.usage is not None]
    assert [found[-1].usage] == usages, "usage is in the last chunk, and there alone"
    heard = [tuple(call) for call in calls.values()]
    return Heard(text, thought, None, heard, finish, _chat_usage(usages[0]))


def _chat_usage(usage: Any) -> tuple[int, int, int, int]:
    return (
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.prompt_tokens_details.cached_tokens,
        usage.completion_tokens_details.reasoning_tokens,
    )


# Responses


def _responses(server: LoopbackServer, stream: bool, more: dict[str, Any]) -> Heard:
    with openai_client(server, "openai-responses") as client:
        found = client.responses.create(**_RESPONSES, stream=stream, **more)
        return _responses_streamed(list(found)) if stream else _responses_heard(found)


def _responses_async(server: LoopbackServer, stream: bool, more: dict[str, Any]) -> Heard:
    async def ask() -> Heard:
        async with openai_client(server, "openai-responses", openai.AsyncOpenAI) as client:
            found = await client.responses.create(**_RESPONSES, stream=stream, **more)
            if not stream:
                return _responses_heard(found)
            return _responses_streamed([event async for event in found])

    return asyncio.run(ask())


_RESPONSES: dict[str, Any] = {"model": "gpt-5", "input": ASK}


def _responses_heard(found: Any) -> Heard:
    checked(found)
    text = thought = ""
    signature, calls = None, []
    for item in found.output:
        if item.type == "message":
            text += "".join(
                part.text if part.type == "output_text" else part.refusal for part in item.content
            )
        elif item.type == "reasoning":
            thought += "".join(part.text for part in item.summary)
            signature = item.encrypted_content
        elif item.type == "function_call":
            calls.append((item.call_id, item.name, item.arguments))
    reason = found.incomplete_details.reason if found.incomplete_details else ""
    usage = found.usage
    tokens = (
        usage.input_tokens,
        usage.output_tokens,
        usage.input_tokens_details.cached_tokens,
        usage.output_tokens_details.reasoning_tokens,
    )
    return Heard(text, thought, signature, calls, reason or found.status, tokens)


def _pieces_of_responses(events: Iterable[Any]) -> tuple[str, str, list[str]]:
    text = thought = ""
    arguments: dict[int, str] = {}
    numbers = []
    for event in events:
        numbers.append(event.sequence_number)
        if event.type in ("response.output_text.delta", "response.refusal.delta"):
            text += event.delta
        elif event.type == "response.reasoning_summary_text.delta":
            thought += event.delta
        elif event.type == "response.function_call_arguments.delta":
            place = event.output_index
            arguments[place] = arguments.get(place, "") + event.delta
    assert numbers == list(range(len(numbers))), "events are numbered in order"
    return text, thought, list(arguments.values())


def _responses_streamed(events: list[Any]) -> Heard:
    """Hold the pieces of a stream against the whole that it ended with."""
    pieces = _pieces_of_responses(map(checked, events))
    heard = _responses_heard(events[-1].response)
    assert pieces == (heard.text, heard.thought, [call[2] for call in heard.calls])
    return heard


# Anthropic Messages


def _anthropic(server: LoopbackServer, stream: bool, more: dict[str, Any]) -> Heard:
    with anthropic_client(server) as client:
        if not stream:
            return _anthropic_heard(client.messages.create(**_MESSAGES, **more))
        with client.messages.stream(**_MESSAGES, **more) as events:
            pieces = _pieces_of_messages(events)
            return _agreed_messages(_anthropic_heard(events.get_final_message()), pieces)


def _anthropic_async(server: LoopbackServer, stream: bool, more: dict[str, Any]) -> Heard:
    async def ask() -> Heard:
        async with anthropic_client(server, anthropic.AsyncAnthropic) as client:
            if not stream:
                return _anthropic_heard(await client.messages.create(**_MESSAGES, **more))
            async with client.messages.stream(**_MESSAGES, **more) as events:
                seen = [event async for event in events]
                final = await events.get_final_message()
                return _agreed_messages(_anthropic_heard(final), _pieces_of_messages(seen))

    return asyncio.run(ask())


_MESSAGES: dict[str, Any] = {
    "model": "claude-sonnet-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": ASK}],
}


def anthropic_client(server: LoopbackServer, kind: Any = anthropic.Anthropic) -> Any:
    """Make a client of the Anthropic SDK that sends nothing again."""
    url = server.base_url("anthropic")
    http = _HTTP[kind](verify=False)
    return kind(api_key="test", base_url=url, max_retries=0, timeout=TIMEOUT, http_client=http)


def _anthropic_heard(message: Any) -> Heard:
    checked(message)
    blocks = message.content
    thoughts = [block for block in blocks if block.type == "thinking"]
    usage = message.usage
    cached = usage.cache_read_input_tokens or 0
    details = usage.output_tokens_details
    return Heard(
        "".join(block.text for block in blocks if block.type == "text"),
        "".join(block.thinking for block in thoughts),
        thoughts[0].signature if thoughts else None,
        [(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"],
        message.stop_reason,
        (
            usage.input_tokens + cached + (usage.cache_creation_input_tokens or 0),
            usage.output_tokens,
            cached,
            details.thinking_tokens if details else 0,
        ),
    )


def _pieces_of_messages(events: Iterable[Any]) -> tuple[str, str, int]:
    text = thought = ""
    arguments = 0
    for event in events:
        if event.type != "content_block_delta":
            continue
        checked(event)
        if event.delta.type == "text_delta":
            text += event.delta.text
        elif event.delta.type == "thinking_delta":
            thought += event.delta.thinking
        elif event.delta.type == "input_json_delta":
            arguments += bool(event.delta.partial_json)
    return text, thought, arguments


def _agreed_messages(heard: Heard, pieces: tuple[str, str, int]) -> Heard:
    assert pieces[:2] == (heard.text, heard.thought)
    assert pieces[2] >= 2 * len(heard.calls), "arguments come in several pieces"
    return heard


# Gemini


def _gemini(server: LoopbackServer, stream: bool, more: dict[str, Any]) -> Heard:
    with gemini_client(server) as client:
        if stream:
            return _gemini_heard(list(client.models.generate_content_stream(**_CONTENTS, **more)))
        return _gemini_heard([client.models.generate_content(**_CONTENTS, **more)])


def _gemini_async(server: LoopbackServer, stream: bool, more: dict[str, Any]) -> Heard:
    async def ask() -> Heard:
        with gemini_client(server) as client:
            async with client.aio as face:
                if not stream:
                    found = await face.models.generate_content(**_CONTENTS, **more)
                    return _gemini_heard([found])
                pieces = await face.models.generate_content_stream(**_CONTENTS, **more)
                return _gemini_heard([piece async for piece in pieces])

    return asyncio.run(ask())


_CONTENTS: dict[str, Any] = {"model": "gemini-3-pro", "contents": ASK}


def gemini_client(server: LoopbackServer, version: str | None = None) -> genai.Client:
    """Make a client of the Google SDK that sends nothing again, for its own version of the API."""
    options = types.HttpOptions(
        base_url=server.base_url("gemini"),
        api_version=version,
        timeout=int(TIMEOUT * 1000),
        client_args={"verify": False},
        async_client_args={"verify": False},
    )
    return genai.Client(api_key="test", http_options=options)


def _gemini_heard(pieces: list[Any]) -> Heard:
    parts = [
        part
        for piece in pieces
        for candidate in piece.candidates
        for part in candidate.content.parts or ()
    ]
    signatures = [part.thought_signature.decode() for part in parts if part.thought_signature]
    last = pieces[-1]
    usage = last.usage_metadata
    thoughts = usage.thoughts_token_count or 0
    return Heard(
        "".join(part.text or "" for part in parts if not part.thought),
        "".join(part.text or "" for part in parts if part.thought),
        signatures[0] if signatures else None,
        [
            (part.function_call.id, part.function_call.name, part.function_call.args)
            for part in parts
            if part.function_call
        ],
        last.candidates[0].finish_reason.value,
        (
            usage.prompt_token_count,
            usage.candidates_token_count + thoughts,
            usage.cached_content_token_count or 0,
            thoughts,
        ),
    )


_SYNC: dict[str, Sdk] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
_ASYNC: dict[str, Sdk] = {
    "openai-chat": _chat_async,
    "openai-responses": _responses_async,
    "anthropic": _anthropic_async,
    "gemini": _gemini_async,
}
