"""Sealing: the chosen forms put together, counted, compared with the request before, explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thusfar.budget import Limits
from thusfar.dialects.placement_system import joined_system
from thusfar.planner.facts import Epoch, Fingerprint, RequestFacts
from thusfar.planner.fingerprints import common_tokens, fingerprint_of
from thusfar.planner.form import Form
from thusfar.planner.histories import HISTORY, History, PlainView, receipt_of
from thusfar.planner.ladders import Shown
from thusfar.planner.receipt import (
    Adaptation,
    Candidate,
    Contribution,
    HistoryEvidence,
    Inspection,
    Measurement,
    Rejection,
    RequestReceipt,
    Status,
)
from thusfar.planner.selection import HIGHEST, Floor, Ladder, Rung, Selection, shared_tokens
from thusfar.planner.sizes import trust_in
from thusfar.receipt import ReceiptWarning, as_ranges
from thusfar.summaries.making import DRIFT_BOUND
from thusfar.tokens.confidence import Confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """The pieces of a request, before the wire of a provider's SDK."""

    messages: list[Any] = field(repr=False)
    system: Any = field(default=None, repr=False)
    tools: tuple[Any, ...] = ()
    schema: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A planned request; nothing of it changes any more.

    Attributes:
        status: `fits`; `unknown` on a preview that would have to make something first.
        request: Its pieces.
        receipt: What it holds, and why.
        inspection: The evidence behind the receipt.
        fingerprint: To compare the next request with.
        epoch: For the next step of the same execution.
        wants_preparation: Whether the next request should find a newer summary.
        spoken: How many messages of the request are a summary.
    """

    status: Status
    request: Assembled
    receipt: RequestReceipt
    inspection: Inspection
    fingerprint: Fingerprint | None
    epoch: Epoch
    wants_preparation: bool = False
    spoken: int = 0


def assemble(facts: RequestFacts, history: History, chosen: Selection) -> Assembled:
    """Put the chosen forms together."""
    held = chosen[HISTORY].held
    tools: list[Any] = list(facts.tools)
    match held:
        case PlainView(messages=view):
            messages = list(view)
        case Form() if history.forms is not None:
            messages = history.forms.built(held)
            tools += held.tools
        case _:
            messages = []
    texts: list[str] = []
    for name, rung in chosen.items():
        if name != HISTORY:
            shown: Shown = rung.held
            tools += [tool for tool in shown.tools if tool not in tools]
            texts += [shown.text] if shown.text else []
    return Assembled(
        messages=[*messages, *facts.turn],
        system=joined_system(facts.system, texts),
        tools=tuple(tools),
        schema=facts.schema,
    )


def seal(
    facts: RequestFacts,
    history: History,
    ladders: Sequence[Ladder],
    chosen: Selection,
    *,
    parts: dict[str, int],
    warnings: Sequence[ReceiptWarning],
    support: Sequence[str],
    limits: Limits,
    floors: dict[str, Floor],
    epoch_key: str,
    provider_count: int | None,
    wants_preparation: bool,
) -> Sealed:
    """Put the request together and write its receipt."""
    ordered = {ladder.contributor: chosen[ladder.contributor] for ladder in ladders}
    unprepared = any(rung.state == "unprepared" for rung in ordered.values())
    request = assemble(facts, history, ordered)
    if shared := shared_tokens(ordered.values()):
        parts = {**parts, "tools": parts["tools"] + shared}
    tokens = sum(parts.values()) + sum(rung.tokens for rung in ordered.values())
    fingerprint = None
    if facts.track and not unprepared:
        head = (request.system, list(request.tools), request.schema)
        fingerprint = fingerprint_of(facts, head=head, messages=request.messages, tokens=tokens)
    cached = None
    if facts.previous is not None and fingerprint is not None:
        cached = common_tokens(facts.previous, fingerprint)
    beside = bool(request.system or request.tools or request.schema is not None)
    trusted = trust_in(facts.measure, facts.dialect, request.messages, beside=beside)
    evidence = _history_evidence(facts, history, ordered[HISTORY], trusted)
    view_warnings = _still_true(evidence.view.warnings if evidence.view else (), facts)
    receipt = RequestReceipt(
        id=facts.request_id,
        model=facts.model,
        input_tokens=tokens if provider_count is None else provider_count,
        max_input_tokens=limits.max if provider_count is None else facts.raw_max,
        measurement=_measurement(trusted, unprepared, provider_count),
        tokenizer=facts.measure.tokenizer if provider_count is None else "provider",
        history=evidence,
        adaptations=tuple(_adaptations(ladders, ordered, support)),
        warnings=(*view_warnings, *warnings),
        previous_request_id=facts.previous.request_id if facts.previous else None,
        cached_prefix_tokens=cached,
        support=tuple(support),
        calibration=_calibration(facts),
    )
    new_floors = {
        name: max(floors.get(name, HIGHEST), rung.place)
        for name, rung in ordered.items()
        if rung.place > HIGHEST or name in floors
    }
    spoken = ordered[HISTORY].held.spoken if isinstance(ordered[HISTORY].held, Form) else ()
    return Sealed(
        status="unknown" if unprepared else "fits",
        request=request,
        receipt=receipt,
        inspection=_inspection(ladders, ordered, parts, limits, floors, provider_count),
        fingerprint=fingerprint,
        epoch=Epoch(key=epoch_key, floors=new_floors),
        wants_preparation=wants_preparation,
        spoken=len(spoken),
    )


def _still_true(notes: Sequence[ReceiptWarning], facts: RequestFacts) -> list[ReceiptWarning]:
    """Leave out that calls of the history wait, where the current turn answers them."""
    results = sum(len(facts.dialect.describe(message).results) for message in facts.turn)
    waiting = "HISTORY_OPEN_CALLS"
    return [n for n in notes if n.code != waiting or results < int(n.facts.get("calls", 0))]


def _measurement(trusted: Confidence, unprepared: bool, provider_count: int | None) -> Measurement:
    if unprepared:
        return "incomplete"
    return "exact" if provider_count is not None else trusted


def _calibration(facts: RequestFacts) -> dict[str, int | float | str] | None:
    made = facts.calibration
    if made is None:
        return None
    return {"samples": made.samples, "mean": round(made.mean, 4), "high": round(made.high, 4)}


def _history_evidence(
    facts: RequestFacts, history: History, rung: Rung, trusted: Confidence
) -> HistoryEvidence:
    source = facts.source
    held, forms = rung.held, history.forms
    if isinstance(held, PlainView):
        view = held.receipt
        policy = "none" if view is None else view.policy
        return HistoryEvidence(
            source=source.kind, policy=policy, revision=source.revision, view=view
        )
    assert forms is not None
    artifact = held.artifact if isinstance(held, Form) else None
    kind = forms.summary.strategy.kind
    regenerate = forms.regenerated(artifact) if artifact and kind == "regenerate" else None
    return HistoryEvidence(
        source=source.kind,
        policy="managed",
        revision=source.revision,
        view=receipt_of(held, forms, trusted) if isinstance(held, Form) else None,
        artifact=artifact.key if artifact else None,
        shortened=as_ranges([(p, p + 1) for p in held.shorter]) if isinstance(held, Form) else (),
        covered=artifact.messages if artifact else 0,
        stale=forms.stale_by(artifact) if artifact else 0,
        generation=artifact.generation if artifact else None,
        drift_bound=DRIFT_BOUND if artifact and kind == "adaptive" else None,
        regenerate_tokens=regenerate,
    )


def _adaptations(
    ladders: Sequence[Ladder], ordered: Selection, support: Sequence[str]
) -> list[Adaptation]:
    made: list[Adaptation] = []
    for ladder in ladders:
        rung = ordered[ladder.contributor]
        if rung.kind == "full":
            continue
        own = _support_of(rung)
        state: Any = "unprepared" if rung.state == "unprepared" else "selected"
        made.append(
            Adaptation(
                contributor=ladder.contributor,
                representation=rung.kind,
                full_tokens=ladder.rungs[0].tokens,
                selected_tokens=rung.tokens,
                support=own or (tuple(support) if rung.kind == "summary" else ()),
                state=state,
            )
        )
    return made


def _support_of(rung: Rung) -> tuple[str, ...]:
    if isinstance(rung.held, Form):
        return rung.held.artifact.support if rung.held.artifact else ()
    return rung.held.support if isinstance(rung.held, Shown) else ()


def _inspection(
    ladders: Sequence[Ladder],
    ordered: Selection,
    parts: dict[str, int],
    limits: Limits,
    floors: dict[str, Floor],
    provider_count: int | None,
) -> Inspection:
    total = sum(parts.values()) + sum(rung.tokens for rung in ordered.values())
    spare = _spare(limits, total)
    contributions = [Contribution(id=name, tokens=size) for name, size in parts.items() if size]
    candidates: list[Candidate] = []
    keys: list[str] = []
    for ladder in ladders:
        chosen = ordered[ladder.contributor]
        kinds = tuple(dict.fromkeys(rung.kind for rung in ladder.rungs))
        contributions.append(
            Contribution(
                id=ladder.contributor,
                tokens=chosen.tokens,
                boundary="elastic"
                if "omitted" in kinds
                else ("sticky" if len(kinds) > 1 else "required"),
                representations=kinds,
            )
        )
        keys += [key] if (key := _key_of(chosen)) else []
        floor = floors.get(ladder.contributor, HIGHEST)
        candidates += [
            Candidate(
                contributor=ladder.contributor,
                representation=rung.kind,
                tokens=rung.tokens,
                available=rung.state == "ready",
                selected=rung is chosen,
                reason=None if rung is chosen else _reason(rung, chosen, floor, spare),
                covers=_covered(rung) if ladder.contributor == HISTORY else 0,
            )
            for rung in ladder.rungs
        ]
    breakdown = sorted(((c.id, c.tokens) for c in contributions if c.tokens), key=lambda p: -p[1])
    return Inspection(
        contributions=tuple(contributions),
        candidates=tuple(candidates),
        breakdown=tuple(breakdown),
        artifacts=tuple(keys),
        limits={
            "max": limits.max,
            "optimize_at": limits.optimize_at,
            "prepare_at": limits.prepare_at,
            "window": limits.window,
            "reserve": limits.reserve,
            "overhead": limits.overhead,
            "factor": limits.factor,
            "provider_count": provider_count,
        },
    )


def _covered(rung: Rung) -> int:
    """Count the messages a form of history stands for; digests differ in their lines, not in it."""
    held = rung.held
    if rung.kind == "shortened":
        return rung.covers
    if isinstance(held, Form) and held.artifact is None:
        return sum(end - start for start, end in held.covered)
    return rung.covers


def _key_of(rung: Rung) -> str:
    if isinstance(rung.held, Form):
        return rung.held.artifact.key if rung.held.artifact else ""
    return rung.held.key if isinstance(rung.held, Shown) else ""


def _spare(limits: Limits, tokens: int) -> int | None:
    """How much more would fit the maximum, where the watermark is passed; else `None`."""
    mark, most = limits.optimize_at, limits.max
    pressed = mark is not None and most is not None and tokens > mark
    return most - tokens if pressed and most is not None else None


def _reason(rung: Rung, chosen: Rung, floor: Floor, spare: int | None) -> Rejection:
    if rung.state == "unprepared":
        return "unprepared"
    if rung.state == "unavailable":
        return "unavailable"
    if rung.place < floor:
        return "epoch"
    if rung.place > chosen.place:
        return "lower-fidelity"
    summaries = rung.kind == chosen.kind == "summary"
    if summaries and spare is not None and rung.tokens - chosen.tokens <= spare:
        return "prefix"
    return "over-limit"
