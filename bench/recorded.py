"""Recorded conversations as one form of messages, so that all contestants get the same.

Every transcript becomes OpenAI's chat format: text, calls and results. Reasoning is left out, media
are a word in brackets, a call without a result and a result without a call are dropped, and call
ids are numbered anew. Where the shared recordings are not there, one is written here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_transcript import transcript

from thusfar.dialects import dialect as dialect_named
from thusfar.messages import Audio, File, Image, Message, Text, ToolCall, ToolResult

Messages = list[dict[str, Any]]
LEAST_CALLS = 3  # of the model in a conversation that is replayed

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))


@dataclass(frozen=True)
class Conversation:
    """One conversation to replay.

    Attributes:
        family: Where it is from.
        name: File and place in it.
        messages: The messages, oldest first.
    """

    family: str
    name: str
    messages: Messages


def conversations(tokens: int) -> tuple[str, list[Conversation]]:
    """Read the recorded conversations, or write one.

    Args:
        tokens: How long a written one is, about.

    Returns:
        Where they are from, and those in which the model is called often enough.
    """
    import shared_data

    if shared_data.SHARED is None:
        written = transcript(max(tokens // 130, 100))
        found = [Conversation("written", "long_transcript", written)]
        return "bench/long_transcript.py (the recordings are not there)", found
    made = [
        Conversation(family, each.name, flat(each.dialect, each.messages))
        for family, each in _recorded(shared_data.SHARED / "data")
    ]
    return "recorded", [each for each in made if len(calls(each.messages)) >= LEAST_CALLS]


def _recorded(data: Path) -> Iterator[tuple[str, Any]]:
    import readers

    for each in readers.session_logs(data):
        if each.name.startswith("pi-mono/"):
            yield "pi-mono", each
        elif each.name.startswith(("claude-code/", "claude-code-log/")):
            yield "Claude Code", each
    for family, read in (("swe-agent", readers.swe_agent), ("tau-bench", readers.tau_bench)):
        for each in read(data):
            yield family, each


def calls(messages: Sequence[dict[str, Any]]) -> list[int]:
    """List how long the transcript was at each call of the model: before every step of it."""
    return [
        place
        for place, message in enumerate(messages)
        if place and message["role"] == "assistant" and messages[place - 1]["role"] != "assistant"
    ]


def chained(
    found: Sequence[Conversation], tokens: int, weigh: Callable[[dict[str, Any]], int]
) -> list[Conversation]:
    """Make one long conversation of each family: its recordings one after another, over and over.

    Only the first keeps its system message. Each further round is told apart by a mark before
    its texts, so that no request can find the prefix of another round.

    Args:
        found: The conversations.
        tokens: How long each one is to be, at least.
        weigh: Counts a message.
    """
    made = []
    for family in dict.fromkeys(each.family for each in found):
        own = [each.messages for each in found if each.family == family]
        messages: Messages = []
        size = round_ = 0
        while size < tokens:
            for one in own:
                for message in one if not messages else _without_system(one):
                    messages.append(_marked(message, round_))
                    size += weigh(messages[-1])
                if size >= tokens:
                    break
            round_ += 1
        name = f"{len(own)} recordings, {round_} round(s)"
        made.append(Conversation(family, name, numbered(messages)))
    return made


def _without_system(messages: Messages) -> Iterator[dict[str, Any]]:
    return (message for message in messages if message["role"] != "system")


def _marked(message: dict[str, Any], round_: int) -> dict[str, Any]:
    if not round_ or not message.get("content"):
        return message
    return {**message, "content": f"[{round_ + 1}] {message['content']}"}


def flat(dialect: str, messages: Iterable[Any]) -> Messages:
    """Write messages of any dialect in OpenAI's chat format."""
    wire = dialect_named(dialect)
    made: Messages = []
    for message in messages:
        made += _flat(wire.lift(message))
    return numbered(_paired(made))


def _flat(message: Message) -> Iterator[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            text = _text(part.parts) or "(empty)"
            yield {"role": "tool", "tool_call_id": part.call_id, "content": text}
        elif isinstance(part, ToolCall):
            function = {"name": part.name, "arguments": part.arguments or "{}"}
            calls.append({"id": part.id, "type": "function", "function": function})
    text = _text(message.parts)
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    elif text:
        yield {"role": message.role, "content": text}


def _text(parts: Sequence[Any]) -> str:
    said = [
        part.text if isinstance(part, Text) else f"[{type(part).__name__.lower()}]"
        for part in parts
        if isinstance(part, Text | Image | Audio | File)
    ]
    return "\n".join(text for text in said if text)


def _paired(messages: Messages) -> Messages:
    """Drop calls without a result and results without a call; a result answers an open call."""
    open_: dict[str | None, tuple[int, int]] = {}
    answered: set[tuple[int, int]] = set()
    orphans: set[int] = set()
    for place, message in enumerate(messages):
        for number, call in enumerate(message.get("tool_calls", ())):
            open_[call["id"]] = place, number
        if message["role"] == "tool":
            asked = open_.pop(message["tool_call_id"], None)
            if asked is None:
                orphans.add(place)
            else:
                answered.add(asked)
    made = []
    for place, message in enumerate(messages):
        kept = [
            call
            for number, call in enumerate(message.get("tool_calls", ()))
            if (place, number) in answered
        ]
        if kept:
            made.append({**message, "tool_calls": kept})
        elif message.get("content") and place not in orphans:
            made.append({"role": message["role"], **_rest(message)})
    return made


def _rest(message: dict[str, Any]) -> dict[str, Any]:
    return {key: message[key] for key in ("tool_call_id", "content") if key in message}


def numbered(messages: Messages) -> Messages:
    """Number the call ids anew, so that each is unique."""
    ids: dict[str, str] = {}
    count = 0
    made = []
    for message in messages:
        if "tool_calls" in message:
            renamed = []
            for call in message["tool_calls"]:
                count += 1
                ids[call["id"]] = f"call_{count}"
                renamed.append({**call, "id": f"call_{count}"})
            message = {**message, "tool_calls": renamed}
        elif message["role"] == "tool":
            message = {**message, "tool_call_id": ids[message["tool_call_id"]]}
        made.append(message)
    return made
