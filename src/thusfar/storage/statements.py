"""Statements: the SQL text that both databases read, and how several are handed over.

A head that *follows* its branch stands on the newest message of it, and an append behind it writes
no head row: what the row would say is in the message's. `follows` is the branch; `revision` and
`node` are as of when the row was written, and one revision is added for each message behind it.
"""

from __future__ import annotations

# ruff: noqa: S608 - statements are built from this module's constants; values are parameters
from typing import Any, Final, NamedTuple

from thusfar.storage.rows import LIVE, POSITION_BITS, HeadRow


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
    "node, key, message_id, state, at, size, created_at, depth, turn, exchange, run, flags,"
    " pending, head_then, digest, chain, messages, body"
)
PAGE: Final = "node, body, state, at, created_at, depth, flags, message_id"
CHAIN: Final = "node, digest, chain, messages"
ARTIFACT: Final = "key, thread_id, first, node, kind, body, created_at"

HEADS: Final = (
    "thusfar_head h LEFT JOIN thusfar_node n ON n.node = (SELECT max(m.node) FROM thusfar_node m"
    " WHERE m.node >= h.node AND m.node < ((h.follows + 1) << 24))"
)
"""Heads, each with the newest message of the branch that it follows."""

_NOW: Final = {
    "revision": "h.revision + coalesce(n.node - h.node, 0)",
    "head_id": "CASE WHEN n.node IS NULL THEN h.head_id ELSE n.message_id END",
    "flags": "CASE WHEN n.node IS NULL THEN h.flags ELSE n.flags | (h.flags & 128) END",
    "updated_at": "coalesce(n.created_at, h.updated_at)",
    **{
        name: f"coalesce(n.{name}, h.{name})"
        for name in ("node", "depth", "turn", "exchange", "run", "pending", "chain", "messages")
    },
}


def _names(columns: str) -> list[str]:
    return [name.strip() for name in columns.split(",")]


HEAD_NOW: Final = ", ".join(f"{_NOW.get(name, f'h.{name}')} AS {name}" for name in _names(HEAD))
"""The columns of a head, of `HEADS`, as it stands now."""


def marks(count: int) -> str:
    """Write so many parameter marks."""
    return ", ".join("?" * count)


_OF_OWNER: Final = "namespace = ? AND thread_id = ? AND owner = ?"
READ_HEAD: Final = (
    f"SELECT {HEAD_NOW} FROM {HEADS} WHERE h.namespace = ? AND h.thread_id = ? AND h.owner = ?"
)
READ_TIP: Final = READ_HEAD.replace(
    " FROM thusfar_head",
    ", CASE WHEN n.node IS NOT NULL THEN 1 WHEN EXISTS"
    " (SELECT 1 FROM thusfar_node f WHERE f.node = h.node + 1) THEN 0 ELSE 1 END,"
    " CASE WHEN n.node IS NULL THEN -1 ELSE h.revision END FROM thusfar_head",
    1,
)
READ_PAGE: Final = (
    f"SELECT {PAGE} FROM thusfar_node WHERE node BETWEEN ? AND ? AND namespace = ?"
    " ORDER BY node DESC"
)
ADD_NODE: Final = f"INSERT INTO thusfar_node (namespace, {NODE}) VALUES ({marks(19)})"
IF_FOLLOWING: Final = (
    f"SELECT 1 FROM thusfar_head WHERE {_OF_OWNER} AND follows = ? AND revision = ?"
)


def held_by(namespace: str, head: HeadRow) -> tuple[Any, ...]:
    """Give the values of `IF_FOLLOWING` for a message that moves a remembered head to `head`."""
    return namespace, head.thread_id, head.owner, head.node >> POSITION_BITS, head.base


ADD_NODE_FOLLOWING: Final = (
    f"INSERT INTO thusfar_node (namespace, {NODE}) SELECT {marks(19)} WHERE EXISTS ({IF_FOLLOWING})"
)
ADD_PLAIN: Final = (
    "INSERT INTO thusfar_node (namespace, node, message_id, state, at, size, created_at, depth,"
    " turn, exchange, run, flags, pending, head_then, digest, chain, messages, body) VALUES"
    " ((SELECT namespace FROM thusfar_head WHERE namespace = ?1 AND thread_id = ?2 AND owner = ?3"
    f" AND follows = ?4 AND revision = ?5), ?6, ?7, {LIVE}, 0, 1, ?8, ?9, ?10, ?9, ?11, ?12, '',"
    " 0, ?13, ?14, ?15, CAST(?16 AS TEXT))"
)
"""Store one plain message behind a remembered head; without that head the namespace is missing."""
ADD_HEAD: Final = f"INSERT INTO thusfar_head (namespace, {HEAD}, follows) VALUES ({marks(17)})"
MOVE_HEAD: Final = (
    "UPDATE thusfar_head SET "
    + ", ".join(f"{name} = ?" for name in _names(HEAD)[2:])
    + f", follows = ? WHERE {_OF_OWNER}"
)
PUT_HEAD: Final = (
    f"{ADD_HEAD} ON CONFLICT (namespace, thread_id, owner) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in [*_names(HEAD)[2:], "follows"])
)
SETTLE_HEAD: Final = (
    "UPDATE thusfar_head SET "
    + ", ".join(f"{name} = s.{name}" for name in _NOW)
    + f", follows = NULL FROM (SELECT h.namespace, {HEAD_NOW} FROM {HEADS} WHERE h.follows = ?) s"
    " WHERE thusfar_head.namespace = s.namespace AND thusfar_head.thread_id = s.thread_id"
    " AND thusfar_head.owner = s.owner"
)
"""Let the head that follows a branch stay where it stands."""
PUT_THREAD: Final = (
    f"INSERT INTO thusfar_thread (namespace, {THREAD}) VALUES ({marks(9)})"
    " ON CONFLICT (namespace, thread_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _names(THREAD)[1:])
)
READ_THREAD: Final = f"SELECT {THREAD} FROM thusfar_thread WHERE namespace = ? AND thread_id = ?"
