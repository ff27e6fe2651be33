"""Planning: the one path from facts to a sealed request; a generator of questions.

`plan_steps` is driven by executions and by previews alike. Below the watermark it asks nothing.

Source:
    docs/spec/planner.md
"""

from __future__ import annotations

from typing import Any, Final

from thusfar._history import ManagedHistory
from thusfar._setting import system_text
from thusfar.drive import Steps
from thusfar.errors import OptionsError, SummaryFailedError
from thusfar.planner.facts import RequestFacts
from thusfar.planner.histories import (
    HISTORY,
    History,
    extend_ladder,
    history_of,
    prefer_prefix,
    room_for_summary,
    use_artifact,
)
from thusfar.planner.ladders import Shown, ladders_of, summarised_rung
from thusfar.planner.pages import NeedMessages
from thusfar.planner.questions import (
    CountRequest,
    FindSource,
    Found,
    Prepare,
    Prepared,
    Publish,
    ReadMessages,
    Unprepared,
)
from thusfar.planner.refusing import not_shorter, smallest_total, too_large, unavailable
from thusfar.planner.sealing import Assembled, Sealed, assemble, seal
from thusfar.planner.selection import Floor, Ladder, Rung, Selection, select, total
from thusfar.receipt import ReceiptWarning

COUNTS_AT_MOST: Final = 3  # questions to a provider's counter in one plan


def plan_steps(facts: RequestFacts) -> Steps[Sealed]:
    """Plan one request.

    Returns:
        The sealed request.

    Raises:
        RequestTooLargeError: `REQUEST_TOO_LARGE`, when no authorised form fits.
        RepresentationUnavailableError: `REPRESENTATION_UNAVAILABLE`, when an authorised form would
            fit and is not ready; its cause is the failure that kept it from being made.
        RequestCompositionError: `INVALID_COMPOSITION`, when the request cannot be composed.
    """
    while True:
        try:
            return (yield from Plan(facts).run())
        except NeedMessages as more:
            yield ReadMessages(low=more.low)


def epoch_key(facts: RequestFacts) -> str:
    """Name the epoch of a request: model and limits."""
    limits = facts.limits
    return f"{facts.model}:{limits.max}:{limits.optimize_at}"


class Plan:
    """The state of one plan."""

    def __init__(self, facts: RequestFacts) -> None:
        self.facts = facts
        self.history: History = history_of(facts)
        self.others: list[Ladder] = ladders_of(facts.use, facts)
        self.parts = fixed_parts(facts)
        self.fixed = sum(self.parts.values())
        self.warnings: list[ReceiptWarning] = []
        self.support: list[str] = []
        self.failures: list[Exception] = []
        self.asked: list[list[tuple[str, int]]] = []  # what the provider's counter was asked for
        self.damaged = 0
        self.provider_count: int | None = None
        epoch = facts.epoch
        self.floors: dict[str, Floor] = {}
        if epoch is not None and epoch.key == epoch_key(facts):
            self.floors = dict(epoch.floors)

    @property
    def ladders(self) -> list[Ladder]:
        """All ladders, history first."""
        return [self.history.ladder, *self.others]

    def run(self) -> Steps[Sealed]:
        """Choose, make what has to be made, and seal."""
        limits = self.facts.limits
        chosen = self._untouched()
        if chosen is None:
            yield from extend_ladder(self.history, self.facts)
            yield from self._find_sources()
            chosen = yield from self._choose()
        if chosen is None:
            chosen = yield from self._count_smallest()
        if chosen is None:
            raise self._refusal()
        self._note(chosen, total(chosen, self.fixed))
        for name, rung in chosen.items():
            if name != HISTORY and rung.held.handle and rung.state == "ready":
                held: Shown = rung.held
                yield Publish(handle=held.handle, contributor=name, text=held.exact)
        return seal(
            self.facts,
            self.history,
            self.ladders,
            chosen,
            parts=self.parts,
            warnings=self.warnings,
            support=self.support,
            limits=limits,
            floors=self.floors,
            epoch_key=epoch_key(self.facts),
            provider_count=self.provider_count,
            wants_preparation=self._wants_preparation(chosen),
        )

    def _untouched(self) -> Selection | None:
        """Take everything in full while that is below the watermark."""
        if self.floors:
            return None
        mark = self.facts.limits.optimize_at
        best = {ladder.contributor: ladder.rungs[0] for ladder in self.ladders}
        if any(rung.state != "ready" for rung in best.values()):
            return None
        return best if mark is None or total(best, self.fixed) <= mark else None

    def _select(self, limit: int | None, *, soft: bool = False, make: bool = False) -> Any:
        return select(
            self.ladders, limit, fixed=self.fixed, floors=self.floors, soft=soft, make=make
        )

    def _choose(self) -> Steps[Selection | None]:
        """The highest fidelity below the watermark, else within the maximum."""
        limits = self.facts.limits
        chosen: Selection | None = self._select(limits.optimize_at, soft=True)
        if chosen is None:
            chosen = yield from self._count_full()
        if chosen is None:
            chosen = yield from self._make()
        return chosen

    def _find_sources(self) -> Steps[None]:
        """Look for summaries of contributors that are ready."""
        for ladder in self.others:
            for place, rung in enumerate(ladder.rungs):
                if rung.state == "unprepared" and rung.held.job is not None:
                    found: Found = yield FindSource(key=rung.held.job.key)
                    self.damaged += len(found.damaged)
                    for artifact in found.artifacts:
                        ladder.rungs[place] = summarised_rung(rung, artifact, self.facts)

    def _make(self) -> Steps[Selection | None]:
        """The highest fidelity within the maximum; what it needs is made, one by one."""
        limit = self.facts.limits.max
        prefer_prefix(self.history, self.facts)
        while True:
            chosen: Selection | None = self._select(limit, make=True)
            if chosen is None:
                return None
            missing = [(n, rung) for n, rung in chosen.items() if rung.state == "unprepared"]
            if not missing:
                return chosen
            if self._spared(missing):
                continue
            for name, rung in missing:
                if (yield from self._prepare(name, rung)) is None:
                    return chosen  # a preview: what would have to be made stays unprepared

    def _spared(self, missing: list[tuple[str, Rung]]) -> bool:
        """Do without models that failed in a row lately, where something ready fits."""
        resting = [(rung, left) for name, rung in missing if (left := self._rest_of(name))]
        if not resting or self._select(self.facts.limits.max) is None:
            return False
        for rung, left in resting:
            rung.state = "unavailable"
            self._note_rest(left)
        return True

    def _rest_of(self, name: str) -> int:
        of_history = name == HISTORY and not self.history.join
        model = self.facts.summary if of_history else self.facts.summaries.get(name)
        return model.rest_seconds if model is not None else 0

    def _note_rest(self, left: int) -> None:
        facts = {"seconds": left}
        self.warnings.append(ReceiptWarning(code="SUMMARY_MODEL_RESTING", facts=dict(facts)))

    def _prepare(self, name: str, rung: Rung) -> Steps[bool | None]:
        """Make one summary; `None` where nothing is made here."""
        of_history = name == HISTORY
        forms = self.history.forms
        job: Any = rung.held.job if not of_history else None
        if of_history:
            assert forms is not None
            newest = self.history.artifacts[0] if self.history.artifacts else None
            beside = smallest_total(self.others, self.fixed)
            job = forms.job(newest, fits=room_for_summary(forms, beside))
        if job is None:
            rung.state = "unavailable"
            return False
        read = forms.read if of_history and forms is not None else None
        try:
            join = of_history and self.history.join
            answer: Prepared | Unprepared = yield Prepare(job=job, read=read, join=join)
        except SummaryFailedError as error:
            self.failures.append(error)
            rung.state = "unavailable"
            facts = {"reason": str(error.facts.get("reason", "raised"))}
            self.warnings.append(ReceiptWarning(code="HISTORY_SUMMARY_FAILED", facts=dict(facts)))
            return False
        if isinstance(answer, Unprepared):
            return None
        self._prepared(name, rung, answer, job)
        return True

    def _prepared(self, name: str, rung: Rung, answer: Prepared, job: Any) -> None:
        artifact = answer.artifact
        if answer.how == "made":
            self.support += artifact.support
        if name == HISTORY:
            code = "HISTORY_SUMMARY_JOINED" if answer.how == "joined" else "HISTORY_SUMMARY_INLINE"
            self.warnings.append(
                ReceiptWarning(
                    code=code, facts={"calls": getattr(artifact, "calls", len(artifact.support))}
                )
            )
            if use_artifact(self.history, artifact) is None:
                self.failures.append(not_shorter(job))
            return
        ladder = next(each for each in self.others if each.contributor == name)
        ladder.rungs[ladder.rungs.index(rung)] = summarised_rung(rung, artifact, self.facts)

    def _count_full(self) -> Steps[Selection | None]:
        """Ask the provider's counter whether everything in full fits after all."""
        best = {ladder.contributor: ladder.rungs[0] for ladder in self.ladders}
        usable = all(
            rung.state == "ready" and rung.place >= self.floors.get(name, (0, 0))
            for name, rung in best.items()
        )
        most = self.facts.limits.max
        fits = most is None or total(best, self.fixed) <= most
        if fits or not usable or not self.facts.counter:
            return None
        return (yield from self._counted(best))

    def _count_smallest(self) -> Steps[Selection | None]:
        """Ask the provider's counter whether the smallest ready form fits after all."""
        if not self.facts.counter:
            return None
        smallest: Selection = {}
        for ladder in self.ladders:
            usable = ladder.usable(
                self.floors.get(ladder.contributor, (0, 0)), soft=False, make=False
            )
            if not usable:
                return None
            smallest[ladder.contributor] = min(usable, key=lambda rung: rung.tokens)
        return (yield from self._counted(smallest))

    def _counted(self, selection: Selection) -> Steps[Selection | None]:
        raw = self.facts.raw_max
        asked = sorted((name, id(rung)) for name, rung in selection.items())
        if raw is None or asked in self.asked or len(self.asked) >= COUNTS_AT_MOST:
            return None
        self.asked.append(asked)
        made: Assembled = assemble(self.facts, self.history, selection)
        counted: Any = yield CountRequest(
            messages=tuple(made.messages), system=made.system, tools=made.tools, schema=made.schema
        )
        if isinstance(counted, Unprepared):
            return None
        if type(counted) is not int or counted < 0:
            raise OptionsError(
                "A provider's counter did not answer with a whole number.",
                fix="Return a whole number of tokens, at least 0.",
                option="count_tokens",
            )
        if counted > raw:
            return None
        self.provider_count = counted
        return selection

    def _refusal(self) -> Exception:
        limit = self.facts.limits.max
        everything = [
            Ladder(
                ladder.contributor,
                ladder.priority,
                ladder.order,
                [Rung(r.kind, r.tokens, covers=r.covers, shared=r.shared) for r in ladder.rungs],
            )
            for ladder in self.ladders
        ]
        if select(everything, limit, fixed=self.fixed, floors=self.floors) is not None:
            return unavailable(self.facts, self.ladders, self.fixed, limit, self.failures)
        return too_large(self.facts, self.ladders, self.parts, limit)

    @property
    def _unshortened(self) -> int:
        """What no summary of the history makes smaller, the current turn apart."""
        return smallest_total(self.others, self.fixed) - self.parts["turn"]

    def _fixed_near_limit(self) -> bool:
        mark = self.facts.limits.optimize_at
        return mark is not None and self._unshortened > mark

    def _wants_preparation(self, chosen: Selection) -> bool:
        """Whether a newer summary should be made after this request."""
        model = self.facts.summary
        return self._would_gain(chosen) and not (model is not None and model.rest_seconds)

    def _would_gain(self, chosen: Selection) -> bool:
        """Whether the next request should find a newer summary: this one is large, or lost some."""
        mark = self.facts.limits.prepare_at
        policy = self.facts.policy
        lost = chosen[HISTORY].kind in ("offload", "omitted")
        small = mark is None or total(chosen, self.fixed) <= mark
        if (small and not lost) or not isinstance(policy, ManagedHistory):
            return False
        model = self.facts.summary
        kind = policy.options.summary.strategy.kind  # type: ignore[union-attr]
        able = model is not None and model.callable and kind != "digest"
        return able and not self._fixed_near_limit()

    def _note(self, chosen: Selection, tokens: int) -> None:
        """Warn of what the author should know about this request."""
        limits = self.facts.limits
        mark = limits.optimize_at
        if self._fixed_near_limit():
            facts = {"fixed_tokens": self._unshortened, "optimize_at": mark or 0}
            self.warnings.append(ReceiptWarning(code="REQUEST_FIXED_NEAR_LIMIT", facts=dict(facts)))
        exact = self.history.forms is None and self.facts.source.kind != "none"
        if exact and mark is not None and tokens > mark and _policy_is_exact(self.facts):
            self.warnings.append(
                ReceiptWarning(
                    code="HISTORY_EXACT_NEAR_LIMIT",
                    facts={"input_tokens": tokens, "optimize_at": mark},
                )
            )
        forms, held = self.history.forms, chosen[HISTORY].held
        artifact = getattr(held, "artifact", None)
        if forms is not None and artifact is not None and (stale := forms.stale_by(artifact)):
            self.warnings.append(
                ReceiptWarning(code="HISTORY_SUMMARY_STALE", facts={"messages": stale})
            )
        rests = self.facts.summary.rest_seconds if self.facts.summary is not None else 0
        noted = any(warning.code == "SUMMARY_MODEL_RESTING" for warning in self.warnings)
        if rests and not noted and self._would_gain(chosen):
            self._note_rest(rests)
        if self._wants_preparation(chosen) and not self.facts.background:
            self.warnings.append(
                ReceiptWarning(code="HISTORY_NO_BACKGROUND", facts={"input_tokens": tokens})
            )
        if damaged := len(self.history.damaged) + self.damaged:
            facts = {"summaries": damaged}
            self.warnings.append(ReceiptWarning(code="SUMMARY_DAMAGED", facts=dict(facts)))
        self.warnings += [ReceiptWarning(code=code) for code in limits.warnings]


def _policy_is_exact(facts: RequestFacts) -> bool:
    return facts.policy is None or type(facts.policy).__name__ == "ExactHistory"


def fixed_parts(facts: RequestFacts) -> dict[str, int]:
    """Weigh everything that has no smaller form."""
    measure = facts.measure
    tools = measure.tools(facts.tools)
    return {
        "framing": measure.base,
        "system": measure.text(system_text(facts.system)) if facts.system else 0,
        "tools": tools,
        "schema": measure.tools(facts.tools, facts.schema) - tools if facts.schema else 0,
        "turn": sum(measure.count(facts.dialect, list(facts.turn))) if facts.turn else 0,
        "placement": facts.placement,
    }
