"""Codec: canonical JSON, strict reading, conversion at the edge, and the stored form of messages.

Canonical JSON is for digests and comparison only; stored and wire JSON keep the key order
received. Nothing here reads a clock, a file or the environment.

Source:
    docs/spec/codec.md
"""

from __future__ import annotations

import datetime
import enum
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.errors import TranscriptError
from thusfar.messages import Message

MAX_DEPTH: Final = 500  # deeper JSON is refused: every reader below recurses at least once a level
MAX_DIGITS: Final = 4300  # of a whole number: Python itself reads and writes no more
_TOO_LONG: Final = 10**MAX_DIGITS

_SHORT: Final = 2_000  # characters that are decoded at once

_encoder = msgspec.json.Encoder()
_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)
_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_decode = msgspec.json.Decoder(Message).decode


def canonical_json(value: Any) -> bytes:
    r"""Encode a JSON value in the one form that digests and comparisons use.

    Keys by code point, no spaces, UTF-8, integers exact, floats as Python `repr` (1.0 is not
    1); control characters and lone surrogates as `\uXXXX`.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, for NaN, an infinity, bytes, a key that is not
            a string, nesting deeper than 500 levels, a whole number of more than 4,300 digits,
            or anything that is not JSON.

    Source:
        docs/spec/codec.md#canonical-json

    Example:
        >>> canonical_json({"b": 1.0, "a": [None, "\x00"]})
        b'{"a":[null,"\\u0000"],"b":1.0}'
    """
    return _dumped(value, sort_keys=True)


def sorted_json(value: Any) -> bytes:
    """Write what is known to be JSON as `canonical_json` does, without looking for faults first."""
    return _utf8(_canonical.encode(value))


def json_text(value: Any) -> str:
    r"""Encode a JSON value compactly in the key order received.

    A lone surrogate comes out as its `\uXXXX` escape, so that the text is valid UTF-8.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, as for `canonical_json`.
    """
    return _dumped(value, sort_keys=False).decode()


def text_of(value: Any) -> str:
    """Write an application value as JSON: the `json_text` of what `to_json` makes of it.

    What is plain JSON already, as most values are, takes a tenth of the time.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, as for both.
    """
    return _compact.encode(value) if _is_plain(value) else json_text(to_json(value))


def _is_plain(value: Any) -> bool:
    """Tell that a value is JSON, with nothing to convert and nothing to refuse."""
    try:
        encoded = _encoder.encode(value)
        if encoded.count(b"{") + encoded.count(b"[") > MAX_DEPTH:
            return False
        return bool(msgspec.json.decode(encoded) == value)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return False


def parse_json(text: str | bytes, *, where: str = "the input") -> Any:
    """Decode JSON text strictly: duplicate keys, NaN and infinities are refused.

    Lone surrogates written as escapes are read as they are.

    Args:
        text: UTF-8 bytes or text.
        where: What the text is, for the error message. Never content.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, naming the line and column where it failed.
    """
    if type(text) is str and len(text) <= _SHORT and (found := _at_once(text)):
        return found[0]
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise TranscriptError(
            f"{where[:1].upper()}{where[1:]} was not valid JSON at line {error.lineno}, "
            f"column {error.colno}.",
            fix="Pass well-formed JSON.",
            line=error.lineno,
            column=error.colno,
        ) from None
    except UnicodeDecodeError as error:
        raise TranscriptError(
            f"{where[:1].upper()}{where[1:]} was not valid UTF-8 at byte {error.start}.",
            fix="Save it as UTF-8.",
            byte=error.start,
        ) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        if isinstance(error, TranscriptError):
            raise
        raise TranscriptError(
            f"{where[:1].upper()}{where[1:]} held a number too long to read.",
            fix=f"Write whole numbers with at most {MAX_DIGITS:,} digits.",
        ) from None


def require_json(value: Any) -> None:
    """Check that a value is JSON and nothing else, naming the place of the first fault.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, with the path in `facts["path"]`.
    """
    stack: list[tuple[Any, _Place | None, int]] = [(value, None, 0)]
    while stack:
        item, place, depth = stack.pop()
        kind = type(item)
        if kind is str or item is None or kind is bool:
            continue
        if isinstance(item, int):
            _require_writable(item, place)
            continue
        if isinstance(item, float):
            if not math.isfinite(item):
                raise _not_json("a number that is not finite", _path(place))
            continue
        if depth >= MAX_DEPTH:
            raise _too_deep()
        if isinstance(item, dict):
            for key, child in item.items():
                if not isinstance(key, str):
                    raise _not_json("a key that is not a string", _path(place))
                stack.append((child, (place, key), depth + 1))
        elif isinstance(item, list | tuple):
            stack.extend((child, (place, i), depth + 1) for i, child in enumerate(item))
        elif not isinstance(item, str):
            raise _not_json(f"a value of type {kind.__name__}", _path(place))


def _require_writable(number: int, place: _Place | None) -> None:
    if not -_TOO_LONG < number < _TOO_LONG:
        raise _not_json(f"a whole number of more than {MAX_DIGITS:,} digits", _path(place))


_Place = tuple[Any, str | int]
"""Where a value stands: the place of its container, and its key or index there."""


def _path(place: _Place | None) -> str:
    steps: list[str] = []
    while place is not None:
        place, key = place
        name = f"[{key}]" if isinstance(key, int) else f".{key}" if key.isidentifier() else "[…]"
        steps.append(name)
    return "$" + "".join(reversed(steps))


def to_json(value: Any) -> Any:
    """Convert an application value to plain JSON by the one rule used at every edge.

    Dates and times become ISO 8601 text, `Decimal` and `UUID` text, enums their value,
    tuples lists, mappings dicts; dataclasses, msgspec structs and objects with
    `model_dump` become dicts. NaN, bytes, sets and keys that are not strings are refused
    with their place, before anything is written.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, with the path in `facts["path"]`.
    """
    try:
        return _plain(value, None, 0)
    except RecursionError:
        raise _too_deep() from None


def _plain(value: Any, place: _Place | None, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _too_deep()
    if value is None or isinstance(value, bool | int | str | float):
        return _plain_scalar(value, place)
    if isinstance(value, dict | Mapping):
        return {
            _plain_key(key, place): _plain(child, (place, key), depth + 1)
            for key, child in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(child, (place, i), depth + 1) for i, child in enumerate(value)]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if _is_any(value, "decimal.Decimal", "uuid.UUID"):
        return str(value)
    return _plain(_unwrapped(value, place), place, depth + 1)


def _plain_scalar(value: Any, place: _Place | None) -> Any:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, float) and not math.isfinite(value):
        raise _not_json("a number that is not finite", _path(place))
    if isinstance(value, int):
        _require_writable(value, place)
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _plain_key(key: Any, place: _Place | None) -> str:
    if not isinstance(key, str):
        raise _not_json("a key that is not a string", _path(place))
    return str(key.value) if isinstance(key, enum.Enum) else key


def _is_any(value: Any, *names: str) -> bool:
    """Tell the type of a value by name, so that its module need not be imported."""
    return any(f"{kind.__module__}.{kind.__qualname__}" in names for kind in type(value).__mro__)


def _unwrapped(value: Any, place: _Place | None) -> Any:
    """Take one layer off an object that stands for JSON."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    if not isinstance(value, type) and (names := getattr(value, "__dataclass_fields__", None)):
        return {name: getattr(value, name) for name in names}
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")
    raise _not_json(f"a value of type {type(value).__name__}", _path(place))


def encode_message(message: Message) -> bytes:
    """Encode a message in its stored form: JSON, UTF-8, key order as received.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when its metadata is not JSON.
    """
    if message.metadata:
        require_json(message.metadata)
    try:
        return _encoder.encode(message)
    except (ValueError, OverflowError, RecursionError):
        return json_text(msgspec.to_builtins(message)).encode()


def decode_message(data: bytes | str) -> Message:
    """Decode the stored form of a message.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when it is not a stored message.
    """
    try:
        return _decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return message_from_json(parse_json(data, where="a stored message"))


def decode_messages(data: Sequence[bytes | str]) -> list[Message]:
    """Decode many stored messages; errors as for `decode_message`."""
    try:
        return list(map(_decode, data))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return [decode_message(one) for one in data]


def message_from_json(value: Any) -> Message:
    """Make a message from the decoded form of its stored JSON.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when the value has another shape.
    """
    try:
        return msgspec.convert(value, Message)
    except (msgspec.ValidationError, RecursionError):
        raise TranscriptError(
            "A value did not have the shape of a thusfar message.",
            fix="Pass role and parts as docs/spec/messages.md describes them.",
        ) from None


def _dumped(value: Any, *, sort_keys: bool) -> bytes:
    require_json(value)
    try:
        text = json.dumps(
            value,
            sort_keys=sort_keys,
            separators=(",", ":"),
            ensure_ascii=False,
            allow_nan=False,
        )
    except RecursionError:
        raise _too_deep() from None
    return _utf8(text)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # lone surrogates become their escapes


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise TranscriptError(
            "A JSON object had the same key twice.", fix="Give each key of an object once."
        )
    return made


def _refuse_constant(_: str) -> Any:
    raise TranscriptError(
        "A JSON text held NaN or an infinity.", fix="Use null or a finite number."
    )


def _at_once(text: str) -> tuple[Any] | None:
    """Decode a short text ten times as fast; `None` for one that the strict way has to judge.

    The quick decoder gives what the strict one gives, but takes keys that stand twice. Where none
    does, there are as many keys as places that look like the end of one.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    keys, stack = text.count('":'), [value]
    while stack:
        item = stack.pop()
        if type(item) is dict:
            keys -= len(item)
            stack += item.values()
        elif type(item) is list:
            stack += item
    return None if keys else (value,)


def _not_json(what: str, path: str) -> TranscriptError:
    return TranscriptError(
        f"A value held {what} at {path}.", fix="Convert it to a JSON value first.", path=path
    )


def _too_deep() -> TranscriptError:
    return TranscriptError(
        f"A JSON value was nested deeper than {MAX_DEPTH} levels.",
        fix="Flatten it, or keep it as text.",
        max_depth=MAX_DEPTH,
    )
