"""The public cases of `history.recent`, each in every wire format that can hold it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cases.case_file import CODES, CUTS, Case, Wire, case, cases, dialects_for
from shared_data import needs_shared
from thusfar import history, per_message
from thusfar.errors import RequestCompositionError
from thusfar.tokens import measure_for

RECENT = cases("recent")
WRITTEN = [(each, dialect) for each in RECENT for dialect in dialects_for(each)]

# Sentences of each case that have an assertion below, or in the tests of threads.
SENTENCES = {"C01": 1, "C02": 2, "C05": 2, "C07": 2, "C09": 2, "C16": 2, "C20": 1, "C21": 2}
SENTENCES |= {"C32": 5}


@needs_shared
def test_every_recent_case_is_tried_and_every_sentence_known(capsys: pytest.CaptureFixture[str]):
    with capsys.disabled():
        print(f"\n{len(RECENT)} recent cases, {len(WRITTEN)} with their wire formats")

    assert RECENT
    assert {each.id: each.sentences for each in RECENT if each.sentences} == SENTENCES
    assert {each.input["dialect"] for each in RECENT if "dialect" in each.input} <= {
        dialect for _, dialect in WRITTEN
    }


def runs(each: Case) -> list[tuple[dict[str, int], dict[str, Any]]]:
    """List the caps of a case, each with what is expected of it."""
    if "caps" in each.input:
        return [(each.input["caps"], each.expected)]
    made = []
    for caps in each.input["caps_list"]:
        (value,) = caps.values()
        made.append((caps, each.expected["by_cap"][str(value)]))
    return made


def counter_of(each: Case, wire: Wire) -> Any:
    if each.input.get("counter"):
        return "estimate"
    return per_message(wire.tokens, name="case")


def project(
    each: Case, wire: Wire, caps: dict[str, int], cut: str, repair: str, *, detected: bool = False
) -> Any:
    policy = history.recent(**caps, cut=cut, repair=repair)
    dialect = None if detected else wire.dialect
    return policy.project(wire.messages, dialect=dialect, counter=counter_of(each, wire))


@pytest.mark.parametrize("detected", [False, True], ids=["named", "detected"])
@pytest.mark.parametrize(("each", "dialect"), WRITTEN, ids=str)
def test_a_recent_case_gives_its_right_view(each: Case, dialect: str, detected: bool):
    by_repair = each.expected.get("by_repair", {})
    wire = Wire(each.input["messages"], dialect)

    for caps, expected in runs(each):
        for repair in each.input.get("repair", ["strict"]):
            right = by_repair.get(repair, expected)
            for cut in each.input["cut"]:
                if "error" in right:
                    check_refused(each, wire, caps, cut, repair, right)
                else:
                    view = project(each, wire, caps, cut, repair, detected=detected)
                    check_view(wire, view, cut, right)

    assert wire.untouched


def check_view(wire: Wire, view: Any, cut: str, right: dict[str, Any]) -> None:
    codes = sorted(w.code for w in view.receipt.warnings if w.code in CODES)
    if "by_cut" in right:
        assert wire.names(view.messages) == right["by_cut"][cut]
    if "omitted" in right:
        assert view.receipt.omitted_messages == right["omitted"][cut]
        assert codes == right["warnings"][cut]


def check_refused(
    each: Case, wire: Wire, caps: dict[str, int], cut: str, repair: str, right: dict[str, Any]
) -> None:
    with pytest.raises(RequestCompositionError) as raised:
        project(each, wire, caps, cut, repair)
    (diagnostic,) = raised.value.diagnostics
    assert raised.value.code == right["error"]
    assert diagnostic.code == right["diagnostic"]
    assert list(diagnostic.positions) == right["positions"]


@needs_shared
@pytest.mark.parametrize("cut", CUTS)
def test_a_lone_oversized_turn_keeps_its_question_and_says_so_without_its_text(cut: str):
    each = case("recent", "C09")
    wire = Wire(each.input["messages"], "openai-chat")

    view = project(each, wire, each.input["caps"], cut, "strict")

    texts = [m["text"] for m in each.input["messages"] if "text" in m]
    assert any(message["role"] == "user" for message in view.messages)
    assert not any(text in json.dumps(view.receipt.to_json()) for text in texts)
    assert not any(text in str(view.receipt) for text in texts)


@needs_shared
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", ["C02", "C05"])
def test_every_item_of_the_responses_wire_counts_as_one_message(name: str, cut: str):
    each = case("recent", name)
    wire = Wire(each.input["messages"], "openai-responses")
    end = len(wire.messages)

    view = history.recent(messages=end, cut=cut).project(wire.messages)

    assert view.receipt.messages == end
    assert view.messages == wire.messages
    assert not view.receipt.warnings


@needs_shared
def test_a_reasoning_item_is_kept_with_the_item_it_precedes_or_not_at_all():
    each = case("recent", "C05")
    wire = Wire(each.input["messages"], "openai-responses")

    views = [
        wire.names(history.recent(messages=cap, cut=cut).project(wire.messages).messages)
        for cap in range(1, 8)
        for cut in CUTS
    ]

    assert len(views) == 21
    assert all(("r1" in view) == ("a1" in view) for view in views)
    assert all(("r2" in view) == ("a2" in view) for view in views)


@needs_shared
def test_cjk_characters_are_estimated_near_their_number_and_the_cap_is_kept():
    each = case("recent", "C16")
    wire = Wire(each.input["messages"], "openai-chat")

    counts = [measure_for().text(message["content"]) for message in wire.messages]

    assert counts
    assert all(67 <= count <= 110 for count in counts)
    for cut in each.input["cut"]:
        view = project(each, wire, each.input["caps"], cut, "strict")
        assert wire.names(view.messages) == wire.names(wire.messages)[-2:]


@needs_shared
def test_with_the_default_cut_no_kept_answer_stands_without_its_question():
    each = case("recent", "C20")
    wire = Wire(each.input["messages"], "openai-chat")

    views = [
        history.recent(tokens=cap).project(wire.messages, counter=per_message(wire.tokens)).messages
        for cap in range(1, 90)
    ]

    assert {view[0]["role"] for view in views} == {"user"}


@needs_shared
@pytest.mark.parametrize("cut", CUTS)
def test_the_view_holds_the_callers_own_objects(cut: str):
    each = case("recent", "C21")
    wire = Wire(each.input["messages"], "openai-chat")

    view = project(each, wire, each.input["caps"], cut, "strict")

    pairs = zip(view.messages, wire.messages, strict=True)
    assert all(shown is own for shown, own in pairs)
    assert view.messages is not wire.messages
    assert wire.untouched


@needs_shared
@pytest.mark.parametrize("cut", CUTS)
def test_a_dangling_call_is_closed_with_an_error_that_leaves_the_outcome_open(cut: str):
    each = case("recent", "C32")
    wire = Wire(each.input["messages"], "anthropic")

    view = project(each, wire, each.input["caps"], cut, "close")

    asked = view.messages[2]
    (result,) = asked["content"]
    said = json.dumps(result).lower()
    assert asked["role"] == "user"
    assert result["type"] == "tool_result"
    assert result["tool_use_id"] == "c1"
    assert result["is_error"] is True
    assert "unknown" in said
    assert not any(claim in said for claim in ("not run", "not executed", "never ran", "did not"))
    assert view.messages[3] is wire.messages[2]


@needs_shared
@pytest.mark.parametrize("repair", ["drop", "close"])
def test_each_repair_of_a_dangling_call_is_named_on_the_receipt(repair: str):
    each = case("recent", "C32")
    wire = Wire(each.input["messages"], "openai-chat")

    (note,) = project(each, wire, each.input["caps"], "auto", repair).receipt.repairs

    assert note.kind == {"drop": "dropped", "close": "closed"}[repair]
    assert note.position == 1
    assert note.reason == "unanswered-call"
    assert note.call_ids == ("c1",)


@needs_shared
def test_bare_exact_history_only_warns_of_a_dangling_call():
    each = case("recent", "C32")
    wire = Wire(each.input["messages"], "openai-chat")

    view = history.exact().project(wire.messages)

    assert view.messages == wire.messages
    assert [w.code for w in view.receipt.warnings] == ["HISTORY_TRANSCRIPT_DEFECT"]
