"""A store that fails, or has its caller cancelled, at one of the questions it is asked."""

from __future__ import annotations

import asyncio
from typing import Any

from thusfar.errors import StorageBusyError


class Clock:
    """A time that goes on when somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1_000) + 1


class FailingStore:
    """Answers from another store, except once.

    Attributes:
        at: The question it fails at, counted from 1; `None` for none.
        after: Whether the answer is lost after the question was carried out.
        asked: Questions so far.
        failed: Kind of the question it failed at.
        victim: A task that is cancelled at that question, in place of an error.
    """

    def __init__(self, store: Any) -> None:
        self.store = store
        self.at: int | None = None
        self.after = False
        self.asked = 0
        self.failed = ""
        self.victim: asyncio.Task[Any] | None = None

    @property
    def namespace(self) -> str:
        return str(self.store.namespace)

    @property
    def clock(self) -> Any:
        return self.store.clock

    def within(self, namespace: str) -> Any:
        return self.store.within(namespace)

    def run(self, steps: Any) -> Any:
        return self.store.run(self._watched(steps))

    async def arun(self, steps: Any) -> Any:
        return await self.store.arun(self._watched(steps))

    def close(self) -> None:
        self.store.close()

    async def aclose(self) -> None:
        await self.store.aclose()

    def fail_at(self, at: int | None, *, after: bool = False) -> None:
        """Begin to count anew."""
        self.at, self.after, self.asked, self.failed = at, after, 0, ""

    def _watched(self, steps: Any) -> Any:
        question = next(steps, _ENDED)
        if question is _ENDED:
            return None
        try:
            while True:
                self.asked += 1
                hit = self.asked == self.at
                if hit:
                    self.failed = type(question).__name__
                try:
                    if hit and self.victim is not None:
                        victim = self.victim
                        victim.get_loop().call_soon_threadsafe(victim.cancel)
                    elif hit and not self.after:
                        raise busy()
                    reply = yield question
                    if hit and self.victim is None:
                        raise busy()
                except Exception as error:  # noqa: BLE001 - raised at the question, as stores do
                    question = steps.throw(error)
                else:
                    question = steps.send(reply)
        except StopIteration as done:
            return done.value


_ENDED = object()


def busy() -> StorageBusyError:
    """The error of a database that somebody else holds."""
    return StorageBusyError("The store was busy.", fix="Try again.")
