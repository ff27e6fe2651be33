"""Schemas with optional properties, enforced by a provider that wants all of them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from thusfar import Scripted, generate_sync
from thusfar.models.objects import object_of
from thusfar.models.strict import is_strict, rooted
from thusfar.models.strict_form import strict_form, without_fillers


class Room(msgspec.Struct, tag="room"):
    name: str
    floor: int = 0
    kind: Literal["large", "small"] = "small"
    note: str | None = "none"


class House(msgspec.Struct, tag="house"):
    rooms: list[Room]
    attic: Room | None = None


SCHEMAS = [
    msgspec.json.schema(kind) for kind in (Room, House, Room | House, list[Room], Room | None)
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_form_of_a_schema_with_optional_properties_is_strict(schema: Any) -> None:
    form = strict_form(schema)

    assert form is not None
    assert is_strict(rooted(form))
    assert strict_form(form) == form


def test_a_strict_schema_is_its_own_form_but_for_what_enforces_nothing() -> None:
    schema = {
        "title": "Place",
        "type": "object",
        "properties": {"city": {"type": "string", "default": "Rome"}, "at": {"enum": [1, None]}},
        "required": ["city", "at"],
        "additionalProperties": False,
    }

    assert strict_form(schema) == {
        **schema,
        "properties": {
            "city": {"type": "string"},
            "at": {"enum": [1, None], "type": ["integer", "null"]},
        },
    }


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        {"type": "array"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "array", "prefixItems": [{"type": "integer"}]},
        {"anyOf": [{"type": "integer"}], "oneOf": [{"type": "integer"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}},
        {"$ref": "#/$defs/a"},
        {"$ref": "#"},
    ],
)
def test_what_cannot_be_enforced_has_no_form(schema: Any) -> None:
    assert strict_form(schema) is None


def test_a_reference_stands_alone_in_the_form() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x", "description": "An x.", "default": 1}},
        "required": ["a"],
        "$defs": {"x": {"type": "integer"}, "unused": {"type": "object"}},
    }

    form = strict_form(schema)

    assert form is not None
    assert form["properties"] == {"a": {"$ref": "#/$defs/x"}}
    assert form["$defs"] == {"x": {"type": "integer"}}


def test_only_nulls_that_the_schema_does_not_allow_are_taken_out() -> None:
    said = {
        "type": "house",
        "rooms": [{"type": "room", "name": "hall", "floor": None, "kind": None, "note": None}],
        "attic": None,
    }

    read = without_fillers(msgspec.json.schema(Room | House), said)

    assert read == {
        "type": "house",
        "rooms": [{"type": "room", "name": "hall", "note": None}],
        "attic": None,
    }
    assert msgspec.convert(read, House) == House([Room("hall", note=None)])


def test_an_answer_that_is_no_object_stays_as_it_is() -> None:
    assert without_fillers({"type": "integer"}, None) is None
    assert without_fillers(True, {"a": None}) == {"a": None}
    assert without_fillers({"type": "array"}, [{"a": None}]) == [{"a": None}]


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_openai_enforces_optional_properties_and_the_answer_is_read_without_fillers(wire) -> None:
    """MO-11."""
    said = '{"type": "room", "name": "hall", "floor": null, "kind": null, "note": null}'
    model = Scripted([said], dialect=wire)

    assert generate_sync("Go.", model=model, output=Room).output == Room("hall", note=None)
    (request,) = model.requests
    told = request.get("response_format", {}).get("json_schema") or request["text"]["format"]
    assert told["strict"] is True
    assert told["schema"]["required"] == ["type", "name", "floor", "kind", "note"]
    reply = Scripted([said], dialect=wire).generate_sync({})
    read = object_of(reply, msgspec.json.schema(Room), wire).value
    assert read == {"type": "room", "name": "hall", "note": None}
