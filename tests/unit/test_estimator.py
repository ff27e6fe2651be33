"""The estimator: its coefficients, its edges, and linear time."""

from __future__ import annotations

import pytest

from thusfar.tokens import estimate, estimator
from thusfar.tokens.counters import BpeCounter
from thusfar.tokens.estimator import _SLICE


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("house " * 1000, 893),  # 1000 words of five letters at 0.856, 1000 spaces at 0.037
        ("houses " * 1000, 1077),  # one letter past the fifth: 0.184 more a word
        ("123 " * 1000, 1243),  # digit groups at 1.206
        ("1234 " * 1000, 2449),  # four digits are two groups
        ("a! " * 1000, 1653),  # 0.856 + 0.760 + 0.037
        ("a!! " * 1000, 1720),  # the second punctuation mark: 0.067
        ("a  " * 1000, 2934),  # a run of two spaces: 2.078
        ("a\n" * 1000, 2433),  # a newline run: 1.577
        ("a\n\n" * 1000, 2433),
        ("字" * 1000, 854),
        ("か" * 1000, 635),
        ("한" * 1000, 726),
        ("é" * 1000, 660),
        ("ж" * 1000, 343),
        ("ω" * 1000, 343),
        ("ש" * 1000, 437),
        ("ب" * 1000, 437),
        ("क" * 1000, 417),
        ("ქ" * 1000, 417),
        ("→" * 1000, 37),
        ("\t" * 1000, 37),
    ],
)
def test_each_class_of_characters_costs_its_coefficient(text: str, tokens: int):
    assert estimate(text) == tokens


@pytest.mark.parametrize("text", ["a", " ", "\n", "\x00", "字", "→", "\ud800", "😀", "."])
def test_a_text_that_is_not_empty_counts_at_least_one(text: str):
    assert estimate(text) >= 1


def test_the_empty_text_counts_nothing():
    assert estimate("") == 0


def test_chinese_is_not_counted_as_a_quarter_of_its_characters():
    assert estimate("字" * 100) == 86


def test_emoji_and_rare_scripts_are_never_nearly_free():
    """The fit has no class for them; o200k_base takes 1 to 4 tokens a character."""
    for text in ("😀" * 100, "ሀ" * 100, "Ꭰ" * 100):
        (exact,) = BpeCounter("o200k_base").count_many([text])
        assert estimate(text) * 1.5 >= exact


def test_a_lone_surrogate_counts_as_its_replacement_character():
    assert estimate("ab\ud800cd" * 9) == estimate("ab\ufffdcd" * 9)


@pytest.mark.parametrize(
    "piece", ["a", " ", "\n", "0", "!", "字", "a1", "\n ", "word ", "a  ", "é字", "x1!  \n"]
)
def test_slicing_a_long_text_never_changes_its_count(piece: str):
    """A text of several slices costs what its pieces would cost without slices."""
    text = piece * (2 * _SLICE // len(piece) + 7)

    whole = 37 * len(text)
    whole += sum(map(estimator._ascii_cost, estimator._ASCII_RUNS.findall(text)))
    whole += sum(map(estimator._script_cost, estimator._script_runs().finditer(text)))
    assert estimate(text) == -(-whole // 1000)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a" * 2_000_000, 368_000),
        (" " * 2_000_000, 3),
        ("!" * 2_000_000, 134_001),
        ("0" * 2_000_000, 804_001),
        ("字" * 2_000_000, 1_708_000),
        ("a1" * 500_000, 1_031_000),
        ("é字" * 500_000, 757_000),
    ],
)
def test_millions_of_characters_are_no_special_case(text: str, tokens: int):
    """Every character is looked at a fixed number of times: quadratic work would not end here."""
    assert estimate(text) == tokens
