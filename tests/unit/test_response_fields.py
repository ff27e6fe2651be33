"""Answers used as messages: what only a response has is not sent, and stays in every view."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from thusfar import Thread, history, plan_sync
from thusfar.errors import TranscriptError
from thusfar.storage.memory import MemoryStore

ASKED = {"role": "user", "content": "Which port?"}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "8080.", "citations": None}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "ports",
    "arguments": "{}",
    "status": "completed",
    "parsed_arguments": {},
}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "8080"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "8080", "annotations": [], "parsed": {"port": 1}}],
}
CHAT = {"role": "assistant", "content": "8080.", "refusal": None, "annotations": []}

SENT = {
    "anthropic": (
        "claude-sonnet-4-5",
        [ASKED, ANTHROPIC],
        [ASKED, {"role": "assistant", "content": ANTHROPIC["content"]}],
        ((1,),),
    ),
    "openai-responses": (
        "gpt-5",
        [ASKED, CALL, RESULT, SAID],
        [
            ASKED,
            {key: value for key, value in CALL.items() if key != "parsed_arguments"},
            RESULT,
            {
                **SAID,
                "content": [{"type": "output_text", "text": "8080", "annotations": []}],
            },
        ],
        ((1, 3),),
    ),
    "openai-chat": ("gpt-4o", [ASKED, CHAT], [ASKED, CHAT], ()),
}


class Answer:
    """An object of an SDK."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._body = body

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return copy.deepcopy(self._body)


@pytest.mark.parametrize("objects", [False, True], ids=["dicts", "objects"])
@pytest.mark.parametrize("wire", SENT)
def test_a_request_leaves_out_exactly_what_only_a_response_has(wire: str, objects: bool):
    model, given, sent, positions = SENT[wire]
    messages = [given[0], *(Answer(each) if objects else each for each in given[1:])]
    before = copy.deepcopy(given)

    planned = plan_sync(messages, model=model, dialect=wire, cache=False)

    made = [each.model_dump() if isinstance(each, Answer) else each for each in planned.messages]
    noted = [note.positions for note in planned.receipt.placement if note.code == "response-fields"]
    assert made == sent
    assert noted == list(positions)
    assert planned.receipt.warnings == ()
    assert given == before


@pytest.mark.parametrize("wire", SENT)
def test_a_view_has_the_callers_own_answers(wire: str):
    _, given, _, _ = SENT[wire]

    view = history.recent(9).project(given, dialect=wire).messages

    assert all(one is other for one, other in zip(view, given, strict=True))


@pytest.mark.parametrize(
    ("name", "model", "response"),
    [
        ("openai-chat", "gpt-4o", {"choices": []}),
        ("openai-chat", "gpt-4o", {"choices": [{"finish_reason": "error"}]}),
        ("openai-chat", "gpt-4o", {"error": {"message": "busy"}}),
        ("openai-chat", "gpt-4o", 5),
        ("openai-chat", "gpt-4o", ["text"]),
        ("gemini", "gemini-2.5-pro", {"candidates": [{"finishReason": "SAFETY"}]}),
        ("gemini", "gemini-2.5-pro", {"promptFeedback": {"blockReason": "SAFETY"}}),
        ("openai-responses", "gpt-5", {"status": "failed", "output": None}),
        ("anthropic", "claude-sonnet-4-5", {"type": "error", "error": {"type": "busy"}}),
    ],
)
@pytest.mark.parametrize("stored", [False, True])
def test_a_response_without_a_message_is_told_as_such(name, model, response, stored):
    """An answer that was blocked or failed is not taken for one, and nothing is stored."""
    thread = Thread("t", store=MemoryStore()) if stored else None
    planned = plan_sync(
        None if stored else [],
        thread=thread,
        turn="Hello",
        model=model,
        dialect=name,
        max_output_tokens=100,
    )

    with pytest.raises(TranscriptError, match="held no message"):
        planned.accept_sync(response)
    assert thread is None or thread.sync.transcript().messages == ()
