"""What successive requests have in common: the less changes, the more a prompt cache serves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from thusfar import (
    InputBudget,
    Runtime,
    Scripted,
    compact_now_sync,
    history,
    per_message,
    plan_sync,
    summarize,
)

MESSAGE_TOKENS = 100
EACH = per_message(lambda _: MESSAGE_TOKENS)


def steps(first: int, count: int) -> list[dict[str, Any]]:
    """A run of tool steps."""
    made: list[dict[str, Any]] = []
    for number in range(first, first + count):
        call = {"id": f"c{number}", "function": {"name": "look", "arguments": "{}"}}
        made += [
            {"role": "assistant", "content": None, "tool_calls": [{**call, "type": "function"}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"Finding {number}."},
        ]
    return made


def test_what_follows_a_summary_stays_when_a_new_turn_begins():
    """The opener of the long turn is sent beside its summary, and not only while it is newest."""
    long_turn = [{"role": "user", "content": "Find the leak."}, *steps(0, 10)]
    arguments: dict[str, Any] = {
        "model": "answering",
        "counter": EACH,
        "budget": InputBudget(max=1_500, optimize_at=1_400),
        "policy": history(recent=4, summary={"model": Scripted("They looked.")}),
        "runtime": Runtime(),
        "conversation": "leak",
    }
    compact_now_sync(long_turn, **arguments)
    new_turn = [
        {"role": "assistant", "content": "The pump leaks."},
        {"role": "user", "content": "And the valve?"},
        *steps(10, 2),
    ]

    before = plan_sync(long_turn, **arguments)
    after = plan_sync([*long_turn, *new_turn], **arguments)

    assert long_turn[0] in before.messages[1:]
    assert after.messages == [*before.messages, *new_turn]
    assert after.receipt.cached_prefix_tokens == before.receipt.input_tokens


def test_a_turn_that_a_summary_ends_with_leaves_no_opener_behind():
    messages = [
        {"role": ("user", "assistant")[place % 2], "content": f"message {place}"}
        for place in range(21)
    ]
    arguments: dict[str, Any] = {
        "model": "answering",
        "counter": EACH,
        "budget": InputBudget(max=1_500),
        "policy": history(recent=5, summary={"model": Scripted("They talked.")}),
        "runtime": Runtime(),
    }

    planned = plan_sync(messages, **arguments)

    assert planned.messages[1:] == messages[-5:]


def test_a_digest_without_caps_lets_most_requests_continue_the_one_before():
    """It moves by a fifth of the maximum at a time: 16 messages, 8 of 79 requests."""
    messages = [{"role": "user", "content": "Find the leak."}, *steps(0, 120)]
    policy = history(summary=summarize.digest())
    budget = InputBudget(max=8_000)

    views = [
        plan_sync(
            messages[: 2 * count + 1], model="answering", counter=EACH, budget=budget, policy=policy
        ).messages
        for count in range(41, 121)
    ]

    continued = [after[: len(before)] == before for before, after in pairwise(views)]
    assert continued.count(False) == 10


def test_above_the_watermark_the_summary_of_the_request_before_stays():
    """An older summary fits the maximum too, and would change everything behind the head."""
    talk = [
        {"role": ("user", "assistant")[number % 2], "content": f"Turn {number}."}
        for number in range(34)
    ]
    model = Scripted(["The first turns.", "The first turns and more."])
    arguments: dict[str, Any] = {
        "model": "answering",
        "counter": EACH,
        "budget": InputBudget(max=3_000, optimize_at=1_000),
        "policy": history(recent=4, summary={"model": model}),
        "runtime": Runtime(),
    }
    compact_now_sync(talk[:12], **arguments)
    compact_now_sync(talk[:24], **arguments)

    before = plan_sync(talk[:26], **arguments)
    after = plan_sync(talk, previous=before, **arguments)
    alone = plan_sync(talk, **arguments)

    assert before.receipt.history.covered == 20
    assert after.receipt.history.covered == 20
    assert after.messages == [*before.messages, *talk[26:]]
    assert after.receipt.cached_prefix_tokens == before.receipt.input_tokens
    reasons = {each.covers: each.reason for each in after.inspect().candidates if each.covers}
    assert reasons[8] == "prefix"
    assert alone.receipt.history.covered == 8, "with nothing to continue, less is summarised"
