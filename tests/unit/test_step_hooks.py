"""Hooks: what they see of a request, and how narrowly they may amend it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from thusfar import (
    Amendment,
    InputBudget,
    Runtime,
    Scripted,
    StepContext,
    Thread,
    context,
    droppable,
    history,
    open_store,
    plan,
    plan_sync,
    prefer,
    summarizable,
)
from thusfar.errors import (
    PreparationError,
    RequestCompositionError,
    ResourceReadError,
)
from thusfar.planner.receipt import StepEvidence


def count_words(text: str) -> int:
    return len(text.split())


def talk(count: int, words: int = 9) -> list[dict[str, Any]]:
    body = " ".join(["word"] * words)
    return [{"role": ("user", "assistant")[i % 2], "content": f"m{i} {body}"} for i in range(count)]


def setting(**more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "counter": count_words, "runtime": Runtime(), **more}


def managed(model: Any, **more: Any) -> Any:
    return history(recent=4, summary={"model": model, "max_tokens": 20}, **more)


def test_a_hook_sees_the_step_and_amends_it():
    seen: list[Any] = []

    def hook(step: Any) -> Amendment:
        seen.append(step)
        return Amendment(
            add=[context("extra", "more words")],
            remove=["notes"],
            active_tools=["look"],
            budget=InputBudget(max=500),
        )

    tools = [
        {"type": "function", "function": {"name": name, "parameters": {}}}
        for name in ("look", "act")
    ]
    arguments = setting(use=[droppable(context("notes", "a b c"))], tools=tools, prepare_step=hook)
    first = plan_sync(talk(2), **arguments)
    second = plan_sync(talk(4), within=first, reason="tool-result", **arguments)

    assert first.kwargs["messages"][0]["content"] == "more words"
    assert [t["function"]["name"] for t in first.kwargs["tools"]] == ["look"]
    assert second.receipt.max_input_tokens == 500
    assert [(s.index, s.reason) for s in seen] == [(0, "initial"), (1, "tool-result")]
    assert seen[1].previous_receipt == first.receipt


OVERSTEPS = {
    "no amendment": {"model": "x"},
    "a policy": Amendment(add=[history.recent(2)]),
    "required": Amendment(remove=["rules"]),
    "history": Amendment(remove=["history"]),
    "unknown tool": Amendment(active_tools=["fly"]),
    "twice": Amendment(tools=[{"name": "a"}, {"name": "a"}]),
    "both": Amendment(add=[context("n", "x")], remove=["n"]),
    "a part": Amendment(remove=["first"]),
    "an alternative": Amendment(remove=["short"]),
    "a taken name": Amendment(add=[context("rules", "y")]),
    "a thread": Amendment(add=[Thread("t", store=open_store("memory:"))]),
    "text for names": Amendment(remove="notes"),
    "numbers for names": Amendment(active_tools=[1]),
    "a number for a budget": Amendment(budget=500),
    "no list": Amendment(add=7),
}


@pytest.mark.parametrize("amendment", OVERSTEPS.values(), ids=list(OVERSTEPS))
def test_a_hook_that_oversteps_is_refused(amendment: Any):
    with pytest.raises(RequestCompositionError) as raised:
        plan_sync(
            talk(2),
            use=[
                context("rules", "x"),
                droppable(summarizable([context("first", "a"), context("second", "b")])),
                droppable(prefer(context("notes", "c d"), context("short", "c"))),
            ],
            prepare_step=lambda _: amendment,
            **setting(),
        )

    assert raised.value.diagnostics[0].code in ("INVALID_EXECUTION_AMENDMENT", "INVALID_LADDER")


def test_what_a_hook_returned_is_read_once_and_what_is_not_there_may_be_removed():
    added = [context("extra", "more words")]

    def hook(_: Any) -> Amendment:
        return Amendment(add=added, remove=["gone long ago"])

    planned = plan_sync(talk(2), prepare_step=hook, **setting())
    added.clear()

    assert planned.system == "more words"
    assert planned.inspect().preparation == StepEvidence(
        reason="initial", index=0, added=("extra",), removed=("gone long ago",)
    )


def test_another_model_or_budget_begins_an_epoch_of_its_own():
    budget = InputBudget(max=2_000, optimize_at=60)
    policy = managed(Scripted("short"), on_miss="recent-only")
    runtime = Runtime()
    first = plan_sync(talk(12), policy=policy, **setting(budget=budget, runtime=runtime))

    def hook(_: Any) -> Amendment:
        return Amendment(budget=InputBudget(max=2_000))

    second = plan_sync(
        talk(12),
        policy=policy,
        within=first,
        prepare_step=hook,
        **setting(budget=budget, runtime=runtime),
    )

    assert second.epoch.key != first.epoch.key
    assert second.receipt.adaptations == ()


# What a hook sees


def called(name: str, call_id: str, arguments: str = "{}") -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def returned(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def seen_by_hook(messages: Any = None, **more: Any) -> StepContext:
    seen: list[StepContext] = []
    plan_sync(messages, prepare_step=seen.append, **setting(**more))
    return seen[0]


def test_a_hook_sees_the_calls_of_the_transcript_and_of_the_turn_each_with_its_result():
    step = seen_by_hook(
        [
            {"role": "user", "content": "Look."},
            called("look", "c1", '{"at": 1}'),
            returned("c1", "first"),
            called("look", "c1"),
            returned("c1", "second"),
        ],
        turn=[{"role": "user", "content": "Act."}, called("act", "c2")],
    )

    assert [(use.name, use.arguments, use.result) for use in step.tool_history] == [
        ("look", '{"at": 1}', "first"),
        ("look", "{}", "second"),
        ("act", "{}", None),
    ]
    assert [use.answered for use in step.tool_history] == [True, True, False]
    assert [message["role"] for message in step.turn] == ["user", "assistant"]


def test_a_hook_sees_calls_in_any_dialect():
    use = {"type": "tool_use", "id": "t", "name": "look", "input": {"at": 1}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}
    step = seen_by_hook(
        [{"role": "user", "content": "Look."}, {"role": "assistant", "content": [use]}],
        turn=[{"role": "user", "content": [result]}],
        dialect="anthropic",
        model="claude-sonnet-4-5",
    )

    assert [
        (each.call_id, each.name, each.result, each.is_error) for each in step.tool_history
    ] == [("t", "look", "no", True)]


def test_what_a_hook_sees_cannot_be_changed():
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    step = seen_by_hook(messages, tools=[{"type": "function", "function": {"name": "look"}}])

    with pytest.raises(TypeError):
        step.messages[0]["role"] = "system"
    with pytest.raises(TypeError):
        step.messages[0]["content"][0]["text"] = "Bye"
    with pytest.raises(TypeError):
        step.tools[0]["function"]["name"] = "act"
    with pytest.raises(AttributeError):
        step.index = 4
    assert messages == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]


def test_a_hook_sees_what_the_execution_took_and_whether_all_of_it_was_reported():
    seen: list[StepContext] = []
    arguments = setting(prepare_step=seen.append)
    first = plan_sync(talk(2), **arguments)
    second = plan_sync(talk(3), within=first, **arguments)
    second.report(40, 7)
    plan_sync(talk(4), within=second, **arguments)
    first.accept_sync({"usage": {"prompt_tokens": 30, "completion_tokens": 5}, "choices": []})
    plan_sync(talk(4), within=second, **arguments)

    stats = [each.stats for each in seen]
    planned = first.receipt.input_tokens + second.receipt.input_tokens
    assert [each.requests for each in stats] == [0, 1, 2, 2]
    assert [each.coverage for each in stats] == ["complete", "none", "partial", "complete"]
    assert stats[2].input_tokens == stats[3].input_tokens == planned
    assert (stats[2].reported_input_tokens, stats[2].reported_output_tokens) == (40, 7)
    assert (stats[3].reported_input_tokens, stats[3].reported_output_tokens) == (70, 12)
    assert all(each.at > 1_600_000_000_000 for each in stats)


def test_a_hook_reads_what_is_lent_to_it_once_and_frozen():
    asked: list[str] = []
    shared = {"open": ["a"]}

    def board() -> dict[str, Any]:
        asked.append("board")
        return shared

    def hook(step: StepContext) -> None:
        first = step.resources.read("board")
        shared["open"].append("b")
        assert step.resources.read("board") is first
        assert first["open"] == ("a",)
        assert step.resources.read("none") is None
        assert step.resources.names == ("board", "none", "unread")

    planned = plan_sync(
        talk(2),
        prepare_step=hook,
        resources={"board": board, "none": None, "unread": 1},
        **setting(),
    )

    assert asked == ["board"]
    assert planned.inspect().preparation.resources == ("board", "none")


def test_a_resource_that_was_not_lent_or_cannot_be_had_is_a_typed_error():
    def broken() -> None:
        raise OSError("SECRET")

    async def later() -> int:
        return 5

    async def hook(step: StepContext) -> Amendment:
        return Amendment(add=[context("n", str(await step.resources.aread("later")))])

    def told(name: str) -> ResourceReadError:
        with pytest.raises(PreparationError) as raised:
            plan_sync(
                talk(2),
                prepare_step=lambda step: step.resources.read(name),
                resources={"broken": broken, "later": later},
                **setting(),
            )
        cause = raised.value.__cause__
        assert isinstance(cause, ResourceReadError)
        return cause

    planned = asyncio.run(plan(talk(2), prepare_step=hook, resources={"later": later}, **setting()))

    assert told("other").facts == {"resource": "other", "reason": "undeclared"}
    assert told("broken").facts["reason"] == "unresolved"
    assert told("later").facts["reason"] == "unresolved"
    assert "SECRET" not in str(told("broken"))
    assert planned.system == "5"


def test_a_hook_that_raises_or_hangs_stops_the_request(monkeypatch: pytest.MonkeyPatch):
    ended = threading.Event()

    def raises(_: Any) -> None:
        raise KeyError("no")

    async def hangs(_: Any) -> None:
        await asyncio.Event().wait()

    with pytest.raises(PreparationError) as raised:
        plan_sync(talk(2), prepare_step=raises, **setting())
    monkeypatch.setattr("thusfar.runtime.planning.HOOK_SECONDS", 0.02)
    with pytest.raises(PreparationError) as late:
        asyncio.run(plan(talk(2), prepare_step=hangs, **setting()))
    with pytest.raises(PreparationError) as later:
        plan_sync(talk(2), prepare_step=lambda _: ended.wait(), **setting())
    ended.set()

    assert raised.value.facts["reason"] == "callback"
    assert late.value.facts["reason"] == later.value.facts["reason"] == "timeout"
    assert isinstance(raised.value.__cause__, KeyError)
