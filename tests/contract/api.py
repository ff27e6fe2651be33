"""The public names as data: what a user may import, with parameters, defaults and codes.

Run as a program it writes `api.json` anew; the difference in a review is the compatibility
discussion.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import sys
import types
import typing
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

CONTRACT = Path(__file__).with_name("api.json")

# Every module whose `__all__` is a promise beside the root's.
PUBLIC = (
    "thusfar",
    "thusfar.dialects",
    "thusfar.process",
    "thusfar.sources",
    "thusfar.storage",
    "thusfar.testing",
    "thusfar.testing.loopback",
    "thusfar.thread",
    "thusfar.tokens",
)


def describe_api() -> dict[str, Any]:
    """Describe every public name of every public module, and every code."""
    from thusfar.codes import CODES

    modules = {name: _module(name) for name in PUBLIC}
    codes = {code: kind for code, (kind, _) in CODES.items()}
    return {"codes": dict(sorted(codes.items())), "modules": modules}


def _module(name: str) -> dict[str, Any]:
    module = import_module(name)
    described: dict[str, Any] = {}
    for exported in sorted(set(module.__all__) - {"__version__"}):
        value = getattr(module, exported)
        home = getattr(value, "__module__", name)
        if name != "thusfar" and exported in import_module("thusfar").__all__:
            described[exported] = "as thusfar." + exported
        elif isinstance(home, str) and home.startswith("thusfar"):
            described[exported] = _value(value)
        else:
            described[exported] = _other(value)
    return described


def _value(value: Any) -> Any:
    if inspect.isclass(value):
        return _class(value)
    if inspect.isfunction(value):
        return _signature(value)
    if callable(value) and not isinstance(value, types.GenericAlias | types.UnionType):
        return {"call": _signature(value.__call__), **_methods(type(value))}
    return _other(value)


def _class(cls: type) -> dict[str, Any]:
    described: dict[str, Any] = {}
    if issubclass(cls, BaseException):
        described["bases"] = [base.__qualname__ for base in cls.__bases__]
        described["code"] = getattr(cls, "code", None)
        described["retryable"] = getattr(cls, "retryable", None)
    fields = _fields(cls)
    if fields:
        described["fields"] = fields
    return {**described, **_methods(cls)}


def _fields(cls: type) -> dict[str, str]:
    if issubclass(cls, msgspec.Struct):
        names, defaults = cls.__struct_fields__, cls.__struct_defaults__
        required = (msgspec.NODEFAULT,) * (len(names) - len(defaults))
        return {
            name: _default(default, getattr(default, "factory", None), msgspec.NODEFAULT)
            for name, default in zip(names, (*required, *defaults), strict=True)
            if not name.startswith("_")
        }
    if dataclasses.is_dataclass(cls):
        return {
            field.name: _default(field.default, field.default_factory, dataclasses.MISSING)
            for field in dataclasses.fields(cls)
            if not field.name.startswith("_")
        }
    return {}


def _default(default: Any, factory: Any, missing: Any) -> str:
    if factory is not None and factory is not missing:
        return f"{factory.__qualname__}()"
    return "required" if default is missing else _show(default)


def _methods(cls: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in sorted({name for base in cls.__mro__ for name in vars(base)}):
        value = inspect.getattr_static(cls, name)
        home = next(base for base in cls.__mro__ if name in vars(base))
        if name.startswith("_") or not home.__module__.startswith("thusfar"):
            continue
        if isinstance(value, property):
            found[name] = "property"
        elif isinstance(value, staticmethod | classmethod):
            found[name] = _signature(value.__func__)
        elif inspect.isfunction(value):
            found[name] = _signature(value)
    return {"methods": found} if found else {}


def _signature(function: Any) -> str:
    shown: list[str] = []
    kind = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if kind is parameter.POSITIONAL_ONLY and kind is not parameter.kind:
            shown.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and kind is not parameter.KEYWORD_ONLY:
            shown.append("*")
        kind = parameter.kind
        default = parameter.default
        shown.append(parameter.name + ("" if default is parameter.empty else f"={_show(default)}"))
    return f"({', '.join(shown)})"


def _other(value: Any) -> str:
    if isinstance(value, type):
        return value.__qualname__
    if typing.get_origin(value) is not None or isinstance(value, types.UnionType):
        return str(value).replace("thusfar.", "")
    return _show(value)


def _show(value: Any) -> str:
    if isinstance(value, enum.Enum) or value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, tuple | frozenset | dict | list):
        return repr(value) if len(repr(value)) < 200 else type(value).__name__
    if inspect.isfunction(value):
        return value.__qualname__
    return repr(value) if type(value).__repr__ is not object.__repr__ else type(value).__qualname__


def as_text(api: dict[str, Any]) -> str:
    """Write the description as it is committed."""
    return json.dumps(api, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    CONTRACT.write_text(as_text(describe_api()), encoding="utf-8")
    sys.stdout.write(f"wrote {CONTRACT.name}\n")
