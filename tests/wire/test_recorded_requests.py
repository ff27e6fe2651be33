"""Recorded provider traffic against the loopback server: what was accepted there is accepted here.

Each recorded request is also lifted and lowered message by message, and must come out as the same
request of the same wire.
"""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from shared_data import SHARED, needs_shared
from thusfar import Reasoning, ToolCall
from thusfar.codec import canonical_json, decode_message, encode_message
from thusfar.dialects import dialect
from thusfar.dialects.rules import check_wire
from thusfar.testing.loopback import WIRES, Answer, LoopbackServer, Usage
from thusfar.testing.loopback.checking import as_wire, messages_of
from thusfar.testing.loopback.received import endpoint
from wire.recorded import FIELDS, exchanges, fields

pytestmark = needs_shared

wires = pytest.mark.parametrize("wire", WIRES)


def test_every_recorded_request_of_a_model_is_for_an_endpoint_of_the_server_or_of_bedrock():
    assert SHARED is not None
    others = Counter[str]()
    for file in sorted((SHARED / "data" / "pydantic-ai").rglob("*.json")):
        for each in json.loads(file.read_bytes())["interactions"]:
            path = urlsplit(each["request"]["uri"]).path
            if endpoint(path) is None:
                others["converse" if path.endswith("/converse") else path] += 1

    unknown = [path for path in others if path != "converse" and "/conversations" not in path]
    assert [path for path in unknown if not path.startswith("/v1/responses/resp_")] == []


@wires
def test_each_request_that_a_provider_accepted_is_accepted(wire):
    accepted = [each for each in exchanges() if each.wire == wire and each.status == 200]
    with LoopbackServer() as server:
        connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=20)
        for each in accepted:
            body = json.dumps(each.body)
            connection.request("POST", f"{each.path}?{each.query}", body)
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status == 200, (each.name, said)
        connection.close()

    least = {"openai-chat": 25, "openai-responses": 40, "anthropic": 30, "gemini": 24}
    assert len(accepted) >= least[wire]
    assert [received.findings for received in server.requests] == [()] * len(accepted)


@wires
def test_each_recorded_request_lifts_and_lowers_again_to_the_same_request(wire):
    tried = Counter[str]()
    format_ = dialect(wire)
    for each in exchanges():
        if each.wire != wire:
            continue
        lowered = []
        for message in messages_of(wire, each.body):
            (back,) = format_.lower(decode_message(encode_message(format_.lift(message))))
            lowered.append(back)
        field = FIELDS.get(wire, "messages")
        again = {**each.body, field: lowered}
        sent = each.body
        if isinstance(sent.get(field), str):
            sent = {**sent, field: [{"role": "user", "content": sent[field]}]}
        assert canonical_json(again) == canonical_json(sent), each.name
        tried[each.kind] += 1
        tried["messages"] += len(lowered)

    assert tried["generate"] >= 20
    assert tried["messages"] >= 50


EVERYTHING = Answer(
    reasoning=Reasoning("They ask.", signature="c2VhbGVk"),
    text="3 degrees.",
    tool_calls=[ToolCall(None, "weather", '{"city":"Oslo"}')],
    usage=Usage(cache_read_tokens=1, reasoning_tokens=1),
)


@wires
def test_every_field_that_most_recorded_replies_have_is_in_ours(wire):
    missed, recorded = Counter[str](), 0
    with LoopbackServer(EVERYTHING) as server:
        connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=20)
        for each in exchanges():
            whole = isinstance(each.reply, dict) and each.status == 200
            if each.wire != wire or each.kind != "generate" or not whole:
                continue
            connection.request("POST", f"{each.path}?{each.query}", json.dumps(each.body))
            ours = json.loads(connection.getresponse().read())
            missed.update(fields(each.reply) - fields(ours))
            recorded += 1
        connection.close()

    assert recorded >= 20
    assert [field for field, times in missed.items() if 2 * times > recorded] == []


def test_each_chat_request_that_an_agent_was_answered_is_accepted():
    """Beside the cassettes, the logs of one evaluation hold requests with their answers."""
    from thusfar.dialects.openai_chat_rules import RULES

    assert SHARED is not None
    tried = 0
    for file in sorted((SHARED / "data" / "inspect-ai").rglob("*.json")):
        for call in calls(json.loads(file.read_bytes())):
            if "choices" not in call["response"]:
                continue
            assert check_wire(RULES, as_wire("openai-chat", call["request"])) == (), file.name
            tried += 1

    assert tried >= 5


def calls(value: Any) -> Iterator[dict[str, Any]]:
    """Find every recorded call: an object with a request and its response."""
    if isinstance(value, dict):
        request, response = value.get("request"), value.get("response")
        if isinstance(request, dict) and isinstance(response, dict) and "messages" in request:
            yield value
        for inner in value.values():
            yield from calls(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from calls(inner)
