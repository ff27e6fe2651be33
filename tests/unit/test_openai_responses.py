"""openai-responses: every item type read, counted, kept, written; and what the API refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thusfar.codec import canonical_json, decode_message, encode_message
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_responses import NATIVE_KINDS, OPENAI_RESPONSES, RULES
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

SEALED = "gAAAAAB" + "x" * 400


def call(call_id: Any = "c1", name: Any = "look", arguments: Any = "{}", **more: Any) -> Any:
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        **more,
    }


def output(call_id: Any = "c1", said: Any = "ok", **more: Any) -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": said, **more}


def reasoning(**more: Any) -> Any:
    return {"type": "reasoning", "id": "rs_1", "summary": [], **more}


MESSAGES: dict[str, Any] = {
    "easy text": {"role": "user", "content": "Hi"},
    "easy empty text": {"role": "assistant", "content": ""},
    "developer": {"role": "developer", "content": "Be brief."},
    "typed text": {"type": "message", "role": "system", "content": "Be brief."},
    "a null type": {"type": None, "role": "user", "content": "Hi"},
    "one part": {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    "an empty part": {"role": "user", "content": [{"type": "input_text", "text": ""}]},
    "no parts": {"role": "user", "content": []},
    "media": {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look.", "prompt_cache_breakpoint": {"mode": "x"}},
            {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "auto"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            {"type": "input_image", "file_id": "file-1", "image_url": None, "detail": "low"},
            {"type": "input_image", "detail": "low"},
            {"type": "input_file", "file_data": "data:application/pdf;base64,JVBE"},
            {"type": "input_file", "file_id": "file-2", "filename": "a.pdf"},
            {"type": "input_file", "file_url": "https://x.test/a.pdf"},
            {"type": "input_file", "filename": "only a name"},
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            {"type": "input_audio", "input_audio": {"format": "wav"}},
            {"type": "computer_screenshot", "image_url": "https://x.test/b.png"},
            {"type": "input_hologram", "z": 1.5},
        ],
    },
    "an answer": {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "final_answer",
        "content": [
            {
                "type": "output_text",
                "text": "4",
                "annotations": [{"type": "url_citation", "url": "https://x.test", "index": 1}],
                "logprobs": [],
            },
            {"type": "refusal", "refusal": "No."},
        ],
    },
    "an answer in one bare part": {
        "role": "assistant",
        "content": [{"type": "output_text", "text": "4"}],
    },
    "an image in an answer": {
        "role": "assistant",
        "content": [{"type": "input_image", "image_url": "https://x.test/a.png"}],
    },
    "texts of reasoning": {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "summary_text", "text": "so"},
            {"type": "reasoning_text", "text": "hm"},
            {"type": "encrypted_content", "encrypted_content": SEALED},
        ],
    },
}
CALLS: dict[str, tuple[Any, Link]] = {
    "function": (call(id="fc_1", status="completed"), Link("c1", "look")),
    "function in a namespace": (call(namespace="files", status=None), Link("c1", "look")),
    "function with a null id": (call(None), Link(None, "look")),
    "function without arguments": (call(arguments=None), Link("c1", "look")),
    "function with empty arguments": (call(arguments=""), Link("c1", "look")),
    "custom": (
        {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": 'select "a"\n'},
        Link("c1", "sql"),
    ),
    "computer": (
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "c1",
            "action": {"type": "click", "x": 1, "y": 2.0, "button": "left"},
            "pending_safety_checks": [],
            "status": "completed",
        },
        Link("c1", "computer"),
    ),
    "computer in batches": (
        {"type": "computer_call", "call_id": "c1", "actions": [{"type": "wait"}]},
        Link("c1", "computer"),
    ),
    "local shell": (
        {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"], "env": {}}},
        Link("c1", "local_shell"),
    ),
    "shell": (
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}, "status": None},
        Link("c1", "shell"),
    ),
    "patch": (
        {"type": "apply_patch_call", "call_id": "c1", "operation": {"path": "a", "diff": "+b"}},
        Link("c1", "apply_patch"),
    ),
    "tool search": (
        {
            "type": "tool_search_call",
            "call_id": "c1",
            "execution": "client",
            "arguments": {"queries": ["a"]},
        },
        Link("c1", "tool_search"),
    ),
    "tool search for nothing": (
        {"type": "tool_search_call", "call_id": "c1"},
        Link("c1", "tool_search"),
    ),
    "approval": (
        {
            "type": "mcp_approval_request",
            "id": "mcpr_1",
            "name": "rm",
            "arguments": "{}",
            "server_label": "files",
        },
        Link("mcpr_1", "rm"),
    ),
    "program": (
        {"type": "program", "id": "p", "call_id": "c1", "code": "a()", "fingerprint": "f"},
        Link("c1", "program"),
    ),
    "of the future": (
        {"type": "robot_call", "call_id": "c1", "move": {"x": 1}, "status": "completed"},
        Link("c1", "robot"),
    ),
    "of the future, named": (
        {"type": "robot_call", "call_id": "c1", "name": "robot", "arguments": {"x": 1}},
        Link("c1", "robot"),
    ),
}
OUTPUTS: dict[str, tuple[Any, Link]] = {
    "function": (output(), Link("c1")),
    "function, empty": (output(said=""), Link("c1")),
    "function, null": (output(said=None), Link("c1")),
    "function, absent": ({"type": "function_call_output", "call_id": "c1"}, Link("c1")),
    "function, named": (output(name="look"), Link("c1", "look")),
    "function, by name only": (output(None, name="look"), Link(None, "look")),
    "function, in parts": (
        output(
            said=[
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "file_id": "file-1", "detail": "auto"},
            ]
        ),
        Link("c1"),
    ),
    "function, in one part": (output(said=[{"type": "input_text", "text": "a"}]), Link("c1")),
    "function, in no parts": (output(said=[]), Link("c1")),
    "function, as an object": (output(said={"a": [1, 1.0]}), Link("c1")),
    "function, in strange parts": (output(said=[{"type": "text", "text": "a"}]), Link("c1")),
    "function, as a number": (output(said=5), Link("c1")),
    "custom": (
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok", "id": None},
        Link("c1"),
    ),
    "computer": (
        {
            "type": "computer_call_output",
            "call_id": "c1",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"},
            "acknowledged_safety_checks": [],
        },
        Link("c1"),
    ),
    "local shell": (
        {"type": "local_shell_call_output", "call_id": "c1", "id": "lsh_1", "output": "ok"},
        Link("c1"),
    ),
    "local shell by id": (
        {"type": "local_shell_call_output", "id": "c1", "output": "ok"},
        Link("c1"),
    ),
    "shell": (
        {
            "type": "shell_call_output",
            "call_id": "c1",
            "max_output_length": 100,
            "output": [
                {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                {"stdout": "", "stderr": "b", "outcome": {"type": "timeout"}},
                {"stdout": "", "stderr": ""},
            ],
        },
        Link("c1"),
    ),
    "shell of another shape": (
        {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a"}]},
        Link("c1"),
    ),
    "shell of another kind": (
        {"type": "shell_call_output", "call_id": "c1", "output": {"stdout": "a"}},
        Link("c1"),
    ),
    "shell of texts": (
        {"type": "shell_call_output", "call_id": "c1", "output": ["a"]},
        Link("c1"),
    ),
    "computer in words": (
        {
            "type": "computer_call_output",
            "call_id": "c1",
            "output": {"type": "input_text", "text": "gone"},
        },
        Link("c1"),
    ),
    "shell of no output": (
        {"type": "shell_call_output", "call_id": "c1", "output": []},
        Link("c1"),
    ),
    "patch that failed": (
        {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no"},
        Link("c1"),
    ),
    "patch without a word": (
        {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed"},
        Link("c1"),
    ),
    "tool search": (
        {
            "type": "tool_search_output",
            "call_id": "c1",
            "execution": "client",
            "tools": [{"type": "function", "name": "a"}],
        },
        Link("c1"),
    ),
    "tool search of nothing": (
        {"type": "tool_search_output", "call_id": "c1", "tools": []},
        Link("c1"),
    ),
    "approval": (
        {
            "type": "mcp_approval_response",
            "approval_request_id": "mcpr_1",
            "approve": False,
            "reason": "Too bold.",
        },
        Link("mcpr_1"),
    ),
    "program": (
        {
            "type": "program_output",
            "id": "p",
            "call_id": "c1",
            "result": "1",
            "status": "completed",
        },
        Link("c1"),
    ),
    "of the future": (
        {"type": "robot_call_output", "call_id": "c1", "output": {"at": 1}, "battery": 0.5},
        Link("c1"),
    ),
}
REASONING: dict[str, Any] = {
    "nothing": reasoning(),
    "sealed": reasoning(encrypted_content=SEALED),
    "not sealed": reasoning(encrypted_content=None, status=None),
    "summaries": reasoning(
        summary=[{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
        encrypted_content=SEALED,
    ),
    "content": reasoning(content=[{"type": "reasoning_text", "text": "hm"}], status="completed"),
    "both": reasoning(
        summary=[{"type": "summary_text", "text": "a", "extra": 1}],
        content=[{"type": "text", "text": "hm"}, {"text": ""}],
    ),
    "no fields": {"type": "reasoning"},
    "nulls": {"type": "reasoning", "summary": None, "content": None},
    "empty content": reasoning(content=[]),
}
NATIVES: dict[str, Any] = {
    "web search": {"type": "web_search_call", "id": "ws_1", "action": {"query": "a"}},
    "file search": {"type": "file_search_call", "id": "fs_1", "queries": ["a"], "results": None},
    "code": {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "outputs": None},
    "an image being made": {"type": "image_generation_call", "id": "ig_1", "result": None},
    "mcp": {"type": "mcp_call", "id": "mcp_1", "name": "a", "arguments": "{}", "output": "ok"},
    "mcp tools": {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "a", "tools": []},
    "server search": {"type": "tool_search_call", "call_id": None, "execution": "server"},
    "server search with an id": {
        "type": "tool_search_call",
        "call_id": "c1",
        "execution": "server",
    },
    "server found": {"type": "tool_search_output", "execution": "server", "tools": []},
    "tools": {"type": "additional_tools", "role": "developer", "tools": [{"name": "a"}]},
    "settings": {"type": "configuration_update", "reasoning": {"effort": "low"}},
    "compaction": {"type": "compaction", "id": "cmp_1", "encrypted_content": SEALED},
    "order": {"type": "compaction_trigger"},
    "reference": {"type": "item_reference", "id": "msg_1"},
    "bare reference": {"id": "msg_1"},
    "of the future": {"type": "weather_call", "id": "w_1", "result": "rain"},
}
IMAGE = {"type": "image_generation_call", "id": "ig", "status": "completed", "result": "AAAA"}
ITEMS: dict[str, Any] = {
    **MESSAGES,
    **{f"call: {name}": item for name, (item, _) in CALLS.items()},
    **{f"output: {name}": item for name, (item, _) in OUTPUTS.items()},
    **{f"reasoning: {name}": item for name, item in REASONING.items()},
    **{f"native: {name}": item for name, item in NATIVES.items()},
    "an image": IMAGE,
    "a webp image": {**IMAGE, "output_format": "webp", "revised_prompt": "A cat"},
    "lone surrogates": {"role": "user", "content": "\ud800\x00", "extra": "\udfff"},
}


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_an_item_comes_back_as_it_was_and_describes_as_it_lifts(item):
    """The three laws of a dialect, and that the stored form carries all of it."""
    before = json.dumps(item)

    lifted = OPENAI_RESPONSES.lift(item)
    (lowered,) = OPENAI_RESPONSES.lower(decode_message(encode_message(lifted)))

    assert canonical_json(lowered) == canonical_json(item)
    assert OPENAI_RESPONSES.describe(item) == facts_of(lifted)
    assert OPENAI_RESPONSES.content(item) == content_of(lifted)
    assert json.dumps(item) == before


@pytest.mark.parametrize(("item", "link"), CALLS.values(), ids=CALLS)
def test_every_kind_of_call_waits_for_its_output_by_id(item, link):
    """So no view can part the two."""
    assert OPENAI_RESPONSES.describe(item) == Facts("assistant", calls=(link,))


@pytest.mark.parametrize(("item", "link"), OUTPUTS.values(), ids=OUTPUTS)
def test_every_kind_of_output_answers_by_id(item, link):
    assert OPENAI_RESPONSES.describe(item) == Facts("tool", results=(link,))


@pytest.mark.parametrize("item", REASONING.values(), ids=REASONING)
def test_reasoning_stands_before_what_it_belongs_to(item):
    assert OPENAI_RESPONSES.describe(item) == Facts("assistant", leads=True)


@pytest.mark.parametrize("item", NATIVES.values(), ids=NATIVES)
def test_what_has_no_canonical_form_is_kept_with_a_reason(item):
    """Tool definitions and settings belong to the system, everything else to the assistant."""
    (part,) = OPENAI_RESPONSES.lift(item).parts

    assert isinstance(part, Native)
    assert part.kind in NATIVE_KINDS or part.kind == "weather_call"
    assert json.loads(part.raw) == item
    assert OPENAI_RESPONSES.describe(item).role in ("assistant", "system")


def test_all_that_is_not_in_the_list_of_natives_has_a_canonical_form():
    for name, item in ITEMS.items():
        if name.startswith("native: "):
            continue
        for part in OPENAI_RESPONSES.lift(item).parts:
            assert not isinstance(part, Native) or part.kind.startswith(("input_", "encrypted"))


def test_everything_a_model_reads_is_counted_and_ciphertext_is_not():
    """Names and arguments, texts, outputs; media by kind."""
    count = OPENAI_RESPONSES.content

    assert count(call(arguments='{"a":1}')) == Content(("look", '{"a":1}'))
    assert count(output(said="ok")) == Content(("ok",))
    assert count(REASONING["summaries"]) == Content(("a", "b"))
    assert count(OUTPUTS["shell"][0]) == Content(("a", "b"))
    assert count(OUTPUTS["computer"][0]) == Content((), ("image",))
    assert count(IMAGE) == Content((), ("image",))
    assert "gAAA" not in "".join(count(NATIVES["compaction"]).texts)
    assert "rain" in "".join(count(NATIVES["of the future"]).texts)


def test_a_failed_patch_is_an_error():
    (part,) = OPENAI_RESPONSES.lift(OUTPUTS["patch that failed"][0]).parts

    assert isinstance(part, ToolResult)
    assert part.is_error


def test_reasoning_with_a_seal_belongs_to_its_provider():
    """Only text that anyone can read is without a provider."""
    sealed = OPENAI_RESPONSES.lift(REASONING["summaries"]).parts
    plain = OPENAI_RESPONSES.lift(REASONING["content"]).parts

    assert [(p.text, p.signature, p.provider) for p in sealed] == [
        ("a", SEALED, "openai-responses"),
        ("b", None, "openai-responses"),
    ]
    assert [(p.text, p.signature, p.provider) for p in plain] == [("hm", None, "")]


class SDKObject:
    """Stands for the pydantic objects of the provider's SDK."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.fields


def test_sdk_objects_are_read_among_dicts():
    whole = SDKObject(**call())

    assert OPENAI_RESPONSES.describe(whole) == OPENAI_RESPONSES.describe(call())
    assert OPENAI_RESPONSES.lower(OPENAI_RESPONSES.lift(whole)) == (call(),)


OF_OTHER_WIRES = {
    "nothing": None,
    "text": "hello",
    "an empty object": {},
    "chat calls": {"role": "assistant", "content": "", "tool_calls": []},
    "a chat result": {"role": "tool", "tool_call_id": "a", "content": "ok"},
    "chat parts": {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    "chat null content": {"role": "assistant", "content": None},
    "gemini": {"role": "user", "parts": [{"text": "Hi"}]},
    "bedrock": {"role": "user", "content": [{"text": "Hi"}]},
    "an anthropic response": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}],
    },
    "a line of a session log": {"type": "user", "message": {"role": "user", "content": "Hi"}},
    "another session log": {"type": "message", "id": "1", "message": {"role": "user"}},
    "langchain": {"type": "human", "content": "Hi"},
    "a message of thusfar": Message("user", "Hi"),
    "an unknown role": {"role": "critic", "content": "Hi"},
    "a role that is no text": {"role": ["user"], "content": "Hi"},
    "content as a number": {"role": "user", "content": 5},
    "parts that are none": {"role": "user", "content": ["Hi"]},
    "text that is none": {"role": "user", "content": [{"type": "input_text", "text": 1}]},
    "a call id as a number": call(1),
    "a name as a number": call(name=1),
    "arguments as an object": call(arguments={}),
    "an output id as a number": output(1),
    "an output name as a number": output(name=1),
    "a summary as text": {"type": "reasoning", "summary": "hm"},
    "a summary of numbers": {"type": "reasoning", "summary": [1]},
    "a summary without text": {"type": "reasoning", "summary": [{"type": "summary_text"}]},
    "an unknown type": {"type": "thread", "id": "1"},
    "a type that is no text": {"type": 5, "id": "1"},
    "a reference to a number": {"type": "item_reference", "id": 1},
    "a future call without ids": {"type": "weather_call"},
}


@pytest.mark.parametrize("verb", ["describe", "content", "lift"])
@pytest.mark.parametrize("item", OF_OTHER_WIRES.values(), ids=OF_OTHER_WIRES)
def test_an_item_of_another_shape_is_refused(verb, item):
    """By the one signal that detection waits for."""
    with pytest.raises(DialectMismatch):
        getattr(OPENAI_RESPONSES, verb)(item)


def test_leftovers_that_are_not_json_are_refused():
    with pytest.raises(TranscriptError):
        OPENAI_RESPONSES.lift(call(blob=b"\x00"))


# Lowering what other dialects lifted.


def test_a_canonical_message_becomes_the_items_it_needs():
    """Text, each call and each result are items of their own, in order."""
    turn = Message("assistant", (Text("Looking."), ToolCall("c1", "look"), ToolCall("c2", "go")))
    results = Message(
        "tool",
        (ToolResult("c1", "look", (Text("ok"),)), ToolResult("c2", None, (Text("a"), Text("b")))),
    )

    assert OPENAI_RESPONSES.lower(turn) == (
        {"role": "assistant", "content": "Looking."},
        call("c1"),
        call("c2", "go"),
    )
    assert OPENAI_RESPONSES.lower(results) == (
        output("c1"),
        output("c2", [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]),
    )
    assert OPENAI_RESPONSES.lower(Message("user", ())) == ({"role": "user", "content": ""},)


def test_several_items_lifted_into_one_message_come_apart_again():
    """An adapter may join what belongs to one model step."""
    items = (
        REASONING["summaries"],
        {**REASONING["both"], "id": "rs_2"},
        MESSAGES["an answer"],
        call("c1", id="fc_1"),
        IMAGE,
        NATIVES["web search"],
    )
    lifted = [OPENAI_RESPONSES.lift(item) for item in items]
    joined = Message(
        "assistant", tuple(part for each in lifted for part in each.parts), wire=lifted[2].wire
    )

    assert [canonical_json(item) for item in OPENAI_RESPONSES.lower(joined)] == [
        canonical_json(item) for item in items
    ]


def test_media_of_another_provider_is_written_in_its_own_parts():
    parts = (
        Text("Look."),
        Image(mime="image/png", data="AAAA"),
        Image(url="https://x.test/a.png"),
        File(url="https://x.test/a.pdf"),
        File(mime="application/pdf", data="JVBE", name="a.pdf"),
        Audio(mime="audio/wav", data="UklG"),
    )

    (message,) = OPENAI_RESPONSES.lower(Message("user", parts))

    assert message["content"] == [
        {"type": "input_text", "text": "Look."},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_image", "image_url": "https://x.test/a.png"},
        {"type": "input_file", "file_url": "https://x.test/a.pdf"},
        {
            "type": "input_file",
            "file_data": "data:application/pdf;base64,JVBE",
            "filename": "a.pdf",
        },
        {"type": "input_audio", "input_audio": {"format": "wav", "data": "UklG"}},
    ]


def test_reasoning_that_lost_its_note_keeps_its_seal():
    """The id is gone; the sealed content alone is what the model reads."""
    part = Reasoning("so", signature=SEALED, provider="openai-responses")

    assert OPENAI_RESPONSES.lower(Message("assistant", (part, Text("4")))) == (
        {
            "type": "reasoning",
            "encrypted_content": SEALED,
            "summary": [{"type": "summary_text", "text": "so"}],
        },
        {"role": "assistant", "content": "4"},
    )


def test_shell_output_that_was_shortened_keeps_how_the_command_ended():
    """The new text has no note; it goes to the first stream."""
    (result,) = OPENAI_RESPONSES.lift(OUTPUTS["shell"][0]).parts
    assert isinstance(result, ToolResult)
    short = ToolResult("c1", None, (Text("a…"),), wire=result.wire)

    (item,) = OPENAI_RESPONSES.lower(Message("tool", (short,)))

    assert item["output"] == [
        {"stdout": "a…", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
        {"stdout": "", "stderr": ""},
    ]


def test_shell_text_of_a_place_that_is_gone_goes_to_the_last_chunk():
    (result,) = OPENAI_RESPONSES.lift(OUTPUTS["shell"][0]).parts
    assert isinstance(result, ToolResult)
    far = Text("!", wire='{"openai-responses":{"chunk":9,"stream":"stderr"}}')

    (item,) = OPENAI_RESPONSES.lower(
        Message("tool", (ToolResult("c1", None, (far,), wire=result.wire),))
    )

    assert item["output"][2] == {"stdout": "", "stderr": "!"}


def test_an_edited_free_output_is_written_as_text():
    """Where the API takes plain text, a text that is no longer JSON is no fault."""
    (item,) = OPENAI_RESPONSES.lower(edited("function, as an object", Text('{"a": [1, …')))

    assert item["output"] == '{"a": [1, …'


ANSWERS: dict[str, tuple[bool, dict[str, Any]]] = {
    "function": (True, {"type": "function_call_output", "output": "Unknown."}),
    "custom": (True, {"type": "custom_tool_call_output", "output": "Unknown."}),
    "local shell": (True, {"type": "local_shell_call_output", "output": "Unknown."}),
    "patch": (
        True,
        {"type": "apply_patch_call_output", "status": "failed", "output": "Unknown."},
    ),
    "shell": (
        True,
        {
            "type": "shell_call_output",
            "output": [{"outcome": {"type": "timeout"}, "stdout": "Unknown.", "stderr": ""}],
        },
    ),
    "approval": (
        True,
        {"type": "mcp_approval_response", "approve": False, "reason": "Unknown."},
    ),
}


@pytest.mark.parametrize(("failed", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_a_result_with_the_note_of_its_call_becomes_the_output_it_asks_for(
    failed, expected, request
):
    """The API pairs outputs by type as well as by id."""
    (made,) = OPENAI_RESPONSES.lift(CALLS[request.node.callspec.id][0]).parts
    assert isinstance(made, ToolCall)
    result = ToolResult(made.id, None, (Text("Unknown."),), is_error=failed, wire=made.wire)

    (item,) = OPENAI_RESPONSES.lower(Message("tool", (result,)))

    id_field = "approval_request_id" if "approve" in expected else "call_id"
    assert item == {**expected, id_field: made.id}


def edited(name: str, *parts: Any) -> Message:
    (result,) = OPENAI_RESPONSES.lift(OUTPUTS[name][0]).parts
    assert isinstance(result, ToolResult)
    return Message("tool", (ToolResult("c1", None, parts, wire=result.wire),))


UNSUPPORTED = {
    "reasoning of another provider": Message("assistant", (Reasoning("hm"),)),
    "sealed reasoning": Message("assistant", (Reasoning("", "sig", provider="anthropic"),)),
    "a native block": Message("user", (Native("anthropic", "x", "{}"),)),
    "a call without id": Message("assistant", (ToolCall(None, "f"),)),
    "a result without id": Message("tool", (ToolResult(None, "f", (Text("ok"),)),)),
    "a call by the user": Message("user", (ToolCall("c", "f"),)),
    "a result in the role assistant": Message("assistant", (ToolResult("c"),)),
    "text in the role tool": Message("tool", (Text("ok"),)),
    "an image by the assistant": Message("assistant", (Image(url="https://x.test"),)),
    "an image of nothing": Message("user", (Image(),)),
    "sound by url": Message("user", (Audio(url="https://x.test"),)),
    "the name of a speaker": Message("user", "Hi", name="ann"),
    "a screenshot that became text": edited("computer", Text("gone")),
    "tools that are no JSON": edited("tool search", Text("[{")),
    "an object that became text": edited("of the future", Text("gone")),
    "a text in answer to a screen": Message(
        "tool",
        (
            ToolResult(
                "c1",
                None,
                (Text("Unknown."),),
                wire='{"openai-responses":{"kind":"computer_call"}}',
            ),
        ),
    ),
    "arguments of a shell that are no object": Message(
        "assistant",
        (ToolCall("c1", "shell", "[]", wire='{"openai-responses":{"kind":"shell_call"}}'),),
    ),
    "arguments of a shell that are no JSON": Message(
        "assistant",
        (ToolCall("c1", "shell", "{", wire='{"openai-responses":{"kind":"shell_call"}}'),),
    ),
    "sound without format": Message("user", (Audio(data="UklG"),)),
    "an image as shell output": edited("shell", Image(url="https://x.test")),
}


@pytest.mark.parametrize("message", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_a_part_without_a_form_here_is_refused_by_name(message):
    """Nothing is dropped in silence."""
    with pytest.raises(UnsupportedPartError) as caught:
        OPENAI_RESPONSES.lower(message)

    assert caught.value.facts == {"dialect": "openai-responses"}


# Wire rules.

ASK = {"role": "user", "content": "Go."}
SAY = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
ALLOWED = [
    [],
    [ASK],
    [ASK, call(), output(), SAY],
    [call("a"), call("b"), output("b"), output("a")],
    [call(), NATIVES["tools"], output()],
    [reasoning(), call(), output()],
    [reasoning(), {**reasoning(), "id": "rs_2"}, SAY],
    [reasoning(), NATIVES["compaction"], ASK],
    [NATIVES["reference"], output()],
    [call(), NATIVES["bare reference"]],
    [CALLS["local shell"][0], OUTPUTS["local shell by id"][0]],
    [call(), output(), call(), output()],
    [ASK, ASK],
]
REFUSED = [
    ("role", 0, [{"role": "tool", "content": "Hi"}]),
    ("calls-answered", 0, [call()]),
    ("calls-answered", 1, [ASK, call("a"), call("b"), output("b")]),
    ("calls-answered", 2, [call(), output(), call()]),
    ("calls-answered", 0, [CALLS["custom"][0], ASK]),
    ("calls-answered", 0, [CALLS["local shell"][0], ASK]),
    ("output-follows-call", 0, [output()]),
    ("output-follows-call", 1, [call("a"), output("b"), output("a")]),
    ("reasoning-followed", 0, [reasoning()]),
    ("reasoning-followed", 0, [reasoning(), ASK]),
    ("reasoning-followed", 2, [call(), reasoning(), {**reasoning(), "id": "rs_2"}, output()]),
    ("id-length", 0, [{**SAY, "id": "msg_" + "a" * 61}]),
    ("id-length", 0, [call("a" * 65), output("a" * 65)]),
    ("call-id-not-empty", 1, [call(""), output("")]),
    ("id-characters", 0, [{**SAY, "id": ""}]),
    ("id-characters", 0, [{**SAY, "id": "msg 1"}]),
    ("id-prefix", 0, [{**SAY, "id": "rs_1"}]),
    ("id-prefix", 0, [call(id="call_1"), output()]),
    ("id-once", 1, [SAY, SAY]),
]


def findings(messages: list[Any], **wire: Any) -> list[tuple[str, int]]:
    found = check_wire(RULES, Wire(messages=messages, **wire))
    return [(each.rule.removeprefix("openai-responses/"), each.position) for each in found]


@pytest.mark.parametrize("messages", ALLOWED)
def test_a_request_that_the_api_accepts_breaks_no_rule(messages):
    assert findings(messages) == []


@pytest.mark.parametrize(("rule", "position", "messages"), REFUSED)
def test_a_request_that_the_api_refuses_breaks_a_rule_at_its_place(rule, position, messages):
    if rule == "reasoning-followed" and position == 2:
        assert findings(messages)[-1] == (rule, position)
    assert (rule, position) in findings(messages)


def test_an_output_may_answer_a_call_that_the_provider_holds():
    """With a previous response or a stored conversation."""
    assert findings([output()], continued=True) == []
    assert findings([output()]) == [("output-follows-call", 0)]


def test_every_rule_says_what_must_hold_and_where_that_comes_from():
    names = {rule.name.removeprefix("openai-responses/") for rule in RULES}

    assert names == {rule for rule, _, _ in REFUSED}
    assert all("2026-11-30" in rule.source and rule.statement.endswith(".") for rule in RULES)


def test_rules_look_at_anything_without_raising():
    odd = [None, 5, {}, {"role": []}, {"type": [], "id": 1, "call_id": {}}, call([]), output([])]

    assert findings([*odd, {"role": "tool", "content": "Hi"}])


# Whatever is thrown at it.

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(0, 1)
    | st.sampled_from(
        ["", "x", "user", "assistant", "message", "reasoning", "input_text", "server", "[]", "{}"]
    )
)
BESIDE = ("id", "status", "name", "call_id", "output", "arguments", "encrypted_content", "extra")
FIELDS = st.sampled_from(
    [
        *BESIDE,
        "type",
        "role",
        "content",
        "text",
        "summary",
        "action",
        "input",
        "image_url",
        "file_id",
        "stdout",
        "stderr",
        "tools",
        "execution",
        "result",
        "approve",
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """An item of the list above with one place replaced and some other fields set."""
    item = json.loads(json.dumps(draw(st.sampled_from(list(ITEMS.values())))))
    places: list[tuple[Any, Any]] = []
    stack: list[Any] = [item]
    while stack:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        places += [(node, key) for key in keys]
        stack += [node[key] for key in keys if isinstance(node[key], dict | list)]
    node, key = draw(st.sampled_from(places))
    node[key] = draw(st.one_of(SCALARS, SCALARS, VALUES))
    item.update(draw(st.dictionaries(st.sampled_from(BESIDE), VALUES, max_size=2)))
    return item


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(item=st.one_of(damaged(), damaged(), damaged(), VALUES))
def test_any_item_keeps_the_laws_or_is_refused_by_type(item):
    """Never an AttributeError, KeyError or TypeError; what is described can be lifted."""
    try:
        facts = OPENAI_RESPONSES.describe(item)
    except DialectMismatch:
        with pytest.raises(DialectMismatch):
            OPENAI_RESPONSES.lift(item)
        with pytest.raises(DialectMismatch):
            OPENAI_RESPONSES.content(item)
        return

    lifted = OPENAI_RESPONSES.lift(item)
    assert facts == facts_of(lifted)
    assert OPENAI_RESPONSES.content(item) == content_of(lifted)
    (lowered,) = OPENAI_RESPONSES.lower(lifted)
    assert canonical_json(lowered) == canonical_json(item)
    check_wire(RULES, Wire(messages=[item]))


@settings(max_examples=100, deadline=None)
@given(
    parts=st.lists(
        st.builds(Text, st.text(max_size=3))
        | st.builds(Reasoning, st.text(max_size=3), provider=st.just("openai-responses"))
        | st.builds(ToolCall, st.none() | st.just("c"), st.just("f"), st.text(max_size=3))
        | st.builds(ToolResult, st.none() | st.just("c"), st.none() | st.just("f"))
        | st.builds(Image, mime=st.sampled_from(["", "image/png"]), data=st.sampled_from(["", "A"]))
        | st.builds(
            Native, st.sampled_from(["openai-responses", "gemini"]), st.just("x"), st.text()
        ),
        max_size=3,
    ).map(tuple),
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    note=VALUES,
)
def test_any_canonical_message_is_written_or_refused_by_type(parts, role, note):
    """Whatever its notes say."""
    wire = json.dumps({"openai-responses": note})
    noted = tuple(
        type(part)(**{f: getattr(part, f) for f in part.__struct_fields__} | {"wire": wire})
        if "wire" in part.__struct_fields__
        else part
        for part in parts
    )
    for made in (parts, noted):
        try:
            OPENAI_RESPONSES.lower(Message(role, made, wire=wire))
        except (UnsupportedPartError, TranscriptError):
            continue
