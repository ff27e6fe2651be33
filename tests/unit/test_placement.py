"""What a provider refuses of single messages: empty content, ids, reasoning, tools, cache marks."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from thusfar import dialect
from thusfar.dialects.placement import Placed, place
from thusfar.dialects.placement_calls import complete_calls
from thusfar.messages import Message, Text, ToolCall, ToolResult

ASK = {"role": "user", "content": "Q"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
SEALED = {"type": "redacted_thinking", "data": "d"}
USE = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
GIVEN = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}


def claude(*messages: dict[str, Any], **options: Any) -> Placed:
    before = copy.deepcopy(messages)
    placed = place(dialect("anthropic"), messages, **options)
    assert messages == before
    return placed


def notes(placed: Placed) -> dict[str, tuple[int, ...]]:
    return {note.code: note.positions for note in placed.notes}


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# Empty content


def test_empty_blocks_go_and_what_stands_beside_them_stays():
    placed = claude(said("user", text(""), text("Q")), said("assistant", text("A")), ASK)

    assert placed.messages[0] == said("user", text("Q"))
    assert notes(placed) == {"empty-left-out": (0,)}


def test_a_message_without_content_is_left_out_and_a_user_says_that_it_is_empty():
    placed = claude(ASK, said("assistant", text("")), said("user", text(" ")))

    assert placed.messages == [ASK, said("user", text("[Empty.]"))]
    assert notes(placed) == {"empty-left-out": (1,), "empty-filled": (2,)}
    assert placed.added == ("[Empty.]",)


def test_an_empty_answer_at_the_end_is_taken_by_anthropic():
    end = {"role": "assistant", "content": ""}

    assert claude(ASK, end).messages[1] is end


def test_white_space_at_the_end_of_what_the_model_continues_is_cut():
    placed = claude(ASK, {"role": "assistant", "content": "The answer is \n"})

    assert placed.messages[1]["content"] == [text("The answer is")]
    assert notes(placed) == {"trailing-space": (1,)}


def test_a_failed_result_says_something():
    failed = {**GIVEN, "content": [], "is_error": True}

    placed = claude(ASK, said("assistant", USE), said("user", failed))

    assert placed.messages[2]["content"] == [{**GIVEN, "content": "[Empty.]", "is_error": True}]


def test_bedrock_takes_no_blank_text_and_no_document_alone():
    messages = [
        {"role": "user", "content": [{"text": " "}, {"document": {"name": "d", "format": "pdf"}}]},
        {"role": "assistant", "content": [{"text": "\n"}]},
        {"role": "user", "content": []},
    ]
    placed = place(dialect("bedrock-converse"), messages)

    assert placed.messages == [
        {
            "role": "user",
            "content": [{"document": {"name": "d", "format": "pdf"}}, {"text": "[Empty.]"}],
        }
    ]
    alone = place(dialect("bedrock-converse"), messages[:1])
    assert alone.messages[0]["content"][1] == {"text": "[See the document.]"}
    assert notes(alone)["document-text"] == (0,)


def test_gemini_parts_without_data_go_and_signatures_stay():
    contents = [
        {"role": "user", "parts": [{"text": ""}]},
        {"role": "model", "parts": [{"text": "a"}, {"thought": True}, {"thoughtSignature": "s"}]},
    ]
    placed = place(dialect("gemini"), contents)

    assert placed.messages == [
        {"role": "user", "parts": [{"text": "[Empty.]"}]},
        {"role": "model", "parts": [{"text": "a"}, {"thoughtSignature": "s", "text": ""}]},
    ]


def test_chat_content_is_never_missing_and_empty_calls_are_left_out():
    messages = [
        ASK,
        {"role": "assistant", "content": None, "reasoning_content": "hm"},
        {"role": "assistant", "content": "A", "tool_calls": []},
        {"role": "assistant", "content": None, "refusal": "No."},
    ]
    placed = place(dialect("openai-chat"), messages)

    assert placed.messages[1] == {"role": "assistant", "content": "", "reasoning_content": "hm"}
    assert placed.messages[2] == {"role": "assistant", "content": "A"}
    assert placed.messages[3] is messages[3]
    assert notes(placed) == {"empty-filled": (1,), "empty-left-out": (2,)}


# Ids and names


def test_ids_that_occur_again_are_numbered_with_their_results():
    step = [said("assistant", USE), said("user", GIVEN)]

    placed = claude(ASK, *step, *step, *step)

    calls = [message["content"][0] for message in placed.messages[1:]]
    assert [call.get("id", call.get("tool_use_id")) for call in calls] == [
        *("c1", "c1"),
        *("c1_2", "c1_2"),
        *("c1_3", "c1_3"),
    ]
    assert placed.messages[1] is step[0]
    assert notes(placed) == {"ids-renamed": (3, 4, 5, 6)}


def test_characters_that_an_id_may_not_have_become_underscores():
    placed = claude(
        ASK,
        said("assistant", {**USE, "id": "call:1/ä"}, {**USE, "id": ""}),
        said("user", {**GIVEN, "tool_use_id": "call:1/ä"}, {**GIVEN, "tool_use_id": ""}),
    )

    calls, results = placed.messages[1]["content"], placed.messages[2]["content"]
    ids = [call["id"] for call in calls]
    assert ids[0] == "call_1__"
    assert ids[1].startswith("call_")
    assert [each["tool_use_id"] for each in results] == ids


@pytest.mark.parametrize(
    ("model", "length"),
    [("gpt-4o", 40), ("azure/gpt-5", 40), ("mistral-large-latest", 9), ("llama-3", 60), (None, 60)],
)
def test_chat_ids_are_as_the_server_of_the_model_wants_them(model: str | None, length: int):
    call_id = "x" * 60
    call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        ASK,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": "ok"},
    ]
    placed = place(dialect("openai-chat"), messages, model=model)

    made = placed.messages[2]["tool_call_id"]
    assert len(made) == length
    assert placed.messages[1]["tool_calls"][0]["id"] == made
    assert (placed.messages[1] is messages[1]) == (length == 60)


def test_bedrock_tool_names_are_respelled():
    use = {"toolUse": {"toolUseId": "c1", "name": "web search", "input": {}}}
    answer = {"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}]}}
    messages = [
        {"role": "user", "content": [{"text": "Q"}]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answer]},
    ]
    placed = place(dialect("bedrock-converse"), messages, tools=())

    assert placed.messages[1]["content"][0]["toolUse"]["name"] == "web_search"
    assert placed.stubs == (
        {
            "toolSpec": {
                "name": "web_search",
                "description": "Offered earlier in this conversation.",
                "inputSchema": {"json": {"type": "object"}},
            }
        },
    )
    assert set(notes(placed)) == {"names-renamed", "tools-added"}


# Tools


@pytest.mark.parametrize("tools", [None, ({"name": "other"},)])
def test_tools_are_defined_only_where_none_is_offered(tools: Any):
    messages = (ASK, said("assistant", USE), said("user", GIVEN))

    assert claude(*messages, tools=tools).tools == tools
    assert claude(*messages, tools=()).tools == (
        {
            "name": "look",
            "description": "Offered earlier in this conversation.",
            "input_schema": {"type": "object"},
        },
    )


# Reasoning


def test_thinking_stays_where_what_was_before_it_is_kept():
    messages = (ASK, said("assistant", THOUGHT, text("A")), ASK)

    assert claude(*messages).messages[1] is messages[1]


def test_thinking_is_left_out_where_what_was_before_it_is_not_kept():
    placed = claude(
        ASK,
        said("assistant", THOUGHT, SEALED, text("A")),
        said("assistant", SEALED),
        ASK,
        prefix_kept=False,
    )

    assert placed.messages == [ASK, said("assistant", text("A")), ASK]
    assert notes(placed) == {"reasoning-left-out": (1, 2)}


def test_thinking_of_the_running_tool_loop_stays():
    loop = (said("assistant", THOUGHT, USE), said("user", GIVEN))
    before = said("assistant", THOUGHT, text("A"))

    placed = claude(ASK, before, ASK, *loop, prefix_kept=False)

    assert placed.messages[1] == said("assistant", text("A"))
    assert placed.messages[3] is loop[0]


def test_thinking_that_is_not_signed_is_left_out():
    placed = claude(ASK, said("assistant", {**THOUGHT, "signature": ""}, text("A")), ASK)

    assert placed.messages[1] == said("assistant", text("A"))


def test_bedrock_reasoning_is_bound_as_well():
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
    messages = [
        {"role": "user", "content": [{"text": "Q"}]},
        {"role": "assistant", "content": [thought, {"text": "A"}]},
        {"role": "user", "content": [{"text": "Q"}]},
    ]
    kept = place(dialect("bedrock-converse"), messages)
    stripped = place(dialect("bedrock-converse"), messages, prefix_kept=False)

    assert kept.messages[1] is messages[1]
    assert stripped.messages[1]["content"] == [{"text": "A"}]


def test_responses_reasoning_goes_with_the_item_behind_it():
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    answer = {"type": "message", "role": "assistant", "id": "msg_1", "content": []}
    user = {"role": "user", "content": "Q"}
    items = [user, reasoning, answer, user, {**reasoning, "id": "rs_2"}, user]

    placed = place(dialect("openai-responses"), items)

    assert placed.messages == [*items[:4], user]
    assert notes(placed) == {"reasoning-left-out": (4,)}


def test_responses_ids_go_where_reasoning_may_have_been_before_them():
    answer = {"type": "message", "role": "assistant", "id": "msg_1", "content": []}
    user = {"role": "user", "content": "Q"}

    kept = place(dialect("openai-responses"), [user, answer, user])
    cut = place(dialect("openai-responses"), [user, answer, user], prefix_kept=False)

    assert kept.messages[1] is answer
    assert "id" not in cut.messages[1]
    assert notes(cut) == {"ids-left-out": (1,)}


def test_responses_ids_of_calls_are_renamed_only_where_they_are_refused():
    def pair(call_id: str) -> list[dict[str, Any]]:
        call = {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"}
        return [call, {"type": "function_call_output", "call_id": call_id, "output": "ok"}]

    items = [*pair("c1"), *pair("x" * 65), *pair("")]
    placed = place(dialect("openai-responses"), items)

    ids = [item["call_id"] for item in placed.messages]
    assert ids[:2] == ["c1", "c1"]
    assert len(ids[2]) == 64
    assert ids[4].startswith("call_")
    assert (ids[2], ids[4]) == (ids[3], ids[5])


def test_gemini_3_gets_a_mark_for_a_step_that_it_did_not_sign():
    def calls(**signature: str) -> dict[str, Any]:
        part = {"functionCall": {"name": "look", "args": {}}}
        return {"role": "model", "parts": [{**part, **signature}, part]}

    answer = {"functionResponse": {"name": "look", "response": {"output": "ok"}}}
    answers = {"role": "user", "parts": [answer, answer]}
    contents = [{"role": "user", "parts": [{"text": "Q"}]}, calls(), answers]
    signed = [*contents[:1], calls(thoughtSignature="s"), answers]

    placed = place(dialect("gemini"), contents, model="gemini-3-pro")

    first, second = placed.messages[1]["parts"]
    assert first["thoughtSignature"] == "skip_thought_signature_validator"
    assert second == contents[1]["parts"][1]
    assert notes(placed) == {"signature-skipped": (1,)}
    assert place(dialect("gemini"), contents, model="gemini-2.5-pro").notes == ()
    assert place(dialect("gemini"), signed, model="gemini-3-pro").notes == ()


# Other


def test_halves_of_surrogate_pairs_are_replaced_also_in_the_system_value():
    placed = claude({"role": "user", "content": "a\ud83d"}, system="b\ude00")

    assert placed.messages == [said("user", text("a\ufffd"))]
    assert placed.system == "b\ufffd"
    assert {note.code for note in placed.notes} == {"surrogates"}


def test_what_only_a_response_has_is_left_out():
    received = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [text("A")],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1},
    }
    placed = claude(ASK, received, ASK)

    assert placed.messages[1] == said("assistant", text("A"))
    assert notes(placed) == {"response-fields": (1,)}


def test_objects_of_a_sdk_are_read_and_those_without_a_change_come_back():
    class Answer:
        def model_dump(self, **_: Any) -> dict[str, Any]:
            return {"role": "assistant", "content": "A"}

    answer = Answer()
    placed = place(dialect("anthropic"), [answer, ASK])

    assert placed.messages[1] is answer


def test_calls_of_a_user_become_texts_of_the_user():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "assistant", "content": "A"},
    ]
    placed = place(dialect("openai-chat"), messages)

    assert [message["role"] for message in placed.messages] == ["user", "user", "assistant"]
    assert placed.messages[0]["content"] == '<tool-call by="user" name="look">\n{}\n</tool-call>'
    assert "seen" in placed.messages[1]["content"]
    assert notes(placed) == {"user-calls-quoted": (0, 1)}


# From one wire to another


def test_calls_without_ids_get_ids_and_arguments_become_objects():
    messages = [
        Message("assistant", (ToolCall(None, "look", "[1]"), ToolCall("call_1", "look"))),
        Message("tool", (ToolResult(None, "look", (Text("a"),)),)),
        Message("tool", (ToolResult("call_1", None, (Text("b"),)),)),
    ]
    made, found = complete_calls(messages, "anthropic")

    calls = made[0].parts
    assert [(call.id, call.arguments) for call in calls] == [
        ("call_2", '{"arguments":"[1]"}'),
        ("call_1", "{}"),
    ]
    assert [m.parts[0].call_id for m in made[1:]] == ["call_2", "call_1"]
    assert [m.parts[0].name for m in made[1:]] == ["look", "look"]
    assert {note.code: note.positions for note in found} == {
        "arguments-wrapped": (0,),
        "ids-renamed": (0, 1),
    }


def test_gemini_takes_calls_without_ids_as_they_are():
    messages = [Message("assistant", (ToolCall(None, "look"),))]

    made, found = complete_calls(messages, "gemini")

    assert made[0] is messages[0]
    assert found == ()


# Cache breakpoints


def test_marks_stand_behind_the_system_text_the_summary_and_the_newest_message():
    summary = said("assistant", text("They met."))
    placed = claude(
        summary,
        ASK,
        said("assistant", THOUGHT, text("A")),
        ASK,
        system="Be brief.",
        spoken=1,
        cache=True,
    )

    mark = {"cache_control": {"type": "ephemeral"}}
    assert placed.system == [{**text("Be brief."), **mark}]
    assert placed.messages[0]["content"] == [text("They met."), {**text("Q"), **mark}]
    assert "cache_control" not in str(placed.messages[1])
    assert placed.messages[2]["content"] == [{**text("Q"), **mark}]
    assert notes(placed)["cache-breakpoints"] == (0, 1, 3)


def test_no_mark_is_set_where_the_caller_set_one():
    marked = said("user", {**text("Q"), "cache_control": {"type": "ephemeral"}})

    assert claude(marked, system="Be brief.", cache=True).notes == ()


def test_tools_are_marked_where_there_is_no_system_text_and_thinking_never_is():
    tools = ({"name": "a"}, {"name": "b"})
    placed = claude(ASK, said("assistant", THOUGHT), tools=tools, cache=True)

    assert placed.tools == (tools[0], {**tools[1], "cache_control": {"type": "ephemeral"}})
    assert "cache_control" not in str(placed.messages)


@pytest.mark.parametrize(
    ("model", "marked"), [("us.anthropic.claude-sonnet-4-5", True), ("meta.llama3", False)]
)
def test_bedrock_is_marked_for_models_that_can_cache(model: str, marked: bool):
    point = {"cachePoint": {"type": "default"}}
    message = {"role": "user", "content": [{"text": "Q"}]}
    placed = place(
        dialect("bedrock-converse"), [message], system="Be brief.", model=model, cache=True
    )

    assert (placed.system == [{"text": "Be brief."}, point]) == marked
    assert (placed.messages[0]["content"] == [{"text": "Q"}, point]) == marked
    assert (placed.messages[0] is message) == (not marked)


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "gemini"])
def test_other_providers_cache_without_marks(wire: str):
    message = dialect(wire).lower(Message("user", "Q"))[0]

    placed = place(dialect(wire), [message], system="Be brief.", cache=True)

    assert placed.messages[0] is message
    assert placed.notes == ()


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}


@pytest.mark.parametrize(
    ("said", "then", "kept"),
    [
        ([SEARCH, FOUND], "Thanks.", ["server_tool_use", "web_search_tool_result"]),
        ([{"type": "text", "text": "Let me look."}, SEARCH], "Never mind.", ["text"]),
        ([SEARCH, CALL], [RESULT], ["server_tool_use", "tool_use"]),
        ([SEARCH], None, ["server_tool_use"]),
        ([SEARCH], "Never mind.", []),
    ],
)
def test_a_call_that_the_provider_never_ran_is_left_out(said, then, kept):
    """PT-17."""
    messages = [{"role": "user", "content": "Search."}, {"role": "assistant", "content": said}]
    messages += [] if then is None else [{"role": "user", "content": then}]

    placed = place(dialect("anthropic"), messages)

    answers = [m["content"] for m in placed.messages if m["role"] == "assistant"]
    assert [block["type"] for content in answers for block in content] == kept
    assert ("parts-left-out" in {note.code for note in placed.notes}) == (len(kept) < len(said))
    assert messages[1]["content"] == said


@pytest.mark.parametrize(
    ("made_up", "anthropic", "openai"),
    [
        ("look.up it!", "look_up_it_", "look_up_it_"),
        ("psql " + "x" * 300, 200, 64),
        ("", "unnamed", "unnamed"),
        ("look-up_2", "look-up_2", "look-up_2"),
    ],
)
def test_a_tool_name_that_a_model_made_up_is_respelled_where_it_is_refused(
    made_up, anthropic, openai
):
    """PT-18; PT-27."""
    asked = {"role": "user", "content": "Look."}
    block = {"type": "tool_use", "id": "toolu_1", "name": made_up, "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "No such tool."}
    blocks = [
        asked,
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": [result]},
    ]
    function = {"name": made_up, "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    chat = [
        asked,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": made_up, "content": "No such tool."},
    ]

    placed = place(dialect("anthropic"), blocks).messages[1]["content"][0]["name"]
    rows = place(dialect("openai-chat"), chat, model="gpt-5").messages
    sent = rows[1]["tool_calls"][0]["function"]["name"]

    assert placed == anthropic or len(placed) == anthropic
    assert sent == openai or len(sent) == openai
    assert made_up == "" or rows[2]["name"] == sent
    if made_up:
        other = place(dialect("openai-chat"), chat, model="qwen3").messages
        assert other[1]["tool_calls"][0]["function"]["name"] == made_up


OLD_ANSWER = {"role": "function", "name": "f", "content": "3"}


@pytest.mark.parametrize(
    "answer",
    [
        Message("tool", (ToolResult(None, "f", (Text("3"),)),)),
        dialect("openai-chat").lift(OLD_ANSWER),
    ],
)
def test_a_call_in_the_old_form_that_was_given_an_id_has_it(answer):
    """PT-13."""
    chat = dialect("openai-chat")
    old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}

    made, _ = complete_calls([chat.lift(old), answer], "openai-chat")

    call, result = (chat.lower(message)[0] for message in made)
    assert [each["id"] for each in call["tool_calls"]] == [result["tool_call_id"]]
    assert (result["role"], "function_call" in call) == ("tool", False)
    assert chat.lower(chat.lift(OLD_ANSWER)) == (OLD_ANSWER,)
    linked = {**OLD_ANSWER, "tool_call_id": "a"}
    assert chat.lower(chat.lift(linked)) == (linked,)
    assert chat.lower(chat.lift(old)) == (old,)


def test_what_a_model_drew_is_shown_with_the_next_words_of_the_user():
    """PT-17."""
    source = {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}
    picture = {"type": "image", "source": source}
    asked = {"role": "user", "content": "Draw."}
    drawn = {"role": "assistant", "content": [{"type": "text", "text": "Here."}, picture, CALL]}
    answered = {"role": "user", "content": [RESULT]}
    alone = {"role": "assistant", "content": [picture]}

    placed = place(dialect("anthropic"), [asked, drawn, answered, alone])

    kinds = [[b["type"] for b in m["content"]] for m in placed.messages[1:]]
    assert kinds == [["text", "tool_use"], ["tool_result", "text", "image"]]
    assert placed.messages[2]["content"][2] == picture
    assert placed.added == ("[The assistant made this:]",)
    assert drawn["content"][1] is picture
