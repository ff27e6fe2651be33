"""Intercepting: somebody looks at each call of a model before it is made.

Source:
    docs/spec/process.md#interceptors
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from thusfar.codec import to_json
from thusfar.errors import OptionsError
from thusfar.models.contracts import GeneratedObject, GeneratedText
from thusfar.process.planning import PlannedPrompt, StepReceipt

SKIPPED: Final[Any] = "skipped"
"""Why an answer ended that nobody gave."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a model that is about to be made.

    Attributes:
        process_id: The process.
        task_id: The task.
        step: The step, from 1.
        attempt: The attempt, from 1.
        system: The system message.
        prompt: The user message.
        schema: JSON Schema of the answer, where native structured output is asked for.
        errors: Complaints about the answer before.
        receipt: What the prompt holds.
    """

    process_id: str
    task_id: str
    step: int
    attempt: int
    system: str
    prompt: str
    schema: Any
    errors: tuple[str, ...]
    receipt: StepReceipt


class Use(msgspec.Struct, frozen=True):
    """Take this answer instead of the model's; it is checked as any other.

    Attributes:
        answer: Text, or a JSON value.
    """

    answer: Any


class Forward(msgspec.Struct, frozen=True):
    """Ask the model."""


class Skip(msgspec.Struct, frozen=True):
    """Go on behind the task without an answer: it is recorded as skipped, and changes no state."""


class Cancel(msgspec.Struct, frozen=True):
    """End the run as `cancelled`.

    Attributes:
        reason: Why, for the outcome.
    """

    reason: str = ""


Decision = Use | Forward | Skip | Cancel
Interceptor = Callable[[Call], Decision | Awaitable[Decision | None] | None]
"""Decides about a call, at once or as an awaitable; `None` forwards it."""


def call_of(planned: PlannedPrompt, process_id: str, errors: tuple[str, ...]) -> Call:
    """Show a planned prompt to an interceptor."""
    receipt = planned.receipt
    return Call(
        process_id=process_id,
        task_id=receipt.task_id,
        step=receipt.step,
        attempt=receipt.attempt,
        system=planned.system,
        prompt=planned.text,
        schema=to_json(planned.schema),
        errors=errors,
        receipt=receipt,
    )


def require_decision(decided: Any) -> Decision:
    """Take what an interceptor returned.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for something else than a decision.
    """
    if decided is None:
        return Forward()
    if isinstance(decided, Use | Forward | Skip | Cancel):
        return decided
    raise OptionsError(
        f"An interceptor returned a {type(decided).__name__}.",
        fix="Return Use(...), Forward(), Skip() or Cancel(), or None.",
        option="interceptor",
    )


def skipped() -> GeneratedText:
    """Stand for the answer of a task that is skipped."""
    return GeneratedText(text="", finish=SKIPPED, input_tokens=0, output_tokens=0)


def used(answer: Any) -> GeneratedText | GeneratedObject:
    """Take the answer that an interceptor gave, which costs no tokens."""
    if isinstance(answer, str):
        return GeneratedText(text=answer, input_tokens=0, output_tokens=0)
    return GeneratedObject(value=to_json(answer), input_tokens=0, output_tokens=0)
