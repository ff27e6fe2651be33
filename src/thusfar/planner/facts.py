"""Facts: everything a plan is made from; collected at the edge, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from thusfar._history import HistoryPolicy
from thusfar.artifacts import SummaryIdentity
from thusfar.budget import Limits
from thusfar.dialects.base import Dialect
from thusfar.planner.selection import Floor
from thusfar.tokens import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The transcript a request continues.

    Attributes:
        kind: Whose it is.
        messages: The messages, oldest first, in the dialect of the facts.
        revision: Revision of the thread.
        open_from: Position from which on calls of the thread wait for their results.
    """

    kind: Literal["caller-messages", "thread", "none"] = "none"
    messages: Sequence[Any] = field(default=(), repr=False)
    revision: str | None = None
    open_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryModel:
    """The model that would make a summary, as far as planning needs to know it.

    Attributes:
        identity: What a summary of it would be known by.
        measure: Counts its input.
        room: Most input tokens it takes. `None`: not limited.
        callable: Whether it can be called here at all.
        rest_seconds: How long nobody should ask it again after failures in a row, unless a request
            cannot be sent without it. 0: it may be asked.
    """

    identity: SummaryIdentity
    measure: Measure = field(compare=False)
    room: int | None = None
    callable: bool = True
    rest_seconds: int = 0


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """A request by the digests of its pieces, to find what the next one has in common with it.

    Attributes:
        request_id: The request.
        pieces: Digest and tokens of each piece, from the head: system text, tools and schema as
            one, then each message.
    """

    request_id: str
    pieces: tuple[tuple[bytes, int], ...] = ()


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """How far fidelity has gone down within one execution; it does not go up again in it.

    Attributes:
        key: Model and limits that it holds for.
        floors: By contributor, the best that is still allowed.
    """

    key: str
    floors: dict[str, Floor] = {}


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What reported usage says of our counts, for one model and tokenizer.

    Attributes:
        samples: Requests compared.
        mean: Reported over counted, on average.
        high: The upper end of the band that the next one lies in, with 99 % confidence.
    """

    samples: int
    mean: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What one request is to be planned from.

    Attributes:
        request_id: Its id, made at the edge.
        model: Name of the model.
        dialect: Wire format of the messages.
        measure: The one measuring function.
        limits: The effective limits.
        wire: Name of the wire format that is sent, where it is another one; for tools.
        source: The transcript.
        policy: The history policy; `None`: exact.
        turn: Messages of the current turn, behind the history and outside its caps.
        system: System value outside the list.
        tools: Tool definitions.
        schema: Output schema.
        use: Contributors, in the order of declaration.
        summary: The model for summaries; `None`: there is none.
        summaries: The models for summaries of contributors, by contributor.
        backing: Whether exact text can be kept for the `recall` tool.
        background: Whether something here can prepare summaries after the response.
        previous: The request before.
        epoch: What an earlier step of the same execution settled.
        counter: Whether the provider can count a request.
        calibration: What reported usage says of our counts.
        raw_max: The maximum before the margin of counting; for exact counts of the provider.
        track: Whether the fingerprint of the request is wanted.
        placement: What is kept free for what placement adds. Unit: tokens.
    """

    request_id: str
    model: str
    dialect: Dialect
    measure: Measure
    limits: Limits
    wire: str = ""
    source: Source = field(default_factory=Source)
    policy: HistoryPolicy | None = None
    turn: tuple[Any, ...] = ()
    system: Any = None
    tools: tuple[Any, ...] = ()
    schema: Any = None
    use: tuple[Any, ...] = ()
    summary: SummaryModel | None = None
    summaries: dict[str, SummaryModel] = field(default_factory=dict)
    backing: bool = False
    background: bool = False
    previous: Fingerprint | None = None
    epoch: Epoch | None = None
    counter: bool = False
    calibration: Calibration | None = None
    raw_max: int | None = None
    track: bool = True
    placement: int = 0

    @property
    def tool_wire(self) -> str:
        """Name of the wire format that tool definitions are written in."""
        return self.wire or self.dialect.name
