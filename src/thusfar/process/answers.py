"""Answers: what a model wrote, read as a transition or as outputs, or refused with reasons.

Source:
    docs/spec/process.md#answers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.codec import parse_json, require_json
from thusfar.errors import TranscriptError
from thusfar.models.objects import unfenced
from thusfar.process.tasks import Task, Transition

ERRORS_KEPT: Final = 20  # complaints about one answer
_TARGET: Final = ("goTo", "go_to")
_INTENT: Final = ("intent",)
_STEP_AFTER: Final = ("stepAfter", "step_after")
_KEYS: Final = frozenset((*_TARGET, *_INTENT, *_STEP_AFTER))


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A transition that the model chose, among those that were open.

    Attributes:
        go_to: Its target.
        intent: Why; empty when the model did not say.
        step_after: What it plans behind it; empty when it did not say.
    """

    go_to: str
    intent: str = ""
    step_after: str = ""


class Outputs(msgspec.Struct, frozen=True, kw_only=True):
    """Outputs that fit the task's schema, as a JSON value."""

    value: Any


class Skipped(msgspec.Struct, frozen=True):
    """No answer: an interceptor skipped the task."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is not good.

    Attributes:
        errors: Why, for the model to correct; at least one.
    """

    errors: tuple[str, ...]


Answer = Chosen | Outputs | Skipped | Refused


def read_answer(task: Task, text: str, visible: Sequence[Transition]) -> Answer:
    """Read the text that a model answered a task with.

    Args:
        task: The task.
        text: The text.
        visible: The transitions that were open when the prompt was made.

    Returns:
        A transition, outputs, or the reasons why it is neither.
    """
    value = _decoded(text)
    free = not task.edges and task.schema is None
    if free and not isinstance(value, Mapping):
        return Outputs(value=text)
    if isinstance(value, TranscriptError):
        wanted = "object" if task.edges else "value"
        return _refused(f"The answer was not one JSON {wanted}: {_why(value)}.")
    return read_value(task, value, visible)


def read_value(task: Task, value: Any, visible: Sequence[Transition]) -> Answer:
    """Read the value of a native structured answer, of which a text is one too; see above."""
    if not isinstance(value, Mapping):
        if task.schema is not None:
            return _outputs(task, value)
        if task.edges:
            return _refused("The answer was not one JSON object.")
        return Outputs(value=value)
    if _is_transition(task, value):
        return _chosen(task, value, visible)
    if task.chooses_only:
        return _refused("The answer chose no transition; goTo is required.")
    return _outputs(task, value)


def _decoded(text: str) -> Any:
    """Decode the text, or the one code block that is the whole of it; an error where it is none."""
    try:
        return parse_json(unfenced(text), where="it")
    except TranscriptError as error:
        return error


def _why(error: TranscriptError) -> str:
    """Say why text was no JSON; by its place where there is one."""
    facts = error.facts
    if "line" in facts:
        return f"invalid at line {facts['line']}, column {facts['column']}"
    told = str(error.args[0]).rstrip(".")
    return told[:1].lower() + told[1:]


def _is_transition(task: Task, value: Mapping[str, Any]) -> bool:
    """Tell an attempt at a transition; fields that the schema declares are outputs."""
    keys = [key for key in value if key in _KEYS]
    declared = task.schema.declares if task.schema is not None else (lambda *_: False)
    if any(key in _TARGET for key in keys):
        return bool(task.edges) or not declared(*_TARGET)
    return bool(task.edges) and any(not declared(key) for key in keys)


def _chosen(task: Task, value: Mapping[str, Any], visible: Sequence[Transition]) -> Answer:
    if not task.edges:
        return _refused("This task has no transitions; the answer must not hold goTo.")
    if any(key not in _KEYS for key in value):
        return _refused("The answer held goTo and other fields; either choose or answer.")
    errors: list[str] = []
    texts = [_text(value, names, errors) for names in (_TARGET, _INTENT, _STEP_AFTER)]
    targets = [edge.to for edge in visible]
    if not errors and texts[0] not in targets:
        errors.append(f"goTo must be one of: {', '.join(targets) or '(none is open now)'}.")
    if not errors and task.require_intent and not texts[1].strip():
        errors.append("intent must say why.")
    if errors:
        return Refused(errors=tuple(errors))
    return Chosen(go_to=texts[0], intent=texts[1], step_after=texts[2])


def _text(value: Mapping[str, Any], names: Sequence[str], errors: list[str]) -> str:
    given = [value[name] for name in names if value.get(name) is not None]
    if any(not isinstance(each, str) for each in given):
        errors.append(f"{names[0]} must be text.")
    elif len(set(given)) > 1:
        errors.append(f"{names[0]} was given twice, with different values.")
    elif given:
        return str(given[0])
    return ""


def _outputs(task: Task, value: Any) -> Answer:
    try:
        require_json(value)
    except TranscriptError:
        return _refused("The answer held something that is not JSON.")
    if task.schema is None:
        return Outputs(value=value)
    outputs, errors = task.schema.check(value)
    return Refused(errors=bounded(errors)) if errors else Outputs(value=outputs)


def bounded(errors: Sequence[str]) -> tuple[str, ...]:
    """Keep the first complaints: one bad answer may break a schema at thousands of places."""
    more = len(errors) - ERRORS_KEPT
    return tuple(errors) if more <= 0 else (*errors[:ERRORS_KEPT], f"There were {more:,} more.")


def _refused(reason: str) -> Refused:
    return Refused(errors=(reason,))
