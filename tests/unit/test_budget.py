"""Input budgets and the limits derived from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared_data import SHARED, needs_shared
from thusfar.budget import DEFAULT_OVERHEAD, InputBudget, Limits, limits
from thusfar.capacity import ModelCapacity
from thusfar.codes import CODES
from thusfar.errors import HistoryError, OptionsError
from thusfar.tokens import measure_for, per_message
from thusfar.tokens.factors import margin_percent

EXACT = measure_for(len)


# InputBudget


@pytest.mark.parametrize("name", ["optimize_at", "max", "prepare_at"])
@pytest.mark.parametrize("value", [0, -1, True, False, 1.0, "8000", 2**53, float("nan")])
def test_a_budget_takes_positive_whole_numbers_only(name: str, value: Any):
    with pytest.raises(OptionsError, match=name) as caught:
        InputBudget(**{name: value})

    assert isinstance(caught.value, TypeError)
    assert caught.value.code == "INVALID_OPTIONS"


def test_the_largest_safe_number_is_allowed():
    assert InputBudget(max=2**53 - 1).max == 9_007_199_254_740_991


@pytest.mark.parametrize(
    "values",
    [
        {"prepare_at": 2, "optimize_at": 1},
        {"optimize_at": 2, "max": 1},
        {"prepare_at": 2, "max": 1},
    ],
)
def test_marks_out_of_order_are_refused(values: dict[str, int]):
    with pytest.raises(OptionsError, match="above"):
        InputBudget(**values)


def test_equal_marks_are_in_order():
    assert InputBudget(prepare_at=5, optimize_at=5, max=5).max == 5


def test_merging_goes_field_by_field_and_the_invocation_wins():
    defined = InputBudget(optimize_at=6_000, max=8_000)

    assert defined.merge(InputBudget(max=7_000)) == InputBudget(optimize_at=6_000, max=7_000)
    assert defined.merge(InputBudget(prepare_at=100)).prepare_at == 100
    assert defined.merge(InputBudget()) == defined
    assert defined.merge(None) is defined


def test_the_merged_budget_is_checked():
    with pytest.raises(OptionsError, match="above"):
        InputBudget(optimize_at=6_000).merge(InputBudget(max=5_000))


@pytest.mark.parametrize("other", [{"max": 1}, 5, "x"])
def test_only_a_budget_can_be_merged_or_used(other: Any):
    with pytest.raises(OptionsError, match="InputBudget"):
        InputBudget().merge(other)
    with pytest.raises(OptionsError, match="InputBudget"):
        limits(other)


# limits


def test_the_window_is_shared_between_input_answer_and_overhead():
    found = limits(capacity=10_000, measure=EXACT, output_reserve=1_000, overhead=100)

    assert found == Limits(
        max=8_900,
        optimize_at=7_120,
        prepare_at=6_675,
        window=10_000,
        reserve=1_000,
        overhead=100,
        factor=1.0,
    )


def test_the_capacitys_own_reserve_is_the_default():
    mine = ModelCapacity(context_window=10_000, output_reserve=3_000)

    found = limits(capacity=mine, measure=EXACT)

    assert (found.reserve, found.max) == (3_000, 7_000 - DEFAULT_OVERHEAD)


def test_the_smaller_of_budget_and_window_wins():
    assert limits(InputBudget(max=500), 10_000, measure=EXACT).max == 500
    assert limits(InputBudget(max=50_000), 10_000, measure=EXACT, output_reserve=0).max == 9_968


def test_a_provider_may_take_less_input_than_its_window_leaves():
    """GPT-5 takes 272,000 of 400,000 tokens as input, however short the answer may be."""
    assert limits(model="gpt-5", output_reserve=1_000, overhead=0).max == 272_000
    assert limits(model="gpt-5", output_reserve=130_000, overhead=0).max == 270_000


def test_a_count_that_may_fall_short_leaves_a_margin():
    estimated = limits(capacity=12_000, measure=measure_for(), output_reserve=0, overhead=0)

    assert (estimated.max, estimated.factor) == (10_000, 1.2)


def test_marks_given_above_the_maximum_are_clipped_to_it():
    budget = InputBudget(optimize_at=9_000, prepare_at=8_000)

    found = limits(budget, 5_000, measure=EXACT, output_reserve=0, overhead=0)

    assert (found.max, found.optimize_at, found.prepare_at) == (5_000, 5_000, 5_000)


def test_one_mark_given_keeps_the_other_in_order():
    low = limits(InputBudget(optimize_at=100, max=1_000))
    high = limits(InputBudget(prepare_at=950, max=1_000))

    assert (low.prepare_at, low.optimize_at) == (100, 100)
    assert (high.prepare_at, high.optimize_at) == (950, 950)


def test_the_smallest_maximum_still_has_marks():
    assert limits(InputBudget(max=1)) == Limits(max=1, optimize_at=1, prepare_at=1)


def test_with_nothing_given_nothing_is_limited():
    assert limits() == Limits()
    assert limits(InputBudget(optimize_at=50, prepare_at=40)) == Limits(
        optimize_at=50, prepare_at=40
    )


def test_an_unknown_model_gets_a_small_window_and_a_warning():
    found = limits(model="my-own-model", measure=EXACT)

    assert found.max == 8_192 - 2_048 - DEFAULT_OVERHEAD
    assert found.warnings == ("MODEL_CAPACITY_UNKNOWN",)
    assert "MODEL_CAPACITY_UNKNOWN" in CODES


def test_a_maximum_given_replaces_the_window_of_an_unknown_model():
    found = limits(InputBudget(max=50_000), model="my-own-model")

    assert (found.max, found.optimize_at, found.window) == (50_000, 40_000, None)
    assert found.warnings == ("MODEL_CAPACITY_UNKNOWN",)


def test_a_capacity_given_replaces_the_window_of_an_unknown_model():
    found = limits(capacity=50_000, model="my-own-model", measure=EXACT, overhead=0)

    assert (found.max, found.warnings) == (50_000 - 4_096, ())


def test_a_mark_alone_does_not_replace_the_window_of_an_unknown_model():
    assert limits(InputBudget(optimize_at=7_000), model="x", measure=EXACT).max == 6_112


@pytest.mark.parametrize("reserve", [4_096, 5_000, 4_064])
def test_a_reserve_that_leaves_no_room_is_refused_with_numbers(reserve: int):
    with pytest.raises(OptionsError, match="no room") as caught:
        limits(capacity=4_096, measure=EXACT, output_reserve=reserve)

    assert caught.value.facts == {
        "option": "output_reserve",
        "window": 4_096,
        "reserve": reserve,
        "overhead": 32,
    }


@pytest.mark.parametrize(
    "wrong",
    [{"output_reserve": True}, {"output_reserve": -1}, {"overhead": -1}, {"overhead": 1.5}],
)
def test_reserve_and_overhead_are_whole_numbers(wrong: dict[str, Any]):
    with pytest.raises(OptionsError):
        limits(capacity=4_096, **wrong)


def test_a_window_of_which_the_margin_leaves_nothing_still_has_a_maximum():
    assert limits(capacity=1, measure=measure_for(), overhead=0).max == 1


# Margins by tokenizer and model


@pytest.mark.parametrize(
    ("counter", "scaled_to", "family", "percent"),
    [
        ("o200k_base", None, "o200k_base", 100),
        ("o200k_base", None, None, 100),
        ("cl100k_base", None, "cl100k_base", 100),
        ("estimate-1", None, "o200k_base", 120),
        ("estimate-1", None, None, 120),
        ("o200k_base", "claude-3", "claude-3", 120),
        ("o200k_base", "claude-4.7", "claude-4.7", 122),
        ("estimate-1", "claude-3", "claude-3", 144),
        ("estimate-1", "cl100k_base", "cl100k_base", 177),
        ("o200k_base", None, "claude-3", 156),
        ("o200k_base", None, "claude-4.7", 184),
        ("estimate-1", None, "claude-3", 188),
        ("cl100k_base", None, "o200k_base", 110),
        ("cl100k_base", None, "claude-3", 131),
        ("o200k_base", None, "unknown", 150),
        ("estimate-1", None, "unknown", 180),
    ],
)
def test_the_margin_grows_with_the_distance_between_counter_and_model(
    counter: str, scaled_to: str | None, family: str | None, percent: int
):
    found = margin_percent(counter, confidence="exact", scaled_to=scaled_to, family=family)

    assert found == percent


@pytest.mark.parametrize(
    ("confidence", "percent"), [("exact", 100), ("estimated", 120), ("conservative", 150)]
)
def test_a_counter_of_the_caller_is_taken_at_its_word(confidence: Any, percent: int):
    for family in (None, "o200k_base", "claude-3", "unknown"):
        found = margin_percent("mine", confidence=confidence, scaled_to=None, family=family)
        assert found == percent


def test_a_pinned_counter_of_another_vendor_gets_that_vendors_margin():
    """The measure was made without a model; the limits still know whom it is used for."""
    pinned = measure_for("o200k_base")

    assert limits(model="claude-sonnet-4-5", measure=pinned).factor == 1.56
    assert limits(model="gpt-5", measure=pinned).factor == 1.0
    assert limits(capacity=8_000, model="claude-sonnet-4-5", measure=pinned).factor == 1.56


# A case from a public bug report


@needs_shared
def test_case_c14_the_whole_request_is_checked_and_not_the_messages_alone():
    assert SHARED is not None
    lines = (SHARED / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    (case,) = [case for case in map(json.loads, lines) if case["id"] == "C14"]
    given = case["input"]
    measure = measure_for(per_message(lambda message: message["tok"], name="case"))

    found = limits(
        capacity=given["window"], measure=measure, output_reserve=given["output_reserve"]
    )

    fixed = given["system_tok"] + given["tools_tok"]
    sent = [fixed + sum(variant.values()) <= found.max for variant in given["variants"]]
    assert sent == [False, True, False]
    assert found.overhead <= 100
    assert [refusal.startswith("sent") for refusal in case["expected"]["by_variant"]] == sent


def test_every_error_of_budgets_is_one_of_ours():
    with pytest.raises(HistoryError):
        limits(capacity="big")  # type: ignore[arg-type]
