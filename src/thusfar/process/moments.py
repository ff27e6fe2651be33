"""Moments: what a prompt is made from, gathered from a process as it stands.

Source:
    docs/spec/process.md#prompts
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thusfar.errors import OptionsError
from thusfar.process.criteria import open_for
from thusfar.process.prompts import Moment
from thusfar.process.state import State
from thusfar.process.tasks import Task, Transition
from thusfar.process.views import PartialPrompt, PartialPromptConfig, partial_prompt

if TYPE_CHECKING:
    from thusfar.process.definition import Process


def moment_of(
    process: Process, task: Task, visible: Sequence[Transition], *, errors: Sequence[str]
) -> Moment:
    """Gather what a prompt is made from, now.

    Args:
        process: The process.
        task: The task.
        visible: The transitions that are open.
        errors: Complaints about the last answer.
    """
    return Moment(
        texts=process.texts,
        task=task,
        tasks=process.graph.tasks,
        visible=visible,
        state=_shown(process, task),
        log=process.log,
        errors=errors,
        steps_executed=process.position.steps + 1,
        process_id=process.id,
        no_history=process.no_history,
        inputs=process.position.inputs,
        failure=process.position.failure,
    )


def _shown(process: Process, task: Task) -> State:
    """Give the state that templates see; its mirror is no way around `no_history`."""
    if not (process.no_history or task.no_history):
        return process.state
    made = State({}, tuple)
    made.replace(process.state.values_only)
    return made


def visible_of(process: Process, task: Task) -> tuple[Transition, ...]:
    """List the transitions of a task that are open now.

    Raises:
        TaskFailedError: `TASK_FAILED`, when a condition of the author raised.
    """
    state = process.state
    return tuple(edge for edge in task.edges if open_for(task.id, edge.visible_when, state))


def view_of(
    process: Process, config: PartialPromptConfig | str, task_id: str | None
) -> PartialPrompt:
    """Make a partial prompt of a process as it stands; see `Process.partial_prompt`.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a task that asks no model, or a bad config.
    """
    at = process.position.at
    task = process.graph.tasks.get(at if task_id is None else task_id)
    if not isinstance(task, Task):
        raise OptionsError(
            "A partial prompt was asked for at a task that has none.",
            fix="Pass task=, the id of a task that asks a model.",
            option="task",
        )
    visible = visible_of(process, task)
    errors = process.last_errors if task.id == at else ()
    moment = moment_of(process, task, visible, errors=errors)
    return partial_prompt(moment, config, process.prompt_modes)
