"""Records: forgetting what was kept beside a thread, in the write that erases what it tells of."""

from __future__ import annotations

from typing import Any

import msgspec

from thusfar.drive import Steps

FINGERPRINT = "fingerprint"
"""Kind of the records that hold digests of a request; they go with any message of their thread."""


class DropRecords(msgspec.Struct, frozen=True, gc=False):
    """Delete the records of one kind that belong to a thread.

    Attributes:
        kind: The kind.
        thread_id: The thread.
    """

    kind: str
    thread_id: str


def drop_records(namespace: str, change: DropRecords) -> Steps[None]:
    """Carry out `DropRecords` in SQL."""
    yield (
        "DELETE FROM thusfar_record WHERE namespace = ? AND thread_id = ? AND kind = ?",
        (namespace, change.thread_id, change.kind),
    )


def drop_held(records: dict[Any, Any], change: DropRecords) -> None:
    """Carry out `DropRecords` on a dict of records."""
    for key, held in list(records.items()):
        if (held.kind, held.thread_id) == (change.kind, change.thread_id):
            del records[key]
