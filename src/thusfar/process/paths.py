"""State paths: where a value is read from state, and how updates are written to it.

Writing copies only the containers on the way, so that the state before stays as it was and an
update that fails half-way has changed nothing.

Source:
    docs/spec/process.md#state
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal

import msgspec

from thusfar.codec import to_json
from thusfar.errors import InvalidStateError
from thusfar.lines import cap, escape_line

RESERVED: Final = "history"
PATH_SHOWN: Final = 80  # characters of a path in an error
Operator = Literal["set", "append", "merge", "keep"]
_OPERATORS: Final[dict[str, Operator]] = {"[]": "append", "{}": "merge", "{?}": "keep"}
_PATH: Final = re.compile(
    r"(?P<steps>[^\W\d][\w-]*(?:\.[^\W\d][\w-]*|\[\d{1,9}\])*)(?P<operator>\[\]|\{\}|\{\?\})?"
)
_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_SOURCE: Final = re.compile(r"(\$outputs|\$output|\$state)(?:\.(.+))?", re.DOTALL)
_MISSING: Final = object()


class StatePath(msgspec.Struct, frozen=True):
    """A parsed state path.

    Attributes:
        steps: Keys, and indexes of lists, from the root.
        operator: `set`; `append` (`[]`); `merge` (`{}`: nested, the new value wins); `keep`
            (`{?}`: nested, what is there wins).
    """

    steps: tuple[str | int, ...]
    operator: Operator = "set"


@lru_cache(maxsize=1024)
def parse_path(text: str) -> StatePath:
    """Parse a state path such as `order.lines[]`.

    Raises:
        InvalidStateError: `INVALID_STATE`, for another form or the reserved name `history`.

    Example:
        >>> parse_path("order.lines[0].tags[]")
        StatePath(steps=('order', 'lines', 0, 'tags'), operator='append')
    """
    found = _PATH.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidStateError(
            f"The state path {cap(escape_line(str(text)), PATH_SHOWN)!r} could not be read.",
            fix="Write names joined by dots, with [0] for a place in a list, and at most one of "
            "[], {} and {?} at the end.",
        )
    steps = steps_of(found["steps"])
    if steps[0] == RESERVED:
        raise reserved()
    return StatePath(steps, _OPERATORS.get(found["operator"] or "", "set"))


def steps_of(path: str) -> tuple[str | int, ...]:
    """Split a path into keys and indexes of lists; names are any text without dots and brackets."""
    return tuple(int(index) if index else name for index, name in _STEP.findall(path))


def reserved() -> InvalidStateError:
    """Make the error for an update of the reserved name."""
    return InvalidStateError(
        "An update named `history` in state, which is a read-only mirror of the log.",
        fix="Use another name, or record an entry with add_history().",
        path=RESERVED,
    )


def read_path(root: Any, steps: tuple[str | int, ...]) -> Any:
    """Read the value at a place.

    Raises:
        InvalidStateError: `INVALID_STATE`, when nothing is there.
    """
    value = root
    for step in steps:
        value = _child(value, step)
        if value is _MISSING:
            raise InvalidStateError(
                f"The path {cap(escape_line(shown(steps)), PATH_SHOWN)} led to nothing.",
                fix="Set it before it is read, or correct the path.",
                path=shown(steps),
            )
    return value


def shown(steps: tuple[str | int, ...]) -> str:
    """Write steps as a path."""
    text = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)
    return text.removeprefix(".")


def apply_updates(
    state: Mapping[str, Any],
    updates: Any,
    *,
    outputs: Any = None,
    source: Mapping[str, Any] | None = None,
    strict: bool = False,
) -> dict[str, Any]:
    """Apply updates to a state; all of them or none.

    Args:
        state: The state before; it stays as it is.
        updates: A path, which gets the whole of `outputs`, or a mapping of paths to values. In a
            value, at any depth, the text `$output.name` (also `$outputs`, `$state`) stands for
            what is there; `$$` at the head stands for a dollar sign.
        outputs: What `$output` stands for.
        source: What `$state` stands for. `None`: the state before.
        strict: Whether a missing container on the way is an error instead of being made.

    Returns:
        The state after it, which shares with the state before what did not change.

    Raises:
        InvalidStateError: `INVALID_STATE`, for a bad path, a value of the wrong kind on the way,
            or a source that is not there.
        TranscriptError: `INVALID_TRANSCRIPT`, for a value that is not JSON.

    Example:
        >>> apply_updates({"n": 1}, {"n": 2, "log[]": "$output.name"}, outputs={"name": "x"})
        {'n': 2, 'log': ['x']}
    """
    after = dict(state)
    given = {updates: "$output"} if isinstance(updates, str) else updates
    for text, written in given.items():
        path = parse_path(text)
        value = to_json(_resolved(written, outputs, state if source is None else source))
        _write(after, path.steps, path.operator, value, strict)
    return after


def _resolved(source: Any, outputs: Any, state: Mapping[str, Any]) -> Any:
    if isinstance(source, Mapping):
        return {key: _resolved(value, outputs, state) for key, value in source.items()}
    if isinstance(source, list | tuple):
        return [_resolved(value, outputs, state) for value in source]
    if not isinstance(source, str) or not source.startswith("$"):
        return source
    if source.startswith("$$"):
        return source[1:]
    name, steps = _source(source)
    return read_path(state if name == "$state" else outputs, steps)


def check_sources(written: Any) -> None:
    """Check the sources in the value of an update, at any depth.

    Raises:
        InvalidStateError: `INVALID_STATE`, for one that does not exist or cannot be read.
    """
    if isinstance(written, Mapping):
        for value in written.values():
            check_sources(value)
    elif isinstance(written, list | tuple):
        for value in written:
            check_sources(value)
    elif isinstance(written, str) and written.startswith("$") and not written.startswith("$$"):
        _source(written)


@lru_cache(maxsize=1024)
def _source(text: str) -> tuple[str, tuple[str | int, ...]]:
    """Parse a source: its name, and the steps behind it."""
    found = _SOURCE.fullmatch(text)
    path = _PATH.fullmatch(found[2]) if found is not None and found[2] else None
    if found is None or (found[2] and (path is None or path["operator"])):
        raise InvalidStateError(
            f"The source {cap(escape_line(text), PATH_SHOWN)!r} of an update could not be read.",
            fix="Write $output, $outputs or $state, each with an optional path behind a dot such "
            "as $output.lines[0].name; write $$ for a dollar sign.",
        )
    return found[1], steps_of(found[2] or "")


def _child(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        inside = isinstance(value, list | tuple) and step < len(value)
        return value[step] if inside else _MISSING
    return value.get(step, _MISSING) if isinstance(value, Mapping) else _MISSING


def _write(
    root: dict[str, Any], steps: tuple[str | int, ...], operator: Operator, value: Any, strict: bool
) -> None:
    """Write into a root that may be changed; containers on the way are replaced by copies."""
    holder: Any = root
    for place, (step, following) in enumerate(pairwise(steps)):
        child = _child(holder, step)
        if child is _MISSING and not strict and isinstance(following, str):
            child = {}
        if not isinstance(child, list if isinstance(following, int) else dict):
            raise _blocked(steps[: place + 1])
        _put(holder, step, child.copy(), steps[: place + 1])
        holder = holder[step]
    last = steps[-1]
    _put(holder, last, _combined(_child(holder, last), operator, value, steps), steps)


def _put(holder: Any, step: str | int, value: Any, steps: tuple[str | int, ...]) -> None:
    if isinstance(step, int) and step >= len(holder):
        raise _blocked(steps)
    holder[step] = value


def _combined(old: Any, operator: Operator, value: Any, steps: tuple[str | int, ...]) -> Any:
    if operator == "set":
        return value
    if operator == "append":
        if old is _MISSING:
            return [value]
        if isinstance(old, list):
            return [*old, value]
    elif isinstance(value, dict):
        there = {} if old is _MISSING else old
        if isinstance(there, dict):
            return _merged(there, value, keep=operator == "keep")
    raise _blocked(steps)


def _merged(old: dict[str, Any], new: dict[str, Any], *, keep: bool) -> dict[str, Any]:
    """Merge nested objects; lists and other values are replaced, or kept."""
    made = dict(old)
    for key, value in new.items():
        there = made.get(key, _MISSING)
        if isinstance(there, dict) and isinstance(value, dict):
            made[key] = _merged(there, value, keep=keep)
        elif there is _MISSING or not keep:
            made[key] = value
    return made


def _blocked(steps: tuple[str | int, ...]) -> InvalidStateError:
    return InvalidStateError(
        "An update met a value of the wrong kind, or none, on its way.",
        fix="Set the list or object first, or correct the path.",
        path=shown(steps),
    )
