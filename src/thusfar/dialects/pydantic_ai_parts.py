"""pydantic-ai parts: each part of a request or response, lifted to canonical parts and back.

One part may become several canonical ones (the items of a user prompt) or none (what the model
never reads). The header of each says how many, and keeps the rest of the part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.codec import json_text, parse_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.leftovers import leftovers, restore
from thusfar.dialects.pydantic_ai_items import (
    is_cache_point,
    lift_item,
    lift_value,
    lower_item,
    render_value,
)
from thusfar.dialects.pydantic_ai_objects import NAME, TAG, listed
from thusfar.dialects.shapes import arguments_object, text_at, unsupported
from thusfar.messages import (
    Native,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)

SPOKEN: Final = frozenset({"user-prompt", "retry-prompt", "retry-feedback", "speech"})
RESULTS: Final = frozenset({"tool-return", "retry-prompt"})
# What pydantic-ai notes for itself and no model reads.
UNREAD: Final = frozenset(
    {"instruction-baseline", "instruction-digest", "model-settings-delta", "capability-load-delta"}
)
_TEXTS: Final = frozenset({"system-prompt", "text", "instruction", "retry-feedback"})
_SEALED_IDS: Final = ("redacted_thinking", "redacted_content")
_WRITERS: Final = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "google-gla": "gemini",
    "google-vertex": "gemini",
    "google": "gemini",
    "bedrock": "bedrock-converse",
}
_PROVIDERS: Final = {
    "anthropic": "anthropic",
    "openai-responses": "openai",
    "gemini": "google",
    "bedrock-converse": "bedrock",
}


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of one part beside its canonical parts.

    Attributes:
        kind: Its `part_kind`.
        count: How many canonical parts it became.
        form: How its content was written, where there are several ways.
        left: What else it had.
    """

    kind: str
    count: int = 1
    form: dict[str, Any] = {}
    left: dict[str, Any] = {}


def lift_part(part: Mapping[str, Any]) -> tuple[Header, tuple[Part, ...]]:
    """Convert one part.

    Raises:
        DialectMismatch: for a part of another shape.
    """
    kind = text_at(part, "part_kind")
    if kind in UNREAD:
        return Header(kind, 0, left=dict(part)), ()
    parts, form = _lift(kind, part)
    if any(isinstance(each, Native) and each.kind == kind for each in parts):
        return Header(kind), parts
    left = leftovers(part, render(kind, parts, form))
    return Header(kind, len(parts), form, left), parts


def parts_of(part: Mapping[str, Any]) -> tuple[Part, ...]:
    """Convert one part without keeping the rest of it.

    Raises:
        DialectMismatch: for a part of another shape.
    """
    kind = text_at(part, "part_kind")
    return () if kind in UNREAD else _lift(kind, part)[0]


def lower_part(header: Header, parts: Sequence[Part]) -> dict[str, Any]:
    """Convert canonical parts back to the one part they came from."""
    if header.kind in UNREAD:
        return dict(header.left)
    match parts:
        case [Native(provider="pydantic-ai", kind=header.kind, raw=raw)]:
            whole: dict[str, Any] = parse_json(raw, where="a native part")
            return whole
    return restore(render(header.kind, parts, header.form), header.left)


def answers(part: Any, get: Any) -> bool:
    """Tell whether a part is a tool result; a retry without a tool is said by the user."""
    kind = get(part, "part_kind")
    return kind == "tool-return" or (kind == "retry-prompt" and get(part, "tool_name") is not None)


def _lift(kind: str, part: Mapping[str, Any]) -> tuple[tuple[Part, ...], dict[str, Any]]:
    if answers(part, _get):
        return _lift_result(kind, part)
    match kind:
        case "user-prompt":
            return _lift_prompt(part.get("content"))
        case "retry-prompt" | "retry-feedback":
            return lift_value(part.get("content"))
        case "instruction-delta" if part.get("content") is None:
            return (), {}
        case "thinking":
            return _lift_thinking(part)
        case "tool-call":
            return _lift_call(part)
        case "file" if isinstance(part.get("content"), Mapping):
            return (lift_item(part["content"]),), {}
        case "speech":
            return _lift_speech(part)
        case _ if (kind in _TEXTS or kind == "instruction-delta") and isinstance(
            part.get("content"), str
        ):
            return (Text(part["content"]),), {}
        case _:
            return (Native(NAME, kind, json_text(part)),), {}


def _get(part: Mapping[str, Any], key: str) -> Any:
    return part.get(key)


def _lift_prompt(content: Any) -> tuple[tuple[Part, ...], dict[str, Any]]:
    if isinstance(content, str):
        return (Text(content),), {}
    items = listed(content)
    if items is None:
        raise DialectMismatch("a user prompt without content")
    points = [[place, item] for place, item in enumerate(items) if is_cache_point(item)]
    form: dict[str, Any] = {"list": True}
    if isinstance(content, Mapping):
        form["tuple"] = True
    if points:
        form["points"] = points
    return tuple(lift_item(item) for item in items if not is_cache_point(item)), form


def _lift_result(kind: str, part: Mapping[str, Any]) -> tuple[tuple[Part, ...], dict[str, Any]]:
    call_id, name = part.get("tool_call_id"), part.get("tool_name")
    if not isinstance(call_id, str | None) or not isinstance(name, str):
        raise DialectMismatch("a tool result without a name")
    inside, form = lift_value(part.get("content"))
    failed = kind == "retry-prompt" or part.get("outcome", "success") != "success"
    return (ToolResult(call_id, name, inside, is_error=failed),), form


def _lift_thinking(part: Mapping[str, Any]) -> tuple[tuple[Part, ...], dict[str, Any]]:
    text, signature = text_at(part, "content"), part.get("signature")
    sealed = signature if isinstance(signature, str) else None
    named = part.get("provider_name")
    writer = _WRITERS.get(named, named) if isinstance(named, str) else ""
    if sealed is not None and not text and part.get("id") in _SEALED_IDS:
        return (Reasoning(data=sealed, provider=writer),), {}
    return (Reasoning(text, signature=sealed, provider=writer),), {}


def _lift_call(part: Mapping[str, Any]) -> tuple[tuple[Part, ...], dict[str, Any]]:
    arguments, call_id, name = (
        part.get("args"),
        part.get("tool_call_id"),
        text_at(part, "tool_name"),
    )
    if not isinstance(call_id, str | None) or not isinstance(arguments, str | Mapping | None):
        raise DialectMismatch("a tool call of another shape")
    if arguments is None:
        return (ToolCall(call_id, name),), {"args": "none"}
    if isinstance(arguments, str):
        return (ToolCall(call_id, name, arguments),), {}
    return (ToolCall(call_id, name, json_text(arguments)),), {"args": "object"}


def _lift_speech(part: Mapping[str, Any]) -> tuple[tuple[Part, ...], dict[str, Any]]:
    parts: list[Part] = []
    if isinstance(text := part.get("transcript"), str):
        parts.append(Text(text))
    if (sound := part.get("audio")) is not None:
        parts.append(lift_item(sound))
    return tuple(parts), {"speaker": part.get("speaker")}


def render(kind: str, parts: Sequence[Any], form: Mapping[str, Any]) -> dict[str, Any]:
    """Write a part from its canonical parts alone."""
    made: dict[str, Any] = {"part_kind": kind}
    match kind, parts:
        case _, [ToolResult() as result]:
            made |= _render_result(kind, result, form)
        case "user-prompt", _:
            made["content"] = _render_prompt(parts, form)
        case "retry-prompt" | "retry-feedback", _:
            made["content"] = render_value(parts, form)
        case "thinking", [Reasoning() as thought]:
            made |= _render_thinking(thought)
        case "tool-call", [ToolCall() as call]:
            made |= _render_call(call, form)
        case "speech", _:
            made |= _render_speech(parts, form)
        case "file", [item]:
            made["content"] = lower_item(item)
        case _, [Text(text=text)]:
            made["content"] = text
    return made


def _render_prompt(parts: Sequence[Any], form: Mapping[str, Any]) -> Any:
    if not form.get("list") and len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    items = [lower_item(part) for part in parts]
    for place, point in form.get("points", ()):
        items.insert(place, point)
    return {TAG: "tuple", "items": items} if form.get("tuple") else items


def _render_result(kind: str, result: ToolResult, form: Mapping[str, Any]) -> dict[str, Any]:
    if result.name is None:
        unsupported("tool_result", NAME, "it does not name its tool", "Give the result a name.")
    made = {
        "tool_name": result.name,
        "content": render_value(result.parts, form),
        "tool_call_id": result.call_id,
    }
    return {**made, "outcome": "failed"} if result.is_error and kind == "tool-return" else made


def _render_thinking(thought: Reasoning) -> dict[str, Any]:
    named = _PROVIDERS.get(thought.provider, thought.provider)
    provider = {"provider_name": named} if named else {}
    if thought.data is not None:
        return {"content": "", "id": _SEALED_IDS[0], "signature": thought.data, **provider}
    sealed = {} if thought.signature is None else {"signature": thought.signature}
    return {"content": thought.text, **sealed, **provider}


def _render_call(call: ToolCall, form: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"tool_name": call.name, "tool_call_id": call.id}
    match form.get("args"):
        case "none":
            return {**made, "args": None}
        case "object":
            return {**made, "args": arguments_object(call.arguments, NAME)}
        case _:
            return {**made, "args": call.arguments}


def _render_speech(parts: Sequence[Any], form: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"speaker": form.get("speaker")}
    for part in parts:
        if isinstance(part, Text):
            made["transcript"] = part.text
        else:
            made["audio"] = lower_item(part)
    return made
