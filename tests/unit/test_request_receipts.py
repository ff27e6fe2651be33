"""Request receipts: what a planned request says about itself."""

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
