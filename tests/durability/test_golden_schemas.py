"""Databases of every schema since the first are read by today's code, with everything in them.

Each file was written by the version that had that schema, with the same conversation: the thread
`trip` (parts of every kind, an edit, another answer, another owner with an open call, a redaction,
a summary, a receipt), the deleted `gone`, another tenant's `trip`, and two runs, one of which
failed. What that version read in it is in `schemas_2_to_4.json`, and was the same for all.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from durability.golden import GOLDEN, Opening, opening_of
from thusfar import (
    InputBudget,
    Runtime,
    Scripted,
    history,
    inspect_request_sync,
    plan_sync,
    summarize,
)
from thusfar.errors import HistoryError
from thusfar.messages import Message, Text, ToolResult
from thusfar.process import Process, Runs, Task
from thusfar.storage import Store
from thusfar.storage import questions as q
from thusfar.storage.migrations import NEWEST
from thusfar.testing.store_laws.told import sound
from thusfar.thread import SyncThread, Thread, threads_sync

READ: dict[str, Any] = json.loads((GOLDEN / "schemas_2_to_4.json").read_text(encoding="utf-8"))
SCHEMAS = (2, 3, 4)


def test_there_is_a_database_of_every_schema():
    found = {int(path.name.split(".")[0][-1]) for path in GOLDEN.glob("schema_*.sqlite.sql")}

    assert found == set(range(1, NEWEST + 1))


@pytest.fixture(params=[(number, kind) for number in SCHEMAS for kind in ("sqlite", "postgres")])
def opening(request: pytest.FixtureRequest) -> Opening:
    """What opens a golden database with today's code."""
    return opening_of(*request.param, request)


@pytest.fixture
def store(opening: Opening) -> Store:
    """A golden database, opened."""
    return opening()


def _told(store: Store, owner: str = "main") -> SyncThread:
    return Thread("trip", store=store, owner=owner).sync


def _path(told: SyncThread) -> list[list[Any]]:
    entries = [
        [e.kind, e.id, e.parent_id, e.group, e.open, e.available, e.created_at, e.message]
        for e in told.read().entries
    ]
    read: list[list[Any]] = msgspec.json.decode(msgspec.json.encode(entries))
    return read


def test_every_thread_is_read_as_it_was(store: Store) -> None:
    told = _told(store)

    assert [[info.thread_id, info.messages] for info in threads_sync(store)] == READ["threads"]
    assert _path(told) == READ["main"]
    assert _path(_told(store, "night")) == READ["night"]
    assert _path(_told(store.within("tenant-2"))) == READ["tenant-2"]
    assert [m.id for m in told.transcript().messages] == READ["transcript"]
    assert told.owners() == READ["owners"]
    assert {b.leaf: b.length for b in told.branches()} == READ["branches"]
    sound(told)
    sound(_told(store, "night"))
    with pytest.raises(HistoryError) as deleted:
        Thread("gone", store=store).sync.read()
    assert deleted.value.code == "THREAD_DELETED"


def test_runs_are_read_as_they_were_and_go_on(store: Store) -> None:
    runs = Runs(store).sync
    found = {
        name: {
            "status": runs.info(name).status,
            "steps": runs.info(name).steps,
            "entries": len(runs.entries(name)),
            "state": runs.state(name),
        }
        for name in READ["runs"]
    }
    tasks = [Task(id=name, state_updates="done[]") for name in "ab"]
    process = Process(tasks, model=Scripted("did it at last"), sequence=["a", "b"])

    assert found == READ["runs"]
    assert runs.resume(process, "run-2").output == {"done": ["did it", "did it at last"]}


class Summariser:
    """Has the name of the one that made the stored summaries, and makes none."""

    name = "summariser"

    async def generate_text(self, **_: Any) -> str:
        raise AssertionError("a summary was made that is there")


class Words:
    name = "words"
    confidence = "exact"

    def count_many(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def test_receipts_and_summaries_are_used_as_they_were(store: Store) -> None:
    seen = inspect_request_sync("request_golden_1", store=store)
    model = Summariser()
    summary = {"strategy": summarize.rolling(), "max_tokens": 60}
    arguments: dict[str, Any] = {
        "thread": Thread("trip", store=store),
        "model": "gpt-4o",
        "counter": Words(),
        "budget": InputBudget(max=300),
        "policy": history(recent=6, summary=summary),
        "runtime": Runtime(store, summariser=model),
    }

    again = plan_sync(**arguments)

    (key,) = seen.artifacts
    assert [artifact.key for artifact in _told(store).artifacts()] == [key]
    assert again.receipt.history.artifact == key
    assert dict(seen.breakdown)["history"] == dict(again.inspect().breakdown)["history"]
    again.accept_sync("Good.")
    assert _told(store).read().ids[-1] != "r23"


def test_a_thread_goes_on_and_is_erased_from(opening: Opening) -> None:
    told = _told(opening())
    replay = told.append(
        [
            Message("user", (Text("And a seat at the window."),), id="u5"),
            Message("assistant", (Text("Booked."),), id="a5"),
        ],
        after="a4",
    )
    told.append([Message("user", (Text("More."),), id="n1")])
    told.edit("q3", "Otherwise.", id="n2")
    _told(opening(), "night").append(Message("tool", (ToolResult("open"),), id="n3"))
    with pytest.raises(HistoryError) as erased:
        told.append(Message("user", (Text("Again."),), id="u4"))

    assert replay.replayed
    assert erased.value.code == "MESSAGE_REDACTED"
    again = _told(opening())
    assert again.read().ids[-2:] == ("r2", "n2")
    assert again.select("q3").ids[-1] == "n1"
    assert [found.message.id for found in again.search("TGV")] == ["a2", "t1"]
    again.redact("t1")
    assert [found.message.id for found in again.search("TGV")] == ["a2"]
    assert opening().run(_artifacts()) == []
    again.verify(erased=True)
    sound(again)
    _told(opening(), "night").read()
    Thread("trip", store=opening()).sync.delete(force=True)
    assert threads_sync(opening()) == ()


def _artifacts() -> Any:
    rows = yield q.ReadArtifacts("trip")
    return [row.kind for row in rows]
