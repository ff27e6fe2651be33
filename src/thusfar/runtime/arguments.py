"""Arguments: what callers of `plan`, `preview` and `compact_now` say, listed once.

Each of them takes `**options: Unpack[PlanOptions]`, so that type checkers and editors know every
argument; `spelled_out` tells the same to whoever asks at run time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Final, TypedDict, TypeVar

from thusfar._history import HistoryPolicy
from thusfar._numbers import require_whole
from thusfar._setting import sequence_of
from thusfar.budget import InputBudget
from thusfar.capacity import ModelCapacity
from thusfar.dialects import Dialect
from thusfar.runtime.checking import check_kinds

Function = TypeVar("Function", bound=Callable[..., Any])


class PlanOptions(TypedDict, total=False):
    """The arguments of a plan besides its messages and its model; all are optional.

    Attributes:
        system: System value outside the list, in the form of the provider.
        tools: Tool definitions, in the form of the provider.
        schema: Output schema.
        policy: The history policy. `None`: exact.
        use: A policy and contributors: `context(...)` and the wrappers around it.
        turn: Messages of the current turn, behind the history and outside its caps; text is a
            user message.
        thread: A `Thread` whose selected path is the transcript.
        at: Id of a message of the thread: the path to it is the transcript, instead of the
            selected one; an empty text is the root. `None`: the selected path.
        dialect: Wire format of the messages. `None`: detected; for a thread `openai-chat`.
        wire: Wire format that is sent, where it is not the one of the messages.
        leave_out: Whether parts with no form on that wire are left out and reported; else they
            raise `UNSUPPORTED_PART`.
        cache: Whether breakpoints for the provider's prompt cache are set, where it wants them and
            the caller set none.
        budget: The author's limits.
        capacity: Capacity of the model, or its window, instead of the table's.
        counter: How tokens are counted, as for `history.recent(...).project`.
        max_output_tokens: Output limit of the request, kept free in the window.
        count_tokens: The provider's own counter: a function of `messages`, `system`, `tools` and
            `schema`, sync or async. It is asked at most three times, and only where its answer
            can change what is sent.
        conversation: Name of the conversation in this runtime, so that the receipt can say what
            its request has in common with the one before.
        previous: The planned request before, instead of a name.
        within: The planned request before in the same execution (a tool round, a retry): fidelity
            does not go up again, and both are linked.
        resources: What a hook may read, by name: values, or functions of no arguments.
    """

    system: Any
    tools: Sequence[Any]
    schema: Any
    policy: HistoryPolicy | None
    use: Sequence[Any]
    turn: Any
    thread: Any
    at: str | None
    dialect: str | Dialect | None
    wire: str | Dialect | None
    leave_out: bool
    cache: bool
    budget: InputBudget | None
    capacity: ModelCapacity | int | None
    counter: Any
    max_output_tokens: int | None
    count_tokens: Any
    conversation: str | None
    previous: Any
    within: Any
    resources: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanArguments:
    """What a caller of `plan` said: its messages, its model, and `PlanOptions` with defaults.

    A hook adds to it:

    Attributes:
        functions: The tools it gave, by name, that are run here; `None` each for definitions.
        tools_left_out: How many tools have no form on the wire of the model that it gave.
    """

    model: Any
    messages: Any = field(default=None, repr=False)
    system: Any = field(default=None, repr=False)
    tools: Sequence[Any] = ()
    schema: Any = None
    policy: HistoryPolicy | None = None
    use: Sequence[Any] = ()
    turn: Any = field(default=None, repr=False)
    thread: Any = None
    at: str | None = None
    dialect: str | Dialect | None = None
    wire: str | Dialect | None = None
    leave_out: bool = False
    cache: bool = True
    budget: InputBudget | None = None
    capacity: ModelCapacity | int | None = None
    counter: Any = None
    max_output_tokens: int | None = None
    count_tokens: Any = None
    conversation: str | None = None
    previous: Any = None
    within: Any = None
    resources: Mapping[str, Any] = field(default_factory=dict, repr=False)
    functions: Mapping[str, Any] = field(default_factory=dict, repr=False)
    tools_left_out: int = 0


_OPTIONS: Final = tuple(
    each for each in fields(PlanArguments) if each.name in PlanOptions.__annotations__
)


def said_to(caller: str, messages: Any, model: Any, options: Mapping[str, Any]) -> PlanArguments:
    """Read the arguments of a call.

    Args:
        caller: Name of the function that was called, for the error.
        messages: Its messages.
        model: Its model.
        options: The other arguments.

    Raises:
        TypeError: for an argument that does not exist.
        OptionsError: `INVALID_OPTIONS`, for an output limit that is no whole number from 1, and
            for any other argument of the wrong kind.
    """
    for name in options:
        if name not in PlanOptions.__annotations__:
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}")
    require_whole(f"{caller}()", "max_output_tokens", options.get("max_output_tokens"))
    check_kinds(caller, options)
    given = {name: value for name, value in options.items() if value is not None}
    read = None if messages is None else sequence_of(messages)  # once, where it can be read once
    return PlanArguments(messages=read, model=model, **given)


def spelled_out(function: Function) -> Function:
    """Name every option in the signature that is shown at run time."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    place = next(i for i, each in enumerate(own) if each.name == "model") + 1
    listed = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default={} if option.default is MISSING else option.default,
            annotation=option.type,
        )
        for option in _OPTIONS
    ]
    made = signature.replace(parameters=[*own[:place], *listed, *own[place:]])
    function.__signature__ = made  # type: ignore[attr-defined]
    return function
