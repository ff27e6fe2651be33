"""Calls that wait: who goes on with them, in which order, and what comes of two at once."""

from __future__ import annotations

import pytest

from colors import COLORS, turn_in
from thusfar import (
    Message,
    Scripted,
    Text,
    Thread,
    ToolCall,
    generate_sync,
    open_store,
    tool,
)
from thusfar.errors import OptionsError, PreparationError
from thusfar.messages import ToolResult
from thusfar.models.gemini import Gemini
from thusfar.testing.loopback import Answer, LoopbackServer

pytestmark = pytest.mark.anyio

PAY = ToolCall("c", "pay", '{"amount": 1}')
CALL, LATER = (ToolCall(None, "pay", f'{{"amount": {amount}}}') for amount in (1, 2))
PLACES = ("sqlite", "postgres")


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.fixture
def thread():
    store = open_store("memory:")
    yield Thread("t", store=store)
    store.close()


def waiting(thread, *calls):
    answer = calls or (PAY,)
    return generate_sync("Pay.", model=Scripted([answer]), thread=thread, tools=[pay])


def told(thread):
    return [
        (p.call_id, p.parts[0].text)
        for m in thread.sync.read().messages
        for p in m.parts
        if isinstance(p, ToolResult)
    ]


def roles(messages):
    return [message.role for message in messages]


def test_words_stand_behind_the_results_of_the_calls_that_waited(thread):
    """GE-9."""
    waiting(thread)
    model = Scripted(["Done."])

    generate_sync("And thanks.", model=model, thread=thread, tools=[pay], approvals={"c": False})

    assert [m["role"] for m in model.requests[0]["messages"]] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert roles(thread.sync.read().messages) == ["user", "assistant", "tool", "user", "assistant"]


@pytest.mark.parametrize("words", ["Never mind.", None])
def test_a_turn_never_passes_over_calls_that_wait(words, thread):
    """GE-9."""
    waiting(thread)
    model = Scripted(["Fine."])

    with pytest.raises(OptionsError, match="calls that wait"):
        generate_sync(words, model=model, thread=thread, tools=[pay])

    assert model.requests == []
    assert roles(thread.sync.read().messages) == ["user", "assistant"]


def test_of_two_who_go_on_at_once_the_second_becomes_an_alternative(thread):
    """GE-3."""
    ran = []

    @tool(needs_approval=True, name="pay")
    def slow(amount: int) -> str:
        ran.append(amount)
        if len(ran) == 1:  # somebody else goes on with the same call meanwhile, and is done first
            theirs = Scripted(["Theirs."])
            generate_sync(model=theirs, thread=thread, tools=[slow], approvals={"c": True})
        return f"paid by {len(ran)}"

    waiting(thread)
    model = Scripted(["Mine."])

    mine = generate_sync(model=model, thread=thread, tools=[slow], approvals={"c": True})

    assert mine.thread_commit.status == "alternative"
    assert [m["role"] for m in model.requests[0]["messages"]] == ["user", "assistant", "tool"]
    assert [m.text for m in thread.sync.read().messages][-1] == "Theirs."
    assert len(told(thread)) == 1


def test_calls_that_share_an_id_are_told_apart(thread):
    """GE-7."""
    paused = waiting(thread, PAY, ToolCall("c", "pay", '{"amount": 2}'))
    model = Scripted(["Done."])

    assert [call.id for call in paused.pending] == ["c", "c_2"]
    generate_sync(model=model, thread=thread, tools=[pay], approvals={"c": False, "c_2": True})

    assert told(thread) == [("c", "The call was not allowed."), ("c_2", "paid 2")]


def test_a_result_answers_the_call_it_is_given_for(thread):
    """GE-9."""
    waiting(thread)
    given = ToolResult("another", "another", (Text("Paid by hand."),))

    generate_sync(model=Scripted(["Done."]), thread=thread, approvals={"c": given})

    assert told(thread) == [("c", "Paid by hand.")]


def test_a_call_is_not_answered_with_what_is_no_result(thread):
    """GE-9."""
    waiting(thread)

    with pytest.raises(OptionsError, match="no result"):
        generate_sync(
            model=Scripted([]), thread=thread, approvals={"c": Message("user", (Text("Yes."),))}
        )


def test_a_call_whose_tool_is_not_here_cannot_be_allowed(thread):
    """GE-9."""
    waiting(thread)

    with pytest.raises(OptionsError, match="cannot be run here"):
        generate_sync(model=Scripted([]), thread=thread, approvals={"c": True})

    assert told(thread) == []


@pytest.mark.parametrize("call_id", [None, ""])
def test_calls_without_ids_are_answered_in_order(call_id, thread):
    """GE-9."""
    calls = [ToolCall(call_id, "pay", f'{{"amount": {amount}}}') for amount in (1, 2)]
    model = Scripted([tuple(calls), "Done."], dialect="gemini")

    paused = generate_sync("Pay.", model=model, thread=thread, tools=[pay])
    allowed = {call.id: True for call in paused.pending}
    generate_sync(model=model, thread=thread, tools=[pay], approvals=allowed)

    assert [text for _, text in told(thread)] == ["paid 1", "paid 2"]


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("place", PLACES)
async def test_of_two_calls_without_ids_one_is_allowed_in_another_process(place, color, request):
    """GE-9."""
    url = request.getfixturevalue("postgres_url") if place == "postgres" else None
    address = url or f"sqlite:///{request.getfixturevalue('tmp_path') / 'threads.db'}"
    name = f"approvals-{color}"
    with LoopbackServer([Answer(tool_calls=(CALL, LATER)), "Done."]) as server:
        paused = await run(color, address, name, server, words="Pay both.")
        assert [(call.id, call.arguments) for call in paused.pending] == [
            ("pay", '{"amount":1}'),
            ("pay_2", '{"amount":2}'),
        ]
        await run(color, address, name, server, approvals={"pay": True, "pay_2": False})
        sent = server.requests[-1].body["contents"]
        assert [each.findings for each in server.requests] == [(), ()]
    answers = [part["functionResponse"]["response"] for part in sent[2]["parts"]]
    assert answers == [{"output": "paid 1"}, {"error": "The call was not allowed."}]


def test_a_result_never_answers_an_earlier_call_without_an_id_that_waits(thread):
    """GE-9."""
    ran = []

    @tool(needs_approval=lambda said: said["amount"] > 100, name="pay")
    def limited(amount: int) -> str:
        ran.append(amount)
        return f"paid {amount}"

    calls = [ToolCall(None, "pay", f'{{"amount": {amount}}}') for amount in (1, 500, 2)]
    model = Scripted([tuple(calls), "Done."], dialect="gemini")

    paused = generate_sync("Pay.", model=model, thread=thread, tools=[limited])
    assert ran == [1]
    assert [call.arguments for call in paused.pending] == ['{"amount":500}', '{"amount":2}']
    generate_sync(
        model=model, thread=thread, tools=[limited], approvals={"pay": False, "pay_2": True}
    )

    assert [text for _, text in told(thread)] == ["paid 1", "The call was not allowed.", "paid 2"]


def test_a_call_waits_behind_more_results_than_one_look_at_the_thread_finds(thread):
    """GE-9."""

    def look(at: int) -> str:
        return f"seen {at}"

    calls = [ToolCall(f"look_{at}", "look", f'{{"at": {at}}}') for at in range(100)]
    first = Scripted([(PAY, *calls)])
    generate_sync("Look.", model=first, thread=thread, tools=[pay, look])

    generate_sync(
        model=Scripted(["Done."]), thread=thread, tools=[pay, look], approvals={"c": True}
    )

    assert told(thread)[-1] == ("c", "paid 1")


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("decided", ["raises", "says nothing", "raises later", "is later"])
async def test_nothing_runs_where_nobody_can_say_whether_a_call_waits(decided, color, thread):
    """GE-9."""
    ran = []

    def decide(said):
        if "raises" in decided:
            raise KeyError("secret")
        return True if decided == "is later" else None

    async def decide_later(said):
        return decide(said)

    @tool(needs_approval=decide_later if "later" in decided else decide, name="pay")
    def guarded(amount: int) -> str:
        ran.append(amount)
        return "paid"

    def free() -> str:
        ran.append("free")
        return "done"

    model = Scripted([(ToolCall("f", "free"), PAY), "Done."])
    options = {"model": model, "thread": thread, "tools": [guarded, free]}
    if decided == "is later":
        assert [call.id for call in (await turn_in(color, "Pay.", **options)).pending] == ["c"]
        return
    with pytest.raises(PreparationError) as raised:
        await turn_in(color, "Pay.", **options)

    assert raised.value.facts == {"reason": "approval", "tool": "pay"}
    assert "secret" not in str(raised.value)
    assert isinstance(raised.value.__cause__, KeyError) is ("raises" in decided)
    assert ran == []
    assert thread.sync.read().messages == ()


async def run(color, address, name, server, *, words=None, approvals=None):
    """Generate with everything made anew, as another process would."""
    model = Gemini("gemini-2.5-pro", base_url=server.base_url("gemini"), api_key="a-key")
    store = open_store(address)
    try:
        return await turn_in(
            color,
            words,
            model=model,
            thread=Thread(name, store=store),
            tools=[pay],
            approvals=approvals,
        )
    finally:
        await model.aclose()
        await store.aclose()
