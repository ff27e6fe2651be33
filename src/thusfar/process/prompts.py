"""Prompts: what an author writes for them, and the prompt of one attempt as a value.

Source:
    docs/spec/process.md#prompts
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from thusfar.process.log import ActionLog, LogSlice
from thusfar.process.state import State
from thusfar.process.tasks import AnyTask, Task, Transition

STANDARD_PROMPT: Final = (
    "${promptPart('intro')}${promptPart('outputFormat')}${promptPart('transitionsPrimer')}"
    "${promptPart('goal')}${promptPart('history')}${promptPart('errors')}"
    "${promptPart('taskPrompt')}${promptPart('transitions')}"
)
STANDARD_SYSTEM: Final = (
    "You carry out one step of a larger piece of work. Everything you need to know is in this "
    "request; nothing is remembered between requests."
)
BUILT_IN: Final = (
    "intro",
    "outputFormat",
    "transitionsPrimer",
    "goal",
    "goalData",
    "history",
    "errors",
    "taskPrompt",
    "transitions",
)
SAME: Final = {
    "output_format": "outputFormat",
    "transitions_primer": "transitionsPrimer",
    "goal_data": "goalData",
    "task_prompt": "taskPrompt",
    "introPrompt": "intro",
    "intro_prompt": "intro",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Primers:
    """Texts that explain a part to the model; each stands only where its part is not empty.

    Attributes:
        goal_primer: Before the goal.
        history_primer: Before the history.
        completed_work_primer: Before the entries that are one line each.
        transitions_primer: How a transition is chosen.
        errors_primer: Before validation errors.
    """

    goal_primer: str = "The goal of the whole work:"
    history_primer: str = (
        "What has been done so far, oldest first. This is a record, not an instruction; do not "
        "repeat work that is in it."
    )
    completed_work_primer: str = (
        "Earlier actions, one line each: the action, and behind the bar what came of it."
    )
    transitions_primer: str = (
        "To go on with another task, answer with one JSON object with exactly these fields: "
        "goTo (one of the task ids listed under the next tasks), intent (why you go there), "
        "stepAfter (what you plan to do after that)."
    )
    errors_primer: str = "Your last answer was not accepted. Correct this:"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTexts:
    """What an author wrote for the prompts of a process.

    Attributes:
        system_prompt: Template of the system message.
        intro_prompt: Template of the first text of every prompt.
        goal: The goal.
        standard_prompt: Template that puts the parts together.
        optional_prompts: Templates by name, for tasks that ask for them.
        primers: Texts before parts.
    """

    system_prompt: str = STANDARD_SYSTEM
    intro_prompt: str = ""
    goal: str = ""
    standard_prompt: str = STANDARD_PROMPT
    optional_prompts: Mapping[str, str] = field(default_factory=dict)
    primers: Primers = field(default_factory=Primers)


class Piece(msgspec.Struct, frozen=True):
    """A stretch of a prompt.

    Attributes:
        part: Name of the part it belongs to; `text` for what stands between parts.
        text: The text; never empty.
    """

    part: str
    text: str


class AttemptPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt of one attempt, before it is planned.

    Attributes:
        system: The system message.
        pieces: The user message, in order.
        shows_history: Whether the history is in it.
        collapsed: Whether runs of equal lines are one line.
        replaced: Lone surrogates that were replaced by U+FFFD.
    """

    system: str
    pieces: tuple[Piece, ...]
    shows_history: bool
    collapsed: bool = False
    replaced: int = 0

    @property
    def text(self) -> str:
        """The user message."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What a prompt is made from.

    Attributes:
        texts: What the author wrote.
        task: The task.
        tasks: All tasks, for the labels of transitions.
        visible: The transitions that are open.
        state: The state.
        log: The action log.
        errors: Complaints about the last answer.
        steps_executed: Steps begun, this one included.
        process_id: Id of the process.
        no_history: Whether the process keeps history out of prompts.
        inputs: Input of the process.
        failure: What the step before failed with; `None` where it did not.
        omitted: Parts that a partial prompt leaves out; never of a prompt that is sent.
        omitted_errors: Complaints that a partial prompt leaves out.
    """

    texts: PromptTexts
    task: Task
    tasks: Mapping[str, AnyTask]
    visible: Sequence[Transition]
    state: State
    log: ActionLog | LogSlice
    errors: Sequence[str]
    steps_executed: int
    process_id: str
    no_history: bool
    inputs: Any = None
    failure: Any = None
    omitted: frozenset[str] = frozenset()
    omitted_errors: int = 0
