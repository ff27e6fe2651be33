"""Wire: a sealed request as the keyword arguments of the provider's own SDK, and answers read back.

Where a provider wants a user message first and roles that alternate, the summary goes as a part of
its own into the user message behind it; that message is a copy, and its own parts stay as they are.

Source:
    docs/spec/planner.md#wire
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from thusfar.dialects.base import Dialect, plain
from thusfar.messages import Message
from thusfar.planner.sealing import Assembled, Sealed, joined_system

USER_FIRST: Final = frozenset({"anthropic", "gemini", "bedrock-converse"})


def placed_messages(sealed: Sealed, dialect: Dialect, wire: Dialect) -> list[Any]:
    """List the messages as the wire takes them.

    Args:
        sealed: The request.
        dialect: The format its messages were planned in.
        wire: The format that is sent.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on the wire.
    """
    messages = _placed(sealed, dialect, wire.name)
    if wire is dialect:
        return messages
    return [made for message in messages for made in wire.lower(dialect.lift(message))]


def _placed(sealed: Sealed, dialect: Dialect, wire: str) -> list[Any]:
    messages = sealed.request.messages
    at = _system_run(sealed)
    if wire not in USER_FIRST:
        return list(messages)
    if not sealed.spoken:
        return list(messages[at:])
    end = at + sealed.spoken
    said = [dialect.lift(message) for message in messages[at:end]]
    behind = list(messages[end:])
    parts = tuple(part for message in said for part in message.parts)
    if behind:
        following = dialect.lift(behind[0])
        if following.role in ("user", "tool"):
            # Results come first where the provider pairs them with the calls before.
            both = (parts, following.parts)
            joined = both if following.role == "user" else both[::-1]
            merged = msgspec.structs.replace(following, parts=(*joined[0], *joined[1]))
            return [*dialect.lower(merged), *behind[1:]]
    return [*dialect.lower(Message("user", parts)), *behind]


def _system_run(sealed: Sealed) -> int:
    view = sealed.receipt.history.view
    return view.system if view is not None else 0


def placed(sealed: Sealed, dialect: Dialect, wire: Dialect) -> Assembled:
    """Give the pieces of a request as the wire takes them; arguments as for `placed_messages`."""
    return replace(
        sealed.request,
        messages=placed_messages(sealed, dialect, wire),
        system=placed_system(sealed, dialect, wire),
    )


def placed_system(sealed: Sealed, dialect: Dialect, wire: Dialect) -> Any:
    """Give the system value: where the wire keeps it outside the list, the leading run is in it."""
    run = sealed.request.messages[: _system_run(sealed)]
    if wire.name not in USER_FIRST or not run:
        return sealed.request.system
    texts = [text for message in run if (text := dialect.lift(message).text)]
    return joined_system(sealed.request.system, texts)


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
        named = {"name": "output", "schema": _schema(request.schema)}
        made["response_format"] = {"type": "json_schema", "json_schema": named}
    return made


def _openai_responses(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    made: dict[str, Any] = {"model": model, "input": messages}
    _put(made, "instructions", request.system)
    _put(made, "tools", list(request.tools))
    _put(made, "max_output_tokens", most)
    if request.schema is not None:
        named = {"type": "json_schema", "name": "output", "schema": _schema(request.schema)}
        made["text"] = {"format": named}
    return made


def _anthropic(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    made: dict[str, Any] = {"model": model, "messages": messages}
    _put(made, "system", request.system)
    _put(made, "tools", list(request.tools))
    _put(made, "max_tokens", most)
    if request.schema is not None:
        form = {"type": "json_schema", "schema": _schema(request.schema)}
        made["output_config"] = {"format": form}
    return made


def _gemini(request: Assembled, messages: list[Any], model: str, most: int | None) -> Any:
    config: dict[str, Any] = {}
    _put(config, "system_instruction", request.system)
    _put(config, "tools", list(request.tools))
    _put(config, "max_output_tokens", most)
    if request.schema is not None:
        config["response_mime_type"] = "application/json"
        config["response_json_schema"] = _schema(request.schema)
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


def _schema(schema: Any) -> Any:
    if isinstance(schema, type) and callable(made := getattr(schema, "model_json_schema", None)):
        return made()
    return schema


def messages_of_response(response: Any, dialect: Dialect) -> list[Any]:
    """Find the messages in what a provider answered, or take messages as they are.

    Args:
        response: The SDK's response, a message, or a list of messages.
        dialect: The wire format of the request.
    """
    if response is None:
        return []
    if isinstance(response, list | tuple):
        return list(response)
    if isinstance(response, str):
        from thusfar.messages import Text

        return list(dialect.lower(Message("assistant", (Text(response),))))
    body = plain(response)
    if body is None:
        return [response]
    if choices := body.get("choices"):
        return [_message_of(response, choices)]
    if isinstance(output := body.get("output"), Sequence) and not isinstance(output, str):
        return list(output)
    if isinstance(output, Mapping) and "message" in output:
        return [output["message"]]
    if candidates := body.get("candidates"):
        return [candidates[0]["content"]]
    if body.get("type") == "message" and dialect.name == "anthropic":
        return [{"role": body["role"], "content": body["content"]}]
    return [response]


def _message_of(response: Any, choices: Any) -> Any:
    held = getattr(response, "choices", None)
    return held[0].message if held else choices[0]["message"]


_INPUT_NAMES: Final = (
    ("usage", "prompt_tokens"),
    ("usage", "inputTokens"),
    ("usage_metadata", "prompt_token_count"),
    ("usageMetadata", "promptTokenCount"),
)
_ANTHROPIC_PARTS: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def reported_input_tokens(response: Any) -> int | None:
    """Read how many input tokens a provider reports, those of its cache included."""
    body = None if response is None or isinstance(response, str | list | tuple) else plain(response)
    if body is None:
        return None
    usage = body.get("usage")
    if isinstance(usage, Mapping) and type(usage.get("input_tokens")) is int:
        return sum(int(usage.get(name) or 0) for name in _ANTHROPIC_PARTS)
    for group, name in _INPUT_NAMES:
        inner = body.get(group)
        if isinstance(inner, Mapping) and type(inner.get(name)) is int:
            return int(inner[name])
    return None
