"""Full text in memory: the terms of each message, scanned; what the databases must find too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from msgspec.structs import replace

from thusfar.storage import questions as q
from thusfar.storage.fulltext import (
    ANY,
    Abandon,
    BeginIndex,
    DropWords,
    IndexedRow,
    PutWords,
    ReadIndexed,
    SearchWords,
)
from thusfar.storage.rows import LIVE, NodeRow, PageRow, branch_of


class Words:
    """What the messages of one namespace are known by."""

    def __init__(self) -> None:
        self.indexed: dict[int, IndexedRow] = {}
        self.terms: dict[int, frozenset[str]] = {}

    def drop(self, branch: int) -> None:
        """Forget a branch."""
        self.indexed.pop(branch, None)
        self.terms = {node: t for node, t in self.terms.items() if branch_of(node) != branch}


class Indexed(Protocol):
    """What is needed of the rows of a namespace."""

    words: Words
    begun: list[Callable[[], object]]

    def undo(self) -> None:
        """Take back what was begun."""
        ...

    def node(self, number: int) -> NodeRow:
        """Look up a message."""
        ...


def _read_indexed(space: Indexed, ask: ReadIndexed) -> dict[int, IndexedRow]:
    rows = space.words.indexed.items()
    return {branch: row for branch, row in rows if row.thread_id == ask.thread_id}


def _begin_index(space: Indexed, ask: BeginIndex) -> IndexedRow:
    indexed, branch = space.words.indexed, ask.row.branch
    if branch not in indexed:
        indexed[branch] = ask.row
        space.begun.append(lambda: indexed.pop(branch, None))
    return indexed[branch]


def _search(space: Indexed, ask: SearchWords) -> list[PageRow]:
    wanted = frozenset(ask.terms)
    found: list[PageRow] = []
    for node in sorted(space.words.terms, reverse=True):
        known = space.words.terms[node]
        if ask.low <= node <= ask.high and (wanted <= known or ANY in known):
            row = space.node(node)
            if row.state == LIVE:
                found.append(PageRow(*(getattr(row, name) for name in PageRow.__struct_fields__)))
    return found[: ask.limit]


def _put_words(space: Indexed, change: PutWords) -> None:
    space.words.indexed[change.row.branch] = change.row
    space.words.terms.update((row.node, frozenset(row.terms.split())) for row in change.words)


def forget_words(space: Indexed, change: Any) -> None:
    """Take out of the index what a change erases, before it does."""
    words = space.words
    match change:
        case q.EraseNodes(nodes=nodes):
            for node, _ in nodes:
                words.terms.pop(node, None)
        case q.DropNodes(low=low, high=high):
            words.terms = {n: t for n, t in words.terms.items() if not low <= n <= high}
            row = words.indexed.get(branch_of(low))
            if row is not None and row.node >= low:
                words.indexed[row.branch] = replace(row, node=low - 1)
        case q.DropBranch(branch=branch):
            words.drop(branch)
        case q.DropThread(thread_id=thread_id):
            for branch in list(_read_indexed(space, ReadIndexed(thread_id))):
                words.drop(branch)


WORD_ANSWERS: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ReadIndexed: _read_indexed,
    BeginIndex: _begin_index,
    SearchWords: _search,
    Abandon: lambda space, _: space.undo(),
}
WORD_CHANGES: Final[dict[type, Callable[[Any, Any], Any]]] = {
    PutWords: _put_words,
    DropWords: lambda space, change: space.words.drop(change.branch),
}
