"""Facts: what planning needs to know about one message, without converting it.

A dialect derives `Facts` from a foreign message; `facts_of` derives the same facts from a
canonical one. Facts never hold content: roles, ids and names only. `Content` holds what is
counted, and is asked for only when something has to be counted.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from thusfar.messages import (
    Audio,
    File,
    Image,
    Message,
    Native,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)

MediaKind = Literal["image", "audio", "file"]

# Base64 and ciphertext in native blocks are sealed or seen as media, never read as text.
_SEALED: Final = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")


class Link(msgspec.Struct, frozen=True, gc=False):
    """One end of a call and its result.

    Attributes:
        id: The call id; `None` where the wire has none, and then `name` and order pair.
        name: The tool name, where the wire gives it.
    """

    id: str | None
    name: str | None = None


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What grouping needs to know about one message.

    Attributes:
        role: `tool` for a message that carries nothing but tool results.
        calls: The calls it makes that wait for a result in another message, in order.
        results: The results it carries, in order.
        user_input: Whether a user speaks here: role `user` and no results (a `user` message
            that carries results, also beside text, is no user input).
        leads: Whether it is reasoning and nothing else, and so stands before the entry it
            belongs to and goes with it.
    """

    role: Role
    calls: tuple[Link, ...] = ()
    results: tuple[Link, ...] = ()
    user_input: bool = False
    leads: bool = False


class Content(msgspec.Struct, frozen=True, gc=False):
    """What counting needs to know about one message.

    Attributes:
        texts: Every text a model reads, in order: text, reasoning, names, tool arguments,
            results, and native blocks as their JSON without base64 and ciphertext.
        media: The kinds of its media, in order; their size in bytes never matters.
    """

    texts: tuple[str, ...] = ()
    media: tuple[MediaKind, ...] = ()


SYSTEM = Facts("system")
USER = Facts("user", user_input=True)
ASSISTANT = Facts("assistant")
REASONING = Facts("assistant", leads=True)
_PLAIN: Final[dict[str, Facts]] = {
    "system": SYSTEM,
    "user": USER,
    "assistant": ASSISTANT,
    "tool": Facts("tool"),
}


def facts_of(message: Message) -> Facts:
    """Derive the facts of a canonical message; `describe(x)` equals `facts_of(lift(x))`."""
    if len(message.parts) == 1 and type(message.parts[0]) is Text:
        return _PLAIN[message.role]  # most messages by far
    calls = tuple(Link(p.id, p.name) for p in message.parts if isinstance(p, ToolCall))
    results = tuple(Link(p.call_id, p.name) for p in message.parts if isinstance(p, ToolResult))
    role = message.role
    if results and role in ("user", "tool"):
        role = "tool" if all(isinstance(p, ToolResult) for p in message.parts) else "user"
    return Facts(
        role,
        calls,
        results,
        user_input=role == "user" and not results,
        leads=role == "assistant"
        and bool(message.parts)
        and all(isinstance(p, Reasoning) for p in message.parts),
    )


def content_of(message: Message) -> Content:
    """Derive what is counted of a canonical message; equals a dialect's `content(x)`."""
    if len(message.parts) == 1 and type(part := message.parts[0]) is Text and not message.name:
        return Content((part.text,))  # most messages by far
    texts: list[str] = []
    media: list[MediaKind] = []
    if message.name:
        texts.append(message.name)
    for part in message.parts:
        _add(part, texts, media)
    return Content(tuple(texts), tuple(media))


def _add(part: object, texts: list[str], media: list[MediaKind]) -> None:
    match part:
        case Text(text=text):
            texts.append(text)
        case Reasoning(text=text):
            texts.append(text)
        case ToolCall(name=name, arguments=arguments):
            texts += (name, arguments)
        case ToolResult(parts=parts):
            for inner in parts:
                _add(inner, texts, media)
        case Native(raw=raw):
            texts.append(_SEALED.sub("", raw))
        case Image():
            media.append("image")
        case Audio():
            media.append("audio")
        case File():
            media.append("file")
