"""Shelving: what is done with runs in a store beside running them, as steps of the store.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from thusfar._numbers import require_whole
from thusfar.codec import json_text, parse_json, to_json
from thusfar.drive import Steps
from thusfar.errors import OptionsError, RunNotFoundError
from thusfar.process.changes import changes_between, same
from thusfar.process.entries import Entry
from thusfar.process.holders import is_gone
from thusfar.process.keeping import (
    BATCH,
    Loaded,
    entry_row,
    exists,
    held,
    load_steps,
    read_entry,
    require_rows,
)
from thusfar.process.log import LogOptions
from thusfar.process.paths import apply_updates
from thusfar.process.position import Position
from thusfar.process.run_values import RunComparison, RunInfo, RunStatus
from thusfar.process.tape import Record, Tape
from thusfar.storage import questions as q
from thusfar.storage import runs as r
from thusfar.storage.base import check_id

_SHORT: LogOptions = LogOptions(history_detail_items=0, history_max_items=1)
Erased = Literal["complete", "pending"]


def not_found(run_id: str) -> RunNotFoundError:
    """Make the error for a run that is not there."""
    return RunNotFoundError(
        "The store has no run of that id.", fix="Look it up among the runs.", run_id=run_id
    )


def row_steps(run_id: str) -> Steps[r.RunRow | None]:
    """Read the row of a run; `None` when there is none."""
    row: r.RunRow | None = yield r.ReadRun(run_id)
    return row


def find_steps(run_id: str) -> Steps[r.RunRow]:
    """Read the row of a run.

    Raises:
        RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
    """
    row = yield from row_steps(check_id(run_id, "run id"))
    if row is None:
        raise not_found(run_id)
    return row


def hold_steps(run_id: str, holder: str, *, now: int, until: int, take_over: bool) -> Steps[None]:
    """Take the lease of a run.

    Raises:
        RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
        RunHeldError: `RUN_HELD`, when somebody has it, unless that one is known to be gone or
            the run is to be taken over.
    """
    row: r.RunRow | None = yield r.HoldRun(run_id, holder, now, until)
    if row is not None and row.holder != holder and (take_over or is_gone(row.holder)):
        row = yield r.HoldRun(run_id, holder, now, until, instead_of=row.holder)
    if row is None:
        raise not_found(run_id)
    if row.holder != holder:
        raise held(run_id)


def info_of(row: r.RunRow, now: int) -> RunInfo:
    """Say how a run stands."""
    position = msgspec.convert(parse_json(row.position), Position)
    told = parse_json(row.outcome)
    origin = parse_json(row.origin) or {}
    return RunInfo(
        run_id=row.run_id,
        process_id=row.process_id,
        status=_status(row, now),
        task_id=position.at,
        steps=row.revision,
        calls=position.calls,
        input_tokens=position.tokens - position.output_tokens,
        output_tokens=position.output_tokens,
        entries=row.recorded,
        failure=told if row.status == "failed" else None,
        reason=(told or {}).get("reason", ""),
        forked_from=origin.get("run_id"),
        forked_at=origin.get("entry", 0),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _status(row: r.RunRow, now: int) -> RunStatus:
    if row.holder and row.lease_until > now and not is_gone(row.holder):
        return "running"
    status: RunStatus = "interrupted" if row.status == "running" else row.status  # type: ignore[assignment]
    return status


def list_steps(
    now: int, process_id: str | None, limit: int | None, offset: int
) -> Steps[tuple[RunInfo, ...]]:
    """List runs, newest change first."""
    require_whole("A list of runs", "limit", limit)
    require_whole("A list of runs", "offset", offset, least=0)
    if process_id is not None:
        check_id(process_id, "process id")
    rows: list[r.RunRow] = yield r.ListRuns(process_id, limit, offset)
    return tuple(info_of(row, now) for row in rows)


def info_steps(run_id: str, now: int) -> Steps[RunInfo]:
    """Say how one run stands."""
    row = yield from find_steps(run_id)
    return info_of(row, now)


def entries_steps(run_id: str, first: int, last: int | None) -> Steps[tuple[Entry, ...]]:
    """Read entries of a run, those that have left memory too."""
    row = yield from find_steps(run_id)
    end = row.recorded if last is None else min(last, row.recorded)
    found: list[Entry] = []
    for low in range(max(1, first), end + 1, BATCH):
        high = min(low + BATCH - 1, end)
        rows: list[r.RunEntryRow] = yield r.ReadRunEntries(run_id, low, high)
        require_rows(run_id, [each.seq for each in rows], low, high)
        found += map(read_entry, rows)
    return tuple(found)


def as_of_steps(run_id: str, entry: int | None, options: LogOptions = _SHORT) -> Steps[Loaded]:
    """Read a run as it stood behind the step that recorded an entry.

    Args:
        run_id: The run.
        entry: The entry; 0 is how the run began. `None`: as it stands.
        options: How its log is kept.

    Raises:
        RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
        OptionsError: `INVALID_OPTIONS`, when it has no such entry.
    """
    row = yield from find_steps(run_id)
    number = None
    if entry is not None:
        if type(entry) is not int or not 0 <= entry <= row.recorded:
            raise OptionsError(
                "A run has no entry of that number.",
                fix="Pass a number from 0, where it began, to its newest entry.",
                run_id=run_id,
                entries=row.recorded,
            )
        number = 0
        if entry:
            rows: list[r.RunEntryRow] = yield r.ReadRunEntries(run_id, entry, entry)
            require_rows(run_id, [each.seq for each in rows], entry, entry)
            number = rows[0].number
    loaded: Loaded | None = yield from load_steps(run_id, r.ROOT, options, number=number)
    if loaded is None:
        raise not_found(run_id)
    return loaded


def fork_steps(
    run_id: str, entry: int, new_id: str, updates: Mapping[str, Any] | None, now: int
) -> Steps[RunInfo]:
    """Begin a run where another one stood behind an entry, with another state.

    Raises:
        RunNotFoundError: `RUN_NOT_FOUND`, when there is no such run.
        RunExistsError: `RUN_EXISTS`, when the new id is taken.
        OptionsError: `INVALID_OPTIONS`, when it has no such entry.
        InvalidStateError: `INVALID_STATE`, for an update that cannot be carried out.
    """
    check_id(new_id, "run id")
    loaded = yield from as_of_steps(run_id, entry)
    values = apply_updates(loaded.values, to_json(updates or {}))
    recorded = loaded.log.recorded
    position = json_text(msgspec.to_builtins(loaded.position))
    changes = json_text(changes_between({}, values))
    step = r.RunStepRow(new_id, r.ROOT, 0, "", recorded, position, changes, "[]", now)
    row = msgspec.structs.replace(
        loaded.row,
        run_id=new_id,
        status="running",
        revision=0,
        recorded=recorded,
        position=position,
        outcome="null",
        origin=json_text({"run_id": run_id, "entry": recorded}),
        holder="",
        lease_until=0,
        created_at=now,
        updated_at=now,
    )
    entries = yield from entries_steps(run_id, 1, recorded)
    rows = tuple(entry_row(new_id, r.ROOT, each, 0) for each in entries)
    if not (yield r.KeepRun(row, None, step, rows)):
        raise exists(new_id)
    return info_of(row, now)


def compare_steps(run_id: str, other: str, now: int) -> Steps[RunComparison]:
    """Compare logs and states of two runs.

    Raises:
        RunNotFoundError: `RUN_NOT_FOUND`, when one is not there.
    """
    left = yield from as_of_steps(run_id, None)
    right = yield from as_of_steps(other, None)
    counts = (left.row.recorded, right.row.recorded)
    equal, first = 0, (None, None)
    for low in range(1, max(counts) + 1, BATCH):
        one = yield from entries_steps(run_id, low, low + BATCH - 1)
        two = yield from entries_steps(other, low, low + BATCH - 1)
        alike = _alike(one, two)
        equal += alike
        if alike < max(len(one), len(two)):
            first = (_at(one, alike), _at(two, alike))
            break
    return RunComparison(
        runs=(run_id, other),
        same_entries=equal,
        entries=counts,
        first=first,
        changes=tuple(changes_between(left.values, right.values)),
        statuses=(_status(left.row, now), _status(right.row, now)),
    )


def _at(entries: tuple[Entry, ...], place: int) -> Any:
    return entries[place] if place < len(entries) else None


def _alike(one: tuple[Entry, ...], two: tuple[Entry, ...]) -> int:
    """Count the entries that are the same but for their time."""
    alike = 0
    for left, right in zip(one, two, strict=False):
        if not same(untimed(left), untimed(right)):
            break
        alike += 1
    return alike


def untimed(entry: Entry) -> Any:
    """Give what an entry says but for its time."""
    made = msgspec.to_builtins(entry)
    made.pop("ts")
    made["nested"] = [untimed(each) for each in entry.nested]
    return made


def tape_steps(run_id: str) -> Steps[Tape]:
    """Put the tapes of all steps together, those of a sub-process before the step that it is."""
    yield from find_steps(run_id)
    rows: list[tuple[str, int, str]] = yield r.ReadRunTapes(run_id)
    by_path: dict[str, list[tuple[int, str]]] = {}
    for path, number, tape in rows:
        by_path.setdefault(path, []).append((number, tape))
    records: list[Record] = []

    def add(path: str) -> None:
        for number, tape in by_path.get(path, ()):
            add(f"{path}.{number}" if path else f"{number}")
            records.extend(msgspec.convert(parse_json(tape), list[Record]))

    add(r.ROOT)
    return Tape(records=tuple(records))


def delete_steps(run_id: str, now: int, *, force: bool, thorough: bool) -> Steps[Erased]:
    """Delete a run with all that it recorded.

    Returns:
        `complete` when no byte of it is left in the store's files, `pending` while something
        keeps the last ones there.

    Raises:
        RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
        RunHeldError: `RUN_HELD`, while somebody runs it, unless forced.
    """
    row = yield from find_steps(run_id)
    gone = not row.holder or is_gone(row.holder)
    if not (yield r.DropRun(run_id, now, force or gone)):
        raise held(run_id)
    complete = yield q.Checkpoint(thorough=thorough)
    return "complete" if complete else "pending"
