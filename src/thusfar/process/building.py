"""Building: what an author passes to a process, made into its values.

Source:
    docs/spec/process.md#tasks
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thusfar.errors import InvalidDefinitionError
from thusfar.process.prompts import BUILT_IN, SAME, Primers, PromptTexts
from thusfar.process.routing import Graph
from thusfar.process.tasks import AnyTask, DecisionTask, ScriptTask, SubProcess, Task
from thusfar.process.templates import check_template


def prompt_texts(**given: Any) -> PromptTexts:
    """Take what an author wrote; what is `None` stays as the library has it.

    Raises:
        InvalidTemplateError: `INVALID_TEMPLATE`, for a template that cannot be read.
        InvalidDefinitionError: `INVALID_DEFINITION`, for an optional prompt with the name of a
            part.
    """
    said = {name: value for name, value in given.items() if value is not None}
    primers = Primers(**{name: said.pop(name) for name in list(said) if name.endswith("_primer")})
    texts = PromptTexts(primers=primers, **said)
    for name in ("system_prompt", "intro_prompt", "standard_prompt"):
        check_template(getattr(texts, name), owner=name)
    for name, text in texts.optional_prompts.items():
        check_template(text, owner=name)
        if SAME.get(name, name) in BUILT_IN:
            raise InvalidDefinitionError(
                "An optional prompt had the name of a part.", fix="Name it otherwise.", part=name
            )
    return texts


def graph_of(
    tasks: Sequence[Any],
    start: str | None,
    sequence: tuple[str, ...],
    back: str | None,
    error_task: str | None,
) -> Graph:
    """Put tasks together.

    Args:
        tasks: Tasks, or mappings of the fields of a `Task`.
        start: Where a run begins. `None`: the first of the sequence, else the first task.
        sequence: Ids of tasks that follow each other.
        back: The default return task.
        error_task: The task behind one that failed.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, for an id used twice or a task that does not
            exist.
    """
    made: dict[str, AnyTask] = {}
    for given in tasks:
        task = _task(given)
        if task.id in made:
            raise InvalidDefinitionError(
                f"Two tasks had the id {task.id}.", fix="Give each its own.", task_id=task.id
            )
        made[task.id] = task
    if not made:
        raise InvalidDefinitionError("A process had no task.", fix="Pass at least one.")
    first = start if start is not None else sequence[0] if sequence else next(iter(made))
    named = [each for each in (back, error_task) if each is not None]
    for name in (first, *sequence, *named):
        if name not in made:
            raise InvalidDefinitionError(
                "The start, the sequence, the default return task or the error task was no task.",
                fix="Use ids of the tasks of the process.",
            )
    return Graph(
        tasks=made,
        start=first,
        sequence=sequence,
        default_return_task=back,
        error_task=error_task,
    )


def _task(given: Any) -> AnyTask:
    if isinstance(given, Task | DecisionTask | ScriptTask | SubProcess):
        return given
    try:
        return Task(**given)
    except TypeError:
        raise InvalidDefinitionError(
            "A task was given as something that no task can be made of.",
            fix="Pass a Task, a DecisionTask, a ScriptTask, a SubProcess, or fields of a Task.",
        ) from None
