"""Canonical JSON, strict reading, conversion at the edge, digests and chains."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thusfar import Message, TranscriptError
from thusfar.codec import (
    canonical_json,
    decode_message,
    encode_message,
    json_text,
    parse_json,
    text_of,
    to_json,
)
from thusfar.digests import ROOT_CHAIN, chain_digest, digested, message_digest
from thusfar.messages import (
    Audio,
    File,
    Image,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "canonical_json.json").read_text("utf-8")
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("vector", GOLDEN, ids=lambda v: v["name"])
def test_canonical_json_has_the_golden_bytes(vector):
    assert canonical_json(vector["value"]) == vector["utf8"].encode()


@given(JSON)
def test_canonical_json_reads_back_as_the_same_value(value):
    encoded = canonical_json(value)

    assert parse_json(encoded) == value
    assert canonical_json(parse_json(encoded)) == encoded


@given(JSON)
def test_json_text_is_valid_utf8_and_keeps_the_key_order(value):
    text = json_text(value)

    assert parse_json(text.encode()) == value
    if isinstance(value, dict):
        assert list(parse_json(text)) == list(value)


ANY_VALUE = st.recursive(
    JSON
    | st.dates()
    | st.decimals(allow_nan=False)
    | st.floats()
    | st.binary(max_size=3)
    | st.integers(-(10**30), 10**30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(ANY_TEXT | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


def written(write, value):
    try:
        return write(value)
    except TranscriptError as error:
        return error.code, dict(error.facts)


@given(ANY_VALUE)
def test_a_value_is_written_at_once_as_it_is_converted_and_then_written(value):
    assert written(text_of, value) == written(lambda v: json_text(to_json(v)), value)


class Fraction(float):
    """A number of an application's own class."""


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, float("nan")]}, "$.a[1]"),
        ({"a": {"b c": float("inf")}}, "$.a[…]"),
        ([b"x"], "$[0]"),
        ({"a": {1: 2}}, "$.a"),
        ({"a": {1, 2}}, "$.a"),
        ({"a": [0, 10**4300]}, "$.a[1]"),
        ({"a": -(10**4300)}, "$.a"),
        ({"a": Fraction(float("nan"))}, "$.a"),
    ],
    ids=["NaN", "infinity", "bytes", "key", "set", "long", "long below 0", "NaN of a class"],
)
def test_what_is_not_json_is_refused_with_its_place(value, path):
    with pytest.raises(TranscriptError) as caught:
        canonical_json(value)
    assert caught.value.facts["path"] == path

    with pytest.raises(TranscriptError) as caught:
        to_json(value)
    assert caught.value.facts["path"] == path


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', "[NaN]", "[Infinity]", "{", b"\xff", "[" * 100_000, "[" + "1" * 5000 + "]"],
    ids=["duplicate key", "NaN", "infinity", "cut off", "not UTF-8", "deep", "huge number"],
)
def test_hostile_json_ends_in_a_typed_error(text):
    with pytest.raises(TranscriptError):
        parse_json(text)


def read(text: str | bytes) -> Any:
    try:
        return json.dumps(parse_json(text))
    except TranscriptError as error:
        return error.code


PIECES = st.sampled_from(
    [
        '{"a":',
        '{"a" :',
        '"a":',
        "{",
        "}",
        "[",
        "]",
        ",",
        "1e999",
        "-0",
        "-0.0",
        "1" * 30,
        "01",
        ".5",
        "null",
        "NaN",
        '"\\":"',
        '"\\ud800"',
        '"\\u00e9"',
        '"\x1f"',
        '"x"',
        " ",
        "tru",
    ]
)


@given(
    JSON.map(json_text)
    | JSON.map(lambda v: json.dumps(v, indent=1))
    | st.lists(PIECES).map("".join)
)
def test_a_short_text_is_read_as_the_strict_reader_reads_its_bytes(text):
    assert read(text) == read(text.encode())


def test_the_longest_whole_number_is_written_exactly():
    longest = 10**4300 - 1

    for encode in (canonical_json, json_text):
        assert parse_json(encode(longest)) == longest
    assert to_json(longest) == longest


def test_metadata_with_a_number_that_cannot_be_written_is_refused():
    with pytest.raises(TranscriptError):
        encode_message(Message("user", "Hi", metadata={"n": 10**4300}))


def test_deep_values_are_refused_and_not_a_crash():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]

    for encode in (canonical_json, json_text, to_json):
        with pytest.raises(TranscriptError, match="nested deeper"):
            encode(deep)


def test_values_of_an_application_become_json_by_one_rule():
    class Colour(enum.Enum):
        RED = "red"

    converted = to_json(
        {
            "when": datetime.datetime(2026, 11, 30, 12, 5, tzinfo=datetime.UTC),
            "day": datetime.date(2026, 11, 30),
            "price": decimal.Decimal("0.10"),
            "id": uuid.UUID(int=1),
            "colour": Colour.RED,
            "pair": (1, "two"),
        }
    )

    assert converted == {
        "when": "2026-11-30T12:05:00+00:00",
        "day": "2026-11-30",
        "price": "0.10",
        "id": "00000000-0000-0000-0000-000000000001",
        "colour": "red",
        "pair": [1, "two"],
    }


PARTS = st.one_of(
    st.builds(Text, ANY_TEXT, ANY_TEXT),
    st.builds(Image, mime=ANY_TEXT, data=ANY_TEXT, url=ANY_TEXT),
    st.builds(Audio, mime=ANY_TEXT, file_id=ANY_TEXT),
    st.builds(File, name=ANY_TEXT, data=ANY_TEXT),
    st.builds(ToolCall, st.none() | ANY_TEXT, ANY_TEXT, ANY_TEXT),
    st.builds(Reasoning, ANY_TEXT, st.none() | ANY_TEXT, st.none() | ANY_TEXT),
    st.builds(Native, ANY_TEXT, ANY_TEXT, ANY_TEXT),
    st.builds(
        lambda call, texts, failed: ToolResult(call, None, tuple(map(Text, texts)), failed),
        st.none() | ANY_TEXT,
        st.lists(ANY_TEXT, max_size=2),
        st.booleans(),
    ),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(PARTS, max_size=4).map(tuple),
    st.none() | ANY_TEXT,
    st.none() | ANY_TEXT,
    st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=2),
)


@given(MESSAGES)
def test_a_stored_message_comes_back_the_same_whatever_text_it_holds(message):
    stored = encode_message(message)

    stored.decode("utf-8")
    assert decode_message(stored) == message
    assert encode_message(decode_message(stored)) == stored


@given(MESSAGES, MESSAGES)
def test_digests_agree_exactly_when_role_name_and_parts_do(one, other):
    same = (one.role, one.name, one.parts) == (other.role, other.name, other.parts)

    assert (message_digest(one) == message_digest(other)) == same


@given(MESSAGES)
def test_a_digest_covers_the_canonical_json_of_role_name_and_parts(message):
    value = to_json({"role": message.role, "name": message.name, "parts": message.parts})

    assert digested(message) == canonical_json(value)


def test_every_character_is_digested_as_canonical_json_has_it():
    text = "".join(map(chr, range(0x110000)))
    whole = text[:0xD800] + text[0xE000:]

    for message in (Message("user", whole, name=whole), Message("user", text)):
        value = to_json({"role": "user", "name": message.name, "parts": message.parts})
        assert digested(message) == canonical_json(value)


def test_the_digest_of_a_message_is_fixed():
    message = Message("user", (Text("Grüße\x00"),), id="m1", metadata={"pinned": True})

    assert message_digest(message) == (
        "tf1:173f8d56e16bd3d5fc182fc010ca703fb5f5115d7d4188cc34426471f7422ca9"
    )


def test_a_chain_tells_prefixes_apart_and_a_salt_hides_it():
    first = chain_digest(ROOT_CHAIN, "tf1:a")

    assert chain_digest(first, "tf1:b") != chain_digest(chain_digest(ROOT_CHAIN, "tf1:b"), "tf1:a")
    assert chain_digest(ROOT_CHAIN, "tf1:a", salt="s") != first
    assert chain_digest(ROOT_CHAIN, "tf1:a") == first


@pytest.mark.parametrize(
    "data", [b"{}", b"[]", b'{"role":"user","parts":[{"type":"new"}]}', b'{"role":"king"}', b"x"]
)
def test_what_is_no_stored_message_is_refused(data):
    with pytest.raises(TranscriptError):
        decode_message(data)
