"""Recall within a turn: what is sent in short is read back by the model, by us, in the turn."""

from __future__ import annotations

from typing import Any

import pytest

from colors import COLORS, turn_in
from model_adapters import ADAPTERS, QUIET, Adapter
from thusfar import (
    InputBudget,
    Message,
    Scripted,
    Thread,
    ToolCall,
    context,
    generate_sync,
    history,
    offload,
    open_store,
    tool,
)
from thusfar.errors import RequestCompositionError
from thusfar.messages import ToolResult
from thusfar.runtime.edge import Runtime
from thusfar.testing.loopback import Answer, LoopbackServer

pytestmark = [pytest.mark.anyio, *(pytest.mark.filterwarnings(each) for each in QUIET)]

SHORT = history(recent=4, offload=True, on_miss="fail")
SMALL = InputBudget(max=1_800)
CALLS = (
    ToolCall("call_1", "recall", '{"search": "walrus"}'),
    ToolCall("call_2", "recall", '{"first": 2, "last": 3}'),
    ToolCall("call_3", "recall", '{"first": "the first"}'),
)
SECRET = "It was the walrus who paid."


def question(at: int) -> list[Message]:
    answer = SECRET if at == 3 else f"Answer {at}."
    return [
        Message("user", f"Question {at}? " + "word " * 30),
        Message("assistant", f"{answer} " + "word " * 30),
    ]


def filled(thread: Thread) -> Thread:
    for at in range(30):
        thread.sync.append(question(at))
    return thread


def recalled(messages: Any) -> list[tuple[bool, str]]:
    parts = [p for m in messages for p in m.parts if isinstance(p, ToolResult)]
    return [(part.is_error, part.parts[0].text) for part in parts]


@pytest.mark.parametrize(
    ("adapter", "color", "place"),
    [
        *((adapter, "sync", "memory") for adapter in ADAPTERS),
        *((ADAPTERS[0], color, "sqlite") for color in COLORS),
        *((ADAPTERS[2], color, "postgres") for color in ("sync", "async", "stream")),
    ],
    ids=str,
)
async def test_a_turn_that_reads_back_what_it_was_sent_in_short(
    adapter: Adapter, color: str, place: str, request: Any
) -> None:
    """PL-27, GE-1."""
    address = {
        "memory": lambda: "memory:",
        "sqlite": lambda: f"sqlite:///{request.getfixturevalue('tmp_path') / 'threads.db'}",
        "postgres": lambda: request.getfixturevalue("postgres_url"),
    }[place]()
    store = open_store(address)
    thread = filled(Thread(f"recall-{adapter}-{color}", store=store))
    runtime = Runtime(store, summariser=Scripted("They talked."))
    options = {"thread": thread, "use": [SHORT], "budget": SMALL, "counter": "estimate"}
    options["runtime"] = runtime
    with LoopbackServer([Answer(tool_calls=CALLS), "The walrus.", "Still the walrus."]) as server:
        model = adapter.to(server)
        result = await turn_in(color, "Who paid?", model=model, **options)
        later = await turn_in(color, "Sure?", model=model, **options)
        await model.aclose()
        assert [each.findings for each in server.requests] == [(), (), ()]
        first, second, _ = (str(each.body) for each in server.requests)
        assert SECRET not in first
        assert SECRET in second

    assert (result.text, later.text) == ("The walrus.", "Still the walrus.")
    assert result.steps[0].request.adaptations[0].representation == "offload"
    assert result.request.previous_request_id == result.steps[0].request.id
    found, exact, wrong = recalled(result.messages)
    assert (found[0], exact[0], wrong[0]) == (False, False, True)
    assert SECRET in found[1]
    assert exact[1].startswith("[2] user: Question 1?")
    stored = thread.sync.read(limit=12).messages
    turn = stored[-len(result.messages) - 2 : -2]
    assert [m.parts for m in turn] == [m.parts for m in result.messages]
    assert thread.sync.verify().ok
    await runtime.drain()
    await store.aclose()


@pytest.fixture
def thread():
    store = open_store("memory:")
    yield filled(Thread("t", store=store))
    store.close()


def test_recall_runs_beside_tools_of_the_author_and_in_the_order_of_the_calls(thread):
    """PL-27, GE-7."""

    def add(left: int, right: int) -> int:
        return left + right

    calls = (CALLS[0], ToolCall("a", "add", '{"left": 1, "right": 2}'), CALLS[1])
    model = Scripted([calls, "Done."])

    result = generate_sync(
        "Go.", model=model, thread=thread, use=[SHORT], budget=SMALL, tools=[add]
    )

    assert [text[:12] for _, text in recalled(result.messages)][1] == "3"
    assert [text[:3] for _, text in recalled(result.messages)] == ["[7]", "3", "[2]"]


def test_recall_that_was_not_offered_reads_nothing(thread):
    """GE-8."""
    model = Scripted([CALLS[0], "I cannot."])

    result = generate_sync("Go.", model=model, thread=thread, use=[history.recent(4)])

    assert recalled(result.messages) == [(True, "There is no tool of this name.")]


def test_a_tool_of_the_author_may_be_named_recall_where_nothing_is_offloaded(thread):
    """GE-8."""

    def recall(number: int) -> str:
        return f"product {number} was called back"

    call = ToolCall("c", "recall", '{"number": 7}')
    result = generate_sync("Go.", model=Scripted([call, "Done."]), thread=thread, tools=[recall])
    waiting = generate_sync(
        "Go.",
        model=Scripted([call]),
        tools=[{"name": "recall", "parameters": {"type": "object"}}],
    )

    assert recalled(result.messages) == [(False, "product 7 was called back")]
    assert [each.name for each in waiting.pending] == ["recall"]


@pytest.mark.parametrize("entry", [SHORT, offload(context("long", "word " * 900))])
def test_two_tools_named_recall_are_refused(entry, thread):
    """PL-10."""

    @tool(name="recall")
    def mine() -> str:
        return ""

    model = Scripted([])
    with pytest.raises(RequestCompositionError, match="recall"):
        generate_sync("Go.", model=model, thread=thread, use=[entry], tools=[mine], budget=SMALL)
    assert model.requests == []


def test_a_document_is_read_back_by_its_handle(thread):
    """PL-10, PL-27."""
    text = "word " * 900 + "The end is near."

    def asking(arguments: Any) -> ToolCall:
        shown = str(arguments["messages"][0])
        handle = shown.partition('handle="')[2].partition('"')[0]
        return ToolCall("c", "recall", f'{{"handle": "{handle}"}}')

    model = Scripted([asking, "It is near."])
    result = generate_sync(
        "How does it end?",
        model=model,
        messages=None,
        runtime=Runtime(thread.store),
        use=[offload(context("long", text))],
        budget=InputBudget(max=1_300),
    )

    assert [said.endswith("The end is near.") for _, said in recalled(result.messages)] == [True]


def test_messages_of_the_caller_are_read_back_too(thread):
    """PL-27."""
    said = [{"role": m.role, "content": m.text} for at in range(30) for m in question(at)]
    model = Scripted([CALLS[0], "The walrus."])

    result = generate_sync(
        messages=[*said, {"role": "user", "content": "Who paid?"}],
        model=model,
        use=[SHORT],
        budget=SMALL,
        runtime=Runtime(thread.store),
    )

    assert [m["role"] for m in result.messages] == ["assistant", "tool", "assistant"]
    assert SECRET in result.messages[1]["content"]
