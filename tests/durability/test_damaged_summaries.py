"""A damaged summary is ignored and made anew; the transcript stays as it is, on every store."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from thusfar import (
    InputBudget,
    Runtime,
    history,
    inspect_request_sync,
    offloadable,
    per_message,
    plan_sync,
    preview_sync,
    summarizable,
)
from thusfar.errors import CorruptRecordError
from thusfar.planner.contributors import context
from thusfar.runtime.keeping import lease_steps
from thusfar.storage import open_store
from thusfar.storage import questions as q
from thusfar.thread import Thread


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: Any, tmp_path: Path) -> Any:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    else:
        url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'damaged.db'}"
    opened = open_store(url, namespace=f"damaged-{uuid.uuid4().hex}")
    yield opened
    opened.close()


def transcript() -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[i % 2], "content": f"message {i} about many things"}
        for i in range(12)
    ]


class Model:
    name = "model"
    window = None
    calls = 0

    def generate_text(self, **_: Any) -> str:
        self.calls += 1
        return "What was said."


def arguments(store: Any, model: Any) -> dict[str, Any]:
    return {
        "model": "gpt-4o",
        "counter": per_message(lambda m: 50 if "history-summary" in str(m) else 100),
        "budget": InputBudget(max=1000),
        "policy": history(recent=4, summary={"model": model, "max_tokens": 100}),
        "runtime": Runtime(store),
    }


def rows_of(store: Any, thread_id: str) -> list[Any]:
    def steps() -> Any:
        return (yield q.ReadArtifacts(thread_id))

    return store.run(steps())  # type: ignore[no-any-return]


def change(store: Any, thread_id: str, body: Any) -> None:
    """Write another body into every summary, as damage would."""

    def steps() -> Any:
        yield q.Lock("summaries", "summaries")
        changes: list[Any] = []
        for row in rows:
            made = body(row.body)
            changes.append(q.DropArtifacts((row.key,)))
            changes.append(q.PutArtifact(msgspec.structs.replace(row, body=made)))
        yield q.Write(tuple(changes))

    rows = rows_of(store, thread_id)
    assert rows
    store.run(steps())


def _edited(**fields: Any) -> Any:
    def edit(body: str) -> str:
        value = json.loads(body)
        value["artifact"].update(fields)
        return json.dumps(value)

    return edit


def _gap(body: str) -> str:
    value = json.loads(body)
    value["artifact"]["segments"][0]["end"] = 3
    return json.dumps(value)


DAMAGE = {
    "cut off": lambda body: body[: len(body) // 2],
    "empty": lambda body: "",
    "not JSON": lambda body: "\x01\x02",
    "another shape": lambda body: '{"artifact": {"key": 7}}',
    "a list": lambda body: "[]",
    "nothing in it": lambda body: "{}",
    "endless nesting": lambda body: "[" * 100_000,
    "another key": _edited(key="summary_other"),
    "another chain": _edited(chain="0" * 64),
    "another length": _edited(messages=6),
    "no text": _edited(segments=[]),
    "a gap": _gap,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("of_thread", [False, True], ids=["list", "thread"])
def test_a_damaged_summary_is_ignored_and_made_anew(store: Any, of_thread: bool, damage: Any):
    model = Model()
    said = arguments(store, model)
    messages = transcript()
    before = json.dumps(messages)
    if of_thread:
        thread = Thread("t", store=store)
        thread.sync.import_(messages)
        source: dict[str, Any] = {"thread": thread}
        exported = thread.sync.export()
    else:
        source = {"messages": messages}
    first = plan_sync(**source, **said)
    change(store, "t" if of_thread else "", damage)

    seen = preview_sync(**source, **said)
    second = plan_sync(**source, **said)
    third = plan_sync(**source, **said)

    assert seen.status == "unknown"
    assert "SUMMARY_DAMAGED" in [w.code for w in seen.warnings]
    assert [w.code for w in second.receipt.warnings] == [
        "HISTORY_SUMMARY_INLINE",
        "SUMMARY_DAMAGED",
    ]
    assert second.receipt.warnings[1].facts == {"summaries": 1}
    assert third.receipt.warnings == ()
    assert first.messages == second.messages == third.messages
    assert model.calls == 2
    assert len(rows_of(store, "t" if of_thread else "")) == 1
    assert json.dumps(messages) == before
    if of_thread:
        assert thread.sync.export() == exported
        assert thread.sync.verify().ok


def test_damage_to_an_older_summary_stops_nothing_and_goes_with_the_next(store: Any):
    model = Model()
    thread = Thread("t", store=store)
    thread.sync.import_(transcript())
    plan_sync(thread=thread, **arguments(store, model))
    change(store, "t", lambda body: "damaged")
    for i in range(6):
        thread.sync.append({"role": ("user", "assistant")[i % 2], "content": f"more {i}"})

    planned = plan_sync(thread=thread, **arguments(store, model))

    assert "SUMMARY_DAMAGED" in [w.code for w in planned.receipt.warnings]
    assert [row.body == "damaged" for row in rows_of(store, "t")] == [False]
    after = plan_sync(thread=thread, **arguments(store, model))
    assert after.receipt.warnings == ()


def test_a_damaged_summary_of_a_contributor_is_made_anew(store: Any):
    model = Model()
    notes = summarizable(context("notes", "many words " * 200), model=model, max_tokens=20)
    said = {
        "model": "gpt-4o",
        "budget": InputBudget(max=300),
        "use": [notes],
        "runtime": Runtime(store),
    }
    plan_sync(transcript()[:2], **said)
    change(store, "", lambda body: body[:-5])

    again = plan_sync(transcript()[:2], **said)

    assert "SUMMARY_DAMAGED" in [w.code for w in again.receipt.warnings]
    assert plan_sync(transcript()[:2], **said).receipt.warnings == ()
    assert model.calls == 2


def test_a_damaged_lease_binds_nobody(store: Any):
    elsewhere = plan_sync(transcript(), **arguments(open_store("memory:"), Model()))
    key = str(elsewhere.receipt.history.artifact)
    taken = store.run(lease_steps(key, holder="dead", now=0, until=2**53))
    assert taken is not None
    change(store, "", lambda body: "damaged")

    assert plan_sync(transcript(), **arguments(store, Model())).receipt.history.covered == 8
    assert [row.key for row in rows_of(store, "")] == [key]


def test_a_damaged_receipt_is_a_typed_error(store: Any):
    planned = plan_sync(transcript(), **arguments(store, Model()))

    def steps() -> Any:
        yield q.Lock("summaries", "summaries")
        yield q.Write((q.PutRecord("receipt", planned.receipt.id, "", "damaged", 0),))

    store.run(steps())

    with pytest.raises(CorruptRecordError, match="receipt"):
        inspect_request_sync(planned.receipt.id, store=store)


def test_any_text_behind_a_handle_comes_back_and_a_damaged_one_is_a_typed_error(store: Any):
    text = "many words \x00 \ud800 " * 200
    said = {
        "model": "gpt-4o",
        "budget": InputBudget(max=700),
        "use": [offloadable(context("notes", text))],
        "runtime": Runtime(store),
    }
    planned = plan_sync(transcript()[:2], **said)
    ((handle, body),) = [(k, b) for k, b in _handles(store, planned)]

    told, pieces = "", []
    while len("".join(pieces)) < len(text):  # an answer fits the next request
        told = planned.recall_sync({"handle": handle, "start": len("".join(pieces))})
        pieces.append(told.rpartition("\n[characters ")[0] or told)
    assert "".join(pieces) == text
    for damage in ("damaged", "7", "[" * 5):

        def steps(damage: str = damage) -> Any:
            yield q.Lock("summaries", "summaries")
            yield q.Write((q.PutRecord("offload", handle, "", damage, 0),))

        store.run(steps())
        with pytest.raises(CorruptRecordError, match="handle"):
            planned.recall_sync({"handle": handle})
    assert body.startswith('"many words')


def _handles(store: Any, planned: Any) -> list[tuple[str, str]]:
    """The handles that a request tells the model, with what is stored behind them."""
    found = re.findall(r"offload_[0-9a-f]+", str(planned.kwargs))

    def steps(handle: str) -> Any:
        return (yield q.ReadRecord("offload", handle))

    return [(handle, store.run(steps(handle))) for handle in dict.fromkeys(found)]
