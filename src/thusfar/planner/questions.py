"""Questions: all that planning may ask of the outside; frozen, and answered at the edge.

A preview gets the answer `UNPREPARED` to whatever would have to be made or counted elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from thusfar.artifacts import End
from thusfar.summaries.values import Reader, SourceJob, SummaryJob


class Unprepared(msgspec.Struct, frozen=True):
    """The answer of a preview to a question that only an execution may answer."""


UNPREPARED: Final = Unprepared()


class FindArtifacts(msgspec.Struct, frozen=True, kw_only=True):
    """The artifacts of an identity that end at one of these places.

    The answer is a `Found` of `Artifact`, the one that covers most first, at most three.

    Attributes:
        identity: Digest of the summary identity.
        ends: Places where an artifact may end, the newest first.
    """

    identity: str
    ends: tuple[End, ...]


class ReadMessages(msgspec.Struct, frozen=True, kw_only=True):
    """Read the messages of the thread from a position on into the pages of the facts.

    Attributes:
        low: The oldest position that is needed.
    """

    low: int


class SearchMessages(msgspec.Struct, frozen=True, kw_only=True):
    """The newest messages of the thread that have all these words.

    The answer is a list of pairs of a position and a message, ascending.

    Attributes:
        words: What is looked for.
        limit: At most so many.
    """

    words: str
    limit: int


class ReadPositions(msgspec.Struct, frozen=True, kw_only=True):
    """The messages of the thread from `first` to `last`, wherever they are; as `SearchMessages`."""

    first: int
    last: int


class FindSource(msgspec.Struct, frozen=True, kw_only=True):
    """The `SourceArtifact` of a contributor by its key, as a `Found`."""

    key: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Summaries that are stored.

    Attributes:
        artifacts: The `Artifact` or `SourceArtifact` values.
        damaged: Keys of those that could not be read; each is made anew where it is needed.
    """

    artifacts: tuple[Any, ...] = ()
    damaged: tuple[str, ...] = ()


class AskInFlight(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the summary of this key is being made here, so that it can be joined; a bool."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepare:
    """Make a summary now, or join whoever is making it.

    The answer is a `Prepared`, or `UNPREPARED`; a failure is raised.

    Attributes:
        job: What is to be made.
        read: Reads the covered messages.
        join: Only join whoever is making it; a summary that nobody makes is a failure.
    """

    job: SummaryJob | SourceJob
    read: Reader | None = field(default=None, repr=False, compare=False)
    join: bool = False


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that is ready.

    Attributes:
        artifact: The `Artifact` or `SourceArtifact`.
        how: `made` by this request, `joined` from other work in flight, or `found` meanwhile.
    """

    artifact: Any
    how: str = "made"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRequest:
    """Count a complete request with the provider's own counter.

    The answer is a whole number of tokens, or `UNPREPARED`. Asked at most three times a plan.

    Attributes:
        messages: The messages of the candidate.
        system: Its system value.
        tools: Its tool definitions.
        schema: Its output schema.
    """

    messages: tuple[Any, ...]
    system: Any
    tools: tuple[Any, ...]
    schema: Any


class Publish(msgspec.Struct, frozen=True, kw_only=True):
    """Keep the exact text of a contributor that was selected to be sent as a reference.

    Attributes:
        handle: What the model asks with.
        contributor: Id of the contributor.
        text: The exact text.
    """

    handle: str
    contributor: str
    text: str
