"""The connections of one event loop to a PostgreSQL server.

Whoever needs a connection makes it. A pool that has tasks of its own for that keeps the end of
a loop waiting for ever, where such a task is cancelled while it connects and goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

import psycopg

from thusfar.errors import StorageBusyError
from thusfar.storage.base import closed
from thusfar.storage.postgres_errors import BUSY, translated

IDLE_SECONDS: Final = 600.0  # then a connection that nobody needed is closed
LIFE_SECONDS: Final = 3600.0  # then one is replaced: a server process grows with what it served
_PAUSE: Final = 0.1  # seconds between two attempts to connect; doubled up to the longest
_LONGEST_PAUSE: Final = 1.0

Connect = Callable[[float], Awaitable[Any]]
"""Makes a connection, within so many seconds."""


class LoopPool:
    """Connections of one event loop, kept for the next operation.

    Args:
        connect: Makes a connection.
        most: Most connections at once.
    """

    def __init__(self, connect: Connect, most: int) -> None:
        self._connect = connect
        self._places = asyncio.Semaphore(most)
        self._idle: deque[tuple[Any, float]] = deque()  # the longest idle first, since when
        self._since: dict[Any, float] = {}  # each connection that is open, and when it was made
        self._closed = False

    async def take(self, seconds: float) -> Any:
        """Take an idle connection, or make one.

        Args:
            seconds: How long to wait for a place, and then for the server.

        Raises:
            StorageBusyError: `STORAGE_BUSY`, when all connections work for longer than that.
            StorageClosedError: `STORAGE_CLOSED`, after `close`.
            StorageError: what the server says, or that it could not be reached.
        """
        end = time.monotonic() + seconds
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError as error:
            _, message, fix = BUSY
            raise StorageBusyError(message, fix=fix, sqlstate=None) from error
        try:
            if self._closed:
                raise closed()
            while self._idle:
                connection, _ = self._idle.pop()
                if not connection.closed:
                    return connection
                del self._since[connection]
            return await self._made(end)
        except BaseException:
            self._places.release()
            raise

    async def _made(self, end: float) -> Any:
        """Make a connection; while the server is away, try again until the time is over."""
        pause = _PAUSE
        while True:
            left = end - time.monotonic()
            try:
                connection = await self._connect(left)
            except psycopg.Error as error:
                if left - pause <= 0:
                    raise translated(error) from error
            else:
                self._since[connection] = time.monotonic()
                return connection
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def give_back(self, connection: Any) -> None:
        """Keep a connection for the next operation, if it is fit for one."""
        now = time.monotonic()
        old = now - self._since[connection] > LIFE_SECONDS
        at_rest = connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if at_rest and not old and not self._closed:
            self._idle.append((connection, now))
        else:
            self._ended(connection)
        self._places.release()
        while self._idle and now - self._idle[0][1] > IDLE_SECONDS:
            self._ended(self._idle.popleft()[0])

    def _ended(self, connection: Any) -> None:
        del self._since[connection]
        connection.pgconn.finish()  # as its own close does, which nothing has to wait for

    def close(self) -> None:
        """Close what is idle; what is taken closes when it comes back, and nobody waits longer."""
        if not self._closed:
            self._closed = True
            while self._idle:
                self._ended(self._idle.popleft()[0])
            self._places.release()  # whoever waits sees that it is closed, and wakes the next

    def abandon(self) -> None:
        """Close all connections of a loop that has ended."""
        for connection in self._since:
            connection.pgconn.finish()
        self._since.clear()
        self._idle.clear()
