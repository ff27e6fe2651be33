"""Rendering: one entry as one line, or in full; recorded text cannot forge either.

Every entry is exactly one line in both forms. Marks of the zones are defused inside recorded text.

Source:
    docs/spec/process.md#rendering
"""

from __future__ import annotations

import re
from typing import Any, Final

from thusfar.codec import json_text
from thusfar.lines import cap, one_line
from thusfar.process.entries import Entry

OLDER_ZONE: Final = "completed-work"
NEWEST_ZONE: Final = "newest-actions"
INTENTS_ZONE: Final = "open-intents"
_MARK: Final = re.compile(
    rf"[<\ufe64\uff1c](?=\s*(?:[/\uff0f]\s*)?(?:{OLDER_ZONE}|{NEWEST_ZONE}|{INTENTS_ZONE}))",
    re.IGNORECASE,  # of the small and the wide form of the mark, which some readers fold
)
_BROKEN: Final = r"\g<0>\\"  # a backslash behind it
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# JSON leaves these as they are, and readers take them for the end of a line.
_BREAKS: Final = {ord(c): f"\\u{ord(c):04x}" for c in "\x7f\x85\u2028\u2029"}
_UNNAMED: Final = "note"


def compact_line(entry: Entry, *, most: int) -> str:
    r"""Render `action | result` as one line.

    Args:
        entry: The entry.
        most: Most characters of the whole line. At least 10.

    Example:
        >>> made = Entry(seq=1, kind="manual", ts="", action="read", result_json='"a|b"')
        >>> compact_line(made, most=40)
        'read | a\\|b'
    """
    action = _defused(action_text(entry, most * 2))
    result = _defused(_result_text(entry, most * 2))
    return one_line(action, result, most=most)


def detail_line(entry: Entry) -> str:
    """Render an entry in full: a JSON object on one line, keys in a fixed order."""
    return _json_line(entry.to_json())


def intent_line(entry: Entry) -> str:
    """Render what a transition still has to do, as a JSON object on one line."""
    shown = {"entry": entry.seq, "taskID": entry.task_id}
    return _json_line({**shown, "intent": entry.intent or "", "stepAfter": entry.step_after or ""})


def counted_line(line: str, count: int, *, most: int) -> str:
    """Render a run of equal lines as one, with its count behind a bar of its own.

    Bars of recorded text are escaped, so that no entry can pretend to be several.

    Args:
        line: The line.
        count: How many entries it stands for.
        most: Most characters of the whole line; the count is never cut.
    """
    if count == 1:
        return line
    behind = f" | ×{count}"
    kept = cap(line, most - len(behind))
    if " | " in kept:
        return kept + behind
    # Without a result, also where it was cut off, an empty one stands in its place.
    behind = f" |{behind}"
    return cap(line, most - len(behind)) + behind


def sendable(text: str) -> tuple[str, int]:
    """Keep text outside of the history from opening or closing a zone, and from breaking the wire.

    Returns:
        The text, and how many lone surrogates in it were replaced by U+FFFD.
    """
    if text.isascii():
        return (_MARK.sub(_BROKEN, text) if "<" in text else text), 0
    return _SURROGATE.subn("\ufffd", _MARK.sub(_BROKEN, text))


def zone(name: str, body: str) -> str:
    """Put a body between the marks of a zone."""
    return f"<{name}>\n{body}\n</{name}>"


def action_text(entry: Entry, most: int) -> str:
    """Name what was done: the action, else the transition, else the task."""
    if entry.action.strip():
        return entry.action[:most]
    if entry.go_to is not None:
        return f"{entry.task_id} -> {entry.go_to}"
    return entry.task_id.strip()[:most] or _UNNAMED


def _result_text(entry: Entry, most: int) -> str:
    if entry.summary:
        return entry.summary[:most]
    if entry.kind == "transition":
        return (entry.intent or "")[:most]
    if entry.result_json == "null":
        return (entry.intent or "")[:most]
    result = entry.result if entry.result_json.startswith('"') else entry.result_json
    return str(result)[:most]


def _defused(text: str) -> str:
    return sendable(text)[0]


def _json_line(value: Any) -> str:
    text = json_text(value)
    if text.isascii():
        return _MARK.sub(_escaped, text) if "<" in text else text
    return _MARK.sub(_escaped, text).translate(_BREAKS)


def _escaped(mark: re.Match[str]) -> str:
    return f"\\u{ord(mark[0]):04x}"
