"""Calling: one request through a provider's SDK, with retries, in either colour.

The SDK's own retries are switched off where we make the client, so that every repetition is
counted. Nothing is sent again once a piece of the answer was handed out.

Source:
    docs/spec/models.md#retries
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from thusfar.drive import Emit, Steps, adrive, adrive_stream, drive, drive_stream
from thusfar.errors import HistoryError, ProviderError
from thusfar.models.errors import no_answer, unreadable
from thusfar.models.port import ModelEvent, ModelReply, Replied
from thusfar.models.threads import in_thread

FIRST_PAUSE_SECONDS: Final = 0.5  # doubled each time, as the providers' own clients do
LONGEST_PAUSE_SECONDS: Final = 60.0
_END: Final = object()


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


@dataclass(frozen=True, slots=True)
class Send:
    """Call the SDK with these arguments."""

    arguments: Mapping[str, Any]
    stream: bool = False


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


@dataclass(slots=True)
class Calls:
    """How the calls of one model are made.

    Attributes:
        send: Calls the SDK's sync client: arguments, and whether to stream.
        asend: Calls its async client; `None`: the sync one is used, in threads.
        reply: Reads the SDK's answer; the number of retries is filled in afterwards.
        decoder: Makes the reader of a streamed answer.
        failure: Reads an exception of the SDK.
        max_retries: How often a request is sent again. 0: never.
        sleep: Waits, without an event loop.
        asleep: Waits on the event loop.
    """

    send: Callable[[Mapping[str, Any], bool], Any]
    asend: Callable[[Mapping[str, Any], bool], Any] | None
    reply: Callable[[Any], ModelReply]
    decoder: Callable[[], Decoder]
    failure: Callable[[Exception], ProviderError | None]
    max_retries: int
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Any] = asyncio.sleep

    def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request."""
        return drive(self._whole(arguments), self._answer)

    async def agenerate(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request on the event loop."""
        return await adrive(self._whole(arguments), self._aanswer)

    def stream(self, arguments: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Answer a request piece by piece; the connection is closed in any case."""
        opened: list[Opened] = []
        try:
            yield from drive_stream(self._pieces(arguments, opened), self._answer)
        finally:
            for each in opened:
                _close(each.pieces)

    async def astream(self, arguments: Mapping[str, Any]) -> AsyncIterator[ModelEvent]:
        """Answer piece by piece on the event loop; the connection is closed in any case."""
        opened: list[Opened] = []
        events = adrive_stream(self._pieces(arguments, opened), self._aanswer)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()  # type: ignore[attr-defined]
            for each in opened:
                await _aclose(each.pieces)

    def _whole(self, arguments: Mapping[str, Any]) -> Steps[ModelReply]:
        retries = 0
        while True:
            try:
                answered = yield Send(arguments)
                return _with_retries(self.reply(answered), retries)
            except Exception as error:  # noqa: BLE001 - every failure of an SDK is read
                yield self._pause(error, retries)
                retries += 1

    def _pieces(self, arguments: Mapping[str, Any], opened: list[Opened]) -> Steps[None]:
        retries, handed_out = 0, False
        while True:
            decoder = self.decoder()
            try:
                opened.append(Opened((yield Send(arguments, stream=True))))
                while (piece := (yield Next(opened[-1]))) is not _END:
                    for event in decoder.feed(piece):
                        handed_out = True
                        yield Emit(event)
                reply = _with_retries(decoder.reply(), retries)
            except Exception as error:  # noqa: BLE001 - every failure of an SDK is read
                yield self._pause(error, self.max_retries if handed_out else retries)
                retries += 1
            else:
                yield Emit(Replied(reply))
                return

    def _pause(self, error: Exception, retries: int) -> Pause:
        """Say how long to wait before the request is sent again, or raise what went wrong."""
        failure = self._failure(error)
        if not failure.retryable or retries >= self.max_retries:
            raise failure from (None if failure is error else error)
        said = failure.facts.get("retry_after_seconds")
        wanted = said if isinstance(said, int | float) else FIRST_PAUSE_SECONDS * 2**retries
        if wanted > LONGEST_PAUSE_SECONDS:
            raise failure from error
        return Pause(float(wanted))

    def _failure(self, error: Exception) -> HistoryError:
        if isinstance(error, HistoryError):
            return error
        if (known := self.failure(error)) is not None:
            return known
        if isinstance(error, TimeoutError):
            return no_answer()
        if isinstance(error, LookupError | TypeError | ValueError | AttributeError):
            return unreadable()
        return ProviderError(
            f"The provider's client raised {type(error).__name__}.", fix="Act on the cause."
        )

    def _answer(self, question: Any) -> Any:
        match question:
            case Send(arguments=arguments, stream=stream):
                return self.send(arguments, stream)
            case Next(opened=opened):
                opened.iterator = opened.iterator or iter(opened.pieces)
                return next(opened.iterator, _END)
            case Pause(seconds=seconds):
                return self.sleep(seconds)
        raise AssertionError(question)

    async def _aanswer(self, question: Any) -> Any:
        if isinstance(question, Pause):
            return await self.asleep(question.seconds)
        if self.asend is None:
            return await in_thread(lambda: self._answer(question))
        if isinstance(question, Send):
            return await self.asend(question.arguments, question.stream)
        opened = question.opened
        opened.iterator = opened.iterator or aiter(opened.pieces)
        return await anext(opened.iterator, _END)


def _with_retries(reply: ModelReply, retries: int) -> ModelReply:
    return msgspec.structs.replace(reply, retries=retries) if retries else reply


def _close(pieces: Any) -> None:
    if callable(close := getattr(pieces, "close", None)):
        with suppress(Exception):
            close()


async def _aclose(pieces: Any) -> None:
    close = getattr(pieces, "aclose", None) or getattr(pieces, "close", None)
    with suppress(Exception):
        if close is not None and hasattr(made := close(), "__await__"):
            await made
