"""Arguments of plans: one list for every function that takes them."""

from __future__ import annotations

import inspect
import typing
from dataclasses import fields
from typing import Any

import pytest

import thusfar
from thusfar import (
    InputBudget,
    PlanOptions,
    Runtime,
    Thread,
    context,
    history,
    prefer,
    summarize,
)
from thusfar.errors import (
    OptionsError,
    RepresentationUnavailableError,
    RequestCompositionError,
    SummaryFailedError,
    TranscriptError,
)
from thusfar.runtime.arguments import PlanArguments
from thusfar.storage.memory import MemoryStore

OF_HOOKS = {"functions", "tools_left_out"}  # which no caller says
TAKE_OPTIONS = ("plan", "plan_sync", "preview", "preview_sync", "compact_now", "compact_now_sync")


def test_what_callers_may_say_is_what_is_read():
    said = {each.name for each in fields(PlanArguments)} - {"messages", "model"} - OF_HOOKS

    assert set(PlanOptions.__annotations__) == said
    assert PlanOptions.__required_keys__ == frozenset()


def test_both_lists_agree_on_every_type():
    written = typing.get_type_hints(PlanOptions)
    read = typing.get_type_hints(PlanArguments)

    assert {name: read[name] for name in written} == written


@pytest.mark.parametrize("name", TAKE_OPTIONS)
def test_every_option_is_in_the_signature_that_is_shown(name: str):
    shown = inspect.signature(getattr(thusfar, name)).parameters

    assert next(iter(shown)) == "messages"
    assert set(PlanOptions.__annotations__) < set(shown)
    assert shown["tools"].default == ()
    assert not any(each.kind is each.VAR_KEYWORD for each in shown.values())


@pytest.mark.parametrize("name", [each for each in TAKE_OPTIONS if each.endswith("_sync")])
def test_an_argument_that_does_not_exist_is_named_with_the_function_that_was_called(name: str):
    call: Any = getattr(thusfar, name)

    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'tool'$"):
        call([], model="gpt-4o", runtime=Runtime(), tool=[])


TALK = [{"role": "user", "content": "Hello there."}, {"role": "assistant", "content": "Hello."}]
WRONG: dict[str, Any] = {
    "tools": {"type": "function"},
    "use": context("notes", "short"),
    "policy": summarize.digest(),
    "thread": "talk",
    "at": "msg_1",
    "dialect": 5,
    "wire": 5,
    "leave_out": "no",
    "cache": 1,
    "count_tokens": 5,
    "conversation": 5,
    "previous": "request_1",
    "within": "request_1",
    "resources": ["board"],
    "runtime": MemoryStore(),
    "budget": {"max": 100},
    "capacity": "large",
    "counter": 5,
    "max_output_tokens": 0,
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_the_wrong_kind_is_refused_by_its_name(name: str):
    """A policy that was passed over would send everything, or leave out what nobody allowed."""
    given = {"runtime": Runtime(), name: WRONG[name]}

    for plan in (thusfar.plan_sync, thusfar.preview_sync, thusfar.compact_now_sync):
        with pytest.raises(OptionsError) as caught:
            plan(TALK, model="gpt-4o", **given)
        assert name in str(caught.value) or caught.value.facts["option"] == name


def test_none_stands_for_every_argument_that_is_not_given():
    given = dict.fromkeys(PlanOptions.__annotations__)

    planned = thusfar.plan_sync(TALK, model="gpt-4o", **given)

    assert planned.kwargs["messages"] == TALK
    assert "tools" not in planned.kwargs


@pytest.mark.parametrize("turn", [5, [{"role": "user", "parts": [{"text": "Hi"}]}]])
@pytest.mark.parametrize("stored", [False, True])
def test_a_turn_in_another_dialect_than_the_messages_is_refused(turn: Any, stored: bool):
    source = {"thread": Thread("t", store=MemoryStore())} if stored else {"messages": TALK}

    with pytest.raises(TranscriptError, match="current turn"):
        thusfar.plan_sync(model="gpt-4o", turn=turn, **source)


def test_a_turn_alone_says_which_dialect_the_request_is_in():
    turn = [{"role": "user", "parts": [{"text": "Hi"}]}]

    assert thusfar.plan_sync(model="gemini-2.5-pro", turn=turn).kwargs["contents"] == turn


def test_messages_that_can_be_read_once_are_read_once():
    """The hook, the plan and the preparation after it all see the same ones."""
    seen: list[int] = []
    planned = thusfar.plan_sync(
        (message for message in TALK),
        model="gpt-4o",
        prepare_step=lambda step: seen.append(len(step.messages)),
    )

    assert seen == [2]
    assert planned.kwargs["messages"] == TALK


@pytest.mark.parametrize(
    ("name", "value"),
    [("store", "sqlite:///x.db"), ("summariser", 5), ("host", 5), ("on_event", 5)],
)
def test_a_runtime_is_made_of_what_it_can_work_with(name: str, value: Any):
    with pytest.raises(OptionsError, match=name):
        Runtime(**{name: value})


@pytest.mark.parametrize("name", ["system", "tools", "turn", "framing", "history", "placement"])
def test_no_contributor_has_the_name_of_a_part_of_the_request(name: str):
    """A breakdown by name would have two parts under one."""
    with pytest.raises(RequestCompositionError, match="name"):
        thusfar.plan_sync(TALK, model="gpt-4o", use=[context(name, "text")])


def test_a_summary_on_demand_says_what_it_lacks():
    said = {"model": "gpt-4o", "runtime": Runtime()}

    with pytest.raises(OptionsError, match="no summaries"):
        thusfar.compact_now_sync(TALK, policy=history.recent(1), **said)
    with pytest.raises(SummaryFailedError, match="no model"):
        thusfar.compact_now_sync(TALK, policy=history(recent=1), **said)
    with pytest.raises(RepresentationUnavailableError, match="summariser"):
        thusfar.plan_sync(
            TALK * 20, policy=history(recent=1), budget=InputBudget(max=60), counter=len, **said
        )


def test_an_async_counter_is_refused_where_nothing_can_wait_for_it():
    async def count(**request: Any) -> int:
        return 1

    with pytest.raises(OptionsError, match="async counter"):
        thusfar.plan_sync(TALK, model="gpt-4o", count_tokens=count, budget=InputBudget(max=5))


@pytest.mark.parametrize("bad", [5, object(), ["gpt"]])
def test_a_summary_model_can_be_called_or_has_a_name(bad: Any):
    with pytest.raises(OptionsError, match="summary model"):
        history(summary={"model": bad})


def test_a_context_has_a_list_of_tools_and_a_shorter_form_is_text():
    with pytest.raises(OptionsError, match="tools"):
        context("a", "text", tools={"name": "look"})
    with pytest.raises(OptionsError, match="alternative"):
        prefer(context("a", "text"), 5)


def test_a_hook_and_a_store_are_what_they_have_to_be():
    with pytest.raises(OptionsError, match="prepare_step"):
        thusfar.plan_sync(TALK, model="gpt-4o", prepare_step=5)
    with pytest.raises(OptionsError, match="store"):
        thusfar.inspect_request_sync("request_1", store=None)
