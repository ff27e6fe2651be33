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
