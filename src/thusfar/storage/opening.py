"""Opening: one function from a URL to a store."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import unquote

from thusfar.errors import OptionsError
from thusfar.storage.base import DEFAULT_NAMESPACE, Clock, Store, check_wait, now

Synchronous = Literal["FULL", "NORMAL"]


def open_store(
    url: str,
    *,
    namespace: str = DEFAULT_NAMESPACE,
    synchronous: Synchronous = "FULL",
    busy_timeout_seconds: float = 30.0,
    read_only: bool = False,
    clock: Clock = now,
) -> Store:
    """Open a store; its tables are made, or migrated forwards, when they are not current.

    Args:
        url: `memory:`, `sqlite:///relative.db`, `sqlite:////absolute.db`, or
            `postgresql://user@host/database`.
        namespace: The tenant. Nothing of one namespace is ever seen from another.
        synchronous: SQLite only. `FULL` survives a power cut; with `NORMAL` the newest appends
            may be lost in one, and the database stays whole.
        busy_timeout_seconds: How long to wait for another writer. Unit: seconds. Range: 0 …
            1,000,000.
        read_only: SQLite only. Open an existing database without writing to it.
        clock: Stamps rows. Unit: milliseconds since 1970, UTC.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a URL of no known kind or that names no file, and for
            an option out of its range.
        MissingExtraError: `MISSING_EXTRA`, when the driver of PostgreSQL is not installed.
        SchemaTooNewError: `SCHEMA_TOO_NEW`, for a database of a newer version.
        StorageError: when it cannot be opened; the code says why.

    Example:
        >>> open_store("memory:").namespace
        'default'
    """
    if not isinstance(url, str):
        raise _unknown()
    check_wait(busy_timeout_seconds)
    options: dict[str, Any] = {"namespace": namespace, "clock": clock}
    if url == "memory:":
        from thusfar.storage.memory import MemoryStore

        return MemoryStore(**options)
    if url.startswith("sqlite:///"):
        from thusfar.storage.sqlite import SqliteStore

        return SqliteStore(
            unquote(url.removeprefix("sqlite:///")),
            synchronous=synchronous,
            busy_timeout_seconds=busy_timeout_seconds,
            read_only=read_only,
            **options,
        )
    if url.startswith(("postgresql://", "postgres://")):
        from thusfar.storage.postgres import PostgresStore

        return PostgresStore(url, busy_timeout_seconds=busy_timeout_seconds, **options)
    raise _unknown()


def _unknown() -> OptionsError:
    return OptionsError(
        "A store was asked for by a URL of no known kind.",
        fix="Use memory:, sqlite:///path/to/file.db or postgresql://user@host/database.",
    )
