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
from typing import Any, Final, Literal

import msgspec

from thusfar.budget import InputBudget
from thusfar.errors import Diagnostic, PreparationError, RequestCompositionError
from thusfar.planner.contributors import Droppable
from thusfar.planner.ladders import entry_id, split_use
from thusfar.planner.receipt import RequestReceipt
from thusfar.runtime.arguments import PlanArguments
from thusfar.runtime.calling import acall_within, call_within

HOOK_SECONDS: Final = 30.0  # what it may take; the user is waiting

StepReason = Literal["initial", "tool-result", "validation-retry"]


class StepContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook sees; all of it frozen.

    Attributes:
        reason: Why this request is made.
        index: Number of the request within its execution, from 0.
        model: Name or object of the model.
        messages: The transcript, as the caller's own objects.
        previous_receipt: Receipt of the request before in this execution.
        tools: Tool definitions before the amendment.
    """

    reason: StepReason
    index: int
    model: Any
    messages: tuple[Any, ...]
    previous_receipt: RequestReceipt | None
    tools: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """What a hook changes for one request.

    Attributes:
        add: Contributors to add.
        remove: Names of contributors to leave out; only droppable ones may be.
        tools: Tool definitions instead of the request's. `None`: unchanged.
        active_tools: Names of the tools to keep. `None`: all.
        model: Another model. `None`: unchanged.
        budget: Another budget, which replaces the request's. `None`: unchanged.
    """

    add: Sequence[Any] = ()
    remove: Sequence[str] = ()
    tools: Sequence[Any] | None = None
    active_tools: Sequence[str] | None = None
    model: Any = None
    budget: InputBudget | None = None


PrepareStep = Callable[[StepContext], Any]


def context_of(said: PlanArguments, reason: StepReason) -> StepContext:
    """Write what a hook sees of a request."""
    before = said.within
    messages = said.messages if isinstance(said.messages, list | tuple) else ()
    return StepContext(
        reason=reason,
        index=before.step + 1 if before is not None else 0,
        model=said.model,
        messages=tuple(messages),
        previous_receipt=before.receipt if before is not None else None,
        tools=tuple(said.tools),
    )


def amended(said: PlanArguments, amendment: Any) -> PlanArguments:
    """Apply an amendment.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, when it is no amendment or oversteps.
    """
    if amendment is None:
        return said
    if not isinstance(amendment, Amendment):
        raise invalid("A hook returned something that is no Amendment.")
    add, remove = list(amendment.add), set(amendment.remove)
    policies, added = split_use(add)
    if policies:
        raise invalid("A hook tried to change who owns the history.")
    own_policies, entries = split_use(said.use)
    names = {entry_id(entry): entry for entry in entries}
    if remove & {entry_id(entry) for entry in added}:
        raise invalid("A hook added and removed the same contributor.")
    protected = [n for n in remove if n in names and not isinstance(names[n], Droppable)]
    if protected or "history" in remove:
        raise invalid("A hook tried to remove a contributor that may not be left out.")
    tools = tuple(said.tools if amendment.tools is None else amendment.tools)
    called = [tool_name(tool) for tool in tools]
    if len(called) != len(set(called)):
        raise invalid("A hook gave two tools one name.")
    if amendment.active_tools is not None:
        unknown = set(amendment.active_tools) - set(called)
        if unknown:
            raise invalid("A hook activated a tool that does not exist.")
        active = set(amendment.active_tools)
        tools = tuple(t for t, name in zip(tools, called, strict=True) if name in active)
    kept = [entry for entry in entries if entry_id(entry) not in remove]
    return replace(
        said,
        use=(*own_policies, *kept, *added),
        tools=tools,
        model=said.model if amendment.model is None else amendment.model,
        budget=said.budget if amendment.budget is None else amendment.budget,
    )


def tool_name(tool: Any) -> str:
    """Find the name of a tool definition; an empty name where it has none."""
    if not isinstance(tool, dict):
        return str(getattr(tool, "name", ""))
    inner = tool.get("function") or tool.get("toolSpec") or tool
    return str(inner.get("name", "")) if isinstance(inner, dict) else ""


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
