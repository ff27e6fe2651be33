"""Storage: where threads are kept; memory is the specification, SQLite and PostgreSQL obey it."""

from __future__ import annotations

from typing import Any

from thusfar.storage.base import DEFAULT_NAMESPACE, Clock, Store, now
from thusfar.storage.opening import open_store

__all__ = ["DEFAULT_NAMESPACE", "Clock", "MemoryStore", "PostgresStore", "SqliteStore", "Store"]
__all__ += ["now", "open_store"]

_HOMES = {"MemoryStore": "memory", "PostgresStore": "postgres", "SqliteStore": "sqlite"}


def __getattr__(name: str) -> Any:
    """Import a store's module when it is first asked for: its driver is heavy."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"thusfar.storage.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
