"""Wire rules of openai-chat: what Chat Completions servers refuse.

Each rule looks at raw messages and never raises: a malformed message breaks what it breaks.
The limit of 40 characters that OpenAI had for call ids is no rule here: other servers of this
wire accept longer ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.base import plain
from thusfar.dialects.rules import Rule, Wire

_ROLES: Final = ("developer", "system", "user", "assistant", "tool", "function")
_READ: Final = "read 2026-11-30"
_ISSUES: Final = "https://github.com/"


def _rows(wire: Wire) -> list[Mapping[str, Any]]:
    """View every message as a mapping; what is none becomes an empty one."""
    return [plain(message) or {} for message in wire.messages]


def _objects(value: Any) -> list[Mapping[str, Any]]:
    entries = value if isinstance(value, list | tuple) else ()
    return [plain(entry) or {} for entry in entries]


def _ids(row: Mapping[str, Any]) -> list[str]:
    """List the ids of the calls of a message, each as text, so that any value can be looked up."""
    if row.get("role") != "assistant":
        return []
    return [_key(call.get("id")) for call in _objects(row.get("tool_calls"))]


def _key(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _answers_behind(rows: Sequence[Mapping[str, Any]], start: int) -> set[str]:
    """Collect the call ids that the tool messages directly behind a message answer."""
    answered: set[str] = set()
    position = start + 1
    while position < len(rows) and rows[position].get("role") == "tool":
        answered.add(_key(rows[position].get("tool_call_id")))
        position += 1
    return answered


def _unknown_role(wire: Wire) -> Iterator[int]:
    return (i for i, row in enumerate(_rows(wire)) if row.get("role") not in _ROLES)


def _unanswered(wire: Wire) -> Iterator[int]:
    rows = _rows(wire)
    for i, row in enumerate(rows):
        ids = _ids(row)
        answered = _answers_behind(rows, i) if ids else set()
        if any(call_id not in answered for call_id in ids):
            yield i


def _orphan(wire: Wire) -> Iterator[int]:
    open_ids: set[str] = set()
    for i, row in enumerate(_rows(wire)):
        if row.get("role") != "tool":
            open_ids = set(_ids(row))
        elif _key(row.get("tool_call_id")) not in open_ids:
            yield i


def _without_call_id(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        if row.get("role") == "tool" and not isinstance(row.get("tool_call_id"), str):
            yield i


def _function_without_name(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        if row.get("role") == "function" and not row.get("name"):
            yield i


def _empty_calls(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        calls = row.get("tool_calls")
        if isinstance(calls, list | tuple) and not calls:
            yield i


def _nameless_call(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        calls = _objects(row.get("tool_calls"))
        if any((plain(call.get("function")) or {}).get("name") == "" for call in calls):
            yield i


def _no_content(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        calling = row.get("role") == "assistant" and (
            row.get("tool_calls") or row.get("function_call") or row.get("audio")
        )
        if row.get("content") is None and not calling and not row.get("refusal"):
            yield i


RULES: Final = (
    Rule(
        name="openai-chat/role",
        statement="The role is developer, system, user, assistant, tool or function.",
        source="openai-python 3.57.0, types/chat/chat_completion_message_param.py, generated "
        f"from the provider's OpenAPI description, {_READ}",
        check=_unknown_role,
    ),
    Rule(
        name="openai-chat/calls-answered",
        statement="Tool messages that answer every tool call follow the calls directly.",
        source="\"An assistant message with 'tool_calls' must be followed by tool messages "
        f"responding to each 'tool_call_id'\", {_ISSUES}BerriAI/litellm/issues/10083, {_READ}",
        check=_unanswered,
    ),
    Rule(
        name="openai-chat/result-follows-call",
        statement="A tool message answers a call of the assistant message before its run.",
        source="\"messages with role 'tool' must be a response to a preceeding message with "
        f"'tool_calls'\", {_ISSUES}miurla/morphic/issues/136; \"'tool_call_id' … not found in "
        f"'tool_calls' of previous message\", {_ISSUES}dapr/dapr-agents/issues/145, {_READ}",
        check=_orphan,
    ),
    Rule(
        name="openai-chat/result-call-id",
        statement="A tool message has a tool_call_id.",
        source="\"messages with role 'tool' must have a 'tool_call_id'\", "
        f"{_ISSUES}MadcowD/ell/issues/325, {_READ}",
        check=_without_call_id,
    ),
    Rule(
        name="openai-chat/function-name",
        statement="A function message has a name.",
        source="\"messages with role 'function' must have a 'name'\", "
        f"{_ISSUES}rsmeowry/chatgpt_rs/issues/75, {_READ}",
        check=_function_without_name,
    ),
    Rule(
        name="openai-chat/calls-not-empty",
        statement="A list of tool calls is left out when it is empty.",
        source="\"Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum "
        f'length 1", {_ISSUES}openai/openai-python/issues/2061, {_READ}',
        check=_empty_calls,
    ),
    Rule(
        name="openai-chat/call-name",
        statement="The name of a called function is not empty.",
        source="\"Invalid 'messages[69].tool_calls[0].function.name': empty string\", "
        f"{_ISSUES}continuedev/continue/issues/11645, {_READ}",
        check=_nameless_call,
    ),
    Rule(
        name="openai-chat/content",
        statement="Content is null only beside tool calls.",
        source="\"Invalid value for 'content': expected a string, got null\", "
        f"{_ISSUES}vercel/ai/pull/13744, {_READ}; that an assistant message may go without it "
        "beside tool_calls, function_call, audio or a refusal: openai-python 3.57.0, "
        "types/chat/chat_completion_assistant_message_param.py",
        check=_no_content,
    ),
)
"""What is refused; a request that breaks none may still be refused for other reasons."""
