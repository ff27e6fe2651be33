"""What the next request needs of the ones before is in the store: another process goes on."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from thusfar import InputBudget, Message, Runtime, Text, per_message, plan, plan_sync
from thusfar.errors import StorageBusyError
from thusfar.runtime import remembering
from thusfar.storage import MemoryStore, open_store
from thusfar.storage import questions as q
from thusfar.thread import Thread


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: Any, tmp_path: Path) -> Any:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    else:
        url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'known.db'}"
    opened = open_store(url, namespace=f"known-{uuid.uuid4().hex}")
    yield opened
    opened.close()


def transcript(count: int) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[i % 2], "content": f"message {i} zanzibar"}
        for i in range(count)
    ]


def told(store: Any, count: int = 6, name: str = "t") -> Thread:
    thread = Thread(name, store=store)
    for i, said in enumerate(transcript(count)):
        thread.sync.append(Message(said["role"], (Text(said["content"]),), id=f"m{i}"))
    return thread


def arguments(store: Any, **more: Any) -> dict[str, Any]:
    """Each call makes a runtime of its own, as another process would."""
    return {
        "model": "gpt-4o",
        "counter": per_message(lambda m: 10),
        "budget": InputBudget(max=100_000),
        "runtime": Runtime(store),
        **more,
    }


def record(store: Any, kind: str, key: str) -> str | None:
    def steps() -> Any:
        return (yield q.ReadRecord(kind, key))

    return store.run(steps())  # type: ignore[no-any-return]


def of_thread(name: str = "t", owner: str = "main") -> str:
    return remembering.Conversation(name=f"thread\n{name}\n{owner}", thread_id=name).key


def test_a_thread_is_continued_by_another_process(store: Any):
    thread = told(store)
    first = plan_sync(thread=thread, turn="one more", **arguments(store))
    first.accept_sync({"role": "assistant", "content": "ok"})

    second = plan_sync(thread=thread, turn="and more", **arguments(store))

    assert first.receipt.previous_request_id is None
    assert second.receipt.previous_request_id == first.receipt.id
    assert second.receipt.cached_prefix_tokens == first.receipt.input_tokens


def test_async_code_goes_on_too(store: Any):
    async def main() -> None:
        thread = told(store)
        first = await plan(thread=thread, turn="one more", **arguments(store))
        await first.accept({"role": "assistant", "content": "ok"}, input_tokens=70)
        second = await plan(thread=thread, turn="and more", **arguments(store))
        assert second.receipt.previous_request_id == first.receipt.id
        assert second.receipt.calibration["samples"] == 1
        if hasattr(store, "leave_loop"):
            await store.leave_loop()

    asyncio.run(main())


def test_a_named_conversation_is_continued_by_another_process(store: Any):
    first = plan_sync(transcript(4), conversation="ada", **arguments(store))
    plan_sync(transcript(9)[3:], conversation="grace", **arguments(store))

    second = plan_sync(transcript(6), conversation="ada", **arguments(store))
    other = plan_sync(transcript(6), conversation="edsger", **arguments(store))
    unnamed = plan_sync(transcript(6), **arguments(store))

    assert second.receipt.previous_request_id == first.receipt.id
    assert second.receipt.cached_prefix_tokens == first.receipt.input_tokens
    assert other.receipt.previous_request_id is None
    assert unnamed.receipt.previous_request_id is None


def test_reported_usage_is_known_to_another_process(store: Any):
    for i in range(9):
        planned = plan_sync(transcript(4), **arguments(store))
        planned.accept_sync("ok", input_tokens=planned.receipt.input_tokens * (11 + i % 2) // 10)

    known = plan_sync(transcript(4), **arguments(store)).receipt.calibration
    elsewhere = plan_sync(transcript(4), **arguments(store, model="gpt-4o-mini")).receipt

    assert known["samples"] == 9
    assert 1.1 <= known["mean"] <= 1.2
    assert elsewhere.calibration is None


def test_only_the_newest_samples_are_kept(store: Any):
    runtime = Runtime(store)
    for _ in range(100):
        runtime.report("gpt-4o", "t", counted=10, reported=11)
        runtime.flush_sync()
    runtime.report("gpt-4o", "t", counted=10, reported=12)
    runtime.flush_sync()

    def steps() -> Any:
        return (yield from remembering.read_steps(None, ("gpt-4o", "t")))

    _, ratios = store.run(steps())

    assert ratios == [1.1] * 63 + [1.2]


def test_a_redaction_and_a_deletion_take_what_is_known_of_a_request_with_them(store: Any):
    thread = told(store)
    plan_sync(thread=thread, **arguments(store))
    plan_sync(thread=thread, conversation="named", **arguments(store))
    assert record(store, "fingerprint", of_thread()) is not None

    thread.sync.redact("m1")

    assert record(store, "fingerprint", of_thread()) is None
    planned = plan_sync(thread=thread, **arguments(store))
    assert planned.receipt.previous_request_id is None
    named = plan_sync(thread=thread, conversation="named", **arguments(store))
    assert named.receipt.previous_request_id is None
    thread.sync.edit("m4", "other", id="e4")
    plan_sync(thread=thread, **arguments(store))
    thread.sync.delete(branch="m4")
    assert record(store, "fingerprint", of_thread()) is None
    plan_sync(thread=thread, **arguments(store))
    thread.sync.delete()
    assert record(store, "fingerprint", of_thread()) is None


def test_owners_threads_and_namespaces_are_told_apart(store: Any):
    thread = told(store)
    other = thread.sync.fork("other")
    first = plan_sync(thread=thread, **arguments(store))
    assert plan_sync(thread=other, **arguments(store)).receipt.previous_request_id is None
    twin = told(store, name="t:other")
    assert plan_sync(thread=twin, **arguments(store)).receipt.previous_request_id is None
    south = store.within(f"{store.namespace}-south")
    foreign = plan_sync(thread=told(south), **arguments(south))
    assert foreign.receipt.previous_request_id is None
    again = plan_sync(thread=thread, **arguments(store))
    assert again.receipt.previous_request_id == first.receipt.id


def test_no_content_is_in_what_is_kept(store: Any):
    thread = told(store)
    planned = plan_sync(thread=thread, system="Be a zanzibar.", **arguments(store))
    planned.accept_sync("zanzibar", input_tokens=100)

    kept = str(record(store, "fingerprint", of_thread()))

    assert "zanzibar" not in kept
    assert set(json.loads(kept)) == {"of", "request", "pieces"}


@pytest.mark.parametrize("damage", ["", "x", "{}", "[]", '{"of":"","request":"","pieces":"!"}'])
def test_what_cannot_be_read_counts_as_nothing(store: Any, damage: str):
    thread = told(store)
    planned = plan_sync(thread=thread, **arguments(store))
    planned.accept_sync("ok", input_tokens=100)
    usage = remembering._usage_key(("gpt-4o", planned.receipt.tokenizer))[0]

    def steps() -> Any:
        yield q.Lock("t", "main")
        yield q.Write(
            (
                q.PutRecord("fingerprint", of_thread(), "t", damage, 0),
                q.PutRecord("usage", usage, "", damage, 0),
            )
        )

    store.run(steps())

    again = plan_sync(thread=thread, **arguments(store))

    assert again.receipt.previous_request_id is None
    assert again.receipt.calibration is None
    assert plan_sync(thread=thread, **arguments(store)).receipt.previous_request_id is not None


def test_pieces_that_are_no_whole_number_of_pieces_count_as_nothing(store: Any):
    thread = told(store)
    plan_sync(thread=thread, **arguments(store))
    body = json.loads(str(record(store, "fingerprint", of_thread())))

    def steps() -> Any:
        yield q.Lock("t", "main")
        body["pieces"] = "AAAA"
        text = json.dumps(body)
        yield q.Write((q.PutRecord("fingerprint", of_thread(), "t", text, 0),))

    store.run(steps())

    assert plan_sync(thread=thread, **arguments(store)).receipt.previous_request_id is None


def test_names_that_callers_choose_are_bounded():
    keys = {remembering.Conversation(name=f"named\n\n{i}", named=True).key for i in range(20_000)}
    inside = {
        remembering.Conversation(name=f"named\nt\n{i}", thread_id="t", named=True).key
        for i in range(2_000)
    }

    assert len(keys) == remembering.NAMED_KEPT
    assert len(inside) == remembering.NAMED_KEPT_IN_THREAD


def test_a_very_long_request_is_remembered_from_its_head():
    store = MemoryStore()
    messages = transcript(5_000)
    plan_sync(messages, conversation="long", **arguments(store))

    planned = plan_sync(messages, conversation="long", **arguments(store))

    pieces = remembering.PIECES_KEPT
    known = planned.receipt.cached_prefix_tokens
    assert known == planned.receipt.input_tokens - 10 * (5_000 + 1 - pieces)


class Closed(MemoryStore):
    """A store that takes nothing while it is told so."""

    closed = False

    def run(self, steps: Any) -> Any:
        if self.closed:
            steps.close()
            raise StorageBusyError("The store was busy.", fix="Try again.")
        return super().run(steps)


def test_usage_that_a_store_cannot_take_is_told_with_the_next_plan():
    store = Closed()
    runtime = Runtime(store)
    planned = plan_sync(transcript(4), **arguments(store, runtime=runtime))
    store.closed = True
    accepted = planned.accept_sync("ok", input_tokens=50)
    store.closed = False

    assert accepted.reported_input_tokens == 50
    again = plan_sync(transcript(4), **arguments(store, runtime=runtime))
    assert again.receipt.calibration["samples"] == 1
    assert plan_sync(transcript(4), **arguments(store)).receipt.calibration["samples"] == 1


def test_a_redaction_while_a_request_is_planned_leaves_nothing_of_it_behind():
    """The path is checked in the write that keeps what is known of the request."""

    class Racing(MemoryStore):
        thread: Any = None

        def run(self, steps: Any) -> Any:
            if self.thread is not None and steps.gi_code.co_name == "keep_request_steps":
                thread, self.thread = self.thread, None
                thread.sync.redact("m1")
            return super().run(steps)

    store = Racing()
    thread = told(store)
    store.thread = thread

    planned = plan_sync(thread=thread, **arguments(store))

    assert len(planned.messages) == 5
    before, _ = store.run(
        remembering.read_steps(
            remembering.Conversation(name="thread\nt\nmain", thread_id="t"), ("x", "y")
        )
    )
    assert before is not None
    assert before.request_id == planned.receipt.id
    assert len(before.pieces) == 6
