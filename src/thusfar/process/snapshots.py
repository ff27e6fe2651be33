"""Snapshots: everything a run needs to go on, as JSON values.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from thusfar.errors import InvalidStateError
from thusfar.process.kinds import END
from thusfar.process.log import ActionLog, LogOptions
from thusfar.process.position import Position
from thusfar.process.routing import Graph
from thusfar.storage.runs import RunRow

SNAPSHOT_SCHEMA: Final = 1  # 1: state, log and position


def write_snapshot(
    process_id: str, values: dict[str, Any], log: ActionLog, position: Position
) -> dict[str, Any]:
    """Write a process as JSON values that share nothing with it."""
    return {
        "schema": SNAPSHOT_SCHEMA,
        "process": process_id,
        "state": msgspec.to_builtins(values),
        "log": log.snapshot(),
        "position": msgspec.to_builtins(position),
    }


def read_snapshot(
    snapshot: Mapping[str, Any], process_id: str, graph: Graph, options: LogOptions
) -> tuple[ActionLog, Position, dict[str, Any]]:
    """Read what `write_snapshot` wrote.

    Args:
        snapshot: The snapshot.
        process_id: Id of the process that takes it over.
        graph: Its tasks.
        options: The options of its log.

    Returns:
        The log, the position and the values of the state.

    Raises:
        InvalidStateError: `INVALID_STATE`, for a snapshot of another process, of a newer version,
            or of another shape.
    """
    if not isinstance(snapshot, Mapping):
        raise _foreign("did not have the shape of one")
    if snapshot.get("process") != process_id or snapshot.get("schema") != SNAPSHOT_SCHEMA:
        raise _foreign("was of another process or version")
    try:
        log = ActionLog.restored(options, snapshot["log"])
        position = msgspec.convert(snapshot["position"], Position)
        values = msgspec.convert(snapshot["state"], dict[str, Any])
    except (ValueError, KeyError, TypeError) as error:
        raise _foreign("did not have the shape of one") from error
    require_task(graph, position)
    return log, position, values


def require_task(graph: Graph, position: Position) -> None:
    """Check that a position is at a task that there is, and came from such.

    Raises:
        InvalidStateError: `INVALID_STATE`, when it is not.
    """
    if not {position.at, *position.callers} <= {*graph.tasks, END}:
        raise _foreign("stood at a task that does not exist here")


def require_same(process_id: str, row: RunRow) -> None:
    """Check that a stored run is one of a process.

    Raises:
        InvalidStateError: `INVALID_STATE`, when it is one of another.
    """
    if row.process_id != process_id:
        raise InvalidStateError(
            "A stored run was of another process.",
            fix="Use it with a process of the definition that began it.",
            run_id=row.run_id,
            process_id=row.process_id,
        )


def _foreign(what: str) -> InvalidStateError:
    return InvalidStateError(
        f"A snapshot {what}.", fix="Restore it in a process of the definition that wrote it."
    )
