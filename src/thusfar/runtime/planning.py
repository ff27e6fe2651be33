"""Planning calls: `plan`, `preview`, `compact_now`, `inspect_request`, each sync and async.

Source:
    docs/spec/planner.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from thusfar._history import HistoryPolicy
from thusfar._setting import sequence_of
from thusfar.budget import InputBudget
from thusfar.capacity import ModelCapacity
from thusfar.dialects import Dialect
from thusfar.drive import Steps
from thusfar.errors import (
    Diagnostic,
    IdentityConflictError,
    OptionsError,
    RepresentationUnavailableError,
    RequestCompositionError,
    RequestTooLargeError,
)
from thusfar.planner.facts import Fingerprint, Source
from thusfar.planner.planning import plan_steps
from thusfar.planner.preparing import prepare_steps
from thusfar.planner.questions import Prepared
from thusfar.planner.receipt import (
    Adaptation,
    Inspection,
    Measurement,
    RequestReceipt,
    Status,
    StoredReceipt,
)
from thusfar.planner.sealing import Sealed
from thusfar.receipt import ReceiptWarning
from thusfar.runtime.collecting import (
    PlanArguments,
    capacity_for,
    dialect_of,
    facts_of_request,
    model_name,
    turn_messages,
)
from thusfar.runtime.edge import Edge, Runtime
from thusfar.runtime.keeping import keep_receipt_steps, read_receipt_steps
from thusfar.runtime.planned import Planned
from thusfar.runtime.working import RunStore
from thusfar.storage.base import Store
from thusfar.tokens import measure_for

PLANS_AT_MOST: Final = 3  # of one request whose thread moves while it is planned


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan would come to, without making, writing or counting anything elsewhere.

    Attributes:
        status: `fits`; `over-limit`; `unknown` when something would have to be made first.
        model: The model.
        input_tokens: Size of the request; the least it can have when `unknown`.
        max_input_tokens: The effective maximum.
        measurement: How far the size can be trusted; `incomplete` when `unknown`.
        adaptations: Contributors that would not be sent in full.
        warnings: Non-fatal notes.
        diagnostics: Why it is over the limit.
        receipt: The receipt the plan would have; `None` when over the limit.
    """

    status: Status
    model: str
    input_tokens: int | None = None
    max_input_tokens: int | None = None
    measurement: Measurement = "incomplete"
    adaptations: tuple[Adaptation, ...] = ()
    warnings: tuple[ReceiptWarning, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    receipt: RequestReceipt | None = None


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """What `compact_now` did.

    Attributes:
        key: Key of the summary; `None` when there was nothing to summarise.
        messages: Messages it covers.
        how: `made`, `joined` or `found`.
    """

    key: str | None = None
    messages: int = 0
    how: str = ""


def _runtime_of(said: PlanArguments, runtime: Runtime | None) -> Runtime:
    if runtime is None:
        return Runtime(said.thread.store if said.thread is not None else None)
    if said.thread is not None and runtime.store is not said.thread.store:
        raise OptionsError(
            "A plan got a thread of another store than its runtime's.",
            fix="Make the runtime with the store of the thread.",
            option="runtime",
        )
    return runtime


def _begin(said: PlanArguments, runtime: Runtime, *, preview: bool = False) -> Steps[Edge]:
    """Collect the facts of a request."""
    reader = None
    if said.messages is not None or said.thread is None:
        messages = () if said.messages is None else sequence_of(said.messages)
        wire = dialect_of(messages, said.dialect, "openai-chat")
        kind: Any = "none" if said.messages is None else "caller-messages"
        source = Source(kind=kind, messages=messages)
    else:
        from thusfar.runtime.reading import ThreadReader

        reader = ThreadReader(said.thread, said.dialect)
        wire = reader.wire
        source = yield RunStore(steps=reader.begin_steps())
    name = model_name(said.model)
    capacity = capacity_for(said.model, said.capacity)
    plain = isinstance(said.model, str) or capacity is not None
    tokenizer = measure_for(said.counter, name if plain else None, capacity=capacity).tokenizer
    within: Any = said.within
    facts, models = facts_of_request(
        said,
        request_id=runtime.new_id(),
        source=source,
        wire=wire,
        turn=reader.lifted_turn(said.turn) if reader else turn_messages(said.turn, wire),
        sent_as=reader.target.name if reader else "",
        summariser=runtime.summariser,
        background=True,
        backing=runtime.durable,
        calibration=runtime.calibration(name, tokenizer),
        previous=_fingerprint(said, runtime, reader),
        epoch=within.epoch if within is not None else None,
    )
    return Edge(
        runtime, facts, models, count_tokens=said.count_tokens, preview=preview, reader=reader
    )


def _fingerprint(said: PlanArguments, runtime: Runtime, reader: Any) -> Fingerprint | None:
    before = said.previous if said.previous is not None else said.within
    if before is not None:
        made: Fingerprint | None = getattr(before, "fingerprint", before)
        return made
    found: Fingerprint | None = runtime.previous(_conversation(said, reader))
    return found


def _conversation(said: PlanArguments, reader: Any) -> str | None:
    if said.conversation is not None:
        return f"named:{said.conversation}"
    return f"thread:{reader.thread.id}:{reader.thread.owner}" if reader is not None else None


def _plan(said: PlanArguments, edge: Edge) -> Steps[Planned]:
    """Plan, keep the receipt, and check that the thread stands where it was read."""
    runtime = edge.runtime
    sealed: Sealed = yield from plan_steps(edge.facts)
    if edge.reader is not None:
        yield RunStore(steps=edge.reader.check_steps())
    planned = Planned(sealed, edge, said, max_output_tokens=said.max_output_tokens)
    if runtime.durable:
        stored = StoredReceipt(receipt=sealed.receipt, inspection=planned.inspect())
        thread_id = edge.reader.thread.id if edge.reader is not None else ""
        now = runtime.store.clock()
        yield RunStore(steps=keep_receipt_steps(stored, thread_id=thread_id, now=now))
    runtime.remember(_conversation(said, edge.reader), sealed.fingerprint)
    return planned


def plan_sync(
    messages: Any = None,
    *,
    model: Any,
    system: Any = None,
    tools: Sequence[Any] = (),
    schema: Any = None,
    policy: HistoryPolicy | None = None,
    use: Sequence[Any] = (),
    turn: Any = None,
    thread: Any = None,
    dialect: str | Dialect | None = None,
    budget: InputBudget | None = None,
    capacity: ModelCapacity | int | None = None,
    counter: Any = None,
    max_output_tokens: int | None = None,
    count_tokens: Any = None,
    conversation: str | None = None,
    previous: Any = None,
    within: Any = None,
    runtime: Runtime | None = None,
) -> Planned:
    """Plan a request, for code without an event loop; see `plan`.

    Example:
        >>> planned = plan_sync([{"role": "user", "content": "Hi"}], model="gpt-4o")
        >>> planned.kwargs["messages"]
        [{'role': 'user', 'content': 'Hi'}]
    """
    said = PlanArguments(
        messages=messages,
        model=model,
        system=system,
        tools=tools,
        schema=schema,
        policy=policy,
        use=use,
        turn=turn,
        thread=thread,
        dialect=dialect,
        budget=budget,
        capacity=capacity,
        counter=counter,
        max_output_tokens=max_output_tokens,
        count_tokens=count_tokens,
        conversation=conversation,
        previous=previous,
        within=within,
    )
    edge_runtime = _runtime_of(said, runtime)
    for attempt in range(1, PLANS_AT_MOST + 1):
        edge = begin_sync(said, edge_runtime)
        try:
            made: Planned = edge.run(_plan(said, edge))
        except IdentityConflictError:
            if attempt == PLANS_AT_MOST:
                raise
        else:
            return made
    raise AssertionError


async def plan(
    messages: Any = None,
    *,
    model: Any,
    system: Any = None,
    tools: Sequence[Any] = (),
    schema: Any = None,
    policy: HistoryPolicy | None = None,
    use: Sequence[Any] = (),
    turn: Any = None,
    thread: Any = None,
    dialect: str | Dialect | None = None,
    budget: InputBudget | None = None,
    capacity: ModelCapacity | int | None = None,
    counter: Any = None,
    max_output_tokens: int | None = None,
    count_tokens: Any = None,
    conversation: str | None = None,
    previous: Any = None,
    within: Any = None,
    runtime: Runtime | None = None,
) -> Planned:
    """Plan a request for whoever makes the provider call.

    The whole request is measured, the highest fidelity that the author authorised and that fits
    is chosen, and what has to be made first is made. The provider is not called.

    Args:
        messages: The complete transcript in any dialect; it wins over a thread, also when empty.
        model: Name of the model, or a model object.
        system: System value outside the list, in the form of the provider.
        tools: Tool definitions, in the form of the provider.
        schema: Output schema.
        policy: The history policy. `None`: exact.
        use: A policy and contributors: `context(...)` and the wrappers around it.
        turn: Messages of the current turn, behind the history and outside its caps; text is a
            user message.
        thread: A `Thread` whose selected path is the transcript.
        dialect: Wire format of the messages. `None`: detected; for a thread `openai-chat`.
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
        runtime: What plans share. `None`: one of its own.

    Returns:
        The request, with `kwargs` for the provider's SDK, a receipt, and `accept`.

    Raises:
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when no authorised form fits.
        RepresentationUnavailableError: `REPRESENTATION_UNAVAILABLE`, when a form that would fit is
            not ready; its cause is the failure that kept it from being made.
        RequestCompositionError: `INVALID_COMPOSITION`, when the request cannot be composed.
        IdentityConflictError: `IDENTITY_CONFLICT`, when the thread moved three times meanwhile.
        OptionsError: `INVALID_OPTIONS`, for a bad argument.
    """
    said = PlanArguments(
        messages=messages,
        model=model,
        system=system,
        tools=tools,
        schema=schema,
        policy=policy,
        use=use,
        turn=turn,
        thread=thread,
        dialect=dialect,
        budget=budget,
        capacity=capacity,
        counter=counter,
        max_output_tokens=max_output_tokens,
        count_tokens=count_tokens,
        conversation=conversation,
        previous=previous,
        within=within,
    )
    edge_runtime = _runtime_of(said, runtime)
    for attempt in range(1, PLANS_AT_MOST + 1):
        edge = await begin(said, edge_runtime)
        try:
            made: Planned = await edge.arun(_plan(said, edge))
        except IdentityConflictError:
            if attempt == PLANS_AT_MOST:
                raise
        else:
            return made
    raise AssertionError


def begin_sync(said: PlanArguments, runtime: Runtime, *, preview: bool = False) -> Edge:
    """Collect the facts of a request here and now."""
    from thusfar.drive import drive

    made: Edge = drive(
        _begin(said, runtime, preview=preview), lambda asked: runtime.store.run(asked.steps)
    )
    return made


async def begin(said: PlanArguments, runtime: Runtime, *, preview: bool = False) -> Edge:
    """Collect the facts of a request without blocking the event loop."""
    from thusfar.drive import adrive

    async def answer(asked: RunStore) -> Any:
        return await runtime.store.arun(asked.steps)

    made: Edge = await adrive(_begin(said, runtime, preview=preview), answer)
    return made


def preview_of(edge: Edge, sealed: Sealed | RequestCompositionError) -> Preview:
    """Say what a plan came to."""
    facts = edge.facts
    if isinstance(sealed, Sealed):
        receipt = sealed.receipt
        return Preview(
            status=sealed.status,
            model=facts.model,
            input_tokens=receipt.input_tokens,
            max_input_tokens=receipt.max_input_tokens,
            measurement=receipt.measurement,
            adaptations=receipt.adaptations,
            warnings=receipt.warnings,
            receipt=receipt,
        )
    return Preview(
        status="over-limit",
        model=facts.model,
        input_tokens=sealed.facts.get("input_tokens"),  # type: ignore[arg-type]
        max_input_tokens=facts.limits.max,
        measurement=facts.measure.confidence,
        diagnostics=sealed.diagnostics,
    )


def preview_sync(
    messages: Any = None, *, model: Any, runtime: Runtime | None = None, **arguments: Any
) -> Preview:
    """Say what `plan` would come to, without making, writing or scheduling anything.

    Args:
        messages: As for `plan`.
        model: As for `plan`.
        runtime: As for `plan`.
        **arguments: As for `plan`.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, as for `plan`.
        OptionsError: `INVALID_OPTIONS`, as for `plan`.
    """
    said = PlanArguments(messages=messages, model=model, **arguments)
    edge = begin_sync(said, _runtime_of(said, runtime), preview=True)
    try:
        return preview_of(edge, edge.run(plan_steps(edge.facts)))
    except (RequestTooLargeError, RepresentationUnavailableError) as error:
        return preview_of(edge, error)


async def preview(
    messages: Any = None, *, model: Any, runtime: Runtime | None = None, **arguments: Any
) -> Preview:
    """Say what `plan` would come to; see `preview_sync`."""
    said = PlanArguments(messages=messages, model=model, **arguments)
    edge = await begin(said, _runtime_of(said, runtime), preview=True)
    try:
        return preview_of(edge, await edge.arun(plan_steps(edge.facts)))
    except (RequestTooLargeError, RepresentationUnavailableError) as error:
        return preview_of(edge, error)


def _compacted(prepared: Prepared | None) -> Compacted:
    if prepared is None:
        return Compacted()
    artifact = prepared.artifact
    return Compacted(key=artifact.key, messages=artifact.messages, how=prepared.how)


def compact_now_sync(
    messages: Any = None, *, model: Any, runtime: Runtime, **arguments: Any
) -> Compacted:
    """Make the summary for the coming cut now, however small the gain; see `compact_now`."""
    said = PlanArguments(messages=messages, model=model, **arguments)
    edge = begin_sync(said, _runtime_of(said, runtime))
    edge.why = "on-demand"
    return _compacted(edge.run(prepare_steps(edge.facts, force=True)))


async def compact_now(
    messages: Any = None, *, model: Any, runtime: Runtime, **arguments: Any
) -> Compacted:
    """Make the summary for the coming cut now, however small the gain.

    Args:
        messages: As for `plan`.
        model: As for `plan`.
        runtime: Where the summary is kept.
        **arguments: As for `plan`; the policy must be `history(...)`.

    Raises:
        SummaryFailedError: `SUMMARY_FAILED`, when the summary could not be had.
    """
    said = PlanArguments(messages=messages, model=model, **arguments)
    edge = await begin(said, _runtime_of(said, runtime))
    edge.why = "on-demand"
    return _compacted(await edge.arun(prepare_steps(edge.facts, force=True)))


def inspect_request_sync(request: str | RequestReceipt | Planned, *, store: Store) -> Inspection:
    """Read the evidence of a request that was planned with this store, in any process.

    Args:
        request: Its id, its receipt, or the planned request.
        store: The store.

    Raises:
        InspectionUnavailableError: `REQUEST_INSPECTION_UNAVAILABLE`, when none is kept.
    """
    stored: StoredReceipt = store.run(read_receipt_steps(_id_of(request)))
    return stored.inspection


async def inspect_request(request: str | RequestReceipt | Planned, *, store: Store) -> Inspection:
    """Read the evidence of a request; see `inspect_request_sync`."""
    stored: StoredReceipt = await store.arun(read_receipt_steps(_id_of(request)))
    return stored.inspection


def _id_of(request: Any) -> str:
    if isinstance(request, Planned):
        return request.receipt.id
    return request.id if isinstance(request, RequestReceipt) else str(request)
