"""Replaying: the committed steps of a stored run again, in memory, from its tape.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thusfar.drive import Steps
from thusfar.process.answering import InStore
from thusfar.process.changes import same
from thusfar.process.log import ActionLog
from thusfar.process.outcomes import Outcome
from thusfar.process.run_values import ReplayedRun
from thusfar.process.running import require_idle, run_steps
from thusfar.process.shelving import as_of_steps, tape_steps
from thusfar.process.snapshots import require_same
from thusfar.process.tape import PromptMatching, Replay
from thusfar.storage.base import Store

if TYPE_CHECKING:
    from thusfar.process.definition import Process


def replay_steps(
    store: Store, process: Process, run_id: str, prompts: PromptMatching
) -> Steps[ReplayedRun]:
    """Run a stored run again from its tape; see `Runs.replay`."""
    require_idle(process)
    options = process.log.options
    stored = yield InStore(store, as_of_steps(run_id, None, options))
    require_same(process.id, stored.row)
    began = yield InStore(store, as_of_steps(run_id, 0, options))
    tape = Replay((yield InStore(store, tape_steps(run_id))), prompts=prompts)
    before = began.position.steps
    began.log.stored = False
    process.take_over(began.log, began.position, began.values)
    most = before + stored.row.revision
    outcome: Outcome = yield from run_steps(process, None, tape=tape, begun=True, most=most)
    failure = outcome.failure
    return ReplayedRun(
        steps=process.position.steps - before,
        same_log=_same_log(stored.log, process.log),
        same_state=same(process.state.values_only, stored.values),
        changed_prompts=tuple(tape.changed),
        failure=None if failure is None else (failure.code, failure.message),
    )


def _same_log(stored: ActionLog, made: ActionLog) -> bool:
    return (
        stored.recorded == made.recorded
        and tuple(stored.history) == tuple(made.history)
        and stored.older_lines() == made.older_lines()
    )
