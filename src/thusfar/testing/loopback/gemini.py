"""Gemini's generateContent as a loopback server says it: whole answers, streams, errors.

Source:
    https://ai.google.dev/gemini-api/docs/thought-signatures and
    https://docs.cloud.google.com/python/docs/reference/aiplatform/latest/
    google.cloud.aiplatform_v1.types.GenerateContentResponse
    (read 2026-11-30); google-genai 3.6.1, types; recorded replies; the recorded refusals
    https://github.com/google-gemini/gemini-cli/issues/4231 for requests that are too long,
    https://github.com/google-gemini/gemini-cli/issues/14811 for rate limits,
    https://github.com/google-gemini/gemini-cli/issues/12831 for load and
    https://github.com/continuedev/continue/issues/10585 for keys (all read 2026-11-30)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from thusfar.dialects.shapes import arguments_object
from thusfar.messages import Native, Reasoning, Text, ToolCall
from thusfar.testing.loopback.answers import Answer, Finish, Said
from thusfar.testing.loopback.faults import Problem, Trouble
from thusfar.testing.loopback.wire import Event, Refusal, Tokens, Turn, native, unspeakable

WIRE: Final = "gemini"
_FINISHES: Final[dict[Finish, str]] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool-calls": "STOP",
    "content-filter": "SAFETY",
    "refusal": "PROHIBITED_CONTENT",
    "blocked": "",
}
_REFUSALS: Final[dict[Trouble, tuple[int, str, str]]] = {
    "invalid": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "context-length": (400, "INVALID_ARGUMENT", ""),
    "authentication": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "permission": (403, "PERMISSION_DENIED", "The caller does not have permission"),
    "not-found": (404, "NOT_FOUND", "Requested entity was not found."),
    "rate-limit": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    "server": (500, "INTERNAL", "An internal error has occurred."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}
_KEY_INVALID: Final = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
    "metadata": {"service": "generativelanguage.googleapis.com"},
}


class GeminiSpeech:
    """Writes generateContent responses; see `Speech`."""

    def reply(self, turn: Turn) -> dict[str, Any]:
        """Write a whole response."""
        return _response(turn, _parts(turn.answer), last=True)

    def events(self, turn: Turn) -> Iterator[Event]:
        """Write the responses of a stream; tokens are on each, as far as they are known."""
        pieces = list(_pieces(turn))
        for number, part in enumerate(pieces):
            yield Event(_response(turn, [part], last=number == len(pieces) - 1))

    def refused(self, refusal: Refusal) -> tuple[int, dict[str, Any]]:
        """Write an error object."""
        problem = refusal.trouble
        status, name, message = _REFUSALS[problem.trouble]
        status = problem.status or status
        if problem.trouble == "context-length":
            message = (
                f"The input token count ({problem.tokens}) exceeds the maximum number of tokens "
                f"allowed ({problem.limit})."
            )
        error = {"code": status, "message": problem.message or message, "status": name}
        details = _details(problem)
        return status, {"error": {**error, "details": details} if details else error}

    def broken(self, refusal: Refusal) -> tuple[Event, ...]:
        """Write an error as the last response of a stream."""
        return (Event(self.refused(refusal)[1]),)

    def headers(self, refusal: Refusal) -> dict[str, str]:
        """Write the headers of an error; the API has none of its own."""
        if refusal.retry_after is None:
            return {}
        return {"retry-after": f"{refusal.retry_after:g}"}


def counted(tokens: int) -> dict[str, Any]:
    """Write a count of input tokens."""
    return {"totalTokens": tokens, "promptTokensDetails": [_text_tokens(tokens)]}


def _details(problem: Problem) -> list[dict[str, Any]]:
    details: list[dict[str, Any]] = []
    if problem.trouble == "authentication":
        details.append(_KEY_INVALID)
    if problem.retry_after is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        details.append({"@type": kind, "retryDelay": f"{problem.retry_after:g}s"})
    return details


def _response(turn: Turn, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    if turn.answer.ended not in _FINISHES:
        raise unspeakable(f"the finish {turn.answer.ended}", WIRE)
    if turn.answer.ended == "blocked":
        return {
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": _usage(turn.usage, last=False),
            "modelVersion": turn.model,
            "responseId": turn.new_id("resp-"),
        }
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}}
    if last:
        candidate["finishReason"] = _FINISHES[turn.answer.ended]
    candidate["index"] = 0
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(turn.usage, last=last),
        "modelVersion": turn.model,
        "responseId": turn.new_id("resp-"),
    }


def _parts(answer: Answer) -> list[dict[str, Any]]:
    """Write all parts; the first signature goes on the first call, or on the last part."""
    if answer.compaction is not None:
        raise unspeakable("a compaction", WIRE)
    parts = [_part(part) for part in answer.said] or [{"text": ""}]
    signatures = [
        part.signature for part in answer.said if isinstance(part, Reasoning) and part.signature
    ]
    if signatures:
        bearer = next((part for part in parts if "functionCall" in part), parts[-1])
        bearer["thoughtSignature"] = signatures[0]
    return parts


def _part(part: Said) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"text": text}
        case Reasoning(text=text):
            return {"text": text, "thought": True}
        case ToolCall(id=call_id, name=name):
            known = {} if call_id is None else {"id": call_id}
            arguments = arguments_object(part.arguments, WIRE)
            return {"functionCall": {**known, "name": name, "args": arguments}}
        case Native():
            found: dict[str, Any] = native(part, WIRE)
            return found
    raise unspeakable(f"a part of the type {type(part).__name__}", WIRE)


def _pieces(turn: Turn) -> Iterator[dict[str, Any]]:
    """Cut texts; calls are sent whole, and a signature comes with the last piece.

    Behind a call the provider ends with a piece of empty text (recorded traffic).
    """
    parts = _parts(turn.answer)
    if "functionCall" in parts[-1]:
        parts.append({"text": ""})
    for part in parts:
        if not part.get("text"):
            yield part
            continue
        signed = {name: part[name] for name in ("thoughtSignature",) if name in part}
        rest = {name: value for name, value in part.items() if name not in ("text", *signed)}
        pieces = list(turn.pieces(part["text"]))
        yield from ({"text": piece, **rest} for piece in pieces[:-1])
        yield {"text": pieces[-1], **rest, **signed}


def _text_tokens(tokens: int) -> dict[str, Any]:
    return {"modality": "TEXT", "tokenCount": tokens}


def _usage(tokens: Tokens, *, last: bool) -> dict[str, Any]:
    said = tokens.output - tokens.reasoning
    usage: dict[str, Any] = {
        "promptTokenCount": tokens.input,
        "candidatesTokenCount": said if last else 0,
        "totalTokenCount": tokens.total if last else tokens.input + tokens.reasoning,
        "promptTokensDetails": [_text_tokens(tokens.input)],
    }
    if tokens.reasoning:
        usage["thoughtsTokenCount"] = tokens.reasoning
    if tokens.cache_read:
        usage["cachedContentTokenCount"] = tokens.cache_read
        usage["cacheTokensDetails"] = [_text_tokens(tokens.cache_read)]
    return usage
