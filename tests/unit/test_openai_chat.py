"""openai-chat: what is read, counted, kept and written, and what its servers refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thusfar.codec import canonical_json, decode_message, encode_message
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_chat import NATIVE_KINDS, OPENAI_CHAT, RULES
from thusfar.dialects.rules import Wire, check_wire
from thusfar.errors import TranscriptError, UnsupportedPartError
from thusfar.facts import Content, Facts, Link, content_of, facts_of
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

PIXEL = "iVBORw0KGgo="


def call(call_id: Any = "c1", name: Any = "look", arguments: Any = '{"at": 1}') -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def calling(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls or (call(),)), **more}


def answer(call_id: str = "c1", content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


ROUND_TRIPS: dict[str, Any] = {
    "user text": {"role": "user", "content": "Hello"},
    "empty user text": {"role": "user", "content": ""},
    "null user content": {"role": "user", "content": None},
    "named user": {"role": "user", "name": "ann", "content": "Hello"},
    "empty and null names": {"role": "user", "name": "", "content": "Hello"},
    "developer": {"role": "developer", "content": "Be brief."},
    "system in parts": {
        "role": "system",
        "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
    },
    "one text part": {"role": "user", "content": [{"type": "text", "text": "a"}]},
    "two text parts": {
        "role": "user",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    },
    "an empty text part": {"role": "user", "content": [{"type": "text", "text": ""}]},
    "no parts": {"role": "user", "content": []},
    "image by url": {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}],
    },
    "image by data and detail": {
        "role": "user",
        "content": [
            {
                "type": "image_url",
                "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"},
            },
        ],
    },
    "image url as text": {
        "role": "user",
        "content": [{"type": "image_url", "image_url": "https://x.test/a.png"}],
    },
    "image of nothing": {"role": "user", "content": [{"type": "image_url", "image_url": None}]},
    "odd data urls": {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": "data:;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}},
            {"type": "image_url", "image_url": {"url": ""}},
        ],
    },
    "keys that do not belong": {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "https://x.test"}, "text": None}],
    },
    "sound": {
        "role": "user",
        "content": [
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "mpeg"}},
            {"type": "input_audio", "input_audio": "https://x.test/a.mp3"},
            {"type": "audio_url", "audio_url": {"url": "https://x.test/a.mp3"}},
        ],
    },
    "files": {
        "role": "user",
        "content": [
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
            },
            {"type": "file", "file": {"file_data": "JVBE"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "file", "file_id": "file-2"},
            {"type": "file", "file": {"filename": "only a name"}},
            {"type": "document_url", "document_url": "https://x.test/a.pdf", "document_name": "a"},
            {"type": "video_url", "video_url": {"url": "https://x.test/a.mp4"}},
        ],
    },
    "a part nobody knows": {"role": "user", "content": [{"type": "hologram", "z": 1.5}]},
    "calls": calling(call("c1"), call("c2", "go", "")),
    "calls with text": {"role": "assistant", "content": "Looking.", "tool_calls": [call()]},
    "calls with empty text": {"role": "assistant", "content": "", "tool_calls": [call()]},
    "calls without content": {"role": "assistant", "tool_calls": [call()]},
    "calls with an empty list": calling(call(), content=[], prefix=False),
    "a call without type": calling({"id": "c", "index": 0, "function": call()["function"]}),
    "a call without id": calling({"type": "function", "function": call()["function"]}),
    "a call with a null id": calling(call(None)),
    "a call without arguments": calling({"id": "c", "type": "function", "function": {"name": "a"}}),
    "a call with null arguments": calling(call(arguments=None)),
    "a call with broken arguments": calling(call(arguments='{"at": ')),
    "a custom call": calling(
        {"id": "c", "type": "custom", "custom": {"name": "sql", "input": 'select "a"\n'}}
    ),
    "a custom call without input": calling({"id": "c", "type": "custom", "custom": {"name": "a"}}),
    "an old call": {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "look", "arguments": "{}"},
    },
    "an old call beside null calls": {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "look", "arguments": ""},
        "tool_calls": None,
    },
    "both kinds of call": calling(call(), function_call={"name": "go", "arguments": "{}"}),
    "placeholders": {
        "role": "assistant",
        "content": "Hi",
        "refusal": "",
        "annotations": None,
        "tool_calls": None,
        "function_call": {"name": "", "arguments": ""},
        "audio": {"id": "", "data": "", "expires_at": 0, "transcript": ""},
        "reasoning_content": None,
        "reasoning_details": [],
    },
    "an empty list of calls": {"role": "assistant", "content": "Hi", "tool_calls": []},
    "a call by the user, with text": {"role": "user", "content": "Hm.", "tool_calls": [call()]},
    "a call by the user": {"role": "user", "content": None, "tool_calls": [call()]},
    "a refusal": {"role": "assistant", "content": None, "refusal": "No."},
    "a refusal part": {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    "a spoken answer": {"role": "assistant", "audio": {"id": "audio_1"}},
    "a spoken answer with data": {
        "role": "assistant",
        "content": None,
        "audio": {"id": "audio_1", "data": "UklG", "expires_at": 1, "transcript": "Hi"},
    },
    "reasoning content": {"role": "assistant", "content": "4", "reasoning_content": "2 and 2"},
    "only reasoning": {"role": "assistant", "content": None, "reasoning": "hm"},
    "only reasoning, empty content": {"role": "assistant", "content": "", "reasoning": "hm"},
    "reasoning said twice": {
        "role": "assistant",
        "content": "4",
        "reasoning": "hm",
        "reasoning_content": "hm",
    },
    "reasoning details": {
        "role": "assistant",
        "content": "4",
        "reasoning": "hmso",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "hm", "signature": "sig", "index": 0},
            {"type": "reasoning.summary", "summary": "so", "id": None},
            {"type": "reasoning.encrypted", "data": "gAAA", "format": "x"},
        ],
    },
    "reasoning details of no type": {
        "role": "assistant",
        "content": None,
        "reasoning_details": [{}, {"text": "hm"}, {"text": ""}],
    },
    "odd reasoning details": {"role": "assistant", "content": "4", "reasoning_details": [1]},
    "thinking in the content": {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True},
            {"type": "text", "text": "4"},
        ],
    },
    "thinking in two chunks": {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {}]}],
    },
    "thinking without text": {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": [{"type": "text"}]}],
    },
    "thinking in a result": answer(
        content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    ),
    "an old result with an id": {**answer(), "role": "function", "name": "look"},
    "inline sound as text": {
        "role": "user",
        "content": [
            {"type": "input_audio", "input_audio": "UklG"},
            {"type": "input_audio", "input_audio": None},
        ],
    },
    "an image by the assistant": {
        "role": "assistant",
        "content": [{"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}],
    },
    "a result": answer(),
    "an empty result": answer(content=""),
    "a null result": answer(content=None),
    "a result without content": {"role": "tool", "tool_call_id": "c1"},
    "a named result": {**answer(), "name": "look"},
    "a result in parts": answer(content=[{"type": "text", "text": "a"}]),
    "a result with an image": answer(
        content=[{"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}]
    ),
    "a result with extra keys": {**answer(), "requestor": "user", "cost": 0.5, "name": None},
    "a result without id": {"role": "tool", "content": "ok"},
    "a result with its id in a list": {"role": "tool", "tool_call_ids": ["c1"], "content": "ok"},
    "an old result": {"role": "function", "name": "look", "content": "ok"},
    "an old result without name": {"role": "function", "content": "ok"},
    "extra keys": {"role": "user", "content": "Hi", "valid": True, "meta": {"a": [1, 1.0, None]}},
    "lone surrogates and NUL": {"role": "user", "content": "\ud800\x00", "extra": "\udfff"},
}


@pytest.mark.parametrize("message", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
def test_a_message_comes_back_as_it_was_and_describes_as_it_lifts(message):
    """The three laws of a dialect, and that the stored form carries all of it."""
    before = json.dumps(message)

    lifted = OPENAI_CHAT.lift(message)
    (lowered,) = OPENAI_CHAT.lower(decode_message(encode_message(lifted)))

    assert canonical_json(lowered) == canonical_json(message)
    assert OPENAI_CHAT.describe(message) == facts_of(lifted)
    assert OPENAI_CHAT.content(message) == content_of(lifted)
    assert json.dumps(message) == before


def test_the_common_messages_describe_as_shared_facts():
    """Roles, call ids, result ids, and who is a user."""
    assert OPENAI_CHAT.describe({"role": "user", "content": "Hi"}) == Facts("user", user_input=True)
    assert OPENAI_CHAT.describe({"role": "developer", "content": "Hi"}) == Facts("system")
    assert OPENAI_CHAT.describe(calling(call("a"), call("b", "go"))) == Facts(
        "assistant", calls=(Link("a", "look"), Link("b", "go"))
    )
    assert OPENAI_CHAT.describe(answer("a")) == Facts("tool", results=(Link("a"),))


def test_the_old_function_call_pairs_by_name():
    """It has no ids: both ends are links without an id."""
    asked = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "f", "arguments": "{}"},
    }
    told = {"role": "function", "name": "f", "content": "ok"}

    assert OPENAI_CHAT.describe(asked).calls == (Link(None, "f"),)
    assert OPENAI_CHAT.describe(told) == Facts("tool", results=(Link(None, "f"),))


def test_an_assistant_message_of_nothing_but_reasoning_leads():
    """It belongs to what follows it."""
    assert OPENAI_CHAT.describe({"role": "assistant", "content": "", "reasoning": "hm"}).leads
    assert not OPENAI_CHAT.describe({"role": "assistant", "content": ""}).leads


def test_empty_placeholders_are_no_calls_and_no_parts():
    """Some servers send an empty `function_call`, refusal and audio with every message."""
    message = ROUND_TRIPS["placeholders"]

    assert OPENAI_CHAT.lift(message).parts == (Text("Hi"),)
    assert OPENAI_CHAT.describe(message) == Facts("assistant")


def test_arguments_are_kept_as_the_text_received():
    """Neither spaces nor key order nor broken JSON is touched."""
    lifted = OPENAI_CHAT.lift(calling(call(arguments='{"b":1, "a" :2}')))

    assert lifted.parts == (ToolCall("c1", "look", '{"b":1, "a" :2}'),)


def test_the_free_text_of_a_custom_call_becomes_an_argument():
    """So that any other provider can carry the call."""
    message = ROUND_TRIPS["a custom call"]

    (part,) = OPENAI_CHAT.lift(message).parts

    assert isinstance(part, ToolCall)
    assert json.loads(part.arguments) == {"input": 'select "a"\n'}


def test_everything_a_model_reads_is_counted_once():
    """Names, reasoning, text, arguments; not base64, not reasoning that is repeated."""
    message = {
        "role": "assistant",
        "name": "bot",
        "content": [{"type": "text", "text": "a"}],
        "reasoning": "hm",
        "reasoning_content": "hm",
        "tool_calls": [call(arguments="{}")],
    }
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}

    assert OPENAI_CHAT.content(message) == Content(("bot", "hm", "a", "look", "{}"))
    assert OPENAI_CHAT.content({"role": "user", "content": [picture]}) == Content((), ("image",))


def test_what_lifts_to_native_is_listed_with_a_reason():
    """A type in the list has a reason; known types with a payload are never native."""
    assert all(reason for reason in NATIVE_KINDS.values())
    for message in ROUND_TRIPS.values():
        for part in OPENAI_CHAT.lift(message).parts:
            known = ("hologram", "image_url", "file", "input_audio", *NATIVE_KINDS)
            assert not isinstance(part, Native) or part.kind in known


class SDKObject:
    """Stands for the pydantic objects of the provider's SDK."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, **options: Any) -> dict[str, Any]:
        assert options == {"mode": "json", "by_alias": True, "exclude_unset": True}
        return self.fields


def test_sdk_objects_are_read_among_dicts():
    """The whole message, or only the calls in it, may be objects of the SDK."""
    whole = SDKObject(role="assistant", content=None, tool_calls=[call()])
    mixed = {"role": "assistant", "content": None, "tool_calls": [SDKObject(**call())]}

    assert OPENAI_CHAT.describe(whole) == OPENAI_CHAT.describe(mixed)
    assert OPENAI_CHAT.lift(whole) == OPENAI_CHAT.lift(mixed) == OPENAI_CHAT.lift(calling())
    assert OPENAI_CHAT.lower(OPENAI_CHAT.lift(mixed)) == (calling(),)


OF_OTHER_WIRES = {
    "nothing": None,
    "text": "hello",
    "a number": 5,
    "a list": [{"role": "user", "content": "Hi"}],
    "an empty object": {},
    "gemini": {"role": "user", "parts": [{"text": "Hi"}]},
    "gemini's model": {"role": "model", "parts": [{"text": "Hi"}]},
    "bedrock": {"role": "user", "content": [{"text": "Hi"}]},
    "anthropic call": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "b", "input": {}}],
    },
    "anthropic result": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}],
    },
    "anthropic server result": {
        "role": "assistant",
        "content": [{"type": "web_search_tool_result", "tool_use_id": "a", "content": []}],
    },
    "anthropic thinking": {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
    },
    "anthropic image": {
        "role": "user",
        "content": [{"type": "image", "source": {"type": "url", "url": "https://x.test"}}],
    },
    "responses parts": {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    "responses call": {
        "type": "function_call",
        "call_id": "a",
        "name": "b",
        "arguments": "{}",
    },
    "thusfar": {"role": "user", "parts": [{"type": "text", "text": "Hi"}]},
    "a message of thusfar": Message("user", "Hi"),
    "langchain": {"type": "human", "content": "Hi"},
    "no content": {"role": "user"},
    "a system without content": {"role": "system"},
    "an assistant with nothing": {"role": "assistant"},
    "a role that is no text": {"role": ["user"], "content": "Hi"},
    "an unknown role": {"role": "critic", "content": "Hi"},
    "content as a number": {"role": "user", "content": 5},
    "content as an object": {"role": "user", "content": {"type": "text", "text": "Hi"}},
    "parts that are none": {"role": "user", "content": ["Hi"]},
    "a part without type": {"role": "user", "content": [{"text": "Hi"}]},
    "text that is none": {"role": "user", "content": [{"type": "text", "text": 1}]},
    "calls as text": {"role": "assistant", "content": None, "tool_calls": "x"},
    "calls as numbers": {"role": "assistant", "content": None, "tool_calls": [1]},
    "calls that are flat": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "name": "b", "arguments": {}}],
    },
    "arguments as an object": calling(call(arguments={})),
    "a call id as a number": calling(call(1)),
    "a name as a number": calling(call(name=1)),
    "an old call as text": {"role": "assistant", "content": None, "function_call": "f"},
    "a result id as a number": {"role": "tool", "tool_call_id": 1, "content": "ok"},
    "two result ids": {"role": "tool", "tool_call_ids": ["a", "b"], "content": "ok"},
}


@pytest.mark.parametrize("verb", ["describe", "content", "lift"])
@pytest.mark.parametrize("message", OF_OTHER_WIRES.values(), ids=OF_OTHER_WIRES)
def test_a_message_of_another_shape_is_refused(verb, message):
    """By the one signal that detection waits for."""
    with pytest.raises(DialectMismatch):
        getattr(OPENAI_CHAT, verb)(message)


def test_leftovers_that_are_not_json_are_refused_with_their_place():
    """Before anything is written."""
    with pytest.raises(TranscriptError):
        OPENAI_CHAT.lift({"role": "user", "content": "Hi", "blob": b"\x00"})
    with pytest.raises(TranscriptError):
        OPENAI_CHAT.lift({"role": "user", "content": "Hi", "score": float("nan")})


# Lowering what other dialects lifted.


def test_a_canonical_message_is_written_in_the_plainest_form():
    """Text as text, calls with null content, results as messages of their own."""
    calls = (Text("Looking."), ToolCall("c1", "look", "{}"))
    results = (ToolResult("c1", "look", (Text("ok"),)), ToolResult("c2", None, ()))

    assert OPENAI_CHAT.lower(Message("user", "Hi", name="ann")) == (
        {"role": "user", "name": "ann", "content": "Hi"},
    )
    assert OPENAI_CHAT.lower(Message("assistant", calls[1:])) == (calling(call(arguments="{}")),)
    assert OPENAI_CHAT.lower(Message("assistant", calls))[0]["content"] == "Looking."
    assert OPENAI_CHAT.lower(Message("tool", results)) == (
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "ok"},
        {"role": "tool", "tool_call_id": "c2", "content": ""},
    )


def test_results_beside_user_text_are_written_first():
    """They have to follow their calls directly."""
    mixed = Message("user", (Text("And now?"), ToolResult("c1", None, (Text("ok"),))))

    assert OPENAI_CHAT.lower(mixed) == (
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "user", "content": "And now?"},
    )


def test_media_of_another_provider_is_written_inline():
    """An image and a file by their data, sound by its data and format."""
    parts = (
        Image(mime="image/png", data=PIXEL),
        File(mime="application/pdf", data="JVBE", name="a.pdf"),
        Audio(mime="audio/mpeg", data="SUQz"),
    )

    (message,) = OPENAI_CHAT.lower(Message("user", parts))

    assert message["content"] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {
            "type": "file",
            "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
        },
        {"type": "input_audio", "input_audio": {"format": "mp3", "data": "SUQz"}},
    ]


def test_plain_reasoning_is_written_beside_the_content():
    """Reasoning without a seal has a field that most servers read."""
    message = Message("assistant", (Reasoning("hm"), Text("4")))

    assert OPENAI_CHAT.lower(message) == (
        {"role": "assistant", "content": "4", "reasoning_content": "hm"},
    )


def test_sealed_reasoning_of_this_wire_is_written_as_a_detail():
    """Also when its note was lost: only there a server looks for a seal."""
    parts = (
        Reasoning("hm", signature="sig", provider="openai-chat"),
        Reasoning("", data="gAAA", provider="openai-chat"),
    )

    (message,) = OPENAI_CHAT.lower(Message("assistant", parts))

    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "text": "hm", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "gAAA"},
    ]


def test_a_call_without_id_is_written_in_the_old_form():
    """There is one place for it, so a second one has no form."""
    one = Message("assistant", (ToolCall(None, "f"),))
    two = Message("assistant", (ToolCall(None, "f"), ToolCall(None, "g")))

    assert OPENAI_CHAT.lower(one) == (
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "f", "arguments": "{}"},
        },
    )
    with pytest.raises(UnsupportedPartError):
        OPENAI_CHAT.lower(two)


def test_what_a_note_says_never_overrides_an_edited_part():
    """The part is the truth; the note only says how to write it."""
    message = OPENAI_CHAT.lift(ROUND_TRIPS["a custom call"])
    edited = Message("assistant", (ToolCall("c", "sql", '{"a": 1}', wire=message.parts[0].wire),))
    broken = Message("assistant", (ToolCall("c", "sql", "{", wire=message.parts[0].wire),))
    emptied = Message("user", (), wire=OPENAI_CHAT.lift(ROUND_TRIPS["one text part"]).wire)
    grown = Message("user", (Text("a"), Text("b")), wire='{"openai-chat":{"content":"null"}}')

    assert OPENAI_CHAT.lower(edited) == (calling(call("c", "sql", '{"a": 1}')),)
    assert OPENAI_CHAT.lower(broken) == (calling(call("c", "sql", "{")),)
    assert OPENAI_CHAT.lower(emptied) == ({"role": "user", "content": []},)
    assert len(OPENAI_CHAT.lower(grown)[0]["content"]) == 2
    also_grown = Message("user", grown.parts, wire='{"openai-chat":{"content":"string"}}')
    assert OPENAI_CHAT.lower(also_grown) == OPENAI_CHAT.lower(grown)


UNSUPPORTED = {
    "several calls without ids": Message("assistant", (ToolCall(None, "f"), ToolCall(None, "g"))),
    "sealed reasoning": Message("assistant", (Reasoning("", "sig", provider="anthropic"),)),
    "reasoning of a user": Message("user", (Reasoning("hm"),)),
    "a native block": Message("user", (Native("anthropic", "x", "{}"),)),
    "an upload of another provider": Message("user", (Image(file_id="f"),)),
    "data without a type": Message("user", (Image(data=PIXEL),)),
    "a file by url": Message("user", (File(url="https://x.test"),)),
    "a file with a foreign note": Message(
        "user", (File(data="A", mime="b", wire='{"openai-chat":{"like":{"type":"x"}}}'),)
    ),
    "sound by url": Message("user", (Audio(url="https://x.test"),)),
    "sound of no format": Message("user", (Audio(data="UklG"),)),
    "an image by the assistant": Message("assistant", (Image(url="https://x.test"),)),
    "an image in a result": Message("tool", (ToolResult("c", None, (Image(url="https://x"),)),)),
    "a nameless result without id": Message("tool", (ToolResult(None, None, (Text("ok"),)),)),
    "text in the role tool": Message("tool", (Text("ok"),)),
    "a result in the role assistant": Message("assistant", (ToolResult("c"),)),
    "a call in the role system": Message("system", (ToolCall("c", "f"),)),
}


@pytest.mark.parametrize("message", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_a_part_without_a_form_here_is_refused_by_name(message):
    """Nothing is dropped in silence."""
    with pytest.raises(UnsupportedPartError) as caught:
        OPENAI_CHAT.lower(message)

    assert caught.value.code == "UNSUPPORTED_PART"
    assert caught.value.facts == {"dialect": "openai-chat"}


def test_a_native_part_that_is_no_object_cannot_be_written():
    with pytest.raises(TranscriptError):
        OPENAI_CHAT.lower(Message("user", (Native("openai-chat", "x", "[]"),)))


def test_a_note_that_is_no_json_cannot_be_read():
    with pytest.raises(TranscriptError):
        OPENAI_CHAT.lower(Message("user", "Hi", wire="{"))


def test_notes_of_other_dialects_are_ignored():
    """A message from elsewhere is written as if it had no note."""
    wire = '{"anthropic":{"cache_control":{"type":"ephemeral"}}}'

    assert OPENAI_CHAT.lower(Message("user", (Text("Hi", wire=wire),), wire=wire)) == (
        {"role": "user", "content": "Hi"},
    )


# Wire rules.

ASK = {"role": "user", "content": "Go."}
ALLOWED = [
    [],
    [ASK],
    [calling(), answer(), ASK],
    [calling(call("a"), call("b")), answer("b"), answer("a")],
    [calling(), answer(), calling(), answer()],
    [{"role": "assistant", "content": None, "function_call": {"name": "f"}}, ASK],
    [ROUND_TRIPS["an old call"], ROUND_TRIPS["an old result"]],
    [{"role": "assistant", "tool_calls": [call()]}, answer()],
    [{"role": "assistant", "audio": {"id": "audio_1"}}, ASK],
    [calling(), answer(), answer()],
]
REFUSED = [
    ("role", 0, [{"role": "critic", "content": "Hi"}]),
    ("calls-answered", 0, [calling()]),
    ("calls-answered", 0, [calling(), ASK]),
    ("calls-answered", 0, [calling(call("a"), call("b")), answer("a"), ASK]),
    ("calls-answered", 1, [ASK, calling(call("a")), ASK, answer("a")]),
    ("result-follows-call", 3, [ASK, calling(call("a")), ASK, answer("a")]),
    ("result-follows-call", 0, [answer()]),
    ("result-follows-call", 2, [calling(), answer(), answer("c2")]),
    ("result-call-id", 1, [calling(call(None)), {"role": "tool", "content": "ok"}]),
    ("function-name", 0, [{"role": "function", "content": "ok"}]),
    ("calls-not-empty", 0, [{"role": "assistant", "content": "Hi", "tool_calls": []}]),
    ("call-name", 0, [calling(call(name="")), answer()]),
    ("content", 0, [{"role": "user", "content": None}]),
    ("content", 0, [{"role": "assistant", "content": None, "tool_calls": None}]),
]


def findings(messages: list[Any]) -> list[tuple[str, int]]:
    found = check_wire(RULES, Wire(messages=messages))
    return [(each.rule.removeprefix("openai-chat/"), each.position) for each in found]


@pytest.mark.parametrize("messages", ALLOWED)
def test_a_request_that_servers_accept_breaks_no_rule(messages):
    assert findings(messages) == []


@pytest.mark.parametrize(("rule", "position", "messages"), REFUSED)
def test_a_request_that_servers_refuse_breaks_a_rule_at_its_place(rule, position, messages):
    assert (rule, position) in findings(messages)


def test_every_rule_says_what_must_hold_and_where_that_comes_from():
    """Names are unique, sources are dated or recorded."""
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert {rule.removeprefix("openai-chat/") for rule in (r.name for r in RULES)} == {
        rule for rule, _, _ in REFUSED
    }
    assert all("2026-11-30" in rule.source and rule.statement.endswith(".") for rule in RULES)


def test_rules_look_at_anything_without_raising():
    """A malformed message breaks what it breaks."""
    odd = [None, 5, {}, {"role": []}, {"role": "assistant", "tool_calls": "x"}, calling(call(1))]

    assert ("role", 0) in findings(odd)


# Whatever is thrown at it.

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(0, 1)
    | st.sampled_from(
        ["", "x", "user", "assistant", "text", "tool", "data:image/png;base64,AA", "function"]
    )
)
FIELDS = st.sampled_from(
    [
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "tool_call_ids",
        "function_call",
        "name",
        "refusal",
        "audio",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "type",
        "text",
        "id",
        "function",
        "custom",
        "arguments",
        "input",
        "image_url",
        "input_audio",
        "file",
        "file_id",
        "url",
        "data",
        "thinking",
        "extra",
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=8,
)


BESIDE = (
    "name",
    "refusal",
    "audio",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "extra",
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A message of the list above with one place replaced, or some other fields set."""
    message = json.loads(json.dumps(draw(st.sampled_from(list(ROUND_TRIPS.values())))))
    places: list[tuple[Any, Any]] = []
    stack: list[Any] = [message]
    while stack:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        places += [(node, key) for key in keys]
        stack += [node[key] for key in keys if isinstance(node[key], dict | list)]
    node, key = draw(st.sampled_from(places))
    node[key] = draw(st.one_of(SCALARS, SCALARS, VALUES))
    message.update(draw(st.dictionaries(st.sampled_from(BESIDE), VALUES, max_size=2)))
    return message


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(message=st.one_of(damaged(), damaged(), damaged(), VALUES))
def test_any_message_keeps_the_laws_or_is_refused_by_type(message):
    """Never an AttributeError, KeyError or TypeError; what is described can be lifted."""
    try:
        facts = OPENAI_CHAT.describe(message)
    except DialectMismatch:
        with pytest.raises(DialectMismatch):
            OPENAI_CHAT.lift(message)
        with pytest.raises(DialectMismatch):
            OPENAI_CHAT.content(message)
        return

    lifted = OPENAI_CHAT.lift(message)
    assert facts == facts_of(lifted)
    assert OPENAI_CHAT.content(message) == content_of(lifted)
    (lowered,) = OPENAI_CHAT.lower(lifted)
    assert canonical_json(lowered) == canonical_json(message)
    check_wire(RULES, Wire(messages=[message]))


@settings(max_examples=100, deadline=None)
@given(
    parts=st.lists(
        st.builds(Text, st.text(max_size=3))
        | st.builds(Reasoning, st.text(max_size=3))
        | st.builds(ToolCall, st.none() | st.just("c"), st.just("f"), st.text(max_size=3))
        | st.builds(ToolResult, st.none() | st.just("c"), st.none() | st.just("f"))
        | st.builds(Image, mime=st.sampled_from(["", "image/png"]), data=st.sampled_from(["", "A"]))
        | st.builds(Native, st.sampled_from(["openai-chat", "gemini"]), st.just("x"), st.text()),
        max_size=3,
    ).map(tuple),
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    note=VALUES,
)
def test_any_canonical_message_is_written_or_refused_by_type(parts, role, note):
    """Whatever its notes say."""
    wire = json.dumps({"openai-chat": note})
    noted = tuple(
        type(part)(**{f: getattr(part, f) for f in part.__struct_fields__} | {"wire": wire})
        if "wire" in part.__struct_fields__
        else part
        for part in parts
    )
    for made in (parts, noted):
        try:
            OPENAI_CHAT.lower(Message(role, made, wire=wire))
        except (UnsupportedPartError, TranscriptError):
            continue
