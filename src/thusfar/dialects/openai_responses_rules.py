"""Wire rules of openai-responses: what the Responses API refuses.

Each rule looks at raw items and never raises: a malformed item breaks what it breaks. Where the
provider holds earlier items, or an `item_reference` stands for one, pairs are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from thusfar.dialects.base import plain
from thusfar.dialects.rules import Rule, Wire

_READ: Final = "read 2026-11-30"
_ISSUES: Final = "https://github.com/"
_MAX_ID: Final = 64  # characters
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_ROLES: Final = ("user", "assistant", "system", "developer")
_ANSWERED: Final = ("function_call", "custom_tool_call", "local_shell_call")
_PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_NOT_FOLLOWING: Final = ("user", "system", "developer")


def _rows(wire: Wire) -> list[Mapping[str, Any]]:
    """View every item as a mapping; what is none becomes an empty one."""
    return [plain(item) or {} for item in wire.messages]


def _kind(row: Mapping[str, Any]) -> Any:
    kind = row.get("type")
    if kind is None:
        return "message" if "role" in row else "item_reference"
    return kind


def _is_output(row: Mapping[str, Any]) -> bool:
    return str(_kind(row)).endswith("_output")


def _answers(row: Mapping[str, Any]) -> Any:
    """Tell the call id that an output refers to; some clients write it as `id`."""
    if _kind(row) == "local_shell_call_output" and row.get("call_id") is None:
        return row.get("id")
    return row.get("call_id")


def _unknown_role(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        if _kind(row) == "message" and row.get("role") not in _ROLES:
            yield i


def _unanswered(wire: Wire) -> Iterator[int]:
    rows = _rows(wire)
    later: set[str] = set()
    found: list[int] = []
    for i in range(len(rows) - 1, -1, -1):
        row = rows[i]
        if _kind(row) == "item_reference":
            break
        if _is_output(row):
            later.add(str(_answers(row)))
        elif _kind(row) in _ANSWERED and str(row.get("call_id")) not in later:
            found.append(i)
    yield from reversed(found)


def _orphan(wire: Wire) -> Iterator[int]:
    if wire.continued:
        return
    earlier: set[str] = set()
    for i, row in enumerate(_rows(wire)):
        if _kind(row) == "item_reference":
            return
        if _kind(row) == "function_call_output":
            call_id = row.get("call_id")
            if isinstance(call_id, str) and call_id not in earlier:
                yield i
        elif not _is_output(row) and isinstance(row.get("call_id"), str):
            earlier.add(row["call_id"])


def _unfollowed(wire: Wire) -> Iterator[int]:
    rows = _rows(wire)
    for i, row in enumerate(rows):
        if _kind(row) != "reasoning":
            continue
        following = rows[i + 1] if i + 1 < len(rows) else {"role": "user"}
        if following.get("role") in _NOT_FOLLOWING or _is_output(following):
            yield i


def _long_id(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        ids = (row.get("id"), row.get("call_id"))
        if any(isinstance(value, str) and len(value) > _MAX_ID for value in ids):
            yield i


def _empty_call_id(wire: Wire) -> Iterator[int]:
    return (i for i, row in enumerate(_rows(wire)) if row.get("call_id") == "")


def _odd_id(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        if isinstance(row.get("id"), str) and not _ID.fullmatch(row["id"]):
            yield i


def _wrong_prefix(wire: Wire) -> Iterator[int]:
    for i, row in enumerate(_rows(wire)):
        prefix = _PREFIXES.get(str(_kind(row)))
        value = row.get("id")
        if prefix and isinstance(value, str) and value and not value.startswith(prefix):
            yield i


def _twice(wire: Wire) -> Iterator[int]:
    seen: set[str] = set()
    for i, row in enumerate(_rows(wire)):
        value = row.get("id")
        if not isinstance(value, str) or _kind(row) == "local_shell_call_output":
            continue
        if value in seen:
            yield i
        seen.add(value)


RULES: Final = (
    Rule(
        name="openai-responses/role",
        statement="The role of a message is user, assistant, system or developer.",
        source="openai-python 3.57.0, types/responses/easy_input_message_param.py, generated "
        f"from the provider's OpenAPI description, {_READ}",
        check=_unknown_role,
    ),
    Rule(
        name="openai-responses/calls-answered",
        statement="A function, custom tool or local shell call has its output behind it.",
        source='"No tool output found for function call", '
        f'{_ISSUES}router-for-me/CLIProxyAPI/issues/2368; "… for custom tool call", '
        f'{_ISSUES}Soju06/codex-lb/issues/1168; "… for local shell call", '
        f"{_ISSUES}openai/openai-agents-python/pull/1855, {_READ}",
        check=_unanswered,
    ),
    Rule(
        name="openai-responses/output-follows-call",
        statement="A function_call_output has its call before it.",
        source='"No tool call found for function call output with call_id", '
        f"{_ISSUES}microsoft/vscode/issues/320060, {_READ}; that an earlier response may hold "
        "the call: recorded requests with previous_response_id and with conversation",
        check=_orphan,
    ),
    Rule(
        name="openai-responses/reasoning-followed",
        statement="A reasoning item stands directly before the item that it belongs to.",
        source="\"Item 'rs_…' of type 'reasoning' was provided without its required following "
        f'item", {_ISSUES}openai/openai-node/issues/1567, {_READ}',
        check=_unfollowed,
    ),
    Rule(
        name="openai-responses/id-length",
        statement="An id or call_id has at most 64 characters.",
        source="\"Invalid 'input[1].id': string too long. Expected a string with maximum length "
        f'64", {_ISSUES}github/app/issues/499; the same for call_id, '
        f"{_ISSUES}AnswerDotAI/fastllm/issues/45, {_READ}",
        check=_long_id,
    ),
    Rule(
        name="openai-responses/call-id-not-empty",
        statement="A call_id is not empty.",
        source="\"Invalid 'input[22].call_id': empty string. Expected a string with minimum "
        f'length 1", {_ISSUES}earendil-works/pi/issues/2917, {_READ}',
        check=_empty_call_id,
    ),
    Rule(
        name="openai-responses/id-characters",
        statement="An item id has only letters, digits, underscores and dashes, and at least one.",
        source='"Expected an ID that contains letters, numbers, underscores, or dashes", '
        f"{_ISSUES}langchain-ai/langchainjs/issues/11044, {_READ}",
        check=_odd_id,
    ),
    Rule(
        name="openai-responses/id-prefix",
        statement="The id of a message, function call or reasoning item begins with msg, fc or rs.",
        source="\"Expected an ID that begins with 'msg'\", "
        f"{_ISSUES}openai/codex/issues/33176; the same for 'fc', "
        f"{_ISSUES}nodetool-ai/nodetool/pull/4252, and 'rs', "
        f"{_ISSUES}jlcodes99/cockpit-tools/issues/2090, {_READ}",
        check=_wrong_prefix,
    ),
    Rule(
        name="openai-responses/id-once",
        statement="No item id is there twice.",
        source='"Duplicate item found with id", '
        f"{_ISSUES}OpenRouterTeam/ai-sdk-provider/issues/254, {_READ}",
        check=_twice,
    ),
)
"""What is refused; a request that breaks none may still be refused for other reasons."""
