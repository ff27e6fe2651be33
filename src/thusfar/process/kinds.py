"""Kinds: what tasks and processes may be given, checked when they are made.

Source:
    docs/spec/process.md#tasks
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from thusfar.errors import InvalidDefinitionError
from thusfar.process.paths import check_sources, parse_path

END: Final = "END"
Updates = str | Mapping[str, Any] | None
_ID: Final = re.compile(r"[^\W\d][\w.-]*")


def check_id(value: object, what: str) -> None:
    """Check a task id: a word of letters, digits, `_`, `-` and `.`, and not `END`.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, for anything else.
    """
    if not isinstance(value, str) or not _ID.fullmatch(value) or value == END:
        raise InvalidDefinitionError(
            f"{what} had an id that cannot be used.",
            fix="Use letters, digits, _, - and ., beginning with a letter; END is reserved.",
            option="to" if what == "A transition" else "id",
        )


def check_text(name: str, value: object, owner: str, *, fix: str | None = None) -> None:
    """Check for text, or `None`.

    Args:
        name: Name of the option.
        value: What was given.
        owner: What was given the option, for the message.
        fix: What to pass instead; text of that name unless told.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, for anything else.
    """
    if value is not None and not isinstance(value, str):
        raise InvalidDefinitionError(
            f"{owner} had a {type(value).__name__} as {name}.",
            fix=fix or f"Pass text for {name}.",
            option=name,
        )


def check_target(name: str, value: object, owner: str) -> None:
    """Check for the id of a task or `END`, or `None`; a task itself is none. See `check_text`."""
    check_text(name, value, owner, fix="Pass the id of a task, or END.")


def check_names(name: str, value: object, owner: str, *, each: type = object) -> None:
    """Check for several values; one text is taken for a list of its letters otherwise.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, for anything else.
    """
    listed = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    seen = value if isinstance(value, list | tuple) else ()  # others can be walked only once
    if not listed or not all(isinstance(one, each) for one in seen):
        of = " of text" if each is str else ""
        raise InvalidDefinitionError(
            f"{owner} had a {type(value).__name__} as {name}{f', not all{of}' if listed else ''}.",
            fix=f"Pass a list{of} for {name}.",
            option=name,
        )


def check_function(name: str, value: object, owner: str, *, awaited: bool = True) -> None:
    """Check for a function, or `None`.

    Args:
        name: What it is for.
        value: The function.
        owner: What has it.
        awaited: Whether it may have to be awaited.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, for anything else.
    """
    if value is None:
        return
    if not callable(value) or (not awaited and inspect.iscoroutinefunction(value)):
        raise InvalidDefinitionError(
            f"{owner} had something else than a function as {name}"
            f"{'' if awaited else ', or one that has to be awaited'}.",
            fix=f"Pass a function for {name}{'' if awaited else ' that answers at once'}.",
            option=name,
        )


def check_updates(updates: Updates, owner: str) -> None:
    """Check the paths of state updates.

    Raises:
        InvalidStateError: `INVALID_STATE`, for a bad path or source, or the reserved name.
        InvalidDefinitionError: `INVALID_DEFINITION`, when they are neither a path nor a mapping.
    """
    if updates is None:
        return
    if not isinstance(updates, str | Mapping):
        raise InvalidDefinitionError(
            f"The state updates of {owner} were neither a path nor a mapping.",
            fix="Pass a path, or a mapping of paths to values.",
            task_id=owner,
        )
    for path in [updates] if isinstance(updates, str) else updates:
        parse_path(path)
    if not isinstance(updates, str):
        check_sources(updates)
