"""Heads that a process wrote last, so that its next append need not ask where it stands.

A remembered head may be stale: the write that builds on it changes nothing unless the stored head
is still the same, and then the append asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from thusfar.storage import questions as q
from thusfar.storage.rows import GUESSED, HeadRow, follows

REMEMBERED: Final = 4_096  # heads; about 2 MB
SHY_FOR: Final = 16  # appends; a wrong guess costs a round trip, or a lock

Key = tuple[str, str, str]  # namespace, thread id and owner


class Heads:
    """The heads that this process wrote last, of all namespaces.

    Attributes:
        rows: By key.
    """

    def __init__(self) -> None:
        self.rows: dict[Key, HeadRow] = {}
        self._shy: dict[Key, int] = {}

    def recall(self, namespace: str, thread_id: str, owner: str) -> HeadRow | None:
        """Return the head as it was written, if it was."""
        return self.rows.get((namespace, thread_id, owner))

    def remember(self, namespace: str, ask: q.AppendGroup) -> None:
        """Keep the head of a group that was just stored, unless others have been moving it."""
        head, before = ask.head, ask.before
        base = before.base if before is not None and follows(before, head) else head.revision
        self.keep((namespace, head.thread_id, head.owner), guessed(head, base))

    def keep(self, key: Key, head: HeadRow) -> None:
        """Keep a guessed head, unless others have been moving it."""
        if self._shy and (shy := self._shy.get(key, 0)):
            self._shy[key] = shy - 1
            return
        if len(self.rows) >= REMEMBERED:
            self.rows.clear()
            self._shy.clear()
        self.rows[key] = head

    def settle(self, key: Key, head: HeadRow, *, stored: bool) -> None:
        """Take in what became of a message behind a remembered head: its new head, or none."""
        if not stored:
            self.mistrust(key)
        elif key in self.rows:
            self.rows[key] = head
        else:
            self.keep(key, head)

    def forget_moved(self, namespace: str, changes: Iterable[Any]) -> None:
        """Drop the heads that changes put elsewhere."""
        for change in changes:
            if type(change) is q.PutHead:
                self.rows.pop((namespace, change.row.thread_id, change.row.owner), None)

    def mistrust(self, key: Key) -> None:
        """Drop a head that somebody else moved, and do not guess it for a while."""
        if self.rows.pop(key, None) is not None:
            self._shy[key] = SHY_FOR


def guessed(head: HeadRow, base: int) -> HeadRow:
    """Mark a head as one that a store remembers; `base` is as on `HeadRow`."""
    if head.tip == GUESSED and head.base == base:
        return head
    return msgspec.structs.replace(head, tip=GUESSED, base=base)
