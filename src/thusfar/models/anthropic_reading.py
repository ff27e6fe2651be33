"""Reading of Anthropic Messages answers, whole or streamed.

Source:
    https://platform.claude.com/docs/en/api/messages,
    https://platform.claude.com/docs/en/build-with-claude/streaming (read 2026-11-30);
    anthropic 2.14.0, types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.codec import parse_json
from thusfar.dialects.anthropic import ANTHROPIC
from thusfar.errors import TranscriptError
from thusfar.models.arguments import INVALID_JSON
from thusfar.models.errors import unreadable
from thusfar.models.port import (
    ModelEvent,
    ModelReply,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from thusfar.models.received import body_of, mapping_in, request_id_of, whole
from thusfar.summaries.values import Finish

_FINISHES: Final[Mapping[str, Finish]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool-calls",
    "refusal": "content-filter",
    "pause_turn": "pause",
}
_GROWS: Final[Mapping[str, str]] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


def reply_of(answered: Any) -> ModelReply:
    """Read a whole answer.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when there is no message in it.
    """
    body = body_of(answered)
    return _reply(body, request_id_of(answered, body))


def _reply(body: Mapping[str, Any], request_id: str) -> ModelReply:
    if body.get("role") != "assistant" or not isinstance(body.get("content"), list):
        raise unreadable()
    message = {"role": "assistant", "content": body["content"]}
    return ModelReply(
        messages=(ANTHROPIC.lift(message),) if body["content"] else (),
        finish=_FINISHES.get(str(body.get("stop_reason")), "other"),
        usage=usage_of(mapping_in(body, "usage")),
        request_id=request_id,
        model=str(body.get("model") or ""),
    )


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """Read the usage object; the wire counts what a cache served beside the rest of the input."""
    read = whole(usage.get("cache_read_input_tokens"))
    written = whole(usage.get("cache_creation_input_tokens"))
    fresh = whole(usage.get("input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=whole(usage.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=whole(mapping_in(usage, "output_tokens_details").get("thinking_tokens")),
    )


class AnthropicDecoder:
    """Reads the events of one streamed answer.

    Args:
        opened: The SDK's stream, for the id of the request.
    """

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._body: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._calls: list[int] = []
        self._ended = False

    def feed(self, chunk: Any) -> tuple[ModelEvent, ...]:
        """Read one event; see `Decoder`."""
        event = body_of(chunk)
        match event.get("type"):
            case "message_start":
                self._body = dict(event["message"])
            case "content_block_start":
                return self._start(event["index"], dict(event["content_block"]))
            case "content_block_delta":
                return self._add(event["index"], event["delta"])
            case "message_delta":
                usage = {**mapping_in(self._body, "usage"), **_known(mapping_in(event, "usage"))}
                self._body |= {**event["delta"], "usage": usage}
            case "message_stop":
                self._ended = True
        return ()

    def reply(self) -> ModelReply:
        """Put the answer together; see `Decoder`."""
        if not self._ended:
            raise unreadable()
        for index, text in self._inputs.items():
            if text:
                self._blocks[index]["input"] = _input(text)
        content = [self._blocks[index] for index in sorted(self._blocks)]
        body = {**self._body, "content": content}
        return _reply(body, request_id_of(self._opened, body))

    def _start(self, index: int, block: dict[str, Any]) -> tuple[ModelEvent, ...]:
        self._blocks[index] = block
        if block.get("type") == "tool_use":
            self._calls.append(index)
            return (ToolCallDelta(len(self._calls) - 1, id=block["id"], name=block["name"]),)
        if block.get("type") == "text" and block.get("text"):
            return (TextDelta(block["text"]),)
        return ()

    def _add(self, index: int, delta: Mapping[str, Any]) -> tuple[ModelEvent, ...]:
        block, kind = self._blocks[index], delta["type"]
        if kind == "input_json_delta":
            piece = delta["partial_json"]
            self._inputs[index] = self._inputs.get(index, "") + piece
            if index in self._calls and piece:
                return (ToolCallDelta(self._calls.index(index), arguments=piece),)
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        elif kind in _GROWS:
            key = _GROWS[kind]
            if delta.get(key) is not None:
                block[key] = (block.get(key) or "") + delta[key]
            for name, value in delta.items():
                if name not in ("type", key):
                    block[name] = value
            if kind == "text_delta":
                return (TextDelta(delta["text"]),)
            if kind == "thinking_delta":
                return (ReasoningDelta(delta["thinking"]),)
        else:
            block |= {key: value for key, value in delta.items() if key != "type"}
        return ()


def _input(text: str) -> Any:
    """Read the input of a call; what is no JSON is wrapped in an object, as the wire wants one.

    The provider does not check what it streams, and `max_tokens` may cut it off:
    https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
    (read 2026-11-30), which wraps it under this name.
    """
    try:
        return parse_json(text)
    except TranscriptError:
        return {INVALID_JSON: text}


def _known(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in usage.items() if value is not None}
