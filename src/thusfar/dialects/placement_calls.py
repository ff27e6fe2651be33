"""Calls and results of another wire, with what the wire that is sent demands of them.

Some wires have no ids, some no tool names on results, some take only objects as arguments. A
conversation that goes on at another provider keeps every call: what is missing is filled in here,
before the messages are lowered. Calls that a user made are quoted, since no provider takes them.

Source:
    docs/spec/placement.md#calls
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from thusfar.codec import json_text, parse_json
from thusfar.dialects.placement_turns import Entry, Key, Kind, Spot, paired
from thusfar.dialects.placement_values import Notes, PlacementNote
from thusfar.errors import TranscriptError
from thusfar.messages import Message, Part, Text, ToolCall, ToolResult

ARGUMENTS: Final = "arguments"
"""The name under which arguments stand that are no JSON object."""

_WITHOUT_IDS: Final = frozenset({"gemini"})
_LINKED: Final = (ToolCall, ToolResult)
_OBJECTS: Final = frozenset({"anthropic", "bedrock-converse", "gemini"})


class _Parts:
    """Reads canonical parts as `paired` reads blocks."""

    def kind(self, part: Any) -> Kind:
        """Tell what a part is."""
        if isinstance(part, ToolCall):
            return "call"
        return "result" if isinstance(part, ToolResult) else "other"

    def key(self, part: Any) -> Key:
        """Read what a call or a result pairs by."""
        return (part.id if isinstance(part, ToolCall) else part.call_id), part.name


_PARTS: Final[Any] = _Parts()


def complete_calls(
    messages: Sequence[Message], wire: str
) -> tuple[list[Message], tuple[PlacementNote, ...]]:
    """Fill in what a wire demands of calls and results that another wire wrote.

    Args:
        messages: The messages in canonical form, with the calls that their results answer.
        wire: Name of the wire that they are lowered to.

    Returns:
        The messages, those that lacked nothing as they were; and a note of each kind of change.
    """
    if not any(isinstance(part, _LINKED) for message in messages for part in message.parts):
        return list(messages), ()
    notes = Notes()
    entries = [Entry(message.role, list(message.parts)) for message in messages]  # type: ignore[arg-type]
    answers = paired(_PARTS, entries)
    messages = quote_user_calls(messages, answers, notes)
    parts: list[list[Any]] = [list(message.parts) for message in messages]
    if wire not in _WITHOUT_IDS:
        _give_ids(parts, answers, notes)
    for (index, place), (caller, call) in answers.items():
        result = parts[index][place]
        if isinstance(result, ToolResult) and not result.name:
            named = msgspec.structs.replace(result, name=parts[caller][call].name)
            parts[index][place] = named
    if wire in _OBJECTS:
        _wrap_arguments(parts, notes)
    made = [
        message
        if all(new is old for new, old in zip(new_parts, message.parts, strict=True))
        else msgspec.structs.replace(message, parts=tuple(new_parts))
        for message, new_parts in zip(messages, parts, strict=True)
    ]
    return made, notes.sealed()


def quote_user_calls(
    messages: Sequence[Message], answers: Mapping[Spot, Spot], notes: Notes
) -> list[Message]:
    """Turn calls that a user made, and their results, into texts of the user.

    Args:
        messages: The messages in canonical form.
        answers: The call that each result answers.
        notes: Where it is noted.
    """
    asked = {
        (index, place)
        for index, message in enumerate(messages)
        if message.role == "user"
        for place, part in enumerate(message.parts)
        if isinstance(part, ToolCall)
    }
    if not asked:
        return list(messages)
    told = asked | {result for result, call in answers.items() if call in asked}
    made: list[Message] = []
    for index, message in enumerate(messages):
        places = {place for at, place in told if at == index}
        if places:
            notes.note("user-calls-quoted", (index,))
        made.append(quoted(message, places) if places else message)
    return made


def quoted(message: Message, places: Collection[int]) -> Message:
    """Copy a message with some of its calls and results as texts that the user says."""
    parts: list[Part] = []
    for place, part in enumerate(message.parts):
        if place in places and isinstance(part, ToolCall):
            parts.append(Text(_fenced("tool-call", part.name, part.arguments)))
        elif place in places and isinstance(part, ToolResult):
            text = "".join(inner.text for inner in part.parts if isinstance(inner, Text))
            parts.append(Text(_fenced("tool-result", part.name or "", text)))
            parts += [inner for inner in part.parts if not isinstance(inner, Text)]
        else:
            parts.append(part)
    role = "user" if message.role == "tool" else message.role
    return msgspec.structs.replace(message, role=role, parts=tuple(parts))


def _fenced(kind: str, name: str, text: str) -> str:
    return f'<{kind} by="user" name="{name}">\n{text}\n</{kind}>'


def _give_ids(parts: list[list[Any]], answers: dict[Any, Any], notes: Notes) -> None:
    """Number calls without an id; results without one take that of the call they answer."""
    unused = _unused_ids(parts)
    for index, row in enumerate(parts):
        for place, part in enumerate(row):
            if isinstance(part, ToolCall) and part.id is None:
                row[place] = msgspec.structs.replace(part, id=next(unused))
            elif isinstance(part, ToolResult) and part.call_id is None:
                caller = answers.get((index, place))
                call_id = parts[caller[0]][caller[1]].id if caller else next(unused)
                row[place] = msgspec.structs.replace(part, call_id=call_id)
            else:
                continue
            notes.note("ids-renamed", (index,))


def _unused_ids(parts: list[list[Part]]) -> Iterator[str]:
    used = {part.id for row in parts for part in row if isinstance(part, ToolCall)}
    return (made for number in count(1) if (made := f"call_{number}") not in used)


def _wrap_arguments(parts: list[list[Any]], notes: Notes) -> None:
    for index, row in enumerate(parts):
        for place, part in enumerate(row):
            if isinstance(part, ToolCall) and not _is_object(part.arguments):
                wrapped = json_text({ARGUMENTS: part.arguments})
                row[place] = msgspec.structs.replace(part, arguments=wrapped)
                notes.note("arguments-wrapped", (index,))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(parse_json(arguments, where="the arguments of a call"), dict)
    except TranscriptError:
        return False
