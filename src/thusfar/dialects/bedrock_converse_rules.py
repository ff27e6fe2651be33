"""What Bedrock's Converse API refuses, as data and functions.

Source:
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
    (read 2026-11-30) and the refusals that each rule names
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from thusfar.dialects.rules import Rule, Wire
from thusfar.dialects.shapes import listed, role_at

_READ: Final = "(read 2026-11-30)"
_REFERENCE: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_"
_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_TOOL: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")

Block = Mapping[str, Any]


def _spoken(wire: Wire) -> list[tuple[int, Any]]:
    """List the messages of user and assistant with their positions."""
    return [
        (at, message) for at, message in enumerate(wire.messages) if role_at(message) != "system"
    ]


def _held(message: Any, kind: str) -> list[Block]:
    """List what stands under one kind of block, without the calls of server tools."""
    found = [block[kind] for block in listed(message, "content") if kind in block]
    return [
        held
        for held in found
        if isinstance(held, Mapping) and held.get("type") in (None, "tool_use", "tool_result")
    ]


def _ids(message: Any, kind: str) -> list[str]:
    ids = [held.get("toolUseId") for held in _held(message, kind)]
    return [name for name in ids if isinstance(name, str)]


def _first_not_user(wire: Wire) -> Iterator[int]:
    for position, message in _spoken(wire)[:1]:
        if role_at(message) != "user":
            yield position


def _same_role_again(wire: Wire) -> Iterator[int]:
    before = ""
    for position, message in _spoken(wire):
        if role_at(message) == before:
            yield position
        before = role_at(message)


def _call_unanswered(wire: Wire) -> Iterator[int]:
    spoken = _spoken(wire)
    for index, (position, message) in enumerate(spoken):
        after = spoken[index + 1][1] if index + 1 < len(spoken) else None
        if set(_ids(message, "toolUse")) - set(_ids(after, "toolResult")):
            yield position


def _result_without_call(wire: Wire) -> Iterator[int]:
    before: Any = None
    for position, message in _spoken(wire):
        if set(_ids(message, "toolResult")) - set(_ids(before, "toolUse")):
            yield position
        before = message


def _id_repeated(wire: Wire) -> Iterator[int]:
    for position, message in _spoken(wire):
        calls, results = _ids(message, "toolUse"), _ids(message, "toolResult")
        if len(set(calls)) < len(calls) or len(set(results)) < len(results):
            yield position


def _id_malformed(wire: Wire) -> Iterator[int]:
    for position, message in _spoken(wire):
        names = _ids(message, "toolUse") + _ids(message, "toolResult")
        if not all(_ID.fullmatch(name) for name in names):
            yield position


def _name_malformed(wire: Wire) -> Iterator[int]:
    for position, message in _spoken(wire):
        names = [held.get("name") for held in _held(message, "toolUse")]
        if not all(isinstance(name, str) and _TOOL.fullmatch(name) for name in names):
            yield position


def _blank_text(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        texts = [block.get("text") for block in listed(message, "content")]
        if any(isinstance(text, str) and not text.strip() for text in texts):
            yield position


def _empty_content(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        if isinstance(message, Mapping) and not message.get("content"):
            yield position


def _empty_error(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        results = _held(message, "toolResult")
        if any(held.get("status") == "error" and not held.get("content") for held in results):
            yield position


def _document_alone(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        kinds = {kind for block in listed(message, "content") for kind in block}
        if "document" in kinds and "text" not in kinds:
            yield position


def _tools_missing(wire: Wire) -> Iterator[int]:
    if wire.tools is None or len(wire.tools):
        return
    for position, message in enumerate(wire.messages):
        if _held(message, "toolUse") or _held(message, "toolResult"):
            yield position
            return


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="bedrock-converse/first-user",
        statement="A conversation starts with a user message.",
        source="https://github.com/langgenius/dify/issues/12340: 'A conversation must start with "
        f"a user message' {_READ}",
        check=_first_not_user,
    ),
    Rule(
        name="bedrock-converse/alternate",
        statement="User and assistant messages alternate.",
        source="https://github.com/langchain-ai/langchain-aws/issues/130: 'A conversation must "
        f"alternate between user and assistant roles' {_READ}",
        check=_same_role_again,
    ),
    Rule(
        name="bedrock-converse/call-answered",
        statement="Each toolUse block is answered by a toolResult block in the next message.",
        source="https://github.com/agno-agi/agno/issues/6698: 'Expected toolResult blocks at "
        f"messages.2.content for the following Ids' {_READ}",
        check=_call_unanswered,
    ),
    Rule(
        name="bedrock-converse/result-call",
        statement="Each toolResult block answers a toolUse block of the message directly before.",
        source="https://github.com/strands-agents/harness-sdk/issues/1435: 'The number of "
        "toolResult blocks exceeds the number of toolUse blocks of previous turn' "
        f"{_READ}",
        check=_result_without_call,
    ),
    Rule(
        name="bedrock-converse/id-unique",
        statement="The ids of the calls of a message are unique, and those of its results.",
        source="https://github.com/BerriAI/litellm/issues/20048: 'The toolResult blocks contain "
        f"duplicate Ids' {_READ}",
        check=_id_repeated,
    ),
    Rule(
        name="bedrock-converse/id-form",
        statement="A toolUseId has 1 to 64 letters, digits, underscores, dots, colons or hyphens.",
        source=f"{_REFERENCE}ToolUseBlock.html {_READ}; pattern of botocore 1.44.8",
        check=_id_malformed,
    ),
    Rule(
        name="bedrock-converse/tool-name",
        statement="The tool name of a toolUse block has 1 to 64 letters, digits, underscores or "
        "hyphens.",
        source="https://github.com/openclaw/openclaw/pull/12949: 'toolUse.name failed to satisfy "
        f"constraint: [a-zA-Z0-9_-]+' {_READ}",
        check=_name_malformed,
    ),
    Rule(
        name="bedrock-converse/text-blank",
        statement="A text block has some text that is not white space.",
        source="https://github.com/OpenHands/OpenHands/issues/5339: 'The text field in the "
        f"ContentBlock object is blank' {_READ}; https://github.com/NousResearch/hermes-agent/"
        f"pull/63983: white space counts as blank {_READ}",
        check=_blank_text,
    ),
    Rule(
        name="bedrock-converse/content-empty",
        statement="Every message has content.",
        source="https://github.com/cline/cline/issues/9213: 'The content field in the Message "
        f"object is empty' {_READ}",
        check=_empty_content,
    ),
    Rule(
        name="bedrock-converse/error-empty",
        statement="A toolResult with the status error has content.",
        source="https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/"
        f"issues/15: 'toolResult cannot be empty when status value is error' {_READ}",
        check=_empty_error,
    ),
    Rule(
        name="bedrock-converse/document-text",
        statement="A message with a document has a text block too.",
        source="https://github.com/archestra-ai/archestra/pull/4220: 'A text block must be "
        f"included when using documents' {_READ}",
        check=_document_alone,
    ),
    Rule(
        name="bedrock-converse/tools-given",
        statement="A request whose messages hold calls or results defines tools.",
        source="https://github.com/langgenius/dify/issues/17545: 'The toolConfig field must be "
        f"defined when using toolUse and toolResult content blocks' {_READ}",
        check=_tools_missing,
    ),
)
