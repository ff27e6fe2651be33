"""The three forms of a LangChain message: an object, and the JSON of two serialisers.

All three are one type name and the fields of the message; what is around them is noted in the
envelope, so that the same form can be made again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import msgspec

from thusfar.dialects.base import DialectMismatch
from thusfar.errors import MissingExtraError, TranscriptError

_HOME: Final = "langchain_core.messages"
_CLASSES: Final = {
    "human": "HumanMessage",
    "HumanMessageChunk": "HumanMessageChunk",
    "ai": "AIMessage",
    "AIMessageChunk": "AIMessageChunk",
    "system": "SystemMessage",
    "SystemMessageChunk": "SystemMessageChunk",
    "tool": "ToolMessage",
    "ToolMessageChunk": "ToolMessageChunk",
    "function": "FunctionMessage",
    "FunctionMessageChunk": "FunctionMessageChunk",
    "chat": "ChatMessage",
    "ChatMessageChunk": "ChatMessageChunk",
}
_TYPES: Final = {name: kind for kind, name in _CLASSES.items()}
_OBJECT_ATTRIBUTES: Final = ("content", "additional_kwargs", "response_metadata")


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """One message, whatever its form.

    Attributes:
        kind: LangChain's name of the type, such as `ai`.
        fields: Its fields; those of an object without the ones left at their default.
        form: How to make the same form again; empty for an object of LangChain's own class.
    """

    kind: str
    fields: Mapping[str, Any]
    form: dict[str, Any] = {}

    @property
    def speaker(self) -> str:
        """The type without the distinction between a message and a chunk of one."""
        return _SPEAKERS.get(self.kind, self.kind)


_SPEAKERS: Final = {
    kind: name.removesuffix("MessageChunk").lower()
    for kind, name in _CLASSES.items()
    if name.endswith("Chunk")
}


def class_name(kind: str) -> str:
    """Name the class of a type of message."""
    return _CLASSES[kind]


def opened(message: Any) -> Envelope:
    """View a message in any of the three forms.

    Raises:
        DialectMismatch: for anything else, also for a `RemoveMessage`, which is an order to
            delete and not a message.
    """
    if isinstance(message, Mapping):
        return _from_json(message)
    held = getattr(message, "__dict__", None)
    if not isinstance(held, dict) or not isinstance(kind := held.get("type"), str):
        raise DialectMismatch("not a LangChain message")
    if kind not in _CLASSES or not all(name in held for name in _OBJECT_ATTRIBUTES):
        raise DialectMismatch("not a LangChain message")
    made = type(message)
    own = made.__module__.startswith(_HOME + ".") and made.__name__ == _CLASSES[kind]
    form = {} if own else {"class": f"{made.__module__}:{made.__qualname__}"}
    return Envelope(kind=kind, fields=_set_fields(message, held), form=form)


def closed(envelope: Envelope) -> Any:
    """Make the form again that an envelope was opened from.

    Raises:
        MissingExtraError: `MISSING_EXTRA`, when an object is to be made and LangChain is not
            installed.
        TranscriptError: `INVALID_TRANSCRIPT`, when the class of the object is not imported.
    """
    form, fields = envelope.form, envelope.fields
    match form.get("form"):
        case "dict":
            return {"type": envelope.kind, "data": dict(fields)}
        case "dumpd":
            outer = form.get("outer", {})
            place = {"lc": 1, "type": "constructor", "id": form.get("id", [])}
            return {**place, **outer, "kwargs": dict(fields)}
        case _:
            return _class(envelope.kind, form.get("class")).model_construct(**fields)


def _set_fields(message: Any, held: dict[str, Any]) -> dict[str, Any]:
    """Take the fields that were given or that hold something."""
    given = getattr(message, "__pydantic_fields_set__", held)
    extra = getattr(message, "__pydantic_extra__", None) or {}
    return {
        name: value
        for name, value in {**held, **extra}.items()
        if name != "type" and (value or name in given or name == "content")
    }


def _from_json(message: Mapping[str, Any]) -> Envelope:
    match message:
        case {"type": str(kind), "data": Mapping() as fields} if message.keys() == {"type", "data"}:
            if kind in _CLASSES and "content" in fields:
                return Envelope(kind=kind, fields=fields, form={"form": "dict"})
        case {"lc": 1, "type": "constructor", "id": [*_, str(name)], "kwargs": Mapping() as fields}:
            if name in _TYPES and "content" in fields and type(message["lc"]) is int:
                outer = {k: v for k, v in message.items() if k not in _DUMPD_KEYS}
                form: dict[str, Any] = {"form": "dumpd", "id": list(message["id"])}
                form |= {"outer": outer} if outer else {}
                return Envelope(kind=_TYPES[name], fields=fields, form=form)
    raise DialectMismatch("not the JSON of a LangChain message")


_DUMPD_KEYS: Final = ("lc", "type", "id", "kwargs")


def _class(kind: str, named: str | None) -> Any:
    if named is None:
        if find_spec("langchain_core") is None:
            raise MissingExtraError(
                "A LangChain message was to be made, but langchain-core is not installed.",
                fix="Install langchain-core.",
            )
        return getattr(import_module(_HOME), _CLASSES[kind])
    module, _, name = named.partition(":")
    # A stored name must not import code: only what the program imported itself is used.
    found: Any = sys.modules.get(module)
    for step in name.split("."):
        found = getattr(found, step, None)
    if found is None:
        raise TranscriptError(
            "The class of a LangChain message was not imported.",
            fix=f"Import the module {module} first.",
        )
    return found
