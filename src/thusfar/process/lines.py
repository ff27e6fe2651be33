"""Lines of a growing record, held in blocks, so that adding one costs the same at any length."""

from __future__ import annotations

from typing import Final

from thusfar.process.rendering import counted_line

BLOCK_LINES: Final = 8  # a block is one text for the token counter, which knows it again
_LARGEST: Final = 5  # a block of 32,768 lines; larger ones would only be counted again


class LineBlocks:
    """Lines, joined in blocks of 8 that never change again, and 8 such blocks in a larger one.

    The text of a full block is one object: it is hashed and counted once, until it becomes part of
    a larger block, and no line is part of more than six. Lines that fill no block yet stand alone.
    So there are at most 7 texts of each size, and adding a line costs the same at any length.
    """

    __slots__ = ("_lines", "_sizes")

    def __init__(self) -> None:
        self._lines = 0
        self._sizes: list[list[str]] = [[]]

    def __len__(self) -> int:
        return self._lines

    def add(self, line: str) -> None:
        """Add a line at the end."""
        self._lines += 1
        text, size = line + "\n", 0
        while True:
            waiting = self._sizes[size]
            waiting.append(text)
            if len(waiting) < BLOCK_LINES or size == _LARGEST:
                return
            text, size = "".join(waiting), size + 1
            waiting.clear()
            if size == len(self._sizes):
                self._sizes.append([])

    def texts(self) -> list[str]:
        """List the text in order, larger blocks first; each line has its end."""
        return [text for texts in reversed(self._sizes) for text in texts]

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
