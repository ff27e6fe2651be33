"""How long summaries stay: time to live, the last two superseded, one namespace; on every store."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Message,
    Runtime,
    Text,
    compact_now_sync,
    history,
    per_message,
    plan_sync,
    summarizable,
)
from thusfar.planner.contributors import context
from thusfar.storage import MemoryStore, SqliteStore
from thusfar.storage import questions as q
from thusfar.storage.postgres import PostgresStore
from thusfar.thread import Thread


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: Any, tmp_path: Path) -> Iterator[Any]:
    """A store of each kind, in a namespace of its own, with a clock that is set by the test."""
    clock = Clock()
    opened: Any
    if request.param == "memory":
        opened = MemoryStore(clock=clock)
    elif request.param == "sqlite":
        opened = SqliteStore(tmp_path / "kept.db", synchronous="NORMAL", clock=clock)
    else:
        opened = PostgresStore(request.getfixturevalue("postgres_url"), clock=clock)
    yield opened.within(f"kept-{uuid.uuid4().hex}")
    opened.close()


class Model:
    name = "model"
    window = None

    def __init__(self) -> None:
        self.calls = 0

    def generate_text(self, **_: Any) -> str:
        self.calls += 1
        return "What was said."


class Talk:
    """A conversation that grows, as a list or a thread; each request has its own runtime."""

    def __init__(self, store: Any, *, stored: bool, model: Model | None = None) -> None:
        self.store, self.model = store, model or Model()
        self.messages: list[dict[str, Any]] = []
        self.thread = Thread("t", store=store) if stored else None

    def say(self, count: int) -> None:
        for _ in range(count):
            i = len(self.messages)
            said = {"role": ("user", "assistant")[i % 2], "content": f"message {i}"}
            self.messages.append(said)
            if self.thread is not None:
                self.thread.sync.append(Message(said["role"], (Text(said["content"]),)))

    def arguments(self, **summary: Any) -> dict[str, Any]:
        source = {"messages": self.messages} if self.thread is None else {"thread": self.thread}
        return {
            **source,
            "model": "gpt-4o",
            "counter": per_message(lambda m: 50 if "history-summary" in str(m) else 100),
            "budget": InputBudget(max=1000),
            "policy": history(
                recent=4, summary={"model": self.model, "max_tokens": 100, **summary}
            ),
            "runtime": Runtime(self.store),
        }

    def plan(self, **summary: Any) -> Any:
        return plan_sync(**self.arguments(**summary))

    def kept(self) -> list[Any]:
        def steps() -> Any:
            return (yield q.ReadArtifacts("t" if self.thread is not None else ""))

        return [row for row in self.store.run(steps()) if row.kind != "lease"]


STORED = pytest.mark.parametrize("stored", [False, True], ids=["list", "thread"])


@STORED
def test_a_summary_is_used_until_its_time_has_passed(store: Any, stored: bool):
    talk = Talk(store, stored=stored)
    talk.say(12)
    talk.plan(ttl_seconds=60)

    store.clock.now += 59_999
    talk.plan(ttl_seconds=60)
    assert talk.model.calls == 1
    store.clock.now += 1
    again = talk.plan(ttl_seconds=60)

    assert talk.model.calls == 2
    assert again.receipt.history.covered == 8
    assert len(talk.kept()) == 1, "the new one takes the place of the old one"
    store.clock.now += 59_999
    talk.plan(ttl_seconds=60)
    assert talk.model.calls == 2


@STORED
def test_without_a_time_to_live_a_summary_stays(store: Any, stored: bool):
    talk = Talk(store, stored=stored)
    talk.say(12)
    talk.plan()

    store.clock.now += 10 * 365 * 24 * 3600 * 1000

    assert talk.plan().receipt.warnings == ()
    assert talk.model.calls == 1


@STORED
def test_the_newest_and_the_last_two_it_supersedes_stay(store: Any, stored: bool):
    talk = Talk(store, stored=stored)
    talk.say(12)
    talk.plan()
    for count in range(2, 8):
        talk.say(4)
        compact_now_sync(**talk.arguments())
        assert len(talk.kept()) == min(count, 3)

    planned = talk.plan()

    assert planned.receipt.history.covered == 32
    assert talk.model.calls == 7


@STORED
def test_a_superseded_summary_serves_where_the_newest_is_not_of_this_path(store: Any, stored: bool):
    """The last two are kept for an edit of what came since, or a request over less."""
    talk = Talk(store, stored=stored)
    talk.say(12)
    talk.plan()
    talk.say(4)
    compact_now_sync(**talk.arguments())
    if talk.thread is not None:
        head = talk.thread.sync.read().entries[11]
        talk.thread.sync.rewind(head.id)
    else:
        del talk.messages[12:]

    planned = talk.plan()

    assert planned.receipt.history.covered == 8
    assert planned.receipt.warnings == ()
    assert talk.model.calls == 2


@STORED
def test_namespaces_share_no_summary_and_collect_none_of_each_other(store: Any, stored: bool):
    model = Model()
    talks = [
        Talk(store.within(f"{store.namespace}-{name}"), stored=stored, model=model)
        for name in ("north", "south")
    ]
    for talk in talks:
        talk.say(12)
        talk.plan()
    assert model.calls == 2

    for _ in range(4):
        talks[0].say(4)
        compact_now_sync(**talks[0].arguments())

    assert len(talks[0].kept()) == 3
    assert len(talks[1].kept()) == 1
    assert talks[1].plan().receipt.warnings == ()
    if stored:
        talks[0].thread.sync.delete()  # type: ignore[union-attr]
        assert talks[0].kept() == []
        assert len(talks[1].kept()) == 1


def test_two_threads_with_the_same_words_share_no_summary(store: Any):
    """A summary of a thread belongs to it alone, and is erased with it alone."""
    model = Model()
    talks = [Talk(store, stored=True, model=model) for _ in range(2)]
    for name, talk in zip("ab", talks, strict=True):
        talk.thread = Thread(name, store=store)
        talk.say(12)
        talk.plan()

    assert model.calls == 2


def test_summaries_of_contributors_end_with_their_time_and_their_namespace(store: Any):
    model = Model()

    def planned(where: Any) -> Any:
        notes = summarizable(context("notes", "many words " * 200), model=model, max_tokens=20)
        return plan_sync(
            [{"role": "user", "content": "Hi"}],
            model="gpt-4o",
            budget=InputBudget(max=300),
            use=[notes],
            runtime=Runtime(where),
        )

    planned(store)
    planned(store)
    assert model.calls == 1
    planned(store.within(f"{store.namespace}-other"))
    assert model.calls == 2


@pytest.mark.parametrize("erase", ["redact", "remove", "edit", "delete branch"])
def test_what_leaves_a_thread_takes_its_summaries_with_it(store: Any, erase: str):
    talk = Talk(store, stored=True)
    talk.say(12)
    talk.plan()
    assert talk.thread is not None
    sync = talk.thread.sync
    (first,) = [e.id for e in sync.read().entries[2:3]]
    match erase:
        case "redact":
            sync.redact(first)
        case "remove":
            sync.remove(first)
        case "edit":
            sync.edit(first, "another question", id="e1")
        case _:
            sync.edit(first, "another question", id="e1")
            sync.delete(branch=first)

    kept = talk.kept()
    talk.say(10)
    planned = talk.plan()

    assert len(kept) == (1 if erase == "edit" else 0)
    assert talk.model.calls == 2, "no summary of the old path was used"
    assert "HISTORY_SUMMARY_INLINE" in [w.code for w in planned.receipt.warnings]
