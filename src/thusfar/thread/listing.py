"""Listing: threads of a namespace, and the branches and owners of one thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from thusfar._numbers import require_whole
from thusfar.codec import json_text, parse_json
from thusfar.drive import Steps
from thusfar.errors import InvalidMessageError
from thusfar.storage import questions as q
from thusfar.storage.base import Clock
from thusfar.storage.rows import HeadRow, ThreadRow, branch_of, first_of
from thusfar.thread.appending import new_salt
from thusfar.thread.lines import lines_steps
from thusfar.thread.paths import Context, id_at, id_of, live_thread, maybe_thread
from thusfar.thread.preparing import plain_metadata
from thusfar.thread.values import Branch, ThreadInfo


def list_steps(*, limit: int | None = None, offset: int = 0) -> Steps[tuple[ThreadInfo, ...]]:
    """List the live threads of the namespace; see `thusfar.thread.threads`."""
    require_whole("A list of threads", "limit", limit)
    require_whole("A list of threads", "offset", offset, least=0)
    rows: list[tuple[ThreadRow, int, int]] = yield q.ListThreads(limit, offset)
    return tuple(_info(row, changed, messages) for row, changed, messages in rows)


def info_steps(ctx: Context) -> Steps[ThreadInfo]:
    """Describe one thread; see `Thread.info`."""
    row = yield from live_thread(ctx)
    heads: list[HeadRow] = yield q.ReadHeads(ctx.thread_id)
    changed = max([row.updated_at, *(head.updated_at for head in heads)])
    messages = sum(head.messages for head in heads if head.owner == "main")
    return _info(row, changed, messages)


def describe_steps(
    ctx: Context, clock: Clock, *, title: str | None, metadata: Mapping[str, Any] | None
) -> Steps[ThreadInfo]:
    """Set title and metadata; see `Thread.describe`."""
    at = clock()
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    row = yield from maybe_thread(ctx)
    if row is None:
        new = ThreadRow(ctx.thread_id, "", "{}", 0, 0, new_salt(), at, at)
        row = yield q.BeginThread(new)
    if title is not None:
        row = msgspec.structs.replace(row, title=check_title(title))
    if metadata is not None:
        row = msgspec.structs.replace(row, metadata=json_text(plain_metadata(metadata)))
    yield q.Write((q.PutThread(msgspec.structs.replace(row, updated_at=at)),))
    return (yield from info_steps(ctx))


def branches_steps(ctx: Context) -> Steps[tuple[Branch, ...]]:
    """List the ends of the tree; see `Thread.branches`."""
    yield q.Snapshot()
    yield from live_thread(ctx)
    lines = yield from lines_steps(ctx)
    heads: list[HeadRow] = yield q.ReadHeads(ctx.thread_id)
    found: list[Branch] = []
    for line in lines:
        held = {row.branch for row in line.branches}
        begin = line.branches[0]
        first = yield from id_at(first_of(begin.branch))
        found.append(
            Branch(
                leaf=id_of(line.leaf),
                start=first or "",
                parent_id=(yield from id_at(begin.parent)),
                length=line.leaf.depth + 1,
                selected_by=tuple(h.owner for h in heads if branch_of(h.node) in held),
            )
        )
    return tuple(found)


def owners_steps(ctx: Context) -> Steps[dict[str, str | None]]:
    """List owners with their heads; see `Thread.owners`."""
    yield from live_thread(ctx)
    heads: list[HeadRow] = yield q.ReadHeads(ctx.thread_id)
    return {head.owner: head.head_id or None for head in heads}


def check_title(title: object) -> str:
    """Check a title of a thread, and give it back.

    Raises:
        InvalidMessageError: `INVALID_MESSAGE`, for what cannot be stored.
    """
    if not isinstance(title, str) or len(title) > 1_000 or "\0" in title or not _encodable(title):
        raise InvalidMessageError(
            "A title could not be stored.",
            fix="Use text of at most 1,000 characters without NUL and lone surrogates.",
        )
    return title


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _info(row: ThreadRow, changed: int, messages: int) -> ThreadInfo:
    return ThreadInfo(
        thread_id=row.thread_id,
        title=row.title,
        metadata=parse_json(row.metadata, where="the metadata of a thread"),
        created_at=row.created_at,
        updated_at=changed,
        messages=messages,
    )
