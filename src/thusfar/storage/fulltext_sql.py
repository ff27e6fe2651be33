"""Full text in SQL: SQLite's FTS5 and PostgreSQL's tsvector, which differ in one statement only.

Terms are digests of letters and digits, so that no engine takes them for anything but words.
"""

from __future__ import annotations

# ruff: noqa: S608 - statements are built from constants; values are parameters
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import astuple

from thusfar.drive import Steps
from thusfar.storage import questions as q
from thusfar.storage.fulltext import (
    ANY,
    BeginIndex,
    DropWords,
    IndexedRow,
    PutWords,
    ReadIndexed,
    SearchWords,
)
from thusfar.storage.rows import PageRow, branch_of, first_of, last_of
from thusfar.storage.statements import PAGE, Many

_INDEXED: Final = "branch, thread_id, salt, version, node"
_PAGE: Final = ", ".join(f"n.{name.strip()}" for name in PAGE.split(","))
_SEARCH: Final = (
    f"SELECT {_PAGE} FROM thusfar_words CROSS JOIN thusfar_node n"
    " WHERE thusfar_words MATCH ? AND thusfar_words.rowid BETWEEN ? AND ?"
    " AND n.node = thusfar_words.rowid AND n.namespace = ? AND n.state = 0"
    " ORDER BY thusfar_words.rowid DESC LIMIT ?"
)
_DROP_ROWS: Final = "DELETE FROM thusfar_words WHERE rowid BETWEEN ? AND ? AND namespace = ?"
SECURE_DELETE: Final = "INSERT INTO thusfar_words (thusfar_words, rank) VALUES ('secure-delete', ?)"
"""FTS5: whether terms leave the index at once, in place of with a later merge."""

_INDEXED_TABLE: Final = (
    "CREATE TABLE thusfar_indexed ("
    " branch {big} PRIMARY KEY, namespace text NOT NULL, thread_id text NOT NULL,"
    " salt text NOT NULL, version {big} NOT NULL, node {big} NOT NULL){strict}",
    "CREATE INDEX thusfar_indexed_thread ON thusfar_indexed (namespace, thread_id)",
)
WORD_STATEMENTS: Final = (
    *_INDEXED_TABLE,
    "CREATE VIRTUAL TABLE thusfar_words USING fts5("
    "namespace UNINDEXED, words, tokenize = 'ascii', detail = 'none', columnsize = 0)",
    "INSERT INTO thusfar_words (thusfar_words, rank) VALUES ('secure-delete', 1)",
)
WORD_STATEMENTS_POSTGRES: Final = (
    *_INDEXED_TABLE,
    "CREATE TABLE thusfar_words ("
    " rowid bigint PRIMARY KEY, namespace text NOT NULL, words tsvector NOT NULL)",
    "CREATE INDEX thusfar_words_term ON thusfar_words USING gin (words) WITH (fastupdate = off)",
)

# PostgreSQL reads ranges in the order of an index (see its store); this one has no order.
_SEARCH_POSTGRES: Final = (
    "WITH found AS MATERIALIZED (SELECT rowid FROM thusfar_words"
    " WHERE words @@ ?::tsquery AND rowid BETWEEN ? AND ? AND namespace = ?)"
    f" SELECT {_PAGE} FROM found JOIN thusfar_node n ON n.node = found.rowid"
    " WHERE n.namespace = ? AND n.state = 0 ORDER BY n.node DESC LIMIT ?"
)
_BITMAPS: Final = "SELECT set_config('enable_bitmapscan', ?, true)"


def read_indexed(namespace: str, ask: ReadIndexed) -> Steps[dict[int, IndexedRow]]:
    """Answer `ReadIndexed`."""
    sql = f"SELECT {_INDEXED} FROM thusfar_indexed WHERE namespace = ? AND thread_id = ?"
    rows = yield sql, (namespace, ask.thread_id)
    return {row[0]: IndexedRow(*row) for row in rows}


def begin_index(namespace: str, ask: BeginIndex) -> Steps[IndexedRow]:
    """Answer `BeginIndex`; the update that changes nothing locks the row."""
    sql = (
        f"INSERT INTO thusfar_indexed (namespace, {_INDEXED}) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (branch) DO NOTHING"
    )
    yield sql, (namespace, *astuple(ask.row))
    sql = (
        "UPDATE thusfar_indexed SET node = node WHERE branch = ? AND namespace = ?"
        f" RETURNING {_INDEXED}"
    )
    rows = yield sql, (ask.row.branch, namespace)
    return IndexedRow(*rows[0])


def search_sqlite(namespace: str, ask: SearchWords) -> Steps[list[PageRow]]:
    """Answer `SearchWords` with FTS5."""
    match = f"({' AND '.join(ask.terms)}) OR {ANY}"
    rows = yield _SEARCH, (match, ask.low, ask.high, namespace, ask.limit)
    return [PageRow(*row) for row in rows]


def search_postgres(namespace: str, ask: SearchWords) -> Steps[list[PageRow]]:
    """Answer `SearchWords` with a tsquery, inside a transaction."""
    match = f"({' & '.join(ask.terms)}) | {ANY}"
    yield _BITMAPS, ("on",)
    parameters = (match, ask.low, ask.high, namespace, namespace, ask.limit)
    rows = yield _SEARCH_POSTGRES, parameters
    yield _BITMAPS, ("off",)
    return [PageRow(*row) for row in rows]


def _put_words(namespace: str, change: PutWords) -> Steps[None]:
    row = change.row
    yield (
        "UPDATE thusfar_indexed SET node = ? WHERE branch = ? AND namespace = ?",
        (row.node, row.branch, namespace),
    )
    yield Many(
        "INSERT INTO thusfar_words (rowid, namespace, words) VALUES (?, ?, ?)",
        [(words.node, namespace, words.terms) for words in change.words],
    )


def _drop_words(namespace: str, change: DropWords) -> Steps[None]:
    branch = change.branch
    yield _DROP_ROWS, (first_of(branch), last_of(branch), namespace)
    yield (
        "DELETE FROM thusfar_indexed WHERE branch = ? AND namespace = ?",
        (branch, namespace),
    )


WORD_CHANGES: Final[dict[type, Callable[[str, Any], Steps[None]]]] = {
    PutWords: _put_words,
    DropWords: _drop_words,
}


WORD_READS: Final[dict[type, Callable[[str, Any], Steps[Any]]]] = {
    ReadIndexed: read_indexed,
    BeginIndex: begin_index,
    SearchWords: search_sqlite,
}


def forget_words(namespace: str, change: Any) -> Steps[None]:
    """Take out of the index what a change erases, before it does."""
    match change:
        case q.EraseNodes(nodes=nodes):
            statement = "DELETE FROM thusfar_words WHERE rowid = ? AND namespace = ?"
            yield Many(statement, [(node, namespace) for node, _ in nodes])
        case q.DropNodes(low=low, high=high):
            yield _DROP_ROWS, (low, high, namespace)
            yield (
                "UPDATE thusfar_indexed SET node = ?"
                " WHERE branch = ? AND namespace = ? AND node >= ?",
                (low - 1, branch_of(low), namespace, low),
            )
        case q.DropBranch(branch=branch):
            yield from _drop_words(namespace, DropWords(branch))
        case q.DropThread(thread_id=thread_id):
            rows = yield from read_indexed(namespace, ReadIndexed(thread_id))
            for branch in rows:
                yield from _drop_words(namespace, DropWords(branch))


def ends_threads(changes: Sequence[Any]) -> bool:
    """Tell whether whole threads go, with the secrets of all their terms."""
    return any(type(change) is q.DropThread for change in changes)


def widened(changes: Sequence[Any]) -> list[Any]:
    """Let a branch that loses a message lose its whole index.

    A GIN index keeps the keys of rows that are gone; without their secret nobody can guess them.
    """
    branches = {
        branch_of(node): None
        for change in changes
        if type(change) is q.EraseNodes
        for node, _ in change.nodes
    }
    branches |= {branch_of(c.low): None for c in changes if type(c) is q.DropNodes}
    return [*map(DropWords, branches), *changes]
