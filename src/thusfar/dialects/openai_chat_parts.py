"""Content parts of openai-chat messages: text, refusals, media, and vendors' own kinds.

A part is taken apart into a canonical part and a note with its likeness; lowering puts both
together again. A part of another wire is refused, an unknown one is kept as `Native`.

Source:
    openai-python 3.57.0, types/chat/chat_completion_content_part_param.py, generated from the
    provider's OpenAPI description; the vendors' kinds from recorded traffic. Read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.openai_notes import (
    audio_format,
    audio_mime,
    filled,
    mapping,
    native,
    native_object,
    note,
    noted,
    split_data_url,
    table,
    unsupported,
    url_of,
    without,
)
from thusfar.messages import Audio, File, Image, Media, Native, Reasoning, Text, ToolResult

NAME: Final = "openai-chat"

NATIVE_KINDS: Final[dict[str, str]] = {
    "thinking": "Mistral's reasoning in other than one text chunk: the borders have no form",
    "reference": "Mistral's citation by number: it means nothing without the search it came from",
}
"""Part types that are kept as `Native`, with the reason. Unknown types join them, because what
they mean is not known; so do media parts whose payload is in none of the known places."""

Content = Text | Image | Audio | File | Reasoning | Native
"""What the content of a message can be, on this wire and in canonical form."""

_URL_KINDS: Final[dict[str, type[Image] | type[Audio] | type[File]]] = {
    "image_url": Image,
    "audio_url": Audio,
    "video_url": File,
    "document_url": File,
}
_FOREIGN: Final = frozenset(
    {
        "computer_screenshot",
        "encrypted_content",
        "input_file",
        "input_image",
        "input_text",
        "output_text",
        "reasoning_text",
        "redacted_thinking",
        "search_result",
        "summary_text",
        "container_upload",
        "compaction",
        "tool_reference",
    }
)  # parts of openai-responses and anthropic: their messages have the same envelope


def part_kind(part: Any) -> str:
    """Tell the type of a content part and check that it is one of this wire.

    Raises:
        DialectMismatch: For something that is no part, and for a part of another wire.
    """
    seen = part if type(part) is dict else mapping(part)
    kind = seen.get("type")
    if kind == "text":
        if isinstance(seen.get("text"), str):
            return "text"
        raise DialectMismatch
    if not isinstance(kind, str) or kind in _FOREIGN or "source" in seen:
        raise DialectMismatch
    if kind.endswith(("tool_use", "tool_result")):
        raise DialectMismatch
    if kind == "thinking" and isinstance(seen.get("thinking"), str):
        raise DialectMismatch
    return kind


def lift_parts(content: Sequence[Any]) -> tuple[Content, ...]:
    """Convert the content parts of a message."""
    return tuple(_lift(part_kind(part), mapping(part)) for part in content)


def lift_result_parts(
    content: Sequence[Any],
) -> tuple[Text | Image | Audio | File | Native, ...]:
    """Convert the content parts of a tool result; reasoning has no place in one."""
    made: list[Text | Image | Audio | File | Native] = []
    for part in content:
        kind, seen = part_kind(part), mapping(part)
        lifted = _lift(kind, seen)
        if isinstance(lifted, Text | Image | Audio | File | Native):
            made.append(lifted)
        else:
            made.append(native(NAME, kind, seen))
    return tuple(made)


def _lift(kind: str, part: Mapping[str, Any]) -> Content:
    if kind == "text":
        like = without(part, "text") if len(part) > 2 else None
        return Text(part["text"], wire=note(NAME, like=like))
    lifted: Content | None = None
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        lifted = Text(part["refusal"], wire=note(NAME, like=without(part, "refusal")))
    elif kind in _URL_KINDS:
        lifted = _lift_url(kind, part)
    elif kind == "input_audio":
        lifted = _lift_audio(part)
    elif kind == "file":
        lifted = _lift_file(part)
    elif kind == "thinking":
        lifted = _lift_thinking(part)
    return lifted if lifted is not None else native(NAME, kind, part)


def _lift_url(kind: str, part: Mapping[str, Any]) -> Media | None:
    """Read a part whose payload is a URL: text under the kind's own key, or `url` below it."""
    inner = part.get(kind)
    like: dict[str, Any]
    if isinstance(inner, Mapping):
        url, like = inner.get("url"), {**part, kind: without(inner, "url")}
    else:
        url, like = inner, without(part, kind)
    if not isinstance(url, str) or not url:
        return None
    wire = "" if like == {"type": "image_url", "image_url": {}} else note(NAME, like=like)
    found = split_data_url(url)
    if found:
        return _URL_KINDS[kind](mime=found[0], data=found[1], wire=wire)
    return _URL_KINDS[kind](url=url, wire=wire)


def _lift_audio(part: Mapping[str, Any]) -> Audio | None:
    inner = part.get("input_audio")
    if filled(inner):  # Mistral: a URL or base64 text instead of an object
        wire = note(NAME, like=without(part, "input_audio"))
        if str(inner).startswith(("http:", "https:")):
            return Audio(url=str(inner), wire=wire)
        return Audio(data=str(inner), wire=wire)
    if not isinstance(inner, Mapping) or not filled(inner.get("data")):
        return None
    like = {**part, "input_audio": without(inner, "data")}
    kind = inner.get("format")
    mime = audio_mime(kind) if isinstance(kind, str) and kind else ""
    return Audio(mime=mime, data=inner["data"], wire=note(NAME, like=like))


def _lift_file(part: Mapping[str, Any]) -> File | None:
    """Read a `file` part: its fields below `file`, or Mistral's `file_id` beside the type."""
    inner = part.get("file")
    flat = not isinstance(inner, Mapping)
    fields = part if flat or not isinstance(inner, Mapping) else inner
    if not filled(fields.get("file_id")) and not filled(fields.get("file_data")):
        return None
    taken = {
        key: fields[key] for key in ("file_id", "file_data", "filename") if filled(fields.get(key))
    }
    rest = without(fields, *taken)
    like = rest if flat else {**part, "file": rest}
    file_data = taken.get("file_data", "")
    mime, data = split_data_url(file_data) or ("", file_data)
    return File(
        mime=mime,
        data=data,
        file_id=taken.get("file_id", ""),
        name=taken.get("filename", ""),
        wire="" if like == {"type": "file", "file": {}} else note(NAME, like=like),
    )


def _lift_thinking(part: Mapping[str, Any]) -> Reasoning | None:
    chunks = part.get("thinking")
    if not isinstance(chunks, list | tuple) or len(chunks) != 1:
        return None
    chunk = chunks[0]
    if not isinstance(chunk, Mapping) or not isinstance(chunk.get("text"), str):
        return None
    like = {**part, "thinking": [without(chunk, "text")]}
    return Reasoning(chunk["text"], wire=note(NAME, like=like))


def lower_part(part: Content) -> dict[str, Any]:
    """Write one content part.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part that has no form in the content of
            a message of this wire.
    """
    if isinstance(part, Native):
        return native_object(part, NAME)
    like = table(noted(part.wire, NAME).get("like"))
    match part:
        case Text(text=text):
            if like.get("type") == "refusal":
                return {**like, "refusal": text}
            return {"type": "text", **like, "text": text}
        case Reasoning(text=text):
            return _lower_thinking(text, like)
        case _:
            return _lower_media(part, like)


def _lower_thinking(text: str, like: dict[str, Any]) -> dict[str, Any]:
    chunks = like.get("thinking")
    chunk = table(chunks[0]) if isinstance(chunks, list) and chunks else {"type": "text"}
    return {"type": "thinking", **like, "thinking": [{**chunk, "text": text}]}


def _lower_media(part: Media, like: dict[str, Any]) -> dict[str, Any]:
    kind = like.get("type")
    if kind == "file" or (isinstance(part, File) and not like):
        return _lower_file(part, like)
    if kind == "input_audio" or (isinstance(part, Audio) and not like):
        return _lower_audio(part, like)
    return _lower_url(part, like if kind in _URL_KINDS else {})


def _lower_url(part: Media, like: dict[str, Any]) -> dict[str, Any]:
    if not like and not isinstance(part, Image):
        raise unsupported("media that is neither an image nor inline", NAME)
    like = like or {"type": "image_url", "image_url": {}}
    url = url_of(part.mime, part.data, part.url)
    if not url or (part.data and not part.mime):
        raise unsupported("an image by the id of another provider's upload", NAME)
    kind = like["type"]
    if isinstance(like.get(kind), Mapping):
        return {**like, kind: {**like[kind], "url": url}}
    return {**like, kind: url}


def _lower_audio(part: Media, like: dict[str, Any]) -> dict[str, Any]:
    if like and not isinstance(like.get("input_audio"), Mapping):
        return {**like, "input_audio": part.data or part.url}
    if not part.data or not (like or part.mime):
        raise unsupported("audio that is not inline, or of an unknown format", NAME)
    inner = table(like.get("input_audio"))
    if not like:
        inner = {"format": audio_format(part.mime)}
    return {"type": "input_audio", **like, "input_audio": {**inner, "data": part.data}}


def _lower_file(part: Media, like: dict[str, Any]) -> dict[str, Any]:
    if not part.data and not part.file_id:
        raise unsupported("a file by its URL", NAME)
    fields: dict[str, str] = {}
    if part.file_id:
        fields["file_id"] = part.file_id
    if part.data:
        fields["file_data"] = url_of(part.mime, part.data, "") if part.mime else part.data
    if part.name:
        fields["filename"] = part.name
    if like and not isinstance(like.get("file"), Mapping):
        return {**like, **fields}
    return {"type": "file", **like, "file": {**table(like.get("file")), **fields}}


def lower_result_parts(result: ToolResult, *, lifted: bool) -> list[dict[str, Any]]:
    """Write the content parts of a tool result.

    Args:
        result: The result.
        lifted: Whether it was read from this wire as a list; its media then goes back as it
            came, although the provider documents only text there.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for media in a result of another wire.
    """
    if not lifted and any(isinstance(part, Image | Audio | File) for part in result.parts):
        raise unsupported("media in a tool result", NAME)
    return [lower_part(part) for part in result.parts]
