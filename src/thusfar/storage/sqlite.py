"""The SQLite store: one file, many processes and threads, one writer at a time.

WAL with `synchronous=FULL` unless told otherwise: what was acknowledged survives a power cut.
Each operation borrows a connection; a write waits first for the other threads of this process,
then for other processes.
"""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Any, Final, TypeVar

import apsw
from msgspec.structs import astuple

from thusfar.drive import Steps, drive
from thusfar.errors import (
    OptionsError,
    StorageBusyError,
    StorageClosedError,
    StorageError,
    StorageReadOnlyError,
)
from thusfar.storage import questions as q
from thusfar.storage.base import DEFAULT_NAMESPACE, Clock, check_id, now
from thusfar.storage.heads import Heads
from thusfar.storage.migrations import (
    MIGRATIONS,
    NEWEST,
    SCHEMA_SQL,
    SQLITE_TYPES,
    VERSION_SQL,
    Migration,
    migrate_steps,
    require_known,
    version_of,
)
from thusfar.storage.rows import HeadRow
from thusfar.storage.sql import Sql
from thusfar.storage.sqlite_errors import translated
from thusfar.storage.statements import (
    ADD_CHAIN,
    ADD_HEAD,
    ADD_NODE,
    MOVE_KNOWN_HEAD,
    READ_HEAD,
    Many,
)

Result = TypeVar("Result")

CHECKPOINT_SECONDS: Final = 0.5  # an erasure waits so long for readers before it says "pending"
CHECKPOINT_PAGES: Final = 4_000  # 16 MB of log; a tenth less work an append than SQLite's 1,000
_SHORTEST_WAIT: Final = 0.0002  # seconds; about the time of one commit without a sync
_LONGEST_WAIT: Final = 0.01  # seconds; longer waits starve one of many writers


class SqliteStore:
    """Threads in an SQLite file.

    Args:
        path: The file; it is made when absent.
        namespace: The tenant.
        synchronous: `FULL` or `NORMAL`; see `open_store`.
        busy_timeout_seconds: How long to wait for another writer. Unit: seconds.
        read_only: Whether nothing is ever written.
        clock: Stamps rows.
        vfs: Name of an SQLite VFS; `None` is the default.
        migrations: The schema; only tests pass another.

    Raises:
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
        self._pool = _Pool(os.fspath(path), synchronous, busy_timeout_seconds, read_only, vfs)
        session = self._pool.borrow()
        try:
            session.migrate(migrations)
        finally:
            self._pool.give_back(session)

    def within(self, namespace: str) -> SqliteStore:
        """Look at another tenant's rows through the same connections."""
        other = object.__new__(SqliteStore)
        other.namespace = check_id(namespace, "namespace")
        other.clock, other._pool, other._sql = self.clock, self._pool, Sql(namespace)
        return other

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
        return await loop.run_in_executor(self._pool.executor(), self.run, steps)

    def close(self) -> None:
        """Close all connections; views of other namespaces close with it."""
        self._pool.close()

    async def aclose(self) -> None:
        """Close all connections, from async code."""
        self.close()


_BEGIN: Final = ("BEGIN", ())
_BEGIN_WRITE: Final = ("BEGIN IMMEDIATE", ())
_COMMIT: Final = ("COMMIT", ())


class _Pool:
    """Idle connections of one file, the writers' lock, and the threads of async callers."""

    def __init__(
        self, path: str, synchronous: str, wait: float, read_only: bool, vfs: str | None
    ) -> None:
        self.path, self.synchronous, self.wait, self.vfs = path, synchronous, wait, vfs
        self.read_only = read_only
        self.writer, self.heads = threading.Lock(), Heads()
        self._guard = threading.Lock()
        self._idle: list[_Session] = []
        self._executor: Any = None
        self._process = os.getpid()
        self._closed = False

    def borrow(self) -> _Session:
        """Take an idle connection, or open one."""
        if self._closed:
            raise StorageClosedError(
                "The store was used after it was closed.", fix="Open it again."
            )
        if self._process != os.getpid():
            self._forget_parent()
        try:
            return self._idle.pop()
        except IndexError:
            return _Session(self)

    def give_back(self, session: _Session) -> None:
        """Keep a connection for the next operation."""
        if self._closed or not session.usable:
            session.close()
        else:
            self._idle.append(session)

    def executor(self) -> Any:
        """Make the threads that async operations run in, when first needed."""
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor

            with self._guard:
                if self._executor is None:
                    self._executor = ThreadPoolExecutor(4, thread_name_prefix="thusfar-sqlite")
        return self._executor

    def close(self) -> None:
        """Close what is idle; what is borrowed closes when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    def _forget_parent(self) -> None:
        """Leave a forked parent's connections alone: closing them here would drop its locks."""
        with self._guard:
            if self._process != os.getpid():
                _ORPHANS.extend(self._idle)
                self._idle, self._executor = [], None
                self.writer = threading.Lock()
                self._process = os.getpid()


_ORPHANS: list[_Session] = []  # kept so that no destructor closes a parent's connection


class _Session:
    """One connection, and how it answers questions."""

    def __init__(self, pool: _Pool) -> None:
        self.pool = pool
        self.sql = Sql(DEFAULT_NAMESPACE)
        self.busy = False
        self.usable = True
        self._writing = False
        self._deadline = 0.0
        self._patience = pool.wait
        flags = apsw.SQLITE_OPEN_READONLY if pool.read_only else _READ_WRITE
        try:
            self.connection = apsw.Connection(pool.path, flags=flags, vfs=pool.vfs)
            self.connection.set_busy_handler(self._wait)
            # Plans that depend on bound values are made anew at each execution.
            self.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            self._cursor = self.connection.cursor()
            self._set_up()
        except apsw.Error as error:
            raise translated(error) from error

    def _set_up(self) -> None:
        if self.pool.vfs is not None:
            # A VFS written in Python has no shared memory, which WAL needs unless it is alone.
            self._cursor.execute("PRAGMA locking_mode = EXCLUSIVE")
        if not self.pool.read_only:
            self._until_free("PRAGMA journal_mode = WAL")
        self._cursor.execute(f"PRAGMA synchronous = {self.pool.synchronous}")
        self._cursor.execute("PRAGMA secure_delete = ON")
        self._cursor.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    def _until_free(self, sql: str) -> None:
        """Repeat a statement whose refusal the busy handler is not asked about."""
        self._deadline = time.monotonic() + self._patience
        tries = 0
        while True:
            try:
                self._cursor.execute(sql).fetchall()
                return
            except apsw.BusyError:
                tries += 1
                if not self._pause(tries):
                    raise

    def _wait(self, tries: int) -> bool:
        if tries == 0:
            self._deadline = time.monotonic() + self._patience
        return self._pause(tries)

    def _pause(self, tries: int) -> bool:
        if time.monotonic() >= self._deadline:
            return False
        longest = min(_SHORTEST_WAIT * (tries + 1), _LONGEST_WAIT)
        time.sleep(longest * random.uniform(0.5, 1.0))  # noqa: S311 - spreads writers, no secret
        return True

    def execute(self, statement: Any) -> Any:
        """Run one statement and return its rows."""
        try:
            if type(statement) is Many:
                if statement.rows:
                    self._cursor.executemany(statement.sql, statement.rows)
                return None
            return self._cursor.execute(*statement).fetchall()
        except apsw.Error as error:
            raise translated(error) from error

    def answer(self, question: Any) -> Any:
        """Answer one question."""
        kind = type(question)
        if kind is q.Lock:
            return self._lock(question)
        if kind is q.AppendGroup:
            return self._append(question)
        if kind is q.Write:
            return self._write(question)
        if kind is q.Checkpoint:
            return self._checkpoint()
        if not self.busy:
            # One state for all reads of an operation, and one lock of the log instead of many.
            self.execute(_BEGIN)
            self.busy = True
        if kind is q.Snapshot:
            return None
        return drive(self.sql.answer(question), self.execute)

    def _lock(self, ask: q.Lock) -> HeadRow | None:
        namespace = self.sql.namespace
        if ask.guess and (known := self.pool.heads.recall(namespace, ask)) is not None:
            return known
        self._begin_write()
        rows = self.execute((READ_HEAD, (namespace, ask.thread_id, ask.owner)))
        return HeadRow(*rows[0]) if rows else None

    def _begin_write(self) -> None:
        if self.pool.read_only:
            raise StorageReadOnlyError(
                "A write was asked of a store opened read-only.", fix="Open it without read_only."
            )
        if self.busy:
            self.undo()
        if not self.pool.writer.acquire(timeout=self.pool.wait):
            raise StorageBusyError(
                "Another thread held the database for too long.",
                fix="Try again, or raise busy_timeout_seconds.",
            )
        self._writing = self.busy = True
        self.execute(_BEGIN_WRITE)

    def _append(self, ask: q.AppendGroup) -> bool:
        if not self._writing:
            self._begin_write()
        namespace, heads = self.sql.namespace, self.pool.heads
        try:
            stored = self._store_group(namespace, ask)
            if stored:
                self._cursor.execute("COMMIT")
        except apsw.ConstraintError:
            stored = False
        except apsw.Error as error:
            raise translated(error) from error
        if stored:
            heads.remember(namespace, ask.head)
            self._release()
        else:
            heads.mistrust(namespace, ask.head)
            self.undo()
        return stored

    def _store_group(self, namespace: str, ask: q.AppendGroup) -> bool:
        """Store a group and its head; an id that is stored already fails a statement."""
        execute, before = self._cursor.execute, ask.before
        thread_id, owner, *moved, _ = astuple(ask.head)
        if before is None:
            execute(ADD_HEAD, (namespace, thread_id, owner, *moved))
        else:
            where = (namespace, thread_id, owner, before.revision, before.salt, before.flags)
            execute(MOVE_KNOWN_HEAD, (*moved, *where))
            if not self.connection.changes():
                return False
        for node in ask.nodes:
            execute(ADD_NODE, (namespace, *astuple(node)))
        for chain in ask.chains:
            execute(ADD_CHAIN, (namespace, *astuple(chain)))
        return True

    def _write(self, ask: q.Write) -> None:
        self.pool.heads.forget_moved(self.sql.namespace, ask.changes)
        drive(self.sql.write(ask), self.execute)
        self._commit()

    def _commit(self) -> None:
        self.execute(_COMMIT)
        self._release()

    def undo(self) -> None:
        """End what was begun, leaving nothing of it."""
        try:
            if self.connection.in_transaction:
                self._cursor.execute("ROLLBACK")
        except apsw.Error as error:
            raise translated(error) from error
        finally:
            self._release()

    def undo_or_close(self) -> None:
        """End what was begun; a connection that cannot is closed, which undoes it too."""
        try:
            self.undo()
        except StorageError:
            self.usable = False

    def _release(self) -> None:
        self.busy = False
        if self._writing:
            self._writing = False
            self.pool.writer.release()

    def _checkpoint(self) -> bool:
        """Copy the write-ahead log into the database and cut it to nothing."""
        if self.busy:
            self.undo()
        self._patience = CHECKPOINT_SECONDS
        try:
            busy, _, _ = self.execute(("PRAGMA wal_checkpoint(TRUNCATE)", ()))[0]
        except StorageBusyError:
            return False
        finally:
            self._patience = self.pool.wait
        return not busy

    def migrate(self, migrations: tuple[Migration, ...]) -> None:
        """Bring the schema up to date."""
        exists = self.execute(("SELECT 1 FROM sqlite_schema WHERE name = 'thusfar_schema'", ()))
        version = version_of(self.execute((VERSION_SQL, ()))) if exists else 0
        require_known(version, migrations)
        if version == migrations[-1].number or self.pool.read_only:
            if version != NEWEST and self.pool.read_only:
                raise _unprepared(version)
            return
        self.busy = True
        try:
            self.execute(_BEGIN_WRITE)
            self.execute((SCHEMA_SQL.format(**SQLITE_TYPES), ()))
            version = version_of(self.execute((VERSION_SQL, ())))
            drive(migrate_steps(version, migrations, SQLITE_TYPES), self.execute)
            self._commit()
        finally:
            if self.busy:
                self.undo()

    def close(self) -> None:
        """Close the connection."""
        try:
            self.connection.close()
        except apsw.Error as error:
            raise translated(error) from error


def _unprepared(version: int) -> StorageReadOnlyError:
    if not version:
        return StorageReadOnlyError(
            "A database without threads was opened read-only.",
            fix="Check its path, or open it once without read_only, so that its tables are made.",
        )
    return StorageReadOnlyError(
        "A database of an older version was opened read-only.",
        fix="Open it once without read_only, so that it is migrated.",
    )


_READ_WRITE: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
