"""Step contexts: what a hook sees of the request that it may amend; all of it read-only.

Source:
    docs/spec/planner.md#hooks
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from thusfar.dialects import Dialect
from thusfar.errors import ResourceReadError
from thusfar.facts import facts_of
from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.planner.receipt import RequestReceipt
from thusfar.runtime.arguments import PlanArguments
from thusfar.runtime.collecting import dialect_of, listed, turn_messages
from thusfar.units import group

StepReason = Literal["initial", "tool-result", "validation-retry", "pause"]
Coverage = Literal["complete", "partial", "none"]


class ToolUse(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call of the conversation, with what came of it.

    Attributes:
        call_id: Id of the call; `None` where the wire has none.
        name: Name of the tool.
        arguments: Its arguments, as the JSON text that was received.
        answered: Whether there is a result.
        result: The text of the result; `None` without one.
        is_error: Whether the tool reported a failure.
    """

    call_id: str | None
    name: str
    arguments: str
    answered: bool = False
    result: str | None = None
    is_error: bool = False


class StepStats(msgspec.Struct, frozen=True, kw_only=True):
    """What the execution took so far, before this request.

    Attributes:
        at: When the request is planned. Unit: milliseconds since 1970.
        requests: How many requests were planned before.
        input_tokens: Their size, as counted.
        reported_input_tokens: As the providers reported it, of those that did.
        reported_output_tokens: As the providers reported it, of those that did.
        coverage: Whether all, some or none of them were reported, so that what is missing is not
            read as zero. `complete` before the first request.
    """

    at: int
    requests: int = 0
    input_tokens: int = 0
    reported_input_tokens: int = 0
    reported_output_tokens: int = 0
    coverage: Coverage = "complete"


class Resources:
    """Values that the caller lends to a hook; each is read once and stays as it was read.

    Args:
        given: By name, a value or a function of no arguments that gives it.
    """

    __slots__ = ("_given", "_read")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)
        self._read: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """What may be read."""
        return tuple(self._given)

    @property
    def seen(self) -> tuple[str, ...]:
        """What was read, in order."""
        return tuple(self._read)

    def read(self, name: str) -> Any:
        """Read a value; `None` means that there is none.

        Raises:
            ResourceReadError: `RESOURCE_UNAVAILABLE`, for a name that was not lent, and where the
                function raised or has to be awaited.
        """
        if name not in self._read:
            made = self._made(name)
            if inspect.isawaitable(made):
                if inspect.iscoroutine(made):
                    made.close()
                raise _unread(name, "unresolved", "Read it with aread(), from an async hook.")
            self._read[name] = frozen(made)
        return self._read[name]

    async def aread(self, name: str) -> Any:
        """Read a value whose function may be async; see `read`."""
        if name not in self._read:
            made = self._made(name)
            try:
                value = await made if inspect.isawaitable(made) else made
            except Exception as error:
                raise _unread(name, "unresolved", "Correct the function behind it.") from error
            self._read.setdefault(name, frozen(value))
        return self._read[name]

    def _made(self, name: str) -> Any:
        if name not in self._given:
            raise _unread(name, "undeclared", "Lend it with resources=.")
        value = self._given[name]
        if not callable(value):
            return value
        try:
            return value()
        except Exception as error:
            raise _unread(name, "unresolved", "Correct the function behind it.") from error


def _unread(name: str, reason: str, fix: str) -> ResourceReadError:
    return ResourceReadError(
        "A hook could not read a resource.", fix=fix, resource=name, reason=reason
    )


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """What a hook sees.

    Lists are tuples here and dicts are read-only views, at every depth; objects of an SDK are the
    caller's own.

    Attributes:
        reason: Why this request is made.
        index: Number of the request within its execution, from 0.
        model: Name or object of the model.
        previous_receipt: Receipt of the request before in this execution.
        tools: Tool definitions before the amendment.
        stats: What the execution took so far.
        resources: What the caller lends.
    """

    reason: StepReason
    index: int
    model: Any
    previous_receipt: RequestReceipt | None
    tools: tuple[Any, ...]
    stats: StepStats
    resources: Resources
    _said: PlanArguments = field(repr=False, compare=False)

    @cached_property
    def messages(self) -> tuple[Any, ...]:
        """The caller's transcript; empty where a thread has it."""
        return frozen(tuple(_listed(self._said.messages)))  # type: ignore[no-any-return]

    @cached_property
    def turn(self) -> tuple[Any, ...]:
        """Messages of the current turn, of an execution with what it brought so far."""
        return frozen(self._turn)  # type: ignore[no-any-return]

    @cached_property
    def tool_history(self) -> tuple[ToolUse, ...]:
        """The tool calls of the caller's transcript and of the current turn, in order."""
        said = [*_listed(self._said.messages), *self._turn]
        read = self._dialect.lift
        return tool_uses([each if isinstance(each, Message) else read(each) for each in said])

    @property
    def _turn(self) -> tuple[Any, ...]:
        """The current turn; that of a thread is canonical, whatever the transcript is in."""
        said = self._said.turn
        return turn_messages(said, self._dialect) if isinstance(said, str) else listed(said)

    @cached_property
    def _dialect(self) -> Dialect:
        turn = self._said.turn if isinstance(self._said.turn, list | tuple) else ()
        said = (*_listed(self._said.messages), *turn)
        foreign = [each for each in said if not isinstance(each, Message)]
        return dialect_of(foreign, self._said.dialect, "openai-chat")


def context_of(said: PlanArguments, reason: StepReason, *, at: int = 0) -> StepContext:
    """Write what a hook sees of a request.

    Args:
        said: What the caller of the plan said.
        reason: Why the request is made.
        at: When it is planned. Unit: milliseconds since 1970.
    """
    before = said.within
    return StepContext(
        reason=reason,
        index=before.step + 1 if before is not None else 0,
        model=said.model,
        previous_receipt=before.receipt if before is not None else None,
        tools=frozen(tuple(said.tools)),
        stats=stats_of(before, at=at),
        resources=Resources(said.resources),
        _said=said,
    )


def stats_of(before: Any, *, at: int) -> StepStats:
    """Add up the requests of an execution.

    Args:
        before: The request before, with those before it; `None` at the first.
        at: When the next one is planned. Unit: milliseconds since 1970.
    """
    counted: list[int] = []
    reported: list[tuple[int | None, int | None]] = []
    while before is not None:
        counted.append(before.receipt.input_tokens)
        reported.append(before.reported)
        before = before.before
    known = [each for each in reported if each[0] is not None]
    coverage: Coverage = "partial" if known else "none"
    return StepStats(
        at=at,
        requests=len(counted),
        input_tokens=sum(counted),
        reported_input_tokens=sum(given or 0 for given, _ in known),
        reported_output_tokens=sum(given or 0 for _, given in known),
        coverage="complete" if len(known) == len(counted) else coverage,
    )


def tool_uses(messages: Sequence[Message]) -> tuple[ToolUse, ...]:
    """List the tool calls of messages, each with the result that answers it."""
    calls = [[part for part in m.parts if isinstance(part, ToolCall)] for m in messages]
    results = [[part for part in m.parts if isinstance(part, ToolResult)] for m in messages]
    answers = group([facts_of(message) for message in messages]).answers()
    found = {call: results[at][nth] for (at, nth), call in answers.items()}
    return tuple(
        _use(call, found.get((at, nth)))
        for at, made in enumerate(calls)
        for nth, call in enumerate(made)
    )


def _use(call: ToolCall, result: ToolResult | None) -> ToolUse:
    used = ToolUse(call_id=call.id, name=call.name, arguments=call.arguments)
    if result is None:
        return used
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    return msgspec.structs.replace(
        used, answered=True, result="".join(texts), is_error=result.is_error
    )


def _listed(messages: Any) -> Sequence[Any]:
    return messages if isinstance(messages, list | tuple) else ()


def frozen(value: Any) -> Any:
    """Copy lists into tuples and dicts into read-only views, at every depth."""
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(each) for key, each in value.items()})
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return tuple(frozen(each) for each in value)
    return value
