"""Bodies: whole requests to a provider and whole responses from one.

A request and a response are told apart, and their dialect found, by the keys that only one
provider uses; where those do not decide, by the messages themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.dialects import detect
from thusfar.sources.loaded import Loaded, SourceKind, require_fit, unreadable

_BEDROCK_KEYS: Final = frozenset(
    {"inferenceConfig", "toolConfig", "additionalModelRequestFields", "guardrailConfig", "modelId"}
)
_ANTHROPIC_KEYS: Final = frozenset(
    {"anthropic_version", "stop_sequences", "top_k", "thinking", "context_management"}
)
_OPENAI_KEYS: Final = frozenset(
    {
        "n",
        "response_format",
        "max_completion_tokens",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "stream_options",
        "parallel_tool_calls",
        "reasoning_effort",
        "stop",
    }
)


def load_request(body: Mapping[str, Any], name: str | None = None) -> Loaded | None:
    """Read the body of a request.

    Args:
        body: The parsed body.
        name: Dialect it is known to be in; `None` to find out.

    Returns:
        The request, its messages the caller's own objects; `None` when it is no request.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for a message that is not of the dialect.
    """
    if isinstance(body.get("messages"), list):
        return _chat_request(body, name)
    if "contents" in body:
        return _gemini_request(body)
    if isinstance(body.get("input"), str | list) and "object" not in body:
        return _responses_request(body)
    return None


def load_response(body: Mapping[str, Any]) -> Loaded | None:
    """Read the body of a response: the messages it adds to the transcript.

    Of several choices or candidates the first is taken and `facts` counts them.

    Returns:
        The response; `None` when it is no response of a model.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for a message that is not of the dialect.
    """
    model = body.get("model", body.get("modelVersion"))
    match body:
        case {"choices": [*choices]}:
            said = [choice["message"] for choice in choices if _has(choice, "message")]
            return _said("openai-chat", said[:1], model, choices=len(choices))
        case {"output": [*items]}:
            return _said("openai-responses", items, model)
        case {"output": {"message": message}}:
            return _said("bedrock-converse", [message], model)
        case {"candidates": [*found]}:
            said = [each["content"] for each in found if _has(each, "content")]
            said = [content for content in said if content.get("parts")]
            return _said("gemini", said[:1], model, candidates=len(found))
        case {"promptFeedback": _}:
            return _said("gemini", [], model, candidates=0)
        case {"type": "message", "role": "assistant", "content": [*_]} if "status" not in body:
            return _said("anthropic", [body], model)
        case _:
            return None


def _has(value: Any, key: str) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get(key), Mapping)


def _said(name: str, messages: list[Any], model: Any, **facts: int) -> Loaded:
    return _loaded("response", name, messages, model=model, facts=facts)


def _chat_request(body: Mapping[str, Any], name: str | None) -> Loaded:
    messages = body["messages"]
    name = name or _chat_dialect(body) or detect(messages).name
    config = body.get("toolConfig")
    tools = config.get("tools") if isinstance(config, Mapping) else body.get("tools")
    model = body.get("model", body.get("modelId"))
    return _loaded("request", name, messages, system=body.get("system"), tools=tools, model=model)


def _chat_dialect(body: Mapping[str, Any]) -> str | None:
    """Find the dialect of a body with `messages` by what stands beside them."""
    keys = body.keys()
    if keys & _BEDROCK_KEYS:
        return "bedrock-converse"
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, Mapping):
            # Mistral's requests name the function but no type.
            return "openai-chat" if tool.keys() & {"function", "custom"} else "anthropic"
    match body.get("system"):
        case str() | [{"type": _}, *_]:
            return "anthropic"
        case [{"text": _}, *_]:
            return "bedrock-converse"
    if keys & _ANTHROPIC_KEYS:
        return "anthropic"
    return "openai-chat" if keys & _OPENAI_KEYS else None


def _gemini_request(body: Mapping[str, Any]) -> Loaded:
    contents = body["contents"]
    if isinstance(contents, str):
        contents = [{"role": "user", "parts": [{"text": contents}]}]
    elif isinstance(contents, Mapping):
        contents = [contents]
    elif not isinstance(contents, list):
        raise unreadable(
            "The contents of a Gemini request were neither text nor contents.",
            fix="Pass contents as a list of objects with role and parts.",
        )
    config = body.get("config")
    config = config if isinstance(config, Mapping) else {}
    found = [
        place[key]
        for place in (body, config)
        for key in ("systemInstruction", "system_instruction")
        if key in place
    ]
    return _loaded(
        "request",
        "gemini",
        contents,
        system=found[0] if found else None,
        tools=body.get("tools", config.get("tools")),
        model=body.get("model"),
    )


def _responses_request(body: Mapping[str, Any]) -> Loaded:
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return _loaded(
        "request",
        "openai-responses",
        items,
        system=body.get("instructions"),
        tools=body.get("tools"),
        model=body.get("model"),
    )


def _loaded(
    kind: SourceKind,
    name: str,
    messages: list[Any],
    *,
    system: Any = None,
    tools: Any = None,
    model: Any = None,
    facts: Mapping[str, int] | None = None,
) -> Loaded:
    require_fit(name, messages)
    return Loaded(
        kind=kind,
        dialect=name,
        messages=tuple(messages),
        system=system,
        tools=tuple(tools) if isinstance(tools, list) else None,
        model=model if isinstance(model, str) else None,
        facts={"messages": len(messages), **(facts or {})},
    )
