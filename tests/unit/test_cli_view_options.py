"""View options: what the words of a command line ask a policy for."""

import pytest

from thusfar._history import history
from thusfar._options import RecentHistoryOptions
from thusfar._setting import Setting
from thusfar._summarize import summarize
from thusfar.budget import InputBudget
from thusfar.cli.view_options import ViewOptions, default_tokens, pinned_by
from thusfar.errors import OptionsError

MESSAGES = [{"role": "user", "content": text} for text in "abcd"]


def policy(setting=None, **options):
    return ViewOptions(**options).policy_for(MESSAGES, setting or Setting())


def test_nothing_said_means_the_newest_twenty_messages():
    assert policy() == history.recent(messages=20)


def test_caps_cut_advance_and_repair_are_those_of_recent_history():
    assert policy(messages=4, tokens=900, cut="turn", advance=0.5, repair="drop") == history.recent(
        messages=4, tokens=900, cut="turn", advance=0.5, repair="drop"
    )
    assert policy(cut="exchange") == history.recent(messages=20, cut="exchange")


def test_a_digest_stands_before_what_the_caps_describe():
    assert policy(policy="digest", messages=4, cut="turn") == history(
        recent=RecentHistoryOptions(messages=4, cut="turn"), summary=summarize.digest()
    )
    assert policy(policy="digest") == history(summary=summarize.digest())


def test_a_digest_without_caps_keeps_two_fifths_of_the_limit():
    limited = Setting(budget=InputBudget(max=10_000))

    assert default_tokens(limited) == 4_000
    assert policy(limited, policy="digest", repair="close") == history(
        recent=RecentHistoryOptions(tokens=4_000, repair="close"), summary=summarize.digest()
    )
    assert 1 <= default_tokens(Setting()) < 8_192 * 0.4, "as for a model that is not known"


def test_exact_history_has_no_use_for_caps():
    assert policy(policy="exact") == history.exact()
    with pytest.raises(OptionsError, match=r"got --messages, --repair\."):
        policy(policy="exact", messages=3, repair="drop")
    with pytest.raises(OptionsError, match=r"got --pinned\."):
        policy(policy="exact", pinned="0")


@pytest.mark.parametrize(
    "options", [{"messages": 0}, {"tokens": -1}, {"advance": 1.0}, {"advance": float("nan")}]
)
def test_a_number_out_of_its_range_is_refused(options):
    with pytest.raises(OptionsError):
        policy(**options)


def test_max_is_the_budget():
    assert ViewOptions().budget() is None
    assert ViewOptions(max=9).budget() == InputBudget(max=9)
    with pytest.raises(OptionsError):
        ViewOptions(max=0).budget()


def test_pinned_names_positions_or_the_metadata():
    pins = pinned_by(" 0, 2 ,2", MESSAGES)

    assert pinned_by("metadata", MESSAGES) is True
    assert [pins(message) for message in MESSAGES] == [True, False, True, False]


@pytest.mark.parametrize("text", ["", "4", "-1", "0,", "a", "1-2", "²", "9" * 5_000])
def test_positions_that_are_not_there_cannot_be_pinned(text):
    with pytest.raises(OptionsError) as caught:
        pinned_by(text, MESSAGES)

    assert "from 0 to 3" in caught.value.fix


def test_equal_messages_are_pinned_one_by_one():
    twins = [{"role": "user", "content": "again"}, {"role": "user", "content": "again"}]
    pins = pinned_by("1", twins)

    assert [pins(message) for message in twins] == [False, True]
