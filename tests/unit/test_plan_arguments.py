"""Arguments of plans: one list for every function that takes them."""

from __future__ import annotations

import inspect
import typing
from dataclasses import fields
from typing import Any

import pytest

import thusfar
from thusfar import PlanOptions, Runtime
from thusfar.runtime.arguments import PlanArguments

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
