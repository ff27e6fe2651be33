"""Received: what an SDK answered, as the JSON values that came over the wire.

Source:
    docs/spec/models.md#port
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

REQUEST_ID_HEADERS: Final = ("x-request-id", "request-id")


def body_of(answered: Any) -> dict[str, Any]:
    """Give the fields that the provider sent; what an SDK adds by itself is left out.

    Args:
        answered: An object of an SDK, or a mapping.

    Raises:
        TypeError: when it is neither.
    """
    dump = getattr(answered, "model_dump", None)
    if callable(dump):
        # The SDKs keep values of unknown types as they came, which the dump would warn about.
        answered = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    if not isinstance(answered, Mapping):
        raise TypeError("an answer is neither an object of the SDK nor a mapping")
    return dict(answered)


def request_id_of(answered: Any, body: Mapping[str, Any]) -> str:
    """Find the provider's id of a request: of its headers, else of the answer itself."""
    named = getattr(answered, "_request_id", None)
    if isinstance(named, str) and named:
        return named
    headers = getattr(getattr(answered, "response", None), "headers", None) or {}
    for header in REQUEST_ID_HEADERS:
        if found := headers.get(header):
            return str(found)
    return str(body.get("id") or "")


def mapping_in(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Give an object within an object; an empty one where there is none."""
    found = body.get(key)
    return found if isinstance(found, Mapping) else {}


def whole(value: Any) -> int | None:
    """Give a number of tokens; `None` for anything that is none."""
    return value if type(value) is int and value >= 0 else None
