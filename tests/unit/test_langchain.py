"""The LangChain dialect, against the real package: equal objects back, calls counted once."""

import json
import sys

import pytest

from thusfar.codec import canonical_json
from thusfar.dialects import DialectMismatch
from thusfar.dialects.langchain import LANGCHAIN
from thusfar.errors import MissingExtraError, TranscriptError, UnsupportedPartError
from thusfar.facts import ASSISTANT, SYSTEM, USER, Facts, Link, content_of, facts_of
from thusfar.messages import File, Image, Message, Native, Reasoning, Text, ToolCall, ToolResult

pytest.importorskip("langchain_core")

from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    ToolMessageChunk,
    messages_to_dict,
)

ENTRY = {"name": "weather", "args": {"city": "Oslo", "days": 1.0}, "id": "c1"}
PNG = "iVBORw0KGgo="


class Question(HumanMessage):
    """A class of the application's own."""


TEXTS = [
    HumanMessage("Hello."),
    HumanMessage(""),
    HumanMessage([]),
    HumanMessage(["Hello.", {"type": "text", "text": "Again.", "cache_control": {"type": "x"}}]),
    HumanMessage([{"type": "text", "text": "A list of one."}]),
    HumanMessage("Hi.", name="Ada", id="u1", additional_kwargs={"note": 1}),
    HumanMessage("Hi.", pinned=True),
    SystemMessage("Be brief."),
    AIMessage("Sure."),
    AIMessage("Sure.", additional_kwargs={"reasoning_content": "Let me think.", "refusal": None}),
    AIMessage("", additional_kwargs={"refusal": "I would rather not."}),
    AIMessage(
        [{"type": "text", "text": "Yes", "annotations": []}, {"type": "refusal", "refusal": "No"}]
    ),
    ChatMessage("As a critic.", role="critic"),
    ChatMessage("As the model.", role="assistant"),
    ChatMessage("Mind the budget.", role="developer", name="ops"),
    AIMessageChunk("Su"),
    AIMessageChunk("re.", chunk_position="last"),
    HumanMessageChunk("Hel"),
]
CALLS = [
    AIMessage("", tool_calls=[ENTRY]),
    AIMessage("Looking.", tool_calls=[ENTRY, {**ENTRY, "id": "c2"}]),
    AIMessage("", tool_calls=[{**ENTRY, "id": None}]),
    AIMessage(
        "", invalid_tool_calls=[{"name": "f", "args": "{bad", "id": "c9", "error": "not JSON"}]
    ),
    AIMessage("", invalid_tool_calls=[{"name": None, "args": None, "id": None, "error": None}]),
    AIMessage([{"type": "tool_use", "id": "c1", "name": "weather", "input": {}}]),
    AIMessage([{"type": "tool_use", "id": "c1", "name": "weather", "input": '{"ci'}]),
    AIMessage(
        [{"type": "tool_call", "id": "c1", "name": "weather", "args": ENTRY["args"]}],
        tool_calls=[ENTRY],
    ),
    AIMessage(
        [
            {
                "type": "function_call",
                "call_id": "c1",
                "id": "fc1",
                "name": "weather",
                "arguments": "{}",
            }
        ],
        tool_calls=[{**ENTRY, "args": {}}],
    ),
    AIMessage("", additional_kwargs={"function_call": {"name": "weather", "arguments": "{}"}}),
    AIMessage(
        "",
        additional_kwargs={
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
            ]
        },
    ),
    AIMessageChunk("", tool_call_chunks=[{"name": "f", "args": '{"a":1}', "id": "c1", "index": 0}]),
    AIMessageChunk("", tool_call_chunks=[{"name": "f", "args": '{"a"', "id": "c1", "index": 0}]),
]
RESULTS = [
    ToolMessage("3 C", tool_call_id="c1"),
    ToolMessage("", tool_call_id="c1"),
    ToolMessage([], tool_call_id="c1"),
    ToolMessage("No.", tool_call_id="c1", name="weather", status="error", artifact={"rows": [1]}),
    ToolMessage(
        [
            {"type": "text", "text": "Look:"},
            {"type": "image", "base64": PNG, "mime_type": "image/png"},
        ],
        tool_call_id="c1",
        id="t1",
    ),
    ToolMessage([{"type": "reasoning", "reasoning": "odd here"}], tool_call_id="c1"),
    ToolMessageChunk("3", tool_call_id="c1"),
    FunctionMessage("3 C", name="weather"),
]
BLOCKS = [
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
    {"type": "image_url", "image_url": "https://a.test/i.png"},
    {"type": "image", "base64": PNG, "mime_type": "image/png"},
    {"type": "image", "url": "https://a.test/i.png", "id": "b1"},
    {"type": "image", "file_id": "f1"},
    {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
    {"type": "image", "source_type": "url", "url": "https://a.test/i.png"},
    {"type": "file", "source_type": "id", "id": "f1"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "document", "source": {"type": "url", "url": "https://a.test/d.pdf"}, "title": "D"},
    {"type": "document", "source": {"type": "file", "file_id": "f1"}},
    {"type": "document", "source": {"type": "text", "data": "plain", "media_type": "text/plain"}},
    {"type": "audio", "base64": "UklGRg==", "mime_type": "audio/wav"},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    {"type": "video", "url": "https://a.test/v.mp4"},
    {
        "type": "file",
        "file": {"file_data": "data:application/pdf;base64,JVBERg==", "filename": "d.pdf"},
    },
    {"type": "file", "file": {"file_id": "f1"}},
    {"type": "text-plain", "text": "A document.", "mime_type": "text/plain"},
    {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
    {"type": "redacted_thinking", "data": "sealed"},
    {"type": "reasoning", "reasoning": "Because."},
    {"type": "reasoning", "reasoning": "Because.", "extras": {"signature": "sig", "more": 1}},
    {
        "type": "reasoning",
        "id": "rs1",
        "summary": [
            {"type": "summary_text", "text": "One."},
            {"type": "summary_text", "text": "Two."},
        ],
        "encrypted_content": "sealed",
    },
    {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"q": "x"}},
    {"text": "A block of another wire."},
    {"type": "image", "source": {"type": "somewhere else"}},
    {"type": "image", "nothing": "known"},
    {"type": "tool_use", "id": "c1", "name": 7},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": {}},
    {"type": ["odd"]},
    {"type": 7},
]
EVERY = [*TEXTS, *CALLS, *RESULTS, *(AIMessage([block]) for block in BLOCKS)]


def describes_as_it_lifts(message):
    lifted = LANGCHAIN.lift(message)
    assert LANGCHAIN.describe(message) == facts_of(lifted)
    assert LANGCHAIN.content(message) == content_of(lifted)
    return lifted


@pytest.mark.parametrize("message", EVERY, ids=lambda message: repr(message)[:60])
def test_an_object_comes_back_equal_and_of_its_class(message):
    (lowered,) = LANGCHAIN.lower(describes_as_it_lifts(message))

    assert type(lowered) is type(message)
    assert lowered == message
    assert dumpd(lowered) == dumpd(message)


@pytest.mark.parametrize("message", EVERY, ids=lambda message: repr(message)[:60])
@pytest.mark.parametrize("form", [lambda m: messages_to_dict([m])[0], dumpd], ids=["dict", "dumpd"])
def test_both_json_forms_come_back_byte_for_byte(message, form):
    written = json.loads(json.dumps(form(message)))

    (lowered,) = LANGCHAIN.lower(describes_as_it_lifts(written))

    assert canonical_json(lowered) == canonical_json(written)


@pytest.mark.parametrize("message", EVERY, ids=lambda message: repr(message)[:60])
def test_all_three_forms_have_the_same_facts_and_parts(message):
    forms = (message, messages_to_dict([message])[0], dumpd(message))

    first, *others = [LANGCHAIN.lift(form) for form in forms]

    assert all(each.role == first.role and each.parts == first.parts for each in others)


def test_a_class_of_the_application_comes_back():
    message = Question("Why?")

    (lowered,) = LANGCHAIN.lower(LANGCHAIN.lift(message))

    assert type(lowered) is Question
    assert lowered == message


def test_a_class_that_was_not_imported_is_refused_and_not_imported():
    lifted = LANGCHAIN.lift(Question("Why?"))
    elsewhere = Message(
        "user", "Why?", wire=lifted.wire.replace(Question.__module__, "antigravity")
    )

    with pytest.raises(TranscriptError) as caught:
        LANGCHAIN.lower(elsewhere)

    assert caught.value.fix == "Import the module antigravity first."
    assert "antigravity" not in sys.modules


def test_without_langchain_an_object_cannot_be_made(monkeypatch):
    monkeypatch.setattr("thusfar.dialects.langchain_forms.find_spec", lambda name: None)

    with pytest.raises(MissingExtraError) as caught:
        LANGCHAIN.lower(Message("user", "Hello."))

    assert caught.value.fix == "Install langchain-core."
    assert LANGCHAIN.lower(LANGCHAIN.lift({"type": "human", "data": {"content": "x"}})) == (
        {"type": "human", "data": {"content": "x"}},
    )


def test_plain_messages_have_the_shared_facts():
    assert LANGCHAIN.describe(HumanMessage("x")) is USER
    assert LANGCHAIN.describe(SystemMessage("x")) is SYSTEM
    assert LANGCHAIN.describe(AIMessage("x")) is ASSISTANT
    assert LANGCHAIN.describe(HumanMessageChunk("x")) is USER


def test_a_call_that_stands_in_the_content_too_counts_once_in_its_place():
    message = AIMessage(
        [
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "input_json_delta", "partial_json": "", "index": 1},
            {"type": "text", "text": "Wait."},
        ],
        tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}],
    )

    lifted = describes_as_it_lifts(message)

    assert [type(part) for part in lifted.parts] == [Text, ToolCall, Text]
    assert facts_of(lifted).calls == (Link("c1", "weather"),)
    assert LANGCHAIN.lower(lifted) == (message,)


def test_calls_with_broken_arguments_are_calls_all_the_same():
    message = AIMessage(
        "", invalid_tool_calls=[{"name": "f", "args": "{x", "id": "c", "error": "e"}]
    )

    assert LANGCHAIN.describe(message) == Facts("assistant", calls=(Link("c", "f"),))
    assert LANGCHAIN.content(message).texts == ("f", "{x")


def test_results_answer_by_id_and_old_functions_by_name():
    assert LANGCHAIN.describe(ToolMessage("3 C", tool_call_id="c1", name="weather")) == Facts(
        "tool", results=(Link("c1", "weather"),)
    )
    assert LANGCHAIN.describe(FunctionMessage("3 C", name="weather")) == Facts(
        "tool", results=(Link(None, "weather"),)
    )


def test_a_failed_tool_is_an_error():
    (result,) = LANGCHAIN.lift(ToolMessage("No.", tool_call_id="c1", status="error")).parts

    assert result == ToolResult("c1", None, (Text("No."),), is_error=True)


def test_arguments_keep_the_order_of_their_keys():
    message = AIMessage("", tool_calls=[{"name": "f", "args": {"b": 1, "a": 2.0}, "id": "c"}])

    assert LANGCHAIN.lift(message).parts[0].arguments == '{"b":1,"a":2.0}'


def test_a_reply_of_reasoning_alone_leads():
    assert LANGCHAIN.describe(AIMessage([{"type": "reasoning", "reasoning": "x"}])).leads


def test_an_artifact_without_json_form_is_refused_with_its_place():
    message = ToolMessage("3 C", tool_call_id="c1", artifact=object())

    assert LANGCHAIN.describe(message) == Facts("tool", results=(Link("c1"),))
    with pytest.raises(TranscriptError) as caught:
        LANGCHAIN.lift(message)
    assert caught.value.facts["path"] == "$.artifact"


@pytest.mark.parametrize(
    "foreign",
    [
        RemoveMessage(id="m1"),
        {"type": "remove", "data": {"content": "", "id": "m1"}},
        {"role": "user", "content": "Hello."},
        {"type": "human", "content": "Hello."},
        {"type": "human", "data": {"content": "Hello."}, "extra": 1},
        {"type": "human", "data": {}},
        {"type": "human", "data": {"content": 7}},
        {"type": "tool", "data": {"content": "no id"}},
        {"type": "ai", "data": {"content": "", "tool_calls": [7]}},
        {"type": "ai", "data": {"content": "", "tool_calls": 7}},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"id": "c", "name": 7}]}},
        {"type": "ai", "data": {"content": [7]}},
        {"lc": True, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": ""}},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"id": 7}]}},
        {"type": "chat", "data": {"content": ""}},
        {"lc": 1, "type": "constructor", "id": ["x", "PromptTemplate"], "kwargs": {"content": ""}},
        {"lc": 1, "type": "not_implemented", "id": ["x", "HumanMessage"]},
        Message("user", "Hello."),
        object(),
        "Hello.",
        None,
    ],
)
def test_anything_else_is_refused(foreign):
    with pytest.raises(DialectMismatch):
        LANGCHAIN.describe(foreign)
    with pytest.raises(DialectMismatch):
        LANGCHAIN.lift(foreign)


def test_messages_of_other_dialects_become_langchain_objects():
    call = ToolCall("c1", "weather", '{"city": "Oslo"}')
    messages = (
        Message("system", "Be brief."),
        Message("user", (Text("Where?"), Image("image/png", PNG), File(url="https://a.test/d"))),
        Message("assistant", (Reasoning("Hm.", "sig", provider="anthropic"), Text("So:"), call)),
        Message("tool", (ToolResult("c1", "weather", (Text("3 C"),)), ToolResult("c2"))),
    )

    lowered = [each for message in messages for each in LANGCHAIN.lower(message)]

    assert lowered == [
        SystemMessage("Be brief."),
        HumanMessage(
            [
                {"type": "text", "text": "Where?"},
                {"type": "image", "base64": PNG, "mime_type": "image/png"},
                {"type": "file", "url": "https://a.test/d"},
            ]
        ),
        AIMessage(
            [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "text", "text": "So:"},
            ],
            tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}],
        ),
        ToolMessage("3 C", tool_call_id="c1", name="weather"),
        ToolMessage("", tool_call_id="c2"),
    ]


def test_arguments_that_are_no_object_become_an_invalid_call():
    (lowered,) = LANGCHAIN.lower(Message("assistant", (ToolCall("c1", "f", "{broken"),)))

    assert lowered.tool_calls == []
    assert lowered.invalid_tool_calls[0]["args"] == "{broken"


def test_an_old_function_result_becomes_a_function_message():
    message = Message("tool", (ToolResult(None, "weather", (Text("3 C"),)),))

    assert LANGCHAIN.lower(message) == (FunctionMessage("3 C", name="weather"),)


@pytest.mark.parametrize(
    "part",
    [
        Native("anthropic", "server_tool_use", "{}"),
        Reasoning(data="sealed", provider="bedrock-converse"),
        ToolResult(None, None),
    ],
)
def test_what_has_no_form_is_refused_and_never_vanishes(part):
    with pytest.raises(UnsupportedPartError):
        LANGCHAIN.lower(Message("assistant", (part,)))


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", (ToolResult("c1", "f"), Text("x")), wire='{"langchain":{"x":1}}'),
        Message("tool", (Text("x"),), wire='{"langchain":{"x":1}}'),
    ],
)
def test_parts_that_were_changed_under_their_wire_are_refused(message):
    with pytest.raises(UnsupportedPartError):
        LANGCHAIN.lower(message)


def test_a_call_by_the_user_has_no_form():
    with pytest.raises(UnsupportedPartError):
        LANGCHAIN.lower(Message("user", (ToolCall("c1", "f"),)))
