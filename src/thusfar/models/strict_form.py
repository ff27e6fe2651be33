"""Strict form: an open JSON Schema written so that OpenAI can hold a model to it.

Source:
    https://platform.openai.com/docs/guides/structured-outputs (read 2026-11-30): every object names
    all its properties as required and allows no others; an optional one is written as one that may
    be null. A reference stands alone: https://github.com/camel-ai/camel/issues/3001 (a recorded
    refusal, read 2026-11-30).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SAID: Final = ("title", "description")
_KEPT: Final = frozenset({*_SAID, "type", "enum", "const"})
_BUILT: Final = frozenset(
    {"properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "$ref"}
)
_IDLE: Final = frozenset(
    {"$schema", "$comment", "default", "examples", "deprecated", "discriminator"}
)
_DEFINED: Final = "#/$defs/"
_NULL: Final = {"type": "null"}
_TYPES: Final = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: "number",
    type(None): "null",
}


def strict_form(schema: Any) -> dict[str, Any] | None:
    """Write a schema in the strict form.

    Optional properties become required ones that may be null; see `without_fillers`. Objects
    that do not say whether they allow other names are closed.

    Args:
        schema: The JSON Schema.

    Returns:
        The form; `None` for what has none: objects with any names, values of any type, types that
        hold themselves, and keywords beyond the plain ones.

    Example:
        >>> made = strict_form({"type": "object", "properties": {"a": {"type": "integer"}}})
        >>> made["properties"]["a"], made["required"]
        ({'anyOf': [{'type': 'integer'}, {'type': 'null'}]}, ['a'])
    """
    if not isinstance(schema, Mapping):
        return None
    try:
        return _Writer(schema).form()
    except _NoForm:
        return None


def without_fillers(schema: Any, value: Any) -> Any:
    """Take out the nulls that stand for optional properties that were left out.

    A null that the schema allows stays.

    Args:
        schema: The schema that the strict form was made of.
        value: An answer.

    Example:
        >>> optional = {"type": "object", "properties": {"a": {"type": "integer"}}}
        >>> without_fillers(optional, {"a": None})
        {}
    """
    if not isinstance(schema, Mapping):
        return value
    return _unfilled(schema, value, schema.get("$defs") or {})


class _NoForm(Exception):  # noqa: N818 - it says that there is none, and never leaves the module
    pass


class _Writer:
    """Writes one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._definitions: Mapping[str, Any] = schema.get("$defs") or {}
        self._inside: list[str] = []
        self._written: dict[str, Any] = {}

    def form(self) -> dict[str, Any]:
        body = {name: each for name, each in self._schema.items() if name != "$defs"}
        made = self._write(body)
        if self._written:
            named = {n: self._written[n] for n in self._definitions if n in self._written}
            made["$defs"] = named
        return made

    def _write(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping) or not schema.keys() <= _KEPT | _BUILT | _IDLE:
            raise _NoForm
        if "$ref" in schema:
            return self._reference(schema)
        made: dict[str, Any] = {}
        for name, value in schema.items():
            if name in _KEPT:
                made[name] = value
            elif name == "items":
                made[name] = self._write(value)
            elif name == "properties":
                made |= self._object(schema)
            elif name in ("anyOf", "oneOf"):
                if not isinstance(value, list | tuple) or not value or "anyOf" in made:
                    raise _NoForm
                made["anyOf"] = [self._write(each) for each in value]
        self._require_type(made)
        return made

    def _reference(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Write a reference, and what it names; anything but words beside it is too much."""
        reference = schema["$ref"]
        if not schema.keys() <= {"$ref", *_SAID, *_IDLE} or not isinstance(reference, str):
            raise _NoForm
        name = reference.removeprefix(_DEFINED)
        if reference == name or name not in self._definitions or name in self._inside:
            raise _NoForm
        if name not in self._written:
            self._inside.append(name)
            self._written[name] = self._write(self._definitions[name])
            self._inside.pop()
        return {"$ref": reference}

    def _object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        named, wanted = schema["properties"], schema.get("required") or []
        closed = schema.get("additionalProperties", False) is False
        if not isinstance(named, Mapping) or not closed or not set(wanted) <= set(named):
            raise _NoForm
        written = {name: self._write(each) for name, each in named.items()}
        for name in named:
            if name not in wanted and not _takes_null(named[name], self._definitions):
                written[name] = {"anyOf": [written[name], _NULL]}
        return {"properties": written, "required": list(named), "additionalProperties": False}

    def _require_type(self, made: dict[str, Any]) -> None:
        """Check that a type is said, or say the one that is plain."""
        if "properties" in made:
            made.setdefault("type", "object")
        elif "type" not in made and "anyOf" not in made:
            values = [made["const"]] if "const" in made else made.get("enum") or [{}]
            found = list(dict.fromkeys(_TYPES.get(type(each)) for each in values))
            if None in found:
                raise _NoForm
            made["type"] = found[0] if len(found) == 1 else found
        said = made.get("type", ())
        types = {said} if isinstance(said, str) else set(said)
        if ("object" in types and "properties" not in made) or (
            "array" in types and "items" not in made
        ):
            raise _NoForm


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> Any:
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str):
        return schema
    return definitions.get(reference.removeprefix(_DEFINED), True)


def _takes_null(schema: Any, definitions: Mapping[str, Any]) -> bool:
    schema = _resolved(schema, definitions)
    if not isinstance(schema, Mapping) or "$ref" in schema:
        return schema is not False
    if "const" in schema:
        return schema["const"] is None
    if "enum" in schema:
        return None in schema["enum"]
    if "type" in schema:
        said = schema["type"]
        return said == "null" or (not isinstance(said, str) and "null" in said)
    variants = schema.get("anyOf") or schema.get("oneOf")
    return variants is None or any(_takes_null(each, definitions) for each in variants)


def _unfilled(schema: Any, value: Any, definitions: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, definitions)
    if not isinstance(schema, Mapping) or not isinstance(value, dict | list):
        return value
    for variants in (schema.get("anyOf"), schema.get("oneOf")):
        for each in variants or ():
            if _fits(each, value, definitions):
                return _unfilled(each, value, definitions)
    if isinstance(value, list):
        return [_unfilled(schema.get("items"), each, definitions) for each in value]
    named, wanted = schema.get("properties") or {}, schema.get("required") or ()
    return {
        name: _unfilled(named.get(name), each, definitions)
        for name, each in value.items()
        if each is not None
        or name not in named
        or name in wanted
        or _takes_null(named[name], definitions)
    }


def _fits(schema: Any, value: Any, definitions: Mapping[str, Any]) -> bool:
    """Tell whether a value is of this variant: all its names are there, and its tags agree."""
    schema = _resolved(schema, definitions)
    if not isinstance(schema, Mapping):
        return False
    if isinstance(value, list):
        return "items" in schema
    named = schema.get("properties") or {}
    if not value.keys() <= named.keys():
        return False
    tags = {name: _resolved(named[name], definitions) for name in value}
    return all(
        value[name] in (tag["enum"] if "enum" in tag else [tag["const"]])
        for name, tag in tags.items()
        if isinstance(tag, Mapping) and ("enum" in tag or "const" in tag)
    )
