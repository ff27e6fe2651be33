"""Position: where a run stands, and how much it may use.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from thusfar._numbers import require_seconds, require_whole
from thusfar.errors import OptionsError

if TYPE_CHECKING:
    from thusfar.process.steps import Commit

MAX_RETRIES: Final = 3
MAX_STEPS: Final = 100
STEP_TIMEOUT_SECONDS: Final = 120.0
SEEN_STEPS: Final = 100  # answers that are compared with a new one, so that a position stays small


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """How much a run may use.

    Attributes:
        max_retries: How often a task may be asked again after a refused answer; at least 0.
        max_steps: Most steps, of every kind of task.
        max_calls: Most model calls. `None`: not limited.
        max_tokens: Most tokens of all calls, input and output, as the model reports them; what it
            does not report is counted. A call whose prompt would exceed it is not made. `None`:
            not limited.
        loop_threshold: How often a model may give a task the same answer in the same state, within
            the newest 100 answers; at least 2. At the next time it is told so once, and if it
            insists the run fails. `None`: any number of times.
        call_timeout_seconds: Longest time of one model call. One that takes longer counts as a
            refused answer, so that the model is asked again. `None`: not limited.
        step_timeout_seconds: Longest time of one step with all its attempts. `None`: not limited.
        run_timeout_seconds: Longest time of a run. `None`: not limited.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for any value outside its range.
    """

    max_retries: int = MAX_RETRIES
    max_steps: int = MAX_STEPS
    max_calls: int | None = None
    max_tokens: int | None = None
    loop_threshold: int | None = None
    call_timeout_seconds: float | None = None
    step_timeout_seconds: float | None = STEP_TIMEOUT_SECONDS
    run_timeout_seconds: float | None = None

    def __post_init__(self) -> None:
        require_whole("Process()", "max_retries", self.max_retries, least=0)
        require_whole("Process()", "max_steps", self.max_steps)
        for name in ("max_retries", "max_steps"):
            if getattr(self, name) is None:
                raise OptionsError(
                    f"Process() got None for {name}.",
                    fix=f"Pass a whole number for {name}; there is always such a limit.",
                    option=name,
                )
        require_whole("Process()", "max_calls", self.max_calls)
        require_whole("Process()", "max_tokens", self.max_tokens)
        require_whole("Process()", "loop_threshold", self.loop_threshold, least=2)
        for name in ("call_timeout_seconds", "step_timeout_seconds", "run_timeout_seconds"):
            if (value := getattr(self, name)) is not None:
                require_seconds("Process()", name, value)


@dataclass(slots=True, kw_only=True)
class Position:
    """Where a process stands; it moves with each commit.

    Attributes:
        at: The task that runs next; `END` behind the last.
        callers: Tasks whose transition led here, the newest last.
        steps: Steps committed in this run.
        calls: Model calls made in this run.
        tokens: Tokens of these calls, input and output.
        output_tokens: The part of them that models wrote.
        seen: Digests of the newest answers, each with its task and the state, oldest first; empty
            where loops are not looked for.
        failure: What the step before failed with, as templates see it; `None` where it did not.
        inputs: Input of the run.
        graph: Fingerprint of the graph that the run goes by; empty before a run and inside of one.
    """

    at: str
    callers: tuple[str, ...] = ()
    steps: int = 0
    calls: int = 0
    tokens: int = 0
    output_tokens: int = 0
    seen: tuple[str, ...] = ()
    failure: Any = None
    inputs: Any = field(default=None, repr=False)
    graph: str = ""

    def behind(self, commit: Commit) -> Position:
        """Tell where the process stands behind a step."""
        seen = (*self.seen, commit.mark)[-SEEN_STEPS:] if commit.mark else self.seen
        return replace(
            self,
            at=commit.go_to,
            callers=commit.callers,
            steps=self.steps + 1,
            seen=seen,
            failure=commit.failure,
        )

    def bare(self) -> Position:
        """The same without the input, for rows that have it elsewhere."""
        return replace(self, inputs=None)
