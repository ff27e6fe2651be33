"""Changes: what one step changed of the state, as JSON values, so that a store keeps that alone.

A change is `[path, kind, value]`: `set` puts a value at a place, `add` adds several at the end of a
list, `drop` takes a name away. Order of names is part of a state: prompts show it.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

from operator import is_
from typing import Any

Path = tuple[str | int, ...]
Change = list[Any]


def changes_between(before: Any, after: Any) -> list[Change]:
    """List what leads from one JSON value to another.

    What both share as one object is not looked into, so that the work of an update is that of
    what it touched.

    Example:
        >>> changes_between({"n": 1, "log": ["a"]}, {"n": 2, "log": ["a", "b"]})
        [[['n'], 'set', 2], [['log'], 'add', ['b']]]
    """
    found: list[Change] = []
    _compare((), before, after, found)
    return found


def apply_changes(value: Any, changes: list[Change]) -> Any:
    """Carry changes out, in place where that is possible.

    Args:
        value: A JSON value that nothing else holds.
        changes: What `changes_between` listed.

    Returns:
        The value behind them.

    Raises:
        ValueError: When they do not fit the value.
    """
    for path, kind, given in changes:
        if not path:
            value = [*value, *given] if kind == "add" else given
            continue
        holder = value
        try:
            for step in path[:-1]:
                holder = holder[step]
            _apply(holder, path[-1], kind, given)
        except (LookupError, TypeError, AttributeError):
            raise ValueError("a change does not fit the state") from None
    return value


def _apply(holder: Any, last: Any, kind: str, given: Any) -> None:
    if kind == "set":
        holder[last] = given
    elif kind == "add":
        holder[last].extend(given)
    elif kind == "drop":
        del holder[last]
    else:
        raise ValueError("a change is of no known kind")


def _compare(path: Path, before: Any, after: Any, found: list[Change]) -> None:
    if before is after:
        return
    if type(before) is dict and type(after) is dict and _in_order(before, after):
        for name in before:
            if name not in after:
                found.append([[*path, name], "drop", None])
        for name, value in after.items():
            if name in before:
                _compare((*path, name), before[name], value, found)
            else:
                found.append([[*path, name], "set", value])
    elif type(before) is list and type(after) is list and len(after) >= len(before):
        _compare_lists(path, before, after, found)
    elif not same(before, after):
        found.append([list(path), "set", after])


def _compare_lists(path: Path, before: list[Any], after: list[Any], found: list[Change]) -> None:
    if not all(map(is_, before, after)):
        inside: list[Change] = []
        for place, (old, new) in enumerate(zip(before, after, strict=False)):
            _compare((*path, place), old, new, inside)
        if len(inside) > len(before) // 2:  # most of it is another one
            found.append([list(path), "set", after])
            return
        found += inside
    if len(after) > len(before):
        found.append([list(path), "add", after[len(before) :]])


def _in_order(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Tell whether dropping and adding names leads to the order that they have behind it."""
    stays = [name for name in before if name in after]
    return stays == list(after)[: len(stays)]


def same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are the same text: 1, 1.0 and true are three values."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if type(one) is list:
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is float:
        return repr(one) == repr(other)
    return bool(one == other)
