"""The PostgreSQL store: many machines, one row lock a thread and owner, sync and async.

Appends to different threads never wait for each other. What was acknowledged is as durable as the
server's `synchronous_commit` says.
"""

from __future__ import annotations

import os
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from thusfar.drive import Steps, adrive, drive
from thusfar.errors import (
    MissingExtraError,
    OptionsError,
    StorageClosedError,
    StorageError,
    UnsupportedCapabilityError,
)
from thusfar.storage.base import DEFAULT_NAMESPACE, Clock, check_id, check_wait, now
from thusfar.storage.heads import Heads
from thusfar.storage.migrations import (
    MIGRATIONS,
    POSTGRES_TYPES,
    SCHEMA_SQL,
    VERSION_SQL,
    Migration,
    migrate_steps,
    require_known,
    version_of,
)
from thusfar.storage.postgres_sql import Duplicate, PostgresSql, numbered
from thusfar.storage.statements import Many, Together

try:
    import psycopg
    import psycopg_pool

    from thusfar.storage.postgres_errors import translated
except ImportError as error:
    raise MissingExtraError(
        "The driver of PostgreSQL is not installed.", fix="Install thusfar[postgres]."
    ) from error

Result = TypeVar("Result")

MOST_CONNECTIONS: Final = 10  # a process; the server's default limit is 100 for all of them
_SHORTEST_CONNECT: Final = 5.0  # seconds; making a connection takes a while on an idle server too
_MIGRATING: Final = 0x7468_7573  # the advisory lock of whoever migrates


class PostgresStore:
    """Threads in a PostgreSQL database.

    Args:
        url: `postgresql://user:password@host:port/database`.
        namespace: The tenant.
        busy_timeout_seconds: How long to wait for a row or a connection. Unit: seconds.
        max_connections: Most connections of this process, for sync and async code each.
        clock: Stamps rows.
        migrations: The schema; only tests pass another.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a URL that cannot be read, and for options out of
            their range.
        StorageError: when the server cannot be reached; the code says why.
        SchemaTooNewError: `SCHEMA_TOO_NEW`.
        UnsupportedCapabilityError: `UNSUPPORTED_CAPABILITY`, for a database that is not UTF-8.
    """

    def __init__(
        self,
        url: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        busy_timeout_seconds: float = 30.0,
        max_connections: int = MOST_CONNECTIONS,
        clock: Clock = now,
        migrations: tuple[Migration, ...] = MIGRATIONS,
    ) -> None:
        self.namespace = check_id(namespace, "namespace")
        self.clock = clock
        self._shared = _Shared(_checked(url), check_wait(busy_timeout_seconds), max_connections)
        self._shared.migrate(migrations)

    def within(self, namespace: str) -> PostgresStore:
        """Look at another tenant's rows through the same connections."""
        other = object.__new__(PostgresStore)
        other.namespace = check_id(namespace, "namespace")
        other.clock, other._shared = self.clock, self._shared
        return other

    def run(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end; what it began and did not write is undone."""
        sql = PostgresSql(self.namespace, self._shared.heads)
        pool = self._shared.pool()
        connection = _translating(pool.getconn)

        def execute(statement: Any) -> Any:
            return _execute(connection, statement)

        try:
            return drive(steps, lambda question: drive(sql.answer(question), execute))
        finally:
            try:
                drive(sql.undo(), execute)
            except StorageError:
                connection.close()
            pool.putconn(connection)

    async def arun(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end on the event loop."""
        sql = PostgresSql(self.namespace, self._shared.heads)
        pool = await self._shared.async_pool()
        try:
            connection = await pool.getconn()
        except psycopg.Error as error:
            raise translated(error) from error

        async def execute(statement: Any) -> Any:
            return await _aexecute(connection, statement)

        async def answer(question: Any) -> Any:
            return await adrive(sql.answer(question), execute)

        try:
            return await adrive(steps, answer)
        finally:
            try:
                await adrive(sql.undo(), execute)
            except StorageError:
                await connection.close()
            await pool.putconn(connection)

    def close(self) -> None:
        """Close the connections of sync code; views of other namespaces close with it."""
        self._shared.close()

    async def aclose(self) -> None:
        """Close the connections of sync code and of the running event loop."""
        await self.leave_loop()
        self._shared.close()

    async def leave_loop(self) -> None:
        """Close the connections of the running event loop; the store stays open."""
        await self._shared.leave_loop()


def _checked(url: str) -> str:
    """Check that the driver can read a URL; what it names may still not be there."""
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except (psycopg.ProgrammingError, UnicodeError) as error:
        raise OptionsError(
            "The URL of a database could not be read.",
            fix="Use postgresql://user:password@host:port/database, with % escapes where needed.",
        ) from error
    return url


class _Shared:
    """The connections of a store and its views."""

    def __init__(self, url: str, wait: float, most: int) -> None:
        self.url, self.wait, self.most = url, wait, most
        self.heads = Heads()
        self._process = os.getpid()
        self._pool: Any = None
        self._async_pools: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._made: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # loops of connections
        self._closed = False

    def _options(self) -> dict[str, Any]:
        if self._closed:
            raise StorageClosedError(
                "The store was used after it was closed.", fix="Open it again."
            )
        return {
            "conninfo": self.url,
            "min_size": 0,
            "max_size": self.most,
            "timeout": max(self.wait, _SHORTEST_CONNECT),
            "kwargs": {"autocommit": True},
            "open": False,
        }

    def pool(self) -> Any:
        """Return the pool of sync connections, of this process."""
        self._leave_parent()
        if self._pool is None or self._closed:
            options = self._options()
            self._pool = psycopg_pool.ConnectionPool(configure=self._configure, **options)
            self._pool.open()
        return self._pool

    async def async_pool(self) -> Any:
        """Return the pool of the running event loop."""
        import asyncio

        self._leave_parent()
        loop = asyncio.get_running_loop()
        pool = self._async_pools.get(loop)
        if pool is None or self._closed:
            self._leave_ended_loops()
            pool = psycopg_pool.AsyncConnectionPool(configure=self._aconfigure, **self._options())
            self._async_pools[loop] = pool
            await pool.open()
        return pool

    def _configure(self, connection: Any) -> None:
        connection.execute(self._settings())

    async def _aconfigure(self, connection: Any) -> None:
        import asyncio

        self._made[connection] = asyncio.get_running_loop()
        await connection.execute(self._settings())

    def _settings(self) -> str:
        # Every range that is read has an index in its order; before a table was analysed, the
        # planner would rather read the whole range and sort it.
        patience = max(int(self.wait * 1000), 1)  # 0 would wait for ever
        return f"SET lock_timeout = {patience}; SET enable_bitmapscan = off"

    def _leave_parent(self) -> None:
        """Leave alone what a forked process has of its parent: closing it would end it there."""
        if self._process != os.getpid():
            _ORPHANS.extend((self._pool, *self._async_pools.values(), *self._made))
            self._pool, self._process = None, os.getpid()
            self._async_pools, self._made = WeakKeyDictionary(), WeakKeyDictionary()

    def _leave_ended_loops(self) -> None:
        """Close the connections of loops that have ended, which cannot do so any more."""
        for connection, loop in list(self._made.items()):
            if loop.is_closed():
                connection.pgconn.finish()
                del self._made[connection]
        for loop in [each for each in self._async_pools if each.is_closed()]:
            del self._async_pools[loop]

    def migrate(self, migrations: tuple[Migration, ...]) -> None:
        """Bring the schema up to date, on a connection of its own."""
        connection = _translating(lambda: psycopg.connect(self.url, autocommit=True))
        try:
            drive(_migrate(migrations), lambda statement: _execute(connection, statement))
        finally:
            connection.close()

    def close(self) -> None:
        """Close the sync pool."""
        self._closed = True
        if self._pool is not None and self._process == os.getpid():
            self._pool.close()
            self._pool = None

    async def leave_loop(self) -> None:
        """Close the running loop's pool."""
        import asyncio

        pool = self._async_pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()


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


def _translating(work: Any) -> Any:
    try:
        return work()
    except psycopg.Error as error:
        raise translated(error) from error


def _execute(connection: Any, statement: Any) -> Any:
    try:
        if type(statement) is Many:
            if statement.rows:
                with connection.cursor() as cursor:
                    cursor.executemany(numbered(statement.sql), statement.rows)
            return None
        if type(statement) is Together:
            with connection.pipeline():
                sent = [
                    connection.execute(numbered(sql), p, prepare=_may_prepare(i))
                    for i, (sql, p) in enumerate(statement.statements)
                ]
            return [each.fetchall() if _has_rows(each) else [] for each in sent]
        cursor = connection.execute(numbered(statement[0]), statement[1])
        return cursor.fetchall() if _has_rows(cursor) else []
    except psycopg.errors.UniqueViolation as error:
        raise Duplicate from error
    except psycopg.Error as error:
        raise translated(error) from error


def _has_rows(cursor: Any) -> bool:
    result = cursor.pgresult
    return result is not None and result.nfields > 0


async def _aexecute(connection: Any, statement: Any) -> Any:
    try:
        if type(statement) is Many:
            if statement.rows:
                async with connection.cursor() as cursor:
                    await cursor.executemany(numbered(statement.sql), statement.rows)
            return None
        if type(statement) is Together:
            async with connection.pipeline():
                sent = [
                    await connection.execute(numbered(sql), p, prepare=_may_prepare(i))
                    for i, (sql, p) in enumerate(statement.statements)
                ]
            return [await each.fetchall() if _has_rows(each) else [] for each in sent]
        cursor = await connection.execute(numbered(statement[0]), statement[1])
        return await cursor.fetchall() if _has_rows(cursor) else []
    except psycopg.errors.UniqueViolation as error:
        raise Duplicate from error
    except psycopg.Error as error:
        raise translated(error) from error
