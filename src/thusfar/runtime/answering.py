"""Answering: the questions of a turn, answered sync and async.

Source:
    docs/spec/generate.md#turns
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from thusfar.drive import Steps, adrive, drive
from thusfar.errors import StorageError, ThreadCommitError, ThreadError, TranscriptError
from thusfar.messages import Message, ToolCall
from thusfar.models.threads import in_thread
from thusfar.planner.recall import RECALL
from thusfar.runtime.calling import call_within
from thusfar.runtime.execution import (
    Ask,
    AskApproval,
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
from thusfar.runtime.tools import (
    Tool,
    approval_question,
    error_text,
    read_arguments,
    require_decision,
    result_message,
    undecided,
)
from thusfar.thread import Thread
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
            case AskApproval(calls=calls):
                return [drive(_decided(made, call), _called) for made, call in calls]
            case RunTools(calls=calls, planned=planned):
                return [drive(_ran(made, call, planned), _called) for made, call in calls]
            case ReadTail(thread=thread, newest=newest):
                return thread.sync.transcript(newest=newest)
            case StoreTurn():
                commit = None
                if question.thread is not None:
                    with _storing(question):
                        commit = question.thread.store.run(_commit_steps(question))
                return _taken(question, commit)
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
            case AskApproval(calls=calls):
                return [await adrive(_decided(made, call), _acalled) for made, call in calls]
            case RunTools(calls=calls, planned=planned):
                return await _together(
                    [adrive(_ran(made, call, planned), _acalled) for made, call in calls]
                )
            case ReadTail(thread=thread, newest=newest):
                return await thread.transcript(newest=newest)
            case StoreTurn():
                commit = None
                if question.thread is not None:
                    with _storing(question):
                        commit = await question.thread.store.arun(_commit_steps(question))
                return _taken(question, commit)
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


@dataclass(frozen=True, slots=True)
class _Call:
    """Call a function of the author, sync or async."""

    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Recall:
    """Read back what the request stands for only in short."""

    planned: Planned
    arguments: str


def _ran(made: Tool | None, call: ToolCall, planned: Planned | None) -> Steps[Message]:
    """Run one call; what goes wrong is told to the model."""
    if made is None:
        if planned is None or call.name != RECALL or not planned.offers_recall:
            return result_message(call, "There is no tool of this name.", is_error=True)
        try:
            return result_message(call, (yield _Recall(planned, call.arguments)))
        except TranscriptError as error:
            return result_message(call, str(error), is_error=True)
    arguments = read_arguments(made, call)
    if isinstance(arguments, str):
        return result_message(call, arguments, is_error=True)
    try:
        return result_message(call, (yield _Call(partial(made.function, **arguments))))
    except Exception as error:
        if made.on_error == "raise":
            raise
        return result_message(call, error_text(error), is_error=True)


def _decided(made: Tool | None, call: ToolCall) -> Steps[bool]:
    """Find out whether a call waits for approval.

    Raises:
        PreparationError: `PREPARATION_FAILED`, when the function that decides it raised, or did
            not decide.
    """
    asked = approval_question(made, call)
    if made is None or isinstance(asked, bool):
        return bool(asked)
    try:
        said = yield _Call(asked)
    except Exception as error:
        message = "A function that decides about approval raised an error."
        raise undecided(made, message) from error
    return require_decision(made, said)


def _called(question: Any) -> Any:
    if isinstance(question, _Recall):
        return question.planned.recall_sync(question.arguments)
    returned = question.function()
    return call_within(lambda: returned, None) if inspect.isawaitable(returned) else returned


async def _acalled(question: Any) -> Any:
    if isinstance(question, _Recall):
        return await question.planned.recall(question.arguments)
    if inspect.iscoroutinefunction(question.function):
        return await question.function()
    returned = await in_thread(question.function)
    return await returned if inspect.isawaitable(returned) else returned


def _commit_steps(turn: StoreTurn) -> Steps[ThreadCommit]:
    commit: Any = Thread.commit_turn.__wrapped__  # type: ignore[attr-defined]
    steps: Steps[ThreadCommit] = commit(
        turn.thread, turn.messages, after=turn.after, open=turn.open
    )
    return steps


@contextmanager
def _storing(turn: StoreTurn) -> Iterator[None]:
    """Tell every failure to store a turn as the one error for it."""
    try:
        yield
    except ThreadCommitError:
        raise
    except (StorageError, ThreadError) as error:
        raise ThreadCommitError(
            f"A turn was not stored: {error.args[0]}", fix=error.fix, thread_id=turn.thread.id
        ) from error


def _taken(turn: StoreTurn, commit: ThreadCommit | None) -> Taken:
    accepted = turn.planned.prepare(turn.prepared)
    return Taken(commit, accepted.warnings)
