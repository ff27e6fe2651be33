"""Recorded Anthropic, Gemini and Bedrock traffic: exact round trips, and no rule against it."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from shared_data import SHARED, needs_shared
from thusfar.codec import canonical_json
from thusfar.dialects import anthropic, bedrock_converse, gemini
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.rules import Wire, check_wire
from thusfar.facts import content_of, facts_of
from thusfar.messages import Native, ToolResult

pytestmark = needs_shared

WIRES = {
    "anthropic": (anthropic, anthropic.ANTHROPIC),
    "gemini": (gemini, gemini.GEMINI),
    "bedrock-converse": (bedrock_converse, bedrock_converse.BEDROCK_CONVERSE),
}
wires = pytest.mark.parametrize("name", WIRES)


def wire_of(uri):
    if "/v1/messages" in uri:
        return "anthropic"
    if "enerateContent" in uri:
        return "gemini"
    return "bedrock-converse" if uri.endswith("/converse") else None


def interactions(name) -> Iterator[tuple[str, dict, int, object]]:
    """Yield file, request body, status and response body of one wire's recorded calls."""
    for path in sorted((SHARED / "data" / "pydantic-ai").glob("*/*.json")):
        for call in json.loads(path.read_text("utf-8"))["interactions"]:
            if wire_of(call["request"]["uri"]) == name:
                answer = call["response"]
                yield path.name, call["request"]["body"], answer["status"], answer["body"]


def requested(name, body):
    return body["contents" if name == "gemini" else "messages"]


def answered(name, body):
    """List the messages in a response; a streamed one is read event by event."""
    if isinstance(body, str):
        events = [line[6:] for line in body.splitlines() if line.startswith("data: ")]
        return [message for event in events for message in answered(name, json.loads(event))]
    if name == "gemini":
        return [candidate["content"] for candidate in body.get("candidates", [])]
    if name == "bedrock-converse":
        return [body["output"]["message"]] if "output" in body else []
    return [body] if "content" in body else []


def logged():
    """Yield the messages in recorded sessions of a coding agent, with those that are broken."""
    for folder in ("claude-code-log", "entire-sessions/claude-code"):
        for path in sorted((SHARED / "data" / folder).glob("*.jsonl")):
            for line in path.read_text("utf-8").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and entry.get("type") in ("user", "assistant"):
                    yield path.name, entry.get("message")


def check_message(dialect, message, where):
    before = canonical_json(message)
    lifted = dialect.lift(message)
    assert canonical_json(dialect.lower(lifted)[0]) == before, where
    assert dialect.describe(message) == facts_of(lifted), where
    assert dialect.content(message) == content_of(lifted), where
    assert canonical_json(message) == before, where
    return lifted


@wires
def test_each_recorded_message_comes_back_byte_for_byte(name):
    tried = Counter()

    for where, body, _, answer in interactions(name):
        for message in requested(name, body):
            check_message(WIRES[name][1], message, where)
            tried["requested"] += 1
        for message in answered(name, answer):
            check_message(WIRES[name][1], message, where)
            tried["answered"] += 1

    assert tried["requested"] >= 40
    assert tried["answered"] >= 20


@wires
def test_a_request_that_was_accepted_breaks_no_rule(name):
    tried = 0

    for where, body, status, _ in interactions(name):
        tools = body.get("tools") or (body.get("toolConfig") or {}).get("tools") or []
        wire = Wire(messages=requested(name, body), system=body.get("system"), tools=tools)
        if status == 200:
            assert check_wire(WIRES[name][0].RULES, wire) == (), where
            tried += 1

    assert tried >= 20


@wires
def test_what_lifts_to_native_is_listed_with_its_reason(name):
    module, dialect = WIRES[name]
    parts = Counter()

    for _, body, _, answer in interactions(name):
        for message in [*requested(name, body), *answered(name, answer)]:
            for part in dialect.lift(message).parts:
                inner = part.parts if isinstance(part, ToolResult) else (part,)
                natives = [found.kind for found in inner if isinstance(found, Native)]
                assert set(natives) <= set(module.NATIVE_KINDS)
                parts["native"] += len(natives)
                parts["all"] += 1

    assert parts["all"] >= 60
    assert parts["native"] * 4 < parts["all"], "too much has no canonical form"


def test_each_logged_message_comes_back_byte_for_byte_or_is_no_message_of_this_wire():
    tried = Counter()

    for where, message in logged():
        try:
            anthropic.ANTHROPIC.describe(message)
        except DialectMismatch:
            tried["refused"] += 1
            continue
        check_message(anthropic.ANTHROPIC, message, where)
        tried["read"] += 1

    assert tried["read"] >= 300
    assert tried["refused"] <= 3, "only the deliberately broken lines are refused"
