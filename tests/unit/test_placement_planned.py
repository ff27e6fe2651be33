"""Planned requests are placed, say so on the receipt, and count what that adds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    RequestTooLargeError,
    Scripted,
    history,
    inspect_request_sync,
    plan_sync,
    preview_sync,
)
from thusfar.runtime.edge import Runtime
from thusfar.storage import open_store

WIRES = ("anthropic", "bedrock-converse", "gemini")
ASK = {"role": "user", "content": "Q"}
TALK = [{"role": "assistant", "content": "Hello."}, ASK]


class Words:
    """Counts words; so a request weighs what its texts say."""

    name = "words"
    confidence = "exact"

    def count_many(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def planned(messages: list[Any], **options: Any) -> Any:
    asked = {"model": "answering", "counter": Words(), "dialect": "openai-chat", **options}
    return plan_sync(messages, **asked)


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_says_what_was_changed_for_its_provider_and_what_that_weighs(wire: str):
    made = planned(TALK, wire=wire, cache=False)

    receipt = made.receipt
    assert [(note.code, note.positions) for note in receipt.placement] == [("user-first", (0,))]
    assert receipt.input_tokens == 5  # the two messages, and three words before them
    assert dict(made.inspect().breakdown) == {"history": 2, "placement": 3}
    assert json.dumps(made.messages).count("[The conversation continues.]") == 1
    assert "placed     user-first at 0" in str(receipt)
    assert receipt.to_json()["placement"] == [{"code": "user-first", "positions": [0]}]


def test_a_request_that_needs_no_change_holds_the_callers_objects_and_says_nothing():
    messages = [ASK, {"role": "assistant", "content": "A"}, ASK]

    made = planned(messages, dialect="anthropic", cache=False)

    assert all(a is b for a, b in zip(made.messages, messages, strict=True))
    assert made.receipt.placement == ()
    assert "placement" not in dict(made.inspect().breakdown)


def test_a_preview_says_the_same():
    asked: dict[str, Any] = {"model": "answering", "counter": Words(), "wire": "anthropic"}

    seen = preview_sync(TALK, dialect="openai-chat", cache=False, **asked)

    assert seen.input_tokens == 5
    assert seen.receipt is not None
    assert [note.code for note in seen.receipt.placement] == ["user-first"]


def test_what_is_added_may_not_pass_the_maximum():
    long = [{"role": "assistant", "content": "word " * 10}, *TALK]

    fits = planned(long, wire="gemini", budget=InputBudget(max=15, optimize_at=15))
    with pytest.raises(RequestTooLargeError) as refused:
        planned(long, wire="gemini", budget=InputBudget(max=14, optimize_at=14))

    assert fits.receipt.input_tokens == 15
    assert refused.value.facts["max_input_tokens"] == 14


def test_a_smaller_form_is_taken_where_only_what_is_added_would_not_fit():
    talk = [
        {"role": "assistant" if at % 2 == 0 else "user", "content": "word " * 10} for at in range(9)
    ]
    policy = history(recent=3, summary={"model": Scripted("They talked.")})

    made = planned(talk, wire="gemini", policy=policy, budget=InputBudget(max=92, optimize_at=92))

    assert made.receipt.history.artifact is not None
    assert made.receipt.input_tokens <= 92


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("most", range(12, 18))
def test_a_preview_keeps_room_for_what_is_added_as_the_plan_does(wire: str, most: int):
    long = [{"role": "assistant", "content": "word " * 10}, *TALK]
    asked = {"wire": wire, "budget": InputBudget(max=most, optimize_at=most)}

    seen = preview_sync(long, model="answering", counter=Words(), dialect="openai-chat", **asked)

    if most < 15:
        assert seen.status == "over-limit"
        with pytest.raises(RequestTooLargeError):
            planned(long, **asked)
    else:
        assert seen.status == "fits"
        made = planned(long, **asked)
        assert (seen.input_tokens, seen.receipt.placement) == (15, made.receipt.placement)


def test_tools_that_are_not_offered_any_more_are_defined_and_counted():
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
    messages = [
        ASK,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
    ]
    made = planned(messages, dialect="anthropic", cache=False)

    assert [tool["name"] for tool in made.kwargs["tools"]] == ["look"]
    assert made.tools == ()
    assert dict(made.inspect().breakdown)["placement"] > 0
    assert [note.code for note in made.receipt.placement] == ["tools-added"]


@pytest.mark.parametrize("wire", [*WIRES, "openai-responses"])
def test_a_conversation_of_the_first_tools_wire_goes_on_at_every_provider(wire: str):
    messages = [
        ASK,
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": ""}},
        {"role": "function", "name": "look", "content": "seen"},
        ASK,
    ]
    made = planned(messages, wire=wire, cache=False)

    sent = json.dumps(made.kwargs)
    assert "seen" in sent
    assert ("call_1" in sent) == (wire != "gemini")
    codes = {note.code for note in made.receipt.placement}
    assert ("ids-renamed" in codes) == (wire != "gemini")


def test_thinking_is_left_out_of_a_view_that_begins_later():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "A"}]}
    talk = [ASK, answer] * 4 + [ASK]

    whole = planned(talk, dialect="anthropic", cache=False)
    recent = planned(talk, dialect="anthropic", cache=False, policy=history.recent(3))

    assert whole.messages[1] is answer
    assert "thinking" not in json.dumps(recent.messages)
    assert [note.code for note in recent.receipt.placement] == ["reasoning-left-out"]


def test_breakpoints_are_set_unless_the_caller_says_otherwise():
    marked = planned([ASK], dialect="anthropic", system="Be brief.")
    bare = planned([ASK], dialect="anthropic", system="Be brief.", cache=False)

    assert marked.kwargs["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert bare.kwargs["system"] == "Be brief."
    assert ASK == {"role": "user", "content": "Q"}


def test_a_stored_receipt_keeps_what_was_changed(tmp_path):
    url = f"sqlite:///{tmp_path}/receipts.db"
    first = open_store(url)
    made = planned(TALK, wire="anthropic", cache=False, runtime=Runtime(first))
    first.close()
    second = open_store(url)

    kept = inspect_request_sync(made.receipt, store=second)
    second.close()

    assert dict(kept.breakdown)["placement"] == 3


def test_a_projection_is_never_placed():
    view = history.recent(2).project(TALK, dialect="anthropic")

    assert all(a is b for a, b in zip(view.messages, TALK, strict=True))


def test_positions_on_the_receipt_are_those_of_the_request():
    """Two calls and their results are two messages here, and four items there."""
    call = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        ASK,
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [{"id": "x" * 70, **call}, {"id": "c2", **call}],
        },
        {"role": "tool", "tool_call_id": "x" * 70, "content": "a"},
        {"role": "tool", "tool_call_id": "c2", "content": "b"},
    ]
    made = planned(messages, wire="openai-responses")

    assert len(made.messages) == 6
    assert [(note.code, note.positions) for note in made.receipt.placement] == [
        ("ids-renamed", (1, 2))
    ]


def test_what_has_no_form_on_the_wire_is_named_where_it_may_be_left_out():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "A"}]}

    made = planned([ASK, answer, ASK], dialect="anthropic", wire="openai-chat", leave_out=True)

    assert [(note.code, note.positions) for note in made.receipt.placement] == [
        ("parts-left-out", (1,))
    ]


def test_the_command_line_shows_what_was_changed(tmp_path, capsys):
    from thusfar.cli import main

    path = tmp_path / "request.json"
    body = {"model": "claude-sonnet-4-5", "system": "Be brief.", "messages": TALK}
    path.write_text(json.dumps(body), encoding="utf-8")

    status = main(["plan", str(path)])

    assert status in (0, None)
    assert "Changed for the provider\n  user-first at 0" in capsys.readouterr().out
