"""Anthropic messages: facts, exact round trips, lowering from other wires, and wire rules."""

import base64

import pytest

from thusfar.codec import canonical_json
from thusfar.dialects.anthropic import ANTHROPIC, NATIVE_KINDS, RULES
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.rules import Wire, check_wire
from thusfar.errors import TranscriptError, UnsupportedPartError
from thusfar.facts import (
    ASSISTANT,
    REASONING,
    SYSTEM,
    USER,
    Content,
    Facts,
    Link,
    content_of,
    facts_of,
)
from thusfar.messages import (
    Audio,
    File,
    Image,
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)

PNG = "iVBORw0KGgo="
TEXT = {"type": "text", "text": "Oslo, please."}
CALL = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"z": 1.0, "a": None}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "3 C"}
THOUGHT = {"type": "thinking", "thinking": "Look it up.", "signature": "c2ln"}
SERVER_CALL = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}}
SERVER_RESULT = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def image(**source):
    return {"type": "image", "source": source}


def document(**source):
    return {"type": "document", "source": source, "title": "Report", "citations": {"enabled": True}}


MESSAGES = {
    "text as a string": {"role": "user", "content": "hi"},
    "an empty string": {"role": "user", "content": ""},
    "one text block": user(TEXT),
    "text with leftovers": user(
        {**TEXT, "cache_control": {"type": "ephemeral"}, "citations": None}
    ),
    "no blocks": assistant(),
    "a system message": {"role": "system", "content": "Be brief."},
    "a system message that changes tools": {
        "role": "system",
        "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "w"}}],
    },
    "a system message without content": {"role": "system", "output_config": {"effort": "low"}},
    "a call": assistant(THOUGHT, TEXT, CALL),
    "a call with its caller": assistant({**CALL, "caller": {"type": "direct"}}),
    "a call without input": assistant({"type": "tool_use", "id": "c1", "name": "now"}),
    "a call whose input is no object": assistant({**CALL, "input": "half of it"}),
    "a result": user(RESULT),
    "a result with text beside it": user(RESULT, TEXT),
    "a failed result": user({**RESULT, "is_error": True}),
    "a result that says it is fine": user({**RESULT, "is_error": False}),
    "a result without content": user({"type": "tool_result", "tool_use_id": "c1"}),
    "a result with null content": user({**RESULT, "content": None}),
    "a result with no blocks": user({**RESULT, "content": []}),
    "a result with one text block": user({**RESULT, "content": [TEXT]}),
    "a result with many blocks": user(
        {
            **RESULT,
            "content": [
                TEXT,
                image(type="base64", media_type="image/png", data=PNG),
                document(type="text", media_type="text/plain", data="Rain."),
                {"type": "tool_reference", "tool_name": "weather"},
                {"type": "search_result", "source": "s", "title": "t", "content": [TEXT]},
            ],
        }
    ),
    "images": user(
        image(type="base64", media_type="image/png", data=PNG),
        image(type="url", url="https://example.org/a.png"),
        image(type="file", file_id="file_1"),
        image(type="base64", media_type="image/png", data=""),
        image(type="unheard", of=1),
    ),
    "documents": user(
        document(type="base64", media_type="application/pdf", data="JVBERg=="),
        document(type="base64", media_type="application/msword", data="AAAA"),
        document(type="url", url="https://example.org/a.pdf"),
        document(type="file", file_id="file_2"),
        document(type="text", media_type="text/plain", data="All of it."),
        document(type="content", content=[TEXT]),
    ),
    "sealed thoughts": assistant({"type": "redacted_thinking", "data": "c2VhbGVk"}),
    "a thought without signature": assistant({"type": "thinking", "thinking": "Hm."}),
    "tools of the provider": assistant(
        SERVER_CALL,
        SERVER_RESULT,
        {"type": "mcp_tool_use", "id": "m1", "name": "n", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [TEXT]},
    ),
    "a compaction": assistant({"type": "compaction", "content": "So far: hello."}, TEXT),
    "an upload": user({"type": "container_upload", "file_id": "file_3"}),
    "a block that is not known yet": assistant({"type": "hologram", "beams": [1, 2.5]}),
    "keys that look like notes": user({**TEXT, "": {"absent": ["text"]}}),
    "an answer as received": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [TEXT, CALL],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    },
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_comes_back_as_it_was_and_is_described_like_its_canonical_form(message):
    before = canonical_json(message)

    lifted = ANTHROPIC.lift(message)

    assert canonical_json(ANTHROPIC.lower(lifted)[0]) == before
    assert ANTHROPIC.describe(message) == facts_of(lifted)
    assert ANTHROPIC.content(message) == content_of(lifted)
    assert canonical_json(message) == before, "the caller's message changed"


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ({"role": "user", "content": "hi"}, USER),
        ({"role": "system", "content": "hi"}, SYSTEM),
        (assistant(TEXT), ASSISTANT),
        (assistant(THOUGHT), REASONING),
        (assistant(THOUGHT, TEXT), ASSISTANT),
        (assistant(CALL), Facts("assistant", calls=(Link("c1", "weather"),))),
        (user(RESULT), Facts("tool", results=(Link("c1"),))),
        (user(RESULT, TEXT), Facts("user", results=(Link("c1"),))),
        (assistant(SERVER_CALL, SERVER_RESULT), ASSISTANT),
    ],
)
def test_facts_tell_input_calls_results_and_reasoning_apart(message, facts):
    assert ANTHROPIC.describe(message) == facts


def test_a_plain_text_message_needs_no_wire_notes():
    assert ANTHROPIC.lift({"role": "user", "content": "hi"}) == Message("user", (Text("hi"),))


def test_unknown_keys_stay_readable_in_the_wire_text():
    block = {**TEXT, "cache_control": {"type": "ephemeral"}}

    part = ANTHROPIC.lift(user(block)).parts[0]

    assert part.wire == '{"anthropic":{"cache_control":{"type":"ephemeral"}}}'


def test_the_input_of_a_call_keeps_its_key_order_and_its_numbers():
    part = ANTHROPIC.lift(assistant(CALL)).parts[0]

    assert part == ToolCall("c1", "weather", '{"z":1.0,"a":null}')


def test_text_is_counted_and_signatures_and_base64_are_not():
    message = user(
        {**RESULT, "content": [TEXT, image(type="base64", media_type="image/png", data=PNG)]},
        document(type="text", media_type="text/plain", data="Rain."),
        document(type="base64", media_type="application/pdf", data="JVBERg=="),
    )

    assert ANTHROPIC.content(message) == Content(("Oslo, please.", "Rain."), ("image", "file"))
    assert ANTHROPIC.content(assistant(THOUGHT, CALL)) == Content(
        ("Look it up.", "weather", '{"z":1.0,"a":null}')
    )


def test_sealed_content_of_native_blocks_is_not_counted():
    page = {"type": "web_search_result", "title": "Rain", "encrypted_content": "A" * 4000}
    message = assistant({**SERVER_RESULT, "content": [page]})

    (counted,) = ANTHROPIC.content(message).texts

    assert "Rain" in counted
    assert len(counted) < 200


class Sdk:
    """Stands for an object of the provider's SDK."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, *, mode, by_alias, exclude_unset):
        assert (mode, by_alias, exclude_unset) == ("json", True, True)
        return self.fields


def test_sdk_objects_are_read_as_messages_and_as_blocks():
    blocks = [Sdk(**TEXT), Sdk(**CALL)]
    appended = {"role": "assistant", "content": blocks}

    assert ANTHROPIC.lift(appended) == ANTHROPIC.lift(assistant(TEXT, CALL))
    assert ANTHROPIC.describe(Sdk(**assistant(CALL))) == ANTHROPIC.describe(assistant(CALL))


@pytest.mark.parametrize(
    "foreign",
    [
        {"role": "assistant", "content": "x", "tool_calls": []},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": "3 C", "tool_call_id": "c1"},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
        {"type": "human", "role": "user", "content": "hi"},
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "user", "content": ["hi"]},
        {"role": "user", "content": [{"type": "text", "text": 5}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": None}]},
        {"role": "user", "content": [{**RESULT, "content": [{"type": "input_text"}]}]},
        {"role": "user", "content": [{**RESULT, "content": 5}]},
        {"role": ["user"], "content": "hi"},
        {"role": "user"},
        "hi",
        None,
        7,
    ],
)
def test_messages_of_other_wires_are_refused(foreign):
    for read in (ANTHROPIC.describe, ANTHROPIC.content, ANTHROPIC.lift):
        with pytest.raises(DialectMismatch):
            read(foreign)


def test_values_that_are_not_json_are_refused_with_their_place():
    with pytest.raises(TranscriptError) as caught:
        ANTHROPIC.lift(assistant({**CALL, "input": {"x": b"raw"}}))

    assert caught.value.facts["path"] == "$.x"


def test_parts_of_other_wires_are_lowered_where_they_have_a_form():
    message = Message(
        "user",
        (
            Text("Look:", wire='{"openai-chat":{"odd":1}}'),
            Image(mime="image/png", data=PNG),
            File(mime="application/pdf", data="JVBERg=="),
            File(mime="text/csv", data=base64.b64encode(b"a,b").decode()),
            Image(file_id="file_1"),
        ),
    )

    assert ANTHROPIC.lower(message) == (
        user(
            {"type": "text", "text": "Look:"},
            image(type="base64", media_type="image/png", data=PNG),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            },
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "a,b"},
            },
            image(type="file", file_id="file_1"),
        ),
    )


def test_results_of_other_wires_become_a_user_message():
    message = Message("tool", (ToolResult("c1", "weather", (Text("3 C"),), is_error=True),))

    assert ANTHROPIC.lower(message) == (user({**RESULT, "is_error": True}),)


@pytest.mark.parametrize(
    ("part", "named"),
    [
        (Audio(mime="audio/wav", data="AAAA"), "audio"),
        (File(mime="application/zip", data="AAAA"), "file"),
        (File(mime="text/plain", data="not base64!"), "file"),
        (File(), "file"),
        (Image(data=PNG), "image"),
        (ToolCall(None, "weather"), "tool_call"),
        (ToolCall("c1", "weather", "[1]"), "tool_call"),
        (ToolCall("c1", "weather", "{broken"), "tool_call"),
        (ToolResult(None, "weather"), "tool_result"),
        (Reasoning("Hm."), "reasoning"),
        (Reasoning("Hm.", signature="s", provider="gemini"), "reasoning"),
        (Native("gemini", "executableCode", "{}"), "native"),
        (Native("anthropic", "hologram", "[]"), "native"),
    ],
)
def test_a_part_without_a_form_here_is_refused_and_never_dropped(part, named):
    with pytest.raises(UnsupportedPartError) as caught:
        ANTHROPIC.lower(Message("assistant", (part,)))

    assert caught.value.facts == {"part": named, "dialect": "anthropic"}


def test_the_name_of_a_speaker_is_refused_and_never_dropped():
    with pytest.raises(UnsupportedPartError):
        ANTHROPIC.lower(Message("user", (Text("hi"),), name="ada"))


@pytest.mark.parametrize("wire", ["{", "[]", '{"anthropic":1}', '{"anthropic":{"":[]}}'])
def test_notes_that_lifting_did_not_make_are_refused(wire):
    with pytest.raises(TranscriptError):
        ANTHROPIC.lower(Message("user", (Text("hi", wire=wire),)))
    with pytest.raises(TranscriptError):
        ANTHROPIC.lower(Message("user", (Text("hi"),), wire=wire))


def test_each_native_kind_has_its_reason():
    assert all(reason and not reason.endswith(".") for reason in NATIVE_KINDS.values())


def found(messages, **rest):
    wire = Wire(messages=messages, **rest)
    return [(finding.rule, finding.position) for finding in check_wire(RULES, wire)]


ASK = {"role": "user", "content": "Weather?"}
ANSWER = {"role": "assistant", "content": "Cold."}


def test_a_usual_conversation_breaks_no_rule():
    messages = [
        ASK,
        assistant(THOUGHT, CALL, {**CALL, "id": "c2"}),
        user(RESULT, {**RESULT, "tool_use_id": "c2"}, TEXT),
        {"role": "system", "content": "Be brief."},
        ANSWER,
        ASK,
        ASK,
    ]

    assert found(messages) == []


@pytest.mark.parametrize(
    ("messages", "findings"),
    [
        ([], [("anthropic/messages", 0)]),
        ([ANSWER, ASK], [("anthropic/first-user", 0)]),
        ([assistant({"type": "compaction", "content": "So far."}), ASK], []),
        ([{"role": "system", "content": "x"}, ASK], [("anthropic/system-place", 0)]),
        ([ASK, {"role": "system", "content": "x"}, ASK], [("anthropic/system-place", 1)]),
        ([user(CALL)], [("anthropic/call-role", 0)]),
        ([ASK, assistant(CALL), ASK], [("anthropic/call-answered", 1)]),
        ([ASK, assistant(CALL)], [("anthropic/call-answered", 1)]),
        ([ASK, assistant(CALL), user(RESULT), user(TEXT)], []),
        ([ASK, user(RESULT)], [("anthropic/result-call", 1)]),
        ([ASK, assistant(CALL), user(RESULT, RESULT)], [("anthropic/result-once", 2)]),
        ([ASK, assistant(CALL), user(TEXT, RESULT)], [("anthropic/results-first", 2)]),
        (
            [ASK, assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)],
            [("anthropic/id-unique", 3)],
        ),
        (
            [ASK, assistant({**CALL, "id": "a.b"}), user({**RESULT, "tool_use_id": "a.b"})],
            [("anthropic/id-form", 1), ("anthropic/id-form", 2)],
        ),
        ([user({"type": "text", "text": ""}, TEXT)], [("anthropic/text-empty", 0)]),
        ([{"role": "user", "content": " \n"}], [("anthropic/text-blank", 0)]),
        ([user({"type": "text", "text": " "}, TEXT)], []),
        ([{"role": "user", "content": ""}], [("anthropic/content-empty", 0)]),
        ([ASK, assistant(), ASK], [("anthropic/content-empty", 1)]),
        ([ASK, assistant()], []),
        ([ASK, {"role": "assistant", "content": "It is "}], [("anthropic/trailing-space", 1)]),
    ],
)
def test_each_refusal_is_found_where_it_is(messages, findings):
    assert found(messages) == findings


def test_a_fifth_cache_breakpoint_is_found_also_inside_a_result():
    marked = {**TEXT, "cache_control": {"type": "ephemeral"}}
    messages = [user(marked), assistant(CALL), user({**RESULT, "content": [marked]})]

    assert found(messages, system=[marked], tools=[marked]) == []
    assert found(messages, system=[marked, marked], tools=[marked]) == [
        ("anthropic/cache-breakpoints", 2)
    ]


def test_each_rule_says_what_must_hold_and_where_that_is_known_from():
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.name.startswith("anthropic/")
        assert rule.statement.endswith(".")
        assert "https://" in rule.source
        assert "2026-11-30" in rule.source
