"""Reading: a process from data, with the place of everything that is wrong in it.

Source:
    docs/spec/process.md#definitions-as-data
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from thusfar.budget import InputBudget
from thusfar.capacity import ModelCapacity
from thusfar.errors import HistoryError, InvalidDefinitionError
from thusfar.models.resolving import ADAPTERS, resolve_model
from thusfar.process import fields as f
from thusfar.process.criteria import check_criteria
from thusfar.process.definition import Process
from thusfar.process.hooks import Hooks, fault
from thusfar.process.kinds import check_updates
from thusfar.process.planning import RequestSettings
from thusfar.process.position import RunLimits
from thusfar.process.state import State
from thusfar.process.tasks import Transition
from thusfar.process.templates import check_template
from thusfar.process.views import PartialPromptConfig
from thusfar.runtime.schemas import OutputSchema


def from_data(
    data: Mapping[str, Any],
    *,
    hooks: Mapping[str, Any] | None = None,
    allow_imports: bool = False,
) -> Process:
    """Make a process from data, such as a TOML or JSON document.

    Args:
        data: The fields of `Process` by their names. A task is a table with the fields of its class
            and a `kind`: `task` (also without one), `decision`, `script` or `process`. Where the
            class takes a function, a model or a type, the data has a name.
        hooks: Objects by name.
        allow_imports: Whether names `module:attribute` are imported. The definition may then run
            any code.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, with the place of what is wrong.

    Example:
        >>> from thusfar.process import from_data
        >>> made = from_data({"tasks": [{"id": "greet", "task_prompt": "Greet."}]})
        >>> made
        Process('process', at='greet', recorded=0)
    """
    if not isinstance(data, Mapping):
        raise fault("", "was no table", "Pass a mapping of the fields of a process.")
    given = dict(data)
    schema = given.pop("schema", f.DATA_SCHEMA)
    if schema != f.DATA_SCHEMA:
        raise fault("schema", "was of another version", f"Write schema = {f.DATA_SCHEMA}.")
    made: Process = Reader(Hooks(hooks, allow_imports=allow_imports)).process(given, "")
    return made


class Reader:
    """Reads values of every kind, each with its place.

    Args:
        hooks: Finds objects by name.
    """

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks

    def process(self, value: Any, place: str) -> Any:
        """Read a process, or find one by its name."""
        if isinstance(value, str):
            return process_of(self.hooks.find(value, place), place)
        return self._built(Process, f.PROCESS, value, place)

    def value(self, kind: str, value: Any, place: str) -> Any:
        """Read a value of a kind."""
        if kind in _PLAIN:
            accepted, name = _PLAIN[kind]
            if not accepted(value):
                raise fault(place, f"was not {name}", f"Write {name}.")
            if kind in _CHECKED:
                _at(place, _CHECKED[kind], value, place)
            return value
        if kind in _TABLES:
            return self._built(*_TABLES[kind], value, place)
        read: Callable[[Any, str], Any] = getattr(self, f"_{kind}" if kind != "process" else kind)
        return read(value, place)

    def _built(self, made: Callable[..., Any], fields: f.Fields, value: Any, place: str) -> Any:
        """Build a value from a table of its fields."""
        _require(isinstance(value, Mapping), place, "a table")
        read: dict[str, Any] = {}
        for name, given in value.items():
            at = f"{place}.{name}" if place else f"{name}"
            if name not in fields:
                raise fault(at, "had no such field", f"Use one of {', '.join(fields)}.")
            read[name] = self.value(fields[name], given, at)
        if absent := [name for name in _required(made) if name not in read]:
            raise fault(place, f"lacked {', '.join(absent)}", f"Write {', '.join(absent)}.")
        try:
            return made(**read)
        except HistoryError as error:
            raise _placed(error, place, fields) from error

    def _hook(self, value: Any, place: str) -> Any:
        found = self.hooks.find(value, place)
        _require(callable(found), place, "the name of a function")
        return found

    def _model(self, value: Any, place: str) -> Any:
        _require(isinstance(value, str), place, "the name of a model")
        if not self.hooks.has(value) and value.partition(":")[0] in ADAPTERS:
            try:
                return resolve_model(value)
            except HistoryError as error:
                raise _placed(error, place) from error
        return self.hooks.find(value, place)

    def _schema(self, value: Any, place: str) -> Any:
        schema = value if isinstance(value, Mapping) else self.hooks.find(value, place)
        _at(place, lambda: OutputSchema.of(schema, owner=place))
        return schema

    def _criteria(self, value: Any, place: str) -> Any:
        criteria = value if isinstance(value, Mapping) else self._hook(value, place)
        _at(place, check_criteria, criteria)
        return criteria

    def _counter(self, value: Any, place: str) -> Any:
        _require(isinstance(value, str), place, "the name of a counter")
        return self.hooks.find(value, place) if self.hooks.has(value) else value

    def _capacity(self, value: Any, place: str) -> Any:
        if type(value) is int:
            _at(place, ModelCapacity.of, value)
            return value
        return self._built(ModelCapacity, f.CAPACITY, value, place)

    def _modes(self, value: Any, place: str) -> Any:
        _require(isinstance(value, Mapping), place, "a table of modes by name")
        return {
            name: self._built(PartialPromptConfig, f.MODE, each, f"{place}.{name}")
            for name, each in value.items()
        }

    def _tasks(self, value: Any, place: str) -> Any:
        return [self._task(each, at) for each, at in _listed(value, place, "tasks")]

    def _task(self, value: Any, place: str) -> Any:
        _require(isinstance(value, Mapping), place, "a table")
        given = dict(value)
        kind = given.pop("kind", "task")
        if not isinstance(kind, str) or kind not in f.TASKS:
            raise fault(f"{place}.kind", "was no kind of task", f"Use one of {', '.join(f.TASKS)}.")
        made, fields = f.TASKS[kind]
        return self._built(made, fields, given, place)

    def _transitions(self, value: Any, place: str) -> Any:
        made = []
        for each, at in _listed(value, place, "transitions"):
            table = {"to": each} if isinstance(each, str) else each
            made.append(self._built(Transition, f.TRANSITION, table, at))
        return made

    def _decisions(self, value: Any, place: str) -> Any:
        made = []
        for each, at in _listed(value, place, "decisions"):
            read = self._built(dict, f.DECIDED, each, at)
            if absent := [name for name in f.DECIDED if name not in read]:
                raise fault(at, f"lacked {' and '.join(absent)}", "Write when and go_to.")
            made.append((read["when"], read["go_to"]))
        return made


_PLAIN: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "text": (lambda v: isinstance(v, str), "text"),
    "flag": (lambda v: type(v) is bool, "true or false"),
    "whole": (lambda v: type(v) is int, "a whole number"),
    "number": (lambda v: type(v) in (int, float), "a number"),
    "texts": (
        lambda v: isinstance(v, list | tuple) and all(isinstance(each, str) for each in v),
        "a list of texts",
    ),
    "prompts": (
        lambda v: isinstance(v, Mapping) and all(isinstance(each, str) for each in v.values()),
        "a table of texts by name",
    ),
    "template": (lambda v: isinstance(v, str), "text"),
    "state": (lambda v: isinstance(v, Mapping), "a table"),
    "inputs": (lambda v: isinstance(v, Mapping), "a table"),
    "updates": (lambda v: isinstance(v, str | Mapping), "a path, or a table of paths"),
}
_TABLES: Final[dict[str, tuple[Callable[..., Any], f.Fields]]] = {
    "limits": (RunLimits, f.LIMITS),
    "requests": (RequestSettings, f.REQUESTS),
    "budget": (InputBudget, f.BUDGET),
}


def _check_prompts(texts: Mapping[str, str], place: str) -> None:
    for name, text in texts.items():
        check_template(text, owner=f"{place}.{name}")


_CHECKED: Final[dict[str, Callable[[Any, str], object]]] = {
    "template": lambda text, place: check_template(text, owner=place),
    "prompts": _check_prompts,
    "updates": check_updates,
    "inputs": check_updates,
    "state": lambda values, _: State(values, tuple),
}


def _required(made: Callable[..., Any]) -> tuple[str, ...]:
    """List the arguments that a value cannot be built without."""
    parameters = inspect.signature(made).parameters.values() if made is not dict else ()
    empty = inspect.Parameter.empty
    return tuple(
        each.name
        for each in parameters
        if each.default is empty and each.kind is not each.VAR_KEYWORD
    )


def _at(place: str, check: Callable[..., object], *values: Any) -> None:
    """Check a value, and say where it stands when it is refused."""
    try:
        check(*values)
    except HistoryError as error:
        raise _placed(error, place) from error


def process_of(found: Any, place: str) -> Process:
    """Take a process, or what a function without arguments makes.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, for anything else.
    """
    if not isinstance(found, Process) and callable(found):
        try:
            inspect.signature(found).bind()
        except (TypeError, ValueError):
            found = None
        else:
            found = _made(found, place)
    if isinstance(found, Process):
        return found
    raise fault(place, "named what is no process", "Name a process, or a function that makes one.")


def _made(function: Callable[[], Any], place: str) -> Any:
    try:
        return function()
    except HistoryError:
        raise
    except Exception as error:
        raise fault(
            place,
            f"named a function that raised {type(error).__name__}",
            "Correct the function; see the cause.",
        ) from error


def _listed(value: Any, place: str, what: str) -> list[tuple[Any, str]]:
    _require(isinstance(value, list | tuple), place, f"a list of {what}")
    return [(each, f"{place}[{number}]") for number, each in enumerate(value)]


def _require(holds: bool, place: str, what: str) -> None:
    if not holds:
        raise fault(place, f"was not {what}", f"Write {what}.")


def _placed(
    error: HistoryError, place: str, fields: f.Fields | None = None
) -> InvalidDefinitionError:
    """Say where a value was refused; a place that is known already is the nearer one.

    Args:
        error: Why.
        place: Where it stands.
        fields: Fields of the table that stands there; an error may name one of them.
    """
    if isinstance(error, InvalidDefinitionError) and "place" in error.facts:
        return error
    if (option := error.facts.get("option")) in (fields or ()):
        place = f"{place}.{option}" if place else f"{option}"
    where = f" at {place}" if place else ""
    return InvalidDefinitionError(
        f"A definition{where} was refused: {error.args[0]}", fix=error.fix, place=place
    )
