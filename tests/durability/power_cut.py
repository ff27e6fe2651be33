"""A file system that forgets at a power cut what was not synced, as an SQLite VFS.

Writes go to the real file and are noted. A sync makes the noted writes of that file safe. A power
cut leaves every safe byte, and of the others a random part, torn at sectors of 512 bytes.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


class Disk:
    """What would be left of each file."""

    def __init__(self) -> None:
        self.safe: dict[str, bytearray] = {}
        self.noted: dict[str, list[tuple[int, bytes] | int]] = {}
        self.syncs = 0

    def write(self, name: str, offset: int, data: bytes) -> None:
        """Note a write."""
        self.noted.setdefault(name, []).append((offset, data))

    def truncate(self, name: str, size: int) -> None:
        """Note that a file was cut."""
        self.noted.setdefault(name, []).append(size)

    def sync(self, name: str) -> None:
        """Make what was noted safe."""
        self.syncs += 1
        for change in self.noted.pop(name, []):
            self._apply(self.safe.setdefault(name, bytearray()), change)

    def delete(self, name: str) -> None:
        """Forget a file; directories are taken to be synced at once."""
        self.safe.pop(name, None)
        self.noted.pop(name, None)

    def cut_power(self, into: Path, chance: random.Random) -> None:
        """Write into a directory what is left of all files."""
        for name in self.safe.keys() | self.noted.keys():
            left = bytearray(self.safe.get(name, b""))
            for change in self.noted.get(name, []):
                if isinstance(change, int):
                    if chance.random() < 0.5:
                        self._apply(left, change)
                    continue
                offset, data = change
                for start in range(0, len(data), SECTOR):
                    if chance.random() < 0.5:
                        self._apply(left, (offset + start, data[start : start + SECTOR]))
            (into / os.path.basename(name)).write_bytes(left)

    @staticmethod
    def _apply(content: bytearray, change: tuple[int, bytes] | int) -> None:
        if isinstance(change, int):
            del content[change:]
            return
        offset, data = change
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        content[offset : offset + len(data)] = data


class ForgetfulVFS(apsw.VFS):
    """The VFS over a `Disk`."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.disk = disk
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        return _File(self.disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.disk.delete(filename)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self.disk = disk
        self.name = name.filename() if hasattr(name, "filename") else str(name)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self.disk.write(self.name, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self.disk.truncate(self.name, newsize)

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self.disk.sync(self.name)
