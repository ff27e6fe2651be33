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
from thusfar.thread.lowering import lower_all

USER_FIRST: Final = frozenset({"anthropic", "gemini", "bedrock-converse"})


def placed_messages(
    sealed: Sealed, dialect: Dialect, wire: Dialect, *, leave_out: bool = False
) -> list[Any]:
    """List the messages as the wire takes them.

    Args:
        sealed: The request.
        dialect: The format its messages were planned in.
        wire: The format that is sent.
        leave_out: Whether parts with no form on the wire are left out.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on the wire.
    """
    messages = _placed(sealed, dialect, wire.name)
    if wire is dialect:
        return messages
    canonical = map(dialect.lift, messages)
    return lower_all(canonical, wire, leave_out=leave_out, as_json=False).messages


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


def placed(
    sealed: Sealed, dialect: Dialect, wire: Dialect, *, leave_out: bool = False
) -> Assembled:
    """Give the pieces of a request as the wire takes them; arguments as for `placed_messages`."""
    return replace(
        sealed.request,
        messages=placed_messages(sealed, dialect, wire, leave_out=leave_out),
        system=placed_system(sealed, dialect, wire),
    )


def placed_system(sealed: Sealed, dialect: Dialect, wire: Dialect) -> Any:
    """Give the system value: where the wire keeps it outside the list, the leading run is in it."""
    run = sealed.request.messages[: _system_run(sealed)]
    if wire.name not in USER_FIRST or not run:
        return sealed.request.system
    texts = [text for message in run if (text := dialect.lift(message).text)]
    return joined_system(sealed.request.system, texts)


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
