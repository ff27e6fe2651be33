"""Bedrock Converse messages: facts, exact round trips with bytes, lowering, and wire rules."""

import pytest

from thusfar.codec import canonical_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.bedrock_converse import BEDROCK_CONVERSE, RULES, for_boto3
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

TEXT = {"text": "Oslo, please."}
CALL = {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"z": 1.0, "a": None}}}
RESULT = {"toolResult": {"toolUseId": "c1", "content": [{"text": "3 C"}]}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Look it up.", "signature": "c2ln"}}}
SEALED = {"reasoningContent": {"redactedContent": "c2VhbGVk"}}
POINT = {"cachePoint": {"type": "default"}}
SERVER_CALL = {
    "toolUse": {"toolUseId": "s1", "name": "search", "input": {}, "type": "server_tool_use"}
}
SERVER_RESULT = {"toolResult": {"toolUseId": "s1", "content": [], "type": "search_result"}}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def result(*content, **rest):
    return {"toolResult": {"toolUseId": "c1", "content": list(content), **rest}}


def medium(kind, form, source, **rest):
    return {kind: {"format": form, "source": source, **rest}}


S3 = {"s3Location": {"uri": "s3://bucket/key", "bucketOwner": "123456789012"}}
PDF = medium("document", "pdf", {"bytes": "JVBERg=="}, name="Report", citations={"enabled": True})

MESSAGES = {
    "text": user(TEXT),
    "empty text": user({"text": ""}),
    "no blocks": assistant(),
    "a system message": {"role": "system", "content": [{"toolAddition": {"tool": {"name": "w"}}}]},
    "a call": assistant(THOUGHT, TEXT, CALL),
    "a call with its type": assistant({"toolUse": {**CALL["toolUse"], "type": "tool_use"}}),
    "a call without input": assistant({"toolUse": {"toolUseId": "c1", "name": "now"}}),
    "a call whose input is no object": assistant(
        {"toolUse": {"toolUseId": "c1", "name": "now", "input": "half"}}
    ),
    "a result": user(RESULT),
    "a result with text beside it": user(RESULT, TEXT),
    "a result with its status": user(result({"text": "3 C"}, status="success")),
    "a failed result": user(result({"text": "gone"}, status="error")),
    "a result without content": user(result()),
    "a result with null content": user({"toolResult": {"toolUseId": "c1", "content": None}}),
    "a result of many kinds": user(
        result(
            {"json": {"b": [1, 2.0], "a": None}},
            {"json": "text"},
            medium("image", "png", {"bytes": "AAAA"}),
            PDF,
            medium("video", "mp4", S3),
            {"searchResult": {"source": "s", "title": "t", "content": [{"text": "x"}]}},
            POINT,
        )
    ),
    "tools of the provider": assistant(SERVER_CALL, SERVER_RESULT, TEXT),
    "reasoning": assistant(THOUGHT, SEALED, {"reasoningContent": {"reasoningText": {"text": "x"}}}),
    "reasoning of a new kind": assistant({"reasoningContent": {"reasoningText": {}}}),
    "cache points": user(POINT, TEXT, RESULT, {"cachePoint": {"type": "default", "ttl": "1h"}}),
    "a cache point alone": user(POINT),
    "guarded content": user(
        {"guardContent": {"text": {"text": "Really?", "qualifiers": ["query"]}}},
        {"guardContent": {"image": {"format": "png", "source": {"bytes": "AAAA"}}}},
        {"guardContent": {}},
    ),
    "cited text": assistant(
        {"citationsContent": {"content": [{"text": "Grass."}], "citations": [{"title": "t"}]}},
        {"citationsContent": {"content": [{"text": "A"}, {"text": "B"}]}},
        {"citationsContent": {}},
    ),
    "media": user(
        medium("image", "jpeg", {"bytes": "AAAA"}),
        medium("image", "avif", {"bytes": "AAAA"}, error={"message": "m"}),
        medium("audio", "mp3", {"bytes": "AAAA"}),
        medium("audio", "mpga", S3),
        medium("video", "three_gp", S3),
        medium("video", "mpg", S3),
        PDF,
        medium("document", "txt", {"text": "All of it."}, name="Notes", context="c"),
        medium("document", "txt", {"content": [{"text": "All of it."}]}, name="Notes"),
        {"document": {"name": "no. format", "source": {"bytes": "AAAA"}}},
        {"image": {"source": {"bytes": "AAAA"}}},
        {"image": {"format": "png", "source": {"bytes": ""}}},
        {"video": {"format": "mp4", "source": {"s3Location": {"uri": "http://odd"}}}},
        {"image": "odd"},
    ),
    "a block that is not known yet": assistant({"hologram": {"beams": 3}}),
    "more keys": {"role": "user", "content": [TEXT], "metadata": {"usage": {}}},
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_comes_back_as_it_was_and_is_described_like_its_canonical_form(message):
    before = canonical_json(message)

    lifted = BEDROCK_CONVERSE.lift(message)

    assert canonical_json(BEDROCK_CONVERSE.lower(lifted)[0]) == before
    assert BEDROCK_CONVERSE.describe(message) == facts_of(lifted)
    assert BEDROCK_CONVERSE.content(message) == content_of(lifted)
    assert canonical_json(message) == before, "the caller's message changed"


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        (user(TEXT), USER),
        ({"role": "system", "content": [TEXT]}, SYSTEM),
        (assistant(TEXT), ASSISTANT),
        (assistant(THOUGHT, SEALED), REASONING),
        (assistant(THOUGHT, POINT), REASONING),
        (assistant(CALL), Facts("assistant", calls=(Link("c1", "weather"),))),
        (user(RESULT, POINT), Facts("tool", results=(Link("c1"),))),
        (user(RESULT, TEXT), Facts("user", results=(Link("c1"),))),
        (assistant(SERVER_CALL, SERVER_RESULT), ASSISTANT),
    ],
)
def test_facts_tell_input_calls_results_and_reasoning_apart(message, facts):
    assert BEDROCK_CONVERSE.describe(message) == facts


def test_bytes_of_boto3_are_accepted_and_come_back_as_bytes():
    message = user(
        medium("image", "png", {"bytes": b"\x00\xff"}),
        result(medium("document", "pdf", {"bytes": bytearray(b"%PDF")}, name="Report")),
        {"guardContent": {"image": {"format": "png", "source": {"bytes": b"\x01"}}}},
    )
    sealed = assistant({"reasoningContent": {"redactedContent": b"\x02"}})

    lifted = BEDROCK_CONVERSE.lift(message)

    assert lifted.parts[0].data == "AP8="
    assert BEDROCK_CONVERSE.lower(lifted) == (message,)
    assert BEDROCK_CONVERSE.lower(BEDROCK_CONVERSE.lift(sealed)) == (sealed,)
    assert BEDROCK_CONVERSE.describe(message) == facts_of(lifted)
    assert BEDROCK_CONVERSE.content(message) == Content((), ("image", "file", "image"))


def test_base64_text_becomes_bytes_for_boto3():
    message = user(
        TEXT,
        medium("image", "png", {"bytes": "AP8="}),
        result(medium("document", "pdf", {"bytes": "JVBERg=="}, name="Report"), {"json": {}}),
        SEALED,
        medium("video", "mp4", S3),
        POINT,
    )

    guarded = {"guardContent": {"image": {"format": "png", "source": {"bytes": "AP8="}}}}
    decoded = {"guardContent": {"image": {"format": "png", "source": {"bytes": b"\x00\xff"}}}}

    assert for_boto3(user(guarded)) == user(decoded)
    assert for_boto3(user({"image": "odd"})) == user({"image": "odd"})
    assert for_boto3(message) == user(
        TEXT,
        medium("image", "png", {"bytes": b"\x00\xff"}),
        result(medium("document", "pdf", {"bytes": b"%PDF"}, name="Report"), {"json": {}}),
        {"reasoningContent": {"redactedContent": b"sealed"}},
        medium("video", "mp4", S3),
        POINT,
    )
    assert message["content"][1]["image"]["source"]["bytes"] == "AP8=", "the message changed"


def test_text_is_counted_and_signatures_marks_and_bytes_are_not():
    message = user(
        POINT,
        result({"json": {"a": 1}}, medium("image", "png", {"bytes": "AAAA"})),
        medium("document", "txt", {"text": "All of it."}, name="Notes"),
        PDF,
    )

    assert BEDROCK_CONVERSE.content(message) == Content(
        ('{"a":1}', "All of it."), ("image", "file")
    )
    assert BEDROCK_CONVERSE.content(assistant(THOUGHT, CALL)) == Content(
        ("Look it up.", "weather", '{"z":1.0,"a":null}')
    )


def test_cache_points_are_no_parts_and_keep_their_place():
    lifted = BEDROCK_CONVERSE.lift(user(TEXT, POINT, TEXT))

    assert lifted.parts == (Text("Oslo, please."), Text("Oslo, please."))
    assert BEDROCK_CONVERSE.lower(lifted) == (user(TEXT, POINT, TEXT),)


@pytest.mark.parametrize(
    "foreign",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "user", "parts": [TEXT]},
        {"role": "tool", "content": [TEXT]},
        {"role": "user", "type": "message", "content": [TEXT]},
        {"role": "user", "content": [{}]},
        {"role": "user", "content": [{3: "x"}]},
        {"role": "user", "content": [{"text": 5}]},
        {"role": "user", "content": [{"text": "hi", **CALL}]},
        {"role": "user", "content": [{"toolUse": "c1"}]},
        {"role": "user", "content": [{"toolUse": {"toolUseId": "c1"}}]},
        {"role": "user", "content": [{"toolResult": {"content": []}}]},
        {"role": "user", "content": [result("3 C")]},
        {"role": "user", "content": [result({"text": None})]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": "3 C"}}]},
        {"role": "user", "content": None},
        {"role": [], "content": []},
        "hi",
    ],
)
def test_messages_of_other_wires_are_refused(foreign):
    for read in (BEDROCK_CONVERSE.describe, BEDROCK_CONVERSE.content, BEDROCK_CONVERSE.lift):
        with pytest.raises(DialectMismatch):
            read(foreign)


def test_parts_of_other_wires_are_lowered_where_they_have_a_form():
    message = Message(
        "user",
        (
            Text("Look:"),
            Image(mime="image/png", data="AAAA"),
            File(mime="application/pdf", data="JVBERg==", name="report_v2.pdf"),
            File(mime="text/plain", data="QUFB"),
            File(mime="video/mp4", url="s3://bucket/key"),
            ToolResult("c1", "weather", (Text("gone"),), is_error=True),
        ),
    )

    assert BEDROCK_CONVERSE.lower(message) == (
        user(
            {"text": "Look:"},
            medium("image", "png", {"bytes": "AAAA"}),
            medium("document", "pdf", {"bytes": "JVBERg=="}, name="report-v2-pdf"),
            medium("document", "txt", {"bytes": "QUFB"}, name="document"),
            medium("video", "mp4", {"s3Location": {"uri": "s3://bucket/key"}}),
            result({"text": "gone"}, status="error"),
        ),
    )


@pytest.mark.parametrize(
    "part",
    [
        Image(mime="image/bmp", data="AAAA"),
        Image(mime="image/png", url="https://example.org/a.png"),
        File(mime="application/zip", data="AAAA"),
        ToolCall(None, "weather"),
        ToolCall("c1", "weather", "3"),
        ToolResult(None, "weather"),
        ToolResult("c1", parts=(Audio(mime="audio/wav", data="AAAA"),)),
        Reasoning("Hm."),
        Native("anthropic", "compaction", "{}"),
        Native("bedrock-converse", "hologram", "3"),
        Reasoning("Hm.", signature="s", provider="anthropic"),
    ],
)
def test_a_part_without_a_form_here_is_refused_and_never_dropped(part):
    with pytest.raises(UnsupportedPartError) as caught:
        BEDROCK_CONVERSE.lower(Message("assistant", (part,)))

    assert caught.value.facts["dialect"] == "bedrock-converse"


@pytest.mark.parametrize("marks", ["3", "[3]", '[["a",{}]]'])
def test_notes_that_lifting_did_not_make_are_refused(marks):
    wire = f'{{"bedrock-converse":{{"":{{"form":{{"marks":{marks}}}}}}}}}'

    with pytest.raises(TranscriptError):
        BEDROCK_CONVERSE.lower(Message("user", (Text("hi"),), wire=wire))


def found(messages, **rest):
    wire = Wire(messages=messages, **rest)
    return [
        (finding.rule.partition("/")[2], finding.position) for finding in check_wire(RULES, wire)
    ]


def test_a_usual_conversation_breaks_no_rule():
    messages = [
        user(TEXT, PDF),
        assistant(THOUGHT, SERVER_CALL, SERVER_RESULT, CALL),
        user(RESULT, TEXT),
        assistant(TEXT),
        {"role": "system", "content": [TEXT]},
        user(TEXT, POINT),
    ]

    assert found(messages, tools=[{}]) == []
    assert found(messages) == []


@pytest.mark.parametrize(
    ("messages", "findings"),
    [
        ([assistant(TEXT), user(TEXT)], [("first-user", 0)]),
        ([user(TEXT), user(TEXT)], [("alternate", 1)]),
        ([user(TEXT), assistant(CALL), user(TEXT)], [("call-answered", 1)]),
        ([user(TEXT), assistant(CALL)], [("call-answered", 1)]),
        ([user(RESULT)], [("result-call", 0)]),
        ([user(TEXT), assistant(CALL), user(RESULT, RESULT)], [("id-unique", 2)]),
        ([user(TEXT), assistant(CALL, CALL), user(RESULT)], [("id-unique", 1)]),
        (
            [
                user(TEXT),
                assistant({"toolUse": {"toolUseId": "a b", "name": "n", "input": {}}}),
                user({"toolResult": {"toolUseId": "a b", "content": []}}),
            ],
            [("id-form", 1), ("id-form", 2)],
        ),
        (
            [
                user(TEXT),
                assistant({"toolUse": {"toolUseId": "c1", "name": "a.b", "input": {}}}),
                user(RESULT),
            ],
            [("tool-name", 1)],
        ),
        ([user({"text": " "}, TEXT)], [("text-blank", 0)]),
        ([user(TEXT), assistant(), user(TEXT)], [("content-empty", 1)]),
        ([user(TEXT), assistant(CALL), user(result(status="error"))], [("error-empty", 2)]),
        ([user(PDF)], [("document-text", 0)]),
    ],
)
def test_each_refusal_is_found_where_it_is(messages, findings):
    assert found(messages) == findings


def test_calls_without_tool_definitions_are_found_only_where_the_definitions_are_known():
    messages = [user(TEXT), assistant(CALL), user(RESULT)]

    assert found(messages, tools=[]) == [("tools-given", 1)]
    assert found(messages, tools=None) == []


def test_each_rule_says_what_must_hold_and_where_that_is_known_from():
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.name.startswith("bedrock-converse/")
        assert rule.statement.endswith(".")
        assert "https://" in rule.source
        assert "2026-11-30" in rule.source
