"""Media on Bedrock's Converse wire: formats and media types, S3 locations, base64 and bytes.

The REST body carries base64 text. Dicts for boto3 carry bytes, which come back as bytes.

Source:
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
    (read 2026-11-30)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from thusfar.dialects.shapes import base64_of, bytes_of, unsupported
from thusfar.messages import Audio, File, Image

NAME: Final = "bedrock-converse"
KINDS: Final = frozenset({"image", "document", "video", "audio"})

_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_MIMES: Final[dict[str, dict[str, str]]] = {
    "image": {name: f"image/{name}" for name in ("png", "jpeg", "gif", "webp")},
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": f"{_OFFICE}wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": f"{_OFFICE}spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "video": {
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "opus": "audio/opus",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mka": "audio/x-matroska",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
    },
}
_FORMATS: Final = {
    kind: {mime: name for name, mime in mimes.items()} for kind, mimes in _MIMES.items()
}
_OTHER: Final = {"document": "application", "image": "image", "video": "video", "audio": "audio"}
_UNNAMEABLE: Final = re.compile(r"[^A-Za-z0-9\s\-()\[\]]|(?<=\s)\s")


def lift_media(kind: str, held: Any, form: dict[str, Any]) -> Image | Audio | File | None:
    """Convert what a media block holds; `None` where its source is not known here.

    Args:
        kind: The key of the block, one of `KINDS`.
        held: What stands under it.
        form: Takes notes of the spelling.
    """
    source = held.get("source") if isinstance(held, Mapping) else None
    if not isinstance(source, Mapping):
        return None
    made = Image if kind == "image" else Audio if kind == "audio" else File
    mime, name = _mime(kind, held.get("format"), form), held.get("name")
    if not mime and kind != "document":  # only documents may leave their format out
        return None
    called = name if kind == "document" and isinstance(name, str) else ""
    data, place = source.get("bytes"), source.get("s3Location")
    if isinstance(data, bytes | bytearray) and data:
        form["data"] = "bytes"
        return made(mime=mime, data=base64_of(data), name=called)
    if isinstance(data, str) and data:
        return made(mime=mime, data=data, name=called)
    uri = place.get("uri") if isinstance(place, Mapping) else None
    if isinstance(uri, str) and uri.startswith("s3://"):
        return made(mime=mime, url=uri, name=called)
    return None


def _mime(kind: str, name: Any, form: dict[str, Any]) -> str:
    if not isinstance(name, str) or not name:
        form["format"] = ""
        return ""
    mime = _MIMES[kind].get(name, f"{_OTHER[kind]}/{name}")
    if _FORMATS[kind].get(mime) != name:
        form["format"] = name
    return mime


def render_media(part: Image | Audio | File, form: Mapping[str, Any]) -> dict[str, Any]:
    """Write a media part as a block, in the spelling that `form` notes.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, when Converse takes no such medium or source.
    """
    kind = _kind(part)
    held: dict[str, Any] = {}
    if name := _format(part, kind, form):
        held["format"] = name
    if kind == "document":
        held["name"] = _UNNAMEABLE.sub("-", part.name)[:200] or "document"
    held["source"] = _source(part, kind, form)
    return {kind: held}


def _kind(part: Image | Audio | File) -> str:
    if isinstance(part, Image):
        return "image"
    if isinstance(part, Audio):
        return "audio"
    return "video" if part.mime.startswith("video/") else "document"


def _format(part: Image | Audio | File, kind: str, form: Mapping[str, Any]) -> str:
    name = form.get("format")
    if not isinstance(name, str):
        name = _FORMATS[kind].get(part.mime)
    if name is None:
        unsupported(_tag(kind), NAME, "Converse has no format for its media type")
    return name


def _source(part: Image | Audio | File, kind: str, form: Mapping[str, Any]) -> dict[str, Any]:
    if part.data and form.get("data") == "bytes":
        return {"bytes": bytes_of(part.data, part=_tag(kind), dialect=NAME)}
    if part.data:
        return {"bytes": part.data}
    if not part.url.startswith("s3://"):
        unsupported(_tag(kind), NAME, "it had neither data nor an s3:// address")
    return {"s3Location": {"uri": part.url}}


def _tag(kind: str) -> str:
    return kind if kind in ("image", "audio") else "file"
