"""Sub-agents of Claude Code: what each said in a log, in order, and the call that started it.

A log may hold the records of several sub-agents between those of the session. They say whose they
are by the id of the agent, by the call that started it (in the printed stream), or by their chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thusfar.sources.loaded import Entry, Sidechain

Key = tuple[str, str | int]


def is_inside(record: Any) -> bool:
    """Tell whether a record belongs to a sub-agent."""
    if not isinstance(record, dict):
        return False
    return record.get("isSidechain") is True or record.get("parent_tool_use_id") is not None


def sidechains(entries: Sequence[Entry]) -> tuple[Sidechain, ...]:
    """Gather what each sub-agent said.

    Args:
        entries: Every record of the log, in file order.

    Returns:
        One for each sub-agent that said something, in the order in which they began.
    """
    owners: dict[str, Key] = {}
    said: dict[Key, list[Entry]] = {}
    for position, entry in enumerate(entries):
        if not is_inside(entry.record):
            continue
        key = _key(entry, owners, position)
        if entry.id is not None:
            owners[entry.id] = key
        if entry.kind == "sidechain":
            said.setdefault(key, []).append(entry)
    calls = _Calls(entries)
    return tuple(
        Sidechain(
            entries=tuple(spoken),
            call=str(key[1]) if key[0] == "call" else calls.of(spoken[0]),
            agent=_text(spoken[0].record.get("agentId")),
        )
        for key, spoken in said.items()
    )


def _key(entry: Entry, owners: dict[str, Key], position: int) -> Key:
    record = entry.record
    if (call := _text(record.get("parent_tool_use_id"))) is not None:
        return "call", call
    if (agent := _text(record.get("agentId"))) is not None:
        return "agent", agent
    before = entry.parent or _text(record.get("logicalParentUuid"))
    return owners.get(before or "", ("start", position))


class _Calls:
    """The calls of a log that may have started a sub-agent."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._by_agent: dict[str, str] = {}
        self._by_prompt: dict[str, list[str]] = {}
        for entry in entries:
            for block in _blocks(entry.record):
                self._note(entry.record, block)

    def of(self, first: Entry) -> str | None:
        """Find the call that started the sub-agent that begins so; `None` when nothing says it."""
        call = self._by_agent.get(first.record.get("agentId") or "")
        if call is not None:
            return call
        told = self._by_prompt.get(_prompt(first.record), [])
        return told.pop(0) if told else None

    def _note(self, record: dict[str, Any], block: dict[str, Any]) -> None:
        match block:
            case {"type": "tool_use", "id": str(call), "input": {"prompt": str(prompt)}}:
                self._by_prompt.setdefault(prompt, []).append(call)
            case {"type": "tool_result", "tool_use_id": str(call)}:
                result = record.get("toolUseResult")
                agent = _text(result.get("agentId")) if isinstance(result, dict) else None
                if agent is not None:
                    self._by_agent[agent] = call


def _blocks(record: Any) -> Iterator[dict[str, Any]]:
    message = record.get("message") if isinstance(record, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield block


def _prompt(record: dict[str, Any]) -> str:
    content = record["message"].get("content")
    if isinstance(content, str):
        return content
    texts = [_text(block.get("text")) for block in _blocks(record) if block.get("type") == "text"]
    return "".join(text for text in texts if text)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
