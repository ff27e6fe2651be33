"""Generating: the steps of one turn, from the first plan to the stored group.

A generator of questions; two short loops answer them, sync and async. Nothing is stored before the
last answer is accepted.

Source:
    docs/spec/generate.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from thusfar.budget import InputBudget
from thusfar.drive import Emit, Steps
from thusfar.errors import OptionsError, RequestCompositionError, ThreadCommitError
from thusfar.messages import Message, ToolCall
from thusfar.models.errors import (
    ContextLengthError,
    ToolLoopLimitError,
    said_nothing,
    unreadable,
)
from thusfar.models.port import ModelReply, Replied, Usage
from thusfar.planner.recall import RECALL
from thusfar.receipt import ReceiptWarning
from thusfar.runtime.accepting import Rejected, accepted_output, correction, rejected
from thusfar.runtime.defining import tool_names
from thusfar.runtime.execution import (
    TAIL,
    Ask,
    AskApproval,
    AskPiece,
    Execution,
    PlanRequest,
    ReadTail,
    RunTools,
    StoreTurn,
    Taken,
)
from thusfar.runtime.pending import (
    call_names,
    calls_wait,
    cut_call,
    decided,
    distinct_calls,
    not_run,
    pending_calls,
    waits_behind,
)
from thusfar.runtime.planned import Planned
from thusfar.runtime.prompts import nothing_to_say
from thusfar.runtime.results import AnswerRejected, Result, Step, StepPlanned, ToolAnswered
from thusfar.runtime.tools import Tool

SHORTER: Final = 0.8  # of a request that the provider found too long; counts err by less than this


@dataclass(slots=True)
class _Said:
    """A message of the turn, and whether it will be stored."""

    message: Message
    kept: bool


@dataclass(slots=True)
class Turn:
    """One turn on its way.

    Attributes:
        run: What was asked for.
        said: The messages of the turn so far, canonical.
        steps: The requests so far.
        planned: The last request.
        reason: Why the next request is made.
        rejections: Answers so far that did not fit the output schema.
        first: The first request; what it was planned behind is where the turn is stored.
        behind: The end of the thread that was read before the first request, an empty text for
            its root; `None` where nothing was.
        foreign: Whether a hook had another wire than the turn's answer.
        begun: Text of the answer that the provider paused in.
    """

    run: Execution
    said: list[_Said] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    planned: Planned | None = None
    reason: str = "initial"
    rejections: int = 0
    first: Planned | None = None
    behind: str | None = None
    foreign: bool = False
    begun: str = ""

    def result(self) -> Steps[Result]:
        """Generate the turn."""
        yield from self._resume()
        self.said += [_Said(message, kept=True) for message in self.run.turn]
        while True:
            planned, reply = yield from self._answered()
            calls = [p for m in reply.messages for p in m.parts if isinstance(p, ToolCall)]
            if calls:
                self._take(planned, reply, accepted=True)
                waiting = yield from self._tool_round(planned, reply, calls)
                if waiting:
                    return (yield from self._finish(planned, reply, None, tuple(waiting)))
                self.reason = "tool-result"
                self.begun = ""
                continue
            if reply.finish == "pause" and reply.messages:
                self._go_on(planned, reply)
                continue
            output = accepted_output(self.run.output, reply, planned.wire)
            if not isinstance(output, Rejected):
                if not reply.messages:
                    raise said_nothing(reply.finish)
                self._take(planned, reply, accepted=True)
                return (yield from self._finish(planned, reply, output, ()))
            yield from self._again(planned, reply, output)

    # Requests.

    def _answered(self) -> Steps[tuple[Planned, ModelReply]]:
        """Plan a request and have it answered; once more where the provider finds it too long."""
        planned = yield from self._plan(self.run.budget)
        try:
            return planned, (yield from self._ask(planned))
        except ContextLengthError as error:
            shorter = InputBudget(max=max(1, int(planned.receipt.input_tokens * SHORTER)))
            budget = shorter if self.run.budget is None else self.run.budget.merge(shorter)
            try:
                planned = yield from self._plan(budget)
            except RequestCompositionError:
                raise error from error.__cause__
            return planned, (yield from self._ask(planned))

    def _plan(self, budget: InputBudget | None) -> Steps[Planned]:
        said = tuple(each.message for each in self.said)
        if self.foreign or not self.run.speaks(said):
            self.run = self.run.canonical()
        run = self.run
        options = {
            **run.plan_options(said),
            "at": self.behind,
            "budget": budget,
            "within": self.planned,
            "prepare_step": run.prepare_step,
            "reason": self.reason,
            "runtime": run.runtime,
        }
        planned: Planned = yield PlanRequest(run.messages, run.model, options)
        if planned.open_calls and not run.approvals and self.first is None:
            raise calls_wait(planned.open_calls)
        self.planned = planned
        if self.first is None:
            self.first = planned
            self.behind = None if run.thread is None else planned.head or ""
        if run.streaming:
            yield Emit(StepPlanned(planned.receipt))
        return planned

    def _ask(self, planned: Planned) -> Steps[ModelReply]:
        model = planned.model
        if not self.run.streaming:
            reply: ModelReply = yield Ask(model, planned.kwargs)
        else:
            reply = yield from self._streamed(AskPiece(model, planned.kwargs))
        planned.retried(reply.retries)
        planned.report(reply.usage.input_tokens, reply.usage.output_tokens)
        self.foreign = self.foreign or planned.wire != self.run.model.dialect
        return distinct_calls(reply)

    def _streamed(self, piece: AskPiece) -> Steps[ModelReply]:
        while True:
            event = yield piece
            if event is None:
                raise unreadable()
            if isinstance(event, Replied):
                return event.reply
            yield Emit(event)

    def _take(self, planned: Planned, reply: ModelReply, *, accepted: bool) -> None:
        self.said += [_Said(message, kept=accepted) for message in reply.messages]
        self.steps.append(
            Step(request=planned.receipt, reply=reply, accepted=accepted, reason=self.reason)
        )

    def _again(self, planned: Planned, reply: ModelReply, found: Rejected) -> Steps[None]:
        """Have the answer that does not fit made anew; neither it nor the correction is kept."""
        self._take(planned, reply, accepted=False)
        self.rejections += 1
        if self.rejections > self.run.max_retries:
            raise rejected(found, self.rejections)
        self.said.append(_Said(correction(found), kept=False))
        self.reason = "validation-retry"
        if self.run.streaming:
            yield Emit(AnswerRejected(self.rejections))

    def _go_on(self, planned: Planned, reply: ModelReply) -> None:
        """Take in what a provider paused in; asked again with it, it goes on there."""
        self._take(planned, reply, accepted=True)
        self._require_room()
        self.begun += reply.text
        self.reason = "pause"

    def _require_room(self) -> None:
        if len(self.steps) >= self.run.max_steps:
            raise ToolLoopLimitError(
                "The model still worked with tools after the last step that was allowed.",
                fix="Raise max_steps, or see what the tools return.",
                max_steps=self.run.max_steps,
            )

    # Tools.

    def _tool_round(
        self, planned: Planned, reply: ModelReply, calls: Sequence[ToolCall]
    ) -> Steps[list[ToolCall]]:
        """Run the calls that may be run; what has to wait comes back."""
        cut = cut_call(reply)
        calls = calls[:-1] if cut is not None else calls
        offered = {name for each in planned.tools for name in tool_names(each)}
        box = {**self.run.toolbox, **planned.functions}
        chosen = [(box.get(c.name) if c.name in offered else None, c) for c in calls]
        needed: list[bool] = yield AskApproval(chosen)
        waiting: list[ToolCall] = []
        running: list[tuple[Tool | None, ToolCall]] = []
        for (made, call), needs in zip(chosen, needed, strict=True):
            own = call.name == RECALL and planned.offers_recall
            elsewhere = made is None and call.name in offered and not own
            if elsewhere or needs or waits_behind(call, waiting):
                waiting.append(call)
            else:
                running.append((made, call))
        if cut is not None and waits_behind(cut, waiting):
            waiting.append(cut)
        if not waiting:
            self._require_room()
        results: list[Message] = yield RunTools(running, planned)
        if cut is not None and cut not in waiting:
            results = [*results, not_run(cut)]
        for message in results:
            yield from self._answer(message)
        return waiting

    def _answer(self, message: Message) -> Steps[None]:
        """Take in what a tool returned."""
        self.said.append(_Said(message, kept=True))
        if self.run.streaming:
            yield Emit(ToolAnswered(message))

    def _resume(self) -> Steps[None]:
        """Answer the calls that waited, as the caller says."""
        run = self.run
        if not run.approvals:
            yield from self._require_question()
            return
        waiting = yield from self._waiting()
        names = call_names(waiting)
        if set(names) != set(run.approvals):
            raise OptionsError(
                "The approvals were not those of the calls that wait.",
                fix="Pass one approval for each pending call, by its id.",
                option="approvals",
                pending=len(names),
            )
        said = [run.approvals[name] for name in names]
        allowed = [call for call, each in zip(waiting, said, strict=True) if each is True]
        if any(call.name not in run.toolbox for call in allowed):
            raise _not_here()
        given = [
            None if each is True else decided(call, each)
            for call, each in zip(waiting, said, strict=True)
        ]
        running = [(run.toolbox[call.name], call) for call in allowed]
        results: list[Message] = yield RunTools(running, None)
        ran = iter(results)
        for message in given:  # calls without ids are answered in their order
            if message is not None:
                self.said.append(_Said(message, kept=True))
            else:
                yield from self._answer(next(ran))
        self.reason = "tool-result"

    def _waiting(self) -> Steps[list[ToolCall]]:
        """Find the calls that wait, however many results stand behind them already."""
        run, newest = self.run, TAIL
        if run.thread is None:
            return pending_calls(run.tail())
        while True:
            transcript = yield ReadTail(run.thread, newest)
            waiting = pending_calls(transcript.messages)
            if len(waiting) >= transcript.open_calls or len(transcript.messages) < newest:
                self.behind = transcript.head or ""
                return waiting
            newest *= 4

    def _require_question(self) -> Steps[None]:
        """Without words of its own, a turn answers the newest question of the thread.

        Raises:
            RequestCompositionError: `INVALID_COMPOSITION`, when there is none.
        """
        run = self.run
        if run.turn or run.messages is not None or run.thread is None:
            return
        transcript = yield ReadTail(run.thread, 1)
        self.behind = transcript.head or ""
        if transcript.open_calls:
            raise calls_wait(transcript.open_calls)
        if not transcript.messages or transcript.messages[-1].role != "user":
            raise nothing_to_say()

    # The end.

    def _finish(
        self, planned: Planned, reply: ModelReply, output: Any, pending: tuple[ToolCall, ...]
    ) -> Steps[Result]:
        kept = [each.message for each in self.said if each.kept]
        usage = Usage()
        for step in self.steps:
            usage += step.reply.usage
        result = Result(
            text=self.begun + reply.text,
            output=output,
            messages=self.run.told(kept),
            steps=tuple(self.steps),
            usage=usage,
            finish=reply.finish,
            pending=tuple(
                msgspec.structs.replace(call, id=name)
                for call, name in zip(pending, call_names(pending), strict=True)
            ),
            warnings=_warnings(self.steps),
        )
        first = self.first
        assert first is not None
        store = StoreTurn(
            planned=planned,
            thread=self.run.thread,
            messages=tuple(kept),
            prepared=self.run.prepared(kept),
            after=first.head,
            open=bool(pending),
        )
        try:
            taken: Taken = yield store
        except ThreadCommitError as error:
            error.result = result
            raise
        return msgspec.structs.replace(
            result,
            thread_commit=taken.commit,
            warnings=(*result.warnings, *taken.warnings),
        )


def _not_here() -> OptionsError:
    return OptionsError(
        "A call was allowed, and its tool cannot be run here.",
        fix="Pass its tool in tools=, or what it returned in place of True.",
        option="approvals",
    )


def _warnings(steps: Sequence[Step]) -> tuple[ReceiptWarning, ...]:
    found: dict[str, ReceiptWarning] = {}
    for step in steps:
        for warning in step.request.warnings:
            found.setdefault(warning.code, warning)
    return tuple(found.values())
