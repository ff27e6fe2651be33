"""`thusfar thread import` and `export` with what other programs wrote and providers take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from thusfar.cli import main

GOLDEN = Path(__file__).parents[1] / "golden" / "langgraph_1.2.sql"
REQUEST = {"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]}
CALLS: list[dict[str, Any]] = [
    {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for name in ("c1", "c2")
]


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THUSFAR_STORE", f"sqlite:///{tmp_path}/t.db")
    monkeypatch.setenv("COLUMNS", "80")


def _asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


def _file(tmp_path: Path, value: Any) -> str:
    path = tmp_path / "given.json"
    path.write_text(json.dumps(value))
    return str(path)


def test_the_records_of_an_export_are_one_value_whatever_lines_a_text_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "one\u2028two\x85three\x0bfour"
    _asked(capsys, "thread", "append", "t", "--text", text)

    status, out, _ = _asked(capsys, "thread", "export", "t", "--json")

    records = json.loads(out)["records"]
    assert status == 0
    assert [next(iter(record)) for record in records] == ["thusfar", "parent", "head"]
    assert records[1]["group"][0]["parts"] == [{"type": "text", "text": text}]


def test_every_thread_of_a_langgraph_file_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "graph.sqlite"
    apsw.Connection(str(path)).execute(GOLDEN.read_text())

    status, out, _ = _asked(capsys, "thread", "import", str(path))

    assert status == 0
    assert out.splitlines() == [
        "nested: 2 messages, 2 branches",
        "plain: 8 messages, 4 branches",
        "delta: 8 messages, 4 branches",
    ]


def test_an_import_says_how_many_branches_are_of_sub_agents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    said = [
        ("u1", None, "user", False),
        ("x1", None, "user", True),
        ("a1", "u1", "assistant", False),
    ]
    path.write_text(
        "\n".join(
            json.dumps(
                {
                    "type": role,
                    "uuid": name,
                    "parentUuid": parent,
                    "isSidechain": inside,
                    "sessionId": "s1",
                    "message": {"role": role, "content": name},
                }
            )
            for name, parent, role, inside in said
        )
    )

    status, out, _ = _asked(capsys, "thread", "import", str(path))

    assert (status, out) == (0, "s1: 2 messages, 2 branches, 1 of sub-agents\n")


def test_system_text_comes_in_as_a_message_and_goes_out_in_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _asked(capsys, "thread", "import", _file(tmp_path, REQUEST), "--as", "t")

    status, out, err = _asked(capsys, "thread", "export", "t", "--format", "anthropic")
    _, as_json, _ = _asked(capsys, "thread", "export", "t", "--format", "anthropic", "--json")
    _, chat, _ = _asked(capsys, "thread", "export", "t", "--format", "openai-chat")

    assert (status, err) == (0, "")
    assert json.loads(out) == REQUEST
    assert json.loads(as_json) == {
        "thread_id": "t",
        "format": "anthropic",
        "left_out": 0,
        **REQUEST,
    }
    assert [each["role"] for each in json.loads(chat)] == ["system", "user"]
    again = tmp_path / "again.json"
    again.write_text(out)
    assert _asked(capsys, "thread", "import", str(again), "--as", "again")[0] == 0


def test_an_export_says_what_the_provider_would_still_refuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = [
        {"role": "user", "content": "Both?"},
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "user", "content": "Never mind."},
    ]
    _asked(capsys, "thread", "import", _file(tmp_path, messages), "--as", "t")

    status, out, err = _asked(capsys, "thread", "export", "t", "--format", "anthropic")

    assert status == 0
    assert len(json.loads(out)) == 4
    assert [line.partition(" at 1: ")[0] for line in err.splitlines()] == [
        "thusfar: unanswered-call",
        "thusfar: anthropic/call-answered",
    ]


def test_a_store_of_threads_is_no_file_to_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _asked(capsys, "thread", "append", "t", "--text", "hello")

    status, _, err = _asked(capsys, "thread", "import", str(tmp_path / "t.db"))

    assert status == 2
    assert "a store of threads itself" in err


def _sessions(tmp_path: Path, *rows: tuple[str, str]) -> str:
    path = tmp_path / "sessions.db"
    raw = apsw.Connection(str(path))
    raw.execute(
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)"
    )
    for session, text in rows:
        raw.execute(
            "INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)", (session, text)
        )
    raw.close()
    return str(path)


_SAID = '{"role": "user", "content": "Hi"}'


def test_one_session_is_imported_though_another_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _sessions(tmp_path, ("sound", _SAID), ("odd", "{"))

    status, _, err = _asked(capsys, "thread", "import", path)
    assert status == 1
    assert "Item 2 of the session 'odd'" in err
    assert not (tmp_path / "t.db").exists()

    status, out, _ = _asked(capsys, "thread", "import", path, "--session", "sound")
    assert (status, out) == (0, "sound: 1 message\n")


def test_a_session_whose_id_no_thread_can_have_is_told_before_anything_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _sessions(tmp_path, ("sound", _SAID), (" ", _SAID))

    status, _, err = _asked(capsys, "thread", "import", path)
    assert status == 1
    assert "--session" in err
    assert not (tmp_path / "t.db").exists()

    status, out, _ = _asked(capsys, "thread", "import", path, "--session", " ", "--as", "named")
    assert (status, out) == (0, "named: 1 message\n")


def test_a_file_of_sessions_in_which_nothing_was_said_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = _asked(capsys, "thread", "import", _sessions(tmp_path))

    assert (status, out) == (1, "")
    assert "no session in which something was said" in err


def test_an_import_counts_the_records_that_could_not_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"type": "user", "uuid": "u1", "parentUuid": None, "message": json.loads(_SAID)}
    odd = {**said, "uuid": "u2", "parentUuid": "u1", "message": {"role": "nobody"}}
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, (said, odd))))

    status, out, _ = _asked(capsys, "thread", "import", str(path), "--as", "log")

    assert (status, out) == (0, "log: 1 message; 1 record could not be read\n")
