"""History in generated turns: one view for one call, whatever the source and the style of loop."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Message,
    Prompt,
    Scripted,
    Text,
    Thread,
    ToolCall,
    generate,
    generate_sync,
    history,
    open_store,
    stream_sync,
    tool,
)
from thusfar.errors import RequestCompositionError, RequestTooLargeError
from thusfar.models.port import ModelReply
from thusfar.runtime.results import Completed
from thusfar.runtime.telling import forget_told


def count_words(text: str) -> int:
    return len(text.split())


def talk(count: int) -> list[dict[str, Any]]:
    body = " ".join(["word"] * 9)
    return [{"role": ("user", "assistant")[i % 2], "content": f"m{i} {body}"} for i in range(count)]


def sent(model: Scripted, request: int = -1) -> list[str]:
    return [str(m["content"]).split()[0] for m in model.requests[request]["messages"]]


@tool
def look(at: int) -> str:
    """Look."""
    return f"seen {at}"


@pytest.fixture
def store() -> Iterator[Any]:
    made = open_store("memory:")
    yield made
    made.close()


@pytest.fixture
def nothing_told() -> Iterator[None]:
    forget_told()
    yield
    forget_told()


def test_the_newest_of_forty_messages_are_sent_in_exactly_one_call():
    model = Scripted("ok")

    result = generate_sync(messages=talk(40), use=[history.recent(20)], model=model)

    assert sent(model) == [f"m{i}" for i in range(20, 40)]
    assert (len(model.requests), model.calls, len(result.steps)) == (1, [], 1)


def test_every_style_of_loop_sends_the_same_bytes():
    models = [Scripted("ok") for _ in range(3)]
    asked: list[dict[str, Any]] = [
        {"messages": talk(30), "use": [history.recent(7)], "model": model} for model in models
    ]

    generate_sync(**asked[0])
    asyncio.run(generate(**asked[1]))
    assert isinstance(list(stream_sync(**asked[2]))[-1], Completed)

    bodies = [json.dumps(model.requests) for model in models]
    assert bodies[0] == bodies[1] == bodies[2]
    assert len(models[0].requests) == 1


def test_a_transcript_of_the_prompt_is_projected_where_the_call_has_none():
    model = Scripted("ok")
    prompt = Prompt(id="p", use=[history.recent(2)], messages=talk(8), model=model)

    generate_sync(prompt)

    assert sent(model) == ["m6", "m7"]


def test_an_orphan_result_is_refused_before_the_call():
    model = Scripted("never")
    orphan = {"role": "tool", "tool_call_id": "gone", "content": "SECRET"}

    with pytest.raises(RequestCompositionError) as raised:
        generate_sync(messages=[*talk(2), orphan], use=[history.recent(4)], model=model)

    assert [d.code for d in raised.value.diagnostics] == ["INVALID_HISTORY_TRANSCRIPT"]
    assert "SECRET" not in str(raised.value)
    assert model.requests == []


def test_the_current_words_are_outside_the_cap_of_a_thread(store: Any):
    """The same data as a list ends in a lone question, which takes the place of a turn."""
    model, thread = Scripted("ok"), Thread("t", store=store)
    for low in (0, 2):
        pair = talk(4)[low : low + 2]
        thread.sync.append([Message(m["role"], (Text(m["content"]),)) for m in pair])

    generate_sync("now what", use=[history.recent(2)], thread=thread, model=model)
    asked = [*talk(4), {"role": "user", "content": "now what"}]
    generate_sync(
        messages=asked,
        use=[
            history.recent(
                2,
            )
        ],
        model=model,
    )

    assert sent(model, 0) == ["m2", "m3", "now"]
    assert sent(model, 1) == ["now"]


def test_what_does_not_fit_exactly_calls_nobody_and_names_its_largest_parts():
    model = Scripted("never")

    with pytest.raises(RequestTooLargeError) as raised:
        generate_sync(
            messages=talk(12),
            system="SECRET " * 30,
            model=model,
            counter=count_words,
            budget=InputBudget(max=100),
        )

    largest = [d for d in raised.value.diagnostics if d.code == "LARGEST_REQUIRED_CONTRIBUTOR"]
    assert [d.facts["contributor"] for d in largest][:2] == ["history", "system"]
    assert "SECRET" not in str(raised.value) + str(raised.value.diagnostics)
    assert "word" not in str(raised.value)
    assert model.requests == []


def test_each_tool_round_has_a_receipt_linked_to_the_one_before():
    call = ModelReply(
        messages=(Message("assistant", (ToolCall("c1", "look", '{"at": 1}'),)),),
        finish="tool-calls",
    )
    again = ModelReply(
        messages=(Message("assistant", (ToolCall("c2", "look", '{"at": 2}'),)),),
        finish="tool-calls",
    )
    model = Scripted([call, again, "done"])

    result = generate_sync("Look twice.", tools=[look], model=model)

    receipts = [step.request for step in result.steps]
    assert len({receipt.id for receipt in receipts}) == 3
    assert [r.previous_request_id for r in receipts] == [None, receipts[0].id, receipts[1].id]
    assert receipts[1].cached_prefix_tokens == receipts[0].input_tokens


def test_a_request_that_was_sent_again_is_one_plan():
    reply = ModelReply(messages=(Message("assistant", (Text("ok"),)),), retries=2)
    hooks: list[Any] = []

    result = generate_sync("Hi", model=Scripted(reply), prepare_step=hooks.append)

    assert len(result.steps) == len(hooks) == 1


def test_a_warning_is_on_each_receipt_and_in_the_log_once_for_a_model(
    nothing_told: None, caplog: pytest.LogCaptureFixture
):
    def near(model: Any) -> Any:
        return generate_sync(
            messages=talk(9),
            model=model,
            counter=count_words,
            budget=InputBudget(max=100, optimize_at=80),
        )

    one, other = Scripted("ok", name="one"), Scripted("ok", name="other")
    elsewhere = Scripted("ok", name="one", provider="elsewhere")
    with caplog.at_level(logging.WARNING, logger="thusfar"):
        results = [near(one), near(one), near(other), near(elsewhere), near(one)]

    told = [record.getMessage() for record in caplog.records if record.name == "thusfar"]
    receipts = [step.request for result in results for step in result.steps]
    assert all("HISTORY_EXACT_NEAR_LIMIT" in {w.code for w in r.warnings} for r in receipts)
    assert [text.split(":")[0] for text in told if "HISTORY_EXACT_NEAR_LIMIT" in text] == [
        "HISTORY_EXACT_NEAR_LIMIT (one)",
        "HISTORY_EXACT_NEAR_LIMIT (other)",
        "HISTORY_EXACT_NEAR_LIMIT (one)",
    ]
    assert "word" not in "".join(told)
    assert "optimize_at=80" in told[0]
