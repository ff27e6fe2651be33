"""The connections of one process to one SQLite file: kept for the next operation, never forked.

SQLite takes its locks for a whole process, and remembers in memory which ones it has. A child that
inherits a connection believes in locks that only its parent holds: what it writes can be lost
with a log that somebody else deletes. So all connections are closed before a process forks.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

from thusfar.errors import StorageError, StorageUnavailableError
from thusfar.storage.base import closed
from thusfar.storage.forks import FORK_SECONDS
from thusfar.storage.heads import Key
from thusfar.storage.rows import POSITION_BITS, HeadRow
from thusfar.storage.sqlite_session import Session, Shared
from thusfar.storage.statements import ADD_PLAIN

ASYNC_THREADS: Final = 4  # operations of async code that run at once
_STEP: Final = 0.0005  # seconds between two looks at them


class Pool(Shared):
    """Idle connections of one file, and the threads of async callers; arguments as for `Shared`."""

    def __init__(
        self, path: str, synchronous: str, wait: float, read_only: bool, vfs: str | None
    ) -> None:
        super().__init__(path, synchronous, wait, read_only, vfs)
        self._guard = threading.Lock()
        self._gate = threading.Lock()  # held while a connection is opened, and during a fork
        self._idle: list[Session] = []
        self._open: set[Session] = set()
        self._executor: Any = None
        self._closed = False
        self._barred = False  # closed, or about to fork
        self._held = False  # the gate, by a fork
        _POOLS.add(self)

    def borrow(self) -> Session:
        """Take an idle connection, or open one.

        Raises:
            StorageClosedError: `STORAGE_CLOSED`, after `close`.
            StorageError: when the file cannot be opened.
        """
        if self._barred:
            self._pass()
        try:
            return self._idle.pop()
        except IndexError:
            return self._opened()

    def _pass(self) -> None:
        """Wait for a fork of the process to be over."""
        with self._gate:
            if self._closed:
                raise closed()

    def _opened(self) -> Session:
        with self._gate:
            _require_no_orphan(self.path)
            session = Session(self, self._idle)
            self._open.add(session)
            return session

    def give_back(self, session: Session) -> None:
        """Keep a connection for the next operation."""
        if session.home is not self._idle:  # the process forked meanwhile
            return
        if self._barred or not session.usable:
            self._discard(session)
        else:
            self._idle.append(session)

    def append_following(self, key: Key, head: HeadRow, digest: bytes, body: bytes) -> bool:
        """Store one plain message behind a remembered head; see `thread.shortcut.Following`."""
        node = head.node
        values = (
            *key,
            node >> POSITION_BITS,
            head.base,
            node,
            head.head_id,
            head.updated_at,
            head.depth,
            head.turn,
            head.run,
            head.flags,
            digest,
            head.chain,
            head.messages,
            body,
        )
        session = self.borrow()
        try:
            return session.append_one(ADD_PLAIN, values, key, head)
        finally:
            self.give_back(session)

    def _discard(self, session: Session) -> None:
        self._open.discard(session)
        session.close()

    def executor(self) -> Any:
        """Make the threads that async operations run in, when first needed.

        Raises:
            StorageClosedError: `STORAGE_CLOSED`, after `close`.
        """
        if self._closed:
            raise closed()
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor

            with self._guard:
                if self._executor is None:
                    self._executor = ThreadPoolExecutor(
                        ASYNC_THREADS, thread_name_prefix="thusfar-sqlite"
                    )
        return self._executor

    def close(self) -> None:
        """Close what is idle; what is borrowed closes when it comes back."""
        self._closed = self._barred = True
        while self._idle:
            self._discard(self._idle.pop())
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    def before_fork(self) -> None:
        """Close all connections, and let nobody open one; wait for operations for a while."""
        end = time.monotonic() + FORK_SECONDS
        self._held = self._gate.acquire(timeout=FORK_SECONDS)
        self._barred = True
        while self._open:
            with suppress(IndexError, StorageError):
                while True:
                    self._discard(self._idle.pop())
            if time.monotonic() > end:
                return
            if self._open:
                time.sleep(_STEP)

    def in_parent(self) -> None:
        """Go on after a fork."""
        self._barred = self._closed
        if self._held:
            self._held = False
            self._gate.release()

    def in_child(self) -> None:
        """Begin anew in a forked child; what could not be closed is left alone for ever."""
        _ORPHANS.extend(self._open)
        self._idle, self._open, self._executor = [], set(), None
        self._guard, self._gate, self.writer = threading.Lock(), threading.Lock(), threading.Lock()
        self._barred, self._held = self._closed, False


def _require_no_orphan(path: str) -> None:
    """Check that a forked process has no connection of its parent to the same file."""
    if any(os.path.realpath(each.shared.path) == os.path.realpath(path) for each in _ORPHANS):
        raise StorageUnavailableError(
            "The process was forked while its parent used the database.",
            fix="Fork when no operation is under way, or start processes with spawn.",
        )


_ORPHANS: list[Session] = []  # kept so that no destructor closes a parent's connection
_POOLS: WeakSet[Pool] = WeakSet()


class _Fork:
    """One fork at a time, and the pools that wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools: list[Pool] = []

    def before(self) -> None:
        """Leave all files."""
        self._lock.acquire()
        self._pools = list(_POOLS)
        for pool in self._pools:
            pool.before_fork()

    def in_parent(self) -> None:
        """Let the parent go on."""
        for pool in self._pools:
            pool.in_parent()
        self._pools = []
        self._lock.release()

    def in_child(self) -> None:
        """Let the child begin."""
        for pool in self._pools:
            pool.in_child()
        self._lock, self._pools = threading.Lock(), []


_FORK: Final = _Fork()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_FORK.before, after_in_parent=_FORK.in_parent, after_in_child=_FORK.in_child
    )
