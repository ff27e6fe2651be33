"""Recorded provider traffic as requests for the endpoints of a loopback server, and its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from shared_data import SHARED
from thusfar.testing.loopback.received import endpoint

FIELDS = {"gemini": "contents", "openai-responses": "input"}
"""The field that holds the messages of a request; `messages` on the other wires."""


class Exchange(NamedTuple):
    """One recorded request and the status that it got."""

    name: str
    wire: str
    kind: str
    path: str
    query: str
    body: dict[str, Any]
    status: int
    reply: Any


def exchanges() -> Iterator[Exchange]:
    """Yield every recorded request for an endpoint that the loopback server has."""
    assert SHARED is not None
    for file in sorted((SHARED / "data" / "pydantic-ai").rglob("*.json")):
        for number, each in enumerate(json.loads(file.read_bytes())["interactions"]):
            request, address = each["request"], urlsplit(each["request"]["uri"])
            path = address.path
            found = endpoint(path)
            if found is None or request["method"] != "POST":
                continue
            status = each["response"]["status"]
            name = f"{file.name}#{number}"
            reply = each["response"]["body"]
            yield Exchange(name, *found, path, address.query, request["body"], status, reply)


def fields(value: Any, place: str = "") -> set[str]:
    """List the paths of all fields of a JSON value; positions in lists do not count."""
    if isinstance(value, dict):
        return {
            path
            for name, inner in value.items()
            for path in {f"{place}.{name}", *fields(inner, f"{place}.{name}")}
        }
    if isinstance(value, list):
        return {path for inner in value for path in fields(inner, f"{place}[]")}
    return set()
