"""Defining: tool definitions on each wire, written, and read back where another wire wrote them.

Source:
    docs/spec/generate.md#tools
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, Final, NamedTuple

from thusfar.dialects.base import plain
from thusfar.planner.contributors import Context, Offload, Offloadable

_DECLARED: Final = ("function_declarations", "functionDeclarations")
_SCHEMAS: Final = ("parameters_json_schema", "parametersJsonSchema", "parameters")
_NOTHING: Final = {"type": "object", "properties": {}}
_OUTER: Final = ("primary", "source")
_OUTERS: Final = ("sources", "alternatives")


class Defined(NamedTuple):
    """A function that a model may call, apart from any wire.

    Attributes:
        name: As the model calls it.
        description: What it does; empty where nobody said.
        parameters: JSON Schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


class Rewritten(NamedTuple):
    """Tool definitions on a wire.

    Attributes:
        tools: The definitions; those that were in its form already as they were given.
        left_out: How many have no form there.
    """

    tools: list[Any]
    left_out: int


def written(made: Any, wire: str) -> Any:
    """Write a definition as a wire has it.

    Args:
        made: Anything with a name, a description and parameters.
        wire: Name of the dialect.
    """
    return _WRITERS.get(wire, _any)(made)


def on_wire(tools: Sequence[Any], wire: str, *, foreign: bool = False) -> Rewritten:
    """Write definitions of any wire in the form of one.

    Args:
        tools: The definitions.
        wire: Name of the dialect.
        foreign: Whether they are known to be of another wire, so that what cannot be read, such
            as a tool that a provider runs itself, is left out; else it stays as it is.

    Example:
        >>> tools = [{"name": "look", "input_schema": {"type": "object"}}]
        >>> on_wire(tools, "openai-responses").tools[0]["type"]
        'function'
    """
    made: list[Any] = []
    left_out = 0
    for tool in tools:
        form, read = read_definition(tool)
        if form == wire or (form is None and not foreign):
            made.append(tool)
        else:
            made += [written(each, wire) for each in read]
            left_out += not read or _holds_more(tool)
    return Rewritten(made, left_out)


def read_definition(tool: Any) -> tuple[str | None, tuple[Defined, ...]]:
    """Find out which wire wrote a definition, and what it defines.

    Returns:
        The name of the wire, empty for none in particular, and the functions, of which only
        Gemini defines several at once; `None` and nothing for what is no function.
    """
    body = plain(tool)
    if body is None:
        return None, ()
    declared = next((body[name] for name in _DECLARED if body.get(name)), None)
    if declared is not None:
        return "gemini", tuple(_gemini_function(plain(each) or {}) for each in declared)
    for form, inner, schema in _forms(body):
        if isinstance(inner.get("name"), str):
            described = str(inner.get("description") or "")
            return form, (Defined(inner["name"], described, schema or _NOTHING),)
    return None, ()


def _holds_more(tool: Any) -> bool:
    """Tell whether a tool of Gemini's has something else beside its functions."""
    body = plain(tool) or {}
    functions = any(body.get(name) for name in _DECLARED)
    return functions and any(value for name, value in body.items() if name not in _DECLARED)


def _forms(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    if body.get("type") == "function" and (inner := plain(body.get("function"))) is not None:
        yield "openai-chat", inner, inner.get("parameters")
    elif (inner := plain(body.get("toolSpec"))) is not None:
        yield "bedrock-converse", inner, (plain(inner.get("inputSchema")) or {}).get("json")
    elif "input_schema" in body:
        yield "anthropic", body, body["input_schema"]
    elif body.get("type") == "function":
        yield "openai-responses", body, body.get("parameters")
    elif "type" not in body and "parameters" in body:
        yield "", body, body["parameters"]


def _gemini_function(declared: Mapping[str, Any]) -> Defined:
    schema = next((declared[name] for name in _SCHEMAS if declared.get(name)), None)
    described = str(declared.get("description") or "")
    return Defined(str(declared.get("name")), described, _lower_case(schema) or _NOTHING)


def _lower_case(schema: Any) -> Any:
    """Write the types of Gemini's own schemas as JSON Schema has them."""
    if isinstance(schema, list):
        return [_lower_case(each) for each in schema]
    body = plain(schema) if schema is not None else None
    if body is None:
        return schema
    made = {name: _lower_case(each) for name, each in body.items() if each is not None}
    if isinstance(kind := made.get("type"), str):
        made["type"] = str(getattr(kind, "value", kind)).lower()
    return made


def tool_names(tool: Any) -> tuple[str, ...]:
    """Find the names that a tool definition declares; none for a tool of the provider's own."""
    declared = next(filter(None, (_field(tool, name) for name in _DECLARED)), None)
    if isinstance(declared, list | tuple):
        return tuple(name for each in declared for name in tool_names(each))
    inner = _field(tool, "function") or _field(tool, "toolSpec") or tool
    name = _field(inner, "name")
    return (name,) if isinstance(name, str) and name else ()


def _field(tool: Any, name: str) -> Any:
    return tool.get(name) if isinstance(tool, dict) else getattr(tool, name, None)


# Contributors bring tools too, however they are wrapped.


def tools_of(entry: Any) -> Iterator[Any]:
    """List the tools of a contributor."""
    if isinstance(entry, Context):
        yield from entry.tools
    held = [getattr(entry, name, None) for name in _OUTER]
    for inner in (*(each for each in held if each is not None), *getattr(entry, "sources", ())):
        yield from tools_of(inner)


def may_offload(entry: Any) -> bool:
    """Tell whether a reference may stand for a contributor."""
    if isinstance(entry, Offload | Offloadable):
        return True
    inner = [getattr(entry, name, None) for name in _OUTER]
    return any(may_offload(each) for each in inner if each is not None)


def with_tools(entry: Any, write: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
    """Write the tools of a contributor anew."""
    if isinstance(entry, Context):
        return replace(entry, tools=tuple(write(entry.tools))) if entry.tools else entry
    if not is_dataclass(entry) or isinstance(entry, type):
        return entry
    changed: dict[str, Any] = {}
    for name in _OUTER:
        if getattr(entry, name, None) is not None:
            changed[name] = with_tools(getattr(entry, name), write)
    for name in _OUTERS:
        if getattr(entry, name, None):
            changed[name] = tuple(with_tools(each, write) for each in getattr(entry, name))
    return replace(entry, **changed) if changed else entry


# The forms.


def _openai_chat(made: Any) -> Any:
    inner = {"name": made.name, "description": made.description, "parameters": made.parameters}
    return {"type": "function", "function": inner}


def _openai_responses(made: Any) -> Any:
    return {
        "type": "function",
        "name": made.name,
        "description": made.description,
        "parameters": made.parameters,
        "strict": False,
    }


def _anthropic(made: Any) -> Any:
    return {
        "name": made.name,
        "description": made.description,
        "input_schema": made.parameters,
    }


def _gemini(made: Any) -> Any:
    declared = {
        "name": made.name,
        "description": made.description,
        "parameters_json_schema": made.parameters,
    }
    return {"function_declarations": [declared]}


def _bedrock(made: Any) -> Any:
    return {
        "toolSpec": {
            "name": made.name,
            "description": made.description,
            "inputSchema": {"json": made.parameters},
        }
    }


def _any(made: Any) -> Any:
    return {
        "name": made.name,
        "description": made.description,
        "parameters": made.parameters,
    }


_WRITERS: Final = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock-converse": _bedrock,
}
