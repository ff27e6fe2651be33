"""Places: from the word that stands for a message on a command line to its id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from thusfar.errors import MessageNotFoundError, OptionsError
from thusfar.thread import Entry, SyncThread

POSITION: Final = "@"
_SHORTEST: Final = 4  # characters; a shorter beginning is more likely a slip than an id
_MOST_SHOWN: Final = 5


def message_id(thread: SyncThread, word: str) -> str:
    """Find the id of the message that a word stands for.

    Args:
        thread: The thread.
        word: An id of the thread; `@N`, a place of the selected path; or at least 4 characters
            that exactly one id of the thread begins with, on any branch.

    Raises:
        MessageNotFoundError: `MESSAGE_NOT_FOUND`, when it stands for no message.
        OptionsError: `INVALID_OPTIONS`, when it stands for several.
    """
    if word.startswith(POSITION) and (found := _number(word[1:])) is not None:
        return _at(thread, found)
    try:
        return thread.read(at=word, limit=1).entries[-1].id
    except MessageNotFoundError:
        if len(word) < _SHORTEST:
            raise MessageNotFoundError(
                "No message of this thread has that id.",
                fix=f"Look the id up with thusfar thread show. The beginning of an id needs"
                f" {_SHORTEST} characters, and a place is written {POSITION}N.",
            ) from None
    matching = [each for each in _ids(thread) if each.startswith(word)]
    if len(matching) > 1:
        raise OptionsError(
            f"{len(matching)} messages have ids that begin so.",
            fix=f"Pass more of the id, or its place: {POSITION}N.",
            ids=tuple(matching[:_MOST_SHOWN]),
        )
    if not matching:
        raise MessageNotFoundError(
            "No message of this thread has an id that is or begins so.",
            fix="Look the id up with thusfar thread show; --json prints whole ids.",
        )
    return matching[0]


def entries_of(thread: SyncThread) -> Iterator[tuple[Entry, ...]]:
    """Read every branch once: what it has beside the older branches, oldest first."""
    depths: dict[str | None, int] = {None: -1}
    for branch in thread.branches():
        own = branch.length - 1 - depths[branch.parent_id]
        page = thread.read(at=branch.leaf, limit=own)
        depths.update((each.id, page.omitted + i) for i, each in enumerate(page.entries))
        yield page.entries


def _ids(thread: SyncThread) -> Iterator[str]:
    for entries in entries_of(thread):
        yield from (entry.id for entry in entries)


def _number(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 16 else None


def _at(thread: SyncThread, number: int) -> str:
    if number < 0:
        page = thread.read(limit=-number)
        found = page.entries[number:][:1] if len(page.entries) >= -number else ()
        if not found and page.cursor is not None:
            found = thread.read().entries[number:][:1]
    else:
        found = thread.read().entries[number:][:1]
    if not found:
        raise MessageNotFoundError(
            f"The selected path has no place {POSITION}{number}.",
            fix="Count from @0, or from the end with @-1; thusfar thread show prints the places.",
        )
    return found[0].id
