"""Closing calls whose id is used again: each result still answers the call it answered."""

from __future__ import annotations

from typing import Any

from thusfar import history

ASKED = {"role": "user", "content": "go on"}
SAID = {"role": "assistant", "content": "so be it"}


def called(*call_ids: str) -> dict[str, Any]:
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": each, "type": "function", "function": function} for each in call_ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def returned(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def closed(messages: list[dict[str, Any]]) -> tuple[list[Any], Any]:
    view = history.recent(100, repair="close").project(messages)
    return view.messages, view.receipt


def test_a_made_result_stands_before_the_message_that_uses_its_id_again():
    messages = [ASKED, called("a", "b"), called("a"), returned("a"), returned("b"), SAID]

    view, receipt = closed(messages)

    assert view[:2] == messages[:2]
    assert view[2]["tool_call_id"] == "a"
    assert view[3:] == messages[2:]
    assert [(note.kind, note.position) for note in receipt.repairs] == [("closed", 1)]


def test_a_made_result_stands_behind_the_last_result_before_its_id_is_used_again():
    messages = [
        ASKED,
        called("a", "b", "c"),
        returned("b"),
        called("a"),
        returned("a"),
        returned("c"),
        SAID,
    ]

    view, _ = closed(messages)

    assert view[:3] == messages[:3]
    assert view[3]["tool_call_id"] == "a"
    assert view[4:] == messages[3:]


def test_without_ids_a_made_result_stands_before_the_next_call_of_the_same_name():
    def calling(*names: str) -> dict[str, Any]:
        calls = [{"functionCall": {"name": name, "args": {}}} for name in names]
        return {"role": "model", "parts": calls}

    def answering(name: str) -> dict[str, Any]:
        answer = {"functionResponse": {"name": name, "response": {"ok": True}}}
        return {"role": "user", "parts": [answer]}

    asked = {"role": "user", "parts": [{"text": "go on"}]}
    said = {"role": "model", "parts": [{"text": "so be it"}]}
    messages = [
        asked, calling("f", "g"), calling("f"), answering("g"), answering("f"), said,
    ]  # fmt: skip

    view, _ = closed(messages)

    assert view[:2] == messages[:2]
    assert view[2]["parts"][0]["functionResponse"]["name"] == "f"
    assert view[3:] == messages[2:]


def test_of_an_id_used_twice_in_one_message_only_the_call_with_the_result_is_sent():
    messages = [ASKED, called("a", "a"), returned("a"), SAID]

    view, receipt = closed(messages)

    assert view == [ASKED, called("a"), returned("a"), SAID]
    assert [(note.kind, note.position) for note in receipt.repairs] == [("rewritten", 1)]
    assert receipt.added == 1
    assert receipt.kept == ((0, 1), (2, 4))


def test_no_result_is_made_that_would_end_an_answer_of_which_a_call_still_waits():
    messages = [ASKED, called("a", "b"), called("a")]

    view, receipt = closed(messages)

    assert view == [ASKED, called("b"), called("a")]
    assert [(note.kind, note.position) for note in receipt.repairs] == [("rewritten", 1)]
    assert [warning.code for warning in receipt.warnings] == ["HISTORY_OPEN_CALLS"]
