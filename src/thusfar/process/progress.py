"""Progress: a run while it goes on, and what it has used up, with the runs around it.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thusfar.errors import CallLimitError, HistoryError, StepTimeoutError, TokenLimitError
from thusfar.process.answering import CallFunction
from thusfar.process.control import Control, RunStopped
from thusfar.process.entries import Entry
from thusfar.process.tasks import Task

if TYPE_CHECKING:
    from thusfar.process.definition import Process
    from thusfar.process.intercepting import Interceptor
    from thusfar.process.keeping import Keeper
    from thusfar.process.outcomes import ProcessEvent
    from thusfar.process.planning import UsedTokens


@dataclass(slots=True, kw_only=True)
class Run:
    """A run in progress.

    Attributes:
        process: What runs.
        began: When, on the process's clock for durations.
        around: The run of the process around it.
        task_id: The task that runs.
        step: The step, from 1.
        attempt: The attempt; 0 where no model was asked.
        errors: Complaints about the last answer.
        step_began: When the step began.
        control: What was asked of it from outside; `None` where nothing can be.
        keeper: Keeps it in a store. `None`: it is in memory only.
        limit: The error of a limit of its own that was reached.
        late: The error of its step, where that took too long.
        alone: Whether it is one task alone, behind which nothing goes on.
    """

    process: Process
    began: float
    around: Run | None = None
    task_id: str = ""
    step: int = 0
    attempt: int = 0
    errors: tuple[str, ...] = ()
    step_began: float = 0.0
    control: Control | None = None
    keeper: Keeper | None = None
    limit: HistoryError | None = None
    late: HistoryError | None = None
    alone: bool = False

    def limited_by(self, error: HistoryError) -> bool:
        """Tell whether an error is a limit of this run, or of those around it and their steps."""
        return error is self.limit or (self.around is not None and self.around._ended_by(error))

    def _ended_by(self, error: HistoryError) -> bool:
        return error is self.late or self.limited_by(error)

    @property
    def isolated(self) -> bool:
        """Whether it is one task alone, or inside of one: nobody is told of it."""
        return self.alone or (self.around is not None and self.around.isolated)

    @property
    def place(self) -> str:
        """Where the step is in the run, as tapes name it."""
        return f"{self.process.id}:{self.task_id}:{self.step}"

    def begin_step(self, task_id: str) -> None:
        """Note that a step begins."""
        self.task_id = task_id
        self.step = self.process.position.steps + 1
        self.attempt, self.errors = 0, ()
        self.step_began = self.process.monotonic()

    def seconds_left(self) -> float | None:
        """Tell how long the step may still take; 0 when it is over, `None` when any time."""
        known = [left for _, _, left in self._times()]
        return max(0.0, min(known)) if known else None

    def _times(self) -> Iterator[tuple[Run, str, float]]:
        """List the limits of time, the outermost first: whose, which, and the seconds left."""
        if self.around is not None:
            yield from self.around._times()
        now, limits = self.process.monotonic(), self.process.limits
        for name, most, began in (
            ("run_timeout_seconds", limits.run_timeout_seconds, self.began),
            ("step_timeout_seconds", limits.step_timeout_seconds, self.step_began),
        ):
            if most is not None:
                yield self, name, began + most - now

    def too_late(self) -> StepTimeoutError:
        """Make the error for the limit of time that is over; of several, for the outermost."""
        times = [*self._times()]
        over = [each for each in times if each[2] <= 0]
        run, name, _ = over[0] if over else min(times, key=lambda each: each[2])
        seconds: float = getattr(run.process.limits, name)
        whole = name == "run_timeout_seconds"
        facts: dict[str, Any] = {"process_id": run.process.id, name: seconds}
        error = StepTimeoutError(
            f"A {'run' if whole else 'step'} took longer than the {seconds:,g} s it was given.",
            fix=f"Raise {name}, or make the {'run' if whole else 'task'} smaller.",
            **facts,
        )
        if whole:
            run.limit = error
        else:
            run.late = error
        return error

    @property
    def call_seconds(self) -> float | None:
        """How long one model call may take, by the limits of this run and those around it."""
        around = self.around.call_seconds if self.around is not None else None
        own = self.process.limits.call_timeout_seconds
        known = [seconds for seconds in (own, around) if seconds is not None]
        return min(known) if known else None

    def take_call(self) -> None:
        """Count a model call, here and in the runs around it.

        Raises:
            CallLimitError: `CALL_LIMIT`, when it would be one too many; none was counted here.
        """
        position, most = self.process.position, self.process.limits.max_calls
        if most is not None and position.calls >= most:
            self.limit = CallLimitError(
                f"A run was to make more than {most:,} model calls.",
                fix="Raise max_calls, or allow fewer retries.",
                max_calls=most,
            )
            raise self.limit
        if self.around is not None:
            self.around.take_call()
        position.calls += 1

    def require_tokens(self, planned: int) -> None:
        """Check that a prompt may be sent, here and in the runs around it.

        Raises:
            TokenLimitError: `TOKEN_LIMIT`, when it would be more tokens than the run may use.
        """
        position, most = self.process.position, self.process.limits.max_tokens
        if most is not None and position.tokens + planned > most:
            self.limit = TokenLimitError(
                f"A run was to use more than {most:,} tokens.",
                fix="Raise max_tokens, or make prompts and answers smaller.",
                max_tokens=most,
                used_tokens=position.tokens,
                prompt_tokens=planned,
            )
            raise self.limit
        if self.around is not None:
            self.around.require_tokens(planned)

    def add_calls(self, calls: int, tokens: int, output_tokens: int) -> None:
        """Count calls that were made before, here and in the runs around it."""
        position = self.process.position
        position.calls += calls
        position.tokens += tokens
        position.output_tokens += output_tokens
        if self.around is not None:
            self.around.add_calls(calls, tokens, output_tokens)

    def add_tokens(self, used: UsedTokens) -> None:
        """Count the tokens of a call, here and in the runs around it."""
        self.add_calls(0, used.input + used.output, used.output)

    @property
    def interceptor(self) -> Interceptor | None:
        """The interceptor of the task that runs, else of the process, else of the one around it."""
        own = getattr(self.process.graph.tasks.get(self.task_id), "interceptor", None)
        if own is None:
            own = self.process.interceptor
        return own if own is not None or self.around is None else self.around.interceptor

    def add_time(self, seconds: float) -> None:
        """Give the step, the run and those around it this much longer."""
        self.began += seconds
        self.step_began += seconds
        if self.around is not None:
            self.around.add_time(seconds)

    def stop(self, reason: str) -> None:
        """End the run as `cancelled`, and those around it.

        Raises:
            RunStopped: Always.
        """
        control = self.control or Control()
        control.stop("cancelled", reason)
        run: Run | None = self
        while run is not None:
            run.control, run = control, run.around
        raise RunStopped

    def model_of(self, task: Task) -> Any:
        """Find the model of a task: its own, the process's, or that of the process around it."""
        if task.model is not None:
            return task.model
        if self.process.model is not None or self.around is None:
            return self.process.model
        return self.around.model_of(task)

    def ask(self, function: Callable[..., Any], *arguments: Any) -> CallFunction:
        """Ask for a call of a function of the task that runs, within the time of its step."""
        return CallFunction(
            function=function,
            arguments=arguments,
            task_id=self.task_id,
            timeout_seconds=self.seconds_left(),
            too_late=self.too_late,
            control=self.control,
        )

    def tell(self, event: ProcessEvent) -> None:
        """Tell the listener."""
        if self.isolated:
            return
        if self.process.on_event is not None:
            self.process.on_event(event)
        for listener in self.control.listeners if self.control is not None else ():
            listener(event)

    def entry(self, **fields: Any) -> Entry:
        """Make the entry of this step."""
        waiting = self.process.pending or ()
        seq = self.process.log.next_seq + len(waiting)
        return Entry(seq=seq, ts=self.process.now(), task_id=self.task_id, step=self.step, **fields)
