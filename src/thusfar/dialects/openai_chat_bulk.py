"""The hot path of openai-chat: many messages of the commonest forms in one tight loop.

Only the forms that most messages have are read here; every other message goes to the dialect one
by one, so that both ways always agree. Measured: three times as fast as message by message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from thusfar.dialects.base import Flat
from thusfar.facts import ASSISTANT, SYSTEM, USER, Content, Facts, Link

_SPOKEN: Final = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM, "developer": SYSTEM}


def describe_all(messages: Sequence[Any], one: Callable[[Any], Facts]) -> list[Facts]:
    """Describe messages in order; `one` describes those that need a closer look."""
    made: list[Facts] = []
    add = made.append
    for message in messages:
        if type(message) is dict:
            content, role, size = message.get("content"), message.get("role"), len(message)
            if size == 2 and type(content) is str and content and type(role) is str:
                if role in _SPOKEN:  # role and content, and nothing else
                    add(_SPOKEN[role])
                    continue
            elif size == 3:
                if role == "tool" and type(content) is str and content:
                    call_id = message.get("tool_call_id")
                    if type(call_id) is str:
                        add(Facts("tool", (), (Link(call_id),)))
                        continue
                elif role == "assistant" and (content is None or type(content) is str):
                    calls = read_usual_calls(message.get("tool_calls"))
                    if calls:
                        add(Facts("assistant", tuple([Link(i, name) for i, name, _ in calls])))
                        continue
        add(one(message))
    return made


def flatten(messages: Sequence[Any], one: Callable[[Any], Content]) -> Flat:
    """List the texts of messages; `one` reads those that need a closer look."""
    texts: list[str] = []
    sizes: list[int] = []
    media: dict[int, Content] = {}
    for message in messages:
        if type(message) is dict:
            content, role, size = message.get("content"), message.get("role"), len(message)
            if type(content) is str and content and type(role) is str:
                if (size == 2 and role in _SPOKEN) or (
                    size == 3 and role == "tool" and type(message.get("tool_call_id")) is str
                ):
                    texts.append(content)
                    sizes.append(1)
                    continue
        read = one(message)
        if read.media:
            media[len(sizes)] = read
        texts += read.texts
        sizes.append(len(read.texts))
    return Flat(texts, sizes, media)


def read_usual_calls(calls: Any) -> list[tuple[str, str, str]]:
    """Read id, name and arguments of calls in their commonest form; none of any other."""
    if type(calls) is not list:
        return []
    read: list[tuple[str, str, str]] = []
    for call in calls:
        if type(call) is not dict or call.get("type") == "custom":
            return []
        body = call.get("function")
        if type(body) is not dict:
            return []
        call_id, name, arguments = call.get("id"), body.get("name"), body.get("arguments")
        if not (type(call_id) is type(name) is type(arguments) is str):
            return []
        read.append((call_id, name, arguments))
    return read
