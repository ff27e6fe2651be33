"""Anthropic Messages as a loopback server says it: whole answers, streams, compaction, errors.

Source:
    https://platform.claude.com/docs/build-with-claude/streaming,
    https://platform.claude.com/docs/en/build-with-claude/compaction.md,
    https://docs.claude.com/en/api/errors (all read 2026-11-30); anthropic-sdk-python 2.14.0,
    types/beta; the recorded refusal https://github.com/boldsoftware/exe.dev/issues/62 (read
    2026-11-30) for requests that are too long
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from thusfar.codec import json_text
from thusfar.dialects.shapes import arguments_object
from thusfar.messages import Native, Reasoning, Text, ToolCall
from thusfar.testing.loopback.answers import Answer, Finish, Said
from thusfar.testing.loopback.faults import Trouble
from thusfar.testing.loopback.wire import (
    SIGNATURE,
    Event,
    Refusal,
    Tokens,
    Turn,
    native,
    unspeakable,
)

WIRE: Final = "anthropic"
_FINISHES: Final[dict[Finish, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool-calls": "tool_use",
    "content-filter": "refusal",
    "refusal": "refusal",
    "pause": "pause_turn",
    "compaction": "compaction",
    "context-window": "model_context_window_exceeded",
}
_REFUSALS: Final[dict[Trouble, tuple[int, str, str]]] = {
    "invalid": (400, "invalid_request_error", "The request is not valid."),
    "context-length": (400, "invalid_request_error", ""),
    "authentication": (401, "authentication_error", "invalid x-api-key"),
    "permission": (403, "permission_error", "The key may not do this."),
    "not-found": (404, "not_found_error", "Not found"),
    "rate-limit": (429, "rate_limit_error", "The rate limit was reached."),
    "server": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}


class AnthropicSpeech:
    """Writes Anthropic Messages; see `Speech`."""

    def reply(self, turn: Turn) -> dict[str, Any]:
        """Write a message."""
        return {
            **_head(turn),
            "content": _blocks(turn),
            "stop_reason": _finish(turn.answer),
            "usage": _usage(turn.usage, turn.answer),
            **_managed(turn),
        }

    def events(self, turn: Turn) -> Iterator[Event]:
        """Write the events of a stream."""
        opening = {**_usage(turn.usage, Answer()), "output_tokens": 1}
        yield _event("message_start", message={**_head(turn), "content": [], "usage": opening})
        for index, block in enumerate(_blocks(turn)):
            start, deltas = _streamed(turn, block)
            yield _event("content_block_start", index=index, content_block=start)
            if not index:
                yield _event("ping")
            for delta in deltas:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        yield _event(
            "message_delta",
            delta={
                "stop_reason": _finish(turn.answer),
                "stop_sequence": None,
                "stop_details": None,
            },
            usage=_final_usage(turn),
            **_managed(turn),
        )
        yield _event("message_stop")

    def refused(self, refusal: Refusal) -> tuple[int, dict[str, Any]]:
        """Write an error object."""
        problem = refusal.trouble
        status, kind, message = _REFUSALS[problem.trouble]
        if problem.trouble == "context-length":
            message = f"prompt is too long: {problem.tokens} tokens > {problem.limit} maximum"
        error = {"type": kind, "message": problem.message or message}
        body = {"type": "error", "error": error, "request_id": f"req_{refusal.mark}"}
        return problem.status or status, body

    def broken(self, refusal: Refusal) -> tuple[Event, ...]:
        """Write the error event of a stream."""
        return (Event(self.refused(refusal)[1], "error"),)

    def headers(self, refusal: Refusal) -> dict[str, str]:
        """Write the provider's headers."""
        headers = {"request-id": f"req_{refusal.mark}"}
        if refusal.retry_after is not None:
            headers["retry-after"] = f"{refusal.retry_after:g}"
        return headers


def counted(tokens: int) -> dict[str, Any]:
    """Write a count of input tokens."""
    return {"input_tokens": tokens}


def compacted(turn: Turn, summary: str) -> dict[str, Any]:
    """Write the message of a compaction request: one compaction block and nothing else."""
    answer = Answer(compaction=summary, finish="compaction")
    return {
        **_head(turn),
        "content": [{**_compaction(summary), "signature": SIGNATURE}],
        "stop_reason": "compaction",
        "usage": _usage(turn.usage, answer),
    }


def _event(kind: str, **data: Any) -> Event:
    return Event({"type": kind, **data}, kind)


def _head(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }


def _finish(answer: Answer) -> str:
    if answer.ended not in _FINISHES:
        raise unspeakable(f"the finish {answer.ended}", WIRE)
    return _FINISHES[answer.ended]


def _managed(turn: Turn) -> dict[str, Any]:
    """Write the answer to context management, where the request asks for it."""
    asked = turn.received.body.get("context_management")
    if asked is None and not turn.answer.edits:
        return {}
    return {"context_management": {"applied_edits": list(turn.answer.edits)}}


def _compaction(summary: str) -> dict[str, Any]:
    return {"type": "compaction", "content": summary, "encrypted_content": None}


def _blocks(turn: Turn) -> list[dict[str, Any]]:
    blocks = [] if turn.answer.compaction is None else [_compaction(turn.answer.compaction)]
    return blocks + [_block(turn, number, part) for number, part in enumerate(turn.answer.said)]


def _block(turn: Turn, number: int, part: Said) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text, "citations": None}
        case Reasoning(data=str(data)):
            return {"type": "redacted_thinking", "data": data}
        case Reasoning(text=text, signature=signature):
            return {
                "type": "thinking",
                "thinking": text,
                "signature": SIGNATURE if signature is None else signature,
            }
        case ToolCall():
            return {
                "type": "tool_use",
                "id": part.id or turn.new_id("toolu_", number),
                "name": part.name,
                "input": arguments_object(part.arguments, WIRE),
                "caller": {"type": "direct"},
            }
        case Native():
            found: dict[str, Any] = native(part, WIRE)
            return found
    raise unspeakable(f"a part of the type {type(part).__name__}", WIRE)


def _streamed(turn: Turn, block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Take a block apart into how it starts and its deltas."""
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in turn.pieces(block["text"])]
            return {**block, "text": ""}, deltas
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": piece}
                for piece in turn.pieces(block["thinking"])
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use":
            text = json_text(block["input"])
            pieces = ["", *turn.pieces(text)]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            return {**block, "input": {}}, deltas
        case "compaction":
            delta = {**block, "type": "compaction_delta"}
            return {"type": "compaction", "content": None, "encrypted_content": None}, [delta]
    return block, []


def _usage(tokens: Tokens, answer: Answer) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "input_tokens": tokens.input - tokens.cache_read - tokens.cache_write,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tokens.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": tokens.output,
        "service_tier": "standard",
        "inference_geo": "global",
    }
    if tokens.reasoning:
        usage["output_tokens_details"] = {"thinking_tokens": tokens.reasoning}
    if answer.compaction is not None:
        usage["iterations"] = _iterations(usage, answer)
    return usage


def _iterations(usage: dict[str, Any], answer: Answer) -> list[dict[str, Any]]:
    """Tell the compaction and the answer apart, whose tokens are reported one by one."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    each = {name: usage[name] for name in (*names, "cache_creation", "output_tokens")}
    found = [{"type": "compaction", **each}]
    if answer.said:
        found.append({"type": "message", **each})
    return found


def _final_usage(turn: Turn) -> dict[str, Any]:
    usage = _usage(turn.usage, turn.answer)
    return {
        name: value
        for name, value in usage.items()
        if name not in ("cache_creation", "service_tier", "inference_geo")
    }
