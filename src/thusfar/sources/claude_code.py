"""Claude Code: session logs of one JSON record a line, linked by `parentUuid`.

The messages are those of the Anthropic API, given as they stand. The transcript is the live
path: from the last record up to the first, or to the last compaction, together with every result
of a call on the path, since the results of parallel calls fork the chain (the parent of each is
the line of its own call).
What sub-agents said is given apart; notes of the tool and abandoned branches are counted. The
stream that the command prints (`stream-json`) has no parents; its order is the path.

Source:
    Recorded logs of versions 1.0 to 2.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from thusfar.sources.claude_code_agents import is_inside, sidechains
from thusfar.sources.loaded import Entry, EntryKind, Loaded, fits
from thusfar.sources.paths import Node, live_path, repeated

_DIALECT: Final = "anthropic"
_SPOKEN: Final = ("user", "assistant")
_MARKS: Final = frozenset(
    {"parentUuid", "leafUuid", "isSidechain", "isSnapshotUpdate", "parent_tool_use_id"}
)
_QUEUE: Final = frozenset({"operation", "sessionId"})


def is_claude_code(records: Sequence[Any]) -> bool:
    """Tell whether any of the records is one that Claude Code writes."""
    return any(_is_record(record) for record in records)


def load_claude_code(records: Sequence[Any], lines: Sequence[int]) -> Loaded:
    """Read the live path of a session log.

    Args:
        records: The parsed lines, in file order.
        lines: The line of each.
    """
    kinds = [_kind(record) for record in records]
    if "message" not in kinds:
        # The log of a sub-agent is a file of its own, in which everything is a sidechain.
        kinds = ["message" if kind == "sidechain" else kind for kind in kinds]
    again = repeated(records, [_node(record) for record in records])
    told = [{} if position in again else record for position, record in enumerate(records)]
    for position in again:
        kinds[position] = "other"
    nodes = [
        Node(None, None) if kind == "sidechain" else _node(record)
        for record, kind in zip(told, kinds, strict=True)
    ]
    live = _with_forks(told, kinds, live_path(nodes))
    entries = tuple(
        _entry(record, line, kind, live=position in live)
        for position, (record, line, kind) in enumerate(zip(told, lines, kinds, strict=True))
    )
    messages = tuple(message for entry in entries if entry.live for message in entry.messages)
    return Loaded(
        kind="claude-code",
        dialect=_DIALECT,
        messages=messages,
        model=next(filter(None, map(_model, reversed(messages))), None),
        entries=entries,
        sidechains=sidechains(entries) if "sidechain" in kinds else (),
        facts=_facts(entries, compacted=_compacted(told, nodes, kinds, live)),
    )


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return False
    return bool(_MARKS & record.keys()) or record.keys() >= _QUEUE


def _kind(record: Any) -> EntryKind:
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return "unreadable"
    if record["type"] not in _SPOKEN:
        return "other"
    if not fits(_DIALECT, record.get("message")):
        return "unreadable"
    if is_inside(record):
        return "sidechain"
    return "meta" if record.get("isMeta") is True else "message"


def _node(record: Any) -> Node:
    if not isinstance(record, dict):
        return Node(None, None)
    return Node(_id(record.get("uuid")), _id(record.get("parentUuid")))


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _with_forks(records: Sequence[Any], kinds: Sequence[EntryKind], path: set[int]) -> set[int]:
    """Add what belongs to the path without being above its last record.

    The lines of a message on the path that were written beside each other, and the results of
    its calls. A call whose result is on the path already gets no second one.
    """
    spoken = [position for position, kind in enumerate(kinds) if kind == "message"]
    written = {_message_id(records[position]) for position in path} - {None}
    path = path | {p for p in spoken if _message_id(records[p]) in written}
    open_calls = {call for p in path for call in _block_ids(records[p], "tool_use", "id")}
    open_calls -= {call for p in path for call in _results(records[p])}
    for position in spoken:
        if position not in path and (
            answered := open_calls.intersection(_results(records[position]))
        ):
            path.add(position)
            open_calls -= answered
    return path


def _message_id(record: Any) -> str | None:
    if not isinstance(record, dict) or not isinstance(message := record.get("message"), dict):
        return None
    return _id(message.get("id")) if message.get("role") == "assistant" else None


def _results(record: Any) -> Iterator[str]:
    return _block_ids(record, "tool_result", "tool_use_id")


def _block_ids(record: Any, kind: str, key: str) -> Iterator[str]:
    message = record.get("message") if isinstance(record, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if (
            isinstance(block, dict)
            and block.get("type") == kind
            and isinstance(block.get(key), str)
        ):
            yield block[key]


def _entry(record: Any, line: int, kind: EntryKind, *, live: bool) -> Entry:
    node = _node(record)
    return Entry(
        line=line,
        kind=kind,
        id=node.id,
        parent=node.parent,
        live=live and kind == "message",
        messages=(record["message"],) if kind in ("message", "sidechain", "meta") else (),
        record=record,
    )


def _compacted(
    records: Sequence[Any], nodes: Sequence[Node], kinds: Sequence[EntryKind], live: set[int]
) -> int:
    """Count the messages that stood above the path until the tool summarised them."""
    joined = [
        node._replace(parent=node.parent or _id(record.get("logicalParentUuid")))
        if node.id
        else node
        for record, node in zip(records, nodes, strict=True)
    ]
    whole = _with_forks(records, kinds, live_path(joined))
    return sum(kinds[position] == "message" for position in whole - live)


def _model(message: dict[str, Any]) -> str | None:
    return _id(message.get("model"))


def _facts(entries: Sequence[Entry], *, compacted: int) -> dict[str, int]:
    counted = Counter(entry.kind for entry in entries)
    live = sum(entry.live for entry in entries)
    return {
        "records": len(entries),
        "messages": live,
        "alternatives": counted["message"] - live - compacted,
        "compacted": compacted,
        "sidechain": counted["sidechain"],
        "meta": counted["meta"],
        "other": counted["other"],
        "unreadable": counted["unreadable"],
    }
