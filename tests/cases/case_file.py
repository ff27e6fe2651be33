"""The public cases, read from the shared file; nothing of them is copied here."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shared_data import SHARED

CUTS = ("auto", "turn", "exchange")
CODES = ("HISTORY_CAP_OVERFLOW", "HISTORY_CAUSAL_BOUNDARY", "HISTORY_OPEN_CALLS")
SYNTHETIC = "(synthetic)"


@dataclass(frozen=True, slots=True)
class Case:
    """One public case.

    Attributes:
        id: Its name.
        input: What to set up.
        expected: The right value.
    """

    id: str
    input: dict[str, Any]
    expected: dict[str, Any]

    @property
    def sentences(self) -> int:
        """How many sentences ask for an assertion of their own."""
        return sum(len(self.expected.get(key, ())) for key in ("must", "must_not"))

    def __str__(self) -> str:
        return self.id


def cases(op: str) -> list[Case]:
    """Read the cases of one operation; none where the file is absent."""
    if SHARED is None:
        return []
    lines = (SHARED / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Case(row["id"], row["input"], row["expected"])
        for row in map(json.loads, filter(str.strip, lines))
        if row["input"]["op"] == op
    ]


def case(op: str, name: str) -> Case:
    """Read one case; that it is there is part of the test."""
    (found,) = (each for each in cases(op) if each.id == name)
    return found


class Wire:
    """The messages of a case in one wire format, told apart by identity.

    Args:
        canonical: The messages as the case writes them.
        dialect: Name of the wire format.
    """

    def __init__(self, canonical: Sequence[dict[str, Any]], dialect: str) -> None:
        self.dialect = dialect
        self.messages = [WRITERS[dialect](message) for message in canonical]
        self._before = copy.deepcopy(self.messages)
        self._names = {
            id(wire): message["id"] for wire, message in zip(self.messages, canonical, strict=True)
        }
        self._tokens = {
            id(wire): message.get("tok", 0)
            for wire, message in zip(self.messages, canonical, strict=True)
        }

    def names(self, view: Sequence[Any]) -> list[str]:
        """Name the messages of a view; what is not the caller's own object is synthetic."""
        return [self._names.get(id(message), SYNTHETIC) for message in view]

    def named(self, *ranges: tuple[int, int]) -> list[str]:
        """Name the caller's messages at these positions."""
        return [
            self._names[id(self.messages[position])]
            for start, end in ranges
            for position in range(start, end)
        ]

    def tokens(self, message: Any) -> int:
        """Give the tokens that the case says."""
        return self._tokens[id(message)]

    def tokens_or_summary(self, message: Any) -> int:
        """Give the tokens that the case says, else 100; a message made by the policy weighs 1."""
        return (self._tokens[id(message)] or 100) if id(message) in self._tokens else 1

    @property
    def untouched(self) -> bool:
        """Whether the caller's list is as it was before."""
        return self.messages == self._before


def openai_chat(message: dict[str, Any]) -> dict[str, Any]:
    match message:
        case {"role": "tool"}:
            return {"role": "tool", "tool_call_id": message["for"], "content": message["text"]}
        case {"reasoning": text}:
            return {"role": "assistant", "content": None, "reasoning_content": text}
        case {"calls": calls}:
            made = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call.get("arguments", "{}")},
                }
                for call in calls
            ]
            return {"role": "assistant", "content": message.get("text"), "tool_calls": made}
        case {"parts": parts}:
            return {"role": message["role"], "content": [_chat_part(part) for part in parts]}
        case _:
            return {"role": message["role"], "content": message["text"]}


def _chat_part(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    data = "A" * part["data_chars"]
    return {"type": "image_url", "image_url": {"url": f"data:{part['mime']};base64,{data}"}}


def openai_responses(message: dict[str, Any]) -> dict[str, Any]:
    match message:
        case {"role": "tool"}:
            output = {"call_id": message["for"], "output": message["text"]}
            return {"type": "function_call_output", **output}
        case {"reasoning": text}:
            summary = [{"type": "summary_text", "text": text}]
            return {"type": "reasoning", "id": f"rs_{message['id']}", "summary": summary}
        case {"calls": [call]}:
            called = {"call_id": call["id"], "name": call["name"]}
            return {"type": "function_call", **called, "arguments": call.get("arguments", "{}")}
        case {"role": "assistant"}:
            block = {"type": "output_text", "text": message["text"], "annotations": []}
            return {"type": "message", "role": "assistant", "content": [block]}
        case _:
            return {"role": message["role"], "content": message["text"]}


def anthropic(message: dict[str, Any]) -> dict[str, Any]:
    match message:
        case {"role": "tool"}:
            block = {"type": "tool_result", "tool_use_id": message["for"]}
            return {"role": "user", "content": [{**block, "content": message["text"]}]}
        case {"reasoning": text}:
            block = {"type": "thinking", "thinking": text, "signature": f"sig-{message['id']}"}
            return {"role": "assistant", "content": [block]}
        case {"calls": calls}:
            blocks = [
                {
                    "type": "tool_use",
                    "id": call["id"],
                    "name": call["name"],
                    "input": json.loads(call.get("arguments", "{}")),
                }
                for call in calls
            ]
            said = [{"type": "text", "text": message["text"]}] if "text" in message else []
            return {"role": "assistant", "content": [*said, *blocks]}
        case _:
            block = {"type": "text", "text": message["text"]}
            return {"role": message["role"], "content": [block]}


def gemini(message: dict[str, Any]) -> dict[str, Any]:
    match message:
        case {"role": "tool"}:
            answer = {"id": message["for"], "name": "tool", "response": {"out": message["text"]}}
            return {"role": "user", "parts": [{"functionResponse": answer}]}
        case {"calls": calls}:
            made = [
                {
                    "functionCall": {
                        "id": call["id"],
                        "name": call["name"],
                        "args": json.loads(call.get("arguments", "{}")),
                    }
                }
                for call in calls
            ]
            return {"role": "model", "parts": made}
        case _:
            role = {"assistant": "model"}.get(message["role"], message["role"])
            return {"role": role, "parts": [{"text": message["text"]}]}


def bedrock(message: dict[str, Any]) -> dict[str, Any]:
    match message:
        case {"role": "tool"}:
            answer = {"toolUseId": message["for"], "content": [{"text": message["text"]}]}
            return {"role": "user", "content": [{"toolResult": answer}]}
        case {"calls": calls}:
            made = [
                {
                    "toolUse": {
                        "toolUseId": call["id"],
                        "name": call["name"],
                        "input": json.loads(call.get("arguments", "{}")),
                    }
                }
                for call in calls
            ]
            return {"role": "assistant", "content": made}
        case _:
            return {"role": message["role"], "content": [{"text": message["text"]}]}


WRITERS = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "bedrock-converse": bedrock,
}


def dialects_for(each: Case) -> Iterator[str]:
    """Name the wire formats in which the messages of a case can be written one by one."""
    messages = each.input["messages"]
    roles = {message["role"] for message in messages}
    reasoning = any("reasoning" in message for message in messages)
    parts = any("parts" in message for message in messages)
    yield "openai-chat"
    if parts:
        return
    if all(len(message.get("calls", ())) <= 1 for message in messages):
        yield "openai-responses"
    yield "anthropic"
    if "system" not in roles and not reasoning:
        yield "gemini"
        yield "bedrock-converse"
