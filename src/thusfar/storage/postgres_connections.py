"""The connections to a PostgreSQL server: pools of one process, and how a statement is executed.

Whatever the defaults of a server, a database or a role are, a connection is set up as the
statements need it. Every error of the driver leaves here as one of ours.
"""

from __future__ import annotations

import math
import os
import threading
import time
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from thusfar.drive import Steps, drive
from thusfar.errors import (
    MissingExtraError,
    OptionsError,
    UnsupportedCapabilityError,
)
from thusfar.storage.base import closed
from thusfar.storage.heads import Heads
from thusfar.storage.migrations import (
    POSTGRES_TYPES,
    SCHEMA_SQL,
    VERSION_SQL,
    Migration,
    migrate_steps,
    require_known,
    version_of,
)
from thusfar.storage.postgres_sql import Duplicate, numbered
from thusfar.storage.statements import Many, Together

try:
    import psycopg
    import psycopg_pool

    from thusfar.storage.postgres_errors import translated
    from thusfar.storage.postgres_loop_pool import LoopPool
except ImportError as error:
    raise MissingExtraError(
        "The driver of PostgreSQL is not installed.", fix="Install thusfar[postgres]."
    ) from error

_RECONNECT_SECONDS: Final = 1.0  # then an attempt is given up, and the next turn makes another
_TURN_SECONDS: Final = 1.5  # one turn of waiting for a connection
_CONNECT_SECONDS: Final = 10  # an answer of the server, not of its locks
_SHORTEST_CONNECT: Final = 5.0  # seconds; making a connection takes a while on an idle server too
_CONNECTION: Final[dict[str, Any]] = {"autocommit": True, "client_encoding": "utf8"}
_MIGRATING: Final = 0x7468_7573  # the advisory lock of whoever migrates


def checked(url: str) -> str:
    """Check that the driver can read a URL; what it names may still not be there.

    Raises:
        OptionsError: `INVALID_OPTIONS`.
    """
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except (psycopg.ProgrammingError, UnicodeError) as error:
        raise OptionsError(
            "The URL of a database could not be read.",
            fix="Use postgresql://user:password@host:port/database, with % escapes where needed.",
        ) from error
    return url


class Connections:
    """The connections of a store and its views.

    Args:
        url: A URL that `checked` accepted.
        wait: How long to wait for a row or a connection. Unit: seconds.
        most: Most connections, for sync and async code each.

    Attributes:
        heads: The heads that this process wrote last.
    """

    def __init__(self, url: str, wait: float, most: int) -> None:
        self.url, self.wait, self.most = url, wait, most
        self.heads = Heads()
        self._process, self._guard = os.getpid(), threading.Lock()
        self._pool: Any = None
        self._loop_pools: WeakKeyDictionary[Any, LoopPool] = WeakKeyDictionary()
        self._closed = False

    def _options(self) -> dict[str, Any]:
        if self._closed:
            raise closed()
        return {
            "conninfo": self.url,
            "min_size": 0,
            "max_size": self.most,
            "reconnect_timeout": _RECONNECT_SECONDS,
            "kwargs": _CONNECTION,
            "open": False,
        }

    def pool(self) -> Any:
        """Return the pool of sync connections, of this process."""
        self._leave_parent()
        if self._pool is None or self._closed:
            with self._guard:
                if self._pool is None or self._closed:
                    options = self._options()
                    pool = psycopg_pool.ConnectionPool(configure=self._configure, **options)
                    pool.open()
                    self._pool = pool
        return self._pool

    def loop_pool(self) -> LoopPool:
        """Return the pool of the running event loop."""
        import asyncio

        self._leave_parent()
        loop = asyncio.get_running_loop()
        with self._guard:
            if self._closed:
                raise closed()
            pool = self._loop_pools.get(loop)
            if pool is None:
                self._leave_ended_loops()
                pool = self._loop_pools[loop] = LoopPool(self._aconnected, self.most)
        return pool

    def borrow(self, pool: Any) -> Any:
        """Take a connection of a pool, or tell why none was to be had in time.

        The pool's own attempts become rarer the longer a server is away. Short turns of waiting
        make it try again soon after the server is back.
        """
        end = time.monotonic() + max(self.wait, _SHORTEST_CONNECT)
        while True:
            try:
                return pool.getconn(timeout=_TURN_SECONDS)
            except psycopg_pool.PoolTimeout as error:
                if time.monotonic() > end:
                    self.connected().close()  # tells why, if no server is there
                    raise translated(error) from error
            except psycopg.Error as error:
                raise translated(error) from error

    async def aborrow(self, pool: LoopPool) -> Any:
        """Take a connection of a pool, from async code; see `borrow`."""
        return await pool.take(max(self.wait, _SHORTEST_CONNECT))

    def _configure(self, connection: Any) -> None:
        connection.execute(self._settings())

    async def _aconnected(self, seconds: float) -> Any:
        timeout = max(math.ceil(min(seconds, _CONNECT_SECONDS)), 1)
        connection = await psycopg.AsyncConnection.connect(
            self.url, connect_timeout=timeout, **_CONNECTION
        )
        connection._pool = None  # the driver's mark of one that may end with the program
        try:
            await connection.execute(self._settings())
        except BaseException:
            await connection.close()
            raise
        return connection

    def _settings(self) -> str:
        # Every range that is read has an index in its order; before a table was analysed, the
        # planner would rather read the whole range and sort it.
        patience = max(int(self.wait * 1000), 1)  # 0 would wait for ever
        return (
            f"SET lock_timeout = {patience}; SET enable_bitmapscan = off;"
            " SET default_transaction_isolation = 'read committed'"  # what row locks are made for
        )

    def _leave_parent(self) -> None:
        """Leave alone what a forked process has of its parent: closing it would end it there."""
        if self._process != os.getpid():
            _ORPHANS.extend((self._pool, *self._loop_pools.values()))
            self._pool, self._process, self._guard = None, os.getpid(), threading.Lock()
            self._loop_pools = WeakKeyDictionary()

    def _leave_ended_loops(self) -> None:
        """Close the connections of loops that have ended, which cannot do so any more."""
        for loop in [each for each in self._loop_pools if each.is_closed()]:
            self._loop_pools.pop(loop).abandon()

    def connected(self) -> Any:
        """Make a connection of its own."""
        try:
            connection = psycopg.connect(self.url, connect_timeout=_CONNECT_SECONDS, **_CONNECTION)
            self._configure(connection)
        except psycopg.Error as error:
            raise translated(error) from error
        return connection

    def migrate(self, migrations: tuple[Migration, ...]) -> None:
        """Bring the schema up to date, on a connection of its own."""
        connection = self.connected()
        try:
            drive(_migrate(migrations), lambda statement: execute(connection, statement))
        finally:
            connection.close()

    def close(self) -> None:
        """Close all pools; a connection that works closes when it comes back."""
        self._closed = True
        if self._process != os.getpid():
            return
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        with self._guard:
            pools = list(self._loop_pools.items())
        for loop, pool in pools:
            with suppress(RuntimeError):  # the loop ended meanwhile
                loop.call_soon_threadsafe(pool.close)

    def leave_loop(self) -> None:
        """Close the running loop's pool."""
        import asyncio

        pool = self._loop_pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            pool.close()


_ORPHANS: list[Any] = []  # kept so that no destructor closes a parent's connection


def _migrate(migrations: tuple[Migration, ...]) -> Steps[None]:
    encoding = yield "SHOW server_encoding", ()
    if encoding[0][0] != "UTF8":
        raise UnsupportedCapabilityError(
            "The database cannot hold every text.", fix="Use a database with the encoding UTF8."
        )
    exists = yield "SELECT to_regclass('thusfar_schema') IS NOT NULL", ()
    version = version_of((yield VERSION_SQL, ())) if exists[0][0] else 0
    require_known(version, migrations)
    if version == migrations[-1].number:
        return
    yield "BEGIN", ()
    yield "SELECT pg_advisory_xact_lock(?)", (_MIGRATING,)
    yield SCHEMA_SQL.format(**POSTGRES_TYPES), ()
    version = version_of((yield VERSION_SQL, ()))
    yield from migrate_steps(version, migrations, POSTGRES_TYPES)
    yield "COMMIT", ()


def _may_prepare(position: int) -> bool | None:
    """Let only the first of several be prepared.

    The driver takes a statement behind one that failed for prepared, though the server skipped it.
    """
    return None if position == 0 else False


def execute(connection: Any, statement: Any) -> Any:
    """Run one statement and return its rows.

    Raises:
        Duplicate: for a key that is stored already.
        StorageError: for whatever else the server refuses.
    """
    try:
        if type(statement) is Many:
            if statement.rows:
                with connection.cursor() as cursor:
                    cursor.executemany(numbered(statement.sql), statement.rows)
            return None
        if type(statement) is Together:
            sent = _send(connection, statement)
            return [each.fetchall() if _has_rows(each) else [] for each in sent]
        cursor = connection.execute(numbered(statement[0]), statement[1])
        return cursor.fetchall() if _has_rows(cursor) else []
    except psycopg.errors.UniqueViolation as error:
        raise Duplicate from error
    except psycopg.Error as error:
        raise translated(error) from error


def _send(connection: Any, together: Together) -> list[Any]:
    """Send statements in one turn, and raise the first error of the server.

    The driver writes a line to its log when an error leaves the pipeline, which a stored key does
    at each replay.
    """
    sent: list[Any] = []
    first: psycopg.Error | None = None
    try:
        with connection.pipeline():
            try:
                for i, (sql, values) in enumerate(together.statements):
                    sent.append(connection.execute(numbered(sql), values, prepare=_may_prepare(i)))
            except psycopg.Error as error:
                first = error
    except psycopg.Error as error:
        first = first or error
    if first is not None:
        raise first
    return sent


async def _asend(connection: Any, together: Together) -> list[Any]:
    """Send statements in one turn, from async code; see `_send`."""
    sent: list[Any] = []
    first: psycopg.Error | None = None
    try:
        async with connection.pipeline():
            try:
                for i, (sql, values) in enumerate(together.statements):
                    prepare = _may_prepare(i)
                    sent.append(await connection.execute(numbered(sql), values, prepare=prepare))
            except psycopg.Error as error:
                first = error
    except psycopg.Error as error:
        first = first or error
    if first is not None:
        raise first
    return sent


def _has_rows(cursor: Any) -> bool:
    result = cursor.pgresult
    return result is not None and result.nfields > 0


async def aexecute(connection: Any, statement: Any) -> Any:
    """Run one statement from async code; see `execute`."""
    try:
        if type(statement) is Many:
            if statement.rows:
                async with connection.cursor() as cursor:
                    await cursor.executemany(numbered(statement.sql), statement.rows)
            return None
        if type(statement) is Together:
            sent = await _asend(connection, statement)
            return [await each.fetchall() if _has_rows(each) else [] for each in sent]
        cursor = await connection.execute(numbered(statement[0]), statement[1])
        return await cursor.fetchall() if _has_rows(cursor) else []
    except psycopg.errors.UniqueViolation as error:
        raise Duplicate from error
    except psycopg.Error as error:
        raise translated(error) from error
