"""Faults: what can go wrong on the way to an answer, as values that a server acts out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from thusfar.errors import OptionsError
from thusfar.testing.loopback.answers import Answer

Trouble = Literal[
    "invalid",
    "context-length",
    "authentication",
    "permission",
    "not-found",
    "rate-limit",
    "server",
    "overloaded",
]
Disturbance = Literal[
    "disconnect", "truncate", "malformed", "stall", "slow", "error", "empty", "content-type"
]
LONGEST_WAIT: Final = 60.0  # seconds


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A refusal; each wire writes it in its provider's own shape.

    Attributes:
        trouble: Which refusal it is.
        status: HTTP status. `None`: the one that the provider uses for it.
        message: What it says. Empty: what the provider says.
        retry_after: When to try again, for the header. Unit: seconds. `None`: no header.
        tokens: Tokens of the request, where the message names them.
        limit: Tokens that fit, where the message names them.
        param: The field that is at fault, where the provider's shape names one.
        body: A body that is sent instead of the provider's shape; `None`: the provider's shape.
    """

    trouble: Trouble
    status: int | None = None
    message: str = ""
    retry_after: float | None = None
    tokens: int = 200_001
    limit: int = 200_000
    param: str = ""
    body: Any = None


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that goes wrong; made by the class methods below.

    A chunk is one event of a stream; an answer that is not streamed is one chunk.

    Attributes:
        problem: The refusal that is sent instead of an answer, or within a stream on `error`.
        disturbance: What happens while the answer is sent; `None`: only the refusal is sent.
        answer: The answer that is disturbed.
        after_chunks: How many whole chunks are sent before it happens.
        after_bytes: How many bytes of the body are sent before it happens; `None`: chunks count.
        seconds: How long a stall or the pause before each slow chunk is. Unit: seconds.
        content_type: The content type that is sent instead of the right one.
        body: What is sent with a wrong content type.
    """

    problem: Problem | None = None
    disturbance: Disturbance | None = None
    answer: Answer = Answer(text="An answer that is cut short.")
    after_chunks: int = 0
    after_bytes: int | None = None
    seconds: float = 0.0
    content_type: str = ""
    body: bytes = b""

    def __post_init__(self) -> None:
        if not 0 <= self.seconds <= LONGEST_WAIT:
            raise OptionsError(
                f"A fault was to wait for {self.seconds} seconds.",
                fix=f"Pass from 0 to {LONGEST_WAIT:.0f} seconds.",
            )

    @classmethod
    def status(
        cls,
        status: int,
        *,
        message: str = "",
        retry_after: float | None = None,
        body: Any = None,
    ) -> Fault:
        """Refuse with this status: in the provider's error shape, or with a body of your own.

        Args:
            status: HTTP status, from 400 to 599.
            message: What the error says; empty: what the provider says.
            retry_after: When to try again. Unit: seconds. `None`: no header.
            body: A JSON value, text or bytes instead of the provider's shape.
        """
        trouble = _BY_STATUS.get(status, "server" if status >= _FIRST_SERVER_ERROR else "invalid")
        return cls(
            problem=Problem(
                trouble=trouble, status=status, message=message, retry_after=retry_after, body=body
            )
        )

    @classmethod
    def rate_limit(cls, *, retry_after: float | None = None) -> Fault:
        """Refuse with 429, as providers do when a rate limit is reached."""
        return cls(problem=Problem(trouble="rate-limit", retry_after=retry_after))

    @classmethod
    def overloaded(cls, *, retry_after: float | None = None) -> Fault:
        """Refuse because of load: 529 on Anthropic, 503 elsewhere."""
        return cls(problem=Problem(trouble="overloaded", retry_after=retry_after))

    @classmethod
    def server_error(cls) -> Fault:
        """Refuse with 500."""
        return cls(problem=Problem(trouble="server"))

    @classmethod
    def unauthorized(cls) -> Fault:
        """Refuse the key: 401, on Gemini 400 as that provider does."""
        return cls(problem=Problem(trouble="authentication"))

    @classmethod
    def context_length(cls, *, tokens: int = 200_001, limit: int = 200_000) -> Fault:
        """Refuse because the request is too long, with 400 in each provider's own words.

        Args:
            tokens: Tokens of the request, for the message.
            limit: Tokens that fit, for the message.
        """
        return cls(problem=Problem(trouble="context-length", tokens=tokens, limit=limit))

    @classmethod
    def disconnect(
        cls, answer: Answer | None = None, *, after_chunks: int = 0, after_bytes: int | None = None
    ) -> Fault:
        """Close the connection after so many chunks or bytes of the body."""
        return cls._while_sending(
            "disconnect", answer, after_chunks=after_chunks, after_bytes=after_bytes
        )

    @classmethod
    def truncate(cls, answer: Answer | None = None, *, after_chunks: int = 1) -> Fault:
        """End a stream early but in good order, so that no transport error tells of it."""
        return cls._while_sending("truncate", answer, after_chunks=after_chunks)

    @classmethod
    def malformed(cls, answer: Answer | None = None, *, after_chunks: int = 0) -> Fault:
        """Send broken JSON instead of a chunk, then go on."""
        return cls._while_sending("malformed", answer, after_chunks=after_chunks)

    @classmethod
    def stall(
        cls, seconds: float = 30.0, answer: Answer | None = None, *, after_chunks: int = 0
    ) -> Fault:
        """Send nothing for a while, then go on; a closing server or client ends the wait.

        Args:
            seconds: How long. Unit: seconds, at most 60.
            answer: The answer that is held up.
            after_chunks: How many chunks come before.
        """
        return cls._while_sending("stall", answer, after_chunks=after_chunks, seconds=seconds)

    @classmethod
    def slow(cls, seconds: float = 0.05, answer: Answer | None = None) -> Fault:
        """Pause before each chunk."""
        return cls._while_sending("slow", answer, seconds=seconds)

    @classmethod
    def error_in_stream(
        cls, answer: Answer | None = None, *, trouble: Trouble = "overloaded", after_chunks: int = 1
    ) -> Fault:
        """Report an error inside a stream that began with status 200, and end it.

        An answer that is not streamed is refused with the same error.
        """
        fault = cls._while_sending("error", answer, after_chunks=after_chunks)
        return msgspec.structs.replace(fault, problem=Problem(trouble=trouble))

    @classmethod
    def empty(cls) -> Fault:
        """Answer with status 200, the right content type and no body at all."""
        return cls._while_sending("empty", None)

    @classmethod
    def wrong_content_type(
        cls, content_type: str = "text/html", body: bytes = b"<html>Bad gateway</html>"
    ) -> Fault:
        """Answer with status 200 and something that is no answer of a model."""
        fault = cls._while_sending("content-type", None)
        return msgspec.structs.replace(fault, content_type=content_type, body=body)

    @classmethod
    def _while_sending(
        cls, disturbance: Disturbance, answer: Answer | None, **how: float | None
    ) -> Fault:
        said: Mapping[str, Any] = {} if answer is None else {"answer": answer}
        return cls(disturbance=disturbance, **said, **how)  # type: ignore[arg-type]


_FIRST_SERVER_ERROR: Final = 500
_BY_STATUS: Final[dict[int, Trouble]] = {
    401: "authentication",
    403: "permission",
    404: "not-found",
    429: "rate-limit",
    503: "overloaded",
    529: "overloaded",
}
