"""The public cases about what is sent: requests, and the kinds whose point is the wire."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from cases.case_file import CUTS, Case, Wire, anthropic, gemini, openai_responses
from shared_data import SHARED, needs_shared
from thusfar import InputBudget, Scripted, dialect, history, per_message, plan_sync
from thusfar.dialects.placement import Placed, place
from thusfar.dialects.rules import Wire as Request
from thusfar.dialects.rules import check_wire
from thusfar.errors import RequestCompositionError
from thusfar.storage import open_store
from thusfar.thread.handle import Thread

pytestmark = needs_shared

KINDS = ("dangling-call", "duplicates", "empty-content", "role-alternation", "reasoning-blocks")
HELD = {
    "C04": "test_parallel_results_are_in_one_content_behind_their_calls",
    "C05": "test_views_with_reasoning_are_legal_on_the_wire",
    "C06": "test_no_item_asks_for_reasoning_that_is_gone_and_no_id_occurs_twice",
    "C08": "test_system_text_in_mid_conversation_reaches_the_model_once_and_in_place",
    "C19": "test_a_summary_before_a_user_message_keeps_roles_in_turn",
    "C20": "test_views_that_begin_with_an_answer_are_legal_on_the_wire",
    "C22": "test_a_request_after_loading_holds_the_new_question_once",
    "C32": "test_an_interrupted_call_is_closed_in_one_user_message",
    "C33": "test_an_answer_that_comes_late_stands_behind_its_call",
}
FIRST = ("anthropic", "gemini", "bedrock-converse")


def all_cases() -> list[dict[str, Any]]:
    if SHARED is None:
        return []
    lines = (SHARED / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def case(name: str) -> Case:
    (row,) = (row for row in all_cases() if row["id"] == name)
    return Case(row["id"], row["input"], row["expected"])


def rules_of(name: str) -> Any:
    from importlib import import_module

    return import_module(f"thusfar.dialects.{name.replace('-', '_')}_rules").RULES


def findings(name: str, placed: Placed) -> list[str]:
    request = Request(messages=placed.messages, system=placed.system, tools=placed.tools)
    return [found.rule for found in check_wire(rules_of(name), request)]


def roles(messages: list[Any]) -> list[str]:
    return [message["role"] for message in messages]


def alternate(messages: list[Any]) -> bool:
    found = ["assistant" if role == "model" else role for role in roles(messages)]
    return found == [("user", "assistant")[at % 2] for at in range(len(found))]


def test_every_case_of_these_kinds_has_its_test():
    selected = {row["id"] for row in all_cases() if _is_selected(row)}

    assert selected
    assert selected == set(HELD)
    assert all(callable(globals().get(test)) for test in HELD.values())


def _is_selected(row: dict[str, Any]) -> bool:
    return row["input"]["op"] == "request" or row["kind"] in KINDS


def test_parallel_results_are_in_one_content_behind_their_calls():
    each = case("C04")
    contents = [gemini(message) for message in each.input["messages"]]
    before = copy.deepcopy(contents)

    placed = place(dialect("gemini"), contents)

    assert [[c["role"], [_said(part) for part in c["parts"]]] for c in placed.messages] == (
        each.expected["contents"]
    )
    assert contents == before
    assert placed.messages[0] is contents[0]
    assert placed.messages[1] is contents[1]
    assert findings("gemini", placed) == []


def _said(part: dict[str, Any]) -> str:
    match part:
        case {"functionCall": call}:
            return f"functionCall {call['id']}"
        case {"functionResponse": answer}:
            return f"functionResponse {answer['id']} {answer['response']['out']}"
        case _:
            return "text"


@pytest.mark.parametrize("cut", CUTS)
def test_views_with_reasoning_are_legal_on_the_wire(cut: str):
    each = case("C05")
    items = [openai_responses(message) for message in each.input["messages"]]
    for caps in each.input["caps_list"]:
        view = history.recent(**caps, cut=cut).project(items, dialect="openai-responses")

        placed = place(dialect("openai-responses"), view.messages)

        assert findings("openai-responses", placed) == []
        assert all(a is b for a, b in zip(placed.messages, view.messages, strict=True))


def test_no_item_asks_for_reasoning_that_is_gone_and_no_id_occurs_twice():
    each = case("C06")
    items = [_with_id(message) for message in each.input["messages"]]
    before = copy.deepcopy(items)

    placed = place(dialect("openai-responses"), items)

    said = {_text(item): item for item in placed.messages}
    ids = [item["id"] for item in placed.messages if "id" in item]
    assert "id" not in said["hi"]
    assert said["x"]["id"] == "msg_2"
    assert len(ids) == len(set(ids))
    assert items == before
    assert findings("openai-responses", placed) == []


def _with_id(message: dict[str, Any]) -> dict[str, Any]:
    item = openai_responses(message)
    return {**item, "id": message["native_id"]} if "native_id" in message else item


def _text(item: dict[str, Any]) -> str:
    content = item.get("content")
    return content[0]["text"] if isinstance(content, list) else str(content)


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_system_text_in_mid_conversation_reaches_the_model_once_and_in_place(provider: str):
    each = case("C08")
    assert provider in each.input["providers"]
    write = {"anthropic": anthropic, "gemini": gemini}[provider]
    messages = [write(message) for message in each.input["messages"]]

    placed = place(dialect(provider), messages)

    sent = json.dumps([placed.system, placed.messages])
    assert sent.count("You trade stocks.") == 1
    assert sent.count("Numbers must be cited.") == 1
    assert "Numbers must be cited." not in json.dumps([placed.system, placed.messages[0]])
    assert alternate(placed.messages)
    assert placed.messages[0] is messages[1]
    assert findings(provider, placed) == []
    assert {note.code for note in placed.notes} == {"system-fenced", "merged"}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_a_summary_before_a_user_message_keeps_roles_in_turn(provider: str, cut: str):
    each = case("C19")
    assert provider in each.input["providers"]
    write = {"anthropic": anthropic, "gemini": gemini}[provider]
    messages = [write(message) for message in each.input["messages"]]
    counter = _hundred_each(messages)

    planned = plan_sync(
        messages,
        model="answering",
        dialect=provider,
        counter=counter,
        budget=InputBudget(max=350),
        policy=history(
            recent=history.recent(**each.input["recent"], cut=cut),
            summary={"model": Scripted("They met.")},
        ),
        cache=False,
    )

    key = {"anthropic": "content", "gemini": "parts"}[provider]
    view = planned.receipt.history.view
    assert view is not None
    assert each.expected["by_cut"][cut]["exact"] == ["u2", "a2"]
    assert (view.kept, view.summarised) == (((2, 4),), ((0, 2),))
    assert alternate(planned.messages)
    assert [part["text"] for part in planned.messages[0][key]][1:] == ["Q2"]
    assert planned.messages[1] is messages[3]
    assert "They met." in planned.messages[0][key][0]["text"]
    assert "system" not in planned.kwargs
    assert "config" not in planned.kwargs


def _hundred_each(messages: list[Any]) -> Any:
    mine = [json.dumps(message) for message in messages]
    return per_message(lambda message: 100 if json.dumps(message) in mine else 1)


@pytest.mark.parametrize("provider", FIRST)
@pytest.mark.parametrize("cut", CUTS)
def test_views_that_begin_with_an_answer_are_legal_on_the_wire(cut: str, provider: str):
    each = case("C20")
    wire = Wire(each.input["messages"], provider)
    tokens = {json.dumps(m): wire.tokens(m) for m in wire.messages}
    view = history.recent(**each.input["caps"], cut=cut).project(
        wire.messages,
        dialect=provider,
        counter=per_message(lambda message: tokens[json.dumps(message)]),
    )

    placed = place(dialect(provider), view.messages)

    answers = wire.names(view.messages)[0].startswith("a")
    assert answers == (cut == "exchange")
    assert findings(provider, placed) == []
    assert alternate(placed.messages)
    assert {note.code for note in placed.notes} == ({"user-first"} if answers else set())


def test_a_request_after_loading_holds_the_new_question_once(tmp_path):
    case("C22")
    url = f"sqlite:///{tmp_path}/c22.db"
    first = [{"role": "user", "content": "Q1"}, {"role": "assistant", "content": "A1"}]
    before = open_store(url)
    Thread("t", store=before).sync.append(first)
    before.close()
    after = open_store(url)

    planned = plan_sync(
        thread=Thread("t", store=after),
        model="claude-sonnet-4-5",
        wire="anthropic",
        turn="Q2",
        cache=False,
    )
    after.close()

    assert json.dumps(planned.kwargs["messages"]).count("Q2") == 1
    assert roles(planned.messages) == ["user", "assistant", "user"]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("provider", [*FIRST, "openai-chat", "openai-responses"])
def test_an_interrupted_call_is_closed_in_one_user_message(provider: str, cut: str):
    each = case("C32")
    wire = Wire(each.input["messages"], provider)
    caps = each.input["caps"]

    with pytest.raises(RequestCompositionError):
        history.recent(**caps, cut=cut).project(wire.messages, dialect=provider)
    dropped = history.recent(**caps, cut=cut, repair="drop").project(
        wire.messages, dialect=provider
    )
    closed = history.recent(**caps, cut=cut, repair="close").project(
        wire.messages, dialect=provider
    )

    for view in (dropped, closed):
        placed = place(dialect(provider), view.messages)
        assert findings(provider, placed) == []
        assert view.receipt.repairs
    assert wire.untouched
    if provider == "anthropic":
        asked, call, after = placed.messages
        result, said = after["content"]
        assert (asked, call) == (wire.messages[0], wire.messages[1])
        assert (result["type"], result["tool_use_id"], result["is_error"]) == (
            "tool_result",
            "c1",
            True,
        )
        assert "unknown" in json.dumps(result)
        assert "not run" not in json.dumps(result)
        assert said == wire.messages[2]["content"][0]


def test_bare_exact_history_warns_of_an_interrupted_call():
    wire = Wire(case("C32").input["messages"], "anthropic")

    planned = plan_sync(wire.messages, model="answering", dialect="anthropic")

    codes = {warning.code for warning in planned.receipt.warnings}
    view = planned.receipt.history.view
    assert "HISTORY_TRANSCRIPT_DEFECT" in codes | {w.code for w in view.warnings if view}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("provider", [*FIRST, "openai-chat", "openai-responses"])
def test_an_answer_that_comes_late_stands_behind_its_call(provider: str, cut: str):
    each = case("C33")
    messages = [*each.input["messages"], each.input["then_append"]]
    wire = Wire(messages, provider)
    view = history.recent(**each.input["recent"], cut=cut).project(wire.messages, dialect=provider)

    placed = place(dialect(provider), view.messages, tools=())

    assert wire.names(view.messages) == each.expected["after"]["by_cut"][cut]["exact"]
    assert findings(provider, placed) == []
    assert wire.untouched
    moved = {"results-moved"} & {note.code for note in placed.notes}
    assert bool(moved) == (provider != "openai-responses")
