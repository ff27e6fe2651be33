"""Check a store: the conformance suite for anything that claims to keep threads.

Each law is a function with a sentence for a name. It works in a namespace of its own, so the suite
may run on a database that is in use.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from thusfar.storage.base import Store
from thusfar.testing.store_laws import (
    appending,
    branching,
    erasing,
    racing,
    reading,
    running,
    searching,
    whole,
)

Law = Callable[[Store], None]


def list_laws() -> dict[str, Law]:
    """List the laws by name: what holds for every store.

    Example:
        >>> "an_append_is_read_back_equal" in list_laws()
        True
    """
    found: dict[str, Law] = {}
    modules = (appending, reading, searching, branching, racing, erasing, whole, running)
    for module in modules:
        for name, value in vars(module).items():
            own = callable(value) and getattr(value, "__module__", "") == module.__name__
            if own and not name.startswith("_"):
                found[name] = value
    return found


def check_store(store: Store) -> tuple[str, ...]:
    """Run every law against a store.

    Args:
        store: A store that can be written. Rows stay behind, in namespaces of their own.

    Returns:
        Names of the laws that were checked.

    Raises:
        AssertionError: for the first law that does not hold, with what was expected.

    Example:
        >>> from thusfar.storage import open_store
        >>> len(check_store(open_store("memory:"))) > 40
        True
    """
    laws = list_laws()
    for name, law in laws.items():
        check_law(store, law, name)
    return tuple(laws)


def check_law(store: Any, law: Law, name: str) -> None:
    """Run one law in a namespace of its own.

    Raises:
        AssertionError: when it does not hold; the note names the law.
    """
    try:
        law(store.within(f"check-{os.urandom(8).hex()}"))
    except AssertionError as error:
        error.add_note(f"law: {name.replace('_', ' ')}")
        raise
