"""Laws of `history.recent`, each over random conversations."""

from __future__ import annotations

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from thusfar import RequestCompositionError, dialect, history, per_message
from thusfar.testing import transcripts

OPENAI = dialect("openai-chat")
CUTS = st.sampled_from(["auto", "turn", "exchange"])
CAPS = st.tuples(st.none() | st.integers(1, 16), st.none() | st.integers(1, 120), CUTS).filter(
    lambda caps: caps[0] or caps[1]
)


def tokens_of(message):
    """A count that depends on the content alone."""
    return 1 + len(str(message)) % 17


COUNTER = per_message(tokens_of, name="modulo")


def project(messages, caps, **more):
    cap, tokens, cut = caps
    policy = history.recent(messages=cap, tokens=tokens, cut=cut, **more)
    return policy.project(messages, dialect="openai-chat", counter=COUNTER)


def positions(ranges):
    return [p for a, b in ranges for p in range(a, b)]


@given(transcripts(), CAPS)
@settings(max_examples=300)
def test_the_view_is_what_a_literal_reading_of_the_rules_gives(messages, caps):
    facts = [OPENAI.describe(m) for m in messages]
    expected = oracle.recent(
        facts, [tokens_of(m) for m in messages], messages=caps[0], cap_tokens=caps[1], cut=caps[2]
    )

    receipt = project(messages, caps).receipt

    codes = {w.code for w in receipt.warnings}
    assert positions(receipt.kept) == expected.view
    assert ("HISTORY_CAP_OVERFLOW" in codes) == expected.overflow
    assert ("HISTORY_CAUSAL_BOUNDARY" in codes) == expected.boundary
    assert ("HISTORY_OPENER_OUTSIDE_CAP" in codes) == expected.outside


@given(transcripts(), CAPS)
def test_the_same_objects_come_back_in_order_and_the_input_is_untouched(messages, caps):
    before = copy.deepcopy(messages)

    projection = project(messages, caps)

    kept = positions(projection.receipt.kept)
    assert [id(m) for m in projection.messages] == [id(messages[p]) for p in kept]
    assert messages == before


@given(transcripts(), CAPS)
def test_a_tuple_and_an_iterator_give_the_same_view_as_a_list(messages, caps):
    expected = project(messages, caps)

    assert project(tuple(messages), caps) == expected
    assert project(iter(messages), caps) == expected


@given(transcripts(), CAPS)
def test_the_system_run_is_kept_whatever_the_caps(messages, caps):
    receipt = project(messages, caps).receipt

    run = 0
    while run < len(messages) and messages[run]["role"] == "system":
        run += 1
    assert receipt.system == run
    assert positions(receipt.kept)[:run] == list(range(run))


@given(transcripts(), CAPS)
def test_no_result_is_without_its_call_and_no_call_without_its_results(messages, caps):
    view = project(messages, caps).messages

    found = oracle.structure([OPENAI.describe(m) for m in view])
    assert not found.defects


@given(transcripts(), CAPS)
def test_both_caps_hold_or_a_warning_says_why_not(messages, caps):
    projection = project(messages, caps)

    receipt = projection.receipt
    inside = [p for p in positions(receipt.kept) if p >= receipt.system]
    inside = [p for p in inside if p not in positions(receipt.opener)]
    size, tokens = len(inside), sum(tokens_of(messages[p]) for p in inside)
    over = (caps[0] is not None and size > caps[0]) or (caps[1] is not None and tokens > caps[1])
    assert over == any(w.code == "HISTORY_CAP_OVERFLOW" for w in receipt.warnings)


@given(transcripts(), CAPS, st.integers(0, 5), st.integers(0, 40))
def test_a_larger_cap_never_shows_less(messages, caps, more, more_tokens):
    wider = (
        caps[0] + more if caps[0] else None,
        caps[1] + more_tokens if caps[1] else None,
        caps[2],
    )

    narrow = set(positions(project(messages, caps).receipt.kept))
    wide = set(positions(project(messages, wider).receipt.kept))

    assert narrow <= wide


@given(transcripts(), CAPS)
def test_projecting_a_view_again_changes_nothing(messages, caps):
    view = project(messages, caps).messages

    again = project(view, caps).messages

    assert [id(m) for m in again] == [id(m) for m in view]


@given(transcripts(), CAPS)
def test_every_message_is_kept_or_omitted_and_never_both(messages, caps):
    receipt = project(messages, caps).receipt

    kept, omitted = positions(receipt.kept), positions(receipt.omitted)
    assert sorted(kept + omitted) == list(range(len(messages)))


@given(transcripts(defects=True), CAPS, st.sampled_from(["drop", "close"]))
@settings(max_examples=200)
def test_a_repaired_view_is_never_refused_and_always_pairs(messages, caps, repair):
    before = copy.deepcopy(messages)

    projection = project(messages, caps, repair=repair)

    found = oracle.structure([OPENAI.describe(m) for m in projection.messages])
    assert not found.defects, "the repaired view still does not pair"
    assert messages == before
    own = sum(any(m is mine for mine in messages) for m in projection.messages)
    assert len(projection.messages) == own + projection.receipt.added


@given(transcripts(defects=True), CAPS)
@settings(max_examples=200)
def test_strict_refuses_exactly_when_a_defect_would_be_in_the_view(messages, caps):
    facts = [OPENAI.describe(m) for m in messages]
    expected = oracle.recent(
        facts, [tokens_of(m) for m in messages], messages=caps[0], cap_tokens=caps[1], cut=caps[2]
    )
    defective = sorted(oracle.structure(facts).defects & set(expected.view))

    try:
        receipt = project(messages, caps).receipt
    except RequestCompositionError as error:
        assert list(error.diagnostics[0].positions) == defective
        assert error.diagnostics[0].code == "INVALID_HISTORY_TRANSCRIPT"
    else:
        assert not defective
        assert positions(receipt.kept) == expected.view


@given(transcripts(), CAPS, st.sets(st.integers(0, 30), max_size=4))
def test_pinned_messages_stay_with_their_units_and_count_nothing(messages, caps, chosen):
    marked = {id(m) for p, m in enumerate(messages) if p in chosen}
    unpinned = set(positions(project(messages, caps).receipt.kept))

    receipt = project(messages, caps, pinned=lambda m: id(m) in marked).receipt

    kept = set(positions(receipt.kept))
    for position in chosen:
        assert position >= len(messages) or position in kept
    assert unpinned <= kept, "a pin pushed something else out of the view"
    inside = [
        p
        for p in positions(receipt.kept)
        if p >= receipt.system
        and p not in positions(receipt.opener)
        and p not in positions(receipt.pinned)
    ]
    overflow = any(w.code == "HISTORY_CAP_OVERFLOW" for w in receipt.warnings)
    assert caps[0] is None or len(inside) <= caps[0] or overflow
