"""The port that every dialect implements, and how one is found for a list of messages.

A dialect reads and writes one wire format. `describe` and `content` look at one foreign message
without converting it; `lift` and `lower` convert. A dialect never mutates what it is given.

Source:
    docs/spec/dialects.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from thusfar.facts import Content, Facts
from thusfar.messages import Message, ToolCall


class DialectMismatch(Exception):  # noqa: N818 - a signal between dialects, not an error of ours
    """Raised by a dialect for a message of another wire format; never leaves the library."""


class Dialect(Protocol):
    """One wire format.

    Laws, each tested over every recorded payload:

    1. `describe(x) == facts_of(lift(x))` and `content(x) == content_of(lift(x))`.
    2. `lower(lift(x)) == x` after canonical JSON.
    3. A message of another format raises `DialectMismatch`, from `describe` already, unless
       both formats would describe it with the same facts.
    4. Nothing is dropped in silence: what cannot be lowered raises `UNSUPPORTED_PART`.
    """

    @property
    def name(self) -> str:
        """The stable name, as on receipts and on the command line."""
        ...

    def describe(self, message: Any) -> Facts:
        """Derive the facts of one foreign message. Cheap: no copy, no conversion."""
        ...

    def content(self, message: Any) -> Content:
        """Derive what is counted of one foreign message."""
        ...

    def lift(self, message: Any) -> Message:
        """Convert one foreign message to canonical form, losing nothing."""
        ...

    def lower(self, message: Message) -> tuple[Any, ...]:
        """Convert one canonical message to the wire.

        Returns:
            One wire message for a message lifted from this dialect; for others as many as the
            wire needs (openai-chat writes one message a tool result).

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
        """
        ...


class Flat(NamedTuple):
    """What is counted of many messages, in flat lists.

    Attributes:
        texts: The texts of all messages, in order.
        sizes: How many of them belong to each message.
        media: The content of the messages that hold media, by their index.
    """

    texts: list[str]
    sizes: list[int]
    media: dict[int, Content]


class PlainTurn(NamedTuple):
    """A whole turn without anything unusual in it, which grouping would find to be one unit.

    A dialect may have `plain_turn(messages, end, floor)`, which answers with one or with `None`;
    what it answers must be what grouping finds. It makes the common case fast.

    Attributes:
        start: Where the turn starts.
        exchanges: How many exchanges it has.
        texts: What is counted of it, in any order.
    """

    start: int
    exchanges: int
    texts: list[str]


def describe_all(dialect: Dialect, messages: Sequence[Any]) -> list[Facts]:
    """Describe messages in order, by the dialect's own loop where it has one.

    A dialect may have `describe_all(messages)`, `flatten(messages)` and `survey(messages)` beside
    the methods of the port; they must answer as `describe` and `content` do.
    """
    bulk: Callable[[Sequence[Any]], list[Facts]] | None = getattr(dialect, "describe_all", None)
    return bulk(messages) if bulk else list(map(dialect.describe, messages))


def survey(dialect: Dialect, messages: Sequence[Any]) -> tuple[list[Facts], Flat]:
    """Describe messages and list what is counted of them, in the dialect's own loop if it has one.

    Both answer as `describe_all` and `flatten` do.
    """
    bulk: Callable[[Sequence[Any]], tuple[list[Facts], Flat]] | None = getattr(
        dialect, "survey", None
    )
    if bulk:
        return bulk(messages)
    return describe_all(dialect, messages), flatten(dialect, messages)


def flatten(dialect: Dialect, messages: Sequence[Any]) -> Flat:
    """List what is counted of messages, by the dialect's own loop where it has one."""
    bulk: Callable[[Sequence[Any]], Flat] | None = getattr(dialect, "flatten", None)
    if bulk:
        return bulk(messages)
    contents = list(map(dialect.content, messages))
    return Flat(
        [text for item in contents for text in item.texts],
        [len(item.texts) for item in contents],
        {index: item for index, item in enumerate(contents) if item.media},
    )


def answer_note(dialect: Dialect, call: ToolCall) -> str:
    """Write the `wire` of a result that answers a call; mostly empty.

    A dialect may have `answer_note(call)`, where not every type of call takes the same type of
    result.
    """
    noted: Callable[[ToolCall], str] | None = getattr(dialect, "answer_note", None)
    return noted(call) if noted else ""


def lower_beside(dialect: Dialect, message: Message, neighbour: Any) -> tuple[Any, ...]:
    """Lower a new message in the form that a neighbour in the list has.

    A dialect that reads both objects and their JSON may have `lower_beside(message, neighbour)`,
    so that no object comes into a list of JSON.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
    """
    beside: Callable[[Message, Any], tuple[Any, ...]] | None
    beside = getattr(dialect, "lower_beside", None)
    return beside(message, neighbour) if beside else dialect.lower(message)


def plain(message: Any) -> Mapping[str, Any] | None:
    """View an SDK object as a mapping; `None` when it is no message-like object.

    Dicts and other mappings come back as they are. Objects of provider SDKs are dumped by duck
    typing (`model_dump`, `to_dict`, `to_json_dict`), leaving out what was never set.
    """
    if type(message) is dict or isinstance(message, Mapping):
        return message
    if callable(dump := getattr(message, "model_dump", None)):
        dumped = dump(mode="json", by_alias=True, exclude_unset=True)
    elif callable(dump := getattr(message, "to_dict", None)):
        dumped = dump()
    else:
        return None
    return dumped if isinstance(dumped, Mapping) else None


def as_sequence(messages: Any) -> Sequence[Any]:
    """Keep a sequence that can be sliced as it is; read any other iterable once into a list.

    Raises:
        TypeError: for text, bytes, a mapping or something that is not iterable.
    """
    if isinstance(messages, list | tuple):
        return messages
    if isinstance(messages, str | bytes | bytearray | Mapping):
        raise TypeError("messages must be a sequence of messages")
    if isinstance(messages, Sequence) and _slices(messages):
        return messages
    return list(messages)


def _slices(messages: Sequence[Any]) -> bool:
    """Tell whether a sequence takes slices; a deque and many written by hand do not."""
    try:
        return len(messages[:0]) == 0
    except (TypeError, ValueError, LookupError, AttributeError):
        return False
