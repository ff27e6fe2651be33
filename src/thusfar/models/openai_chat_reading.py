"""Reading of Chat Completions answers, whole or streamed; also of all servers that imitate it.

Source:
    openai-python 3.57.0, types/chat; `reasoning_content` and `reasoning` from recorded traffic of
    compatible servers. Read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.dialects.openai_chat import OPENAI_CHAT
from thusfar.models.errors import unreadable
from thusfar.models.openai_chat_pieces import Calls, deltas_of, grow
from thusfar.models.port import ModelEvent, ModelReply, Usage
from thusfar.models.received import body_of, mapping_in, request_id_of, whole
from thusfar.summaries.values import Finish

_FINISHES: Final[Mapping[str, Finish]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "content_filter": "content-filter",
}


def reply_of(answered: Any, *, nulls: bool = True) -> ModelReply:
    """Read a whole answer.

    Args:
        answered: What the SDK gave.
        nulls: Whether fields of the message that are null came over the wire; LiteLLM adds some.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when there is no message in it.
    """
    body = body_of(answered)
    return _reply(body, request_id_of(answered, body), nulls=nulls)


def _reply(body: Mapping[str, Any], request_id: str, *, nulls: bool) -> ModelReply:
    choices = body.get("choices")
    if not choices or not isinstance(message := choices[0].get("message"), Mapping):
        raise unreadable()
    said = {key: value for key, value in message.items() if _is_kept(key, value, nulls=nulls)}
    said["role"] = "assistant"  # compatible servers leave it out, or empty
    if isinstance(calls := said.get("tool_calls"), list):
        said["tool_calls"] = [_call(call) for call in calls]
    return ModelReply(
        messages=(OPENAI_CHAT.lift(said),),
        finish=_finish(choices[0].get("finish_reason"), message),
        usage=usage_of(mapping_in(body, "usage")),
        request_id=request_id,
        model=str(body.get("model") or ""),
    )


def _is_kept(key: str, value: Any, *, nulls: bool) -> bool:
    if key == "annotations":  # requests have none; whole answers have an empty list of them
        return bool(value)
    return nulls or value is not None or key == "content"


def _call(call: Any) -> Any:
    """Write a call as requests have it: an id that says nothing is none, and arguments are text."""
    if not isinstance(call, Mapping):
        return call
    made = {key: value for key, value in call.items() if value != "" or key not in ("id", "type")}
    function = made.get("function")
    if isinstance(function, Mapping) and function.get("arguments") is None:
        made["function"] = {**function, "arguments": "{}"}
    if "type" in call:
        made.setdefault("type", "function")
    return made


def _finish(reason: Any, message: Mapping[str, Any]) -> Finish:
    found = _FINISHES.get(reason, "other") if isinstance(reason, str) else "other"
    if found != "stop":
        return found
    # Compatible servers say `stop` with calls too; a refusal is no answer to build upon.
    if message.get("tool_calls"):
        return "tool-calls"
    return "content-filter" if message.get("refusal") else "stop"


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """Read the usage object."""
    inputs = mapping_in(usage, "prompt_tokens_details")
    outputs = mapping_in(usage, "completion_tokens_details")
    return Usage(
        input_tokens=whole(usage.get("prompt_tokens")),
        output_tokens=whole(usage.get("completion_tokens")),
        cache_read_tokens=whole(inputs.get("cached_tokens")),
        cache_write_tokens=whole(inputs.get("cache_write_tokens")),
        reasoning_tokens=whole(outputs.get("reasoning_tokens")),
    )


class ChatDecoder:
    """Reads the chunks of one streamed answer; only the first choice counts.

    Args:
        opened: The SDK's stream, for the id of the request.
        nulls: As for `reply_of`.

    Attributes:
        opened: As given.
    """

    def __init__(self, opened: Any, *, nulls: bool = True) -> None:
        self.opened = opened
        self._nulls = nulls
        self._message: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls = Calls()
        self._head: dict[str, Any] = {}
        self._reason: str | None = None

    def feed(self, chunk: Any) -> tuple[ModelEvent, ...]:
        """Read one chunk; see `Decoder`."""
        body = body_of(chunk)
        for key in ("id", "model", "usage"):
            if body.get(key):
                self._head[key] = body[key]
        events: list[ModelEvent] = []
        for choice in body.get("choices") or ():
            if choice.get("index", 0) == 0:
                self._reason = choice.get("finish_reason") or self._reason
                events += self._grow(choice.get("delta") or {})
        return tuple(events)

    def reply(self) -> ModelReply:
        """Put the answer together; see `Decoder`."""
        if self._reason is None:
            raise unreadable()
        if self._calls.made:
            self._message["tool_calls"] = self._calls.made
        choice = {"message": self._message, "finish_reason": self._reason}
        body = {**self._head, "choices": [choice]}
        return _reply(body, request_id_of(self.opened, body), nulls=self._nulls)

    def _grow(self, delta: Mapping[str, Any]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for key, value in delta.items():
            if key == "tool_calls":
                events += map(self._calls.add, value or (), range(len(value or ())))
                continue
            grow(self._message, key, value)
            events += deltas_of(key, value)
        return events
