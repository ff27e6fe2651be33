"""Parsing: from bytes or text to one JSON value, to a value a line, or to the events of a stream.

Nothing here knows what the values mean. Errors name the line; they never quote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from thusfar.codec import parse_json
from thusfar.errors import TranscriptError
from thusfar.sources.loaded import unreadable

_EVENT_FIELD: Final = re.compile(r"(?:data|event|id|retry)?:")
_GZIP: Final = b"\x1f\x8b"
_STREAM_END: Final = "[DONE]"


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed input.

    Attributes:
        form: One JSON value, JSON values one a line, or the data of server-sent events.
        values: The values, in order; exactly one for `json`.
        lines: Line of the file at which each value starts, from 1.
    """

    form: Literal["json", "jsonl", "events"]
    values: tuple[Any, ...]
    lines: tuple[int, ...]


def parse(data: bytes | bytearray | memoryview | str) -> Document:
    """Parse input by its own look: JSON, JSON lines, or a recorded event stream.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for input that is empty, not UTF-8, or not well
            formed; the line is in `facts["line"]` where there is one.
    """
    text = as_text(data)
    stripped = text.lstrip()
    if not stripped:
        raise unreadable("The input was empty.", fix="Pass a file that holds a transcript.")
    if _EVENT_FIELD.match(stripped):
        return _events(text)
    rows = [(number, row) for number, row in enumerate(text.split("\n"), 1) if row.strip()]
    if len(rows) > 1 and _whole(rows[0][1]):
        return _lines(rows)
    return Document("json", (parse_json(text),), (rows[0][0],))


def as_text(data: bytes | bytearray | memoryview | str) -> str:
    """Decode input, without the mark that some editors put before it.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for bytes that are not UTF-8, naming the byte.
    """
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    if bytes(data[:2]) == _GZIP:
        raise unreadable("The input was compressed.", fix="Unpack it, as gunzip does.")
    try:
        return bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(
            f"The input was not valid UTF-8 at byte {error.start}.",
            fix="Save it as UTF-8.",
            byte=error.start,
        ) from None


def _whole(row: str) -> bool:
    """Tell whether a line is a JSON value of its own, as the first of several lines is."""
    try:
        parse_json(row)
    except TranscriptError:
        return False
    return True


def _lines(rows: list[tuple[int, str]]) -> Document:
    values = tuple(_line(number, row) for number, row in rows)
    return Document("jsonl", values, tuple(number for number, _ in rows))


def _line(number: int, row: str) -> Any:
    try:
        return parse_json(row)
    except TranscriptError as error:
        raise unreadable(
            f"Line {number} was not a JSON value that can be read.",
            fix="Correct or remove that line.",
            **{**error.facts, "line": number},
        ) from None


def _events(text: str) -> Document:
    values: list[Any] = []
    lines: list[int] = []
    pending: list[str] = []
    start = 0
    for number, row in enumerate((*text.split("\n"), ""), 1):
        row = row.removesuffix("\r")
        if row.startswith("data:"):
            start = start if pending else number
            pending.append(row[5:].removeprefix(" "))
        elif not row and pending:
            data, pending = "\n".join(pending), []
            if data.strip() != _STREAM_END:
                values.append(_line(start, data))
                lines.append(start)
        elif row and not _EVENT_FIELD.match(row):
            raise unreadable(
                f"Line {number} is not part of an event stream.",
                fix="Pass the recorded stream as it was received.",
                line=number,
            )
    return Document("events", tuple(values), tuple(lines))
