"""Keeping: a run in a store; each step is durable there before it counts in memory.

A step, its entries, the counters and the position are one transaction, which is refused when
somebody else has taken the run over.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from thusfar.codec import json_text, parse_json
from thusfar.drive import Steps
from thusfar.errors import CorruptRecordError, HistoryLimitError, RunExistsError, RunHeldError
from thusfar.process.answering import InStore
from thusfar.process.changes import apply_changes, changes_between
from thusfar.process.entries import Entry
from thusfar.process.log import ActionLog, LogOptions
from thusfar.process.outcomes import Outcome
from thusfar.process.position import Position
from thusfar.process.snapshots import require_same
from thusfar.process.tape import Capture
from thusfar.storage import runs as r
from thusfar.storage.base import Store

if TYPE_CHECKING:
    from thusfar.process.definition import Process
    from thusfar.process.steps import Commit

BATCH: Final = 500  # rows read at a time, so that no more than these are in memory at once
_MILLISECONDS: Final = 1000


@dataclass(slots=True, kw_only=True)
class Keeper:
    """Keeps one run, or a sub-process in it.

    Attributes:
        store: Where.
        run_id: The run.
        holder: Who runs it.
        lease_seconds: How long nobody else may take it over without a sign of life.
        path: As on the rows.
        origin: JSON text: what it was forked from.
        capture: Records the answers between two commits; one for the whole tree.
        revision: The newest step that is stored; `None` before the first.
        crashed: Whether the run was broken off without a word when it was loaded.
    """

    store: Store
    run_id: str
    holder: str
    lease_seconds: float
    path: str = r.ROOT
    origin: str = "null"
    capture: Capture = field(default_factory=Capture)
    revision: int | None = None
    crashed: bool = False
    _values: dict[str, Any] = field(default_factory=dict)
    _seq: int = 0
    _created_at: int = 0

    def child(self) -> Keeper:
        """Make the keeper of the sub-process that the next step is."""
        number = (self.revision or 0) + 1
        return Keeper(
            store=self.store,
            run_id=self.run_id,
            holder=self.holder,
            lease_seconds=self.lease_seconds,
            path=f"{self.path}.{number}" if self.path else f"{number}",
            capture=self.capture,
            crashed=self.crashed,
        )

    def load(self, process: Process) -> Steps[bool]:
        """Put a process where its run stands in the store.

        Returns:
            Whether there is one.

        Raises:
            CorruptRecordError: `CORRUPT_RECORD`, when rows are missing or cannot be read.
            InvalidStateError: `INVALID_STATE`, when it is the run of another process, or stands
                at a task that the process does not have.
        """
        options = process.log.options
        found = yield InStore(self.store, load_steps(self.run_id, self.path, options))
        if found is None:
            return False
        require_same(process.id, found.row)
        process.take_over(found.log, found.position, found.values)
        self.follow(found)
        return True

    def follow(self, found: Loaded) -> None:
        """Go on behind what was loaded."""
        self.revision, self._created_at = found.row.revision, found.row.created_at
        self._values, self._seq = found.values, found.log.recorded
        if self.path == r.ROOT:
            self.crashed = found.row.status == "running"

    def begin(self, process: Process) -> Steps[None]:
        """Store how a run begins.

        Raises:
            RunExistsError: `RUN_EXISTS`, when the id is taken.
            RunHeldError: `RUN_HELD`, when somebody took the run around it over.
        """
        now = self._created_at = self.store.clock()
        position, log = process.position, process.log
        values, recorded = process.state.values_only, log.recorded
        step = self._step(0, "", position, changes_between({}, values), recorded, now)
        row = self._row("running", "null", 0, position, process, recorded, now)
        entries = self._entry_rows(self._unstored(log), 0)
        kept = yield InStore(self.store, one(r.KeepRun(row, None, step, entries)))
        if not kept:
            raise self._held() if self.path else exists(self.run_id)
        self._stored(0, values, recorded)
        log.stored = True

    def commit(self, process: Process, task_id: str, commit: Commit) -> Steps[None]:
        """Store a step, before it counts in memory.

        Raises:
            RunHeldError: `RUN_HELD`, when somebody else took the run over; nothing was stored.
            HistoryLimitError: `HISTORY_LIMIT`, when more entries were added by hand since the step
                before than the log holds.
        """
        assert self.revision is not None
        process.log.require_room(len(commit.entries))
        after = process.position.behind(commit).bare()
        number, now = self.revision + 1, self.store.clock()
        entries = (*self._unstored(process.log), *commit.entries)
        recorded = entries[-1].seq if entries else self._seq
        changes = changes_between(self._values, commit.values)
        step = self._step(number, task_id, after, changes, recorded, now)
        row = self._row("running", "null", number, after, process, recorded, now)
        rows = self._entry_rows(entries, number)
        kept = yield InStore(self.store, one(r.KeepRun(row, self.revision, step, rows)))
        if not kept:
            raise self._held()
        self._stored(number, commit.values, recorded)

    def end(self, process: Process, outcome: Outcome) -> Steps[None]:
        """Store how a run ended, with the entries added by hand since its last step.

        Raises:
            RunHeldError: `RUN_HELD`, when somebody else took it over.
        """
        if self.revision is None:
            return
        self.capture.take()
        now, number = self.store.clock(), self.revision
        entries = self._unstored(process.log)
        recorded = entries[-1].seq if entries else self._seq
        told = json_text(told_outcome(outcome))
        row = self._row(outcome.status, told, number, process.position, process, recorded, now)
        rows = self._entry_rows(entries, number)
        kept = yield InStore(self.store, one(r.KeepRun(row, number, None, rows)))
        if not kept:
            raise self._held()
        self._seq = recorded

    def _stored(self, number: int, values: dict[str, Any], recorded: int) -> None:
        self.revision, self._values, self._seq = number, values, recorded

    def _unstored(self, log: ActionLog) -> tuple[Entry, ...]:
        """List the entries that were added outside of steps since the last time.

        Raises:
            HistoryLimitError: `HISTORY_LIMIT`, when one of them has left memory.
        """
        found = log.since(self._seq)
        if found and found[0].seq != self._seq + 1:
            raise HistoryLimitError(
                "More entries were added between two steps than the log holds.",
                fix="Raise history_max_items, or add fewer entries by hand.",
                history_max_items=log.options.history_max_items,
            )
        return found

    def _step(
        self,
        number: int,
        task_id: str,
        position: Position,
        changes: list[Any],
        recorded: int,
        now: int,
    ) -> r.RunStepRow:
        return r.RunStepRow(
            run_id=self.run_id,
            path=self.path,
            number=number,
            task_id=task_id,
            recorded=recorded,
            position=_text(position),
            changes=_text(changes),
            tape=_text(self.capture.take()),
            created_at=now,
        )

    def _row(
        self,
        status: str,
        outcome: str,
        number: int,
        position: Position,
        process: Process,
        recorded: int,
        now: int,
    ) -> r.RunRow:
        return r.RunRow(
            run_id=self.run_id,
            path=self.path,
            process_id=process.id,
            status=status,
            revision=number,
            recorded=recorded,
            position=_text(position.bare()),
            outcome=outcome,
            origin=self.origin,
            holder=self.holder,
            lease_until=now + int(self.lease_seconds * _MILLISECONDS),
            created_at=self._created_at,
            updated_at=now,
        )

    def _entry_rows(self, entries: Sequence[Entry], number: int) -> tuple[r.RunEntryRow, ...]:
        return tuple(entry_row(self.run_id, self.path, entry, number) for entry in entries)

    def _held(self) -> RunHeldError:
        return held(self.run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a store holds of a run, at one of its steps.

    Attributes:
        row: Its row.
        log: Its log.
        position: Where it stood.
        values: Its state.
    """

    row: r.RunRow
    log: ActionLog
    position: Position
    values: dict[str, Any]


def one(question: Any) -> Steps[Any]:
    """Ask a store one question."""
    return (yield question)


def load_steps(
    run_id: str, path: str, options: LogOptions, *, number: int | None = None
) -> Steps[Loaded | None]:
    """Read a run from a store, a batch at a time; `None` when there is none.

    Args:
        run_id: The run.
        path: As on the rows.
        options: How its log is kept and shown.
        number: The step it is read as of. `None`: the newest.

    Raises:
        CorruptRecordError: `CORRUPT_RECORD`, when rows are missing or cannot be read.
    """
    row: r.RunRow | None = yield r.ReadRun(run_id, path)
    if row is None:
        return None
    last = row.revision if number is None else number
    values: dict[str, Any] = {}
    first = step = None
    for low in range(0, last + 1, BATCH):
        high = min(low + BATCH - 1, last)
        steps: list[r.RunStepRow] = yield r.ReadRunSteps(run_id, low, high, path)
        require_rows(run_id, [each.number for each in steps], low, high)
        for step in steps:
            values = _read(run_id, lambda: apply_changes(values, parse_json(step.changes)))  # noqa: B023
        first = first or steps[0]
    assert first is not None
    assert step is not None
    recorded = row.recorded if number is None else step.recorded
    log = ActionLog(options)
    log.stored = True
    for low in range(1, recorded + 1, BATCH):
        high = min(low + BATCH - 1, recorded)
        entries: list[r.RunEntryRow] = yield r.ReadRunEntries(run_id, low, high, path)
        require_rows(run_id, [each.seq for each in entries], low, high)
        for each in entries:
            log.take(read_entry(each))
    begun = position_of(run_id, first.position)
    position = position_of(run_id, row.position if number is None else step.position)
    position.inputs = begun.inputs
    return Loaded(row=row, log=log, position=position, values=values)


def entry_row(run_id: str, path: str, entry: Entry, number: int) -> r.RunEntryRow:
    """Write the row of an entry."""
    return r.RunEntryRow(run_id, path, entry.seq, number, _text(entry))


def read_entry(row: r.RunEntryRow) -> Entry:
    """Read the row of an entry.

    Raises:
        CorruptRecordError: `CORRUPT_RECORD`, when it cannot be read.
    """
    try:
        return msgspec.json.decode(row.body, type=Entry)
    except msgspec.MsgspecError:  # it may hold half a surrogate pair, which msgspec does not read
        made: Entry = _read(row.run_id, lambda: msgspec.convert(parse_json(row.body), Entry))
        return made


def require_rows(run_id: str, numbers: list[int], low: int, high: int) -> None:
    """Check that rows follow each other.

    Raises:
        CorruptRecordError: `CORRUPT_RECORD`, when one is missing.
    """
    if numbers != list(range(low, high + 1)):
        raise _corrupt(run_id)


def told_outcome(outcome: Outcome) -> dict[str, Any] | None:
    """Say why a run did not finish, in JSON values without content."""
    failure = outcome.failure
    if failure is not None:
        fields = ("code", "message", "fix", "task_id", "step", "attempt", "errors")
        return {name: msgspec.to_builtins(getattr(failure, name)) for name in fields}
    return {"reason": outcome.reason} if outcome.reason else None


def held(run_id: str) -> RunHeldError:
    """Make the error for a run that somebody else runs."""
    return RunHeldError(
        "Somebody else runs this run.",
        fix="Wait until that ends, or take it over: take_over=True.",
        run_id=run_id,
    )


def exists(run_id: str) -> RunExistsError:
    """Make the error for an id that is taken."""
    return RunExistsError(
        "A run of that id is in the store.",
        fix="Resume it, or begin one under another id.",
        run_id=run_id,
    )


def _text(value: Any) -> str:
    """Write JSON text, fast where that is possible; all values were JSON before."""
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return json_text(msgspec.to_builtins(value))


def position_of(run_id: str, text: str) -> Position:
    """Read the position of a row.

    Raises:
        CorruptRecordError: `CORRUPT_RECORD`, when it cannot be read.
    """
    made: Position = _read(run_id, lambda: msgspec.convert(parse_json(text), Position))
    return made


def _read(run_id: str, made: Any) -> Any:
    try:
        return made()
    except (ValueError, TypeError) as error:
        raise _corrupt(run_id) from error


def _corrupt(run_id: str) -> CorruptRecordError:
    return CorruptRecordError(
        "A stored run could not be read.",
        fix="Restore the database, or delete the run.",
        run_id=run_id,
    )
