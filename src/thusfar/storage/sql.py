"""SQL: how each question is answered by statements that SQLite and PostgreSQL both read.

Each answer is a generator of `(statement, parameters)`; it receives the rows, or for several
parameter sets in one `Many` nothing. Parameters are written `?`; PostgreSQL's store rewrites them.
Every statement names the namespace.
"""

from __future__ import annotations

# ruff: noqa: S608 - statements are built from this module's constants; values are parameters
from collections.abc import Callable
from itertools import starmap
from typing import Any, Final, TypeVar

from msgspec.structs import astuple

from thusfar.drive import Steps
from thusfar.storage import questions as q
from thusfar.storage.changes import CHANGES
from thusfar.storage.fulltext_sql import WORD_CHANGES, WORD_READS, forget_words
from thusfar.storage.records import DropRecords, drop_records
from thusfar.storage.rows import (
    ArtifactRow,
    BranchRow,
    ChainRow,
    HeadRow,
    LeafRow,
    NodeRow,
    PageRow,
    TallyRow,
    ThreadRow,
)
from thusfar.storage.runs_sql import RUN_READS
from thusfar.storage.statements import (
    ARTIFACT,
    CHAIN,
    HEAD_NOW,
    HEADS,
    NODE,
    READ_HEAD,
    READ_PAGE,
    READ_THREAD,
    THREAD,
    marks,
)

Key = TypeVar("Key", bytes, str)


class Sql:
    """The answers for one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def answer(self, question: Any) -> Steps[Any]:
        """Answer one question."""
        kind = type(question)
        if kind in RUN_READS:
            return RUN_READS[kind](self.namespace, question)
        if kind in WORD_READS:
            return WORD_READS[kind](self.namespace, question)
        return ANSWERS[kind](self, question)

    def read_thread(self, ask: q.ReadThread) -> Steps[ThreadRow | None]:
        """Answer `ReadThread`."""
        rows = yield READ_THREAD, (self.namespace, ask.thread_id)
        return ThreadRow(*rows[0]) if rows else None

    def read_head(self, ask: q.ReadHead | q.Lock) -> Steps[HeadRow | None]:
        """Answer `ReadHead`."""
        rows = yield READ_HEAD, (self.namespace, ask.thread_id, ask.owner)
        return HeadRow(*rows[0]) if rows else None

    def read_heads(self, ask: q.ReadHeads) -> Steps[list[HeadRow]]:
        """Answer `ReadHeads`."""
        sql = f"SELECT {HEAD_NOW} FROM {HEADS} WHERE h.namespace = ? AND h.thread_id = ?"
        rows = yield sql, (self.namespace, ask.thread_id)
        return sorted((HeadRow(*row) for row in rows), key=lambda head: head.owner)

    def find_nodes(self, ask: q.FindNodes) -> Steps[dict[bytes, NodeRow]]:
        """Answer `FindNodes`."""
        found: dict[bytes, NodeRow] = {}
        for keys in _batches(ask.keys):
            sql = (
                f"SELECT {NODE} FROM thusfar_node"
                f" WHERE key IN ({marks(len(keys))}) AND namespace = ?"
            )
            rows = yield sql, (*keys, self.namespace)
            found.update((row[1], NodeRow(*row)) for row in rows)
        return found

    def find_spent(self, ask: q.FindSpent) -> Steps[list[bytes]]:
        """Answer `FindSpent`."""
        found: list[bytes] = []
        for keys in _batches(ask.keys):
            sql = (
                f"SELECT key FROM thusfar_spent WHERE key IN ({marks(len(keys))}) AND namespace = ?"
            )
            rows = yield sql, (*keys, self.namespace)
            found += [row[0] for row in rows]
        return [key for key in ask.keys if key in found]

    def read_nodes(self, ask: q.ReadNodes) -> Steps[list[NodeRow]]:
        """Answer `ReadNodes`; with a limit, the index is walked from its newest end."""
        order = "DESC" if ask.newest_first or ask.limit is not None else "ASC"
        sql = (
            f"SELECT {NODE} FROM thusfar_node WHERE node BETWEEN ? AND ? AND namespace = ?"
            f" ORDER BY node {order}"
        )
        if ask.limit is None:
            rows = yield sql, (ask.low, ask.high, self.namespace)
        else:
            rows = yield f"{sql} LIMIT ?", (ask.low, ask.high, self.namespace, ask.limit)
        found = [NodeRow(*row) for row in rows]
        if ask.limit is not None and not ask.newest_first:
            found.reverse()
        return found

    def read_page(self, ask: q.ReadPage) -> Steps[list[PageRow]]:
        """Answer `ReadPage`."""
        rows = yield READ_PAGE, (ask.low, ask.high, self.namespace)
        return list(starmap(PageRow, rows))

    def read_chains(self, ask: q.ReadChains) -> Steps[list[ChainRow]]:
        """Answer `ReadChains`."""
        sql = (
            f"SELECT {CHAIN} FROM thusfar_node WHERE node BETWEEN ? AND ? AND namespace = ?"
            " ORDER BY node"
        )
        rows = yield sql, (ask.low, ask.high, self.namespace)
        return [ChainRow(*row) for row in rows]

    def read_branch(self, ask: q.ReadBranch) -> Steps[BranchRow | None]:
        """Answer `ReadBranch`."""
        sql = (
            "SELECT branch, thread_id, parent, depth FROM thusfar_branch"
            " WHERE branch = ? AND namespace = ?"
        )
        rows = yield sql, (ask.branch, self.namespace)
        return BranchRow(*rows[0]) if rows else None

    def read_branches(self, ask: q.ReadBranches) -> Steps[list[BranchRow]]:
        """Answer `ReadBranches`."""
        sql = (
            "SELECT branch, thread_id, parent, depth FROM thusfar_branch"
            " WHERE namespace = ? AND thread_id = ? ORDER BY branch"
        )
        rows = yield sql, (self.namespace, ask.thread_id)
        return [BranchRow(*row) for row in rows]

    def read_forks(self, ask: q.ReadForks) -> Steps[list[BranchRow]]:
        """Answer `ReadForks`."""
        sql = (
            "SELECT branch, thread_id, parent, depth FROM thusfar_branch"
            " WHERE namespace = ? AND thread_id = ? AND parent BETWEEN ? AND ? ORDER BY branch"
        )
        rows = yield sql, (self.namespace, ask.thread_id, ask.low, ask.high)
        return [BranchRow(*row) for row in rows]

    def read_leaves(self, ask: q.ReadLeaves) -> Steps[list[LeafRow]]:
        """Answer `ReadLeaves`."""
        sql = (
            "SELECT start, thread_id, leaf FROM thusfar_leaf"
            " WHERE namespace = ? AND thread_id = ? ORDER BY start"
        )
        rows = yield sql, (self.namespace, ask.thread_id)
        return [LeafRow(*row) for row in rows]

    def read_leaf(self, ask: q.ReadLeaf) -> Steps[int]:
        """Answer `ReadLeaf`."""
        sql = "SELECT leaf FROM thusfar_leaf WHERE start = ? AND namespace = ?"
        rows = yield sql, (ask.start, self.namespace)
        return rows[0][0] if rows else 0

    def list_threads(self, ask: q.ListThreads) -> Steps[list[tuple[ThreadRow, int, int]]]:
        """Answer `ListThreads`."""
        columns = ", ".join(f"t.{name.strip()}" for name in THREAD.split(","))
        sql = (
            f"SELECT {columns}, coalesce(max(h.updated_at), 0) AS moved,"
            " coalesce(max(CASE WHEN h.owner = 'main' THEN h.messages END), 0) AS live"
            f" FROM thusfar_thread t LEFT JOIN (SELECT h.namespace, {HEAD_NOW} FROM {HEADS}) h"
            " ON h.namespace = t.namespace AND h.thread_id = t.thread_id"
            f" WHERE t.namespace = ? AND t.deleted = 0 GROUP BY t.namespace, {columns}"
        )
        rows = yield sql, (self.namespace,)
        found = [(ThreadRow(*row[:8]), max(row[7], row[8]), row[9]) for row in rows]
        found.sort(key=lambda item: (-item[1], item[0].thread_id))
        end = None if ask.limit is None else ask.offset + ask.limit
        return found[ask.offset : end]

    def read_artifacts(self, ask: q.ReadArtifacts) -> Steps[list[ArtifactRow]]:
        """Answer `ReadArtifacts`."""
        sql = f"SELECT {ARTIFACT} FROM thusfar_artifact WHERE namespace = ? AND thread_id = ?"
        parameters: tuple[Any, ...] = (self.namespace, ask.thread_id)
        if ask.kind is not None:
            sql, parameters = f"{sql} AND kind = ?", (*parameters, ask.kind)
        rows = yield sql, parameters
        return sorted((ArtifactRow(*row) for row in rows), key=lambda row: (row.node, row.key))

    def find_artifacts(self, ask: q.FindArtifacts) -> Steps[dict[str, ArtifactRow]]:
        """Answer `FindArtifacts`."""
        found: dict[str, ArtifactRow] = {}
        for keys in _batches(ask.keys):
            sql = (
                f"SELECT {ARTIFACT} FROM thusfar_artifact"
                f" WHERE namespace = ? AND key IN ({marks(len(keys))})"
            )
            rows = yield sql, (self.namespace, *keys)
            found.update((row[0], ArtifactRow(*row)) for row in rows)
        return found

    def read_tallies(self, ask: q.ReadTallies) -> Steps[list[TallyRow]]:
        """Answer `ReadTallies`."""
        sql = (
            "SELECT tokenizer, node, tokens FROM thusfar_tally"
            " WHERE namespace = ? AND tokenizer = ? AND node BETWEEN ? AND ? ORDER BY node DESC"
        )
        parameters: tuple[Any, ...] = (self.namespace, ask.tokenizer, ask.low, ask.high)
        if ask.limit is not None:
            sql, parameters = f"{sql} LIMIT ?", (*parameters, ask.limit)
        rows = yield sql, parameters
        return [TallyRow(*row) for row in reversed(rows)]

    def read_record(self, ask: q.ReadRecord) -> Steps[str | None]:
        """Answer `ReadRecord`."""
        sql = "SELECT body FROM thusfar_record WHERE namespace = ? AND kind = ? AND key = ?"
        rows = yield sql, (self.namespace, ask.kind, ask.key)
        return rows[0][0] if rows else None

    def begin_thread(self, ask: q.BeginThread) -> Steps[ThreadRow]:
        """Answer `BeginThread`."""
        sql = (
            f"INSERT INTO thusfar_thread (namespace, {THREAD}) VALUES ({marks(9)})"
            " ON CONFLICT (namespace, thread_id) DO NOTHING"
        )
        yield sql, (self.namespace, *astuple(ask.row))
        rows = yield READ_THREAD, (self.namespace, ask.row.thread_id)
        return ThreadRow(*rows[0])

    def new_branch(self, ask: q.NewBranch) -> Steps[int]:
        """Answer `NewBranch`."""
        sql = (
            "INSERT INTO thusfar_branch (namespace, thread_id, parent, depth)"
            " VALUES (?, ?, ?, ?) RETURNING branch"
        )
        rows = yield sql, (self.namespace, ask.thread_id, ask.parent, ask.depth)
        branch: int = rows[0][0]
        return branch

    def write(self, ask: q.Write) -> Steps[None]:
        """Apply changes, in order."""
        for change in ask.changes:
            yield from forget_words(self.namespace, change)
            yield from ALL_CHANGES[type(change)](self.namespace, change)


ALL_CHANGES: Final[dict[type, Callable[[str, Any], Steps[None]]]] = {
    **CHANGES,
    **WORD_CHANGES,
    DropRecords: drop_records,
}


def _batches(keys: tuple[Key, ...]) -> list[tuple[Key, ...]]:
    """Cut into so many that each statement stays under the limit of parameters."""
    return [keys[i : i + 500] for i in range(0, len(keys), 500)]


ANSWERS: Final[dict[type, Callable[[Sql, Any], Steps[Any]]]] = {
    q.ReadThread: Sql.read_thread,
    q.ReadHead: Sql.read_head,
    q.ReadHeads: Sql.read_heads,
    q.FindNodes: Sql.find_nodes,
    q.FindSpent: Sql.find_spent,
    q.ReadNodes: Sql.read_nodes,
    q.ReadPage: Sql.read_page,
    q.ReadChains: Sql.read_chains,
    q.ReadBranch: Sql.read_branch,
    q.ReadBranches: Sql.read_branches,
    q.ReadForks: Sql.read_forks,
    q.ReadLeaves: Sql.read_leaves,
    q.ReadLeaf: Sql.read_leaf,
    q.ListThreads: Sql.list_threads,
    q.ReadArtifacts: Sql.read_artifacts,
    q.FindArtifacts: Sql.find_artifacts,
    q.ReadTallies: Sql.read_tallies,
    q.ReadRecord: Sql.read_record,
    q.BeginThread: Sql.begin_thread,
    q.NewBranch: Sql.new_branch,
}
