"""Artifacts: derived texts over a range of one path, and short-lived records beside a thread.

An artifact is found only on paths that run through its whole range, so that an edit or another
branch never sees it. It goes in the same write as any message of its range.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from thusfar.codec import json_text, parse_json
from thusfar.drive import Steps
from thusfar.errors import InvalidGroupError
from thusfar.storage import questions as q
from thusfar.storage.base import Clock, check_id
from thusfar.storage.rows import LIVE, ArtifactRow, HeadRow, NodeRow
from thusfar.thread.paths import (
    Context,
    find,
    id_at,
    live_thread,
    node_on_path,
    on_path,
    owner_head,
)
from thusfar.thread.preparing import plain_metadata


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A derived text on the selected path.

    Attributes:
        key: Its content address.
        kind: Identity of what made it.
        first: Id of the first message it covers.
        last: Id of the last message it covers.
        first_depth: Place of the first on the path, from 0.
        last_depth: Place of the last on the path.
        body: The JSON that was kept.
        created_at: Unit: milliseconds since 1970, UTC.
    """

    key: str
    kind: str
    first: str
    last: str
    first_depth: int
    last_depth: int
    body: dict[str, Any]
    created_at: int


def keep_steps(
    ctx: Context,
    clock: Clock,
    key: str,
    *,
    kind: str,
    first: str,
    last: str,
    body: Mapping[str, Any],
) -> Steps[None]:
    """Keep an artifact; see `Thread.keep_artifact`."""
    check_id(key, "artifact key")
    check_id(kind, "artifact kind")
    text = json_text(plain_metadata(body))
    at = clock()
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    yield from live_thread(ctx)
    start = yield from find(ctx, first)
    end = yield from find(ctx, last)
    if start.depth > end.depth or not (yield from on_path(start, end.node, end.depth)):
        raise InvalidGroupError(
            "An artifact covered messages that are no range of one path.",
            fix="Pass the first and the last message of a range, oldest first.",
        )
    if start.state != LIVE or end.state != LIVE:
        raise InvalidGroupError(
            "An artifact covered a message that left the transcript.",
            fix="Read the transcript again and make the artifact from it.",
        )
    row = ArtifactRow(
        f"{ctx.thread_id}\n{key}", ctx.thread_id, start.depth, end.node, kind, text, at
    )
    yield q.Write((q.PutArtifact(row),))


def artifacts_steps(ctx: Context, *, kind: str | None) -> Steps[tuple[Artifact, ...]]:
    """Find the artifacts of the selected path; see `Thread.artifacts`."""
    if kind is not None:
        check_id(kind, "artifact kind")
    head: HeadRow | None = yield from owner_head(ctx)
    if head is None or not head.node:
        return ()
    rows: list[ArtifactRow] = yield q.ReadArtifacts(ctx.thread_id, kind)
    found: list[Artifact] = []
    for row in rows:
        ends: list[NodeRow] = yield q.ReadNodes(row.node, row.node)
        if ends and (yield from on_path(ends[0], head.node, head.depth)):
            first = yield from node_on_path(row.first, row.node, ends[0].depth)
            found.append(
                Artifact(
                    key=row.key.rpartition("\n")[2],
                    kind=row.kind,
                    first=(yield from id_at(first)) or "",
                    last=(yield from id_at(row.node)) or "",
                    first_depth=row.first,
                    last_depth=ends[0].depth,
                    body=parse_json(row.body, where="an artifact"),
                    created_at=row.created_at,
                )
            )
    return tuple(sorted(found, key=lambda a: (a.last_depth, a.created_at, a.key)))


def drop_steps(ctx: Context, keys: tuple[str, ...]) -> Steps[None]:
    """Forget artifacts; see `Thread.drop_artifacts`."""
    stored = tuple(f"{ctx.thread_id}\n{check_id(key, 'artifact key')}" for key in keys)
    yield q.Lock(ctx.thread_id, ctx.owner)
    yield q.Write((q.DropArtifacts(stored),))
