"""Transcripts of others become threads: lists, logs with branches, session files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from shared_data import SHARED, needs_shared
from thusfar.dialects import dialect
from thusfar.errors import InvalidMessageError, OptionsError, TranscriptError
from thusfar.messages import Message
from thusfar.sources import load
from thusfar.storage import MemoryStore
from thusfar.testing.store_laws.told import sound
from thusfar.thread import SyncThread, Thread, agents_sessions

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather in Oslo?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "w", "arguments": '{"b": 1}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "3 C"},
    {"role": "assistant", "content": "It is 3 C."},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather in Oslo?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "w", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3 C"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is 3 C."}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": "Weather in Oslo?"},
    {"type": "function_call", "call_id": "c1", "name": "w", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "3 C"},
]


def _new() -> SyncThread:
    return Thread("t", store=MemoryStore()).sync


@pytest.mark.parametrize(
    ("name", "messages"),
    [("openai-chat", CHAT), ("anthropic", ANTHROPIC), ("openai-responses", RESPONSES)],
)
def test_a_list_comes_back_as_it_was(name: str, messages: list[dict[str, Any]]) -> None:
    told = _new()

    told.import_(messages, dialect=name)

    assert json.loads(told.export(format=name)) == messages
    assert len(told.read().entries) == len(messages)
    sound(told)


def test_an_imported_exchange_is_one_group() -> None:
    told = _new()

    told.import_(json.dumps(CHAT))

    entries = told.read().entries
    assert entries[2].group == entries[3].group == entries[2].id
    assert entries[4].group == entries[4].id
    assert told.read(limit=2).ids == (entries[4].id,)
    assert told.append("And tomorrow?").status == "selected"


def test_foreign_messages_are_appended_like_canonical_ones() -> None:
    told = _new()

    told.append(CHAT[1])
    told.append(CHAT[2:])

    assert json.loads(told.export(format="openai-chat")) == CHAT[1:]
    with pytest.raises(InvalidMessageError):
        told.append({"speaker": "nobody"})
    with pytest.raises(InvalidMessageError):
        told.append(17)  # type: ignore[arg-type]


def test_defects_of_a_source_are_kept() -> None:
    told = _new()

    told.import_([CHAT[1], CHAT[2], {"role": "user", "content": "Never mind."}, CHAT[3]])

    assert len(told.transcript().messages) == 4
    sound(told)


def test_nothing_is_stored_of_what_cannot_be_read() -> None:
    told = _new()

    for bad in ("", "[]", "{", '{"role": "nobody"}'):
        with pytest.raises(TranscriptError):
            told.import_(bad)

    assert told.read().entries == ()


def test_sessions_of_the_agents_sdk_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    raw = apsw.Connection(str(path))
    raw.execute(
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)"
    )
    for item in RESPONSES:
        raw.execute(
            "INSERT INTO agent_messages (session_id, message_data) VALUES ('s1', ?)",
            (json.dumps(item),),
        )

    sessions = agents_sessions(path)
    told = _new()
    told.import_(sessions["s1"])

    assert list(sessions) == ["s1"]
    assert told.info().metadata["imported"]["source"] == "agents-sdk"
    assert json.loads(told.export(format="openai-responses")) == RESPONSES
    empty = tmp_path / "empty.db"
    apsw.Connection(str(empty)).execute("CREATE TABLE x (y)")
    with pytest.raises(OptionsError, match="no sessions"):
        agents_sessions(empty)


def test_branches_of_an_advanced_session_are_branches(tmp_path: Path) -> None:
    """They share the items before their fork; `main` is what the session opens on."""
    path = tmp_path / "advanced.db"
    raw = apsw.Connection(str(path))
    raw.execute(
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)"
    )
    raw.execute(
        "CREATE TABLE message_structure (id INTEGER PRIMARY KEY, session_id TEXT,"
        " message_id INTEGER, branch_id TEXT, sequence_number INTEGER)"
    )
    said = ["Before branches.", "One?", "1", "Two?", "2", "Deux?", "II"]
    for number, text in enumerate(said, 1):
        item = json.dumps({"role": "assistant" if text in "12II" else "user", "content": text})
        raw.execute("INSERT INTO agent_messages VALUES (?, 's', ?)", (number, item))
    places = [*(("main", n) for n in (2, 3, 4, 5)), *(("fr", n) for n in (2, 3, 6, 7))]
    for number, (branch, item_number) in enumerate(places, 1):
        row = (number, item_number, branch, number)
        raw.execute("INSERT INTO message_structure VALUES (?, 's', ?, ?, ?)", row)
    raw.close()
    told = _new()

    told.import_(agents_sessions(path)["s"])

    def texts(*, at: str | None = None) -> list[str]:
        return [message.text for message in told.read(at=at).messages]

    assert texts() == ["Before branches.", "One?", "1", "Two?", "2"]
    ends = {branch.leaf: branch.length for branch in told.branches()}
    assert [texts(at=leaf)[-1] for leaf in ends] == ["2", "II"]
    assert list(ends.values()) == [5, 5]
    assert told.verify().messages == 7, "what branches share is stored once"
    sound(told)


def test_an_item_of_no_known_shape_stops_the_reading_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    raw = apsw.Connection(str(path))
    raw.execute(
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)"
    )
    raw.execute("INSERT INTO agent_messages VALUES (1, 's', '{\"speaker\": \"nobody\"}')")
    raw.close()

    raw = apsw.Connection(str(path))
    raw.execute(
        """INSERT INTO agent_messages VALUES (2, 'sound', '{"role":"user","content":"a"}')"""
    )
    raw.close()

    with pytest.raises(TranscriptError, match="Item 1 of the session 's'") as caught:
        agents_sessions(path)

    assert caught.value.facts == {"session": "s", "item": 1}
    assert list(agents_sessions(path, only="sound")) == ["sound"]
    assert agents_sessions(path, only="nobody") == {}


def _logs() -> list[Path]:
    if SHARED is None:
        return []
    found: list[Path] = []
    for corpus in ("claude-code-log", "pi-mono", "entire-sessions"):
        files = sorted((SHARED / "data" / corpus).rglob("*.jsonl"))
        found += [path for path in files if path.stat().st_size < 600_000][:6]
    return found


@needs_shared
def test_there_are_logs_to_read() -> None:
    assert len(_logs()) >= 6


@needs_shared
@pytest.mark.parametrize("path", _logs(), ids=lambda path: path.name)
def test_a_session_log_keeps_its_messages_and_branches(path: Path) -> None:
    data = path.read_bytes()
    try:
        loaded = load(data)
    except TranscriptError:
        pytest.skip("no session log")
    if not loaded.messages:
        pytest.skip("a log that says nothing")
    told = _new()

    told.import_(data)

    said = [m for e in loaded.entries if e.kind == "message" for m in e.messages]
    said = said or list(loaded.messages)
    assert told.verify().messages == len(said)
    sound(told)
    source = dialect(loaded.dialect)
    assert _without_ids(told) == [replace(source.lift(m), id=None) for m in loaded.messages]
    if len(said) == len(loaded.messages):
        assert len(told.branches()) == 1


def _without_ids(told: SyncThread) -> list[Message]:
    return [replace(message, id=None) for message in told.transcript().messages]


def _line(number: int, parent: int | None, role: str, content: Any) -> str:
    record = {
        "type": role,
        "uuid": f"r{number}",
        "parentUuid": None if parent is None else f"r{parent}",
        "isSidechain": False,
        "message": {"role": role, "content": content},
    }
    return json.dumps(record)


def test_results_of_parallel_calls_stay_on_the_one_path_of_a_claude_code_log() -> None:
    """Each result has the line of its own call as its parent; that is no branch."""
    call = {"type": "tool_use", "name": "w", "input": {}}
    result = {"type": "tool_result", "content": "3 C"}
    log = [
        _line(1, None, "user", "Oslo and Bergen?"),
        _line(2, 1, "assistant", [{**call, "id": "c1"}]),
        _line(3, 2, "assistant", [{**call, "id": "c2"}]),
        _line(4, 2, "user", [{**result, "tool_use_id": "c1"}]),
        _line(5, 3, "user", [{**result, "tool_use_id": "c2"}]),
        _line(6, 5, "assistant", "3 C in both."),
    ]
    told = _new()

    told.import_("\n".join(log))

    assert told.read().ids == ("r1", "r2", "r3", "r4", "r5", "r6")
    assert len(told.branches()) == 1


def test_what_a_log_left_is_a_branch_where_it_left_it() -> None:
    log = [
        _line(1, None, "user", "Weather in Oslo?"),
        _line(2, 1, "assistant", "3 C."),
        _line(3, 2, "user", "And tomorow?"),
        _line(4, 2, "user", "And tomorrow?"),
        _line(5, 4, "assistant", "Rain."),
    ]
    told = _new()

    told.import_("\n".join(log))

    assert told.read().ids == ("r1", "r2", "r4", "r5")
    assert [(b.start, b.parent_id, b.leaf) for b in told.branches()] == [
        ("r1", None, "r3"),
        ("r4", "r2", "r5"),
    ]


def test_a_log_without_parents_is_one_path() -> None:
    session = {
        "sessionId": "s",
        "projectHash": "p",
        "messages": [
            {"id": "g1", "type": "user", "content": "Weather in Oslo?"},
            {"id": "g2", "type": "gemini", "content": "3 C."},
            {"id": "g3", "type": "user", "content": "Thanks."},
        ],
    }
    told = _new()

    told.import_(json.dumps(session))

    assert told.read().ids == ("g1", "g2", "g3")
    assert len(told.branches()) == 1


def _said(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    return {"type": role, "uuid": uuid, "parentUuid": parent, "message": message, **more}


def _call(call: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def _result(call: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": text}


WITH_AGENTS: list[dict[str, Any]] = [
    _said("u1", None, "user", "Look at both."),
    _said("a1", "u1", "assistant", [_call("k1", "Task", prompt="See one."), _call("k2", "Task")]),
    _said("x1", None, "user", "See one.", isSidechain=True),
    _said("y1", None, "user", "See two.", isSidechain=True, agentId="ag2"),
    _said("x2", "x1", "assistant", [_call("k3", "Read")], isSidechain=True),
    _said("y2", "y1", "assistant", "Two seen.", isSidechain=True, agentId="ag2"),
    _said("x3", "x2", "user", [_result("k3", "1")], isSidechain=True),
    _said("x4", "x3", "assistant", "One seen.", isSidechain=True),
    _said("r1", "a1", "user", [_result("k1", "one")]),
    _said("r2", "r1", "user", [_result("k2", "two")], toolUseResult={"agentId": "ag2"}),
    _said("a2", "r2", "assistant", "Both seen."),
]


def test_what_sub_agents_said_is_a_branch_of_its_own_and_names_its_call() -> None:
    told = _new()

    told.import_("\n".join(json.dumps(record) for record in WITH_AGENTS))

    assert told.read().ids == ("u1", "a1", "r1", "r2", "a2")
    assert [told.read(at=branch.leaf).ids for branch in told.branches()] == [
        ("u1", "a1", "r1", "r2", "a2"),
        ("x1", "x2", "x3", "x4"),
        ("y1", "y2"),
    ]
    imported: Any = told.info().metadata["imported"]
    assert imported["sidechains"] == [
        {"first": "x1", "messages": 4, "call": "k1", "agent": None},
        {"first": "y1", "messages": 2, "call": "k2", "agent": "ag2"},
    ]
    assert imported["sidechain"] == 6
    sound(told)


def test_the_sub_agents_of_a_printed_stream_are_told_apart_by_their_call() -> None:
    told = _new()
    streamed = [
        {k: v for k, v in record.items() if k not in ("parentUuid", "isSidechain", "agentId")}
        | {"parent_tool_use_id": {"x": "k1", "y": "k2"}.get(record["uuid"][0]), "session_id": "s"}
        for record in WITH_AGENTS
    ]

    told.import_("\n".join(json.dumps(record) for record in streamed))

    assert [told.read(at=branch.leaf).ids for branch in told.branches()] == [
        ("u1", "a1", "r1", "r2", "a2"),
        ("x1", "x2", "x3", "x4"),
        ("y1", "y2"),
    ]
    imported: Any = told.info().metadata["imported"]
    assert [each["call"] for each in imported["sidechains"]] == ["k1", "k2"]


def test_messages_of_every_dialect_can_be_appended_as_dicts_and_as_objects() -> None:
    from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    told = _new()

    told.append({"role": "user", "parts": [{"text": "gemini"}]})
    told.append([{"role": "model", "parts": [{"text": "gemini"}]}])
    told.append(HumanMessage("langchain"))
    told.append([AIMessage("langchain")])
    told.append(messages_to_dict([HumanMessage("langchain")]))
    told.append(ModelRequest(parts=[UserPromptPart("pydantic-ai")]))
    told.append({"role": "assistant", "parts": [{"type": "text", "text": "canonical"}]})

    assert [(m.role, m.text) for m in told.read().messages] == [
        ("user", "gemini"),
        ("assistant", "gemini"),
        ("user", "langchain"),
        ("assistant", "langchain"),
        ("user", "langchain"),
        ("user", "pydantic-ai"),
        ("assistant", "canonical"),
    ]
    sound(told)
    for bad in ({"parts": []}, {"role": "user", "parts": [{"type": "text", "txt": "x"}]}, b"x"):
        with pytest.raises(InvalidMessageError):
            told.append(bad)  # type: ignore[arg-type]
