"""Outputs: a schema of any shape reaches a provider that takes objects only, and comes back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest
from anthropic import transform_schema

from model_adapters import ADAPTERS, QUIET, Adapter
from thusfar import Scripted, generate, generate_sync, stream_sync
from thusfar.models.errors import OutputRejectedError
from thusfar.models.openai_chat import OpenAIChat
from thusfar.models.strict import rooted
from thusfar.models.subsets import for_anthropic, for_gemini
from thusfar.runtime.schemas import OutputSchema
from thusfar.testing.loopback import LoopbackServer

pytestmark = [pytest.mark.anyio, *(pytest.mark.filterwarnings(each) for each in QUIET)]


@dataclass
class Node:
    name: str
    inner: Node | None = None


@dataclass
class Wrapped:
    value: int


@dataclass
class Other:
    title: str


@dataclass
class Tree:
    name: str
    leaves: list[Tree] = field(default_factory=list)


@dataclass
class Bush:
    twigs: list[Bush]


class Color(Enum):
    RED = "red"


class Model(pydantic.BaseModel):
    kind: Literal["m"]
    size: int = pydantic.Field(ge=1, description="How large.")


WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")


def schema_in(request: dict[str, Any], wire: str) -> Any:
    """Find the schema of a request; `None` where it is told in words."""
    match wire:
        case "openai-chat":
            return request["response_format"]["json_schema"]["schema"]
        case "openai-responses":
            return request["text"]["format"]["schema"]
        case "anthropic":
            return request.get("output_config", {}).get("format", {}).get("schema")
    return request["config"].get("response_json_schema")


def told_in(request: dict[str, Any], wire: str) -> str:
    """Find what the system value says of the schema."""
    if wire == "anthropic":
        return request["system"][-1]["text"]
    return request["config"]["system_instruction"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("kind", "said", "output"),
    [
        (int, '{"value": 3}', 3),
        (int, "3", 3),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (int | None, '{"value": null}', None),
        (list[Node], '{"value": [{"name": "a"}]}', [Node("a")]),
        (Node, '{"name": "a", "inner": {"name": "b"}}', Node("a", Node("b"))),
        (Any, '{"value": 3}', 3),
        (Wrapped | int, '{"value": {"value": 3}}', Wrapped(3)),
        ({"properties": {"a": {"type": "integer"}}}, '{"a": 3}', {"a": 3}),
        (Wrapped, '{"value": 3}', Wrapped(3)),
        (dict[str, int], '{"value": 3}', {"value": 3}),
        (Wrapped | Other, '{"value": {"title": "a"}}', Other("a")),
        (list[Wrapped | Other], '{"value": [{"title": "a"}]}', [Other("a")]),
        (list[Model], '{"value": [{"kind": "m", "size": 2}]}', [Model(kind="m", size=2)]),
        (Literal["a", "b"], '{"value": "b"}', "b"),
        (Color, '{"value": "red"}', Color.RED),
        (Tree, '{"name": "a", "leaves": [{"name": "b"}]}', Tree("a", [Tree("b")])),
        (Bush, '{"twigs": [{"twigs": []}]}', Bush([Bush([])])),
        (tuple[int, str], '{"value": [1, "a"]}', (1, "a")),
    ],
)
def test_providers_are_asked_for_an_object_and_any_type_comes_back(wire, kind, said, output):
    """GE-11."""
    model = Scripted([said], dialect=wire)

    assert generate_sync("Go.", model=model, output=kind, system="Be brief.").output == output
    asked = schema_in(model.requests[0], wire)
    if asked is None:
        assert "fits this JSON Schema" in told_in(model.requests[0], wire)
    else:
        assert asked["type"] == "object"


@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
@pytest.mark.parametrize("kind", [list[int], dict[str, int], Node, Model, Wrapped | Other])
async def test_every_sdk_sends_every_schema(adapter: Adapter, kind: Any) -> None:
    """GE-11."""
    said = {
        list[int]: "[1]",
        Node: '{"name": "a"}',
        Model: '{"kind": "m", "size": 2}',
        Wrapped | Other: '{"value": {"title": "a"}}',
    }.get(kind, '{"a": 1}')
    with LoopbackServer(said) as server:
        model = adapter.to(server)
        whole = generate_sync("Go.", model=model, output=kind).output
        assert stream_sync("Go.", model=model, output=kind).result().output == whole
        assert (await generate("Go.", model=model, output=kind)).output == whole
        await model.aclose()
        assert [each.findings for each in server.requests] == [()] * 3


@pytest.mark.parametrize("kind", [int, Wrapped | Other, Model, Color, int | None, list[Model]])
def test_the_sdk_of_anthropic_would_change_nothing_of_a_schema_that_is_sent(kind):
    """MO-11."""
    sent = for_anthropic(rooted(OutputSchema.of(kind, owner="p").json_schema))

    assert transform_schema(sent) == sent


def test_limits_that_anthropic_refuses_are_told_in_the_description():
    """MO-11."""
    limited = msgspec.json.schema(Annotated[int, msgspec.Meta(ge=3, description="A number.")])

    assert for_anthropic(rooted(limited))["properties"]["value"] == {
        "type": "integer",
        "description": "A number. (minimum: 3)",
    }


def test_what_a_provider_cannot_enforce_is_told_in_words():
    """MO-11."""
    tree, bush = (rooted(msgspec.json.schema(kind)) for kind in (Tree, Bush))

    assert (for_anthropic(tree), for_anthropic(bush)) == (None, None)
    assert for_anthropic(rooted(msgspec.json.schema(dict[str, int]))) is None
    assert for_gemini(tree) == tree
    assert for_gemini(bush) is None
    model = Scripted(['{"a": 1}'], dialect="anthropic")
    generate_sync("Go.", model=model, output=dict[str, int], system="Be brief.")
    _, _, schema = told_in(model.requests[0], "anthropic").partition("Schema:\n")
    assert json.loads(schema) == {"type": "object", "additionalProperties": {"type": "integer"}}


class Faulty(pydantic.BaseModel):
    size: int

    @pydantic.field_validator("size")
    @classmethod
    def _check(cls, size: int) -> int:
        raise KeyError(size)


def test_a_validator_that_fails_otherwise_ends_the_turn_with_a_code():
    """GE-11."""
    model = Scripted(['{"size": 7}', '{"size": 8}'])

    with pytest.raises(OutputRejectedError) as raised:
        generate_sync("Go.", model=model, output=Faulty)

    assert raised.value.facts == {"reason": "raised"}
    assert isinstance(raised.value.__cause__, KeyError)
    assert len(model.requests) == 1


def test_a_property_may_have_the_name_of_a_keyword():
    """MO-11."""
    inner = {"const": {"type": "integer"}, "$ref": {"const": "a"}}
    schema = {"type": "object", "properties": inner, "additionalProperties": False}

    assert for_anthropic(schema) == schema
    assert for_gemini(schema)["properties"] == {**inner, "$ref": {"enum": ["a"]}}


def test_a_small_contract_takes_the_wrapping_off_too():
    """MO-11."""
    with LoopbackServer(['{"value": [1, 2]}']) as server:
        model = OpenAIChat("gpt-5", base_url=server.base_url("openai-chat"), api_key="a-key")
        schema = {"type": "array", "items": {"type": "integer"}}

        assert model.generate_object(prompt="Go.", schema=schema).value == [1, 2]
        model.close()
