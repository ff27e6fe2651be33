"""Content parts of openai-responses messages and tool outputs: text, refusals, images, files.

A part is taken apart into a canonical part and a note with its likeness; lowering puts both
together again. A part of another wire is refused, an unknown one is kept as `Native`.

Source:
    openai-python 3.57.0, types/responses and types/conversations, generated from the provider's
    OpenAPI description. Read 2026-11-30.
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
from thusfar.messages import Audio, File, Image, Native, Text

NAME: Final = "openai-responses"

Inner = Text | Image | Audio | File | Native

_TEXTS: Final = ("input_text", "output_text", "summary_text", "reasoning_text")
_IMAGES: Final = ("input_image", "computer_screenshot")
_KNOWN: Final = (*_TEXTS, *_IMAGES, "refusal", "input_file", "input_audio", "encrypted_content")


def is_part_kind(kind: Any) -> bool:
    """Tell whether a type belongs to a content part of this wire, known or not."""
    return isinstance(kind, str) and (kind in _KNOWN or kind.startswith(("input_", "output_")))


def part_kind(part: Any) -> str:
    """Tell the type of a content part and check that it is one of this wire.

    Raises:
        DialectMismatch: For something that is no part, and for a part of another wire.
    """
    seen = part if type(part) is dict else mapping(part)
    kind = seen.get("type")
    if not isinstance(kind, str) or not is_part_kind(kind):
        raise DialectMismatch
    if kind in _TEXTS and not isinstance(seen.get("text"), str):
        raise DialectMismatch
    return kind


def text_kind(role: str) -> str:
    """Name the part type that plain text of a role is written in."""
    return "output_text" if role == "assistant" else "input_text"


def lift_parts(content: Sequence[Any], role: str) -> tuple[Inner, ...]:
    """Convert the content parts of a message or of a tool output."""
    return tuple(_lift(part_kind(part), mapping(part), text_kind(role)) for part in content)


def _lift(kind: str, part: Mapping[str, Any], usual: str) -> Inner:
    if kind in _TEXTS:
        like = without(part, "text")
        return Text(part["text"], wire="" if like == {"type": usual} else note(NAME, like=like))
    lifted: Inner | None = None
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        lifted = Text(part["refusal"], wire=note(NAME, like=without(part, "refusal")))
    elif kind in _IMAGES:
        lifted = lift_image(part)
    elif kind == "input_file":
        lifted = _lift_file(part)
    elif kind == "input_audio":
        lifted = _lift_audio(part)
    return lifted if lifted is not None else native(NAME, kind, part)


def lift_image(part: Mapping[str, Any]) -> Image | None:
    """Convert an image or screenshot part; `None` when it holds no image."""
    taken = {key: part[key] for key in ("image_url", "file_id") if filled(part.get(key))}
    if not taken:
        return None
    like = without(part, *taken)
    url = taken.get("image_url", "")
    mime, data = split_data_url(url) or ("", "")
    return Image(
        mime=mime,
        data=data,
        url="" if data else url,
        file_id=taken.get("file_id", ""),
        wire="" if like == {"type": "input_image"} else note(NAME, like=like),
    )


def _lift_file(part: Mapping[str, Any]) -> File | None:
    keys = ("file_id", "file_data", "file_url", "filename")
    taken = {key: part[key] for key in keys if filled(part.get(key))}
    if not taken.keys() - {"filename"}:
        return None
    like = without(part, *taken)
    file_data = taken.get("file_data", "")
    mime, data = split_data_url(file_data) or ("", file_data)
    return File(
        mime=mime,
        data=data,
        url=taken.get("file_url", ""),
        file_id=taken.get("file_id", ""),
        name=taken.get("filename", ""),
        wire="" if like == {"type": "input_file"} else note(NAME, like=like),
    )


def _lift_audio(part: Mapping[str, Any]) -> Audio | None:
    inner = part.get("input_audio")
    if not isinstance(inner, Mapping) or not filled(inner.get("data")):
        return None
    like = {**part, "input_audio": without(inner, "data")}
    kind = inner.get("format")
    mime = audio_mime(kind) if isinstance(kind, str) and kind else ""
    return Audio(mime=mime, data=inner["data"], wire=note(NAME, like=like))


def lower_part(part: Inner, role: str) -> dict[str, Any]:
    """Write one content part of a message or of a tool output.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part that has no form there.
    """
    if isinstance(part, Native):
        return native_object(part, NAME)
    like = table(noted(part.wire, NAME).get("like"))
    match part:
        case Text(text=text):
            key = "refusal" if like.get("type") == "refusal" else "text"
            return {**({"type": text_kind(role)} | like), key: text}
        case Image():
            return lower_image(part, like)
        case File():
            return _lower_file(part, like)
        case _:
            return _lower_audio(part, like)


def lower_image(part: Image, like: dict[str, Any]) -> dict[str, Any]:
    """Write an image or screenshot part.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for image data without a media type.
    """
    made = {"type": "input_image", **like}
    url = url_of(part.mime, part.data, part.url)
    if (part.data and not part.mime) or not (url or part.file_id):
        raise unsupported("an image with no media type, or with nothing to show", NAME)
    if url:
        made["image_url"] = url
    if part.file_id:
        made["file_id"] = part.file_id
    return made


def _lower_file(part: File, like: dict[str, Any]) -> dict[str, Any]:
    made = {"type": "input_file", **like}
    if part.data:
        made["file_data"] = url_of(part.mime, part.data, "") if part.mime else part.data
    for key, value in (("file_url", part.url), ("file_id", part.file_id), ("filename", part.name)):
        if value:
            made[key] = value
    return made


def _lower_audio(part: Audio, like: dict[str, Any]) -> dict[str, Any]:
    if not part.data or not (like or part.mime):
        raise unsupported("audio that is not inline, or of an unknown format", NAME)
    inner = table(like.get("input_audio")) if like else {"format": audio_format(part.mime)}
    return {"type": "input_audio", **like, "input_audio": {**inner, "data": part.data}}
