"""Answering: the two ways, sync and async, in which a run's models and functions are called.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from thusfar.drive import Steps, adrive, drive
from thusfar.errors import (
    HistoryError,
    OptionsError,
    ProviderError,
    StepTimeoutError,
    TaskFailedError,
)
from thusfar.models.contracts import GeneratedObject, GeneratedText, as_text, generator_of
from thusfar.process.control import Control, RunStopped
from thusfar.process.planning import PlannedPrompt, named
from thusfar.runtime.collecting import model_name
from thusfar.storage.base import Store

Result = TypeVar("Result")
LATE: Final[Any] = "timeout"
"""Why an answer ended that did not come in the time of its call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallModel:
    """Send a planned prompt; the answer is a `GeneratedText` or a `GeneratedObject`.

    Attributes:
        model: The model.
        prompt: What is sent; nothing but a planned prompt can be.
        max_output_tokens: Output limit.
        timeout_seconds: How long its step may still take. `None`: any time.
        too_late: Makes the error for an answer that comes later.
        monotonic: Tells the time, for calls that cannot be interrupted.
        control: What may end it from outside.
        call_seconds: How long it may take itself, behind which it has no answer. `None`: any
            time.
    """

    model: Any
    prompt: PlannedPrompt
    max_output_tokens: int | None
    timeout_seconds: float | None
    too_late: Callable[[], StepTimeoutError]
    monotonic: Callable[[], float]
    control: Control | None = None
    call_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait until the run may go on.

    Attributes:
        control: What was asked of the run.
    """

    control: Control


@dataclass(frozen=True, slots=True)
class InStore:
    """Carry steps out in a store; the answer is what they return.

    Attributes:
        store: The store.
        steps: The steps.
    """

    store: Store
    steps: Steps[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFunction:
    """Call a function of the author; the answer is what it returns.

    Attributes:
        function: The function.
        arguments: Its arguments.
        task_id: The task it belongs to.
        timeout_seconds: How long it may be awaited. `None`: any time.
        too_late: Makes the error behind that time; there is one where there is a time.
        control: What may end it from outside.
        committed: Whether the step it belongs to is committed.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    task_id: str
    timeout_seconds: float | None = None
    too_late: Callable[[], StepTimeoutError] | None = None
    control: Control | None = None
    committed: bool = False


def driven(steps: Steps[Result]) -> Result:
    """Drive a run; whatever interrupts it, the process is free again."""
    try:
        return drive(steps, answer)
    finally:
        steps.close()


async def adriven(steps: Steps[Result]) -> Result:
    """Drive a run; also when its task is cancelled, the process is free again."""
    try:
        return await adrive(steps, aanswer)
    finally:
        steps.close()


def answer(question: Any) -> Any:
    """Answer a question of a run, without an event loop.

    Raises:
        ProviderError: `PROVIDER_FAILED`, when the model raised.
        TaskFailedError: `TASK_FAILED`, when the author's function raised.
        StepTimeoutError: `STEP_TIMEOUT`, when the model's answer came too late.
    """
    if isinstance(question, InStore):
        return question.store.run(question.steps)
    if isinstance(question, CallFunction):
        with _Translated(_function_failed, question):
            return _at_once(question.function(*question.arguments))
    begun = question.monotonic()
    with _Translated(_model_failed):
        made = _at_once(_called(question))
    taken = question.monotonic() - begun
    if question.timeout_seconds is not None and taken > question.timeout_seconds:
        raise question.too_late()
    if question.call_seconds is not None and taken > question.call_seconds:
        return _late()
    return _read(question, made)


async def aanswer(question: Any) -> Any:
    """Answer a question of a run; see `answer`.

    A model call or a function that is awaited too long is cancelled.

    Raises:
        StepTimeoutError: `STEP_TIMEOUT`, when that was for its step.
    """
    if isinstance(question, Wait):
        return await question.control.go()
    if isinstance(question, InStore):
        return await question.store.arun(question.steps)
    if isinstance(question, CallFunction):
        with _Translated(_function_failed, question):
            return await _awaited(question.function(*question.arguments), question)
    with _Translated(_model_failed):
        made = await _awaited(_called(question, on_loop=True), question)
    return _read(question, made)


def _late() -> GeneratedText:
    """Stand for the answer of a call that took too long."""
    return GeneratedText(text="", finish=LATE)


async def _awaited(made: Any, question: CallModel | CallFunction) -> Any:
    """Await what has to be, within its time, and until the run is asked to stop."""
    import asyncio

    if not inspect.isawaitable(made):
        return made
    left, most = question.timeout_seconds, getattr(question, "call_seconds", None)
    is_shorter = most is not None and (left is None or most < left)
    scope = asyncio.timeout(most if is_shorter else left)
    try:
        async with scope:
            control = question.control
            return await (made if control is None else control.call(made))
    except TimeoutError:
        if not scope.expired():
            raise
        if is_shorter:
            return _late()
        assert question.too_late is not None
        raise question.too_late() from None


def _at_once(made: Any) -> Any:
    if not inspect.isawaitable(made):
        return made
    if inspect.iscoroutine(made):
        made.close()
    raise OptionsError(
        "run_sync() met a model or a function that has to be awaited.",
        fix="Await run() instead, or pass one that answers at once.",
    )


def _called(question: CallModel, *, on_loop: bool = False) -> Any:
    prompt = question.prompt
    if type(prompt) is not PlannedPrompt:
        raise OptionsError(
            "Something was to be sent that is no planned prompt.", fix="Send what was planned."
        )
    asked: dict[str, Any] = {
        "model": model_name(named(question.model)),
        "prompt": prompt.text,
        "system": prompt.system or None,
        "max_output_tokens": question.max_output_tokens,
    }
    model = question.model
    if prompt.schema is not None:
        ask = getattr(model, "agenerate_object", None) if on_loop else None
        return (ask or model.generate_object)(schema=prompt.schema, **asked)
    ask = getattr(model, "agenerate_text", None) if on_loop else None
    return (ask or generator_of(model))(**asked)


def _read(question: CallModel, made: Any) -> Any:
    if question.prompt.schema is not None and isinstance(made, GeneratedObject):
        return made
    return as_text(made)


class _Translated:
    """Turns foreign exceptions into the library's own, with the cause."""

    def __init__(self, failed: Callable[..., HistoryError], *arguments: Any) -> None:
        self._failed = failed
        self._arguments = arguments

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, HistoryError | RunStopped):
            raise self._failed(*self._arguments) from error


def _function_failed(question: CallFunction) -> TaskFailedError:
    kept = "the step was committed before" if question.committed else "nothing of the step was kept"
    return TaskFailedError(
        f"A function of the task {question.task_id} raised.",
        fix=f"See the cause; {kept}.",
        task_id=question.task_id,
    )


def _model_failed() -> ProviderError:
    return ProviderError(
        "A model raised while it was asked.", fix="See the cause, and run the process again."
    )
