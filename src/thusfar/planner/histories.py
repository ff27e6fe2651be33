"""Histories: the history of a request as a ladder, under each policy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from thusfar._exact import project_exact
from thusfar._history import HistoryOptions, ManagedHistory, RecentHistory
from thusfar._managed import default_recent
from thusfar._options import RecentHistoryOptions
from thusfar._setting import Setting
from thusfar._summarize import SummaryOptions
from thusfar._view import Sent, managed_receipt
from thusfar.artifacts import Artifact
from thusfar.drive import Steps
from thusfar.errors import Diagnostic, RequestCompositionError
from thusfar.planner.facts import RequestFacts
from thusfar.planner.fingerprints import piece_of
from thusfar.planner.form import Form
from thusfar.planner.forms import Forms
from thusfar.planner.ladders import tool_tokens
from thusfar.planner.questions import AskInFlight, FindArtifacts, Found
from thusfar.planner.selection import Ladder, Rung
from thusfar.projection import project_recent
from thusfar.receipt import HistoryReceipt
from thusfar.summaries.rendering import fenced_summary
from thusfar.tokens import TokenCount
from thusfar.tokens.confidence import Confidence

HISTORY = "history"
ENDS_AT_ONCE = 64  # places asked for at first; each further question asks for twice as many


@dataclass(slots=True)
class PlainView:
    """The view of exact and recent history, which has one form; no receipt without a source."""

    messages: list[Any] = field(repr=False)
    receipt: HistoryReceipt | None


@dataclass(slots=True)
class History:
    """The history of a request.

    Attributes:
        ladder: Its rungs; each holds a `PlainView` or a `Form`.
        forms: The forms of managed history; `None` otherwise.
        artifacts: Summaries that were found or made, the one that covers most first.
        searched: Whether they were looked for.
        damaged: Keys of stored ones that could not be read.
        join: Whether a missing one may only be joined, since the policy does not wait for it.
    """

    ladder: Ladder
    forms: Forms | None = None
    artifacts: tuple[Artifact, ...] = ()
    searched: bool = False
    damaged: tuple[str, ...] = ()
    join: bool = False


def history_of(facts: RequestFacts) -> History:
    """Begin the ladder of the history: what is sent while nothing presses.

    Raises:
        RequestCompositionError: `INVALID_COMPOSITION`, for a policy without a source, and for
            defects that the policy does not repair.
    """
    policy = facts.policy
    needs_source = isinstance(policy, ManagedHistory | RecentHistory)
    if facts.source.kind == "none" and needs_source:
        raise no_source()
    if isinstance(policy, ManagedHistory):
        return _managed(facts, policy.options)
    if facts.source.kind == "none":
        return _plain([], None, 0)
    setting = Setting(dialect=facts.dialect, counter=facts.measure)
    messages = facts.source.messages
    if isinstance(policy, RecentHistory):
        view = project_recent(messages, policy.options, setting)
    else:
        view = project_exact(messages, setting)
    tokens = sum(facts.measure.count(facts.dialect, view.messages))
    return _plain(view.messages, view.receipt, tokens)


def _plain(messages: list[Any], receipt: HistoryReceipt | None, tokens: int) -> History:
    held = PlainView(messages, receipt)
    return History(Ladder(HISTORY, math.inf, -1, [Rung("full", tokens, held=held)]))


def no_source() -> RequestCompositionError:
    """Make the error for a policy that has nothing to project."""
    message = "A history policy had no transcript to project."
    return RequestCompositionError(
        message,
        fix="Pass messages= or thread=, or leave the policy out.",
        diagnostics=(Diagnostic(code="HISTORY_NO_SOURCE", message=message),),
    )


def _managed(facts: RequestFacts, options: HistoryOptions) -> History:
    recent = options.recent
    if recent is None:
        assert isinstance(options.summary, SummaryOptions)
        recent = default_recent(facts.limits.max or 1, options.summary)
    assert isinstance(recent, RecentHistoryOptions)
    forms = Forms(facts, options, recent)
    _ = forms.choice  # a defect anywhere is refused before anything else is asked
    priority = math.inf if options.priority is None else options.priority
    rungs = [Rung("full", forms.full().tokens, held=forms.full())]
    return History(Ladder(HISTORY, priority, -1, rungs), forms)


def extend_ladder(history: History, facts: RequestFacts) -> Steps[None]:
    """Add the smaller forms of managed history, looking for summaries that are ready."""
    forms = history.forms
    if forms is None or history.searched:
        return
    history.searched = True
    rungs = history.ladder.rungs
    rungs += [
        Rung("shortened", each.tokens, covers=len(each.shorter), held=each)
        for each in forms.shortened()
    ]
    if not forms.coverable():
        return
    if forms.summary.strategy.kind == "digest":
        digests = forms.digests()
        rungs += [Rung("summary", f.tokens, covers=i, held=f) for i, f in enumerate(digests)]
    else:
        yield from _add_summaries(history, forms, facts)
    _add_losses(history, forms, facts)


def _add_summaries(history: History, forms: Forms, facts: RequestFacts) -> Steps[None]:
    model = facts.summary
    rungs = history.ladder.rungs
    if model is not None:
        found = yield from find_artifacts(forms, model.identity.digest)
        history.artifacts, history.damaged = found.artifacts, found.damaged
    for artifact in reversed(history.artifacts):
        if form := forms.summarised(artifact):
            rungs.append(Rung("summary", form.tokens, covers=artifact.messages, held=form))
    covered = forms.cut - forms.system
    if history.artifacts and history.artifacts[0].messages >= covered:
        return
    state: Any = "unavailable"
    if model is not None and model.callable:
        history.join = forms.options.on_miss != "inline"
        if not history.join or (yield AskInFlight(key=forms.coming_key(model.identity.digest))):
            state = "unprepared"
    rungs.append(Rung("summary", forms.least_summary(), state, soft=False, covers=covered))


def _add_losses(history: History, forms: Forms, facts: RequestFacts) -> None:
    """Add what may only be sent where full history exceeds the maximum."""
    rungs = history.ladder.rungs
    if forms.options.offload:
        usable: Any = "ready" if facts.backing and facts.schema is None else "unavailable"
        for i, form in enumerate(forms.digests(recall=True)):
            tokens, shared = tool_tokens(facts, form.tools)
            tokens += form.tokens
            rungs.append(
                Rung("offload", tokens, usable, soft=False, covers=i, held=form, shared=shared)
            )
    if forms.options.on_miss == "recent-only":
        form = forms.recent_only()
        rungs.append(Rung("omitted", form.tokens, soft=False, held=form))


def prefer_prefix(history: History, facts: RequestFacts) -> None:
    """Put the summary that the request before began with ahead of the other ones.

    All of them authorise the same loss. Once the watermark is passed anyway, an older one would
    only change the head of the request, which a provider's prompt cache would serve.
    """
    before, forms = facts.previous, history.forms
    at = 1 + forms.system if forms is not None else 0
    if before is None or not at or len(before.pieces) <= at:
        return
    rungs = history.ladder.rungs
    summaries = [rung for rung in rungs if rung.kind == "summary" and isinstance(rung.held, Form)]
    for rung in summaries:
        if piece_of(rung.held.spoken[0], facts.dialect) == before.pieces[at][0]:
            first = rungs.index(summaries[0])
            rungs.remove(rung)
            rungs.insert(first, rung)
            return


def find_artifacts(forms: Forms, identity: str) -> Steps[Found]:
    """Look for summaries of this transcript, from the coming cut backwards."""
    ends = forms.ends()
    low, size = 0, ENDS_AT_ONCE
    damaged: dict[str, None] = {}
    while low < len(ends):
        found: Found = yield FindArtifacts(identity=identity, ends=ends[low : low + size])
        damaged.update(dict.fromkeys(found.damaged))
        if found.artifacts:
            return Found(artifacts=found.artifacts, damaged=tuple(damaged))
        low, size = low + size, size * 2
    return Found(damaged=tuple(damaged))


def room_for_summary(forms: Forms, beside: int) -> int | None:
    """Say how large a summary may become, so that the next request stays below its mark.

    Args:
        forms: The forms of the history.
        beside: The least that the rest of the request takes. Unit: tokens.

    Returns:
        At least what one text may have; `None` where nothing is limited.
    """
    limits = forms.facts.limits
    mark = limits.max if limits.prepare_at is None else limits.prepare_at
    if mark is None:
        return None
    frame = fenced_summary("", first=0, last=len(forms.messages), strategy="hierarchical-1")
    taken = beside + forms.least_summary() + forms.measure.text(frame)
    return max(forms.summary.max_tokens, mark - taken)


def use_artifact(history: History, artifact: Artifact) -> Rung | None:
    """Put a summary that was just made in the place of the unprepared rung.

    Returns:
        The new rung; `None` where the summary is not shorter than what it stands for.
    """
    forms = history.forms
    assert forms is not None
    rungs = history.ladder.rungs
    place = next(i for i, rung in enumerate(rungs) if rung.kind == "summary" and not rung.held)
    form = forms.summarised(artifact)
    if form is None:
        rungs[place].state = "unavailable"
        return None
    history.artifacts = (artifact, *history.artifacts)
    rungs[place] = Rung("summary", form.tokens, covers=artifact.messages, held=form)
    return rungs[place]


def receipt_of(form: Form, forms: Forms, trusted: Confidence) -> HistoryReceipt:
    """Write what a form of managed history keeps, covers and leaves out.

    Args:
        form: The form.
        forms: All forms.
        trusted: How far its size can be trusted.
    """
    counted, cut = forms.measure, forms.cut
    end = max((high for _, high in form.covered), default=cut)
    sent = Sent(
        ranges=form.ranges,
        covered=form.covered,
        suffix=min(end, cut),
        split=form.split,
        added=len(form.spoken) + sum(map(len, form.shorter.values())),
        notes=form.notes,
        tokens=TokenCount(tokens=form.tokens, tokenizer=counted.tokenizer, confidence=trusted),
        summary_tokens=form.spoken_tokens,
    )
    return managed_receipt(forms.choice, forms.view, forms.recent, forms.dialect, sent)
