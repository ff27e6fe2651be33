"""A second opinion: llmock, an independent stand-in for providers, agrees where it has a view.

It checks the fields of a request and their types, and nothing of how messages belong together. Its
answers are compared in shape, since what it says is its own.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

import pytest
from llmock.testing import LLMockServer

from shared_data import needs_shared
from thusfar import ToolCall
from thusfar.dialects.rules import Wire
from thusfar.testing.loopback import WIRES, Answer, LoopbackServer
from wire.recorded import FIELDS, Exchange, exchanges, fields
from wire.rule_breakers import BREAKERS
from wire.sdks import anthropic_client, gemini_client, openai_client

wires = pytest.mark.parametrize("wire", WIRES)

PATHS = {
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
}
BESIDE = {
    "openai-chat": {"model": "gpt-4o"},
    "openai-responses": {"model": "gpt-4o"},
    "anthropic": {"model": "claude-sonnet-4-6", "max_tokens": 99},
    "gemini": {},
}
_TOOL = {"name": "weather", "description": "Tell the weather."}
_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: dict[str, Any] = {
    "openai-chat": [{"type": "function", "function": {**_TOOL, "parameters": _SCHEMA}}],
    "openai-responses": [{"type": "function", **_TOOL, "parameters": _SCHEMA}],
    "anthropic": [{**_TOOL, "input_schema": _SCHEMA}],
    "gemini": [{"functionDeclarations": [{**_TOOL, "parameters": _SCHEMA}]}],
}


class Stranger:
    """llmock with the face that the SDKs of these tests know."""

    def __init__(self, server: LLMockServer) -> None:
        self._server = server

    def base_url(self, wire: str) -> str:
        return self._server.base_url("openai" if wire.startswith("openai") else wire)


@pytest.fixture(scope="module")
def stranger() -> Iterator[Any]:
    with LLMockServer() as server:
        yield Stranger(server)


def post(server: Any, wire: str, body: Any, *, stream: bool = False) -> tuple[int, bytes]:
    """Send one request to either server."""
    address = urlsplit(server.base_url(wire) + PATHS[wire])
    path = address.path
    if stream and wire == "gemini":
        path = path.replace(":generateContent", ":streamGenerateContent") + "?alt=sse"
    elif stream:
        body = {**body, "stream": True}
    connection = http.client.HTTPConnection(str(address.netloc), timeout=30)
    try:
        headers = {"content-type": "application/json", "authorization": "Bearer test"}
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def request_of(wire: str, asked: Wire) -> dict[str, Any]:
    """Make a whole request of messages."""
    system = {"system": asked.system} if asked.system else {}
    return {**BESIDE[wire], FIELDS.get(wire, "messages"): list(asked.messages), **system}


# What llmock 0.2.2 does not know yet, with the page of the provider that has it.
NEWER = {
    "anthropic/system-place": "https://platform.claude.com/docs/en/build-with-claude/"
    "mid-conversation-system-messages",
}
LEGAL = [
    (wire, f"{wire}/{short}", request_of(wire, breaker.wires()[0]))
    for wire in WIRES
    for short, breaker in BREAKERS[wire].items()
]


@pytest.mark.parametrize(("wire", "name", "body"), LEGAL, ids=[name for _, name, _ in LEGAL])
def test_what_our_rules_accept_the_stranger_accepts(stranger, wire, name, body):
    with LoopbackServer() as ours:
        status, said = post(ours, wire, body)
        assert status == 200, said

    theirs, said = post(stranger, wire, body)
    assert theirs == (422 if name in NEWER else 200), said


ASK = {
    "openai-chat": {"role": "user", "content": "Hi"},
    "openai-responses": {"role": "user", "content": "Hi"},
    "anthropic": {"role": "user", "content": "Hi"},
    "gemini": {"role": "user", "parts": [{"text": "Hi"}]},
}


def _refused() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """List requests that the stranger refuses: a required field is gone, or a role unknown."""
    for wire, required in {
        "openai-chat": ("model", "messages"),
        "anthropic": ("model", "messages", "max_tokens"),
        "gemini": ("contents",),
    }.items():
        whole = {**BESIDE[wire], FIELDS.get(wire, "messages"): [ASK[wire]]}
        for field in required:
            yield wire, field, {name: value for name, value in whole.items() if name != field}
    yield "anthropic", "role", {**BESIDE["anthropic"], "messages": [{"role": "x", "content": "y"}]}
    yield "gemini", "parts", {"contents": [{"role": "user"}]}


REFUSED = list(_refused())


@pytest.mark.parametrize(
    ("wire", "what", "body"), REFUSED, ids=[f"{wire}-{what}" for wire, what, _ in REFUSED]
)
def test_what_the_stranger_refuses_we_refuse_in_a_shape_of_the_same_fields(
    stranger, wire, what, body
):
    with LoopbackServer() as ours:
        status, said = post(ours, wire, body)
    theirs, other = post(stranger, wire, body)

    assert (status, theirs) == (400, 422)
    assert set(json.loads(said)["error"]) >= set(json.loads(other)["error"])


def is_newer(each: Exchange) -> bool:
    """Tell whether a recorded request has what llmock 0.2.2 does not know.

    That is a system message among Anthropic's messages, and one tool of Gemini outside a list,
    which protocol buffers read from JSON all the same.
    """
    if each.wire == "gemini":
        return isinstance(each.body.get("tools"), dict)
    roles = [message.get("role") for message in each.body.get("messages", ())]
    return each.wire == "anthropic" and "system" in roles


@needs_shared
@wires
def test_the_stranger_accepts_the_recorded_requests_that_we_accept(stranger, wire):
    tried = 0
    for each in exchanges():
        if each.wire != wire or each.kind != "generate" or each.status != 200:
            continue
        status, said = post(stranger, wire, {**each.body, "stream": False})
        assert status == (422 if is_newer(each) else 200), (each.name, said)
        tried += status == 200

    assert tried >= 20


def texts(server: Any, wire: str) -> tuple[str, str]:
    """Read an answer through the official SDK, whole and streamed, with no further demands."""
    if wire == "gemini":
        with gemini_client(server, "v1beta") as client:  # llmock 0.2.2 knows no other
            ask: dict[str, Any] = {"model": "gemini-2.5-pro", "contents": "Hi"}
            pieces = client.models.generate_content_stream(**ask)
            return client.models.generate_content(**ask).text, "".join(p.text for p in pieces)
    if wire == "anthropic":
        with anthropic_client(server) as client:
            ask = {**BESIDE[wire], "messages": [ASK[wire]]}
            with client.messages.stream(**ask) as events_:
                return client.messages.create(**ask).content[0].text, events_.get_final_text()
    with openai_client(server, wire) as client:
        if wire == "openai-responses":
            with client.responses.stream(model="gpt-4o", input="Hi") as events_:
                streamed = events_.get_final_response().output_text
            return client.responses.create(model="gpt-4o", input="Hi").output_text, streamed
        ask = {**BESIDE[wire], "messages": [ASK[wire]]}
        chunks = client.chat.completions.create(**ask, stream=True)
        streamed = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        return client.chat.completions.create(**ask).choices[0].message.content, streamed


@wires
def test_the_sdks_read_both(stranger, wire):
    whole, streamed = texts(stranger, wire)
    with LoopbackServer("Some words.") as server:
        ours = texts(server, wire)

    assert whole
    assert streamed
    assert ours == ("Some words.", "Some words.")


@wires
def test_every_field_of_the_strangers_answer_is_in_ours(stranger, wire):
    body = {**BESIDE[wire], FIELDS.get(wire, "messages"): [ASK[wire]], "tools": TOOLS[wire]}
    theirs = json.loads(post(stranger, wire, body)[1])
    call = ToolCall("call_1", "weather", '{"city":"Oslo"}')
    with LoopbackServer(Answer(tool_calls=[call])) as server:
        ours = json.loads(post(server, wire, body)[1])

    assert fields(theirs) - fields(ours) == set()


@wires
@pytest.mark.parametrize("calling", [False, True], ids=["text", "calls"])
def test_our_streams_have_the_strangers_events_in_its_order(stranger, wire, calling):
    body = {**BESIDE[wire], FIELDS.get(wire, "messages"): [ASK[wire]]}
    answer = Answer(text="Some words in a row.")
    if calling:
        body["tools"] = TOOLS[wire]
        answer = Answer(tool_calls=[ToolCall("call_1", "weather", '{"city":"Oslo"}')])
    if wire == "openai-chat":
        body["stream_options"] = {"include_usage": True}
    theirs = events(post(stranger, wire, body, stream=True)[1])
    with LoopbackServer(answer) as server:
        ours = events(post(server, wire, body, stream=True)[1])

    assert names(theirs) == names(ours)
    assert fields([data for _, data in theirs]) - fields([data for _, data in ours]) == set()


def names(found: list[tuple[str, Any]]) -> list[str]:
    """Name the events in order, several of one name in a row once."""
    return [name for name, _ in groupby(name for name, _ in found)]


def events(stream: bytes) -> list[tuple[str, Any]]:
    """Read the events of a stream, name and data; pings aside."""
    found: list[tuple[str, Any]] = []
    for block in stream.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in lines and lines.get("event") != "ping":
            done = lines["data"] == "[DONE]"
            data = None if done else json.loads(lines["data"])
            found.append(("[DONE]" if done else lines.get("event", ""), data))
    return found
