"""Settling: what a caller of `generate` said, with the prompt's own words and every default.

Source:
    docs/spec/generate.md#turns
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar._numbers import require_whole
from thusfar.budget import InputBudget
from thusfar.dialects import Dialect, dialect
from thusfar.errors import OptionsError
from thusfar.messages import Message, Text
from thusfar.models.resolving import resolve_model
from thusfar.runtime.collecting import dialect_of
from thusfar.runtime.counting import ProviderCount
from thusfar.runtime.defining import tool_names, tools_of, with_tools
from thusfar.runtime.edge import Runtime
from thusfar.runtime.execution import MAX_RETRIES, MAX_STEPS, Execution, GenerateOptions
from thusfar.runtime.prompts import (
    Prompt,
    as_prompt,
    no_list,
    nothing_to_say,
    one_thread,
    split_threads,
)
from thusfar.runtime.schemas import OutputSchema
from thusfar.runtime.tools import definitions, toolbox, two_of_one_name
from thusfar.thread.handle import Thread

_NAMES: Final = frozenset(GenerateOptions.__annotations__)


def execution_of(prompt: Any, said: Mapping[str, Any]) -> Execution:
    """Settle everything about a turn; nothing is read or sent yet.

    Args:
        prompt: A `Prompt`, a text, or `None`.
        said: The other arguments, by name.

    Raises:
        TypeError: for an argument that does not exist.
        OptionsError: `INVALID_OPTIONS`, for a bad one.
        RequestCompositionError: `INVALID_COMPOSITION`, when there is nothing to say, or too many
            threads.
    """
    _require_known(said)
    asked = as_prompt(prompt)
    model = resolve_model(_chosen(said, "model", asked.model))
    wire = dialect(model.dialect)
    more = _of_kind(said, "use", list | tuple, "a list") or ()
    threads, entries = split_threads((*asked.use, *more))
    thread = _of_kind(said, "thread", Thread, "a Thread") or one_thread(threads)
    messages = _chosen(said, "messages", asked.messages)
    if isinstance(messages, str | bytes | Mapping):
        raise no_list("The messages of a turn were", "messages")
    given = _input(asked, said.get("input"))
    words = asked.words(given) if messages is None else None
    if messages is None and words is None and thread is None:
        raise nothing_to_say()
    spoken_in, planned_in, messages = _dialects(messages, wire)
    tools = _of_kind(said, "tools", list | tuple, "a list")
    tools = asked.tools if tools is None else tools
    own_tools = [each for entry in entries for each in tools_of(entry)]
    box = toolbox([*tools, *own_tools])
    _require_own_names(definitions([*tools, *own_tools], wire.name))
    output = _chosen(said, "output", asked.output)
    most = _chosen(said, "max_output_tokens", asked.max_output_tokens)
    require_whole("generate()", "max_output_tokens", most)
    return Execution(
        model=model,
        messages=messages,
        thread=thread if messages is None else None,
        turn=() if words is None else (Message("user", (Text(words),)),),
        system=_chosen(said, "system", None) or asked.system_value(given),
        use=tuple(with_tools(entry, lambda own: definitions(own, wire.name)) for entry in entries),
        tools=tuple(definitions(tools, wire.name)),
        toolbox=box,
        output=None if output is None else OutputSchema.of(output, owner=asked.id),
        budget=_merged(asked.budget, _of_kind(said, "budget", InputBudget, "an InputBudget")),
        max_output_tokens=most,
        max_steps=_whole(said, "max_steps", MAX_STEPS, least=1),
        max_retries=_whole(said, "max_retries", MAX_RETRIES, least=0),
        approvals=dict(_of_kind(said, "approvals", Mapping, "a mapping") or {}),
        options=_plan_options(said, model, wire, planned_in),
        prepare_step=_hook(said.get("prepare_step")),
        runtime=_of_kind(said, "runtime", Runtime, "a Runtime"),
        spoken_in=spoken_in,
        planned_in=planned_in,
    )


def _require_known(said: Mapping[str, Any]) -> None:
    for name in said:
        if name not in _NAMES:
            raise TypeError(f"generate() got an unexpected keyword argument {name!r}")


def _chosen(said: Mapping[str, Any], name: str, otherwise: Any) -> Any:
    value = said.get(name)
    return otherwise if value is None else value


def _require_own_names(tools: Sequence[Any]) -> None:
    """Check that no two definitions, of functions or plain, have one name.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when two have.
    """
    names = [name for each in tools for name in tool_names(each)]
    if len(names) != len(set(names)):
        raise two_of_one_name()


def _of_kind(said: Mapping[str, Any], name: str, kind: Any, called: str) -> Any:
    """Take an argument that is of one kind or not given.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for anything else.
    """
    value = said.get(name)
    if value is None or isinstance(value, kind):
        return value
    raise OptionsError(
        f"{name} was given as a {type(value).__name__}.",
        fix=f"Pass {name}= as {called}.",
        option=name,
    )


def _hook(hook: Any) -> Any:
    """Take the function that amends requests.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for what is no function.
    """
    if hook is None or callable(hook):
        return hook
    raise OptionsError(
        f"prepare_step was given as a {type(hook).__name__}.",
        fix="Pass a function of the step that gives an Amendment.",
        option="prepare_step",
    )


def _whole(said: Mapping[str, Any], name: str, otherwise: int, *, least: int) -> int:
    value = _chosen(said, name, otherwise)
    if type(value) is int and value >= least:
        return value
    raise OptionsError(
        f"{name} was no whole number from {least}.",
        fix=f"Pass {name}=, a whole number from {least}.",
        option=name,
    )


def _dialects(messages: Any, wire: Dialect) -> tuple[Dialect | None, Dialect, Any]:
    """Find the dialect of the caller's messages; those of another wire are planned as canonical."""
    if messages is None:
        return None, wire, None
    spoken_in = dialect_of(messages, None, wire.name)
    if spoken_in is wire:
        return spoken_in, wire, messages
    return spoken_in, dialect("thusfar"), [spoken_in.lift(message) for message in messages]


def _input(asked: Prompt, given: Any) -> Any:
    """Check the input against the prompt's schema.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when it does not fit; the fix names the places.
    """
    if asked.input is None:
        return given
    schema = OutputSchema.of(asked.input, owner=asked.id)
    values, complaints = schema.check(given)
    if complaints:
        raise OptionsError(
            "The input of a prompt did not fit its schema.",
            fix=f"Correct it: {complaints[0]}",
            option="input",
        )
    return schema.typed(values)


def _merged(own: InputBudget | None, given: InputBudget | None) -> InputBudget | None:
    if own is None or given is None:
        return given if own is None else own
    return own.merge(given)


def _plan_options(
    said: Mapping[str, Any], model: Any, wire: Dialect, planned_in: Dialect
) -> dict[str, Any]:
    """Write the arguments that every plan of the turn gets."""
    options: dict[str, Any] = {
        "dialect": planned_in,
        "wire": wire,
        "leave_out": bool(said.get("leave_out", False)),
        "resources": _of_kind(said, "resources", Mapping, "a mapping") or {},
        "counter": said.get("counter"),
    }
    if (name := said.get("conversation")) is not None:
        options["conversation"] = name
    if said.get("count_tokens"):
        options["count_tokens"] = ProviderCount(model)
    return options
