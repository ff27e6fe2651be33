"""After an erasure no byte of the secret is left: files, log, exports, artifacts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.storage import SqliteStore, Store, open_store
from thusfar.testing.store_laws.told import assistant, conversation, sound, user
from thusfar.thread import SyncThread, Thread

SECRET = "passport-X123456789"
FORMS = (SECRET.encode(), SECRET.encode("utf-16-le"), SECRET.encode().hex().encode())

Erase = Callable[[SyncThread], object]


def _told(store: Store) -> SyncThread:
    """A thread with the secret in every place a message has, short and long."""
    told = conversation(store, 20)
    told.append(user("s1", f"My number is {SECRET}."))
    told.append(Message("user", (Text("…"),), id="s2", metadata={"note": SECRET}))
    told.append(assistant("s3", SECRET * 2_000))
    told.append(
        [
            Message("assistant", (ToolCall("k", "look", f'{{"n": "{SECRET}"}}'),), id="s4"),
            Message("tool", (ToolResult("k", parts=(Text(SECRET),)),), id="s5"),
        ]
    )
    told.append(Message("assistant", (ToolCall(SECRET, SECRET),), id="s6"), open=True)
    told.keep_artifact("S1", kind="d", first="u1", last="s1", body={"text": f"User: {SECRET}"})
    told.append(Message("tool", (ToolResult(SECRET, SECRET),), id="s7"))
    told.append(user("u99"))
    return told


def _redact(told: SyncThread) -> object:
    return told.redact("s1", "s2", "s3", "s4", "s5", "s6", "s7")


def _delete(told: SyncThread) -> object:
    return told.delete()


def _delete_branch(told: SyncThread) -> object:
    told.edit("s1", "harmless", id="e1")
    told.delete(branch="s1")
    return None


@pytest.mark.parametrize("erase", [_redact, _delete, _delete_branch])
def test_sqlite_files_hold_nothing_of_an_erased_secret(tmp_path: Path, erase: Erase) -> None:
    store = SqliteStore(tmp_path / "erase.db")
    told = _told(store)
    assert _places(tmp_path), "the secret was never in the files, so the search shows nothing"

    erase(told)

    assert _places(tmp_path) == []
    if erase is not _delete:
        assert SECRET not in told.export()
        assert told.artifacts() == ()
        found = told.verify(erased=True)
        assert found.ok
        assert found.erasure == "complete"
        assert told.append(user("later")).status == "selected"
        sound(told)


def test_an_erasure_is_pending_while_a_reader_holds_the_log(tmp_path: Path) -> None:
    path = tmp_path / "pending.db"
    told = _told(SqliteStore(path))
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM thusfar_node").fetchall()

    first = told.redact("s1", "s2", "s3", "s4", "s5", "s6", "s7")
    while_reading = told.verify(erased=True).erasure
    reader.execute("ROLLBACK")
    afterwards = told.verify(erased=True).erasure

    assert first.state == "pending"
    assert while_reading == "pending"
    assert afterwards == "complete"
    assert _places(tmp_path) == []


def test_postgres_rows_are_gone_and_their_versions_after_vacuum(postgres_url: str) -> None:
    import psycopg

    store = open_store(postgres_url, namespace=f"erase-{os.getpid()}")
    told = _told(store)

    told.redact("s1", "s2", "s3", "s4", "s5", "s6", "s7")
    found = told.verify(erased=True)

    assert found.ok
    assert found.erasure == "complete"
    assert SECRET not in told.export()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        tables = [
            row[0]
            for row in connection.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'thusfar_%'"
            )
        ]
        for table in tables:
            hits = connection.execute(
                f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s", (f"%{SECRET}%",)
            ).fetchone()
            assert hits == (0,), table
        dead = connection.execute(
            "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables"
            " WHERE relname = 'thusfar_node'"
        ).fetchone()
        assert dead == (0,), "dead row versions were left"
        for table in tables:
            connection.execute(f"VACUUM FULL {table}")
        connection.execute("CHECKPOINT")
        home = Path(str(connection.execute("SHOW data_directory").fetchone()[0]))
    if home.is_dir():
        assert _places(home / "base") == []
    store.close()


def test_postgres_says_pending_while_somebody_could_still_see_the_old_row(
    postgres_url: str,
) -> None:
    import psycopg

    store = open_store(postgres_url, namespace=f"pending-{os.getpid()}")
    told = _told(store)
    with psycopg.connect(postgres_url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM thusfar_node").fetchone()
        told.redact("s1")
        held = told.verify(erased=True).erasure

    assert held == "pending"
    assert told.verify(erased=True).erasure == "complete"
    store.close()


def test_postgres_says_pending_to_a_role_that_cannot_vacuum(postgres_url: str) -> None:
    """The server only warns such a role, and vacuums nothing."""
    import psycopg

    owner = open_store(postgres_url)
    role = f"writer_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'p'")
        admin.execute(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
        )
        admin.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}")
        told = _as_role(postgres_url, role)
        told.append(Message("user", (Text(SECRET),), id="s1"))
        told.redact("s1")

        assert told.verify(erased=True).erasure == "pending"

        mine = Thread(told.read().thread_id, store=owner.within(role)).sync
        assert mine.verify(erased=True).erasure == "complete"
        told._thread.store.close()
        owner.close()
        admin.execute(f"DROP OWNED BY {role}")
        admin.execute(f"DROP ROLE {role}")


def _as_role(url: str, role: str) -> SyncThread:
    """Open the store as another role, whatever the URL names."""
    from psycopg.conninfo import conninfo_to_dict

    given = conninfo_to_dict(url)
    place = {k: str(v) for k, v in given.items() if k in ("host", "port", "dbname")}
    query = "&".join(f"{k}={v}" for k, v in place.items() if k != "dbname")
    store = open_store(
        f"postgresql://{role}:p@/{place.get('dbname', 'postgres')}?{query}", namespace=role
    )
    return Thread("t", store=store).sync


def _places(directory: Path) -> list[str]:
    """List the files that hold the secret in any form."""
    found = []
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if any(form in content for form in FORMS):
                found.append(path.name)
    return found
