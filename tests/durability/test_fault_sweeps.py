"""A store that fails at each question, and callers cancelled at each: nothing is lost or poisoned.

Each sweep runs one conversation turn again and again, with the fault at the next question each
time, until the fault comes too late. After each fault the same turn is taken without one.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from durability.failing import Clock, FailingStore
from thusfar import InputBudget, Message, Runtime, Text, history, per_message, plan, plan_sync
from thusfar.errors import HistoryError, StorageError, ThreadCommitError
from thusfar.planner.contributors import context, offloadable
from thusfar.storage import MemoryStore, SqliteStore
from thusfar.storage import questions as q
from thusfar.storage.postgres import PostgresStore
from thusfar.thread import Thread

ANSWER = {"role": "assistant", "content": "the answer"}
STORED = 12  # messages before the turn


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opened(request: Any, tmp_path: Path) -> Iterator[Any]:
    """A store that fails, on each backend, whose clock goes on when somebody waits."""
    clock = Clock()
    store: Any
    if request.param == "memory":
        store = MemoryStore(clock=clock)
    elif request.param == "sqlite":
        store = SqliteStore(tmp_path / "faults.db", synchronous="NORMAL", clock=clock)
    else:
        store = PostgresStore(request.getfixturevalue("postgres_url"), clock=clock)
    store = store.within(f"faults-{uuid.uuid4().hex}")
    yield FailingStore(store)
    store.close()


class Model:
    """A summary model that answers."""

    name = "model"
    window = None

    def generate_text(self, **_: Any) -> str:
        return "What was said."


class Turn:
    """One turn over a list or a thread that needs a summary before it can be sent."""

    def __init__(self, store: FailingStore, *, stored: bool, number: int) -> None:
        self.store, self.stored = store, stored
        self.messages: list[dict[str, Any]] = [
            {"role": ("user", "assistant")[i % 2], "content": f"message {i} of {number}"}
            for i in range(STORED)
        ]
        self.before = json.dumps(self.messages)
        self.thread = Thread(f"t{number}", store=store)
        if stored:
            self.thread.sync.append(
                [Message(m["role"], (Text(m["content"]),)) for m in self.messages]
            )
        self.runtime = self.another()

    def another(self) -> Runtime:
        """A runtime as another process would have."""
        return Runtime(self.store, sleep=self.store.clock.sleep)

    def arguments(self, runtime: Runtime) -> dict[str, Any]:
        source = {"thread": self.thread} if self.stored else {"messages": self.messages}
        notes = offloadable(context("notes", "many words " * 400))
        return {
            **source,
            "model": "gpt-4o",
            "turn": "one more question",
            "conversation": "talk",
            "counter": per_message(lambda m: 50 if "history-summary" in str(m) else 100),
            "budget": InputBudget(max=1_000),
            "policy": history(recent=4, summary={"model": Model(), "max_tokens": 100}),
            "use": [notes],
            "runtime": runtime,
        }

    def take(self, runtime: Runtime) -> Any:
        planned = plan_sync(**self.arguments(runtime))
        planned.accept_sync(ANSWER, input_tokens=900)
        return planned

    async def atake(self, runtime: Runtime) -> Any:
        planned = await plan(**self.arguments(runtime))
        await planned.accept(ANSWER, input_tokens=900)
        await runtime.drain()
        return planned

    def check(self) -> None:
        """What was said is as it was, and the turn is there whole or not at all."""
        assert json.dumps(self.messages) == self.before
        if not self.stored:
            return
        said = [m.text for m in self.thread.sync.transcript().messages]
        assert said[:STORED] == [m["content"] for m in self.messages]
        turn = ["one more question", "the answer"]
        assert said[STORED:] == turn * ((len(said) - STORED) // 2)
        assert self.thread.sync.verify().ok

    def summaries(self) -> list[Any]:
        def steps() -> Any:
            return (yield q.ReadArtifacts(self.thread.id if self.stored else ""))

        rows = self.store.run(steps())
        return [row for row in rows if row.kind != "lease"]


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("stored", [False, True], ids=["list", "thread"])
def test_a_store_fails_at_each_question_of_a_turn(opened: Any, stored: bool, after: bool):
    kinds: set[str] = set()
    for at in range(1, 400):
        turn = Turn(opened, stored=stored, number=at)
        opened.fail_at(at, after=after)
        try:
            turn.take(turn.runtime)
        except HistoryError as error:
            assert isinstance(error, StorageError | ThreadCommitError), error
        if not opened.failed:
            break
        kinds.add(opened.failed)
        opened.fail_at(None)
        turn.check()

        assert turn.take(turn.runtime).receipt.history.covered >= 8
        assert turn.take(turn.another()).receipt.history.covered >= 8

        turn.check()
        made = len(turn.summaries())
        assert 1 <= made <= 3 if stored else made == at, "one for each list, however often tried"
    assert at > 20, "there are fewer questions than this test believes"
    assert {"Lock", "Write", "FindArtifacts", "ReadRecord"} <= kinds
    assert not stored or {"AppendGroup", "ReadHead", "ReadArtifacts"} <= kinds


@pytest.mark.parametrize("stored", [False, True], ids=["list", "thread"])
def test_a_store_fails_at_each_question_of_a_turn_in_async_code(opened: Any, stored: bool):
    async def main() -> None:
        for at in range(1, 400):
            turn = Turn(opened, stored=stored, number=at)
            opened.fail_at(at)
            try:
                await turn.atake(turn.runtime)
            except HistoryError as error:
                assert isinstance(error, StorageError | ThreadCommitError), error
            if not opened.failed:
                break
            opened.fail_at(None)
            turn.check()

            assert (await turn.atake(turn.runtime)).receipt.history.covered >= 8
            assert (await turn.atake(turn.another())).receipt.history.covered >= 8

            turn.check()
        assert at > 20, "there are fewer questions than this test believes"
        await close_loop(opened)

    asyncio.run(main())


@pytest.mark.parametrize("stored", [False, True], ids=["list", "thread"])
def test_a_turn_is_cancelled_at_each_question(opened: Any, stored: bool):
    async def main() -> None:
        cancelled = 0
        for at in range(1, 400):
            turn = Turn(opened, stored=stored, number=at)
            opened.fail_at(at)
            opened.victim = asyncio.get_running_loop().create_task(turn.atake(turn.runtime))
            (outcome,) = await asyncio.gather(opened.victim, return_exceptions=True)
            opened.victim = None
            late = not opened.failed
            opened.fail_at(None)
            await turn.runtime.drain()
            if late:
                break
            cancelled += isinstance(outcome, asyncio.CancelledError)
            assert isinstance(outcome, asyncio.CancelledError) or not isinstance(
                outcome, BaseException
            ), outcome
            turn.check()

            assert (await turn.atake(turn.runtime)).receipt.history.covered >= 8
            assert (await turn.atake(turn.another())).receipt.history.covered >= 8

            turn.check()
        assert cancelled > 10
        await close_loop(opened)

    asyncio.run(main())


async def close_loop(opened: FailingStore) -> None:
    if hasattr(opened.store, "leave_loop"):
        await opened.store.leave_loop()
