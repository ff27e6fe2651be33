"""Changes: how each part of a write is made by statements that both databases read."""

from __future__ import annotations

# ruff: noqa: S608 - statements are built from constants; values are parameters
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import astuple

from thusfar.drive import Steps
from thusfar.storage import questions as q
from thusfar.storage.rows import POSITION_MASK, branch_of
from thusfar.storage.statements import (
    ADD_NODE,
    ARTIFACT,
    PUT_HEAD,
    PUT_THREAD,
    SETTLE_HEAD,
    Many,
    marks,
)


def _put_thread(namespace: str, change: q.PutThread) -> Steps[None]:
    yield PUT_THREAD, (namespace, *astuple(change.row))


def _put_head(namespace: str, change: q.PutHead) -> Steps[None]:
    yield PUT_HEAD, (namespace, *astuple(change.row)[:-2], None)


def _drop_head(namespace: str, change: q.DropHead) -> Steps[None]:
    yield (
        "DELETE FROM thusfar_head WHERE namespace = ? AND thread_id = ? AND owner = ?",
        (namespace, change.thread_id, change.owner),
    )


def _add_nodes(namespace: str, change: q.AddNodes) -> Steps[None]:
    begun = {branch_of(row.node) for row in change.nodes if not row.node & POSITION_MASK}
    for branch in sorted({branch_of(row.node) for row in change.nodes} - begun):
        yield SETTLE_HEAD, (branch,)
    yield Many(ADD_NODE, [(namespace, *astuple(row)) for row in change.nodes])


def _put_chains(namespace: str, change: q.PutChains) -> Steps[None]:
    statement = (
        "UPDATE thusfar_node SET digest = ?, chain = ?, messages = ?"
        " WHERE node = ? AND namespace = ?"
    )
    rows = [(r.digest, r.chain, r.messages, r.node, namespace) for r in change.rows]
    yield Many(statement, rows)


def _set_state(namespace: str, change: q.SetState) -> Steps[None]:
    statement = "UPDATE thusfar_node SET state = ? WHERE node = ? AND namespace = ?"
    yield Many(statement, [(change.state, node, namespace) for node in change.nodes])


def _resize_group(namespace: str, change: q.ResizeGroup) -> Steps[None]:
    yield (
        "UPDATE thusfar_node SET size = ? WHERE node BETWEEN ? AND ? AND namespace = ?",
        (change.high - change.low + 1, change.low, change.high, namespace),
    )


def _clear_pending(namespace: str, change: q.ClearPending) -> Steps[None]:
    statement = "UPDATE thusfar_node SET pending = '' WHERE node = ? AND namespace = ?"
    yield Many(statement, [(node, namespace) for node in change.nodes])


def _erase_nodes(namespace: str, change: q.EraseNodes) -> Steps[None]:
    statement = (
        "UPDATE thusfar_node SET body = NULL, state = 2, created_at = 0, pending = '',"
        " message_id = ? WHERE node = ? AND namespace = ?"
    )
    rows = [(message_id, node, namespace) for node, message_id in change.nodes]
    yield Many(statement, rows)


# A number may be given again, so that no receipt of the thread may point at one that is gone.
_FORGET_HEADS: Final = (
    "UPDATE thusfar_node SET head_then = 0 WHERE node IN"
    " (SELECT n.node FROM thusfar_branch b JOIN thusfar_node n"
    f" ON n.node BETWEEN b.branch * {1 << 24} AND b.branch * {1 << 24} + {(1 << 24) - 1}"
    " WHERE b.namespace = ?"
    " AND b.thread_id = (SELECT thread_id FROM thusfar_branch WHERE branch = ?)"
    " AND n.head_then BETWEEN ? AND ?)"
)


def _drop_nodes(namespace: str, change: q.DropNodes) -> Steps[None]:
    span = (change.low, change.high, namespace)
    yield (
        "DELETE FROM thusfar_leaf WHERE (start BETWEEN ? AND ? OR leaf BETWEEN ? AND ?)"
        " AND namespace = ? AND thread_id ="
        " (SELECT thread_id FROM thusfar_branch WHERE branch = ?)",
        (change.low, change.high, *span, change.low >> 24),
    )
    yield _FORGET_HEADS, (namespace, change.low >> 24, change.low, change.high)
    for table in ("thusfar_node", "thusfar_tally"):
        yield f"DELETE FROM {table} WHERE node BETWEEN ? AND ? AND namespace = ?", span


def _spend_keys(namespace: str, change: q.SpendKeys) -> Steps[None]:
    statement = "INSERT INTO thusfar_spent (key, namespace, thread_id) VALUES (?, ?, ?)"
    yield Many(statement, [(key, namespace, change.thread_id) for key in change.keys])


def _drop_branch(namespace: str, change: q.DropBranch) -> Steps[None]:
    yield (
        "DELETE FROM thusfar_branch WHERE branch = ? AND namespace = ?",
        (change.branch, namespace),
    )


def _drop_thread(namespace: str, change: q.DropThread) -> Steps[None]:
    of_thread = (namespace, change.thread_id)
    rows = yield (
        "SELECT branch FROM thusfar_branch WHERE namespace = ? AND thread_id = ?",
        of_thread,
    )
    for (branch,) in rows:
        span = (branch << 24, (branch + 1 << 24) - 1, namespace)
        for table in ("thusfar_node", "thusfar_tally"):
            yield f"DELETE FROM {table} WHERE node BETWEEN ? AND ? AND namespace = ?", span
    for table in ("head", "branch", "leaf", "spent", "artifact", "record"):
        yield f"DELETE FROM thusfar_{table} WHERE namespace = ? AND thread_id = ?", of_thread


def _put_leaf(namespace: str, change: q.PutLeaf) -> Steps[None]:
    yield (
        "INSERT INTO thusfar_leaf (namespace, start, thread_id, leaf) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (start) DO UPDATE SET leaf = excluded.leaf",
        (namespace, *astuple(change.row)),
    )


def _move_leaves(namespace: str, change: q.MoveLeaves) -> Steps[None]:
    yield (
        "UPDATE thusfar_leaf SET leaf = ? WHERE namespace = ? AND thread_id = ? AND leaf = ?",
        (change.new, namespace, change.thread_id, change.old),
    )


def _put_artifact(namespace: str, change: q.PutArtifact) -> Steps[None]:
    yield (
        f"INSERT INTO thusfar_artifact (namespace, {ARTIFACT}) VALUES ({marks(8)})"
        " ON CONFLICT (namespace, key) DO NOTHING",
        (namespace, *astuple(change.row)),
    )


def _drop_artifacts(namespace: str, change: q.DropArtifacts) -> Steps[None]:
    statement = "DELETE FROM thusfar_artifact WHERE namespace = ? AND key = ?"
    yield Many(statement, [(namespace, key) for key in change.keys])


def _put_tallies(namespace: str, change: q.PutTallies) -> Steps[None]:
    statement = (
        "INSERT INTO thusfar_tally (namespace, tokenizer, node, tokens) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (node, tokenizer) DO UPDATE SET tokens = excluded.tokens"
    )
    yield Many(statement, [(namespace, *astuple(row)) for row in change.rows])


def _drop_tallies(namespace: str, change: q.DropTallies) -> Steps[None]:
    yield (
        "DELETE FROM thusfar_tally WHERE node BETWEEN ? AND ? AND namespace = ?",
        (change.low, change.high, namespace),
    )


def _put_record(namespace: str, change: q.PutRecord) -> Steps[None]:
    yield (
        "INSERT INTO thusfar_record (namespace, kind, key, thread_id, body, created_at)"
        f" VALUES ({marks(6)}) ON CONFLICT (namespace, kind, key) DO UPDATE SET"
        " thread_id = excluded.thread_id, body = excluded.body, created_at = excluded.created_at",
        (namespace, *astuple(change)),
    )


CHANGES: Final[dict[type, Callable[[str, Any], Steps[None]]]] = {
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
    q.SpendKeys: _spend_keys,
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
