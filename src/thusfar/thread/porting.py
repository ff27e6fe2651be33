"""Porting: a whole thread as thusfar JSONL, and back, with every branch, head and tombstone.

The first line names the format. Each further line is one group, one head or one remembered
continuation; a group always comes after the one it follows.

Source:
    docs/spec/thread-jsonl.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from thusfar.codec import json_text, parse_json
from thusfar.drive import Steps
from thusfar.errors import HistoryError, IdentityConflictError, TranscriptError
from thusfar.storage import questions as q
from thusfar.storage.base import Clock
from thusfar.storage.rows import (
    LIVE,
    HeadRow,
    LeafRow,
    NodeRow,
    ThreadRow,
    first_of,
    last_of,
)
from thusfar.thread.appending import new_salt
from thusfar.thread.building import (
    KEPT,
    STATES,
    Build,
    UnplacedError,
    bad_line,
    time_of,
    unplaced_line,
)
from thusfar.thread.lines import in_order, lines_steps, places_in
from thusfar.thread.listing import check_title, info_steps
from thusfar.thread.paths import Context, id_at, id_of, live_thread, maybe_thread
from thusfar.thread.preparing import plain_metadata
from thusfar.thread.values import ThreadInfo

Input = str | bytes | bytearray | memoryview

FORMAT: Final = "thread"
SCHEMA: Final = 1  # 1: header, groups, heads, leaves

_FIRST_LINE: Final = re.compile("\ufeff?\\s*([^\n]*)")
_FIRST_BYTES: Final = re.compile(b"(?:\xef\xbb\xbf)?\\s*([^\n]*)")


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
        line["states"] = [STATES[row.state] for row in group]
    if flags := group[0].flags & KEPT:
        line["flags"] = flags
    if head_then is not None:
        line["head_then"] = head_then
    line["places"] = [[r.turn, r.exchange, r.run, r.flags & ~KEPT, r.pending] for r in group]
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
            yield from build.take(number, record)
        except UnplacedError as error:
            raise unplaced_line(number) from error
        except (KeyError, IndexError, TypeError, ValueError, HistoryError) as error:
            raise bad_line(number) from error
    yield q.Write(build.changes())
    return (yield from info_steps(ctx))


def _thread_row(ctx: Context, header: dict[str, Any], at: int) -> ThreadRow:
    try:
        title = check_title(header.get("title", ""))
        metadata = json_text(plain_metadata(header.get("metadata", {})))
        created_at = time_of(header.get("created_at", at))
    except (ValueError, HistoryError) as error:
        raise bad_line(1) from error
    return ThreadRow(ctx.thread_id, title, metadata, 0, 0, new_salt(), created_at, at)


def _records(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = parse_json(line, where=f"line {number}")
        except TranscriptError as error:
            raise bad_line(number) from error
        if not isinstance(record, dict):
            raise bad_line(number)
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
