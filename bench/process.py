"""Measure what a step of a process costs beside the model, in memory and in a store, and the peers.

The loop is the same for all: a step shows the model every action so far, a line each; the model (a
function) answers with one JSON object; the answer is recorded, and the loop goes on or ends. A
process also counts tokens, plans the request within its budget, holds the answer to the open
transitions, and in a store keeps the answers for a replay. LangGraph and Burr run the loop as a
graph of one node, in memory and with their SQLite savers; what is not installed is left out.

Times are processor time of this process, so that neither waiting for a disk nor what else the
machine does is in them; what shares a core still slows it down, so that the least of the rounds is
shown. Each is of the last hundred steps of a run of that many; contenders take turns. `flat`
compares the longest run with the shortest.

Run: python bench/process.py [--sizes 100 1000 10000] [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import operator
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, TypedDict

from thusfar.models import Scripted
from thusfar.process import END, Process, RunLimits, Runs, Task
from thusfar.storage import open_store

SIZES = (100, 1_000, 10_000)
LAST = 100  # steps that are timed, at the end of a run
TARGETS = {"process": 0.5, "process, SQLite": 2.0}  # milliseconds a step
SLOW = 1_000  # longest run of a peer's saver, which stores the whole list at each step
Loop = Callable[[int, Path, "Marks"], None]


class Marks:
    """The processor time at each step."""

    def __init__(self) -> None:
        self.times: list[int] = []

    def __call__(self) -> None:
        self.times.append(time.process_time_ns())

    def a_step(self) -> float:
        """Milliseconds a step, of the last hundred."""
        spent = self.times[-LAST:]
        return (spent[-1] - spent[0]) / (len(spent) - 1) / 1e6


@dataclass(frozen=True)
class Contender:
    """One way to run the loop."""

    name: str
    loop: Loop
    most: int = max(SIZES)
    missing: str = ""


def answer(number: int, steps: int) -> str:
    """What the model writes: where to go, and why."""
    target = END if number == steps else "a"
    return json.dumps({"goTo": target, "intent": f"file {number}", "stepAfter": "the next"})


def of_process(store: str | None) -> Loop:
    def loop(steps: int, folder: Path, mark: Marks) -> None:
        def model(_: Any) -> str:
            mark()
            scripted.calls.clear()
            return answer(process.log.recorded + 1, steps)

        scripted = Scripted(model)
        process = Process(
            [Task(id="a", transitions=["a", END])],
            model=scripted,
            limits=RunLimits(max_steps=steps, step_timeout_seconds=None),
        )
        if store is None:
            outcome = process.run_sync()
        else:
            url = store.format(folder=folder)
            opened = open_store(url, synchronous="NORMAL")
            outcome = Runs(opened).sync.run(process, run_id="r")
            opened.close()
        assert outcome.steps == steps

    return loop


def shown(log: Sequence[str]) -> str:
    """The prompt of a peer: every action so far."""
    return "\n".join(["What has been done so far:", *log, "What is next?"])


def told(number: int, steps: int, log: Sequence[str], mark: Marks) -> tuple[str, bool]:
    """Ask the model, and read its answer: the line to record, and whether it ends."""
    prompt = shown(log)
    assert prompt
    mark()
    read = json.loads(answer(number, steps))
    return f"a -> {read['goTo']} | {read['intent']}", read["goTo"] == END


def of_langgraph(saved: bool) -> Loop:
    def loop(steps: int, folder: Path, mark: Marks) -> None:
        from langgraph.graph import END as ENDED
        from langgraph.graph import START, StateGraph

        class State(TypedDict):
            log: Annotated[list[str], operator.add]
            done: bool

        def node(state: State) -> dict[str, Any]:
            line, done = told(len(state["log"]) + 1, steps, state["log"], mark)
            return {"log": [line], "done": done}

        graph = StateGraph(State)
        graph.add_node("a", node)
        graph.add_edge(START, "a")
        graph.add_conditional_edges("a", lambda state: ENDED if state["done"] else "a")
        config: dict[str, Any] = {"recursion_limit": steps + 10}
        begin: Any = {"log": [], "done": False}
        if not saved:
            assert len(graph.compile().invoke(begin, config)["log"]) == steps
            return
        from langgraph.checkpoint.sqlite import SqliteSaver

        config["configurable"] = {"thread_id": "r"}
        with SqliteSaver.from_conn_string(str(folder / "graph.db")) as saver:
            saver.conn.execute("PRAGMA journal_mode = WAL")
            saver.conn.execute("PRAGMA synchronous = NORMAL")
            graph.compile(checkpointer=saver).invoke(begin, config)

    return loop


def of_burr(saved: bool) -> Loop:
    def loop(steps: int, folder: Path, mark: Marks) -> None:
        from burr.core import ApplicationBuilder, State, action, default, expr

        @action(reads=["log"], writes=["log", "done"])
        def step(state: State) -> State:
            line, done = told(len(state["log"]) + 1, steps, state["log"], mark)
            return state.append(log=line).update(done=done)

        @action(reads=["log"], writes=[])
        def end(state: State) -> State:
            return state

        builder = (
            ApplicationBuilder()
            .with_actions(step=step, end=end)
            .with_transitions(("step", "end", expr("done")), ("step", "step", default))
            .with_entrypoint("step")
        )
        if saved:
            from burr.core.persistence import SQLLitePersister

            persister = SQLLitePersister(str(folder / "burr.db"), connect_kwargs={})
            persister.connection.execute("PRAGMA journal_mode = WAL")
            persister.connection.execute("PRAGMA synchronous = NORMAL")
            persister.initialize()
            builder = builder.with_identifiers(app_id="r").with_state_persister(persister)
        app = builder.with_state(log=[], done=False).build()
        _, _, state = app.run(halt_after=["end"])
        assert len(state["log"]) == steps

    return loop


def contenders() -> list[Contender]:
    def missing(*packages: str) -> str:
        return " and ".join(name for name in packages if not _there(name))

    saver = missing("langgraph", "langgraph.checkpoint.sqlite")
    return [
        Contender("process", of_process(None)),
        Contender("process, memory store", of_process("memory:")),
        Contender("process, SQLite", of_process("sqlite:///{folder}/runs.db")),
        Contender("LangGraph", of_langgraph(False), SLOW, missing("langgraph")),
        Contender("LangGraph, SQLite", of_langgraph(True), SLOW, saver),
        Contender("Burr", of_burr(False), SLOW, missing("burr")),
        Contender("Burr, SQLite", of_burr(True), SLOW, missing("burr")),
    ]


def _there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def measured(each: Contender, steps: int) -> float:
    with tempfile.TemporaryDirectory(prefix="thusfar-bench-") as folder:
        marks = Marks()
        each.loop(steps, Path(folder), marks)
        return marks.a_step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    racing = [each for each in contenders() if not each.missing]
    of_process(None)(20, Path(), Marks())  # imports and templates are no part of a step
    rounds: dict[tuple[str, int], list[float]] = {}
    for _ in range(asked.rounds):
        for size in asked.sizes:
            for each in racing:
                if size <= each.most:
                    rounds.setdefault((each.name, size), []).append(measured(each, size))
    found = {key: min(times) for key, times in rounds.items()}
    if asked.json:
        listed = [{"name": n, "steps": s, "ms": round(ms, 4)} for (n, s), ms in found.items()]
        print(json.dumps(listed))
        return
    print("Milliseconds of processor time a step, over the last 100 steps of a run\n")
    print(f"{'':<24}" + "".join(f"{size:>10,}" for size in asked.sizes) + "      flat  target")
    for each in contenders():
        if each.missing:
            print(f"{each.name:<24}  not installed: {each.missing}")
            continue
        own = [found.get((each.name, size)) for size in asked.sizes]
        cells = "".join(f"{'–' if ms is None else f'{ms:.3f}':>10}" for ms in own)
        known = [ms for ms in own if ms is not None]
        target = TARGETS.get(each.name)
        verdict = "" if target is None else f"{target} {'ok' if max(known) <= target else 'MISSED'}"
        print(f"{each.name:<24}{cells}{known[-1] / known[0]:>9.2f}x  {verdict}")
    largest = max(size for size in asked.sizes if size <= SLOW)
    for kind in ("", ", SQLite"):
        ours = found["process" + kind, largest]
        for peer in ("LangGraph", "Burr"):
            if (theirs := found.get((peer + kind, largest))) is not None:
                print(f"process{kind} at {largest:,} steps: {ours / theirs:.2f} of {peer}{kind}")


if __name__ == "__main__":
    main()
