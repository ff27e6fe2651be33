"""Lowering: a transcript in the wire format of another provider, and what happens to the rest."""

from __future__ import annotations

import json

import pytest

from thusfar.dialects import dialect
from thusfar.errors import UnsupportedPartError
from thusfar.messages import Image, Message, Native, Reasoning, Text, ToolCall, ToolResult
from thusfar.sources import load
from thusfar.thread.lowering import lower_all

CALL = Message("assistant", (ToolCall("c1", "weather"),))
ANSWER = Message("tool", (ToolResult("c1", parts=(Text("3 C"),)),))
SEALED = Reasoning("Hm.", signature="s", provider="anthropic")


def test_a_result_gets_the_name_of_its_call_where_the_format_needs_one():
    lowered = lower_all([CALL, ANSWER], dialect("gemini"))

    assert lowered.left_out == 0
    assert lowered.messages[1]["parts"] == [
        {"functionResponse": {"id": "c1", "name": "weather", "response": {"output": "3 C"}}}
    ]


def test_a_format_that_needs_no_names_gets_none():
    (_, result) = lower_all([CALL, ANSWER], dialect("openai-chat")).messages

    assert result == {"role": "tool", "content": "3 C", "tool_call_id": "c1"}


def test_what_has_no_form_raises():
    thinking = Message("assistant", (SEALED, Text("3 C.")))

    with pytest.raises(UnsupportedPartError):
        lower_all([thinking], dialect("openai-chat"))


def test_what_has_no_form_is_left_out_where_that_is_allowed_and_counted():
    thinking = Message("assistant", (SEALED, Text("3 C.")))
    nothing_else = Message("assistant", (SEALED,))

    lowered = lower_all([thinking, nothing_else], dialect("openai-chat"), leave_out=True)

    assert lowered.messages == [{"role": "assistant", "content": "3 C."}]
    assert lowered.left_out == 2


def test_inside_a_result_only_what_has_no_form_is_left_out():
    odd = Native("anthropic", "search_result", "{}")
    shown = Message("tool", (ToolResult("c1", parts=(Text("3 C"), odd)),))

    lowered = lower_all([CALL, shown], dialect("openai-chat"), leave_out=True)

    assert lowered.left_out == 1
    assert lowered.messages[1]["tool_call_id"] == "c1"
    assert "3 C" in str(lowered.messages[1]["content"])


def test_a_result_is_never_left_out():
    with pytest.raises(UnsupportedPartError):
        lower_all([ANSWER], dialect("gemini"), leave_out=True)


@pytest.mark.parametrize("name", ["langchain", "pydantic-ai", "thusfar"])
def test_formats_of_objects_come_out_as_json_that_is_read_again(name):
    messages = [Message("user", (Text("Weather in Oslo?"),)), CALL, ANSWER]

    lowered = lower_all(messages, dialect(name)).messages

    loaded = load(json.dumps(lowered), dialect=name)
    assert [dialect(name).lift(each).role for each in loaded.messages] == [
        "user",
        "assistant",
        "tool",
    ]


def test_messages_that_fit_come_out_as_ever():
    messages = [Message("user", (Text("See?"), Image(url="https://example.org/a.png")))]

    for name in ("openai-chat", "anthropic"):
        target = dialect(name)
        assert lower_all(messages, target, leave_out=True).messages == [*target.lower(messages[0])]
