"""Threads of LangGraph: its SQLite checkpoint files, read as transcripts with their branches.

Every list of messages that a checkpoint holds is a path. Lists that begin alike share their
beginning, so that a fork, an edit and a summary that replaced messages are branches, and nothing
that the file still holds is lost. The file is only read, and no class that it names is imported.

Source:
    langgraph-checkpoint-sqlite 3.1.2: `SqliteSaver` and `AsyncSqliteSaver` (tables checkpoints
    and writes); langgraph 1.2.24: a `DeltaChannel` is rebuilt from the writes of its ancestors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from thusfar.dialects.base import DialectMismatch
from thusfar.errors import InvalidMessageError, OptionsError, TranscriptError
from thusfar.thread.foreign import Ids, Node, Tree, lift
from thusfar.thread.langgraph_values import folded, key_of, listed, read_value, wire_of

_CHECKPOINTS: Final = (
    "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint"
    " FROM checkpoints ORDER BY checkpoint_id, checkpoint_ns"
)
_WRITES: Final = (
    "SELECT type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = ?"
    " AND checkpoint_id = ? AND channel = ? ORDER BY {path}, task_id, idx"
)
_COLUMNS: Final = "SELECT name FROM pragma_table_info('writes')"


class _Checkpoint(NamedTuple):
    thread: str
    namespace: str
    id: str
    parent: str | None
    kind: str
    data: bytes


class _Message(NamedTuple):
    element: Any
    parent: int


class _Lists:
    """The lists of messages of one thread, each by the number of its last message; 0 is empty."""

    def __init__(self) -> None:
        self.messages: list[_Message] = [_Message(None, 0)]
        self.ends: dict[tuple[str, str], int] = {}  # by namespace and checkpoint
        self.newest = 0
        self.namespaces: set[str] = set()
        self._children: dict[tuple[int, bytes | str], int] = {}

    def keep(self, elements: list[Any]) -> int:
        """Keep a list, sharing what another one has already."""
        end = 0
        for element in elements:
            place = end, key_of(element)
            known = self._children.get(place)
            if known is None:
                known = self._children[place] = len(self.messages)
                self.messages.append(_Message(element, end))
            end = known
        return end

    def path(self, end: int) -> list[int]:
        """List the numbers of the messages up to one, oldest first."""
        found: list[int] = []
        while end:
            found.append(end)
            end = self.messages[end].parent
        return found[::-1]


def langgraph_threads(
    path: str | os.PathLike[str], *, channel: str = "messages", only: str | None = None
) -> dict[str, Tree]:
    """Read the threads of a LangGraph checkpoint file.

    Args:
        path: The file that a `SqliteSaver` was given; it is only read.
        channel: The channel of the graph's state that holds the messages.
        only: Read the thread of this id alone, so that no other one has to be readable.

    Returns:
        Transcripts by thread id, in the order in which the threads began; pass one to
        `Thread.import_`. The list of the newest checkpoint is the selected path; others, also
        those of subgraphs, are branches. Threads without a message are left out.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when the file has no such tables.
        TranscriptError: `INVALID_TRANSCRIPT`, for a checkpoint that cannot be read: one that was
            pickled or encrypted, or whose channel holds something other than messages.
        StorageError: when the file cannot be read.
    """
    import apsw

    from thusfar.storage.sqlite_errors import translated

    threads: dict[str, _Lists] = {}
    try:
        connection = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.execute("BEGIN")
        for checkpoint in map(_Checkpoint._make, connection.execute(_CHECKPOINTS)):
            if only not in (None, checkpoint.thread):
                continue
            lists = threads.setdefault(checkpoint.thread, _Lists())
            _take(lists, checkpoint, channel, connection)
        connection.close()
    except apsw.SQLError as error:
        raise OptionsError(
            "The file held no checkpoints of LangGraph.",
            fix="Pass the file that its SqliteSaver was given.",
        ) from error
    except apsw.Error as error:
        raise translated(error) from error
    return {name: _tree(lists) for name, lists in threads.items() if len(lists.messages) > 1}


def _take(lists: _Lists, checkpoint: _Checkpoint, channel: str, connection: Any) -> None:
    value = read_value(checkpoint.kind, checkpoint.data)
    held = value.get("channel_values") if isinstance(value, dict) else None
    if not isinstance(held, dict):
        raise TranscriptError(
            "A checkpoint had an unknown shape.", fix="Correct that checkpoint, or leave it out."
        )
    if channel in held:
        elements = listed(held[channel])
        if elements is None:
            raise TranscriptError(
                "The channel of the messages held something other than a list.",
                fix="Name the channel that holds the messages.",
            )
        end = lists.keep(elements)
    else:
        end = _rebuilt(lists, checkpoint, channel, connection)
    lists.ends[checkpoint.namespace, checkpoint.id] = end
    lists.namespaces.add(checkpoint.namespace)
    if not checkpoint.namespace:
        lists.newest = end


def _rebuilt(lists: _Lists, checkpoint: _Checkpoint, channel: str, connection: Any) -> int:
    """Find the list of a checkpoint that stores none: that of its parent, and what came to it."""
    if checkpoint.parent is None:
        return 0
    before = lists.ends.get((checkpoint.namespace, checkpoint.parent), 0)
    writes = [
        read_value(kind, value)
        for kind, value in _writes(checkpoint, channel, connection)
        if kind is not None
    ]
    if not writes:
        return before
    state = [lists.messages[number].element for number in lists.path(before)]
    return lists.keep(folded(state, writes))


def _writes(
    checkpoint: _Checkpoint, channel: str, connection: Any
) -> Iterator[tuple[str | None, bytes]]:
    columns = {name for (name,) in connection.execute(_COLUMNS)}
    sql = _WRITES.format(path="task_path" if "task_path" in columns else "task_id")
    place = (checkpoint.thread, checkpoint.namespace, checkpoint.parent, channel)
    yield from connection.execute(sql, place)


def _tree(lists: _Lists) -> Tree:
    """Number the messages of the selected path first, so that they keep their own ids."""
    ids = Ids()
    selected = lists.path(lists.newest)
    made: dict[int, Node] = {}
    for number in [*selected, *range(1, len(lists.messages))]:
        if number not in made:
            element, parent = lists.messages[number]
            message = ids.own(_lift(element, number), None)
            made[number] = Node(message, made[parent].message.id if parent else None)
    about: dict[str, Any] = {
        "source": "langgraph",
        "dialect": "langchain",
        "messages": len(made),
        "checkpoints": len(lists.ends),
    }
    if subgraphs := len(lists.namespaces - {""}):
        about["subgraphs"] = subgraphs
    head = made[lists.newest].message.id if lists.newest else None
    nodes = tuple(made[number] for number in sorted(made))
    return Tree(nodes, head or nodes[-1].message.id, about)


def _lift(element: Any, number: int) -> Any:
    try:
        return lift([wire_of(element)])[0]
    except (InvalidMessageError, DialectMismatch):
        raise TranscriptError(
            "A checkpoint held what is no message.",
            fix="Name the channel that holds the messages, or correct that message.",
            item=number,
        ) from None
