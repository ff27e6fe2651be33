"""Two processes prepare the same summary, and the one that holds the lease is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from thusfar.storage import open_store
from thusfar.storage import questions as q
from thusfar.thread import Thread

WORKER = """
import sys, time
from pathlib import Path
from thusfar import InputBudget, Runtime, history, per_message, plan_sync
from thusfar.storage import open_store
from thusfar.thread import Thread

url, calls, name, hang = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4] == "hang"
namespace, stored, lease = sys.argv[5], sys.argv[6] == "thread", float(sys.argv[7])
store = open_store(url, namespace=namespace)

def model(**_):
    (calls / f"{name}-{time.time_ns()}").touch()
    if hang:
        time.sleep(600)
    time.sleep(0.2)
    return "What was said."

messages = [
    {"role": ("user", "assistant")[i % 2], "content": f"message {i} about many things"}
    for i in range(12)
]
planned = plan_sync(
    None if stored else messages,
    thread=Thread("t", store=store) if stored else None,
    model="gpt-4o",
    counter=per_message(lambda m: 50 if "history-summary" in str(m) else 100),
    budget=InputBudget(max=1000),
    policy=history(recent=4, summary={"model": model, "name": "model", "max_tokens": 100}),
    runtime=Runtime(store, lease_seconds=lease),
)
print(planned.receipt.history.covered, [w.code for w in planned.receipt.warnings])
"""


class Place:
    """A database of its own, and the calls that were made by workers on it."""

    def __init__(self, url: str, folder: Path, source: str) -> None:
        self.url, self.calls, self.source = url, folder / "calls", source
        self.namespace = f"leases-{uuid.uuid4().hex}"
        self.calls.mkdir()
        if source == "thread":
            store = open_store(url, namespace=self.namespace)
            thread = Thread("t", store=store).sync
            for i in range(12):
                thread.append({"role": ("user", "assistant")[i % 2], "content": f"message {i}"})
            store.close()

    def start(self, name: str, how: str, lease: float = 600) -> subprocess.Popen[str]:
        arguments = [self.url, str(self.calls), name, how, self.namespace, self.source, str(lease)]
        return subprocess.Popen(
            [sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE, text=True
        )

    def kinds(self) -> list[str]:
        """The kinds of the rows that are left: summaries by their identity, and leases."""

        def steps() -> Any:
            of_thread = yield q.ReadArtifacts("t")
            return [*of_thread, *(yield q.ReadArtifacts(""))]

        store = open_store(self.url, namespace=self.namespace)
        try:
            return [row.kind for row in store.run(steps())]
        finally:
            store.close()


@pytest.fixture(params=["list", "thread"])
def source(request: Any) -> str:
    return str(request.param)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: Any, tmp_path: Path, source: str) -> Place:
    if request.param == "postgres":
        return Place(request.getfixturevalue("postgres_url"), tmp_path, source)
    return Place(f"sqlite:///{tmp_path / 'summaries.db'}", tmp_path, source)


def test_two_processes_make_one_summary_with_one_call(place: Place):
    workers = [place.start(name, "answer") for name in ("one", "two")]

    said = [worker.communicate(timeout=600)[0] for worker in workers]

    assert [worker.returncode for worker in workers] == [0, 0]
    assert all(line.startswith("8 ") for line in said)
    assert len(list(place.calls.iterdir())) == 1
    assert len(place.kinds()) == 1
    assert place.kinds() != ["lease"]


def test_the_holder_of_the_lease_is_killed_in_mid_summary(place: Place):
    holder = place.start("holder", "hang", lease=1.5)
    while not list(place.calls.iterdir()):
        assert holder.poll() is None, "the holder ended before it asked its model"
        time.sleep(0.02)
    waiter = place.start("waiter", "answer")
    time.sleep(0.3)
    os.kill(holder.pid, signal.SIGKILL)

    said, _ = waiter.communicate(timeout=600)
    holder.communicate(timeout=600)

    assert waiter.returncode == 0
    assert said.startswith("8 ")
    assert sorted(path.name.split("-")[0] for path in place.calls.iterdir()) == ["holder", "waiter"]
    assert len([kind for kind in place.kinds() if kind != "lease"]) == 1
