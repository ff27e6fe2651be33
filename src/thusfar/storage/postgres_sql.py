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
from thusfar.storage.fulltext import Abandon, SearchWords
from thusfar.storage.fulltext_sql import search_postgres, widened
from thusfar.storage.heads import Heads, guessed
from thusfar.storage.postgres_erasure import HINDERED, VACUUMED
from thusfar.storage.rows import HeadRow, PageRow, branch_of, follows
from thusfar.storage.runs import KeepRun
from thusfar.storage.runs_sql import RUN_WRITES, kept
from thusfar.storage.sql import Sql
from thusfar.storage.statements import (
    ADD_HEAD,
    ADD_NODE,
    IF_FOLLOWING,
    MOVE_HEAD,
    NODE,
    READ_TIP,
    SETTLE_HEAD,
    Many,
    Together,
    held_by,
)

MOST_IN_ONE: Final = 8  # messages; longer groups are sent in batches within a transaction

_NODE_CASTS: Final = [
    *("text", "bigint", "bytea", "text"),  # namespace, node, key, message_id
    *["bigint"] * 9,  # state … flags
    *("text", "bigint", "bytea", "bytea", "bigint", "text"),  # pending … body
]
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
    "SELECT 1 FROM thusfar_head WHERE namespace = ? AND thread_id = ? AND owner = ? FOR UPDATE"
)


class Duplicate(Exception):  # noqa: N818 - a signal within the store, never seen outside
    """A unique value was stored already; the transaction is void."""


class PostgresSql(Sql):
    """The answers of one operation; `busy` while a transaction is open."""

    def __init__(self, namespace: str, heads: Heads) -> None:
        super().__init__(namespace)
        self.heads = heads
        self.busy = False

    def answer(self, question: Any) -> Steps[Any]:
        """Answer one question."""
        own = _OWN.get(type(question))
        return super().answer(question) if own is None else own(self, question)

    def lock(self, ask: q.Lock) -> Steps[HeadRow | None]:
        """Answer `Lock`, from memory where the caller lets us guess."""
        if (
            ask.guess
            and (known := self.heads.recall(self.namespace, ask.thread_id, ask.owner)) is not None
        ):
            return known
        self.busy = True
        of_thread = (self.namespace, ask.thread_id)
        of_owner = (*of_thread, ask.owner)
        # The head is read behind the lock: what was found before waiting for it may be stale.
        if ask.whole:
            locks: list[tuple[str, tuple[Any, ...]]] = [
                (_LOCK_THREAD, of_thread),
                (_LOCK_HEADS, of_thread),
            ]
        else:
            locks = [(_LOCK_HEAD, of_owner)]
        *_, rows = yield Together((_BEGIN, *locks, (READ_TIP, of_owner)))
        if not rows and not ask.whole:
            yield _SHARE_THREAD, of_thread
            rows = yield READ_TIP, of_owner
        return HeadRow(*rows[0]) if rows else None

    def append(self, ask: q.AppendGroup) -> Steps[bool]:
        """Answer `AppendGroup`."""
        try:
            if not self.busy and len(ask.nodes) > MOST_IN_ONE:
                yield _BEGIN
                self.busy = True
            stored = yield from self._store_group(ask)
        except Duplicate:
            stored = False
        if stored:
            self.heads.remember(self.namespace, ask)
            return True
        self.heads.mistrust((self.namespace, ask.head.thread_id, ask.head.owner))
        yield from self.undo()
        return False

    def _store_group(self, ask: q.AppendGroup) -> Steps[bool]:
        ns, head, before = self.namespace, ask.head, ask.before
        branch = branch_of(head.node)
        nodes = [(ns, *astuple(row)) for row in ask.nodes]
        if before is not None and follows(before, head):
            held = held_by(ns, guessed(head, before.base))
            if len(nodes) <= MOST_IN_ONE:
                flat = chain.from_iterable((held, *nodes))
                return (yield from self._in_one((append_sql(len(nodes)), tuple(flat))))
            rows = yield f"{IF_FOLLOWING} FOR KEY SHARE", held
            if not rows:
                return False
        else:
            thread_id, owner, *moved = astuple(head)[:-2]
            if before is None:
                written = ADD_HEAD, (ns, thread_id, owner, *moved, branch)
            else:
                written = MOVE_HEAD, (*moved, branch, ns, thread_id, owner)
            yield Together(((SETTLE_HEAD, (branch,)), written))
        yield Many(ADD_NODE, nodes)
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
            yield from self.write(q.Write(tuple(widened(ask.changes))))
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

    def search_words(self, ask: SearchWords) -> Steps[list[PageRow]]:
        """Answer `SearchWords`."""
        return (yield from search_postgres(self.namespace, ask))

    def abandon(self, _: Abandon) -> Steps[None]:
        """Answer `Abandon`."""
        yield from self.undo()

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
    SearchWords: PostgresSql.search_words,
    Abandon: PostgresSql.abandon,
    **dict.fromkeys(RUN_WRITES, PostgresSql.write_run),
}


@lru_cache(maxsize=MOST_IN_ONE)
def append_sql(count: int) -> str:
    """Write the statement that stores a group behind a head that follows its branch, or nothing.

    The head's row is held, so that no erasure makes the digests anew meanwhile; others who append
    to the branch meet at its next number.
    """
    rows = " UNION ALL ".join([_typed(_NODE_CASTS)] * count)
    return (
        f"WITH held AS ({IF_FOLLOWING} FOR KEY SHARE)"
        f" INSERT INTO thusfar_node (namespace, {NODE}) {rows} RETURNING 1"
    )


def _typed(casts: list[str]) -> str:
    values = ", ".join(f"?::{cast}" for cast in casts)
    return f"SELECT {values} FROM held"


@lru_cache(maxsize=512)
def numbered(sql: str) -> str:
    """Write parameter marks as the driver reads them."""
    return sql.replace("?", "%s")
