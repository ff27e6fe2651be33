"""Answering: from a request to the response that is sent, without any network."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from thusfar.errors import HistoryError
from thusfar.testing.loopback import anthropic, gemini, openai_responses
from thusfar.testing.loopback.answers import Answer
from thusfar.testing.loopback.anthropic import AnthropicSpeech
from thusfar.testing.loopback.counting import count_request
from thusfar.testing.loopback.faults import Fault, Problem
from thusfar.testing.loopback.gemini import GeminiSpeech
from thusfar.testing.loopback.openai_chat import ChatSpeech
from thusfar.testing.loopback.openai_responses import ResponsesSpeech
from thusfar.testing.loopback.received import Received
from thusfar.testing.loopback.sending import (
    EVENT_STREAM,
    JSON,
    Response,
    body_bytes,
    event_bytes,
)
from thusfar.testing.loopback.wire import Event, Refusal, Speech, Turn, tokens_of

Reply = str | Answer | Fault
Replies = Reply | Iterable[Reply] | Callable[[Received], Reply]
Counts = int | Fault | Callable[[Received], int | Fault]
Compactions = str | Fault | Callable[[Received], str | Fault]

SPEECHES: Final[dict[str, Speech]] = {
    "openai-chat": ChatSpeech(),
    "openai-responses": ResponsesSpeech(),
    "anthropic": AnthropicSpeech(),
    "gemini": GeminiSpeech(),
}
_COUNTED: Final = {
    "openai-responses": openai_responses.counted,
    "anthropic": anthropic.counted,
    "gemini": gemini.counted,
}
_CLOSED: Final = {"openai-responses": openai_responses.failed}
_COMPACTED: Final = {
    "openai-responses": openai_responses.compacted,
    "anthropic": anthropic.compacted,
}


class Script:
    """Decides what each request is answered with.

    Args:
        answers: See `LoopbackServer`.
        counts: See `LoopbackServer`.
        compactions: See `LoopbackServer`.
        validate: Whether findings are refused.
        piece: Most characters of one piece of a stream.
        mark: Text in every id.

    Attributes:
        failures: What the caller's functions raised, and answers that a wire could not say.
    """

    def __init__(
        self,
        answers: Replies,
        *,
        counts: Counts | None,
        compactions: Compactions,
        validate: bool,
        piece: int,
        mark: str,
    ) -> None:
        single = isinstance(answers, str | Answer | Fault) or callable(answers)
        self._always: Any = answers if single else None
        self._waiting: Iterator[Any] = iter(()) if single else iter(answers)  # type: ignore[arg-type]
        self._counts = count_body if counts is None else counts
        self._compactions = compactions
        self._validate = validate
        self._piece = piece
        self._mark = mark
        self._lock = threading.Lock()
        self.failures: list[Exception] = []

    def respond(self, received: Received, number: int) -> Response:
        """Answer one request.

        Args:
            received: The request.
            number: Its number, from 1; it makes the ids its own.
        """
        mark = f"{self._mark}_{number}"
        speech = SPEECHES[received.wire]
        if not isinstance(received.body, dict):
            return self._refuse(speech, received, _unreadable(), mark)
        if received.findings and self._validate:
            return self._refuse(speech, received, _found(received), mark)
        try:
            return self._speak(speech, received, mark)
        except Exception as error:  # noqa: BLE001 - whatever a caller's function raises
            self.failures.append(error)
            said = str(error) if isinstance(error, HistoryError) else type(error).__name__
            problem = Problem(trouble="invalid", message=f"The loopback server failed: {said}")
            return self._refuse(speech, received, problem, mark)

    def _speak(self, speech: Speech, received: Received, mark: str) -> Response:
        if received.kind == "generate":
            reply = self._next(received)
            if reply is None:
                return self._refuse(speech, received, _nothing_left(), mark)
            return self._say(speech, received, reply, mark)
        source = self._counts if received.kind == "count" else self._compactions
        found: Any = source(received) if callable(source) else source
        if isinstance(found, Fault):
            return self._say(speech, received, found, mark)
        if received.kind == "count":
            body = _COUNTED[received.wire](found)
        else:
            turn = self._turn(received, Answer(text=found), mark)
            body = _COMPACTED[received.wire](turn, found)
        return Response(
            chunks=(body_bytes(body),), headers=speech.headers(Refusal(mark, received.path))
        )

    def _next(self, received: Received) -> Reply | None:
        if callable(self._always):
            reply: Any = self._always(received)
        elif self._always is not None:
            reply = self._always
        else:
            with self._lock:
                reply = next(self._waiting, None)
        return Answer(text=reply) if isinstance(reply, str) else reply

    def _say(self, speech: Speech, received: Received, reply: Any, mark: str) -> Response:
        if isinstance(reply, Answer):
            return self._whole(speech, received, reply, mark)
        if reply.problem is not None and (reply.disturbance is None or not received.stream):
            return self._refuse(speech, received, reply.problem, mark)
        return self._disturbed(speech, received, reply, mark)

    def _whole(self, speech: Speech, received: Received, answer: Answer, mark: str) -> Response:
        turn = self._turn(received, answer, mark)
        headers = speech.headers(Refusal(mark, received.path))
        if not received.stream:
            return Response(chunks=(body_bytes(speech.reply(turn)),), headers=headers)
        events = list(speech.events(turn))
        return _streamed(received, events, headers)

    def _disturbed(self, speech: Speech, received: Received, fault: Fault, mark: str) -> Response:
        headers = speech.headers(Refusal(mark, received.path))
        kind = EVENT_STREAM if received.stream else JSON
        match fault.disturbance:
            case "empty":
                return Response(content_type=kind, headers=headers)
            case "content-type":
                return Response(
                    chunks=(fault.body,), content_type=fault.content_type, headers=headers
                )
            case "error" if fault.problem is not None:
                turn = self._turn(received, fault.answer, mark)
                events = list(speech.events(turn))[: fault.after_chunks]
                refusal = Refusal(mark, received.path, fault.problem, before=len(events))
                ending = list(speech.broken(refusal))
                if (close := _CLOSED.get(received.wire)) is not None:
                    ending.append(close(turn, refusal))
                return _streamed(received, [*events, *ending], headers)
        whole = self._whole(speech, received, fault.answer, mark)
        return Response(
            status=whole.status,
            chunks=whole.chunks,
            content_type=whole.content_type,
            headers=whole.headers,
            streamed=whole.streamed,
            fault=fault,
        )

    def _refuse(self, speech: Speech, received: Received, problem: Problem, mark: str) -> Response:
        return refused(speech, Refusal(mark, received.path, problem))

    def _turn(self, received: Received, answer: Answer, mark: str) -> Turn:
        usage = tokens_of(answer.usage, received, answer)
        return Turn(received, answer, usage, mark, self._piece)


def refused(speech: Speech, refusal: Refusal) -> Response:
    """Write a refusal: in the provider's shape, or with the body that was given for it."""
    status, body = speech.refused(refusal)
    own = refusal.trouble.body
    kind = "text/plain; charset=utf-8" if isinstance(own, str | bytes) else JSON
    return Response(
        status=status,
        chunks=(body_bytes(body if own is None else own),),
        content_type=kind,
        headers=speech.headers(refusal),
    )


def count_body(received: Received) -> int:
    """Count the input tokens of a request, as a server does that was given no counts."""
    return count_request(received.wire, received.body)


def _streamed(received: Received, events: list[Event], headers: dict[str, str]) -> Response:
    if received.wire == "gemini" and "alt=sse" not in received.query:
        body = body_bytes([event.data for event in events])
        return Response(chunks=(body,), headers=headers)
    return Response(
        chunks=tuple(map(event_bytes, events)),
        content_type=EVENT_STREAM,
        headers=headers,
        streamed=True,
    )


def _found(received: Received) -> Problem:
    first = received.findings[0]
    field = {"gemini": "contents", "openai-responses": "input"}.get(received.wire, "messages")
    place = f"{field}[{first.position}]"
    message = f"{place}: {first.statement} [{first.rule}]"
    return Problem(trouble="invalid", message=message, param=place)


def _unreadable() -> Problem:
    return Problem(trouble="invalid", message="The body of the request is no JSON object.")


def _nothing_left() -> Problem:
    return Problem(
        trouble="invalid", message="The loopback server was given no answer for this request."
    )
