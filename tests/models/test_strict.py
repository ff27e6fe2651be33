"""Which schemas OpenAI can enforce."""

from __future__ import annotations

from typing import Any

import pytest

from thusfar.dialects import dialect
from thusfar.models.arguments import call_arguments
from thusfar.models.strict import is_strict
from thusfar.planner.sealing import Assembled

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
NESTED = {
    "type": "object",
    "properties": {
        "places": {"type": "array", "items": {"$ref": "#/$defs/place"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["places", "note"],
    "additionalProperties": False,
    "$defs": {"place": CITY},
}


@pytest.mark.parametrize("schema", [CITY, NESTED])
def test_a_closed_schema_with_every_property_required_is_enforced(schema: Any) -> None:
    assert is_strict(schema)


@pytest.mark.parametrize(
    "change",
    [
        {"additionalProperties": True},
        {"required": []},
        {"properties": {"city": {"type": "string", "pattern": "^A"}}},
        {"properties": {"city": {"type": "object"}}},
        {"patternProperties": {}},
        {"type": "array", "items": CITY},
    ],
)
def test_any_other_schema_is_left_to_validation(change: dict[str, Any]) -> None:
    assert not is_strict({**CITY, **change})


def test_the_arguments_ask_for_it_only_where_it_holds() -> None:
    opened = {**CITY, "additionalProperties": True}
    for schema, strict in ((CITY, True), ({**CITY, "required": []}, True), (opened, False)):
        request = Assembled(messages=[], schema=schema)
        chat, responses = (
            call_arguments(request, dialect(wire), model="gpt-5", max_output_tokens=None)
            for wire in ("openai-chat", "openai-responses")
        )
        assert ("strict" in chat["response_format"]["json_schema"]) is strict
        assert ("strict" in responses["text"]["format"]) is strict
