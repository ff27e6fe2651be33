"""Forks: locks that are held while the process forks, so that no child waits for a lost thread."""

from __future__ import annotations

import os
from typing import Any, Final
from weakref import WeakSet

FORK_SECONDS: Final = 2.0  # a fork waits so long for operations that are under way


class _Locks:
    """Locks that a fork takes first, and gives back in the parent and in the child."""

    def __init__(self) -> None:
        self.all: WeakSet[Any] = WeakSet()
        self._held: list[Any] = []

    def take(self) -> None:
        """Wait for what is under way."""
        self._held = [lock for lock in list(self.all) if lock.acquire(timeout=FORK_SECONDS)]

    def give_back(self) -> None:
        """Go on."""
        while self._held:
            self._held.pop().release()


_LOCKS: Final = _Locks()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LOCKS.take, after_in_parent=_LOCKS.give_back, after_in_child=_LOCKS.give_back
    )


def hold_during_forks(lock: Any) -> Any:
    """Let every fork of the process take this lock first, and give it back.

    Args:
        lock: A `threading.RLock`, so that a fork inside an operation of its own does not wait.
    """
    _LOCKS.all.add(lock)
    return lock
