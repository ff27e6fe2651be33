"""Pending: the calls at the end of a transcript that wait for their results.

Source:
    docs/spec/generate.md#tools
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from thusfar.dialects.base import answer_note
from thusfar.dialects.thusfar_json import THUSFAR_JSON
from thusfar.errors import OptionsError
from thusfar.messages import Message, ToolCall, ToolResult
from thusfar.models.port import ModelReply
from thusfar.runtime.tools import result_message


def pending_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Find the calls of the last answer that have no result.

    Args:
        messages: The newest messages, oldest first.

    Returns:
        In the order of the calls; none when the last answer calls nothing.

    Example:
        >>> asked = Message("assistant", (ToolCall("a", "look"), ToolCall("b", "look")))
        >>> done = Message("tool", (ToolResult("a"),))
        >>> [call.id for call in pending_calls([asked, done])]
        ['b']
    """
    start = len(messages)
    while start and messages[start - 1].role == "tool":
        start -= 1
    end = start
    while start and messages[start - 1].role == "assistant":
        start -= 1
    waiting = [p for m in messages[start:end] for p in m.parts if isinstance(p, ToolCall)]
    for message in messages[end:]:
        for part in message.parts:
            if isinstance(part, ToolResult):
                _answer(waiting, part)
    return waiting


def distinct_calls(reply: ModelReply) -> ModelReply:
    """Number the calls of an answer that share an id, so that each can have its own result."""
    calls = [p for m in reply.messages for p in m.parts if isinstance(p, ToolCall)]
    ids = [call.id for call in calls if call.id is not None]
    if len(ids) == len(set(ids)):
        return reply
    names = iter(call_names(calls))

    def own(part: Any) -> Any:
        if not isinstance(part, ToolCall):
            return part
        name = next(names)
        return part if part.id is None else msgspec.structs.replace(part, id=name)

    messages = tuple(
        msgspec.structs.replace(each, parts=tuple(map(own, each.parts))) for each in reply.messages
    )
    return msgspec.structs.replace(reply, messages=messages)


def cut_call(reply: ModelReply) -> ToolCall | None:
    """Find the call that an answer was cut off in, at its output limit.

    Its arguments may be a part of what the model meant, also where they can be read.
    """
    parts = [part for message in reply.messages for part in message.parts]
    cut = reply.finish == "length" and bool(parts) and isinstance(parts[-1], ToolCall)
    return parts[-1] if cut else None  # type: ignore[return-value]


def not_run(call: ToolCall) -> Message:
    """Tell the model that a call which was cut off was not run."""
    said = "The answer reached its output limit in this call, which was not run."
    return result_message(call, said, is_error=True)


def call_names(calls: Sequence[ToolCall]) -> list[str]:
    """Name the calls that wait, each by its own id; one without an id by its tool, and numbered.

    Example:
        >>> call_names([ToolCall("a", "pay"), ToolCall(None, "pay"), ToolCall(None, "pay")])
        ['a', 'pay', 'pay_2']
    """
    used, seen = {call.id for call in calls}, set[str]()
    names: list[str] = []
    for call in calls:
        name, number = call.id or call.name, 1
        while name in seen or (name in used and name != call.id):
            number += 1
            name = f"{call.id or call.name}_{number}"
        seen.add(name)
        names.append(name)
    return names


def waits_behind(call: ToolCall, waiting: Sequence[ToolCall]) -> bool:
    """Tell whether a call must wait since one of its name does, which its result would answer."""
    return not call.id and any(not each.id and each.name == call.name for each in waiting)


def decided(call: ToolCall, said: Any) -> Message:
    """Write what a caller decided about a call that waited, as the message that answers it.

    Args:
        call: The call.
        said: `False` refuses it; a result, alone or as a message, answers it under the id of the
            call; anything else is what the tool returned.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a message that is no result.
    """
    if said is False:
        return result_message(call, "The call was not allowed.", is_error=True)
    if not isinstance(said, Message | ToolResult):
        return result_message(call, said)
    parts = said.parts if isinstance(said, Message) else (said,)
    if len(parts) != 1 or not isinstance(parts[0], ToolResult):
        raise OptionsError(
            "A call that waits was answered with a message that is no result.",
            fix="Pass True, False, or what the tool returned.",
            option="approvals",
        )
    wire = parts[0].wire or answer_note(THUSFAR_JSON, call)
    result = msgspec.structs.replace(parts[0], call_id=call.id, name=call.name, wire=wire)
    return Message("tool", (result,))


def calls_wait(count: int) -> OptionsError:
    """Make the error for a turn that passes over calls that wait."""
    return OptionsError(
        "The thread ended with calls that wait for their results.",
        fix="Pass approvals= with one entry for each of them; False refuses a call.",
        option="approvals",
        pending=count,
    )


def _answer(waiting: list[ToolCall], result: ToolResult) -> None:
    """Strike out the call that a result answers: by its id, or of those without ids by its name."""
    for index, call in enumerate(waiting):
        named = not call.id and call.name == result.name
        if call.id == result.call_id if result.call_id else named:
            del waiting[index]
            return
