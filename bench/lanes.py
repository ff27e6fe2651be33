"""Lanes of a race: each contender in a process of its own, so that only the machine is shared.

A contender with worker threads or a large heap slows whatever runs in its process.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from store_contenders import Contender


class Lane:
    """A process with one contender at several lengths.

    Args:
        make: Opens and fills the contender of one length; a function of a module.
        arguments: What it gets, by length.
    """

    def __init__(self, make: Callable[..., Contender], arguments: Mapping[int, tuple[Any, ...]]):
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, arguments), daemon=True)
        self._process.start()
        theirs.close()
        self.sizes = tuple(arguments)
        self._pipe.recv()

    def time(self, size: int, work: str, runs: int) -> list[float]:
        """Time runs in a row of `append` or `read`. Unit: seconds."""
        self._pipe.send((size, work, runs))
        spent: list[float] = self._pipe.recv()
        return spent

    def __enter__(self) -> Lane:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the contender and end its process."""
        self._pipe.close()
        self._process.join(30)


def _serve(
    pipe: Connection,
    make: Callable[..., Contender],
    arguments: Mapping[int, tuple[Any, ...]],
) -> None:
    made = {size: make(*values) for size, values in arguments.items()}
    for one in made.values():
        for work in (one.append, one.read):
            one.time(work, 10)
    gc.collect()
    gc.freeze()
    pipe.send("ready")
    try:
        while True:
            size, work, runs = pipe.recv()
            one = made[size]
            pipe.send(one.time(getattr(one, work), runs))
    except EOFError:
        for one in made.values():
            one.close()
