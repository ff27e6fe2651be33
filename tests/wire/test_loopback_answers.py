"""A loopback server answers as providers do: the official SDKs read it, in every way they have."""

from __future__ import annotations

import base64
import json

import pytest

from thusfar import Reasoning, ToolCall
from thusfar.messages import Native, Text
from thusfar.testing.loopback import WIRES, Answer, LoopbackServer, Usage, count_body
from wire.sdks import (
    ASK,
    anthropic_client,
    checked,
    gemini_client,
    hear,
    openai_client,
)

# The Google SDK derives a class that aiohttp, where it is installed, would rather not have derived.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

wires = pytest.mark.parametrize("wire", WIRES)
colours = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

DICTS = ("anthropic", "gemini")  # wires whose arguments are objects, not text
SIGNATURE = base64.b64encode(b"sealed").decode()
EVERYTHING = Answer(
    reasoning=Reasoning("They want the weather.", signature=SIGNATURE),
    text="I look it up: 東京 and Oslo.",
    tool_calls=[
        ToolCall("call_a", "weather", '{"city":"Oslo","days":[1,2]}'),
        ToolCall("call_b", "weather", '{"city":"東京"}'),
    ],
    usage=Usage(input_tokens=100, output_tokens=30, cache_read_tokens=64, reasoning_tokens=10),
)


@wires
@colours
@ways
def test_every_sdk_reads_reasoning_text_parallel_calls_and_usage(wire, asynchronous, stream):
    with LoopbackServer(EVERYTHING) as server:
        heard = hear(wire, server, asynchronous=asynchronous, stream=stream)

    assert heard.text == "I look it up: 東京 and Oslo."
    assert heard.thought == "They want the weather."
    assert [(name, _parsed(arguments)) for _, name, arguments in heard.calls] == [
        ("weather", {"city": "Oslo", "days": [1, 2]}),
        ("weather", {"city": "東京"}),
    ]
    assert [call[0] for call in heard.calls] == ["call_a", "call_b"]
    assert heard.usage == (100, 30, 64, 10)
    assert server.requests[0].stream is stream
    assert server.requests[0].findings == ()


def _parsed(arguments):
    return json.loads(arguments) if isinstance(arguments, str) else arguments


@wires
@ways
def test_a_signature_comes_back_where_the_wire_has_one(wire, stream):
    with LoopbackServer(EVERYTHING) as server:
        heard = hear(wire, server, asynchronous=False, stream=stream)

    expected = {"openai-chat": None, "gemini": "sealed"}.get(wire, SIGNATURE)
    assert heard.signature == expected


FINISHES = {
    "stop": ("stop", "completed", "end_turn", "STOP"),
    "length": ("length", "max_output_tokens", "max_tokens", "MAX_TOKENS"),
    "content-filter": ("content_filter", "content_filter", "refusal", "SAFETY"),
    "refusal": ("stop", "completed", "refusal", "PROHIBITED_CONTENT"),
}


@wires
@ways
@pytest.mark.parametrize("finish", FINISHES)
def test_every_wire_says_why_it_ended_in_its_own_word(wire, stream, finish):
    with LoopbackServer(Answer(text="So far.", finish=finish)) as server:
        heard = hear(wire, server, asynchronous=False, stream=stream)

    assert heard.finish == FINISHES[finish][WIRES.index(wire)]
    assert heard.text == "So far."


@wires
@ways
def test_calls_end_an_answer_with_the_word_for_calls(wire, stream):
    answer = Answer(tool_calls=[ToolCall("call_a", "now")])
    with LoopbackServer(answer) as server:
        heard = hear(wire, server, asynchronous=False, stream=stream)

    words = {"openai-chat": "tool_calls", "openai-responses": "completed", "anthropic": "tool_use"}
    assert heard.finish == words.get(wire, "STOP")
    assert heard.text == ""
    assert [(call[1], _parsed(call[2])) for call in heard.calls] == [("now", {})]


@wires
def test_a_call_without_an_id_gets_one_but_on_gemini(wire):
    answer = Answer(tool_calls=[ToolCall(None, "now"), ToolCall(None, "now")])
    with LoopbackServer(answer) as server:
        heard = hear(wire, server, asynchronous=False, stream=True)

    ids = [call[0] for call in heard.calls]
    assert ids == [None, None] if wire == "gemini" else (len(set(ids)) == 2 and all(ids))


@wires
@ways
def test_a_structured_value_is_said_as_json_text(wire, stream):
    with LoopbackServer(Answer(structured={"city": "Oslo", "degrees": 3})) as server:
        heard = hear(wire, server, asynchronous=False, stream=stream)

    assert heard.text == '{"city":"Oslo","degrees":3}'


@wires
@ways
def test_an_empty_answer_is_read_too(wire, stream):
    with LoopbackServer(Answer()) as server:
        heard = hear(wire, server, asynchronous=False, stream=stream)

    assert (heard.text, heard.calls) == ("", [])


@wires
def test_two_characters_already_come_in_two_pieces(wire):
    with (
        LoopbackServer(Answer(text="Hi")) as server,
        gemini_client(server) as gemini,
        anthropic_client(server) as claude,
    ):
        if wire == "gemini":
            chunks = gemini.models.generate_content_stream(model="gemini-3", contents=ASK)
            pieces = [chunk.text for chunk in chunks]
        elif wire == "anthropic":
            asked = {"role": "user", "content": ASK}
            with claude.messages.stream(model="m", max_tokens=9, messages=[asked]) as events:
                pieces = list(events.text_stream)
        else:
            pieces = _openai_pieces(wire, server)

    assert pieces == ["H", "i"]


def _openai_pieces(wire, server):
    with openai_client(server, wire) as client:
        if wire == "openai-responses":
            with client.responses.stream(model="m", input=ASK) as events:
                return [e.delta for e in events if e.type == "response.output_text.delta"]
        asked = [{"role": "user", "content": ASK}]
        chunks = client.chat.completions.create(model="m", messages=asked, stream=True)
        return [c.choices[0].delta.content for c in chunks if c.choices[0].delta.content]


def test_counts_are_the_servers_own_estimate_unless_they_are_given():
    asked = [{"role": "user", "content": ASK}]
    with LoopbackServer() as server, openai_client(server, "openai-responses") as client:
        counted = checked(client.responses.input_tokens.count(model="m", input=ASK)).input_tokens
        with anthropic_client(server) as claude:
            by_claude = checked(claude.messages.count_tokens(model="m", messages=asked))
        with gemini_client(server) as gemini:
            by_gemini = gemini.models.count_tokens(model="gemini-3", contents=ASK)
        own = [count_body(received) for received in server.requests]

    assert [counted, by_claude.input_tokens, by_gemini.total_tokens] == own
    assert own == [8, 8, 8]

    with (
        LoopbackServer(counts=lambda received: 100 + len(received.wire)) as server,
        anthropic_client(server) as claude,
    ):
        assert claude.messages.count_tokens(model="m", messages=asked).input_tokens == 109


def test_a_count_of_the_request_is_what_an_answer_reports_as_its_input():
    with LoopbackServer() as server, anthropic_client(server) as claude:
        asked = [{"role": "user", "content": ASK}]
        tools = [{"name": "now", "input_schema": {"type": "object"}}]
        request = {"model": "m", "system": "Be brief.", "messages": asked, "tools": tools}
        counted = claude.messages.count_tokens(**request).input_tokens
        told = claude.messages.create(**request, max_tokens=9).usage.input_tokens

    assert counted == told > 5


def test_responses_compact_keeps_user_messages_and_adds_one_opaque_item():
    said = [{"role": "user", "content": ASK}, {"role": "assistant", "content": "3 degrees."}]
    with (
        LoopbackServer(compactions="They spoke of Oslo.") as server,
        openai_client(server, "openai-responses") as client,
    ):
        found = client.responses.compact(model="gpt-5", input=said)

    kept, opaque = found.output
    assert (kept.role, kept.content[0].text) == ("user", ASK)
    assert base64.urlsafe_b64decode(opaque.encrypted_content) == b"They spoke of Oslo."
    assert (server.requests[0].kind, found.object) == ("compact", "response.compaction")


@ways
def test_an_answer_may_begin_with_a_compaction_of_the_server(stream):
    answer = Answer(text="3 degrees.", compaction="They spoke of Oslo.")
    asked = [{"role": "user", "content": ASK}]
    managed = {"edits": [{"type": "compact_20260112"}]}
    with LoopbackServer(answer) as server, anthropic_client(server) as claude:
        request = {
            "model": "claude-sonnet-5",
            "max_tokens": 99,
            "messages": asked,
            "context_management": managed,
            "betas": ["compact-2026-01-12"],
        }
        if stream:
            with claude.beta.messages.stream(**request) as events:
                message = events.get_final_message()
        else:
            message = claude.beta.messages.create(**request)
        with openai_client(server, "openai-responses") as client:
            rule = {"type": "compaction", "compact_threshold": 1000}
            response = client.responses.create(model="m", input=ASK, context_management=[rule])

    assert [block.type for block in message.content] == ["compaction", "text"]
    assert message.content[0].content == "They spoke of Oslo."
    assert message.context_management.applied_edits == []
    assert [each.type for each in message.usage.iterations] == ["compaction", "message"]
    assert [item.type for item in response.output] == ["compaction", "message"]


def test_anthropic_pauses_after_a_compaction_when_the_answer_says_so():
    answer = Answer(compaction="They spoke of Oslo.", finish="compaction")
    with LoopbackServer(answer) as server, anthropic_client(server) as claude:
        message = claude.beta.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": ASK}]
        )

    assert message.stop_reason == "compaction"
    assert [block.type for block in message.content] == ["compaction"]


def test_an_anthropic_compaction_request_gets_a_signed_block_and_nothing_else():
    with (
        LoopbackServer(compactions="They spoke of Oslo.") as server,
        anthropic_client(server) as claude,
    ):
        message = claude.beta.messages.create(
            model="m",
            max_tokens=9,
            messages=[{"role": "user", "content": ASK}],
            compaction={"type": "summarize"},
            betas=["compact-2026-09-04"],
        )

    (block,) = message.content
    assert (block.type, block.content) == ("compaction", "They spoke of Oslo.")
    assert block.signature
    assert message.stop_reason == "compaction"
    assert server.requests[0].kind == "compact"


def test_redacted_thinking_and_native_blocks_are_said_as_they_are():
    search = (
        '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}'
    )
    parts = (
        Reasoning(data="c2VhbGVk"),
        Native("anthropic", "server_tool_use", search),
        Text("Found."),
    )
    with LoopbackServer(Answer(parts=parts)) as server, anthropic_client(server) as claude:
        asked = [{"role": "user", "content": ASK}]
        whole = claude.messages.create(model="m", max_tokens=9, messages=asked)
        with claude.messages.stream(model="m", max_tokens=9, messages=asked) as events:
            streamed = events.get_final_message()

    for message in (whole, streamed):
        assert [block.type for block in message.content] == [
            "redacted_thinking",
            "server_tool_use",
            "text",
        ]
        assert message.content[0].data == "c2VhbGVk"
        assert message.content[1].input == {"query": "q"}


def test_encrypted_reasoning_is_there_when_the_request_asks_for_it():
    thought = Answer(reasoning="Hm.", text="3 degrees.")
    with LoopbackServer(thought) as server, openai_client(server, "openai-responses") as client:
        plain = client.responses.create(model="m", input=ASK)
        sealed = client.responses.create(
            model="m", input=ASK, store=False, include=["reasoning.encrypted_content"]
        )

    assert plain.output[0].encrypted_content is None
    assert sealed.output[0].encrypted_content


def test_a_gemini_stream_without_sse_is_a_list():
    with LoopbackServer("Hi") as server, gemini_client(server) as gemini:
        found = gemini._api_client.request(
            "post",
            "models/gemini-3:streamGenerateContent",
            {"contents": [{"role": "user", "parts": [{"text": ASK}]}]},
        )

    chunks = json.loads(found.body)
    parts = [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks]
    assert parts == ["H", "i"]


def test_the_sdks_read_a_failed_response_and_a_blocked_prompt():
    with (
        LoopbackServer([Answer(finish="failed")] * 2) as server,
        openai_client(server, "openai-responses") as client,
    ):
        failed = checked(client.responses.create(model="m", input=ASK))
        events = list(client.responses.create(model="m", input=ASK, stream=True))
    with LoopbackServer(Answer(finish="blocked")) as server, gemini_client(server) as gemini:
        blocked = gemini.models.generate_content(model="gemini-3", contents=ASK)
        (piece,) = gemini.models.generate_content_stream(model="gemini-3", contents=ASK)

    assert (failed.status, failed.error.code) == ("failed", "server_error")
    assert checked(events[-1]).type == "response.failed"
    for each in (blocked, piece):
        assert each.candidates is None
        assert each.prompt_feedback.block_reason.value == "PROHIBITED_CONTENT"
