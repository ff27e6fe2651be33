"""After a run is deleted no byte of it is left: state, entries, answers, those of sub-processes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw

from thusfar.models import Scripted
from thusfar.process import Process, Runs, ScriptTask, SubProcess, SyncRuns, Task
from thusfar.storage import SqliteStore, Store, open_store

SECRET = "passport-Y987654321"


def kept(store: Store) -> SyncRuns:
    """Run a process that has the secret in every place a run has, once to its end and once not."""
    runs = Runs(store).sync
    for run_id, answers in (("r", [f"I am {SECRET}.", SECRET * 900]), ("broken", [SECRET])):
        inner = Process(
            [Task(id="a", state_updates="seen[]"), Task(id="b", state_updates="seen[]")],
            id="inner",
            sequence=["a", "b"],
            model=Scripted([f"inside {SECRET}"] * (len(answers))),
        )
        outer = Process(
            [
                Task(id="say", state_updates={"by.x": {"n": "$output"}, "all[]": "$output"}),
                ScriptTask(id="note", run=lambda state: {"n": SECRET}, record=True),
                SubProcess(id="inside", process=inner, inputs={"given": SECRET}),
                Task(id="again", state_updates="by.x.n"),
            ],
            sequence=["say", "note", "inside", "again"],
            model=Scripted(answers),
        )
        outer.add_history(summary=SECRET, note=SECRET)
        runs.run(outer, {"in": SECRET}, run_id=run_id)
    runs.fork("r", entry=2, new_id="f", state={"other": SECRET})
    return runs


def places(directory: Path) -> list[str]:
    """List the files that hold the secret."""
    found = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return [path.name for path in found if SECRET.encode() in path.read_bytes()]


def test_sqlite_files_hold_nothing_of_a_deleted_run(tmp_path: Path) -> None:
    runs = kept(SqliteStore(tmp_path / "runs.db"))
    assert {info.run_id: info.status for info in runs.list()} == {
        "r": "finished", "broken": "failed", "f": "interrupted"
    }  # fmt: skip
    assert places(tmp_path), "the secret was never in the files, so the search shows nothing"

    states = [runs.delete(run_id) for run_id in ("r", "broken", "f")]

    assert places(tmp_path) == []
    assert states == ["complete"] * 3
    assert runs.list() == ()


def test_a_deletion_is_pending_while_a_reader_holds_the_log(tmp_path: Path) -> None:
    runs = kept(SqliteStore(tmp_path / "runs.db"))
    reader = apsw.Connection(str(tmp_path / "runs.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM thusfar_run").fetchall()

    assert runs.delete("r") == "pending"
    reader.execute("COMMIT")

    assert [runs.delete(run_id) for run_id in ("broken", "f")] == ["complete"] * 2
    assert places(tmp_path) == []


def test_postgres_holds_nothing_of_a_deleted_run(postgres_url: str) -> None:
    import psycopg

    runs = kept(open_store(postgres_url, namespace=f"erase-runs-{os.getpid()}"))

    assert runs.delete("r") == "pending", "old versions of rows live until the next VACUUM"
    states = [runs.delete(run_id, thorough=True) for run_id in ("broken", "f")]

    assert states == ["complete"] * 2
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for table in ("thusfar_run", "thusfar_run_step", "thusfar_run_entry"):
            hits = connection.execute(
                f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s", (f"%{SECRET}%",)
            ).fetchone()
            assert hits == (0,), table
            dead = connection.execute(
                "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables WHERE relname = %s",
                (table,),
            ).fetchone()
            assert dead == (0,), "dead row versions were left"


def test_the_secret_is_in_all_that_a_run_keeps(tmp_path: Path) -> None:
    """Else the searches above would show little."""
    runs = kept(SqliteStore(tmp_path / "runs.db"))

    for text in (
        json.dumps(runs.state("r")),
        json.dumps([entry.to_json() for entry in runs.entries("r")]),
        json.dumps(runs.tape("r").to_json()),
    ):
        assert SECRET in text
    rows = apsw.Connection(str(tmp_path / "runs.db")).execute(
        "SELECT count(*) FROM thusfar_run_step WHERE path <> '' AND tape LIKE ?", (f"%{SECRET}%",)
    )
    assert rows.fetchall()[0][0] >= 2
