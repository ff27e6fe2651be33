"""Hooks: a callback that amends one request before it is planned, within narrow limits.

It is called once before each provider call of an execution, and never for transport retries. It may
not touch who owns the history. What it returns is read once; later changes of it do nothing.

Source:
    docs/spec/planner.md#hooks
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from thusfar._setting import sequence_of, system_text
from thusfar.budget import InputBudget
from thusfar.errors import Diagnostic, OptionsError, PreparationError, RequestCompositionError
from thusfar.models.resolving import resolve_model
from thusfar.planner.contributors import Context, Droppable, Prefer, Summarizable
from thusfar.planner.ladders import entry_id, split_use
from thusfar.planner.receipt import StepEvidence
from thusfar.runtime.arguments import PlanArguments
from thusfar.runtime.calling import acall_within, call_within
from thusfar.runtime.collecting import dialect_of
from thusfar.runtime.counting import ProviderCount
from thusfar.runtime.defining import on_wire, tool_names, tools_of, with_tools
from thusfar.runtime.step_context import StepContext
from thusfar.runtime.tools import definitions, toolbox

HOOK_SECONDS: Final = 30.0  # what it may take; the user is waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """What a hook changes for one request.

    Attributes:
        add: Contributors to add.
        remove: Names of contributors to leave out; only droppable ones may be.
        tools: Tools, functions and definitions instead of the request's. `None`: unchanged.
        active_tools: Names of the tools to keep. `None`: all.
        model: Another model. `None`: unchanged. One that speaks another wire gets the request
            written for that one; what has no form there is refused, or left out and reported.
        budget: Another budget, which replaces the request's. `None`: unchanged.
    """

    add: Sequence[Any] = ()
    remove: Sequence[str] = ()
    tools: Sequence[Any] | None = None
    active_tools: Sequence[str] | None = None
    model: Any = None
    budget: InputBudget | None = None


PrepareStep = Callable[[StepContext], Any]


def amended(said: PlanArguments, amendment: Any) -> PlanArguments:
    """Apply an amendment.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, when it is no amendment or oversteps.
    """
    if amendment is None:
        return said
    if not isinstance(amendment, Amendment):
        raise invalid("A hook returned something that is no Amendment.")
    require_types(amendment)
    add, remove = list(amendment.add), set(amendment.remove)
    try:
        policies, added = split_use(add)
    except OptionsError as error:
        raise invalid("A hook added something that is no contributor.") from error
    if policies:
        raise invalid("A hook tried to change who owns the history.")
    said = _with_model(said, amendment)
    own_policies, entries = split_use(said.use)
    names = {entry_id(entry): entry for entry in entries}
    if remove & {entry_id(entry) for entry in added}:
        raise invalid("A hook added and removed the same contributor.")
    if remove & {name for entry in entries for name in inner_names(entry)}:
        raise invalid("A hook tried to remove a part of a contributor.")
    protected = [n for n in remove if n in names and not isinstance(names[n], Droppable)]
    if protected or "history" in remove:
        raise invalid("A hook tried to remove a contributor that may not be left out.")
    kept = [entry for entry in entries if entry_id(entry) not in remove]
    brought = [tool for entry in added for tool in tools_of(entry)]
    given = [*(amendment.tools or ()), *brought]
    if given:
        wire = wire_of(said)
        added = [with_tools(entry, lambda own: definitions(own, wire)) for entry in added]
        own_tools = definitions(amendment.tools or (), wire)
        runnable = toolbox(given)
        defined = [name for each in definitions(given, wire) for name in tool_names(each)]
        functions = {**said.functions, **{name: runnable.get(name) for name in defined}}
        said = replace(said, functions=functions)
    tools = tuple(said.tools if amendment.tools is None else own_tools if given else ())
    return replace(
        said,
        use=(*own_policies, *kept, *added),
        tools=_active(tools, amendment),
        budget=said.budget if amendment.budget is None else amendment.budget,
    )


def _active(tools: tuple[Any, ...], amendment: Amendment) -> tuple[Any, ...]:
    """Keep the tools that a hook activated.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, for two of one name, or an unknown one.
    """
    called = [name for tool in tools for name in tool_names(tool)]
    if len(called) != len(set(called)):
        raise invalid("A hook gave two tools one name.")
    if amendment.active_tools is None:
        return tools
    active = set(amendment.active_tools)
    if active - set(called):
        raise invalid("A hook activated a tool that does not exist.")
    return tuple(tool for tool in tools if active.intersection(tool_names(tool)))


def _with_model(said: PlanArguments, amendment: Amendment) -> PlanArguments:
    """Take another model; where it speaks another wire, the request is written for that one.

    The messages are converted when they are placed; tools and the system value here.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a model that cannot be called where one is called.
    """
    if amendment.model is None:
        return said
    model = amendment.model
    if hasattr(said.model, "generate_sync"):
        model = resolve_model(model)
    said = replace(said, model=model)
    if isinstance(said.count_tokens, ProviderCount):
        said = replace(said, count_tokens=ProviderCount(model))
    wire = getattr(model, "dialect", None)
    if not isinstance(wire, str) or wire == wire_of(said):
        return said
    own = said.tools if amendment.tools is None else ()
    tools, lost = on_wire(own, wire, foreign=True)

    def write(brought: Sequence[Any]) -> Sequence[Any]:
        nonlocal lost
        made = on_wire(brought, wire, foreign=True)
        lost += made.left_out
        return made.tools

    policies, entries = split_use(said.use)
    system = said.system if said.system is None else system_text(said.system)
    return replace(
        said,
        wire=wire,
        tools=tuple(tools),
        use=(*policies, *(with_tools(entry, write) for entry in entries)),
        system=system,
        tools_left_out=lost,
    )


def wire_of(said: PlanArguments) -> str:
    """Name the wire that a request is sent on."""
    named = said.wire if said.wire is not None else said.dialect
    if isinstance(named, str):
        return named
    if named is not None:
        return named.name
    if said.messages is None:
        return "openai-chat"
    return dialect_of(sequence_of(said.messages), None, "openai-chat").name


def require_types(amendment: Amendment) -> None:
    """Check that an amendment holds what its fields say.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, when it does not.
    """
    lists = (amendment.add, amendment.remove, amendment.tools, amendment.active_tools)
    if not all(each is None or isinstance(each, list | tuple | set | frozenset) for each in lists):
        raise invalid("A hook returned an amendment with something that is no list.")
    names = (*amendment.remove, *(amendment.active_tools or ()))
    if not all(isinstance(name, str) for name in names):
        raise invalid("A hook returned an amendment with something that is no name.")
    if not isinstance(amendment.budget, InputBudget | None):
        raise invalid("A hook returned an amendment with something that is no budget.")


def inner_names(entry: Any) -> list[str]:
    """List the names inside a contributor that are not its own."""
    own, found = entry_id(entry), []
    inner = entry
    while not isinstance(inner, Context):
        if isinstance(inner, Prefer):
            found += [each.id for each in inner.alternatives]
            inner = inner.primary
        elif isinstance(inner, Summarizable):
            found += [entry_id(each) for each in inner.sources]
            break
        else:
            inner = inner.source
    return [name for name in found if name != own]


def evidence_of(seen: StepContext, amendment: Any) -> StepEvidence:
    """Write what a hook did, for the inspection."""
    made = amendment if isinstance(amendment, Amendment) else Amendment()
    return StepEvidence(
        reason=seen.reason,
        index=seen.index,
        added=tuple(entry_id(each) for each in split_use(made.add)[1]),
        removed=tuple(sorted(made.remove)),
        tools=made.tools is not None or made.active_tools is not None,
        model=made.model is not None,
        budget=made.budget is not None,
        resources=seen.resources.seen,
    )


def invalid(message: str) -> RequestCompositionError:
    """Make the error for an amendment that oversteps."""
    return RequestCompositionError(
        message,
        fix="Return an Amendment that only does what its fields describe.",
        diagnostics=(Diagnostic(code="INVALID_EXECUTION_AMENDMENT", message=message),),
    )


async def aprepare(hook: PrepareStep, seen: StepContext, *, seconds: float) -> Any:
    """Call a hook without blocking the event loop.

    Raises:
        PreparationError: `PREPARATION_FAILED`, when it raised or took too long.
    """
    try:
        return await acall_within(partial(hook, seen), seconds)
    except Exception as error:
        raise _failed(error) from error


def prepare(hook: PrepareStep, seen: StepContext, *, seconds: float) -> Any:
    """Call a hook and wait for it; errors as for `aprepare`."""
    try:
        return call_within(partial(hook, seen), seconds)
    except Exception as error:
        raise _failed(error) from error


def _failed(error: Exception) -> PreparationError:
    late = isinstance(error, TimeoutError)
    return PreparationError(
        "A hook took too long." if late else "A hook raised an error.",
        fix="Correct the hook; nothing was sent.",
        reason="timeout" if late else "callback",
    )
