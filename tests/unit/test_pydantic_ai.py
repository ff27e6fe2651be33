"""The pydantic-ai dialect, against the real package: equal objects back, in both forms."""

import datetime
import warnings

import pytest

from thusfar.codec import canonical_json
from thusfar.dialects import DialectMismatch
from thusfar.dialects.pydantic_ai import PYDANTIC_AI
from thusfar.errors import MissingExtraError, TranscriptError, UnsupportedPartError
from thusfar.facts import Facts, Link, content_of, facts_of
from thusfar.messages import (
    Audio,
    File,
    Image,
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)

pytest.importorskip("pydantic_ai")

from pydantic_ai import messages as pai
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

PNG = BinaryContent(data=b"\x89PNG", media_type="image/png")
PNG_TEXT = "iVBORw=="
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
NOON = datetime.datetime(2026, 5, 4, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))


def retry(content, **fields):
    """Make a part that later versions of pydantic-ai warn about and still read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pai.RetryPromptPart(content, **fields)


def with_parts(parts):
    """Make a request that its constructor would refuse."""
    message = ModelRequest([])
    message.parts = parts
    return message


REQUESTS = [
    ModelRequest(
        [SystemPromptPart("Be brief."), UserPromptPart("Hello.")], instructions="In French."
    ),
    ModelRequest([SystemPromptPart("Be brief.", timestamp=NOON)]),
    ModelRequest([UserPromptPart("")]),
    ModelRequest([UserPromptPart([])]),
    ModelRequest([UserPromptPart(["A list of one."])]),
    ModelRequest([UserPromptPart(("A", "tuple."))]),
    ModelRequest((UserPromptPart("Parts in a tuple."),)),
    ModelRequest([UserPromptPart([CachePoint()])]),
    ModelRequest(
        [
            UserPromptPart(
                [
                    "Look:",
                    CachePoint(),
                    ImageUrl(url="https://a.test/i.png"),
                    pai.VideoUrl(url="https://a.test/v.mp4"),
                    pai.AudioUrl(url="https://a.test/a.mp3"),
                    pai.DocumentUrl(url="https://a.test/d.pdf", force_download=True),
                    PNG,
                    pai.BinaryImage(data=b"\x89PNG", media_type="image/png"),
                    BinaryContent(data=b"RIFF", media_type="audio/wav", vendor_metadata={"n": 1}),
                    pai.UploadedFile(file_id="f1", provider_name="openai"),
                    pai.TextContent("Kept aside.", metadata={"n": 1}),
                ]
            )
        ]
    ),
    ModelRequest([ToolReturnPart("weather", "3 C", "c1"), UserPromptPart("And tomorrow?")]),
    ModelRequest([ToolReturnPart("weather", "3 C", "c1"), SystemPromptPart("Mind the units.")]),
    ModelRequest([ToolReturnPart("weather", "No.", "c1", outcome="failed", metadata={"n": [1]})]),
    *(
        ModelRequest([ToolReturnPart("weather", content, "c1", timestamp=NOON)])
        for content in (
            {"celsius": 3.0},
            [1, "two", None],
            ["two", "texts"],
            ("a", 1),
            None,
            7,
            PNG,
            ["Look:", PNG, {"n": 1}],
            {"$class": "not ours"},
            {"at": NOON, "raw": b"\x00", "for": datetime.timedelta(days=1, seconds=2)},
            [{"kind": "image-url"}, PNG],
        )
    ),
    ModelRequest([retry("Again, please.")]),
    ModelRequest([retry("No such city.", tool_name="weather", tool_call_id="c1")]),
    ModelRequest(
        [
            retry(
                [{"type": "missing", "loc": ("city",), "msg": "m", "input": 1}], tool_name="weather"
            )
        ]
    ),
    ModelRequest([pai.RetryFeedbackPart("Shorter.", retry=pai.RetryInfo(cause="model_retry"))]),
    ModelRequest([pai.InstructionDeltaPart(id=None, content=None)]),
    ModelRequest([pai.InstructionDeltaPart(id=None, content="New."), UserPromptPart("Go.")]),
    ModelRequest([pai.InstructionBaselinePart(instructions=[]), ToolReturnPart("t", "x", "c1")]),
    ModelRequest([pai.ToolAvailabilityDeltaPart(tools_added=[]), ToolReturnPart("t", "x", "c1")]),
    ModelRequest([pai.SpeechPart(speaker="user", transcript="Hi.", audio=PNG)]),
    ModelRequest([pai.SpeechPart(speaker="user", audio=PNG)]),
    ModelRequest([UserPromptPart([pai.StructuredContent(value={"n": 1})])]),
    ModelRequest([]),
]
RESPONSES = [
    ModelResponse([]),
    ModelResponse([TextPart("Hi.")], model_name="m", finish_reason="stop", timestamp=NOON),
    ModelResponse(
        [
            TextPart(
                "Hi.",
                citations=[pai.Citation(sources=[pai.WebCitationSource(url="https://a.test")])],
            )
        ],
        provider_details={"at": NOON},
        usage=RequestUsage(input_tokens=3, details={"cached": 1}),
    ),
    ModelResponse([ThinkingPart("Hm.")]),
    ModelResponse(
        [ThinkingPart("Hm.", signature="sig", provider_name="anthropic"), TextPart("So.")]
    ),
    ModelResponse(
        [ThinkingPart("", signature="sealed", id="redacted_thinking", provider_name="anthropic")]
    ),
    ModelResponse([ThinkingPart("", signature="sealed", id="rs1", provider_name="openai")]),
    ModelResponse(
        [
            ToolCallPart("weather", {"city": "Oslo"}, "c1"),
            ToolCallPart("weather", '{"city": "Oslo"}', "c2"),
            ToolCallPart("now", None, "c3"),
            ToolCallPart("now", "", "c4"),
        ]
    ),
    ModelResponse(
        [
            pai.NativeToolCallPart("web_search", {"q": "x"}, "n1"),
            pai.NativeToolReturnPart("web_search", {"hits": []}, "n1"),
            pai.FilePart(PNG),
            pai.CompactionPart("What happened so far.", provider_name="anthropic"),
            pai.SpeechPart(speaker="assistant", transcript="Hi."),
        ]
    ),
]
READ_AS_SPECIAL = [
    {
        "kind": "response",
        "parts": [
            {
                "part_kind": "tool-call",
                "tool_name": "search_tools",
                "args": {"queries": ["weather"]},
                "tool_call_id": "c1",
                "tool_kind": "tool-search",
            }
        ],
    },
    {
        "kind": "request",
        "parts": [
            {
                "part_kind": "tool-return",
                "tool_name": "search_tools",
                "content": {"discovered_tools": []},
                "tool_call_id": "c1",
                "tool_kind": "tool-search",
            },
            {"part_kind": "compaction", "content": "What happened so far."},
        ],
    },
]
EVERY = [*REQUESTS, *RESPONSES, *ModelMessagesTypeAdapter.validate_python(READ_AS_SPECIAL)]


def in_json(message):
    return ModelMessagesTypeAdapter.dump_python([message], mode="json")[0]


def describes_as_it_lifts(message):
    lifted = PYDANTIC_AI.lift(message)
    assert PYDANTIC_AI.describe(message) == facts_of(lifted)
    assert PYDANTIC_AI.content(message) == content_of(lifted)
    return lifted


@pytest.mark.parametrize("message", EVERY, ids=range(len(EVERY)))
def test_an_object_comes_back_equal(message):
    (lowered,) = PYDANTIC_AI.lower(describes_as_it_lifts(message))

    assert lowered == message
    assert [type(part) for part in lowered.parts] == [type(part) for part in message.parts]
    assert in_json(lowered) == in_json(message)


@pytest.mark.parametrize("message", EVERY, ids=range(len(EVERY)))
def test_the_json_form_comes_back_byte_for_byte(message):
    written = in_json(message)

    (lowered,) = PYDANTIC_AI.lower(describes_as_it_lifts(written))

    assert canonical_json(lowered) == canonical_json(written)


@pytest.mark.parametrize("message", EVERY, ids=range(len(EVERY)))
def test_an_object_that_was_read_from_json_comes_back_equal(message):
    (read,) = ModelMessagesTypeAdapter.validate_python([in_json(message)])

    (lowered,) = PYDANTIC_AI.lower(describes_as_it_lifts(read))

    assert lowered == read


@pytest.mark.parametrize("message", EVERY, ids=range(len(EVERY)))
def test_lifting_changes_nothing(message):
    before = in_json(message)

    PYDANTIC_AI.lift(message)

    assert in_json(message) == before


def test_a_system_prompt_beside_user_text_is_user_input():
    first = ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("Hello.")])
    alone = ModelRequest([SystemPromptPart("Be brief.")])

    assert PYDANTIC_AI.describe(first) == Facts("user", user_input=True)
    assert PYDANTIC_AI.lift(first).text == "Be brief.Hello."
    assert PYDANTIC_AI.describe(alone) == Facts("system")


def test_results_alone_are_a_tool_message_and_beside_text_no_user_input():
    link = (Link("c1", "weather"),)
    alone = ModelRequest([ToolReturnPart("weather", "3 C", "c1")])
    beside = ModelRequest([ToolReturnPart("weather", "3 C", "c1"), UserPromptPart("And?")])

    assert PYDANTIC_AI.describe(alone) == Facts("tool", results=link)
    assert PYDANTIC_AI.describe(beside) == Facts("user", results=link)


def test_a_retry_is_a_failed_result_with_a_tool_and_user_input_without():
    of_tool = ModelRequest([retry("No.", tool_name="weather", tool_call_id="c1")])
    of_answer = ModelRequest([retry("Again.")])

    assert PYDANTIC_AI.lift(of_tool).parts == (
        ToolResult("c1", "weather", (Text("No."),), is_error=True),
    )
    assert PYDANTIC_AI.describe(of_answer) == Facts("user", user_input=True)


def test_calls_wait_for_results_but_native_ones_do_not():
    message = ModelResponse(
        [
            pai.NativeToolCallPart("web_search", {}, "n1"),
            pai.NativeToolReturnPart("web_search", {}, "n1"),
            ToolCallPart("weather", {}, "c1"),
        ]
    )

    assert PYDANTIC_AI.describe(message) == Facts("assistant", calls=(Link("c1", "weather"),))
    assert [type(part) for part in PYDANTIC_AI.lift(message).parts] == [Native, Native, ToolCall]


def test_arguments_keep_the_text_or_the_order_of_their_keys():
    message = ModelResponse(
        [ToolCallPart("f", '{"b":  1}', "c1"), ToolCallPart("f", {"b": 1, "a": 2}, "c2")]
    )

    assert [part.arguments for part in PYDANTIC_AI.lift(message).parts] == [
        '{"b":  1}',
        '{"b":1,"a":2}',
    ]


def test_what_no_model_reads_is_kept_and_not_counted():
    message = ModelRequest(
        [pai.InstructionBaselinePart(instructions=[]), UserPromptPart(["x", CachePoint()])]
    )

    assert PYDANTIC_AI.content(message).texts == ("x",)
    assert PYDANTIC_AI.lower(PYDANTIC_AI.lift(message)) == (message,)


def test_media_become_media():
    lifted = PYDANTIC_AI.lift(
        ModelRequest(
            [
                UserPromptPart(
                    [PNG, pai.AudioUrl(url="https://a.test/a.mp3"), pai.DocumentUrl(url="u")]
                )
            ]
        )
    )

    assert [type(part) for part in lifted.parts] == [Image, Audio, File]
    assert lifted.parts[0].data == PNG_TEXT


@pytest.mark.parametrize(
    "foreign",
    [
        {"kind": "request", "parts": [{"type": "text"}]},
        {"kind": "request", "parts": ["text"]},
        {"kind": "request"},
        {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_call_id": "c"}]},
        {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f", "args": 7}]},
        {"kind": "response", "parts": [{"part_kind": "thinking"}]},
        with_parts(7),
        with_parts([7]),
        {"kind": "other", "parts": []},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": 7}]},
        {
            "kind": "request",
            "parts": [{"part_kind": "tool-return", "tool_name": "f", "tool_call_id": 7}],
        },
        {"role": "user", "parts": [{"text": "Gemini"}]},
        {"role": "user", "content": "OpenAI"},
        Message("user", "Hello."),
        object(),
        "text",
        None,
    ],
)
def test_anything_else_is_refused(foreign):
    with pytest.raises(DialectMismatch):
        PYDANTIC_AI.describe(foreign)
    with pytest.raises(DialectMismatch):
        PYDANTIC_AI.lift(foreign)


def test_messages_of_other_dialects_become_objects_without_a_time():
    messages = (
        Message("system", "Be brief."),
        Message(
            "user", (Text("Look:"), Image("image/png", PNG_TEXT), File(url="https://a.test/d"))
        ),
        Message(
            "assistant",
            (
                Reasoning("Hm.", "sig", provider="anthropic"),
                Text("Look:"),
                Image("image/png", PNG_TEXT),
                ToolCall("c1", "f", "{}"),
            ),
        ),
        Message(
            "tool", (ToolResult("c1", "f", (Text("3 C"),)), ToolResult("c2", "f", is_error=True))
        ),
    )

    lowered = [each for message in messages for each in PYDANTIC_AI.lower(message)]

    assert lowered == [
        ModelRequest([SystemPromptPart("Be brief.", timestamp=EPOCH)]),
        ModelRequest(
            [
                UserPromptPart(
                    ["Look:", PNG, pai.DocumentUrl(url="https://a.test/d")], timestamp=EPOCH
                )
            ]
        ),
        ModelResponse(
            [
                ThinkingPart("Hm.", signature="sig", provider_name="anthropic"),
                TextPart("Look:"),
                pai.FilePart(PNG),
                ToolCallPart("f", "{}", "c1"),
            ],
            timestamp=EPOCH,
        ),
        ModelRequest(
            [
                ToolReturnPart("f", "3 C", "c1", timestamp=EPOCH),
                ToolReturnPart("f", "", "c2", outcome="failed", timestamp=EPOCH),
            ]
        ),
    ]


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", (Native("anthropic", "server_tool_use", "{}"),)),
        Message("system", (Image(url="https://a.test/i"),)),
        Message("user", (ToolCall("c1", "f"),)),
        Message("user", (Native("anthropic", "x", "{}"),)),
        Message("user", (Image("image/png", "not base64!"),)),
        Message("tool", (ToolResult("c1"),)),
    ],
)
def test_what_has_no_form_is_refused_and_never_vanishes(message):
    with pytest.raises(UnsupportedPartError):
        PYDANTIC_AI.lower(message)


def test_without_pydantic_ai_an_object_cannot_be_made(monkeypatch):
    monkeypatch.setattr("thusfar.dialects.pydantic_ai_objects.find_spec", lambda name: None)

    with pytest.raises(MissingExtraError) as caught:
        PYDANTIC_AI.lower(Message("user", "Hello."))

    assert caught.value.fix == "Install pydantic-ai-slim."
    written = in_json(RESPONSES[0])
    assert PYDANTIC_AI.lower(PYDANTIC_AI.lift(written)) == (written,)


def test_parts_that_were_changed_under_their_wire_are_refused():
    lifted = PYDANTIC_AI.lift(ModelRequest([UserPromptPart("One."), UserPromptPart("Two.")]))
    cut = Message(lifted.role, lifted.parts[:1], wire=lifted.wire)

    with pytest.raises(TranscriptError):
        PYDANTIC_AI.lower(cut)


def test_links_become_urls_of_their_kind():
    links = [
        (Image(url="https://a.test/1"), pai.ImageUrl),
        (Audio(url="https://a.test/2"), pai.AudioUrl),
        (File(url="https://a.test/3", mime="video/mp4"), pai.VideoUrl),
        (File(url="https://a.test/4"), pai.DocumentUrl),
    ]

    (lowered,) = PYDANTIC_AI.lower(Message("user", tuple(part for part, _ in links)))

    assert [type(item) for item in lowered.parts[0].content] == [kind for _, kind in links]


def test_values_of_the_application_are_converted_as_everywhere():
    class Weather:
        def model_dump(self, mode):
            return {"celsius": 3}

    message = ModelRequest([ToolReturnPart("weather", Weather(), "c1")])
    keyed = ModelRequest([ToolReturnPart("weather", {1: "not text"}, "c1")])

    assert PYDANTIC_AI.content(message).texts == ('{"celsius":3}',)
    with pytest.raises(TranscriptError):
        PYDANTIC_AI.lift(keyed)


@pytest.mark.parametrize("name", ["FileUrl", "ImageUrl", "ABC", "nothing_known"])
def test_a_stored_name_of_something_else_is_refused(name):
    lifted = PYDANTIC_AI.lift(ModelResponse([ToolCallPart("f", "{}", "c1")]))
    forged = Message("assistant", lifted.parts, wire=lifted.wire.replace("ToolCallPart", name))

    with pytest.raises(TranscriptError):
        PYDANTIC_AI.lower(forged)


def test_a_stored_name_cannot_make_a_class_of_another_package():
    lifted = PYDANTIC_AI.lift(ModelRequest([UserPromptPart("One.")]))
    forged = Message(
        "user", lifted.parts, wire=lifted.wire.replace("ModelRequest", "os:stat_result")
    )

    with pytest.raises(TranscriptError):
        PYDANTIC_AI.lower(forged)
