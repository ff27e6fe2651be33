"""Pages: a stored transcript of which only the two ends are at hand until more is asked for.

It is a sequence of known length. Looking at a message that was not read yet raises `NeedMessages`;
whoever plans then asks for more and begins again, so that a plan reads no more than it looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from thusfar.messages import Message


class NeedMessages(Exception):  # noqa: N818 - a signal to read more, caught in this package
    """Raised for a look at messages that were not read yet."""

    def __init__(self, low: int) -> None:
        super().__init__(low)
        self.low = low


class Pages(Sequence[Message]):
    """The messages of a path: the first few and the newest, and whatever was read since.

    Args:
        length: How many messages there are.
        head: The first ones: the leading system run and the message behind it.
        tail: The newest ones.
        chains: Chained digest after each message of the tail.

    Attributes:
        total: Tokens of all messages, where that is known without reading them. `None`: unknown.
    """

    __slots__ = ("_chains", "_head", "_length", "_tail", "total")

    def __init__(
        self,
        length: int,
        *,
        head: Sequence[Message] = (),
        tail: Sequence[Message] = (),
        chains: Sequence[str] = (),
    ) -> None:
        self._length = length
        self._head = list(head)
        self._tail = list(tail)
        self._chains = list(chains)
        self.total: int | None = None

    @property
    def first(self) -> int:
        """Position of the oldest message of the tail."""
        return self._length - len(self._tail)

    @property
    def head_length(self) -> int:
        """How many messages at the start are at hand."""
        return min(len(self._head), self.first)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step == 1:
                return self._run(start, stop)
            return [self[place] for place in range(start, stop, step)]
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(index)
        return self._run(place, place + 1)[0]

    def __iter__(self) -> Iterator[Message]:
        yield from self._head[: self.first]
        if self.head_length < self.first:
            raise NeedMessages(self.head_length)
        yield from self._tail

    def _run(self, start: int, stop: int) -> list[Message]:
        if start >= stop:
            return []
        first = self.first
        if start >= first:
            return self._tail[start - first : stop - first]
        if stop <= len(self._head):
            return self._head[start:stop]
        if start >= len(self._head):
            raise NeedMessages(start)
        return self._head[start:] + self._run(len(self._head), stop)

    def chain(self, position: int) -> str:
        """The chained digest after a message.

        Raises:
            NeedMessages: when it was not read yet.
        """
        if position < self.first:
            raise NeedMessages(position)
        return self._chains[position - self.first]

    def extend(self, messages: Sequence[Message], chains: Sequence[str]) -> None:
        """Add the messages that come directly before the tail."""
        self._tail[:0] = messages
        self._chains[:0] = chains
