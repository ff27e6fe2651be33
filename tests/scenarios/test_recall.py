"""What the recall tool answers: equal for a list and a thread, on every store, at any length."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Message,
    Runtime,
    Text,
    context,
    history,
    offload,
    per_message,
    plan,
    plan_sync,
    summarize,
)
from thusfar.messages import ToolCall, ToolResult
from thusfar.storage import MemoryStore, open_store
from thusfar.storage.fulltext import ReadIndexed
from thusfar.thread import Thread
from thusfar.tokens import measure_for

MANY = 700
NAMES = ("ada", "grace", "edsger")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: Any, tmp_path: Path) -> Any:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    else:
        url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'recall.db'}"
    opened = open_store(url, namespace=f"recall-{uuid.uuid4().hex}")
    yield opened
    opened.close()


def transcript(turns: int) -> list[Message]:
    """Questions and answers, a tool round in the middle, and one odd message near the start."""
    told: list[Message] = [Message("system", (Text("Be brief."),))]
    for i in range(turns):
        told.append(Message("user", (Text(f"Question {i} of {NAMES[i % 3]}, please?"),)))
        told.append(Message("assistant", (Text(f"Answer {i}."),)))
    told[3] = Message("user", (Text('The "pass-phrase" is swordfish 北京.'),))
    told[9:9] = [
        Message("user", (Text("What is the weather?"),)),
        Message("assistant", (ToolCall("c1", "look_up", '{"city": "Oslo"}'),)),
        Message("tool", (ToolResult("c1", parts=(Text("minus ten"),)),)),
        Message("assistant", (Text("Cold."),)),
    ]
    return told


def told_to(store: Any, messages: list[Message]) -> Thread:
    thread = Thread("t", store=store)
    thread.sync.append(messages)
    return thread


def arguments(runtime: Runtime) -> dict[str, Any]:
    return {
        "model": "gpt-4o",
        "counter": per_message(lambda m: 10),
        "budget": InputBudget(max=1_000_000),
        "policy": history(recent=4, offload=True),
        "runtime": runtime,
    }


ASKED: tuple[dict[str, Any], ...] = (
    {"search": "swordfish"},
    {"search": '"pass phrase" AND swordfish'},
    {"search": "grace question"},
    {"search": "QUESTION 5"},
    {"search": "北京"},
    {"search": "oslo"},
    {"search": "minus"},
    {"search": "nowhere"},
    {"search": '"'},
    {"search": ""},
    {"first": 0},
    {"first": 3, "last": 3},
    {"first": 8, "last": 14},
    {"last": 2},
    {"first": 100, "last": 400},
    {"first": -5, "last": 1},
    {"first": 5, "last": 2},
    {"first": 10_000_000},
    {"handle": "offload_x"},
    {},
)


@pytest.mark.parametrize("turns", [12, MANY])
def test_a_list_and_a_thread_recall_the_same(store: Any, turns: int):
    messages = transcript(turns)
    thread = told_to(store, messages)
    of_thread = plan_sync(thread=thread, **arguments(Runtime(store)))
    of_list = plan_sync(messages, **arguments(Runtime(store)))

    for asked in ASKED:
        assert of_thread.recall_sync(asked) == of_list.recall_sync(asked), asked

    assert of_thread.recall_sync({"search": "swordfish"}).startswith("[3] user: The ")
    lines = of_thread.recall_sync({"search": "grace"}).splitlines()
    assert len(lines) == (3 if turns == 12 else 10)


def test_async_code_recalls_the_same(store: Any):
    async def main() -> None:
        planned = await plan(thread=told_to(store, transcript(MANY)), **arguments(Runtime(store)))
        for asked in ASKED:
            assert await planned.recall(asked) == planned.recall_sync(asked), asked
        if hasattr(store, "leave_loop"):
            await store.leave_loop()

    asyncio.run(main())


def test_what_was_redacted_since_the_plan_is_not_recalled(store: Any):
    thread = told_to(store, transcript(MANY))
    planned = plan_sync(thread=thread, **arguments(Runtime(store)))
    assert "swordfish" in planned.recall_sync({"search": "swordfish"})
    (found,) = thread.sync.search("swordfish")

    thread.sync.redact(str(found.message.id))

    assert planned.recall_sync({"search": "swordfish"}) == "(nothing found)"
    assert "swordfish" not in planned.recall_sync({"first": 0, "last": 20})


def test_what_was_said_since_the_plan_is_not_recalled(store: Any):
    thread = told_to(store, transcript(12))
    planned = plan_sync(thread=thread, **arguments(Runtime(store)))

    thread.sync.append("one more swordfish")

    assert planned.recall_sync({"search": "swordfish"}).count("swordfish") == 1


class Counting(MemoryStore):
    """Counts the questions it answers, by kind."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def run(self, steps: Any) -> Any:
        def counted() -> Any:
            reply = None
            while True:
                try:
                    question = steps.send(reply)
                except StopIteration as done:
                    return done.value
                self.asked.append(type(question).__name__)
                reply = yield question

        return super().run(counted())


@pytest.mark.parametrize("asked", [{"search": "swordfish"}, {"first": 3, "last": 5}])
def test_recalling_reads_no_more_of_a_long_thread_than_of_a_short_one(asked: dict[str, Any]):
    spent = []
    for turns in (700, 7_000):
        store = Counting()
        planned = plan_sync(thread=told_to(store, transcript(turns)), **arguments(Runtime(store)))
        for _ in range(10):  # each indexes some of the path
            planned.recall_sync({"search": "swordfish"})
        store.asked.clear()

        planned.recall_sync(asked)

        spent.append(len([name for name in store.asked if name.startswith(("Read", "Search"))]))
    assert spent[1] <= spent[0] + 12, "a few more looks at a longer path, not a reading of it"


def test_an_append_writes_nothing_of_the_index():
    store = Counting()
    thread = told_to(store, transcript(MANY))
    thread.sync.search("anything")
    store.asked.clear()

    thread.sync.append("one more")

    def steps() -> Any:
        return (yield ReadIndexed("t"))

    reached = max(row.node for row in store.run(steps()).values())
    assert not {"PutWords", "BeginIndex", "SearchWords"} & set(store.asked)
    assert reached & 0xFFFFFF == len(transcript(MANY)) - 1


def read_whole(planned: Any, **asked: Any) -> str:
    """Read on as an answer says, and put the pieces together as they were cut."""
    start, pieces = 0, []
    while True:
        answer = planned.recall_sync({**asked, "start": start})
        text, more, note = answer.rpartition("\n[characters ")
        if not more:
            return "".join([*pieces, answer])
        span, _, to = note.partition("; read on with start=")
        first, _, after = span.partition(" to ")
        end = int(after.partition(" of ")[0])
        assert int(first) == start < end == int(to.removesuffix("]"))
        pieces.append(text if len(text) == end - start else f"{text}\n")
        start = end


@pytest.mark.parametrize("most", [1_000, 40_000, None])
def test_what_is_too_long_for_one_answer_is_read_exactly_in_several(most: int | None):
    """Nothing of a document or of a message is beyond the reach of the tool."""
    lines = [f"line {i} of a long document with 北京 in it" for i in range(3_000)]
    document, long = "\n".join(lines), "x" * 90_000
    messages = [
        Message("user", (Text(long),)),
        Message("assistant", (Text("Read."),)),
        Message("user", (Text("And?"),)),
    ]
    store = MemoryStore()
    settings = {
        "model": "somebodys-own",
        "capacity": 1_000_000,
        "counter": "estimate",
        "runtime": Runtime(store),
    }
    planned = plan_sync(
        messages,
        use=[offload(context("doc", document))],
        policy=history(recent=1, summary=summarize.digest(line_max_chars=40), offload=True),
        budget=InputBudget(max=most) if most else None,
        **settings,
    )
    handle = planned.system.partition('handle="')[2].partition('"')[0]

    assert read_whole(planned, handle=handle) == document
    assert long in read_whole(planned, first=0)
    if most is not None:
        measure = measure_for("estimate")
        first = planned.recall_sync({"handle": handle})
        free = most - planned.receipt.input_tokens
        assert measure.text(first) <= max(free, most // 4 + 40)  # with the note on how to read on
