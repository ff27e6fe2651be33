"""Fingerprints: what a run may not find changed when it goes on, the way from task to task.

Texts, models, schemas, limits, functions and what takes failures over are no part of one: they
are what an author corrects before a run that failed goes on.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from thusfar.codec import canonical_json
from thusfar.errors import InvalidStateError
from thusfar.process.position import Position
from thusfar.process.routing import Graph
from thusfar.process.tasks import AnyTask, DecisionTask, SubProcess, Task

_CHARS: Final = 16  # hexadecimal digits; it guards against mistakes, not against forgery


def fingerprint(graph: Graph) -> str:
    """Write a digest of where each task leads, those of sub-processes too.

    It is the same for the same ways, however they are declared: by `sequence` or by `next_task`.
    """
    return hashlib.sha256(canonical_json(_ways(graph, ()))).hexdigest()[:_CHARS]


def require_unchanged(graph: Graph, position: Position, **facts: Any) -> None:
    """Check that a run was begun by the same graph, where that is known.

    Raises:
        InvalidStateError: `INVALID_STATE`, when it was begun by another one.
    """
    if position.graph in ("", fingerprint(graph)):
        return
    raise InvalidStateError(
        "The tasks of a process lead elsewhere than when its run began.",
        fix="Go on with the definition that began it, or allow the change: allow_changed=True.",
        task_id=position.at,
        **facts,
    )


def _ways(graph: Graph, around: tuple[Graph, ...]) -> dict[str, Any]:
    tasks = {name: _way(graph, task, (*around, graph)) for name, task in graph.tasks.items()}
    return {"start": graph.start, "tasks": tasks}


def _way(graph: Graph, task: AnyTask, around: tuple[Graph, ...]) -> list[Any]:
    way: list[Any] = [type(task).__name__, graph.behind(task)]
    match task:
        case Task():
            way.append(sorted({edge.to for edge in task.edges}))
        case DecisionTask():
            way.append([target for _, target in task.decisions])
        case SubProcess():
            inside = task.process.graph
            itself = any(inside is each for each in around)
            way += [task.process.id, None if itself else _ways(inside, around)]
    return way
