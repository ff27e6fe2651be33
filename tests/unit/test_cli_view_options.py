"""View options: what the words of a command line ask a policy for."""

import pytest

from thusfar._history import history
from thusfar._managed import default_recent
from thusfar._options import RecentHistoryOptions
from thusfar._setting import Setting
from thusfar._summarize import SummaryOptions, summarize
from thusfar.budget import InputBudget
from thusfar.cli.view_options import ViewOptions, default_limit, pinned_by
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


def test_a_digest_without_caps_keeps_what_the_library_keeps_with_the_other_options_on_top():
    limited = Setting(budget=InputBudget(max=10_000))
    digest = SummaryOptions(strategy=summarize.digest())

    assert default_limit(limited) == 10_000
    assert default_recent(10_000, digest) == RecentHistoryOptions(tokens=4_000, advance=0.5)
    assert policy(limited, policy="digest", repair="close") == history(
        recent=RecentHistoryOptions(tokens=4_000, advance=0.5, repair="close"), summary=digest
    )
    assert policy(limited, policy="digest", advance=0.0) == history(
        recent=RecentHistoryOptions(tokens=4_000), summary=digest
    )
    assert 1_000 < default_limit(Setting()) < 8_192, "as for a model that is not known"


def test_the_command_line_and_the_library_show_the_same_digest():
    talk = [{"role": ("user", "assistant")[i % 2], "content": f"{i} " * 40} for i in range(80)]
    setting = Setting(budget=InputBudget(max=2_000), counter="estimate")
    made = history(summary=summarize.digest()).project(
        talk, budget=setting.budget, counter="estimate"
    )

    for options in ({}, {"cut": "auto"}, {"repair": "strict"}):
        asked = ViewOptions(policy="digest", **options).policy_for(talk, setting)
        shown = asked.project(talk, budget=setting.budget, counter="estimate")
        assert shown.messages == made.messages


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
