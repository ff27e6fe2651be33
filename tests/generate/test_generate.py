"""One generated turn: what is sent, what runs, what is stored, and what never is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

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
    preview_turn_sync,
    stream,
    stream_sync,
    summarize,
    tool,
)
from thusfar.errors import (
    OptionsError,
    PreparationError,
    RequestCompositionError,
    RequestTooLargeError,
    ThreadCommitError,
    UnsupportedPartError,
)
from thusfar.models.errors import (
    ContextLengthError,
    OutputRejectedError,
    ProviderAnswerError,
    ProviderRefusedError,
    ProviderUnavailableError,
    ToolLoopLimitError,
)
from thusfar.models.gemini import Gemini
from thusfar.models.port import ModelReply, Usage
from thusfar.runtime.results import AnswerRejected, Completed, StepPlanned, ToolAnswered
from thusfar.testing.loopback import Answer, LoopbackServer

pytestmark = pytest.mark.anyio


def calling(*calls: ToolCall, text: str = "") -> ModelReply:
    parts = ((Text(text),) if text else ()) + calls
    return ModelReply(messages=(Message("assistant", parts),), finish="tool-calls")


def saying(text: str, **usage: int) -> ModelReply:
    return ModelReply(messages=(Message("assistant", (Text(text),)),), usage=Usage(**usage))


@tool
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def texts(messages):
    return [(message.role, message.text) for message in messages]


@pytest.fixture
def store():
    made = open_store("memory:")
    yield made
    made.close()


def roles_stored(thread):
    return [message.role for message in thread.sync.read().messages]


# What is sent, and what is stored.


def test_a_turn_is_stored_whole_and_only_after_its_answer(store):
    """GE-1."""
    thread = Thread("t", store=store)
    model = Scripted([saying("Good day."), saying("Until then.")])

    first = generate_sync("Hello.", model=model, thread=thread)
    second = generate_sync("Goodbye.", model=model, thread=thread)

    assert (first.text, second.text) == ("Good day.", "Until then.")
    stored = thread.sync.read()
    assert texts(stored.messages) == [
        ("user", "Hello."),
        ("assistant", "Good day."),
        ("user", "Goodbye."),
        ("assistant", "Until then."),
    ]
    assert first.thread_commit.status == "selected"
    assert stored.entries[0].group == stored.entries[1].group
    assert [m["content"] for m in model.requests[1]["messages"]] == [
        "Hello.",
        "Good day.",
        "Goodbye.",
    ]


async def test_the_async_face_does_the_same(store):
    """GE-1."""
    thread = Thread("t", store=store)

    result = await generate("Hello.", model=Scripted([saying("Good day.")]), thread=thread)

    assert result.text == "Good day."
    assert roles_stored(thread) == ["user", "assistant"]


def test_messages_of_the_call_win_over_everything_and_nothing_is_stored(store):
    """GE-2."""
    thread = Thread("t", store=store)
    thread.sync.append("Stored before.")
    model = Scripted([saying("Yes."), saying("No.")])
    asked = Prompt(prompt="Not sent.", messages=[{"role": "user", "content": "Of the prompt."}])

    result = generate_sync(
        asked, model=model, thread=thread, messages=[{"role": "user", "content": "Of the call."}]
    )
    generate_sync(asked, model=model, thread=thread)

    assert model.requests[0]["messages"] == [{"role": "user", "content": "Of the call."}]
    assert model.requests[1]["messages"] == [{"role": "user", "content": "Of the prompt."}]
    assert result.thread_commit is None
    assert result.messages == ({"role": "assistant", "content": "Yes."},)
    assert roles_stored(thread) == ["user"]


def test_an_empty_list_of_messages_is_a_transcript_too(store):
    """GE-2."""
    thread = Thread("t", store=store)
    thread.sync.append("Stored before.")
    model = Scripted([saying("Yes.")])

    generate_sync("Not sent.", model=model, thread=thread, system="Be kind.", messages=[])

    assert [m["role"] for m in model.requests[0]["messages"]] == ["system"]


def test_a_request_with_nothing_to_say_is_refused():
    with pytest.raises(RequestCompositionError, match="nothing to say"):
        generate_sync(model=Scripted([]))


def test_two_threads_are_refused(store):
    use = [Thread("a", store=store), Thread("b", store=store)]

    with pytest.raises(RequestCompositionError) as caught:
        Prompt(use=use)

    assert caught.value.diagnostics[0].code == "INVALID_HISTORY_COMPOSITION"


def test_a_prompt_is_written_anew_for_each_input():
    """GE-6."""

    @dataclass
    class Ticket:
        number: int

    asked = Prompt(
        system=lambda ticket: f"Ticket {ticket.number}.",
        prompt=lambda ticket: f"Solve {ticket.number}.",
        input=Ticket,
    )
    model = Scripted([saying("Done.")])

    generate_sync(asked, model=model, input={"number": 7})

    assert model.requests[0]["messages"] == [
        {"role": "system", "content": "Ticket 7."},
        {"role": "user", "content": "Solve 7."},
    ]
    with pytest.raises(OptionsError, match="did not fit"):
        generate_sync(asked, model=model, input={"number": "seven"})


@pytest.mark.parametrize("name", ["prompt", "system"])
def test_a_prompt_whose_function_raises_is_told_with_a_code(name):
    """GE-6."""

    def write(given):
        return given["missing"]

    model = Scripted([])
    with pytest.raises(PreparationError) as raised:
        generate_sync(Prompt(**{"prompt": "Hi.", name: write}), model=model, input={})

    assert raised.value.facts == {"reason": name}
    assert isinstance(raised.value.__cause__, KeyError)
    assert model.requests == []


@pytest.mark.parametrize(
    ("finish", "error"),
    [
        ("content-filter", ProviderRefusedError),
        ("length", ProviderAnswerError),
        ("stop", ProviderAnswerError),
    ],
)
def test_an_answer_without_a_message_is_no_answer(finish, error, store):
    """GE-3."""
    thread = Thread("t", store=store)
    model = Scripted([ModelReply(messages=(), finish=finish)] * 2)

    for call in (
        lambda: generate_sync("Hello.", model=model, thread=thread),
        lambda: stream_sync("Hello.", model=model, thread=thread).result(),
    ):
        with pytest.raises(error):
            call()

    assert thread.sync.read().messages == ()


def test_a_request_that_gemini_blocks_is_not_stored(store):
    """GE-3."""
    thread = Thread("t", store=store)
    with LoopbackServer([Answer(finish="blocked"), "Good day."]) as server:
        model = Gemini("gemini-2.5-pro", base_url=server.base_url("gemini"), api_key="a-key")
        with pytest.raises(ProviderRefusedError, match="blocked"):
            generate_sync("Blocked.", model=model, thread=thread)
        generate_sync("Hello.", model=model, thread=thread)
        model.close()
        assert "Blocked." not in str(server.requests[1].body)

    assert texts(thread.sync.read().messages) == [("user", "Hello."), ("assistant", "Good day.")]


def test_a_history_policy_bounds_what_a_thread_sends(store):
    thread = Thread("t", store=store)
    for number in range(10):
        thread.sync.append([Message("user", f"Question {number}."), Message("assistant", "Yes.")])
    model = Scripted([saying("Last.")])

    result = generate_sync("Now.", model=model, use=[thread, history.recent(2)])

    assert [m["content"] for m in model.requests[0]["messages"]] == ["Question 9.", "Yes.", "Now."]
    assert result.request.history.view.omitted == ((0, 18),)
    assert len(thread.sync.read().messages) == 22


def test_without_words_the_newest_question_of_the_thread_is_answered(store):
    """GE-2."""
    thread = Thread("t", store=store)
    thread.sync.append([Message("user", "One?", id="q"), Message("assistant", "Two.")])
    thread.sync.edit("q", "Three?")
    model = Scripted([saying("Four.")])

    result = generate_sync(thread=thread, model=model)

    assert [m["content"] for m in model.requests[0]["messages"]] == ["Three?"]
    assert result.thread_commit.status == "selected"
    assert texts(thread.sync.read().messages) == [("user", "Three?"), ("assistant", "Four.")]
    with pytest.raises(RequestCompositionError, match="nothing to say"):
        generate_sync(thread=thread, model=model)


# Revisions.


def test_a_turn_whose_thread_moved_meanwhile_becomes_an_alternative(store):
    """GE-3."""
    thread = Thread("t", store=store)
    thread.sync.append([Message("user", "One."), Message("assistant", "Two.")])
    seen = []

    def answer(call):
        seen.append([m["content"] for m in call["messages"] if isinstance(m.get("content"), str)])
        if len(seen) == 1:
            thread.sync.append([Message("user", "Between."), Message("assistant", "Them.")])
            return calling(ToolCall("c", "add", '{"left": 1, "right": 2}'))
        return saying("Three.")

    result = generate_sync("Three?", model=Scripted([answer, answer]), thread=thread, tools=[add])

    assert "Between." not in seen[1]
    assert result.thread_commit.status == "alternative"
    assert texts(thread.sync.read().messages)[-1] == ("assistant", "Them.")


def test_a_turn_that_cannot_be_stored_is_no_success_and_is_not_lost(store):
    """GE-4."""
    thread = Thread("t", store=store)
    thread.sync.append("Before.")

    def answer(_):
        thread.sync.delete()
        return saying("Too late.")

    with pytest.raises(ThreadCommitError) as caught:
        generate_sync("Hello.", model=Scripted([answer]), thread=thread)

    assert caught.value.result.text == "Too late."
    assert caught.value.code == "COMMIT_FAILED"


def test_a_request_the_provider_finds_too_long_is_planned_once_more(store):
    """GE-5."""
    thread = Thread("t", store=store)
    for number in range(40):
        thread.sync.append(
            [Message("user", f"Question {number}. " * 20), Message("assistant", "Y")]
        )
    too_long = ContextLengthError("Too long.", fix="Shorten.")
    model = Scripted([too_long, saying("Short.")])

    result = generate_sync("Now.", model=model, use=[thread, history(summary=summarize.digest())])

    assert result.text == "Short."
    assert len(model.requests) == 2
    assert len(model.requests[1]["messages"]) < len(model.requests[0]["messages"])


def test_a_request_that_may_not_be_shortened_fails_with_the_providers_refusal(store):
    """GE-5."""
    thread = Thread("t", store=store)
    too_long = ContextLengthError("Too long.", fix="Shorten.")

    with pytest.raises(ContextLengthError):
        generate_sync("Now.", model=Scripted([too_long]), thread=thread)

    assert roles_stored(thread) == []


# Tools.


def test_tools_run_until_the_model_answers_and_the_round_is_stored_whole(store):
    """GE-7."""
    thread = Thread("t", store=store)
    model = Scripted(
        [
            calling(
                ToolCall("a", "add", '{"left": 1, "right": 2}'),
                ToolCall("b", "add", '{"left": 3, "right": 4}'),
            ),
            saying("3 and 7."),
        ]
    )

    result = generate_sync("Add.", model=model, thread=thread, tools=[add])

    assert result.text == "3 and 7."
    stored = thread.sync.read()
    assert [m.role for m in stored.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [m.parts[0].parts[0].text for m in stored.messages[2:4]] == ["3", "7"]
    assert len({entry.group for entry in stored.entries}) == 1
    assert [step.reason for step in result.steps] == ["initial", "tool-result"]
    assert result.steps[1].request.previous_request_id == result.steps[0].request.id


async def test_calls_of_one_answer_run_at_once():
    """GE-7."""
    met = asyncio.Barrier(2)

    @tool
    async def meet() -> str:
        """Wait for the other."""
        await asyncio.wait_for(met.wait(), 60)
        return "met"

    model = Scripted([calling(ToolCall("a", "meet"), ToolCall("b", "meet")), saying("Both.")])

    result = await generate("Meet.", model=model, tools=[meet])

    assert result.text == "Both."


def test_a_bad_call_is_answered_with_an_error_and_the_turn_goes_on():
    """GE-8."""

    @tool
    def fail() -> str:
        """Fail."""
        raise LookupError("no such row")

    model = Scripted(
        [
            calling(
                ToolCall("a", "unknown"),
                ToolCall("b", "add", '{"left": "one"}'),
                ToolCall("c", "add", "not json"),
                ToolCall("d", "fail"),
            ),
            saying("Sorry."),
        ]
    )

    result = generate_sync("Go.", model=model, tools=[add, fail])

    results = [m.parts[0] for m in result.messages if m.role == "tool"]
    assert [part.is_error for part in results] == [True] * 4
    assert results[0].parts[0].text == "There is no tool of this name."
    assert results[2].parts[0].text == "The arguments were not JSON."
    assert results[3].parts[0].text == "LookupError: no such row"


def test_a_tool_may_end_the_request_when_it_raises(store):
    """GE-8."""
    thread = Thread("t", store=store)

    @tool(on_error="raise")
    def fail() -> str:
        """Fail."""
        raise LookupError("no such row")

    with pytest.raises(LookupError):
        generate_sync(
            "Go.", model=Scripted([calling(ToolCall("a", "fail"))]), thread=thread, tools=[fail]
        )

    assert roles_stored(thread) == []


def test_a_call_that_needs_approval_waits_in_the_thread_and_goes_on_later(store):
    """GE-9."""
    thread = Thread("t", store=store)
    model = Scripted(
        [
            calling(
                ToolCall("a", "pay", '{"amount": 5}'),
                ToolCall("b", "add", '{"left": 1, "right": 1}'),
            ),
            saying("Paid."),
        ]
    )

    paused = generate_sync("Pay 5.", model=model, thread=thread, tools=[add, pay])

    assert [call.id for call in paused.pending] == ["a"]
    assert roles_stored(thread) == ["user", "assistant", "tool"]
    done = generate_sync(model=model, thread=thread, tools=[add, pay], approvals={"a": True})
    assert done.text == "Paid."
    assert roles_stored(thread) == ["user", "assistant", "tool", "tool", "assistant"]
    assert thread.sync.read().messages[3].parts[0].parts[0].text == "paid 5"
    assert thread.sync.verify().ok


def test_a_refused_call_is_told_to_the_model(store):
    """GE-9."""
    thread = Thread("t", store=store)
    model = Scripted([calling(ToolCall("a", "pay", '{"amount": 5}')), saying("As you wish.")])
    generate_sync("Pay 5.", model=model, thread=thread, tools=[pay])

    done = generate_sync(model=model, thread=thread, tools=[pay], approvals={"a": False})

    assert done.text == "As you wish."
    told = thread.sync.read().messages[2].parts[0]
    assert (told.is_error, told.parts[0].text) == (True, "The call was not allowed.")


def test_approvals_of_other_calls_are_refused(store):
    """GE-9."""
    thread = Thread("t", store=store)
    model = Scripted([calling(ToolCall("a", "pay", '{"amount": 5}'))])
    generate_sync("Pay 5.", model=model, thread=thread, tools=[pay])

    with pytest.raises(OptionsError, match="approvals"):
        generate_sync(model=model, thread=thread, tools=[pay], approvals={"b": True})


def test_a_tool_given_as_a_definition_is_run_by_the_caller():
    """GE-9."""
    definition = {"type": "function", "function": {"name": "look", "parameters": {}}}
    model = Scripted([calling(ToolCall("a", "look")), saying("Seen.")])
    messages = [{"role": "user", "content": "Look."}]

    paused = generate_sync(model=model, messages=messages, tools=[definition])
    messages += paused.messages
    done = generate_sync(
        model=model, messages=messages, tools=[definition], approvals={"a": "a tree"}
    )

    assert [call.name for call in paused.pending] == ["look"]
    assert done.text == "Seen."
    assert model.requests[1]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "a",
        "name": "look",
        "content": "a tree",
    }


def test_a_model_that_never_stops_calling_is_stopped_and_nothing_is_stored(store):
    """GE-10."""
    thread = Thread("t", store=store)
    again = calling(ToolCall("a", "add", '{"left": 1, "right": 1}'))

    with pytest.raises(ToolLoopLimitError):
        generate_sync("Go.", model=Scripted([again] * 3), thread=thread, tools=[add], max_steps=3)

    assert roles_stored(thread) == []


# Output.


@dataclass
class Verdict:
    good: bool


def test_an_answer_that_does_not_fit_is_asked_for_again_and_never_stored(store):
    """GE-11."""
    thread = Thread("t", store=store)
    model = Scripted([saying("yes"), saying('{"good": "yes"}'), saying('{"good": true}')])

    result = generate_sync("Good?", model=model, thread=thread, output=Verdict)

    assert result.output == Verdict(good=True)
    assert texts(thread.sync.read().messages) == [
        ("user", "Good?"),
        ("assistant", '{"good": true}'),
    ]
    assert [step.accepted for step in result.steps] == [False, False, True]
    assert model.requests[0]["response_format"]["type"] == "json_schema"


def test_after_the_last_retry_the_output_is_rejected_without_its_content(store):
    """GE-11."""
    thread = Thread("t", store=store)

    with pytest.raises(OutputRejectedError) as caught:
        generate_sync(
            "Good?",
            model=Scripted([saying('{"good": "SECRET"}')] * 2),
            thread=thread,
            output=Verdict,
            max_retries=1,
        )

    assert caught.value.facts["attempts"] == 2
    assert "SECRET" not in f"{caught.value} {caught.value.diagnostics}"
    assert roles_stored(thread) == []


# Results.


def test_a_result_adds_up_its_steps():
    """GE-12."""
    model = Scripted(
        [
            ModelReply(
                messages=(Message("assistant", (ToolCall("a", "add", '{"left":1,"right":1}'),)),),
                finish="tool-calls",
                usage=Usage(input_tokens=10, output_tokens=2),
            ),
            saying("2", input_tokens=20, output_tokens=1, cache_read_tokens=8),
        ]
    )

    result = generate_sync("Add.", model=model, tools=[add])

    assert result.usage == Usage(input_tokens=30, output_tokens=3, cache_read_tokens=8)
    assert [m.role for m in result.messages] == ["user", "assistant", "tool", "assistant"]


# Providers.


def test_a_conversation_goes_on_with_another_provider(store):
    thread = Thread("t", store=store)
    generate_sync("One.", model=Scripted([saying("Two.")]), thread=thread)
    other = Scripted([saying("Four.")], dialect="anthropic")

    generate_sync("Three.", model=other, thread=thread)

    assert [m["role"] for m in other.requests[0]["messages"]] == ["user", "assistant", "user"]
    assert texts(thread.sync.read().messages)[-1] == ("assistant", "Four.")


def test_what_another_provider_cannot_read_raises_or_is_left_out_and_said():
    sealed = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Two."},
        ],
    }
    messages = [{"role": "user", "content": "One."}, sealed, {"role": "user", "content": "Three."}]
    model = Scripted([saying("Four.")])

    with pytest.raises(UnsupportedPartError):
        generate_sync(model=model, messages=messages)
    result = generate_sync(model=model, messages=messages, leave_out=True)

    assert model.requests[0]["messages"][1]["content"] == "Two."
    assert result.messages == ({"role": "assistant", "content": "Four."},)
    assert "parts-left-out" in [note.code for note in result.request.placement]


def test_a_request_that_cannot_fit_never_reaches_the_model(store):
    thread = Thread("t", store=store)
    thread.sync.append([Message("user", "word " * 5000), Message("assistant", "Yes.")])
    model = Scripted([saying("Never.")])

    with pytest.raises(RequestTooLargeError):
        generate_sync("Now.", model=model, thread=thread, budget=InputBudget(max=1000))

    assert model.requests == []


def test_a_failed_call_stores_nothing_and_the_next_one_works(store):
    thread = Thread("t", store=store)
    down = ProviderUnavailableError("Down.", fix="Wait.")
    model = Scripted([down, saying("Back.")])

    with pytest.raises(ProviderUnavailableError):
        generate_sync("Hello.", model=model, thread=thread)
    result = generate_sync("Hello.", model=model, thread=thread)

    assert result.text == "Back."
    assert roles_stored(thread) == ["user", "assistant"]


# Streams.


def test_a_stream_ends_with_the_stored_turn(store):
    """GE-13."""
    thread = Thread("t", store=store)
    model = Scripted(
        [calling(ToolCall("a", "add", '{"left": 1, "right": 2}')), saying("It is three.")]
    )
    seen = []

    with stream_sync("Add.", model=model, thread=thread, tools=[add]) as events:
        for event in events:
            seen.append(event)
            if not isinstance(event, Completed):
                assert roles_stored(thread) == []

    kinds = [type(event) for event in seen]
    assert kinds[0] is StepPlanned
    assert kinds[-1] is Completed
    assert kinds.count(StepPlanned) == 2
    assert kinds.count(ToolAnswered) == 1
    text = "".join(e.text for e in seen if type(e).__name__ == "TextDelta")
    assert text == "It is three."
    assert seen[-1].result.text == "It is three."
    assert roles_stored(thread) == ["user", "assistant", "tool", "assistant"]


async def test_a_stream_on_the_event_loop_gives_the_same(store):
    """GE-13."""
    thread = Thread("t", store=store)

    async with stream("Hi.", model=Scripted([saying("Hello you.")]), thread=thread) as events:
        result = await events.result()

    assert result.text == "Hello you."
    assert roles_stored(thread) == ["user", "assistant"]


def test_leaving_a_stream_early_stores_nothing(store):
    """GE-13."""
    thread = Thread("t", store=store)

    with stream_sync("Hi.", model=Scripted([saying("A long answer.")]), thread=thread) as events:
        for event in events:
            if type(event).__name__ == "TextDelta":
                break

    assert roles_stored(thread) == []
    with pytest.raises(OptionsError):
        events.result()


def test_a_rejected_answer_on_a_stream_is_taken_back():
    """GE-13."""
    model = Scripted([saying("yes"), saying('{"good": true}')])

    events = list(stream_sync("Good?", model=model, output=Verdict))

    rejected = [event for event in events if isinstance(event, AnswerRejected)]
    assert [event.attempt for event in rejected] == [1]
    assert events[-1].result.output == Verdict(good=True)


def test_a_preview_of_a_turn_agrees_with_the_turn_and_does_nothing(store):
    """GE-15."""
    thread = Thread("t", store=store)
    for number in range(10):
        thread.sync.append([Message("user", f"Question {number}."), Message("assistant", "Yes.")])
    model = Scripted([saying("Last.")])
    asked = Prompt(prompt="Now.", use=[thread, history.recent(4)], model=model, tools=[add])

    before = preview_turn_sync(asked)
    small = preview_turn_sync(asked, budget=InputBudget(max=5))

    assert model.requests == []
    assert len(thread.sync.read().messages) == 20
    assert small.status == "over-limit"
    result = generate_sync(asked)
    assert (before.status, before.input_tokens) == ("fits", result.request.input_tokens)


def test_an_unknown_argument_is_a_type_error():
    with pytest.raises(TypeError, match="temprature"):
        generate_sync("Hi.", model=Scripted(["x"]), temprature=1)
