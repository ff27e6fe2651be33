"""Options that the commands on threads share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from cyclopts import Parameter

from thusfar.cli.store import StoreOptions, Use, opened
from thusfar.thread import Thread

ThreadName = Annotated[str, Parameter(help="Id of the thread")]
MessageWord = Annotated[str, Parameter(help="A message: its id, the beginning of it, or @N")]
Owner = Annotated[str, Parameter(help="Whose position on the thread; every owner has one")]
Yes = Annotated[
    bool, Parameter(negative=(), show_default=False, help="Do not ask; erasing is for good")
]


@contextmanager
def opened_thread(
    where: StoreOptions | None, thread: str, owner: str, use: Use
) -> Iterator[Thread]:
    """Open a store and make the handle of one thread; as `opened`."""
    with opened(where, use) as store:
        yield Thread(thread, store=store, owner=owner)
