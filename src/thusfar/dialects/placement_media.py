"""Media of results: what a tool returned beside text, where a wire has results of text alone.

Source:
    docs/spec/placement.md#openai-chat
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from thusfar.messages import Audio, File, Image, Message, Part, Text, ToolResult

WITHOUT_MEDIA: Final = frozenset({"openai-chat"})
"""Wires whose results hold text alone."""

MOVED: Final = "[The result is in the next message of the user.]"
"""What a result says that held nothing else."""

_MEDIA: Final = (Image, Audio, File)


class Moved(NamedTuple):
    """Messages whose results hold text alone.

    Attributes:
        messages: In order, with a user message behind each run of results that held media.
        origins: For each message, where it stood; a new one has the place of the result before.
        positions: Where results stood that held media.
    """

    messages: list[Message]
    origins: list[int]
    positions: tuple[int, ...]


def media_behind_results(messages: Sequence[Message]) -> Moved:
    """Put the media of results into a message of the user behind them.

    Args:
        messages: The messages in canonical form, results with the names of their tools.

    Example:
        >>> shown = ToolResult("a", "look", (Image("image/gif", "R0lGODlh"),))
        >>> [each.role for each in media_behind_results([Message("tool", (shown,))]).messages]
        ['tool', 'user']
    """
    made: list[Message] = []
    origins: list[int] = []
    positions: list[int] = []
    waiting: list[Part] = []
    for at, message in enumerate(messages):
        answers = any(isinstance(part, ToolResult) for part in message.parts)
        if waiting and not answers:
            made.append(Message("user", tuple(waiting)))
            origins.append(at - 1)
            waiting.clear()
        kept, media = _parted(message) if answers else (message, [])
        positions += [at] if media else []
        waiting += media
        made.append(kept)
        origins.append(at)
    if waiting:
        made.append(Message("user", tuple(waiting)))
        origins.append(len(messages) - 1)
    return Moved(made, origins, tuple(positions))


def _parted(message: Message) -> tuple[Message, list[Part]]:
    """Take the media out of the results of a message, each behind a text that says whose it is."""
    media: list[Part] = []
    parts: list[Part] = []
    for part in message.parts:
        found = _media_of(part)
        if isinstance(part, ToolResult) and found:
            media += [Text(f"[Result of the tool {part.name or 'that was called'}:]"), *found]
            left = tuple(each for each in part.parts if not isinstance(each, _MEDIA))
            parts.append(msgspec.structs.replace(part, parts=left or (Text(MOVED),), wire=""))
        else:
            parts.append(part)
    return (msgspec.structs.replace(message, parts=tuple(parts)) if media else message), media


def _media_of(part: Part) -> list[Part]:
    held = part.parts if isinstance(part, ToolResult) else ()
    return [each for each in held if isinstance(each, _MEDIA)]
