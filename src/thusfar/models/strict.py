"""Strict schemas: those that OpenAI can enforce while the model writes.

Source:
    https://platform.openai.com/docs/guides/structured-outputs (read 2026-11-30): every object names
    all its properties as required and allows no others. Keywords beyond the plain ones are left
    to the validation of the answer: https://github.com/openai/openai-python/pull/2734.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_PLAIN: Final = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "description",
        "title",
    }
)


def is_strict(schema: Any) -> bool:
    """Tell whether a JSON Schema can be enforced as it is."""
    return isinstance(schema, Mapping) and schema.get("type") == "object" and _holds(schema)


def _holds(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or not schema.keys() <= _PLAIN:
        return False
    if schema.get("type") == "object" or "properties" in schema:
        named = schema.get("properties")
        if not isinstance(named, Mapping) or schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required") or ()) != set(named):
            return False
    inner = [
        *(schema.get("properties") or {}).values(),
        *(schema.get("$defs") or {}).values(),
        *(schema.get("anyOf") or ()),
        *([schema["items"]] if "items" in schema else []),
    ]
    return all(map(_holds, inner))
