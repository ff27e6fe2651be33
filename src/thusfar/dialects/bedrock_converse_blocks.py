"""Converse content blocks and canonical parts: one block is one part, both ways.

A block is an object with one key, its kind. Cache points are no parts: they mark a place, and
the message keeps them.

Source:
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
    (read 2026-11-30)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from thusfar.codec import json_text, parse_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.bedrock_converse_media import KINDS, NAME, lift_media, render_media
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.shapes import (
    arguments_object,
    base64_of,
    bytes_of,
    opened,
    text_at,
    unsupported,
)
from thusfar.messages import Audio, File, Image, Native, Part, Reasoning, Text, ToolCall, ToolResult

MARK: Final = "cachePoint"

#: Kinds of blocks without a canonical part, each with the reason. They lift to `Native`.
NATIVE_KINDS: Final[dict[str, str]] = {
    "toolUse": "only with type server_tool_use: called and answered inside one message",
    "toolResult": "only with the type of a server tool: answers a toolUse of the same message",
    "searchResult": "source, title and citable passages belong together",
    "toolAddition": "changes which tools are offered; no other wire can say it in a message",
    "toolRemoval": "changes which tools are offered; no other wire can say it in a message",
    "citationsContent": "only where it holds more than one text",
    "guardContent": "only where it holds neither text nor an image",
    "reasoningContent": "only where it holds neither text nor sealed reasoning",
    "cachePoint": "only inside a result: marks a place for the prompt cache",
    "image": "only where its source is of a kind not known here",
    "document": "only where its source holds blocks, or is of a kind not known here",
    "video": "only where its source is of a kind not known here",
    "audio": "only where its source is of a kind not known here",
}

_KNOWN: Final = frozenset({"text", *NATIVE_KINDS})
_WAITING: Final = frozenset({None, "tool_use", "tool_result"})

Checked = tuple[str, Mapping[str, Any]]


def check_block(value: Any) -> Checked:
    """Look at a block's structure without converting it.

    Returns:
        Its kind and the block as a mapping. A call or result of a server tool has the kind
        `native`, reasoning the kind `reasoningContent` only where it is readable or sealed.

    Raises:
        DialectMismatch: for something that is no block of this wire.
    """
    if type(value) is dict and len(value) == 1 and type(value.get("text")) is str:
        return "text", value
    kind, block = _keyed(value)
    held = block[kind]
    if kind == "text":
        text_at(block, kind)
    elif kind in ("toolUse", "toolResult"):
        if not isinstance(held, Mapping):
            raise DialectMismatch(f"{kind} is no object")
        text_at(held, "toolUseId")
        if kind == "toolUse":
            text_at(held, "name")
        else:
            _check_result_content(held.get("content"))
        type_ = held.get("type")
        return ("native" if isinstance(type_, str) and type_ not in _WAITING else kind), block
    if kind == "reasoningContent" and _thought(held, {}) is None:
        return "native", block
    return kind, block


def _keyed(value: Any) -> Checked:
    block = opened(value)
    if not block or "type" in block:
        raise DialectMismatch("a block of another wire")
    known = [key for key in block if key in _KNOWN]
    kind = known[0] if known else next(iter(block))
    if len(known) > 1 or not isinstance(kind, str):
        raise DialectMismatch("not a block with one key")
    return kind, block


def _check_result_content(content: Any) -> None:
    if content is None:
        return
    if not isinstance(content, list | tuple):
        raise DialectMismatch("the content of a result is no list")
    for value in content:
        kind, block = _keyed_inner(value)
        if kind == "text":
            text_at(block, kind)


def _keyed_inner(value: Any) -> Checked:
    block = opened(value)
    if "json" in block and len(block) == 1:
        return "json", block
    return _keyed(block)


def lift_block(checked: Checked) -> Part:
    """Convert a checked block; one without a canonical form becomes `Native`.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when it holds what is not JSON.
    """
    kind, block = checked
    form: dict[str, Any] = {}
    if kind == "native":
        return _native(_keyed(block)[0], block)
    held = block[kind]
    part: Part | None
    if kind == "toolUse":
        part = _lift_call(held, form)
    elif kind == "toolResult":
        parts = tuple(_lift_inner(inner) for inner in held.get("content") or ())
        failed = held.get("status") == "error"
        part = ToolResult(call_id=held["toolUseId"], parts=parts, is_error=failed)
    elif kind == "reasoningContent":
        part = _thought(held, form)
    elif kind == "guardContent":
        part = _lift_guarded(held, form)
    elif kind == "citationsContent":
        part = _lift_cited(held, form)
    else:
        part = _lift_content(kind, block, form)
    return _native(kind, block) if part is None else _with_wire(part, block, form)


def _native(kind: str, block: Mapping[str, Any]) -> Native:
    return Native(provider=NAME, kind=kind, raw=json_text(block))


def _with_wire(part: Any, block: Mapping[str, Any], form: Mapping[str, Any]) -> Any:
    left = with_form(leftovers(block, _render(part, form)), form)
    return msgspec.structs.replace(part, wire=pack(NAME, left)) if left else part


def _lift_content(kind: str, block: Mapping[str, Any], form: dict[str, Any]) -> Any:
    """Lift what may also stand in a result: text and media."""
    held = block[kind]
    if kind == "text":
        return Text(held)
    if kind == "document" and isinstance(held, Mapping):
        match held.get("source"):
            case {"text": str(text)}:  # the model reads it, so it counts as text
                form["in"] = kind
                return Text(text)
    return lift_media(kind, held, form) if kind in KINDS else None


def _lift_inner(value: Any) -> Any:
    kind, block = _keyed_inner(value)
    form: dict[str, Any] = {}
    if kind == "json":
        form["in"] = kind
        part = Text(json_text(block[kind]))
    else:
        part = _lift_content(kind, block, form)
    return _native(kind, block) if part is None else _with_wire(part, block, form)


def arguments_text(call: Mapping[str, Any]) -> str:
    """Write the input of a call as JSON text; `{}` where it has none."""
    return json_text(call.get("input", {}))


def _lift_call(held: Mapping[str, Any], form: dict[str, Any]) -> ToolCall:
    if not isinstance(held.get("input", {}), Mapping):
        form["input"] = "other"
    return ToolCall(id=held["toolUseId"], name=held["name"], arguments=arguments_text(held))


def _thought(held: Any, form: dict[str, Any]) -> Reasoning | None:
    match held:
        case {"reasoningText": {"text": str(text)} as read}:
            signature = read.get("signature")
            sealed = signature if isinstance(signature, str) else None
            return Reasoning(text=text, signature=sealed, provider=NAME)
        case {"redactedContent": str(data)}:
            return Reasoning(data=data, provider=NAME)
        case {"redactedContent": bytes() | bytearray() as data}:
            form["data"] = "bytes"
            return Reasoning(data=base64_of(data), provider=NAME)
    return None


def _lift_guarded(held: Any, form: dict[str, Any]) -> Any:
    form["in"] = "guardContent"
    match held:
        case {"text": {"text": str(text)}}:
            return Text(text)
        case {"image": image}:
            return lift_media("image", image, form)
    return None


def _lift_cited(held: Any, form: dict[str, Any]) -> Text | None:
    form["in"] = "citationsContent"
    match held:
        case {"content": [{"text": str(text)}]}:
            return Text(text)
    return None


def lower_part(part: Part) -> dict[str, Any]:
    """Convert a part to a block.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
        TranscriptError: `INVALID_TRANSCRIPT`, when `wire` or `raw` is not as it was lifted.
    """
    left = {} if isinstance(part, Native) else unpack(NAME, part.wire)
    return restore(_render(part, form_of(left)), left)


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
            return _render_text(text, form)
        case ToolCall():
            return {"toolUse": _render_call(part, form)}
        case ToolResult():
            return {"toolResult": _render_result(part)}
        case Reasoning():
            return {"reasoningContent": _render_thought(part, form)}
        case Image() | Audio() | File():
            block = render_media(part, form)
            return {"guardContent": block} if form.get("in") == "guardContent" else block
        case _:
            return _lower_native(part)


def _render_text(text: str, form: Mapping[str, Any]) -> dict[str, Any]:
    match form.get("in"):
        case "document":
            return {"document": {"source": {"text": text}}}
        case "guardContent":
            return {"guardContent": {"text": {"text": text}}}
        case "citationsContent":
            return {"citationsContent": {"content": [{"text": text}]}}
        case "json":
            return {"json": parse_json(text, where="the JSON of a result")}
    return {"text": text}


def _render_call(part: ToolCall, form: Mapping[str, Any]) -> dict[str, Any]:
    if part.id is None:
        unsupported("tool_call", NAME, "it had no id", "Give the call and its result one id.")
    if form.get("input") == "other":
        given = parse_json(part.arguments, where="the arguments of a call")
    else:
        given = arguments_object(part.arguments, NAME)
    return {"toolUseId": part.id, "name": part.name, "input": given}


def _render_result(part: ToolResult) -> dict[str, Any]:
    if part.call_id is None:
        unsupported(
            "tool_result", NAME, "it had no call id", "Give the call and its result one id."
        )
    if any(isinstance(inner, Audio) for inner in part.parts):
        unsupported("audio", NAME, "a result takes no sound")
    content = [lower_part(inner) for inner in part.parts]
    held = {"toolUseId": part.call_id, "content": content}
    return {**held, "status": "error"} if part.is_error else held


def _render_thought(part: Reasoning, form: Mapping[str, Any]) -> dict[str, Any]:
    if part.provider != NAME:
        unsupported("reasoning", NAME, "only reasoning that Bedrock returned can be sent back")
    if part.data is not None:
        as_bytes = form.get("data") == "bytes"
        data = bytes_of(part.data, part="reasoning", dialect=NAME) if as_bytes else part.data
        return {"redactedContent": data}
    read = {"text": part.text}
    sealed = read if part.signature is None else {**read, "signature": part.signature}
    return {"reasoningText": sealed}
