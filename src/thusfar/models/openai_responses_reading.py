"""Reading of OpenAI Responses answers, whole or streamed.

Source:
    https://platform.openai.com/docs/api-reference/responses,
    https://platform.openai.com/docs/api-reference/responses-streaming (read 2026-11-30);
    openai-python 3.57.0, types/responses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.openai_responses import OPENAI_RESPONSES
from thusfar.models.errors import failure_of_status, unreadable
from thusfar.models.failures import status_told
from thusfar.models.openai_chat import too_long
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

_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_REASONING: Final = frozenset(
    {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}
)
_ARGUMENTS: Final = frozenset(
    {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}
)
_CALLS: Final = frozenset({"function_call", "custom_tool_call"})
_INCOMPLETE: Final[Mapping[str, Finish]] = {
    "max_output_tokens": "length",
    "content_filter": "content-filter",
}


def reply_of(answered: Any) -> ModelReply:
    """Read a whole answer.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when it is no response.
        ProviderError: by code, when the response says that it failed.
    """
    body = body_of(answered)
    return _reply(body, request_id_of(answered, body))


def _reply(body: Mapping[str, Any], request_id: str) -> ModelReply:
    output = body.get("output")
    if body.get("status") == "failed":
        told = mapping_in(body, "error")
        raise failure_of_status(status_told(told), too_long=too_long(told), request_id=request_id)
    if not isinstance(output, list):
        raise unreadable()
    return ModelReply(
        messages=tuple(OPENAI_RESPONSES.lift(item) for item in output),
        finish=_finish(body, output),
        usage=usage_of(mapping_in(body, "usage")),
        request_id=request_id,
        model=str(body.get("model") or ""),
    )


def _finish(body: Mapping[str, Any], output: Sequence[Mapping[str, Any]]) -> Finish:
    status = body.get("status", "completed")
    if status == "incomplete":
        reason = mapping_in(body, "incomplete_details").get("reason")
        return _INCOMPLETE.get(str(reason), "other")
    if status != "completed":
        return "other"
    if any(item.get("type") in _CALLS for item in output):
        return "tool-calls"
    parts = [part for item in output for part in item.get("content") or () if item.get("role")]
    refused = any(part.get("type") == "refusal" for part in parts)
    return "content-filter" if refused else "stop"


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """Read the usage object."""
    inputs = mapping_in(usage, "input_tokens_details")
    return Usage(
        input_tokens=whole(usage.get("input_tokens")),
        output_tokens=whole(usage.get("output_tokens")),
        cache_read_tokens=whole(inputs.get("cached_tokens")),
        cache_write_tokens=whole(inputs.get("cache_write_tokens")),
        reasoning_tokens=whole(mapping_in(usage, "output_tokens_details").get("reasoning_tokens")),
    )


class ResponsesDecoder:
    """Reads the events of one streamed answer.

    Args:
        opened: The SDK's stream, for the id of the request.
    """

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._body: Mapping[str, Any] | None = None
        self._items: list[Any] = []
        self._calls: list[int] = []

    def feed(self, chunk: Any) -> tuple[ModelEvent, ...]:
        """Read one event; see `Decoder`.

        Raises:
            ProviderError: by code, for an error that is sent inside the stream.
        """
        event = body_of(chunk)
        kind = event.get("type")
        if kind == "response.output_text.delta":
            return (TextDelta(event["delta"]),)
        if kind in _REASONING:
            return (ReasoningDelta(event["delta"]),)
        if kind in _ARGUMENTS:
            index = self._calls.index(event["output_index"])
            return (ToolCallDelta(index, arguments=event["delta"]),)
        if kind == "response.output_item.added" and event["item"].get("type") in _CALLS:
            self._calls.append(event["output_index"])
            item = event["item"]
            return (ToolCallDelta(len(self._calls) - 1, id=item["call_id"], name=item["name"]),)
        if kind == "response.output_item.done":
            self._items.append(event["item"])
        elif kind in _ENDS:
            self._body = event["response"]
        elif kind == "error":
            told = mapping_in(event, "error") or event
            raise failure_of_status(status_told(told), too_long=too_long(told))
        return ()

    def reply(self) -> ModelReply:
        """Put the answer together; see `Decoder`."""
        if self._body is None:
            raise unreadable()
        body = {**self._body, "output": self._body.get("output") or self._items}
        return _reply(body, request_id_of(self._opened, body))
