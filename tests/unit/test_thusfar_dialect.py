"""The thusfar dialect: our own messages lift to themselves, and nothing else is taken for one."""

import json

import pytest

from thusfar.codec import encode_message
from thusfar.dialects import DialectMismatch
from thusfar.dialects.thusfar_json import THUSFAR_JSON
from thusfar.facts import ASSISTANT, Facts, Link, content_of, facts_of
from thusfar.messages import Image, Message, Native, Reasoning, Text, ToolCall, ToolResult

CALL = Message("assistant", (Reasoning("why"), ToolCall("c1", "weather", '{"city": "Oslo"}')))
RESULT = Message(
    "tool", (ToolResult("c1", "weather", (Text("3 C"), Image(url="https://a.test/i"))),)
)
EVERY_KIND = (
    Message("system", "Be brief."),
    Message("user", "Weather?", id="u1", name="Ada", metadata={"pinned": True}),
    CALL,
    RESULT,
    Message("assistant", (Native("anthropic", "server_tool_use", '{"type":"server_tool_use"}'),)),
    Message("assistant"),
)


@pytest.mark.parametrize("message", EVERY_KIND)
def test_a_message_lifts_to_itself_and_lowers_to_itself(message):
    lifted = THUSFAR_JSON.lift(message)

    assert lifted is message
    assert THUSFAR_JSON.lower(lifted) == (message,)


@pytest.mark.parametrize("message", EVERY_KIND)
def test_the_json_form_lifts_to_the_message_it_was_made_from(message):
    stored = json.loads(encode_message(message))

    assert THUSFAR_JSON.lift(stored) == message
    assert THUSFAR_JSON.describe(stored) == facts_of(message)
    assert THUSFAR_JSON.content(stored) == content_of(message)


def test_facts_name_the_calls_and_the_results():
    assert THUSFAR_JSON.describe(CALL) == Facts("assistant", calls=(Link("c1", "weather"),))
    assert THUSFAR_JSON.describe(RESULT) == Facts("tool", results=(Link("c1", "weather"),))


def test_a_message_whose_parts_were_left_out_is_empty():
    assert THUSFAR_JSON.describe({"role": "assistant"}) == ASSISTANT


@pytest.mark.parametrize(
    "foreign",
    [
        {"role": "user", "parts": [{"text": "A Gemini part has no type."}]},
        {"role": "model", "parts": [{"type": "text", "text": "No such role."}]},
        {"role": "user", "content": "An OpenAI message has content."},
        {"role": "user", "parts": "Only a list is stored."},
        {"role": "user", "parts": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "user", "parts": [{"type": "text", "text": 1}]},
        {"role": "user", "parts": [{"type": "text", "text": "x", "extra": 1}]},
        {"role": "user", "parts": [], "extra": 1},
        {"kind": "request", "parts": []},
        {"parts": []},
        {},
        "text",
        None,
        7,
        [],
    ],
)
def test_anything_else_is_refused(foreign):
    with pytest.raises(DialectMismatch):
        THUSFAR_JSON.describe(foreign)
    with pytest.raises(DialectMismatch):
        THUSFAR_JSON.lift(foreign)
