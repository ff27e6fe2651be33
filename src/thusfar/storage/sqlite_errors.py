"""SQLite's errors, translated; every class that the driver can raise has one of ours."""

from __future__ import annotations

from typing import Final

import apsw

from thusfar.errors import (
    CorruptRecordError,
    StorageBusyError,
    StorageError,
    StorageFullError,
    StorageReadOnlyError,
    StorageUnavailableError,
)

_BUSY: Final = (
    StorageBusyError,
    "Another connection held the database for too long.",
    "Try again, or raise busy_timeout_seconds.",
)
_DAMAGED: Final = (
    CorruptRecordError,
    "The database file was damaged.",
    "Restore it from a backup or an export.",
)
_FAILED: Final = (
    StorageError,
    "The database refused a statement.",
    "Report this with its cause: the library asked for something impossible.",
)
_OUTSIDE: Final = (
    StorageUnavailableError,
    "The operating system failed to read or write the database.",
    "Check the disk, its mount and the permissions, then try again.",
)
_READ_ONLY: Final = (
    StorageReadOnlyError,
    "The database could not be written.",
    "Open it without read_only and with write permission on the file and its directory.",
)
_NO_MEMORY: Final = (
    StorageReadOnlyError,
    "SQLite could not keep its shared memory beside a database that was to be read.",
    "Get write permission on its directory, or read a copy of the file.",
)

KINDS: Final[dict[type[apsw.Error], tuple[type[StorageError], str, str]]] = {
    apsw.BusyError: _BUSY,
    apsw.LockedError: _BUSY,
    apsw.ProtocolError: _BUSY,
    apsw.FullError: (
        StorageFullError,
        "The disk, or what the database may use of it, was full.",
        "Free some space, then try again; nothing was stored.",
    ),
    apsw.TooBigError: (
        StorageFullError,
        "A value was larger than the database can hold.",
        "Store large media outside and refer to it.",
    ),
    apsw.ReadOnlyError: _READ_ONLY,
    apsw.PermissionsError: _READ_ONLY,
    apsw.AuthError: _READ_ONLY,
    apsw.CantOpenError: (
        StorageUnavailableError,
        "The database file could not be opened.",
        "Create its directory and check the permissions.",
    ),
    apsw.CorruptError: _DAMAGED,
    apsw.NotADBError: (
        CorruptRecordError,
        "The file was not an SQLite database.",
        "Pass the path of a database, or of a file that does not exist yet.",
    ),
    apsw.FormatError: _DAMAGED,
    apsw.MismatchError: _DAMAGED,
    apsw.EmptyError: _DAMAGED,
    apsw.IOError: _OUTSIDE,
    apsw.NoMemError: _OUTSIDE,
    apsw.NoLFSError: _OUTSIDE,
    apsw.NotFoundError: _OUTSIDE,
    apsw.InterruptError: (
        StorageBusyError,
        "A statement was interrupted.",
        "Try again; nothing was stored.",
    ),
    apsw.AbortError: _BUSY,
    apsw.SchemaChangeError: _BUSY,
    apsw.ThreadingViolationError: _FAILED,
    apsw.ForkingViolationError: _FAILED,
    apsw.ConnectionClosedError: _FAILED,
    apsw.CursorClosedError: _FAILED,
    apsw.ConnectionNotClosedError: _FAILED,
    apsw.ConstraintError: _FAILED,
    apsw.SQLError: _FAILED,
    apsw.MisuseError: _FAILED,
    apsw.RangeError: _FAILED,
    apsw.InternalError: _FAILED,
    apsw.BindingsError: _FAILED,
    apsw.IncompleteExecutionError: _FAILED,
    apsw.ExecutionCompleteError: _FAILED,
    apsw.ExecTraceAbort: _FAILED,
    apsw.ExtensionLoadingError: _FAILED,
    apsw.VFSNotImplementedError: _FAILED,
    apsw.VFSFileClosedError: _FAILED,
    apsw.NoFTS5Error: _FAILED,
    apsw.InvalidContextError: _FAILED,
    apsw.Error: _FAILED,
}
"""The driver's exception classes, each with our class, what happened and the fix."""


def translated(error: apsw.Error, *, reading: bool = False) -> StorageError:
    """Make our error of one of the driver's.

    Args:
        error: The driver's.
        reading: Whether a database was opened only to be read.
    """
    found = next(KINDS[k] for k in type(error).__mro__ if k in KINDS)
    kind, message, fix = _NO_MEMORY if reading and found is _READ_ONLY else found
    result = getattr(error, "extendedresult", None)
    return kind(message, fix=fix, sqlite_code=int(result) if result else None)


def unprepared(version: int) -> StorageReadOnlyError:
    """Make the error for a database that would have to be migrated, and may not be written."""
    if not version:
        return StorageReadOnlyError(
            "A database without threads was opened read-only.",
            fix="Check its path, or open it once without read_only, so that its tables are made.",
        )
    return StorageReadOnlyError(
        "A database of an older version was opened read-only.",
        fix="Open it once without read_only, so that it is migrated.",
    )
