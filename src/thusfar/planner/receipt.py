"""Request receipts: what one planned request holds, and why. Counts, ids and codes only.

The receipt is small and JSON-safe. The inspection holds the rest of the evidence: every candidate
with the reason it was rejected, the breakdown, artifacts and support requests.

Source:
    docs/spec/receipts.md#requests
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from thusfar.codec import to_json
from thusfar.dialects.placement_values import PlacementNote
from thusfar.receipt import HistoryReceipt, Range, ReceiptWarning

REQUEST_SCHEMA: Final = 1

Measurement = Literal["exact", "estimated", "conservative", "incomplete"]
Status = Literal["fits", "over-limit", "unknown"]
Rejection = Literal["over-limit", "lower-fidelity", "prefix", "unprepared", "unavailable", "epoch"]


class HistoryEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to the history of the request.

    Attributes:
        source: Whose transcript it is.
        policy: `exact`, `recent` or `managed`; `none` without a history.
        revision: Revision of the thread it was planned from.
        view: Positions and counts, as of a projection.
        artifact: Key of the summary used.
        shortened: Positions of the view that are sent cut to a head and a tail, or to a
            reference; they are among its kept ones.
        covered: Messages the summary covers.
        stale: Messages between the end of the summary and the coming cut.
        generation: How often the summary's most rewritten segment was summarised again.
        drift_bound: How often `adaptive()` rewrites a text with new pieces; each merge of eight
            texts adds one.
        regenerate_tokens: What `regenerate()` costs each time it runs. Unit: tokens.
    """

    source: Literal["caller-messages", "thread", "none"]
    policy: Literal["exact", "recent", "managed", "none"]
    revision: str | None = None
    view: HistoryReceipt | None = None
    artifact: str | None = None
    shortened: tuple[Range, ...] = ()
    covered: int = 0
    stale: int = 0
    generation: int | None = None
    drift_bound: int | None = None
    regenerate_tokens: int | None = None


class Adaptation(msgspec.Struct, frozen=True, kw_only=True):
    """One contributor that is not sent in full.

    Attributes:
        contributor: Its id; `history` for the history.
        representation: What is sent instead.
        full_tokens: Its size in full.
        selected_tokens: Its size as sent.
        support: Ids of the support requests that made it.
        state: `unprepared` on a preview, where it would have to be made first.
    """

    contributor: str
    representation: str
    full_tokens: int
    selected_tokens: int
    support: tuple[str, ...] = ()
    state: Literal["selected", "unprepared"] = "selected"


class SupportReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """One call to a summary model.

    Attributes:
        id: Its id, linked from the request that needed it.
        model: The summary model.
        purpose: `segment`, `update`, `merge`, `source` or `native`.
        input_tokens: As counted before the call.
        max_input_tokens: Most that the summary model takes; `None`: not limited.
        output_tokens: As reported, else as counted; `None` when there was no answer.
        outcome: `answered`, or why there was no answer.
        attempt: From 1.
        provider_request_id: The provider's id of the request; empty when it told none.
        start: First message of the range; positions count from behind the system run.
        end: End of the range (exclusive).
    """

    id: str
    model: str
    purpose: str
    input_tokens: int
    max_input_tokens: int | None = None
    output_tokens: int | None = None
    outcome: str = "answered"
    attempt: int = 1
    provider_request_id: str = ""
    start: int = 0
    end: int = 0


class Contribution(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the request with its size.

    Attributes:
        id: `system`, `tools`, `schema`, `turn`, `framing`, `history`, or a contributor's id.
        tokens: Its size as sent.
        boundary: `required` (full only), `sticky` (smaller, but its tools stay) or `elastic`
            (may be left out).
        representations: What its author allows.
    """

    id: str
    tokens: int
    boundary: Literal["required", "sticky", "elastic"] = "required"
    representations: tuple[str, ...] = ("full",)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A representation that was looked at.

    Attributes:
        contributor: Whose it is.
        representation: Which one.
        tokens: Its size; for one that is not ready the least it can have.
        available: Whether it was ready.
        selected: Whether it is in the request.
        reason: Why not; `None` when it is. `prefix`: it would fit, and change the head that the
            request has in common with the one before.
        covers: For summaries of history: messages covered; where it is shortened: messages cut.
    """

    contributor: str
    representation: str
    tokens: int
    available: bool
    selected: bool
    reason: Rejection | None = None
    covers: int = 0


class StepEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook did to the request.

    Attributes:
        reason: Why the request was made.
        index: Number of the request within its execution, from 0.
        added: Names of the contributors that it added.
        removed: Names of those that it left out.
        tools: Whether it changed the tools.
        model: Whether it changed the model.
        budget: Whether it changed the budget.
        resources: Names of what it read.
    """

    reason: str
    index: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    tools: bool = False
    model: bool = False
    budget: bool = False
    resources: tuple[str, ...] = ()


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence behind a receipt.

    Attributes:
        contributions: Everything in the request.
        candidates: Every representation that was looked at.
        breakdown: Size by part, largest first, without empty ones.
        artifacts: Keys of the summaries used.
        support: The calls to summary models made for this request.
        limits: The effective limits: `max`, `optimize_at`, `prepare_at`, `window`, `reserve`,
            `overhead`, `factor`, and whether the provider's counter was asked.
        transport_retries: How often the same request was sent again.
        preparation: What a hook did to the request; `None` without one.
    """

    contributions: tuple[Contribution, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    breakdown: tuple[tuple[str, int], ...] = ()
    artifacts: tuple[str, ...] = ()
    support: tuple[SupportReceipt, ...] = ()
    limits: dict[str, int | float | None] = {}
    transport_retries: int = 0
    preparation: StepEvidence | None = None


class RequestReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What one planned request holds.

    Attributes:
        id: Id of the request.
        model: The model it is for.
        input_tokens: Size of the complete request.
        max_input_tokens: The effective maximum; `None`: not limited.
        measurement: How far the size can be trusted.
        tokenizer: What counted.
        history: What happened to the history.
        adaptations: Contributors that are not sent in full.
        warnings: Non-fatal notes.
        previous_request_id: The request before, of the same conversation or loop.
        cached_prefix_tokens: Tokens at the head that equal the request before, byte for byte.
            `None` when there is nothing to compare with.
        support: Ids of the support requests made for this request.
        calibration: How reported usage corrected the maximum; absent without enough of it.
        placement: What was changed for the provider, with the positions of the messages in the
            request.
        schema: Version of this shape.
    """

    id: str
    model: str
    input_tokens: int
    max_input_tokens: int | None
    measurement: Measurement
    tokenizer: str
    history: HistoryEvidence
    adaptations: tuple[Adaptation, ...] = ()
    warnings: tuple[ReceiptWarning, ...] = ()
    previous_request_id: str | None = None
    cached_prefix_tokens: int | None = None
    support: tuple[str, ...] = ()
    calibration: dict[str, int | float | str] | None = None
    placement: tuple[PlacementNote, ...] = ()
    schema: int = REQUEST_SCHEMA

    def to_json(self) -> dict[str, Any]:
        """Convert to plain JSON values."""
        made: dict[str, Any] = to_json(self)
        return made

    def __str__(self) -> str:
        limit = f" of at most {self.max_input_tokens:,}" if self.max_input_tokens else ""
        lines = [
            f"request {self.id} to {self.model}",
            f"  tokens     {self.input_tokens:>7,}{limit}  {self.tokenizer}, {self.measurement}",
        ]
        if self.cached_prefix_tokens is not None:
            lines.append(f"  cached     {self.cached_prefix_tokens:>7,}  equal to the one before")
        lines += [
            f"  adapted    {each.contributor}: {each.representation}, "
            f"{each.full_tokens:,} to {each.selected_tokens:,} tokens"
            for each in self.adaptations
        ]
        if self.history.view is not None:
            lines += [f"  {line}" for line in str(self.history.view).splitlines()]
        lines += [f"  placed     {note}" for note in self.placement]
        said = self.history.view.warnings if self.history.view is not None else ()
        own = [warning for warning in self.warnings if warning not in said]
        lines += [f"  warning    {w.code}: {w.message}" for w in own]
        return "\n".join(lines)


class StoredReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt with its inspection, as it is kept in a store."""

    receipt: RequestReceipt
    inspection: Inspection
