"""Writing: a process as data, from which the same process can be read again.

Source:
    docs/spec/process.md#definitions-as-data
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from thusfar.codec import to_json
from thusfar.process import fields as f
from thusfar.process.definition import Process
from thusfar.process.hooks import Hooks
from thusfar.process.prompts import PromptTexts
from thusfar.process.tasks import Transition

_TEXTS: Final = (
    "goal", "intro_prompt", "system_prompt", "standard_prompt", "optional_prompts"
)  # fmt: skip
_PRIMERS: Final = tuple(name for name in f.PROCESS if name.endswith("_primer"))


def to_data(
    process: Process, *, hooks: Mapping[str, Any] | None = None, allow_imports: bool = False
) -> dict[str, Any]:
    """Write the definition of a process as data; `from_data` with the same hooks reads it back.

    What stands at its default is left out, and so are log, position and what a run changed.

    Args:
        process: The process.
        hooks: Names of the functions, models and types in it.
        allow_imports: Whether one without a name is written as `module:attribute`.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, with the place of an object without a name.

    Example:
        >>> from thusfar.process import END, Process, Task, to_data
        >>> to_data(Process([Task(id="greet", next_task=END)], goal="Be kind."))
        {'schema': 1, 'tasks': [{'id': 'greet', 'next_task': 'END'}], 'goal': 'Be kind.'}
    """
    writer = _Writer(Hooks(hooks, allow_imports=allow_imports))
    return {"schema": f.DATA_SCHEMA, **writer.process(process, "")}


def given_to(process: Process) -> dict[str, Any]:
    """Give the arguments that make a process of the same definition."""
    graph, log, texts = process.graph, process.log.options, process.texts
    start = graph.sequence[0] if graph.sequence else next(iter(graph.tasks))
    plain = PromptTexts()
    given: dict[str, Any] = {
        "id": process.id,
        "tasks": list(graph.tasks.values()),
        "start": None if graph.start == start else graph.start,
        "sequence": graph.sequence,
        "default_return_task": graph.default_return_task,
        "error_task": graph.error_task,
        "model": process.model,
        **process.given,
        "no_history": process.no_history,
        "record_history": process.record_history,
        "prompt_modes": process.prompt_modes,
        "limits": process.limits,
        "requests": process.requests,
        "interceptor": process.interceptor,
        "on_event": process.on_event,
        "clock": process.clock,
    }
    defaults = _defaults(Process)
    for name in _TEXTS:
        value = getattr(texts, name)
        given[name] = defaults[name] if value == getattr(plain, name) else value
    for name in _PRIMERS:
        value = getattr(texts.primers, name)
        given[name] = None if value == getattr(plain.primers, name) else value
    given |= {name: getattr(log, name) for name in f.PROCESS if hasattr(log, name)}
    return {name: given[name] for name in f.PROCESS}


class _Writer:
    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks

    def process(self, process: Any, place: str) -> Any:
        if not isinstance(process, Process):
            return self.hooks.name_of(process, place)
        return self._fields(Process, f.PROCESS, given_to(process), place)

    def value(self, kind: str, value: Any, place: str) -> Any:
        match kind:
            case "tasks":
                return [self._task(each, f"{place}[{i}]") for i, each in enumerate(value)]
            case "transitions":
                return [self._edge(each, f"{place}[{i}]") for i, each in enumerate(value)]
            case "decisions":
                return [
                    {"when": self.value("criteria", when, f"{place}[{i}].when"), "go_to": go_to}
                    for i, (when, go_to) in enumerate(value)
                ]
            case "process":
                return self.hooks.passed_as(value) or self.process(value, place)
            case "hook" | "model":
                return self._named(value, place)
            case "schema" | "criteria":
                mapping = isinstance(value, Mapping)
                return to_json(value) if mapping else self.hooks.name_of(value, place)
            case "counter":
                return value if isinstance(value, str) else self.hooks.name_of(value, place)
            case "capacity" if type(value) is int:
                return value
            case "modes":
                return {
                    name: self._object(each, f.MODE, f"{place}.{name}")
                    for name, each in value.items()
                }
            case "limits" | "requests" | "budget" | "capacity":
                return self._object(value, _OBJECTS[kind], place)
        return to_json(value)

    def _named(self, value: Any, place: str) -> str:
        """Name a function or a model; an adapter by the name that makes it again."""
        from thusfar.models.resolving import ADAPTERS, resolve_model

        try:
            return self.hooks.name_of(value, place)
        except ValueError:
            own = getattr(value, "name", None)
            for provider in ADAPTERS if isinstance(own, str) else ():
                name = f"{provider}:{own}"
                if type(value).__module__.startswith("thusfar.models.") and (
                    repr(resolve_model(name)) == repr(value)
                ):
                    return name
            raise

    def _object(self, value: Any, fields: f.Fields, place: str) -> dict[str, Any]:
        given = {name: getattr(value, name) for name in fields}
        return self._fields(type(value), fields, given, place)

    def _task(self, task: Any, place: str) -> dict[str, Any]:
        kind = next(kind for kind, (made, _) in f.TASKS.items() if type(task) is made)
        written = self._object(task, f.TASKS[kind][1], place)
        return written if kind == "task" else {"kind": kind, **written}

    def _edge(self, edge: Transition, place: str) -> Any:
        written = self._object(edge, f.TRANSITION, place)
        return edge.to if written.keys() == {"to"} else written

    def _fields(
        self, made: type, fields: f.Fields, given: Mapping[str, Any], place: str
    ) -> dict[str, Any]:
        """Write what is not at its default."""
        defaults = _defaults(made)
        written: dict[str, Any] = {}
        for name, kind in fields.items():
            value, default = given[name], defaults.get(name, inspect.Parameter.empty)
            if value is default or _is_default(kind, value, default):
                continue
            made_of = self.value(kind, value, f"{place}.{name}" if place else name)
            if made_of or kind not in ("limits", "requests"):
                written[name] = made_of
        return written


_OBJECTS: Final = {
    "limits": f.LIMITS,
    "requests": f.REQUESTS,
    "budget": f.BUDGET,
    "capacity": f.CAPACITY,
}


def _is_default(kind: str, value: Any, default: Any) -> bool:
    if default is inspect.Parameter.empty:
        return False
    if not value and isinstance(value, list | tuple | Mapping):
        return kind != "schema"  # the schema of any value is an empty table
    return type(value) is type(default) and bool(value == default)


def _defaults(made: type) -> dict[str, Any]:
    return {name: each.default for name, each in inspect.signature(made).parameters.items()}
