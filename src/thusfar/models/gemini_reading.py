"""Reading of Gemini answers, whole or streamed.

Source:
    https://ai.google.dev/api/generate-content,
    https://ai.google.dev/gemini-api/docs/thought-signatures (read 2026-11-30);
    google-genai 3.6.1, types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.codec import json_text
from thusfar.dialects.gemini import GEMINI
from thusfar.models.errors import unreadable
from thusfar.models.port import (
    ModelEvent,
    ModelReply,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from thusfar.models.received import body_of, mapping_in, whole
from thusfar.summaries.values import Finish

_FINISHES: Final[Mapping[str, Finish]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content-filter",
    "RECITATION": "content-filter",
    "BLOCKLIST": "content-filter",
    "PROHIBITED_CONTENT": "content-filter",
    "SPII": "content-filter",
    "IMAGE_SAFETY": "content-filter",
    "IMAGE_PROHIBITED_CONTENT": "content-filter",
    "IMAGE_RECITATION": "content-filter",
    "MODEL_ARMOR": "content-filter",
}
# Bytes that the SDK decoded and dumps in the alphabet of URLs, which the wire does not use.
_STANDARD: Final = str.maketrans("-_", "+/")


def reply_of(answered: Any) -> ModelReply:
    """Read a whole answer.

    Raises:
        ProviderAnswerError: `PROVIDER_ANSWER_INVALID`, when it has neither an answer nor the
            reason why there is none.
    """
    return _reply(body_of(answered))


def _reply(body: Mapping[str, Any]) -> ModelReply:
    candidates = body.get("candidates")
    blocked = mapping_in(body, "promptFeedback").get("blockReason")
    if not candidates and not blocked:
        raise unreadable()
    candidate = candidates[0] if candidates else {}
    content = _as_received(mapping_in(candidate, "content"))
    parts = content.get("parts") or []
    return ModelReply(
        messages=(GEMINI.lift({"role": "model", **content}),) if parts else (),
        finish="content-filter" if blocked else _finish(candidate, parts),
        usage=usage_of(mapping_in(body, "usageMetadata")),
        request_id=str(body.get("responseId") or ""),
        model=str(body.get("modelVersion") or ""),
    )


def _finish(candidate: Mapping[str, Any], parts: list[Mapping[str, Any]]) -> Finish:
    found = _FINISHES.get(str(candidate.get("finishReason")), "other")
    calls = any("functionCall" in part for part in parts)
    return "tool-calls" if found == "stop" and calls else found


def _as_received(content: Mapping[str, Any]) -> dict[str, Any]:
    """Write bytes as the wire has them."""
    made = dict(content)
    if isinstance(parts := content.get("parts"), list):
        made["parts"] = [_part(part) for part in parts]
    return made


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(part)
    if isinstance(signature := part.get("thoughtSignature"), str):
        made["thoughtSignature"] = signature.translate(_STANDARD)
    blob = part.get("inlineData")
    if isinstance(blob, Mapping) and isinstance(data := blob.get("data"), str):
        made["inlineData"] = {**blob, "data": data.translate(_STANDARD)}
    return made


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """Read the usage object; the wire counts thoughts beside the rest of the output."""
    said = whole(usage.get("candidatesTokenCount"))
    thought = whole(usage.get("thoughtsTokenCount"))
    tools = whole(usage.get("toolUsePromptTokenCount"))
    inputs = whole(usage.get("promptTokenCount"))
    return Usage(
        input_tokens=None if inputs is None else inputs + (tools or 0),
        output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
        cache_read_tokens=whole(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thought,
    )


class GeminiDecoder:
    """Reads the chunks of one streamed answer; only the first candidate counts.

    Text that continues is joined. A part with a signature stays a part of its own, as the
    provider asks for.

    Args:
        opened: The SDK's stream; it has no id of the request.
    """

    def __init__(self, opened: Any) -> None:
        del opened
        self._parts: list[dict[str, Any]] = []
        self._body: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._role = "model"
        self._calls = 0

    def feed(self, chunk: Any) -> tuple[ModelEvent, ...]:
        """Read one chunk; see `Decoder`."""
        body = body_of(chunk)
        self._body |= {key: value for key, value in body.items() if key != "candidates"}
        events: list[ModelEvent] = []
        for candidate in (body.get("candidates") or [])[:1]:
            self._candidate |= {key: value for key, value in candidate.items() if value is not None}
            content = mapping_in(candidate, "content")
            self._role = content.get("role") or self._role
            for part in content.get("parts") or ():
                events += self._add(dict(part))
        return tuple(events)

    def reply(self) -> ModelReply:
        """Put the answer together; see `Decoder`."""
        ended = self._candidate.get("finishReason") is not None
        blocked = mapping_in(self._body, "promptFeedback").get("blockReason")
        if not ended and not blocked:
            raise unreadable()
        content = {"role": self._role, "parts": self._parts}
        candidates = [{**self._candidate, "content": content}] if ended else []
        return _reply({**self._body, "candidates": candidates})

    def _add(self, part: dict[str, Any]) -> list[ModelEvent]:
        if part == {"text": ""}:
            return []
        last = self._parts[-1] if self._parts else {}
        if _bare(part) and _bare(last) and part.get("thought") == last.get("thought"):
            self._parts[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            self._parts.append(part)
        if text := part.get("text"):
            return [ReasoningDelta(text) if part.get("thought") else TextDelta(text)]
        if isinstance(call := part.get("functionCall"), Mapping):
            self._calls += 1
            return [
                ToolCallDelta(
                    self._calls - 1,
                    id=call.get("id") or "",
                    name=call.get("name") or "",
                    arguments=json_text(call.get("args") or {}),
                )
            ]
        return []


def _bare(part: Mapping[str, Any]) -> bool:
    return "text" in part and part.keys() <= {"text", "thought"}
