"""Paths: which records of a log with parent ids are on the path that its tool shows.

A log is a tree: an edited prompt starts a new branch beside the old one. The live path leads
from the newest record back to a root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Node(NamedTuple):
    """The place of one record in the tree.

    Attributes:
        id: Its id; `None` for a record outside the tree.
        parent: Id of the record before it; `None` at a root.
    """

    id: str | None
    parent: str | None


def live_path(nodes: Sequence[Node]) -> set[int]:
    """Find the positions of the records on the live path.

    The path starts at the last record that has an id. Where an id was written twice, a parent
    means the latest record of that id before its child. In a log in which no record names
    another as its parent, every record is on the path.

    Returns:
        Positions into `nodes`.
    """
    parents: list[int | None] = []
    latest: dict[str, int] = {}
    for position, node in enumerate(nodes):
        parents.append(latest.get(node.parent) if node.parent is not None else None)
        if node.id is not None:
            latest[node.id] = position
    if all(parent is None for parent in parents):
        return set(range(len(nodes)))
    path: set[int] = set()
    step: int | None = max(latest.values())
    while step is not None:
        path.add(step)
        step = parents[step]
    return path


def repeated(records: Sequence[Any], nodes: Sequence[Node]) -> set[int]:
    """Find the records that an earlier line says already, word for word.

    A session that is resumed, or a log that was joined from two, holds them. They say nothing
    new, and nothing stands behind them that does not stand behind the first.

    Args:
        records: The parsed lines, in file order.
        nodes: The place of each.

    Returns:
        Positions into `records`.
    """
    first: dict[str, Any] = {}
    found: set[int] = set()
    for position, (record, node) in enumerate(zip(records, nodes, strict=True)):
        if node.id is not None and first.setdefault(node.id, record) is not record:
            found.update({position} if record == first[node.id] else ())
    return found
