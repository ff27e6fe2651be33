"""Gemini parts and canonical parts: one part of the wire is one part, both ways.

Keys are read in camelCase (the REST API) and in snake_case (dicts made for the Python SDK), and
written as they were read. Bytes, which the SDK allows, come back as bytes.

Source:
    https://ai.google.dev/api/caching#Part (read 2026-11-30) and the types of the official
    Python SDK, release 3.6.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from thusfar.codec import json_text, parse_json
from thusfar.dialects.base import DialectMismatch
from thusfar.dialects.leftovers import form_of, leftovers, pack, restore, unpack, with_form
from thusfar.dialects.shapes import arguments_object, base64_of, bytes_of, opened, unsupported
from thusfar.messages import Audio, File, Image, Native, Part, Reasoning, Text, ToolCall, ToolResult

NAME: Final = "gemini"
SIGNATURE: Final = "thoughtSignature"

#: Kinds of parts without a canonical form, each with the reason. They lift to `Native`.
NATIVE_KINDS: Final[dict[str, str]] = {
    "executableCode": "written and run by the provider inside one message, so nothing waits",
    "codeExecutionResult": "answers an executableCode of the same message",
    "toolCall": "called and answered by the provider, so nothing waits for a result of ours",
    "toolResponse": "answers a toolCall of the provider",
    "inlineData": "only without media type or data",
    "fileData": "only without an address",
    "": "a part with none of the known fields, which the provider refuses",
}

_SNAKE: Final[dict[str, str]] = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
    "thoughtSignature": "thought_signature",
    "mimeType": "mime_type",
    "fileUri": "file_uri",
    "displayName": "display_name",
}
_KINDS: Final[dict[str, str]] = {"text": "text"} | {
    spelling: kind
    for kind, snake in _SNAKE.items()
    if kind in {*NATIVE_KINDS, "functionCall", "functionResponse"}
    for spelling in (kind, snake)
}
_SNAKE_KEYS: Final = frozenset(_SNAKE.values())
_FOREIGN: Final = frozenset({"type", "kind", "part_kind"})  # how other wires tag their parts
_ANSWERS: Final = frozenset({"output", "result", "error"})

Checked = tuple[str, Mapping[str, Any]]


def field(holder: Mapping[str, Any], name: str) -> Any:
    """Read a field in either spelling; `None` when it is in neither."""
    value = holder.get(name)
    return holder.get(_SNAKE.get(name, name)) if value is None else value


def check_part(value: Any) -> Checked:
    """Look at a part's structure without converting it.

    Returns:
        Its kind in camelCase (`signature` for a part with nothing else, the first key for one
        that is not known, empty for an empty one) and the part as a mapping.

    Raises:
        DialectMismatch: for something that is no part of this wire.
    """
    if type(value) is dict and len(value) == 1 and type(value.get("text")) is str:
        return "text", value
    part = opened(value)
    if not _FOREIGN.isdisjoint(part):
        raise DialectMismatch("a part of another wire")
    kinds = {_KINDS[key] for key in part if key in _KINDS and part[key] is not None}
    if len(kinds) > 1:
        raise DialectMismatch("a part with two kinds of data")
    kind = kinds.pop() if kinds else ""
    held = field(part, kind)
    if kind == "text":
        _require(isinstance(held, str))
    elif kind == "functionCall":
        _require(isinstance(held, Mapping) and isinstance(held.get("name"), str))
        _require(isinstance(held.get("id"), str | None))
    elif kind == "functionResponse":
        _check_result(held)
    elif not kind:
        sealed = isinstance(field(part, SIGNATURE), str | bytes | bytearray)
        kind = (
            "signature" if sealed else next((str(key) for key in part if part[key] is not None), "")
        )
    return kind, part


def _check_result(held: Any) -> None:
    _require(isinstance(held, Mapping))
    name, call_id, parts = held.get("name"), held.get("id"), held.get("parts")
    _require(isinstance(name, str | None) and isinstance(call_id, str | None))
    _require(name is not None or call_id is not None)
    _require(parts is None or isinstance(parts, list | tuple))
    for inner in parts or ():
        check_part(inner)


def _require(holds: bool) -> None:
    if not holds:
        raise DialectMismatch("a field of the wrong type")


def arguments_text(call: Mapping[str, Any]) -> str:
    """Write the arguments of a function call as JSON text; `{}` where it has none."""
    args = call.get("args")
    return "{}" if args is None else json_text(args)


def lift_part(checked: Checked) -> Part:
    """Convert a checked part; one without a canonical form becomes `Native`.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when it holds what is not JSON.
    """
    kind, given = checked
    form: dict[str, Any] = {}
    block = _with_text_signature(given, form)
    if not _SNAKE_KEYS.isdisjoint(block):
        form["keys"] = "snake"
    part: Part | None = None
    if kind == "text" and block.get("thought") is not True:
        part = Text(block["text"])
    elif kind in ("text", "signature"):
        sealed = field(block, SIGNATURE)
        signature = sealed if isinstance(sealed, str) else None
        part = Reasoning(text=block.get("text") or "", signature=signature, provider=NAME)
    elif kind == "functionCall":
        part = _lift_call(field(block, kind), form)
    elif kind == "functionResponse":
        part = _lift_result(field(block, kind), form)
    elif kind in ("inlineData", "fileData"):
        part = _lift_media(field(block, kind), form)
    if part is None:
        return Native(provider=NAME, kind=kind, raw=json_text(given))
    left = with_form(leftovers(block, _render(part, form)), form)
    return msgspec.structs.replace(part, wire=pack(NAME, left)) if left else part


def _with_text_signature(part: Mapping[str, Any], form: dict[str, Any]) -> Mapping[str, Any]:
    for key in (SIGNATURE, _SNAKE[SIGNATURE]):
        if isinstance(sealed := part.get(key), bytes | bytearray):
            form["signature"] = "bytes"
            return {**part, key: base64_of(sealed)}
    return part


def _lift_call(call: Mapping[str, Any], form: dict[str, Any]) -> ToolCall:
    if not isinstance(call.get("args", {}), Mapping | None):
        form["args"] = "other"
    return ToolCall(id=call.get("id"), name=call["name"], arguments=arguments_text(call))


def _lift_result(result: Mapping[str, Any], form: dict[str, Any]) -> ToolResult:
    response, parts = result.get("response"), []
    is_error = isinstance(response, Mapping) and response.keys() == {"error"}
    if response is not None:
        key = (
            next(iter(response), "") if isinstance(response, Mapping) and len(response) == 1 else ""
        )
        if key in _ANSWERS and isinstance(response[key], str):
            parts.append(Text(response[key]))
            if key == "result":
                form["response"] = key
        else:
            parts.append(Text(json_text(response)))
            form["response"] = "json"
    if result.get("name") is None:
        form["unnamed"] = True
    parts += [_lift_inner(check_part(inner)) for inner in result.get("parts") or ()]
    return ToolResult(
        call_id=result.get("id"), name=result.get("name"), parts=tuple(parts), is_error=is_error
    )


def _lift_inner(checked: Checked) -> Any:
    """Lift a part of a result: media, or native where it is anything else."""
    if checked[0] in ("inlineData", "fileData"):
        return lift_part(checked)
    return Native(provider=NAME, kind=checked[0], raw=json_text(checked[1]))


def _lift_media(held: Any, form: dict[str, Any]) -> Image | Audio | File | None:
    if not isinstance(held, Mapping):
        return None
    mime, data, url = field(held, "mimeType"), held.get("data"), field(held, "fileUri")
    name = field(held, "displayName")
    if isinstance(data, bytes | bytearray):
        form["data"] = "bytes"
        data = base64_of(data)
    elif isinstance(data, str) and _is_url_safe(data):  # how pydantic dumps the SDK's bytes
        form["data"] = "url-safe"
        data = _standard(data)
    mime = mime if isinstance(mime, str) else ""
    made = Image if mime.startswith("image/") else Audio if mime.startswith("audio/") else File
    called = name if isinstance(name, str) else ""
    if isinstance(data, str) and data and mime:
        return made(mime=mime, data=data, name=called)
    if isinstance(url, str) and url and data is None:
        return made(mime=mime, url=url, name=called)
    return None


def _is_url_safe(data: str) -> bool:
    return ("-" in data or "_" in data) and "+" not in data and "/" not in data


def _standard(data: str) -> str:
    return data.replace("-", "+").replace("_", "/")


def lower_part(part: Part) -> dict[str, Any]:
    """Convert a part to a part of this wire.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on this wire.
        TranscriptError: `INVALID_TRANSCRIPT`, when `wire` or `raw` is not as it was lifted.
    """
    left = {} if isinstance(part, Native) else unpack(NAME, part.wire)
    form = form_of(left)
    made = restore(_render(part, form), left)
    if form.get("signature") == "bytes":
        for key in (SIGNATURE, _SNAKE[SIGNATURE]):
            if isinstance(sealed := made.get(key), str):
                made[key] = bytes_of(sealed, part="text", dialect=NAME)
    return made


def _lower_native(part: Native) -> dict[str, Any]:
    if part.provider != NAME:
        unsupported("native", NAME, f"it belongs to {part.provider or 'another provider'}")
    block = parse_json(part.raw, where="a native part")
    if not isinstance(block, dict):
        unsupported("native", NAME, "it was no object")
    return block


def _render(part: Any, form: Mapping[str, Any]) -> dict[str, Any]:
    """Write a part from its own fields alone, in the spelling that `form` notes."""
    match part:
        case Text(text=text):
            made: dict[str, Any] = {"text": text}
        case Reasoning():
            made = _render_reasoning(part)
        case ToolCall():
            made = {"functionCall": _render_call(part, form)}
        case ToolResult():
            made = {"functionResponse": _render_result(part, form)}
        case Image() | Audio() | File():
            made = _render_media(part, form)
        case _:
            return _lower_native(part)
    return _snaked(made) if form.get("keys") == "snake" else made


def _snaked(made: Mapping[str, Any]) -> dict[str, Any]:
    """Respell the keys of a part and of the object it holds; arguments and responses stay."""
    return {
        _SNAKE.get(key, key): {_SNAKE.get(inner, inner): kept for inner, kept in value.items()}
        if isinstance(value, dict)
        else value
        for key, value in made.items()
    }


def _render_reasoning(part: Reasoning) -> dict[str, Any]:
    if part.provider != NAME or part.data is not None:
        unsupported("reasoning", NAME, "only thoughts of Gemini can be sent back")
    made = {"text": part.text, "thought": True}
    return made if part.signature is None else {**made, SIGNATURE: part.signature}


def _render_call(part: ToolCall, form: Mapping[str, Any]) -> dict[str, Any]:
    if form.get("args") == "other":
        args = parse_json(part.arguments, where="the arguments of a call")
    else:
        args = arguments_object(part.arguments, NAME)
    made = {"name": part.name, "args": args}
    return made if part.id is None else {"id": part.id, **made}


def _render_result(part: ToolResult, form: Mapping[str, Any]) -> dict[str, Any]:
    if part.name is None and not form.get("unnamed"):
        unsupported("tool_result", NAME, "it named no tool", "Name the tool whose call it answers.")
    made: dict[str, Any] = {} if part.call_id is None else {"id": part.call_id}
    if part.name is not None:
        made["name"] = part.name
    texts = [inner.text for inner in part.parts if isinstance(inner, Text)]
    if form.get("response") == "json" and texts:
        made["response"] = parse_json(texts[0], where="the response of a function")
    else:
        usual = "error" if part.is_error else "output"
        made["response"] = {str(form.get("response", usual)): "\n".join(texts)}
    if rest := [inner for inner in part.parts if not isinstance(inner, Text)]:
        made["parts"] = [lower_part(inner) for inner in rest]
    return made


def _render_media(part: Image | Audio | File, form: Mapping[str, Any]) -> dict[str, Any]:
    kind = "image" if isinstance(part, Image) else "audio" if isinstance(part, Audio) else "file"
    named = {"displayName": part.name} if part.name else {}
    if part.data:
        if not part.mime:
            unsupported(kind, NAME, "its media type was unknown", "Give it its mime.")
        return {"inlineData": {"mimeType": part.mime, "data": _data(part, kind, form), **named}}
    if not part.url:
        unsupported(kind, NAME, "it had neither data nor an address that Gemini can read")
    typed = {"mimeType": part.mime} if part.mime else {}
    return {"fileData": {"fileUri": part.url, **typed, **named}}


def _data(part: Image | Audio | File, kind: str, form: Mapping[str, Any]) -> str | bytes:
    if form.get("data") == "bytes":
        return bytes_of(part.data, part=kind, dialect=NAME)
    if form.get("data") == "url-safe":
        return part.data.replace("+", "-").replace("/", "_")
    return part.data
