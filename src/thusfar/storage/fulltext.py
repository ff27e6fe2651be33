"""Full text: how a branch is known by its words, as questions, rows and keyed digests.

An index is behind until somebody searches, so that an append never waits for it. It holds no text:
each beginning of a word is a short digest under a secret of its branch, which goes when the branch
or the thread is deleted. What it finds may be too much, never too little.

Source:
    docs/spec/storage.md#full-text
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Final

import msgspec

ANY: Final = "any"  # the term of a message that any search is to look at
MOST_TERMS: Final = 65_536  # of one message: half of what fits a row of PostgreSQL
_DIGEST_BYTES: Final = 5  # ten digits; one in a million million is found for another
_KNOWN: Final = 200_000  # beginnings remembered while a branch is indexed; about 25 MB


class IndexedRow(msgspec.Struct, frozen=True, gc=False):
    """How far a branch is indexed.

    Attributes:
        branch: Its number.
        thread_id: The thread.
        salt: The secret of its digests.
        version: Of the rule that says what a word is.
        node: The last message that is indexed; the number before the first one's without any.
    """

    branch: int
    thread_id: str
    salt: str
    version: int
    node: int


class WordsRow(msgspec.Struct, frozen=True, gc=False):
    """What a message is known by.

    Attributes:
        node: The message.
        terms: Digests, with one space between them; `ANY` where they would be too many.
    """

    node: int
    terms: str


class ReadIndexed(msgspec.Struct, frozen=True, gc=False):
    """How far the branches of a thread are indexed, as a dict from branch to row."""

    thread_id: str


class SearchWords(msgspec.Struct, frozen=True, gc=False):
    """Live messages of one branch that are known by all these terms, newest first, as pages are.

    Those known by `ANY` are among them.

    Attributes:
        low: Smallest node.
        high: Largest node.
        terms: Digests; at least one.
        limit: At most so many.
    """

    low: int
    high: int
    terms: tuple[str, ...]
    limit: int


class BeginIndex(msgspec.Struct, frozen=True, gc=False):
    """Within a lock: begin the index of a branch, and answer with the row that holds.

    Until the write, nobody else goes on with the same index.
    """

    row: IndexedRow


class Abandon(msgspec.Struct, frozen=True, gc=False):
    """End what was begun, leaving nothing of it; reads may follow."""


class PutWords(msgspec.Struct, frozen=True, gc=False):
    """Say what messages are known by, and how far their branch is indexed now.

    Attributes:
        row: The branch.
        words: Its next messages.
    """

    row: IndexedRow
    words: tuple[WordsRow, ...]


class DropWords(msgspec.Struct, frozen=True, gc=False):
    """Forget the index of a branch."""

    branch: int


def new_salt() -> str:
    """Make the secret of a branch. Unit: 32 hexadecimal digits."""
    return os.urandom(16).hex()


class Terms:
    """Writes the digests of beginnings of words under one secret.

    Args:
        salt: The secret of the branch.
    """

    def __init__(self, salt: str) -> None:
        self._key = bytes.fromhex(salt)
        self._known: dict[str, str] = {}

    def of(self, stems: Iterable[str]) -> tuple[str, ...]:
        """Write digests, in order.

        Args:
            stems: As of `thusfar.words`.
        """
        known = self._known
        if len(known) > _KNOWN:
            known.clear()
        for stem in stems:
            if stem not in known:
                data = stem.encode("utf-8", "surrogatepass")
                digest = hashlib.blake2b(data, key=self._key, digest_size=_DIGEST_BYTES)
                known[stem] = digest.hexdigest()
        return tuple(sorted({known[stem] for stem in stems}))


def terms_of(stems: Iterable[str], salt: str) -> tuple[str, ...]:
    """Write the digests of beginnings of words under a secret, in order."""
    return Terms(salt).of(tuple(stems))
