"""Wire: what every wire of a loopback server has to say, and the pieces that streams are cut in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from thusfar.errors import OptionsError
from thusfar.messages import Native
from thusfar.models.port import Usage
from thusfar.testing.loopback.answers import Answer
from thusfar.testing.loopback.counting import count_answer, count_request
from thusfar.testing.loopback.faults import Problem
from thusfar.testing.loopback.received import Received

CREATED: Final = 1_767_225_600  # Unix seconds; one moment for all answers keeps them comparable
SIGNATURE: Final = "bG9vcGJhY2stc2lnbmF0dXJl"  # base64, as signatures are


class Event(NamedTuple):
    """One event of a stream.

    Attributes:
        data: A JSON value, or text that is sent as it is.
        name: Name of the event; empty on wires whose events have none.
    """

    data: Any
    name: str = ""


class Turn(NamedTuple):
    """One answer to one request, with everything that its wire form needs.

    Attributes:
        received: The request.
        answer: What is said.
        usage: Tokens it reports, complete.
        mark: Text that makes its ids its own, the same in every run.
        piece: Most characters of one piece of a stream.
    """

    received: Received
    answer: Answer
    usage: Tokens
    mark: str
    piece: int

    @property
    def model(self) -> str:
        """Name of the model that answers."""
        return self.answer.model or self.received.model or "loopback"

    def new_id(self, prefix: str, number: int | None = None) -> str:
        """Make an id; equal arguments make equal ids within one answer."""
        return f"{prefix}{self.mark}" if number is None else f"{prefix}{self.mark}_{number}"

    def pieces(self, text: str) -> Iterator[str]:
        """Cut a text; two characters already make two pieces."""
        size = max(1, min(self.piece, (len(text) + 1) // 2))
        return (text[start : start + size] for start in range(0, len(text), size))


class Tokens(NamedTuple):
    """Reported tokens, complete; see `Usage`."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input + self.output


class Refusal(NamedTuple):
    """What is said beside an answer, or instead of one.

    Attributes:
        mark: Text that makes its ids its own.
        path: Path of the request.
        problem: What is refused; `None`: nothing.
        before: How many events of a stream were sent before.
    """

    mark: str
    path: str
    problem: Problem | None = None
    before: int = 0

    @property
    def trouble(self) -> Problem:
        """What is refused; a fault of the server where nothing was named."""
        return self.problem or Problem(trouble="server")

    @property
    def retry_after(self) -> float | None:
        """When to try again. Unit: seconds."""
        return None if self.problem is None else self.problem.retry_after


class Speech(Protocol):
    """How one wire says things. All of it is pure."""

    def reply(self, turn: Turn) -> dict[str, Any]:
        """Write a whole answer."""
        ...

    def events(self, turn: Turn) -> Iterator[Event]:
        """Write an answer as the events of a stream."""
        ...

    def refused(self, refusal: Refusal) -> tuple[int, dict[str, Any]]:
        """Write an error, with its HTTP status."""
        ...

    def broken(self, refusal: Refusal) -> tuple[Event, ...]:
        """Write an error inside a stream."""
        ...

    def headers(self, refusal: Refusal) -> dict[str, str]:
        """Write the provider's own headers; also of an answer, which refuses nothing."""
        ...


def tokens_of(usage: Usage, received: Received, answer: Answer) -> Tokens:
    """Complete the tokens of an answer; what was not given is counted."""
    output, thought = count_answer(answer)
    counted = usage.input_tokens
    return Tokens(
        input=count_request(received.wire, received.body) if counted is None else counted,
        output=output if usage.output_tokens is None else usage.output_tokens,
        cache_read=usage.cache_read_tokens or 0,
        cache_write=usage.cache_write_tokens or 0,
        reasoning=thought if usage.reasoning_tokens is None else usage.reasoning_tokens,
    )


def native(part: Native, wire: str) -> Any:
    """Read a native part for its own wire.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a part of another wire.
    """
    if part.provider != wire:
        raise unspeakable(f"a native part of {part.provider}", wire)
    return msgspec.json.decode(part.raw)


def unspeakable(what: str, wire: str) -> OptionsError:
    """Make the error for an answer that a wire cannot say."""
    return OptionsError(
        f"A loopback answer had {what}, which {wire} cannot say.",
        fix="Leave it out for this wire.",
        dialect=wire,
    )
