"""Drive: the two short loops, sync and async, that answer the questions of a generator.

An operation is written once, as a generator that yields frozen questions and receives answers.
A failure to answer is raised at the question, so that the operation may handle it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")
Steps = Generator[Any, Any, Result]


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
