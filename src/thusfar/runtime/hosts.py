"""Hosts: what keeps background work alive after a response was returned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

Job = Callable[[], Coroutine[Any, Any, None]]


class BackgroundHost(Protocol):
    """A place where work goes on after the response: a task group, a worker, a serverless hook."""

    def retain(self, job: Job) -> bool:
        """Take a job, which reports its own failures and never raises.

        Returns:
            Whether it will be run. A host that cannot take it says `False` at once.
        """
        ...


class TaskHost:
    """The default: tasks on the running event loop.

    Example:
        >>> import asyncio
        >>> async def main() -> list[str]:
        ...     done: list[str] = []
        ...     async def job() -> None:
        ...         done.append("done")
        ...     host = TaskHost()
        ...     host.retain(job)
        ...     await host.drain()
        ...     return done
        >>> asyncio.run(main())
        ['done']
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def retain(self, job: Job) -> bool:
        """Start a task; without a running loop there is nothing to take it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        task = loop.create_task(job())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def drain(self) -> None:
        """Wait until everything retained so far has ended."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
