"""Lines: a place of a thread in one line, and a message as a whole, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from thusfar.cli.output import preview, shown
from thusfar.messages import (
    Audio,
    File,
    Image,
    Message,
    Native,
    Part,
    Reasoning,
    ToolCall,
    ToolResult,
)
from thusfar.thread import Entry

if TYPE_CHECKING:
    from rich.console import Console

ROLE_WIDTH: Final = 9  # assistant
LEAST_PREVIEW: Final = 16  # columns; narrower says nothing
_SHORTEST_ID: Final = 8
_LONGEST_ID: Final = 20  # tells apart the ids that threads make: `msg_` and a place


def parts_text(parts: Sequence[Part]) -> Iterator[str]:
    """Say what parts hold: text as it is, everything else named."""
    for part in parts:
        match part:
            case ToolCall():
                yield f"calls {part.name}({part.arguments})"
            case ToolResult():
                yield "failed:" if part.is_error else "returned:"
                yield from parts_text(part.parts)
            case Reasoning():
                yield f"thought: {part.text}" if part.text else "[sealed reasoning]"
            case Image() | Audio() | File():
                yield f"[{_media(part)}]"
            case Native():
                yield f"[{part.provider} {part.kind}]"
            case _:
                yield part.text


def _media(part: Image | Audio | File) -> str:
    kind = type(part).__name__.lower()
    named = part.name or part.url or part.file_id or part.mime
    return f"{kind} {named}" if named else kind


def entry_texts(entry: Entry) -> Iterator[str]:
    """Say what a place holds: its message, or why there is none."""
    if entry.message is not None:
        if not entry.available:
            yield "(left out: its exchange lost a message)"
        yield from parts_text(entry.message.parts)
    else:
        yield "[redacted]" if entry.kind == "redacted" else "[removed]"


def role_of(entry: Entry) -> str:
    """Name the role of a place; empty where only the place is left."""
    return entry.message.role if entry.message is not None else ""


def variant_of(entry: Entry) -> str:
    """Mark a place that has siblings, such as `2/3` for the second of three."""
    return f"{entry.variant.index + 1}/{entry.variant.count}" if entry.variant else ""


def id_width(entries: Sequence[Entry]) -> int:
    """Find how many characters tell the ids of places apart, from 8 to 20."""
    ids = sorted({entry.id for entry in entries})
    longest = max(map(len, ids), default=0)
    for width in range(_SHORTEST_ID, min(longest, _LONGEST_ID)):
        if len({each[:width] for each in ids}) == len(ids):
            return width
    return min(longest, _LONGEST_ID)


def group_mark(entries: Sequence[Entry], number: int) -> str:
    """Draw the bracket that shows which places are one group."""
    own = entries[number].group
    before = number > 0 and entries[number - 1].group == own
    behind = number + 1 < len(entries) and entries[number + 1].group == own
    if before:
        return "│" if behind else "└"
    return "┌" if behind else " "


def path_lines(entries: Sequence[Entry], first: int, width: int) -> Iterator[str]:
    """Write the places of a path, a line each, within a width.

    Args:
        entries: The places.
        first: Position of the first of them.
        width: Columns.
    """
    ids = id_width(entries)
    places = len(f"@{first + len(entries) - 1}")
    marks = max((len(variant_of(entry)) for entry in entries), default=0)
    for number, entry in enumerate(entries):
        head = f"{f'@{first + number}':<{places}} {group_mark(entries, number)} "
        head += f"{role_of(entry):<{ROLE_WIDTH}}  {shown(entry.id)[:ids]:<{ids}}  "
        if marks:
            head += f"{variant_of(entry):<{marks}}  "
        room = max(width - len(head), LEAST_PREVIEW)
        yield f"{head}{preview(entry_texts(entry), most=room)}".rstrip()


def print_whole(message: Message, out: Console) -> None:
    """Print every part of a message with the line breaks it has; nothing is shortened."""
    for text in parts_text(message.parts):
        for line in text.split("\n"):
            out.print(f"    {shown(line)}".rstrip(), soft_wrap=True)
