"""SQL: how each question is answered by statements that SQLite and PostgreSQL both read.

Each answer is a generator of `(statement, parameters)`; it receives the rows, or for several
parameter sets in one `Many` nothing. Parameters are written `?`; PostgreSQL's store rewrites them.
Every statement names the namespace.
"""

from __future__ import annotations

# ruff: noqa: S608 - statements are built from this module's constants; values are parameters
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from msgspec.structs import astuple

from thusfar.drive import Steps
from thusfar.storage import questions as q
from thusfar.storage.rows import (
    ArtifactRow,
    BranchRow,
    ChainRow,
    HeadRow,
    LeafRow,
    NodeRow,
    TallyRow,
    ThreadRow,
)


class Together(NamedTuple):
    """Statements sent in one round trip, where there is any; the answer has all of theirs."""

    statements: tuple[tuple[str, tuple[Any, ...]], ...]


class Many(NamedTuple):
    """One statement for several sets of parameters."""

    sql: str
    rows: list[tuple[Any, ...]]


THREAD: Final = "thread_id, title, metadata, deleted, spent, salt, created_at, updated_at"
HEAD: Final = (
    "thread_id, owner, revision, node, head_id, depth, turn, exchange, run, flags, pending,"
    " chain, messages, salt, updated_at"
)
NODE: Final = (
    "node, key, body, state, at, size, created_at, depth, turn, exchange, run, flags, pending,"
    " head_then, erased_id"
)
CHAIN: Final = "node, digest, chain, messages"
ARTIFACT: Final = "key, thread_id, first, node, kind, body, created_at"


Key = TypeVar("Key", bytes, str)


def marks(count: int) -> str:
    """Write so many parameter marks."""
    return ", ".join("?" * count)


READ_HEAD: Final = (
    f"SELECT {HEAD}, CASE WHEN EXISTS (SELECT 1 FROM thusfar_node n WHERE n.node = h.node + 1)"
    " THEN 0 ELSE 1 END"
    " FROM thusfar_head h WHERE namespace = ? AND thread_id = ? AND owner = ?"
)
ADD_NODE: Final = f"INSERT INTO thusfar_node (namespace, {NODE}) VALUES ({marks(16)})"
ADD_CHAIN: Final = f"INSERT INTO thusfar_chain (namespace, {CHAIN}) VALUES ({marks(5)})"
MOVE_HEAD: Final = (
    "UPDATE thusfar_head SET revision = ?, node = ?, head_id = ?, depth = ?, turn = ?,"
    " exchange = ?, run = ?, flags = ?, pending = ?, chain = ?, messages = ?, salt = ?,"
    " updated_at = ? WHERE namespace = ? AND thread_id = ? AND owner = ?"
)
ADD_HEAD: Final = f"INSERT INTO thusfar_head (namespace, {HEAD}) VALUES ({marks(16)})"
PUT_HEAD: Final = (
    f"{ADD_HEAD} ON CONFLICT (namespace, thread_id, owner) DO UPDATE SET "
    + ", ".join(f"{name.strip()} = excluded.{name.strip()}" for name in HEAD.split(",")[2:])
)
PUT_THREAD: Final = (
    f"INSERT INTO thusfar_thread (namespace, {THREAD}) VALUES ({marks(9)})"
    " ON CONFLICT (namespace, thread_id) DO UPDATE SET "
    + ", ".join(f"{name.strip()} = excluded.{name.strip()}" for name in THREAD.split(",")[1:])
)
READ_THREAD: Final = f"SELECT {THREAD} FROM thusfar_thread WHERE namespace = ? AND thread_id = ?"


class Sql:
    """The answers for one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def answer(self, question: Any) -> Steps[Any]:
        """Answer one question."""
        return ANSWERS[type(question)](self, question)

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
        sql = f"SELECT {HEAD} FROM thusfar_head WHERE namespace = ? AND thread_id = ?"
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

    def read_chains(self, ask: q.ReadChains) -> Steps[list[ChainRow]]:
        """Answer `ReadChains`."""
        sql = (
            f"SELECT {CHAIN} FROM thusfar_chain WHERE node BETWEEN ? AND ? AND namespace = ?"
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
            " FROM thusfar_thread t LEFT JOIN thusfar_head h"
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
            " WHERE namespace = ? AND tokenizer = ? AND node BETWEEN ? AND ? ORDER BY node"
        )
        rows = yield sql, (self.namespace, ask.tokenizer, ask.low, ask.high)
        return [TallyRow(*row) for row in rows]

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

    def append_group(self, ask: q.AppendGroup) -> Steps[None]:
        """Store a group and move the head; an id that is stored already fails the statement."""
        ns = self.namespace
        if len(ask.nodes) == 1:
            yield ADD_NODE, (ns, *astuple(ask.nodes[0]))
            yield ADD_CHAIN, (ns, *astuple(ask.chains[0]))
        else:
            yield Many(ADD_NODE, [(ns, *astuple(row)) for row in ask.nodes])
            yield Many(ADD_CHAIN, [(ns, *astuple(row)) for row in ask.chains])
        thread_id, owner, *moved, _ = astuple(ask.head)
        if ask.before is None:
            yield ADD_HEAD, (ns, thread_id, owner, *moved)
        else:
            yield MOVE_HEAD, (*moved, ns, thread_id, owner)

    def write(self, ask: q.Write) -> Steps[None]:
        """Apply changes, in order."""
        for change in ask.changes:
            yield from CHANGES[type(change)](self, change)


def _batches(keys: tuple[Key, ...]) -> list[tuple[Key, ...]]:
    """Cut into so many that each statement stays under the limit of parameters."""
    return [keys[i : i + 500] for i in range(0, len(keys), 500)]


def _put_thread(sql: Sql, change: q.PutThread) -> Steps[None]:
    yield PUT_THREAD, (sql.namespace, *astuple(change.row))


def _put_head(sql: Sql, change: q.PutHead) -> Steps[None]:
    yield PUT_HEAD, (sql.namespace, *astuple(change.row)[:-1])


def _drop_head(sql: Sql, change: q.DropHead) -> Steps[None]:
    yield (
        "DELETE FROM thusfar_head WHERE namespace = ? AND thread_id = ? AND owner = ?",
        (sql.namespace, change.thread_id, change.owner),
    )


def _add_nodes(sql: Sql, change: q.AddNodes) -> Steps[None]:
    yield Many(ADD_NODE, [(sql.namespace, *astuple(row)) for row in change.nodes])
    yield Many(ADD_CHAIN, [(sql.namespace, *astuple(row)) for row in change.chains])


def _put_chains(sql: Sql, change: q.PutChains) -> Steps[None]:
    statement = (
        "UPDATE thusfar_chain SET digest = ?, chain = ?, messages = ?"
        " WHERE node = ? AND namespace = ?"
    )
    rows = [(r.digest, r.chain, r.messages, r.node, sql.namespace) for r in change.rows]
    yield Many(statement, rows)


def _set_state(sql: Sql, change: q.SetState) -> Steps[None]:
    statement = "UPDATE thusfar_node SET state = ? WHERE node = ? AND namespace = ?"
    yield Many(statement, [(change.state, node, sql.namespace) for node in change.nodes])


def _resize_group(sql: Sql, change: q.ResizeGroup) -> Steps[None]:
    yield (
        "UPDATE thusfar_node SET size = ? WHERE node BETWEEN ? AND ? AND namespace = ?",
        (change.high - change.low + 1, change.low, change.high, sql.namespace),
    )


def _clear_pending(sql: Sql, change: q.ClearPending) -> Steps[None]:
    statement = "UPDATE thusfar_node SET pending = '' WHERE node = ? AND namespace = ?"
    yield Many(statement, [(node, sql.namespace) for node in change.nodes])


def _erase_nodes(sql: Sql, change: q.EraseNodes) -> Steps[None]:
    statement = (
        "UPDATE thusfar_node SET body = NULL, state = 2, created_at = 0, pending = '',"
        " erased_id = ? WHERE node = ? AND namespace = ?"
    )
    rows = [(message_id, node, sql.namespace) for node, message_id in change.nodes]
    yield Many(statement, rows)


def _drop_nodes(sql: Sql, change: q.DropNodes) -> Steps[None]:
    span = (change.low, change.high, sql.namespace)
    yield (
        "INSERT INTO thusfar_spent (key, namespace, thread_id)"
        " SELECT n.key, n.namespace, b.thread_id FROM thusfar_node n JOIN thusfar_branch b"
        " ON b.branch = ? WHERE n.node BETWEEN ? AND ? AND n.namespace = ?",
        (change.low >> 24, *span),
    )
    yield (
        "DELETE FROM thusfar_leaf WHERE (start BETWEEN ? AND ? OR leaf BETWEEN ? AND ?)"
        " AND namespace = ? AND thread_id ="
        " (SELECT thread_id FROM thusfar_branch WHERE branch = ?)",
        (change.low, change.high, *span, change.low >> 24),
    )
    for table in ("thusfar_chain", "thusfar_node", "thusfar_tally"):
        yield f"DELETE FROM {table} WHERE node BETWEEN ? AND ? AND namespace = ?", span


def _drop_branch(sql: Sql, change: q.DropBranch) -> Steps[None]:
    yield (
        "DELETE FROM thusfar_branch WHERE branch = ? AND namespace = ?",
        (change.branch, sql.namespace),
    )


def _drop_thread(sql: Sql, change: q.DropThread) -> Steps[None]:
    of_thread = (sql.namespace, change.thread_id)
    rows = yield (
        "SELECT branch FROM thusfar_branch WHERE namespace = ? AND thread_id = ?",
        of_thread,
    )
    for (branch,) in rows:
        span = (branch << 24, (branch + 1 << 24) - 1, sql.namespace)
        for table in ("thusfar_chain", "thusfar_node", "thusfar_tally"):
            yield f"DELETE FROM {table} WHERE node BETWEEN ? AND ? AND namespace = ?", span
    for table in ("head", "branch", "leaf", "spent", "artifact", "record"):
        yield f"DELETE FROM thusfar_{table} WHERE namespace = ? AND thread_id = ?", of_thread


def _put_leaf(sql: Sql, change: q.PutLeaf) -> Steps[None]:
    yield (
        "INSERT INTO thusfar_leaf (namespace, start, thread_id, leaf) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (start) DO UPDATE SET leaf = excluded.leaf",
        (sql.namespace, *astuple(change.row)),
    )


def _move_leaves(sql: Sql, change: q.MoveLeaves) -> Steps[None]:
    yield (
        "UPDATE thusfar_leaf SET leaf = ? WHERE namespace = ? AND thread_id = ? AND leaf = ?",
        (change.new, sql.namespace, change.thread_id, change.old),
    )


def _put_artifact(sql: Sql, change: q.PutArtifact) -> Steps[None]:
    yield (
        f"INSERT INTO thusfar_artifact (namespace, {ARTIFACT}) VALUES ({marks(8)})"
        " ON CONFLICT (namespace, key) DO NOTHING",
        (sql.namespace, *astuple(change.row)),
    )


def _drop_artifacts(sql: Sql, change: q.DropArtifacts) -> Steps[None]:
    statement = "DELETE FROM thusfar_artifact WHERE namespace = ? AND key = ?"
    yield Many(statement, [(sql.namespace, key) for key in change.keys])


def _put_tallies(sql: Sql, change: q.PutTallies) -> Steps[None]:
    statement = (
        "INSERT INTO thusfar_tally (namespace, tokenizer, node, tokens) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (node, tokenizer) DO UPDATE SET tokens = excluded.tokens"
    )
    yield Many(statement, [(sql.namespace, *astuple(row)) for row in change.rows])


def _drop_tallies(sql: Sql, change: q.DropTallies) -> Steps[None]:
    yield (
        "DELETE FROM thusfar_tally WHERE node BETWEEN ? AND ? AND namespace = ?",
        (change.low, change.high, sql.namespace),
    )


def _put_record(sql: Sql, change: q.PutRecord) -> Steps[None]:
    yield (
        "INSERT INTO thusfar_record (namespace, kind, key, thread_id, body, created_at)"
        f" VALUES ({marks(6)}) ON CONFLICT (namespace, kind, key) DO UPDATE SET"
        " thread_id = excluded.thread_id, body = excluded.body, created_at = excluded.created_at",
        (sql.namespace, *astuple(change)),
    )


ANSWERS: Final[dict[type, Callable[[Sql, Any], Steps[Any]]]] = {
    q.ReadThread: Sql.read_thread,
    q.ReadHead: Sql.read_head,
    q.ReadHeads: Sql.read_heads,
    q.FindNodes: Sql.find_nodes,
    q.FindSpent: Sql.find_spent,
    q.ReadNodes: Sql.read_nodes,
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

CHANGES: Final[dict[type, Callable[[Sql, Any], Steps[None]]]] = {
    q.PutThread: _put_thread,
    q.PutHead: _put_head,
    q.DropHead: _drop_head,
    q.AddNodes: _add_nodes,
    q.PutChains: _put_chains,
    q.SetState: _set_state,
    q.ResizeGroup: _resize_group,
    q.ClearPending: _clear_pending,
    q.EraseNodes: _erase_nodes,
    q.DropNodes: _drop_nodes,
    q.DropBranch: _drop_branch,
    q.DropThread: _drop_thread,
    q.PutLeaf: _put_leaf,
    q.MoveLeaves: _move_leaves,
    q.PutArtifact: _put_artifact,
    q.DropArtifacts: _drop_artifacts,
    q.PutTallies: _put_tallies,
    q.DropTallies: _drop_tallies,
    q.PutRecord: _put_record,
}
