"""Planning calls: `plan` and `plan_sync`.

Source:
    docs/spec/planner.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from thusfar._history import HistoryPolicy, ManagedHistory
from thusfar.budget import InputBudget
from thusfar.capacity import ModelCapacity
from thusfar.dialects import Dialect
from thusfar.drive import Steps
from thusfar.errors import (
    IdentityConflictError,
    RepresentationUnavailableError,
)
from thusfar.planner.planning import plan_steps
from thusfar.planner.receipt import (
    StoredReceipt,
)
from thusfar.planner.sealing import Sealed
from thusfar.runtime.beginning import begin, begin_sync, conversation_of, runtime_of
from thusfar.runtime.collecting import (
    PlanArguments,
)
from thusfar.runtime.edge import Edge, Runtime
from thusfar.runtime.hooks import (
    HOOK_SECONDS,
    PrepareStep,
    StepReason,
    amended,
    aprepare,
    context_of,
    prepare,
)
from thusfar.runtime.keeping import keep_receipt_steps
from thusfar.runtime.planned import Planned, preparation_job
from thusfar.runtime.working import RunStore

PLANS_AT_MOST: Final = 3  # of one request whose thread moves while it is planned


def _plan(said: PlanArguments, edge: Edge) -> Steps[Planned]:
    """Plan, keep the receipt, and check that the thread stands where it was read."""
    runtime = edge.runtime
    sealed: Sealed = yield from plan_steps(edge.facts)
    if edge.reader is not None:
        yield RunStore(steps=edge.reader.check_steps())
        yield RunStore(steps=edge.reader.tally_steps(edge.facts.measure))
    planned = Planned(sealed, edge, said, max_output_tokens=said.max_output_tokens)
    if runtime.durable:
        stored = StoredReceipt(receipt=sealed.receipt, inspection=planned.inspect())
        thread_id = edge.reader.thread.id if edge.reader is not None else ""
        now = runtime.store.clock()
        yield RunStore(steps=keep_receipt_steps(stored, thread_id=thread_id, now=now))
    runtime.remember(conversation_of(said, edge.reader), sealed.fingerprint)
    return planned


def prepare_after_all(said: PlanArguments, edge: Edge) -> None:
    """Hand the summary that was missing to the background, where the policy does not wait."""
    policy = edge.facts.policy
    summary = edge.facts.summary
    waits = isinstance(policy, ManagedHistory) and policy.options.on_miss == "inline"
    if isinstance(policy, ManagedHistory) and not waits and summary and summary.callable:
        edge.runtime.host.retain(preparation_job(said, edge.runtime))


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
    prepare_step: PrepareStep | None = None,
    reason: StepReason = "initial",
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
    if prepare_step is not None:
        seen = context_of(said, reason)
        said = amended(said, prepare(prepare_step, seen, seconds=HOOK_SECONDS))
    edge_runtime = runtime_of(said, runtime)
    for attempt in range(1, PLANS_AT_MOST + 1):
        edge = begin_sync(said, edge_runtime)
        try:
            made: Planned = edge.run(_plan(said, edge))
        except RepresentationUnavailableError:
            prepare_after_all(said, edge)
            raise
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
    prepare_step: PrepareStep | None = None,
    reason: StepReason = "initial",
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
        prepare_step: Called once with a `StepContext`; may return an `Amendment` of this request.
            At most 30 seconds.
        reason: Why this request is made, for the hook.
        runtime: What plans share. `None`: one of its own.

    Returns:
        The request, with `kwargs` for the provider's SDK, a receipt, and `accept`.

    Raises:
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when no authorised form fits.
        RepresentationUnavailableError: `REPRESENTATION_UNAVAILABLE`, when a form that would fit is
            not ready; its cause is the failure that kept it from being made.
        RequestCompositionError: `INVALID_COMPOSITION`, when the request cannot be composed.
        IdentityConflictError: `IDENTITY_CONFLICT`, when the thread moved three times meanwhile.
        PreparationError: `PREPARATION_FAILED`, when the hook raised or took too long.
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
    if prepare_step is not None:
        seen = context_of(said, reason)
        said = amended(said, await aprepare(prepare_step, seen, seconds=HOOK_SECONDS))
    edge_runtime = runtime_of(said, runtime)
    for attempt in range(1, PLANS_AT_MOST + 1):
        edge = await begin(said, edge_runtime)
        try:
            made: Planned = await edge.arun(_plan(said, edge))
        except RepresentationUnavailableError:
            prepare_after_all(said, edge)
            raise
        except IdentityConflictError:
            if attempt == PLANS_AT_MOST:
                raise
        else:
            return made
    raise AssertionError
