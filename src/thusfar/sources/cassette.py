"""Cassettes: recorded exchanges with providers, requests and responses side by side.

A cassette is `{"interactions": [{"request": …, "response": …}]}` with parsed or textual bodies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from thusfar.sources.bodies import load_request, load_response
from thusfar.sources.loaded import Loaded, unreadable
from thusfar.sources.parsing import parse
from thusfar.sources.streams import fold

_BY_ADDRESS: Final = (
    (re.compile(r"/chat/completions\b"), "openai-chat"),
    (re.compile(r"/responses\b"), "openai-responses"),
    (re.compile(r"/v1/messages\b"), "anthropic"),
    (re.compile(r":(?:stream)?[gG]enerateContent\b"), "gemini"),
    (re.compile(r"/converse(?:-stream)?\b"), "bedrock-converse"),
)


def is_cassette(value: Any) -> bool:
    """Tell whether a value is a cassette."""
    return isinstance(value, Mapping) and isinstance(value.get("interactions"), list)


def load_interactions(value: Mapping[str, Any]) -> tuple[Loaded, ...]:
    """Read every interaction of a cassette, in order.

    Returns:
        One for each interaction: the request with the messages of its response behind it. It
        has no messages where neither side is about a model (listing files, an error).

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for an interaction of another shape.
    """
    return tuple(_interaction(each, number) for number, each in enumerate(value["interactions"]))


def load_cassette(value: Mapping[str, Any]) -> Loaded:
    """Read the transcript of a cassette: its last request, and the reply to that.

    Where a reply was fetched again later, by its id, the last answer counts.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when no interaction has messages.
    """
    recorded = value["interactions"]
    loaded = load_interactions(value)
    with_request = [n for n, each in enumerate(loaded) if each.facts["request_messages"]]
    with_messages = with_request or [n for n, each in enumerate(loaded) if each.messages]
    if not with_messages:
        raise unreadable(
            "No interaction of the cassette has messages.",
            fix="Pass a cassette that holds a request to a model.",
            interactions=len(recorded),
        )
    last = with_messages[-1]
    found = loaded[last]
    reply_id = _reply_id(recorded[last])
    for later in range(last + 1, len(loaded)):
        if reply_id is not None and _reply_id(recorded[later]) == reply_id:
            asked = found.messages[: found.facts["request_messages"]]
            found = replace(found, messages=asked + loaded[later].messages)
    counts = {"interactions": len(recorded), "interaction": last, "messages": len(found.messages)}
    return replace(found, kind="cassette", facts={**found.facts, **counts})


def _interaction(value: Any, number: int) -> Loaded:
    request, response = _sides(value, number)
    address = request.get("uri", request.get("url"))
    name = _by_address(address) if isinstance(address, str) else None
    body = _body(request)
    asked = load_request(body, name) if isinstance(body, Mapping) else None
    said = _reply(response)
    if asked is None:
        found = said or Loaded(kind="interaction", dialect=name or "openai-chat")
        return replace(found, kind="interaction", facts=_facts(0, found.messages, found))
    if said is not None and said.dialect != asked.dialect and said.messages:
        raise unreadable(
            f"The response of interaction {number} is in the dialect {said.dialect}, its request "
            f"in {asked.dialect}.",
            fix="Correct the recording.",
            interaction=number,
        )
    messages = asked.messages + (said.messages if said else ())
    facts = _facts(len(asked.messages), messages, said or asked)
    return replace(asked, kind="interaction", messages=messages, facts=facts)


def _sides(value: Any, number: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if isinstance(value, Mapping):
        request, response = value.get("request"), value.get("response")
        if isinstance(request, Mapping) and isinstance(response, Mapping):
            return request, response
    raise unreadable(
        f"Interaction {number} of the cassette has no request or no response.",
        fix="Give each interaction a request and a response.",
        interaction=number,
    )


def _by_address(address: str) -> str | None:
    return next((name for pattern, name in _BY_ADDRESS if pattern.search(address)), None)


def _body(side: Mapping[str, Any]) -> Any:
    """Give the parsed body of a side; text that is neither JSON nor a stream means nothing."""
    body = side.get("body")
    if isinstance(body, Mapping) and body.keys() == {"string"}:
        body = body["string"]
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        return parse(body).values[0]
    return body


def _reply(response: Mapping[str, Any]) -> Loaded | None:
    body = _body(response)
    if isinstance(body, Mapping):
        return load_response(body)
    if isinstance(body, str) and body.lstrip().startswith(("data:", "event:")):
        document = parse(body)
        return fold(document.values, document.lines)
    return None


def _reply_id(interaction: Mapping[str, Any]) -> str | None:
    body = _body(interaction["response"])
    found = body.get("id") if isinstance(body, Mapping) else None
    return found if isinstance(found, str) else None


def _facts(asked: int, messages: Sequence[Any], source: Loaded) -> dict[str, int]:
    return {**source.facts, "request_messages": asked, "messages": len(messages)}
