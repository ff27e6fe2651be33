"""A connection to an SQLite file, and how it answers questions.

An operation that only reads sees one state: its first read begins a transaction. A write begins
with the lock of this process's writers, then with the lock of the file.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import apsw
from msgspec.structs import astuple

from thusfar.drive import drive
from thusfar.errors import StorageBusyError, StorageError, StorageReadOnlyError
from thusfar.storage import questions as q
from thusfar.storage.base import DEFAULT_NAMESPACE
from thusfar.storage.fulltext import Abandon
from thusfar.storage.fulltext_sql import SECURE_DELETE, ends_threads
from thusfar.storage.heads import Heads, Key, guessed
from thusfar.storage.migrations import (
    NEWEST,
    SCHEMA_SQL,
    SQLITE_TYPES,
    VERSION_SQL,
    Migration,
    migrate_steps,
    require_known,
    version_of,
)
from thusfar.storage.rows import HeadRow, branch_of, follows
from thusfar.storage.runs_sql import RUN_WRITES
from thusfar.storage.sql import Sql
from thusfar.storage.sqlite_errors import translated, unprepared
from thusfar.storage.statements import (
    ADD_HEAD,
    ADD_NODE,
    ADD_NODE_FOLLOWING,
    MOVE_HEAD,
    READ_TIP,
    SETTLE_HEAD,
    Many,
    held_by,
)

CHECKPOINT_SECONDS: Final = 0.5  # an erasure waits so long for readers before it says "pending"
# At NORMAL half as many pages cost an append a tenth more, and so do twice as many. At FULL each
# sync of a log that still grows takes twice as long as of one that begins anew.
CHECKPOINT_PAGES: Final = {"NORMAL": 2_000, "FULL": 1_000}
_SHORTEST_WAIT: Final = 0.0002  # seconds; about the time of one commit without a sync
_LONGEST_WAIT: Final = 0.01  # seconds; longer waits starve one of many writers
_BEGIN: Final = ("BEGIN", ())
_BEGIN_WRITE: Final = ("BEGIN IMMEDIATE", ())
_COMMIT: Final = ("COMMIT", ())
_ALONE: Final = apsw.SQLITE_OPEN_NOMUTEX  # a session has one user at a time
_READ_WRITE: Final = _ALONE | apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
_READ_ONLY: Final = _ALONE | apsw.SQLITE_OPEN_READONLY


class Shared:
    """What the connections of one process to one file share.

    Attributes:
        path: The file.
        synchronous: `FULL` or `NORMAL`.
        wait: How long to wait for another writer. Unit: seconds.
        read_only: Whether nothing is ever written.
        vfs: Name of an SQLite VFS; `None` is the default.
        writer: The lock that writers of this process take first.
        heads: The heads that this process wrote last.
    """

    def __init__(
        self, path: str, synchronous: str, wait: float, read_only: bool, vfs: str | None
    ) -> None:
        self.path, self.synchronous, self.wait, self.vfs = path, synchronous, wait, vfs
        self.read_only = read_only
        self.writer, self.heads = threading.Lock(), Heads()


class Session:
    """One connection, and how it answers questions.

    Args:
        shared: What all connections share.
        home: The idle ones, to which it comes back.
    """

    def __init__(self, shared: Shared, home: list[Session]) -> None:
        self.shared, self.home = shared, home
        self.sql = Sql(DEFAULT_NAMESPACE)
        self.busy = False
        self.usable = True
        self._writing = self._relaxed = False
        self._deadline = 0.0
        self._patience = shared.wait
        flags = _READ_ONLY if shared.read_only else _READ_WRITE
        try:
            self.connection = apsw.Connection(shared.path, flags=flags, vfs=shared.vfs)
            self.connection.set_busy_handler(self._wait)
            # Plans that depend on bound values are made anew at each execution.
            self.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            self._cursor = self.connection.cursor()
            self._set_up()
        except apsw.Error as error:
            raise translated(error, reading=shared.read_only) from error

    def _set_up(self) -> None:
        if self.shared.vfs is not None:
            # A VFS written in Python has no shared memory, which WAL needs unless it is alone.
            self._cursor.execute("PRAGMA locking_mode = EXCLUSIVE")
        if not self.shared.read_only:
            self._until_free("PRAGMA journal_mode = WAL")
        self._set_synchronous(self.shared.synchronous)
        self._cursor.execute("PRAGMA secure_delete = ON")
        pages = CHECKPOINT_PAGES[self.shared.synchronous]
        self._cursor.execute(f"PRAGMA wal_autocheckpoint = {pages}")

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
        own = _OWN.get(type(question))
        if own is not None:
            return own(self, question)
        if not self.busy:
            self._snapshot(question)
        steps = self.sql.answer(question)
        try:
            statement = next(steps)
            while True:
                statement = steps.send(self.execute(statement))
        except StopIteration as done:
            return done.value

    def _snapshot(self, _: Any) -> None:
        """Show all reads of an operation one state, with one lock of the log instead of many."""
        if not self.busy:
            self.execute(_BEGIN)
            self.busy = True

    def _lock(self, ask: q.Lock) -> HeadRow | None:
        namespace = self.sql.namespace
        if (
            ask.guess
            and (known := self.shared.heads.recall(namespace, ask.thread_id, ask.owner)) is not None
        ):
            return known
        self._begin_write(durable=ask.durable)
        rows = self.execute((READ_TIP, (namespace, ask.thread_id, ask.owner)))
        return HeadRow(*rows[0]) if rows else None

    def _begin_write(self, *, durable: bool = True) -> None:
        self._begin_turn()
        if not durable and self.shared.synchronous == "FULL":
            self._relaxed = True
            self._set_synchronous("NORMAL")
        self.execute(_BEGIN_WRITE)

    def _set_synchronous(self, setting: str) -> None:
        # A pragma takes effect when it is prepared, so that a cached one has none.
        self._cursor.execute(f"PRAGMA synchronous = {setting}", can_cache=False)

    def _begin_turn(self) -> None:
        """Wait for the other writers of this process."""
        self._require_writable()
        if self.busy:
            self.undo()
        if not self.shared.writer.acquire(timeout=self.shared.wait):
            raise StorageBusyError(
                "Another thread held the database for too long.",
                fix="Try again, or raise busy_timeout_seconds.",
            )
        self._writing = self.busy = True

    def _require_writable(self) -> None:
        if self.shared.read_only:
            raise StorageReadOnlyError(
                "A write was asked of a store opened read-only.", fix="Open it without read_only."
            )

    def _append(self, ask: q.AppendGroup) -> bool:
        before, heads, namespace = ask.before, self.shared.heads, self.sql.namespace
        key = (namespace, ask.head.thread_id, ask.head.owner)
        if before is not None and not self._writing and len(ask.nodes) == 1:
            head = guessed(ask.head, before.base)
            values = (namespace, *astuple(ask.nodes[0]), *held_by(namespace, head))
            return self.append_one(ADD_NODE_FOLLOWING, values, key, head)
        try:
            stored = self._store_group(namespace, ask)
        except apsw.ConstraintError:
            stored = False
        except apsw.Error as error:
            raise translated(error) from error
        if stored:
            heads.remember(namespace, ask)
            self._release()
        else:
            heads.mistrust(key)
            self.undo()
        return stored

    def append_one(self, sql: str, values: tuple[Any, ...], key: Key, head: HeadRow) -> bool:
        """Store one message behind a remembered head, whose base its new head has.

        One statement is a transaction of its own, begun with the lock of the file.
        """
        shared = self.shared
        if self.busy or shared.read_only or not shared.writer.acquire(False):
            self._begin_turn()
        try:
            self._cursor.execute(sql, values)
            stored = self.connection.changes() == 1
        except apsw.ConstraintError:
            stored = False
        except apsw.Error as error:
            raise translated(error) from error
        finally:
            self.busy = self._writing = False
            shared.writer.release()
        if stored and key in shared.heads.rows:  # as `settle` does; every append comes here
            shared.heads.rows[key] = head
        else:
            shared.heads.settle(key, head, stored=stored)
        return stored

    def _store_group(self, namespace: str, ask: q.AppendGroup) -> bool:
        """Store a group and its head; an id that is stored already fails a statement."""
        if not self._writing:
            self._begin_write()
        execute, head, before = self._cursor.execute, ask.head, ask.before
        nodes = [(namespace, *astuple(node)) for node in ask.nodes]
        if before is not None and follows(before, head):
            held = held_by(namespace, guessed(head, before.base))
            execute(ADD_NODE_FOLLOWING, nodes[0] + held)
            if not self.connection.changes():
                return False
            del nodes[0]
        else:
            self._write_head(namespace, ask)
        for node in nodes:
            execute(ADD_NODE, node)
        execute("COMMIT")
        return True

    def _write_head(self, namespace: str, ask: q.AppendGroup) -> None:
        """Let a head follow the branch that its group is added to, and nobody else's."""
        branch = branch_of(ask.head.node)
        self._cursor.execute(SETTLE_HEAD, (branch,))
        thread_id, owner, *moved = astuple(ask.head)[:-2]
        if ask.before is None:
            self._cursor.execute(ADD_HEAD, (namespace, thread_id, owner, *moved, branch))
        else:
            self._cursor.execute(MOVE_HEAD, (*moved, branch, namespace, thread_id, owner))

    def _write_run(self, ask: Any) -> Any:
        """Carry out a write of a run, or undo it where it found something else than it expected."""
        self._begin_write()
        answer = drive(RUN_WRITES[type(ask)](self.sql.namespace, ask), self.execute)
        if answer:
            self._commit()
        else:
            self.undo()
        return answer

    def _write(self, ask: q.Write) -> None:
        self.shared.heads.forget_moved(self.sql.namespace, ask.changes)
        at_once = ends_threads(ask.changes)
        if at_once:  # the terms of a thread are noise without its secrets, which go now
            self.execute((SECURE_DELETE, (0,)))
        drive(self.sql.write(ask), self.execute)
        if at_once:
            self.execute((SECURE_DELETE, (1,)))
        self._commit()

    def _abandon(self, _: Abandon) -> None:
        self.undo()

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
        if self._relaxed:
            self._relaxed = False
            try:
                self._set_synchronous(self.shared.synchronous)
            except apsw.Error:
                self.usable = False  # else later appends would be less durable than was asked
        if self._writing:
            self._writing = False
            self.shared.writer.release()

    def _checkpoint(self, _: q.Checkpoint) -> bool:
        """Copy the write-ahead log into the database and cut it to nothing."""
        if self.busy:
            self.undo()
        self._require_writable()
        self._patience = CHECKPOINT_SECONDS
        try:
            busy, _, _ = self.execute(("PRAGMA wal_checkpoint(TRUNCATE)", ()))[0]
        except StorageBusyError:
            return False
        finally:
            self._patience = self.shared.wait
        return not busy

    def migrate(self, migrations: tuple[Migration, ...]) -> None:
        """Bring the schema up to date."""
        exists = self.execute(("SELECT 1 FROM sqlite_schema WHERE name = 'thusfar_schema'", ()))
        version = version_of(self.execute((VERSION_SQL, ()))) if exists else 0
        require_known(version, migrations)
        if version == migrations[-1].number or self.shared.read_only:
            if version != NEWEST and self.shared.read_only:
                raise unprepared(version)
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


_OWN: Final[dict[type, Callable[[Session, Any], Any]]] = {
    q.Lock: Session._lock,
    q.AppendGroup: Session._append,
    q.Write: Session._write,
    q.Snapshot: Session._snapshot,
    q.Checkpoint: Session._checkpoint,
    Abandon: Session._abandon,
    **dict.fromkeys(RUN_WRITES, Session._write_run),
}
