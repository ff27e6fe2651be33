"""Building: what an author passes to a process, made into its values.

Source:
    docs/spec/process.md#tasks
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thusfar.errors import InvalidDefinitionError, OptionsError
from thusfar.process.kinds import check_function, check_names, check_target, check_text
from thusfar.process.planning import RequestSettings
from thusfar.process.position import RunLimits
from thusfar.process.prompts import BUILT_IN, SAME, Primers, PromptTexts
from thusfar.process.routing import Graph
from thusfar.process.runnable import Runnable
from thusfar.process.tasks import (
    AnyTask,
    DecisionTask,
    ScriptTask,
    SubProcess,
    Task,
)
from thusfar.process.templates import check_template
from thusfar.process.views import PartialPromptConfig


def prompt_texts(**given: Any) -> PromptTexts:
    """Take what an author wrote; what is `None` stays as the library has it.

    Raises:
        InvalidTemplateError: `INVALID_TEMPLATE`, for a template that cannot be read.
        InvalidDefinitionError: `INVALID_DEFINITION`, for an optional prompt with the name of a
            part.
    """
    said = {name: value for name, value in given.items() if value is not None}
    for name, value in said.items():
        if name != "optional_prompts":
            check_text(name, value, "The process")
    primers = Primers(**{name: said.pop(name) for name in list(said) if name.endswith("_primer")})
    texts = PromptTexts(primers=primers, **said)
    for name in ("system_prompt", "intro_prompt", "standard_prompt"):
        check_template(getattr(texts, name), owner=name)
    for name, text in texts.optional_prompts.items():
        check_template(text, owner=name)
        if SAME.get(name, name) in BUILT_IN:
            raise InvalidDefinitionError(
                f"An optional prompt had the name of a part: {name}.",
                fix="Name it otherwise.",
                option="optional_prompts",
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
    check_names("tasks", tasks, "The process")
    targets = {"start": start, "default_return_task": back, "error_task": error_task}
    for option, target in targets.items():
        check_target(option, target, "The process")
    made: dict[str, AnyTask] = {}
    for given in tasks:
        task = _task(given)
        if task.id in made:
            raise InvalidDefinitionError(
                f"Two tasks had the id {task.id}.",
                fix="Give each its own.",
                task_id=task.id,
                option="tasks",
            )
        made[task.id] = task
    if not made:
        raise InvalidDefinitionError(
            "A process had no task.", fix="Pass at least one.", option="tasks"
        )
    first = start if start is not None else sequence[0] if sequence else next(iter(made))
    named = {"sequence": sequence, "start": [first], "default_return_task": [back],
             "error_task": [error_task]}  # fmt: skip
    for option, names in named.items():
        for name in names:
            if name is not None and name not in made:
                raise InvalidDefinitionError(
                    f"No task had the id {name}, which {option} named.",
                    fix=f"Use one of {', '.join(made)}.",
                    option=option,
                )
    if len({*sequence}) < len(sequence):
        raise InvalidDefinitionError(
            "A sequence named a task twice.",
            fix="Name each once; lead back to one with next_task or a transition.",
            option="sequence",
        )
    return Graph(
        tasks=made,
        start=first,
        sequence=sequence,
        default_return_task=back,
        error_task=error_task,
    )


def _task(given: Any) -> AnyTask:
    if isinstance(given, SubProcess) and not isinstance(given.process, Runnable):
        raise InvalidDefinitionError(
            f"The sub-process {given.id} had something else than a process.",
            fix="Pass a Process.",
            task_id=given.id,
        )
    if isinstance(given, Task | DecisionTask | ScriptTask | SubProcess):
        return given
    try:
        return Task(**given)
    except TypeError:
        raise InvalidDefinitionError(
            "A task was given as something that no task can be made of.",
            fix="Pass a Task, a DecisionTask, a ScriptTask, a SubProcess, or fields of a Task.",
        ) from None


def check_settings(
    *,
    state: Any,
    sequence: Any,
    optional_prompts: Any,
    prompt_modes: Any,
    limits: Any,
    requests: Any,
    **functions: Any,
) -> None:
    """Check the kinds of what a process is given beside its tasks and texts.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for one of another kind.
        InvalidDefinitionError: `INVALID_DEFINITION`, for a sequence that is one text.
    """
    check_names("sequence", sequence, "The process", each=str)
    for name, value, kind in (
        ("state", state, Mapping),
        ("optional_prompts", optional_prompts, Mapping),
        ("prompt_modes", prompt_modes, Mapping),
        ("limits", limits, RunLimits),
        ("requests", requests, RequestSettings),
    ):
        if value is not None and not isinstance(value, kind):
            raise OptionsError(
                f"Process() got a {type(value).__name__} for {name}.",
                fix=f"Pass a {kind.__name__} for {name}.",
                option=name,
            )
    for mode in (prompt_modes or {}).values():
        if not isinstance(mode, PartialPromptConfig):
            raise OptionsError(
                "Process() got a mode of partial prompts that is none.",
                fix="Pass a PartialPromptConfig for each name of prompt_modes.",
                option="prompt_modes",
            )
    for name, function in functions.items():
        check_function(name, function, "The process", awaited=name == "interceptor")
