"""Verbs: a generator method becomes an async method, and its sync mirror, written once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from thusfar.drive import Steps
from thusfar.storage.base import Store
from thusfar.thread.paths import Context


class Stored(Protocol):
    """What every verb needs of the handle it belongs to."""

    store: Store
    _context: Context


class Mirror(Protocol):
    """What the sync mirror of a verb needs."""

    _thread: Any


S = TypeVar("S", bound=Stored)
M = TypeVar("M", bound=Mirror)
P = ParamSpec("P")
R = TypeVar("R")


def verb(
    steps: Callable[Concatenate[S, P], Steps[R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Make an async method of a generator method; `blocking` makes its sync mirror."""

    async def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.store.arun(steps(self, *args, **kwargs))

    functools.update_wrapper(run, steps)
    return run


def blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[M, P], R]:
    """Make the sync mirror of a verb."""
    steps: Callable[..., Steps[R]] = method.__wrapped__  # type: ignore[attr-defined]

    def run(self: M, /, *args: P.args, **kwargs: P.kwargs) -> R:
        thread = self._thread
        value: R = thread.store.run(steps(thread, *args, **kwargs))
        return value

    functools.update_wrapper(run, steps)
    return run
