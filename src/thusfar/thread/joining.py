"""Joining: calls and results in the order and the grouping that a wire asks for.

Logs write one model step as several messages, and people speak while a call waits. Most wires want
all calls of a step in one message and their results directly behind it. Nothing is left out and no
text is changed: messages of one step become one, results move up to their calls, and calls get ids
where the wire needs them. Messages that need none of it stay the same objects.

Source:
    docs/spec/threads.md#in-and-out
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from thusfar.messages import Message, Part, Role, Text, ToolCall, ToolResult

_STRICT: Final = frozenset({"openai-chat", "anthropic", "gemini", "bedrock-converse"})
_TOGETHER: Final = frozenset({"gemini", "bedrock-converse"})  # results of a step in one message
_ALTERNATING: Final = frozenset({"bedrock-converse"})
_WITH_IDS: Final = frozenset({"openai-responses", "anthropic", "bedrock-converse"})
_UNIQUE: Final = frozenset({"anthropic", "bedrock-converse"})
_BLOCKS: Final = frozenset({"anthropic", "gemini", "bedrock-converse"})  # refuse empty blocks
_NAMED: Final = frozenset({"gemini"})  # results name their tool


class _Slot:
    """One part on its way to a place."""

    __slots__ = ("answers", "part", "waits")

    def __init__(self, part: Part) -> None:
        self.part = part
        self.answers: _Slot | None = None  # of a result: its call
        self.waits = 0  # of a call: results that come later


class _Item:
    """One message on its way to a place."""

    __slots__ = ("left_out", "message", "slots")

    def __init__(self, message: Message, slots: list[_Slot] | None = None) -> None:
        self.message = message
        self.left_out = False
        self.slots = [_Slot(part) for part in message.parts] if slots is None else slots

    @property
    def calls(self) -> list[_Slot]:
        """The calls among the parts."""
        return [slot for slot in self.slots if isinstance(slot.part, ToolCall)]

    @property
    def empty(self) -> bool:
        """Whether all that the message had went elsewhere, or was left out."""
        return self.left_out or (not self.slots and bool(self.message.parts))

    def made(self) -> Message:
        """Give the message, the same object where nothing of it changed."""
        parts = tuple(slot.part for slot in self.slots)
        same = len(parts) == len(self.message.parts) and all(
            one is other for one, other in zip(parts, self.message.parts, strict=True)
        )
        return self.message if same else msgspec.structs.replace(self.message, parts=parts)


class Joined(NamedTuple):
    """Messages in the order and the grouping that a wire asks for.

    Attributes:
        messages: Oldest first.
        left_out: Parts, and messages without any, that the wire has no form for.
    """

    messages: list[Message]
    left_out: int = 0


def join_steps(
    messages: Iterable[Message], wire: str, *, carries: Callable[[Message], bool] | None = None
) -> Joined:
    """Bring calls and results into the order that a wire asks for.

    Args:
        messages: The messages, oldest first, without the leading system messages.
        wire: Name of the dialect that they will be lowered to.
        carries: Tells whether the wire has a form for a message of one part, or of none; a call
            without one is left out together with its result. `None` leaves nothing out.
    """
    items = [_Item(message) for message in messages]
    _pair(items)
    _identify(items, wire)
    if wire in _BLOCKS:
        _without_empty_text(items)
    lost = _leave_out(items, carries) if carries is not None else 0
    items = [item for item in items if not item.empty]
    if wire in _STRICT:
        items = _steps(items, together=wire in _TOGETHER)
    if wire in _ALTERNATING:
        items = _alternating(items)
    _identify(items, wire)
    return Joined([item.made() for item in items if not item.empty], lost)


def _without_empty_text(items: list[_Item]) -> None:
    """Take away text without a character that stands beside something."""
    for item in items:
        said = [s for s in item.slots if not isinstance(s.part, Text) or s.part.text]
        item.slots = said or item.slots


def _leave_out(items: list[_Item], carries: Callable[[Message], bool]) -> int:
    """Take away what the wire has no form for: calls with their results, other parts alone."""
    gone: set[int] = set()
    lost = 0
    for item in items:
        if not item.slots and not carries(item.message):
            item.left_out = True
            lost += 1
        kept: list[_Slot] = []
        for slot in item.slots:
            if _held(slot, item.message.role, gone, carries):
                lost += _trim(slot, carries)
                kept.append(slot)
            else:
                gone.add(id(slot))
        lost += len(item.slots) - len(kept)
        item.slots = kept
    return lost


def _held(slot: _Slot, role: Role, gone: set[int], carries: Callable[[Message], bool]) -> bool:
    if not isinstance(slot.part, ToolResult):
        return carries(Message(role, (slot.part,)))
    if slot.answers is not None:
        return id(slot.answers) not in gone
    return carries(Message("tool", (msgspec.structs.replace(slot.part, parts=(), wire=""),)))


def _trim(slot: _Slot, carries: Callable[[Message], bool]) -> int:
    """Leave out what a result holds and the wire has no form for."""
    result = slot.part
    if not isinstance(result, ToolResult) or carries(Message("tool", (result,))):
        return 0
    each = [msgspec.structs.replace(result, parts=(part,), wire="") for part in result.parts]
    inner = tuple(one.parts[0] for one in each if carries(Message("tool", (one,))))
    slot.part = msgspec.structs.replace(result, parts=inner, wire="")
    return len(result.parts) - len(inner)


def _pair(items: list[_Item]) -> None:
    """Let each result know its call: the latest open one of its id, or of its name."""
    open_calls: list[list[_Slot]] = []
    for item in items:
        asked: list[_Slot] = []
        for slot in item.slots:
            if isinstance(slot.part, ToolResult):
                slot.answers = _answered(open_calls, slot.part)
            elif isinstance(slot.part, ToolCall):
                _close(open_calls, slot.part.id)
                asked.append(slot)
        if asked:
            open_calls.append(asked)


def _answered(open_calls: list[list[_Slot]], result: ToolResult) -> _Slot | None:
    for asked in reversed(open_calls):
        for slot in asked:
            assert isinstance(slot.part, ToolCall)
            same_id = slot.part.id == result.call_id
            if same_id and (result.call_id is not None or slot.part.name == result.name):
                asked.remove(slot)
                slot.waits += 1
                return slot
    return None


def _close(open_calls: list[list[_Slot]], call_id: str | None) -> None:
    """Forget the open calls of an id that is used again: nothing answers them any more."""
    if call_id is not None:
        for asked in open_calls:
            asked[:] = [s for s in asked if isinstance(s.part, ToolCall) and s.part.id != call_id]


def _steps(items: list[_Item], *, together: bool) -> list[_Item]:
    """Make one message of each step whose results wait, and put the results behind it."""
    placed: list[_Item] = []
    waiting = [*reversed(items)]
    while waiting:
        step = waiting.pop()
        if step.empty:
            continue
        while waiting and _goes_on(step, waiting[-1]):
            step = _Item(_bare(step.message), [*step.slots, *waiting.pop().slots])
        while together and placed and _goes_with(placed[-1], step):
            step = _Item(_bare(placed[-1].message), [*placed.pop().slots, *step.slots])
        placed.append(step)
        if any(call.waits for call in step.calls):
            placed += _results(step, waiting, together=together)
    return placed


def _goes_on(step: _Item, following: _Item) -> bool:
    """Tell whether the next message is of the same step, whose results come later."""
    return following.message.role == step.message.role and any(c.waits for c in step.calls)


def _goes_with(before: _Item, step: _Item) -> bool:
    """Tell whether text was said directly before the calls, in a message of its own."""
    both = before.message.role == step.message.role == "assistant"
    return both and bool(step.calls) and not before.calls


def _results(step: _Item, waiting: list[_Item], *, together: bool) -> list[_Item]:
    """Take the results of a step out of what follows, each message whole where it can stay so."""
    left = sum(call.waits for call in step.calls)
    calls = set(map(id, step.calls))
    taken: list[_Item] = []
    for place in range(len(waiting) - 1, -1, -1):
        item = waiting[place]
        mine = [slot for slot in item.slots if slot.answers and id(slot.answers) in calls]
        if not mine:
            continue
        left -= len(mine)
        next_up = place == len(waiting) - 1 - len(taken)
        whole = item.slots[: len(mine)] == mine and (
            len(mine) == len(item.slots) or (next_up and not left)
        )
        taken.append(_Item(item.message, item.slots) if whole else _Item(_tool(item), mine))
        item.slots = [] if whole else [s for s in item.slots if s not in mine]
        if not left:
            break
    for call in step.calls:
        call.waits = 0
    if together and len(taken) > 1:
        role: Role = "user" if any(item.message.role == "user" for item in taken) else "tool"
        return [_Item(Message(role), [slot for item in taken for slot in item.slots])]
    return taken


def _tool(item: _Item) -> Message:
    return Message("tool", id=item.message.id)


def _bare(message: Message) -> Message:
    """Give a message without what its own wire had beside its parts: it is another one now."""
    return msgspec.structs.replace(message, wire="") if message.wire else message


def _alternating(items: list[_Item]) -> list[_Item]:
    """Make one message of neighbours that the wire gives to the same speaker."""
    placed: list[_Item] = []
    for item in items:
        role = _speaker(item)
        if placed and role != "system" and _speaker(placed[-1]) == role:
            before = placed.pop()
            kept = _bare(before.message)
            if "user" in (before.message.role, item.message.role):
                kept = msgspec.structs.replace(kept, role="user")
            item = _Item(kept, [*before.slots, *item.slots])
        placed.append(item)
    return placed


def _speaker(item: _Item) -> str:
    return "user" if item.message.role == "tool" else item.message.role


def _identify(items: list[_Item], wire: str) -> None:
    """Give ids to calls without one and to those of an id used before, with their results."""
    taken = {s.part.id for item in items for s in item.calls if isinstance(s.part, ToolCall)}
    used: set[str] = set()
    for item in items:
        calls = item.calls
        needed = wire in _WITH_IDS or (wire == "openai-chat" and len(calls) > 1)
        for slot in item.slots:
            part = slot.part
            if isinstance(part, ToolCall):
                again = part.id in used and wire in _UNIQUE
                if (part.id is None and needed) or again:
                    part = slot.part = msgspec.structs.replace(part, id=_fresh(part.id, taken))
                    taken.add(part.id)
                used.add(part.id or "")
            elif isinstance(part, ToolResult) and slot.answers is not None:
                call = slot.answers.part
                assert isinstance(call, ToolCall)
                name = call.name if wire in _NAMED and part.name is None else part.name
                if (call.id, name) != (part.call_id, part.name):
                    slot.part = msgspec.structs.replace(part, call_id=call.id, name=name)


def _fresh(call_id: str | None, taken: set[str | None]) -> str:
    base, number = call_id or "call", 1 if call_id is None else 2
    while f"{base}_{number}" in taken:
        number += 1
    return f"{base}_{number}"
