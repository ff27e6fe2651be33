"""Amendments: a step that another model answers, of any wire, and what it cannot be told."""

from __future__ import annotations

import pytest

from colors import turn_in
from model_adapters import ADAPTERS, QUIET, Adapter
from thusfar import (
    Amendment,
    Image,
    Message,
    Scripted,
    Text,
    Thread,
    ToolCall,
    context,
    droppable,
    generate_sync,
    history,
    open_store,
    tool,
)
from thusfar.dialects import dialect
from thusfar.errors import OptionsError, UnsupportedPartError
from thusfar.messages import Reasoning, ToolResult
from thusfar.models.port import ModelReply, Usage
from thusfar.models.resolving import resolve_model
from thusfar.runtime.defining import on_wire, read_definition
from thusfar.testing.loopback import Answer, LoopbackServer

pytestmark = [pytest.mark.anyio, *(pytest.mark.filterwarnings(each) for each in QUIET)]

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")
PIXEL = "R0lGODlhAQABAAA="
DOT = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}}
SIGNED = Reasoning("I look.", "c2lnbmVk", provider="anthropic")


@tool
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


CALL = ToolCall("call_1", "add", '{"left":1,"right":2}')


@pytest.fixture
def thread():
    store = open_store("memory:")
    yield Thread("t", store=store)
    store.close()


def taking_turns(*models):
    """Give the models in order, and then start again."""
    return lambda seen: Amendment(model=models[seen.index % len(models)])


@pytest.mark.parametrize(
    ("first", "other", "color"),
    [
        *((one, two, "sync") for one in ADAPTERS for two in ADAPTERS if one is not two),
        *((ADAPTERS[0], ADAPTERS[2], color) for color in ("async", "sync stream", "stream")),
    ],
    ids=str,
)
async def test_each_step_may_be_answered_on_another_wire(
    first: Adapter, other: Adapter, color: str, thread: Thread
) -> None:
    """GE-7, PL-28."""
    with LoopbackServer([Answer(tool_calls=[CALL]), Answer(tool_calls=[CALL]), "Six."]) as server:
        one, two = first.to(server), other.to(server)
        result = await turn_in(
            color,
            "Add.",
            model=one,
            thread=thread,
            tools=[add],
            system="Be brief.",
            prepare_step=taking_turns(one, two),
        )
        for model in (one, two):
            await model.aclose()
        assert [each.findings for each in server.requests] == [(), (), ()]
        assert server.requests[0].path == server.requests[2].path

    assert result.text == "Six."
    assert [m.role for m in thread.sync.read().messages] == [
        "user",
        *(["assistant", "tool"] * 2),
        "assistant",
    ]
    before = [step.request.previous_request_id for step in result.steps[1:]]
    assert before == [step.request.id for step in result.steps[:-1]]
    assert result.usage.input_tokens == sum(s.reply.usage.input_tokens for s in result.steps)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("own", [None, "openai-chat", "gemini"])
def test_messages_of_the_caller_go_on_over_another_wire(own, wire):
    """GE-2, PL-28."""
    said = [Message("user", (Text("Add."),))]
    mine = None if own is None else [m for each in said for m in dialect(own).lower(each)]
    first = Scripted([CALL], dialect=own or "openai-chat")
    second = Scripted([CALL, "Three."], dialect=wire, name="second")

    result = generate_sync(
        "Add." if own is None else None,
        model=first,
        messages=mine,
        tools=[add],
        prepare_step=lambda seen: Amendment(model=second if seen.index else None),
    )

    assert (result.text, len(first.requests), len(second.requests)) == ("Three.", 1, 2)
    told = [dialect(own).lift(m) if own else m for m in result.messages]
    parts = [part for message in told for part in message.parts]
    assert [type(p) for p in parts if not isinstance(p, Text)] == [ToolCall, ToolResult] * 2


def test_reasoning_goes_back_to_who_signed_it_also_after_another_wire():
    """MO-12, PL-28."""
    claude = Scripted([(SIGNED, CALL), "Done."], dialect="anthropic", name="claude-sonnet-5")
    other = Scripted([ToolCall("call_2", "add", '{"left":3,"right":4}')], name="other")

    result = generate_sync(
        "Add.",
        model=claude,
        messages=[{"role": "user", "content": [DOT, {"type": "text", "text": "Add."}]}],
        tools=[add],
        leave_out=True,
        prepare_step=lambda seen: Amendment(model=other if seen.index == 1 else None),
    )

    assert "parts-left-out" in [note.code for note in result.steps[1].request.placement]
    blocks = claude.requests[1]["messages"][1]["content"]
    assert [b["signature"] for b in blocks if b["type"] == "thinking"] == ["c2lnbmVk"]


def test_what_cannot_carry_over_in_mid_turn_is_refused_and_nothing_is_stored(thread):
    """PL-28."""
    claude = Scripted([(SIGNED, CALL)], dialect="anthropic", name="claude-sonnet-5")
    other = Scripted(["Never."], name="other")

    with pytest.raises(UnsupportedPartError, match="leave_out"):
        generate_sync(
            "Add.",
            model=claude,
            thread=thread,
            tools=[add],
            prepare_step=lambda seen: Amendment(model=other if seen.index else None),
        )

    assert other.requests == []
    assert thread.sync.read().messages == ()


@pytest.mark.parametrize("wire", WIRES)
def test_tools_of_every_kind_go_over_to_another_wire(wire):
    """GE-7, PL-28."""
    plain = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}
    search = {"type": "web_search_20250305", "name": "web_search"}
    first = Scripted([CALL], dialect="anthropic")
    second = Scripted([CALL, "Done."], dialect=wire, name="second")

    result = generate_sync(
        "Go.",
        model=first,
        system=[{"type": "text", "text": "Be brief."}],
        tools=[add, plain, search],
        use=[droppable(context("more", "More.", tools=[tool(lambda: 1, name="one")]))],
        prepare_step=lambda seen: Amendment(model=second if seen.index else None),
    )

    request = second.requests[0]
    tools = request.get("tools") or request["config"]["tools"]
    names = [each.name for one in tools for each in read_definition(one)[1]]
    kinds = {wire, None} if wire == "anthropic" else {wire}
    assert {read_definition(one)[0] for one in tools} == kinds
    lost = ["tools-left-out"] if wire != "anthropic" else []
    codes = [note.code for note in result.steps[1].request.placement]
    assert names == ["add", "look", "one"]
    assert [code for code in codes if code == "tools-left-out"] == lost
    assert "Be brief." in str(request)


def test_a_schema_reaches_the_wire_of_the_model_that_answers_last():
    """GE-11, PL-28."""
    second = Scripted(['{"value": [1, 2]}'], dialect="anthropic", name="second")

    result = generate_sync(
        "Go.",
        model=Scripted([CALL]),
        tools=[add],
        output=list[int],
        prepare_step=lambda seen: Amendment(model=second if seen.index else None),
    )

    assert result.output == [1, 2]
    assert "output_config" in second.requests[0]


def test_a_model_named_by_a_hook_is_called_by_its_own_name(monkeypatch):
    """MO-18, PL-28."""
    with LoopbackServer("Yes.") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai-responses"))
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        result = generate_sync(
            "Go.", model=Scripted([]), prepare_step=lambda _: Amendment(model="openai:gpt-5")
        )
        resolve_model("openai:gpt-5").close()
        assert [each.body["model"] for each in server.requests] == ["gpt-5"]

    assert (result.text, result.request.model) == ("Yes.", "gpt-5")


def test_a_model_named_by_a_hook_that_nobody_has_is_refused():
    """MO-18, PL-28."""
    with pytest.raises(OptionsError, match="no adapter knows"):
        generate_sync(
            "Go.", model=Scripted([]), prepare_step=lambda _: Amendment(model="nobody:nothing")
        )


def test_a_tool_that_a_hook_gave_for_one_step_is_gone_in_the_next():
    """GE-7."""

    def other(left: int, right: int) -> int:
        return left * 100 + right

    model = Scripted([CALL, CALL, CALL, "Done."])
    changed = Amendment(tools=[tool(other, name="add")])
    elsewhere = Amendment(tools=on_wire([{"name": "add", "parameters": {}}], "openai-chat").tools)

    def amend(seen):
        return {1: changed, 2: elsewhere}.get(seen.index)

    result = generate_sync("Go.", model=model, tools=[add], prepare_step=amend)

    parts = [p for m in result.messages for p in m.parts if isinstance(p, ToolResult)]
    assert [part.parts[0].text for part in parts] == ["3", "102"]
    assert [call.name for call in result.pending] == ["add"]


def test_a_hook_that_is_no_function_is_refused():
    with pytest.raises(OptionsError, match="prepare_step"):
        generate_sync("Go.", model=Scripted([]), prepare_step="a hook")


def test_usage_of_a_turn_on_two_wires_adds_up():
    """GE-12."""

    def answer(*parts, tokens):
        usage = Usage(input_tokens=tokens, output_tokens=1)
        return ModelReply(messages=(Message("assistant", parts),), usage=usage)

    second = Scripted([answer(Text("Done."), tokens=20)], dialect="gemini", name="second")
    result = generate_sync(
        "Go.",
        model=Scripted([answer(CALL, tokens=10)]),
        tools=[add],
        prepare_step=lambda seen: Amendment(model=second if seen.index else None),
    )

    assert (result.usage.input_tokens, result.usage.output_tokens) == (30, 2)


def test_pictures_of_the_caller_go_over_to_another_wire():
    """PL-28."""
    picture = {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{PIXEL}"}}
    second = Scripted(["A dot."], dialect="gemini", name="second")

    generate_sync(
        messages=[{"role": "user", "content": [{"type": "text", "text": "What?"}, picture]}],
        model=Scripted([]),
        prepare_step=lambda _: Amendment(model=second),
        use=[history.recent(5)],
    )

    parts = second.requests[0]["contents"][0]["parts"]
    assert [*parts[1]] == ["inlineData"]
    assert isinstance(dialect("gemini").lift(second.requests[0]["contents"][0]).parts[1], Image)


def test_a_hook_sees_the_turn_and_its_calls_over_a_thread_too():
    seen = []

    @tool
    def look(number: int = 0) -> str:
        """Look."""
        return "seven"

    def watch(step):
        seen.append((step.reason, [m.role for m in step.turn], [u.name for u in step.tool_history]))

    model = Scripted([ToolCall("c", "look", "{}"), "Seven."])
    thread = Thread("t", store=open_store("memory:"))
    generate_sync("Look.", model=model, thread=thread, tools=[look], prepare_step=watch)

    assert seen == [
        ("initial", ["user"], []),
        ("tool-result", ["user", "assistant", "tool"], ["look"]),
    ]
