"""Answering: the questions of a turn, answered sync and async.

Source:
    docs/spec/generate.md#turns
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from thusfar.errors import StorageError, ThreadCommitError, ThreadError, TranscriptError
from thusfar.messages import Message, ToolCall
from thusfar.models.threads import in_thread
from thusfar.planner.recall import RECALL
from thusfar.runtime.calling import call_within
from thusfar.runtime.execution import (
    Ask,
    AskPiece,
    PlanRequest,
    ReadTail,
    RunTools,
    StoreTurn,
    Taken,
)
from thusfar.runtime.planned import Planned
from thusfar.runtime.planning import plan, plan_sync
from thusfar.runtime.telling import log_once
from thusfar.runtime.tools import Tool, error_text, read_arguments, result_message
from thusfar.thread.values import ThreadCommit


class Answers:
    """Answers the questions of one turn; holds the stream that is open."""

    def __init__(self) -> None:
        self._events: Any = None

    def answer(self, question: Any) -> Any:
        """Answer a question here and now."""
        match question:
            case PlanRequest(messages=messages, model=model, options=options):
                return _told(plan_sync(messages, model=model, **options))
            case Ask(model=model, arguments=arguments):
                return model.generate_sync(arguments)
            case AskPiece(model=model, arguments=arguments):
                if question.events is None:
                    question.events = self._events = model.stream_sync(arguments)
                return next(question.events, None)
            case RunTools(calls=calls, planned=planned):
                return [_run(made, call, planned) for made, call in calls]
            case ReadTail(thread=thread, newest=newest):
                return thread.sync.transcript(newest=newest)
            case StoreTurn():
                return _taken(question, _committed(question))
        raise AssertionError(question)

    async def aanswer(self, question: Any) -> Any:
        """Answer a question without blocking the event loop."""
        match question:
            case PlanRequest(messages=messages, model=model, options=options):
                return _told(await plan(messages, model=model, **options))
            case Ask(model=model, arguments=arguments):
                return await model.generate(arguments)
            case AskPiece(model=model, arguments=arguments):
                if question.events is None:
                    question.events = self._events = model.stream(arguments)
                return await anext(question.events, None)
            case RunTools(calls=calls, planned=planned):
                return await _together([_arun(made, call, planned) for made, call in calls])
            case ReadTail(thread=thread, newest=newest):
                return await thread.transcript(newest=newest)
            case StoreTurn():
                return _taken(question, await _acommitted(question))
        raise AssertionError(question)

    def close(self) -> None:
        """Close the stream that is open."""
        if self._events is not None:
            self._events.close()

    async def aclose(self) -> None:
        """Close the stream that is open."""
        if self._events is not None:
            await self._events.aclose()


def _told(planned: Planned) -> Planned:
    """Log the warnings of a request."""
    log_once(planned.model, planned.receipt.model, planned.receipt.warnings)
    return planned


async def _together(running: Sequence[Any]) -> list[Message]:
    """Run tools at once; when one ends the request, the others are cancelled and waited for."""
    tasks = [asyncio.ensure_future(each) for each in running]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _run(made: Tool | None, call: ToolCall, planned: Planned | None) -> Message:
    if made is None:
        if planned is None or call.name != RECALL:
            return _unknown(call)
        try:
            return result_message(call, planned.recall_sync(call.arguments))
        except TranscriptError as error:
            return result_message(call, str(error), is_error=True)
    arguments = read_arguments(made, call)
    if isinstance(arguments, str):
        return result_message(call, arguments, is_error=True)
    try:
        returned = made.function(**arguments)
        if inspect.isawaitable(returned):
            returned = call_within(lambda: returned, None)
        return result_message(call, returned)
    except Exception as error:  # noqa: BLE001 - told to the model, or raised again
        return _failed(made, call, error)


async def _arun(made: Tool | None, call: ToolCall, planned: Planned | None) -> Message:
    if made is None:
        if planned is None or call.name != RECALL:
            return _unknown(call)
        try:
            return result_message(call, await planned.recall(call.arguments))
        except TranscriptError as error:
            return result_message(call, str(error), is_error=True)
    arguments = read_arguments(made, call)
    if isinstance(arguments, str):
        return result_message(call, arguments, is_error=True)
    try:
        if inspect.iscoroutinefunction(made.function):
            return result_message(call, await made.function(**arguments))
        returned = await in_thread(lambda: made.function(**arguments))
        return result_message(call, await returned if inspect.isawaitable(returned) else returned)
    except Exception as error:  # noqa: BLE001 - told to the model, or raised again
        return _failed(made, call, error)


def _unknown(call: ToolCall) -> Message:
    return result_message(call, "There is no tool of this name.", is_error=True)


def _failed(made: Tool, call: ToolCall, error: Exception) -> Message:
    if made.on_error == "raise":
        raise error
    return result_message(call, error_text(error), is_error=True)


def _committed(turn: StoreTurn) -> ThreadCommit | None:
    if turn.thread is None:
        return None
    thread = turn.thread.sync
    with _Storing(turn.thread.id):
        if turn.open:
            commit: ThreadCommit = thread.append(turn.messages, after=turn.after, open=True)
        else:
            commit = thread.commit_turn(turn.messages, after=turn.after)
    return commit


async def _acommitted(turn: StoreTurn) -> ThreadCommit | None:
    if turn.thread is None:
        return None
    with _Storing(turn.thread.id):
        if turn.open:
            commit: ThreadCommit = await turn.thread.append(
                turn.messages, after=turn.after, open=True
            )
        else:
            commit = await turn.thread.commit_turn(turn.messages, after=turn.after)
    return commit


class _Storing:
    """Tells every failure to store a turn as the one error for it."""

    def __init__(self, thread_id: str) -> None:
        self._thread_id = thread_id

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StorageError | ThreadError) and not isinstance(
            error, ThreadCommitError
        ):
            raise ThreadCommitError(
                f"A turn was not stored: {error.args[0]}",
                fix=error.fix,
                thread_id=self._thread_id,
            ) from error


def _taken(turn: StoreTurn, commit: ThreadCommit | None) -> Taken:
    accepted = turn.planned.prepare(turn.prepared)
    return Taken(commit, accepted.warnings)
