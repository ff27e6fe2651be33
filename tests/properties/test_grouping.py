"""Laws of grouping: a slice answers as the whole does, and both as the rules literally say."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from thusfar.facts import ASSISTANT, REASONING, SYSTEM, USER, Facts, Link
from thusfar.units import group

IDS = st.sampled_from(["a", "b", "c", None])
LINKS = st.builds(Link, IDS, st.sampled_from(["read", "run"]))


@st.composite
def any_facts(draw: st.DrawFn, most: int = 24) -> list[Facts]:
    """Facts in any order at all: orphans, duplicates, reused ids, calls without ids."""
    return draw(
        st.lists(
            st.one_of(
                st.sampled_from([USER, ASSISTANT, SYSTEM, REASONING]),
                st.builds(
                    lambda calls: Facts("assistant", tuple(calls)),
                    st.lists(LINKS, min_size=1, max_size=3),
                ),
                st.builds(
                    lambda results: Facts("tool", (), tuple(results)),
                    st.lists(LINKS, min_size=1, max_size=2),
                ),
                st.builds(lambda link: Facts("user", (), (link,)), LINKS),
                st.builds(lambda link: Facts("user", (link,), user_input=True), LINKS),
            ),
            max_size=most,
        )
    )


@given(any_facts())
@settings(max_examples=400)
def test_grouping_is_what_a_literal_reading_of_the_rules_gives(facts):
    expected = oracle.structure(facts)

    found = group(facts[expected.system :])

    shift = expected.system
    assert [p + shift for p in found.exchanges] == [a for a, _ in expected.exchanges]
    assert [p + shift for p in found.turns] == [a for a, _ in expected.turns]
    defects = {p + shift for p, _ in (*found.orphans, *found.unanswered)}
    assert defects == expected.defects
    assert {p + shift for p, _ in found.pending} == expected.pending
    answers = {(r + shift, k): (c + shift, j) for (r, k), (c, j) in found.answers().items()}
    assert answers == expected.pairs
    for start in found.turns:
        assert found.opener_end(start) + shift == expected.openers[start + shift][1]


@given(any_facts(), st.data())
@settings(max_examples=400)
def test_what_a_slice_is_certain_of_is_true_of_the_whole(facts, data):
    whole = group(facts)
    first = data.draw(st.integers(0, len(facts)))

    part = group(facts[first:], complete=False)

    exchanges = [p + first for p in part.exchanges]
    turns = [p + first for p in part.turns]
    if exchanges:
        assert exchanges == [p for p in whole.exchanges if p >= exchanges[0]]
    if turns:
        assert turns == [p for p in whole.turns if p >= turns[0]]
    assert set(turns) <= set(exchanges), "a turn starts inside an exchange"
    orphans = {(p + first, k) for p, k in part.orphans}
    assert orphans <= set(whole.orphans)


@given(any_facts())
def test_every_message_is_in_exactly_one_exchange_and_one_turn(facts):
    found = group(facts)

    if facts:
        assert found.exchanges[0] == 0
        assert found.turns[0] == 0
    assert found.exchanges == sorted(set(found.exchanges))
    for position in range(len(facts)):
        assert found.exchange_start(position) <= position < found.exchange_end(position)


@given(any_facts())
def test_no_exchange_border_stands_between_a_call_and_its_result(facts):
    found = group(facts)

    for (result, _), (call, _) in found.answers().items():
        assert found.exchange_start(result) == found.exchange_start(call)
