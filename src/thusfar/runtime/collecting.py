"""Collecting: the arguments of a plan as facts; defaults, names and limits are settled here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from thusfar._history import HistoryOptions, ManagedHistory
from thusfar._options import RecentHistoryOptions
from thusfar._summarize import SummaryOptions
from thusfar.artifacts import identity_of
from thusfar.budget import DEFAULT_OVERHEAD, Limits, limits
from thusfar.capacity import ModelCapacity, capacity_of
from thusfar.dialects import Dialect, DialectMismatch, detect, dialect, ordered
from thusfar.errors import Diagnostic, OptionsError, RequestCompositionError, TranscriptError
from thusfar.messages import Message, Text
from thusfar.models.port import takes_any_input
from thusfar.planner.facts import Calibration, RequestFacts, Source, SummaryModel
from thusfar.planner.ladders import entry_id, one_policy, split_use, summary_options
from thusfar.planner.recall import RECALL
from thusfar.runtime.arguments import PlanArguments
from thusfar.runtime.defining import may_offload, tool_names, tools_of
from thusfar.summaries.values import OUTPUT_ROOM
from thusfar.tokens import Measure, measure_for

ENOUGH_SAMPLES: Final = 8  # reported requests before they correct the margin


def model_name(model: Any) -> str:
    """Name a model: its text, or its `name`.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when there is neither.
    """
    name = model if isinstance(model, str) else getattr(model, "name", None)
    if isinstance(name, str) and name:
        return name
    raise OptionsError(
        "A plan got no model.", fix="Pass model=, a name or an object with a name.", option="model"
    )


def capacity_for(model: Any, given: ModelCapacity | int | None) -> ModelCapacity | None:
    """Find what the caller says of the model's capacity: an argument, or the object's own."""
    if given is not None:
        return ModelCapacity.of(given)
    own = getattr(model, "capacity", None)
    if isinstance(own, ModelCapacity):
        return own
    window = getattr(model, "window", None)
    return ModelCapacity(context_window=window) if type(window) is int else None


def dialect_of(
    messages: Sequence[Any], given: str | Dialect | None, default: str | None = None
) -> Dialect:
    """Find the dialect that all of the messages are in.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when they fit none, or not the given one.
    """
    if given is not None:
        named = dialect(given) if isinstance(given, str) else given
        return _require(named, messages)
    if not messages and default is not None:
        return dialect(default)
    for candidate in ordered():
        try:
            for message in messages:
                candidate.describe(message)
        except DialectMismatch:
            continue
        return candidate
    return detect(messages)


def _require(named: Dialect, messages: Sequence[Any]) -> Dialect:
    try:
        for message in messages:
            named.describe(message)
    except DialectMismatch:
        raise TranscriptError(
            f"A message did not have the shape of the dialect {named.name}.",
            fix="Pass the dialect the messages are in, or leave dialect= out.",
            dialect=named.name,
        ) from None
    return named


def turn_messages(turn: Any, wire: Dialect) -> tuple[Any, ...]:
    """Read the current turn: text is a user message.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when it is not in the dialect of the messages.
    """
    if turn is None:
        return ()
    if isinstance(turn, str):
        return tuple(wire.lower(Message("user", (Text(turn),))))
    given = listed(turn)
    with turn_of(wire):
        for message in given:
            wire.describe(message)
    return given


def listed(turn: Any) -> tuple[Any, ...]:
    """List the messages of the current turn; text is none yet."""
    if turn is None or isinstance(turn, str):
        return ()
    return tuple(turn if isinstance(turn, list | tuple) else [turn])


@contextmanager
def turn_of(wire: Dialect) -> Iterator[None]:
    """Say of a message of the turn that it is not in the dialect of the request.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, in place of the mismatch.
    """
    try:
        yield
    except DialectMismatch:
        raise TranscriptError(
            f"A message of the current turn did not have the shape of the dialect {wire.name}.",
            fix="Pass text, or the turn in the dialect of the messages; dialect= names it.",
            dialect=wire.name,
        ) from None


def summary_model(
    options: SummaryOptions,
    request_model: Any,
    summariser: Any,
    *,
    measure: Measure,
    repair: str = "strict",
    provider_native: bool = False,
) -> tuple[SummaryModel, Any]:
    """Settle which model makes a summary, and what it would be known by.

    Returns:
        What planning needs of it, and the model itself; `None` where none can be called.
    """
    model = options.model if options.model is not None else summariser
    if model is None:
        model = request_model
    name = options.name or getattr(model, "name", None) or (model if type(model) is str else None)
    callable_model = model if not isinstance(model, str) else summariser
    able = callable_model is not None and (
        callable(callable_model) or callable(getattr(callable_model, "generate_text", None))
    )
    native = provider_native and callable(getattr(callable_model, "compact_history", None))
    able = able or native
    identity = identity_of(
        options,
        model=str(name) if name else written_as(callable_model),
        repair=repair,
        provider=str(getattr(callable_model, "provider", "")),
        native=native,
    )
    room = input_room(callable_model if able else model, str(name or ""), options, measure)
    facts = SummaryModel(identity=identity, measure=measure, room=room, callable=able)
    return facts, callable_model if able else None


def written_as(model: Any) -> str:
    """Tell a model without a name from others: by the code that it is an object of.

    Args:
        model: A function, an object, or `None`.
    """
    code = model if hasattr(model, "__qualname__") else type(model)
    return f"{code.__module__}.{code.__qualname__}"


def input_room(model: Any, name: str, options: SummaryOptions, measure: Measure) -> int | None:
    """Derive how many input tokens a summary model takes; `None` where it takes any."""
    output = options.max_tokens * OUTPUT_ROOM
    if takes_any_input(model):
        return None
    capacity = capacity_for(model, None) or capacity_of(name)
    output = min(output, capacity.context_window // 2)
    return limits(None, capacity, model=name or None, measure=measure, output_reserve=output).max


def facts_of_request(
    said: PlanArguments,
    *,
    request_id: str,
    source: Source,
    wire: Dialect,
    turn: tuple[Any, ...],
    sent_as: str,
    summariser: Any,
    background: bool,
    backing: bool,
    calibration: Calibration | None = None,
    previous: Any = None,
    epoch: Any = None,
    track: bool = True,
) -> tuple[RequestFacts, dict[str, Any]]:
    """Write the facts of a request.

    Returns:
        The facts, and the summary models by contributor (`history` for the history).

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a bad argument.
        RequestCompositionError: `INVALID_COMPOSITION`, for two policies.
    """
    name = model_name(said.model)
    capacity = capacity_for(said.model, said.capacity)
    sized_as = None if capacity is None and takes_any_input(said.model) else name
    measure = measure_for(said.counter, sized_as, capacity=capacity)
    bounds = _limits(said, sized_as, capacity, measure, calibration)
    policies, entries = split_use(said.use)
    policy = one_policy([*policies, *([] if said.policy is None else [said.policy])])
    _require_recall_free(said, policy, entries)
    models: dict[str, Any] = {}
    summary = None
    if isinstance(policy, ManagedHistory):
        options = policy.options
        summary, models["history"] = _history_model(options, said.model, summariser, measure)
    summaries: dict[str, SummaryModel] = {}
    for entry in entries:
        if (wanted := summary_options(entry)) is not None:
            key = entry_id(entry)
            summaries[key], models[key] = summary_model(
                wanted, said.model, summariser, measure=measure
            )
    raw = None
    if bounds.window is not None:
        raw = bounds.window - bounds.reserve - bounds.overhead
        if said.budget is not None and said.budget.max is not None:
            raw = min(raw, said.budget.max)
    facts = RequestFacts(
        request_id=request_id,
        model=name,
        dialect=wire,
        measure=measure,
        limits=bounds,
        source=source,
        policy=policy,
        turn=turn,
        wire=sent_as,
        system=said.system,
        tools=tuple(said.tools),
        schema=said.schema,
        use=tuple(entries),
        summary=summary,
        summaries=summaries,
        backing=backing,
        background=background,
        previous=previous,
        epoch=epoch,
        counter=said.count_tokens is not None,
        calibration=calibration,
        raw_max=raw,
        track=track,
    )
    return facts, models


def _require_recall_free(said: PlanArguments, policy: Any, entries: Sequence[Any]) -> None:
    """Check that no tool of the author has the name of the one that reads back what was offloaded.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, where a request may offer both.
    """
    offloads = isinstance(policy, ManagedHistory) and policy.options.offload
    if not offloads and not any(map(may_offload, entries)):
        return
    tools = [*said.tools, *(tool for entry in entries for tool in tools_of(entry))]
    if any(RECALL in tool_names(tool) for tool in tools):
        message = "A tool has the name recall, which the tool for offloaded text has."
        raise RequestCompositionError(
            message,
            fix="Give the tool another name, or offload nothing.",
            diagnostics=(Diagnostic(code="INVALID_LADDER", message=message),),
        )


def _history_model(
    options: HistoryOptions, request_model: Any, summariser: Any, measure: Measure
) -> tuple[SummaryModel, Any]:
    summary, recent = options.summary, options.recent
    assert isinstance(summary, SummaryOptions)
    repair = recent.repair if isinstance(recent, RecentHistoryOptions) else "strict"
    return summary_model(
        summary,
        request_model,
        summariser,
        measure=measure,
        repair=repair,
        provider_native=options.provider_native,
    )


def _limits(
    said: PlanArguments,
    name: str | None,
    capacity: ModelCapacity | None,
    measure: Measure,
    calibration: Calibration | None,
) -> Limits:
    percent = None
    if calibration is not None and calibration.samples >= ENOUGH_SAMPLES:
        percent = max(100, -int(-calibration.high * 100 // 1))  # the window stays the limit
    return limits(
        said.budget,
        capacity,
        model=name,
        measure=measure,
        output_reserve=said.max_output_tokens,
        overhead=DEFAULT_OVERHEAD,
        percent=percent,
    )
