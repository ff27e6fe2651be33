"""A stored run is run by one process at a time; who loses it commits nothing more."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from thusfar.errors import RunHeldError
from thusfar.models import Scripted
from thusfar.process import Process, Runs, Task
from thusfar.storage import SqliteStore, open_store

DAY = 86_400_000


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'leases.db'}"
    return str(request.getfixturevalue("postgres_url"))


def three_steps(at_second: Any) -> Process:
    """Build a process that calls a function in its second step."""
    tasks = [
        Task(id="a", state_updates="a", model=Scripted(lambda _: "one")),
        Task(id="b", state_updates="b", model=Scripted(lambda _: at_second() or "two")),
        Task(id="c", state_updates="c", model=Scripted(lambda _: "three")),
    ]
    return Process(tasks, sequence=["a", "b", "c"])


class Elsewhere:
    """A process that runs to its second step, and stands there until it is told to go on."""

    def __init__(self, url: str, run_id: str) -> None:
        self.said, self._out = os.pipe()
        self._in, self.go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 99
            try:
                status = self._work(url, run_id)
            finally:
                os._exit(status)

    def _work(self, url: str, run_id: str) -> int:
        def wait() -> None:
            os.write(self._out, b"here")
            os.read(self._in, 1)

        outcome = Runs(open_store(url)).sync.run(three_steps(wait), run_id=run_id)
        if outcome.failure is not None:
            return 3 if outcome.failure.code == "RUN_HELD" else 4
        return 0

    def wait(self) -> None:
        assert os.read(self.said, 4) == b"here"

    def end(self, how: int = 0) -> int:
        if how:
            os.kill(self.pid, how)
        else:
            os.write(self.go, b".")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_run_that_another_process_runs_is_refused(url: str) -> None:
    other = Elsewhere(url, "held")
    other.wait()
    runs = Runs(open_store(url)).sync

    with pytest.raises(RunHeldError):
        runs.resume(three_steps(lambda: None), "held")
    with pytest.raises(RunHeldError):
        runs.delete("held")

    assert runs.info("held").status == "running"
    assert other.end() == 0
    assert runs.info("held").status == "finished"
    outcome = runs.resume(three_steps(lambda: None), "held")
    assert outcome.output == {"a": "one", "b": "two", "c": "three"}
    runs.delete("held")


def test_a_killed_process_holds_nothing(url: str) -> None:
    other = Elsewhere(url, "killed")
    other.wait()
    assert other.end(signal.SIGKILL) == -signal.SIGKILL
    runs = Runs(open_store(url)).sync

    assert runs.info("killed").status == "interrupted"
    asked: list[int] = []
    outcome = runs.resume(three_steps(lambda: asked.append(1)), "killed")

    assert (outcome.status, outcome.steps, asked) == ("finished", 3, [1])
    runs.delete("killed")


def test_who_lost_a_run_commits_nothing_more(url: str) -> None:
    other = Elsewhere(url, "taken")
    other.wait()
    runs = Runs(open_store(url)).sync

    outcome = runs.resume(three_steps(lambda: None), "taken", take_over=True)

    assert outcome.status == "finished"
    assert other.end() == 3, "the other one's run fails with RUN_HELD"
    assert [entry.step for entry in runs.entries("taken")] == [1, 2, 3]
    assert runs.info("taken").status == "finished"
    runs.delete("taken")


def test_a_lease_of_another_machine_ends_with_its_time(tmp_path: Path) -> None:
    time = [1_000]
    store = SqliteStore(tmp_path / "time.db", clock=lambda: time[0])
    runs = Runs(store, lease_seconds=10).sync

    def broken_off() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.run(three_steps(broken_off), run_id="far")
    connection = apsw.Connection(str(tmp_path / "time.db"))
    connection.execute("UPDATE thusfar_run SET holder = 'elsewhere:1:x'")
    with pytest.raises(RunHeldError):
        runs.resume(three_steps(lambda: None), "far")

    time[0] += 10_000

    assert runs.info("far").status == "interrupted"
    assert runs.resume(three_steps(lambda: None), "far").status == "finished"


def test_of_many_that_resume_at_once_one_runs(url: str) -> None:
    store = open_store(url)
    calls: list[str] = []

    def fail() -> None:
        calls.append("fail")
        raise ValueError("not yet")

    outcome = Runs(store).sync.run(three_steps(fail), run_id="raced")
    assert outcome.status == "failed"
    begin, go = os.pipe()
    out, told = os.pipe()
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            status = 9
            try:
                os.close(go)
                status = _resume(url, begin, told)
            finally:
                sys.stdout.flush()
                os._exit(status)
        children.append(child)
    os.close(begin)
    os.close(told)
    os.close(go)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    asked = os.read(out, 100)

    assert set(ends) <= {0, 3}
    assert 0 in ends
    assert asked == b"b", "one process asked the model of the second step, once"
    assert Runs(store).sync.info("raced").steps == 3
    Runs(store).sync.delete("raced")


def _resume(url: str, begin: int, told: int) -> int:
    """Resume when all are there; 0 when it finished, 3 when somebody else runs it."""
    store = open_store(url)
    process = three_steps(lambda: os.write(told, b"b") and None)
    os.read(begin, 1)
    try:
        outcome = Runs(store).sync.resume(process, "raced")
    except RunHeldError:
        return 3
    return 0 if outcome.status == "finished" else 4
