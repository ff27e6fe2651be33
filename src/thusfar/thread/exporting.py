"""Exporting: a transcript as a request of a wire would carry it.

A list that the wire takes as it stands is written message by message. Otherwise calls and results
are brought into the order that it asks for. Nothing is made up: a call that nobody answered stays
without a result.

Source:
    docs/spec/threads.md#in-and-out
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from thusfar.dialects.base import Dialect
from thusfar.dialects.rules import Wire, check_wire
from thusfar.errors import UnsupportedPartError
from thusfar.messages import Message, Text, ToolCall
from thusfar.thread.joining import join_steps
from thusfar.thread.lowering import lower_all
from thusfar.thread.system_text import OUTSIDE, split_system

_BLOCKS: Final = frozenset({"anthropic", "gemini", "bedrock-converse"})  # refuse blank messages
_TURNS_ONLY: Final = frozenset({"gemini", "bedrock-converse"})  # no system message in the list


class Exported(NamedTuple):
    """A transcript in a wire format.

    Attributes:
        messages: In order, as plain JSON values.
        system: The system text, where the wire has it outside the list; `None` without.
        left_out: Parts, and messages without any, that have no form there.
        legal: Whether every rule of the wire was found to hold; `False` when that is not known.
    """

    messages: list[Any]
    system: Any = None
    left_out: int = 0
    legal: bool = False


def export_messages(
    messages: Sequence[Message], target: Dialect, *, leave_out: bool = False, own: bool = False
) -> Exported:
    """Convert a transcript to a wire format.

    Args:
        messages: The transcript, oldest first.
        target: The wire format.
        leave_out: Whether what has no form there is left out and counted.
        own: Whether the transcript came from this wire, so that it is written as it was.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form there.
    """
    system, spoken = split_system(messages, target)
    if own or not any(m.role == "system" and target.name in _TURNS_ONLY for m in spoken):
        try:
            lowered = lower_all(spoken, target).messages
        except UnsupportedPartError:
            if own and not leave_out:
                raise
        else:
            legal = not _refused(lowered, system, target)
            if own or legal:
                return Exported(lowered, system, legal=legal)
    carries = partial(_carries, target=target) if leave_out else None
    kept, lost = join_steps(spoken, target.name, carries=carries)
    if not leave_out:
        _require_turns(kept, target)
    return Exported(lower_all(kept, target).messages, system, lost)


def as_request(exported: Exported, target: Dialect) -> Any:
    """Give a transcript as JSON: a list, or a body where system text stands outside the list."""
    if exported.system is None:
        return exported.messages
    system, messages = OUTSIDE[target.name]
    return {system: exported.system, messages: exported.messages}


def _refused(messages: Sequence[Any], system: Any, target: Dialect) -> bool:
    module = sys.modules.get(type(target).__module__)
    rules = tuple(getattr(module, "RULES", ()))
    return bool(check_wire(rules, Wire(messages=messages, system=system)))


def _carries(message: Message, *, target: Dialect) -> bool:
    """Tell whether a wire has a form for a message of one part, or of none."""
    if target.name in _BLOCKS:
        says = any(not isinstance(part, Text) or part.text.strip() for part in message.parts)
        calls = any(isinstance(part, ToolCall) for part in message.parts)
        if not says or (calls and message.role != "assistant"):
            return False
    if message.role == "system" and target.name in _TURNS_ONLY:
        return False
    try:
        target.lower(message)
    except UnsupportedPartError:
        return False
    return True


def _require_turns(messages: Sequence[Message], target: Dialect) -> None:
    if target.name not in _TURNS_ONLY:
        return
    for position, message in enumerate(messages):
        if message.role == "system":
            raise UnsupportedPartError(
                f"A system message stood in the conversation, which {target.name} cannot carry.",
                fix="Export in another format, or leave out what has no form.",
                position=position,
            )
