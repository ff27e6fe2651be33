"""What Anthropic's Messages API refuses, as data and functions.

Consecutive messages of one role are allowed (the provider joins them), so pairing is checked
over turns, not over messages.

Source:
    https://platform.claude.com/docs/en/api/messages (read 2026-11-30) and the refusals that
    each rule names
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from thusfar.dialects.rules import Rule, Wire
from thusfar.dialects.shapes import listed, role_at

MAX_BREAKPOINTS: Final = 4
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_READ: Final = "(read 2026-11-30)"

Block = Mapping[str, Any]
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,200}")
Turn = tuple[str, list[tuple[int, Block]]]


def _blocks(message: Any) -> list[Block]:
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return listed(message, "content")


def _turns(messages: Sequence[Any]) -> list[Turn]:
    """Join consecutive messages of one role; system messages stand outside of turns."""
    turns: list[Turn] = []
    for position, message in enumerate(messages):
        role = role_at(message)
        if role == "system":
            continue
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend((position, block) for block in _blocks(message))
    return turns


def _ids(turn: Turn, kind: str, key: str) -> list[tuple[int, str]]:
    return [
        (position, block[key])
        for position, block in turn[1]
        if block.get("type") == kind and isinstance(block.get(key), str)
    ]


def _no_messages(wire: Wire) -> Iterator[int]:
    if not any(role_at(message) != "system" for message in wire.messages):
        yield 0


def _first_not_user(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        if role_at(message) == "system":
            continue
        blocks = _blocks(message)
        compacted = bool(blocks) and blocks[0].get("type") == "compaction"
        if role_at(message) != "user" and not compacted:
            yield position
        return


def _system_not_before_answer(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        after = wire.messages[position + 1 : position + 2]
        misplaced = position == 0 or (after and role_at(after[0]) != "assistant")
        if role_at(message) == "system" and misplaced:
            yield position


def _call_not_by_assistant(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        if role_at(message) != "assistant" and any(
            block.get("type") == "tool_use" for block in _blocks(message)
        ):
            yield position


def _call_unanswered(wire: Wire) -> Iterator[int]:
    turns = _turns(wire.messages)
    for index, turn in enumerate(turns):
        if turn[0] != "assistant":
            continue
        after = turns[index + 1] if index + 1 < len(turns) else ("user", [])
        answered = {name for _, name in _ids(after, "tool_result", "tool_use_id")}
        open_calls = [at for at, name in _ids(turn, "tool_use", "id") if name not in answered]
        yield from dict.fromkeys(open_calls)


def _server_call_unanswered(wire: Wire) -> Iterator[int]:
    turns = _turns(wire.messages)
    for index, turn in enumerate(turns):
        if turn[0] != "assistant" or index + 1 == len(turns):
            continue  # at the end the provider goes on where it paused
        if _ids(turns[index + 1], "tool_result", "tool_use_id"):
            continue  # beside calls of ours it is run when those are answered
        answered = {
            block.get("tool_use_id")
            for _, block in turn[1]
            if str(block.get("type")).endswith("_tool_result")
        }
        open_calls = [
            at for at, name in _ids(turn, "server_tool_use", "id") if name not in answered
        ]
        yield from dict.fromkeys(open_calls)


def _media_by_assistant(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        if role_at(message) == "assistant" and any(
            block.get("type") in ("image", "document") for block in _blocks(message)
        ):
            yield position


def _call_misnamed(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        names = [b.get("name") for b in _blocks(message) if b.get("type") == "tool_use"]
        if any(isinstance(name, str) and not _TOOL_NAME.fullmatch(name) for name in names):
            yield position


def _result_without_call(wire: Wire) -> Iterator[int]:
    before: Turn = ("", [])
    for turn in _turns(wire.messages):
        called = {name for _, name in _ids(before, "tool_use", "id")}
        if before[0] != "assistant":
            called = set()
        orphans = [
            at for at, name in _ids(turn, "tool_result", "tool_use_id") if name not in called
        ]
        yield from dict.fromkeys(orphans)
        before = turn


def _result_repeated(wire: Wire) -> Iterator[int]:
    for turn in _turns(wire.messages):
        seen: set[str] = set()
        found: dict[int, None] = {}
        for position, name in _ids(turn, "tool_result", "tool_use_id"):
            if name in seen:
                found[position] = None
            seen.add(name)
        yield from found


def _result_behind_other(wire: Wire) -> Iterator[int]:
    before: Turn = ("", [])
    for turn in _turns(wire.messages):
        other = False
        found: dict[int, None] = {}
        for position, block in turn[1] if _ids(before, "tool_use", "id") else ():
            if block.get("type") != "tool_result":
                other = True
            elif other and turn[0] == "user":
                found[position] = None
        yield from found
        before = turn


def _id_repeated(wire: Wire) -> Iterator[int]:
    seen: set[str] = set()
    for turn in _turns(wire.messages):
        found: dict[int, None] = {}
        for position, name in _ids(turn, "tool_use", "id"):
            if name in seen:
                found[position] = None
            seen.add(name)
        yield from found


def _id_malformed(wire: Wire) -> Iterator[int]:
    for turn in _turns(wire.messages):
        names = _ids(turn, "tool_use", "id") + _ids(turn, "tool_result", "tool_use_id")
        yield from dict.fromkeys(at for at, name in names if not _ID.fullmatch(name))


def _empty_text(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        for block in listed(message, "content"):
            if block.get("type") == "text" and block.get("text") == "":
                yield position
                break


def _blank(wire: Wire) -> Iterator[int]:
    for position, message in enumerate(wire.messages):
        texts = [
            block.get("text") if block.get("type") == "text" else None for block in _blocks(message)
        ]
        if texts and all(isinstance(text, str) and text.isspace() for text in texts):
            yield position


def _empty_content(wire: Wire) -> Iterator[int]:
    last = len(wire.messages) - 1
    for position, message in enumerate(wire.messages):
        content = message.get("content") if isinstance(message, Mapping) else None
        role = role_at(message)
        if content in ("", [], ()) and (
            role == "user" or (role == "assistant" and position < last)
        ):
            yield position


def _trailing_space(wire: Wire) -> Iterator[int]:
    if not wire.messages or role_at(wire.messages[-1]) != "assistant":
        return
    blocks = _blocks(wire.messages[-1])
    text = blocks[-1].get("text") if blocks and blocks[-1].get("type") == "text" else None
    if isinstance(text, str) and text != text.rstrip():
        yield len(wire.messages) - 1


def _breakpoints(value: Any, *, depth: int = 2) -> int:
    """Count the blocks with cache_control, also those inside results."""
    if not isinstance(value, list | tuple) or not depth:
        return 0
    return sum(
        (block.get("cache_control") is not None)
        + _breakpoints(block.get("content"), depth=depth - 1)
        for block in value
        if isinstance(block, Mapping)
    )


def _too_many_breakpoints(wire: Wire) -> Iterator[int]:
    count = _breakpoints(wire.tools) + _breakpoints(wire.system)
    for position, message in enumerate(wire.messages):
        found = _breakpoints(message.get("content")) if isinstance(message, Mapping) else 0
        count += found
        if count > MAX_BREAKPOINTS and (found or position == 0):
            yield position


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="anthropic/messages",
        statement="A request has at least one message that is not a system message.",
        source="https://github.com/Helicone/helicone/pull/5257: 'messages must have at least one "
        f"element' {_READ}",
        check=_no_messages,
    ),
    Rule(
        name="anthropic/first-user",
        statement="The first message is a user message.",
        source="https://github.com/lobehub/lobehub/issues/1601: 'messages: first message must use "
        f'the "user" role\' {_READ}; a compaction block may stand first (Python SDK 2.14.0)',
        check=_first_not_user,
    ),
    Rule(
        name="anthropic/system-place",
        statement="A system message in the list is not first, and stands before an assistant "
        "message or at the end.",
        source="https://github.com/anthropics/claude-code/issues/73821: \"role 'system' must "
        f"precede an 'assistant' message or end the array\" {_READ}; https://platform.claude.com/"
        f"docs/en/build-with-claude/mid-conversation-system-messages {_READ}",
        check=_system_not_before_answer,
    ),
    Rule(
        name="anthropic/call-role",
        statement="A tool_use block stands in an assistant message.",
        source="https://github.com/microsoft/agent-framework/issues/4328: 'tool_use blocks can "
        f"only be in assistant messages' {_READ}",
        check=_call_not_by_assistant,
    ),
    Rule(
        name="anthropic/call-answered",
        statement="Each tool_use block is answered by a tool_result in the next user message.",
        source="https://github.com/anthropics/claude-code/issues/5989: '`tool_use` ids were found "
        f"without `tool_result` blocks immediately after' {_READ}",
        check=_call_unanswered,
    ),
    Rule(
        name="anthropic/result-call",
        statement="Each tool_result block answers a tool_use block of the assistant message "
        "directly before.",
        source="https://github.com/anthropics/claude-code/issues/13460: 'Each `tool_result` block "
        f"must have a corresponding `tool_use` block in the previous message' {_READ}",
        check=_result_without_call,
    ),
    Rule(
        name="anthropic/server-calls-answered",
        statement="A server_tool_use block has its result behind it, except in an assistant "
        "message at the end or before tool_result blocks.",
        source="https://github.com/gsd-build/gsd-2/issues/2869: '`web_search` tool use with id … "
        f"was found without a corresponding `web_search_tool_result` block' {_READ}; "
        "https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools "
        f"{_READ}",
        check=_server_call_unanswered,
    ),
    Rule(
        name="anthropic/result-once",
        statement="Each tool_use block has one tool_result block.",
        source="https://github.com/anthropics/claude-code/issues/14110: 'each tool_use must have a "
        f"single result' {_READ}",
        check=_result_repeated,
    ),
    Rule(
        name="anthropic/results-first",
        statement="The tool_result blocks of a user message stand before its other blocks.",
        source="https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls "
        f"{_READ}; https://github.com/anthropics/claude-code/issues/37: 'Messages following "
        f"`tool_use` blocks must begin with a matching number of `tool_result` blocks' {_READ}",
        check=_result_behind_other,
    ),
    Rule(
        name="anthropic/id-unique",
        statement="The ids of tool_use blocks are unique within a request.",
        source="https://github.com/anthropics/claude-code/issues/20700: 'tool_use ids must be "
        f"unique' {_READ}",
        check=_id_repeated,
    ),
    Rule(
        name="anthropic/id-form",
        statement="A tool_use id is made of letters, digits, underscores and hyphens.",
        source='https://github.com/BlockRunAI/ClawRouter/issues/17: "tool_use.id: String should '
        f"match pattern '^[a-zA-Z0-9_-]+$'\" {_READ}",
        check=_id_malformed,
    ),
    Rule(
        name="anthropic/tool-name",
        statement="The name of a tool_use block is 1 to 200 letters, digits, underscores and "
        "hyphens, also where a model made it up.",
        source="https://github.com/anthropics/claude-code/issues/94799: 'tool_use.name: String "
        "should have at most 200 characters'; https://github.com/earendil-works/pi/pull/1643 "
        f"{_READ}",
        check=_call_misnamed,
    ),
    Rule(
        name="anthropic/media-role",
        statement="Images and documents do not stand in assistant messages.",
        source="https://github.com/SEMOSS/Semoss/issues/2323: 'image blocks are not permitted "
        f"within assistant turns' {_READ}",
        check=_media_by_assistant,
    ),
    Rule(
        name="anthropic/text-empty",
        statement="A text block is not empty.",
        source="https://github.com/BerriAI/litellm/pull/22979: 'text content blocks must be "
        f"non-empty' {_READ}",
        check=_empty_text,
    ),
    Rule(
        name="anthropic/text-blank",
        statement="A message of text alone has some that is not white space.",
        source="https://github.com/nick1udwig/kibitz/issues/78: 'text content blocks must contain "
        "non-whitespace text'; https://github.com/experientiallabs/experiential/pull/804: not "
        f"where other blocks stand beside it {_READ}",
        check=_blank,
    ),
    Rule(
        name="anthropic/content-empty",
        statement="Every message has content, except an assistant message at the end.",
        source="https://github.com/anthropics/claude-code/issues/6774: 'all messages must have "
        f"non-empty content except for the optional final assistant message' {_READ}",
        check=_empty_content,
    ),
    Rule(
        name="anthropic/trailing-space",
        statement="Text of an assistant message at the end does not end in white space.",
        source="https://github.com/tailcallhq/forgecode/issues/1872: 'final assistant content "
        f"cannot end with trailing whitespace' {_READ}",
        check=_trailing_space,
    ),
    Rule(
        name="anthropic/cache-breakpoints",
        statement=f"At most {MAX_BREAKPOINTS} blocks of tools, system and messages have "
        "cache_control.",
        source="https://github.com/tghamm/Anthropic.SDK/issues/50: 'A maximum of 4 blocks with "
        f"cache_control may be provided' {_READ}",
        check=_too_many_breakpoints,
    ),
)
