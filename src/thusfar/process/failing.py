"""Failing: where a run goes on behind a task that failed, where its author said so.

Source:
    docs/spec/process.md#routing
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from thusfar.drive import Steps
from thusfar.errors import (
    HistoryError,
    InvalidStateError,
    LoopDetectedError,
    NoRouteError,
    ProviderError,
    RequestTooLargeError,
    RetriesExhaustedError,
    StepTimeoutError,
    TaskFailedError,
)
from thusfar.process.outcomes import StepFailed

if TYPE_CHECKING:
    from thusfar.process.steps import Commit, Run

# What one task can fail with. Limits of a run, storage, cancelling and replays end the run.
TAKEN_OVER: Final = (
    InvalidStateError,
    LoopDetectedError,
    NoRouteError,
    ProviderError,
    RequestTooLargeError,
    RetriesExhaustedError,
    StepTimeoutError,
    TaskFailedError,
)


def or_failure_task(run: Run, steps: Steps[Commit]) -> Steps[Commit]:
    """Take a step, or go to the task that takes failures over, with state and log as they were.

    Raises:
        HistoryError: What it failed with, where nothing takes that over.
    """
    from thusfar.process.steps import Commit

    process = run.process
    try:
        return (yield from steps)
    except TAKEN_OVER as error:
        task = process.graph.tasks[run.task_id]
        target = process.graph.behind_failure(task)
        insisting = process.position.failure is not None and target == run.task_id
        if target is None or insisting:
            raise
        failure = told_failure(run, error)
    process.pending = None
    run.tell(
        StepFailed(
            process_id=process.id,
            task_id=run.task_id,
            step=run.step,
            code=failure["code"],
            next_task=target,
        )
    )
    return Commit(
        values=process.state.values_only,
        entries=(),
        go_to=target,
        callers=process.position.callers,
        failure=failure,
    )


def told_failure(run: Run, error: HistoryError) -> dict[str, Any]:
    """Say what failed, as templates of the next task see it under `failure`."""
    return {
        "code": error.code,
        "message": str(error.args[0]),
        "task_id": run.task_id,
        "errors": list(run.errors),
    }
