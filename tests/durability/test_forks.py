"""A store that was open when its process forked works in the child and in the parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from thusfar.storage import open_store
from thusfar.testing.store_laws.told import sound, thread, user

store = open_store(sys.argv[1])
told = thread(store, sys.argv[2])
told.append(user("before"))
child = os.fork()
if child == 0:
    for i in range(20):
        told.append(user(f"child-{i}"))
    os._exit(0)
for i in range(20):
    told.append(user(f"parent-{i}"))
assert os.waitpid(child, 0)[1] == 0
told.append(user("after"))
sound(told)
ids = set(told.read().ids)
who = ("child", "parent")
assert ids == {"before", "after", *(f"{w}-{i}" for w in who for i in range(20))}, ids
store.close()
"""


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_a_forked_child_and_its_parent_both_append(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if backend == "sqlite":
        url = f"sqlite:///{tmp_path / 'fork.db'}"
    else:
        url = request.getfixturevalue("postgres_url")

    _done(PROGRAM, url, f"fork-{os.getpid()}")


LEAVING = """
import os, sys
from thusfar.storage import open_store
from thusfar.testing.store_laws.told import thread, user

store = open_store(sys.argv[1])
told = thread(store, sys.argv[2])
told.append(user("before"))
ask, answer = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    told.append(user("first"))
    os.write(ask[1], b"x")
    os.read(answer[0], 1)  # the parent has closed its connections
    for i in range(5):
        told.append(user(f"child-{i}"))
    os._exit(0)
os.read(ask[0], 1)
store.close()
os.write(answer[1], b"x")
assert os.waitpid(child, 0)[1] == 0
ids = thread(open_store(sys.argv[1]), sys.argv[2]).read().ids
assert ids == ("before", "first", *(f"child-{i}" for i in range(5))), ids
"""

BUSY = """
import os, signal, sys, threading
from thusfar.storage import open_store
from thusfar.testing.store_laws.told import sound, thread, user

store = open_store(sys.argv[1])
told, done = thread(store, sys.argv[2]), threading.Event()

def talk():
    i = 0
    while not done.is_set():
        told.append(user(f"parent-{i}"))
        i += 1

busy = threading.Thread(target=talk)
busy.start()
for n in range(8):
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        told.append(user(f"child-{n}"))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done.set()
busy.join()
ids = set(told.read().ids)
assert {f"child-{n}" for n in range(8)} <= ids
sound(told)
store.close()
"""

WITHIN = """
import os, sys
from thusfar.errors import StorageUnavailableError
from thusfar.storage import open_store
from thusfar.testing.store_laws.told import sound, thread, user

store = open_store(sys.argv[1])
told = thread(store, sys.argv[2])
told.append(user("before"))

def count(messages):
    child = os.fork()
    if child == 0:
        try:
            told.append(user("child"))
        except StorageUnavailableError:
            os._exit(7)
        os._exit(8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    return [1] * len(messages)

assert told.tally("forking", count) == 1
told.append(user("after"))
assert told.read().ids == ("before", "after")
sound(told)
store.close()
"""


def _done(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]


ALONE = """
import os, signal, threading
from thusfar.storage import open_store
from thusfar.testing.store_laws.told import sound, thread, user

told, done = thread(open_store("memory:")), threading.Event()

def talk():
    i = 0
    while not done.is_set():
        told.append(user(f"parent-{i}"))
        i += 1

busy = threading.Thread(target=talk)
busy.start()
for n in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        told.append(user("child"))
        sound(told)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done.set()
busy.join()
sound(told)
"""


def test_a_forked_child_has_a_memory_of_its_own() -> None:
    _done(ALONE)


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
@pytest.mark.parametrize("program", [LEAVING, BUSY], ids=["leaving", "busy"])
def test_a_forked_child_loses_nothing_whatever_its_parent_does(
    program: str, backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if backend == "sqlite":
        url = f"sqlite:///{tmp_path / 'fork.db'}"
    else:
        url = request.getfixturevalue("postgres_url")

    _done(program, url, f"{os.urandom(4).hex()}-{os.getpid()}")


def test_a_child_forked_inside_an_operation_is_refused_the_file(tmp_path: Path) -> None:
    _done(WITHIN, f"sqlite:///{tmp_path / 'fork.db'}", "t")


LOOPS = """
import asyncio, os, sys, time
import psycopg
from thusfar.storage import open_store
from thusfar.testing.store_laws.told import user
from thusfar.thread import Thread

os.environ["PGAPPNAME"] = sys.argv[2]
store = open_store(sys.argv[1])
for i in range(20):
    asyncio.run(Thread(sys.argv[2], store=store).append(user(f"u{i}")))
own = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
with psycopg.connect(sys.argv[1], autocommit=True, application_name="counting") as other:
    end = time.monotonic() + 60  # the server sees a closed connection in its own time
    while (count := other.execute(own, sys.argv[2:3]).fetchone()[0]) > 5:
        assert time.monotonic() < end, count
        time.sleep(0.05)
assert len(Thread(sys.argv[2], store=store).sync.read().ids) == 20
"""


def test_loops_that_have_ended_keep_no_connections(postgres_url: str) -> None:
    _done(LOOPS, postgres_url, f"loops-{os.urandom(4).hex()}")
