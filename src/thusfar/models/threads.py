"""Threads: blocking calls made from a coroutine; the end of the event loop never waits for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any


async def in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a daemon thread, which a cancelled caller leaves behind."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(made: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(made) if error is None else future.set_exception(error)

    def work() -> None:
        made, error = None, None
        try:
            made = function()
        except Exception as raised:  # noqa: BLE001 - carried to the coroutine that waits
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, made, error)

    threading.Thread(target=work, name="thusfar-call", daemon=True).start()
    return await future
