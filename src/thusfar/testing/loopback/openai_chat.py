"""Chat Completions as a loopback server says it: whole answers, streams and errors.

Source:
    openai-python 3.57.0, types/chat, generated from the provider's OpenAPI description, read
    2026-11-30; recorded replies. Reasoning text stands in a field that vendors of this wire have
    added, see `thusfar.dialects.openai_chat_reasoning`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from thusfar.messages import Native, Reasoning, Text, ToolCall
from thusfar.testing.loopback.answers import Answer, Finish
from thusfar.testing.loopback.openai_errors import error_of, headers_of
from thusfar.testing.loopback.wire import CREATED, Event, Refusal, Tokens, Turn, unspeakable

WIRE: Final = "openai-chat"
_FINISHES: Final[dict[Finish, str]] = {
    "stop": "stop",
    "length": "length",
    "tool-calls": "tool_calls",
    "content-filter": "content_filter",
    "refusal": "stop",
}


class ChatSpeech:
    """Writes Chat Completions; see `Speech`."""

    def reply(self, turn: Turn) -> dict[str, Any]:
        """Write a `chat.completion`."""
        choice = {
            "index": 0,
            "message": _message(turn),
            "logprobs": None,
            "finish_reason": _finish(turn.answer),
        }
        return {**_head(turn, "chat.completion"), "choices": [choice], "usage": _usage(turn.usage)}

    def events(self, turn: Turn) -> Iterator[Event]:
        """Write the chunks of a stream; usage comes last where the request asks for it."""
        options = turn.received.body.get("stream_options") or {}
        reports = bool(options.get("include_usage"))
        head = _head(turn, "chat.completion.chunk")
        silent = {"usage": None} if reports else {}
        for delta in _deltas(turn):
            yield Event({**head, "choices": [_choice(delta)], **silent})
        last = _choice({}, finish=_finish(turn.answer))
        yield Event({**head, "choices": [last], **silent})
        if reports:
            yield Event({**head, "choices": [], "usage": _usage(turn.usage)})
        yield Event("[DONE]")

    def refused(self, refusal: Refusal) -> tuple[int, dict[str, Any]]:
        """Write an error object."""
        status, error = error_of(refusal)
        return status, {"error": error}

    def broken(self, refusal: Refusal) -> tuple[Event, ...]:
        """Write an error as the last chunk of a stream."""
        return (Event({"error": error_of(refusal)[1]}),)

    def headers(self, refusal: Refusal) -> dict[str, str]:
        """Write the provider's headers."""
        return headers_of(refusal)


def _head(turn: Turn, kind: str) -> dict[str, Any]:
    return {
        "id": turn.new_id("chatcmpl-"),
        "object": kind,
        "created": CREATED,
        "model": turn.model,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _finish(answer: Answer) -> str:
    if answer.ended not in _FINISHES:
        raise unspeakable(f"the finish {answer.ended}", WIRE)
    return _FINISHES[answer.ended]


def _joined(answer: Answer) -> tuple[str, str, list[ToolCall]]:
    """Join the text and the reasoning of an answer, and list its calls."""
    text, thought, calls = "", "", []
    for part in answer.said:
        match part:
            case Text(text=more):
                text += more
            case Reasoning(text=more):
                thought += more
            case ToolCall():
                calls.append(part)
            case Native():
                raise unspeakable("a native part", WIRE)
    if answer.compaction is not None:
        raise unspeakable("a compaction", WIRE)
    return text, thought, calls


def _message(turn: Turn) -> dict[str, Any]:
    text, thought, calls = _joined(turn.answer)
    refuses = turn.answer.ended == "refusal"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refuses or (calls and not text) else text,
        "refusal": text if refuses else None,
        "annotations": [],
    }
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id or turn.new_id("call_", number),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for number, call in enumerate(calls)
        ]
    return message


def _deltas(turn: Turn) -> Iterator[dict[str, Any]]:
    text, thought, calls = _joined(turn.answer)
    refuses = turn.answer.ended == "refusal"
    opening = None if refuses or (calls and not text) else ""
    yield {"role": "assistant", "content": opening, "refusal": None}
    for piece in turn.pieces(thought):
        yield {"reasoning_content": piece}
    for piece in turn.pieces(text):
        yield {"refusal": piece} if refuses else {"content": piece}
    for number, call in enumerate(calls):
        yield _call_delta(
            number,
            id=call.id or turn.new_id("call_", number),
            type="function",
            function={"name": call.name, "arguments": ""},
        )
        for piece in turn.pieces(call.arguments):
            yield _call_delta(number, function={"arguments": piece})


def _call_delta(number: int, **call: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": number, **call}]}


def _choice(delta: dict[str, Any], *, finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": tokens.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
