"""What a tool output of openai-responses says: text, content parts, shell chunks, or JSON.

The text a model reads is always in the parts of the result; the note says only how it stood on
the wire, so that a result whose text was shortened can still be written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.codec import parse_json, text_of
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_notes import note, noted, table, unsupported, without
from thusfar.dialects.openai_responses_parts import (
    NAME,
    Inner,
    lift_parts,
    lower_part,
    part_kind,
)
from thusfar.errors import TranscriptError
from thusfar.messages import Text, ToolResult

APPROVAL: Final = ("approve", "reason")
_FREE: Final = ("function_call_output", "custom_tool_call_output")


def lift_value(
    item: Mapping[str, Any], kind: str, field: str
) -> tuple[tuple[Inner, ...], dict[str, Any], list[str]]:
    """Read what an output item says.

    Returns:
        The parts, the facts for the note, and the fields that were read.
    """
    if kind == "mcp_approval_response":
        said = {key: item[key] for key in APPROVAL if key in item}
        return (Text(text_of(said)),), {"form": "json"}, list(APPROVAL)
    if field not in item:
        return (), {"form": "absent"}, []
    value = item[field]
    if isinstance(value, str):
        return (Text(value),) if value else (), {}, [field]
    if value is None:
        return (), {"form": "null"}, [field]
    if kind == "shell_call_output" and (chunks := _chunks(value)):
        likes = [without(chunk, "stdout", "stderr") for chunk in chunks]
        return _lift_chunks(chunks), {"form": "chunks", "chunks": likes}, [field]
    if isinstance(value, list | tuple) and kind != "tool_search_output" and _are_parts(value):
        return lift_parts(value, "tool"), {"form": "list"}, [field]
    if isinstance(value, Mapping) and _are_parts([value]):
        lifted = lift_parts([value], "tool")
        if not isinstance(lifted[0], Text):
            return lifted, {"form": "one"}, [field]
    return (Text(text_of(value)),), {"form": "json"}, [field]


def _are_parts(value: Sequence[Any]) -> bool:
    try:
        return all(part_kind(part) for part in value)
    except DialectMismatch:
        return False


def _chunks(value: Any) -> list[Mapping[str, Any]] | None:
    """Read shell output as chunks of two streams; `None` when it is anything else."""
    if not isinstance(value, list | tuple):
        return None
    for chunk in value:
        if not isinstance(chunk, Mapping):
            return None
        if not isinstance(chunk.get("stdout"), str) or not isinstance(chunk.get("stderr"), str):
            return None
    return list(value)


def _lift_chunks(chunks: Sequence[Mapping[str, Any]]) -> tuple[Text, ...]:
    return tuple(
        Text(chunk[stream], wire=note(NAME, chunk=number, stream=stream))
        for number, chunk in enumerate(chunks)
        for stream in ("stdout", "stderr")
        if chunk[stream]
    )


def lower_value(
    result: ToolResult, kind: str, field: str, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Write what an output item says, in the noted form where it still has that form.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, where the item type needs a form that the
            parts no longer have.
    """
    form = facts.get("form")
    parts = result.parts
    if form in ("absent", "null") and not parts:
        return {} if form == "absent" else {field: None}
    if form == "reason":
        return {"reason": "".join(part.text for part in parts if isinstance(part, Text))}
    if form == "chunks":
        return {field: _lower_chunks(result, facts.get("chunks"))}
    if form == "json" and len(parts) == 1 and isinstance(parts[0], Text):
        value = _parsed(parts[0].text, kind)
        if kind == "mcp_approval_response":
            return table(value)
        if value is not None:
            return {field: value}
    if form == "one" and len(parts) == 1 and not isinstance(parts[0], Text):
        return {field: lower_part(parts[0], "tool")}
    if form in ("json", "one") and kind not in _FREE:
        raise unsupported(f"an edited {kind}", NAME)
    plain = len(parts) == 1 and isinstance(parts[0], Text) and not noted(parts[0].wire, NAME)
    if form != "list" and plain and isinstance(parts[0], Text):
        return {field: parts[0].text}
    if form != "list" and not parts:
        return {field: ""}
    return {field: [lower_part(part, "tool") for part in parts]}


def _parsed(text: str, kind: str) -> Any:
    try:
        return parse_json(text, where="a tool output")
    except TranscriptError:
        if kind in _FREE:
            return None
        raise unsupported(f"an edited {kind}", NAME) from None


def _lower_chunks(result: ToolResult, likes: Any) -> list[dict[str, Any]]:
    """Write shell output; text without a place goes to the first stream."""
    noted_likes = likes if isinstance(likes, list) else []
    made = [{**table(like), "stdout": "", "stderr": ""} for like in noted_likes]
    for part in result.parts:
        if not isinstance(part, Text) or not made:
            raise unsupported("something other than text in shell output", NAME)
        facts = noted(part.wire, NAME)
        number, stream = facts.get("chunk", 0), facts.get("stream", "stdout")
        if not isinstance(number, int) or not 0 <= number < len(made):
            number = len(made) - 1
        made[number]["stderr" if stream == "stderr" else "stdout"] += part.text
    return made
