"""Checking: what a provider would refuse about a request, by the rules of its dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from thusfar.dialects.rules import Finding, Wire, check_wire

_MODULES: Final = {
    "openai-chat": "openai_chat_rules",
    "openai-responses": "openai_responses_rules",
    "anthropic": "anthropic_rules",
    "gemini": "gemini_rules",
}


def findings_of(wire: str, body: Any) -> tuple[Finding, ...]:
    """Check the messages of a request body.

    Args:
        wire: Name of the dialect.
        body: The body, parsed; anything that is no object breaks no rule of messages.
    """
    if not isinstance(body, Mapping):
        return ()
    rules = import_module(f"thusfar.dialects.{_MODULES[wire]}").RULES
    return check_wire(rules, as_wire(wire, body))


def as_wire(wire: str, body: Mapping[str, Any]) -> Wire:
    """View a request body as the rules of its dialect see a request."""
    if wire == "gemini":
        body = body.get("generateContentRequest") or body
        return Wire(
            messages=messages_of(wire, body),
            system=body.get("systemInstruction"),
            tools=_sequence(body.get("tools")),
        )
    return Wire(
        messages=messages_of(wire, body),
        system=body.get("system") if wire == "anthropic" else body.get("instructions"),
        tools=_sequence(body.get("tools")),
        continued=bool(body.get("previous_response_id") or body.get("conversation")),
    )


def messages_of(wire: str, body: Mapping[str, Any]) -> list[Any]:
    """List the messages of a request body, on each wire in its own form."""
    field = {"gemini": "contents", "openai-responses": "input"}.get(wire, "messages")
    value = body.get(field)
    if wire == "openai-responses" and isinstance(value, str):
        return [{"role": "user", "content": value}]
    if isinstance(value, Mapping) and wire == "gemini":
        return [value]
    return list(value) if isinstance(value, list) else []


def _sequence(value: Any) -> Sequence[Any] | None:
    return value if isinstance(value, list) else None


def missing_from(wire: str, kind: str, body: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Find the fields that a provider requires of a request and that are not there.

    Source:
        The types of requests in openai-python 3.57.0 (types/chat/completion_create_params.py,
        types/responses/response_compact_params.py) and anthropic-sdk-python 2.14.0
        (types/message_create_params.py), generated from the providers' OpenAPI descriptions, read
        2026-11-30: the fields that they mark as required
    """
    return tuple(
        Finding(
            rule=f"{wire}/field-{field.replace('_', '-')}",
            position=0,
            statement=f"A request has the field {field}.",
        )
        for field in _REQUIRED.get((wire, kind), ())
        if body.get(field) is None
    )


_REQUIRED: Final = {
    ("openai-chat", "generate"): ("model", "messages"),
    ("openai-responses", "compact"): ("model",),
    ("anthropic", "generate"): ("model", "messages", "max_tokens"),
    ("anthropic", "compact"): ("model", "messages", "max_tokens"),
    ("anthropic", "count"): ("model", "messages"),
}
