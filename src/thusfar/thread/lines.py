"""Lines: the branches of a thread as its readers count them, whatever was deleted.

A line goes from the first message that no older line holds to a message that nothing follows. It
is one stored branch, and more where the end of a branch was deleted: then the oldest of what
follows that place goes on with its line.

Source:
    docs/spec/threads.md#branches
"""

from __future__ import annotations

from typing import NamedTuple

from thusfar.drive import Steps
from thusfar.storage import questions as q
from thusfar.storage.rows import BranchRow, NodeRow, branch_of, first_of, last_of
from thusfar.thread.paths import Context, damaged


class Line(NamedTuple):
    """One line of a thread.

    Attributes:
        branches: The stored branches that it is made of, oldest message first.
        leaf: Its last message.
    """

    branches: tuple[BranchRow, ...]
    leaf: NodeRow


def lines_steps(ctx: Context) -> Steps[list[Line]]:
    """List the lines of a thread, in the order in which they were begun.

    Raises:
        CorruptRecordError: `CORRUPT_RECORD`, for a branch without a message.
    """
    rows: list[BranchRow] = yield q.ReadBranches(ctx.thread_id)
    ends: dict[int, NodeRow] = {}
    for row in rows:
        ends[row.branch] = yield from _end_of(row)
    tips = {end.node for end in ends.values()}
    behind: dict[int, BranchRow] = {}
    for row in rows:
        if row.parent in tips:
            behind.setdefault(row.parent, row)
    going_on = {row.branch for row in behind.values()}
    lines: list[Line] = []
    for row in rows:
        if row.branch not in going_on:
            line = [row]
            while (end := ends[line[-1].branch]).node in behind:
                line.append(behind[end.node])
            lines.append(Line(tuple(line), end))
    return lines


def places_in(lines: list[Line]) -> dict[int, int]:
    """Number stored branches in the order in which their messages are written."""
    branches = [row.branch for line in lines for row in line.branches]
    return {branch: place for place, branch in enumerate(branches)}


def in_order(node: int, places: dict[int, int]) -> tuple[int, int]:
    """Tell where a node stands among all of its thread, as a key to sort by."""
    return places[branch_of(node)], node


def _end_of(row: BranchRow) -> Steps[NodeRow]:
    low, high = first_of(row.branch), last_of(row.branch)
    newest: list[NodeRow] = yield q.ReadNodes(low, high, 1, newest_first=True)
    if not newest:
        raise damaged("A branch held no message.", branch=row.branch)
    return newest[0]
