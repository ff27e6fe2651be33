"""Planned: a sealed request in the hands of whoever makes the provider call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from thusfar._numbers import require_whole
from thusfar.dialects.placement import Placed
from thusfar.drive import Steps
from thusfar.errors import HistoryError, OptionsError
from thusfar.messages import Message
from thusfar.models.arguments import call_arguments
from thusfar.planner.preparing import prepare_steps
from thusfar.planner.recall import recall_tool
from thusfar.planner.receipt import Inspection, RequestReceipt, StepEvidence
from thusfar.planner.sealing import Sealed
from thusfar.receipt import ReceiptWarning
from thusfar.runtime.arguments import PlanArguments
from thusfar.runtime.crossing import written_in
from thusfar.runtime.edge import Edge, Runtime
from thusfar.runtime.hosts import Job
from thusfar.runtime.recalling import read_arguments, recall_answer
from thusfar.runtime.telling import log_raised
from thusfar.runtime.wire import (
    messages_of_response,
    reported_input_tokens,
    reported_output_tokens,
)


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """What `accept` did.

    Attributes:
        commit: Proof that the turn is stored in the thread; `None` without a thread.
        reported_input_tokens: As the provider said; `None` where it did not.
        preparing: Whether a summary is being prepared in the background.
        warnings: Non-fatal notes.
    """

    commit: Any = None
    reported_input_tokens: int | None = None
    preparing: bool = False
    warnings: tuple[ReceiptWarning, ...] = ()


def preparation_job(said: PlanArguments, runtime: Runtime) -> Job:
    """Write the background job that prepares a summary for the coming cut."""

    async def job() -> None:
        from thusfar.runtime.beginning import begin

        try:
            edge = await begin(said, runtime)
            edge.why = "background"
            await edge.arun(prepare_steps(edge.facts))
        except HistoryError:
            return  # told by the event; the next request tries again where it needs to
        except Exception as error:  # noqa: BLE001 - a host is promised that a job never raises
            log_raised("The preparation of a summary", error)

    return job


class Planned:
    """A request that is ready to be sent, and stays as it is.

    Attributes:
        receipt: What it holds, and why.
        kwargs: Keyword arguments of the provider's own SDK call.
        messages: The messages as the wire takes them.
        system: The system value, contexts included.
        tools: Tool definitions.
        step: Number of the request within its execution, from 0.
        before: The request before in the same execution; `None` at the first.
        preparation: What a hook did to it; `None` without one.
        reported: Input and output tokens as the provider reported them; `None` each while it did
            not.
    """

    __slots__ = (
        "_arguments",
        "_edge",
        "_sealed",
        "_taken",
        "_transport_retries",
        "before",
        "kwargs",
        "messages",
        "preparation",
        "receipt",
        "reported",
        "step",
        "system",
        "tools",
    )

    def __init__(
        self,
        sealed: Sealed,
        placed: Placed,
        edge: Edge,
        arguments: PlanArguments,
        *,
        max_output_tokens: int | None,
        preparation: StepEvidence | None = None,
    ) -> None:
        self._sealed = sealed
        self._edge = edge
        self._arguments = arguments
        self._transport_retries = 0
        self._taken: list[tuple[list[Any], Any]] = []
        self.before: Planned | None = arguments.within
        self.step: int = arguments.within.step + 1 if arguments.within is not None else 0
        self.preparation = preparation
        self.reported: tuple[int | None, int | None] = (None, None)
        self.receipt: RequestReceipt = sealed.receipt
        request = replace(
            sealed.request,
            messages=placed.messages,
            system=placed.system,
            tools=placed.tools or (),
        )
        self.kwargs = call_arguments(
            request, edge.wire, model=edge.facts.model, max_output_tokens=max_output_tokens
        )
        self.messages = request.messages
        self.system = request.system
        self.tools = sealed.request.tools

    def __repr__(self) -> str:
        return f"Planned({self.receipt.id!r}, input_tokens={self.receipt.input_tokens})"

    @property
    def epoch(self) -> Any:
        """How far fidelity has gone down in this execution."""
        return self._sealed.epoch

    @property
    def fingerprint(self) -> Any:
        """To find what the next request has in common with this one."""
        return self._sealed.fingerprint

    @property
    def head(self) -> str | None:
        """The message of the thread that the request stands behind; `None` where there is none."""
        head: str | None = self._edge.reader.head if self._edge.reader is not None else None
        return head

    @property
    def open_calls(self) -> int:
        """How many calls at the end of the thread wait for a result."""
        return self._edge.reader.open_calls if self._edge.reader is not None else 0

    @property
    def model(self) -> Any:
        """The model that the request was planned for, after a hook had its say."""
        return self._arguments.model

    @property
    def wire(self) -> str:
        """Name of the wire format that is sent."""
        return self._edge.wire.name

    @property
    def functions(self) -> Mapping[str, Any]:
        """The tools that a hook gave, by name; `None` each for one that is run elsewhere."""
        return self._arguments.functions

    @property
    def offers_recall(self) -> bool:
        """Whether the tool `recall` is offered, which reads back what is sent in short."""
        return recall_tool(self._edge.facts.tool_wire) in self.tools

    def inspect(self) -> Inspection:
        """The evidence behind the receipt."""
        return msgspec.structs.replace(
            self._sealed.inspection,
            support=tuple(self._edge.support),
            transport_retries=self._transport_retries,
            preparation=self.preparation,
        )

    def retried(self, times: int = 1) -> None:
        """Record that the same request was sent again; it is not planned anew.

        Raises:
            OptionsError: `INVALID_OPTIONS`, unless `times` is a whole number, at least 0.
        """
        if type(times) is not int or times < 0:
            raise OptionsError(
                "A number of transport retries was no whole number.",
                fix="Pass a whole number, at least 0.",
                option="times",
            )
        self._transport_retries += times

    async def recall(self, arguments: str | Mapping[str, Any]) -> str:
        """Answer a call of the `recall` tool: exact older messages, or the text behind a handle.

        Args:
            arguments: The arguments of the tool call.

        Raises:
            TranscriptError: `INVALID_TRANSCRIPT`, when they are not what the tool takes.
        """
        answer: str = await self._edge.arun(self._recall(arguments))
        return answer

    def recall_sync(self, arguments: str | Mapping[str, Any]) -> str:
        """Answer a call of the `recall` tool, for code without an event loop; see `recall`."""
        answer: str = self._edge.run(self._recall(arguments))
        return answer

    def _recall(self, arguments: str | Mapping[str, Any]) -> Steps[str]:
        used = self.receipt.input_tokens
        return recall_answer(self._edge.facts, read_arguments(arguments), used=used)

    async def accept(self, response: Any = None, *, input_tokens: int | None = None) -> Accepted:
        """Take in the answer: usage, the turn of a thread, and preparation for the next request.

        An answer that calls tools is stored as it is. Plan the next request with their results as
        its turn: they go into the same group. The same answer is stored once, however often it is
        accepted; another one becomes an alternative.

        Args:
            response: The SDK's response, a message, a list of messages, or text. `None`: only
                usage and preparation.
            input_tokens: As the provider reported it, where the response does not say.

        Raises:
            ThreadCommitError: `COMMIT_FAILED`, when the turn could not be stored.
            TranscriptError: `INVALID_TRANSCRIPT`, when the response holds no message.
            OptionsError: `INVALID_OPTIONS`, for a count that is no whole number from 0.
        """
        answered, reported = self._take(response, input_tokens)
        commit = self._stored(answered)
        if commit is None and (steps := self._commit_steps(answered)) is not None:
            commit = await self._edge.runtime.store.arun(steps)
            self._taken.append((answered, commit))
        await self._edge.runtime.flush()
        return self._prepare(self._said(answered), commit, reported)

    def accept_sync(self, response: Any = None, *, input_tokens: int | None = None) -> Accepted:
        """Take in the answer, for code without an event loop; see `accept`.

        A summary is prepared where the runtime's host takes work without an event loop.
        """
        answered, reported = self._take(response, input_tokens)
        commit = self._stored(answered)
        if commit is None and (steps := self._commit_steps(answered)) is not None:
            commit = self._edge.runtime.store.run(steps)
            self._taken.append((answered, commit))
        self._edge.runtime.flush_sync()
        return self._prepare(self._said(answered), commit, reported)

    def report(self, input_tokens: int | None, output_tokens: int | None = None) -> None:
        """Take in the provider's count of the request, for the requests to come.

        Args:
            input_tokens: Its input, what came from a cache included. `None`: not reported.
            output_tokens: Its output, reasoning included. `None`: not reported.
        """
        self.reported = (input_tokens, output_tokens)
        if input_tokens is not None:
            facts = self._edge.facts
            counted = sum(size for _, size in self._sealed.inspection.breakdown)
            self._edge.runtime.report(
                facts.model, facts.measure.tokenizer, counted=counted, reported=input_tokens
            )

    def prepare(self, turn: Sequence[Any]) -> Accepted:
        """Have a summary prepared for the next request, after a turn that is stored elsewhere.

        Args:
            turn: What the turn added to messages of the caller, in their dialect; a thread is
                read anew.
        """
        messages = (*self._edge.facts.source.messages, *turn) if self._edge.reader is None else ()
        return self._prepare(messages, None, None)

    def _take(self, response: Any, input_tokens: int | None) -> tuple[list[Any], int | None]:
        require_whole("accept()", "input_tokens", input_tokens, least=0)
        reported = input_tokens if input_tokens is not None else reported_input_tokens(response)
        told = (reported, reported_output_tokens(response))
        if told != self.reported:
            self.report(*told)
        return messages_of_response(response, self._edge.wire), reported

    def _stored(self, answered: list[Any]) -> Any:
        """The proof that an answer is stored already; `None` where it is not."""
        for one, commit in self._taken:
            if one == answered:
                return msgspec.structs.replace(commit, replayed=True)
        return None

    def _commit_steps(self, answered: list[Any]) -> Steps[Any] | None:
        reader = self._edge.reader
        if reader is None or not answered:
            return None
        steps: Steps[Any] = reader.commit_steps(self._edge.facts.turn, answered)
        return steps

    def _said(self, answered: list[Any]) -> tuple[Any, ...]:
        """The whole transcript with the answer, where the caller owns it."""
        if self._edge.reader is not None:
            return ()
        facts, wire = self._edge.facts, self._edge.wire
        if wire is not facts.dialect or any(isinstance(each, Message) for each in answered):
            lifted = [m if isinstance(m, Message) else wire.lift(m) for m in answered]
            answered = list(written_in(lifted, facts.dialect))
        return (*facts.source.messages, *facts.turn, *answered)

    def _prepare(self, messages: tuple[Any, ...], commit: Any, reported: int | None) -> Accepted:
        preparing = False
        warnings: tuple[ReceiptWarning, ...] = ()
        if self._sealed.wants_preparation:
            preparing = self._edge.runtime.host.retain(self._job(messages))
            code = "HISTORY_PREPARATION_SCHEDULED" if preparing else "HISTORY_NO_BACKGROUND"
            warnings = (ReceiptWarning(code=code),)
        return Accepted(
            commit=commit,
            reported_input_tokens=reported,
            preparing=preparing,
            warnings=warnings,
        )

    def _job(self, messages: tuple[Any, ...]) -> Any:
        """The background job: a summary for the coming cut, over what was said so far."""
        said = replace(self._arguments, turn=None)
        if self._edge.reader is None:
            said = replace(said, messages=messages)
        return preparation_job(replace(said, previous=None, within=None), self._edge.runtime)
