"""Text that can be sent: half of a surrogate pair has no UTF-8, so it becomes U+FFFD."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_HALF: Final = re.compile("[\ud800-\udfff]")


def without_surrogates(value: Any) -> Any:
    """Replace every lone surrogate in the texts of a JSON value, keys included.

    Returns:
        The value itself where there is none, else a copy of what holds one.
    """
    if isinstance(value, str):
        # Python holds a pair as one character, so that each half that is found stands alone.
        return value if value.isascii() else _cleaned(value)
    if isinstance(value, Mapping):
        made = {without_surrogates(key): without_surrogates(held) for key, held in value.items()}
        pairs = zip(value.items(), made.items(), strict=False)
        same = all(key is new and held is put for (key, held), (new, put) in pairs)
        return value if same and len(made) == len(value) else made
    if isinstance(value, list | tuple):
        items = [without_surrogates(item) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def _cleaned(text: str) -> str:
    return _HALF.sub(REPLACEMENT, text) if _HALF.search(text) else text
