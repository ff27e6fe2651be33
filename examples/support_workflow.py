"""A support workflow, made from the task graph of a service desk.

A task graph says what is asked after what: `graph` leads from a node to the next, `replies` has the
words of each. A key that no node leads to is an event, such as `number_missing`: what the
customer says may lead there from anywhere. Nodes that begin with `query` ask the back office.

Run it: python examples/support_workflow.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from thusfar.models import Scripted
from thusfar.process import (
    END,
    AnyTask,
    DecisionTask,
    Process,
    RunLimits,
    ScriptTask,
    Task,
    TerminalLog,
    Transition,
)

GRAPH = Path(__file__).with_name("support_graph.json")
Listen = Callable[[str, str], str]
Lookup = Callable[[str, Any], str]


def support_process(
    definition: Mapping[str, Any],
    model: Any,
    *,
    listen: Listen,
    lookup: Lookup,
    start: str = "hello",
    **options: Any,
) -> Process:
    """Make a process from a task graph.

    Args:
        definition: The task graph: `task`, `replies` and `graph`.
        model: Decides after each answer of the customer where the conversation goes on.
        listen: `(node, words)` to what the customer says to these words.
        lookup: `(node, state)` to the event that the back office answers a query with.
        start: The first node.
        **options: Further options of `Process`.
    """
    graph: Mapping[str, str] = definition["graph"]
    replies: Mapping[str, str] = definition["replies"]
    targets = {*graph.values()}
    events = {name: to for name, to in graph.items() if name not in targets and name != start}
    tasks: list[AnyTask] = []
    for node in dict.fromkeys([start, *graph, *graph.values()]):
        if node in events:
            continue
        if node.startswith("query"):
            tasks += _query(node, graph.get(node), events, lookup)
        else:
            tasks += _exchange(node, graph.get(node), events, replies.get(node, node), listen)
    given: dict[str, Any] = {
        "id": definition["task"],
        "start": start,
        "goal": f"Serve the customer: {definition['task'].replace('_', ' ')}.",
        "state": {"said": []},
        "limits": RunLimits(max_steps=100),
    }
    return Process(tasks, model=model, **{**given, **options})


def _exchange(
    node: str, behind: str | None, events: Mapping[str, str], words: str, listen: Listen
) -> list[AnyTask]:
    """Say the words of a node, hear the customer, and let the model choose what follows."""

    def say(state: Any) -> dict[str, str]:
        answer = listen(node, words)
        exchange = {"asked": node, "answer": answer}
        state["said"] = [*state["said"], exchange]
        return exchange

    if behind is None:
        return [ScriptTask(id=node, title=words, run=say, record=True, next_task=END)]
    others = {to: name for name, to in events.items() if not _from_query(name) and to != behind}
    edges = [Transition(behind, label="the customer answered")]
    edges += [Transition(to, label=f"the customer said: {name}") for to, name in others.items()]
    return [
        ScriptTask(id=node, title=words, run=say, record=True, next_task=f"{node}.route"),
        Task(
            id=f"{node}.route",
            task_prompt="The last exchange: ${json(state.said[-1])}\nWhere does it go on?",
            transitions=edges,
        ),
    ]


def _query(
    node: str, behind: str | None, events: Mapping[str, str], lookup: Lookup
) -> list[AnyTask]:
    """Ask the back office, and go where its answer leads."""

    def ask(state: Any) -> str:
        event = lookup(node, state)
        state["event"] = event
        return event

    if behind is not None:
        return [ScriptTask(id=node, run=ask, record=True, next_task=behind)]
    leads = [
        ({"fieldName": "event", "operator": "equals", "value": name}, to)
        for name, to in events.items()
    ]
    return [
        ScriptTask(id=node, run=ask, record=True, next_task=f"{node}.result"),
        DecisionTask(id=f"{node}.result", decisions=leads, otherwise=END),
    ]


def _from_query(event: str) -> bool:
    return event.startswith("query")


def routing_model() -> Scripted:
    """Make a model that goes on, or to another node where the customer does not know."""

    def answer(call: Any) -> str:
        prompt = str(call.prompt)
        listed = prompt.rsplit("Next tasks:\n", 1)[1].splitlines()
        targets = [line.removeprefix("- ").partition(":")[0] for line in listed if line]
        last = prompt.rsplit("The last exchange: ", 1)[1].splitlines()[0]
        lost = "do not know" in json.loads(last)["answer"]
        to = targets[1] if lost and len(targets) > 1 else targets[0]
        intent = "the customer does not know" if lost else "that is answered"
        return json.dumps({"goTo": to, "intent": intent, "stepAfter": "hear what they say"})

    return Scripted(answer)


if __name__ == "__main__":
    customer = {"ask_parcel_number": "I do not know, the label is gone."}
    process = support_process(
        json.loads(GRAPH.read_text(encoding="utf-8")),
        routing_model(),
        listen=lambda node, _words: customer.get(node, "Let me see ... here you are."),
        lookup=lambda _node, _state: "query_success",
        on_event=TerminalLog(),
    )
    outcome = process.run_sync()
    print(outcome.status)
    for exchange in process.state["said"]:
        print(f"{exchange['asked']}: {exchange['answer']}")
