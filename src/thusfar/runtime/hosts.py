"""Hosts: what keeps background work alive after a response was returned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, Final, Protocol

_LOOK_SECONDS: Final = 0.02  # between two looks at the tasks of other loops

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
        await all_ended(self._tasks)


async def all_ended(tasks: set[asyncio.Task[None]]) -> None:
    """Wait until tasks have ended, those of other event loops too.

    Args:
        tasks: The tasks, of which each leaves the set when it ends. Those of a loop that nobody
            runs are not waited for; those of a closed one leave the set.
    """
    here = asyncio.get_running_loop()
    while True:
        loops = {task: task.get_loop() for task in tuple(tasks)}
        tasks.difference_update(task for task in loops if loops[task].is_closed())
        if not any(loop.is_running() for loop in loops.values()):
            return
        mine = [task for task in loops if loops[task] is here]
        await (asyncio.wait(mine) if mine else asyncio.sleep(_LOOK_SECONDS))


class ThreadHost:
    """A thread with an event loop of its own, for code that has none.

    The thread is a daemon: the end of the interpreter does not wait for it, and what it had not
    finished is made again by whoever needs it.

    Example:
        >>> done: list[str] = []
        >>> async def job() -> None:
        ...     done.append("done")
        >>> host = ThreadHost()
        >>> host.retain(job)
        True
        >>> host.drain(timeout_seconds=10)
        >>> done
        ['done']
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._jobs: set[Future[None]] = set()
        self._starting = threading.Lock()

    def retain(self, job: Job) -> bool:
        """Hand a job to the thread, which is started with the first one."""
        future = asyncio.run_coroutine_threadsafe(job(), self._running())
        self._jobs.add(future)
        future.add_done_callback(self._jobs.discard)
        return True

    def drain(self, *, timeout_seconds: float | None = None) -> None:
        """Wait until everything retained so far has ended, at most so long. `None`: any time."""
        wait(set(self._jobs), timeout=timeout_seconds)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                name = "thusfar-background"
                threading.Thread(target=self._loop.run_forever, name=name, daemon=True).start()
            return self._loop
