"""Every recorded request, reply and session log loads in its dialect."""

import json
import re

from readers import SESSIONS, transcripts
from shared_data import SHARED, needs_shared
from thusfar import sources
from thusfar.codec import canonical_json
from thusfar.dialects import detect, dialect
from thusfar.facts import content_of, facts_of

pytestmark = needs_shared

WIRES = {
    "chat/completions": "openai-chat",
    "v1/messages": "anthropic",
    "enerateContent": "gemini",
    "converse": "bedrock-converse",
    "responses": "openai-responses",
}
LOG_DIALECTS = {
    "claude-code-log": "anthropic",
    "entire-sessions/claude-code": "anthropic",
    "entire-sessions/gemini-cli": "gemini",
    "pi-mono": "thusfar",
}
FORKED = "8e_0a64736bc7_0.jsonl"


def files(folder, pattern):
    found = sorted((SHARED / "data" / folder).glob(pattern))
    assert found, f"nothing was read from {folder}"
    return found


def cassettes():
    return files("pydantic-ai", "*/*.json")


def logs():
    return [(folder, path) for folder, pattern in SESSIONS for path in files(folder, pattern)]


def wire_of(address):
    return next((name for part, name in WIRES.items() if part in address), None)


def described(name, messages):
    return [dialect(name).describe(message) for message in messages]


def names(name, messages):
    return [[each.role, *(link.name for link in each.calls)] for each in described(name, messages)]


def test_every_request_and_reply_loads_in_the_dialect_of_its_address():
    requests = replies = 0
    for path in cassettes():
        recorded = json.loads(path.read_bytes())["interactions"]
        loaded = sources.interactions(path.read_bytes())
        assert len(loaded) == len(recorded)
        for entry, each in zip(recorded, loaded, strict=True):
            body = entry["request"]["body"]
            asked = (body or {}) and (
                body.get("messages") or body.get("contents") or body.get("input")
            )
            assert bool(each.facts["request_messages"]) == bool(asked), path.name
            if each.messages:
                assert each.dialect == wire_of(entry["request"]["uri"]), path.name
            requests += bool(asked)
            replies += len(each.messages) > each.facts["request_messages"]
    assert (requests, replies) == (165, 161)


def test_the_only_requests_without_a_reply_failed_counted_or_wait():
    silent = []
    for path in cassettes():
        recorded = json.loads(path.read_bytes())["interactions"]
        for entry, each in zip(recorded, sources.interactions(path.read_bytes()), strict=True):
            if each.messages and len(each.messages) == each.facts["request_messages"]:
                response = entry["response"]
                counted = "input_tokens" in response["body"]
                waiting = response["body"].get("status") == "queued"
                silent.append((response["status"], counted, waiting, _is_empty(response["body"])))
    assert silent
    assert all(status >= 400 or any(reasons) for status, *reasons in silent)


def _is_empty(body):
    candidates = body.get("candidates") or [{}]
    return not (candidates[0].get("content") or {}).get("parts")


def test_every_request_and_every_response_body_loads_on_its_own():
    tried = 0
    for path in cassettes():
        for entry in json.loads(path.read_bytes())["interactions"]:
            wire = wire_of(entry["request"]["uri"])
            body, reply = entry["request"]["body"], entry["response"]["body"]
            if wire is None or entry["response"]["status"] >= 400 or not body or not reply:
                continue
            if not isinstance(body.get("messages", body.get("contents", body.get("input"))), list):
                continue
            if "input_tokens" in reply or "conversations" in entry["request"]["uri"]:
                continue
            facts = described(wire, sources.load(body, dialect=wire).messages)
            bare = sources.load(json.dumps(body))
            assert described(bare.dialect, bare.messages) == facts, path.name
            text = reply if isinstance(reply, str) else json.dumps(reply)
            assert sources.load(text).dialect == wire, path.name
            tried += 1
    assert tried >= 130


def test_the_transcript_of_a_cassette_ends_with_its_last_reply():
    for path in cassettes():
        whole = sources.load(path.read_bytes())
        assert whole.kind == "cassette"
        assert len(whole.messages) >= whole.facts["request_messages"] > 0, path.name


def test_a_streamed_reply_folds_into_what_the_next_request_sends_back():
    compared = 0
    for path in cassettes():
        recorded = json.loads(path.read_bytes())["interactions"]
        loaded = sources.interactions(path.read_bytes())
        for now, entry, later in zip(loaded, recorded, loaded[1:], strict=False):
            if not isinstance(entry["response"]["body"], str) or not now.messages:
                continue
            start = now.facts["request_messages"]
            sent = later.messages[start : len(now.messages)]
            # The client that was recorded gives ids of its own to calls without one.
            assert names(now.dialect, now.messages[start:]) == names(now.dialect, sent), path.name
            compared += 1
    assert compared >= 2


def test_every_session_log_loads_in_its_dialect():
    tried = 0
    for folder, path in logs():
        loaded = sources.load(path.read_bytes())
        assert loaded.dialect == LOG_DIALECTS[folder], path.name
        assert len(described(loaded.dialect, loaded.messages)) == loaded.facts["messages"]
        tried += 1
    assert tried == 68


def test_a_log_without_branches_keeps_everything_that_was_said():
    for path in files("entire-sessions/claude-code", "*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        said = [
            r["message"]
            for r in records
            if r["type"] in ("user", "assistant") and not r.get("isMeta")
        ]
        assert list(sources.load(path.read_bytes()).messages) == said, path.name


def test_a_log_with_forks_answers_every_call_once():
    loaded = sources.load((SHARED / "data/entire-sessions/claude-code" / FORKED).read_bytes())
    facts = described("anthropic", loaded.messages)

    calls = [link.id for each in facts for link in each.calls]
    results = [link.id for each in facts for link in each.results]

    assert len(calls) == 31
    assert sorted(calls) == sorted(results)


def test_broken_lines_of_a_log_are_counted_and_the_rest_is_read():
    loaded = sources.load((SHARED / "data/claude-code-log/edge_cases.jsonl").read_bytes())

    assert (loaded.facts["messages"], loaded.facts["unreadable"]) == (11, 7)


def test_a_pi_session_is_not_repaired():
    loaded = sources.load((SHARED / "data/pi-mono/large-session.jsonl").read_bytes())
    facts = described("thusfar", loaded.messages)

    calls = sum(len(each.calls) for each in facts)
    results = sum(len(each.results) for each in facts)

    assert (len(loaded.messages), calls, results) == (914, 391, 373)
    assert (loaded.facts["aborted"], loaded.facts["failed"]) == (21, 1)


def test_a_gemini_session_answers_its_calls_and_leaves_notices_out():
    (path,) = files("entire-sessions/gemini-cli", "*.json")

    loaded = sources.load(path.read_bytes())

    assert (loaded.facts["messages"], loaded.facts["other"]) == (11, 1)
    facts = described("gemini", loaded.messages)
    assert [link.id for each in facts for link in each.calls] == [
        link.id for each in facts for link in each.results
    ]


def test_every_transcript_describes_lifts_and_lowers_in_the_dialect_it_says():
    tried = 0
    for transcript in transcripts():
        wire = dialect(transcript.dialect)
        for message in transcript.messages:
            lifted = wire.lift(message)
            assert wire.describe(message) == facts_of(lifted), transcript.name
            assert wire.content(message) == content_of(lifted), transcript.name
            (lowered,) = wire.lower(lifted)
            if lowered is not message:
                assert canonical_json(lowered) == canonical_json(message), transcript.name
        tried += 1
    assert tried >= 850


def test_detection_finds_the_dialect_or_one_with_the_same_facts():
    for transcript in transcripts():
        found = detect(transcript.messages)
        assert described(found.name, transcript.messages) == described(
            transcript.dialect, transcript.messages
        ), transcript.name


def test_names_of_transcripts_are_unique():
    names = [transcript.name for transcript in transcripts()]

    assert len(set(names)) == len(names)
    assert {re.split(r"[/#]", name)[0] for name in names} >= {"tau-bench", "toolbench", "pi-mono"}
