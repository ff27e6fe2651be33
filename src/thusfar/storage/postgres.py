"""The PostgreSQL store: many machines, one row lock a thread and owner, sync and async.

Appends to different threads never wait for each other. What was acknowledged is as durable as the
server's `synchronous_commit` says.
"""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from thusfar.drive import Steps, adrive, drive
from thusfar.errors import StorageError
from thusfar.storage.base import DEFAULT_NAMESPACE, Clock, check_id, check_wait, now
from thusfar.storage.heads import Key
from thusfar.storage.migrations import MIGRATIONS, Migration
from thusfar.storage.postgres_connections import (
    Connections,
    aexecute,
    checked,
    execute,
)
from thusfar.storage.postgres_sql import Duplicate, PostgresSql, append_sql
from thusfar.storage.rows import HeadRow, node_at
from thusfar.storage.statements import held_by

Result = TypeVar("Result")

MOST_CONNECTIONS: Final = 10  # a process; the server's default limit is 100 for all of them


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
        self._shared = Connections(checked(url), check_wait(busy_timeout_seconds), max_connections)
        self.heads = self._shared.heads
        self._shared.migrate(migrations)

    def within(self, namespace: str) -> PostgresStore:
        """Look at another tenant's rows through the same connections."""
        other = object.__new__(PostgresStore)
        other.namespace = check_id(namespace, "namespace")
        other.clock, other._shared, other.heads = self.clock, self._shared, self.heads
        return other

    def run(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end; what it began and did not write is undone."""
        sql = PostgresSql(self.namespace, self._shared.heads)
        pool = self._shared.pool()
        connection = self._shared.borrow(pool)

        def ask(statement: Any) -> Any:
            return execute(connection, statement)

        try:
            return drive(steps, lambda question: drive(sql.answer(question), ask))
        finally:
            try:
                drive(sql.undo(), ask)
            except StorageError:
                connection.close()
            finally:
                pool.putconn(connection)

    def append_following(self, key: Key, head: HeadRow, digest: bytes, body: bytes) -> bool:
        """Store one plain message behind a remembered head; see `thread.shortcut.Following`."""
        pool = self._shared.pool()
        connection = self._shared.borrow(pool)
        row = node_at(head, None, digest, body.decode())
        values = (*held_by(self.namespace, head), self.namespace, *row)
        try:
            stored = bool(execute(connection, (append_sql(1), values)))
        except Duplicate:
            stored = False
        finally:
            pool.putconn(connection)
        self.heads.settle(key, head, stored=stored)
        return stored

    async def arun(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end on the event loop; cancelled, it ends with its connection.

        The driver gives up a connection, and complains, when it is cancelled again while it asks
        the server to stop, as some frameworks do. So the work is a task that is cancelled once.
        """
        return await _ended(self._work(steps), stop=True)

    async def _work(self, steps: Steps[Result]) -> Result:
        sql = PostgresSql(self.namespace, self._shared.heads)
        pool = self._shared.loop_pool()
        connection = await self._shared.aborrow(pool)

        async def ask(statement: Any) -> Any:
            return await aexecute(connection, statement)

        async def answer(question: Any) -> Any:
            return await adrive(sql.answer(question), ask)

        async def end() -> None:
            try:
                await adrive(sql.undo(), ask)
            except StorageError:
                await connection.close()
            finally:
                pool.give_back(connection)

        try:
            return await adrive(steps, answer)
        finally:
            await _ended(end(), stop=False)  # no cancellation takes a connection from the pool

    def close(self) -> None:
        """Close all connections; views of other namespaces close with it."""
        self._shared.close()

    async def aclose(self) -> None:
        """Close all connections, from async code."""
        await self.leave_loop()
        self._shared.close()

    async def leave_loop(self) -> None:
        """Close the connections of the running event loop; the store stays open."""
        self._shared.leave_loop()


async def _ended(work: Coroutine[Any, Any, Result], *, stop: bool) -> Result:
    """Return when work has ended, however often the waiting is cancelled.

    Args:
        work: What to do, in a task of its own.
        stop: Whether a cancellation of the waiting cancels the work, once.
    """
    import asyncio

    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if stop and not task.cancelling():  # the end of a loop cancels every task itself
            task.cancel()
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # is looked at: the caller hears of the cancellation alone
        raise
