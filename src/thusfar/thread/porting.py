"""Porting: a whole thread as thusfar JSONL, and back, with every branch, head and tombstone.

The first line names the format. Each further line is one group, one head or one remembered
continuation; a group always comes after the one it follows.

Source:
    docs/spec/thread-jsonl.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from thusfar.codec import json_text, message_from_json, parse_json
from thusfar.drive import Steps
from thusfar.errors import HistoryError, IdentityConflictError, TranscriptError
from thusfar.messages import Message
from thusfar.storage import questions as q
from thusfar.storage.base import Clock, check_id
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
    first_of,
    last_of,
)
from thusfar.thread.appending import empty_head, grow, new_salt, rows_of
from thusfar.thread.lines import in_order, lines_steps, places_in
from thusfar.thread.listing import check_title, info_steps
from thusfar.thread.paths import Context, id_at, id_of, live_thread, maybe_thread
from thusfar.thread.preparing import Prepared, plain_metadata, prepare_one
from thusfar.thread.tracking import ROOT, Mark, Place, advance, is_place, place_of_node
from thusfar.thread.values import ThreadInfo

Input = str | bytes | bytearray | memoryview

FORMAT: Final = "thread"
SCHEMA: Final = 1  # 1: header, groups, heads, leaves

_STATES: Final = {LIVE: "live", REMOVED: "removed", REDACTED: "redacted", STRANDED: "stranded"}
_CODES: Final = {name: state for state, name in _STATES.items()}
_KEPT: Final = ALTERNATIVE | EDITED
_PLACE_BITS: Final = ANSWERED | ASKED | BOUNDARY | OPEN | LEADS
_FIRST_LINE: Final = re.compile("\ufeff?\\s*([^\n]*)")
_FIRST_BYTES: Final = re.compile(b"(?:\xef\xbb\xbf)?\\s*([^\n]*)")
_LATEST: Final = 2**53 - 1  # milliseconds; the largest number that every JSON reader keeps


def export_steps(ctx: Context) -> Steps[str]:
    """Write a thread as JSONL; see `Thread.export`."""
    yield q.Snapshot()
    thread = yield from live_thread(ctx)
    header = {
        "thusfar": FORMAT,
        "schema": SCHEMA,
        "thread": thread.thread_id,
        "title": thread.title,
        "metadata": parse_json(thread.metadata),
        "created_at": thread.created_at,
    }
    lines: list[str] = []
    told = yield from lines_steps(ctx)
    for branch in (row for line in told for row in line.branches):
        rows: list[NodeRow] = yield q.ReadNodes(first_of(branch.branch), last_of(branch.branch))
        parent = yield from id_at(branch.parent)
        for group in _groups(rows):
            then = yield from id_at(group[0].head_then)
            lines.append(_group_line(group, parent, then))
            parent = id_of(group[-1])
    heads: list[HeadRow] = yield q.ReadHeads(ctx.thread_id)
    lines += [json_text({"head": head.owner, "at": head.head_id or None}) for head in heads]
    leaves: list[LeafRow] = yield q.ReadLeaves(ctx.thread_id)
    places = places_in(told)
    for leaf in sorted(leaves, key=lambda row: in_order(row.start, places)):
        start = yield from id_at(leaf.start)
        lines.append(json_text({"leaf": start, "at": (yield from id_at(leaf.leaf))}))
    return "\n".join([json_text(header | {"lines": len(lines)}), *lines]) + "\n"


def _groups(rows: list[NodeRow]) -> Iterator[list[NodeRow]]:
    group: list[NodeRow] = []
    for row in rows:
        if row.at == 0 and group:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _group_line(group: list[NodeRow], parent: str | None, head_then: str | None) -> str:
    line: dict[str, Any] = {"parent": parent, "created_at": max(r.created_at for r in group)}
    if any(row.state != LIVE for row in group):
        line["states"] = [_STATES[row.state] for row in group]
    if flags := group[0].flags & _KEPT:
        line["flags"] = flags
    if head_then is not None:
        line["head_then"] = head_then
    line["places"] = [[r.turn, r.exchange, r.run, r.flags & ~_KEPT, r.pending] for r in group]
    bodies = ",".join(
        row.body if row.body is not None else json_text({"redacted": id_of(row)}) for row in group
    )
    return f'{json_text(line)[:-1]},"group":[{bodies}]}}'


def import_steps(ctx: Context, clock: Clock, data: Input) -> Steps[ThreadInfo]:
    """Fill a new thread from JSONL; see `Thread.import_`."""
    from thusfar.sources.parsing import as_text

    records = list(_records(as_text(data)))
    _require_header(records)
    _require_whole(records)
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    if (yield from maybe_thread(ctx)) is not None:
        raise IdentityConflictError(
            "A thread of this id exists already.",
            fix="Import under another thread id.",
            thread_id=ctx.thread_id,
        )
    at = clock()
    thread = yield q.BeginThread(_thread_row(ctx, records[0][1], at))
    build = Build(ctx, thread, at)
    for number, record in records[1:]:
        try:
            yield from build.take(record)
        except (KeyError, IndexError, TypeError, ValueError, HistoryError) as error:
            raise _bad_line(number) from error
    yield q.Write(build.changes())
    return (yield from info_steps(ctx))


def _thread_row(ctx: Context, header: dict[str, Any], at: int) -> ThreadRow:
    try:
        title = check_title(header.get("title", ""))
        metadata = json_text(plain_metadata(header.get("metadata", {})))
        created_at = _time(header.get("created_at", at))
    except (ValueError, HistoryError) as error:
        raise _bad_line(1) from error
    return ThreadRow(ctx.thread_id, title, metadata, 0, 0, new_salt(), created_at, at)


def _time(value: Any) -> int:
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
        self.then: dict[int, str] = {}

    def take(self, record: dict[str, Any]) -> Steps[None]:
        """Take one line."""
        if "group" in record:
            yield from self._take_group(record)
        elif "head" in record:
            self.put_head(check_id(record["head"], "owner"), record["at"])
        elif "leaf" in record:
            start, leaf = self.stored[record["leaf"]], self.stored[record["at"]]
            row = LeafRow(start.place.node, self.ctx.thread_id, leaf.place.node)
            self.late.append(q.PutLeaf(row))
        else:
            raise KeyError("group")

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
        nodes = rows_of(
            group, marks, place, first, self.thread.salt, created_at, flags=flags, states=states
        )
        if parent is not None and first & POSITION_MASK:
            self.stored[parent] = Stored(place, tip=False)
        last = len(nodes) - 1
        for i, node in enumerate(nodes):
            message_id = node.message_id
            if message_id is None or message_id in self.stored:
                raise ValueError("a message id was given twice")
            self.stored[message_id] = Stored(place_of_node(node), tip=i == last)
        self.nodes += nodes
        return list(nodes)

    def _take_group(self, record: dict[str, Any]) -> Steps[None]:
        states = [_CODES[name] for name in record.get("states", ())] or None
        group = [self._prepare(value) for value in record["group"]]
        if not group or (states and len(states) != len(group)):
            raise ValueError("a group was empty or had other states")
        parent = record["parent"]
        marks = None
        if "places" in record:
            above = self.stored[parent].place if parent is not None else ROOT
            marks = [
                _mark(above.depth + 1 + i, values) for i, values in enumerate(record["places"])
            ]
            if len(marks) != len(group):
                raise ValueError("a group had other places")
        flags = record.get("flags", 0)
        if type(flags) is not int or flags & ~_KEPT:
            raise ValueError("a group had flags of another kind")
        nodes = yield from self.add(
            group,
            parent,
            _time(record["created_at"]),
            marks=marks,
            states=states,
            flags=flags,
        )
        if "head_then" in record:
            self.then.update((node.node, record["head_then"]) for node in nodes)

    def _prepare(self, value: dict[str, Any]) -> Prepared:
        if "redacted" in value:
            message_id = check_id(value["redacted"], "message id")
            stand_in = Message("user", id=message_id)
            return Prepared(stand_in, "", b"", self.ctx.key(message_id))
        return prepare_one(self.ctx, message_from_json(value))

    def changes(self) -> tuple[Any, ...]:
        """Say what is to be written."""
        nodes = tuple(self._finished(node) for node in self.nodes)
        return (q.AddNodes(nodes), *self.late)

    def _finished(self, node: NodeRow) -> NodeRow:
        then = self.then.get(node.node)
        if then is not None:
            node = msgspec.structs.replace(node, head_then=self.stored[then].place.node)
        if node.state == REDACTED:
            node = msgspec.structs.replace(node, body=None, created_at=0, pending="")
        return node


def _mark(depth: int, values: list[Any]) -> Mark:
    turn, exchange, run, flags, pending = values
    if {type(each) for each in (turn, exchange, run, flags)} != {int} or type(pending) is not str:
        raise TypeError("a place had a value of another type")
    if not is_place(depth, turn, exchange, run, pending) or flags & ~_PLACE_BITS:
        raise ValueError("a place was none of the path")
    return Mark(depth, turn, exchange, run, flags, pending)


def _records(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = parse_json(line, where=f"line {number}")
        except TranscriptError as error:
            raise _bad_line(number) from error
        if not isinstance(record, dict):
            raise _bad_line(number)
        yield number, record


def is_export(data: object) -> bool:
    """Tell whether a value looks like what `export` returns, however its first line is spaced."""
    if isinstance(data, str):
        found = _FIRST_LINE.match(data)
        line = found[1] if found else ""
    elif isinstance(data, bytes | bytearray | memoryview):
        found_bytes = _FIRST_BYTES.match(data)
        line = found_bytes[1].decode(errors="replace") if found_bytes else ""
    else:
        return False
    if '"thusfar"' not in line:
        return False
    try:
        header = parse_json(line)
    except TranscriptError:
        return False
    return isinstance(header, dict) and header.get("thusfar") == FORMAT


def _require_header(records: list[tuple[int, dict[str, Any]]]) -> None:
    header = records[0][1] if records else {}
    if header.get("thusfar") != FORMAT or type(header.get("schema")) is not int:
        raise TranscriptError(
            "The input was not thusfar JSONL of a thread.",
            fix="Pass what export returned, or convert the messages first.",
        )
    if header["schema"] > SCHEMA:
        raise TranscriptError(
            "The input was written by a newer version.",
            fix="Upgrade thusfar, then import again.",
            schema=header["schema"],
        )


def _require_whole(records: list[tuple[int, dict[str, Any]]]) -> None:
    """Check that no line is missing, where the header counts them: a cut file looks whole."""
    stated, found = records[0][1].get("lines"), len(records) - 1
    if stated is not None and stated != found:
        raise TranscriptError(
            "The input had another number of lines than its header says.",
            fix="Export again: the file was cut off or changed. Nothing was stored.",
            found=found,
        )


def _bad_line(number: int) -> TranscriptError:
    return TranscriptError(
        f"Line {number} of the input could not be read.",
        fix="Correct that line; nothing was stored.",
        line=number,
    )
