"""Resuming: how a stored run begins, and how it goes on behind its last committed step.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from thusfar.drive import Steps
from thusfar.process import shelving
from thusfar.process.answering import InStore
from thusfar.process.control import Control
from thusfar.process.fingerprints import require_unchanged
from thusfar.process.holders import let_go, new_holder
from thusfar.process.keeping import Keeper, exists, position_of
from thusfar.process.outcomes import Outcome
from thusfar.process.running import finished_outcome, require_idle, run_steps
from thusfar.process.snapshots import require_same
from thusfar.storage.base import Store, check_id

if TYPE_CHECKING:
    from thusfar.process.definition import Process

LEASE_STEPS: Final = 2  # time limits of a step that a lease lasts; each committed step renews it
LONGEST_STEP_SECONDS: Final = 3_600.0  # taken for a step without a time limit
_MILLISECONDS: Final = 1000


@contextmanager
def holding() -> Iterator[str]:
    """Name a holder that lives as long as the block."""
    holder = new_holder()
    try:
        yield holder
    finally:
        let_go(holder)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run that is begun or gone on with.

    Attributes:
        store: Where it is kept.
        lease_seconds: As for `Runs`.
        process: What runs.
        run_id: Its id.
        holder: Who runs it.
        control: What may be asked of it from outside.
    """

    store: Store
    lease_seconds: float | None
    process: Process
    run_id: str
    holder: str
    control: Control | None = None

    def _keeper(self) -> Keeper:
        step = self.process.limits.step_timeout_seconds or LONGEST_STEP_SECONDS
        return Keeper(
            store=self.store,
            run_id=check_id(self.run_id, "run id"),
            holder=self.holder,
            lease_seconds=self.lease_seconds or LEASE_STEPS * step,
        )

    def begin(self, given: Mapping[str, Any] | None) -> Steps[Outcome]:
        """Run from where the process stands to an end.

        Raises:
            RunExistsError: `RUN_EXISTS`, when the id is taken.
        """
        require_idle(self.process)
        keeper = self._keeper()
        if (yield InStore(self.store, shelving.row_steps(self.run_id))) is not None:
            raise exists(self.run_id)
        run = run_steps(
            self.process, given, control=self.control, tape=keeper.capture, keeper=keeper
        )
        return (yield from run)

    def resume(self, *, take_over: bool, allow_changed: bool) -> Steps[Outcome]:
        """Go on behind the last committed step; a finished run gives its outcome.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
            RunHeldError: `RUN_HELD`, while somebody else runs it.
            InvalidStateError: `INVALID_STATE`, when it is a run of another process, or tasks lead
                elsewhere and that is not allowed.
        """
        process, store = self.process, self.store
        require_idle(process)
        keeper = self._keeper()
        row = yield InStore(store, shelving.find_steps(self.run_id))
        require_same(process.id, row)
        if row.status == "finished":
            yield from keeper.load(process)
            return finished_outcome(process)
        if not allow_changed:
            stands = position_of(self.run_id, row.position)
            require_unchanged(process.graph, stands, run_id=self.run_id, process_id=process.id)
        now = store.clock()
        until = now + int(keeper.lease_seconds * _MILLISECONDS)
        hold = shelving.hold_steps(
            self.run_id, self.holder, now=now, until=until, take_over=take_over
        )
        yield InStore(store, hold)
        yield from keeper.load(process)  # behind the lease nobody else moves it
        again = run_steps(
            process, None, control=self.control, tape=keeper.capture, keeper=keeper, begun=True
        )
        return (yield from again)
