"""What reading a source gives: the transcript, and where each of its messages came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from thusfar.dialects import DialectMismatch, dialect
from thusfar.errors import Fact, TranscriptError

SourceKind = Literal[
    "messages",
    "request",
    "response",
    "stream",
    "interaction",
    "cassette",
    "claude-code",
    "gemini-cli",
    "pi",
]
EntryKind = Literal["message", "meta", "sidechain", "other", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One record of a session log, whether or not it became a message.

    Attributes:
        line: Line of the file, from 1; the position in the list, from 1, where the log is one
            JSON value.
        kind: `message` for what was said; `meta` for what the tool added for itself;
            `sidechain` for what a sub-agent said; `unreadable` for a record of no known
            shape; `other` for all other records.
        id: The log's own id of the record; `None` where it has none.
        parent: Id of the record before it; `None` at a root.
        live: Whether the record is on the path that the tool shows.
        messages: What the record says, in the dialect of the log; usually one message.
        record: The record as it was read; empty for one that an earlier line says already.
    """

    line: int
    kind: EntryKind
    id: str | None = None
    parent: str | None = None
    live: bool = False
    messages: tuple[Any, ...] = ()
    record: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidechain:
    """What one sub-agent said in a session log.

    Attributes:
        entries: Its messages, oldest first; each is in the log's `entries` too.
        call: Id of the tool call that started it; `None` where nothing says it.
        agent: The log's own id of the sub-agent; `None` where it has none.
    """

    entries: tuple[Entry, ...]
    call: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A transcript read from a file or a value.

    Attributes:
        kind: The shape that was recognised.
        dialect: Name of the dialect of `messages`.
        messages: The messages, oldest first: the caller's own objects wherever the source
            holds messages of a provider, else converted ones.
        system: System instructions outside the list, as the wire has them; `None` when absent.
        tools: Tool definitions, as the wire has them; `None` when absent.
        model: Name of the model, where the source gives it.
        entries: Every record of a session log, in file order; empty for other shapes.
        sidechains: What each sub-agent of a session log said; empty for other shapes.
        facts: Counts of what was read and of what was left aside.
    """

    kind: SourceKind
    dialect: str
    messages: tuple[Any, ...] = ()
    system: Any = None
    tools: tuple[Any, ...] | None = None
    model: str | None = None
    entries: tuple[Entry, ...] = ()
    sidechains: tuple[Sidechain, ...] = ()
    facts: Mapping[str, int] = field(default_factory=dict)


def fits(name: str, message: Any) -> bool:
    """Tell whether a message is of the dialect of that name."""
    try:
        dialect(name).describe(message)
    except (DialectMismatch, TranscriptError):
        return False
    return True


def require_fit(name: str, messages: Iterable[Any], *, lines: Sequence[int] = ()) -> None:
    """Check that every message is of a dialect.

    Args:
        name: Name of the dialect.
        messages: The messages, in order.
        lines: Line of the file of each message; empty when they were not one a line.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, naming the first that is not.
    """
    for position, message in enumerate(messages):
        if fits(name, message):
            continue
        place = f"line {lines[position]}" if lines else f"position {position}"
        raise unreadable(
            f"The message at {place} is not of the dialect {name}.",
            fix="Correct that message, or pass the dialect= that the messages are in.",
            position=position,
            **({"line": lines[position]} if lines else {}),
        )


def unreadable(message: str, *, fix: str, **facts: Fact) -> TranscriptError:
    """Make the error that every reader raises: what was wrong, where, and what to do."""
    error = TranscriptError(message, fix=fix)
    error.facts.update(facts)
    return error
