"""Pending: the calls at the end of a transcript that wait for their results.

Source:
    docs/spec/generate.md#tools
"""

from __future__ import annotations

from collections.abc import Sequence

from thusfar.messages import Message, ToolCall, ToolResult


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


def _answer(waiting: list[ToolCall], result: ToolResult) -> None:
    for index, call in enumerate(waiting):
        same = call.id == result.call_id if result.call_id else call.name == result.name
        if same:
            del waiting[index]
            return
