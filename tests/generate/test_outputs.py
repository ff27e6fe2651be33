"""Outputs: a schema of any shape reaches a provider that takes objects only, and comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from thusfar import Scripted, generate_sync
from thusfar.models.openai_chat import OpenAIChat
from thusfar.testing.loopback import LoopbackServer


@dataclass
class Node:
    name: str
    inner: Node | None = None


@dataclass
class Wrapped:
    value: int


def sent(model: Scripted, wire: str) -> dict[str, Any]:
    (request,) = model.requests
    if wire == "openai-chat":
        return request["response_format"]["json_schema"]["schema"]
    return request["text"]["format"]["schema"]


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
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
    ],
)
def test_openai_is_asked_for_an_object_and_any_type_comes_back(wire, kind, said, output):
    """GE-11."""
    model = Scripted([said], dialect=wire)

    assert generate_sync("Go.", model=model, output=kind).output == output
    assert sent(model, wire)["type"] == "object"


def test_a_small_contract_takes_the_wrapping_off_too():
    """MO-11."""
    with LoopbackServer(['{"value": [1, 2]}']) as server:
        model = OpenAIChat("gpt-5", base_url=server.base_url("openai-chat"), api_key="a-key")
        schema = {"type": "array", "items": {"type": "integer"}}

        assert model.generate_object(prompt="Go.", schema=schema).value == [1, 2]
        model.close()
