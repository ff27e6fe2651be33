"""A transcript in a wire format: legal where it can be, and with its system text where it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from readers import Transcript, transcripts
from shared_data import needs_shared
from thusfar.cli.findings import find
from thusfar.dialects import dialect
from thusfar.dialects.rules import Wire
from thusfar.errors import TranscriptError, UnsupportedPartError
from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.storage import MemoryStore
from thusfar.testing.store_laws.told import assistant, calling, result, sound, user
from thusfar.thread import SyncThread, Thread
from thusfar.thread.exporting import as_request, export_messages
from thusfar.thread.joining import join_steps

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock-converse")
# A step that a log wrote as two messages, with a remark before the second result.
SPLIT = [
    user("u1", "Both?"),
    calling("a1", "c1"),
    calling("a2", "c2"),
    result("t1", "c1", "one"),
    user("u2", "And quickly."),
    result("t2", "c2", "two"),
    assistant("a3", "Both."),
]
SYSTEMS: dict[str, list[Any]] = {
    "anthropic": [
        "Be brief.",
        [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}],
    ],
    "bedrock-converse": [
        [{"text": "Be brief."}],
        [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    ],
    "gemini": [
        {"parts": [{"text": "Be brief."}]},
        {"role": "user", "parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "Be brief.",
        [{"text": "Be brief."}],
    ],
    "openai-responses": ["Be brief.", "\0 \ud800"],
}


def _new() -> SyncThread:
    return Thread("t", store=MemoryStore()).sync


def _request(name: str, system: Any) -> dict[str, Any]:
    if name == "gemini":
        said: Any = [{"role": "user", "parts": [{"text": "Hi"}]}]
        return {"systemInstruction": system, "contents": said}
    if name == "openai-responses":
        return {"instructions": system, "input": [{"role": "user", "content": "Hi"}]}
    content: Any = [{"text": "Hi"}] if name == "bedrock-converse" else "Hi"
    return {"system": system, "messages": [{"role": "user", "content": content}]}


def _complaints(messages: list[Message], name: str) -> list[str]:
    target = dialect(name)
    made = export_messages(messages, target)
    wire = Wire(messages=made.messages, system=made.system)
    return [found.name for found in find(made.messages, target, wire).findings]


@pytest.mark.parametrize("name", WIRES)
def test_one_step_in_several_messages_is_legal_on_every_wire(name: str) -> None:
    assert _complaints(SPLIT, name) == []


def test_results_move_up_to_their_calls_and_nothing_else_moves() -> None:
    joined = join_steps(SPLIT, "openai-chat").messages

    assert [m.role for m in joined] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert [part.id for part in joined[1].parts if isinstance(part, ToolCall)] == ["c1", "c2"]
    assert [m.text for m in joined if m.role != "tool"] == ["Both?", "", "And quickly.", "Both."]
    assert joined[0] is SPLIT[0]
    assert joined[5] is SPLIT[6]


def test_a_wire_that_wants_results_together_gets_one_message_of_them() -> None:
    (_, _, results, *_) = join_steps(SPLIT, "gemini").messages

    assert [part.call_id for part in results.parts if isinstance(part, ToolResult)] == ["c1", "c2"]


def test_what_a_wire_takes_as_it_stands_is_not_touched() -> None:
    lowered = export_messages(SPLIT, dialect("openai-responses")).messages

    assert [each.get("type", each.get("role")) for each in lowered] == [
        *("user", "function_call", "function_call", "function_call_output"),
        *("user", "function_call_output", "assistant"),
    ]


def test_a_transcript_of_the_same_wire_is_written_as_it_came() -> None:
    told = _new()
    calls = [
        {"id": c, "type": "function", "function": {"name": "f", "arguments": "{}"}} for c in "xy"
    ]
    messages = [
        {"role": "assistant", "content": None, "tool_calls": calls[:1]},
        {"role": "assistant", "content": None, "tool_calls": calls[1:]},
        {"role": "tool", "tool_call_id": "x", "content": "1"},
    ]

    told.import_(messages)

    assert json.loads(told.export(format="openai-chat")) == messages


@pytest.mark.parametrize("name", ["openai-responses", "anthropic", "bedrock-converse"])
def test_calls_without_an_id_get_one_and_their_results_the_same(name: str) -> None:
    messages = [
        user("u1"),
        Message("assistant", (ToolCall(None, "f"), ToolCall(None, "f"))),
        Message("tool", (ToolResult(None, "f", (Text("1"),)),)),
        Message("tool", (ToolResult(None, "f", (Text("2"),)),)),
    ]

    joined = join_steps(messages, name).messages
    ids = [getattr(p, "call_id", getattr(p, "id", None)) for m in joined[1:] for p in m.parts]

    assert ids == ["call_1", "call_2", "call_1", "call_2"]
    assert _complaints(messages, name) == []


def test_ids_that_are_used_again_are_told_apart_where_the_wire_needs_it() -> None:
    again = [
        user("u1"),
        calling("a1", "c"),
        result("t1", "c"),
        calling("a2", "c"),
        result("t2", "c"),
    ]

    lowered = export_messages(again, dialect("anthropic")).messages

    assert [b.get("id", b.get("tool_use_id")) for m in lowered[1:] for b in m["content"]] == [
        *("c", "c", "c_2", "c_2"),
    ]
    assert _complaints(again, "openai-chat") == []
    assert join_steps(again, "openai-chat").messages == again


def test_a_call_with_no_form_goes_with_its_result_and_both_are_counted() -> None:
    broken = [
        user("u1"),
        Message("assistant", (Text("Look."), ToolCall("c1", "f", "{oops"))),
        result("t1", "c1"),
        assistant("a2", "Done."),
    ]

    made = export_messages(broken, dialect("gemini"), leave_out=True)

    assert made.left_out == 2
    assert [m["parts"] for m in made.messages[1:]] == [[{"text": "Look."}], [{"text": "Done."}]]
    with pytest.raises(UnsupportedPartError):
        export_messages(broken, dialect("gemini"))


def test_a_system_message_within_the_conversation_is_refused_or_left_out() -> None:
    messages = [user("u1"), Message("system", (Text("Stop."),)), assistant("a1")]

    with pytest.raises(UnsupportedPartError, match="system message"):
        export_messages(messages, dialect("gemini"))
    assert export_messages(messages, dialect("gemini"), leave_out=True).left_out == 1
    assert export_messages(messages, dialect("anthropic")).left_out == 0


@pytest.mark.parametrize(
    ("name", "system"), [(name, value) for name, values in SYSTEMS.items() for value in values]
)
def test_the_system_text_of_a_request_is_a_message_and_goes_back_to_its_place(
    name: str, system: Any
) -> None:
    told = _new()
    request = _request(name, system)

    told.import_(request, dialect=name)

    first, second = told.read().messages
    assert (first.role, second.role) == ("system", "user")
    assert second.text == "Hi"
    assert "system" not in told.info().metadata["imported"]  # type: ignore[operator]
    assert json.loads(told.export(format=name)) == request
    copy = Thread("copy", store=MemoryStore()).sync
    copy.import_(told.export())
    assert json.loads(copy.export(format=name)) == request
    sound(told)


def test_the_system_text_of_one_wire_is_that_of_another() -> None:
    told = _new()
    told.import_(_request("anthropic", SYSTEMS["anthropic"][2]))
    hello = {"role": "user", "content": "Hi"}

    chat = json.loads(told.export(format="openai-chat"))
    assert [each["role"] for each in chat] == ["system", "user"]
    assert json.loads(told.export(format="gemini")) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    }
    assert json.loads(told.export(format="openai-responses"))[1] == hello


def test_an_erased_system_text_is_in_no_export() -> None:
    told = _new()
    told.import_(_request("anthropic", "The password is swordfish."))

    told.redact(told.read().ids[0])

    assert "swordfish" not in told.export()
    assert json.loads(told.export(format="anthropic")) == [{"role": "user", "content": "Hi"}]


def test_a_list_of_chat_messages_with_system_text_is_a_request_elsewhere() -> None:
    told = _new()
    told.import_([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])

    assert json.loads(told.export(format="anthropic")) == {
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Hi"}],
    }
    assert json.loads(told.export(format="bedrock-converse")) == {
        "system": [{"text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
    }


def test_system_text_of_no_known_shape_is_refused() -> None:
    with pytest.raises(TranscriptError, match="system text"):
        _new().import_(
            {"system": 17, "messages": [{"role": "user", "content": "Hi"}]}, dialect="anthropic"
        )


# What a transcript can lack whatever its form: these are said, and nothing is made up for them.
OF_THE_TRANSCRIPT = {
    "orphan-result",
    "unanswered-call",
    "first-user",
    "result-call",
    "result-follows-call",
    "output-follows-call",
    "call-answered",
    "calls-answered",
    "response-count",
    "call-after-user",
    "contents",
    "trailing-space",
    "document-text",
}


@needs_shared
@pytest.mark.parametrize("name", WIRES)
def test_every_recorded_transcript_is_legal_on_every_wire_but_for_its_own_defects(
    name: str,
) -> None:
    target = dialect(name)
    checked, complaints = 0, set()
    for each in transcripts():
        if each.dialect == name:
            continue
        made = export_messages(_lifted(each), target, leave_out=True)
        wire = Wire(messages=made.messages, system=made.system)
        found = find(made.messages, target, wire).findings
        complaints |= {one.name.rpartition("/")[2] for one in found}
        checked += 1
        again = target.lift(made.messages[0]) if made.messages else None
        assert again is None or as_request(made, target)

    assert checked > 100
    assert complaints <= OF_THE_TRANSCRIPT


@needs_shared
def test_every_recorded_transcript_comes_back_as_it_was_in_its_own_wire() -> None:
    checked = 0
    for each in transcripts():
        if each.dialect not in WIRES:
            continue
        source = dialect(each.dialect)
        lifted = _lifted(each)
        made = export_messages(lifted, source, own=True)
        kept = [m for m in lifted if m.role != "system"] if made.system is not None else lifted
        assert made.messages == [wire for m in kept for wire in source.lower(m)]
        assert made.left_out == 0
        checked += 1

    assert checked > 100


def _lifted(each: Transcript) -> list[Message]:
    source = dialect(each.dialect)
    return [source.lift(message) for message in each.messages]
