"""pi: session logs of the pi coding agent, one JSON entry a line.

The log has message objects of its own; they become `thusfar.Message`s. From version 2 on entries
have `id` and `parentId`, and the transcript is the path to the last entry. Nothing is repaired:
an aborted reply stays, empty or with calls that were never answered.

Source:
    badlogic/pi-mono, packages/coding-agent/docs/session.md, read 2026-11-30, and a recorded log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from thusfar.codec import json_text
from thusfar.messages import Image, Message, Native, Part, Reasoning, Text, ToolCall, ToolResult
from thusfar.sources.loaded import Entry, Loaded, unreadable
from thusfar.sources.paths import Node, live_path, repeated

_DIALECT: Final = "thusfar"
_ENTRY_KEYS: Final = {
    "session": {"cwd"},
    "message": {"message", "timestamp"},
    "model_change": {"modelId"},
    "thinking_level_change": {"thinkingLevel"},
    "compaction": {"summary", "tokensBefore"},
}
_WRITERS: Final = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai-responses",
    "openai-completions": "openai-chat",
    "google-generative-ai": "gemini",
    "bedrock-converse-stream": "bedrock-converse",
}
_BROKEN_OFF: Final = ("aborted", "error")


def is_pi(records: Sequence[Any]) -> bool:
    """Tell whether any of the records is an entry of a pi session, or a bare pi message."""
    return any(
        isinstance(each, dict) and (_is_entry(each) or _is_message(each)) for each in records
    )


def load_pi(records: Sequence[Any], lines: Sequence[int]) -> Loaded:
    """Read the live path of a session.

    Args:
        records: The parsed lines, in file order; bare messages are taken too.
        lines: The line of each.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for a message of another shape, naming its line.
    """
    wrapped = [
        {"type": "message", "message": each} if isinstance(each, dict) and "role" in each else each
        for each in records
    ]
    again = repeated(wrapped, [_node(each) for each in wrapped])
    wrapped = [{"type": ""} if p in again else each for p, each in enumerate(wrapped)]
    nodes = [_node(each) for each in wrapped]
    live = live_path(nodes)
    entries = tuple(
        _entry(record, line, node, live=position in live)
        for position, (record, line, node) in enumerate(zip(wrapped, lines, nodes, strict=True))
    )
    messages = tuple(message for entry in entries if entry.live for message in entry.messages)
    return Loaded(
        kind="pi",
        dialect=_DIALECT,
        messages=messages,
        model=_model(entries),
        entries=entries,
        facts=_facts(entries, messages),
    )


def _is_entry(record: dict[str, Any]) -> bool:
    needed = _ENTRY_KEYS.get(record["type"]) if isinstance(record.get("type"), str) else None
    return needed is not None and record.keys() >= needed


def _is_message(record: Any) -> bool:
    if not isinstance(record, dict) or "role" not in record:
        return False
    if record["role"] == "toolResult":
        return True
    return record["role"] == "assistant" and record.keys() >= {"api", "provider", "stopReason"}


def _node(record: Any) -> Node:
    if not isinstance(record, dict) or record.get("type") == "session":
        return Node(None, None)  # the id of a session is not the id of an entry
    own, parent = record.get("id"), record.get("parentId")
    return Node(own if isinstance(own, str) else None, parent if isinstance(parent, str) else None)


def _entry(record: Any, line: int, node: Node, *, live: bool) -> Entry:
    said: tuple[Message, ...] = ()
    if isinstance(record, dict) and record.get("type") == "message":
        said = _message(record.get("message"), line)
    elif isinstance(record, dict) and record.get("type") == "custom_message":
        said = (Message("user", _parts(record.get("content"), line, "")),)
    elif not isinstance(record, dict) or not isinstance(record.get("type"), str):
        raise _refusal(line)
    return Entry(
        line=line,
        kind="message" if said else "other",
        id=node.id,
        parent=node.parent,
        live=live and bool(said),
        messages=said,
        record=record,
    )


def _message(value: Any, line: int) -> tuple[Message, ...]:
    if not isinstance(value, dict):
        raise _refusal(line)
    match value.get("role"):
        case "user" | "custom" | "hookMessage":
            return (Message("user", _parts(value.get("content"), line, "")),)
        case "assistant":
            writer = _WRITERS.get(str(value.get("api")), "")
            stop = value.get("stopReason")
            metadata = {"stop_reason": stop} if stop in _BROKEN_OFF else {}
            parts = _parts(value.get("content"), line, writer)
            return (Message("assistant", parts, metadata=metadata),)
        case "toolResult":
            return (Message("tool", (_result(value, line),)),)
        case "bashExecution":
            return (Message("user", (Text(f"$ {value.get('command')}\n{value.get('output')}"),)),)
        case "branchSummary" | "compactionSummary":
            return ()
        case _:
            raise _refusal(line)


def _result(value: dict[str, Any], line: int) -> ToolResult:
    call_id, name = value.get("toolCallId"), value.get("toolName")
    if not isinstance(call_id, str) or not isinstance(name, str | None):
        raise _refusal(line)
    parts = tuple(
        part
        if isinstance(part, Text | Image | Native)
        else Native("pi", type(part).__name__, json_text(value["content"][number]))
        for number, part in enumerate(_parts(value.get("content"), line, ""))
    )
    return ToolResult(call_id, name, parts, is_error=value.get("isError") is True)


def _parts(content: Any, line: int, writer: str) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise _refusal(line)
    return tuple(_part(block, line, writer) for block in content)


def _part(block: dict[str, Any], line: int, writer: str) -> Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text, wire=_rest(block, "text"))
        case {"type": "thinking", "thinking": str(text)}:
            sealed = block.get("thinkingSignature")
            signature = sealed if isinstance(sealed, str) else None
            if block.get("redacted") is True:
                return Reasoning(data=signature, provider=writer)
            return Reasoning(text, signature=signature, provider=writer)
        case {"type": "toolCall", "id": str(call_id), "name": str(name), "arguments": arguments}:
            rest = _rest(block, "id", "name", "arguments")
            return ToolCall(call_id, name, json_text(arguments), wire=rest)
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            return Image(mime, data)
        case {"type": str(kind)} if kind not in ("text", "thinking", "toolCall", "image"):
            return Native("pi", kind, json_text(block))
        case _:
            raise _refusal(line)


def _rest(block: dict[str, Any], *taken: str) -> str:
    rest = {key: value for key, value in block.items() if key != "type" and key not in taken}
    return json_text({"pi": rest}) if rest else ""


def _model(entries: Sequence[Entry]) -> str | None:
    for entry in reversed(entries):
        message = entry.record.get("message") if entry.live else None
        if isinstance(message, dict) and isinstance(model := message.get("model"), str):
            return model
    return None


def _facts(entries: Sequence[Entry], messages: Sequence[Message]) -> dict[str, int]:
    stopped = Counter(message.metadata.get("stop_reason") for message in messages)
    said = sum(entry.kind == "message" for entry in entries)
    return {
        "records": len(entries),
        "messages": len(messages),
        "alternatives": said - sum(entry.live for entry in entries),
        "other": len(entries) - said,
        "aborted": stopped["aborted"],
        "failed": stopped["error"],
    }


def _refusal(line: int) -> Exception:
    return unreadable(
        f"Line {line} of a pi session has an unknown shape.",
        fix="Correct or remove that line.",
        line=line,
    )
