"""Runs in memory: the specification that the databases are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from thusfar.storage import runs as r

Place = tuple[str, str]


class Runs:
    """The runs of one namespace."""

    def __init__(self) -> None:
        self.rows: dict[Place, r.RunRow] = {}
        self.steps: dict[Place, list[r.RunStepRow]] = {}
        self.entries: dict[Place, list[r.RunEntryRow]] = {}

    def answer(self, question: Any) -> Any:
        """Answer one question."""
        return RUN_ANSWERS[type(question)](self, question)


def _list_runs(runs: Runs, ask: r.ListRuns) -> list[r.RunRow]:
    found = [
        row
        for row in runs.rows.values()
        if row.path == r.ROOT and ask.process_id in (None, row.process_id)
    ]
    found.sort(key=lambda row: (-row.updated_at, row.run_id))
    return found[ask.offset : None if ask.limit is None else ask.offset + ask.limit]


def _read_steps(runs: Runs, ask: r.ReadRunSteps) -> list[r.RunStepRow]:
    steps = runs.steps.get((ask.run_id, ask.path), [])
    shown = steps[max(0, ask.low) : ask.high + 1]
    return [msgspec.structs.replace(step, tape="") for step in shown]


def _read_tapes(runs: Runs, ask: r.ReadRunTapes) -> list[tuple[str, int, str]]:
    return sorted(
        (step.path, step.number, step.tape)
        for (run_id, _), steps in runs.steps.items()
        for step in steps
        if run_id == ask.run_id
    )


def _read_entries(runs: Runs, ask: r.ReadRunEntries) -> list[r.RunEntryRow]:
    entries = runs.entries.get((ask.run_id, ask.path), [])
    return entries[max(0, ask.low - 1) : ask.high]


def _hold_run(runs: Runs, ask: r.HoldRun) -> r.RunRow | None:
    place = (ask.run_id, r.ROOT)
    row = runs.rows.get(place)
    if row is None:
        return None
    if row.holder in ("", ask.holder, ask.instead_of) or row.lease_until <= ask.now:
        row = msgspec.structs.replace(row, holder=ask.holder, lease_until=ask.until)
        runs.rows[place] = row
    return row


def _keep_run(runs: Runs, ask: r.KeepRun) -> bool:
    row, place, root = ask.row, (ask.row.run_id, ask.row.path), (ask.row.run_id, r.ROOT)
    known, held = runs.rows.get(place), runs.rows.get(root)
    if (ask.before is None) != (known is None) or (known and known.revision != ask.before):
        return False
    if (known or row.path != r.ROOT) and (held is None or held.holder != row.holder):
        return False
    if row.path != r.ROOT and held is not None:
        runs.rows[root] = msgspec.structs.replace(
            held, lease_until=row.lease_until, updated_at=row.updated_at
        )
    if row.status != "running" and known is not None:
        row = msgspec.structs.replace(row, holder="", lease_until=0)
    if known is not None:
        row = msgspec.structs.replace(
            row, process_id=known.process_id, origin=known.origin, created_at=known.created_at
        )
    runs.rows[place] = row
    if ask.step is not None:
        runs.steps.setdefault(place, []).append(ask.step)
    runs.entries.setdefault(place, []).extend(ask.entries)
    return True


def _drop_run(runs: Runs, ask: r.DropRun) -> bool:
    row = runs.rows.get((ask.run_id, r.ROOT))
    if row is None or not (row.holder == "" or row.lease_until <= ask.now or ask.force):
        return False
    tables: tuple[dict[Place, Any], ...] = (runs.rows, runs.steps, runs.entries)
    for table in tables:
        for place in [place for place in table if place[0] == ask.run_id]:
            del table[place]
    return True


RUN_ANSWERS: Final[dict[type, Callable[[Runs, Any], Any]]] = {
    r.ReadRun: lambda runs, ask: runs.rows.get((ask.run_id, ask.path)),
    r.ListRuns: _list_runs,
    r.ReadRunSteps: _read_steps,
    r.ReadRunTapes: _read_tapes,
    r.ReadRunEntries: _read_entries,
    r.HoldRun: _hold_run,
    r.KeepRun: _keep_run,
    r.DropRun: _drop_run,
}
