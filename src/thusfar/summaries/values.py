"""Values: what a summary is made from, what the summary model is asked, and what it answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from thusfar._summarize import SummarizeStrategy, SummaryOptions
from thusfar.artifacts import Artifact, SummaryIdentity
from thusfar.messages import Message
from thusfar.tokens import Measure

CHUNK_TOKENS: Final = 4_000  # a range small enough to be summarised well in one call
CHUNK_TURNS: Final = 8
MERGE_WIDTH: Final = 8  # segments of one level that are merged into one of the next
OUTPUT_ROOM: Final = 4  # output limit of a support call, in accepted texts: room for reasoning

Purpose = Literal["segment", "update", "merge", "source", "native"]
Finish = Literal["stop", "length", "tool-calls", "content-filter", "pause", "other"]
Reason = Literal[
    "raised", "timed-out", "empty", "unfinished", "tool-calls", "oversized", "not-shorter"
]


class SupportCall(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a summary model.

    Attributes:
        purpose: What the text is for.
        system: The fixed instruction with the author's instructions.
        prompt: The quoted data, as one user message.
        max_output_tokens: Output limit. Unit: tokens.
        input_tokens: Size of instruction and data. Unit: tokens.
        start: First message of the range asked about.
        end: End of the range (exclusive).
        attempt: From 1.
    """

    purpose: Purpose
    system: str
    prompt: str
    max_output_tokens: int
    input_tokens: int
    start: int = 0
    end: int = 0
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCall:
    """Ask the provider's own summary path for the whole range; the answer as for `SupportCall`.

    Attributes:
        messages: The exact range, canonical and as repaired, masked where the author masks.
        input_tokens: Its size. Unit: tokens.
        end: End of the range.
        strategy: The strategy of the policy.
        max_output_tokens: Most tokens of an accepted text.
        attempt: From 1.
    """

    messages: tuple[Message, ...] = field(repr=False)
    input_tokens: int
    end: int
    strategy: SummarizeStrategy
    max_output_tokens: int
    attempt: int = 1
    purpose: Purpose = "native"
    start: int = 0


class SupportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the summary model said.

    Attributes:
        text: Its text.
        finish: Why it ended.
        request_id: Id of the support request, as on receipts.
    """

    text: str
    finish: Finish = "stop"
    request_id: str = ""


class SupportFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A support call that gave no answer.

    Attributes:
        error: What it raised.
        reason: `raised` or `timed-out`.
        request_id: Id of the support request.
    """

    error: Exception
    reason: Reason = "raised"
    request_id: str = ""


class ReadRange(msgspec.Struct, frozen=True, kw_only=True):
    """Question: the messages from `start` to `end`, canonical and as repaired.

    The answer is a list of pairs of a position and a message, ascending.
    """

    start: int
    end: int


Reader = Callable[[int, int], Sequence[tuple[int, Message]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryJob:
    """A summary to be made: of everything behind the system run up to one exchange border.

    Attributes:
        key: Key of the artifact it makes.
        identity: What the key says besides the range.
        chain: Chained digest of the range.
        messages: End of the range; positions count from behind the system run.
        turns: Start of each turn from the base on, ascending, with its tokens as counted in the
            request; where the range may be cut in chunks.
        options: How it is made.
        measure: Counts it.
        base: The artifact it continues; `None` where it begins anew.
        room: Most input tokens that the summary model takes. `None`: not limited.
        kept_user: As on the artifact.
        fits: Most tokens of the whole text that the request has room for. `None`: not limited.
    """

    key: str
    identity: SummaryIdentity
    chain: str
    messages: int
    turns: tuple[tuple[int, int], ...]
    options: SummaryOptions
    measure: Measure = field(compare=False)
    base: Artifact | None = None
    room: int | None = None
    kept_user: tuple[int, ...] = ()
    fits: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceJob:
    """A summary of a contributor's text to be made.

    Attributes:
        key: Key of the artifact.
        contributor: Id of the contributor.
        texts: The text, piece by piece.
        options: How it is made.
        measure: Counts it.
        room: As in `SummaryJob`.
        fits: As in `SummaryJob`; one text always fits.
    """

    key: str
    contributor: str
    texts: tuple[str, ...] = field(repr=False)
    options: SummaryOptions
    measure: Measure = field(compare=False)
    room: int | None = None
    fits: int | None = None
