"""Stored runs: what is kept of a step, how a run is handled from outside, and what goes wrong."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thusfar.errors import (
    CorruptRecordError,
    InvalidMessageError,
    InvalidStateError,
    OptionsError,
    StorageError,
)
from thusfar.models import Scripted
from thusfar.process import END, Capture, Process, RunLimits, Runs, ScriptTask, Task
from thusfar.process.changes import apply_changes, changes_between, same
from thusfar.process.holders import is_gone, let_go, new_holder
from thusfar.storage import MemoryStore, SqliteStore, open_store

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=1), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(JSON, JSON)
def test_changes_lead_from_any_value_to_any_other(before: Any, after: Any):
    changes = json.loads(json.dumps(changes_between(before, after)))

    made = apply_changes(copy.deepcopy(before), changes)

    assert json.dumps(made) == json.dumps(after), "types and the order of names too"
    assert same(made, after)
    assert changes_between(after, after) == []


def test_what_is_added_to_a_long_list_is_all_that_is_kept():
    before = {"log": [{"n": n} for n in range(1_000)], "other": {"deep": [1]}}
    after = {**before, "log": [*before["log"], {"n": 1_000}]}

    assert changes_between(before, after) == [[["log"], "add", [{"n": 1_000}]]]


@pytest.mark.parametrize(
    "changes", [[[["x"], "drop", None]], [[["a", "b"], "set", 1]], [[["a"], "grow", 1]]]
)
def test_changes_that_do_not_fit_are_refused(changes: list[Any]):
    with pytest.raises(ValueError, match="a change"):
        apply_changes({"a": 1}, changes)


def work(model: Any = None, **options: Any) -> Process:
    """Build a process that appends to state three times."""
    tasks = [Task(id=name, state_updates="done[]") for name in "abc"]

    def answer(call: Any) -> str:
        return "did {}".format(call.prompt.count('"entry":'))

    answers = Scripted(answer) if model is None else model
    return Process(tasks, model=answers, sequence=["a", "b", "c"], **options)


class Gated:
    """A model that says when it is asked, and answers when it is let."""

    name = "gated"

    def __init__(self) -> None:
        self.asked: asyncio.Queue[None] = asyncio.Queue()
        self.answers: asyncio.Queue[str] = asyncio.Queue()

    async def generate_text(self, **_: Any) -> str:
        self.asked.put_nowait(None)
        return await self.answers.get()


@pytest.mark.parametrize("url", ["memory:", "sqlite"])
def test_a_run_that_is_ended_from_outside_goes_on_later(url: str, tmp_path: Path):
    store = open_store(url if url == "memory:" else f"sqlite:///{tmp_path / 'r.db'}")

    async def scenario() -> None:
        model = Gated()
        runs = Runs(store)
        handle = runs.start(work(model), run_id="r")
        await model.asked.get()
        assert (await runs.info("r")).status == "running"
        model.answers.put_nowait("one")
        await model.asked.get()
        assert handle.cancel("enough")
        outcome = await handle
        assert (outcome.status, outcome.steps) == ("cancelled", 1)
        info = await runs.info("r")
        assert (info.status, info.reason, info.steps) == ("cancelled", "enough", 1)
        handle = runs.start(work(model), run_id="r", resume=True)
        await model.asked.get()
        model.answers.put_nowait("two")
        await model.asked.get()
        handle.cancel()
        assert ((await handle).status, (await runs.info("r")).steps) == ("cancelled", 2)
        handle = runs.start(work(model), run_id="early")
        await model.asked.get()
        handle.finish_early()
        assert (await handle).output == {}
        assert (await runs.info("early")).status == "early"

    asyncio.run(asyncio.wait_for(scenario(), 30))
    assert Runs(store).sync.resume(work(), "r").output == {"done": ["one", "two", "did 2"]}


def test_a_task_that_is_cancelled_leaves_the_run_to_others(tmp_path: Path):
    store = open_store(f"sqlite:///{tmp_path / 'r.db'}")

    async def scenario() -> None:
        model = Gated()
        running = asyncio.create_task(Runs(store).run(work(model), run_id="r"))
        await model.asked.get()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(asyncio.wait_for(scenario(), 30))
    runs = Runs(store).sync

    assert runs.info("r").status == "interrupted"
    assert runs.resume(work(), "r").status == "finished"


def test_a_process_that_has_entries_and_state_keeps_them_in_its_run():
    process = work()
    process.add_history(summary="before the run")
    process.state["note"] = "kept"
    runs = Runs(MemoryStore()).sync

    runs.run(process, run_id="r")

    other = work()
    runs.resume(other, "r")
    assert [entry.summary for entry in other.history][:1] == ["before the run"]
    assert other.state["note"] == "kept"
    assert runs.state("r", entry=1) == {"note": "kept"}


def test_entries_that_left_memory_before_a_run_cannot_be_stored():
    process = work(history_max_items=2, history_detail_items=1)
    for number in range(3):
        process.add_history(summary=f"{number}")

    outcome = Runs(MemoryStore()).sync.run(process, run_id="r")

    assert outcome.failure is not None
    assert outcome.failure.code == "HISTORY_LIMIT"


def test_answers_that_were_refused_are_replayed_too():
    task = Task(id="a", output={"type": "object", "required": ["x"]}, state_updates="a")
    runs = Runs(MemoryStore()).sync

    runs.run(Process([task], model=Scripted(["no", "{}", '{"x": 1}'])), run_id="r")

    assert [getattr(each, "attempt", None) for each in runs.tape("r").records] == [1, 2, 3, None]
    assert runs.replay(Process([task]), "r").same


def test_a_stored_tape_is_that_of_a_capture():
    capture = Capture()
    clock = iter(range(100))

    def ticking() -> Any:
        import datetime

        return datetime.datetime.fromtimestamp(next(clock), tz=datetime.UTC)

    work(clock=ticking).run_sync(tape=capture)
    clock = iter(range(100))
    runs = Runs(MemoryStore()).sync

    runs.run(work(clock=ticking), run_id="r")

    assert runs.tape("r") == capture.tape


def test_a_replay_finds_a_script_that_does_something_else():
    def process(number: int) -> Process:
        script = ScriptTask(id="a", run=lambda _: number, state_updates="n", record=True)
        return Process([script])

    runs = Runs(MemoryStore()).sync
    runs.run(process(1), run_id="r")

    found = runs.replay(process(2), "r")

    assert (found.same_log, found.same_state, found.failure) == (False, False, None)


def test_a_run_stops_where_its_store_does(tmp_path: Path):
    store = SqliteStore(tmp_path / "r.db")
    process = work(Scripted(lambda _: store.close() or "x"))

    outcome = Runs(store).sync.run(process, run_id="r")

    assert outcome.failure is not None
    assert outcome.failure.code == "STORAGE_CLOSED"
    assert (outcome.steps, len(process.history)) == (0, 0), "nothing counts that is not stored"
    again = Runs(SqliteStore(tmp_path / "r.db")).sync
    assert again.info("r").status == "interrupted"
    assert again.resume(work(), "r").status == "finished"


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM thusfar_run_step WHERE number = 1",
        "DELETE FROM thusfar_run_entry WHERE seq = 2",
        "UPDATE thusfar_run_step SET changes = '[[' WHERE number = 1",
        'UPDATE thusfar_run_step SET changes = \'[[["x","y"],"set",1]]\' WHERE number = 1',
        "UPDATE thusfar_run_entry SET body = '{}' WHERE seq = 1",
        "UPDATE thusfar_run SET position = 'null'",
    ],
)
def test_a_damaged_run_is_named_and_never_skipped(damage: str, tmp_path: Path):
    runs = Runs(SqliteStore(tmp_path / "r.db")).sync
    runs.run(work(), run_id="r")
    apsw.Connection(str(tmp_path / "r.db")).execute(damage)

    with pytest.raises(CorruptRecordError):
        runs.resume(work(), "r")


def test_wrong_words_are_refused_before_anything_is_stored():
    store = MemoryStore()
    runs = Runs(store).sync

    with pytest.raises(InvalidMessageError, match="run id"):
        runs.run(work(), run_id="")
    with pytest.raises(OptionsError):
        Runs(store, lease_seconds=0)
    assert runs.run(work(input={"type": "array"}), run_id="r").status == "failed"
    assert runs.list() == ()


def test_a_run_is_resumed_by_its_own_process_only():
    runs = Runs(MemoryStore()).sync
    runs.run(work(), run_id="r")

    with pytest.raises(InvalidStateError):
        runs.resume(Process([Task(id="a")], id="other"), "r")
    with pytest.raises(InvalidStateError):
        runs.replay(Process([Task(id="a")], id="other"), "r")


def test_a_fork_cannot_be_given_a_history():
    runs = Runs(MemoryStore()).sync
    runs.run(work(), run_id="r")

    with pytest.raises(InvalidStateError):
        runs.fork("r", entry=1, new_id="f", state={"history": []})
    assert [info.run_id for info in runs.list()] == ["r"]


def test_a_holder_lives_as_long_as_its_run():
    holder = new_holder()

    assert not is_gone(holder)
    let_go(holder)
    assert is_gone(holder)
    assert not is_gone("another machine:1:x"), "nobody can tell from here"
    place = holder.split(":")[0]
    assert is_gone(f"{place}:4194304:x"), "there is no process of that number"
    assert not is_gone(f"{place}:1:x")


def test_a_long_run_in_a_store_keeps_little_in_memory_and_all_in_the_store():
    steps = 2_000

    def choose(call: Any) -> str:
        model.calls.clear()
        number = process.log.recorded + 1
        target = END if number == steps else "a"
        return json.dumps({"goTo": target, "intent": f"file {number}", "stepAfter": "next"})

    gone: list[int] = []
    model = Scripted(choose)
    process = Process(
        [Task(id="a", transitions=["a", END])],
        model=model,
        limits=RunLimits(max_steps=steps),
        history_max_items=20,
        on_event=lambda event: (
            gone.append(event.receipt.history.detail_gone)
            if getattr(event, "receipt", None) and event.receipt.history
            else None
        ),
    )
    runs = Runs(MemoryStore()).sync

    assert runs.run(process, run_id="r").status == "finished"

    assert len(process.history) == 20
    assert set(gone) == {0}, "no detail is gone while a store keeps it"
    assert [entry.seq for entry in runs.entries("r")] == list(range(1, steps + 1))
    again = Process([Task(id="a", transitions=["a", END])], history_max_items=20)
    runs.resume(again, "r")
    assert again.log.older_lines() == process.log.older_lines()


def test_a_read_only_store_lists_and_does_not_run(tmp_path: Path):
    Runs(SqliteStore(tmp_path / "r.db")).sync.run(work(), run_id="r")
    runs = Runs(SqliteStore(tmp_path / "r.db", read_only=True)).sync

    assert runs.info("r").status == "finished"
    with pytest.raises(StorageError):
        runs.delete("r")
    outcome = runs.run(work(), run_id="s")
    assert outcome.failure is not None
    assert outcome.failure.code == "STORAGE_READ_ONLY"
