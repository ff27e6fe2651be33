"""Findings: what makes a transcript illegal, where, and what to do; nothing in a legal one."""

import pytest

from thusfar.cli.findings import find, rules_of
from thusfar.cli.fixes import FIXES, UNKNOWN_RULE, fix_for
from thusfar.cli.lint import places
from thusfar.demo import transcript
from thusfar.dialects import DIALECTS, dialect
from thusfar.dialects.rules import Wire

ASK = {"role": "user", "content": "Weather in Oslo?"}
ANSWER = {"role": "assistant", "content": "3 C"}


def call(*names):
    function = {"name": "weather", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name):
    return {"role": "tool", "tool_call_id": name, "content": "3 C"}


def checked(messages, name="openai-chat", **known):
    return find(messages, dialect(name), Wire(messages=messages, **known))


def told(complaints):
    return [(complaint.code, complaint.name, complaint.positions) for complaint in complaints]


def test_a_legal_transcript_has_no_findings_and_no_notes():
    found = checked([ASK, call("c1", "c2"), result("c1"), result("c2"), ANSWER])

    assert found.findings == ()
    assert found.notes == ()
    assert found.rules == 8


def test_a_call_without_its_result_is_found_by_pairing_and_by_the_wire():
    found = checked([ASK, call("c1"), ASK, call("c2"), result("c2"), ANSWER, call("c3"), ASK])

    assert told(found.findings) == [
        ("INVALID_HISTORY_TRANSCRIPT", "unanswered-call", (1, 6)),
        ("WIRE_RULE_BROKEN", "openai-chat/calls-answered", (1, 6)),
    ]


def test_a_result_without_its_call_is_found():
    found = checked([ASK, result("c1"), ANSWER, call("c2"), result("c2"), result("c2")])

    assert told(found.findings)[0] == ("INVALID_HISTORY_TRANSCRIPT", "orphan-result", (1, 5))


def test_calls_that_wait_at_the_end_are_a_note():
    found = checked([ASK, call("c1", "c2"), result("c1")])

    assert found.findings == ()
    assert told(found.notes) == [("HISTORY_OPEN_CALLS", "pending-call", (1,))]


def test_another_fault_of_a_message_that_waits_is_still_found():
    empty = call("c1")
    empty["tool_calls"][0]["function"] = {"name": "", "arguments": "{}"}

    assert told(checked([ASK, empty]).findings) == [
        ("WIRE_RULE_BROKEN", "openai-chat/call-name", (1,))
    ]


def test_findings_come_by_position_with_their_source():
    first = {"role": "assistant", "content": "Hello."}
    found = checked([first, {"role": "user", "content": " "}, first], "anthropic")

    assert told(found.findings) == [
        ("WIRE_RULE_BROKEN", "anthropic/first-user", (0,)),
        ("WIRE_RULE_BROKEN", "anthropic/text-blank", (1,)),
    ]
    assert all(each.source for each in found.findings)


def test_a_leading_system_run_does_not_shift_positions():
    system = {"role": "system", "content": "Be brief."}

    assert checked([system, system, ASK, call("c1"), ASK]).findings[0].positions == (3,)


def test_rules_about_tools_apply_where_tools_are_known():
    talk = [
        {"role": "user", "content": [{"text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "t1", "name": "w", "input": {}}}],
        },
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": []}}]},
    ]

    assert checked(talk, "bedrock-converse").findings == ()
    assert told(checked(talk, "bedrock-converse", tools=()).findings) == [
        ("WIRE_RULE_BROKEN", "bedrock-converse/tools-given", (1,))
    ]


def test_a_form_that_is_never_sent_has_pairing_alone():
    messages = [
        {"role": "user", "parts": [{"type": "text", "text": "Hi"}]},
        {"role": "tool", "parts": [{"type": "tool_result", "call_id": "c1"}]},
    ]
    found = checked(messages, "thusfar")

    assert found.rules == 0
    assert told(found.findings) == [("INVALID_HISTORY_TRANSCRIPT", "orphan-result", (1,))]


def test_nothing_of_the_transcript_is_quoted():
    secret = [{"role": "user", "content": "tell"}, result("hunter2"), call("hunter3"), ASK]

    assert "hunter" not in repr(checked(secret))


def test_a_dialect_of_the_application_has_no_rules_unless_its_module_has():
    class Morse:
        name = "morse"

    assert rules_of(Morse()) == ()


def test_the_demo_is_legal():
    assert checked(transcript()).findings == ()


def test_every_rule_has_a_fix_and_every_fix_a_rule():
    rules = [rule.name for name in DIALECTS for rule in rules_of(dialect(name))]

    assert len(rules) >= 50
    assert {name.partition("/")[2] for name in rules} == set(FIXES)
    assert fix_for("morse/dots") == UNKNOWN_RULE


@pytest.mark.parametrize(
    ("positions", "text"),
    [
        ((3,), "3"),
        ((3, 4, 5, 9), "3–5, 9"),
        (tuple(range(0, 60, 2)), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 18 more"),
    ],
)
def test_positions_are_shown_as_ranges(positions, text):
    assert places(positions) == text
