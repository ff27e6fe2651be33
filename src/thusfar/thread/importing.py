"""Importing: a foreign transcript becomes a thread, with its branches, in one write.

Runs of messages that nothing branches off are cut into groups at the borders of exchanges, so that
pages never cut inside one. Defects of the source are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thusfar.codec import json_text
from thusfar.drive import Steps
from thusfar.errors import IdentityConflictError, TranscriptError
from thusfar.storage import questions as q
from thusfar.storage.base import Clock
from thusfar.storage.rows import ThreadRow
from thusfar.thread.appending import new_salt
from thusfar.thread.building import Build
from thusfar.thread.foreign import Node, described, read_tree
from thusfar.thread.listing import info_steps
from thusfar.thread.paths import Context, maybe_thread
from thusfar.thread.porting import import_steps, is_export
from thusfar.thread.preparing import plain_metadata, prepare_one
from thusfar.thread.tracking import ROOT, advance, ending
from thusfar.thread.values import ThreadInfo


def import_any_steps(
    ctx: Context, clock: Clock, data: Any, *, dialect: str | None
) -> Steps[ThreadInfo]:
    """Fill a new thread from a transcript of any known shape; see `Thread.import_`."""
    if dialect is None and is_export(data):
        return (yield from import_steps(ctx, clock, data))
    tree = read_tree(data, dialect)
    if not tree.nodes:
        raise TranscriptError(
            "The input held no message.", fix="Pass a transcript with at least one message."
        )
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    if (yield from maybe_thread(ctx)) is not None:
        raise IdentityConflictError(
            "A thread of this id exists already.",
            fix="Import under another thread id.",
            thread_id=ctx.thread_id,
        )
    at = clock()
    metadata = json_text(plain_metadata(described(tree.about)))
    row = ThreadRow(ctx.thread_id, "", metadata, 0, 0, new_salt(), at, at)
    thread = yield q.BeginThread(row)
    build = Build(ctx, thread, at)
    for run in _runs(tree.nodes):
        yield from _add_run(build, run)
    build.put_head(ctx.owner, build.boundary(tree.head))
    yield q.Write(build.changes())
    return (yield from info_steps(ctx))


def _runs(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Cut a tree into runs in which each message is the only child of the one before."""
    children: dict[str | None, int] = {}
    for node in nodes:
        children[node.parent] = children.get(node.parent, 0) + 1
    tails: dict[str | None, list[Node]] = {}
    runs: list[list[Node]] = []
    for node in nodes:
        run = tails.pop(node.parent, None) if children[node.parent] == 1 else None
        if run is None or node.parent is None:
            run = []
            runs.append(run)
        run.append(node)
        tails[node.message.id] = run
    yield from runs


def _add_run(build: Build, run: list[Node]) -> Steps[None]:
    parent = run[0].parent
    place = build.stored[parent].place if parent is not None else ROOT
    marks = advance(place, [node.message for node in run], exact=False)
    begin = 0
    for i in range(1, len(run) + 1):
        if i < len(run) and marks[i].exchange == marks[begin].exchange:
            continue
        group = [prepare_one(build.ctx, node.message) for node in run[begin:i]]
        ends = [*marks[begin : i - 1], ending(marks[i - 1])]
        yield from build.add(group, parent, build.at, marks=ends)
        parent, begin = run[i - 1].message.id, i
