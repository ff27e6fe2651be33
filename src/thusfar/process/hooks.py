"""Hooks: the functions, models and types of a definition that is data, by their names.

A name is looked up among those that were passed in. It is imported only where that was allowed:
a definition is then as powerful as code.

Source:
    docs/spec/process.md#definitions-as-data
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from thusfar.errors import HistoryError, InvalidDefinitionError


def fault(place: str, what: str, fix: str) -> InvalidDefinitionError:
    """Make the error for something wrong at a place of a definition."""
    where = f" at {place}" if place else ""
    return InvalidDefinitionError(f"A definition{where} {what}.", fix=fix, place=place)


class Hooks:
    """Finds objects by name, and names by object.

    Args:
        named: Objects by name.
        allow_imports: Whether `module:attribute` is imported.
    """

    def __init__(
        self, named: Mapping[str, Any] | None = None, *, allow_imports: bool = False
    ) -> None:
        if not isinstance(named, Mapping | None):
            raise fault("", f"was read with a {type(named).__name__} as hooks", "Pass a mapping.")
        self._named = dict(named or {})
        self._allow_imports = allow_imports

    def find(self, name: Any, place: str) -> Any:
        """Find the object of a name.

        Raises:
            InvalidDefinitionError: `INVALID_DEFINITION`, when there is none, or it would have to be
                imported and may not.
        """
        if not isinstance(name, str) or not name:
            raise fault(place, "had something else than the name of a hook", "Write its name.")
        if name in self._named:
            return self._named[name]
        if ":" not in name:
            known = ", ".join(sorted(self._named)) or "none"
            raise fault(
                place,
                f"named a hook that was not passed in: {name}",
                f"Pass it under that name, or use one of those that were: {known}.",
            )
        if not self._allow_imports:
            raise fault(
                place,
                f"named a hook to be imported: {name}",
                "Pass it in by name, or allow imports: the definition may then run any code.",
            )
        return imported(name, place)

    def has(self, name: str) -> bool:
        """Tell whether a name was passed in."""
        return name in self._named

    def passed_as(self, value: Any) -> str | None:
        """Tell the name that an object was passed in under; `None` where it was not."""
        return next((name for name, each in self._named.items() if each is value), None)

    def name_of(self, value: Any, place: str) -> str:
        """Name an object: as it was passed in, else `module:attribute` where that leads back.

        Raises:
            InvalidDefinitionError: `INVALID_DEFINITION`, when it has no name.
        """
        if (passed := self.passed_as(value)) is not None:
            return passed
        module, attribute = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
        name = f"{module}:{attribute}"
        if self._allow_imports and module and attribute and "<" not in attribute:
            try:
                if imported(name, place) is value:
                    return name
            except HistoryError:
                pass
        raise fault(
            place,
            "held an object without a name",
            "Pass it in hooks= under a name, or allow imports where it can be imported.",
        )


def imported(name: str, place: str) -> Any:
    """Import `module:attribute`.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, when it cannot be imported.
    """
    module, _, path = name.partition(":")
    try:
        value: Any = import_module(module)
        for attribute in path.split("."):
            value = getattr(value, attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise fault(
            place,
            f"named what cannot be imported: {name}",
            "Write module:attribute of what exists.",
        ) from error
    except (Exception, SystemExit) as error:  # whatever a module does when it is imported
        raise fault(
            place,
            f"named a module that raised {type(error).__name__} when it was imported: {name}",
            "Correct the module; see the cause.",
        ) from error
    return value
