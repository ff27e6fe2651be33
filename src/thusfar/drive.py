"""Drive: the two short loops, sync and async, that answer the questions of a generator.

An operation is written once, as a generator that yields frozen questions and receives answers.
A failure to answer is raised at the question, so that the operation may handle it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")
Steps = Generator[Any, Any, Result]


@dataclass(frozen=True, slots=True)
class Emit:
    """Not a question: a value that an operation hands out on its way.

    Attributes:
        value: What is handed out.
    """

    value: Any


def drive(steps: Steps[Result], answer: Callable[[Any], Any]) -> Result:
    """Run an operation to its end, answering each question with a function.

    Args:
        steps: The operation.
        answer: Answers one question; what it raises is raised inside the operation.

    Returns:
        What the operation returns.

    Example:
        >>> def greeting():
        ...     name = yield "name?"
        ...     return f"Hello, {name}."
        >>> drive(greeting(), {"name?": "Ada"}.get)
        'Hello, Ada.'
    """
    try:
        question = next(steps)
        while True:
            try:
                reply = answer(question)
            except Exception as error:  # noqa: BLE001 - handed to the operation, which re-raises
                question = steps.throw(error)
            else:
                question = steps.send(reply)
    except StopIteration as done:
        result: Result = done.value
        return result


async def adrive(steps: Steps[Result], answer: Callable[[Any], Awaitable[Any]]) -> Result:
    """Run an operation to its end, answering each question with a coroutine function.

    Args:
        steps: The operation.
        answer: Answers one question; what it raises is raised inside the operation.

    Returns:
        What the operation returns.
    """
    try:
        question = next(steps)
        while True:
            try:
                reply = await answer(question)
            except Exception as error:  # noqa: BLE001 - handed to the operation, which re-raises
                question = steps.throw(error)
            else:
                question = steps.send(reply)
    except StopIteration as done:
        result: Result = done.value
        return result


def drive_stream(steps: Steps[Any], answer: Callable[[Any], Any]) -> Iterator[Any]:
    """Run an operation piece by piece: what it emits is handed out, questions are answered.

    Args:
        steps: The operation; what it returns is not handed out.
        answer: As for `drive`.

    Example:
        >>> def countdown():
        ...     start = yield "from?"
        ...     for number in range(start, 0, -1):
        ...         yield Emit(number)
        >>> list(drive_stream(countdown(), {"from?": 3}.get))
        [3, 2, 1]
    """
    try:
        question = next(steps)
        while True:
            if isinstance(question, Emit):
                yield question.value
                question = steps.send(None)
                continue
            try:
                reply = answer(question)
            except Exception as error:  # noqa: BLE001 - handed to the operation, which re-raises
                question = steps.throw(error)
            else:
                question = steps.send(reply)
    except StopIteration:
        return
    finally:
        steps.close()


async def adrive_stream(
    steps: Steps[Any], answer: Callable[[Any], Awaitable[Any]]
) -> AsyncIterator[Any]:
    """Run an operation piece by piece; see `drive_stream`."""
    try:
        question = next(steps)
        while True:
            if isinstance(question, Emit):
                yield question.value
                question = steps.send(None)
                continue
            try:
                reply = await answer(question)
            except Exception as error:  # noqa: BLE001 - handed to the operation, which re-raises
                question = steps.throw(error)
            else:
                question = steps.send(reply)
    except StopIteration:
        return
    finally:
        steps.close()
