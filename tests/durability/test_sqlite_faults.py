"""A database that cannot work gives a typed error that names the fix, and loses nothing."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import apsw
import pytest

from folders import shared_folder
from thusfar.errors import (
    CorruptRecordError,
    OptionsError,
    SchemaTooNewError,
    StorageBusyError,
    StorageClosedError,
    StorageError,
    StorageFullError,
    StorageReadOnlyError,
    StorageUnavailableError,
)
from thusfar.messages import Message, Text
from thusfar.storage import SqliteStore, open_store
from thusfar.storage.migrations import NEWEST
from thusfar.storage.sqlite_errors import KINDS
from thusfar.testing.store_laws.told import (
    assistant,
    calling,
    conversation,
    result,
    sound,
    thread,
    user,
)
from thusfar.thread import Thread


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "full.db"
    store = SqliteStore(path)
    told = conversation(store, 2)
    pages = store._pool._idle[0].connection.pragma("page_count")
    store._pool._idle[0].connection.pragma("max_page_count", pages + 2)

    with pytest.raises(StorageFullError, match="Free some space"):
        told.append(Message("user", (Text("x" * 100_000),), id="big"))

    assert told.read().ids == ("u1", "a1", "u2", "a2")
    store._pool._idle[0].connection.pragma("max_page_count", 1_000_000)
    told.append(Message("user", (Text("x" * 100_000),), id="big"))
    sound(told)


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b.db", "half \ud800.db"])
def test_a_path_that_names_no_file_is_refused(path: str) -> None:
    with pytest.raises(OptionsError):
        SqliteStore(path)
    with pytest.raises(OptionsError):
        open_store(f"sqlite:///{path}")


@pytest.mark.parametrize("url", ["memory:", "sqlite:///t.db", "postgresql://127.0.0.1:1/x"])
@pytest.mark.parametrize("wait", [-1, True, "1", None, float("nan"), float("inf"), 1e7])
def test_a_wait_that_is_none_is_refused_before_anything_is_opened(
    url: str, wait: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(OptionsError, match="busy_timeout_seconds"):
        open_store(url, busy_timeout_seconds=wait)

    assert list(tmp_path.iterdir()) == []


def test_a_locked_database_is_told_after_the_timeout(tmp_path: Path) -> None:
    path = tmp_path / "locked.db"
    told = conversation(SqliteStore(path, busy_timeout_seconds=0.1), 1)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StorageBusyError) as caught:
        told.append(user("u2"))

    assert caught.value.retryable
    assert told.read().ids == ("u1", "a1"), "reading goes on"
    other.execute("ROLLBACK")
    assert told.append(user("u2")).status == "selected"


def test_a_read_only_store_reads_and_refuses_writes(tmp_path: Path) -> None:
    path = tmp_path / "read.db"
    conversation(SqliteStore(path), 1)
    told = thread(open_store(f"sqlite:///{path}", read_only=True))

    with pytest.raises(StorageReadOnlyError):
        told.append(user("u2"))
    with pytest.raises(StorageReadOnlyError):
        told.verify(erased=True)

    assert told.read().ids == ("u1", "a1")


UNWRITABLE = """
import os, sys
from thusfar.errors import StorageReadOnlyError
from thusfar.storage import open_store
from thusfar.testing.store_laws.told import conversation

url = "sqlite:///" + sys.argv[1] + "/t.db"
store = open_store(url)
conversation(store, 1)
store.close()
os.chmod(sys.argv[1], 0o555)
os.chmod(sys.argv[1] + "/t.db", 0o444)
if os.getuid() == 0:  # which may write everywhere
    os.setgid(65534)
    os.setuid(65534)
for read_only, fix in ((True, "read a copy of the file"), (False, "write permission")):
    try:
        open_store(url, read_only=read_only)
    except StorageReadOnlyError as error:
        assert fix in error.fix, error.fix
    else:
        sys.exit("opened")
"""


def test_a_database_in_a_directory_that_cannot_be_written_says_what_to_do() -> None:
    with tempfile.TemporaryDirectory(dir=shared_folder()) as home:
        os.chmod(home, 0o755)

        done = subprocess.run(
            [sys.executable, "-c", UNWRITABLE, home], capture_output=True, text=True, check=False
        )

        assert done.returncode == 0, done.stderr
        os.chmod(home, 0o755)


def test_another_products_database_is_refused_read_only_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE ferry (name text)")
    other.close()
    before = path.read_bytes()

    with pytest.raises(StorageReadOnlyError, match="A database without threads"):
        open_store(f"sqlite:///{path}", read_only=True)

    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["other.db"]


def test_a_database_whose_tables_cannot_be_written_is_told(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "query.db")
    told = conversation(store, 1)
    store._pool._idle[0].connection.pragma("query_only", True)

    with pytest.raises(StorageReadOnlyError):
        told.append(user("u2"))

    assert told.read().ids == ("u1", "a1")


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, and no database at all. " * 100)

    with pytest.raises(CorruptRecordError, match="not an SQLite database"):
        SqliteStore(path)

    assert path.read_text().startswith("These are notes")


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailableError, match="Create its directory"):
        SqliteStore(tmp_path / "nowhere" / "a.db")


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    store = SqliteStore(path)
    told = conversation(store, 200)
    told.verify(erased=True)
    store.close()
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        for page in range(2, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 2048)

    with pytest.raises(CorruptRecordError):
        thread(SqliteStore(path)).read()


def test_a_damaged_record_is_found_by_verify_and_never_skipped(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    told = conversation(SqliteStore(path), 2)
    raw = apsw.Connection(str(path))
    raw.execute('UPDATE thusfar_node SET body = \'{"role":"user"\' WHERE depth = 1')

    found = told.verify()

    assert "A message could not be decoded." in [p.message for p in found.problems]
    with pytest.raises(CorruptRecordError, match="Run verify"):
        told.read()


@pytest.mark.parametrize(
    ("tampering", "problem"),
    [
        (
            "UPDATE thusfar_node SET body = replace(body, '…', 'x') WHERE depth = 1",
            "A message did not have the digest that was stored with it.",
        ),
        (
            "UPDATE thusfar_node SET chain = zeroblob(32) WHERE node & 0xffffff = 1",
            "A chained digest did not follow from the one before.",
        ),
        (
            "UPDATE thusfar_head SET salt = 'a1'",
            "A head had another message id or salt than its thread.",
        ),
        (
            "UPDATE thusfar_node SET message_id = 'a1' WHERE depth = 2",
            "A message id did not have the key that was stored with it.",
        ),
        (
            "DELETE FROM thusfar_node WHERE depth = 2",
            "A message stood at another place than it said.",
        ),
        (
            "UPDATE thusfar_head SET node = node + 7",
            "A head pointed at a message that is not stored.",
        ),
        (
            "UPDATE thusfar_node SET key = zeroblob(16) WHERE depth = 2",
            "A message id did not have the key that was stored with it.",
        ),
        ("UPDATE thusfar_node SET size = 2 WHERE depth = 3", "A group was stored in part."),
        (
            "UPDATE thusfar_node SET turn = 9 WHERE depth = 3",
            "A message said of its turn or its open calls what cannot be.",
        ),
        (
            "UPDATE thusfar_node SET pending = 'x' WHERE depth = 3",
            "A message said of its turn or its open calls what cannot be.",
        ),
    ],
)
def test_verify_finds_what_was_changed_behind_its_back(
    tmp_path: Path, tampering: str, problem: str
) -> None:
    path = tmp_path / "tampered.db"
    told = conversation(SqliteStore(path), 2)
    apsw.Connection(str(path)).execute(tampering)

    found = told.verify()

    assert not found.ok
    assert problem in [p.message for p in found.problems]
    assert {p.code for p in found.problems} == {"CORRUPT_RECORD"}


@pytest.mark.parametrize("column", ["turn", "exchange", "run", "flags", "pending", "digest"])
def test_verify_knows_the_place_of_each_message_by_the_one_before(
    tmp_path: Path, column: str
) -> None:
    path = tmp_path / "places.db"
    told = conversation(SqliteStore(path), 2)
    told.append([user("u3"), calling("b3", "c3"), result("t3", "c3"), assistant("a3")])
    told.append(calling("b4", "c4"), open=True)
    told.append(user("u4"))
    told.append(result("t4", "c4"))
    told.append(assistant("a4"))
    told.edit("u2", "…", id="e2")
    told.remove("u3")
    told.redact("b4")
    sound(told)
    file = apsw.Connection(str(path))
    wrong = {"pending": """'[["c9",null,0]]'""", "digest": "zeroblob(32)"}
    unknown = {"b4"}  # its content would tell
    if column == "exchange":
        unknown |= {"t3", "t4"}  # the open calls before them would
    told_of: set[str] = set()
    names = dict(file.execute("SELECT node, message_id FROM thusfar_node").fetchall())
    for node, name in names.items():
        change = wrong.get(column, f"{column} + 1")
        file.execute("BEGIN")
        (old,) = file.execute(f"SELECT {column} FROM thusfar_node WHERE node = {node}").fetchone()
        file.execute(f"UPDATE thusfar_node SET {column} = {change} WHERE node = {node}")
        file.execute("COMMIT")

        told_of |= set() if told.verify().ok else {name}

        file.execute(f"UPDATE thusfar_node SET {column} = ? WHERE node = {node}", (old,))
    sound(told)
    assert set(names.values()) - told_of <= unknown


def test_verify_finds_what_receipts_artifacts_and_tombstones_have_lost(tmp_path: Path) -> None:
    path = tmp_path / "lost.db"
    told = conversation(SqliteStore(path), 3)
    told.append(user("alt"), after="a1")
    told.keep_artifact("S", kind="k", first="u1", last="a2", body={})
    told.redact("u1")
    told.keep_artifact("S", kind="k", first="a1", last="a2", body={})
    sound(told)
    file = apsw.Connection(str(path))
    lost = "A receipt or an artifact named a message that is not stored."
    for change, undo, problem in (
        (
            "thusfar_node SET head_then = head_then + 9 WHERE head_then > 0",
            "thusfar_node SET head_then = head_then - 9 WHERE head_then > 0",
            lost,
        ),
        (
            "thusfar_artifact SET node = node + 99",
            "thusfar_artifact SET node = node - 99",
            lost,
        ),
        (
            "thusfar_node SET message_id = 'x' WHERE state = 2",
            "thusfar_node SET message_id = 'u1' WHERE state = 2",
            "A message id did not have the key that was stored with it.",
        ),
    ):
        file.execute(f"UPDATE {change}")
        assert problem in [found.message for found in told.verify().problems], change
        file.execute(f"UPDATE {undo}")
        sound(told)


def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    SqliteStore(path).close()
    apsw.Connection(str(path)).execute("INSERT INTO thusfar_schema VALUES (99, 'future')")
    before = path.read_bytes()

    with pytest.raises(SchemaTooNewError) as caught:
        SqliteStore(path)

    assert caught.value.facts == {"database_version": 99, "known_version": NEWEST}
    assert path.read_bytes() == before


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "closed.db")
    told = conversation(store, 1)
    asyncio.run(Thread("t", store=store).read())
    store.close()

    with pytest.raises(StorageClosedError):
        told.read()
    with pytest.raises(StorageClosedError):
        asyncio.run(Thread("t", store=store).read())


def test_every_error_of_the_driver_has_one_of_ours() -> None:
    kinds = {
        value
        for value in vars(apsw).values()
        if isinstance(value, type) and issubclass(value, apsw.Error)
    }

    assert kinds - set(KINDS) == set()
    assert all(issubclass(ours, StorageError) and fix for ours, _, fix in KINDS.values())
