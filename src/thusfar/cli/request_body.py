"""Request bodies: what the body of a request says besides its messages, system text and tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_OUTPUT_LIMITS: Final = (
    ("max_completion_tokens",),
    ("max_output_tokens",),
    ("max_tokens",),
    ("generationConfig", "maxOutputTokens"),
    ("config", "max_output_tokens"),
    ("config", "maxOutputTokens"),
    ("inferenceConfig", "maxTokens"),
)
_SCHEMAS: Final = (
    ("response_format", "json_schema", "schema"),
    ("text", "format", "schema"),
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
    ("config", "response_json_schema"),
    ("config", "response_schema"),
)
_MODELS: Final = ("model", "modelId")


def output_limit(body: Mapping[str, Any]) -> int | None:
    """Find the output limit that a request asks for; `None` where it names none."""
    for path in _OUTPUT_LIMITS:
        found = _at(body, path)
        if type(found) is int and found > 0:
            return found
    return None


def output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the JSON Schema that the answer must obey; `None` where there is none."""
    for path in _SCHEMAS:
        found = _at(body, path)
        if isinstance(found, Mapping):
            return found
    return None


def for_model(body: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Copy a body for a model; a body whose wire names the model elsewhere stays as it is."""
    return {key: model if key in _MODELS else value for key, value in body.items()}


def _at(body: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = body
    for key in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found
