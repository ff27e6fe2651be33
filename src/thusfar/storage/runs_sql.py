"""Runs in SQL: statements that SQLite and PostgreSQL both read.

A write is a list of statements; those that must find a row come first, and it is stored only where
each of them did.
"""

from __future__ import annotations

# ruff: noqa: S608 - statements are built from this module's constants; values are parameters
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import astuple

from thusfar.drive import Steps
from thusfar.storage import runs as r
from thusfar.storage.statements import marks

RUN_TABLES: Final = ("thusfar_run", "thusfar_run_step", "thusfar_run_entry")
RUN_STATEMENTS: Final = (
    "CREATE TABLE thusfar_run ("
    " namespace text NOT NULL, run_id text NOT NULL, path text NOT NULL,"
    " process_id text NOT NULL, status text NOT NULL, revision {big} NOT NULL,"
    " recorded {big} NOT NULL, position text NOT NULL, outcome text NOT NULL,"
    " origin text NOT NULL, holder text NOT NULL, lease_until {big} NOT NULL,"
    " created_at {big} NOT NULL, updated_at {big} NOT NULL,"
    " PRIMARY KEY (namespace, run_id, path)){no_rowid}",
    "CREATE TABLE thusfar_run_step ("
    " namespace text NOT NULL, run_id text NOT NULL, path text NOT NULL,"
    " number {big} NOT NULL, task_id text NOT NULL, recorded {big} NOT NULL,"
    " position text NOT NULL, changes text NOT NULL, tape text NOT NULL,"
    " created_at {big} NOT NULL, PRIMARY KEY (namespace, run_id, path, number)){no_rowid}",
    "CREATE TABLE thusfar_run_entry ("
    " namespace text NOT NULL, run_id text NOT NULL, path text NOT NULL,"
    " seq {big} NOT NULL, number {big} NOT NULL, body text NOT NULL,"
    " PRIMARY KEY (namespace, run_id, path, seq)){no_rowid}",
)

_RUN: Final = (
    "run_id, path, process_id, status, revision, recorded, position, outcome, origin, holder,"
    " lease_until, created_at, updated_at"
)
_STEP: Final = "run_id, path, number, task_id, recorded, position, changes, tape, created_at"
_SHOWN_STEP: Final = _STEP.replace("tape", "''")
_ENTRY: Final = "run_id, path, seq, number, body"
_OF_RUN: Final = "WHERE namespace = ? AND run_id = ? AND path = ?"
_READ_RUN: Final = f"SELECT {_RUN} FROM thusfar_run {_OF_RUN}"
_ADD_RUN: Final = (
    f"INSERT INTO thusfar_run (namespace, {_RUN}) VALUES ({marks(14)})"
    " ON CONFLICT (namespace, run_id, path) DO NOTHING RETURNING 1"
)
_MOVE_RUN: Final = (
    "UPDATE thusfar_run SET status = ?, revision = ?, recorded = ?, position = ?, outcome = ?,"
    f" holder = ?, lease_until = ?, updated_at = ? {_OF_RUN} AND revision = ?"
)
_MOVE_ROOT: Final = f"{_MOVE_RUN} AND holder = ? RETURNING 1"
_RENEW_ROOT: Final = (
    f"UPDATE thusfar_run SET lease_until = ?, updated_at = ? {_OF_RUN} AND holder = ? RETURNING 1"
)
_ADD_STEP: Final = f"INSERT INTO thusfar_run_step (namespace, {_STEP}) VALUES ({marks(10)})"
_ADD_ENTRY: Final = f"INSERT INTO thusfar_run_entry (namespace, {_ENTRY}) VALUES ({marks(6)})"
_HOLD: Final = (
    f"UPDATE thusfar_run SET holder = ?, lease_until = ? {_OF_RUN}"
    " AND (holder IN ('', ?, ?) OR lease_until <= ?)"
)
_DROP: Final = (
    f"DELETE FROM thusfar_run {_OF_RUN} AND (holder = '' OR lease_until <= ? OR ? = 1) RETURNING 1"
)


def _read_run(namespace: str, ask: r.ReadRun) -> Steps[r.RunRow | None]:
    rows = yield _READ_RUN, (namespace, ask.run_id, ask.path)
    return r.RunRow(*rows[0]) if rows else None


def _list_runs(namespace: str, ask: r.ListRuns) -> Steps[list[r.RunRow]]:
    sql = f"SELECT {_RUN} FROM thusfar_run WHERE namespace = ? AND path = ''"
    values: tuple[Any, ...] = (namespace,)
    if ask.process_id is not None:
        sql, values = f"{sql} AND process_id = ?", (*values, ask.process_id)
    rows = yield sql, values
    found = sorted((r.RunRow(*row) for row in rows), key=lambda row: (-row.updated_at, row.run_id))
    return found[ask.offset : None if ask.limit is None else ask.offset + ask.limit]


def _read_steps(namespace: str, ask: r.ReadRunSteps) -> Steps[list[r.RunStepRow]]:
    sql = (
        f"SELECT {_SHOWN_STEP} FROM thusfar_run_step {_OF_RUN} AND number BETWEEN ? AND ?"
        " ORDER BY number"
    )
    rows = yield sql, (namespace, ask.run_id, ask.path, ask.low, ask.high)
    return [r.RunStepRow(*row) for row in rows]


def _read_tapes(namespace: str, ask: r.ReadRunTapes) -> Steps[list[tuple[str, int, str]]]:
    sql = "SELECT path, number, tape FROM thusfar_run_step WHERE namespace = ? AND run_id = ?"
    rows = yield sql, (namespace, ask.run_id)
    return sorted((path, number, tape) for path, number, tape in rows)


def _read_entries(namespace: str, ask: r.ReadRunEntries) -> Steps[list[r.RunEntryRow]]:
    sql = f"SELECT {_ENTRY} FROM thusfar_run_entry {_OF_RUN} AND seq BETWEEN ? AND ? ORDER BY seq"
    rows = yield sql, (namespace, ask.run_id, ask.path, ask.low, ask.high)
    return [r.RunEntryRow(*row) for row in rows]


def _hold_run(namespace: str, ask: r.HoldRun) -> Steps[r.RunRow | None]:
    of_run = (namespace, ask.run_id, r.ROOT)
    free = (ask.holder, ask.instead_of, ask.now)
    yield _HOLD, (ask.holder, ask.until, *of_run, *free)
    rows = yield _READ_RUN, of_run
    return r.RunRow(*rows[0]) if rows else None


def kept(namespace: str, ask: r.KeepRun) -> tuple[list[Any], list[Any]]:
    """Write the statements of `KeepRun`: those that must find a row, and the others."""
    row = ask.row
    of_run = (namespace, row.run_id, row.path)
    fences: list[Any] = []
    if row.path != r.ROOT:
        of_root = (namespace, row.run_id, r.ROOT)
        fences.append((_RENEW_ROOT, (row.lease_until, row.updated_at, *of_root, row.holder)))
    if ask.before is None:
        fences.append((_ADD_RUN, (namespace, *astuple(row))))
    else:
        ended = row.status != "running"
        holder, until = ("", 0) if ended else (row.holder, row.lease_until)
        moved = (row.status, row.revision, row.recorded, row.position, row.outcome)
        values = (*moved, holder, until, row.updated_at, *of_run, ask.before)
        own = (_MOVE_ROOT, (*values, row.holder))
        fences.append(own if row.path == r.ROOT else (f"{_MOVE_RUN} RETURNING 1", values))
    others: list[Any] = []
    if ask.step is not None:
        others.append((_ADD_STEP, (namespace, *astuple(ask.step))))
    others += [(_ADD_ENTRY, (namespace, *astuple(entry))) for entry in ask.entries]
    return fences, others


def _keep_run(namespace: str, ask: r.KeepRun) -> Steps[bool]:
    fences, others = kept(namespace, ask)
    for statement in fences:
        if not (yield statement):
            return False
    for statement in others:
        yield statement
    return True


def _drop_run(namespace: str, ask: r.DropRun) -> Steps[bool]:
    of_run = (namespace, ask.run_id)
    if not (yield _DROP, (*of_run, r.ROOT, ask.now, int(ask.force))):
        return False
    for table in RUN_TABLES:
        yield f"DELETE FROM {table} WHERE namespace = ? AND run_id = ?", of_run
    return True


Answer = Callable[[str, Any], Steps[Any]]

RUN_READS: Final[dict[type, Answer]] = {
    r.ReadRun: _read_run,
    r.ListRuns: _list_runs,
    r.ReadRunSteps: _read_steps,
    r.ReadRunTapes: _read_tapes,
    r.ReadRunEntries: _read_entries,
}
RUN_WRITES: Final[dict[type, Answer]] = {
    r.HoldRun: _hold_run,
    r.KeepRun: _keep_run,
    r.DropRun: _drop_run,
}
"""Each is one transaction, undone where the answer is `False` or `None`."""
