"""Pieces of a streamed Chat Completions answer, put together as they come.

Servers that imitate the wire differ in how they continue a call; see `Calls`.

Source:
    openai-python 3.57.0, types/chat/chat_completion_chunk.py. Read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from thusfar.models.port import ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from thusfar.models.received import mapping_in

_REASONING: Final = ("reasoning_content", "reasoning")
_REPLACED: Final = frozenset({"id", "type", "role", "index"})


class Calls:
    """The calls of one answer.

    A piece continues the call of its index; where it has none, that of its place in the list. A
    piece with a name and with an id of its own begins a new call, also under the index of an
    earlier one. The id and the name that a call began with stay, whatever its pieces repeat.

    Attributes:
        made: The calls so far, in the order in which they began.

    Source:
        Parallel calls under one index: https://github.com/NousResearch/hermes-agent/issues/62940.
        Empty ids behind the first piece: https://github.com/symfony/ai/pull/2220.
        Read 2026-11-30.
    """

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self._indexes: list[int] = []

    def add(self, piece: Mapping[str, Any], position: int) -> ToolCallDelta:
        """Take in a piece.

        Args:
            piece: An entry of `tool_calls` of a delta.
            position: Its place there.
        """
        index = piece.get("index")
        index = position if index is None else index
        body = mapping_in(piece, "custom") or mapping_in(piece, "function")
        place = self._place(index, piece.get("id"), body.get("name"))
        call, begun = self.made[place], _named(self.made[place])
        for key, value in piece.items():
            if key not in ("index", "id") or not call.get(key):
                grow(call, key, value)
        if begun and body.get("name") == begun:
            _body(call)["name"] = begun
        call.pop("index", None)
        return ToolCallDelta(
            index=place,
            id=piece.get("id") or "",
            name=body.get("name") or "",
            arguments=body.get("arguments") or body.get("input") or "",
        )

    def _place(self, index: int, call_id: Any, name: Any) -> int:
        open_ = [place for place, each in enumerate(self._indexes) if each == index]
        if open_:
            own = self.made[open_[-1]].get("id")
            if not (call_id and name and own and call_id != own):
                return open_[-1]
        self.made.append({})
        self._indexes.append(index)
        return len(self.made) - 1


def _body(call: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = call.get("custom") or call.get("function") or {}
    return made


def _named(call: dict[str, Any]) -> str:
    return _body(call).get("name") or ""


def deltas_of(key: str, value: Any) -> list[ModelEvent]:
    """Tell what a field of a delta says to a reader.

    Args:
        key: The field.
        value: Its piece: text, or a list of parts.
    """
    if isinstance(value, str) and value:
        if key in _REASONING:
            return [ReasoningDelta(value)]
        return [TextDelta(value)] if key == "content" else []
    parts = value if key == "content" and isinstance(value, list) else ()
    return [event for part in parts if isinstance(part, Mapping) for event in _said_in(part)]


def _said_in(part: Mapping[str, Any]) -> Iterator[ModelEvent]:
    if isinstance(said := part.get("text"), str) and said:
        yield TextDelta(said)
    for chunk in part.get("thinking") or ():
        if isinstance(chunk, Mapping) and chunk.get("text"):
            yield ReasoningDelta(str(chunk["text"]))


def grow(into: dict[str, Any], key: str, value: Any) -> None:
    """Add a piece to an object: text grows, objects grow within, lists get longer."""
    have = into.get(key)
    if value is None:
        into.setdefault(key, None)
    elif isinstance(value, str) and isinstance(have, str):
        if key not in _REPLACED:
            into[key] = have + value
        elif value:
            into[key] = value
    elif isinstance(value, Mapping):
        inner = dict(have) if isinstance(have, Mapping) else {}
        for name, piece in value.items():
            grow(inner, name, piece)
        into[key] = inner
    elif key == "content" and have and isinstance(have, list) != isinstance(value, list):
        into[key] = _continued(_parts(have), _parts(value))
    elif isinstance(value, list) and isinstance(have, list):
        into[key] = _continued(have, value) if key == "content" else _grown(have, value)
    else:
        into[key] = value


def _parts(content: Any) -> list[Any]:
    """Write content as parts, as servers do that stream some of it so and the rest as text."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _continued(have: list[Any], pieces: list[Any]) -> list[Any]:
    """Add parts of content: text goes on in the last part, and so does thinking."""
    made = list(have)
    for piece in pieces:
        last = made[-1] if made else None
        if not isinstance(piece, Mapping) or not isinstance(last, Mapping):
            made.append(piece)
        elif piece.keys() == last.keys() == {"type", "text"}:
            made[-1] = {**last, "text": last["text"] + piece["text"]}
        elif piece.get("type") == last.get("type") == "thinking":
            chunks = _continued(last.get("thinking") or [], piece.get("thinking") or [])
            made[-1] = {**last, **piece, "thinking": chunks}
        else:
            made.append(piece)
    return made


def _grown(have: list[Any], pieces: list[Any]) -> list[Any]:
    """Add pieces of a list: those with the `index` of an entry continue it."""
    grown = list(have)
    for piece in pieces:
        index = piece.get("index") if isinstance(piece, Mapping) else None
        at = next(
            (
                place
                for place, entry in enumerate(grown)
                if index is not None and isinstance(entry, Mapping) and entry.get("index") == index
            ),
            None,
        )
        if at is None:
            grown.append(piece)
        else:
            entry = dict(grown[at])
            for key, value in piece.items():
                grow(entry, key, value)
            grown[at] = entry
    return grown
