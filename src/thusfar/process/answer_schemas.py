"""Answer schemas: what a task is asked for natively, as one JSON Schema.

Source:
    docs/spec/process.md#answers
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from thusfar.process.tasks import Task, Transition

_DEFINITIONS: Final = ("$defs", "definitions")


def answer_schema(task: Task, visible: Sequence[Transition]) -> Any:
    """Write what a task may answer: its output, one of its transitions, or either.

    Args:
        task: The task.
        visible: The transitions that are open.

    Returns:
        The schema; `None` where any text is an answer.

    Example:
        >>> schema = answer_schema(Task(id="look", transitions=["a", "b"]), [Transition("a")])
        >>> schema["properties"]["goTo"], schema["required"]
        ({'type': 'string', 'enum': ['a']}, ['goTo', 'intent', 'stepAfter'])
    """
    output = None if task.schema is None else task.schema.json_schema
    if not visible:
        return output
    chosen = _transition(visible)
    return chosen if output is None else _either(chosen, output)


def native_schema(model: Any, task: Task, visible: Sequence[Transition]) -> Any:
    """Write the schema that a model is asked for; `None` where it is asked for text.

    Args:
        model: The model. One without `generate_object`, or whose `native_output` is false, is
            asked for text.
        task: The task.
        visible: The transitions that are open.
    """
    if not hasattr(model, "generate_object") or not getattr(model, "native_output", True):
        return None
    return answer_schema(task, visible)


def _transition(visible: Sequence[Transition]) -> dict[str, Any]:
    targets = list(dict.fromkeys(edge.to for edge in visible))
    return {
        "type": "object",
        "properties": {
            "goTo": {"type": "string", "enum": targets},
            "intent": {"type": "string"},
            "stepAfter": {"type": "string"},
        },
        "required": ["goTo", "intent", "stepAfter"],
        "additionalProperties": False,
    }


def _either(chosen: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    """Offer two schemas; definitions stand at the root, where references look for them."""
    own = {name: value for name, value in output.items() if name not in _DEFINITIONS}
    outer = {name: value for name, value in output.items() if name in _DEFINITIONS}
    return {"anyOf": [chosen, own], **outer}
