"""The events that one item of a streamed response is taken apart into.

Source:
    openai-python 3.57.0, types/responses, generated from the provider's OpenAPI description, read
    2026-11-30; recorded streams
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thusfar.testing.loopback.wire import Turn

Named = tuple[str, dict[str, Any]]


def item_events(turn: Turn, index: int, item: dict[str, Any]) -> Iterator[Named]:
    """Write how an item comes to be: that it was added, its pieces, that it is done.

    Args:
        turn: The answer that it belongs to.
        index: Its place in the output.
        item: The whole item.
    """
    place = {"item_id": item.get("id", ""), "output_index": index}
    inner: Iterator[Named] = iter(())
    match item["type"]:
        case "message":
            started = {**item, "status": "in_progress", "content": []}
            inner = _message(turn, place, item)
        case "reasoning":
            started = {**item, "summary": []}
            inner = _reasoning(turn, place, item)
        case "function_call":
            started = {**item, "status": "in_progress", "arguments": ""}
            inner = _call(turn, place, item)
        case _:
            started = item
    yield "response.output_item.added", {"output_index": index, "item": started}
    yield from inner
    yield "response.output_item.done", {"output_index": index, "item": item}


def _message(turn: Turn, place: dict[str, Any], item: dict[str, Any]) -> Iterator[Named]:
    for number, part in enumerate(item["content"]):
        at = {**place, "content_index": number}
        refuses = part["type"] == "refusal"
        field, kind = ("refusal", "refusal") if refuses else ("text", "output_text")
        extra: dict[str, Any] = {} if refuses else {"logprobs": []}
        yield "response.content_part.added", {**at, "part": {**part, field: ""}}
        for piece in turn.pieces(part[field]):
            yield f"response.{kind}.delta", {**at, "delta": piece, **extra}
        yield f"response.{kind}.done", {**at, field: part[field], **extra}
        yield "response.content_part.done", {**at, "part": part}


def _reasoning(turn: Turn, place: dict[str, Any], item: dict[str, Any]) -> Iterator[Named]:
    for number, part in enumerate(item["summary"]):
        at = {**place, "summary_index": number}
        yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
        for piece in turn.pieces(part["text"]):
            yield "response.reasoning_summary_text.delta", {**at, "delta": piece}
        yield "response.reasoning_summary_text.done", {**at, "text": part["text"]}
        yield "response.reasoning_summary_part.done", {**at, "part": part}


def _call(turn: Turn, place: dict[str, Any], item: dict[str, Any]) -> Iterator[Named]:
    for piece in turn.pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}
    done = {**place, "name": item["name"], "arguments": item["arguments"]}
    yield "response.function_call_arguments.done", done
