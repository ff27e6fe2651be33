"""A folder for what other users have to reach, or sockets, whatever TMPDIR names."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

LONGEST = 50  # characters; the address of a socket, which lies deeper, may have about a hundred


def shared_folder() -> str:
    """Name a folder for temporary files with a short path, which every user may pass through."""
    for name in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):
        path = Path(name).resolve()
        if len(str(path)) <= LONGEST and os.access(path, os.W_OK) and _is_passable(path):
            return str(path)
    return tempfile.gettempdir()


def _is_passable(path: Path) -> bool:
    return all(each.stat().st_mode & stat.S_IXOTH for each in (path, *path.parents))
