"""Subsets: the JSON Schemas that Anthropic and Gemini enforce, which are part of the language.

A schema that a subset cannot say is told in words instead; answers are validated in any case.

Source:
    Anthropic: https://platform.claude.com/docs/en/build-with-claude/structured-outputs, as quoted
    in https://github.com/BerriAI/litellm/pull/35811 (read 2026-11-30): `additionalProperties` is
    `false` on every object, and no schema is recursive. Which keywords are left out is as in
    anthropic 2.14.0, lib/_parse/_transform.py; a recorded refusal is
    https://github.com/ax-llm/ax/issues/458 (read 2026-11-30).
    Gemini: google-genai 3.6.1, types.py, `response_json_schema` (read 2026-11-30).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from thusfar.codec import json_text

_FORMATS: Final = frozenset(
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]
)
_NOTES: Final = ("title", "description")
_DROPPED: Final = frozenset({"default", "discriminator", "examples", "$schema", "$id"})
_TOLD: Final = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "contentEncoding",
        "minItems",
        "maxItems",
        "uniqueItems",
    }
)
"""Limits of a value, which go into its description."""
_WITH_ONE: Final = frozenset({"items", "additionalProperties"})
_WITH_MANY: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords that hold one schema, and several."""
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean", "null"})


def for_anthropic(schema: Any) -> dict[str, Any] | None:
    """Write a schema as Anthropic enforces it; `None` where it cannot be said.

    Args:
        schema: A JSON Schema with an object at its root.

    Example:
        >>> made = for_anthropic({"type": "object", "properties": {"city": {"type": "string"}}})
        >>> made["additionalProperties"]
        False
    """
    if not isinstance(schema, Mapping) or _cyclic(schema):
        return None
    try:
        return _closed(schema)
    except _Unsayable:
        return None


def for_gemini(schema: Any) -> Any:
    """Write a schema as Gemini enforces it; `None` where it cannot be said.

    References that come back to themselves are taken behind properties that are not required.
    """
    if not isinstance(schema, Mapping) or _cyclic(schema, missing=False):
        return None
    return _without_constants(schema)


class _Unsayable(Exception):  # noqa: N818 - caught here, and never an error
    """A schema is outside the subset."""


def _closed(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise _Unsayable
    rest = {name: value for name, value in schema.items() if name not in _DROPPED}
    made: dict[str, Any] = {}
    if definitions := rest.pop("$defs", None):
        made["$defs"] = {name: _closed(each) for name, each in definitions.items()}
    if "$ref" in rest:
        return {**made, "$ref": rest["$ref"]}
    kind = rest.pop("type", None)
    if isinstance(kind, list):
        return {**made, "anyOf": [_closed({**rest, "type": each}) for each in kind]}
    made |= _value(kind, rest)
    made |= {name: rest.pop(name) for name in _NOTES if name in rest}
    if not rest.keys() <= _TOLD:
        raise _Unsayable
    if rest:
        limits = ", ".join(f"{name}: {json_text(value)}" for name, value in rest.items())
        made["description"] = (
            f"{made['description']} ({limits})" if "description" in made else limits
        )
    return made


def _value(kind: Any, rest: dict[str, Any]) -> dict[str, Any]:
    """Write what kind of value it is, taking what says so out of the rest."""
    for name in ("anyOf", "oneOf"):
        if name in rest:
            return {"anyOf": [_closed(each) for each in rest.pop(name)]}
    for name in ("enum", "const"):
        if name in rest:
            values = rest[name] if name == "enum" else [rest[name]]
            if any(isinstance(each, Mapping | list) for each in values):
                raise _Unsayable
            return {name: rest.pop(name)}
    match kind:
        case "object":
            return _object(rest)
        case "array":
            return _array(rest)
        case str() if kind in _SCALARS:
            if rest.get("format") in _FORMATS:
                return {"type": kind, "format": rest.pop("format")}
            return {"type": kind}
    raise _Unsayable


def _object(rest: dict[str, Any]) -> dict[str, Any]:
    more = rest.pop("additionalProperties", None)
    named = rest.pop("properties", None)
    if isinstance(more, Mapping) or (named is None and more is not False):
        raise _Unsayable  # a mapping with names that nobody knows
    made = {
        "type": "object",
        "properties": {name: _closed(each) for name, each in (named or {}).items()},
        "additionalProperties": False,
    }
    return {**made, "required": rest.pop("required")} if "required" in rest else made


def _array(rest: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "array"}
    if "items" in rest:
        made["items"] = _closed(rest.pop("items"))
    if rest.get("minItems") in (0, 1):
        made["minItems"] = rest.pop("minItems")
    return made


def _cyclic(schema: Mapping[str, Any], *, missing: bool = True) -> bool:
    """Tell whether a definition refers to itself, by others or at once.

    Args:
        schema: The schema with its definitions.
        missing: Whether references in properties that may be missing count.
    """
    graph = {name: set(_references(each, missing)) for name, each in _definitions(schema).items()}
    graph[""] = set(_references(schema, missing))
    for start, named in graph.items():
        reached: set[str] = set()
        waiting = list(named)
        while waiting:
            if (name := waiting.pop()) not in reached:
                reached.add(name)
                waiting += graph.get(name, ())
        if start in reached:
            return True
    return False


def _definitions(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return schema.get("$defs") or {}


def _references(schema: Any, missing: bool) -> Iterator[str]:
    """Find the definitions that a schema names; an empty text is the root."""
    if not isinstance(schema, Mapping):
        return
    if isinstance(named := schema.get("$ref"), str):
        yield named.removeprefix("#/$defs/").removeprefix("#")
    needed = schema.get("required") or ()
    for name, each in (schema.get("properties") or {}).items():
        if missing or name in needed:
            yield from _references(each, missing)
    for name in _WITH_ONE:
        yield from _references(schema.get(name), missing)
    for name in _WITH_MANY:
        for each in schema.get(name) or ():
            yield from _references(each, missing)


def _without_constants(schema: Any) -> Any:
    """Write a constant as the only value of an enumeration, which is what Gemini knows."""
    if not isinstance(schema, Mapping):
        return schema
    made = dict(schema)
    if "const" in made:
        made["enum"] = [made.pop("const")]
    for name in ("properties", "$defs"):
        if name in made:
            made[name] = {key: _without_constants(each) for key, each in made[name].items()}
    for name in _WITH_ONE & made.keys():
        made[name] = _without_constants(made[name])
    for name in _WITH_MANY & made.keys():
        made[name] = [_without_constants(each) for each in made[name]]
    return made
