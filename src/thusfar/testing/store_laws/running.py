"""Laws of stored runs: durable steps, one holder, forks, and nothing left of what is deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from thusfar.drive import Steps
from thusfar.models import Scripted
from thusfar.process import (
    END,
    Entry,
    Process,
    RunLimits,
    Runs,
    ScriptTask,
    StepCommitted,
    SubProcess,
    SyncRuns,
    Task,
)
from thusfar.process.tasks import AnyTask
from thusfar.storage import runs as r
from thusfar.storage.base import Store
from thusfar.testing.store_laws.told import refusal

_ODD = "nul \x00, half \ud800, bar | and\nline"


def _ask(store: Store, question: Any) -> Any:
    def steps() -> Steps[Any]:
        return (yield question)

    return store.run(steps())


def _counting(steps: int, *, broken_at: int = 0, ceiling: int = 1_000) -> Process:
    """A process that counts its steps in state; its model fails once at one of them."""
    broken = [broken_at]

    def choose(_: Any) -> str:
        number = process.position.steps + 1
        if number == broken[0]:
            broken.clear()
            broken.append(0)
            raise ConnectionError
        go_to = END if number >= steps else "count"
        return json.dumps({"goTo": go_to, "intent": f"step {number}", "stepAfter": "next"})

    tasks: list[AnyTask] = [
        Task(id="choose", transitions=["count", END], model=Scripted(choose)),
        ScriptTask(id="count", run=_count, next_task="choose", record=True),
    ]
    process = Process(
        tasks,
        id="counting",
        state={"n": 0, "odd": []},
        limits=RunLimits(max_steps=steps),
        history_max_items=ceiling,
        history_detail_items=min(10, ceiling),
    )
    return process


def _count(state: Any) -> None:
    state["n"] += 1
    state["odd"] = [*state["odd"], _ODD]


def _behind_steps(told: Callable[[int], Any]) -> Callable[[Any], None]:
    """Tell the number of each step when it is committed."""

    def listen(event: Any) -> None:
        if isinstance(event, StepCommitted):
            told(event.step)

    return listen


def _runs(store: Store) -> SyncRuns:
    return Runs(store).sync


def _same(store: Store, one: str, two: str) -> None:
    found = _runs(store).compare(one, two)
    assert found.equal, f"runs differ behind entry {found.same_entries}: {found.changes}"


def a_run_is_read_back_as_it_was_made(store: Store) -> None:
    """State, entries, counters and outcome; every text comes back equal."""
    process = _counting(7)
    outcome = _runs(store).run(process, {"given": _ODD}, run_id="r")
    assert outcome.status == "finished", str(outcome.failure)
    state = {"n": 3, "odd": [_ODD] * 3, "given": _ODD}
    assert outcome.output == state
    assert _runs(store).state("r") == state
    assert _runs(store).entries("r") == tuple(process.history)
    info = _runs(store).info("r")
    assert (info.status, info.steps, info.calls, info.entries) == ("finished", 7, 4, 7)
    assert (info.process_id, info.task_id, info.failure) == ("counting", "END", None)


def an_id_begins_one_run(store: Store) -> None:
    """A second beginning is refused, and the first run is as it was."""
    _runs(store).run(_counting(3), run_id="r")
    before = _runs(store).info("r")
    with refusal("RUN_EXISTS"):
        _runs(store).run(_counting(3), run_id="r")
    assert _runs(store).info("r") == before
    with refusal("RUN_NOT_FOUND"):
        _runs(store).resume(_counting(3), "nobody")


def a_broken_run_goes_on_behind_its_last_step(store: Store) -> None:
    """It ends as an unbroken one, and no committed step is taken again."""
    _runs(store).run(_counting(9), run_id="whole")
    outcome = _runs(store).run(_counting(9, broken_at=5), run_id="r")
    assert (outcome.status, outcome.steps) == ("failed", 4)
    info = _runs(store).info("r")
    assert (info.status, info.steps, info.task_id) == ("failed", 4, "choose")
    assert info.failure is not None
    assert info.failure["code"] == "PROVIDER_FAILED"
    seen: list[int] = []
    process = _counting(9)
    process.on_event = _behind_steps(seen.append)
    assert _runs(store).resume(process, "r").status == "finished"
    assert seen == [5, 6, 7, 8, 9]
    _same(store, "whole", "r")


def a_finished_run_gives_its_output_again(store: Store) -> None:
    """No model is asked for it."""
    output = _runs(store).run(_counting(5), run_id="r").output
    process = _counting(5)
    process.graph.tasks["choose"].model.calls.clear()  # type: ignore[union-attr]
    again = _runs(store).resume(process, "r")
    assert (again.status, again.output, again.steps) == ("finished", output, 5)
    assert process.graph.tasks["choose"].model.calls == []  # type: ignore[union-attr]
    with refusal("INVALID_STATE"):
        _runs(store).resume(Process([Task(id="choose")], id="another"), "r")


def entries_that_left_memory_stay_in_the_store(store: Store) -> None:
    """All can be read, and prompts made after a resumption have every line."""
    process = _counting(21, ceiling=4)
    _runs(store).run(process, run_id="r")
    assert len(process.history) == 4
    assert [entry.seq for entry in _runs(store).entries("r")] == list(range(1, 22))
    assert [entry.seq for entry in _runs(store).entries("r", first=3, last=5)] == [3, 4, 5]
    assert process.log.part().detail_gone == 0
    other = _counting(21, ceiling=4)
    _runs(store).resume(other, "r")
    assert other.log.older_lines() == process.log.older_lines()
    assert other.log.detail_lines() == process.log.detail_lines()


def entries_made_by_hand_are_kept_with_the_next_step(store: Store) -> None:
    """Those made before the run, between two steps and behind the last one."""
    process = _counting(3)
    process.add_history(summary="before")
    process.on_event = _behind_steps(lambda step: process.add_history(summary=f"behind {step}"))
    _runs(store).run(process, run_id="r")
    kept = [entry.summary or entry.kind for entry in _runs(store).entries("r")]
    assert kept == ["before", "transition", "behind 1", "script", "behind 2", "transition",
                    "behind 3"]  # fmt: skip


def a_sub_process_goes_on_behind_its_last_step(store: Store) -> None:
    """Its committed steps are not taken again, and the parent gets its whole log."""
    made: list[str] = []
    outcome = _runs(store).run(_nested(made.append, broken="b"), run_id="r")
    assert (outcome.status, made) == ("failed", ["first", "a"])
    made.clear()
    assert _runs(store).resume(_nested(made.append), "r").output == {
        "first": "first", "inside": {"a": "a", "b": "b"}
    }  # fmt: skip
    assert made == ["b"]
    entries = _runs(store).entries("r")
    assert [entry.kind for entry in entries] == ["result", "child"]
    assert [each.task_id for each in entries[1].nested] == ["a", "b"]
    assert [info.run_id for info in _runs(store).list()] == ["r"]
    assert _runs(store).replay(_nested(lambda _: None), "r").same


def _nested(told: Callable[[str], Any], broken: str = "") -> Process:
    def answer(name: str) -> Callable[[Any], str]:
        def made(_: Any) -> str:
            if name == broken:
                raise ConnectionError
            told(name)
            return name

        return made

    inner = Process(
        [Task(id=n, state_updates=n, model=Scripted(answer(n))) for n in "ab"],
        id="inner",
        sequence=["a", "b"],
    )
    first = Task(id="first", state_updates="first", model=Scripted(answer("first")))
    inside = SubProcess(id="inside", process=inner, state_updates="inside")
    return Process([first, inside], id="outer", sequence=["first", "inside"])


def runs_are_listed_newest_change_first(store: Store) -> None:
    """By process too, and so many at a time; sub-processes are no runs."""
    for name in ("r1", "r2", "r3"):
        _runs(store).run(_counting(3), run_id=name)
    _runs(store).run(_nested(lambda _: None), run_id="other")
    times = [info.updated_at for info in _runs(store).list()]
    assert times == sorted(times, reverse=True)
    assert {info.run_id for info in _runs(store).list()} == {"r1", "r2", "r3", "other"}
    assert {info.run_id for info in _runs(store).list(process_id="counting")} == {"r1", "r2", "r3"}
    found = [info.run_id for info in _runs(store).list()]
    assert [info.run_id for info in _runs(store).list(limit=2, offset=1)] == found[1:3]


def a_step_is_stored_by_the_holder_and_in_order(store: Store) -> None:
    """Behind another step than the newest, or by another holder, nothing is stored."""
    row = r.RunRow("r", "", "p", "running", 0, 0, "{}", "null", "null", "me", 10_000, 1, 1)
    step = r.RunStepRow("r", "", 0, "", 0, "{}", "[]", "[]", 1)
    entry = r.RunEntryRow("r", "", 1, 1, "{}")
    changed = msgspec.structs.replace
    assert _ask(store, r.KeepRun(row, None, step))
    assert not _ask(store, r.KeepRun(row, None, step)), "it exists"
    next_row, next_step = changed(row, revision=1, recorded=1), changed(step, number=1)
    other = changed(next_row, holder="you")
    assert not _ask(store, r.KeepRun(other, 0, next_step, (entry,))), "another holds it"
    child = changed(other, path="1", revision=0)
    assert not _ask(store, r.KeepRun(child, None, changed(step, path="1"))), "another holds it"
    assert not _ask(store, r.KeepRun(next_row, 1, next_step, (entry,))), "it is not there yet"
    assert _ask(store, r.ReadRun("r")) == row
    assert _ask(store, r.ReadRunEntries("r", 1, 9)) == []
    assert _ask(store, r.KeepRun(next_row, 0, next_step, (entry,)))
    assert not _ask(store, r.KeepRun(next_row, 0, next_step, (entry,))), "it was moved"
    assert _ask(store, r.ReadRun("r")) == next_row
    assert _ask(store, r.ReadRunEntries("r", 1, 9)) == [entry]
    assert [each.number for each in _ask(store, r.ReadRunSteps("r", 0, 9))] == [0, 1]
    own = changed(child, holder="me", lease_until=77)
    assert _ask(store, r.KeepRun(own, None, changed(step, path="1")))
    assert _ask(store, r.ReadRun("r")).lease_until == 77, "a step inside renews the lease"


def a_lease_is_one_holders_until_it_ends(store: Store) -> None:
    """It is taken where it is free, has run out, or its holder is named."""
    row = r.RunRow("r", "", "p", "running", 0, 0, "{}", "null", "null", "me", 100, 1, 1)
    assert _ask(store, r.HoldRun("r", "you", 1, 2)) is None
    assert _ask(store, r.KeepRun(row, None, r.RunStepRow("r", "", 0, "", 0, "{}", "[]", "[]", 1)))
    assert _ask(store, r.HoldRun("r", "you", 99, 200)).holder == "me"
    assert _ask(store, r.HoldRun("r", "me", 99, 150)).lease_until == 150
    assert not _ask(store, r.DropRun("r", 99))
    assert _ask(store, r.HoldRun("r", "you", 149, 300)).holder == "me"
    assert _ask(store, r.HoldRun("r", "you", 150, 300)).holder == "you"
    assert _ask(store, r.HoldRun("r", "she", 160, 300, instead_of="me")).holder == "you"
    assert _ask(store, r.HoldRun("r", "she", 160, 300, instead_of="you")).holder == "she"
    ended = msgspec.structs.replace(row, status="failed", holder="she")
    assert _ask(store, r.KeepRun(ended, 0))
    assert _ask(store, r.ReadRun("r")).holder == "", "a run that ended is held by nobody"
    assert _ask(store, r.DropRun("r", 160))


def who_lost_a_run_commits_nothing_more(store: Store) -> None:
    """Its own run fails with the code of it."""

    def taken_over(step: int) -> None:
        if step == 2:
            assert _runs(store).resume(_counting(5), "r", take_over=True).status == "finished"

    process = _counting(5)
    process.on_event = _behind_steps(taken_over)
    outcome = _runs(store).run(process, run_id="r")
    assert outcome.failure is not None
    assert outcome.failure.code == "RUN_HELD"
    assert [entry.step for entry in _runs(store).entries("r")] == [1, 2, 3, 4, 5]
    assert _runs(store).info("r").status == "finished"


def nothing_of_a_deleted_run_is_left(store: Store) -> None:
    """Neither its rows nor those of its sub-processes; its id is free again."""
    _runs(store).run(_nested(lambda _: None), run_id="r")
    _runs(store).run(_counting(3), run_id="other")
    assert _ask(store, r.ReadRun("r", "2")) is not None
    _runs(store).delete("r")
    for path in ("", "2"):
        assert _ask(store, r.ReadRun("r", path)) is None
        assert _ask(store, r.ReadRunSteps("r", 0, 99, path)) == []
        assert _ask(store, r.ReadRunEntries("r", 0, 99, path)) == []
    assert _ask(store, r.ReadRunTapes("r")) == []
    with refusal("RUN_NOT_FOUND"):
        _runs(store).delete("r")
    assert [info.run_id for info in _runs(store).list()] == ["other"]
    assert len(_runs(store).entries("other")) == 3
    assert _runs(store).run(_counting(3), run_id="r").status == "finished"


def runs_of_one_namespace_are_not_seen_from_another(store: Store) -> None:
    """Ids may be the same in both, and deleting one leaves the other."""
    here, there = _runs(store), _runs(store.within(f"{store.namespace}-other"))
    here.run(_counting(3), run_id="r")
    assert there.list() == ()
    with refusal("RUN_NOT_FOUND"):
        there.info("r")
    there.run(_counting(5), run_id="r")
    assert (len(here.entries("r")), len(there.entries("r"))) == (3, 5)
    there.delete("r")
    assert here.info("r").status == "finished"
    assert len(here.entries("r")) == 3


def a_fork_stands_behind_an_entry_with_another_state(store: Store) -> None:
    """It goes on by itself; the first run is not changed."""
    runs = _runs(store)
    runs.run(_counting(7), run_id="r")
    before = (runs.info("r"), runs.entries("r"), runs.state("r"))
    assert [runs.state("r", entry=n)["n"] for n in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3]
    with refusal("RUN_EXISTS"):
        runs.fork("r", entry=2, new_id="r")
    with refusal("INVALID_OPTIONS"):
        runs.fork("r", entry=8, new_id="f")
    info = runs.fork("r", entry=4, new_id="f", state={"n": 40})
    assert (info.forked_from, info.forked_at, info.entries) == ("r", 4, 4)
    assert runs.resume(_counting(7), "f").output["n"] == 41
    found = runs.compare("r", "f")
    assert (found.same_entries, found.entries, found.equal) == (7, (7, 7), False)
    assert found.changes == ([["n"], "set", 41],)
    assert (runs.info("r"), runs.entries("r"), runs.state("r")) == before
    assert runs.replay(_counting(7), "f").same


def a_replay_of_a_stored_run_comes_to_the_same(store: Store) -> None:
    """Also of one that failed, as far as it came; another prompt is found."""
    runs = _runs(store)
    runs.run(_counting(7), run_id="r")
    runs.run(_counting(7, broken_at=5), run_id="broken")
    assert runs.replay(_counting(7), "r").same
    assert runs.replay(_counting(7), "broken").steps == 4
    assert runs.replay(_counting(7), "broken").same
    other = _counting(7)
    other.texts = replace(other.texts, goal="another goal")
    found = runs.replay(other, "r")
    assert found.failure is not None
    assert found.failure[0] == "REPLAY_DIVERGED"
    found = runs.replay(other, "r", prompts="warn")
    assert found.same
    assert found.changed_prompts == tuple(f"counting:choose:{n}:1" for n in (1, 3, 5, 7))
    assert runs.replay(other, "r", prompts="ignore").changed_prompts == ()


def async_runs_are_the_same(store: Store) -> None:
    """Run, resume, list, read, fork and delete on an event loop."""

    async def all_of_it() -> tuple[Entry, ...]:
        runs = Runs(store)
        assert (await runs.run(_counting(5, broken_at=3), run_id="a")).status == "failed"
        assert (await runs.resume(_counting(5), "a")).status == "finished"
        assert (await runs.start(_counting(5), run_id="b")).status == "finished"
        assert (await runs.compare("a", "b")).equal
        assert (await runs.replay(_counting(5), "a")).same
        assert (await runs.fork("a", entry=0, new_id="c")).entries == 0
        assert (await runs.info("c")).status == "interrupted"
        await runs.delete("c")
        assert {info.run_id for info in await runs.list()} == {"a", "b"}
        assert (await runs.state("a"))["n"] == 2
        assert len((await runs.tape("a")).records) == 8
        entries = await runs.entries("a")
        if callable(leave := getattr(store, "leave_loop", None)):
            await leave()
        return entries

    assert len(asyncio.run(all_of_it())) == 5
