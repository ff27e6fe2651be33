"""Checkpoint files of LangGraph become threads: every list of messages they hold is a path.

`langgraph_1.2.sql` was written by LangGraph itself. The threads `plain` (its reducer of messages)
and `delta` (a channel that is rebuilt from writes) had the same said to them: two questions, the
second with two tool calls; another second question from an older checkpoint; an edit of the first
question; its removal; a further question after each. `nested` has a subgraph with its own messages.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from thusfar.errors import HistoryError, OptionsError, TranscriptError
from thusfar.storage import MemoryStore
from thusfar.testing.store_laws.told import sound
from thusfar.thread import SyncThread, Thread, agents_sessions, langgraph_threads

GOLDEN = Path(__file__).parents[1] / "golden" / "langgraph_1.2.sql"
SCHEMA = "\n".join(line for line in GOLDEN.read_text().splitlines() if line.startswith("CREATE"))
SAID = {
    "s": "Be brief.",
    "u1": "hi",
    "u1 edited": "hi edited",
    "u2": "use a tool",
    "u2b": "other question",
    "u3": "after edit",
    "u4": "after removal",
}


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """The file that LangGraph wrote."""
    path = tmp_path / "golden.sqlite"
    connection = apsw.Connection(str(path))
    connection.execute(GOLDEN.read_text())
    connection.close()
    return path


def _file(tmp_path: Path, *rows: tuple[str, str | None, str, bytes]) -> Path:
    """A file with checkpoints of one thread: id, parent, form and value."""
    path = tmp_path / "made.sqlite"
    connection = apsw.Connection(str(path))
    connection.execute(SCHEMA)
    for name, parent, kind, value in rows:
        connection.execute(
            "INSERT INTO checkpoints VALUES ('t', '', ?, ?, ?, ?, NULL)",
            (name, parent, kind, value),
        )
    connection.close()
    return path


def _packed(messages: Any) -> bytes:
    return msgspec.msgpack.encode({"v": 1, "channel_values": {"messages": messages}})


def _imported(path: Path, name: str = "t") -> SyncThread:
    told = Thread(name, store=MemoryStore()).sync
    told.import_(langgraph_threads(path)[name])
    sound(told)
    return told


def _texts(told: SyncThread, at: str | None = None) -> tuple[str, ...]:
    return tuple(m.text for m in told.read(at=at).messages)


@pytest.mark.parametrize(("name", "first"), [("plain", 2), ("delta", 8)])
def test_the_newest_state_of_a_graph_is_the_selected_path(
    golden: Path, name: str, first: int
) -> None:
    told = _imported(golden, name)
    ai = [f"ai{n}" for n in range(first, first + 6)]

    assert told.read().ids == ("s", ai[0], "u2b", ai[3], "u3", ai[4], "u4", ai[5])
    assert told.read().messages[2].text == SAID["u2b"]
    assert told.info().metadata["imported"] == {
        "source": "langgraph",
        "dialect": "langchain",
        "messages": 23,
        "checkpoints": 19,
    }
    lowered = json.loads(told.export(format="openai-chat"))
    assert [m["role"] for m in lowered] == ["system", *(["assistant", "user"] * 4)][:8]


@pytest.mark.parametrize("name", ["plain", "delta"])
def test_every_state_that_a_checkpoint_holds_is_a_branch(golden: Path, name: str) -> None:
    told = _imported(golden, name)

    starts = [_texts(told, branch.leaf)[:3] for branch in told.branches()]
    lengths = [branch.length for branch in told.branches()]

    n = 2 if name == "plain" else 8
    assert lengths == [8, 5, 7, 8]
    assert starts == [
        (SAID["s"], SAID["u1"], f"answer {n} to hi"),
        (SAID["s"], SAID["u1"], f"answer {n} to hi"),
        (SAID["s"], SAID["u1 edited"], f"answer {n} to hi"),
        (SAID["s"], f"answer {n} to hi", SAID["u2b"]),
    ]
    calls = told.read(at=told.branches()[0].leaf).messages[4]
    assert [getattr(part, "name", None) for part in calls.parts] == ["look", "look"]


def test_the_messages_of_a_subgraph_are_a_branch_of_their_own(golden: Path) -> None:
    told = _imported(golden, "nested")

    assert list(langgraph_threads(golden)) == ["nested", "plain", "delta"]
    assert list(langgraph_threads(golden, only="plain")) == ["plain"]
    assert _texts(told) == ("ask inside", "from the inner agent: answer 1 to private question")
    assert told.info().metadata["imported"]["subgraphs"] == 1
    assert _texts(told, told.branches()[1].leaf) == (
        "private question",
        "answer 1 to private question",
    )


def test_old_checkpoints_in_json_are_read(tmp_path: Path) -> None:
    human = ["langchain_core", "messages", "human", "HumanMessage"]
    answer = ["langchain", "schema", "messages", "AIMessage"]
    kept = {
        "v": 1,
        "channel_values": {
            "messages": [
                {"lc": 2, "type": "constructor", "id": human, "kwargs": {"content": "hi\0"}},
                {"lc": 1, "type": "constructor", "id": answer, "kwargs": {"content": "yes"}},
            ]
        },
    }

    told = _imported(_file(tmp_path, ("1", None, "json", json.dumps(kept).encode())))

    assert [(m.role, m.text) for m in told.read().messages] == [
        ("user", "hi\0"),
        ("assistant", "yes"),
    ]


def test_dicts_pairs_and_text_are_messages_too(tmp_path: Path) -> None:
    messages = ["hi", ["ai", "yes"], {"role": "user", "content": "and?"}]

    told = _imported(_file(tmp_path, ("1", None, "msgpack", _packed(messages))))

    assert [(m.role, m.text) for m in told.read().messages] == [
        ("user", "hi"),
        ("assistant", "yes"),
        ("user", "and?"),
    ]


def test_no_class_that_a_file_names_is_ever_imported(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hostile = msgspec.msgpack.Ext(
        0, msgspec.msgpack.encode(["pathlib", "Path.touch", str(ran), "touch"])
    )
    fields = {"type": "human", "content": "hi", "id": "u1", "additional_kwargs": {"x": hostile}}
    message = msgspec.msgpack.Ext(
        5, msgspec.msgpack.encode(["os", "system", fields, "model_validate_json"])
    )

    told = _imported(_file(tmp_path, ("1", None, "msgpack", _packed([message]))))

    assert _texts(told) == ("hi",)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("pickle", pickle.dumps({"channel_values": {}}), "stored as pickle"),
        ("msgpack+aes", b"x", r"stored as msgpack\+aes"),
        ("msgpack", b"\xc1", "not well formed"),
        ("msgpack", b"", "not well formed"),
        ("msgpack", _packed({"a": 1})[:-1], "not well formed"),
        ("msgpack", _packed({"a": 1}), "other than a list"),
        ("msgpack", _packed([17]), "no message"),
        ("msgpack", msgspec.msgpack.encode([1]), "unknown shape"),
        ("json", b"{", "not valid JSON|well formed|JSON"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, kind: str, value: bytes, said: str) -> None:
    path = _file(tmp_path, ("1", None, kind, value))

    with pytest.raises(TranscriptError, match=said) as refused:
        langgraph_threads(path)

    assert refused.value.code == "INVALID_TRANSCRIPT"
    assert refused.value.fix


def test_a_file_of_another_kind_is_refused(tmp_path: Path, golden: Path) -> None:
    empty = tmp_path / "empty.db"
    apsw.Connection(str(empty)).execute("CREATE TABLE x (y)")

    with pytest.raises(OptionsError, match="no checkpoints"):
        langgraph_threads(empty)
    with pytest.raises(OptionsError, match="no sessions"):
        agents_sessions(golden)
    with pytest.raises(HistoryError):
        langgraph_threads(tmp_path / "absent.db")
    assert langgraph_threads(golden, channel="elsewhere") == {}
