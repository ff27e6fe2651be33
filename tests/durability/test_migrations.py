"""Migrations run once, in order, whole or not at all, also when many processes start at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from thusfar.errors import SchemaTooNewError, StorageError
from thusfar.storage import SqliteStore, open_store
from thusfar.storage.migrations import MIGRATIONS, Migration, require_known
from thusfar.testing.store_laws.told import conversation, sound, thread

FOLLOWING = len(MIGRATIONS) + 1
NEXT = Migration(
    number=FOLLOWING,
    name="test",
    statements=("CREATE TABLE thusfar_extra (n {big} PRIMARY KEY){strict}",),
)
BROKEN = Migration(
    number=FOLLOWING,
    name="broken",
    statements=("CREATE TABLE thusfar_extra (n {big} PRIMARY KEY)", "CREATE TABLE nonsense"),
)


def test_numbers_follow_each_other_from_one() -> None:
    assert [m.number for m in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_an_older_database_is_migrated_and_keeps_its_threads(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    conversation(SqliteStore(path), 2)

    told = thread(SqliteStore(path, migrations=(*MIGRATIONS, NEXT)))

    assert told.read().ids == ("u1", "a1", "u2", "a2")
    sound(told)
    versions = apsw.Connection(str(path)).execute("SELECT version FROM thusfar_schema").fetchall()
    assert versions == [(number,) for number in range(1, FOLLOWING + 1)]
    with pytest.raises(SchemaTooNewError, match="Upgrade"):
        SqliteStore(path)


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    conversation(SqliteStore(path), 1)

    with pytest.raises(StorageError):
        SqliteStore(path, migrations=(*MIGRATIONS, BROKEN))

    tables = apsw.Connection(str(path)).execute("SELECT name FROM sqlite_schema").fetchall()
    assert ("thusfar_extra",) not in tables
    assert thread(SqliteStore(path)).read().ids == ("u1", "a1")


def test_a_newer_number_is_refused() -> None:
    with pytest.raises(SchemaTooNewError):
        require_known(FOLLOWING)
    require_known(0)


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_many_processes_may_start_at_once(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if backend == "sqlite":
        url = f"sqlite:///{tmp_path / 'start.db'}"
    else:
        url = _fresh_database(request.getfixturevalue("postgres_url"))
    program = (
        "import sys; sys.stdin.readline()\n"
        "from thusfar.storage import open_store\n"
        "open_store(sys.argv[1]).close()"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, url]
    starting = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]

    for each in starting:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    outcomes = [each.communicate(timeout=300)[1] for each in starting]

    assert outcomes == [""] * 8
    sound(conversation(open_store(url), 1))


def _fresh_database(url: str) -> str:
    import psycopg
    from psycopg.conninfo import make_conninfo

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS thusfar_fresh")
        connection.execute("CREATE DATABASE thusfar_fresh")
    if "?" in url:
        address, _, query = url.partition("?")
        return f"{address.rpartition('/')[0]}/thusfar_fresh?{query}"
    assert make_conninfo(url)
    return f"{url.rpartition('/')[0]}/thusfar_fresh"


def test_what_is_erased_after_a_migration_is_in_no_page_that_it_freed(tmp_path: Path) -> None:
    path = tmp_path / "golden.db"
    script = Path(__file__).parents[1] / "golden" / "schema_1.sqlite.sql"
    apsw.Connection(str(path)).execute(script.read_text()).fetchall()
    store = SqliteStore(path)
    told = thread(store, "full")
    assert told.select("a4c").messages[-1].text == "to the third"

    told.redact("a4c")

    assert told.verify(erased=True).erasure == "complete"
    store.close()
    assert b"to the third" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())
