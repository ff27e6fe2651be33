"""Many processes append to one thread: each message once, one path selected, nobody starves.

THUSFAR_WRITERS and THUSFAR_APPENDS set the numbers; the full ones are 16 and 500.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from thusfar.storage import open_store
from thusfar.testing.store_laws.told import conversation, thread, user

WRITERS = int(os.environ.get("THUSFAR_WRITERS", "16"))
APPENDS = int(os.environ.get("THUSFAR_APPENDS", "500"))
HERE = Path(__file__).resolve().parent


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'many.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


def test_every_append_of_every_process_is_stored_exactly_once(url: str) -> None:
    name = f"many-{os.getpid()}"
    writers = [_start(url, name, number) for number in range(WRITERS)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()

    reports = []
    for writer in writers:
        out, errors = writer.communicate(timeout=300)
        assert writer.returncode == 0, errors[-2000:]
        reports.append(json.loads(out))

    told = thread(open_store(url), name)
    expected = {f"w{n}-{i}" for n in range(WRITERS) for i in range(APPENDS)}
    selected = [status for report in reports for status in report["statuses"]]
    found = told.verify()
    path = told.read().ids
    assert sum(report["replayed"] for report in reports) == 0
    assert len(selected) == len(expected)
    assert found.ok
    assert found.messages == len(expected)
    assert len(path) == len(set(path)) == selected.count("selected")
    everywhere = [i for b in told.branches() for i in told.read(at=b.leaf).ids]
    assert set(everywhere) == expected


def test_writers_of_other_threads_do_not_wait_on_postgres(postgres_url: str) -> None:
    import psycopg

    store = open_store(postgres_url, namespace="waiting", busy_timeout_seconds=2)
    held = conversation(store, 1, id=f"held-{os.getpid()}")
    free = conversation(store, 1, id=f"free-{os.getpid()}")
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM thusfar_head WHERE thread_id LIKE 'held-%' FOR UPDATE")

        assert free.append(user("u2")).status == "selected"
        assert free.edit("u2", "new").status == "selected"

        other.rollback()
    assert held.append(user("u2")).status == "selected"
    store.close()


def _start(url: str, name: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", str(HERE / "writing.py"), url, name]
    return subprocess.Popen(
        [*command, str(number), str(APPENDS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
