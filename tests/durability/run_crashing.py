"""A stored run of 60 steps that is killed at random moments, and resumed each time.

Run as a program: `python run_crashing.py URL ROUNDS SEED`. It prints one JSON object. Each round
forks a process that begins a run and reports every committed step over a pipe; it is killed with
SIGKILL at a random moment of the run. Then the run is resumed, and compared with an unbroken one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from thusfar.models import Scripted
from thusfar.process import (
    END,
    Process,
    RunLimits,
    Runs,
    ScriptTask,
    StepCommitted,
    SubProcess,
    Task,
)
from thusfar.process.state import State
from thusfar.storage import Store, open_store

STEPS = 60
AHEAD = 6  # words that a run is ahead at most of the one behind which it is killed
Told = Callable[[str], None]


def build(told: Told) -> Process:
    """Build a process of 60 steps: a hub, work, a script and a sub-process of three steps.

    What the model answers depends on nothing but where the run stands. `told` gets a word for each
    call of the model, `?step.inner`, and for each committed step, `step` or `step.inner`.
    """

    def hub(_: Any) -> str:
        number = outer.position.steps
        told(f"?{number}")
        target = END if number == STEPS - 1 else ("work", "tally", "side")[number // 2 % 3]
        chosen = {"goTo": target, "intent": f"go on from {number}", "stepAfter": "the next"}
        return json.dumps(chosen)

    def work(_: Any) -> str:
        told(f"?{outer.position.steps}")
        return json.dumps({"file": f"file {outer.position.steps}", "lines": [1, 2.0, None]})

    def look(_: Any) -> str:
        told(f"?{outer.position.steps}.{inner.position.steps}")
        return f"seen at {outer.position.steps}.{inner.position.steps}"

    def tally(state: State) -> dict[str, Any]:
        outer.add_history(taskID="tally", summary=f"counted at {outer.position.steps}")
        return {"n": state["n"] + 1}

    def event(each: Any) -> None:
        if isinstance(each, StepCommitted):
            own = each.process_id == outer.id
            told(f"{each.step}" if own else f"{outer.position.steps + 1}.{each.step}")

    inner = Process(
        [Task(id=name, state_updates="seen[]", model=Scripted(look)) for name in "xyz"],
        id="inner",
        sequence=["x", "y", "z"],
        on_event=event,
    )
    outer = Process(
        [
            ScriptTask(id="begin", run=lambda _: None, next_task="hub"),
            Task(id="hub", transitions=["work", "tally", "side", END], model=Scripted(hub)),
            Task(id="work", state_updates="done[]", model=Scripted(work)),
            ScriptTask(id="tally", run=tally, state_updates={"n": "$output.n"}, record=True),
            SubProcess(id="side", process=inner, inputs={"at": "$state.n"}, state_updates="side[]"),
        ],
        id="outer",
        start="begin",
        default_return_task="hub",
        state={"n": 0},
        limits=RunLimits(max_steps=STEPS),
        history_max_items=20,
        on_event=event,
    )
    return outer


def crash_once(url: str, run_id: str, at: int, chance: random.Random, pace: float) -> list[str]:
    """Let a run commit so many steps, kill it within the next, and return what it had told."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            told = Telling(write, at + AHEAD)
            Runs(opened(url)).sync.run(build(told), {"given": "in"}, run_id=run_id)
            told("end")
            signal.pause()
        finally:
            os._exit(1)
    os.close(write)
    heard = b""
    while heard.count(b"\n") < at and b"end\n" not in heard:
        more = os.read(read, 65_536)
        assert more, "the process ended by itself"
        heard += more
    time.sleep(chance.uniform(0, pace))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(read, 65_536):
        heard += more
    os.close(read)
    return heard.decode().rpartition("\n")[0].split("\n")


class Telling:
    """Tells each word over a pipe, and waits to be killed where it is far ahead of that."""

    def __init__(self, write: int, most: int) -> None:
        self._write, self._left = write, most

    def __call__(self, word: str) -> None:
        os.write(self._write, f"{word}\n".encode())
        self._left -= 1
        if self._left <= 0:
            signal.pause()


def opened(url: str) -> Store:
    """Open the store; what is killed here is a process, so that no disk has to be waited for."""
    return open_store(url, synchronous="NORMAL")


def faults(store: Store, run_id: str, heard: list[str]) -> list[str]:
    """Resume a run that was killed, and say what is wrong with what comes of it."""
    runs = Runs(store).sync
    if not any(info.run_id == run_id for info in runs.list()):
        if any(not word.startswith("?") for word in heard if word):
            return ["a committed step was lost with its run"]
        runs.run(build(lambda _: None), {"given": "in"}, run_id=run_id)
        return [] if runs.compare("unbroken", run_id).equal else ["begun anew, it ended otherwise"]
    stored = runs.info(run_id)
    later: list[str] = []
    outcome = runs.resume(build(later.append), run_id)
    found = []
    committed = {word for word in heard if word and not word.startswith("?")}
    if outcome.status != "finished":
        found.append(f"resumed, it {outcome.status}: {outcome.failure}")
    if again := committed.intersection(later):
        found.append(f"committed twice: {sorted(again)}")
    whole = [word for word in later if word.isdecimal()]
    # A server may still carry out the commit of a process that was killed behind sending it.
    behind = STEPS - len(whole)
    if behind not in (stored.steps, stored.steps + 1) or whole != [
        str(number) for number in range(behind + 1, STEPS + 1)
    ]:
        found.append(f"went on otherwise than behind step {stored.steps}: {whole[:3]}")
    called = {word for word in later if word.startswith("?")}
    if len(called) != sum(word.startswith("?") for word in later):
        found.append("a step was asked twice")
    if any(int(word[1:].split(".")[0]) < behind for word in called):
        found.append("a model was asked for a committed step")
    if not runs.compare("unbroken", run_id).equal:
        found.append("it ended otherwise than the unbroken run")
    if not runs.replay(build(lambda _: None), run_id).same:
        found.append("its tape does not give the same run")
    return found


def main(url: str, rounds: int, seed: int) -> None:
    """Crash so many times, and print what was found."""
    chance = random.Random(seed)
    store = opened(url)
    words: list[str] = []
    began = time.monotonic()
    outcome = Runs(store).sync.run(build(words.append), {"given": "in"}, run_id="unbroken")
    assert outcome.steps == STEPS, outcome
    pace = 2 * (time.monotonic() - began) / len(words)
    wrong: list[str] = []
    inside = 0
    for i in range(rounds):
        at = chance.randrange(len(words) + 1)
        heard = crash_once(url, f"run-{i}", at, chance, pace)
        inside += "end" not in heard and len(heard) > 1
        wrong += [f"round {i} at {at}: {fault}" for fault in faults(store, f"run-{i}", heard)]
    store.close()
    print(json.dumps({"rounds": rounds, "inside": inside, "wrong": wrong[:20]}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
