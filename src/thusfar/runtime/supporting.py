"""Supporting: calls to summary models, sync and async, with time limits; failures become answers.

What a model raises is an answer to the strategy, which decides whether to ask again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from thusfar.models.contracts import (
    GeneratedText,
    ProviderHistorySummaryInput,
    as_text,
    generator_of,
)
from thusfar.planner.receipt import SupportReceipt
from thusfar.runtime.calling import acall_within, call_within
from thusfar.summaries.values import NativeCall, SupportAnswer, SupportCall, SupportFailure
from thusfar.tokens import Measure

SUPPORT_TIMEOUT_SECONDS: Final = 120.0  # as long as a provider's own clients wait by default


@dataclass(slots=True)
class Supporter:
    """Makes the support calls of one summary.

    Attributes:
        model: The summary model.
        name: Its name.
        prefix: Begins the ids of its support requests.
        measure: Counts what was not reported.
        timeout_seconds: How long a call may take.
        room: Most input tokens of the model.
        receipts: One for each call, in order.
        raised: What the last call raised. `None`: it answered, or there was none.
    """

    model: Any
    name: str
    prefix: str
    measure: Measure
    timeout_seconds: float
    room: int | None = None
    receipts: list[SupportReceipt] = field(default_factory=list)
    raised: Exception | None = None

    def _asking(self, call: SupportCall | NativeCall) -> Callable[[], Any]:
        """Bind the function that answers to what it is asked."""
        if isinstance(call, NativeCall):
            wanted = ProviderHistorySummaryInput(
                messages=call.messages,
                model=self.name,
                strategy=call.strategy,
                max_output_tokens=call.max_output_tokens,
            )
            return partial(self.model.compact_history, wanted)
        return partial(generator_of(self.model), **self._arguments(call))

    def _arguments(self, call: SupportCall) -> dict[str, Any]:
        return {
            "model": self.name,
            "prompt": call.prompt,
            "system": call.system,
            "max_output_tokens": call.max_output_tokens,
        }

    def _id(self) -> str:
        return f"{self.prefix}.s{len(self.receipts) + 1}"

    def _answered(self, call: SupportCall | NativeCall, said: GeneratedText) -> SupportAnswer:
        request_id = self._id()
        self.raised = None
        counted = self.measure.text(said.text)
        self._receipt(
            request_id,
            call,
            output=said.output_tokens if said.output_tokens is not None else counted,
            outcome="answered",
            told=said.request_id,
        )
        return SupportAnswer(text=said.text, finish=said.finish, request_id=request_id)

    def _failed(self, call: SupportCall | NativeCall, error: Exception) -> SupportFailure:
        request_id = self._id()
        self.raised = error
        late = isinstance(error, TimeoutError)
        outcome = "timed-out" if late else f"raised {type(error).__name__}"
        self._receipt(request_id, call, output=None, outcome=outcome)
        return SupportFailure(
            error=error, reason="timed-out" if late else "raised", request_id=request_id
        )

    def _receipt(
        self,
        request_id: str,
        call: SupportCall | NativeCall,
        *,
        output: int | None,
        outcome: str,
        told: str = "",
    ) -> None:
        self.receipts.append(
            SupportReceipt(
                id=request_id,
                model=self.name,
                purpose=call.purpose,
                input_tokens=call.input_tokens,
                max_input_tokens=self.room,
                output_tokens=output,
                outcome=outcome,
                attempt=call.attempt,
                provider_request_id=told,
                start=call.start,
                end=call.end,
            )
        )

    def not_asked(self) -> SupportFailure:
        """Fail as the call before did, since the provider asked to be left alone for long."""
        error = self.raised if self.raised is not None else TimeoutError()
        return SupportFailure(error=error)

    async def acall(self, call: SupportCall | NativeCall) -> SupportAnswer | SupportFailure:
        """Call the model without blocking the event loop."""
        try:
            said = await acall_within(self._asking(call), self.timeout_seconds)
            return self._answered(call, as_text(said))
        except Exception as error:  # noqa: BLE001 - a model may raise anything; it is an answer here
            return self._failed(call, error)

    def call(self, call: SupportCall | NativeCall) -> SupportAnswer | SupportFailure:
        """Call the model and wait for it, at most as long as the time limit."""
        try:
            said = call_within(self._asking(call), self.timeout_seconds)
            return self._answered(call, as_text(said))
        except Exception as error:  # noqa: BLE001 - a model may raise anything; it is an answer here
            return self._failed(call, error)
