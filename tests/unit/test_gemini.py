"""Gemini contents: facts, exact round trips in both spellings, lowering, and wire rules."""

import pytest

from thusfar.codec import canonical_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.gemini import GEMINI, RULES, with_result_names
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
THOUGHT = {"text": "Look it up.", "thought": True, "thoughtSignature": "c2ln"}
CALL = {"functionCall": {"name": "weather", "args": {"z": 1.0, "a": None}}}
CALL_WITH_ID = {"functionCall": {"id": "c1", "name": "weather", "args": {}}}
RESPONSE = {"functionResponse": {"name": "weather", "response": {"output": "3 C"}}}
CODE = {"executableCode": {"code": "print(1)", "language": "PYTHON"}, "thoughtSignature": "c2ln"}
RAN = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def response(value, **rest):
    return {"functionResponse": {"id": "c1", "name": "weather", "response": value, **rest}}


CONTENTS = {
    "text": user(TEXT),
    "empty text": model({"text": ""}),
    "no role": {"parts": [TEXT]},
    "a null role": {"role": None, "parts": [TEXT]},
    "the old role of functions": {"role": "function", "parts": [RESPONSE]},
    "the old role of functions with text": {"role": "function", "parts": [TEXT]},
    "a system instruction": {"role": "system", "parts": [TEXT]},
    "no parts": model(),
    "an answer cut off before its parts": {"role": "model"},
    "null parts": {"role": "model", "parts": None},
    "text with its signature": model({**TEXT, "thoughtSignature": "c2ln"}),
    "a signature alone": model({"thoughtSignature": "c2ln"}),
    "a signature beside null text": model({"text": None, "thoughtSignature": "c2ln"}),
    "a thought": model(THOUGHT, TEXT),
    "a thought that is none": model({**TEXT, "thought": False}),
    "a call": model({**CALL, "thoughtSignature": "c2ln"}, CALL_WITH_ID),
    "a call without arguments": model({"functionCall": {"name": "now"}}),
    "a call with null arguments and id": model(
        {"functionCall": {"name": "now", "args": None, "id": None}}
    ),
    "a call whose arguments are a list": model({"functionCall": {"name": "now", "args": [1]}}),
    "a call beside null fields": model({"text": None, **CALL, "inlineData": None}),
    "an output": user(response({"output": "3 C"})),
    "a result": user(response({"result": "3 C"})),
    "an error": user(response({"error": "no such town"})),
    "an error in detail": user(response({"error": {"code": 404}})),
    "a response of many fields": user(response({"output": "3 C", "at": [1, 2.0]})),
    "an output that is no text": user(response({"output": 3})),
    "a response that is no object": user(response([1, 2])),
    "a null response": user(response(None)),
    "no response": user({"functionResponse": {"name": "weather"}}),
    "an empty response": user(response({})),
    "a response with media": user(
        response({}, parts=[{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"x": 1}])
    ),
    "a response that will go on": user(response({"output": "3"}, willContinue=True)),
    "a response known by id alone": user({"functionResponse": {"id": "c1", "response": {}}}),
    "a response with text beside it": user(RESPONSE, TEXT),
    "code that the provider ran": model(CODE, RAN, TEXT),
    "media": user(
        {"inlineData": {"mimeType": "image/png", "data": "AA+/", "displayName": "a.png"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "AA-_"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a.mp4"}, "videoMetadata": {}},
        {"fileData": {"fileUri": "https://example.org/a"}},
        {"inlineData": {"mimeType": "image/png"}},
        {"fileData": {}},
    ),
    "snake case": user(
        {"function_response": {"id": "c1", "name": "n", "response": {"file_uri": "kept"}}},
        {"inline_data": {"mime_type": "image/png", "data": "AAAA", "display_name": "a"}},
        {"file_data": {"mime_type": "image/png", "file_uri": "gs://b/a.png"}},
    ),
    "snake case of the model": model(
        {"function_call": {"name": "n", "args": {"fileUri": "kept"}}, "thought_signature": "c2ln"},
        {"thought_signature": "c2ln", "thought": True, "text": "Hm."},
        {"executable_code": {"code": "1"}},
    ),
    "mixed spellings": user({"inlineData": {"mime_type": "image/png", "data": "AAAA"}}),
    "a part that is not known yet": model({"hologram": {"beams": 3}}),
    "an empty part": model({}),
    "keys that look like notes": user({**TEXT, "": {"absent": ["text"]}}),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_a_content_comes_back_as_it_was_and_is_described_like_its_canonical_form(content):
    before = canonical_json(content)

    lifted = GEMINI.lift(content)

    assert canonical_json(GEMINI.lower(lifted)[0]) == before
    assert GEMINI.describe(content) == facts_of(lifted)
    assert GEMINI.content(content) == content_of(lifted)
    assert canonical_json(content) == before, "the caller's content changed"


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (user(TEXT), USER),
        ({"parts": [TEXT]}, USER),
        ({"role": "system", "parts": [TEXT]}, SYSTEM),
        (model(TEXT), ASSISTANT),
        (model(THOUGHT), REASONING),
        (model({"thoughtSignature": "c2ln"}), REASONING),
        (model(CALL), Facts("assistant", calls=(Link(None, "weather"),))),
        (model(CALL_WITH_ID), Facts("assistant", calls=(Link("c1", "weather"),))),
        (user(RESPONSE), Facts("tool", results=(Link(None, "weather"),))),
        (user(RESPONSE, TEXT), Facts("user", results=(Link(None, "weather"),))),
        (model(CODE, RAN), ASSISTANT),
    ],
)
def test_facts_tell_input_calls_results_and_reasoning_apart(content, facts):
    assert GEMINI.describe(content) == facts


def test_both_spellings_lift_to_the_same_parts():
    camel = GEMINI.lift(user({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}))
    snake = GEMINI.lift(user({"inline_data": {"mime_type": "image/png", "data": "AAAA"}}))

    assert camel.parts == (Image(mime="image/png", data="AAAA"),)
    assert snake.parts[0].data == "AAAA"
    assert snake.parts[0].wire == '{"gemini":{"":{"form":{"keys":"snake"}}}}'


def test_bytes_are_accepted_and_come_back_as_bytes():
    content = user(
        {"inline_data": {"mime_type": "image/png", "data": b"\x00\xff"}},
        {"text": "hi", "thought_signature": bytearray(b"\x01")},
    )

    lifted = GEMINI.lift(content)

    assert lifted.parts[0].data == "AP8="
    assert GEMINI.lower(lifted) == (content,)
    assert GEMINI.describe(content) == facts_of(lifted)
    assert GEMINI.content(content) == Content(("hi",), ("image",))


def test_url_safe_base64_is_lifted_to_the_usual_alphabet():
    part = {"inlineData": {"mimeType": "image/png", "data": "-_8="}}

    assert GEMINI.lift(user(part)).parts[0].data == "+/8="


def test_text_is_counted_and_signatures_and_data_are_not():
    assert GEMINI.content(model(THOUGHT, CALL)) == Content(
        ("Look it up.", "weather", '{"z":1.0,"a":null}')
    )
    assert GEMINI.content(user(response({"at": 1}))) == Content(('{"at":1}',))


def test_an_answer_of_a_function_is_text_and_an_error_is_marked():
    assert GEMINI.lift(user(response({"error": "gone"}))).parts == (
        ToolResult("c1", "weather", (Text("gone"),), is_error=True),
    )


@pytest.mark.parametrize(
    "foreign",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [TEXT], "parts": [TEXT]},
        {"role": "assistant", "parts": [TEXT]},
        {"role": "user", "parts": "hi"},
        {"role": "user", "parts": ["hi"]},
        {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {"role": "user", "parts": [{"kind": "text", "text": "hi"}]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]},
        {"role": "user"},
        {"parts": None},
        {"role": "user", "parts": [{"text": 5}]},
        {"role": "user", "parts": [{"text": "hi", **CALL}]},
        {"role": "model", "parts": [{"functionCall": "now"}]},
        {"role": "model", "parts": [{"functionCall": {"name": None}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "n", "id": 5}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "n", "parts": 5}}]},
        {"role": {}, "parts": [TEXT]},
        [],
        None,
    ],
)
def test_messages_of_other_wires_are_refused(foreign):
    for read in (GEMINI.describe, GEMINI.content, GEMINI.lift):
        with pytest.raises(DialectMismatch):
            read(foreign)


def test_parts_of_other_wires_are_lowered_where_they_have_a_form():
    message = Message(
        "user",
        (
            Text("Look:"),
            Image(mime="image/png", data="AAAA", name="a.png"),
            Audio(mime="audio/wav", data="AAAA"),
            File(url="https://example.org/a.pdf", mime="application/pdf"),
        ),
    )

    assert GEMINI.lower(message) == (
        user(
            {"text": "Look:"},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA", "displayName": "a.png"}},
            {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
            {"fileData": {"fileUri": "https://example.org/a.pdf", "mimeType": "application/pdf"}},
        ),
    )


def test_results_of_other_wires_are_lowered_with_their_media():
    parts = (Text("3 C"), Text("cold"), Image(mime="image/png", data="AAAA"))
    message = Message("tool", (ToolResult("c1", "weather", parts, is_error=True),))
    media = [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]

    assert GEMINI.lower(message) == (user(response({"error": "3 C\ncold"}, parts=media)),)


def test_results_get_the_name_of_the_call_they_answer():
    call = Message("assistant", (ToolCall("c1", "weather"),))
    result = Message("tool", (ToolResult("c1", parts=(Text("3 C"),)),))

    with pytest.raises(UnsupportedPartError):
        GEMINI.lower(result)
    stray = Message("tool", (ToolResult("c9"),))
    same, named, unknown = with_result_names([call, result, stray])

    assert same is call
    assert unknown is stray
    assert GEMINI.lower(named) == (user(response({"output": "3 C"})),)


@pytest.mark.parametrize(
    "part",
    [
        Image(data="AAAA"),
        Image(file_id="file_1"),
        ToolCall("c1", "weather", "3"),
        Reasoning("Hm."),
        Native("anthropic", "compaction", "{}"),
        Native("gemini", "hologram", "3"),
        File(),
        Reasoning("Hm.", signature="s", provider="anthropic"),
    ],
)
def test_a_part_without_a_form_here_is_refused_and_never_dropped(part):
    with pytest.raises(UnsupportedPartError) as caught:
        GEMINI.lower(Message("assistant", (part,)))

    assert caught.value.facts["dialect"] == "gemini"


def test_notes_that_lifting_did_not_make_are_refused():
    with pytest.raises(TranscriptError):
        GEMINI.lower(Message("user", (Text("hi", wire='{"gemini":[]}'),)))


def found(contents):
    return [
        (finding.rule, finding.position) for finding in check_wire(RULES, Wire(messages=contents))
    ]


def test_a_usual_conversation_breaks_no_rule():
    contents = [
        user(TEXT),
        model(CALL),
        model(CALL),
        user(RESPONSE, RESPONSE),
        user(TEXT),
        model({"text": ""}),
        user(TEXT),
        model({"function_call": {"name": "n"}}),
        {"role": "function", "parts": [{"function_response": {"name": "n"}}]},
    ]

    assert found(contents) == []


@pytest.mark.parametrize(
    ("contents", "findings"),
    [
        ([], [("gemini/contents", 0)]),
        ([{"role": "system", "parts": [TEXT]}], [("gemini/role", 0)]),
        ([model(TEXT), user(TEXT)], [("gemini/first-user", 0)]),
        ([user(TEXT), model(), user(TEXT)], [("gemini/parts", 1)]),
        ([user(TEXT, {"thought": True})], [("gemini/part-data", 0)]),
        (
            [model(CALL), user(RESPONSE)],
            [("gemini/call-after-user", 0)],
        ),
        ([user(TEXT), user(RESPONSE)], [("gemini/response-after-call", 1)]),
        ([user(TEXT), model(CALL, CALL), user(RESPONSE)], [("gemini/response-count", 2)]),
        ([user(TEXT), model(CALL), user(TEXT)], [("gemini/response-count", 2)]),
        (
            [user(TEXT), model(CALL, CALL), user(RESPONSE), user(RESPONSE)],
            [("gemini/response-count", 2), ("gemini/response-after-call", 3)],
        ),
        ([user(TEXT), model(CALL)], []),
    ],
)
def test_each_refusal_is_found_where_it_is(contents, findings):
    assert found(contents) == findings


def test_each_rule_says_what_must_hold_and_where_that_is_known_from():
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.name.startswith("gemini/")
        assert rule.statement.endswith(".")
        assert "https://" in rule.source
        assert "2026-11-30" in rule.source
