"""Criteria: conditions over state, as data.

Source:
    docs/spec/process.md#criteria
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from thusfar.errors import HistoryError, InvalidDefinitionError, TaskFailedError
from thusfar.lines import cap, escape_line
from thusfar.process.paths import steps_of
from thusfar.process.state import State

Criteria = Mapping[str, Any] | Callable[[Mapping[str, Any]], bool]
_GROUPS: Final = ("and", "or", "not")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _below(left: Any, right: Any) -> bool:
    """Compare; null is below everything, and values that have no order are not below."""
    if left is None or right is None:
        return left is None and right is not None
    try:
        return bool(left < right)
    except TypeError:
        return False


def _blank(value: Any) -> bool:
    return value is None or value == "" or value == []


def _equal(left: Any, right: Any) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _holds(left: Any, right: Any) -> bool:
    """Tell whether a list has a member, or a text a part."""
    if isinstance(left, list | tuple):
        return any(_equal(each, right) for each in left)
    return right is not None and _text(right) in _text(left)


_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "equals": _equal,
    "notEqual": lambda a, b: not _equal(a, b),
    "iEquals": lambda a, b: _text(a).casefold() == _text(b).casefold(),
    "greaterThan": lambda a, b: _below(b, a),
    "lessThan": _below,
    "greaterOrEqual": lambda a, b: _below(b, a) or _equal(a, b),
    "lessOrEqual": lambda a, b: _below(a, b) or _equal(a, b),
    "contains": _holds,
    "notContains": lambda a, b: not _holds(a, b),
    "startsWith": lambda a, b: _text(a).startswith(_text(b)),
    "endsWith": lambda a, b: _text(a).endswith(_text(b)),
    "inSet": lambda a, b: any(_equal(a, each) for each in b),
    "notInSet": lambda a, b: not any(_equal(a, each) for each in b),
    "isNull": lambda a, _: a is None,
    "notNull": lambda a, _: a is not None,
    "isBlank": lambda a, _: _blank(a),
    "notBlank": lambda a, _: not _blank(a),
    "regexp": lambda a, b: re.search(b, _text(a)) is not None,
}
NAME_SHOWN: Final = 80  # characters of a name in an error
_WITHOUT_VALUE: Final = ("isNull", "notNull", "isBlank", "notBlank")
_PATH: Final = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[\d{1,9}\])*")
_ALIASES: Final = {"isNotNull": "notNull", "isNotBlank": "notBlank"}


def criteria_hold(criteria: Criteria | None, state: Mapping[str, Any]) -> bool:
    """Tell whether a condition holds in a state; `None` always does.

    Args:
        criteria: `{"fieldName": path, "operator": name, "value": …}`, a group
            `{"operator": "and" | "or" | "not", "criteria": […]}` (`not`: none of them holds), or a
            function of the state. A path may end in `.length`; what is missing is null.
        state: The state.

    Example:
        >>> criteria_hold(
        ...     {"fieldName": "lines.length", "operator": "greaterThan", "value": 1},
        ...     {"lines": ["a", "b"]},
        ... )
        True
    """
    if criteria is None:
        return True
    if not isinstance(criteria, Mapping):
        return _decided(criteria, state)
    operator: str = criteria["operator"]
    if operator in _GROUPS:
        held = [criteria_hold(each, state) for each in criteria["criteria"]]
        return all(held) if operator == "and" else any(held) == (operator == "or")
    value = _value(state, criteria["fieldName"])
    return _OPERATORS[_ALIASES.get(operator, operator)](value, criteria.get("value"))


def open_for(task_id: str, criteria: Criteria | None, state: Mapping[str, Any]) -> bool:
    """Tell whether a condition of a task holds.

    Raises:
        TaskFailedError: `TASK_FAILED`, when a function of the author raised.
    """
    try:
        return criteria_hold(criteria, state)
    except HistoryError:
        raise
    except Exception as error:
        raise TaskFailedError(
            f"A condition of the task {task_id} raised.",
            fix="See the cause; nothing of the step was kept.",
            task_id=task_id,
        ) from error


def _decided(function: Callable[[Any], Any], state: Mapping[str, Any]) -> bool:
    """Ask a function, which sees a copy of state."""
    held = function(state.copy() if isinstance(state, State) else state)
    if inspect.isawaitable(held):
        if inspect.iscoroutine(held):
            held.close()
        raise TypeError("a condition has to answer at once")
    return bool(held)


def check_criteria(criteria: Any) -> None:
    """Check the form of a condition.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, for an unknown operator or another form.
    """
    if inspect.iscoroutinefunction(criteria):
        raise InvalidDefinitionError(
            "A condition was a function that has to be awaited.",
            fix="Pass one that answers at once.",
        )
    if criteria is None or callable(criteria):
        return
    operator = criteria.get("operator") if isinstance(criteria, Mapping) else None
    if operator in _GROUPS and isinstance(criteria.get("criteria"), list | tuple):
        _check_names(criteria, ("operator", "criteria"))
        for each in criteria["criteria"]:
            check_criteria(each)
        return
    name = _ALIASES.get(operator, operator) if isinstance(operator, str) else None
    path = criteria.get("fieldName") if isinstance(criteria, Mapping) else None
    if name not in _OPERATORS or not isinstance(path, str) or not _PATH.fullmatch(path):
        raise InvalidDefinitionError(
            f"A condition could not be read{_unreadable(operator, name, path)}.",
            fix="Pass fieldName, such as order.lines[0].name, operator and value; a group: "
            f"operator and criteria; or a function. Operators: {', '.join(_OPERATORS)}.",
        )
    _check_names(criteria, ("fieldName", "operator", "value"))
    if name not in _WITHOUT_VALUE and "value" not in criteria:
        raise InvalidDefinitionError(
            f"A condition with {operator} had no value.", fix="Pass value, also where it is null."
        )
    value = criteria.get("value")
    if operator in ("inSet", "notInSet") and not isinstance(value, list | tuple):
        raise InvalidDefinitionError(
            "A condition on a set had no list as its value.", fix="Pass a list of values."
        )
    if operator == "regexp":
        _check_pattern(value)


def _unreadable(operator: Any, name: Any, path: Any) -> str:
    """Say what was wrong with a condition."""
    if isinstance(operator, str) and name not in _OPERATORS and operator not in _GROUPS:
        return f": the operator {cap(escape_line(operator), NAME_SHOWN)!r} does not exist"
    if operator in _GROUPS:
        return f": {operator} had no list of criteria"
    if name in _OPERATORS:
        return ": it had no fieldName" if path is None else ": its fieldName was no path"
    return ""


def _check_names(criteria: Mapping[str, Any], names: tuple[str, ...]) -> None:
    if unknown := [name for name in criteria if name not in names]:
        raise InvalidDefinitionError(
            f"A condition had fields that do not exist: {', '.join(map(str, unknown))}.",
            fix=f"Use {', '.join(names)}.",
        )


def _check_pattern(value: Any) -> None:
    try:
        re.compile(value)
    except (re.error, TypeError):
        raise InvalidDefinitionError(
            "A condition had a pattern that could not be read.",
            fix="Pass a regular expression as text.",
        ) from None


def _value(state: Mapping[str, Any], path: str) -> Any:
    value: Any = state
    for step in _steps(path):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif step == "length" and isinstance(value, list | tuple | str):
            value = len(value)
        elif isinstance(step, int) and isinstance(value, list | tuple) and step < len(value):
            value = value[step]
        else:
            return None
    return value


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    return steps_of(path.removeprefix("state."))
