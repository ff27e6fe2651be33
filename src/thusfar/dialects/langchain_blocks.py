"""LangChain content blocks: the pieces of a message's content, lifted to parts and back.

The same content is written in several styles, depending on the provider and the version that
made it. The style is noted in the part's `wire`, so that a block comes back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from thusfar.codec import json_text, parse_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.shapes import arguments_object, unsupported
from thusfar.messages import (
    Audio,
    File,
    Image,
    Media,
    Native,
    Part,
    Reasoning,
    Text,
    ToolCall,
)

NAME: Final = "langchain"

Block = Mapping[str, Any]
_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([A-Za-z0-9+/]*={0,2})")
_MEDIA: Final[dict[str, type[Media]]] = {
    "image": Image,
    "audio": Audio,
    "video": File,
    "file": File,
    "document": File,
}
_CALL_IDS: Final = {"tool_use": "id", "tool_call": "id", "function_call": "call_id"}


def call_id_of(block: Any) -> str | None:
    """Read the call id of a block that is a tool call; `None` for any other block."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str) or kind not in _CALL_IDS:
        return None
    found = block.get(_CALL_IDS[kind])
    return found if isinstance(found, str) else None


def lift_block(block: Any, calls: Mapping[str, Any]) -> Part:
    """Convert one element of a content list.

    Args:
        block: Text or a block.
        calls: The entries of `tool_calls` by id, whose blocks in the content say the same.

    Raises:
        DialectMismatch: when it is neither text nor an object.
    """
    if isinstance(block, str):
        return Text(block, wire=pack(NAME, with_form({}, {"style": "bare"})))
    if not isinstance(block, Mapping):
        raise DialectMismatch("not a content block")
    kind = block.get("type")
    part, style = _lift(block, kind if isinstance(kind, str) else "", calls)
    if isinstance(part, Native):
        return part
    left = leftovers(block, _render(part, style))
    return _with_wire(part, pack(NAME, with_form(left, style)))


def lower_block(part: Part) -> str | dict[str, Any]:
    """Convert one part to an element of a content list.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part that has no block.
    """
    if isinstance(part, Native):
        if part.provider != NAME:
            unsupported("native", NAME, "it belongs to another provider")
        made: dict[str, Any] = parse_json(part.raw, where="a native part")
        return made
    left = unpack(NAME, part.wire)
    style = form_of(left)
    if style.get("style") == "bare" and isinstance(part, Text):
        return part.text
    return restore(_render(part, style), left)


def style_of(part: Part) -> Mapping[str, Any]:
    """Read the note that lifting left about how a part was written; empty for the usual way."""
    return {} if isinstance(part, Native) else form_of(unpack(NAME, part.wire))


def _with_wire(part: Part, wire: str) -> Part:
    if not wire:
        return part
    fields = {name: getattr(part, name) for name in part.__struct_fields__}
    return type(part)(**{**fields, "wire": wire})


def _lift(block: Block, kind: str, calls: Mapping[str, Any]) -> tuple[Part, dict[str, Any]]:
    if lifted := _lift_text(block) or _lift_media(block, kind):
        return lifted
    if (call_id := call_id_of(block)) is not None:
        return _lift_call(block, kind, call_id, calls)
    return Native(NAME, kind, json_text(block)), {}


def _lift_text(block: Block) -> tuple[Part, dict[str, Any]] | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text), {}
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text), {"style": "refusal"}
        case {"type": "thinking", "thinking": str(text)}:
            signature = block.get("signature")
            sealed = signature if isinstance(signature, str) else None
            return Reasoning(text, signature=sealed, provider="anthropic"), {}
        case {"type": "redacted_thinking", "data": str(data)}:
            return Reasoning(data=data, provider="anthropic"), {}
        case {"type": "reasoning", "reasoning": str(text)}:
            extras = block.get("extras")
            signature = extras.get("signature") if isinstance(extras, Mapping) else None
            return Reasoning(text, signature=signature if isinstance(signature, str) else None), {}
        case {"type": "reasoning", "summary": [*summary]}:
            texts = [each.get("text") for each in summary if isinstance(each, Mapping)]
            sealed = block.get("encrypted_content")
            reasoning = Reasoning(
                "\n\n".join(text for text in texts if isinstance(text, str)),
                signature=sealed if isinstance(sealed, str) else None,
                provider="openai-responses",
            )
            return reasoning, {}
        case _:
            return None


def _lift_media(block: Block, kind: str) -> tuple[Part, dict[str, Any]] | None:
    match block:
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            mime, data = _split_url(url)
            bare = {"bare": True} if isinstance(block["image_url"], str) else {}
            return Image(mime, data, "" if data else url), {"style": "image_url", **bare}
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}}:
            return Audio(f"audio/{form}", data), {"style": "input_audio"}
        case {"type": "file", "file": {"file_data": str(url)} as file}:
            mime, data = _split_url(url)
            name = file.get("filename")
            part = File(mime, data, "" if data else url, name=name if isinstance(name, str) else "")
            return part, {"style": "file"}
        case {"type": "file", "file": {"file_id": str(file_id)}}:
            return File(file_id=file_id), {"style": "file"}
        case {"type": str(), "source": Mapping() as source} if kind in _MEDIA:
            return _lift_source(kind, source)
        case {"type": str()} if kind in _MEDIA and not isinstance(block.get("source"), Mapping):
            return _lift_standard(kind, block)
        case _:
            return None


def _lift_source(kind: str, source: Block) -> tuple[Part, dict[str, Any]] | None:
    make, style = _MEDIA[kind], {"style": "source", "kind": kind}
    match source:
        case {"type": "base64", "data": str(data), "media_type": str(mime)}:
            return make(mime, data), style
        case {"type": "url", "url": str(url)}:
            return make(url=url), style
        case {"type": "file", "file_id": str(file_id)}:
            return make(file_id=file_id), style
        case _:
            return None


def _lift_standard(kind: str, block: Block) -> tuple[Part, dict[str, Any]] | None:
    make = _MEDIA[kind]
    found = block.get("mime_type")
    mime = found if isinstance(found, str) else ""
    style = {} if kind in ("image", "audio", "file") else {"kind": kind}
    match block:
        case {"source_type": "base64", "data": str(data)}:
            return make(mime, data), {**style, "style": "source_type"}
        case {"source_type": "url", "url": str(url)}:
            return make(mime, url=url), {**style, "style": "source_type"}
        case {"source_type": "id", "id": str(file_id)}:
            return make(mime, file_id=file_id), {**style, "style": "source_type"}
        case {"base64": str(data)}:
            return make(mime, data), style
        case {"url": str(url)}:
            return make(mime, url=url), style
        case {"file_id": str(file_id)}:
            return make(mime, file_id=file_id), style
        case _:
            return None


def _lift_call(
    block: Block, kind: str, call_id: str, calls: Mapping[str, Any]
) -> tuple[Part, dict[str, Any]]:
    name = block.get("name")
    if not isinstance(name, str):
        return Native(NAME, kind, json_text(block)), {}
    style = {"style": kind} if call_id in calls else {"style": kind, "only": True}
    if kind == "function_call":
        arguments = block.get("arguments")
        if not isinstance(arguments, str):
            return Native(NAME, kind, json_text(block)), {}
        return ToolCall(call_id, name, arguments), style
    entry = calls.get(call_id)
    # Streamed blocks can keep an empty or textual input; the parsed entry has the arguments.
    given = entry.get("args") if entry else block.get("input", block.get("args"))
    if not isinstance(given, Mapping):
        return Native(NAME, kind, json_text(block)), {}
    return ToolCall(call_id, name, json_text(given)), style


def _split_url(url: str) -> tuple[str, str]:
    """Split a base64 data URL into media type and data; empty for any other URL."""
    found = _DATA_URL.fullmatch(url)
    return (found[1], found[2]) if found and found[2] else ("", "")


def _render(part: Part, style: Mapping[str, Any]) -> dict[str, Any]:  # noqa: RET503 - never ends
    """Write a part from its own fields, in one of the styles."""
    match part:
        case Text(text=text):
            if style.get("style") == "refusal":
                return {"type": "refusal", "refusal": text}
            return {"type": "text", "text": text}
        case Reasoning():
            return _render_reasoning(part)
        case Image() | Audio() | File():
            return _render_media(part, style)
        case ToolCall():
            return _render_call(part, style)
    unsupported("tool_result", NAME, "a result is a message of its own")


def _render_reasoning(part: Reasoning) -> dict[str, Any]:
    if part.provider == "anthropic" and part.data is not None:
        return {"type": "redacted_thinking", "data": part.data}
    if part.data is not None:
        unsupported("reasoning", NAME, "it is sealed by a provider that has no block for it")
    if part.provider == "anthropic":
        sealed = {} if part.signature is None else {"signature": part.signature}
        return {"type": "thinking", "thinking": part.text, **sealed}
    if part.provider == "openai-responses":
        summary = [{"type": "summary_text", "text": part.text}] if part.text else []
        sealed = {} if part.signature is None else {"encrypted_content": part.signature}
        return {"type": "reasoning", "summary": summary, **sealed}
    extras = {} if part.signature is None else {"extras": {"signature": part.signature}}
    return {"type": "reasoning", "reasoning": part.text, **extras}


def _render_media(part: Media, style: Mapping[str, Any]) -> dict[str, Any]:
    kind = style.get("kind") or type(part).__name__.lower()
    render = _STYLES.get(style.get("style", ""), _render_standard)
    made = render(part, kind)
    return {**made, "image_url": made["image_url"]["url"]} if style.get("bare") else made


def _render_standard(part: Media, kind: str) -> dict[str, Any]:
    place = {"base64": part.data, "url": part.url, "file_id": part.file_id}
    known = {key: value for key, value in place.items() if value} or {"base64": ""}
    mime = {"mime_type": part.mime} if part.mime else {}
    name = {"extras": {"filename": part.name}} if part.name else {}
    return {"type": kind, **known, **mime, **name}


def _render_source_type(part: Media, kind: str) -> dict[str, Any]:
    mime = {"mime_type": part.mime} if part.mime else {}
    if part.url:
        return {"type": kind, "source_type": "url", "url": part.url, **mime}
    if part.file_id:
        return {"type": kind, "source_type": "id", "id": part.file_id, **mime}
    return {"type": kind, "source_type": "base64", "data": part.data, **mime}


def _render_source(part: Media, kind: str) -> dict[str, Any]:
    if part.url:
        return {"type": kind, "source": {"type": "url", "url": part.url}}
    if part.file_id:
        return {"type": kind, "source": {"type": "file", "file_id": part.file_id}}
    source = {"type": "base64", "media_type": part.mime, "data": part.data}
    return {"type": kind, "source": source}


def _render_image_url(part: Media, _: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": _join_url(part)}}


def _render_input_audio(part: Media, _: str) -> dict[str, Any]:
    sound = {"data": part.data, "format": part.mime.removeprefix("audio/")}
    return {"type": "input_audio", "input_audio": sound}


def _render_file(part: Media, _: str) -> dict[str, Any]:
    if part.file_id:
        return {"type": "file", "file": {"file_id": part.file_id}}
    name = {"filename": part.name} if part.name else {}
    return {"type": "file", "file": {"file_data": _join_url(part), **name}}


def _join_url(part: Media) -> str:
    return f"data:{part.mime};base64,{part.data}" if part.data else part.url


def _render_call(part: ToolCall, style: Mapping[str, Any]) -> dict[str, Any]:
    match style.get("style"):
        case "function_call":
            return {
                "type": "function_call",
                "call_id": part.id,
                "name": part.name,
                "arguments": part.arguments,
            }
        case "tool_call":
            arguments = arguments_object(part.arguments, NAME)
            return {"type": "tool_call", "id": part.id, "name": part.name, "args": arguments}
        case _:
            arguments = arguments_object(part.arguments, NAME)
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments}


_STYLES: Final[dict[str, Callable[[Media, str], dict[str, Any]]]] = {
    "source_type": _render_source_type,
    "source": _render_source,
    "image_url": _render_image_url,
    "input_audio": _render_input_audio,
    "file": _render_file,
}
