"""Recall: the tool with which a model reads back what a digest or a preview stands for."""

from __future__ import annotations

from typing import Any, Final

RECALL: Final = "recall"
_DESCRIPTION: Final = (
    "Read the exact text of earlier messages of this conversation, or of a document, that is "
    "shown here only in short. Give the positions of messages, words to search for, or a handle."
)
_PROPERTIES: Final = {
    "first": {"type": "integer", "description": "Position of the first message to read."},
    "last": {"type": "integer", "description": "Position of the last message to read."},
    "search": {"type": "string", "description": "Words that the messages contain."},
    "handle": {"type": "string", "description": "Handle of a document."},
    "start": {
        "type": "integer",
        "description": "Character to read on from, where an answer was too long for one.",
    },
}
_SCHEMA: Final = {"type": "object", "properties": _PROPERTIES}


def recall_tool(dialect: str) -> dict[str, Any]:
    """Write the definition of the tool as the wire wants it.

    Args:
        dialect: Name of the wire format.
    """
    plain = {"name": RECALL, "description": _DESCRIPTION}
    match dialect:
        case "anthropic":
            return {**plain, "input_schema": _SCHEMA}
        case "openai-responses":
            return {"type": "function", **plain, "parameters": _SCHEMA}
        case "gemini":
            return {"functionDeclarations": [{**plain, "parameters": _SCHEMA}]}
        case "bedrock-converse":
            return {"toolSpec": {**plain, "inputSchema": {"json": _SCHEMA}}}
        case _:
            return {"type": "function", "function": {**plain, "parameters": _SCHEMA}}
