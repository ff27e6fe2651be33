"""Planning calls: `plan` and `plan_sync`.

Source:
    docs/spec/planner.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Unpack

from thusfar._history import ManagedHistory
from thusfar.drive import Steps, adrive, drive
from thusfar.errors import IdentityConflictError, RepresentationUnavailableError
from thusfar.planner.receipt import StepEvidence, StoredReceipt
from thusfar.runtime.arguments import PlanArguments, PlanOptions, said_to, spelled_out
from thusfar.runtime.beginning import begin, begin_sync, conversation_of, runtime_of
from thusfar.runtime.checking import wrong_kind
from thusfar.runtime.edge import Edge, Runtime
from thusfar.runtime.hooks import (
    HOOK_SECONDS,
    PrepareStep,
    amended,
    aprepare,
    evidence_of,
    prepare,
)
from thusfar.runtime.keeping import keep_request_steps
from thusfar.runtime.placing import placed_plan
from thusfar.runtime.planned import Planned, preparation_job
from thusfar.runtime.step_context import StepContext, StepReason, context_of
from thusfar.runtime.working import RunStore

PLANS_AT_MOST: Final = 3  # of one request whose thread moves while it is planned


def _plan(said: PlanArguments, edge: Edge, evidence: StepEvidence | None) -> Steps[Planned]:
    """Plan, keep the receipt, and check that the thread stands where it was read."""
    runtime = edge.runtime
    sealed, placed = yield from placed_plan(edge, said)
    planned = Planned(
        sealed,
        placed,
        edge,
        said,
        max_output_tokens=said.max_output_tokens,
        preparation=evidence,
    )
    conversation = conversation_of(said, edge.reader)
    if not runtime.durable:
        runtime.remember(conversation, sealed.fingerprint)
        return planned
    with runtime.telling() as usage:
        yield RunStore(
            steps=keep_request_steps(
                StoredReceipt(receipt=sealed.receipt, inspection=planned.inspect()),
                now=runtime.store.clock(),
                fingerprint=sealed.fingerprint,
                conversation=conversation,
                usage=usage,
                reader=edge.reader,
                measure=edge.facts.measure,
            )
        )
    return planned


@dataclass(frozen=True, slots=True)
class _Hook:
    """Ask the hook what it amends."""

    hook: PrepareStep
    seen: StepContext


@dataclass(frozen=True, slots=True)
class _Begin:
    """Collect the facts of the request."""

    said: PlanArguments
    runtime: Runtime


@dataclass(frozen=True, slots=True)
class _Run:
    """Carry out steps that ask what the edge answers."""

    edge: Edge
    steps: Steps[Any]


def _request(
    said: PlanArguments, hook: PrepareStep | None, reason: StepReason, runtime: Runtime | None
) -> Steps[Planned]:
    """Let the hook amend the request, and plan it; again where its thread moved meanwhile."""
    shared = runtime_of(said, runtime)
    if hook is not None and not callable(hook):
        raise wrong_kind("A plan", "prepare_step", hook, "Pass a function of one StepContext.")
    evidence = None
    if hook is not None:
        seen = context_of(said, reason, at=shared.store.clock())
        amendment = yield _Hook(hook, seen)
        said = amended(said, amendment)
        evidence = evidence_of(seen, amendment)
    for left in reversed(range(PLANS_AT_MOST)):
        edge: Edge = yield _Begin(said, shared)
        try:
            made: Planned = yield _Run(edge, _plan(said, edge, evidence))
        except RepresentationUnavailableError:
            prepare_after_all(said, edge)
            raise
        except IdentityConflictError:
            if not left:
                raise
        else:
            return made
    raise AssertionError


def _answer(asked: _Hook | _Begin | _Run) -> Any:
    match asked:
        case _Hook(hook, seen):
            return prepare(hook, seen, seconds=HOOK_SECONDS)
        case _Begin(said, runtime):
            return begin_sync(said, runtime)
        case _Run(edge, steps):
            return edge.run(steps)


async def _aanswer(asked: _Hook | _Begin | _Run) -> Any:
    match asked:
        case _Hook(hook, seen):
            return await aprepare(hook, seen, seconds=HOOK_SECONDS)
        case _Begin(said, runtime):
            return await begin(said, runtime)
        case _Run(edge, steps):
            return await edge.arun(steps)


def prepare_after_all(said: PlanArguments, edge: Edge) -> None:
    """Hand the summary that was missing to the background, where the policy does not wait."""
    policy = edge.facts.policy
    summary = edge.facts.summary
    waits = isinstance(policy, ManagedHistory) and policy.options.on_miss == "inline"
    if isinstance(policy, ManagedHistory) and not waits and summary and summary.callable:
        edge.runtime.host.retain(preparation_job(said, edge.runtime))


@spelled_out
def plan_sync(
    messages: Any = None,
    *,
    model: Any,
    prepare_step: PrepareStep | None = None,
    reason: StepReason = "initial",
    runtime: Runtime | None = None,
    **options: Unpack[PlanOptions],
) -> Planned:
    """Plan a request, for code without an event loop; see `plan`.

    Example:
        >>> planned = plan_sync([{"role": "user", "content": "Hi"}], model="gpt-4o")
        >>> planned.kwargs["messages"]
        [{'role': 'user', 'content': 'Hi'}]
    """
    said = said_to("plan_sync", messages, model, options)
    made: Planned = drive(_request(said, prepare_step, reason, runtime), _answer)
    return made


@spelled_out
async def plan(
    messages: Any = None,
    *,
    model: Any,
    prepare_step: PrepareStep | None = None,
    reason: StepReason = "initial",
    runtime: Runtime | None = None,
    **options: Unpack[PlanOptions],
) -> Planned:
    """Plan a request for whoever makes the provider call.

    The whole request is measured, the highest fidelity that the author authorised and that fits
    is chosen, and what has to be made first is made. The provider is not called.

    Args:
        messages: The complete transcript in any dialect; it wins over a thread, also when empty.
        model: Name of the model, or a model object.
        prepare_step: Called once with a `StepContext`; may return an `Amendment` of this request.
            At most 30 seconds.
        reason: Why this request is made, for the hook.
        runtime: What plans share. `None`: one of its own.
        **options: What else belongs to the request: see `PlanOptions`.

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
        TypeError: for an argument that does not exist.
    """
    said = said_to("plan", messages, model, options)
    made: Planned = await adrive(_request(said, prepare_step, reason, runtime), _aanswer)
    return made
