"""Outcomes: how a run ended, and the events on the way.

Source:
    docs/spec/process.md#outcomes
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from thusfar.errors import HistoryError, RunCancelledError
from thusfar.process.entries import Entry
from thusfar.process.planning import StepReceipt


class ProcessFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run failed.

    Attributes:
        code: Code of the error.
        message: What happened, in the past tense.
        fix: What to do.
        task_id: The task at which it happened; empty before the first.
        step: The step, from 1; 0 before the first.
        attempt: The attempt, from 1; 0 where no model was asked.
        errors: Complaints about the last answer.
        cause: The error.
    """

    code: str
    message: str
    fix: str
    task_id: str = ""
    step: int = 0
    attempt: int = 0
    errors: tuple[str, ...] = ()
    cause: HistoryError


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended.

    Attributes:
        status: `finished`, `failed`, `cancelled`, or `early` where it was asked to finish early.
        output: The output of a run that finished: the fields that its schema declares, else the
            whole state. Of one that ended `early` the same as it was by then, unchecked. `None`
            for the others.
        failure: Why it failed; `None` when it did not.
        reason: Why it was cancelled or asked to finish early.
        steps: Steps committed in this run.
        calls: Model calls made in this run, those for refused answers included.
        tokens: Tokens of these calls, input and output.
    """

    status: Literal["finished", "failed", "cancelled", "early"]
    output: Any = None
    failure: ProcessFailure | None = None
    reason: str = ""
    steps: int = 0
    calls: int = 0
    tokens: int = 0

    def require(self) -> Any:
        """Give the output, or raise why there is none.

        Raises:
            HistoryError: The error of the failure, with its code.
            RunCancelledError: `RUN_CANCELLED`, when the run was cancelled.
        """
        if self.status == "cancelled":
            raise RunCancelledError(
                "A run was cancelled, and has no output.",
                fix="Run the process again; it goes on where it stopped.",
            )
        if self.failure is not None:
            raise self.failure.cause
        return self.output


class StepStarted(msgspec.Struct, frozen=True, kw_only=True):
    """A step begins.

    Attributes:
        process_id: The process.
        task_id: The task.
        step: The step, from 1.
    """

    process_id: str
    task_id: str
    step: int


class PromptPlanned(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt fits and is about to be sent.

    Attributes:
        process_id: The process.
        receipt: What it holds.
    """

    process_id: str
    receipt: StepReceipt


class AnswerRefused(msgspec.Struct, frozen=True, kw_only=True):
    """An answer was not good.

    Attributes:
        process_id: The process.
        task_id: The task.
        step: The step, from 1.
        attempt: The attempt, from 1.
        errors: Why.
    """

    process_id: str
    task_id: str
    step: int
    attempt: int
    errors: tuple[str, ...]


class StepCommitted(msgspec.Struct, frozen=True, kw_only=True):
    """A step is done: state, log and position moved together.

    Attributes:
        process_id: The process.
        task_id: The task.
        step: The step, from 1.
        entries: What was recorded.
        next_task: Where the run goes on, or `END`.
    """

    process_id: str
    task_id: str
    step: int
    entries: tuple[Entry, ...]
    next_task: str


class StepFailed(msgspec.Struct, frozen=True, kw_only=True):
    """A step failed, and its failure task takes over; state and log are as they were before.

    Attributes:
        process_id: The process.
        task_id: The task.
        step: The step, from 1.
        code: Code of what it failed with.
        next_task: Where the run goes on.
    """

    process_id: str
    task_id: str
    step: int
    code: str
    next_task: str


ProcessEvent = StepStarted | PromptPlanned | AnswerRefused | StepFailed | StepCommitted
Listener = Callable[[ProcessEvent], None]
