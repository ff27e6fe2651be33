"""The demo: its conversation is long, legal and ours; its three steps say what they promise."""

import json

from thusfar.cli import main
from thusfar.demo import LIMIT, RULE_AT, run_steps, transcript
from thusfar.dialects import detect, dialect

OPENAI_CHAT = dialect("openai-chat")


def test_the_conversation_is_long_and_has_parallel_calls():
    messages = transcript()
    calls = [len(message.get("tool_calls", ())) for message in messages]

    assert 120 <= len(messages) <= 200
    assert detect(messages) is OPENAI_CHAT
    assert sum(size > 1 for size in calls) >= 20
    assert max(calls) >= 3
    assert transcript() is not transcript(), "a caller may change its copy"


def test_every_call_has_its_result_and_every_id_is_used_once():
    messages = transcript()
    called = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]

    assert called == answered
    assert len(set(called)) == len(called)


def test_exact_history_is_refused_and_the_two_others_fit():
    exact, recent, digest = run_steps(transcript())

    assert exact.error.code == "REQUEST_TOO_LARGE"
    assert exact.error.facts["max_input_tokens"] == LIMIT
    assert recent.projection.receipt.tokens.tokens <= LIMIT
    assert recent.projection.receipt.omitted == ((1, 133),)
    assert digest.projection.receipt.tokens.tokens <= LIMIT
    assert digest.projection.receipt.summarised == ((1, 133),)


def test_the_rule_of_the_story_is_lost_by_recent_and_mentioned_by_the_digest():
    messages = transcript()
    _, recent, digest = run_steps(messages)

    def told(step):
        return "\n".join(
            text
            for message in step.projection.messages
            for text in OPENAI_CHAT.content(message).texts
        )

    rule = "never write to the tariffs table"
    assert rule in messages[RULE_AT]["content"]
    assert rule not in told(recent)
    assert rule in told(digest)


def test_the_demo_prints_the_refusal_both_receipts_and_what_to_do_next(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)

    status = main(["demo"])

    out = capsys.readouterr().out
    assert status == 0
    assert "1. history.exact()\n  REQUEST_TOO_LARGE: The request needed 10,346 input" in out
    assert "2. history.recent(tokens=3_000)\n  recent history of 192 messages" in out
    assert "\n  managed history of 192 messages" in out
    assert "    1 user: Morning, Runa here." in out
    assert out.partition("\nNext\n")[2].count("  thusfar ") == 3
    assert max(map(len, out.splitlines())) <= 80


def test_the_demo_is_the_same_every_time(capsys):
    main(["demo"])
    first = capsys.readouterr().out
    main(["demo"])

    assert capsys.readouterr().out == first


def test_the_demo_as_json_has_an_error_and_two_receipts(capsys):
    main(["demo", "--json"])
    made = json.loads(capsys.readouterr().out)

    assert (made["messages"], made["limit"]) == (192, LIMIT)
    exact, recent, digest = made["steps"]
    assert exact["error"]["code"] == "REQUEST_TOO_LARGE"
    assert recent["receipt"]["policy"] == "recent"
    assert digest["receipt"]["policy"] == "managed"


def test_the_conversation_itself_can_be_printed(capsys):
    main(["demo", "--transcript"])

    assert json.loads(capsys.readouterr().out) == transcript()
