"""The example processes, run to their ends."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from examples.coding_loop import MODULES, STEPS, coding_loop, last_entries, stateless_model
from examples.data_source_builder import PLAN, builder, review, scripted
from examples.support_workflow import GRAPH, routing_model, support_process

from shared_data import SHARED, needs_shared
from thusfar.process import AnswerRefused, Process


def test_a_data_source_is_built_one_change_at_a_time():
    refused: list[Any] = []
    process = builder(
        scripted(),
        on_event=lambda event: refused.append(event) if isinstance(event, AnswerRefused) else None,
    )

    outcome = process.run_sync()

    assert outcome.status == "finished", outcome.failure
    built = outcome.output
    assert [field["name"] for field in built["fields"]] == [
        "orderNumber", "orderDate", "customer", "total",
    ]  # fmt: skip
    assert (built["source"]["id"], built["key"], built["complete"]) == (
        "Order", "orderNumber", True,
    )  # fmt: skip
    assert review(built) == []
    assert process.check() == ()
    assert [event.task_id for event in refused] == ["addField"], "one answer broke the schema"
    assert outcome.calls == outcome.steps + len(refused) - 1, "the review asks no model"


def test_every_change_of_a_data_source_is_in_the_history_with_its_intent():
    process = builder(scripted())

    process.run_sync()

    intents = [entry.intent for entry in process.history if entry.kind == "transition"]
    assert intents == [*(step[1] for step in PLAN), "it is complete"]
    summaries = [entry.summary for entry in process.history if entry.summary]
    assert summaries == [
        "named it Order",
        "added field orderNumber (integer)",
        "added field orderDate (date)",
        "added field customer (link)",
        "key is orderNumber",
        "added field total (float)",
    ]
    last = process.model.calls[-1].prompt
    assert all(step[1] in last for step in PLAN)
    assert "Order date" not in last, "what was refused is no history"


def test_a_builder_whose_history_is_kept_from_it_goes_in_a_circle_and_is_stopped():
    process = builder(scripted(), no_history=True)

    outcome = process.run_sync()

    assert outcome.failure is not None


def talked(answers: dict[str, str], event: str = "query_success") -> Process:
    process = support_process(
        json.loads(GRAPH.read_text(encoding="utf-8")),
        routing_model(),
        listen=lambda node, words: answers.get(node, "Here you are."),
        lookup=lambda node, state: event,
    )
    outcome = process.run_sync()
    assert outcome.status == "finished", outcome.failure
    return process


def asked(process: Process) -> list[str]:
    return [exchange["asked"] for exchange in process.state["said"]]


def test_a_customer_is_served_along_the_task_graph():
    assert asked(talked({})) == [
        "hello", "ask_parcel_number", "ask_delivery_day", "ask_damage", "claim_filed",
        "anything_else",
    ]  # fmt: skip


def test_a_customer_who_does_not_know_is_asked_something_else():
    process = talked({"ask_parcel_number": "I do not know."}, "query_failure")

    assert asked(process) == [
        "hello", "ask_parcel_number", "ask_sender", "ask_delivery_day", "ask_damage",
        "parcel_not_found", "anything_else",
    ]  # fmt: skip
    (lost,) = [entry for entry in process.history if entry.intent == "the customer does not know"]
    assert (lost.task_id, lost.go_to) == ("ask_parcel_number.route", "ask_sender")


@needs_shared
def test_task_graphs_of_a_real_collection_run_to_their_ends():
    assert SHARED is not None
    found = sorted(SHARED.glob("data/star/tasks/*/*.json"))
    graphs = [json.loads(path.read_text(encoding="utf-8")) for path in found]
    graphs = [each for each in graphs if "graph" in each]
    assert len(graphs) == 4

    for definition in graphs:
        events = [name for name in definition["graph"] if name == "available"]
        answers = iter([*events, *["query_success"] * 9])
        process = support_process(
            definition,
            routing_model(),
            listen=lambda node, words: "Yes.",
            lookup=lambda node, state: next(answers),  # noqa: B023 - used at once
            start=next(iter(definition["graph"])),
        )
        assert not [finding for finding in process.check() if finding.stops]

        outcome = process.run_sync()

        assert outcome.status == "finished", outcome.failure
        assert len(process.state["said"]) >= 5
        assert len(process.history) == process.log.recorded >= 10


def test_three_hundred_steps_of_a_coding_agent_repeat_no_work():
    process, edited = coding_loop(stateless_model())

    outcome = process.run_sync()

    assert (outcome.status, outcome.steps) == ("finished", STEPS)
    assert STEPS == 300
    assert process.check() == ()
    assert edited == list(range(MODULES))
    assert process.state["tests"] == {"failing": 0}
    assert process.log.part().lines + process.log.part().in_full == 300


@pytest.mark.parametrize("most", [0, 20, 100])
def test_the_same_agent_repeats_work_where_older_entries_are_dropped(most: int):
    process, edited = coding_loop(stateless_model(lambda prompt: last_entries(prompt, most=most)))

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "STEP_LIMIT"
    assert len(edited) == MODULES
    assert max(Counter(edited).values()) > 1
    assert len({*edited}) < MODULES
    assert process.state["tests"]["failing"] > 0


def test_the_same_agent_repeats_work_where_one_entry_is_dropped():
    process, edited = coding_loop(
        stateless_model(lambda prompt: prompt.replace("plan -> edit | repair module 7\n", ""))
    )

    process.run_sync()

    assert Counter(edited)[7] > 1
