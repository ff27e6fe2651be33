"""A builder of data sources: the state alone shows the work half done, the history shows the plan.

One logical change needs several tasks here: a relation is a field here and a key there.
Between the two the state looks broken; only the history says that it is being worked on.

Run it: python examples/data_source_builder.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from thusfar.models import Scripted
from thusfar.process import (
    END,
    AnyTask,
    CommitChanges,
    Process,
    RunLimits,
    ScriptTask,
    Task,
    TerminalLog,
    Transition,
)

FIELD_TYPES = ("text", "integer", "float", "boolean", "date", "datetime", "link")
WANTED = (
    "Orders with a number, a customer, a day of order and a total. A customer may have many orders."
)
FIELD = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z][A-Za-z0-9]*$"},
        "type": {"enum": list(FIELD_TYPES)},
        "required": {"type": "boolean"},
        "linksTo": {"type": "string"},
    },
    "required": ["name", "type"],
    "additionalProperties": False,
}
NAME = {
    "type": "object",
    "properties": {"id": {"type": "string", "minLength": 1}, "title": {"type": "string"}},
    "required": ["id"],
}
KEY = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


def refuse_twins(outputs: Mapping[str, Any], state: Any) -> CommitChanges | None:
    """Refuse a field that there is already; the model is asked again with the reason."""
    if any(field["name"] == outputs["name"] for field in state.get("fields", [])):
        return CommitChanges(errors=(f"There is a field {outputs['name']} already.",))
    return None


def refuse_unknown(outputs: Mapping[str, Any], state: Any) -> CommitChanges | None:
    """Refuse a key that is no field."""
    names = [field["name"] for field in state.get("fields", [])]
    if outputs["key"] not in names:
        return CommitChanges(errors=(f"key must be one of: {', '.join(names)}.",))
    return None


def review(state: Any) -> list[str]:
    """Find what a data source still lacks."""
    fields = state.get("fields", [])
    lacking = [] if state.get("key") else ["It has no key."]
    lacking += [
        f"{field['name']} is a link without a target."
        for field in fields
        if field["type"] == "link" and not field.get("linksTo")
    ]
    return lacking


def builder(model: Any, **options: Any) -> Process:
    """Make the process.

    Args:
        model: The model.
        **options: Further options of `Process`.
    """
    has_fields = {"fieldName": "fields.length", "operator": "greaterThan", "value": 0}
    tasks: list[AnyTask] = [
        Task(
            id="decide",
            task_prompt="The data source so far: ${json(state)}\nWhat is to be done next?",
            transitions=[
                Transition("name", visible_when={"fieldName": "source", "operator": "isNull"}),
                Transition("addField"),
                Transition("chooseKey", visible_when=has_fields),
                Transition("review", visible_when=has_fields),
                Transition(
                    END,
                    label="the data source is complete",
                    visible_when={"fieldName": "complete", "operator": "equals", "value": True},
                ),
            ],
        ),
        Task(
            id="name",
            title="Name the data source",
            task_prompt="Give the data source an id.",
            output=NAME,
            state_updates="source",
            history_summary="named it ${output.id}",
        ),
        Task(
            id="addField",
            title="Add field",
            description="add one field",
            task_prompt="Which field is to be added? So far: ${json(state.fields)}",
            output=FIELD,
            before_commit=refuse_twins,
            state_updates="fields[]",
            history_summary="added field ${output.name} (${output.type})",
        ),
        Task(
            id="chooseKey",
            title="Choose the key",
            task_prompt="Which field is the key? So far: ${json(state.fields)}",
            output=KEY,
            before_commit=refuse_unknown,
            state_updates={"key": "$output.key"},
            history_summary="key is ${output.key}",
        ),
        ScriptTask(
            id="review",
            title="Review",
            description="check the data source",
            run=_reviewed,
            state_updates="findings",
            record=True,
        ),
    ]
    given: dict[str, Any] = {
        "id": "dataSourceBuilder",
        "goal": WANTED,
        "intro_prompt": "You build the definition of a data source, one change at a time.",
        "default_return_task": "decide",
        "state": {"fields": []},
        "limits": RunLimits(max_steps=60, loop_threshold=3),
    }
    return Process(tasks, model=model, **{**given, **options})


def _reviewed(state: Any) -> list[str]:
    found = review(state)
    state["complete"] = not found
    return found


PLAN = (
    ("name", "start with a name", {"id": "Order", "title": "Orders"}),
    ("addField", "add orderNumber", {"name": "orderNumber", "type": "integer", "required": True}),
    ("addField", "add orderDate", {"name": "orderDate", "type": "date"}),
    ("addField", "add customer", {"name": "customer", "type": "link", "linksTo": "Customer"}),
    ("chooseKey", "orderNumber is the key", {"key": "orderNumber"}),
    ("addField", "add total", {"name": "total", "type": "float"}),
    ("review", "all is there", None),
)
"""What the scripted model does, in order; it knows how far it is from its prompt alone."""


def scripted() -> Scripted:
    """Make a model that remembers nothing: its next move follows from the prompt it is given."""

    def answer(call: Any) -> str:
        prompt = str(call.prompt)
        done = [step for step in PLAN if _told(step[1], prompt)]
        if "What is to be done next?" in prompt:
            left = [step for step in PLAN if step not in done]
            to, intent = (left[0][0], left[0][1]) if left else (END, "it is complete")
            after = left[1][1] if len(left) > 1 else "finish"
            return json.dumps({"goTo": to, "intent": intent, "stepAfter": after})
        value = done[-1][2]
        first_try = "not accepted" not in prompt
        if value == PLAN[2][2] and first_try:
            value = {"name": "Order date", "type": "date"}  # a mistake that the schema refuses
        return json.dumps(value)

    return Scripted(answer)


def _told(intent: str, prompt: str) -> bool:
    """Tell whether the history in a prompt names an intent."""
    return re.search(rf'(?m)"intent":"{intent}"|\| {intent}$', prompt) is not None


if __name__ == "__main__":
    process = builder(scripted(), on_event=TerminalLog())
    outcome = process.run_sync()
    print(outcome.status)
    print(json.dumps(outcome.output, indent=2))
