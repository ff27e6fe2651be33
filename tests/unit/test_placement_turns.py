"""Who speaks first, where system text and results go, and what is joined, wire by wire."""

from __future__ import annotations

from typing import Any

import pytest

from thusfar import dialect
from thusfar.dialects.placement import Placed, PlacementNote, place
from thusfar.messages import Message, Text, ToolCall, ToolResult

FIRST = ("anthropic", "bedrock-converse", "gemini")
U1, A1, U2 = Message("user", "Q1"), Message("assistant", "A1"), Message("user", "Q2")
NOTE = Message("system", "Cite numbers.")
FENCED = "<system-message>\nCite numbers.\n</system-message>"


def call(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(each, "look") for each in ids))


def result(call_id: str, text: str = "ok") -> Message:
    return Message("tool", (ToolResult(call_id, "look", (Text(text),)),))


def on(wire: str, *messages: Message) -> list[Any]:
    return [made for message in messages for made in dialect(wire).lower(message)]


def shown(wire: str, placed: Placed) -> list[tuple[str, list[str]]]:
    """The placed list in canonical words: role, then each part."""
    return [(m.role, list(map(_said, m.parts))) for m in map(dialect(wire).lift, placed.messages)]


def _said(part: Any) -> str:
    match part:
        case Text(text=text):
            return text
        case ToolCall(id=call_id):
            return f"call {call_id}"
        case ToolResult(call_id=call_id):
            return f"result {call_id}"
        case _:
            return type(part).__name__


def notes(placed: Placed) -> dict[str, tuple[int, ...]]:
    return {note.code: note.positions for note in placed.notes}


@pytest.mark.parametrize("wire", FIRST)
def test_the_user_says_a_few_fixed_words_where_the_model_would_speak_first(wire: str):
    messages = on(wire, A1, U2)

    placed = place(dialect(wire), messages)

    assert shown(wire, placed) == [
        ("user", ["[The conversation continues.]"]),
        ("assistant", ["A1"]),
        ("user", ["Q2"]),
    ]
    assert placed.messages[1:] == messages
    assert placed.messages[1] is messages[0]
    assert notes(placed) == {"user-first": (0,)}
    assert placed.added == ("[The conversation continues.]",)
    assert placed.places == ((), (0,), (1,))


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_the_model_may_speak_first_at_openai(wire: str):
    messages = on(wire, NOTE, A1, NOTE, U2)

    placed = place(dialect(wire), messages)

    assert all(a is b for a, b in zip(placed.messages, messages, strict=True))
    assert (placed.system, placed.notes, placed.added) == (None, (), ())


@pytest.mark.parametrize("wire", FIRST)
def test_the_leading_system_run_goes_into_the_system_value(wire: str):
    messages = on(wire, Message("system", "Be brief."), NOTE, U1)

    placed = place(dialect(wire), messages, system="You trade.")

    assert placed.system == "You trade.\n\nBe brief.\n\nCite numbers."
    assert placed.messages[0] is messages[2]
    assert placed.notes == ()


@pytest.mark.parametrize("wire", FIRST)
def test_system_text_in_mid_conversation_begins_the_next_message_of_the_user(wire: str):
    messages = on(wire, U1, A1, NOTE, U2)

    placed = place(dialect(wire), messages)

    assert shown(wire, placed) == [
        ("user", ["Q1"]),
        ("assistant", ["A1"]),
        ("user", [FENCED, "Q2"]),
    ]
    assert placed.messages[0] is messages[0]
    assert placed.system is None
    assert notes(placed) == {"merged": (2, 3), "system-fenced": (2,)}


@pytest.mark.parametrize("wire", FIRST)
def test_system_text_behind_what_the_user_says_ends_it(wire: str):
    placed = place(dialect(wire), on(wire, U1, NOTE, A1))

    assert shown(wire, placed) == [("user", ["Q1", FENCED]), ("assistant", ["A1"])]


@pytest.mark.parametrize("wire", ["anthropic", "bedrock-converse"])
def test_system_text_stands_behind_the_results_of_a_call(wire: str):
    placed = place(dialect(wire), on(wire, U1, call("c1"), NOTE, result("c1")))

    assert shown(wire, placed)[2] == ("user", ["result c1", FENCED])


@pytest.mark.parametrize("wire", FIRST)
def test_system_text_between_two_messages_of_the_model_is_a_message_of_the_user(wire: str):
    placed = place(dialect(wire), on(wire, U1, A1, NOTE, A1))

    assert shown(wire, placed)[1:] == [
        ("assistant", ["A1"]),
        ("user", [FENCED]),
        ("assistant", ["A1"]),
    ]


def test_claude_opus_4_8_takes_system_text_where_its_page_allows_it():
    messages = on("anthropic", U1, NOTE, A1, NOTE, U2)

    placed = place(dialect("anthropic"), messages, model="claude-opus-4-8")

    assert placed.messages[:3] == messages[:3]
    assert shown("anthropic", placed)[3] == ("user", [FENCED, "Q2"])
    assert notes(placed)["system-fenced"] == (3,)


@pytest.mark.parametrize("wire", FIRST)
@pytest.mark.parametrize("behind", ["user", "results", "assistant"])
def test_the_summary_begins_the_turn_behind_it(wire: str, behind: str):
    summary = Message("assistant", "They met.")
    rest = {
        "user": [U2],
        "results": [U2, call("c1"), result("c1")],
        "assistant": [A1, U2],
    }[behind]
    placed = place(dialect(wire), on(wire, NOTE, summary, *rest), spoken=1)

    first = {"assistant": ["They met."]}.get(behind, ["They met.", "Q2"])
    assert shown(wire, placed)[0] == ("user", first)
    assert placed.system == "Cite numbers."
    assert notes(placed)["summary-joined"] == (1,)


@pytest.mark.parametrize("wire", FIRST)
def test_results_that_come_late_move_to_their_call(wire: str):
    messages = on(wire, U1, call("c1"), U2, A1, result("c1"))

    placed = place(dialect(wire), messages)

    said = [part for _, parts in shown(wire, placed) for part in parts]
    assert said == ["Q1", "call c1", "result c1", "Q2", "A1"]
    assert notes(placed)["results-moved"] == (4,)


def test_results_that_come_late_move_to_their_call_in_chat():
    messages = on("openai-chat", U1, call("c1", "c2"), result("c1"), NOTE, U2, result("c2"))

    placed = place(dialect("openai-chat"), messages)

    assert [messages.index(m) for m in placed.messages] == [0, 1, 2, 5, 3, 4]
    assert all(any(m is old for old in messages) for m in placed.messages)
    assert notes(placed) == {"results-moved": (5,)}


def test_bedrock_joins_messages_of_one_role():
    wire = "bedrock-converse"
    messages = on(wire, U1, U2, A1, A1, U1)

    placed = place(dialect(wire), messages)

    assert shown(wire, placed) == [
        ("user", ["Q1", "Q2"]),
        ("assistant", ["A1", "A1"]),
        ("user", ["Q1"]),
    ]
    assert placed.places == ((0, 1), (2, 3), (4,))
    assert placed.messages[2] is messages[4]
    assert notes(placed) == {"merged": (0, 1, 2, 3)}


def test_anthropic_takes_users_in_a_row_but_results_in_one_message():
    messages = on("anthropic", U1, U2, call("c1", "c2"), result("c1"), result("c2"), U2)

    placed = place(dialect("anthropic"), messages)

    assert shown("anthropic", placed) == [
        ("user", ["Q1"]),
        ("user", ["Q2"]),
        ("assistant", ["call c1", "call c2"]),
        ("user", ["result c1", "result c2", "Q2"]),
    ]
    assert notes(placed) == {"merged": (3, 4, 5)}


def test_gemini_takes_results_in_one_content_and_text_in_another():
    messages = on("gemini", U1, call("c1", "c2"), U2, result("c2"), result("c1"))

    placed = place(dialect("gemini"), messages)

    assert shown("gemini", placed)[1:] == [
        ("assistant", ["call c1", "call c2"]),
        ("tool", ["result c2", "result c1"]),
        ("user", ["Q2"]),
    ]
    assert placed.messages[3] is messages[2]


def test_results_of_calls_without_ids_move_by_name_and_order():
    def content(role: str, **part: Any) -> dict[str, Any]:
        return {"role": role, "parts": [part]}

    calls = {
        "role": "model",
        "parts": [
            {"functionCall": {"name": "look", "args": {}}},
            {"functionCall": {"name": "look", "args": {}}},
        ],
    }
    answers = [
        content("user", functionResponse={"name": "look", "response": {"output": text}})
        for text in ("first", "second")
    ]
    contents = [content("user", text="Q"), calls, answers[0], answers[1]]

    placed = place(dialect("gemini"), contents)

    assert placed.messages[:2] == contents[:2]
    assert placed.messages[2]["parts"] == [*answers[0]["parts"], *answers[1]["parts"]]
    assert "id" not in str(placed.messages)


def test_a_wire_that_no_provider_speaks_is_placed_as_it_is():
    messages = on("thusfar", A1, NOTE)

    placed = place(dialect("thusfar"), messages, tools=({"name": "look"},))

    assert placed.messages == messages
    assert placed.tools == ({"name": "look"},)
    assert placed.notes == ()


def test_nothing_is_put_into_an_empty_list():
    assert [place(dialect(wire), []).messages for wire in FIRST] == [[], [], []]


def test_notes_read_well():
    assert str(PlacementNote(code="user-first", positions=(0,))) == "user-first at 0"
    assert str(PlacementNote(code="tools-added")) == "tools-added"
    assert str(PlacementNote(code="merged", positions=tuple(range(10)))) == (
        "merged at 0, 1, 2, 3, 4, 5, 6, 7, …"
    )
