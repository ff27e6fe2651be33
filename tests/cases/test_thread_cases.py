"""The public cases about threads, on every store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cases.case_file import Case, case, cases
from shared_data import SHARED, needs_shared
from thusfar.codec import canonical_json
from thusfar.digests import message_digest
from thusfar.errors import HistoryError
from thusfar.messages import Message, Native, Text, ToolCall
from thusfar.storage import Store, open_store
from thusfar.testing.store_laws.told import assistant, conversation, result, sound, thread, user
from thusfar.thread import SyncThread, Thread

pytestmark = needs_shared

OPS = ("append", "append-race", "append-many", "store", "store-crash", "load", "migrate", "branch")
HANDLED = {"C22", "C23", "C24", "C26", "C27", "C28", "C30", "C31", "C34", "C35"}

Reopen = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Open the same store again and again."""
    opened: list[Store] = []
    memory = open_store("memory:")

    def again() -> Store:
        name = f"case-{os.getpid()}-{abs(hash(tmp_path))}"
        if request.param == "memory":
            store: Store = memory.within(name)
        elif request.param == "sqlite":
            store = open_store(f"sqlite:///{tmp_path / 'case.db'}", namespace=name)
        else:
            url = request.getfixturevalue("postgres_url")
            store = open_store(url, namespace=name)
        opened.append(store)
        return store

    yield again
    for store in opened:
        store.close()


def test_every_case_about_threads_is_tested() -> None:
    found = {each.id for op in (*OPS, "erase") for each in cases(op)}

    assert found, "no case was selected"
    assert found == HANDLED


def test_a_conversation_continues_after_it_was_reopened(reopen: Reopen) -> None:
    given = case("store", "C22")

    for step in given.input["steps"]:
        if step == "close and reopen":
            continue
        name = step.removeprefix("append ")
        thread(reopen()).append(user(name) if name[0] == "u" else assistant(name))
    sent = thread(reopen()).transcript().messages

    assert list(thread(reopen()).read().ids) == given.expected["stored_ids"]
    assert [m.id for m in sent].count("u2") == 1


def test_many_writers_at_once_lose_nothing(reopen: Reopen) -> None:
    given = case("append-many", "C23")
    writers = given.input["writers"]
    stores = [reopen() for _ in range(writers)]

    with ThreadPoolExecutor(writers) as pool:
        commits = list(pool.map(lambda i: thread(stores[i]).append(user(f"w{i}")), range(writers)))

    told = thread(stores[0])
    everywhere = [i for b in told.branches() for i in told.read(at=b.leaf).ids]
    assert told.verify().messages == writers
    assert set(everywhere) == {f"w{i}" for i in range(writers)}
    assert {c.status for c in commits} <= {"selected", "alternative"}
    assert any(c.status == "selected" for c in commits)
    sound(told)


def test_a_database_grows_with_what_is_said(tmp_path: Path) -> None:
    given = case("store", "C24")
    path = tmp_path / "size.db"
    told = thread(open_store(f"sqlite:///{path}", synchronous="NORMAL"))
    text = "x" * given.input["bytes_per_message"]

    def talk(turns: int) -> int:
        for _ in range(turns):
            told.append(Message("user", (Text(text),)))
            told.append(Message("assistant", (Text(text),)))
        told.verify(erased=True)
        return path.stat().st_size

    first = talk(given.input["turns"])
    second = talk(given.input["turns"])

    assert first <= 2_000_000
    assert second <= 2.5 * first


def test_an_edit_leaves_the_old_branch_and_its_artifact(reopen: Reopen) -> None:
    given = case("branch", "C26")
    told = conversation(reopen(), 3)
    covers = given.input["artifact"]["covers"]
    told.keep_artifact("S1", kind="k", first=covers[0], last=covers[-1], body={"text": "…"})

    told.edit("u2", "…", id="u2e")

    assert list(told.read().ids) == given.expected["path"]
    assert [m.id for m in told.transcript().messages] == given.expected["path"]
    assert told.artifacts() == ()
    told.select("u2")
    assert told.read().ids == ("u1", "a1", "u2", "a2", "u3", "a3")
    assert [a.key for a in told.artifacts()] == ["S1"]


def test_an_unknown_parent_is_refused_before_any_write(reopen: Reopen) -> None:
    given = case("append", "C27")
    told = thread(reopen())
    for stored in given.input["stored"]:
        told.append(user(stored))

    with pytest.raises(HistoryError) as caught:
        told.append(user(given.input["entry"]["id"]), after=given.input["after"])

    assert caught.value.code == "MESSAGE_NOT_FOUND"
    assert list(told.read().ids) == given.input["stored"]


def test_a_nul_character_is_stored_like_any_other(reopen: Reopen) -> None:
    given = case("append", "C28")
    entry = given.input["entry"]
    message = user(entry["id"], entry["text"])
    told = thread(reopen())

    told.append(message)

    read = thread(reopen()).read().messages[0]
    assert read == message
    assert message_digest(read) == message_digest(message)
    assert told.append(assistant("a1")).status == "selected"


VALUES: dict[str, Any] = {
    "datetime 2025-03-01T10:00:00+00:00": datetime(2025, 3, 1, 10, tzinfo=UTC),
    "Decimal 1.10": Decimal("1.10"),
    "bytes 00 ff": b"\x00\xff",
    "NaN": float("nan"),
    "a dict with the number 1 as key": {1: "a"},
    "tuple (1, 2)": (1, 2),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_tools_value_is_stored_as_it_reads_or_refused_with_its_place(
    reopen: Reopen, name: str
) -> None:
    given = case("append", "C30")
    assert name in given.input["values"]

    def group() -> list[Any]:
        return [
            Message("assistant", (ToolCall("c1", "f"),), id="a1"),
            _answer(VALUES[name]),
        ]

    told = thread(reopen())
    try:
        told.append(group())
    except HistoryError as error:
        assert error.code == "INVALID_MESSAGE"
        assert "$" in str(error.facts["path"])
        assert told.read().entries == ()
        return
    assert told.append(group()).replayed, "the same value gave other bytes"
    assert told.read().ids == ("a1", "t1")


def _answer(value: Any) -> dict[str, Any]:
    """A tool message that carries the value, as an application would write it."""
    text = value if isinstance(value, datetime | Decimal) else "…"
    part = {"type": "tool_result", "call_id": "c1", "parts": [{"type": "text", "text": text}]}
    return {"role": "tool", "parts": [part], "id": "t1", "metadata": {"returned": value}}


def test_rows_with_missing_and_unknown_fields_load(reopen: Reopen) -> None:
    given = case("load", "C31")
    hologram = given.input["rows"][2]["unknown_part"]
    raw = canonical_json(hologram).decode()
    told = thread(reopen())
    told.append(user("u1", given.input["rows"][0]["text"]))
    told.append(
        Message("assistant", (Text("hello"),), id="a1", metadata=given.input["rows"][1]["usage"])
    )
    told.append(Message("assistant", (Native("app", hologram["type"], raw),), id="x1"))

    read = thread(reopen()).read().messages

    assert [m.id for m in read] == ["u1", "a1", "x1"]
    assert read[2].parts == (Native("app", "hologram", raw),)
    with pytest.raises(HistoryError) as caught:
        told.export(format="openai-chat")
    assert caught.value.code == "UNSUPPORTED_PART"


def test_order_is_that_of_the_appends(reopen: Reopen) -> None:
    given = case("load", "C34")
    told = thread(reopen())
    stamps = iter(int(row["ts"] * 1000) for row in given.input["rows"])
    told = Thread("t", store=_ticking(reopen(), stamps)).sync
    told.append(user("u1"))
    told.append(Message("assistant", (ToolCall("k", "f"),), id="a1"), open=True)
    told.append(result("t1", "k"))
    told.append(assistant("a2"))

    assert list(told.read().ids) == given.expected["order"]
    assert [e.created_at for e in told.read().entries] == [100_000, 205_500, 205_310, 205_310]


def _ticking(store: Store, stamps: Iterator[int]) -> Store:
    store.clock = stamps.__next__  # type: ignore[misc]
    return store


@pytest.mark.parametrize("erase", [["u1", "a1"], ["u1"]])
def test_what_is_erased_is_erased_with_its_summary(tmp_path: Path, erase: list[str]) -> None:
    given = case("erase", "C35")
    texts = {m["id"]: m["text"] for m in given.input["messages"]}
    path = tmp_path / "erase.db"
    told: SyncThread = thread(open_store(f"sqlite:///{path}"))
    for message_id, text in texts.items():
        told.append(user(message_id, text) if message_id[0] == "u" else assistant(message_id, text))
    artifact = given.input["artifact"]
    told.keep_artifact("S1", kind="k", first="u1", last="a1", body={"text": artifact["text"]})

    told.redact(*erase)

    assert told.artifacts() == ()
    assert told.read().ids == ("u1", "a1", "u2", "a2")
    assert told.append(user("u3")).status == "selected"
    if erase == ["u1", "a1"]:
        for file in tmp_path.iterdir():
            assert b"X123" not in file.read_bytes()
        assert "X123" not in told.export()
    sound(told)


def test_the_cases_are_where_they_are_expected() -> None:
    assert SHARED is not None
    assert all(isinstance(each, Case) for op in OPS for each in cases(op))
