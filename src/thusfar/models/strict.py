"""Strict schemas: those that OpenAI can enforce while the model writes, and what it takes at all.

Source:
    The root must be an object: https://github.com/jdrbc/podly_pure_podcasts/pull/89 (a recorded
    refusal, read 2026-11-30). Anthropic and Gemini say of no other root that they take it, and
    of an object all do.
    https://platform.openai.com/docs/guides/structured-outputs (read 2026-11-30): every object names
    all its properties as required and allows no others. Keywords beyond the plain ones are left
    to the validation of the answer: https://github.com/openai/openai-python/pull/2734.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from thusfar.codec import json_text

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

_ROOTED: Final = ("openai-chat", "openai-responses", "anthropic", "gemini")
WRAPPED: Final = "value"  # where an answer stands whose schema is no object


def json_schema_of(schema: Any) -> Any:
    """Write the schema of a pydantic model; any other schema stays as it is."""
    if isinstance(schema, type) and callable(made := getattr(schema, "model_json_schema", None)):
        return made()
    return schema


def rooted(schema: Any) -> Any:
    """Write a schema with an object at its root: a reference resolved, anything else wrapped.

    Example:
        >>> rooted({"type": "integer"})["properties"]
        {'value': {'type': 'integer'}}
    """
    if not isinstance(schema, Mapping):
        return schema
    definitions = schema.get("$defs") or {}
    root = _object_root(schema)
    if root is None:
        inner = {name: each for name, each in schema.items() if name != "$defs"}
        root = {
            "type": "object",
            "properties": {WRAPPED: inner},
            "required": [WRAPPED],
            "additionalProperties": False,
        }
    elif "$ref" in schema and f'"{schema["$ref"]}"' not in json_text(definitions):
        definitions = {name: each for name, each in definitions.items() if each is not root}
    return {**root, **({"$defs": definitions} if definitions else {})}


def _object_root(schema: Mapping[str, Any]) -> Any:
    """Find the object that a schema describes, also behind a reference; `None` for no object."""
    if schema.get("type") == "object":
        return schema
    if "properties" in schema:
        return {"type": "object", **schema}
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    root = (schema.get("$defs") or {}).get(name)
    return root if isinstance(root, Mapping) and root.get("type") == "object" else None


def is_wrapped(schema: Any, value: Any, wire: str) -> bool:
    """Tell whether a value stands in the wrapping that `rooted` made for a wire."""
    if wire not in _ROOTED or not isinstance(schema, Mapping) or _object_root(schema) is not None:
        return False
    return isinstance(value, Mapping) and list(value) == [WRAPPED]


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
