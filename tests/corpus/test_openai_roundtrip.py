"""Every recorded OpenAI message: the laws of both dialects, and that accepted requests are clean.

Provider traffic is read here as it was recorded, requests and replies apart; the other data sets
come through `readers`, which brings them into the openai-chat format.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import readers
from shared_data import SHARED, needs_shared
from thusfar.codec import canonical_json, decode_message, encode_message
from thusfar.dialects.base import Dialect
from thusfar.dialects.openai_chat import OPENAI_CHAT
from thusfar.dialects.openai_chat import RULES as CHAT_RULES
from thusfar.dialects.openai_responses import NATIVE_KINDS, OPENAI_RESPONSES
from thusfar.dialects.openai_responses import RULES as RESPONSES_RULES
from thusfar.dialects.rules import Wire, check_wire
from thusfar.facts import content_of, facts_of
from thusfar.messages import Native

pytestmark = needs_shared

DATA_SETS = (
    readers.tau_bench,
    readers.tau2_bench,
    readers.swe_agent,
    readers.mini_swe_agent,
    readers.inspect_ai,
    readers.tooltalk,
    readers.toolbench,
    readers.star,
    readers.abcd,
)


class Exchange(NamedTuple):
    """One recorded request with its reply."""

    name: str
    status: int
    request: dict[str, Any]
    reply: dict[str, Any]


def exchanges(path: str) -> Iterator[Exchange]:
    """Yield every recorded exchange whose address ends in that path."""
    assert SHARED is not None
    for file in sorted((SHARED / "data" / "pydantic-ai").rglob("*.json")):
        for number, each in enumerate(json.loads(file.read_bytes())["interactions"]):
            request, reply = each["request"], each["response"]
            if request["uri"].endswith(path) and isinstance(request["body"], dict):
                body = reply["body"] if isinstance(reply["body"], dict) else {}
                yield Exchange(f"{file.name}#{number}", reply["status"], request["body"], body)


def check_laws(dialect: Dialect, message: Any, name: str) -> None:
    lifted = dialect.lift(message)
    assert dialect.describe(message) == facts_of(lifted), name
    assert dialect.content(message) == content_of(lifted), name
    (lowered,) = dialect.lower(decode_message(encode_message(lifted)))
    assert canonical_json(lowered) == canonical_json(message), name


def test_every_recorded_chat_message_keeps_the_laws():
    tried = Counter[str]()
    for each in exchanges("/chat/completions"):
        replies = [choice["message"] for choice in each.reply.get("choices", ())]
        for message in (*each.request["messages"], *replies):
            check_laws(OPENAI_CHAT, message, each.name)
            tried[message["role"]] += 1

    assert tried.keys() == {"system", "user", "assistant", "tool"}
    assert min(tried.values()) >= 5
    assert sum(tried.values()) >= 100


def test_every_recorded_responses_item_keeps_the_laws():
    tried = Counter[str]()
    natives = set[str]()
    for each in exchanges("/responses"):
        for item in (*each.request["input"], *each.reply.get("output", ())):
            check_laws(OPENAI_RESPONSES, item, each.name)
            tried[item.get("type", "message")] += 1
            parts = OPENAI_RESPONSES.lift(item).parts
            natives |= {part.kind for part in parts if isinstance(part, Native)}

    assert len(tried) >= 9
    assert sum(tried.values()) >= 200
    assert natives
    assert natives <= NATIVE_KINDS.keys()


@pytest.mark.parametrize("read", DATA_SETS, ids=lambda read: read.__name__)
def test_every_message_of_a_data_set_keeps_the_laws(read):
    assert SHARED is not None
    tried = 0
    for transcript in read(SHARED / "data"):
        for message in transcript.messages:
            check_laws(OPENAI_CHAT, message, transcript.name)
            tried += 1

    assert tried


def test_no_request_that_was_accepted_breaks_a_chat_rule():
    accepted = [each for each in exchanges("/chat/completions") if each.status == 200]

    assert len(accepted) >= 25
    for each in accepted:
        assert check_wire(CHAT_RULES, Wire(messages=each.request["messages"])) == (), each.name


def test_no_request_that_was_accepted_breaks_a_responses_rule():
    accepted = [each for each in exchanges("/responses") if each.status == 200]
    held = 0

    assert len(accepted) >= 40
    for each in accepted:
        body = each.request
        continued = bool(body.get("previous_response_id") or body.get("conversation"))
        held += continued
        wire = Wire(messages=body["input"], continued=continued)
        assert check_wire(RESPONSES_RULES, wire) == (), each.name
    assert held


@pytest.mark.parametrize(
    "read", [readers.tau_bench, readers.swe_agent, readers.toolbench], ids=lambda r: r.__name__
)
def test_transcripts_of_agents_that_ran_break_no_chat_rule_before_their_last_answer(read):
    """They were sent to a provider turn by turn; a run may have ended on open calls."""
    assert SHARED is not None
    tried = 0
    for transcript in read(SHARED / "data"):
        last = max(
            i for i, row in enumerate(transcript.messages) if row["role"] in ("assistant", "user")
        )
        tried += 1
        found = check_wire(CHAT_RULES, Wire(messages=transcript.messages[:last]))
        assert found == (), transcript.name

    assert tried
