"""Notes: what an OpenAI wire form had beside the canonical value, and how it is put back.

A note is JSON text kept in `.wire`, an object keyed by the name of the dialect. It holds the
*likeness* of a wire object: the object without the values that the canonical part carries. The
part is always the truth; a note only says how to write it. Nothing here knows a message format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from thusfar.codec import json_text, parse_json, text_of, to_json
from thusfar.dialects.base import DialectMismatch, plain
from thusfar.errors import TranscriptError, UnsupportedPartError
from thusfar.messages import Native

_DATA_URL: Final = re.compile(r"data:([^;,]+);base64,(.+)", re.DOTALL)
_AUDIO_MIME: Final = {"mp3": "audio/mpeg", "wav": "audio/wav"}
_AUDIO_FORMAT: Final = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
}


def mapping(value: Any) -> Mapping[str, Any]:
    """View a dict, a mapping or an SDK object as a mapping.

    Raises:
        DialectMismatch: For anything else.
    """
    if type(value) is dict:
        return value
    seen = plain(value)
    if seen is None:
        raise DialectMismatch
    return seen


def filled(value: Any) -> bool:
    """Tell whether a value is text and not empty: what a placeholder is not."""
    return isinstance(value, str) and value != ""


def text_or_none(value: Any) -> str | None:
    """Read an optional text field.

    Raises:
        DialectMismatch: When it is neither text nor null.
    """
    if value is None or isinstance(value, str):
        return value
    raise DialectMismatch


def without(source: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Copy a mapping, leaving out some keys."""
    return {key: value for key, value in source.items() if key not in keys}


def note(dialect: str, **facts: Any) -> str:
    """Write a note; facts that are `None`, empty or false are left out.

    Returns:
        JSON text, or the empty string when nothing remains to be said.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when a leftover value is not JSON.
    """
    kept = {key: value for key, value in facts.items() if value}
    return json_text({dialect: to_json(kept)}) if kept else ""


def noted(wire: str, dialect: str) -> dict[str, Any]:
    """Read the note of one dialect; empty when there is none.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when `wire` is not JSON.
    """
    if not wire:
        return {}
    found = parse_json(wire, where="a wire note")
    return table(found.get(dialect)) if isinstance(found, dict) else {}


def table(value: Any) -> dict[str, Any]:
    """Take a value of a note as an object; anything else counts as an empty one."""
    return dict(value) if isinstance(value, Mapping) else {}


def native(dialect: str, kind: str, raw: Mapping[str, Any]) -> Native:
    """Keep a wire object that has no canonical form, in its key order.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when it is not JSON.
    """
    return Native(dialect, kind, text_of(raw))


def native_object(part: Native, dialect: str) -> dict[str, Any]:
    """Give back the wire object of a native part.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, when it belongs to another dialect.
        TranscriptError: `INVALID_TRANSCRIPT`, when its text is not a JSON object.
    """
    if part.provider != dialect:
        raise unsupported(f"a native {part.provider} part", dialect)
    raw = parse_json(part.raw, where="a native part")
    if not isinstance(raw, dict):
        raise TranscriptError(
            "A native part was not a JSON object.", fix="Keep its raw text as it was received."
        )
    return raw


def unsupported(what: str, dialect: str) -> UnsupportedPartError:
    """Make the error for something that has no form on this wire."""
    return UnsupportedPartError(
        f"A message held {what}, which {dialect} cannot carry.",
        fix="Pass leave_out=True, or send the message to a provider that takes it.",
        dialect=dialect,
    )


def split_data_url(url: str) -> tuple[str, str] | None:
    """Split a base64 data URL into media type and base64 text; `None` for any other URL."""
    found = _DATA_URL.fullmatch(url)
    return (found[1], found[2]) if found else None


def url_of(mime: str, data: str, url: str) -> str:
    """Join what `split_data_url` splits; the plain URL where there is no data."""
    return f"data:{mime};base64,{data}" if data else url


def audio_mime(wire_format: str) -> str:
    """Name the media type of an `input_audio` format such as `wav`."""
    return _AUDIO_MIME.get(wire_format, f"audio/{wire_format}")


def audio_format(mime: str) -> str:
    """Name the `input_audio` format of a media type; empty when there is none."""
    return _AUDIO_FORMAT.get(mime, mime.removeprefix("audio/"))
