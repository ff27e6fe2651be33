"""Events: a whole answer taken apart into the pieces that a stream would have handed out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thusfar.messages import Reasoning, Text, ToolCall
from thusfar.models.port import ModelEvent, ModelReply, ReasoningDelta, TextDelta, ToolCallDelta

_WORDS: Final = re.compile(r"\S+\s*|\s+")


def events_of(reply: ModelReply) -> Iterator[ModelEvent]:
    """Take an answer apart, word by word; the end (`Replied`) is not among the events."""
    calls = 0
    for message in reply.messages:
        for part in message.parts:
            match part:
                case Text(text=text):
                    yield from map(TextDelta, _WORDS.findall(text))
                case Reasoning(text=text):
                    yield from map(ReasoningDelta, _WORDS.findall(text))
                case ToolCall():
                    yield ToolCallDelta(calls, id=part.id or "", name=part.name)
                    yield ToolCallDelta(calls, arguments=part.arguments)
                    calls += 1
