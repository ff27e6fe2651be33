"""Threads: blocking calls made from a coroutine; the end of the event loop never waits for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


async def in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a daemon thread, which a cancelled caller leaves behind.

    Raises:
        Exception: whatever the function raised; a `RuntimeError` for what only its own thread
            could take, such as `StopIteration` or `SystemExit`.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(made: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(made) if error is None else future.set_exception(error)

    def work() -> None:
        made, error = None, None
        try:
            made = function()
        except BaseException as raised:  # noqa: BLE001 - carried to the coroutine that waits
            error = carried(raised)
        with suppress(RuntimeError):  # the loop has ended, and the caller with it
            loop.call_soon_threadsafe(settle, made, error)

    threading.Thread(target=work, name="thusfar-call", daemon=True).start()
    return await future


def carried(error: BaseException) -> Exception:
    """Write an error so that it can be raised where somebody waits for it.

    There a `StopIteration` would end a generator, a `CancelledError` cancel the caller, and a
    `SystemExit` the program; a future would not take some of them at all.
    """
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    made = RuntimeError(f"A function raised {type(error).__name__}.")
    made.__cause__ = error
    return made
