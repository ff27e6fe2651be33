"""Runs of processes: what a store keeps of them, and what may be asked about them.

A run is one row with the steps it committed and the entries they recorded. A sub-process keeps
rows of its own under the path of the step that it is: the number of that step, behind those of the
steps around it.

Source:
    docs/spec/storage.md#runs
"""

from __future__ import annotations

from typing import Final

import msgspec

ROOT: Final = ""  # the path of the run itself


class RunRow(msgspec.Struct, frozen=True, gc=False):
    """A run as it stands, or a sub-process in it.

    Attributes:
        run_id: The caller's id, unique within the namespace.
        path: `ROOT`, or the numbers of the steps that the sub-process is, joined by dots.
        process_id: The process.
        status: `running`, `finished`, `failed`, `cancelled` or `early`.
        revision: Steps committed in all; the number of the newest `RunStepRow`.
        recorded: Entries recorded in all.
        position: JSON text: where it stands, with its counters and its input.
        outcome: JSON text: why it failed or was stopped; `null` where it was not.
        origin: JSON text: the run and the entry it was forked from; `null` where it was not.
        holder: Who runs it; empty while nobody does. Kept at the root only.
        lease_until: Until when nobody else may. Unit: milliseconds since 1970, UTC.
        created_at: When it began. Unit: as above.
        updated_at: When it last changed. Unit: as above.
    """

    run_id: str
    path: str
    process_id: str
    status: str
    revision: int
    recorded: int
    position: str
    outcome: str
    origin: str
    holder: str
    lease_until: int
    created_at: int
    updated_at: int


class RunStepRow(msgspec.Struct, frozen=True, gc=False):
    """One committed step; number 0 is how the run began.

    Attributes:
        run_id: The run.
        path: As on the run.
        number: From 0, without gaps.
        task_id: The task; empty at number 0.
        recorded: Entries recorded up to and with it.
        position: JSON text: where the run stood behind it.
        changes: JSON text: what it changed of the state.
        tape: JSON text: the answers and times it was made from.
        created_at: When it was committed. Unit: milliseconds since 1970, UTC.
    """

    run_id: str
    path: str
    number: int
    task_id: str
    recorded: int
    position: str
    changes: str
    tape: str
    created_at: int


class RunEntryRow(msgspec.Struct, frozen=True, gc=False):
    """One entry of a log.

    Attributes:
        run_id: The run.
        path: As on the run.
        seq: Its number, from 1, without gaps.
        number: The step it was committed with.
        body: The entry as JSON text.
    """

    run_id: str
    path: str
    seq: int
    number: int
    body: str


class _Question(msgspec.Struct, frozen=True, gc=False):
    """Base of the questions about runs."""


class ReadRun(_Question, frozen=True):
    """The row of a run, or `None`."""

    run_id: str
    path: str = ROOT


class ListRuns(_Question, frozen=True):
    """Rows of runs, newest change first; those of sub-processes are left out.

    Attributes:
        process_id: Only runs of this process. `None`: of any.
        limit: At most so many. `None`: all.
        offset: Skip so many.
    """

    process_id: str | None = None
    limit: int | None = None
    offset: int = 0


class ReadRunSteps(_Question, frozen=True):
    """Steps of a run whose numbers lie in `low … high`, oldest first; their tapes are empty."""

    run_id: str
    low: int
    high: int
    path: str = ROOT


class ReadRunTapes(_Question, frozen=True):
    """Path, number and tape of every step of a run and its sub-processes, as tuples."""

    run_id: str


class ReadRunEntries(_Question, frozen=True):
    """Entries of a run whose numbers lie in `low … high`, oldest first."""

    run_id: str
    low: int
    high: int
    path: str = ROOT


class HoldRun(_Question, frozen=True):
    """Take the lease of a run where it is free, and answer with the row that holds, or `None`.

    Attributes:
        run_id: The run.
        holder: Who wants it.
        now: Leases that end by now are free. Unit: milliseconds since 1970, UTC.
        until: Until when it is wanted. Unit: as above.
        instead_of: A holder whose lease is free whatever its time; empty for none.
    """

    run_id: str
    holder: str
    now: int
    until: int
    instead_of: str = ""


class KeepRun(_Question, frozen=True):
    """Store how a run stands now, with a step and its entries, whole or not at all.

    `False`, and nothing stored, when it is not held by the row's holder any more, when it does not
    stand at `before`, or when it is new and exists already. The root's lease is renewed with it.

    Attributes:
        row: The row; for a sub-process, holder and lease are those of the root.
        before: The revision it builds on. `None`: it is new.
        step: The step. `None`: only the row changes.
        entries: What was recorded since the last time.
    """

    row: RunRow
    before: int | None
    step: RunStepRow | None = None
    entries: tuple[RunEntryRow, ...] = ()


class DropRun(_Question, frozen=True):
    """Delete everything of a run; `False` when there is none, or when somebody holds it.

    Attributes:
        run_id: The run.
        now: As for `HoldRun`.
        force: Whether it goes although somebody holds it.
    """

    run_id: str
    now: int
    force: bool = False
