"""Wire: what a provider answered, read back.

Source:
    docs/spec/planner.md#wire
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.base import Dialect, DialectMismatch, plain
from thusfar.errors import TranscriptError
from thusfar.messages import Message, Text


def messages_of_response(response: Any, dialect: Dialect) -> list[Any]:
    """Find the messages in what a provider answered, or take messages as they are.

    Args:
        response: The SDK's response, a message, a list of messages, or text.
        dialect: The wire format of the request.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when it holds none of that format.
    """
    found = _found(response, dialect)
    try:
        for message in found:
            if not isinstance(message, Message):
                dialect.describe(message)
    except DialectMismatch:
        raise TranscriptError(
            f"A response held no message of the dialect {dialect.name}.",
            fix="Pass the SDK's response, its message, a list of messages, or text; an answer that "
            "was blocked or failed holds none.",
            dialect=dialect.name,
        ) from None
    return found


def _found(response: Any, dialect: Dialect) -> list[Any]:
    if response is None:
        return []
    if isinstance(response, list | tuple):
        return list(response)
    if isinstance(response, str):
        return list(dialect.lower(Message("assistant", (Text(response),))))
    body = plain(response)
    if body is None:
        return [response]
    if body.get("choices") == [] and body.get("usage"):
        return []  # the last piece of a stream, which has the usage alone
    if choices := body.get("choices"):
        return [_message_of(response, choices)]
    if isinstance(output := body.get("output"), Sequence) and not isinstance(output, str):
        return list(output)
    if isinstance(output, Mapping) and "message" in output:
        return [output["message"]]
    if candidates := body.get("candidates"):
        return [candidates[0].get("content")]
    if body.get("type") == "message" and dialect.name == "anthropic":
        return [{"role": body["role"], "content": body["content"]}]
    return [response]


def _message_of(response: Any, choices: Any) -> Any:
    held = getattr(response, "choices", None)
    return held[0].message if held else choices[0].get("message")


_INPUT_NAMES: Final = (
    ("usage", "prompt_tokens"),
    ("usage", "inputTokens"),
    ("usage_metadata", "prompt_token_count"),
    ("usageMetadata", "promptTokenCount"),
)
_OUTPUT_NAMES: Final = (
    ("usage", "output_tokens"),
    ("usage", "completion_tokens"),
    ("usage", "outputTokens"),
)
_GEMINI_OUTPUT: Final = (
    ("usage_metadata", ("candidates_token_count", "thoughts_token_count")),
    ("usageMetadata", ("candidatesTokenCount", "thoughtsTokenCount")),
)
_ANTHROPIC_PARTS: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def reported_input_tokens(response: Any) -> int | None:
    """Read how many input tokens a provider reports, those of its cache included."""
    body = _body(response)
    usage = body.get("usage")
    if isinstance(usage, Mapping) and type(usage.get("input_tokens")) is int:
        return sum(int(usage.get(name) or 0) for name in _ANTHROPIC_PARTS)
    return _first(body, _INPUT_NAMES)


def reported_output_tokens(response: Any) -> int | None:
    """Read how many output tokens a provider reports, those of its reasoning included."""
    body = _body(response)
    for group, names in _GEMINI_OUTPUT:
        inner = body.get(group)
        if isinstance(inner, Mapping) and type(inner.get(names[0])) is int:
            return sum(int(inner.get(name) or 0) for name in names)
    return _first(body, _OUTPUT_NAMES)


def _body(response: Any) -> Mapping[str, Any]:
    if response is None or isinstance(response, str | list | tuple):
        return {}
    return plain(response) or {}


def _first(body: Mapping[str, Any], names: Sequence[tuple[str, str]]) -> int | None:
    for group, name in names:
        inner = body.get(group)
        if isinstance(inner, Mapping) and type(inner.get(name)) is int:
            return int(inner[name])
    return None
