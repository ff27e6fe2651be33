"""Gemini CLI: session files, one JSON object or one record a line.

The log holds its own form of messages; they are converted to Gemini contents: thoughts, text and
calls of one reply are one `model` content, the results of its calls one `user` content behind it.
A call without a result is left as it is. Notices to the user are counted, not given.

Source:
    google-gemini/gemini-cli, packages/core/src/services/chatRecordingTypes.ts, read 2026-11-30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from thusfar.sources.loaded import Entry, Loaded, require_fit, unreadable

_DIALECT: Final = "gemini"
_NOTICES: Final = frozenset({"info", "error", "warning"})


def is_gemini_cli(records: Sequence[Any]) -> bool:
    """Tell whether the records are a session of Gemini CLI."""
    head = records[0] if records else None
    return isinstance(head, dict) and head.keys() >= {"sessionId", "projectHash"}


def load_gemini_cli(records: Sequence[Any], lines: Sequence[int]) -> Loaded:
    """Read a session.

    Args:
        records: The one object, or the parsed lines in file order.
        lines: The line of each.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for a record of another shape, naming its line
            or, in a file of one object, its position.
    """
    entries = tuple(_entry(record, line) for line, record in _messages(records, lines))
    messages = tuple(content for entry in entries for content in entry.messages)
    require_fit(_DIALECT, messages)
    counted = Counter(entry.kind for entry in entries)
    models = [model for entry in entries if isinstance(model := entry.record.get("model"), str)]
    return Loaded(
        kind="gemini-cli",
        dialect=_DIALECT,
        messages=messages,
        model=models[-1] if models else None,
        entries=entries,
        facts={"records": len(entries), "messages": len(messages), "other": counted["other"]},
    )


def _messages(records: Sequence[Any], lines: Sequence[int]) -> list[tuple[int, dict[str, Any]]]:
    """List the message records that are in force, after updates and rewinds."""
    kept: dict[str, tuple[int, dict[str, Any]]] = {}
    for line, record in zip(lines, records, strict=True):
        if not isinstance(record, dict):
            raise _refusal(line)
        if isinstance(listed := record.get("messages"), list):
            kept = _keyed(enumerate(listed, 1))
        elif isinstance(update := record.get("$set"), dict):
            if isinstance(listed := update.get("messages"), list):
                kept = _keyed((line, each) for each in listed)
        elif "$rewindTo" in record:
            ids = list(kept)
            if record["$rewindTo"] in kept:
                for gone in ids[ids.index(record["$rewindTo"]) :]:
                    del kept[gone]
        elif "type" in record:
            kept |= _keyed([(line, record)])
    return list(kept.values())


def _keyed(numbered: Any) -> dict[str, tuple[int, dict[str, Any]]]:
    kept: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, record in numbered:
        if not isinstance(record, dict) or not isinstance(record.get("id"), str):
            raise _refusal(number)
        kept[record["id"]] = (number, record)
    return kept


def _entry(record: dict[str, Any], line: int) -> Entry:
    match record.get("type"):
        case "user":
            said: tuple[Any, ...] = (
                {"role": "user", "parts": _parts(record.get("content"), line)},
            )
        case "gemini":
            said = _reply(record, line)
        case str(kind) if kind in _NOTICES:
            return Entry(line=line, kind="other", id=record["id"], record=record)
        case _:
            raise _refusal(line)
    return Entry(
        line=line, kind="message", id=record["id"], live=True, messages=said, record=record
    )


def _reply(record: dict[str, Any], line: int) -> tuple[dict[str, Any], ...]:
    calls = _dicts(record.get("toolCalls"), line)
    parts = [_thought(thought) for thought in _dicts(record.get("thoughts"), line)]
    parts += [part for part in _parts(record.get("content"), line) if part != {"text": ""}]
    results: list[Any] = []
    for call in calls:
        parts.append(
            {"functionCall": {key: call[key] for key in ("id", "name", "args") if key in call}}
        )
        if call.get("result") is not None:
            results += _parts(call["result"], line)
    reply = {"role": "model", "parts": parts or [{"text": ""}]}
    return (reply, {"role": "user", "parts": results}) if results else (reply,)


def _thought(thought: dict[str, Any]) -> dict[str, Any]:
    lines = [
        text for key in ("subject", "description") if isinstance(text := thought.get(key), str)
    ]
    return {"text": "\n".join(lines), "thought": True}


def _parts(value: Any, line: int) -> list[Any]:
    """Read a list of parts, a part, or text, as the API takes them all."""
    if isinstance(value, list):
        return [part for each in value for part in _parts(each, line)]
    if isinstance(value, str):
        return [{"text": value}]
    if isinstance(value, dict):
        return [value]
    raise _refusal(line)


def _dicts(value: Any, line: int) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _refusal(line)
    return value


def _refusal(line: int) -> Exception:
    return unreadable(
        f"Record {line} of a Gemini CLI session has an unknown shape.",
        fix="Correct or remove that record.",
        line=line,
    )
