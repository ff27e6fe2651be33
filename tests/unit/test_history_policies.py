"""Policies are inert values, checked completely when they are made."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from thusfar import (
    HistoryOptions,
    InputBudget,
    OptionsError,
    RecentHistoryOptions,
    RepresentationUnavailableError,
    RequestTooLargeError,
    SummarizeStrategy,
    SummaryOptions,
    TranscriptError,
    history,
    per_message,
    summarize,
)

TALK = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"m{n}"} for n in range(40)]
ONE_EACH = per_message(lambda _: 1, name="one")


@pytest.mark.parametrize("value", [0, -1, 1.5, float("nan"), True, "3", 2**53, [3]])
@pytest.mark.parametrize("name", ["messages", "tokens"])
def test_a_cap_is_a_whole_number_from_one_to_the_largest_that_json_carries(name, value):
    with pytest.raises(TypeError) as caught:
        history.recent(**{name: value})

    assert isinstance(caught.value, OptionsError)
    assert caught.value.facts["option"] == name


@pytest.mark.parametrize(
    "make",
    [
        lambda: history.recent({}),
        lambda: history.recent(messages=None),
        lambda: history.recent(None),
        lambda: history.recent({"mesages": 3}),
        lambda: history.recent("3"),
        lambda: history.recent(3, messages=4),
        lambda: history.recent(3, cut="line"),
        lambda: history.recent(3, repair="guess"),
        lambda: history.recent(3, advance=1),
        lambda: history.recent(3, advance=-0.1),
        lambda: history.recent(3, advance=True),
        lambda: history.recent(3, advance=10**400),
        lambda: history.recent(10**5000),
        lambda: InputBudget(max=10**5000),
        lambda: history.recent(tokens=9).project(TALK, counter=lambda text: 10**5000),
        lambda: history.recent(3, pinned="yes"),
        lambda: history(recent=0),
        lambda: history(recent={}),
        lambda: history(summary="adaptive"),
        lambda: history(on_miss="guess"),
        lambda: history(provider_native=1),
        lambda: history(HistoryOptions(), recent=3),
        lambda: history(3),
        lambda: SummarizeStrategy(kind="digest"),
        lambda: SummaryOptions(strategy="digest"),
        lambda: SummaryOptions(max_tokens=0),
        lambda: SummaryOptions(model=lambda request: "text"),
        lambda: summarize.digest(line_max_chars=39),
    ],
)
def test_wrong_options_cannot_be_constructed(make):
    with pytest.raises(OptionsError):
        make()


def test_with_no_cap_at_all_the_newest_twenty_messages_are_kept():
    assert history.recent().project(TALK).messages == TALK[-20:]
    assert history.recent(cut="exchange").project(TALK).messages == TALK[-20:]


def test_an_int_options_and_a_mapping_mean_the_same():
    expected = history.recent(7)

    assert history.recent(RecentHistoryOptions(messages=7)) == expected
    assert history.recent({"messages": 7}) == expected
    assert history.recent(messages=7) == expected
    assert history(recent=7) == history(recent=expected) == history({"recent": {"messages": 7}})


def test_options_given_as_a_mapping_are_copied():
    given = {"messages": 7}
    policy = history.recent(given)

    given["messages"] = 1

    assert policy.options.messages == 7


def test_managed_history_has_the_documented_defaults():
    options = history().options

    assert options.recent is None
    assert options.summary == SummaryOptions(strategy=summarize.adaptive())
    assert (options.on_miss, options.provider_native) == ("inline", True)


def test_strategies_are_versioned_values_that_survive_pickling():
    for strategy in (
        summarize.adaptive(),
        summarize.rolling(),
        summarize.hierarchical(),
        summarize.regenerate(),
        summarize.digest(line_max_chars=80),
    ):
        assert strategy.version == 1
        assert strategy._tag == "SummarizeStrategy"
        assert pickle.loads(pickle.dumps(strategy)) == strategy


def test_exact_history_is_refused_before_dispatch_when_it_cannot_fit():
    with pytest.raises(RequestTooLargeError) as caught:
        history.exact().project(TALK, counter=ONE_EACH, budget=InputBudget(max=39))

    assert caught.value.facts["input_tokens"] == 40
    assert [d.code for d in caught.value.diagnostics] == [
        "REQUEST_INPUT_LIMIT",
        "HISTORY_EXACT_REMEDY",
    ]
    assert "m0" not in str(caught.value)


def test_exact_history_near_the_limit_warns():
    projection = history.exact().project(TALK, counter=ONE_EACH, budget=InputBudget(max=45))

    assert projection.messages == TALK
    assert [w.code for w in projection.receipt.warnings] == ["HISTORY_EXACT_NEAR_LIMIT"]


def test_without_a_limit_exact_history_always_fits_and_tokens_are_counted_only_on_request():
    projection = history.exact().project(TALK)

    assert projection.receipt.tokens is None
    assert projection.measured().receipt.tokens.tokens > 40
    assert projection.measured().messages is projection.messages


def test_a_recent_view_is_held_to_the_limit_too():
    with pytest.raises(RequestTooLargeError, match="Lower the caps"):
        history.recent(20).project(TALK, counter=ONE_EACH, budget=InputBudget(max=19))


def test_managed_history_that_needs_a_model_is_unavailable_without_a_runtime():
    budget = InputBudget(max=20)

    with pytest.raises(RepresentationUnavailableError):
        history(recent=10).project(TALK, counter=ONE_EACH, budget=budget)
    view = history(recent=10, on_miss="recent-only").project(TALK, counter=ONE_EACH, budget=budget)
    assert view.messages == TALK[-10:]
    assert [w.code for w in view.receipt.warnings] == ["HISTORY_RECENT_ONLY"]


def test_full_history_is_used_while_it_fits_whatever_happens_on_a_miss():
    for on_miss in ("inline", "recent-only", "fail"):
        policy = history(recent=10, on_miss=on_miss)
        view = policy.project(TALK, counter=ONE_EACH, budget=InputBudget(max=40))
        assert view.messages == TALK


@pytest.mark.parametrize("messages", ["text", b"bytes", {"role": "user"}, 5, None])
def test_something_that_is_no_list_of_messages_is_a_typed_error(messages):
    with pytest.raises(OptionsError):
        history.recent(3).project(messages)


@pytest.mark.parametrize("message", [5, None, "hi", {}, {"role": "king"}, [], {"role": ["user"]}])
def test_something_that_is_no_message_is_a_typed_error(message):
    with pytest.raises(TranscriptError):
        history.recent(3).project([{"role": "user", "content": "hi"}, message])


def test_an_empty_transcript_has_an_empty_view():
    for policy in (history.exact(), history.recent(3), history(recent=3), history()):
        projection = policy.project([])
        assert projection.messages == []
        assert projection.receipt.kept == ()


def test_the_view_is_a_new_list():
    view = history.recent(40).project(TALK).messages

    view.append("something else")

    assert len(TALK) == 40


def test_a_receipt_is_json_and_reads_well():
    receipt = history.recent(5, cut="exchange").project(TALK).receipt

    assert receipt.to_json()["kept"] == [[35, 40]]
    assert receipt.to_json()["omitted"] == [[0, 35]]
    assert "kept" in str(receipt)
    assert "35–39" in str(receipt)
    assert receipt.kept_messages == 5
    assert receipt.omitted_messages == 35


def test_a_pinned_opener_is_a_pin_and_not_outside_the_caps():
    talk = [
        {"role": "user", "content": "the goal"},
        *({"role": "assistant", "content": f"step {n}"} for n in range(9)),
    ]

    receipt = history.recent(3, pinned=lambda m: m["role"] == "user").project(talk).receipt

    assert receipt.pinned == ((0, 1),)
    assert receipt.opener == ()
    assert "HISTORY_OPENER_OUTSIDE_CAP" not in [w.code for w in receipt.warnings]
    assert receipt.kept == ((0, 1), (7, 10))


def test_a_receipt_is_json_whatever_an_id_holds():
    talk = [{"role": "tool", "tool_call_id": "\ud800", "content": "x"}, *TALK[:2]]

    receipt = history.recent(9, repair="drop").project(talk).receipt

    assert receipt.to_json()["repairs"][0]["call_ids"] == ["\ud800"]
    assert receipt.to_json()["kept"] == [[1, 3]]


def test_a_receipt_says_in_words_where_it_was_cut_and_counts_one_message_as_one():
    called = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    talk = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks."},
    ]

    mixed = history.recent(3).project(talk).receipt
    alone = history.exact().project(talk[:1]).receipt

    assert "cut by turn and exchange" in str(mixed)
    assert mixed.to_json()["units"] == {"cut": "auto", "kept": 2, "exchanges": 2}
    assert str(alone).startswith("exact history of 1 message (")


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "bogus"},
        {"version": 2},
        {"kind": "digest"},
        {"parameters": (("line_max_chars", 80),)},
    ],
)
def test_a_copy_of_a_strategy_is_one_that_summarize_makes_or_none(fields):
    with pytest.raises(TypeError):
        msgspec.structs.replace(summarize.adaptive(), **fields)
    assert msgspec.structs.replace(summarize.adaptive(), kind="rolling") == summarize.rolling()


def test_an_empty_mapping_of_options_that_all_have_defaults_means_the_defaults():
    """Only `recent` needs one of its options, since without a cap it would not be one."""
    assert history({}) == history() == history(summary={})
    with pytest.raises(TypeError):
        history.recent({})
    with pytest.raises(TypeError):
        history(recent={})
