"""Holders: who runs a stored run, and whether that one can still be alive.

A holder is named by the place its process runs at, the process, and a token of the run. Where the
place is this one, a process that has ended is known to hold nothing.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

import os
import uuid
from functools import lru_cache
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
_living: set[str] = set()


def new_holder() -> str:
    """Name a holder in this process; it lives until `let_go`."""
    holder = f"{_place()}:{os.getpid()}:{uuid.uuid4().hex}"
    _living.add(holder)
    return holder


def let_go(holder: str) -> None:
    """Say that a holder of this process holds nothing any more."""
    _living.discard(holder)


def is_gone(holder: str) -> bool:
    """Tell whether a holder is known to have ended; `False` where nobody can tell from here."""
    place, _, rest = holder.partition(":")
    number, _, _ = rest.partition(":")
    if place != _place() or not number.isdecimal():
        return False
    if int(number) == os.getpid():
        return holder not in _living
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@lru_cache(maxsize=1)
def _place() -> str:
    """Name where numbers of processes mean the same: one boot, one namespace of processes.

    Elsewhere than on Linux every process is a place of its own, so that nothing is concluded.
    """
    try:
        boot = _BOOT.read_text(encoding="ascii").strip()
        return f"{boot}.{_NAMESPACE.stat().st_ino}"
    except OSError:
        return uuid.uuid4().hex
