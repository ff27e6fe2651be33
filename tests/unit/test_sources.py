"""Sources: every known shape of file gives its messages, and every other a typed refusal."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thusfar import sources
from thusfar.errors import OptionsError, TranscriptError
from thusfar.messages import Image, Message, Native, Reasoning, Text, ToolCall, ToolResult

ASK = {"role": "user", "content": "Weather in Oslo?"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "3 C"}
CHAT = [ASK, CALL, RESULT]
CLAUDE_ASK = {"role": "user", "content": "Weather in Oslo?"}


def lines(*records):
    return "\n".join(map(json.dumps, records)) + "\n"


def events(*data, names=False):
    rows = [
        (f"event: {each.get('type')}\n" if names else "") + f"data: {json.dumps(each)}\n"
        for each in data
    ]
    return "\n".join(rows) + "\n"


def refusal(data, **options):
    with pytest.raises(TranscriptError) as caught:
        sources.load(data, **options)
    assert caught.value.code == "INVALID_TRANSCRIPT"
    return caught.value


# Lists


@pytest.mark.parametrize(
    "data",
    [
        CHAT,
        json.dumps(CHAT),
        json.dumps(CHAT, indent=2).encode(),
        lines(*CHAT),
        lines(*CHAT).encode(),
    ],
    ids=["value", "text", "indented bytes", "lines", "lines in bytes"],
)
def test_a_list_of_messages_is_read_in_every_writing(data):
    loaded = sources.load(data)

    assert (loaded.kind, loaded.dialect) == ("messages", "openai-chat")
    assert loaded.messages == tuple(CHAT)
    assert loaded.facts == {"messages": 3}


def test_messages_given_as_values_come_back_as_the_same_objects():
    loaded = sources.load(CHAT)

    assert all(given is kept for given, kept in zip(CHAT, loaded.messages, strict=True))


def test_any_iterable_and_a_message_alone_are_lists_too():
    assert sources.load(iter(CHAT)).messages == tuple(CHAT)
    assert sources.load(Message("user", "Hello.")).messages == (Message("user", "Hello."),)


def test_an_object_of_an_sdk_is_read_like_its_json():
    class Completion:
        def model_dump(self, **how):
            return {"model": "m1", "choices": [{"message": ANSWER}]}

    loaded = sources.load(Completion())

    assert (loaded.kind, loaded.messages) == ("response", (ANSWER,))


def test_an_empty_list_has_no_messages():
    loaded = sources.load("[]")

    assert (loaded.dialect, loaded.messages) == ("openai-chat", ())


@pytest.mark.parametrize("data", ["", b"", "  \n\n", "\ufeff", b"\xef\xbb\xbf\n"])
def test_empty_input_is_refused(data):
    assert refusal(data).args[0] == "The input was empty."


def test_a_byte_order_mark_is_no_content():
    assert sources.load(b"\xef\xbb\xbf" + json.dumps([ASK]).encode()).messages == (ASK,)


def test_windows_line_ends_are_line_ends():
    assert sources.load(lines(*CHAT).replace("\n", "\r\n")).messages == tuple(CHAT)


def test_one_message_alone_is_a_list_of_one():
    assert sources.load(json.dumps(ASK)).messages == (ASK,)


def test_our_own_messages_are_read_as_objects_and_as_json():
    message = Message("user", "Hello.")
    written = {"role": "user", "parts": [{"type": "text", "text": "Hello."}]}

    assert sources.load([message]).messages == (message,)
    assert sources.load([message]).dialect == "thusfar"
    assert sources.load([written]).dialect == "thusfar"


def test_the_output_of_our_own_command_is_input_again():
    printed = {"messages": [ASK], "receipt": {"messages": 1}}

    assert sources.load(json.dumps(printed)).messages == (ASK,)


def test_a_dialect_that_is_given_is_used_and_checked():
    assert sources.load([ASK], dialect="anthropic").dialect == "anthropic"
    assert refusal(CHAT, dialect="anthropic").facts == {"position": 1}
    assert refusal(lines(*CHAT), dialect="anthropic").facts == {"position": 1, "line": 2}


def test_a_dialect_that_does_not_exist_is_an_option_error():
    with pytest.raises(OptionsError):
        sources.load([ASK], dialect="gpt")


def test_a_source_of_another_dialect_than_the_one_given_is_refused():
    body = {"contents": [{"role": "user", "parts": [{"text": "Hello."}]}]}

    assert refusal(body, dialect="openai-chat").fix == "Pass dialect='gemini', or leave it out."


def test_several_transcripts_in_one_file_are_refused():
    error = refusal(lines({"messages": CHAT}, {"messages": CHAT}))

    assert error.facts == {"transcripts": 2}
    assert refusal([CHAT, CHAT]).fix == "Pass one of them at a time."


# Refusals


def test_a_broken_line_is_named():
    error = refusal(lines(ASK) + '{"role": "user", "cont')

    assert error.facts["line"] == 2
    assert error.fix == "Correct or remove that line."


def test_a_message_of_no_dialect_is_named_by_its_line():
    error = refusal(lines(ASK, CALL, {"speaker": "Ada"}))

    assert (error.facts["position"], error.facts["line"]) == (2, 3)


@pytest.mark.parametrize(
    "data",
    [
        '[{"role": "user"',
        '[{"a": 1, "a": 2}]',
        "[NaN]",
        "[" * 100_000,
        b"\xff\xfe\x00",
        "just words",
        "7",
        '"text"',
        "null",
        "{}",
        "[1]",
        "[null]",
        '[{"role": "wizard", "content": "x"}]',
        '{"messages": "none"}',
        '{"error": {"message": "overloaded"}}',
        "data: not json\n\n",
        "data: {}\n\n",
        "data: 7\n\n",
        'event: x\ndata: {"type": "unknown"}\n\n',
        'data: {"choices": []}\nno field\n\n',
        ": only a comment\n",
    ],
    ids=lambda data: repr(data)[:30],
)
def test_input_of_no_known_shape_is_refused(data):
    refusal(data)


@pytest.mark.parametrize("value", [None, 7, object(), {"a": 1}, [object()]])
def test_values_of_no_known_shape_are_refused(value):
    refusal(value)


def test_a_refusal_shows_nothing_of_what_was_said():
    error = refusal(lines({"role": "wizard", "content": "sesame"}))

    assert "sesame" not in str(error)
    assert "wizard" not in str(error)


# Requests and responses


REQUESTS = {
    "openai-chat": {
        "model": "m1",
        "messages": CHAT,
        "tools": [{"type": "function", "function": {}}],
    },
    "openai-responses": {
        "model": "m1",
        "instructions": "Be brief.",
        "input": [ASK, {"type": "function_call_output", "call_id": "c1", "output": "3 C"}],
    },
    "anthropic": {
        "model": "m1",
        "system": "Be brief.",
        "max_tokens": 99,
        "messages": [CLAUDE_ASK],
        "tools": [{"name": "weather", "input_schema": {}}],
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Weather in Oslo?"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": []}],
    },
    "bedrock-converse": {
        "modelId": "m1",
        "system": [{"text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"text": "Weather in Oslo?"}]}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "weather"}}]},
    },
}
RESPONSES = {
    "openai-chat": ({"model": "m1", "choices": [{"message": CALL}, {"message": ASK}]}, CALL),
    "openai-responses": (
        {
            "object": "response",
            "model": "m1",
            "output": [{"type": "reasoning", "id": "r", "summary": []}],
        },
        {"type": "reasoning", "id": "r", "summary": []},
    ),
    "anthropic": (
        {
            "type": "message",
            "role": "assistant",
            "model": "m1",
            "content": [{"type": "text", "text": "3"}],
        },
        {
            "type": "message",
            "role": "assistant",
            "model": "m1",
            "content": [{"type": "text", "text": "3"}],
        },
    ),
    "gemini": (
        {
            "modelVersion": "m1",
            "candidates": [{"content": {"role": "model", "parts": [{"text": "3"}]}}],
        },
        {"role": "model", "parts": [{"text": "3"}]},
    ),
    "bedrock-converse": (
        {
            "output": {"message": {"role": "assistant", "content": [{"text": "3"}]}},
            "stopReason": "x",
        },
        {"role": "assistant", "content": [{"text": "3"}]},
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_gives_its_messages_system_tools_and_model(name):
    body = REQUESTS[name]

    loaded = sources.load(json.dumps(body))

    assert (loaded.kind, loaded.dialect) == ("request", name)
    assert len(loaded.messages) == len(
        body.get("messages") or body.get("input") or body["contents"]
    )
    assert loaded.model == (None if name == "gemini" else "m1")
    assert (loaded.system is None) == (name == "openai-chat")
    assert (loaded.tools is None) == (name == "openai-responses")


@pytest.mark.parametrize("name", RESPONSES)
def test_a_response_gives_the_message_it_adds(name):
    body, message = RESPONSES[name]

    loaded = sources.load(json.dumps(body))

    assert (loaded.kind, loaded.dialect, loaded.messages) == ("response", name, (message,))


def test_the_first_of_several_choices_is_taken_and_all_are_counted():
    assert sources.load(RESPONSES["openai-chat"][0]).facts == {"messages": 1, "choices": 2}


def test_a_response_without_an_answer_adds_nothing():
    assert sources.load({"candidates": [{"finishReason": "SAFETY"}]}).messages == ()
    assert sources.load({"promptFeedback": {"blockReason": "SAFETY"}}).messages == ()
    assert sources.load({"choices": []}).messages == ()


def test_text_input_is_one_message_of_the_user():
    assert sources.load({"model": "m1", "input": "Hello."}).messages == (
        {"role": "user", "content": "Hello."},
    )
    content = {"role": "user", "parts": [{"text": "Hello."}]}
    assert sources.load({"contents": "Hello."}).messages == (content,)
    assert sources.load({"contents": content}).messages == (content,)


def test_system_blocks_without_a_type_are_those_of_bedrock():
    body = {**REQUESTS["bedrock-converse"]}
    del body["modelId"], body["toolConfig"]

    assert sources.load(body).dialect == "bedrock-converse"


@pytest.mark.parametrize(
    ("beside", "name"),
    [
        ({}, "openai-chat"),
        ({"response_format": {"type": "text"}}, "openai-chat"),
        ({"tools": [{"type": "function", "function": {}}]}, "openai-chat"),
        ({"tools": [{"function": {}}]}, "openai-chat"),
        ({"system": "Be brief."}, "anthropic"),
        ({"system": [{"type": "text", "text": "Be brief."}]}, "anthropic"),
        ({"thinking": {"type": "enabled"}}, "anthropic"),
        ({"tools": [7], "system": {}, "top_k": 1}, "anthropic"),
        ({"tools": [{"name": "weather", "input_schema": {}}]}, "anthropic"),
    ],
)
def test_what_stands_beside_plain_messages_tells_their_dialect(beside, name):
    assert sources.load({"model": "m", "messages": [ASK], **beside}).dialect == name


def test_a_request_with_a_message_of_another_dialect_is_refused():
    assert refusal({"system": "Be brief.", "messages": CHAT}).facts["position"] == 1


# Streams


def test_a_chat_stream_adds_up_to_its_message():
    def chunk(delta, finish=None, index=0):
        return {
            "model": "m1",
            "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
        }

    def call(arguments, **more):
        return {"tool_calls": [{"index": 0, "function": {"arguments": arguments}, **more}]}

    stream = events(
        chunk({"role": "assistant", "content": None, "reasoning_content": "H"}),
        chunk({"reasoning_content": "m."}),
        chunk({"content": "Look"}),
        chunk({"content": "ing."}),
        chunk({"content": "Another choice."}, index=1),
        chunk(
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "weather", "arguments": ""},
                    }
                ]
            }
        ),
        chunk(call('{"city"')),
        chunk(call(': "Oslo"}')),
        chunk({}, "tool_calls"),
        {"choices": [], "usage": {"total_tokens": 9}},
    )

    loaded = sources.load(stream + "data: [DONE]\n\n")

    assert (loaded.kind, loaded.dialect, loaded.model) == ("stream", "openai-chat", "m1")
    assert loaded.facts == {"messages": 1, "complete": 1, "choices": 2}
    assert loaded.messages == (
        {
            "role": "assistant",
            "content": "Looking.",
            "reasoning_content": "Hm.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
                }
            ],
        },
    )


ANTHROPIC_STREAM = (
    {
        "type": "message_start",
        "message": {
            "type": "message",
            "role": "assistant",
            "model": "m1",
            "content": [],
            "usage": {"input_tokens": 3},
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Hm."},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "sig"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "ping"},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Look"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ing."}},
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "citations_delta", "citation": {"n": 1}},
    },
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "c1", "name": "weather", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": ""},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"city": "O'},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": 'slo"}'},
    },
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
)


def test_an_anthropic_stream_adds_up_to_its_message():
    loaded = sources.load(events(*ANTHROPIC_STREAM, names=True))

    assert (loaded.dialect, loaded.model, loaded.facts["complete"]) == ("anthropic", "m1", 1)
    assert loaded.messages == (
        {
            "type": "message",
            "role": "assistant",
            "model": "m1",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "text", "text": "Looking.", "citations": [{"n": 1}]},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
            ],
            "usage": {"input_tokens": 3, "output_tokens": 9},
            "stop_reason": "tool_use",
        },
    )


def test_a_stream_that_broke_off_gives_what_arrived_and_says_so():
    loaded = sources.load(events(*ANTHROPIC_STREAM[:8]))

    assert loaded.facts["complete"] == 0
    assert loaded.messages[0]["content"][1] == {"type": "text", "text": "Look"}


def test_a_stream_that_broke_off_inside_a_call_is_refused():
    assert "inside the arguments" in refusal(events(*ANTHROPIC_STREAM[:13])).args[0]


def test_a_responses_stream_gives_the_items_of_the_finished_response():
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "3 C"}],
    }
    started = {"type": "response.created", "response": {"model": "m1", "output": []}}
    done = {"type": "response.output_item.done", "item": item}
    completed = {"type": "response.completed", "response": {"model": "m1", "output": [item]}}

    whole = sources.load(events(started, done, completed, names=True))
    broken_off = sources.load(events(started, done, names=True))

    assert (whole.dialect, whole.model, whole.messages) == ("openai-responses", "m1", (item,))
    assert (whole.facts["complete"], broken_off.facts["complete"]) == (1, 0)
    assert broken_off.messages == (item,)


def gemini_chunks():
    def chunk(*parts, **more):
        return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}

    return (
        chunk({"text": "Let me", "thought": True}),
        chunk({"text": " think.", "thought": True}),
        chunk({"text": "Look"}),
        chunk({"text": "ing."}),
        chunk({"text": "", "thoughtSignature": "sig"}),
        chunk({"functionCall": {"name": "weather", "args": {}}}, finishReason="STOP"),
        {"usageMetadata": {"totalTokenCount": 9}, "modelVersion": "m1"},
    )


@pytest.mark.parametrize(
    "write", [lambda chunks: events(*chunks), json.dumps], ids=["events", "list"]
)
def test_a_gemini_stream_adds_up_to_one_content(write):
    loaded = sources.load(write(gemini_chunks()))

    assert (loaded.kind, loaded.dialect, loaded.model) == ("stream", "gemini", "m1")
    assert loaded.facts == {"messages": 1, "complete": 1, "candidates": 1}
    assert loaded.messages == (
        {
            "role": "model",
            "parts": [
                {"text": "Let me think.", "thought": True},
                {"text": "Looking."},
                {"text": "", "thoughtSignature": "sig"},
                {"functionCall": {"name": "weather", "args": {}}},
            ],
        },
    )


def test_an_event_of_another_shape_is_refused():
    refusal(events({"choices": [7]}))
    refusal(events({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}}))


def test_lists_of_a_delta_grow_by_their_index():
    def chunk(delta):
        return {"choices": [{"delta": delta}]}

    first = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    second = {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}
    more = {"index": 1, "type": "function", "function": {"arguments": "}"}}
    stream = events(
        chunk({"role": "assistant", "content": "x", "annotations": ["one"], "rank": 1}),
        chunk({"annotations": ["two"], "tool_calls": [second]}),
        chunk({"tool_calls": [first, more]}),
    )

    (message,) = sources.load(stream).messages

    assert message["annotations"] == ["one", "two"]
    assert message["tool_calls"] == [
        {"id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "function": {"name": "g", "arguments": "{}"}, "type": "function"},
    ]


def test_an_anthropic_stream_may_lack_usage_and_have_deltas_of_its_own():
    stream = events(
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "later_kind"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "later_delta", "data": "x"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "c", "name": "f", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": ""},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    )

    assert sources.load(stream).messages[0]["content"] == [
        {"type": "later_kind", "data": "x"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
    ]


def test_data_over_several_lines_is_one_event():
    stream = 'data: {"choices": [{"index": 0,\ndata: "delta": {"content": "Hi."}}]}\n\n'

    assert sources.load(stream).messages == ({"role": "assistant", "content": "Hi."},)


def test_a_broken_event_is_named_by_its_line():
    assert refusal('data: {"choices": []}\n\ndata: {"cho\n\n').facts["line"] == 3


# Cassettes


def interaction(request, response, uri="https://api.test/v1/chat/completions"):
    return {
        "request": {"method": "POST", "uri": uri, "body": request},
        "response": {"status": 200, "body": response},
    }


ANSWER = {"role": "assistant", "content": "3 C."}
CASSETTE = {
    "source": "a recording",
    "interactions": [
        interaction({"model": "m1", "messages": [ASK]}, {"choices": [{"message": CALL}]}),
        interaction({"model": "m1", "messages": CHAT}, {"choices": [{"message": ANSWER}]}),
        {
            "request": {"method": "GET", "uri": "https://api.test/files", "body": ""},
            "response": {"status": 200, "body": ""},
        },
    ],
}


def test_the_transcript_of_a_cassette_is_its_last_request_with_the_reply():
    loaded = sources.load(json.dumps(CASSETTE))

    assert (loaded.kind, loaded.dialect) == ("cassette", "openai-chat")
    assert loaded.messages == (*CHAT, ANSWER)
    assert (loaded.facts["interactions"], loaded.facts["interaction"]) == (3, 1)
    assert loaded.facts["request_messages"] == 3


def test_every_interaction_can_be_read():
    first, second, third = sources.interactions(json.dumps(CASSETTE))

    assert first.messages == (ASK, CALL)
    assert second.messages == (*CHAT, ANSWER)
    assert third.messages == ()
    assert {each.kind for each in (first, second, third)} == {"interaction"}


def test_the_address_tells_the_dialect_where_the_body_does_not():
    recorded = interaction({"messages": [ASK]}, "", uri="https://api.test/v1/messages?beta=true")

    assert sources.interactions({"interactions": [recorded]})[0].dialect == "anthropic"


def test_a_streamed_or_textual_reply_is_a_reply():
    chunk = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "3 C."}}]}
    streamed = interaction({"messages": [ASK]}, events(chunk))
    textual = interaction({"messages": [ASK]}, json.dumps({"choices": [{"message": ANSWER}]}))
    boxed = interaction(
        {"messages": [ASK]}, {"string": json.dumps({"choices": [{"message": ANSWER}]})}
    )

    for recorded in (streamed, textual, boxed):
        assert sources.load({"interactions": [recorded]}).messages == (ASK, ANSWER)


def test_a_failed_request_has_no_reply():
    recorded = interaction({"messages": [ASK]}, {"error": {"message": "overloaded"}})

    assert sources.load({"interactions": [recorded]}).messages == (ASK,)


def test_a_reply_that_was_fetched_again_by_its_id_counts():
    uri = "https://api.test/v1/responses"
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "3 C"}],
    }
    queued = {"object": "response", "id": "r1", "status": "queued", "output": []}
    finished = {**queued, "status": "completed", "output": [item]}
    cassette = {
        "interactions": [
            interaction({"model": "m", "input": [ASK], "background": True}, queued, uri),
            interaction("", queued, f"{uri}/r1"),
            interaction("", finished, f"{uri}/r1"),
        ]
    }

    assert sources.load(cassette).messages == (ASK, item)


@pytest.mark.parametrize(
    "cassette",
    [
        {"contents": 7},
        {"interactions": []},
        {"interactions": [7]},
        {"interactions": [{"request": {}}]},
        {"interactions": [interaction("", "")]},
        {
            "interactions": [
                interaction(
                    {"messages": [ASK]}, {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}
                )
            ]
        },
    ],
)
def test_a_cassette_without_a_transcript_is_refused(cassette):
    refusal(cassette)


def test_only_a_cassette_has_interactions():
    with pytest.raises(TranscriptError):
        sources.interactions(json.dumps(CHAT))


# Claude Code


def claude(uuid, parent, message, kind=None, **more):
    return {
        "type": kind or message["role"],
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "message": message,
        **more,
    }


def said(text, message_id):
    return {
        "role": "assistant",
        "id": message_id,
        "model": "m1",
        "content": [{"type": "text", "text": text}],
    }


def called(call_id, message_id):
    block = {"type": "tool_use", "id": call_id, "name": "read", "input": {}}
    return {"role": "assistant", "id": message_id, "model": "m1", "content": [block]}


def answered(call_id):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}
    return {"role": "user", "content": [block]}


def asked(text):
    return {"role": "user", "content": text}


def texts_of(loaded):
    return [
        message["content"]
        if isinstance(message["content"], str)
        else next(
            block.get("text") or block.get("id") or block["tool_use_id"]
            for block in message["content"]
        )
        for message in loaded.messages
    ]


def test_the_live_path_of_a_claude_code_log_is_its_transcript():
    log = lines(
        {"type": "file-history-snapshot", "messageId": "x", "isSnapshotUpdate": False},
        claude("a", None, asked("one")),
        claude("b", "a", said("two", "m-b")),
        {"type": "system", "uuid": "s", "parentUuid": "b", "content": "hook"},
        claude("c", "s", asked("three")),
        {"type": "summary", "summary": "x", "leafUuid": "c"},
    )

    loaded = sources.load(log)

    assert (loaded.kind, loaded.dialect, loaded.model) == ("claude-code", "anthropic", "m1")
    assert texts_of(loaded) == ["one", "two", "three"]
    assert loaded.facts["other"] == 3


def test_an_edited_prompt_leaves_its_branch_off_the_path():
    log = lines(
        claude("a", None, asked("one")),
        claude("b", "a", said("two", "m-b")),
        claude("old", "b", asked("an old question")),
        claude("olda", "old", said("an old answer", "m-old")),
        claude("new", "b", asked("a new question")),
    )

    loaded = sources.load(log)

    assert texts_of(loaded) == ["one", "two", "a new question"]
    assert (loaded.facts["messages"], loaded.facts["alternatives"]) == (3, 2)
    assert [entry.live for entry in loaded.entries] == [True, True, False, False, True]
    assert [entry.parent for entry in loaded.entries] == [None, "a", "b", "old", "b"]


def test_results_of_parallel_calls_are_on_the_path_though_they_fork_it():
    log = lines(
        claude("a", None, asked("read both")),
        claude("b", "a", called("c1", "m1")),
        claude("c", "b", called("c2", "m1")),
        claude("r1", "b", answered("c1")),
        {"type": "progress", "uuid": "p", "parentUuid": "r1", "isSidechain": False},
        claude("r2", "c", answered("c2")),
        claude("d", "r2", said("done", "m2")),
    )

    assert texts_of(sources.load(log)) == ["read both", "c1", "c2", "c1", "c2", "done"]


def test_a_log_that_ends_amid_parallel_results_has_all_lines_of_the_calling_message():
    log = lines(
        claude("a", None, asked("read both")),
        claude("b", "a", called("c1", "m1")),
        claude("c", "b", called("c2", "m1")),
        claude("r1", "b", answered("c1")),
    )

    assert texts_of(sources.load(log)) == ["read both", "c1", "c2", "c1"]


def test_a_call_that_was_answered_on_the_path_gets_no_second_result():
    log = lines(
        claude("a", None, asked("read")),
        claude("b", "a", called("c1", "m1")),
        claude("r0", "b", answered("c1")),
        claude("r1", "b", answered("c1")),
        claude("d", "r1", said("done", "m2")),
    )

    loaded = sources.load(log)

    assert texts_of(loaded) == ["read", "c1", "c1", "done"]
    assert [entry.live for entry in loaded.entries] == [True, True, False, True, True]


def test_sub_agents_and_notes_of_the_tool_are_counted_and_not_given():
    log = lines(
        claude("a", None, asked("one")),
        claude("n", "a", asked("a note"), isMeta=True),
        {**claude("x", "a", asked("for the sub-agent")), "isSidechain": True},
        claude("b", "n", said("two", "m-b")),
    )

    loaded = sources.load(log)

    assert texts_of(loaded) == ["one", "two"]
    assert (loaded.facts["meta"], loaded.facts["sidechain"]) == (1, 1)


def test_the_log_of_a_sub_agent_alone_is_read_as_its_own():
    log = lines(
        {**claude("a", None, asked("one")), "isSidechain": True},
        {**claude("b", "a", said("two", "m-b")), "isSidechain": True},
    )

    assert texts_of(sources.load(log)) == ["one", "two"]


def test_what_stood_before_a_compaction_is_counted_apart():
    log = lines(
        claude("a", None, asked("one")),
        claude("b", "a", said("two", "m-b")),
        {"type": "system", "uuid": "s", "parentUuid": None, "logicalParentUuid": "b"},
        claude("c", "s", asked("the story so far"), isCompactSummary=True),
        claude("d", "c", said("three", "m-d")),
    )

    loaded = sources.load(log)

    assert texts_of(loaded) == ["the story so far", "three"]
    assert (loaded.facts["compacted"], loaded.facts["alternatives"]) == (2, 0)


def test_a_log_without_links_is_read_in_the_order_of_its_lines():
    stream = lines(
        {"type": "system", "subtype": "init", "parent_tool_use_id": None},
        {"type": "assistant", "message": said("one", "m1"), "parent_tool_use_id": None},
        {"type": "user", "message": answered("c9"), "parent_tool_use_id": "c1"},
        {"type": "assistant", "message": said("two", "m2"), "parent_tool_use_id": None},
    )

    assert texts_of(sources.load(stream)) == ["one", "two"]


def test_lines_of_a_log_that_are_no_records_are_counted_with_their_number():
    log = lines(
        claude("a", None, asked("one")),
        7,
        claude("b", "a", {"role": "assistant", "contents": []}, kind="assistant"),
        claude("c", "b", said("two", "m-c")),
    )

    loaded = sources.load(log)

    assert texts_of(loaded) == ["one", "two"]
    assert [entry.line for entry in loaded.entries if entry.kind == "unreadable"] == [2, 3]


def test_a_log_of_one_record_that_says_nothing_is_empty():
    loaded = sources.load('{"type": "summary", "summary": "x", "leafUuid": "a"}\n')

    assert (loaded.kind, loaded.messages) == ("claude-code", ())


def test_records_that_name_each_other_as_parent_do_not_loop():
    log = lines(claude("a", "b", asked("one")), claude("b", "a", asked("two")))

    assert texts_of(sources.load(log)) == ["one", "two"]


# Gemini CLI


GEMINI_SESSION = {
    "sessionId": "s1",
    "projectHash": "h1",
    "messages": [
        {"id": "1", "type": "user", "content": "read the file"},
        {
            "id": "2",
            "type": "gemini",
            "model": "m1",
            "content": "Reading.",
            "thoughts": [{"subject": "Plan", "description": "Read first."}],
            "toolCalls": [
                {
                    "id": "c1",
                    "name": "read",
                    "args": {"path": "a"},
                    "status": "success",
                    "result": [
                        {
                            "functionResponse": {
                                "id": "c1",
                                "name": "read",
                                "response": {"output": "A"},
                            }
                        }
                    ],
                },
                {
                    "id": "c2",
                    "name": "read",
                    "args": {"path": "b"},
                    "status": "cancelled",
                    "result": None,
                },
            ],
        },
        {"id": "3", "type": "info", "content": "An update is available."},
        {"id": "4", "type": "gemini", "content": ""},
        {"id": "5", "type": "user", "content": [{"text": "And "}, {"text": "then?"}]},
    ],
}
GEMINI_CONTENTS = (
    {"role": "user", "parts": [{"text": "read the file"}]},
    {
        "role": "model",
        "parts": [
            {"text": "Plan\nRead first.", "thought": True},
            {"text": "Reading."},
            {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}},
            {"functionCall": {"id": "c2", "name": "read", "args": {"path": "b"}}},
        ],
    },
    {
        "role": "user",
        "parts": [{"functionResponse": {"id": "c1", "name": "read", "response": {"output": "A"}}}],
    },
    {"role": "model", "parts": [{"text": ""}]},
    {"role": "user", "parts": [{"text": "And "}, {"text": "then?"}]},
)


def test_a_gemini_cli_session_becomes_gemini_contents():
    loaded = sources.load(json.dumps(GEMINI_SESSION))

    assert (loaded.kind, loaded.dialect, loaded.model) == ("gemini-cli", "gemini", "m1")
    assert loaded.messages == GEMINI_CONTENTS
    assert loaded.facts == {"records": 5, "messages": 5, "other": 1}


def test_a_gemini_cli_session_of_lines_applies_updates_and_rewinds():
    head = {"sessionId": "s1", "projectHash": "h1"}
    first, reply, _, _, last = GEMINI_SESSION["messages"]
    abandoned = {"id": "9", "type": "user", "content": "never mind"}

    loaded = sources.load(
        lines(
            head,
            first,
            {**reply, "content": "draft"},
            reply,
            abandoned,
            {"$rewindTo": "9"},
            {"$set": {}},
            last,
        )
    )

    assert loaded.messages == (*GEMINI_CONTENTS[:3], GEMINI_CONTENTS[4])


def test_a_gemini_cli_update_may_replace_all_messages():
    head = {"sessionId": "s1", "projectHash": "h1"}
    first, reply, *_ = GEMINI_SESSION["messages"]

    loaded = sources.load(
        lines(head, first, {"$rewindTo": "none"}, {"$set": {"messages": [reply]}})
    )

    assert loaded.messages == GEMINI_CONTENTS[1:3]


def test_a_line_that_is_no_record_is_named():
    assert refusal(lines({"sessionId": "s1", "projectHash": "h1"}, 7)).facts["line"] == 2


@pytest.mark.parametrize(
    "record",
    [
        7,
        {"type": "user"},
        {"id": "1"},
        {"id": "1", "type": "wizard", "content": "x"},
        {"id": "1", "type": ["user"], "content": "x"},
        {"id": "1", "type": "user", "content": 7},
        {"id": "1", "type": "gemini", "content": "x", "toolCalls": [7]},
        {"id": "1", "type": "gemini", "content": "x", "toolCalls": "none"},
    ],
)
def test_a_record_of_another_shape_is_named(record):
    assert refusal({**GEMINI_SESSION, "messages": [record]}).facts["line"] == 1


# pi


def pi(role, content, **more):
    return {
        "type": "message",
        "timestamp": "t",
        "message": {"role": role, "content": content, **more},
    }


PI_REPLY = {
    "api": "anthropic-messages",
    "provider": "anthropic",
    "model": "m1",
    "stopReason": "toolUse",
}


def test_a_pi_session_becomes_our_messages_and_nothing_is_repaired():
    log = lines(
        {"type": "session", "id": "s1", "cwd": "/"},
        pi("user", [{"type": "text", "text": "read it"}]),
        pi(
            "assistant",
            [
                {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "sig"},
                {"type": "text", "text": "Reading."},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}},
            ],
            **PI_REPLY,
        ),
        pi(
            "toolResult",
            [
                {"type": "text", "text": "A"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            ],
            toolCallId="c1",
            toolName="read",
            isError=False,
        ),
        {"type": "model_change", "modelId": "m2", "provider": "x"},
        pi("assistant", [], **{**PI_REPLY, "stopReason": "aborted"}),
        pi("bashExecution", None, command="ls", output="a\nb"),
    )

    loaded = sources.load(log)

    assert (loaded.kind, loaded.dialect, loaded.model) == ("pi", "thusfar", "m1")
    assert loaded.messages == (
        Message("user", "read it"),
        Message(
            "assistant",
            (
                Reasoning("Hm.", "sig", provider="anthropic"),
                Text("Reading."),
                ToolCall("c1", "read", '{"path":"a"}'),
            ),
        ),
        Message("tool", (ToolResult("c1", "read", (Text("A"), Image("image/png", "AAAA"))),)),
        Message("assistant", (), metadata={"stop_reason": "aborted"}),
        Message("user", "$ ls\na\nb"),
    )
    assert (loaded.facts["aborted"], loaded.facts["other"]) == (1, 2)


def test_a_pi_session_with_parents_follows_the_path_to_its_last_entry():
    log = lines(
        {"type": "session", "version": 3, "id": "s1", "cwd": "/"},
        {**pi("user", "one"), "id": "a", "parentId": None},
        {**pi("user", "an old question"), "id": "b", "parentId": "a"},
        {"type": "branch_summary", "id": "x", "parentId": "a", "summary": "went elsewhere"},
        {**pi("user", "a new question"), "id": "c", "parentId": "x"},
    )

    loaded = sources.load(log)

    assert [message.text for message in loaded.messages] == ["one", "a new question"]
    assert loaded.facts["alternatives"] == 1


def test_what_pi_adds_for_the_model_is_said_and_its_summaries_are_not():
    log = lines(
        {"type": "session", "id": "s1", "cwd": "/"},
        {"type": "custom_message", "customType": "x", "content": "from an extension"},
        pi("compactionSummary", None, summary="the story so far"),
        pi(
            "assistant",
            [
                {
                    "type": "thinking",
                    "thinking": "",
                    "thinkingSignature": "sealed",
                    "redacted": True,
                },
                {"type": "later_kind", "n": 1},
            ],
            **PI_REPLY,
        ),
    )

    loaded = sources.load(log)

    assert loaded.messages == (
        Message("user", "from an extension"),
        Message(
            "assistant",
            (
                Reasoning(data="sealed", provider="anthropic"),
                Native("pi", "later_kind", '{"type":"later_kind","n":1}'),
            ),
        ),
    )
    assert sources.load([pi("toolResult", [], toolCallId="c1")["message"]]).kind == "pi"


def test_a_bare_message_of_pi_is_read():
    message = {"role": "assistant", "content": [{"type": "text", "text": "Hi."}], **PI_REPLY}

    assert sources.load(json.dumps(message, indent=1)).messages == (Message("assistant", "Hi."),)
    assert sources.load([{"role": "user", "content": "Hello."}, message]).kind == "pi"


@pytest.mark.parametrize(
    "record",
    [
        pi("wizard", "x"),
        pi("assistant", [{"type": "toolCall", "id": 7}]),
        pi("assistant", [7]),
        pi("user", None),
        pi("toolResult", [], toolCallId=None),
        {"type": "message", "timestamp": "t", "message": 7},
        7,
    ],
)
def test_a_pi_entry_of_another_shape_is_named_by_its_line(record):
    assert refusal(lines({"type": "session", "id": "s1", "cwd": "/"}, record)).facts["line"] == 2


# Whatever comes


EVERY_SHAPE = [
    json.dumps(CHAT),
    lines(*CHAT),
    *map(json.dumps, REQUESTS.values()),
    *(json.dumps(body) for body, _ in RESPONSES.values()),
    events(*ANTHROPIC_STREAM, names=True),
    events(*gemini_chunks()),
    json.dumps(CASSETTE),
    lines(claude("a", None, asked("one")), claude("b", "a", called("c1", "m1"))),
    json.dumps(GEMINI_SESSION),
    lines(pi("user", "one"), pi("assistant", [], **PI_REPLY)),
]


@given(whole=st.sampled_from(EVERY_SHAPE), share=st.floats(0, 1))
def test_input_cut_anywhere_loads_or_is_refused_and_never_fails_otherwise(whole, share):
    try:
        sources.load(whole[: int(len(whole) * share)])
    except TranscriptError:
        return


def leaves(text):
    """List every path to a value inside a JSON text."""
    found = []

    def walk(value, path):
        found.append(path)
        children = (
            value.items()
            if isinstance(value, dict)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        for key, child in children:
            walk(child, (*path, key))

    walk(json.loads(text), ())
    return found


def replaced(text, path, new):
    value = json.loads(text)
    if not path:
        return json.dumps(new)
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = new
    return json.dumps(value)


@given(data=st.data())
def test_input_with_any_value_replaced_loads_or_is_refused(data):
    text = data.draw(st.sampled_from([each for each in EVERY_SHAPE if each.count("\n") == 0]))
    path = data.draw(st.sampled_from(leaves(text)))
    new = data.draw(
        st.sampled_from([None, True, 0, -1.5, "", "x", [], {}, [7], [[]], {"type": "text"}])
    )

    for read in (sources.load, sources.interactions):
        try:
            read(replaced(text, path, new))
        except TranscriptError:
            continue


def _claude_log():
    said = ("user", "Hello"), ("assistant", "Hi"), ("user", "Go on"), ("assistant", "Done")
    return [
        {
            "type": role,
            "uuid": f"u{i}",
            "parentUuid": f"u{i - 1}" if i else None,
            "isSidechain": False,
            "message": {"role": role, "content": text, "id": f"m{i}"},
        }
        for i, (role, text) in enumerate(said)
    ]


def _pi_log():
    return [
        {"type": "session", "id": "s", "cwd": "/", "timestamp": "2026-01-01T00:00:00Z"},
        *(
            {
                "type": "message",
                "id": f"p{i}",
                "parentId": f"p{i - 1}" if i else None,
                "timestamp": "2026-01-01T00:00:00Z",
                "message": {"role": "user", "content": f"text {i}"},
            }
            for i in range(4)
        ),
    ]


@pytest.mark.parametrize("log", [_claude_log(), _pi_log()], ids=["claude-code", "pi"])
def test_a_record_that_an_earlier_line_says_already_is_no_second_message(
    log,
):
    once = sources.load(lines(*log))

    for again in (
        [*log, *log],
        [each for record in log for each in (record, record)],
        [*log, log[1]],
    ):
        loaded = sources.load(lines(*again))
        assert loaded.messages == once.messages
        assert loaded.facts["other"] - once.facts["other"] == len(again) - len(log)
        assert [e.id for e in loaded.entries if e.live] == [e.id for e in once.entries if e.live]


@pytest.mark.parametrize("log", [_claude_log(), _pi_log()], ids=["claude-code", "pi"])
def test_the_parsed_records_of_a_log_are_the_log(log):
    for records in (log, log[:2]):
        assert sources.load(records) == sources.load(lines(*records))


def test_one_parsed_record_of_a_log_is_a_log():
    assert sources.load(_claude_log()[:1]).kind == "claude-code"


def test_a_compressed_file_is_told_as_such():
    with pytest.raises(TranscriptError, match=r"compressed\. Unpack it"):
        sources.load(gzip.compress(b'[{"role": "user", "content": "Hello"}]'))
