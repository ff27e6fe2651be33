"""Failing: where a run goes on behind a task that failed, where its author said so.

Source:
    docs/spec/process.md#routing
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from thusfar.drive import Steps
from thusfar.errors import (
    CallLimitError,
    HistoryError,
    HistoryLimitError,
    InputInvalidError,
    InvalidStateError,
    InvalidTemplateError,
    LoopDetectedError,
    NoRouteError,
    OutputInvalidError,
    ProviderError,
    RequestTooLargeError,
    RetriesExhaustedError,
    StepLimitError,
    StepTimeoutError,
    TaskFailedError,
    TokenLimitError,
    TranscriptError,
)
from thusfar.process.outcomes import StepFailed
from thusfar.process.tape import Capture, TapedFailure

if TYPE_CHECKING:
    from thusfar.process.progress import Run
    from thusfar.process.steps import Commit

# What one task can fail with. Limits of a run, storage, cancelling, replays and what is wrong with
# the definition end the run.
TAKEN_OVER: Final = (
    InputInvalidError,
    InvalidStateError,
    InvalidTemplateError,
    LoopDetectedError,
    NoRouteError,
    OutputInvalidError,
    ProviderError,
    RequestTooLargeError,
    RetriesExhaustedError,
    StepTimeoutError,
    TaskFailedError,
    TranscriptError,
)
# Limits of a sub-process, which are no limits of the run around it.
LIMITS: Final = (CallLimitError, HistoryLimitError, StepLimitError, TokenLimitError)


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
        target = taking_over(run)
        if target is None or run.limited_by(error):
            raise
        failure = told_failure(run, error, target)
    process.pending = None
    return Commit(
        values=process.state.values_only,
        entries=(),
        go_to=target,
        callers=process.position.callers,
        failure=failure,
    )


def _note(run: Run, error: HistoryError) -> None:
    """Let a tape know, so that a replay fails here too, whatever it was that failed."""
    tape, place = run.process.tape, run.place
    if isinstance(tape, Capture):
        tape.keep_failure(TapedFailure(place=place, code=error.code, message=str(error.args[0])))
    elif tape is not None:
        tape.pass_failure(place)


def behind_child(run: Run, error: HistoryError) -> str:
    """Name the task that takes over behind a sub-process that failed.

    Raises:
        HistoryError: What it failed with, where nothing takes that over.
    """
    own = isinstance(error, (*LIMITS, *TAKEN_OVER)) and not run.limited_by(error)
    target = taking_over(run) if own else None
    if target is None:
        raise error
    return target


def taking_over(run: Run) -> str | None:
    """Name the task that takes over where the task that runs failed; `None`: the run fails."""
    process = run.process
    target = process.graph.behind_failure(process.graph.tasks[run.task_id])
    insisting = process.position.failure is not None and target == run.task_id
    return None if run.alone or insisting else target


def told_failure(run: Run, error: HistoryError, target: str) -> dict[str, Any]:
    """Tell that a step failed, and say so as templates of the next task see it under `failure`."""
    run.tell(
        StepFailed(
            process_id=run.process.id,
            task_id=run.task_id,
            step=run.step,
            code=error.code,
            next_task=target,
        )
    )
    _note(run, error)
    return {
        "code": error.code,
        "message": str(error.args[0]),
        "task_id": run.task_id,
        "errors": list(run.errors),
    }
