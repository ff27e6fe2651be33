"""Random turns: steps on any wire, calls with and without ids, calls that wait, pictures."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from thusfar import (
    Amendment,
    Image,
    Scripted,
    Text,
    Thread,
    ToolCall,
    generate_sync,
    open_store,
    stream_sync,
    tool,
)
from thusfar.messages import Reasoning
from thusfar.runtime.step_context import tool_uses
from thusfar.testing.loopback.checking import findings_of

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")
PIXEL = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="

calls = st.lists(
    st.tuples(st.sampled_from(["look", "show", "pay", "unknown"]), st.booleans()),
    min_size=1,
    max_size=4,
)
steps = st.tuples(st.sampled_from(WIRES), st.booleans(), calls)
turns = st.tuples(st.lists(steps, max_size=3), st.sampled_from(WIRES), st.booleans())
decisions = st.lists(st.sampled_from([True, False, "given"]), min_size=4, max_size=4)


@tool
def look(number: int) -> str:
    """Look."""
    return f"did {number}"


@tool
def show(number: int) -> list[Any]:
    """Show."""
    return [Text(f"did {number}"), Image("image/gif", PIXEL)]


@tool(needs_approval=lambda said: said["number"] % 2 == 0)
def pay(number: int) -> str:
    """Pay."""
    return f"did {number}"


class Conversation:
    """Says what is scripted, and keeps what every model was asked."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.number = 0
        self.asked: list[Scripted] = []
        self.results: list[Any] = []

    def answer(self, wire: str, thinks: bool, wanted: list[tuple[str, bool]]) -> Any:
        parts: list[Any] = []
        if thinks and wire == "anthropic":
            parts.append(Reasoning("I think.", "c2lnbmVk", provider="anthropic"))
        for name, without in wanted:
            self.number += 1
            ident = None if wire == "gemini" and without else f"call_{self.number}"
            parts.append(ToolCall(ident, name, json.dumps({"number": self.number})))
        return tuple(parts)

    def take(self, turn: Any, decided: list[Any]) -> None:
        planned, last, streamed = turn
        answers = [(wire, self.answer(wire, thinks, wanted)) for wire, thinks, wanted in planned]
        answers.append((last, "Done."))
        waiting: dict[str, Any] = {}
        words: str | None = f"Question {len(self.results)}?"
        while answers:
            models = [Scripted([said], dialect=wire, name=f"m-{wire}") for wire, said in answers]
            self.asked += models
            options: dict[str, Any] = {
                "model": Scripted([], dialect=last),
                "thread": self.thread,
                "tools": [look, show, pay],
                "leave_out": True,
                "approvals": waiting,
                "prepare_step": lambda seen, held=models: Amendment(model=held[seen.index]),
            }
            if streamed:
                result = stream_sync(words, **options).result()
            else:
                result = generate_sync(words, **options)
            self.results.append(result)
            answers = answers[len(result.steps) :]
            names = [call.id for call in result.pending]
            waiting = dict(zip(names, (decided * 2)[: len(names)], strict=True))
            for call in result.pending:
                if waiting[call.id] == "given":
                    waiting[call.id] = f"did {json.loads(call.arguments)['number']}"
            words = None


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(turns, min_size=1, max_size=3), decisions)
@example(
    [([("gemini", False, [("look", False), ("pay", False), ("pay", True)])], "openai-chat", False)],
    [True] * 4,
)
def test_whatever_happens_in_turns_is_legal_on_every_wire_and_stored_as_it_was(
    talk: list[Any], decided: list[Any]
) -> None:
    """GE-1, GE-7, GE-9, GE-12, PL-28."""
    store = open_store("memory:")
    spoken = Conversation(Thread("t", store=store))
    for turn in talk:
        spoken.take(turn, decided)

    for model in spoken.asked:
        for request in model.requests:
            body = {**request, **request.get("config", {})}
            body["systemInstruction"] = body.get("system_instruction")
            assert findings_of(model.dialect, body) == ()
    stored = spoken.thread.sync.read(limit=1_000).messages
    told = [message for result in spoken.results for message in result.messages]
    assert [message.parts for message in stored] == [message.parts for message in told]
    for use in tool_uses(stored):
        assert use.answered
        if not use.is_error:
            assert use.result == f"did {json.loads(use.arguments)['number']}"
    for result in spoken.results:
        ids = [step.request.id for step in result.steps]
        assert [step.request.previous_request_id for step in result.steps[1:]] == ids[:-1]
    assert spoken.thread.sync.verify().ok
    store.close()
