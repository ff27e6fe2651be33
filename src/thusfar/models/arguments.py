"""Arguments: the pieces of a request as the keyword arguments of the provider's own SDK call.

Source:
    docs/spec/planner.md#wire
"""

from __future__ import annotations

from typing import Any, Final

from thusfar.codec import json_text
from thusfar.dialects.base import Dialect
from thusfar.dialects.placement_system import joined_system
from thusfar.models.strict import is_strict, json_schema_of, rooted
from thusfar.models.strict_form import strict_form
from thusfar.models.subsets import for_anthropic, for_gemini
from thusfar.planner.sealing import Assembled

INVALID_JSON: Final = "INVALID_JSON"
"""The name under which a call has the arguments that are no JSON, where a wire wants an object."""


def call_arguments(
    request: Assembled, wire: Dialect, *, model: str, max_output_tokens: int | None
) -> dict[str, Any]:
    """Write the keyword arguments of the provider's SDK call.

    Args:
        request: The pieces, as the wire takes them.
        wire: The format that is sent; it names the SDK.
        model: Name of the model as the SDK takes it.
        max_output_tokens: Output limit. `None`: not stated.
    """
    writer = _WRITERS.get(wire.name, _any)
    made: dict[str, Any] = writer(request, list(request.messages), model, max_output_tokens)
    return made


def _openai_chat(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    head = [{"role": "system", "content": request.system}] if request.system else []
    made: dict[str, Any] = {"model": model, "messages": [*head, *messages]}
    _put(made, "tools", list(request.tools))
    _put(made, "max_completion_tokens", most)
    if request.schema is not None:
        made["response_format"] = {"type": "json_schema", "json_schema": _named(request.schema)}
    return made


def _openai_responses(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    made: dict[str, Any] = {"model": model, "input": messages}
    _put(made, "instructions", request.system)
    _put(made, "tools", list(request.tools))
    _put(made, "max_output_tokens", most)
    if request.schema is not None:
        made["text"] = {"format": {"type": "json_schema", **_named(request.schema)}}
    return made


def _anthropic(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    made: dict[str, Any] = {"model": model, "messages": messages}
    _put(made, "system", request.system)
    _put(made, "tools", list(request.tools))
    _put(made, "max_tokens", most)
    if request.schema is not None:
        schema = rooted(json_schema_of(request.schema))
        if (enforced := for_anthropic(schema)) is not None:
            made["output_config"] = {"format": {"type": "json_schema", "schema": enforced}}
        else:
            made["system"] = joined_system(request.system, [_in_words(schema)])
    return made


def _gemini(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    config: dict[str, Any] = {}
    system = request.system
    if request.schema is not None:
        schema = rooted(json_schema_of(request.schema))
        config["response_mime_type"] = "application/json"
        if (enforced := for_gemini(schema)) is not None:
            config["response_json_schema"] = enforced
        else:
            system = joined_system(system, [_in_words(schema)])
    _put(config, "system_instruction", system)
    _put(config, "tools", list(request.tools))
    _put(config, "max_output_tokens", most)
    made: dict[str, Any] = {"model": model, "contents": messages}
    _put(made, "config", config)
    return made


def _bedrock(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    made: dict[str, Any] = {"modelId": model, "messages": messages}
    system = [{"text": request.system}] if isinstance(request.system, str) else request.system
    _put(made, "system", system if request.system else None)
    _put(made, "toolConfig", {"tools": list(request.tools)} if request.tools else None)
    _put(made, "inferenceConfig", {"maxTokens": most} if most is not None else None)
    return made


def _any(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    made: dict[str, Any] = {"model": model, "messages": messages}
    _put(made, "system", request.system)
    _put(made, "tools", list(request.tools))
    _put(made, "max_output_tokens", most)
    _put(made, "schema", request.schema)
    return made


_WRITERS: Final = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock-converse": _bedrock,
}


def _put(made: dict[str, Any], name: str, value: Any) -> None:
    if value is not None and value != [] and value != {}:
        made[name] = value


def _named(schema: Any) -> dict[str, Any]:
    """Name a schema, and have it enforced where it can be."""
    made = json_schema_of(schema)
    made = rooted(strict_form(made) or made)
    strict = {"strict": True} if is_strict(made) else {}
    return {"name": "output", "schema": made, **strict}


def _in_words(schema: Any) -> str:
    """Ask for a schema that the provider does not enforce."""
    return f"Answer with JSON alone. It fits this JSON Schema:\n{json_text(schema)}"
