"""Isolating: one task alone, as a test of it runs it; nothing of the process is changed.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from thusfar.codec import to_json
from thusfar.drive import Steps
from thusfar.errors import HistoryError, OptionsError
from thusfar.process.control import RunStopped
from thusfar.process.entries import Entry
from thusfar.process.outcomes import ProcessFailure
from thusfar.process.position import Position
from thusfar.process.progress import Run
from thusfar.process.state import State
from thusfar.process.steps import step_of

if TYPE_CHECKING:
    from thusfar.process.definition import Process


class TaskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one task would have done.

    Attributes:
        state: The state as the task would have left it; where it failed, as it was.
        entries: What would have been recorded.
        next_task: Where the run would have gone on, or `END`; empty where it failed.
        failure: Why it failed; `None` when it did not.
        calls: Model calls made.
        tokens: Tokens of these calls.
    """

    state: dict[str, Any]
    entries: tuple[Entry, ...] = ()
    next_task: str = ""
    failure: ProcessFailure | None = None
    calls: int = 0
    tokens: int = 0


def task_steps(
    process: Process, task_id: str, state: Mapping[str, Any] | None, given: Any
) -> Steps[TaskOutcome]:
    """Run one task, without routing and without a commit; see `Process.run_task`."""
    from thusfar.process.running import failure_of, occupy, require_idle

    require_idle(process)
    task = process.graph.tasks.get(task_id) if isinstance(task_id, str) else None
    if task is None:
        raise OptionsError(
            "A process has no task of that id.",
            fix=f"Use one of {', '.join(process.graph.tasks)}.",
            option="task_id",
        )
    values = process.state.values_only if state is None else to_json(state)
    working = State(values, process.log.mirror)
    occupy(process)
    errors = process.last_errors
    was = process.swap(Position(at=task_id, inputs=to_json(given)), working)
    run = Run(process=process, began=process.monotonic(), alone=True)
    run.begin_step(task_id)
    try:
        commit = yield from step_of(run, task)
        made = TaskOutcome(
            state=to_json(commit.values), entries=commit.entries, next_task=commit.go_to
        )
    except RunStopped:
        made = TaskOutcome(state=to_json(working.values_only))
    except HistoryError as error:
        made = TaskOutcome(state=to_json(working.values_only), failure=failure_of(run, error))
    finally:
        used = process.position
        process.running, process.pending, process.last_errors = False, None, errors
        process.swap(*was)
    return msgspec.structs.replace(made, calls=used.calls, tokens=used.tokens)
