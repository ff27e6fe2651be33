"""Repairs and digests in the form of the caller's list, and in what each type of call asks for."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    messages_from_dict,
    messages_to_dict,
)
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)

from thusfar import Message, ToolCall, dialect, history, summarize
from thusfar.dialects.openai_responses_rules import RULES
from thusfar.dialects.rules import Wire, check_wire

ASKED = {"role": "user", "content": "Go on."}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "py", "input": "1"}
SHELL = {
    "type": "shell_call",
    "call_id": "c1",
    "action": {"commands": ["ls"]},
    "status": "completed",
}
PATCH = {
    "type": "apply_patch_call",
    "call_id": "c1",
    "status": "completed",
    "operation": {"type": "delete_file", "path": "a"},
}
COMPUTER = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "c1",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}
FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
LATER = {"type": "later_call", "call_id": "c1", "name": "f"}


def closed(*items: dict[str, Any]) -> Any:
    return history.recent(50, repair="close").project(list(items), dialect="openai-responses")


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (FUNCTION, "function_call_output"),
        (CUSTOM, "custom_tool_call_output"),
        (SHELL, "shell_call_output"),
        (PATCH, "apply_patch_call_output"),
        (LATER, "later_call_output"),
    ],
)
def test_a_made_result_is_of_the_type_that_its_call_asks_for(call: dict[str, Any], kind: str):
    view = closed(ASKED, call, ASKED).messages

    assert view[:2] == [ASKED, call]
    assert view[2]["type"] == kind
    assert view[2]["call_id"] == "c1"
    assert "unknown" in json.dumps(view[2])


def test_a_made_shell_result_is_no_success_and_a_made_patch_result_failed():
    shell, patch = (closed(ASKED, call, ASKED).messages[2] for call in (SHELL, PATCH))

    assert shell["output"][0]["outcome"] == {"type": "timeout"}
    assert patch["status"] == "failed"


WITHOUT_ID = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize("call", [COMPUTER, WITHOUT_ID])
def test_a_call_that_no_text_can_answer_is_left_out_under_close(call: dict[str, Any]):
    projection = closed(ASKED, call, ASKED)

    assert projection.messages == [ASKED, ASKED]
    assert [(note.kind, note.reason) for note in projection.receipt.repairs] == [
        ("dropped", "unanswered-call")
    ]


@pytest.mark.parametrize("repair", ["drop", "close"])
def test_reasoning_goes_when_all_that_it_stands_before_is_left_out(repair: Any):
    transcript = [ASKED, REASONING, COMPUTER, ASKED, {"role": "assistant", "content": "Done."}]

    projection = history.recent(50, repair=repair).project(transcript, dialect="openai-responses")

    assert projection.messages == [transcript[0], *transcript[3:]]
    assert [(note.position, note.reason) for note in projection.receipt.repairs] == [
        (1, "paired-with-dropped"),
        (2, "unanswered-call"),
    ]
    assert not check_wire(RULES, Wire(messages=projection.messages))


def test_reasoning_stays_where_another_call_of_its_step_is_left():
    other = {**FUNCTION, "id": "fc_2", "call_id": "c2"}
    output = {"type": "function_call_output", "call_id": "c2", "output": "ok"}
    transcript = [ASKED, REASONING, FUNCTION, other, output, ASKED]

    projection = history.recent(50, repair="drop").project(transcript, dialect="openai-responses")

    assert projection.messages == [ASKED, REASONING, other, output, ASKED]


def test_a_cache_mark_of_a_call_is_not_put_on_its_made_result():
    mark = {"cache_control": {"type": "ephemeral"}}
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}, **mark}
    transcript = [ASKED, {"role": "assistant", "content": [call]}, ASKED]

    view = history.recent(9, repair="close").project(transcript).messages

    assert "cache_control" not in json.dumps(view[2])


def test_a_canonical_call_keeps_what_its_wire_asks_for_when_it_is_closed():
    responses = dialect("openai-responses")
    transcript = [responses.lift(item) for item in (ASKED, SHELL, ASKED)]

    view = history.recent(9, repair="close").project(transcript).messages

    assert [responses.lower(message)[0].get("type") for message in view] == [
        None,
        "shell_call",
        "shell_call_output",
        None,
    ]


LONG = "Tell me all of it. " * 300
LANGCHAIN = [
    HumanMessage(LONG),
    AIMessage("", tool_calls=[{"id": "c1", "name": "f", "args": {}}]),
    HumanMessage("Now?"),
    AIMessage("Yes."),
]
PYDANTIC_AI = [
    ModelRequest(parts=[UserPromptPart(LONG)]),
    ModelResponse(parts=[ToolCallPart("f", {}, tool_call_id="c1")]),
    ModelRequest(parts=[UserPromptPart("Now?")]),
    ModelResponse(parts=[TextPart("Yes.")]),
]
CANONICAL = [
    {"role": "user", "parts": [{"type": "text", "text": LONG}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f"}]},
    {"role": "user", "parts": [{"type": "text", "text": "Now?"}]},
    {"role": "assistant", "parts": [{"type": "text", "text": "Yes."}]},
]
POLICIES = [
    history.recent(9, repair="close"),
    history(recent=history.recent(1, repair="close"), summary=summarize.digest()),
]


def langchain_load(messages: list[Any]) -> None:
    assert len(messages_from_dict(messages)) == len(messages)


def langchain_dumpd(messages: list[Any]) -> list[Any]:
    from langchain_core.load import dumpd

    return [dumpd(message) for message in messages]


def langchain_undump(messages: list[Any]) -> None:
    from langchain_core.load import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain says that its loader may change
        assert all(load(message).type for message in messages)


def pydantic_ai_load(messages: list[Any]) -> None:
    assert len(ModelMessagesTypeAdapter.validate_python(messages)) == len(messages)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("transcript", "load"),
    [
        (messages_to_dict(LANGCHAIN), langchain_load),
        (langchain_dumpd(LANGCHAIN), langchain_undump),
        (ModelMessagesTypeAdapter.dump_python(PYDANTIC_AI, mode="json"), pydantic_ai_load),
        (CANONICAL, lambda messages: None),
    ],
)
def test_nothing_but_json_comes_into_a_list_of_json(policy: Any, transcript: Any, load: Any):
    projection = policy.project(transcript)

    assert projection.receipt.added
    again = json.loads(json.dumps(projection.messages))
    assert again == projection.messages
    load(again)
    assert history.exact().project(again).receipt.dialect == projection.receipt.dialect


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("transcript", [LANGCHAIN, PYDANTIC_AI])
def test_nothing_but_objects_comes_into_a_list_of_objects(policy: Any, transcript: Any):
    projection = policy.project(transcript)

    assert projection.receipt.added
    kinds = {type(message).__module__.partition(".")[0] for message in projection.messages}
    assert kinds == {type(transcript[0]).__module__.partition(".")[0]}


def test_a_message_comes_into_a_list_of_messages():
    transcript = [Message("user", "Hi"), Message("assistant", (ToolCall("c1", "f"),))]
    transcript += [Message("user", "Now?")]

    view = history.recent(9, repair="close").project(transcript).messages

    assert {type(message) for message in view} == {Message}
