"""Anthropic content blocks and canonical parts: one block is one part, both ways.

Source:
    https://platform.claude.com/docs/en/api/messages (read 2026-11-30) and the block types of the
    official Python SDK, release 2.14.0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from thusfar.codec import json_text, parse_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.shapes import arguments_object, bytes_of, opened, text_at, unsupported
from thusfar.messages import Audio, File, Image, Native, Part, Reasoning, Text, ToolCall, ToolResult

NAME: Final = "anthropic"
PDF: Final = "application/pdf"
THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})

#: Block types without a canonical part, each with the reason. They lift to `Native`.
NATIVE_KINDS: Final[dict[str, str]] = {
    "server_tool_use": "called and answered by the provider inside one message, so nothing waits",
    "web_search_tool_result": "answers a server_tool_use of the same message; holds sealed pages",
    "web_fetch_tool_result": "answers a server_tool_use of the same message",
    "code_execution_tool_result": "answers a server_tool_use of the same message",
    "bash_code_execution_tool_result": "answers a server_tool_use of the same message",
    "text_editor_code_execution_tool_result": "answers a server_tool_use of the same message",
    "tool_search_tool_result": "answers a server_tool_use of the same message",
    "advisor_tool_result": "answers a server_tool_use of the same message",
    "mcp_tool_use": "called and answered by the provider inside one message, so nothing waits",
    "mcp_tool_result": "answers an mcp_tool_use of the same message",
    "mcp_tool_listing": "the provider's own record of a server's tools",
    "compaction": "the provider's own summary; only it can read what is sealed inside",
    "fallback": "marks a change of model inside one answer; never shown to a model",
    "container_upload": "names a file for the provider's container; no model sees it as a file",
    "search_result": "source, title and citable passages belong together",
    "tool_addition": "changes which tools are offered; no other wire can say it in a message",
    "tool_removal": "changes which tools are offered; no other wire can say it in a message",
    "tool_reference": "stands for a tool definition that the provider fills in",
    "browser_state": "tabs of the caller's browser, which the provider words for the model",
    "image": "only where its source is of a kind not known here",
    "document": "only where its source holds blocks, or is of a kind not known here",
}

#: Block types of the two OpenAI wires and of chat frameworks.
_FOREIGN: Final = frozenset(
    {
        "image_url",
        "input_audio",
        "file",
        "refusal",
        "input_text",
        "output_text",
        "input_image",
        "input_file",
        "reasoning",
        "summary_text",
        "reasoning_text",
        "function_call",
        "function_call_output",
        "tool-call",
        "tool-result",
    }
)
_DOCUMENT: Final = {"in": "document"}


def check_block(value: Any) -> Mapping[str, Any]:
    """Look at a block's structure without converting it; gives it back as a mapping.

    Raises:
        DialectMismatch: for something that is no block of this wire.
    """
    block = opened(value)
    kind = text_at(block, "type")
    if kind == "text" and type(block.get("text")) is str:
        return block
    match kind:
        case "text":
            text_at(block, "text")
        case "tool_use":
            text_at(block, "id")
            text_at(block, "name")
        case "tool_result":
            text_at(block, "tool_use_id")
            _check_result_content(block.get("content"))
        case "thinking":
            text_at(block, "thinking")
        case "redacted_thinking":
            text_at(block, "data")
        case _ if kind in _FOREIGN:
            raise DialectMismatch("a block of another wire")
    return block


def _check_result_content(content: Any) -> None:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        raise DialectMismatch("the content of a result is neither text nor a list")
    for value in content:
        block = opened(value)
        kind = text_at(block, "type")
        if kind == "text":
            text_at(block, "text")
        elif kind in _FOREIGN:
            raise DialectMismatch("a block of another wire")


def lift_block(block: Mapping[str, Any]) -> Part:
    """Convert a checked block to a part; a block without a canonical form becomes `Native`.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when the block holds what is not JSON.
    """
    form: dict[str, Any] = {}
    part: Part | None
    match block["type"]:
        case "tool_use":
            part = _lift_call(block, form)
        case "tool_result":
            part = _lift_result(block, form)
        case "thinking":
            signature = block.get("signature")
            sealed = signature if isinstance(signature, str) else None
            part = Reasoning(text=block["thinking"], signature=sealed, provider=NAME)
        case "redacted_thinking":
            part = Reasoning(data=block["data"], provider=NAME)
        case _:
            part = _lift_content(block, form)
    if part is None:
        return Native(provider=NAME, kind=block["type"], raw=json_text(block))
    lifted: Part = _with_wire(part, block, form)
    return lifted


def _lift_content(block: Mapping[str, Any], form: dict[str, Any]) -> Text | Image | File | None:
    """Lift what may also stand in a result: text, images and documents."""
    kind, source = block["type"], block.get("source")
    if kind == "text":
        return Text(block["text"])
    if kind == "image" and isinstance(source, Mapping):
        match source:
            case {"type": "base64", "media_type": str(mime), "data": str(data)} if mime and data:
                return Image(mime=mime, data=data)
            case {"type": "url", "url": str(url)} if url:
                return Image(url=url)
            case {"type": "file", "file_id": str(file_id)} if file_id:
                return Image(file_id=file_id)
    if kind == "document" and isinstance(source, Mapping):
        return _lift_document(source, form)
    return None


def _lift_document(source: Mapping[str, Any], form: dict[str, Any]) -> Text | File | None:
    match source:
        case {"type": "text", "data": str(text)}:  # the model reads it, so it counts as text
            form.update(_DOCUMENT)
            return Text(text)
        case {"type": "base64", "media_type": str(mime), "data": str(data)} if data:
            if mime != PDF:
                form["source"] = "base64"
            return File(mime=mime, data=data)
        case {"type": "url", "url": str(url)} if url:
            return File(mime=PDF, url=url)
        case {"type": "file", "file_id": str(file_id)} if file_id:
            return File(file_id=file_id)
    return None


def _lift_call(block: Mapping[str, Any], form: dict[str, Any]) -> ToolCall:
    given = block.get("input", {})
    if not isinstance(given, Mapping):
        form["input"] = "other"
    return ToolCall(id=block["id"], name=block["name"], arguments=json_text(given))


def _lift_result(block: Mapping[str, Any], form: dict[str, Any]) -> ToolResult:
    content = block.get("content")
    parts: tuple[Any, ...] = ()
    if isinstance(content, str):
        parts = (Text(content),)
    elif content is not None:
        parts = tuple(_lift_inner(opened(value)) for value in content)
        if is_plain_text(parts):
            form["content"] = "list"
    return ToolResult(
        call_id=block["tool_use_id"], parts=parts, is_error=block.get("is_error") is True
    )


def _lift_inner(block: Mapping[str, Any]) -> Text | Image | File | Native:
    form: dict[str, Any] = {}
    part = _lift_content(block, form)
    if part is None:
        return Native(provider=NAME, kind=block["type"], raw=json_text(block))
    lifted: Text | Image | File = _with_wire(part, block, form)
    return lifted


def _with_wire(part: Any, block: Mapping[str, Any], form: Mapping[str, Any]) -> Any:
    left = with_form(leftovers(block, _render(part, form)), form)
    return msgspec.structs.replace(part, wire=pack(NAME, left)) if left else part


def is_plain_text(parts: tuple[Any, ...]) -> bool:
    """Tell whether parts are one text and nothing beside it, which a plain string can carry."""
    return len(parts) == 1 and isinstance(parts[0], Text) and not unpack(NAME, parts[0].wire)


def lower_part(part: Part) -> dict[str, Any]:
    """Convert a part to a block.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
        TranscriptError: `INVALID_TRANSCRIPT`, when `wire` or `raw` is not as it was lifted.
    """
    left = {} if isinstance(part, Native) else unpack(NAME, part.wire)
    return restore(_render(part, form_of(left)), left)


def lower_content(parts: tuple[Any, ...], *, listed: bool) -> str | list[dict[str, Any]]:
    """Write parts as content: one plain text as a string unless `listed`, else blocks."""
    if not listed and is_plain_text(parts):
        text: str = parts[0].text
        return text
    return [lower_part(part) for part in parts]


def _lower_native(part: Native) -> dict[str, Any]:
    if part.provider != NAME:
        unsupported("native", NAME, f"it belongs to {part.provider or 'another provider'}")
    block = parse_json(part.raw, where="a native block")
    if not isinstance(block, dict):
        unsupported("native", NAME, "it was no object")
    return block


def _render(part: Any, form: Mapping[str, Any]) -> dict[str, Any]:
    """Write a part from its own fields alone, in the spelling that `form` notes."""
    match part:
        case Text(text=text):
            if form.get("in") == "document":
                source = {"type": "text", "media_type": "text/plain", "data": text}
                return {"type": "document", "source": source}
            return {"type": "text", "text": text}
        case ToolCall():
            return _render_call(part, form)
        case ToolResult():
            return _render_result(part, form)
        case Reasoning():
            return _render_reasoning(part)
        case Image():
            return {"type": "image", "source": _image_source(part)}
        case File():
            return {"type": "document", "source": _document_source(part, form)}
        case Audio():
            return unsupported("audio", NAME, "Claude models take no sound")
        case _:
            return _lower_native(part)


def _render_call(part: ToolCall, form: Mapping[str, Any]) -> dict[str, Any]:
    if part.id is None:
        unsupported("tool_call", NAME, "it had no id", "Give the call and its result one id.")
    if form.get("input") == "other":
        given = parse_json(part.arguments, where="the arguments of a call")
    else:
        given = arguments_object(part.arguments, NAME)
    return {"type": "tool_use", "id": part.id, "name": part.name, "input": given}


def _render_result(part: ToolResult, form: Mapping[str, Any]) -> dict[str, Any]:
    if part.call_id is None:
        unsupported(
            "tool_result", NAME, "it had no call id", "Give the call and its result one id."
        )
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": part.call_id}
    if part.parts:
        block["content"] = lower_content(part.parts, listed=form.get("content") == "list")
    if part.is_error:
        block["is_error"] = True
    return block


def _render_reasoning(part: Reasoning) -> dict[str, Any]:
    if part.provider != NAME:
        unsupported("reasoning", NAME, "only reasoning that Claude signed can be sent back")
    if part.data is not None:
        return {"type": "redacted_thinking", "data": part.data}
    block = {"type": "thinking", "thinking": part.text}
    return block if part.signature is None else {**block, "signature": part.signature}


def _image_source(part: Image) -> dict[str, Any]:
    if part.data:
        if not part.mime:
            unsupported("image", NAME, "its media type was unknown", "Give the image its mime.")
        return {"type": "base64", "media_type": part.mime, "data": part.data}
    return _reference(part, "image")


def _document_source(part: File, form: Mapping[str, Any]) -> dict[str, Any]:
    if not part.data:
        return _reference(part, "file")
    if part.mime == PDF or form.get("source") == "base64":
        return {"type": "base64", "media_type": part.mime, "data": part.data}
    if not part.mime.startswith("text/"):
        unsupported("file", NAME, "documents are PDF or plain text")
    data = bytes_of(part.data, part="file", dialect=NAME)
    return {"type": "text", "media_type": "text/plain", "data": data.decode("utf-8", "replace")}


def _reference(part: Image | File, kind: str) -> dict[str, Any]:
    if part.url:
        return {"type": "url", "url": part.url}
    if part.file_id:
        return {"type": "file", "file_id": part.file_id}
    return unsupported(kind, NAME, "it had neither data nor an address")
