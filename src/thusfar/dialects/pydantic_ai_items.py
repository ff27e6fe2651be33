"""pydantic-ai items: what user prompts, files and tool results hold, lifted to parts and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thusfar.codec import json_text, parse_json
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.pydantic_ai_objects import NAME, TAG, listed
from thusfar.dialects.shapes import unsupported
from thusfar.messages import Audio, File, Image, Media, Native, Text

_URLS: Final[dict[str, type[Media]]] = {
    "image-url": Image,
    "audio-url": Audio,
    "video-url": File,
    "document-url": File,
}


def items_of(content: Any) -> list[Any] | None:
    """List the items of a user prompt that a model reads; `None` when it is text."""
    items = listed(content)
    return None if items is None else [item for item in items if not is_cache_point(item)]


def is_cache_point(item: Any) -> bool:
    """Tell whether an item only marks where a prompt cache may end."""
    found = item.get("kind") if isinstance(item, Mapping) else getattr(item, "kind", None)
    return found == "cache-point"


def lift_item(item: Any) -> Any:
    """Convert one item of a user prompt, a file, or an item of a tool's result."""
    if isinstance(item, str):
        return Text(item)
    kind = item.get("kind") if isinstance(item, Mapping) else None
    found = _media(kind, item) if isinstance(kind, str) else None
    if found is None and kind == "text-content" and isinstance(item.get("content"), str):
        found = Text(item["content"])
    if found is None:
        return Native(NAME, kind if isinstance(kind, str) else "", json_text(item))
    form = {"kind": kind}
    left = with_form(leftovers(item, _render_item(found, form)), form)
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    return type(found)(**{**fields, "wire": pack(NAME, left)})


def _media(kind: str, item: Mapping[str, Any]) -> Any:
    given = item.get("media_type", item.get("_media_type"))
    mime = given if isinstance(given, str) else ""
    if kind in _URLS and isinstance(item.get("url"), str):
        return _URLS[kind](mime, url=item["url"])
    if kind == "binary" and isinstance(item.get("data"), str):
        return _by_mime(mime)(mime, item["data"])
    if kind == "uploaded-file" and isinstance(item.get("file_id"), str):
        return _by_mime(mime)(mime, file_id=item["file_id"])
    return None


def _by_mime(mime: str) -> type[Media]:
    family = mime.partition("/")[0]
    return Image if family == "image" else Audio if family == "audio" else File


def lift_value(content: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert what a tool returned: text, a list that may hold files, or any JSON."""
    if isinstance(content, str):
        return (Text(content),), {}
    items = listed(content)
    if items is not None and any(_is_file(item) for item in items):
        values = [
            n for n, item in enumerate(items) if not (_is_file(item) or isinstance(item, str))
        ]
        form = {"list": True, "values": values, "tuple": isinstance(content, Mapping)}
        kept = {key: value for key, value in form.items() if value}
        return tuple(_lift_value_item(item) for item in items), kept
    if _is_file(content):
        return (lift_item(content),), {"file": True}
    return (Text(json_text(content)),), {"value": True}


def _lift_value_item(item: Any) -> Any:
    return lift_item(item) if isinstance(item, str) or _is_file(item) else Text(json_text(item))


def _is_file(item: Any) -> bool:
    kind = item.get("kind") if isinstance(item, Mapping) else None
    return isinstance(kind, str) and _media(kind, item) is not None


def lower_item(part: Any) -> Any:
    """Convert one canonical part to an item of a user prompt.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part that a user prompt cannot hold.
    """
    if isinstance(part, Native):
        if part.provider != NAME:
            unsupported("native", NAME, "it belongs to another provider")
        return parse_json(part.raw, where="a native part")
    left = unpack(NAME, part.wire)
    form = form_of(left)
    if isinstance(part, Text) and not form:
        return part.text
    return restore(_render_item(part, form), left)


def _render_item(part: Any, form: Mapping[str, Any]) -> dict[str, Any]:
    kind = form.get("kind")
    if isinstance(part, Text):
        return {"kind": "text-content", "content": part.text}
    if not isinstance(part, Image | Audio | File):
        unsupported(part.__struct_config__.tag, NAME, "a user prompt cannot hold it")
    if part.url:
        return _tagged(kind or _url_kind(part), {"url": part.url})
    if part.file_id:
        return _tagged("uploaded-file", {"file_id": part.file_id})
    return _tagged("binary", {"data": part.data, "media_type": part.mime})


def _tagged(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "kind": kind}


def _url_kind(part: Media) -> str:
    if isinstance(part, File):
        return "video-url" if part.mime.startswith("video/") else "document-url"
    return "image-url" if isinstance(part, Image) else "audio-url"


def render_value(parts: Sequence[Any], form: Mapping[str, Any]) -> Any:
    """Write what a tool returned from its canonical parts."""
    if form.get("file") and len(parts) == 1:
        return lower_item(parts[0])
    if form.get("value") and len(parts) == 1 and isinstance(parts[0], Text):
        return parse_json(parts[0].text, where="a tool result")
    if not form.get("list") and all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts)
    values = form.get("values", ())
    items = [
        parse_json(part.text, where="a tool result") if place in values else lower_item(part)
        for place, part in enumerate(parts)
    ]
    return {TAG: "tuple", "items": items} if form.get("tuple") else items
