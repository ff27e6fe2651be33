"""Tools: functions that a model may call, their definitions on each wire, and their results.

What a model wrote as arguments is data: it is checked against the tool's schema before the function
sees it, and a call that does not fit is answered with an error result instead.

Source:
    docs/spec/generate.md#tools
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, Literal

import msgspec

from thusfar.codec import parse_json, text_of
from thusfar.dialects.base import answer_note
from thusfar.dialects.thusfar_json import THUSFAR_JSON
from thusfar.errors import (
    InvalidDefinitionError,
    MissingExtraError,
    OptionsError,
    PreparationError,
    TranscriptError,
)
from thusfar.messages import Audio, File, Image, Message, Native, Text, ToolCall, ToolResult
from thusfar.models.arguments import INVALID_JSON
from thusfar.runtime.defining import on_wire, written
from thusfar.runtime.schemas import OutputSchema, converted

_NAME: Final = re.compile("[a-zA-Z0-9_-]{1,64}")
"""What OpenAI and Anthropic both take; each refuses others with 400 and its pattern
(https://github.com/github/copilot-cli/issues/1879 and
https://portkey.ai/error-library/input-validation-error-10046, read 2026-11-30)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call.

    Attributes:
        name: As the model calls it.
        description: What it does, for the model.
        parameters: JSON Schema of its arguments, an object.
        function: Called with the arguments by name; sync or async. What it returns is the result:
            text, a part or a list of parts, or any JSON value.
        needs_approval: Whether a call waits until somebody allows it; a function of the
            arguments, sync or async, decides each time with `True` or `False`. When it raises or
            gives anything else, the turn ends.
        on_error: `tell`: what it raises becomes an error result, with the class and the words of
            the exception; `raise`: it ends the request.
        read: Turns the arguments, as JSON values, into those of the function.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    needs_approval: bool | Callable[[Mapping[str, Any]], Any] = False
    on_error: Literal["tell", "raise"] = "tell"
    read: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise OptionsError(
                "A tool had a name that providers refuse.",
                fix="Pass name=: 1 to 64 letters, digits, underscores and dashes.",
                option="name",
            )


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    needs_approval: bool | Callable[[Mapping[str, Any]], Any] = False,
    on_error: Literal["tell", "raise"] = "tell",
) -> Any:
    """Make a tool of a function; its parameters and their types make the schema.

    Args:
        function: Its parameters have types that `msgspec` reads, or `parameters` is given.
        name: Another name than the function's.
        description: Another description than the function's docstring.
        parameters: Another schema than that of the signature.
        needs_approval: As on `Tool`.
        on_error: As on `Tool`.

    Returns:
        The tool, or a decorator where no function is given.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a signature of which no schema can be made.

    Example:
        >>> @tool
        ... def add(left: int, right: int = 1) -> int:
        ...     "Add two numbers."
        ...     return left + right
        >>> add.name, add.parameters["required"]
        ('add', ['left'])
    """
    if function is None:
        return lambda made: tool(
            made,
            name=name,
            description=description,
            parameters=parameters,
            needs_approval=needs_approval,
            on_error=on_error,
        )
    called = name or _name_of(function)
    if parameters is not None:
        schema, read = parameters, _by_schema(parameters, function, called)
    else:
        schema, read = _signature(function, called)
    said = description if description is not None else inspect.getdoc(function) or ""
    return Tool(
        name=called,
        description=said,
        parameters=schema,
        function=function,
        needs_approval=needs_approval,
        on_error=on_error,
        read=read,
    )


def _name_of(function: Callable[..., Any]) -> str:
    """Find the name of a function; of a partial one, that of the function inside."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _signature(function: Callable[..., Any], called: str) -> Any:
    """Make a schema of a signature, and the reader that converts arguments by it."""
    fields: list[Any] = []
    try:
        signature = inspect.signature(function, eval_str=True)
        for each in signature.parameters.values():
            if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
                raise _no_schema(called)
            kind = Any if each.annotation is each.empty else each.annotation
            one = (each.name, kind)
            fields.append(one if each.default is each.empty else (*one, each.default))
        values = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
        schema = _inlined(msgspec.json.schema(values))
    except (TypeError, NameError, ValueError, RuntimeError) as error:
        if isinstance(error, OptionsError):
            raise
        raise _no_schema(called) from error

    def read(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        made = converted(arguments, values)
        return {name: getattr(made, name) for name in values.__struct_fields__}

    return schema, read


def _by_schema(schema: Any, function: Callable[..., Any], called: str) -> Any:
    """Make the reader of arguments by a schema of the caller, which they are checked against."""

    @cache
    def fitted() -> OutputSchema | None:
        try:
            return OutputSchema.of(schema, owner=called)
        except (MissingExtraError, InvalidDefinitionError, TranscriptError):
            return None  # nothing here reads it; the signature is checked below

    def read(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        known = fitted()
        complaints = () if known is None else known.check(arguments)[1]
        if complaints:
            raise msgspec.ValidationError("; ".join(complaints))
        try:
            inspect.signature(function).bind(**arguments)
        except TypeError as error:
            raise msgspec.ValidationError(str(error)) from error
        except ValueError:  # some functions of C have no signature
            pass
        return dict(arguments)

    return read


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Put the schema of the arguments at the root, as providers want it."""
    definitions = schema.get("$defs", {})
    root = dict(definitions.pop(schema["$ref"].rpartition("/")[2]))
    root.pop("title", None)
    root.setdefault("required", [])
    return {**root, **({"$defs": definitions} if definitions else {})}


def _no_schema(called: str) -> OptionsError:
    return OptionsError(
        f"No schema could be made of the signature of {called}.",
        fix="Give its parameters types that JSON has, or pass parameters=, a JSON Schema.",
        option="tools",
    )


def toolbox(tools: Sequence[Any]) -> dict[str, Tool]:
    """Find the tools that can be run here, by name; plain definitions are run elsewhere.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when two have one name.
    """
    found: dict[str, Tool] = {}
    for each in tools:
        made = as_tool(each)
        if isinstance(made, Tool):
            if made.name in found:
                raise two_of_one_name()
            found[made.name] = made
    return found


def two_of_one_name() -> OptionsError:
    """Make the error for tools that a model could not tell apart."""
    return OptionsError(
        "Two tools had one name.", fix="Give each tool its own name.", option="tools"
    )


def as_tool(value: Any) -> Any:
    """Make a tool of a bare function; anything else stays as it is."""
    return tool(value) if callable(value) and not isinstance(value, type) else value


def definitions(tools: Sequence[Any], wire: str) -> list[Any]:
    """Write tools as a wire has them; what cannot be read as a function stays as it is.

    Args:
        tools: Tools, functions, and definitions in the form of any wire.
        wire: Name of the dialect.
    """
    made = map(as_tool, tools)
    return on_wire([written(t, wire) if isinstance(t, Tool) else t for t in made], wire).tools


def read_arguments(made: Tool, call: ToolCall) -> Mapping[str, Any] | str:
    """Read the arguments of a call; text says what was wrong with them, without their values."""
    try:
        value = parse_json(call.arguments or "{}")
    except TranscriptError:
        return "The arguments were not JSON."
    if isinstance(value, dict) and value.keys() == {INVALID_JSON}:
        return "The arguments were not JSON."
    if not isinstance(value, dict):
        return "The arguments were not an object."
    try:
        return made.read(value)
    except msgspec.ValidationError as error:
        return f"The arguments did not fit the schema: {error}"


def approval_question(made: Tool | None, call: ToolCall) -> bool | Callable[[], Any]:
    """Tell whether a call waits for approval, or give the function that decides it.

    A call of no tool, and one that cannot be read, does not wait: it is refused.
    """
    if made is None:
        return False
    if isinstance(made.needs_approval, bool):
        return made.needs_approval
    arguments = read_arguments(made, call)
    return False if isinstance(arguments, str) else partial(made.needs_approval, arguments)


def require_decision(made: Tool, said: Any) -> bool:
    """Check what a function decided about approval; only `True` and `False` do.

    Raises:
        PreparationError: `PREPARATION_FAILED`, for anything else.
    """
    if isinstance(said, bool):
        return said
    raise undecided(made, f"A function that decides about approval gave a {type(said).__name__}.")


def undecided(made: Tool, message: str) -> PreparationError:
    """Make the error for a call about which nobody can say whether it waits."""
    return PreparationError(
        message,
        fix="Correct needs_approval of the tool; no tool of the answer was run.",
        reason="approval",
        tool=made.name,
    )


def result_message(call: ToolCall, made: Any, *, is_error: bool = False) -> Message:
    """Write what a tool returned as the message that answers its call."""
    parts = _result_parts(made)
    wire = answer_note(THUSFAR_JSON, call)
    return Message("tool", (ToolResult(call.id, call.name, parts, is_error, wire=wire),))


def _result_parts(made: Any) -> tuple[Any, ...]:
    if isinstance(made, str):
        return (Text(made),)
    if isinstance(made, _PARTS):
        return (made,)
    if isinstance(made, list | tuple) and made and all(isinstance(p, _PARTS) for p in made):
        return tuple(made)
    return (Text(text_of(made)),)


_PARTS: Final = (Text, Image, Audio, File, Native)


def error_text(error: BaseException) -> str:
    """Tell the model what a tool raised."""
    return f"{type(error).__name__}: {error}"
