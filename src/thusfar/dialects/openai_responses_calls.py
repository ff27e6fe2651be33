"""Calls and outputs of openai-responses: every pair of items that answers by an id.

Calls of tools that the provider defines (shell, computer, patches, tool search, approvals,
programs) become `ToolCall` and `ToolResult` like function calls do, so that no view can part
them. What an item has beside id, name and arguments stands in its note.

Source:
    openai-python 3.57.0, types/responses/response_input_item_param.py, generated from the
    provider's OpenAPI description. Read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from thusfar.codec import parse_json, text_of
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_notes import (
    filled,
    note,
    noted,
    table,
    text_or_none,
    unsupported,
    without,
)
from thusfar.dialects.openai_responses_outputs import lift_value, lower_value
from thusfar.dialects.openai_responses_parts import NAME
from thusfar.errors import TranscriptError
from thusfar.facts import Link
from thusfar.messages import ToolCall, ToolResult


class CallKind(NamedTuple):
    """How an item type calls.

    Attributes:
        name: The canonical tool name; empty where the item names its tool itself.
        fields: Fields that are the arguments.
        form: Whether the one field is the JSON `text` of the arguments, or their `whole`
            value, or the `fields` together make an object of arguments.
        id: The field that the output refers to.
    """

    name: str
    fields: tuple[str, ...]
    form: Literal["text", "whole", "fields"] = "fields"
    id: str = "call_id"


class OutputKind(NamedTuple):
    """How an item type answers: the field with the answer, and the one that refers to the call."""

    field: str
    id: str = "call_id"


CALLS: Final[dict[str, CallKind]] = {
    "function_call": CallKind("", ("arguments",), "text"),
    "custom_tool_call": CallKind("", ("input",)),
    "computer_call": CallKind("computer", ("action", "actions")),
    "local_shell_call": CallKind("local_shell", ("action",)),
    "shell_call": CallKind("shell", ("action",)),
    "apply_patch_call": CallKind("apply_patch", ("operation",)),
    "tool_search_call": CallKind("tool_search", ("arguments",), "whole"),
    "mcp_approval_request": CallKind("", ("arguments",), "text", id="id"),
    "program": CallKind("program", ("code",)),
}
ANSWERED_BY_TEXT: Final[dict[str, str]] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "mcp_approval_request": "mcp_approval_response",
}
"""Output types that plain text can make, by the type of call."""

_UNKNOWN: Final = CallKind("", ())
OUTPUTS: Final[dict[str, OutputKind]] = {
    "function_call_output": OutputKind("output"),
    "custom_tool_call_output": OutputKind("output"),
    "computer_call_output": OutputKind("output"),
    "local_shell_call_output": OutputKind("output"),
    "shell_call_output": OutputKind("output"),
    "apply_patch_call_output": OutputKind("output"),
    "tool_search_output": OutputKind("tools"),
    "mcp_approval_response": OutputKind("approve", id="approval_request_id"),
    "program_output": OutputKind("result"),
}


def call_kind(item: Mapping[str, Any], kind: str) -> CallKind | None:
    """Tell how an item calls; `None` when it is no call that waits for an item of its own.

    An unknown type that ends in `_call` and has a `call_id` is one: its output would be refused
    without it. Tool search that the provider runs has no `call_id` and is none.
    """
    known = CALLS.get(kind)
    if kind == "tool_search_call" and not _client_runs(item):
        return None
    if known is None and kind.endswith("_call") and filled(item.get("call_id")):
        named = isinstance(item.get("name"), str)
        beside = ("type", "call_id", "id", "status", "name")
        fields = tuple(key for key in item if key not in beside)
        return CallKind("" if named else kind.removesuffix("_call"), fields)
    return known


def output_kind(item: Mapping[str, Any], kind: str) -> OutputKind | None:
    """Tell how an item answers; `None` when it answers nothing. Unknown types as for calls."""
    known = OUTPUTS.get(kind)
    if kind == "tool_search_output" and not _client_runs(item):
        return None
    if kind == "local_shell_call_output" and not filled(item.get("call_id")):
        return OutputKind("output", id="id")  # documented so, though the server reads call_id
    if known is None and kind.endswith("_output") and filled(item.get("call_id")):
        return OutputKind("output")
    return known


def _client_runs(item: Mapping[str, Any]) -> bool:
    return item.get("execution") != "server" and isinstance(item.get("call_id"), str)


def read_call(item: Mapping[str, Any], how: CallKind) -> Link:
    """Read the id and the tool name of a call.

    Raises:
        DialectMismatch: When they, or arguments that should be text, are of another type.
    """
    name = how.name or item.get("name")
    if not isinstance(name, str):
        raise DialectMismatch
    if how.form == "text":
        text_or_none(item.get(how.fields[0]))
    return Link(text_or_none(item.get(how.id)), name)


def read_output(item: Mapping[str, Any], how: OutputKind) -> Link:
    """Read the id and, where it stands there, the tool name of an output.

    Raises:
        DialectMismatch: When they are of another type.
    """
    return Link(text_or_none(item.get(how.id)), text_or_none(item.get("name")))


def lift_call(item: Mapping[str, Any], kind: str, how: CallKind) -> ToolCall:
    """Convert a call item."""
    link = read_call(item, how)
    taken = ["type", *how.fields]
    if not how.name:
        taken.append("name")
    if link.id is not None:
        taken.append(how.id)
    arguments, form = _lift_arguments(item, how)
    rest = without(item, *taken)
    plain = kind == "function_call" and not rest and not form and link.id is not None
    wire = note(
        NAME,
        kind=None if plain else kind,
        arguments=form,
        bare=link.id is None,
        unnamed=bool(how.name) and kind not in CALLS,
        rest=rest,
    )
    return ToolCall(link.id, link.name or "", arguments, wire=wire)


def _lift_arguments(item: Mapping[str, Any], how: CallKind) -> tuple[str, str]:
    """Make the JSON text of the arguments, and say how they stood there if not as usual."""
    if how.form != "fields":
        value = item.get("arguments")
        if value is None:
            return "{}", "null" if "arguments" in item else "absent"
        return (value, "") if how.form == "text" else (text_of(value), "")
    return text_of({key: item[key] for key in how.fields if key in item}), ""


def lift_output(item: Mapping[str, Any], kind: str, how: OutputKind) -> ToolResult:
    """Convert an output item."""
    link = read_output(item, how)
    parts, facts, taken = lift_value(item, kind, how.field)
    taken += ["type"]
    if link.id is not None:
        taken.append(how.id)
    if link.name is not None:
        taken.append("name")
    wire = note(
        NAME,
        kind=kind if kind != "function_call_output" else None,
        id=how.id if how.id != "call_id" else None,
        bare=link.id is None,
        named=link.name is not None,
        rest=without(item, *taken),
        **facts,
    )
    failed = kind == "apply_patch_call_output" and item.get("status") == "failed"
    return ToolResult(link.id, link.name, parts, is_error=failed, wire=wire)


def lower_call(call: ToolCall) -> dict[str, Any]:
    """Write a call item; a call from elsewhere becomes a `function_call`.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a call without an id, and for arguments
            of a provider's tool that are no longer an object.
    """
    facts = noted(call.wire, NAME)
    kind = facts["kind"] if isinstance(facts.get("kind"), str) else "function_call"
    if call.id is None and not facts.get("bare"):
        raise unsupported("a tool call without an id", NAME)
    how = CALLS.get(kind, _UNKNOWN)
    made: dict[str, Any] = {"type": kind, **table(facts.get("rest"))}
    if call.id is not None:
        made[how.id] = call.id
    if not how.name and not facts.get("unnamed"):
        made["name"] = call.name
    form = facts.get("arguments") if call.arguments == "{}" else None
    if form in ("null", "absent"):
        return made if form == "absent" else {**made, "arguments": None}
    if how.form == "text":
        return {**made, "arguments": call.arguments}
    arguments = _arguments(call, kind)
    if how.form == "whole":
        return {**made, "arguments": arguments}
    if not isinstance(arguments, dict):
        raise unsupported(f"arguments of {kind} that are no object", NAME)
    return {**made, **arguments}


def _arguments(call: ToolCall, kind: str) -> Any:
    try:
        return parse_json(call.arguments, where="the arguments of a tool call")
    except TranscriptError:
        raise unsupported(f"arguments of {kind} that are not JSON", NAME) from None


def answer_facts(kind: str, *, is_error: bool) -> dict[str, Any]:
    """Make the note of an output that answers a type of call with plain text.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a call that text cannot answer.
    """
    if kind not in ANSWERED_BY_TEXT:
        raise unsupported(f"a text in answer to a {kind}", NAME)
    facts: dict[str, Any] = {"kind": ANSWERED_BY_TEXT[kind]}
    if kind == "shell_call":
        outcome = {"type": "timeout"} if is_error else {"type": "exit", "exit_code": 0}
        facts |= {"form": "chunks", "chunks": [{"outcome": outcome}]}
    elif kind == "apply_patch_call":
        facts["rest"] = {"status": "failed" if is_error else "completed"}
    elif kind == "mcp_approval_request":
        facts |= {"form": "reason", "rest": {"approve": not is_error}}
    return facts


def answer_note(call: ToolCall) -> str:
    """Write the note of a result that answers a call; see `base.answer_note`.

    The output of an unknown type of call is named after it, as those of the known types are.
    """
    kind = noted(call.wire, NAME).get("kind")
    if kind is None or kind == "function_call":
        return ""
    return note(NAME, kind=kind if kind in CALLS else f"{kind}_output")


def lower_output(result: ToolResult) -> dict[str, Any]:
    """Write an output item; a result from elsewhere becomes a `function_call_output`.

    A result that bears the note of its call (as one made up for an unanswered call may)
    becomes the output that this type of call asks for. That a result was an error has a field
    in few types; elsewhere its text says so.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a result without a call id, and for
            content that the item type cannot carry.
    """
    facts = noted(result.wire, NAME)
    if facts.get("kind") in CALLS:
        facts = answer_facts(facts["kind"], is_error=result.is_error)
    kind = facts["kind"] if isinstance(facts.get("kind"), str) else "function_call_output"
    if result.call_id is None and not facts.get("bare"):
        raise unsupported("a tool result without a call id", NAME)
    how = OUTPUTS.get(kind, OutputKind("output"))
    made: dict[str, Any] = {"type": kind, **table(facts.get("rest"))}
    if result.call_id is not None:
        id_field = facts.get("id")
        made[id_field if isinstance(id_field, str) else how.id] = result.call_id
    if result.name is not None and facts.get("named"):
        made["name"] = result.name
    return {**made, **lower_value(result, kind, how.field, facts)}
