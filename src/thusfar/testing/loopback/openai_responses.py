"""The Responses API as a loopback server says it: whole responses, counts, compaction, errors.

Source:
    openai-python 3.57.0, types/responses, generated from the provider's OpenAPI description;
    https://developers.openai.com/api/docs/guides/compaction.md (both read 2026-11-30); recorded
    replies
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from thusfar.messages import Native, Reasoning, Text, ToolCall
from thusfar.testing.loopback.answers import Answer, Finish, Said
from thusfar.testing.loopback.checking import messages_of
from thusfar.testing.loopback.openai_errors import error_of, headers_of
from thusfar.testing.loopback.openai_responses_events import item_events
from thusfar.testing.loopback.wire import (
    CREATED,
    SIGNATURE,
    Event,
    Refusal,
    Tokens,
    Turn,
    native,
    unspeakable,
)

WIRE: Final = "openai-responses"
_INCOMPLETE: Final[dict[Finish, str]] = {
    "length": "max_output_tokens",
    "content-filter": "content_filter",
}
_SPEAKABLE: Final = ("stop", "tool-calls", "refusal", "failed", *_INCOMPLETE)
_FAILED: Final = {"code": "server_error", "message": "The model failed to answer."}
_ECHOED: Final[dict[str, Any]] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "prompt_cache_retention": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


class ResponsesSpeech:
    """Writes the Responses API; see `Speech`."""

    def reply(self, turn: Turn) -> dict[str, Any]:
        """Write a whole response."""
        return _response(turn, _status(turn.answer), _items(turn), usage=_usage(turn.usage))

    def events(self, turn: Turn) -> Iterator[Event]:
        """Write the events of a stream, numbered in order."""
        for number, (kind, data) in enumerate(_events(turn)):
            yield Event({"type": kind, "sequence_number": number, **data}, kind)

    def refused(self, refusal: Refusal) -> tuple[int, dict[str, Any]]:
        """Write an error object."""
        status, error = error_of(refusal)
        return status, {"error": error}

    def broken(self, refusal: Refusal) -> tuple[Event, ...]:
        """Write the error event of a stream."""
        error = error_of(refusal)[1]
        data = {"type": "error", "sequence_number": refusal.before, "error": error}
        return (Event(data, "error"),)

    def headers(self, refusal: Refusal) -> dict[str, str]:
        """Write the provider's headers."""
        return headers_of(refusal)


def counted(tokens: int) -> dict[str, Any]:
    """Write a count of input tokens."""
    return {"object": "response.input_tokens", "input_tokens": tokens}


def compacted(turn: Turn, summary: str) -> dict[str, Any]:
    """Write a compaction: all user messages, then one opaque item."""
    messages = messages_of(WIRE, turn.received.body)
    kept = [item for item in messages if isinstance(item, dict) and item.get("role") == "user"]
    return {
        "id": turn.new_id("resp_"),
        "object": "response.compaction",
        "created_at": CREATED,
        "output": [
            *(_kept(turn, number, item) for number, item in enumerate(kept)),
            _compaction(turn, summary),
        ],
        "usage": _usage(turn.usage),
    }


def failed(turn: Turn, refusal: Refusal) -> Event:
    """Write the last event of a stream in which an error was reported."""
    error = error_of(refusal)[1]
    response = _response(turn, "failed", [], usage=None)
    response["error"] = {"code": error["code"] or "server_error", "message": error["message"]}
    kind = "response.failed"
    number = refusal.before + 1
    return Event({"type": kind, "sequence_number": number, "response": response}, kind)


def _status(answer: Answer) -> str:
    if answer.ended not in _SPEAKABLE:
        raise unspeakable(f"the finish {answer.ended}", WIRE)
    if answer.ended == "failed":
        return "failed"
    return "incomplete" if answer.ended in _INCOMPLETE else "completed"


def _response(
    turn: Turn, status: str, items: list[dict[str, Any]], *, usage: dict[str, Any] | None
) -> dict[str, Any]:
    asked = turn.received.body
    echoed = {name: _echo(asked.get(name), default) for name, default in _ECHOED.items()}
    reason = _INCOMPLETE.get(turn.answer.ended)
    return {
        "id": turn.new_id("resp_"),
        "object": "response",
        "created_at": CREATED,
        "completed_at": CREATED if status == "completed" else None,
        "status": status,
        "error": _FAILED if status == "failed" else None,
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "model": turn.model,
        "output": items,
        "service_tier": "default",
        "billing": {"payer": "developer"},
        "usage": usage,
        **echoed,
    }


def _echo(asked: Any, default: Any) -> Any:
    """Repeat a setting of the request; what an object of it left open has its default."""
    if isinstance(asked, dict) and isinstance(default, dict):
        return {**default, **asked}
    return default if asked is None else asked


def _items(turn: Turn) -> list[dict[str, Any]]:
    summary = turn.answer.compaction
    items = [] if summary is None else [_compaction(turn, summary)]
    return items + [_item(turn, number, part) for number, part in enumerate(turn.answer.said)]


def _item(turn: Turn, number: int, part: Said) -> dict[str, Any]:
    status = "completed" if _status(turn.answer) == "completed" else "incomplete"
    match part:
        case Text(text=text):
            content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            if turn.answer.ended == "refusal":
                content = {"type": "refusal", "refusal": text}
            return {
                "id": turn.new_id("msg_", number),
                "type": "message",
                "role": "assistant",
                "status": status,
                "content": [content],
            }
        case Reasoning():
            return _reasoning(turn, number, part)
        case ToolCall(id=call_id, name=name, arguments=arguments):
            return {
                "id": turn.new_id("fc_", number),
                "type": "function_call",
                "status": status,
                "call_id": call_id or turn.new_id("call_", number),
                "name": name,
                "arguments": arguments,
            }
        case Native():
            found: dict[str, Any] = native(part, WIRE)
            return found
    raise unspeakable(f"a part of the type {type(part).__name__}", WIRE)


def _reasoning(turn: Turn, number: int, part: Reasoning) -> dict[str, Any]:
    """Write a reasoning item; sealed where it has a signature or the request asks for one."""
    item = {
        "id": turn.new_id("rs_", number),
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": part.text}] if part.text else [],
    }
    wanted = turn.received.body.get("include") or ()
    if part.signature is not None or "reasoning.encrypted_content" in wanted:
        item["encrypted_content"] = SIGNATURE if part.signature is None else part.signature
    return item


def _compaction(turn: Turn, summary: str) -> dict[str, Any]:
    return {
        "id": turn.new_id("cmp_"),
        "type": "compaction",
        "encrypted_content": base64.urlsafe_b64encode(summary.encode()).decode(),
    }


def _kept(turn: Turn, number: int, item: dict[str, Any]) -> dict[str, Any]:
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    return {
        "id": turn.new_id("msg_", number),
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": content,
    }


def _events(turn: Turn) -> Iterator[tuple[str, dict[str, Any]]]:
    status, items = _status(turn.answer), _items(turn)
    opening = _response(turn, "in_progress", [], usage=None)
    yield "response.created", {"response": opening}
    yield "response.in_progress", {"response": opening}
    for index, item in enumerate(items):
        yield from item_events(turn, index, item)
    closing = _response(turn, status, items, usage=_usage(turn.usage))
    yield f"response.{status}", {"response": closing}


def _usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write,
        },
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.total,
    }
