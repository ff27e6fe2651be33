"""Values that LangGraph stored: read as plain data, without its code and without running any.

A stored value is MessagePack whose extensions name a class and its fields, or JSON whose objects
do. The names are never imported; the fields are taken. Pickled and encrypted values are refused.

Source:
    langgraph-checkpoint 4.3.2: `JsonPlusSerializer` and its extension codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.codec import parse_json, text_of
from thusfar.errors import TranscriptError

_DELTA_SNAPSHOT: Final = 7
_FIELDS: Final = 2  # of an extension: module, class, fields
_REMOVE: Final = "remove"
_REMOVE_ALL: Final = "__remove_all__"
_ROLES: Final = {"human": "user", "ai": "assistant"}
_TYPES: Final = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
    "RemoveMessage": _REMOVE,
}


class Stored(msgspec.Struct, frozen=True):
    """An object of a class, not yet looked into: nearly all of a checkpoint is known already.

    Attributes:
        code: Kind of the extension.
        data: Its bytes.
    """

    code: int
    data: bytes


def read_value(kind: str, data: bytes | str | None) -> Any:
    """Read a stored value; objects in it are left as `Stored`, those in JSON as dicts.

    Args:
        kind: The serialiser's name of the form, as it stands beside the value.
        data: The value.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for a form that is not read or not well formed.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if not isinstance(data, bytes):
        data = b""
    match kind:
        case "msgpack":
            return _unpacked(data)
        case "json":
            return parse_json(data.decode("utf-8", "surrogatepass"), where="a checkpoint")
        case "null":
            return None
        case "bytes" | "bytearray":
            return data
    raise TranscriptError(
        f"A checkpoint was stored as {kind}, which is not read.",
        fix="Store it with the default serialiser: pickled data would run code, and encrypted "
        "data has no key here.",
    )


def _unpacked(data: bytes) -> Any:
    try:
        return msgspec.msgpack.decode(data, ext_hook=lambda code, held: Stored(code, bytes(held)))
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise TranscriptError(
            "A checkpoint was not well formed.", fix="Restore the file from a backup."
        ) from error


def revived(value: Any) -> Any:
    """Give a value as JSON values; an object as its fields, with its class's type of message."""
    if isinstance(value, Stored):
        named = _unpacked(value.data)
        if value.code == _DELTA_SNAPSHOT:
            return revived(named)
        if not isinstance(named, list) or len(named) <= _FIELDS:
            return None
        fields = revived(named[_FIELDS])
        if isinstance(fields, dict) and named[1] in _TYPES:
            fields.setdefault("type", _TYPES[named[1]])
        return fields
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else text_of(key): revived(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [revived(each) for each in value]
    return value


def listed(value: Any) -> list[Any] | None:
    """List the elements of a channel that holds messages; `None` when it holds no list."""
    while isinstance(value, Stored):
        inner = _unpacked(value.data)
        value = inner if value.code == _DELTA_SNAPSHOT else revived(value)
    return value if isinstance(value, list) else None


def key_of(element: Any) -> bytes | str:
    """Tell what stands for an element: equal keys are equal messages."""
    if isinstance(element, Stored):
        return element.data
    return text_of(revived(element))


def wire_of(element: Any) -> Any:
    """Give an element of the channel as a message of some dialect.

    LangChain's own are given as its `messages_to_dict` writes them; text and pairs of a role and
    a content as chat messages; any other dict as it is.
    """
    value = revived(element)
    match value:
        case str():
            return {"role": "user", "content": value}
        case [str(role), content]:
            return {"role": _ROLES.get(role, role), "content": content}
        case {"lc": int(), "id": [*_, str(name)], "kwargs": dict(fields)} if name in _TYPES:
            return {"type": fields.get("type") or _TYPES[name], "data": fields}
        case {"type": str(kind), "content": _} if "role" not in value or kind == "chat":
            return {"type": kind, "data": {k: v for k, v in value.items() if k != "type"}}
    return value


def folded(state: Sequence[Any], writes: Sequence[Any]) -> list[Any]:
    """Apply what a step wrote to a list of messages, as LangGraph's reducer of messages does.

    A message replaces the one of its id, an order to remove takes one or all away, and everything
    else is added at the end.
    """
    result = [*state]
    for write in writes:
        whole, value = _overwriting(write)
        elements = listed(value)
        if whole:
            result = []
        for element in [value] if elements is None else elements:
            if element is not None:
                result = _with(result, element)
    return result


def _overwriting(write: Any) -> tuple[bool, Any]:
    match revived(write) if isinstance(write, Stored) else write:
        case {"__overwrite__": value, **rest} if not rest:
            return True, value
        case {"type": "__overwrite__", "value": value}:
            return True, value
        case {"value": value, **rest} if not rest and isinstance(write, Stored):
            return True, value
    return False, write


def _with(state: list[Any], element: Any) -> list[Any]:
    message = revived(element)
    identity = message.get("id") if isinstance(message, dict) else None
    removing = isinstance(message, dict) and message.get("type") == _REMOVE
    if removing and identity == _REMOVE_ALL:
        return []
    if not isinstance(identity, str):
        return state if removing else [*state, element]
    found = [i for i, each in enumerate(state) if _id_of(each) == identity]
    if removing:
        return [each for i, each in enumerate(state) if i not in found]
    if not found:
        return [*state, element]
    return [element if i == found[0] else each for i, each in enumerate(state)]


def _id_of(element: Any) -> Any:
    message = revived(element)
    return message.get("id") if isinstance(message, dict) else None
