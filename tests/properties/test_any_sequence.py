"""Laws over any sequence of messages at all, also ones that no conversation would have.

Calls of the user side, calls without ids, ids used again in one message, reasoning anywhere,
results of nothing: whatever stands in a list, the rules say what its view is.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from thusfar import (
    Message,
    Reasoning,
    RequestCompositionError,
    Text,
    ToolCall,
    ToolResult,
    history,
    per_message,
    summarize,
)
from thusfar.facts import facts_of

SAID = Text("x")


def called(*ids: str | None) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(each, "f") for each in ids)


def returned(*ids: str | None) -> tuple[ToolResult, ...]:
    return tuple(ToolResult(each, "f", (SAID,)) for each in ids)


KINDS: list[tuple[Any, tuple[Any, ...]]] = [
    ("system", (SAID,)),
    ("user", (SAID,)),
    ("user", (SAID,)),
    ("assistant", (SAID,)),
    ("assistant", (SAID,)),
    ("assistant", (Reasoning("x"),)),
    ("assistant", called("a")),
    ("assistant", called("b")),
    ("assistant", called("a", "b")),
    ("assistant", called("a", "a")),
    ("assistant", called(None, None)),
    ("tool", returned("a")),
    ("tool", returned("b")),
    ("tool", returned("a", "b")),
    ("tool", returned(None)),
    ("user", (*returned("a"), SAID)),
    ("user", called("u")),
    ("tool", returned("u")),
]
SEQUENCES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from((0, 1, 1, 2, 5))), max_size=16
).map(lambda drawn: [Message(*kind, metadata={"size": size}) for kind, size in drawn])
CAPS = st.tuples(st.none() | st.integers(1, 9), st.none() | st.integers(1, 20)).filter(any)
CUTS = st.sampled_from(["auto", "turn", "exchange"])
REPAIRS = st.sampled_from(["drop", "close"])


def size(message: Message) -> int:
    return int(message.metadata.get("size", 1))


COUNTER = per_message(size, name="size")


def positions(ranges: Any) -> list[int]:
    return [p for low, high in ranges for p in range(low, high)]


def paired(messages: list[Message]) -> bool:
    return not oracle.structure([facts_of(message) for message in messages]).defects


@given(SEQUENCES, CAPS, CUTS)
@settings(max_examples=300)
def test_a_view_is_what_the_rules_say_or_its_defects_are_refused(messages, caps, cut):
    facts = [facts_of(message) for message in messages]
    right = oracle.recent(
        facts, list(map(size, messages)), messages=caps[0], cap_tokens=caps[1], cut=cut
    )
    defects = sorted(oracle.structure(facts).defects.intersection(right.view))
    policy = history.recent(messages=caps[0], tokens=caps[1], cut=cut)

    try:
        receipt = policy.project(messages, counter=COUNTER).receipt
    except RequestCompositionError as refused:
        assert list(refused.diagnostics[0].positions) == defects
        return

    codes = {warning.code for warning in receipt.warnings}
    assert not defects
    assert positions(receipt.kept) == right.view
    assert ("HISTORY_CAP_OVERFLOW" in codes) == right.overflow
    assert ("HISTORY_CAUSAL_BOUNDARY" in codes) == right.boundary
    assert ("HISTORY_OPENER_OUTSIDE_CAP" in codes) == right.outside


@given(SEQUENCES, CAPS, CUTS, REPAIRS, st.sampled_from([0, 0.3, 0.8]), st.booleans())
@settings(max_examples=300)
def test_a_repaired_view_pairs_and_its_receipt_accounts_for_every_message(
    messages, caps, cut, repair, advance, managed
):
    recent = history.recent(
        messages=caps[0], tokens=caps[1], cut=cut, repair=repair, advance=advance
    )
    policy = history(recent=recent, summary=summarize.digest()) if managed else recent

    view = policy.project(messages, counter=COUNTER)

    receipt = view.receipt
    own = [message for message in view.messages if any(message is each for each in messages)]
    told = [*map(positions, (receipt.kept, receipt.omitted, receipt.summarised))]
    repaired = {note.position for note in receipt.repairs if note.kind != "closed"}
    assert paired(view.messages)
    assert [id(message) for message in own] == [id(messages[p]) for p in told[0]]
    assert len(view.messages) == len(own) + receipt.added
    assert sum(map(len, told)) == len(set().union(*told)), "a message is accounted for twice"
    assert set(range(len(messages))) - set().union(*told) <= repaired
    assert set(positions(receipt.opener) + positions(receipt.pinned)) <= set(told[0])


@given(SEQUENCES, CAPS, CUTS, st.sampled_from([0.3, 0.5, 0.8]))
@settings(max_examples=300)
def test_a_stepped_view_never_cuts_an_exchange(messages, caps, cut, advance):
    found = oracle.structure([facts_of(message) for message in messages])
    policy = history.recent(messages=caps[0], tokens=caps[1], cut=cut, advance=advance)

    try:
        kept = set(positions(policy.project(messages, counter=COUNTER).receipt.kept))
    except RequestCompositionError:
        return

    for low, high in found.exchanges:
        assert len(kept.intersection(range(low, high))) in (0, high - low)
