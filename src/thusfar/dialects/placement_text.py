"""Text that can be sent: half of a surrogate pair has no UTF-8, so it becomes U+FFFD."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_encode: Final = msgspec.json.Encoder().encode  # refuses a lone surrogate, and looks fast
_HALF: Final = re.compile("[\ud800-\udfff]")


def without_surrogates(value: Any) -> Any:
    """Replace every lone surrogate in the texts of a JSON value, keys included.

    Returns:
        The value itself where there is none, else a copy of what holds one.
    """
    return value if is_sendable(value) else _replaced(value)


def is_sendable(value: Any) -> bool:
    """Tell that a JSON value has no lone surrogate; `False` says nothing of what is not JSON."""
    try:
        _encode(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        # Python holds a pair as one character, so that each half that is found stands alone.
        return value if value.isascii() else _HALF.sub(REPLACEMENT, value)
    if isinstance(value, Mapping):
        made = {_replaced(key): _replaced(held) for key, held in value.items()}
        pairs = zip(value.items(), made.items(), strict=False)
        same = all(key is new and held is put for (key, held), (new, put) in pairs)
        return value if same and len(made) == len(value) else made
    if isinstance(value, list | tuple):
        items = [_replaced(item) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value
