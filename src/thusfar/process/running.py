"""Running: a run as a generator of questions; each step is committed whole or not at all.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from thusfar.codec import to_json
from thusfar.drive import Steps
from thusfar.errors import (
    HistoryError,
    InputInvalidError,
    InvalidDefinitionError,
    NoRouteError,
    OptionsError,
    OutputInvalidError,
    ProcessRunningError,
    RunExistsError,
    StepLimitError,
)
from thusfar.process.answering import Wait
from thusfar.process.answers import bounded
from thusfar.process.control import Control, RunStopped
from thusfar.process.failing import or_failure_task
from thusfar.process.fingerprints import fingerprint
from thusfar.process.kinds import END
from thusfar.process.outcomes import Outcome, ProcessFailure, StepCommitted, StepStarted
from thusfar.process.paths import RESERVED, reserved
from thusfar.process.progress import Run
from thusfar.process.steps import Commit, step_of
from thusfar.process.tape import Capture, Replay

if TYPE_CHECKING:
    from thusfar.process.definition import Process
    from thusfar.process.keeping import Keeper


def require_idle(process: Process) -> None:
    """Check that a process does not run.

    Raises:
        ProcessRunningError: `PROCESS_RUNNING`, when it does.
    """
    if process.running:
        raise ProcessRunningError(
            "A process was used while it runs.",
            fix="Await its run first, or make another process.",
            process_id=process.id,
        )


def occupy(process: Process) -> None:
    """Let a process run; of several threads that try, one may.

    Raises:
        ProcessRunningError: `PROCESS_RUNNING`, when it runs already.
    """
    with process.adding:
        require_idle(process)
        process.running = True


def run_steps(
    process: Process,
    given: Mapping[str, Any] | None,
    *,
    around: Run | None = None,
    control: Control | None = None,
    tape: Capture | Replay | None = None,
    keeper: Keeper | None = None,
    begun: bool = False,
    most: int | None = None,
) -> Steps[Outcome]:
    """Run a process from where it stands to an end.

    Args:
        process: The process.
        given: Its input.
        around: The run of the process that it is a step of.
        control: What may be asked of it from outside.
        tape: Records it, or answers it.
        keeper: Keeps it in a store.
        begun: Whether it goes on where the process stands, without a new input.
        most: Steps after which it ends early. `None`: it goes to its end.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, when it cannot run at all.
        ProcessRunningError: `PROCESS_RUNNING`, when it runs already.
    """
    require_idle(process)
    if not isinstance(tape, Capture | Replay | None):
        raise OptionsError(
            f"A run was passed a {type(tape).__name__} as its tape.",
            fix="Pass a Capture() to record it, or Replay(tape) to answer it.",
            option="tape",
        )
    _require_sound(process)
    occupy(process)
    if around is not None:
        control, tape = around.control, around.process.tape
    run = Run(
        process=process,
        began=process.monotonic(),
        around=around,
        control=control,
        keeper=keeper,
    )
    process.tape = tape
    try:
        outcome = yield from _to_an_end(run, None if begun else (given,), most)
        if keeper is not None and around is None:
            outcome = yield from _kept_outcome(run, keeper, outcome)
    finally:
        process.running = False
        process.pending = process.tape = None
    return outcome


def _to_an_end(
    run: Run, given: tuple[Mapping[str, Any] | None] | None, most: int | None
) -> Steps[Outcome]:
    """Begin, unless that was done before, and take step after step."""
    process, control, keeper = run.process, run.control, run.keeper
    try:
        if given is not None:
            _begin(run, given[0])
        if run.around is None:
            process.position.graph = fingerprint(process.graph)
        if keeper is not None and keeper.revision is None:
            yield from keeper.begin(process)
        while process.position.at != END:
            if control is not None and control.held:
                yield from _held_up(run, control)
            if control is not None:
                control.require_going()
            if most is not None and process.position.steps >= most:
                return _outcome(run, status="early")
            yield from _one_step(run)
        output = output_of(process, run)
        if isinstance(process.tape, Replay) and run.around is None:
            process.tape.require_end()
    except RunStopped:
        return _stopped(run)
    except RunExistsError:
        raise
    except HistoryError as error:
        return _outcome(run, failure=failure_of(run, error))
    return _outcome(run, output=output)


def _held_up(run: Run, control: Control) -> Steps[None]:
    """Wait until the run may go on; the time it takes is not the run's."""
    begun = run.process.monotonic()
    yield Wait(control=control)
    run.add_time(run.process.monotonic() - begun)


def _kept_outcome(run: Run, keeper: Keeper, outcome: Outcome) -> Steps[Outcome]:
    """Let the store know how a run ended; where it cannot, a run that finished did not."""
    try:
        yield from keeper.end(run.process, outcome)
    except HistoryError as error:
        if outcome.status != "failed":
            return _outcome(run, failure=failure_of(run, error))
    return outcome


def _require_sound(process: Process) -> None:
    stops = [finding for finding in process.check() if finding.stops]
    if stops:
        faults = "fault" if len(stops) == 1 else "faults"
        raise InvalidDefinitionError(
            f"A process had {len(stops)} {faults} in its definition: {stops[0].message}",
            fix="Correct what process.check() lists.",
            process_id=process.id,
            task_id=stops[0].task_id,
        )


def _begin(run: Run, given: Mapping[str, Any] | None) -> None:
    """Take the input; behind an end a new run begins, with the log and the state as they are."""
    process = run.process
    if process.position.at == END:
        process.restart()
    position = process.position
    begun = position.steps > 0 or position.inputs is not None
    if given is None and (process.input_schema is None or begun):
        return
    values = to_json({} if given is None else given)
    if not isinstance(values, Mapping):
        raise _no_input(process, "was no mapping of names to values")
    if process.input_schema is not None:
        values, errors = process.input_schema.check(values)
        if errors:
            run.errors = bounded(errors)
            raise _no_input(process, "did not fit its schema", faults=len(errors))
        if not isinstance(values, Mapping):
            raise _no_input(process, "was made into something else than a mapping by its schema")
    if RESERVED in values:
        raise reserved()
    process.position.inputs = values
    process.state.replace({**process.state.values_only, **values})


def _no_input(process: Process, what: str, **facts: Any) -> InputInvalidError:
    return InputInvalidError(
        f"The input of the process {process.id} {what}.",
        fix="Pass a mapping; where the process has input=, one that fits it.",
        process_id=process.id,
        **facts,
    )


def _one_step(run: Run) -> Steps[None]:
    """Run the task that is next, and commit it."""
    process = run.process
    position, limits = process.position, process.limits
    if position.steps >= limits.max_steps:
        raise StepLimitError(
            f"A run was to take more than {limits.max_steps:,} steps.",
            fix="Raise max_steps, or see why the process does not come to an end.",
            max_steps=limits.max_steps,
        )
    run.begin_step(position.at)
    if run.seconds_left() == 0:
        raise run.too_late()
    run.tell(StepStarted(process_id=process.id, task_id=position.at, step=run.step))
    commit: Commit = yield from or_failure_task(run, _step(run))
    commit = process.numbered(commit)
    if run.keeper is not None:
        yield from run.keeper.commit(process, run.task_id, commit)
    process.commit(commit)
    run.tell(
        StepCommitted(
            process_id=process.id,
            task_id=run.task_id,
            step=run.step,
            entries=commit.entries,
            next_task=commit.go_to,
        )
    )
    if commit.told is not None and not run.isolated:
        yield commit.told


def _step(run: Run) -> Steps[Commit]:
    """Do what the task does, and hold it to the limits."""
    process = run.process
    commit: Commit = yield from step_of(run, process.graph.tasks[run.task_id])
    if run.control is not None:
        run.control.require_going()
    if run.seconds_left() == 0:
        raise run.too_late()
    if isinstance(process.tape, Replay):
        process.tape.require_well(run.place)
    if commit.go_to != END and commit.go_to not in process.graph.tasks:
        raise NoRouteError(
            "A function sent the run to a task that does not exist.",
            fix="Return the id of a task of the process, or END.",
            task_id=run.task_id,
        )
    return commit


def output_of(process: Process, run: Run | None = None) -> Any:
    """Pick and check the output: the declared fields of state, else all of it.

    Args:
        process: The process.
        run: Told what does not fit.

    Raises:
        OutputInvalidError: `OUTPUT_INVALID`, when it does not fit the schema.
    """
    picked = _picked(process)
    schema = process.output_schema
    if schema is None:
        return picked
    made, errors = schema.check(picked)
    if errors:
        if run is not None:
            run.errors = bounded(errors)
        raise OutputInvalidError(
            f"The output of the process {process.id} did not fit its schema.",
            fix="Let a task write what the schema of output= asks for.",
            process_id=process.id,
            faults=len(errors),
        )
    return made


def _picked(process: Process) -> dict[str, Any]:
    values: dict[str, Any] = to_json(process.state.values_only)
    declared = process.output_schema.fields() if process.output_schema is not None else ()
    return {name: values[name] for name in declared if name in values} if declared else values


def finished_outcome(process: Process) -> Outcome:
    """Write the outcome of a process that stands at its end."""
    position = process.position
    return Outcome(
        status="finished",
        output=output_of(process),
        steps=position.steps,
        calls=position.calls,
        tokens=position.tokens,
    )


def _stopped(run: Run) -> Outcome:
    """Write the outcome of a run that was asked to stop."""
    control, position = run.control, run.process.position
    assert control is not None
    assert control.stopped is not None
    return Outcome(
        status=control.stopped,
        output=_picked(run.process) if control.stopped == "early" else None,
        reason=control.reason,
        steps=position.steps,
        calls=position.calls,
        tokens=position.tokens,
    )


def failure_of(run: Run, error: HistoryError) -> ProcessFailure:
    """Say why a run failed, and where."""
    return ProcessFailure(
        code=error.code,
        message=str(error.args[0]),
        fix=error.fix,
        task_id=run.task_id,
        step=run.step,
        attempt=run.attempt,
        errors=run.errors,
        cause=error,
    )


def _outcome(
    run: Run,
    *,
    output: Any = None,
    failure: ProcessFailure | None = None,
    status: Literal["finished", "early"] = "finished",
) -> Outcome:
    position = run.process.position
    return Outcome(
        status=status if failure is None else "failed",
        output=output,
        failure=failure,
        steps=position.steps,
        calls=position.calls,
        tokens=position.tokens,
    )
