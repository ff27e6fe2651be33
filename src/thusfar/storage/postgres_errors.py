"""PostgreSQL's errors, translated by SQLSTATE and, where there is none, by the driver's class."""

from __future__ import annotations

from typing import Final

import psycopg
import psycopg_pool

from thusfar.errors import (
    CorruptRecordError,
    StorageBusyError,
    StorageClosedError,
    StorageError,
    StorageFullError,
    StorageReadOnlyError,
    StorageUnavailableError,
)

Kind = tuple[type[StorageError], str, str]

BUSY: Final = (
    StorageBusyError,
    "Another session held the rows for too long.",
    "Try again, or raise busy_timeout_seconds.",
)
_UNAVAILABLE: Final = (
    StorageUnavailableError,
    "The database server could not be reached, or ended the connection.",
    "Check the server and the URL, then try again.",
)
_REFUSED: Final = (
    StorageUnavailableError,
    "The database server refused the connection.",
    "Check user, password and database of the URL.",
)
_READ_ONLY: Final = (
    StorageReadOnlyError,
    "The database could not be written.",
    "Connect to the primary server with a role that may write the tables.",
)
_DAMAGED: Final = (
    CorruptRecordError,
    "The database server reported damaged data.",
    "Restore the database from a backup or the threads from exports.",
)
_FULL: Final = (
    StorageFullError,
    "The database server had no space left.",
    "Free some space, then try again; nothing was stored.",
)
_FAILED: Final = (
    StorageError,
    "The database refused a statement.",
    "Report this with its cause: the library asked for something impossible.",
)

BY_STATE: Final[dict[str, Kind]] = {
    "53100": _FULL,
    "54000": _FULL,
    "53200": _UNAVAILABLE,
    "53300": _UNAVAILABLE,
    "25006": _READ_ONLY,
    "25P03": _UNAVAILABLE,
    "25P04": _UNAVAILABLE,
    "42501": _READ_ONLY,
    "40001": BUSY,
    "40P01": BUSY,
    "55P03": BUSY,
    "57014": BUSY,
    "58030": _UNAVAILABLE,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}
"""SQLSTATE to our class, what happened and the fix."""

BY_GROUP: Final[dict[str, Kind]] = {
    "08": _UNAVAILABLE,
    "28": _REFUSED,
    "3D": _REFUSED,
    "53": _UNAVAILABLE,
    "57": _UNAVAILABLE,
}
"""The same for the first two characters of an SQLSTATE."""

BY_CLASS: Final[dict[type[Exception], Kind]] = {
    psycopg_pool.PoolTimeout: BUSY,
    psycopg_pool.TooManyRequests: BUSY,
    psycopg_pool.PoolClosed: (
        StorageClosedError,
        "The store was used after it was closed.",
        "Open it again.",
    ),
    psycopg.OperationalError: _UNAVAILABLE,
    psycopg.InterfaceError: _UNAVAILABLE,
    psycopg.DataError: _FAILED,
    psycopg.IntegrityError: _FAILED,
    psycopg.InternalError: _FAILED,
    psycopg.ProgrammingError: _FAILED,
    psycopg.NotSupportedError: _FAILED,
    psycopg.DatabaseError: _FAILED,
    psycopg.Error: _FAILED,
}
"""The driver's exception classes without an SQLSTATE."""


def translated(error: psycopg.Error) -> StorageError:
    """Make our error of one of the driver's."""
    state = error.sqlstate
    kind: Kind | None = None
    if state is not None:
        kind = BY_STATE.get(state) or BY_GROUP.get(state[:2])
    if kind is None:
        kind = next(BY_CLASS[k] for k in type(error).__mro__ if k in BY_CLASS)
    made, message, fix = kind
    return made(message, fix=fix, sqlstate=state)
