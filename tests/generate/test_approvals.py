"""Calls that wait: who goes on with them, in which order, and what comes of two at once."""

from __future__ import annotations

import pytest

from thusfar import Message, Scripted, Text, Thread, ToolCall, generate_sync, open_store, tool
from thusfar.errors import OptionsError
from thusfar.messages import ToolResult

PAY = ToolCall("c", "pay", '{"amount": 1}')


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
    """GE-7."""
    calls = [ToolCall(call_id, "pay", f'{{"amount": {amount}}}') for amount in (1, 2)]
    model = Scripted([tuple(calls), "Done."], dialect="gemini")

    paused = generate_sync("Pay.", model=model, thread=thread, tools=[pay])
    allowed = {call.id or call.name: True for call in paused.pending}
    generate_sync(model=model, thread=thread, tools=[pay], approvals=allowed)

    assert [text for _, text in told(thread)] == ["paid 1", "paid 2"]
