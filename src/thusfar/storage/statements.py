"""Statements: the SQL text that both databases read, and how several are handed over."""

from __future__ import annotations

# ruff: noqa: S608 - statements are built from this module's constants; values are parameters
from typing import Any, Final, NamedTuple


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
PAGE: Final = "node, body, state, at, created_at, depth, flags, erased_id"
CHAIN: Final = "node, digest, chain, messages"
ARTIFACT: Final = "key, thread_id, first, node, kind, body, created_at"


def marks(count: int) -> str:
    """Write so many parameter marks."""
    return ", ".join("?" * count)


_HEAD_OF: Final = "FROM thusfar_head h WHERE namespace = ? AND thread_id = ? AND owner = ?"
READ_HEAD: Final = f"SELECT {HEAD} {_HEAD_OF}"
READ_TIP: Final = (
    f"SELECT {HEAD}, CASE WHEN EXISTS (SELECT 1 FROM thusfar_node n WHERE n.node = h.node + 1)"
    f" THEN 0 ELSE 1 END {_HEAD_OF}"
)
READ_PAGE: Final = (
    f"SELECT {PAGE} FROM thusfar_node WHERE node BETWEEN ? AND ? AND namespace = ?"
    " ORDER BY node DESC"
)
ADD_NODE: Final = f"INSERT INTO thusfar_node (namespace, {NODE}) VALUES ({marks(16)})"
ADD_CHAIN: Final = f"INSERT INTO thusfar_chain (namespace, {CHAIN}) VALUES ({marks(5)})"
MOVE_HEAD: Final = (
    "UPDATE thusfar_head SET revision = ?, node = ?, head_id = ?, depth = ?, turn = ?,"
    " exchange = ?, run = ?, flags = ?, pending = ?, chain = ?, messages = ?, salt = ?,"
    " updated_at = ? WHERE namespace = ? AND thread_id = ? AND owner = ?"
)
MOVE_KNOWN_HEAD: Final = f"{MOVE_HEAD} AND revision = ? AND salt = ? AND flags = ?"
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
