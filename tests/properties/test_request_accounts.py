"""Laws of the account of a request: what is sent, counted anew, is what the receipt says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar import (
    InputBudget,
    Runtime,
    context,
    droppable,
    history,
    offload,
    offloadable,
    plan_sync,
    prefer,
    summarize,
)
from thusfar.errors import RequestTooLargeError
from thusfar.storage.memory import MemoryStore
from thusfar.tokens import measure_for

MODELS = ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "somebodys-own")
TALK = [
    {"role": ("user", "assistant")[i % 2], "content": f"message {i} " + "and so on " * 12}
    for i in range(9)
]


def tool(name: str) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": f"Does {name} well.", "parameters": {}},
    }


def entry(number: int, kind: str, tools: list[str]) -> Any:
    own = context(f"c{number}", f"context {number} " * 60, tools=[tool(name) for name in tools])
    match kind:
        case "prefer":
            return prefer(own, f"short {number}")
        case "offload":
            return offload(own)
        case "offloadable":
            return offloadable(own)
        case "droppable":
            return droppable(own)
        case "both":
            return droppable(offloadable(own))
        case _:
            return own


KINDS = ("plain", "prefer", "offload", "offloadable", "droppable", "both")
ENTRIES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.lists(st.sampled_from("abc"), max_size=2, unique=True)),
    max_size=4,
)


@given(
    ENTRIES,
    st.sampled_from(MODELS),
    st.sampled_from(["estimate", None]),
    st.booleans(),
    st.integers(100, 3_000),
)
@settings(max_examples=150, deadline=None)
def test_the_parts_of_a_receipt_add_up_to_what_is_sent(drawn, model, counter, own_tools, most):
    names = iter("defghijklmnopq")
    use = [
        entry(number, kind, [next(names) for _ in tools])
        for number, (kind, tools) in enumerate(drawn)
    ]
    tools = [tool("own")] if own_tools else []
    policy = history(recent=3, summary=summarize.digest(line_max_chars=40), offload=True)
    try:
        planned = plan_sync(
            TALK,
            model=model,
            counter=counter,
            use=use,
            tools=tools,
            policy=policy,
            budget=InputBudget(max=most),
            capacity=1_000_000,
            runtime=Runtime(MemoryStore()),
        )
    except RequestTooLargeError as error:
        assert error.facts["input_tokens"] > most
        return

    measure = measure_for(counter, model, capacity=1_000_000)
    sealed = planned._sealed.request  # before the provider's rules of placement
    texts = (sealed.system or "").split("\n\n")
    around = measure.tools([tool("x")]) * 2 - measure.tools([tool("x"), tool("x")])
    alone = sum(measure.tools([each]) - around for each in sealed.tools)
    parts = dict(planned.inspect().breakdown)
    recount = (
        measure.base
        + (alone + around if sealed.tools else 0)
        + sum(measure.text(f"{text}\n\n") for text in texts if text)
        + sum(measure.count(planned._edge.facts.dialect, sealed.messages))
        + parts.get("placement", 0)
    )
    assert sum(parts.values()) == planned.receipt.input_tokens <= most
    assert abs(recount - planned.receipt.input_tokens) <= 2 * (len(use) + len(sealed.tools) + 1)
    assert len({json.dumps(each) for each in sealed.tools}) == len(sealed.tools)


def test_tools_of_several_contributors_are_framed_once():
    use = [context(f"c{number}", "rules", tools=[tool(f"t{number}")]) for number in range(4)]

    def size(**more: Any) -> int:
        planned = plan_sync(TALK, model="claude-sonnet-4-5", counter="estimate", **more)
        return planned.receipt.input_tokens

    measure = measure_for("estimate", "claude-sonnet-4-5")
    each = [measure.tools([tool(f"t{number}")]) - measure.tools_once for number in range(4)]
    texts = 4 * measure.text("rules\n\n")
    assert size(use=use) == size() + measure.tools_once + sum(each) + texts


def test_a_tool_that_the_request_has_anyway_costs_nothing_more():
    with_own = plan_sync(TALK, model="gpt-4o", tools=[tool("a")], use=[context("c", "rules")])
    twice = plan_sync(
        TALK, model="gpt-4o", tools=[tool("a")], use=[context("c", "rules", tools=[tool("a")])]
    )

    assert twice.tools == with_own.tools
    assert twice.receipt.input_tokens == with_own.receipt.input_tokens


def test_what_several_references_share_leaves_room_for_another_contributor_in_full():
    """Three references need one tool `recall`; counted three times it would take this room."""
    texts = {number: f"document {number} " * 300 for number in range(3)}
    use = [
        *[offload(context(f"d{number}", text)) for number, text in texts.items()],
        prefer(context("notes", "note " * 40), "note"),
    ]
    arguments = {"model": "gpt-4o", "counter": "estimate", "runtime": Runtime(MemoryStore())}
    most = plan_sync(TALK[:1], use=use, **arguments).receipt.input_tokens

    planned = plan_sync(TALK[:1], use=use, budget=InputBudget(max=most), **arguments)

    assert [a.contributor for a in planned.receipt.adaptations] == ["d0", "d1", "d2"]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_a_request_with_an_image_is_never_told_as_counted_exactly():
    """Nobody but the provider knows what an image weighs."""
    seen = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, IMAGE]}]
    arguments = {"model": "gpt-4o", "counter": lambda text: len(text.split())}

    assert plan_sync(TALK, **arguments).receipt.measurement == "exact"
    assert plan_sync(seen, **arguments).receipt.measurement == "estimated"
    policy = history(recent=1)
    assert plan_sync([*seen, *TALK], policy=policy, **arguments).receipt.measurement == "estimated"
