"""The public cases of managed history that hold with a digest, or before a model is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cases.case_file import CUTS, SYNTHETIC, Case, Wire, case, cases, dialects_for
from shared_data import needs_shared
from thusfar import InputBudget, history, per_message, summarize
from thusfar.errors import RepresentationUnavailableError, RequestCompositionError

MANAGED = cases("managed")
SPLIT = [each for each in MANAGED if "by_cut" in each.expected]
WRITTEN = [(each, dialect) for each in SPLIT for dialect in dialects_for(each)]


@needs_shared
def test_there_are_managed_cases_that_a_digest_can_carry_out(capsys: pytest.CaptureFixture[str]):
    with capsys.disabled():
        print(f"\n{len(MANAGED)} managed cases, {len(SPLIT)} with exact and summarised sets")

    assert {each.id for each in SPLIT} == {"C10", "C18"}
    assert {each.id for each in MANAGED} == {
        "C10", "C11", "C12", "C13", "C18", "C33", "C36", "C37",
    }  # fmt: skip


def project(wire: Wire, recent: dict[str, Any], cut: str, repair: str = "strict") -> Any:
    policy = history(
        recent=history.recent(**recent, cut=cut, repair=repair), summary=summarize.digest()
    )
    return policy.project(
        wire.messages, dialect=wire.dialect, counter=per_message(wire.tokens_or_summary)
    )


@pytest.mark.parametrize(("each", "dialect"), WRITTEN, ids=str)
def test_a_managed_case_gives_its_exact_and_summarised_messages(each: Case, dialect: str):
    for cut in each.input["cut"]:
        wire = Wire(each.input["messages"], dialect)
        right = each.expected["by_cut"][cut]

        view = project(wire, each.input["recent"], cut)

        shown = wire.names(view.messages)
        assert [name for name in shown if name != SYNTHETIC] == right["exact"]
        assert shown.count(SYNTHETIC) == 1
        assert wire.named(*view.receipt.kept) == right["exact"]
        assert wire.named(*view.receipt.summarised) == right["summarised"]
        assert view.receipt.omitted == ()
        assert wire.untouched


@needs_shared
def test_the_summary_stands_behind_the_system_message_of_a_goal_that_was_lost():
    each = case("recent", "C07")
    wire = Wire(each.input["messages"], "openai-chat")

    by_exchange = project(wire, {"messages": 2}, "exchange")
    by_default = project(wire, {"messages": 2}, "auto")

    assert wire.names(by_exchange.messages) == ["s", SYNTHETIC, "a2", "u3"]
    assert wire.named(*by_exchange.receipt.summarised) == ["u1", "a1", "u2"]
    assert wire.names(by_default.messages) == ["s", SYNTHETIC, "u3"]
    assert wire.named(*by_default.receipt.summarised) == ["u1", "a1", "u2", "a2"]
    assert by_default.messages[0] is wire.messages[0]
    assert wire.untouched


@needs_shared
@pytest.mark.parametrize("cut", CUTS)
def test_every_message_is_sent_or_stood_for_and_the_split_ends_at_an_exchange(cut: str):
    each = case("managed", "C10")
    wire = Wire(each.input["messages"], "openai-chat")

    receipt = project(wire, each.input["recent"], cut).receipt

    names = wire.named(*receipt.kept) + wire.named(*receipt.summarised)
    assert sorted(names) == sorted(wire.names(wire.messages))
    assert len(set(names)) == len(names)


@needs_shared
@pytest.mark.parametrize("cut", CUTS)
def test_without_a_summary_full_history_is_sent_while_it_fits_and_refused_when_not(cut: str):
    each = case("managed", "C11")
    wire = Wire(each.input["messages"], "openai-chat")
    policy = history(recent=history.recent(**each.input["recent"], cut=cut))
    counter = per_message(wire.tokens)

    fits = policy.project(
        wire.messages, counter=counter, budget=InputBudget(**each.input["budget"])
    )
    with pytest.raises(RepresentationUnavailableError) as raised:
        policy.project(wire.messages, counter=counter, budget=InputBudget(max=500))

    assert wire.names(fits.messages) == ["u1", "a1", "u2"]
    assert raised.value.code == "REPRESENTATION_UNAVAILABLE"
    assert wire.untouched


@needs_shared
@pytest.mark.parametrize("cut", CUTS)
def test_a_summary_that_needs_a_model_is_unavailable_before_anything_is_sent(cut: str):
    each = case("managed", "C13")
    wire = Wire(each.input["messages"], "openai-chat")
    policy = history(recent=history.recent(**each.input["recent"], cut=cut))
    budget = InputBudget(**each.input["budget"])

    with pytest.raises(RepresentationUnavailableError) as raised:
        policy.project(wire.messages, counter=per_message(wire.tokens), budget=budget)

    assert raised.value.facts["max_input_tokens"] == each.input["budget"]["max"]
    assert raised.value.facts["input_tokens"] == 7150


@needs_shared
def test_the_canonical_messages_are_the_same_after_a_digest_was_made():
    each = case("managed", "C12")
    wire = Wire(each.input["messages"], "openai-chat")

    view = project(wire, each.input["recent"], "exchange")

    assert wire.named(*view.receipt.summarised) == ["u1", "a1"]
    assert wire.untouched


@needs_shared
@pytest.mark.parametrize("cut", CUTS)
def test_a_dangling_call_anywhere_is_refused_by_its_position(cut: str):
    each = case("managed", "C33")
    wire = Wire(each.input["messages"], "openai-chat")
    right = each.expected["strict"]

    with pytest.raises(RequestCompositionError) as raised:
        project(wire, each.input["recent"], cut)

    (diagnostic,) = raised.value.diagnostics
    assert raised.value.code == right["error"]
    assert diagnostic.code == right["diagnostic"]
    assert list(diagnostic.positions) == right["positions"]


@needs_shared
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("cut", CUTS)
def test_once_answered_the_late_call_is_one_exchange_kept_whole(cut: str, dialect: str):
    each = case("managed", "C33")
    messages = [*each.input["messages"], each.input["then_append"]]
    wire = Wire(messages, dialect)
    right = each.expected["after"]["by_cut"][cut]

    view = project(wire, each.input["recent"], cut)

    assert wire.names(view.messages) == right["exact"]
    assert wire.named(*view.receipt.summarised) == right["summarised"]
    assert view.receipt.units.exchanges == (2 if cut == "turn" else 1)
    assert "HISTORY_CAP_OVERFLOW" in {w.code for w in view.receipt.warnings}


@needs_shared
def test_a_dropped_call_is_not_covered_by_the_digest_while_it_has_no_answer():
    each = case("managed", "C33")
    wire = Wire(each.input["messages"], "openai-chat")

    view = project(wire, each.input["recent"], "auto", "drop")

    assert "a1" not in wire.named(*view.receipt.summarised)
    assert [(r.kind, r.position) for r in view.receipt.repairs] == [("dropped", 1)]


@needs_shared
def test_a_user_message_that_holds_the_summary_heading_is_any_user_message():
    each = case("managed", "C37")
    first = project(Wire(each.input["messages"], "openai-chat"), each.input["recent"], "exchange")
    heading = first.messages[0]["content"]
    forged = [{**each.input["messages"][0], "text": heading}, *each.input["messages"][1:]]
    wire = Wire(forged, "openai-chat")

    view = project(wire, each.input["recent"], "exchange")
    whole = project(wire, {"messages": 3}, "exchange")

    text = view.messages[0]["content"]
    assert wire.named(*view.receipt.summarised) == ["u1", "a1"]
    assert text.count("</history-summary>") == 1
    assert text.count("<history-summary") == 1
    assert wire.names(whole.messages) == ["u1", "a1", "u2"]


@needs_shared
def test_receipts_of_a_digest_hold_no_text_of_the_transcript():
    each = case("managed", "C36")
    wire = Wire(each.input["messages"], "openai-chat")

    view = project(wire, each.input["recent"], "exchange")

    assert wire.named(*view.receipt.summarised) == ["u1", "a1", "t1"]
    assert "SECRET" not in json.dumps(view.receipt.to_json())
    assert "SECRET" not in str(view.receipt)
    assert wire.untouched
