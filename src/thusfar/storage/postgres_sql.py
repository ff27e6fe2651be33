"""What PostgreSQL does otherwise than SQLite: locks of rows, and an append in one statement.

A head that this process wrote last is remembered. An append builds on it without asking, in one
statement that does nothing if the head is another one by now; then it asks first.
"""

from __future__ import annotations

# ruff: noqa: S608 - statements are built from constants; values are parameters
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from msgspec.structs import astuple

from thusfar.drive import Steps
from thusfar.errors import StorageBusyError
from thusfar.storage import questions as q
from thusfar.storage.heads import Heads
from thusfar.storage.postgres_erasure import HINDERED, VACUUMED
from thusfar.storage.rows import HeadRow
from thusfar.storage.runs import KeepRun
from thusfar.storage.runs_sql import RUN_WRITES, kept
from thusfar.storage.sql import Sql
from thusfar.storage.statements import (
    ADD_CHAIN,
    ADD_HEAD,
    ADD_NODE,
    CHAIN,
    HEAD,
    MOVE_KNOWN_HEAD,
    NODE,
    READ_TIP,
    Many,
    Together,
)

MOST_IN_ONE: Final = 8  # messages; longer groups are sent in batches within a transaction

_NODE_CASTS: Final = [
    *("text", "bigint", "bytea", "text"),  # namespace, node, key, body
    *["bigint"] * 9,  # state … flags
    *("text", "bigint", "text"),  # pending, head_then, erased_id
]
_CHAIN_CASTS: Final = ["text", "bigint", "bytea", "bytea", "bigint"]
_BEGIN: Final[tuple[str, tuple[Any, ...]]] = ("BEGIN", ())
_COMMIT: Final[tuple[str, tuple[Any, ...]]] = ("COMMIT", ())
_LOCK_THREAD: Final = (
    "SELECT 1 FROM thusfar_thread WHERE namespace = ? AND thread_id = ? FOR UPDATE"
)
_SHARE_THREAD: Final = (
    "SELECT 1 FROM thusfar_thread WHERE namespace = ? AND thread_id = ? FOR SHARE"
)
_LOCK_HEADS: Final = (
    "SELECT 1 FROM thusfar_head WHERE namespace = ? AND thread_id = ? ORDER BY owner FOR UPDATE"
)
_LOCK_HEAD: Final = (
    f"SELECT {HEAD} FROM thusfar_head WHERE namespace = ? AND thread_id = ? AND owner = ?"
    " FOR UPDATE"
)


class Duplicate(Exception):  # noqa: N818 - a signal within the store, never seen outside
    """A unique value was stored already; the transaction is void."""


class PostgresSql(Sql):
    """The answers of one operation; `busy` while a transaction is open."""

    def __init__(self, namespace: str, heads: Heads) -> None:
        super().__init__(namespace)
        self.heads = heads
        self.busy = False
        self._careful = False

    def answer(self, question: Any) -> Steps[Any]:
        """Answer one question."""
        own = _OWN.get(type(question))
        return super().answer(question) if own is None else own(self, question)

    def lock(self, ask: q.Lock) -> Steps[HeadRow | None]:
        """Answer `Lock`, from memory where the caller lets us guess."""
        if ask.guess and (known := self.heads.recall(self.namespace, ask)) is not None:
            return known
        self.busy = True
        of_thread = (self.namespace, ask.thread_id)
        if ask.whole:
            yield Together((_BEGIN, (_LOCK_THREAD, of_thread), (_LOCK_HEADS, of_thread)))
        else:
            _, rows = yield Together((_BEGIN, (_LOCK_HEAD, (*of_thread, ask.owner))))
            if rows and not self._careful:
                # The row as it is behind the lock; whether anything follows it, the append finds.
                return HeadRow(*rows[0])
            if not rows:
                yield _SHARE_THREAD, of_thread
        # Read again behind the lock: what was found before waiting for it may be stale.
        rows = yield READ_TIP, (*of_thread, ask.owner)
        return HeadRow(*rows[0]) if rows else None

    def append(self, ask: q.AppendGroup) -> Steps[bool]:
        """Answer `AppendGroup`."""
        head = ask.head
        try:
            if not self.busy and len(ask.nodes) > MOST_IN_ONE:
                yield _BEGIN
                self.busy = True
            stored = yield from self._store_group(ask)
        except Duplicate:
            stored = False
        if stored:
            self.heads.remember(self.namespace, head)
            return True
        self.heads.mistrust(self.namespace, head)
        self._careful = True
        yield from self.undo()
        return False

    def _store_group(self, ask: q.AppendGroup) -> Steps[bool]:
        ns = self.namespace
        thread_id, owner, *moved, _ = astuple(ask.head)
        nodes = [(ns, *astuple(row)) for row in ask.nodes]
        chains = [(ns, *astuple(row)) for row in ask.chains]
        if ask.before is None:
            yield ADD_HEAD, (ns, thread_id, owner, *moved)
        else:
            where = (ns, thread_id, owner, ask.before.revision, ask.before.salt, ask.before.flags)
            if len(nodes) <= MOST_IN_ONE:
                flat = chain.from_iterable((moved, where, *nodes, *chains))
                statement = append_sql(len(nodes)), tuple(flat)
                return (yield from self._in_one(statement))
            rows = yield f"{MOVE_KNOWN_HEAD} RETURNING 1", (*moved, *where)
            if not rows:
                return False
        yield Many(ADD_NODE, nodes)
        yield Many(ADD_CHAIN, chains)
        yield _COMMIT
        self.busy = False
        return True

    def _in_one(self, statement: tuple[str, tuple[Any, ...]]) -> Steps[bool]:
        if not self.busy:
            rows = yield statement
            return bool(rows)
        replies = yield Together((statement, _COMMIT))
        self.busy = False
        return bool(replies[0])

    def write_all(self, ask: q.Write) -> Steps[None]:
        """Answer `Write`."""
        self.heads.forget_moved(self.namespace, ask.changes)
        try:
            yield from self.write(ask)
        except Duplicate as error:
            raise StorageBusyError(
                "Another session stored the same place first.", fix="Try again."
            ) from error
        yield _COMMIT
        self.busy = False

    def write_run(self, ask: Any) -> Steps[Any]:
        """Answer a write of a run: one transaction, undone where it found something else."""
        self.busy = True
        answer: Any = False
        try:
            if isinstance(ask, KeepRun):
                fences, others = kept(self.namespace, ask)
                replies = yield Together((_BEGIN, *fences, *others))
                answer = all(replies[1 : len(fences) + 1])
            else:
                yield _BEGIN
                answer = yield from RUN_WRITES[type(ask)](self.namespace, ask)
        except Duplicate:
            answer = False
        if answer:
            yield _COMMIT
            self.busy = False
        else:
            yield from self.undo()
        return answer

    def snapshot(self, _: q.Snapshot) -> Steps[None]:
        """Answer `Snapshot`."""
        yield "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ()
        self.busy = True

    def checkpoint(self, ask: q.Checkpoint) -> Steps[bool]:
        """Answer `Checkpoint`: rows are gone at once, their old versions with the next VACUUM."""
        yield from self.undo()
        if not ask.thorough:
            return False
        hindered = yield HINDERED, (list(VACUUMED),)
        yield f"VACUUM {', '.join(VACUUMED)}", ()
        return not hindered[0][0]

    def undo(self) -> Steps[None]:
        """End what was begun, leaving nothing of it."""
        if self.busy:
            self.busy = False
            yield "ROLLBACK", ()


_OWN: Final[dict[type, Any]] = {
    q.Lock: PostgresSql.lock,
    q.AppendGroup: PostgresSql.append,
    q.Write: PostgresSql.write_all,
    q.Snapshot: PostgresSql.snapshot,
    q.Checkpoint: PostgresSql.checkpoint,
    **dict.fromkeys(RUN_WRITES, PostgresSql.write_run),
}


@lru_cache(maxsize=MOST_IN_ONE)
def append_sql(count: int) -> str:
    """Write the statement that moves a head and stores a group, both or neither."""
    nodes = " UNION ALL ".join([_typed(_NODE_CASTS)] * count)
    chains = " UNION ALL ".join([_typed(_CHAIN_CASTS)] * count)
    return (
        f"WITH moved AS ({MOVE_KNOWN_HEAD} RETURNING 1),"
        f" nodes AS (INSERT INTO thusfar_node (namespace, {NODE}) {nodes}),"
        f" chains AS (INSERT INTO thusfar_chain (namespace, {CHAIN}) {chains})"
        " SELECT 1 FROM moved"
    )


def _typed(casts: list[str]) -> str:
    values = ", ".join(f"?::{cast}" for cast in casts)
    return f"SELECT {values} WHERE EXISTS (SELECT 1 FROM moved)"


@lru_cache(maxsize=512)
def numbered(sql: str) -> str:
    """Write parameter marks as the driver reads them."""
    return sql.replace("?", "%s")
