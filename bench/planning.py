"""Planning over a thread with 50 contributors: flat in the length of the thread.

Run: `python bench/planning.py [--messages 10000 100000 1000000]`. Tokenizer time is left out: sizes
of texts are taken from a table. All threads are filled first; then they take turns, so that what
else the machine does falls on all of them. Prints processor time, one line a length.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from thusfar import (
    InputBudget,
    Message,
    Runtime,
    Scripted,
    Text,
    compact_now_sync,
    context,
    droppable,
    history,
    plan_sync,
    prefer,
)
from thusfar.storage import open_store
from thusfar.thread.handle import Thread

CONTRIBUTORS = 50
ROUNDS = 30  # plans in a turn
TURNS = 5
WARM = 3  # plans before the clock runs, which read the database for the first time
TARGET_MS = 5.0
FLAT = 1.5  # times a plan over the shortest thread
BATCH = 20  # messages stored in one append: a group, which is read whole


class Stated:
    """Counts that cost nothing: a token for every four characters."""

    name = "stated"
    confidence = "exact"

    def count_many(self, texts: list[str]) -> list[int]:
        return [len(text) // 4 for text in texts]


def fill(thread: Thread, count: int, done: int) -> None:
    for low in range(done, count, BATCH):
        thread.sync.append(
            [
                Message(("user", "assistant")[i % 2], (Text(f"message {i} " + "word " * 20),))
                for i in range(low, min(low + BATCH, count))
            ]
        )


def contributors() -> list[Any]:
    return [
        droppable(prefer(context(f"part-{i}", f"text {i} " * 20, priority=i % 5), f"short {i}"))
        for i in range(CONTRIBUTORS)
    ]


def arguments(store: Any) -> dict[str, Any]:
    model = Scripted("What was said so far.", window=None)
    return {
        "thread": Thread("bench", store=store),
        "model": "gpt-4o",
        "counter": Stated(),
        "budget": InputBudget(max=8_000),
        "use": [history(recent=40, summary={"attempts": 1}), *contributors()],
        "runtime": Runtime(store, summariser=model),
    }


def grow(url: str, count: int, done: int) -> None:
    """Store messages up to this many, and the summary that the next plan finds."""
    store = open_store(url, synchronous="NORMAL")
    fill(Thread("bench", store=store), count, done)
    compact_now_sync(**arguments(store))
    store.close()


def measure(url: str) -> None:
    """Time plans in a process of its own, which holds nothing of how the thread came about."""
    store = open_store(url, synchronous="NORMAL")
    said = arguments(store)
    times: list[float] = []
    for _ in range(WARM + ROUNDS):
        begun = time.process_time()
        planned = plan_sync(turn="And now?", **said)
        times.append((time.process_time() - begun) * 1000)
    assert planned.receipt.history.artifact
    store.close()
    print(json.dumps(times[WARM:]))


def race(files: dict[int, Path]) -> dict[int, list[float]]:
    """Let the lengths take turns. Unit of the answer: milliseconds a plan."""
    spent: dict[int, list[float]] = {count: [] for count in files}
    for _ in range(TURNS):
        for count, path in files.items():
            command = [sys.executable, __file__, "--measure", f"sqlite:///{path}"]
            done = subprocess.run(command, check=True, capture_output=True)
            spent[count] += json.loads(done.stdout)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.measure:
        return measure(said.measure)
    with tempfile.TemporaryDirectory() as folder:
        growing, done = Path(folder) / "growing.db", 0
        files: dict[int, Path] = {}
        for count in sorted(said.messages):
            grow(f"sqlite:///{growing}", count, done)
            files[count], done = Path(folder) / f"{count}.db", count
            shutil.copy(growing, files[count])
        spent = race(files)
    middles = {count: statistics.median(times) for count, times in spent.items()}
    shortest = middles[min(middles)]
    for count, times in spent.items():
        print(
            f"{count:>10,} messages {min(times):6.2f} ms a plan at least,"
            f" {middles[count]:6.2f} median, {middles[count] / shortest:5.2f} x the shortest"
        )
    most, worst = max(middles.values()), max(middles.values()) / shortest
    print(f"median at most {TARGET_MS} ms: {most:.2f}; at most {FLAT} x the shortest: {worst:.2f}")
    raise SystemExit(most > TARGET_MS or worst > FLAT)


if __name__ == "__main__":
    main()
