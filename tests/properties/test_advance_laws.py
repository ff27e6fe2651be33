"""Laws of `advance`: the start moves in steps, never back; between them the prefix is shared."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar import history, per_message
from thusfar.testing import canonical_transcripts

COUNTER = per_message(lambda message: 1 + len(message.text) % 9, name="modulo")
POLICIES = st.builds(
    lambda cap, tokens, cut, advance: history.recent(
        messages=cap, tokens=tokens, cut=cut, advance=advance
    ),
    st.integers(3, 20),
    st.none() | st.integers(20, 90),
    st.sampled_from(["auto", "turn", "exchange"]),
    st.sampled_from([0.1, 0.25, 0.5, 0.75]),
)


def uninterrupted(messages):
    """Leave out what was said while a call waited: until its result came, that was a defect."""
    out, waiting = [], set()
    for message in messages:
        answers = {p.call_id for p in message.parts if hasattr(p, "call_id")}
        if waiting and not answers:
            continue
        waiting -= answers
        waiting |= {p.id for p in message.parts if hasattr(p, "arguments")}
        out.append(message)
    return out


def views(policy, messages):
    for end in range(1, len(messages) + 1):
        so_far = messages[:end]
        yield end, policy.project(so_far, dialect="thusfar", counter=COUNTER)


def window_start(receipt):
    outside = {p for a, b in receipt.opener for p in range(a, b)}
    kept = [p for a, b in receipt.kept for p in range(a, b) if p >= receipt.system]
    start = receipt.messages
    for position in reversed(kept):
        if position != start - 1 or position in outside:
            break
        start = position
    return start


@given(canonical_transcripts(max_turns=14).map(uninterrupted), POLICIES)
@settings(max_examples=60, deadline=None)
def test_the_start_never_moves_back_and_between_moves_the_whole_prefix_is_shared(messages, policy):
    start, view, system = 0, [], 0
    for _, projection in views(policy, messages):
        receipt = projection.receipt
        now = window_start(receipt)
        if receipt.system != system:
            start, view, system = now, projection.messages, receipt.system
            continue
        assert now >= start, "the start moved back"
        if len(projection.messages) > len(view) and now == start:
            shared = projection.messages[: len(view)]
            assert [id(m) for m in shared] == [id(m) for m in view], "the prefix changed"
        start, view = now, projection.messages


@given(canonical_transcripts(max_turns=14).map(uninterrupted), POLICIES)
@settings(max_examples=60, deadline=None)
def test_the_caps_hold_as_without_it_unless_one_unit_spans_the_grid_point(messages, policy):
    options = policy.options
    for _, projection in views(policy, messages):
        receipt = projection.receipt
        outside = {p for a, b in receipt.opener for p in range(a, b)}
        inside = [
            p
            for a, b in receipt.kept
            for p in range(a, b)
            if p >= receipt.system and p not in outside
        ]
        tokens = sum(COUNTER.count_messages([messages[p] for p in inside]))
        over = len(inside) > options.messages or (options.tokens and tokens > options.tokens)
        assert bool(over) == any(w.code == "HISTORY_CAP_OVERFLOW" for w in receipt.warnings)


@given(st.integers(4, 40), st.sampled_from([0.1, 0.25, 0.5, 0.75]), st.integers(1, 200))
def test_over_single_messages_it_moves_once_a_step_and_keeps_the_rest(cap, advance, total):
    policy = history.recent(cap, advance=advance, cut="exchange")
    messages = [{"role": "assistant", "content": f"line {n}"} for n in range(total)]
    step = max(1, int(advance * cap))

    view = policy.project(messages).messages

    if total <= cap:
        assert view == messages
    else:
        start = total - len(view)
        assert start % step == 0
        assert cap - step < len(view) <= cap


def test_without_growth_beyond_the_cap_nothing_is_left_out():
    messages = [{"role": "user", "content": str(n)} for n in range(40)]

    assert history.recent(40, advance=0.5).project(messages).messages == messages
