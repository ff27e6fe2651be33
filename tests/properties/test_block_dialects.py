"""Laws of the dialects made of content blocks, over broken and foreign messages too."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar.codec import canonical_json
from thusfar.dialects import anthropic, bedrock_converse, gemini
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.rules import Wire, check_wire
from thusfar.errors import TranscriptError
from thusfar.facts import content_of, facts_of

DIALECTS = (anthropic.ANTHROPIC, gemini.GEMINI, bedrock_converse.BEDROCK_CONVERSE)
RULES = anthropic.RULES + gemini.RULES + bedrock_converse.RULES

ANTHROPIC_BLOCKS = [
    {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
    {"type": "tool_use", "id": "c", "name": "n", "input": {"k": [1, 2.0, None]}},
    {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "b"}]},
    {"type": "tool_result", "tool_use_id": "c", "content": "b", "is_error": True},
    {"type": "thinking", "thinking": "t", "signature": "s"},
    {"type": "redacted_thinking", "data": "d"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}},
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
]
GEMINI_PARTS = [
    {"text": "a", "thought": True, "thoughtSignature": "s"},
    {"functionCall": {"id": "c", "name": "n", "args": {"k": [1, 2.0, None]}}},
    {"functionResponse": {"id": "c", "name": "n", "response": {"output": "b"}, "parts": []}},
    {"function_response": {"name": "n", "response": {"result": 3}}, "thought_signature": b"\x01"},
    {"inlineData": {"mimeType": "image/png", "data": "A-_A", "displayName": "d"}},
    {"file_data": {"mime_type": "video/mp4", "file_uri": "gs://b/k"}},
    {"executableCode": {"code": "1"}},
]
CONVERSE_BLOCKS = [
    {"text": "a"},
    {"toolUse": {"toolUseId": "c", "name": "n", "input": {"k": [1, 2.0, None]}, "type": "x"}},
    {"toolResult": {"toolUseId": "c", "content": [{"json": {}}, {"text": "b"}], "status": "error"}},
    {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}},
    {"reasoningContent": {"redactedContent": b"\x01"}},
    {"document": {"format": "pdf", "name": "n", "source": {"bytes": b"\x02"}}},
    {"guardContent": {"text": {"text": "g"}}},
    {"citationsContent": {"content": [{"text": "q"}], "citations": []}},
    {"cachePoint": {"type": "default"}},
]


def messages_of(key, roles, blocks):
    return st.builds(
        lambda role, content: {"role": role, key: copy.deepcopy(content)},
        st.sampled_from(roles),
        st.lists(st.sampled_from(blocks), max_size=4),
    )


sound = (
    messages_of("content", ("user", "assistant", "system"), ANTHROPIC_BLOCKS)
    | messages_of("parts", ("user", "model", "function", "system"), GEMINI_PARTS)
    | messages_of("content", ("user", "assistant"), CONVERSE_BLOCKS)
)
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(["", "a", "text", "type", "\ud800", "user", "error"])
    | st.just(b"\x00"),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["", "type", "text", "content", "source", "id"]), inner)
    ),
    max_leaves=4,
)


def places(value):
    """List every (container, key) of a message."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        yield value, key
        yield from places(value[key])


@st.composite
def broken(draw):
    message = draw(sound)
    for _ in range(draw(st.integers(1, 3))):
        spots = list(places(message))
        if not spots:
            break
        holder, key = draw(st.sampled_from(spots))
        action = draw(st.sampled_from(["replace", "drop", "add"]))
        if action == "drop":
            del holder[key]
        elif action == "add" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["", "type", "extra", "content", "name"]))] = draw(junk)
        else:
            holder[key] = draw(junk)
    return message


def check_laws(dialect, message):
    before = copy.deepcopy(message)
    try:
        facts = dialect.describe(message)
    except DialectMismatch:
        return
    try:
        lifted = dialect.lift(message)
        content = dialect.content(message)
    except TranscriptError:  # a value in it is not JSON
        return
    (lowered,) = dialect.lower(lifted)
    assert facts == facts_of(lifted), "describe differs from the facts of the canonical form"
    assert content == content_of(lifted), "content differs from that of the canonical form"
    assert repr(message) == repr(before), "the caller's message was changed"
    try:
        expected = canonical_json(message)
    except TranscriptError:  # bytes: compared as they are
        assert lowered == message, "lowering did not give the message back"
    else:
        assert canonical_json(lowered) == expected, "lowering did not give the message back"


@settings(max_examples=200, deadline=None)
@given(sound)
def test_a_sound_message_is_read_by_its_dialect_and_comes_back(message):
    readers = 0
    for dialect in DIALECTS:
        check_laws(dialect, message)
        try:
            dialect.describe(message)
        except DialectMismatch:
            continue
        readers += 1
    assert readers >= 1, "no dialect read a message of its own wire"


@settings(max_examples=300, deadline=None)
@given(broken())
def test_a_broken_message_is_refused_or_comes_back_and_never_crashes(message):
    for dialect in DIALECTS:
        check_laws(dialect, message)


@settings(max_examples=100, deadline=None)
@given(st.lists(sound | broken() | junk, max_size=4), junk, junk)
def test_wire_rules_look_at_anything_without_a_crash(messages, system, tools):
    definitions = tools if isinstance(tools, list) else None

    for finding in check_wire(RULES, Wire(messages=messages, system=system, tools=definitions)):
        assert 0 <= finding.position <= len(messages), "a position outside of the list"
