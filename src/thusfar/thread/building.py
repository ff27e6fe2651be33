"""Building: the rows of a thread that is being imported, checked line by line.

What a line says of its place, its states and its flags is what verifying would accept, so that no
import stores a thread that does not verify.

Source:
    docs/spec/thread-jsonl.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from thusfar.codec import message_from_json
from thusfar.drive import Steps
from thusfar.errors import TranscriptError
from thusfar.messages import Message
from thusfar.storage import questions as q
from thusfar.storage.base import check_id
from thusfar.storage.rows import (
    ALTERNATIVE,
    ANSWERED,
    ASKED,
    BOUNDARY,
    EDITED,
    LEADS,
    LIVE,
    OPEN,
    POSITION_MASK,
    REDACTED,
    REMOVED,
    STRANDED,
    HeadRow,
    LeafRow,
    NodeRow,
    ThreadRow,
)
from thusfar.thread.appending import empty_head, grow, rows_of
from thusfar.thread.paths import Context
from thusfar.thread.preparing import Prepared, prepare_one
from thusfar.thread.tracking import (
    ROOT,
    Mark,
    Place,
    advance,
    is_place,
    is_placed,
    place_of_node,
)

STATES: Final = {LIVE: "live", REMOVED: "removed", REDACTED: "redacted", STRANDED: "stranded"}
KEPT: Final = ALTERNATIVE | EDITED
_CODES: Final = {name: state for state, name in STATES.items()}
_PLACE_BITS: Final = ANSWERED | ASKED | BOUNDARY | OPEN | LEADS
_LATEST: Final = 2**53 - 1  # milliseconds; the largest number that every JSON reader keeps


class UnplacedError(ValueError):
    """What a line says of its places does not follow from its messages."""


def bad_line(number: int) -> TranscriptError:
    """Make the error for a line that cannot be."""
    return TranscriptError(
        f"Line {number} of the input could not be read.",
        fix="Correct that line; nothing was stored.",
        line=number,
    )


def unplaced_line(number: int) -> TranscriptError:
    """Make the error for a line whose messages were changed, and its places were not."""
    return TranscriptError(
        f"Line {number} of the input has places that do not follow from its messages.",
        fix='Correct that line, or leave out its "places", which are then derived;'
        " nothing was stored.",
        line=number,
    )


def time_of(value: Any) -> int:
    """Read a time.

    Raises:
        ValueError: for what is no whole number of milliseconds in its range.
    """
    if type(value) is not int or not 0 <= value <= _LATEST:
        raise ValueError("a time was no whole number of milliseconds")
    return value


class Stored(NamedTuple):
    """A message that an import has placed.

    Attributes:
        place: Where the path stands after it.
        tip: Whether nothing follows it in its branch yet.
    """

    place: Place
    tip: bool


class Build:
    """The rows of a thread that is being imported.

    Args:
        ctx: The thread.
        thread: Its row.
        at: When the import began.
    """

    def __init__(self, ctx: Context, thread: ThreadRow, at: int) -> None:
        self.ctx, self.thread, self.at = ctx, thread, at
        self.nodes: list[NodeRow] = []
        self.stored: dict[str, Stored] = {}
        self.late: list[Any] = []
        self.then: dict[int, tuple[str, int]] = {}  # what led when a node came, and the line

    def take(self, number: int, record: dict[str, Any]) -> Steps[None]:
        """Take one line of an export.

        Raises:
            UnplacedError: for places that do not follow from the messages.
            KeyError, IndexError, TypeError, ValueError, HistoryError: for what else cannot be.
        """
        if "group" in record:
            yield from self._take_group(number, record)
        elif "head" in record:
            self._require_boundary(record["at"])
            self.put_head(check_id(record["head"], "owner"), record["at"])
        elif "leaf" in record:
            start, leaf = self.stored[record["leaf"]], self.stored[record["at"]]
            row = LeafRow(start.place.node, self.ctx.thread_id, leaf.place.node)
            self.late.append(q.PutLeaf(row))
        else:
            raise KeyError("group")

    def _require_boundary(self, message_id: str | None) -> None:
        if message_id is not None and not self.stored[message_id].place.flags & BOUNDARY:
            raise ValueError("a head stood inside a group")

    def boundary(self, message_id: str | None) -> str | None:
        """Tell the message that ends the group of a message that was placed."""
        if message_id is None:
            return None
        row = next(n for n in self.nodes if n.node == self.stored[message_id].place.node)
        last = row.node + row.size - 1 - row.at
        return next(i for i, stored in self.stored.items() if stored.place.node == last)

    def put_head(self, owner: str, message_id: str | None) -> None:
        """Let an owner stand on a message."""
        head = empty_head(self.thread, owner, self.at)
        if message_id is not None:
            place = self.stored[message_id].place
            head = HeadRow(
                head.thread_id,
                owner,
                1,
                place.node,
                message_id,
                place.depth,
                place.turn,
                place.exchange,
                place.run,
                place.flags,
                place.pending,
                place.chain,
                place.messages,
                head.salt,
                self.at,
            )
        self.late.append(q.PutHead(head))

    def add(
        self,
        group: list[Prepared],
        parent: str | None,
        created_at: int,
        *,
        marks: list[Mark] | None = None,
        states: list[int] | None = None,
        flags: int = 0,
    ) -> Steps[list[NodeRow]]:
        """Place one group behind a message that was placed before; `None` is the root."""
        place, tip = self.stored[parent] if parent is not None else (ROOT, False)
        if marks is None:
            marks = advance(place, [one.message for one in group], exact=False)
        first = yield from grow(self.ctx, place, tip=tip)
        rows = rows_of(
            group, marks, place, first, self.thread.salt, created_at, flags=flags, states=states
        )
        nodes = [_without_content(row) if row.state == REDACTED else row for row in rows]
        if parent is not None and first & POSITION_MASK:
            self.stored[parent] = Stored(place, tip=False)
        last = len(nodes) - 1
        for i, node in enumerate(nodes):
            message_id = node.message_id
            if message_id is None or message_id in self.stored:
                raise ValueError("a message id was given twice")
            self.stored[message_id] = Stored(place_of_node(node), tip=i == last)
        self.nodes += nodes
        return nodes

    def _take_group(self, number: int, record: dict[str, Any]) -> Steps[None]:
        states = [_CODES[name] for name in record.get("states", ())] or None
        group = [self._prepare(value) for value in record["group"]]
        if not group or (states and len(states) != len(group)):
            raise ValueError("a group was empty or had other states")
        erased = [state == REDACTED for state in states or [LIVE] * len(group)]
        if erased != ["redacted" in value for value in record["group"]]:
            raise ValueError("a message was erased and had content, or neither")
        parent = record["parent"]
        above = self.stored[parent].place if parent is not None else ROOT
        marks = None
        if "places" in record:
            marks = [
                _mark(above.depth + 1 + i, values) for i, values in enumerate(record["places"])
            ]
            if len(marks) != len(group):
                raise ValueError("a group had other places")
        flags = record.get("flags", 0)
        if type(flags) is not int or flags & ~KEPT:
            raise ValueError("a group had flags of another kind")
        nodes = yield from self.add(
            group,
            parent,
            time_of(record["created_at"]),
            marks=marks,
            states=states,
            flags=flags,
        )
        _require_placed(above, nodes, group)
        if "head_then" in record:
            then = check_id(record["head_then"], "message id")
            self.then.update((node.node, (then, number)) for node in nodes)

    def _prepare(self, value: dict[str, Any]) -> Prepared:
        if "redacted" in value:
            message_id = check_id(value["redacted"], "message id")
            stand_in = Message("user", id=message_id)
            return Prepared(stand_in, "", b"", self.ctx.key(message_id))
        return prepare_one(self.ctx, message_from_json(value))

    def changes(self) -> tuple[Any, ...]:
        """Say what is to be written.

        Raises:
            TranscriptError: `INVALID_TRANSCRIPT`, for a line that names a message that no line has.
        """
        return (q.AddNodes(tuple(map(self._led, self.nodes))), *self.late)

    def _led(self, node: NodeRow) -> NodeRow:
        if node.node not in self.then:
            return node
        then, number = self.then[node.node]
        if then not in self.stored:
            raise bad_line(number)
        return msgspec.structs.replace(node, head_then=self.stored[then].place.node)


def _without_content(row: NodeRow) -> NodeRow:
    return msgspec.structs.replace(row, body=None, created_at=0, pending="")


def _require_placed(above: Place, nodes: Sequence[NodeRow], group: Sequence[Prepared]) -> None:
    for node, one in zip(nodes, group, strict=True):
        if node.state != REDACTED and not is_placed(above, node, one.message):
            raise UnplacedError
        above = place_of_node(node)


def _mark(depth: int, values: list[Any]) -> Mark:
    turn, exchange, run, flags, pending = values
    if {type(each) for each in (turn, exchange, run, flags)} != {int} or type(pending) is not str:
        raise TypeError("a place had a value of another type")
    if not is_place(depth, turn, exchange, run, pending) or flags & ~_PLACE_BITS:
        raise ValueError("a place was none of the path")
    return Mark(depth, turn, exchange, run, flags, pending)
