"""Calling: foreign functions with a time limit, from sync and async code.

A function that hangs is left behind in a daemon thread, so that neither its caller nor the end of
the event loop waits for it. A late result is ignored.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from thusfar.models.threads import carried, in_thread


def call_within(function: Callable[[], Any], seconds: float | None) -> Any:
    """Call a function, sync or async, and wait for it at most so long; `None`: any time.

    Raises:
        TimeoutError: when it took longer.
        Exception: whatever the function raised.
    """
    outcome: list[Any] = []
    raised: list[Exception] = []

    def work() -> None:
        try:
            made = function()
            outcome.append(asyncio.run(_awaited(made)) if inspect.isawaitable(made) else made)
        except BaseException as error:  # noqa: BLE001 - carried to the thread that waits
            raised.append(carried(error))

    worker = threading.Thread(target=work, name="thusfar-call", daemon=True)
    worker.start()
    worker.join(seconds)
    if worker.is_alive():
        raise TimeoutError
    if raised:
        raise raised[0]
    return outcome[0]


async def acall_within(function: Callable[[], Any], seconds: float) -> Any:
    """Call a function, sync or async, without blocking the event loop; as `call_within`."""
    async with asyncio.timeout(seconds):
        if _is_async(function):
            return await function()
        made = await in_thread(function)
        return await made if inspect.isawaitable(made) else made


def _is_async(function: Callable[[], Any]) -> bool:
    inner = function.func if isinstance(function, partial) else function
    return inspect.iscoroutinefunction(inner)


async def _awaited(made: Any) -> Any:
    return await made
