"""In flight: identical work of one process is done once, and joined by all who need it.

Work lives on the event loop, or in the thread, of whoever began it. A loop that ended, or that
nobody runs any more, takes its work with it: whoever would wait for that begins anew.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from thusfar.errors import SummaryFailedError
from thusfar.planner.questions import Prepared
from thusfar.runtime.hosts import all_ended
from thusfar.runtime.working import Work

LOOK_SECONDS: Final = 0.5  # between two looks whether the loop that works still runs


@dataclass(slots=True)
class _Running:
    """Work in flight, the thread that does it, and its loop, where it is async work."""

    loop: Any = None
    future: Future[Prepared] = field(default_factory=Future)
    thread: int = field(default_factory=threading.get_ident)
    ended: bool = False

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()  # no waiter that gives up can cancel it

    def goes_on(self) -> bool:
        """Whether it can still come to an end."""
        return self.loop is None or self.loop.is_running()


class InFlight:
    """Joins identical work of one process; a waiter that gives up stops nobody else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, _Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Work) -> Prepared:
        """Join work that another thread does, or do it here."""
        key = work.ask.job.key
        mine = _Running()
        other = self._begun(key, mine)
        if other is not None and other.thread != mine.thread:
            return self._joined(key, other)
        try:
            prepared = work.run()
        except BaseException as error:
            self._end(key, mine, error=error)
            raise
        self._end(key, mine, prepared=prepared)
        return prepared

    async def arun(self, work: Work) -> Prepared:
        """Join work in flight, or start it as a task of its own and wait for it."""
        key = work.ask.job.key
        loop = asyncio.get_running_loop()
        mine = _Running(loop)
        other = self._begun(key, mine)
        if other is not None:
            return _as_joined(await self._outcome(key, other))
        task = loop.create_task(self._task(key, mine, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await self._outcome(key, mine)

    def joinable(self, key: str, *, blocking: bool) -> bool:
        """Tell whether work on a summary can be waited for.

        Args:
            key: Key of the summary.
            blocking: Whether the caller would block its thread, which may be the one that works.
        """
        other = self._other(key)
        return other is not None and not (blocking and other.thread == threading.get_ident())

    def join(self, key: str) -> Prepared | None:
        """Wait for work that another thread does; `None` where there is none."""
        other = self._other(key)
        if other is None or other.thread == threading.get_ident():
            return None
        return self._joined(key, other)

    async def ajoin(self, key: str) -> Prepared | None:
        """Wait for work in flight; `None` where there is none."""
        other = self._other(key)
        if other is None:
            return None
        return _as_joined(await self._outcome(key, other))

    async def drain(self) -> None:
        """Wait until all work in flight here has ended."""
        await all_ended(self._tasks)

    def _other(self, key: str) -> _Running | None:
        with self._lock:
            other = self._running.get(key)
        return other if other is not None and other.goes_on() else None

    def _begun(self, key: str, mine: _Running) -> _Running | None:
        """Return the work to join; where there is none, `mine` is what others join."""
        with self._lock:
            other = self._running.get(key)
            if other is not None and other.goes_on():
                return other
            self._running[key] = mine
        if other is not None:
            self._end(key, other)
        return None

    async def _task(self, key: str, mine: _Running, work: Work) -> None:
        try:
            prepared = await work.arun()
        except BaseException as error:
            self._end(key, mine, error=error)
            if not isinstance(error, Exception):
                raise
        else:
            self._end(key, mine, prepared=prepared)

    def _end(
        self,
        key: str,
        mine: _Running,
        *,
        prepared: Prepared | None = None,
        error: BaseException | None = None,
    ) -> None:
        """Forget the work first, so that nobody joins what has failed."""
        with self._lock:
            if self._running.get(key) is mine:
                del self._running[key]
            if mine.ended:
                return
            mine.ended = True
        if prepared is not None:
            mine.future.set_result(prepared)
        elif isinstance(error, Exception):
            mine.future.set_exception(error)
        else:
            mine.future.set_exception(interrupted())

    def _joined(self, key: str, other: _Running) -> Prepared:
        """Wait for work of another thread, as long as it goes on."""
        while not wait((other.future,), timeout=LOOK_SECONDS).done:
            if not other.goes_on():
                self._end(key, other)
        return _as_joined(other.future.result())

    async def _outcome(self, key: str, running: _Running) -> Prepared:
        """Wait for work; a waiter that gives up leaves it alone, and its failure to the others."""
        waited = asyncio.wrap_future(running.future)
        waited.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            while not (await asyncio.wait((waited,), timeout=LOOK_SECONDS))[0]:
                if not running.goes_on():
                    self._end(key, running)
            return waited.result()
        finally:
            waited.cancel()


def interrupted() -> SummaryFailedError:
    """Make the error for work whose event loop ended under it."""
    return SummaryFailedError(
        "The work on a summary was interrupted.", fix="Plan again.", reason="interrupted"
    )


def _as_joined(prepared: Prepared) -> Prepared:
    how = "found" if prepared.how == "found" else "joined"
    return msgspec.structs.replace(prepared, how=how)
