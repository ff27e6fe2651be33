"""Managed history: what its options promise, sentence by sentence."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkout import ROOT, SOURCE
from thusfar import (
    InputBudget,
    Redaction,
    Runtime,
    Scripted,
    SummaryOptions,
    compact_now_sync,
    history,
    inspect_request_sync,
    plan,
    plan_sync,
    summarize,
)
from thusfar.artifacts import artifact_key, identity_of
from thusfar.errors import OptionsError
from thusfar.planner.receipt import StoredReceipt
from thusfar.storage.memory import MemoryStore
from thusfar.thread.handle import Thread


def count_words(text: str) -> int:
    return len(text.split())


def talk(count: int, words: int = 9) -> list[dict[str, Any]]:
    body = " ".join(["word"] * words)
    return [{"role": ("user", "assistant")[i % 2], "content": f"m{i} {body}"} for i in range(count)]


def setting(model: Any = None, most: int = 100, **more: Any) -> dict[str, Any]:
    options = {"recent": 4, "summary": {"model": model or Scripted("short"), "max_tokens": 20}}
    return {
        "model": "gpt-4o",
        "counter": count_words,
        "budget": InputBudget(max=most),
        "policy": history(**{**options, **more.pop("policy", {})}),
        "runtime": Runtime(),
        **more,
    }


def rows(runtime: Runtime) -> list[Any]:
    return [r for s in runtime.store._spaces.values() for r in s.artifacts.values()]


# Options


@pytest.mark.parametrize(
    "options",
    [
        {"shorten": 0},
        {"shorten": True},
        {"offload": 1},
        {"priority": 1.5},
        {"priority": True},
        {"summary": {"redact": str}},
        {"summary": {"keep_user": 1.0}},
        {"summary": {"keep_user": 0.0}},
        {"summary": {"keep_user": True}},
        {"summary": {"keep_user": float("nan")}},
        {"summary": {"ttl_seconds": 0}},
        {"summary": {"attempts": 0}},
        {"summary": {"max_tokens": None}},
        {"summary": {"strategy": "adaptive"}},
        {"on_miss": "wait"},
    ],
)
def test_a_value_outside_its_range_is_refused_at_construction(options: dict[str, Any]):
    with pytest.raises(OptionsError) as raised:
        history(**options)

    assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Redaction(name="", apply=str),
        lambda: Redaction(name="x", apply="y"),  # type: ignore[arg-type]
        lambda: Redaction(name="x", apply=str, version=0),
    ],
)
def test_a_redaction_needs_a_name_a_function_and_a_version(build: Any):
    with pytest.raises(OptionsError):
        build()


def test_changing_the_passed_options_later_changes_nothing():
    given: dict[str, Any] = {"max_tokens": 20, "model": Scripted("x")}
    policy = history(recent=4, summary=given)
    given["max_tokens"] = 1

    assert policy.options.summary.max_tokens == 20


# Identity


def test_everything_that_changes_the_text_is_part_of_a_summarys_identity():
    base = SummaryOptions(model=Scripted("x"))
    variants = [
        identity_of(base, model="one"),
        identity_of(base, model="two"),
        identity_of(base, model="one", repair="drop"),
        identity_of(base, model="one", provider="maker"),
        identity_of(base, model="one", native=True),
        identity_of(SummaryOptions(strategy=summarize.rolling()), model="one"),
        identity_of(SummaryOptions(max_tokens=400), model="one"),
        identity_of(SummaryOptions(instructions="Keep prices."), model="one"),
        identity_of(SummaryOptions(keep_user=0.1), model="one"),
        identity_of(SummaryOptions(redact=Redaction(name="a", apply=str)), model="one"),
        identity_of(SummaryOptions(redact=Redaction(name="a", apply=str, version=2)), model="one"),
    ]

    digests = {identity.digest for identity in variants}
    assert len(digests) == len(variants)
    assert len({artifact_key(digest, "tf1:0") for digest in digests}) == len(variants)


def test_summaries_are_known_by_what_they_cover_and_not_by_the_system_text_before_it():
    arguments = setting()
    one = [{"role": "system", "content": "Today is Monday."}, *talk(12)]
    two = [{"role": "system", "content": "Today is Tuesday."}, *talk(12)]
    other = [one[0], {"role": "user", "content": "Something else " + "word " * 9}, *talk(12)[1:]]

    first, second = plan_sync(one, **arguments), plan_sync(two, **arguments)
    third = plan_sync(other, **arguments)

    assert first.receipt.history.artifact == second.receipt.history.artifact
    assert third.receipt.history.artifact != first.receipt.history.artifact


def test_a_stored_summary_holds_no_text_of_the_transcript_nor_of_the_instructions():
    arguments = setting(
        policy={
            "summary": {
                "model": Scripted("short"),
                "instructions": "secret wish",
                "max_tokens": 20,
            }
        }
    )

    plan_sync(talk(12), **arguments)

    (row,) = rows(arguments["runtime"])
    for secret in ("word", "m3", "secret wish"):
        assert secret not in row.body
        assert secret not in row.key + row.kind
    assert "short" in row.body


def test_a_damaged_summary_is_told_and_made_anew():
    arguments = setting()
    plan_sync(talk(12), **arguments)
    space = arguments["runtime"].store._spaces["default"]
    (row,) = space.artifacts.values()
    space.artifacts[row.key] = msgspec.structs.replace(row, body="{")

    planned = plan_sync(talk(12), **arguments)

    assert "SUMMARY_DAMAGED" in {warning.code for warning in planned.receipt.warnings}
    assert planned.receipt.history.view.summarised == ((0, 8),)
    assert [each.body == "{" for each in space.artifacts.values()] == [False]


# Staleness


def test_a_stale_summary_that_no_longer_fits_is_continued_instead_of_failing():
    model = Scripted("short")
    arguments = setting(model)
    plan_sync(talk(12), **arguments)

    planned = plan_sync(talk(20), **arguments)

    assert len(model.calls) == 2
    assert "m7 " not in model.calls[1].prompt
    assert "m8 " in model.calls[1].prompt
    assert planned.receipt.history.covered == 16


def test_a_stale_summary_serves_while_its_replacement_is_made_after_the_response():
    events: list[str] = []

    async def main() -> None:
        model = Scripted("short")
        runtime = Runtime(on_event=lambda event: events.append(f"{event.kind} {event.why}"))
        arguments = setting(model, runtime=runtime, most=260)
        arguments["policy"] = history(recent=4, summary={"model": model, "max_tokens": 5})
        messages = talk(30)
        compact_now_sync(messages[:16], **arguments)
        events.clear()

        planned = await plan(messages, **arguments)
        assert planned.receipt.history.covered == 12
        assert planned.receipt.history.stale == 14
        assert events == []
        accepted = await planned.accept({"role": "assistant", "content": "answer"})
        assert accepted.preparing
        assert events == [], "the response waited for the summary"
        await runtime.drain()
        after = await plan([*messages, *talk(4)], **arguments)

        assert events == ["started background", "finished background"]
        assert after.receipt.history.covered > 12

    asyncio.run(main())


def test_a_failed_preparation_is_told_and_the_next_request_is_as_before():
    events: list[Any] = []

    async def main() -> None:
        runtime = Runtime(on_event=events.append)
        model = Scripted(RuntimeError("no"))
        arguments = setting(model, most=200, runtime=runtime)
        planned = await plan(talk(18), **arguments)
        await planned.accept({"role": "assistant", "content": "answer"})
        await runtime.drain()

        again = await plan(talk(18), **arguments)

        assert [event.kind for event in events] == ["started", "failed"]
        assert events[1].code == "SUMMARY_FAILED"
        assert again.messages == planned.messages

    asyncio.run(main())


# Sources


def test_both_colours_plan_the_same_bytes():
    arguments = setting()
    arguments["runtime"] = None

    def shown(planned: Any) -> Any:
        receipt = planned.receipt.to_json()
        receipt.pop("id")
        return json.dumps([receipt, planned.kwargs]).replace(planned.receipt.id, "id")

    one = plan_sync(talk(12), **arguments)
    two = asyncio.run(plan(talk(12), **arguments))

    assert shown(one) == shown(two)


def test_callers_messages_and_a_thread_go_through_the_same_seam_with_the_turn_outside_caps():
    store = MemoryStore()
    thread = Thread("t", store=store)
    for i in range(0, 12, 2):
        thread.sync.append(talk(12)[i : i + 2])
    arguments = setting(policy={"recent": 2}, runtime=Runtime(store))
    arguments["policy"] = history.recent(2)

    ours = plan_sync(talk(12), turn="now?", **arguments)
    theirs = plan_sync(thread=thread, turn="now?", **arguments)

    assert ours.kwargs == theirs.kwargs
    assert [m["content"].split()[0] for m in ours.messages] == ["m10", "m11", "now?"]


def test_recent_history_makes_no_model_call_and_uses_no_store():
    class Unused(MemoryStore):
        def run(self, steps: Any) -> Any:
            raise AssertionError("the store was used")

    runtime = Runtime(summariser=Scripted("x"))
    runtime.store = Unused()

    planned = plan_sync(talk(40), model="gpt-4o", policy=history.recent(20), runtime=runtime)

    assert planned.messages == talk(40)[20:]
    assert runtime.summariser.calls == []


# Evidence


def test_evidence_read_back_equals_what_it_was_and_knows_its_own_fields_only():
    store = MemoryStore()
    arguments = setting(runtime=Runtime(store))
    planned = plan_sync(talk(12), **arguments)

    assert inspect_request_sync(planned, store=store) == planned.inspect()

    key = ("receipt", planned.receipt.id)
    record = store._spaces["default"].records[key]
    body = json.loads(record.body)
    body["inspection"]["leak"] = "a secret"
    store._spaces["default"].records[key] = msgspec.structs.replace(record, body=json.dumps(body))
    again = inspect_request_sync(planned.receipt.id, store=store)
    assert again == planned.inspect()
    assert "secret" not in str(again)


def test_a_receipt_survives_json_and_reads_well():
    planned = plan_sync(talk(12), **setting())

    again = msgspec.convert(
        json.loads(json.dumps(planned.receipt.to_json())), type(planned.receipt)
    )

    assert again == planned.receipt
    assert "history: summary" in str(planned.receipt)
    assert StoredReceipt(receipt=again, inspection=planned.inspect()).receipt == again


def test_a_sealed_plan_does_not_follow_later_changes_of_the_callers_list():
    messages = talk(12)
    planned = plan_sync(messages, **setting())
    before = copy.deepcopy(planned.kwargs)

    messages.append({"role": "user", "content": "later"})

    assert planned.kwargs == before


PROGRAM = """
import sys
import msgspec
from test_managed_history import InputBudget, plan_sync, setting, talk, Runtime
arguments = setting()
from thusfar import context, droppable, offloadable, prefer, preview_sync, RequestTooLargeError
from thusfar.storage.memory import MemoryStore
store = MemoryStore()
arguments["runtime"] = Runtime(store, new_id=lambda: "request_1")
arguments["budget"] = InputBudget(max=250)
arguments["use"] = [
    droppable(prefer(context(f"part-{i}", f"text {i} " * 9, priority=i % 3), f"short {i}"))
    for i in range(20)
] + [offloadable(context("long", "word " * 90))]
arguments["tools"] = [
    {"type": "function", "function": {"name": f"tool-{i}", "parameters": {"type": "object"}}}
    for i in range(3)
]
planned = plan_sync(talk(30), **arguments)
shown = preview_sync(talk(31), **arguments)
try:
    plan_sync(talk(30), system="rule " * 9000, **arguments)
except RequestTooLargeError as error:
    refused = (str(error), error.facts, error.diagnostics)
import thusfar
print(thusfar.__file__, flush=True)
made = (planned.receipt, planned.inspect(), planned.kwargs, planned.fingerprint, shown, refused)
sys.stdout.buffer.write(msgspec.json.encode(made, order="deterministic"))
"""


def test_the_same_facts_give_the_same_bytes_in_any_process(tmp_path):
    """In this checkout, whatever is installed: another hash seed, folder and set of variables."""
    paths = os.pathsep.join(str(ROOT / name) for name in ("src", "tests", "tests/unit"))
    outputs = set()
    for seed in ("1", "2", "3", "7"):
        folder = tmp_path / f"elsewhere {seed}"
        folder.mkdir()
        made = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            check=True,
            cwd=folder,
            env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": paths},
        ).stdout
        imported, _, encoded = made.partition(b"\n")
        assert Path(imported.decode()) == SOURCE / "__init__.py"
        outputs.add(encoded)

    assert len(outputs) == 1
    assert len(outputs.pop()) > 500


def test_models_without_a_name_never_use_each_others_summaries():
    """Two functions, or two classes, are two writers."""

    class One:
        def generate_text(self, **asked: Any) -> str:
            return "said by one"

    class Two:
        def generate_text(self, **asked: Any) -> str:
            return "said by two"

    def three(**asked: Any) -> str:
        return "said by three"

    def four(**asked: Any) -> str:
        return "said by four"

    store, told = MemoryStore(), []
    for writer in (One(), Two(), three, four, One()):
        planned = plan_sync(
            talk(14),
            **{**setting(policy={"summary": None}), "runtime": Runtime(store, summariser=writer)},
        )
        told.append(planned.messages[0]["content"].split("said by ")[1].split()[0])

    assert told == ["one", "two", "three", "four", "one"]
    assert len(rows(Runtime(store))) == 4
