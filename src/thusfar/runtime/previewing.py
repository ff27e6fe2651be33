"""Previewing: what a plan would come to; preparing on demand; evidence read back from a store."""

from __future__ import annotations

from typing import Any, Unpack

import msgspec

from thusfar._history import ManagedHistory
from thusfar.drive import Steps
from thusfar.errors import (
    Diagnostic,
    OptionsError,
    RepresentationUnavailableError,
    RequestCompositionError,
    RequestTooLargeError,
    SummaryFailedError,
)
from thusfar.planner.facts import RequestFacts
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
from thusfar.runtime.arguments import PlanOptions, said_to, spelled_out
from thusfar.runtime.beginning import begin, begin_sync, runtime_of
from thusfar.runtime.checking import check_store
from thusfar.runtime.edge import Edge, Runtime
from thusfar.runtime.keeping import read_receipt_steps
from thusfar.runtime.placing import previewed_plan
from thusfar.runtime.planned import Planned
from thusfar.runtime.working import RunStore
from thusfar.storage.base import Store


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


@spelled_out
def preview_sync(
    messages: Any = None,
    *,
    model: Any,
    runtime: Runtime | None = None,
    **options: Unpack[PlanOptions],
) -> Preview:
    """Say what `plan` would come to, without making, writing or scheduling anything.

    Args:
        messages: As for `plan`.
        model: As for `plan`.
        runtime: As for `plan`.
        **options: As for `plan`.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, as for `plan`.
        OptionsError: `INVALID_OPTIONS`, as for `plan`.
    """
    said = said_to("preview_sync", messages, model, options)
    edge = begin_sync(said, runtime_of(said, runtime), preview=True)
    try:
        return preview_of(edge, edge.run(previewed_plan(edge, said)))
    except (RequestTooLargeError, RepresentationUnavailableError) as error:
        return preview_of(edge, error)


@spelled_out
async def preview(
    messages: Any = None,
    *,
    model: Any,
    runtime: Runtime | None = None,
    **options: Unpack[PlanOptions],
) -> Preview:
    """Say what `plan` would come to; see `preview_sync`."""
    said = said_to("preview", messages, model, options)
    edge = await begin(said, runtime_of(said, runtime), preview=True)
    try:
        return preview_of(edge, await edge.arun(previewed_plan(edge, said)))
    except (RequestTooLargeError, RepresentationUnavailableError) as error:
        return preview_of(edge, error)


def _require_summaries(facts: RequestFacts) -> None:
    """Check that there is a policy with summaries, and a model to make them.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for another policy.
        SummaryFailedError: `SUMMARY_FAILED`, without a model.
    """
    if not isinstance(facts.policy, ManagedHistory):
        raise OptionsError(
            "compact_now() got a policy that makes no summaries.",
            fix="Pass policy=history(...).",
            option="policy",
        )
    if (
        facts.summary is None
        or facts.summary.callable
        or facts.summary.identity.strategy == "digest"
    ):
        return
    raise SummaryFailedError(
        "There was no model that could be called for a summary.",
        fix="Pass Runtime(summariser=...) or summary={'model': ...}: an object or a function.",
        reason="no-model",
    )


def _compacted(prepared: Prepared | None) -> Compacted:
    if prepared is None:
        return Compacted()
    artifact = prepared.artifact
    return Compacted(key=artifact.key, messages=artifact.messages, how=prepared.how)


def _compact(edge: Edge) -> Steps[Prepared | None]:
    _require_summaries(edge.facts)
    prepared = yield from prepare_steps(edge.facts, force=True)
    if edge.reader is not None:
        yield RunStore(steps=edge.reader.tally_steps(edge.facts.measure))
    return prepared


@spelled_out
def compact_now_sync(
    messages: Any = None, *, model: Any, runtime: Runtime, **options: Unpack[PlanOptions]
) -> Compacted:
    """Make the summary for the coming cut now, however small the gain; see `compact_now`."""
    said = said_to("compact_now_sync", messages, model, options)
    edge = begin_sync(said, runtime_of(said, runtime))
    edge.why = "on-demand"
    return _compacted(edge.run(_compact(edge)))


@spelled_out
async def compact_now(
    messages: Any = None, *, model: Any, runtime: Runtime, **options: Unpack[PlanOptions]
) -> Compacted:
    """Make the summary for the coming cut now, however small the gain.

    Args:
        messages: As for `plan`.
        model: As for `plan`.
        runtime: Where the summary is kept.
        **options: As for `plan`; the policy must be `history(...)`.

    Raises:
        SummaryFailedError: `SUMMARY_FAILED`, when the summary could not be had.
        OptionsError: `INVALID_OPTIONS`, for a policy without summaries, and as for `plan`.
    """
    said = said_to("compact_now", messages, model, options)
    edge = await begin(said, runtime_of(said, runtime))
    edge.why = "on-demand"
    return _compacted(await edge.arun(_compact(edge)))


def inspect_request_sync(request: str | RequestReceipt | Planned, *, store: Store) -> Inspection:
    """Read the evidence of a request that was planned with this store, in any process.

    Args:
        request: Its id, its receipt, or the planned request.
        store: The store.

    Raises:
        InspectionUnavailableError: `REQUEST_INSPECTION_UNAVAILABLE`, when none is kept.
        OptionsError: `INVALID_OPTIONS`, for anything but a store.
    """
    check_store("inspect_request()", store)
    stored: StoredReceipt = store.run(read_receipt_steps(_id_of(request)))
    return stored.inspection


async def inspect_request(request: str | RequestReceipt | Planned, *, store: Store) -> Inspection:
    """Read the evidence of a request; see `inspect_request_sync`."""
    check_store("inspect_request()", store)
    stored: StoredReceipt = await store.arun(read_receipt_steps(_id_of(request)))
    return stored.inspection


def _id_of(request: Any) -> str:
    if isinstance(request, Planned):
        return request.receipt.id
    return request.id if isinstance(request, RequestReceipt) else str(request)
