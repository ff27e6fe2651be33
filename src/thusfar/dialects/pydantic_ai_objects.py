"""pydantic-ai objects: its dataclasses as plain values, and back to equal objects.

A plain value has the keys of pydantic-ai's own JSON, so that one reader serves both. What JSON
cannot tell apart (bytes, times, tuples, nested classes) carries a tag. pydantic-ai is never
imported here to read an object, only to make one.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from inspect import isabstract
from typing import Any, Final

from thusfar.codec import to_json
from thusfar.dialects.shapes import bytes_of
from thusfar.errors import MissingExtraError, TranscriptError

NAME: Final = "pydantic-ai"
TAG: Final = "$class"
_PACKAGE: Final = "pydantic_ai"
_HOME: Final = "pydantic_ai.messages"
# The time of a message that never had one: making a message must not read a clock.
_UNKNOWN_TIME: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TIME_FIELD: Final = "timestamp"


def is_object(value: Any) -> bool:
    """Tell whether a value is an object of a pydantic-ai class."""
    return type(value).__module__.split(".", 1)[0] == _PACKAGE and dataclasses.is_dataclass(value)


def encode(value: Any) -> Any:
    """Write a value as plain JSON, leaving out fields that are at their default.

    Values of the application's own classes are converted as everywhere in the library.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for a value that has no JSON form.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return to_json(value)
    if is_object(value):
        return _encode_object(value)
    if isinstance(value, bytes):
        return {TAG: "bytes", "data": base64.b64encode(value).decode()}
    if isinstance(value, datetime.datetime):
        return {TAG: "datetime", "text": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {TAG: "timedelta", "parts": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, tuple):
        return {TAG: "tuple", "items": [encode(each) for each in value]}
    if isinstance(value, list):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) for key in value):
            return to_json(value)
        plain = {key: encode(each) for key, each in value.items()}
        return {TAG: "dict", "items": plain} if TAG in plain else plain
    return to_json(value)


def listed(value: Any) -> list[Any] | None:
    """View an encoded list or tuple as a list; `None` for anything else."""
    if isinstance(value, Mapping) and value.get(TAG) == "tuple":
        value = value.get("items")
    return list(value) if isinstance(value, list | tuple) else None


def decode(value: Any) -> Any:
    """Make the value that was encoded: equal, and of the same classes.

    Raises:
        MissingExtraError: `MISSING_EXTRA`, when pydantic-ai is not installed.
        TranscriptError: `INVALID_TRANSCRIPT`, for a class that pydantic-ai does not have.
    """
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    match value.get(TAG):
        case None:
            return {key: decode(each) for key, each in value.items()}
        case "bytes":
            return base64.b64decode(value["data"])
        case "datetime":
            return datetime.datetime.fromisoformat(value["text"])
        case "timedelta":
            return datetime.timedelta(*value["parts"])
        case "tuple":
            return tuple(decode(each) for each in value["items"])
        case "dict":
            return {key: decode(each) for key, each in value["items"].items()}
        case named:
            return _make(_class(named), value)


def made(name: str, **fields: Any) -> dict[str, Any]:
    """Write the plain value of a new object of a class in `pydantic_ai.messages`."""
    return {TAG: name, **fields}


def _encode_object(value: Any) -> dict[str, Any]:
    kind = type(value)
    name = (
        kind.__qualname__ if kind.__module__ == _HOME else f"{kind.__module__}:{kind.__qualname__}"
    )
    plain: dict[str, Any] = {TAG: name}
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        # Classes for one certain tool have its name as their default.
        if field.name != "tool_name" and _is_default(field, held):
            continue
        plain[field.name] = (
            base64.b64encode(held).decode() if isinstance(held, bytes) else encode(held)
        )
    for told in ("kind", "part_kind"):
        if isinstance(label := getattr(value, told, None), str):
            plain[told] = label
    return plain


def _is_default(field: dataclasses.Field[Any], held: Any) -> bool:
    if field.default is not dataclasses.MISSING:
        return type(held) is type(field.default) and bool(held == field.default)
    return field.default_factory in (list, dict) and held == field.default_factory()


def _make(kind: type, plain: Mapping[str, Any]) -> Any:
    """Make an object field by field: its constructor would read a clock and make up ids."""
    if not dataclasses.is_dataclass(kind) or isabstract(kind):
        raise _unknown()
    new = object.__new__(kind)
    for field in dataclasses.fields(kind):
        if field.name in plain:
            held = decode(plain[field.name])
            if field.name == "data" and plain.get("kind") == "binary" and isinstance(held, str):
                held = bytes_of(held, part="file", dialect=NAME)
        else:
            held = _default(field)
        object.__setattr__(new, field.name, held)
    return new


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.name == _TIME_FIELD and field.default is dataclasses.MISSING:
        return _UNKNOWN_TIME
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    raise _unknown()


def _class(named: Any) -> Any:
    if find_spec(_PACKAGE) is None:
        raise MissingExtraError(
            "A pydantic-ai message was to be made, but pydantic-ai is not installed.",
            fix="Install pydantic-ai-slim.",
        )
    module, _, name = str(named).rpartition(":")
    module = module or _HOME
    # A stored name must not import code from elsewhere.
    known = module == _PACKAGE or module.startswith(_PACKAGE + ".")
    found: Any = (sys.modules.get(module) or import_module(module)) if known else None
    for step in name.split("."):
        found = getattr(found, step, None)
    if not isinstance(found, type):
        raise _unknown()
    return found


def _unknown() -> TranscriptError:
    return TranscriptError(
        "A pydantic-ai message could not be made again from what was kept of it.",
        fix="Use the version of pydantic-ai that it was made with.",
    )
