"""Lines of a growing record, held in blocks, so that adding one costs the same at any length."""

from __future__ import annotations

from typing import Final

from thusfar.process.rendering import counted_line

BLOCK_LINES: Final = 64  # a block is one text for the token counter, which knows it again


class LineBlocks:
    """Lines, joined in blocks of 64 that never change again.

    The text of a full block is one object for good: it is hashed and counted once. Lines that
    fill no block yet stand alone, so that each is counted once too.
    """

    __slots__ = ("_full", "_open")

    def __init__(self) -> None:
        self._full: list[str] = []
        self._open: list[str] = []

    def __len__(self) -> int:
        return len(self._full) * BLOCK_LINES + len(self._open)

    def add(self, line: str) -> None:
        """Add a line at the end."""
        self._open.append(line + "\n")
        if len(self._open) == BLOCK_LINES:
            self._full.append("".join(self._open))
            self._open = []

    def texts(self) -> list[str]:
        """List the text in order, block by block and line by line; each line has its end."""
        return [*self._full, *self._open]

    def lines(self) -> list[str]:
        """List the lines."""
        return "".join(self.texts()).split("\n")[:-1]


class Runs:
    """The same lines with runs of equal ones as one line with a count.

    Args:
        most: Most characters of a line.
    """

    __slots__ = ("_blocks", "_count", "_line", "_most", "equal")

    def __init__(self, *, most: int) -> None:
        self._blocks = LineBlocks()
        self._line = ""
        self._count = 0
        self._most = most
        self.equal = 0

    def add(self, line: str) -> None:
        """Add a line at the end."""
        if self._count and line == self._line:
            self._count += 1
            self.equal += 1
            return
        if self._count:
            self._blocks.add(counted_line(self._line, self._count, most=self._most))
        self._line, self._count = line, 1

    def __len__(self) -> int:
        return len(self._blocks) + bool(self._count)

    def texts(self) -> list[str]:
        """List the text in order, as `LineBlocks` does; the run that still grows stands alone."""
        if not self._count:
            return []
        last = counted_line(self._line, self._count, most=self._most)
        return [*self._blocks.texts(), last + "\n"]
