"""Receipts of managed history: what they say where repairs, openers and oversized turns meet."""

from __future__ import annotations

from typing import Any

from thusfar import history, per_message, summarize


def asked(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def called(call_id: str) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "read", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def returned(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def digest_of(messages: list[dict[str, Any]], /, **recent: Any) -> Any:
    own = {id(message) for message in messages}
    weights = per_message(lambda message: 100 if id(message) in own else 1)
    policy = history(recent=history.recent(**recent), summary=summarize.digest())
    return policy.project(messages, counter=weights)


def test_a_result_made_for_a_summarised_call_is_not_counted_as_a_message_of_the_view():
    messages = [asked("a"), called("c1"), asked("b"), said("c"), asked("d"), said("e")]

    view = digest_of(messages, messages=2, repair="close")

    assert view.receipt.summarised == ((0, 4),)
    assert view.receipt.added == 1
    assert len(view.messages) == 3
    assert [(note.kind, note.position) for note in view.receipt.repairs] == [("closed", 1)]


def test_a_result_made_for_a_call_in_the_view_is_counted_beside_the_summary():
    messages = [asked("a"), said("b"), asked("c"), called("c1"), asked("d"), said("e")]

    view = digest_of(messages, messages=5, repair="close")

    assert view.receipt.summarised == ((0, 2),)
    assert view.receipt.added == 2
    assert len(view.messages) == 6


def test_a_suffix_and_its_opener_that_are_everything_need_no_summary():
    messages = [asked("a"), called("c1"), returned("c1")]

    view = digest_of(messages, messages=1)

    assert view.messages == messages
    assert view.receipt.summarised == ()
    assert view.receipt.opener == ((0, 1),)
    assert view.receipt.units.kept == 1
    assert [w.code for w in view.receipt.warnings] == [
        "HISTORY_CAP_OVERFLOW",
        "HISTORY_OPENER_OUTSIDE_CAP",
    ]
