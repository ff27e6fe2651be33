"""Ranges of positions: joining, subtracting, finding, against sets of numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thusfar.receipt import as_ranges, within, without

POSITIONS = st.sets(st.integers(0, 40), max_size=30)


def ranges_of(positions):
    return as_ranges([(position, position + 1) for position in positions])


def positions_of(ranges):
    return [position for start, end in ranges for position in range(start, end)]


def test_ranges_that_touch_or_overlap_are_joined_and_empty_ones_dropped():
    assert as_ranges([(5, 7), (0, 2), (2, 4), (6, 9), (3, 3)]) == ((0, 4), (5, 9))


@given(POSITIONS, POSITIONS)
def test_subtracting_ranges_is_subtracting_sets(kept, holes):
    left = without(ranges_of(kept), ranges_of(holes))

    assert positions_of(left) == sorted(kept - holes)
    assert as_ranges(list(left)) == left


@given(POSITIONS, st.integers(0, 41))
def test_a_position_is_within_ranges_exactly_when_it_is_one_of_theirs(positions, position):
    assert within(ranges_of(positions), position) == (position in positions)


def test_a_hole_that_spans_two_ranges_is_taken_from_both():
    assert without(((0, 4), (6, 9)), ((2, 7),)) == ((0, 2), (7, 9))
