"""Request receipts: what a planned request says about itself."""

import pytest

from thusfar import InputBudget, history, plan_sync, summarize

TALK = [
    {
        "role": "user" if turn % 2 == 0 else "assistant",
        "content": f"Message {turn}. " + "word " * 60,
    }
    for turn in range(20)
]
FULL = {"messages": TALK, "model": "gpt-4o", "counter": "estimate"}


def test_the_forms_of_a_digest_all_stand_for_the_same_messages():
    """They differ in the length of their lines, not in what they cover."""
    policy = history(recent=4, summary=summarize.digest())
    planned = plan_sync(**FULL, policy=policy, budget=InputBudget(max=1_200))

    looked_at = planned.inspect().candidates
    assert [each.representation for each in looked_at] == ["full", *["summary"] * 4]
    assert [each.covers for each in looked_at] == [0, 16, 16, 16, 16]
    assert [each.reason for each in looked_at].count(None) == 1


def test_a_warning_of_the_view_is_said_once():
    planned = plan_sync(**FULL, policy=history.recent(5), budget=InputBudget(max=600))

    assert [warning.code for warning in planned.receipt.warnings] == ["HISTORY_CAUSAL_BOUNDARY"]
    assert str(planned.receipt).count("HISTORY_CAUSAL_BOUNDARY") == 1


@pytest.mark.parametrize(("most", "cut"), [(1_500, ((2, 3),)), (1_100, ((2, 3), (6, 7)))])
def test_what_is_sent_shortened_is_named_and_counted_as_not_the_callers_own(most, cut):
    """Newer results stay whole while that fits."""
    talk = []
    for name in ("c1", "c2", "c3"):
        call = {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        talk += [
            {"role": "user", "content": f"Look at {name}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": name, "content": "a line of output\n" * 99},
            {"role": "assistant", "content": "Seen."},
        ]

    planned = plan_sync(
        talk,
        model="gpt-4o",
        counter="estimate",
        policy=history(recent=4, shorten=50),
        budget=InputBudget(max=most),
    )

    said = planned.receipt.history
    assert said.shortened == cut
    assert said.view.kept == ((0, 12),)
    assert said.view.added == len(cut)
    changed = [each is talk[place] for place, each in enumerate(planned.messages)].count(False)
    assert changed == len(cut)
    forms = [c for c in planned.inspect().candidates if c.representation == "shortened"]
    assert [form.covers for form in forms] == [1, 2]
