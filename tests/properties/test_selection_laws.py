"""Laws of selection, against a search over every combination of forms."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from thusfar.planner.selection import RANKS, Ladder, Rung, select, total
from thusfar.planner.shortening import oldest_first

KINDS = tuple(RANKS)
SHARED = (("tools", 5), ("recall", 3))
"""What a request has once, whoever of its contributors brings it."""


@st.composite
def ladder_lists(draw: Any) -> list[Ladder]:
    made = []
    for order in range(draw(st.integers(1, 4))):
        kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4, unique=True))
        rungs = [
            Rung(
                kind,  # type: ignore[arg-type]
                draw(st.integers(0, 12)),
                draw(st.sampled_from(["ready", "ready", "unprepared", "unavailable"])),
                soft=draw(st.booleans()),
                shared=tuple(draw(st.lists(st.sampled_from(SHARED), unique=True))),
            )
            for kind in sorted(kinds, key=RANKS.__getitem__)
        ]
        made.append(Ladder(f"c{order}", draw(st.integers(0, 2)), order, rungs))
    return made


def size(rungs: Any) -> int:
    chosen = list(rungs)
    once = {pair for rung in chosen for pair in rung.shared}
    return sum(rung.tokens for rung in chosen) + sum(tokens for _, tokens in once)


def best(ladders: list[Ladder], limit: int, fixed: int, *, soft: bool, make: bool) -> Any:
    """Look at every combination and keep the highest fidelity that fits."""
    ordered = sorted(ladders, key=lambda each: (-each.priority, each.order))
    choices = []
    for ladder in ordered:
        states = {"ready", "unprepared"} if make else {"ready"}
        choices.append(
            [
                (index, rung)
                for index, rung in enumerate(ladder.rungs)
                if rung.state in states and (rung.soft or not soft)
            ]
        )
    fitting = [
        combination
        for combination in product(*choices)
        if fixed + size(rung for _, rung in combination) <= limit
    ]
    if not fitting:
        return None
    chosen = min(fitting, key=lambda combination: [index for index, _ in combination])
    return {ladder.contributor: r for ladder, (_, r) in zip(ordered, chosen, strict=True)}


@given(ladder_lists(), st.integers(0, 40), st.integers(0, 5), st.booleans(), st.booleans())
def test_the_highest_fidelity_that_fits_is_found_without_a_search(
    ladders: list[Ladder], limit: int, fixed: int, soft: bool, make: bool
):
    expected = best(ladders, limit, fixed, soft=soft, make=make)

    found = select(ladders, limit, fixed=fixed, soft=soft, make=make)

    assert found == expected
    if found is not None:
        assert total(found, fixed) == fixed + size(found.values()) <= limit


@given(ladder_lists(), st.integers(0, 40), st.randoms())
def test_the_order_in_which_candidates_come_does_not_matter(
    ladders: list[Ladder], limit: int, rng: Any
):
    shuffled = list(ladders)
    rng.shuffle(shuffled)

    assert select(ladders, limit) == select(shuffled, limit)


@given(ladder_lists(), st.integers(0, 40))
def test_more_room_never_lowers_the_most_important_contributor(ladders: list[Ladder], limit: int):
    first = max(ladders, key=lambda each: (each.priority, -each.order))
    less, more = select(ladders, limit), select(ladders, limit + 1)

    if less is not None:
        assert more is not None
        assert more[first.contributor].place <= less[first.contributor].place


@given(st.dictionaries(st.integers(0, 500), st.integers(-5, 50), max_size=80))
def test_the_oldest_are_shortened_first_in_few_steps_that_stay_where_they_are(saved):
    places = sorted(place for place, tokens in saved.items() if tokens > 0)

    steps = oldest_first(saved)

    assert len(steps) <= 4
    assert all(step == places[: len(step)] for step in steps)
    assert [len(step) for step in steps] == sorted({len(step) for step in steps})
    assert (steps[-1] if steps else []) == places
    grown = oldest_first({**saved, 501: 1})
    doubled = (len(places) + 1) & len(places) == 0  # the next number is a power of two
    assert doubled or [s for s in steps[:-1] if s in grown] == steps[:-1]
