"""Attempts: a model is asked until an answer is good, or its retries are used up.

Source:
    docs/spec/process.md#answers
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from thusfar.codec import to_json
from thusfar.drive import Steps
from thusfar.errors import NoRouteError, OptionsError, RetriesExhaustedError
from thusfar.models.contracts import GeneratedObject, nothing_of
from thusfar.models.errors import ProviderAnswerError
from thusfar.process.answer_schemas import native_schema
from thusfar.process.answering import CallFunction, CallModel
from thusfar.process.answers import (
    Answer,
    Chosen,
    Outputs,
    Refused,
    Skipped,
    bounded,
    read_answer,
    read_value,
)
from thusfar.process.intercepting import (
    SKIPPED,
    Cancel,
    Skip,
    Use,
    call_of,
    require_decision,
    skipped,
    used,
)
from thusfar.process.loops import LoopCheck
from thusfar.process.moments import moment_of, visible_of
from thusfar.process.outcomes import AnswerRefused, PromptPlanned
from thusfar.process.planning import PlannedPrompt, named, plan_attempt, used_tokens
from thusfar.process.tape import Replay, called
from thusfar.process.tasks import CommitChanges, Task, Transition

if TYPE_CHECKING:
    from thusfar.process.progress import Run

Accepted = tuple[Chosen | Outputs | Skipped, CommitChanges, str]


def accepted_answer(run: Run, task: Task) -> Steps[Accepted]:
    """Ask the model of a task until an answer is good.

    Returns:
        The answer, what the task's hook asks for beside it, and the mark of the answer where loops
        are looked for.

    Raises:
        RetriesExhaustedError: `RETRIES_EXHAUSTED`, when no answer was good.
        NoRouteError: `NO_ROUTE`, when the task can only choose and no transition is open.
        CallLimitError: `CALL_LIMIT`, when the run has no call left.
        TokenLimitError: `TOKEN_LIMIT`, when the run has too few tokens left.
        LoopDetectedError: `LOOP_DETECTED`, when the model goes in a circle and was told so.
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when the prompt does not fit.
    """
    process = run.process
    retries = task.max_retries if task.max_retries is not None else process.limits.max_retries
    loops = LoopCheck(process)
    for attempt in range(1, retries + 2):
        run.attempt = attempt
        visible = _visible(run, task)
        answer: Answer = yield from _one_attempt(run, task, visible)
        changes = CommitChanges()
        if isinstance(answer, Outputs) and task.before_commit is not None:
            answer, changes = yield from _reviewed(run, task, answer)
        answer = loops.checked(task.id, answer, can_retry=attempt <= retries)
        if not isinstance(answer, Refused):
            run.errors = ()
            return answer, changes, loops.mark
        process.pending = None
        run.errors = process.last_errors = answer.errors
        run.tell(
            AnswerRefused(
                process_id=process.id,
                task_id=task.id,
                step=run.step,
                attempt=attempt,
                errors=answer.errors,
            )
        )
    raise RetriesExhaustedError(
        f"The model gave no good answer to the task {task.id} in {retries + 1} attempts.",
        fix="See the errors of the failure; correct the prompt, or raise max_retries.",
        task_id=task.id,
        attempts=retries + 1,
        faults=len(run.errors),
    )


def _visible(run: Run, task: Task) -> tuple[Transition, ...]:
    """List the transitions that are open now; the answer is held to the same list."""
    visible = visible_of(run.process, task)
    if task.chooses_only and not visible:
        raise NoRouteError(
            f"No transition of the task {task.id} was open.",
            fix="Open one for every state that the task can be reached in.",
            task_id=task.id,
        )
    return visible


def _one_attempt(run: Run, task: Task, visible: tuple[Transition, ...]) -> Steps[Answer]:
    """Plan the prompt, send it, and read the answer."""
    process = run.process
    model = run.model_of(task)
    if model is None and not isinstance(process.tape, Replay) and run.interceptor is None:
        raise _no_model(task.id)
    schema = native_schema(model, task, visible)
    with process.adding:  # no entry is added while the log is read
        planned = plan_attempt(
            moment_of(process, task, visible, errors=run.errors),
            model=named(model),
            settings=process.requests,
            attempt=run.attempt,
            schema=schema,
        )
    if run.seconds_left() == 0:
        raise run.too_late()
    run.require_tokens(planned.receipt.request.input_tokens)
    run.take_call()
    run.tell(PromptPlanned(process_id=process.id, receipt=planned.receipt))
    made: Any = yield from _generated(run, model, planned)
    if made.finish == SKIPPED:
        return Skipped()
    if made.finish != "stop":
        return Refused(errors=(f"The answer was not finished ({made.finish}).",))
    if isinstance(made, GeneratedObject):
        return read_value(task, made.value, visible)
    return read_answer(task, made.text, visible)


def _no_model(task_id: str) -> OptionsError:
    return OptionsError(
        f"The task {task_id} had no model.",
        fix="Pass model= to the process or the task.",
        option="model",
    )


def _generated(run: Run, model: Any, planned: PlannedPrompt) -> Steps[Any]:
    """Get the answer: from a tape that is replayed, else from the model."""
    tape = run.process.tape
    if tape is None:
        made = yield from _decided(run, model, planned)
        run.add_tokens(used_tokens(made, planned))
        return made
    call = called(run.process.id, planned, tape.digests)
    if isinstance(tape, Replay):
        made, tokens = tape.answer(call)
    else:
        made = yield from _decided(run, model, planned)
        tokens = used_tokens(made, planned)
        tape.keep_call(call, made, tokens)
    run.add_tokens(tokens)
    return made


def _decided(run: Run, model: Any, planned: PlannedPrompt) -> Steps[Any]:
    """Let an interceptor decide where there is one; what it takes is not the step's time."""
    if (interceptor := run.interceptor) is not None:
        begun = run.process.monotonic()
        call = call_of(planned, run.process.id, run.errors)
        told = yield CallFunction(
            function=interceptor, arguments=(call,), task_id=run.task_id, control=run.control
        )
        run.add_time(run.process.monotonic() - begun)
        decided = require_decision(told)
        if isinstance(decided, Use):
            return used(decided.answer)
        if isinstance(decided, Skip):
            return skipped()
        if isinstance(decided, Cancel):
            run.stop(decided.reason)
    if model is None:
        raise _no_model(run.task_id)
    return (yield from _asked(run, model, planned))


def _asked(run: Run, model: Any, planned: PlannedPrompt) -> Steps[Any]:
    """Ask the model; what it wrote instead of the JSON asked for counts as no answer."""
    try:
        return (yield _call(run, model, planned))
    except ProviderAnswerError as error:
        if planned.schema is None:
            raise
        return nothing_of(error)


def _call(run: Run, model: Any, planned: PlannedPrompt) -> CallModel:
    return CallModel(
        model=model,
        prompt=planned,
        max_output_tokens=run.process.requests.max_output_tokens,
        timeout_seconds=run.seconds_left(),
        too_late=run.too_late,
        call_seconds=run.call_seconds,
        monotonic=run.process.monotonic,
        control=run.control,
    )


def _reviewed(
    run: Run, task: Task, answer: Outputs
) -> Steps[tuple[Outputs | Refused, CommitChanges]]:
    """Let the task's hook look at outputs before anything is stored."""
    process = run.process
    process.pending = []
    assert task.before_commit is not None
    changes = yield run.ask(task.before_commit, to_json(answer.value), process.state.copy())
    if changes is None:
        return answer, CommitChanges()
    if not isinstance(changes, CommitChanges):
        raise OptionsError(
            f"The hook before_commit of {task.id} returned something else than CommitChanges.",
            fix="Return CommitChanges(...) or None.",
            option="before_commit",
        )
    if changes.errors:
        return Refused(errors=bounded(changes.errors)), changes
    if changes.outputs is not msgspec.UNSET:
        return Outputs(value=to_json(changes.outputs)), changes
    return answer, changes
