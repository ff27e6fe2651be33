"""The SQLite store: one file, many processes and threads, one writer at a time.

WAL with `synchronous=FULL` unless told otherwise: what was acknowledged survives a power cut.
Each operation borrows a connection; a write waits first for the other threads of this process,
then for other processes.
"""

from __future__ import annotations

import os
from typing import TypeVar

from thusfar.drive import Steps, drive
from thusfar.errors import OptionsError
from thusfar.storage.base import DEFAULT_NAMESPACE, Clock, check_id, check_wait, closed, now
from thusfar.storage.migrations import MIGRATIONS, Migration
from thusfar.storage.sql import Sql
from thusfar.storage.sqlite_pool import Pool

Result = TypeVar("Result")


class SqliteStore:
    """Threads in an SQLite file.

    Args:
        path: The file; it is made when absent. SQLite's own names for a database without a file
            are refused: every connection would have another one.
        namespace: The tenant.
        synchronous: `FULL` or `NORMAL`; see `open_store`.
        busy_timeout_seconds: How long to wait for another writer. Unit: seconds.
        read_only: Whether nothing is ever written.
        clock: Stamps rows.
        vfs: Name of an SQLite VFS; `None` is the default.
        migrations: The schema; only tests pass another.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a path that names no file, and for other options
            out of their range.
        StorageError: when the file cannot be opened; the code says why.
        SchemaTooNewError: `SCHEMA_TOO_NEW`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        namespace: str = DEFAULT_NAMESPACE,
        synchronous: str = "FULL",
        busy_timeout_seconds: float = 30.0,
        read_only: bool = False,
        clock: Clock = now,
        vfs: str | None = None,
        migrations: tuple[Migration, ...] = MIGRATIONS,
    ) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise OptionsError(
                "A store got a synchronous setting that does not exist.", fix="Use FULL or NORMAL."
            )
        self.namespace = check_id(namespace, "namespace")
        self.clock = clock
        self._sql = Sql(namespace)
        wait = check_wait(busy_timeout_seconds)
        self._use(Pool(_file(path), synchronous, wait, read_only, vfs))
        session = self._pool.borrow()
        try:
            session.migrate(migrations)
        finally:
            self._pool.give_back(session)

    def within(self, namespace: str) -> SqliteStore:
        """Look at another tenant's rows through the same connections."""
        other = object.__new__(SqliteStore)
        other.namespace = check_id(namespace, "namespace")
        other.clock, other._sql = self.clock, Sql(namespace)
        other._use(self._pool)
        return other

    def _use(self, pool: Pool) -> None:
        self._pool, self.heads = pool, pool.heads
        self.append_following = pool.append_following

    def run(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end; what it began and did not write is undone."""
        session = self._pool.borrow()
        session.sql = self._sql
        try:
            return drive(steps, session.answer)
        finally:
            if session.busy:
                session.undo_or_close()
            self._pool.give_back(session)

    async def arun(self, steps: Steps[Result]) -> Result:
        """Run an operation in a thread of its own, so that the event loop goes on."""
        import asyncio

        loop = asyncio.get_running_loop()
        try:
            done = loop.run_in_executor(self._pool.executor(), self.run, steps)
        except RuntimeError as error:  # the threads were shut down meanwhile
            raise closed() from error
        return await done

    def close(self) -> None:
        """Close all connections; views of other namespaces close with it."""
        self._pool.close()

    async def aclose(self) -> None:
        """Close all connections, from async code."""
        self.close()


def _file(path: str | os.PathLike[str]) -> str:
    """Check that a path names a file."""
    name = os.fspath(path)
    if not isinstance(name, str) or not name or name == ":memory:":
        raise OptionsError(
            "A path named no file.",
            fix="Name a file, or open memory: for threads that are gone with the process.",
        )
    if "\0" in name or not _is_utf8(name):
        raise OptionsError(
            "A path held NUL or half of a surrogate pair.", fix="Use a path of whole characters."
        )
    return name


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
