"""Steps: what one task of each kind does, up to the commit that would carry it out.

Nothing here changes the process: a step ends in a `Commit`, or in an error and nothing.

Source:
    docs/spec/process.md#steps
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from thusfar.codec import json_text, to_json
from thusfar.drive import Steps
from thusfar.errors import InvalidDefinitionError, InvalidStateError
from thusfar.process.answering import CallFunction
from thusfar.process.answers import Chosen, Skipped
from thusfar.process.attempts import accepted_answer
from thusfar.process.control import RunStopped
from thusfar.process.criteria import open_for
from thusfar.process.entries import Entry
from thusfar.process.failing import behind_child, told_failure
from thusfar.process.paths import apply_updates
from thusfar.process.progress import Run
from thusfar.process.routing import called_from
from thusfar.process.state import State
from thusfar.process.tasks import (
    AnyTask,
    DecisionTask,
    ScriptTask,
    SubProcess,
    Task,
    name_of,
)
from thusfar.process.templates import json_of, render_text

if TYPE_CHECKING:
    from thusfar.process.definition import Process
    from thusfar.process.keeping import Keeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What a step changes, all at once.

    Attributes:
        values: The state behind it.
        entries: What is recorded, in order.
        go_to: The next task, or `END`.
        callers: The callers behind it.
        told: A function to call once it is committed.
        mark: Digest of the answer with its task and the state; empty where loops are not looked
            for.
        failure: What the step failed with; `None` where it did not.
    """

    values: dict[str, Any]
    entries: tuple[Entry, ...]
    go_to: str
    callers: tuple[str, ...]
    told: CallFunction | None = None
    mark: str = ""
    failure: Any = None


def step_of(run: Run, task: AnyTask) -> Steps[Commit]:
    """Do what a task does.

    Returns:
        What is to be committed.
    """
    match task:
        case Task():
            return (yield from _model_step(run, task))
        case DecisionTask():
            return _decision_step(run, task)
        case ScriptTask():
            return (yield from _script_step(run, task))
        case SubProcess():
            return (yield from _child_step(run, task))


def _model_step(run: Run, task: Task) -> Steps[Commit]:
    process = run.process
    recorded = process.record_history and not task.no_history
    answer, changes, mark = yield from accepted_answer(run, task)
    values, callers = process.state.values_only, process.position.callers
    if isinstance(answer, Chosen):
        made = run.entry(
            kind="transition",
            go_to=answer.go_to,
            intent=answer.intent,
            step_after=answer.step_after,
        )
        return Commit(
            values=values,
            entries=(made,) if recorded else (),
            go_to=answer.go_to,
            callers=called_from(callers, task.id),
            mark=mark,
        )
    if isinstance(answer, Skipped):
        return _skipped(run, task, recorded=recorded)
    outputs = answer.value
    if task.state_updates is not None:
        values = apply_updates(values, task.state_updates, outputs=outputs)
    if changes.state_updates:
        values = apply_updates(values, changes.state_updates, outputs=outputs)
    chosen = None
    if task.process_outputs is not None:
        values, chosen = yield from _worked(run, task.process_outputs, values, to_json(outputs))
    go_to, callers = process.graph.after(task, callers)
    if isinstance(chosen, str):
        go_to, callers = chosen, process.position.callers
    entries = tuple(process.pending or ())
    if recorded:
        summary = _summary(task, outputs, values, process)
        text = json_text(outputs)
        action = name_of(task)
        made = run.entry(kind="result", action=action, result_json=text, summary=summary)
        entries = (*entries, made)
    told = None
    if task.after_commit is not None:
        told = CallFunction(
            function=task.after_commit,
            arguments=(to_json(outputs), State(values, process.log.mirror)),
            task_id=task.id,
            control=run.control,
            committed=True,
        )
    return Commit(
        values=values, entries=entries, go_to=go_to, callers=callers, told=told, mark=mark
    )


def _skipped(run: Run, task: Task, *, recorded: bool) -> Commit:
    """Go on behind a task that was skipped; nothing but its entry is left of it."""
    process = run.process
    go_to, callers = process.graph.after(task, process.position.callers)
    entries: tuple[Entry, ...] = ()
    if recorded:
        entries = (run.entry(kind="skipped", action=name_of(task), summary="skipped"),)
    values = process.state.values_only
    return Commit(values=values, entries=entries, go_to=go_to, callers=callers)


def _summary(
    task: Task | ScriptTask | SubProcess, outputs: Any, values: dict[str, Any], process: Process
) -> str | None:
    if task.history_summary is None:
        return None
    scope = {"output": outputs, "state": values, "json": json_of, "goal": process.texts.goal}
    return render_text(task.history_summary, scope, owner=f"{task.id}.history_summary")


def _worked(
    run: Run, function: Callable[..., Any], values: dict[str, Any], *first: Any
) -> Steps[tuple[dict[str, Any], Any]]:
    """Let a function work on a copy of state; entries it makes wait for the commit."""
    process = run.process
    working = State(values, process.log.mirror)
    process.pending = process.pending or []
    returned = yield run.ask(function, *first, working)
    return to_json(working.values_only), returned


def _decision_step(run: Run, task: DecisionTask) -> Commit:
    process = run.process
    state = process.state
    chosen = next(
        (target for criteria, target in task.decisions if open_for(task.id, criteria, state)),
        None,
    )
    go_to, callers = process.graph.after(task, process.position.callers)
    if chosen is not None:
        go_to, callers = chosen, process.position.callers
    entries: tuple[Entry, ...] = ()
    if task.record and process.record_history:
        action = f"{name_of(task)} -> {go_to}"
        entries = (run.entry(kind="decision", action=action, go_to=go_to),)
    return Commit(values=state.values_only, entries=entries, go_to=go_to, callers=callers)


def _script_step(run: Run, task: ScriptTask) -> Steps[Commit]:
    process = run.process
    values, returned = yield from _worked(run, task.run, process.state.values_only)
    outputs = to_json(returned)
    if task.state_updates is not None:
        values = apply_updates(values, task.state_updates, outputs=outputs)
    entries = tuple(process.pending or ())
    if task.record and process.record_history:
        text, summary = json_text(outputs), _summary(task, outputs, values, process)
        action = name_of(task)
        made = run.entry(kind="script", action=action, result_json=text, summary=summary)
        entries = (*entries, made)
    go_to, callers = process.graph.after(task, process.position.callers)
    return Commit(values=values, entries=entries, go_to=go_to, callers=callers)


def _loaded(task: SubProcess, keeper: Keeper) -> Steps[bool]:
    """Put a sub-process where its steps in a store end.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, when they are steps of another process.
    """
    try:
        return (yield from keeper.load(task.process))
    except InvalidStateError as error:
        raise InvalidDefinitionError(
            f"The stored steps of the sub-process {task.id} were of another definition.",
            fix="Resume the run with the definition that began it, or fork it.",
            task_id=task.id,
        ) from error


@contextmanager
def _put_back(process: Process) -> Iterator[None]:
    """Let a process run from its start inside of one task alone, and put it back as it stood."""
    held = process.log, process.position, process.state.values_only
    errors = process.last_errors
    process.reset()
    try:
        yield
    finally:
        process.take_over(*held)
        process.last_errors = errors


def _child_step(run: Run, task: SubProcess) -> Steps[Commit]:
    """Run a process inside; its log stays its own, and this one gets a single entry.

    What a store holds of it goes on behind its last step.
    """
    from thusfar.process.running import run_steps

    process, child = run.process, task.process
    keeper = run.keeper.child() if run.keeper is not None else None
    begun = keeper is not None and (yield from _loaded(task, keeper))
    if not begun and not run.isolated:
        child.reset()
    elif begun and keeper is not None and keeper.crashed:
        used = child.position
        run.add_calls(used.calls, used.tokens, used.output_tokens)
    values = process.state.values_only
    inputs = apply_updates({}, task.inputs, source=values)
    with _put_back(child) if run.isolated else nullcontext():
        outcome = yield from run_steps(child, inputs, around=run, keeper=keeper, begun=begun)
        recorded, nested = child.log.recorded, tuple(child.history)
    if outcome.status in ("cancelled", "early"):
        raise RunStopped
    failure, failed = outcome.failure, None
    go_to, callers = process.graph.after(task, process.position.callers)
    if failure is not None:
        run.errors = failure.errors
        go_to, callers = behind_child(run, failure.cause), process.position.callers
        failed = told_failure(run, failure.cause, go_to)
    elif task.state_updates is not None:
        values = apply_updates(values, task.state_updates, outputs=outcome.output)
    counts = {"outcome": outcome.status, "steps": outcome.steps, "entries": recorded}
    if failure is not None:
        counts["failure"] = failure.code
    entries: tuple[Entry, ...] = ()
    if process.record_history:
        finished = failure is None
        summary = _summary(task, outcome.output, values, process) if finished else None
        text, action = json_text(counts), name_of(task)
        made = run.entry(kind="child", action=action, result_json=text, summary=summary)
        entries = (msgspec.structs.replace(made, nested=nested),)
    return Commit(values=values, entries=entries, go_to=go_to, callers=callers, failure=failed)
