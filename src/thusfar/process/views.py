"""Partial prompts: the current prompt with parts left out, for reading; it cannot be sent.

They change nothing about what a model is sent.

Source:
    docs/spec/process.md#partial-prompts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from thusfar._numbers import require_whole
from thusfar.codec import json_text
from thusfar.errors import InvalidStateError, OptionsError
from thusfar.lines import cap, escape_line
from thusfar.process.log import ActionLog, LogSlice
from thusfar.process.parts import attempt_prompt
from thusfar.process.paths import parse_path, read_path
from thusfar.process.prompts import Moment
from thusfar.process.state import State
from thusfar.process.templates import OmittedValue

LARGE_CHARS: Final = 200  # of a state variable's JSON, from which on some modes leave it out
NAME_SHOWN: Final = 80  # characters of a name in an error
NOTICE: Final = "[partial prompt: for reading, not for sending]"
_PRIMERS: Final = {
    "goalPrimer": "goal_primer",
    "historyPrimer": "history_primer",
    "completedWorkPrimer": "completed_work_primer",
    "errorsPrimer": "errors_primer",
}
FRAGMENTS: Final = (
    "introPrompt",
    "goal",
    "history",
    "errors",
    "taskPrompt",
    "outputFormat",
    "transitions",
    "transitionsPrimer",
    *_PRIMERS,
)
_PART_OF: Final = {"introPrompt": "intro"}
_ALL_PRIMERS: Final = ("transitionsPrimer", *_PRIMERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialPromptConfig:
    """What a partial prompt leaves out.

    The mode comes first, then `omit` and `omit_state_vars`, then `remove`, and `add` last.

    Attributes:
        mode: Name of a mode to start from. `None`: the complete prompt.
        omit: Fragments to leave out: `introPrompt`, `goal`, `goalPrimer`, `history`,
            `historyPrimer`, `completedWorkPrimer`, `transitions`, `transitionsPrimer`, `errors`,
            `errorsPrimer`, `taskPrompt`, `outputFormat`, or a name of `optional_prompts`.
        omit_state_vars: Paths of state variables to leave out, without `state.` before them.
        add: Fragments or variables to show after all; a variable may be written `state.name`.
        remove: Fragments or variables to leave out as well.
        truncate_history: Show only so many of the newest entries. `None`: all.
        truncate_errors: Show only so many of the first errors. `None`: all.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a number below 0, names that are one text, or what is
            no name.
    """

    mode: str | None = None
    omit: Sequence[str] = ()
    omit_state_vars: Sequence[str] = ()
    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    truncate_history: int | None = None
    truncate_errors: int | None = None

    def __post_init__(self) -> None:
        owner = "PartialPromptConfig()"
        require_whole(owner, "truncate_history", self.truncate_history, least=0)
        require_whole(owner, "truncate_errors", self.truncate_errors, least=0)
        if self.mode is not None and not isinstance(self.mode, str):
            raise OptionsError(
                f"{owner} got a mode that is no name.", fix="Pass its name.", option="mode"
            )
        for name in ("omit", "omit_state_vars", "add", "remove"):
            given = getattr(self, name)
            listed = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
            names = tuple(given) if listed else ()
            if not listed or any(not isinstance(each, str) for each in names):
                raise OptionsError(
                    f"{owner} got something else than a list of names for {name}.",
                    fix="Pass a list of names.",
                    option=name,
                )
            object.__setattr__(self, name, names)


MODES: Final[Mapping[str, PartialPromptConfig]] = {
    "taskPromptOnly": PartialPromptConfig(omit=("introPrompt", "history", "errors", *_ALL_PRIMERS)),
    "transitionDebug": PartialPromptConfig(omit=("introPrompt", "history")),
    "stateTracking": PartialPromptConfig(
        omit=("introPrompt", "transitions", "errors", *_ALL_PRIMERS)
    ),
    "historyOnly": PartialPromptConfig(
        omit=("introPrompt", "goal", "transitions", "taskPrompt", "outputFormat")
    ),
    "errorsOnly": PartialPromptConfig(omit=("introPrompt", "goal", "history", "transitions")),
    "minimal": PartialPromptConfig(
        omit=("introPrompt", "history", "errors", "transitions", "outputFormat", "goalPrimer")
    ),
    "noData": PartialPromptConfig(truncate_history=3, truncate_errors=3),
}
_WITHOUT_LARGE: Final = ("minimal", "noData")


class PartialPrompt:
    """A prompt to read. It is no text, and nothing that takes a prompt takes it.

    Attributes:
        task_id: The task it is for.
        omitted: Fragments that are left out.
        omitted_state_vars: State variables that are left out.
        omitted_entries: Entries that are left out.
        omitted_errors: Errors that are left out.
    """

    __slots__ = (
        "_shown", "omitted", "omitted_entries", "omitted_errors", "omitted_state_vars", "task_id",
    )  # fmt: skip

    def __init__(self, shown: str, moment: Moment, omitted_state_vars: tuple[str, ...]) -> None:
        self._shown = shown
        self.task_id = moment.task.id
        self.omitted = tuple(sorted(moment.omitted))
        self.omitted_state_vars = omitted_state_vars
        self.omitted_entries = getattr(moment.log, "omitted", 0)
        self.omitted_errors = moment.omitted_errors

    def __str__(self) -> str:
        return f"{NOTICE}\n{self._shown}"

    def __repr__(self) -> str:
        return f"PartialPrompt(task_id={self.task_id!r}, omitted={self.omitted!r})"


def partial_prompt(
    moment: Moment,
    config: PartialPromptConfig | str,
    modes: Mapping[str, PartialPromptConfig],
) -> PartialPrompt:
    """Make a partial prompt.

    Args:
        moment: What the prompt is made from.
        config: What is left out, or the name of a mode.
        modes: Further modes by name; they win over the library's.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for an unknown mode or name, or one that is both a
            fragment and a variable.
        InvalidTemplateError: `INVALID_TEMPLATE`, when a template cannot be rendered.
    """
    asked = PartialPromptConfig(mode=config) if isinstance(config, str) else config
    if not isinstance(asked, PartialPromptConfig):
        raise OptionsError(
            "A partial prompt was asked for with something else than a config.",
            fix="Pass a PartialPromptConfig, or the name of a mode.",
            option="config",
        )
    base = _mode(asked.mode, modes)
    names = _Names(moment)
    fragments = {*base.omit, *asked.omit}
    variables = {*base.omit_state_vars, *asked.omit_state_vars}
    if asked.mode in _WITHOUT_LARGE:
        variables |= names.large()
    names.require_fragments(fragments)
    names.require_variables(asked.omit_state_vars)
    for one, change in ((base.remove, set.add), (asked.remove, set.add), (asked.add, set.discard)):
        for name in one:
            fragment, variable = names.told_apart(name)
            if variable is not None and one is asked.remove:
                names.require_variable(variable, name)
            change(fragments if variable is None else variables, variable or fragment)
    keep = asked.truncate_history if asked.truncate_history is not None else base.truncate_history
    first = asked.truncate_errors if asked.truncate_errors is not None else base.truncate_errors
    cut = _cut(moment, fragments, variables, keep, first)
    prompt = attempt_prompt(cut)
    return PartialPrompt(f"{prompt.system}\n{prompt.text}", cut, tuple(sorted(variables)))


def _mode(name: str | None, modes: Mapping[str, PartialPromptConfig]) -> PartialPromptConfig:
    if name is None:
        return PartialPromptConfig()
    found = modes.get(name) or MODES.get(name)
    if found is None:
        raise OptionsError(
            "A partial prompt had a mode that does not exist.",
            fix=f"Use one of {', '.join({**MODES, **modes})}.",
            option="mode",
        )
    return found


class _Names:
    """Tells fragments from state variables."""

    def __init__(self, moment: Moment) -> None:
        self.fragments = {*FRAGMENTS, *moment.texts.optional_prompts}
        self.values = moment.state.values_only

    def require_fragments(self, names: set[str]) -> None:
        """Check that all of them are fragments."""
        for name in sorted(names - self.fragments):
            raise self._unknown(name, "no fragment")

    def require_variables(self, paths: Sequence[str]) -> None:
        """Check that all of them lead to a variable: a typing error would show what it hides."""
        for path in paths:
            self.require_variable(path, path)

    def require_variable(self, path: str, name: str) -> None:
        """Check that a path leads to something in state."""
        try:
            read_path(self.values, parse_path(path).steps)
        except InvalidStateError:
            raise self._unknown(name, "no state variable") from None

    def told_apart(self, name: str) -> tuple[str, str | None]:
        """Give the name, and beside it the path where it is a variable."""
        if name.startswith("state."):
            return name, name.removeprefix("state.")
        if name in self.fragments and name in self.values:
            raise self._unknown(name, "both a fragment and a state variable")
        if name in self.fragments:
            return name, None
        if name.split(".", maxsplit=1)[0] in self.values:
            return name, name
        raise self._unknown(name, "neither a fragment nor a state variable")

    def _unknown(self, name: str, what: str) -> OptionsError:
        return OptionsError(
            f"A partial prompt named {cap(escape_line(name), NAME_SHOWN)!r}, which is {what}.",
            fix=f"Use one of {', '.join(sorted(self.fragments))}; or state.name for a variable.",
            option="omit",
        )

    def large(self) -> set[str]:
        """List the variables that take much room."""
        return {name for name, v in self.values.items() if len(json_text(v)) > LARGE_CHARS}


def _cut(
    moment: Moment, fragments: set[str], variables: set[str], keep: int | None, first: int | None
) -> Moment:
    """Leave out what is not shown, each with a placeholder in its place."""
    primers = {field: f"[{name} omitted]" for name, field in _PRIMERS.items() if name in fragments}
    texts = replace(moment.texts, primers=replace(moment.texts.primers, **primers))
    task = moment.task
    if "errorsPrimer" in fragments:
        task = replace(task, errors_primer=None)
    log = moment.log
    if keep is not None and isinstance(log, ActionLog):
        log = LogSlice(log, keep)
    values: Any = moment.state.values_only
    for path in variables:
        values = _without(values, parse_path(path).steps, f"[state.{path} omitted]")
    hidden = "history" in fragments
    state = State({}, lambda: () if hidden else log.mirror())
    state.replace(values)
    errors = moment.errors if first is None else moment.errors[:first]
    return replace(
        moment,
        texts=texts,
        task=task,
        log=log,
        state=state,
        errors=errors,
        omitted=frozenset(_PART_OF.get(name, name) for name in fragments - set(_PRIMERS)),
        omitted_errors=len(moment.errors) - len(errors),
    )


def _without(value: Any, steps: tuple[str | int, ...], placeholder: str) -> Any:
    """Put a placeholder where a value is, in copies of what is around it."""
    step, rest = steps[0], steps[1:]
    there = isinstance(value, list) and isinstance(step, int) and step < len(value)
    if not there and not (isinstance(value, dict) and step in value):
        return value
    made = value.copy()
    made[step] = _without(value[step], rest, placeholder) if rest else OmittedValue(placeholder)
    return made
