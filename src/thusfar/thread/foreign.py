"""Foreign transcripts: messages, lists, session logs and session files of others, in and out.

A message that cannot be read raises; it never vanishes. The branches of a session log are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from thusfar.codec import json_text
from thusfar.dialects import detect, dialect
from thusfar.dialects.base import Dialect, DialectMismatch
from thusfar.errors import InvalidMessageError, TranscriptError
from thusfar.messages import Message
from thusfar.storage.base import check_id
from thusfar.thread.exporting import as_request, export_messages
from thusfar.thread.system_text import lift_system

if TYPE_CHECKING:
    from thusfar.sources import Sidechain

THUSFAR = "thusfar"


class Node(NamedTuple):
    """One message of a foreign transcript, at its place in the tree.

    Attributes:
        message: With an id of its own.
        parent: Id of the message before it; `None` at a root.
    """

    message: Message
    parent: str | None


class Tree(NamedTuple):
    """A foreign transcript.

    Attributes:
        nodes: Each after its parent.
        head: Id of the message that the source shows last; `None` when it is empty.
        about: What the source says beside its messages, for the thread's metadata.
    """

    nodes: tuple[Node, ...]
    head: str | None
    about: dict[str, Any]


def lift(messages: Sequence[Any]) -> list[Message]:
    """Read messages of one dialect; canonical ones among them stay as they are.

    Raises:
        InvalidMessageError: `INVALID_MESSAGE`, when no dialect reads all of them.
    """
    foreign = [m for m in messages if not isinstance(m, Message)]
    try:
        found = detect(foreign)
        return [m if isinstance(m, Message) else found.lift(m) for m in messages]
    except DialectMismatch as error:
        raise InvalidMessageError(
            "A message had a shape of no known dialect.",
            fix="Pass Message values, or messages of one dialect.",
        ) from error
    except TranscriptError as error:
        raise InvalidMessageError(
            f"A message could not be read: {error.args[0]}",
            fix=error.fix,
            diagnostics=(),
            **error.facts,
        ) from error


def lower(messages: Sequence[Message], name: str, about: Mapping[str, Any]) -> str:
    """Write a transcript as JSON of a dialect: its list, or a body with the system text beside it.

    Args:
        messages: The transcript.
        name: Name of the dialect.
        about: The thread's metadata.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form there.
        OptionsError: `INVALID_OPTIONS`, for a dialect that does not exist.
    """
    target = dialect(name)
    return json_text(
        as_request(export_messages(messages, target, own=came_from(about, name)), target)
    )


def came_from(about: Mapping[str, Any], name: str) -> bool:
    """Tell whether a thread was imported from a dialect, by its metadata."""
    imported = about.get("imported")
    return isinstance(imported, Mapping) and imported.get("dialect") == name


def read_tree(data: Any, name: str | None) -> Tree:
    """Read a transcript of any known shape.

    Args:
        data: Text, bytes, or a parsed value, as for `thusfar.sources.load`; or a `Tree`.
        name: Dialect of its messages; `None` to find out.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for input of no known shape.
    """
    if isinstance(data, Tree):
        return data
    from thusfar.sources import load

    loaded = load(data, dialect=name)
    about: dict[str, Any] = {"source": loaded.kind, "dialect": loaded.dialect}
    about.update({"model": loaded.model} if loaded.model else {})
    about.update({k: v for k, v in loaded.facts.items() if v})
    source = dialect(loaded.dialect)
    ids = Ids()
    system = lift_system(loaded.system, source)
    if loaded.entries:
        nodes, head = _tree_of_log(loaded.entries, source, ids)
        beside = [_line_of(chain, source, ids) for chain in loaded.sidechains]
        if beside:
            about["sidechains"] = [
                _described(*each) for each in zip(loaded.sidechains, beside, strict=True)
            ]
        return Tree((*nodes, *(node for line in beside for node in line)), head, about)
    listed = [] if system is None else [Node(ids.own(system, None), None)]
    for foreign in loaded.messages:
        message = ids.own(source.lift(foreign), None)
        listed.append(Node(message, listed[-1].message.id if listed else None))
    return Tree(tuple(listed), listed[-1].message.id if listed else None, about)


def _tree_of_log(entries: Sequence[Any], source: Any, ids: Ids) -> tuple[tuple[Node, ...], Any]:
    """Give the path that the log shows as one line, and beside it what left that path.

    What is on the path is said by the log's reader, since results of parallel calls, and logs
    without parents, are one path whose records do not all follow each other. Every other record
    follows the nearest one before it that says something.
    """
    said: dict[str, str | None] = {}
    nodes: list[Node] = []
    shown: str | None = None
    for entry in entries:
        last = shown if entry.live else said.get(entry.parent)
        if entry.kind == "message":
            for foreign in entry.messages:
                message = ids.own(source.lift(foreign), entry.id)
                nodes.append(Node(message, last))
                last = message.id
            if entry.live and entry.messages:
                shown = last
        if entry.id is not None:
            said[entry.id] = last
    return tuple(nodes), shown or (nodes[-1].message.id if nodes else None)


def _line_of(chain: Sidechain, source: Dialect, ids: Ids) -> list[Node]:
    """Give what a sub-agent said as one line from the root: it saw nothing of the session."""
    line: list[Node] = []
    for entry in chain.entries:
        for foreign in entry.messages:
            message = ids.own(source.lift(foreign), entry.id)
            line.append(Node(message, line[-1].message.id if line else None))
    return line


def _described(chain: Sidechain, line: list[Node]) -> dict[str, Any]:
    return {
        "first": line[0].message.id,
        "messages": len(line),
        "call": chain.call,
        "agent": chain.agent,
    }


class Ids:
    """Gives each message an id that no other one has, its own or that of its record if it can."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def own(self, message: Message, record: str | None) -> Message:
        """Give a message its own id, that of its record, or a new one."""
        for wish in (message.id, record):
            if wish is not None and wish not in self._taken and _usable(wish):
                return self._take(message, wish)
        base = f"m{len(self._taken)}"
        while base in self._taken:
            base += "x"
        return self._take(message, base)

    def _take(self, message: Message, message_id: str) -> Message:
        self._taken.add(message_id)
        if message.id == message_id:
            return message
        return msgspec.structs.replace(message, id=message_id)


def _usable(message_id: str) -> bool:
    try:
        check_id(message_id, "message id")
    except InvalidMessageError:
        return False
    return True


def described(about: Mapping[str, Any]) -> dict[str, Any]:
    """Write what a source says beside its messages as metadata of a thread."""
    return {"imported": dict(about)}
