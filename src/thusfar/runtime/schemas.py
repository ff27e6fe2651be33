"""Schemas: what an answer must be; one schema drives the prompt, native output and validation.

Complaints name places and rules, never the values that the model wrote.

Source:
    docs/spec/generate.md#output
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from thusfar.codec import json_text, to_json
from thusfar.errors import InvalidDefinitionError, MissingExtraError

Checked = tuple[Any, tuple[str, ...]]
_MASK: Final = "the value"


class OutputSchema:
    """A schema with a validator.

    Attributes:
        json_schema: The JSON Schema that the model is shown.
    """

    __slots__ = ("_check", "_typed", "json_schema")

    def __init__(
        self,
        json_schema: dict[str, Any],
        check: Callable[[Any], Checked],
        typed: Callable[[Any], Any] | None = None,
    ) -> None:
        self.json_schema = json_schema
        self._check = check
        self._typed = typed

    @classmethod
    def of(cls, output: Any, *, owner: str) -> OutputSchema:
        """Read a pydantic model, a dataclass, a msgspec type, a type of those, or a JSON Schema.

        Types that msgspec cannot read, such as a union of two dataclasses or a list of pydantic
        models, are read by pydantic where it is installed.

        Args:
            output: The type or schema.
            owner: The task or prompt, for errors.

        Raises:
            InvalidDefinitionError: `INVALID_DEFINITION`, for anything else.
            MissingExtraError: `MISSING_EXTRA`, for a JSON Schema without the `process` extra.
        """
        if isinstance(output, Mapping):
            return _of_json_schema(to_json(output), owner)
        if inspect.isroutine(output):  # pydantic would take it for the schema of its arguments
            raise _unreadable(owner)
        if isinstance(output, type) and callable(
            made := getattr(output, "model_json_schema", None)
        ):
            validate = output.model_validate  # type: ignore[attr-defined]
            return cls(made(), lambda value: _pydantic(validate, value), validate)
        try:
            schema = msgspec.json.schema(output)
        except (TypeError, NameError) as error:
            if (made := _of_adapter(output)) is not None:
                return made
            raise _unreadable(owner) from error
        return cls(
            schema,
            lambda value: _msgspec(output, value),
            lambda value: msgspec.convert(value, output),
        )

    def check(self, value: Any) -> Checked:
        """Validate an answer.

        Returns:
            The outputs as JSON values, and the complaints; with complaints the answer is refused.
        """
        return self._check(value)

    def typed(self, value: Any) -> Any:
        """Make an object of the type it was read from; JSON values where it was a JSON Schema.

        Args:
            value: Outputs that were checked.
        """
        return value if self._typed is None else self._typed(value)

    def text(self) -> str:
        """Write the schema for the model."""
        return json_text(self.json_schema)

    def declares(self, *names: str) -> bool:
        """Tell whether the answer has a field of one of these names."""
        properties = self._root().get("properties", {})
        return any(name in properties for name in names)

    def fields(self) -> tuple[str, ...]:
        """List the fields it declares; none for a schema that is no object."""
        return tuple(self._root().get("properties", {}))

    def _root(self) -> dict[str, Any]:
        schema = self.json_schema
        reference = schema.get("$ref", "")
        if reference.startswith("#/$defs/"):
            found: dict[str, Any] = schema.get("$defs", {}).get(reference.split("/")[-1], {})
            return found
        return schema


def converted(value: Any, kind: Any) -> Any:
    """Read a JSON value as a type; where the type wants an integer, `1.0` is one.

    In JSON Schema a number without a fraction is an integer, and some providers write all numbers
    with a point.

    Raises:
        msgspec.ValidationError: for a value that does not fit.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        whole = _with_integers(value)
        try:
            return msgspec.convert(whole, kind)
        except msgspec.ValidationError:
            raise error from None


def _with_integers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_with_integers(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _with_integers(each) for name, each in value.items()}
    return value


def _msgspec(kind: Any, value: Any) -> Checked:
    try:
        return to_json(converted(value, kind)), ()
    except msgspec.ValidationError as error:
        return None, (_without_values(str(error)),)


def _without_values(message: str) -> str:
    """Take what the model wrote out of a complaint of msgspec; its texts quote enum values only."""
    head, _, place = message.partition(" - at ")
    shown = head.split(" value ")[0] + " value" if head.startswith("Invalid enum") else head
    return f"{shown} - at {place}" if place else shown


def _of_adapter(output: Any) -> OutputSchema | None:
    """Read a type by pydantic; `None` where it cannot either, or is not there."""
    if isinstance(output, str):
        return None
    try:
        from pydantic import PydanticUserError, TypeAdapter
        from pydantic.errors import PydanticSchemaGenerationError
    except ImportError:
        return None
    try:
        adapter: Any = TypeAdapter(output)
        schema = adapter.json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError, TypeError, NameError):
        return None
    validate = adapter.validate_python
    return OutputSchema(schema, lambda value: _pydantic(validate, value), validate)


def _pydantic(validate: Callable[[Any], Any], value: Any) -> Checked:
    from pydantic import ValidationError

    try:
        return to_json(validate(value)), ()
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        return None, tuple(f"{each['msg']} - at `{_place(each['loc'])}`" for each in found)


def _of_json_schema(schema: dict[str, Any], owner: str) -> OutputSchema:
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtraError(
            "An output was given as a JSON Schema, and its validator is not installed.",
            fix="Install thusfar[process], or give the output as a type.",
            extra="process",
        ) from None
    try:
        validator = jsonschema_rs.validator_for(schema, mask=_MASK, retriever=_refuse)
    except (ValueError, jsonschema_rs.ValidationError) as error:
        raise _unreadable(owner) from error

    def check(value: Any) -> Checked:
        found = [
            f"{error.message} - at `{_place(error.instance_path)}`"
            for error in validator.iter_errors(value)
        ]
        return (None, tuple(found)) if found else (value, ())

    return OutputSchema(schema, check)


def _refuse(_: str) -> Any:
    raise ValueError  # a schema stands for itself; nothing is fetched


def _place(path: Any) -> str:
    return "$" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path)


def _unreadable(owner: str) -> InvalidDefinitionError:
    return InvalidDefinitionError(
        f"The output of {owner} was not a schema.",
        fix="Pass a pydantic model, a dataclass, a msgspec type, or a JSON Schema.",
        task_id=owner,
    )
