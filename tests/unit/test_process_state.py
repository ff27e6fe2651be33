"""State: paths, updates and conditions."""

from __future__ import annotations

from typing import Any

import pytest

from thusfar.errors import InvalidDefinitionError, InvalidStateError, OptionsError, TranscriptError
from thusfar.process import Process, Task, Transition
from thusfar.process.criteria import check_criteria, criteria_hold
from thusfar.process.entries import timestamp
from thusfar.process.paths import apply_updates, parse_path


@pytest.mark.parametrize(
    ("before", "updates", "after"),
    [
        ({}, {"a.b.c": 1}, {"a": {"b": {"c": 1}}}),
        ({"a": [1]}, {"a[]": 2}, {"a": [1, 2]}),
        ({}, {"a[]": 2}, {"a": [2]}),
        ({"a": [1, 2]}, {"a[1]": 3}, {"a": [1, 3]}),
        ({"a": [{"b": 1}]}, {"a[0].b": 2}, {"a": [{"b": 2}]}),
        ({"a": {"x": {"y": 1, "z": [1]}}}, {"a{}": {"x": {"y": 2, "z": [2]}}},
         {"a": {"x": {"y": 2, "z": [2]}}}),
        ({"a": {"x": {"y": 1}}}, {"a{?}": {"x": {"y": 2, "z": 3}}}, {"a": {"x": {"y": 1, "z": 3}}}),
        ({}, {"a{}": {"x": 1}}, {"a": {"x": 1}}),
        ({"n": 1}, {"a": "$state.n", "b": "$$state"}, {"n": 1, "a": 1, "b": "$state"}),
        ({}, {"a": {"deep": ["$output.list[1]", "x"]}}, {"a": {"deep": [6, "x"]}}),
        ({}, "all", {"all": {"list": [5, 6]}}),
        ({}, {"a": "$outputs.list"}, {"a": [5, 6]}),
    ],
)  # fmt: skip
def test_an_update_is_written(before: Any, updates: Any, after: Any):
    assert apply_updates(before, updates, outputs={"list": [5, 6]}) == after


@pytest.mark.parametrize(
    ("before", "updates"),
    [
        ({"a": 1}, {"a.b": 1}),
        ({"a": 1}, {"a[]": 1}),
        ({"a": [1]}, {"a{}": {"x": 1}}),
        ({"a": {}}, {"a{}": [1]}),
        ({"a": [1]}, {"a[1]": 1}),
        ({}, {"a[0]": 1}),
        ({"a": [1]}, {"a.b": 1}),
        ({}, {"a": "$output.nope"}),
        ({}, {"a": "$output.list[9]"}),
        ({}, {"a": "$input"}),
        ({}, {"a": "$output.list[]"}),
    ],
)
def test_an_update_that_meets_something_else_is_refused(before: Any, updates: Any):
    with pytest.raises(InvalidStateError):
        apply_updates(before, updates, outputs={"list": [5, 6]})


def test_strict_updates_make_nothing_on_the_way():
    with pytest.raises(InvalidStateError):
        apply_updates({}, {"a.b": 1}, strict=True)
    assert apply_updates({"a": {}}, {"a.b": 1}, strict=True) == {"a": {"b": 1}}


@pytest.mark.parametrize(
    "path",
    ["", ".a", "a.", "a..b", "a b", "0a", "a[]b", "a[x]", "history", "history.x", "history[]"],
)
def test_a_path_of_another_form_is_refused(path: str):
    with pytest.raises(InvalidStateError):
        parse_path(path)


def test_a_value_that_is_no_json_is_refused():
    with pytest.raises(TranscriptError):
        apply_updates({}, {"a": b"bytes"})
    process = Process([Task(id="a")])
    with pytest.raises(TranscriptError):
        process.state["a"] = float("nan")
    with pytest.raises(TranscriptError):
        process.add_history(result={1, 2})
    assert len(process.history) == 0


STATE = {"n": 5, "text": "Hello", "list": ["a", "b"], "none": None, "flag": True, "o": {"k": 1}}


@pytest.mark.parametrize(
    ("field", "operator", "value", "holds"),
    [
        ("n", "equals", 5, True),
        ("flag", "equals", 1, False),
        ("n", "notEqual", 5, False),
        ("text", "iEquals", "hELLO", True),
        ("n", "greaterThan", 4, True),
        ("n", "lessThan", 5, False),
        ("none", "lessThan", 0, True),
        ("none", "lessOrEqual", None, True),
        ("n", "greaterOrEqual", 5, True),
        ("text", "greaterThan", 1, False),
        ("list", "contains", "a", True),
        ("text", "contains", "ell", True),
        ("list", "notContains", "c", True),
        ("text", "startsWith", "He", True),
        ("text", "endsWith", "lo", True),
        ("n", "inSet", [4, 5], True),
        ("n", "notInSet", [4, 5], False),
        ("none", "isNull", None, True),
        ("missing", "isNull", None, True),
        ("n", "isNotNull", None, True),
        ("missing", "isBlank", None, True),
        ("text", "notBlank", None, True),
        ("text", "regexp", "^H.*o$", True),
        ("list.length", "equals", 2, True),
        ("state.o.k", "equals", 1, True),
        ("n.length", "isNull", None, True),
        ("list[0]", "equals", "a", True),
        ("state.list[1]", "equals", "b", True),
        ("list[9]", "isNull", None, True),
        ("o[0]", "isNull", None, True),
    ],
)
def test_a_condition_holds_or_not(field: str, operator: str, value: Any, holds: bool):
    criteria = {"fieldName": field, "operator": operator, "value": value}
    check_criteria(criteria)

    assert criteria_hold(criteria, STATE) is holds


def test_conditions_are_grouped():
    yes = {"fieldName": "n", "operator": "equals", "value": 5}
    no = {"fieldName": "n", "operator": "equals", "value": 6}

    def group(operator: str, *members: Any) -> bool:
        return criteria_hold({"operator": operator, "criteria": list(members)}, STATE)

    assert [group("and", yes, yes), group("and", yes, no)] == [True, False]
    assert [group("or", no, yes), group("or", no, no)] == [True, False]
    assert [group("not", no, no), group("not", no, yes)] == [True, False]
    assert criteria_hold(lambda state: state["n"] == 5, STATE)


@pytest.mark.parametrize(
    "criteria",
    [
        {},
        "n > 5",
        {"fieldName": "n", "operator": "above", "value": 1},
        {"operator": "equals", "value": 1},
        {"operator": "and", "criteria": [{}]},
        {"fieldName": "n", "operator": "regexp", "value": "("},
        {"fieldName": "n", "operator": "inSet", "value": 5},
        {"fieldName": "n", "operator": "equals", "valeu": 5},
        {"fieldName": "n", "operator": "equals"},
        {"fieldName": "n..m", "operator": "isNull"},
        {"fieldName": "n[", "operator": "isNull"},
        {"fieldName": "", "operator": "isNull"},
        {"operator": "and", "criteria": "ab"},
        {"operator": "and", "criteria": [], "fieldName": "n"},
    ],
)
def test_a_condition_of_another_form_is_refused(criteria: Any):
    with pytest.raises(InvalidDefinitionError):
        check_criteria(criteria)


@pytest.mark.parametrize("value", [True, "yesterday", float("nan"), 1e30, [1]])
def test_a_time_that_cannot_be_read_is_refused(value: Any):
    with pytest.raises(OptionsError):
        timestamp(value)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ({"fieldName": "x", "operator": "eq", "value": 1}, "the operator 'eq' does not exist"),
        ({"operator": "equals", "value": 1}, "it had no fieldName"),
        ({"fieldName": "x..y", "operator": "isNull"}, "its fieldName was no path"),
        ({"operator": "and", "criteria": {}}, "and had no list of criteria"),
        ({"operator": "or", "criteria": [{"fieldName": "x", "operator": "=="}]}, "'==' does not"),
    ],
)  # fmt: skip
def test_a_condition_that_cannot_be_read_says_why(condition: Any, told: str):
    with pytest.raises(InvalidDefinitionError) as refused:
        Transition("a", visible_when=condition)

    assert told in refused.value.args[0]
    assert "greaterThan" in refused.value.fix
