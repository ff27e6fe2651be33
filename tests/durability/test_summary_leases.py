"""Two processes prepare the same summary, and the one that holds the lease is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORKER = """
import sys, time
from pathlib import Path
from thusfar import InputBudget, Runtime, history, per_message, plan_sync
from thusfar.storage import open_store

url, calls, name, hang = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4] == "hang"

def model(**_):
    (calls / f"{name}-{time.time_ns()}").touch()
    if hang:
        time.sleep(60)
    time.sleep(0.2)
    return "What was said."

messages = [
    {"role": ("user", "assistant")[i % 2], "content": f"message {i} about many things"}
    for i in range(12)
]
planned = plan_sync(
    messages,
    model="gpt-4o",
    counter=per_message(lambda m: 50 if "history-summary" in str(m) else 100),
    budget=InputBudget(max=1000),
    policy=history(recent=4, summary={"model": model, "name": "model", "max_tokens": 100}),
    runtime=Runtime(open_store(url), lease_seconds=1.5),
)
print(planned.receipt.history.covered, [w.code for w in planned.receipt.warnings])
"""


def start(tmp_path: Path, name: str, how: str) -> subprocess.Popen[str]:
    url = f"sqlite:///{tmp_path / 'summaries.db'}"
    arguments = [sys.executable, "-c", WORKER, url, str(tmp_path / "calls"), name, how]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def artifacts(tmp_path: Path) -> list[str]:
    import apsw

    database = apsw.Connection(str(tmp_path / "summaries.db"))
    return [kind for (kind,) in database.execute("SELECT kind FROM thusfar_artifact")]


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    (tmp_path / "calls").mkdir()
    return tmp_path / "calls"


def test_two_processes_make_one_summary_with_one_call(tmp_path: Path, calls: Path):
    workers = [start(tmp_path, name, "answer") for name in ("one", "two")]

    said = [worker.communicate(timeout=60)[0] for worker in workers]

    assert [worker.returncode for worker in workers] == [0, 0]
    assert all(line.startswith("8 ") for line in said)
    assert len(list(calls.iterdir())) == 1
    assert [kind for kind in artifacts(tmp_path) if kind != "lease"] == artifacts(tmp_path)
    assert len(artifacts(tmp_path)) == 1


def test_the_holder_of_the_lease_is_killed_in_mid_summary(tmp_path: Path, calls: Path):
    holder = start(tmp_path, "holder", "hang")
    deadline = time.monotonic() + 30
    while not list(calls.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    waiter = start(tmp_path, "waiter", "answer")
    time.sleep(0.3)
    os.kill(holder.pid, signal.SIGKILL)

    said, _ = waiter.communicate(timeout=60)
    holder.communicate(timeout=10)

    assert waiter.returncode == 0
    assert said.startswith("8 ")
    assert sorted(path.name.split("-")[0] for path in calls.iterdir()) == ["holder", "waiter"]
    assert len([kind for kind in artifacts(tmp_path) if kind != "lease"]) == 1
