"""Calling: one request through a provider's SDK, with retries, in either colour.

The SDK's own retries are switched off where we make the client, so that every repetition is
counted. Nothing is sent again once a piece of the answer was handed out.

Source:
    docs/spec/models.md#retries
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Final, Protocol, TypeVar

import msgspec

from thusfar.drive import Emit, Steps, adrive, adrive_stream, drive, drive_stream
from thusfar.errors import HistoryError, ProviderError, TranscriptError
from thusfar.models.errors import no_answer, not_sent, unreadable
from thusfar.models.port import ModelEvent, ModelReply, Replied
from thusfar.models.threads import in_thread

FIRST_PAUSE_SECONDS: Final = 0.5  # doubled each time, as the providers' own clients do
LONGEST_PAUSE_SECONDS: Final = 60.0
_END: Final = object()

Answer = TypeVar("Answer")
Call = Callable[[Any], Any]
"""Calls the SDK with its client; with an async client the answer is an awaitable."""


class Decoder(Protocol):
    """Reads the pieces of one streamed answer; it does no I/O."""

    def feed(self, chunk: Any) -> tuple[ModelEvent, ...]:
        """Read one piece of the SDK's stream."""
        ...

    def reply(self) -> ModelReply:
        """Put the answer together.

        Raises:
            ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when the stream broke off.
        """
        ...


DecoderOf = Callable[[Any], Decoder]
"""Makes the reader of a streamed answer from the SDK's stream."""


@dataclass(frozen=True, slots=True)
class Send:
    """Call the SDK: the function is given its client, and may give back an awaitable."""

    call: Call


@dataclass(slots=True)
class Opened:
    """An SDK's stream that was opened.

    Attributes:
        pieces: The stream, as the SDK gave it.
        iterator: Its one iterator, made at the first look.
    """

    pieces: Any
    iterator: Any = None


@dataclass(frozen=True, slots=True)
class Next:
    """Take the next piece of a stream."""

    opened: Opened


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before the request is sent again."""

    seconds: float


@dataclass(slots=True, kw_only=True)
class Calls:
    """How the calls of one model are made.

    Attributes:
        client: Gives the SDK's sync client.
        async_client: Gives its async client; `None`: the sync one is used, in threads.
        failure: Reads an exception of the SDK.
        max_retries: How often a request is sent again. 0: never.
        sleep: Waits, without an event loop.
        asleep: Waits on the event loop.
    """

    client: Callable[[], Any]
    async_client: Callable[[], Any] | None
    failure: Callable[[Exception], ProviderError | None]
    max_retries: int
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Any] = asyncio.sleep

    def ask(self, call: Call, read: Callable[[Any], Answer]) -> Answer:
        """Call the SDK and read its answer."""
        return drive(self._whole(call, read), self._answer)

    async def aask(self, call: Call, read: Callable[[Any], Answer]) -> Answer:
        """Call the SDK and read its answer, on the event loop."""
        return await adrive(self._whole(call, read), self._aanswer)

    def stream(self, call: Call, decoder: DecoderOf) -> Iterator[ModelEvent]:
        """Read an answer piece by piece; the connection is closed in any case."""
        opened: list[Opened] = []
        try:
            yield from drive_stream(self._pieces(call, decoder, opened), self._answer)
        finally:
            for each in opened:
                _close(each.pieces)

    async def astream(self, call: Call, decoder: DecoderOf) -> AsyncIterator[ModelEvent]:
        """Read piece by piece on the event loop; the connection is closed in any case."""
        opened: list[Opened] = []
        events = adrive_stream(self._pieces(call, decoder, opened), self._aanswer)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()  # type: ignore[attr-defined]
            for each in opened:
                await _aclose(each.pieces)

    def _whole(self, call: Call, read: Callable[[Any], Answer]) -> Steps[Answer]:
        retries = 0
        while True:
            try:
                answered = yield Send(call)
                return _with_retries(_reading(read, answered), retries)
            except Exception as error:  # noqa: BLE001 - every failure of an SDK is read
                yield self._pause(error, retries)
                retries += 1

    def _pieces(self, call: Call, decoder: DecoderOf, opened: list[Opened]) -> Steps[None]:
        retries, handed_out = 0, False
        while True:
            try:
                opened.append(Opened((yield Send(call))))
                reading = decoder(opened[-1].pieces)
                while (piece := (yield Next(opened[-1]))) is not _END:
                    for event in _reading(reading.feed, piece):
                        handed_out = True
                        yield Emit(event)
                reply = _with_retries(_reading(reading.reply), retries)
            except Exception as error:  # noqa: BLE001 - every failure of an SDK is read
                yield self._pause(error, self.max_retries if handed_out else retries)
                retries += 1
            else:
                yield Emit(Replied(reply))
                return

    def _pause(self, error: Exception, retries: int) -> Pause:
        """Say how long to wait before the request is sent again, or raise what went wrong."""
        failure = self._failure(error)
        said = failure.facts.get("retry_after_seconds")
        wanted = said if isinstance(said, int | float) else FIRST_PAUSE_SECONDS * 2**retries
        final = not failure.retryable or retries >= self.max_retries
        if final or wanted > LONGEST_PAUSE_SECONDS:
            if failure is error:
                raise error
            raise failure from error
        return Pause(float(wanted))

    def _failure(self, error: Exception) -> HistoryError:
        if isinstance(error, HistoryError):
            return error
        if (known := self.failure(error)) is not None:
            return known
        if isinstance(error, TimeoutError):
            return no_answer()
        if isinstance(error, JSONDecodeError | UnicodeDecodeError):  # the SDKs let these through
            return unreadable()
        if isinstance(error, TypeError | ValueError):  # of arguments that the SDK does not take
            return not_sent()
        return ProviderError(
            f"The provider's client raised {type(error).__name__}.", fix="Act on the cause."
        )

    def _answer(self, question: Any) -> Any:
        match question:
            case Send(call=call):
                return call(self.client())
            case Next(opened=opened):
                opened.iterator = opened.iterator or iter(opened.pieces)
                return next(opened.iterator, _END)
            case Pause(seconds=seconds):
                return self.sleep(seconds)
        raise AssertionError(question)

    async def _aanswer(self, question: Any) -> Any:
        if isinstance(question, Pause):
            return await self.asleep(question.seconds)
        if self.async_client is None:
            return await in_thread(lambda: self._answer(question))
        if isinstance(question, Send):
            made = question.call(self.async_client())
            return await made if hasattr(made, "__await__") else made
        opened = question.opened
        opened.iterator = opened.iterator or aiter(opened.pieces)
        return await anext(opened.iterator, _END)


def _reading(read: Callable[..., Answer], *given: Any) -> Answer:
    """Read what the SDK gave; an answer that is not as the wire has it is no error of ours."""
    try:
        return read(*given)
    except HistoryError as error:
        if isinstance(error, TranscriptError):
            raise unreadable() from error
        raise
    except Exception as error:
        raise unreadable() from error


def _with_retries(answer: Answer, retries: int) -> Answer:
    if retries and isinstance(answer, ModelReply):
        return msgspec.structs.replace(answer, retries=retries)
    return answer


def _close(pieces: Any) -> None:
    if callable(close := getattr(pieces, "close", None)):
        with suppress(Exception):
            close()


async def _aclose(pieces: Any) -> None:
    close = getattr(pieces, "aclose", None) or getattr(pieces, "close", None)
    with suppress(Exception):
        if close is not None and hasattr(made := close(), "__await__"):
            await made
