"""Tasks: the nodes of a process, as frozen values checked at construction.

Source:
    docs/spec/process.md#tasks
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from thusfar._numbers import require_whole
from thusfar.errors import InvalidDefinitionError, OptionsError
from thusfar.models.resolving import resolve_model
from thusfar.process.criteria import Criteria, check_criteria
from thusfar.process.kinds import (
    END,
    Updates,
    check_function,
    check_id,
    check_names,
    check_target,
    check_text,
    check_updates,
)
from thusfar.process.templates import check_template
from thusfar.runtime.schemas import OutputSchema

_DECIDED: Final = ("a condition", "a target")


@dataclass(frozen=True, slots=True)
class Transition:
    """An edge that the model may choose.

    Attributes:
        to: Id of the target task, or `END`.
        label: Text for the model. `None`: the target's description, else its title, else its id.
        visible_when: A condition over state; while it does not hold, the transition is not shown,
            and choosing it is an error. `None`: always.
    """

    to: str
    label: str | None = None
    visible_when: Criteria | None = None

    def __post_init__(self) -> None:
        if self.to != END:
            check_id(self.to, "A transition")
        check_text("label", self.label, "A transition")
        check_criteria(self.visible_when)


class CommitChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a `before_commit` hook asks for.

    Attributes:
        errors: Reasons why the answer is not good; with any, the model is asked again.
        outputs: The outputs to go on with. `msgspec.UNSET`: as they are.
        state_updates: Further updates, applied behind the task's own. As there, text that begins
            with a dollar sign is a source; text of a model belongs into `outputs`, or is written
            by `process_outputs`.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for errors that are no list of texts.
        InvalidStateError: `INVALID_STATE`, for a path that cannot be read.
        InvalidDefinitionError: `INVALID_DEFINITION`, for updates that are none.
    """

    errors: Sequence[str] = ()
    outputs: Any = msgspec.UNSET
    state_updates: Updates = None

    def __post_init__(self) -> None:
        listed = isinstance(self.errors, list | tuple)
        if not listed or any(not isinstance(each, str) for each in self.errors):
            raise OptionsError(
                "CommitChanges() got something else than a list of texts for errors.",
                fix="Pass a list of reasons, each a text.",
                option="errors",
            )
        check_updates(self.state_updates, "CommitChanges()")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One small job for a model: a prompt, an answer that is checked, and where it goes.

    Attributes:
        id: Its name in the process.
        title: Names it to the model and in the log. `None`: the id.
        description: What a transition to it is shown as.
        task_prompt: Template of its own instructions.
        prompt: Template that replaces the standard prompt. `None`: the process's.
        output: What an answer must be: a pydantic model, a dataclass, a msgspec type, or a JSON
            Schema. `None`: any JSON object or text; with transitions, only a transition.
        state_updates: Where the outputs go: a path, or a mapping of paths to values.
        transitions: The edges the model may choose.
        require_intent: Whether a choice without an intent is refused.
        next_task: The task behind it, or `END`.
        failure_task: The task behind it where it fails, with state and log as they were before.
            `None`: the process's error task.
        max_retries: How often it may be asked again. `None`: as the process says.
        errors_primer: Text before validation errors. `None`: the process's.
        no_history: Keeps history out of its prompts, and its answers out of the log.
        omit: Names of prompt parts left out of its prompts.
        history_summary: Template of the entry's summary; it sees `output`. `None`: the outputs.
        model: The model, or its name such as `anthropic:claude-sonnet-5`. `None`: the process's.
        interceptor: Decides about each call of a model for this task before it is made; see
            `Interceptor`. `None`: the process's.
        before_commit: `(outputs, state)` to `CommitChanges` or `None`, before anything is stored.
            What it changes of its arguments is dropped.
        process_outputs: `(outputs, state)`, to work on a copy of state that is committed with the
            answer. Text that it returns is where the run goes on: a task id or `END`.
        after_commit: `(outputs, state)`, told after the commit. It sees a copy of state, and where
            it raises the run fails behind the step, which stays committed.
    """

    id: str
    title: str | None = None
    description: str | None = None
    task_prompt: str = ""
    prompt: str | None = None
    output: Any = field(default=None, repr=False)
    state_updates: Updates = None
    transitions: Sequence[Transition | Mapping[str, Any] | str] = ()
    require_intent: bool = False
    next_task: str | None = None
    failure_task: str | None = None
    max_retries: int | None = None
    errors_primer: str | None = None
    no_history: bool = False
    omit: Sequence[str] = ()
    history_summary: str | None = None
    model: Any = None
    interceptor: Callable[..., Any] | None = None
    before_commit: Callable[..., Any] | None = None
    process_outputs: Callable[..., Any] | None = None
    after_commit: Callable[..., Any] | None = None
    schema: OutputSchema | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        _check_common(self)
        check_updates(self.state_updates, self.id)
        require_whole(f"Task {self.id}", "max_retries", self.max_retries, least=0)
        check_text("errors_primer", self.errors_primer, self.id)
        for name in ("interceptor", "before_commit", "process_outputs", "after_commit"):
            check_function(name, getattr(self, name), self.id)
        check_names("transitions", self.transitions, self.id)
        check_names("omit", self.omit, self.id, each=str)
        edges = tuple(_transition(each) for each in self.transitions)
        object.__setattr__(self, "transitions", edges)
        object.__setattr__(self, "omit", tuple(self.omit))
        check_template(self.task_prompt, owner=f"{self.id}.task_prompt")
        if self.prompt is not None:
            check_template(self.prompt, owner=f"{self.id}.prompt")
        if isinstance(self.model, str):
            object.__setattr__(self, "model", resolve_model(self.model))
        if self.output is not None:
            object.__setattr__(self, "schema", OutputSchema.of(self.output, owner=self.id))
        if edges and self.schema is not None and self.schema.declares("goTo", "go_to"):
            raise InvalidDefinitionError(
                "A task with transitions had an output with a field for the target of one.",
                fix="Name the field otherwise than goTo.",
                task_id=self.id,
            )

    @property
    def edges(self) -> tuple[Transition, ...]:
        """The transitions, as values."""
        return cast("tuple[Transition, ...]", self.transitions)  # made so at construction

    @property
    def chooses_only(self) -> bool:
        """Whether a transition is the only answer."""
        return bool(self.transitions) and self.schema is None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTask:
    """A choice made from state, without a model; the first condition that holds wins.

    Attributes:
        id: Its name in the process.
        decisions: Conditions and where each leads: a task id or `END`.
        otherwise: Where it leads when none holds. `None`: on, as behind any task.
        title: Names it in the log. `None`: the id.
        description: What a transition to it is shown as.
        record: Whether the choice becomes an entry of the log.
    """

    id: str
    decisions: Sequence[tuple[Criteria, str]]
    otherwise: str | None = None
    title: str | None = None
    description: str | None = None
    record: bool = False

    def __post_init__(self) -> None:
        _check_common(self)
        check_names("decisions", self.decisions, self.id)
        made = tuple(self.decisions)
        object.__setattr__(self, "decisions", made)
        if any(not isinstance(each, list | tuple) or len(each) != len(_DECIDED) for each in made):
            raise InvalidDefinitionError(
                f"A decision of {self.id} was no pair.",
                fix="Pass a condition and the target that it leads to.",
                option="decisions",
            )
        for criteria, target in made:
            check_criteria(criteria)
            check_target("decisions", target, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptTask:
    """A function of the author, run as one step.

    Attributes:
        id: Its name in the process.
        run: `(state)` to outputs or `None`; it works on a copy of state that is committed with
            its outputs, or dropped when it raises. It may be a coroutine function.
        state_updates: Where the outputs go.
        next_task: The task behind it, or `END`.
        failure_task: The task behind it where it fails, with state and log as they were before.
            `None`: the process's error task.
        title: Names it in the log. `None`: the id.
        description: What a transition to it is shown as.
        record: Whether it becomes an entry of the log.
        history_summary: Template of that entry's summary, as of a `Task`.
    """

    id: str
    run: Callable[..., Any]
    state_updates: Updates = None
    next_task: str | None = None
    failure_task: str | None = None
    title: str | None = None
    description: str | None = None
    record: bool = False
    history_summary: str | None = None

    def __post_init__(self) -> None:
        _check_common(self)
        check_updates(self.state_updates, self.id)
        given: Any = self.run
        check_function("run", "nothing" if given is None else given, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubProcess:
    """A process run as one step of another; its log stays its own.

    Attributes:
        id: Its name in the process.
        process: The process that is run, anew each time.
        inputs: Values for its state, as state updates are written, from the state of the process
            around it.
        state_updates: Where its output goes.
        next_task: The task behind it, or `END`.
        failure_task: The task behind it where it fails. `None`: the error task of the process
            around it.
        title: Names it in the log. `None`: the id.
        description: What a transition to it is shown as.
        history_summary: Template of its entry's summary, where it finished; it sees `output` and
            the `state` behind it. `None`: outcome and counts stand in the entry's line.
    """

    id: str
    process: Any
    inputs: Mapping[str, Any] = field(default_factory=dict)
    state_updates: Updates = None
    next_task: str | None = None
    failure_task: str | None = None
    title: str | None = None
    description: str | None = None
    history_summary: str | None = None

    def __post_init__(self) -> None:
        _check_common(self)
        check_updates(self.state_updates, self.id)
        if not isinstance(self.inputs, Mapping):
            raise InvalidDefinitionError(
                f"{self.id} had inputs that are no mapping.",
                fix="Pass a mapping of paths to values.",
                option="inputs",
            )
        check_updates(self.inputs, self.id)


AnyTask = Task | DecisionTask | ScriptTask | SubProcess


def _check_common(task: AnyTask) -> None:
    """Check what tasks of every kind have."""
    check_id(task.id, "A task")
    check_text("title", task.title, task.id)
    check_text("description", task.description, task.id)
    for name in ("next_task", "failure_task", "otherwise"):
        check_target(name, getattr(task, name, None), task.id)
    summary = None if isinstance(task, DecisionTask) else task.history_summary
    if summary is not None:
        check_template(summary, owner=f"{task.id}.history_summary")


def name_of(task: AnyTask) -> str:
    """Name a task in the log: its title, else its id."""
    return task.title or task.id


def _transition(given: Any) -> Transition:
    if isinstance(given, Transition):
        return given
    if isinstance(given, str):
        return Transition(given)
    try:
        return Transition(**given)
    except TypeError:
        raise InvalidDefinitionError(
            "A transition had fields that do not exist.",
            fix="Pass to, and where wanted label and visible_when.",
        ) from None
