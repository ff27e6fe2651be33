"""Generate: one call that plans a request, has it answered, runs tools, and stores the turn.

Source:
    docs/spec/generate.md
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar, Unpack

from thusfar.drive import Emit, Steps, adrive, adrive_stream, drive, drive_stream
from thusfar.errors import OptionsError
from thusfar.runtime.answering import Answers
from thusfar.runtime.execution import Execution, GenerateOptions
from thusfar.runtime.generating import Turn
from thusfar.runtime.previewing import Preview, preview, preview_sync
from thusfar.runtime.results import Completed, Result
from thusfar.runtime.settling import execution_of

Function = TypeVar("Function", bound=Callable[..., Any])


def _spelled_out(function: Function) -> Function:
    """Name every option in the signature that is shown at run time."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    listed = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in GenerateOptions.__annotations__.items()
    ]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own, *listed]
    )
    return function


@_spelled_out
async def generate(prompt: Any = None, **options: Unpack[GenerateOptions]) -> Result:
    """Generate one turn and store it where a thread is bound.

    Reads one exact revision, plans each request whole, runs the tools the model calls, and
    stores nothing but the accepted turn.

    Args:
        prompt: A `Prompt`, or the text of one.
        **options: See `GenerateOptions`.

    Returns:
        The accepted turn.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a bad argument.
        RequestCompositionError: `INVALID_COMPOSITION`, `REQUEST_TOO_LARGE` or
            `REPRESENTATION_UNAVAILABLE`; nothing was sent.
        ProviderError: by code, when the provider refused or failed.
        OutputRejectedError: `OUTPUT_REJECTED`, when no answer fitted the output.
        ToolLoopLimitError: `TOOL_LOOP_LIMIT`, after the last step allowed.
        ThreadCommitError: `COMMIT_FAILED`, when the turn could not be stored.

    Source:
        docs/spec/generate.md

    Example:
        >>> import asyncio
        >>> from thusfar import Scripted
        >>> result = asyncio.run(generate("Hello.", model=Scripted(["Good day."])))
        >>> result.text
        'Good day.'
    """
    turn = Turn(execution_of(prompt, options))
    return await adrive(turn.result(), Answers().aanswer)


@_spelled_out
def generate_sync(prompt: Any = None, **options: Unpack[GenerateOptions]) -> Result:
    """Generate one turn, for code without an event loop; see `generate`."""
    turn = Turn(execution_of(prompt, options))
    return drive(turn.result(), Answers().answer)


@_spelled_out
async def preview_turn(prompt: Any = None, **options: Unpack[GenerateOptions]) -> Preview:
    """Say what the first request of `generate` would come to; nothing is sent, made or written.

    Arguments and errors as for `generate`; what does not fit is told, not raised.
    """
    run = execution_of(prompt, options)
    return await preview(
        run.messages, model=run.model, runtime=run.runtime, **run.plan_options(run.turn)
    )


@_spelled_out
def preview_turn_sync(prompt: Any = None, **options: Unpack[GenerateOptions]) -> Preview:
    """Say what the first request would come to, without an event loop; see `preview_turn`.

    Example:
        >>> from thusfar import Scripted
        >>> preview_turn_sync("Hello.", model=Scripted()).status
        'fits'
    """
    run = execution_of(prompt, options)
    return preview_sync(
        run.messages, model=run.model, runtime=run.runtime, **run.plan_options(run.turn)
    )


class ResultStream:
    """A turn on its way, for an event loop: iterate over its events, or wait for its result.

    The last event is `Completed`, once the turn is stored. Leaving the iteration early closes the
    connection and stores nothing.
    """

    def __init__(self, run: Execution) -> None:
        self._answers = Answers()
        self._events = adrive_stream(_emitting(Turn(run)), self._answers.aanswer)
        self._result: Result | None = None
        self._error: Exception | None = None
        self._closing: asyncio.Future[None] | None = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._walk()

    async def _walk(self) -> AsyncIterator[Any]:
        try:
            async for event in self._events:
                if isinstance(event, Completed):
                    self._result = event.result
                yield event
        except Exception as error:
            self._error = error
            raise
        finally:
            await self.aclose()

    async def result(self) -> Result:
        """Wait for the rest, and give the stored turn; what went wrong is raised."""
        if self._result is None:
            async for _ in self:
                pass
        return _completed(self._result, self._error)

    async def aclose(self) -> None:
        """Leave: the connection is closed, and what is not stored yet never will be."""
        if self._closing is None:  # the loop closes a forgotten iterator at the same time
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._answers.aclose()
        await self._events.aclose()  # type: ignore[attr-defined]

    async def __aenter__(self) -> ResultStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class SyncResultStream:
    """A turn on its way, for code without an event loop; see `ResultStream`."""

    def __init__(self, run: Execution) -> None:
        self._answers = Answers()
        self._events = drive_stream(_emitting(Turn(run)), self._answers.answer)
        self._result: Result | None = None
        self._error: Exception | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            for event in self._events:
                if isinstance(event, Completed):
                    self._result = event.result
                yield event
        except Exception as error:
            self._error = error
            raise
        finally:
            self.close()

    def result(self) -> Result:
        """Wait for the rest, and give the stored turn; see `ResultStream`."""
        if self._result is None:
            for _ in self:
                pass
        return _completed(self._result, self._error)

    def close(self) -> None:
        """Leave; see `ResultStream`."""
        self._answers.close()
        self._events.close()  # type: ignore[attr-defined]

    def __enter__(self) -> SyncResultStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@_spelled_out
def stream(prompt: Any = None, **options: Unpack[GenerateOptions]) -> ResultStream:
    """Generate one turn piece by piece; arguments and errors as for `generate`.

    Example:
        >>> import asyncio
        >>> from thusfar import Scripted
        >>> async def talk():
        ...     async with stream("Hello.", model=Scripted(["Good day."])) as events:
        ...         return (await events.result()).text
        >>> asyncio.run(talk())
        'Good day.'
    """
    return ResultStream(replace(execution_of(prompt, options), streaming=True))


@_spelled_out
def stream_sync(prompt: Any = None, **options: Unpack[GenerateOptions]) -> SyncResultStream:
    """Generate one turn piece by piece, for code without an event loop; see `stream`."""
    return SyncResultStream(replace(execution_of(prompt, options), streaming=True))


def _emitting(turn: Turn) -> Steps[None]:
    result = yield from turn.result()
    yield Emit(Completed(result))


def _completed(result: Result | None, error: Exception | None) -> Result:
    if error is not None:
        raise error
    if result is None:
        raise OptionsError(
            "A stream was left before its turn was complete.",
            fix="Take events until Completed, or ask for the result only.",
        )
    return result
