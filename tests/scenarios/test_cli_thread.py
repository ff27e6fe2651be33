"""Threads from the command line as their users meet them: as processes, on real databases."""

import json
import os
import pty
import subprocess
import sys

import pytest

from shared_data import SHARED, needs_shared
from thusfar.cli import main
from thusfar.codec import canonical_json, to_json
from thusfar.dialects import dialect
from thusfar.errors import TranscriptError
from thusfar.sources import load

THUSFAR = (sys.executable, "-m", "thusfar", "thread")
LOGS = ("claude-code-log/*.jsonl", "entire-sessions/*/*.json*", "pi-mono/*.json*")
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "ferries", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "09:00 and 17:30"}
SECRET = "4000-1234-5678"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/threads.db"
    return request.getfixturevalue("postgres_url")


def ran(store, *words, stdin="", status=0):
    """Run one command as a process, in a namespace of the test's own."""
    done = subprocess.run(
        [*THUSFAR, *words],
        input=stdin.encode(),
        capture_output=True,
        check=False,
        env={**os.environ, "THUSFAR_STORE": store, "COLUMNS": "80"},
    )
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode()


def test_a_conversation_is_kept_branched_moved_and_erased(store, tmp_path):
    """One thread from its first question to the last byte of its secret, on a real database."""
    ran(store, "append", "ferry", "--text", "When does it leave?", "--id", "u1")
    ran(store, "append", "ferry", "-", stdin=json.dumps([CALL, RESULT]))
    ran(store, "append", "ferry", "--role", "assistant", "--text", "At nine.", "--id", "a1")
    ran(store, "append", "ferry", "--text", f"My card is {SECRET}.", "--id", "u2")
    ran(store, "edit", "ferry", "u2", "--text", "And back?", "--id", "u2b")
    ran(store, "append", "ferry", "--role", "assistant", "--text", "At noon.", "--id", "a2")
    ran(store, "regenerate", "ferry", "@-2", "--text", "At 17:30.", "--id", "a2b")

    drawn = ran(store, "show", "ferry", "--tree").splitlines()
    assert drawn[0] == "ferry · 6 messages selected, 3 branches"
    assert [line.partition("  ")[0] for line in drawn[1:]] == [
        "● user",
        "● assistant",
        "● tool",
        "● assistant",
        "├─○ user",
        "● user",
        "├─○ assistant",
        "● assistant",
    ]
    assert drawn[-1].endswith("At 17:30.  ← main")

    shown = ran(store, "show", "ferry")
    assert f"@1 ┌ assistant  {'msg_'}" in shown
    assert "returned: 09:00 and 17:30" in shown
    exported = ran(store, "export", "ferry")
    (tmp_path / "ferry.jsonl").write_text(exported, encoding="utf-8")
    ran(f"sqlite:///{tmp_path}/second.db", "import", str(tmp_path / "ferry.jsonl"))
    assert ran(f"sqlite:///{tmp_path}/second.db", "export", "ferry") == exported
    assert SECRET in exported

    ran(store, "redact", "ferry", "u2", "--yes")
    state = json.loads(ran(store, "verify", "ferry", "--erased", "--json"))["threads"][0]
    assert (state["problems"], state["erasure"]) == ([], "complete")
    assert SECRET not in ran(store, "export", "ferry")
    if store.startswith("sqlite"):
        files = [path for path in tmp_path.iterdir() if path.name.startswith("threads.db")]
        assert all(SECRET.encode() not in path.read_bytes() for path in files)

    chat = ran(store, "export", "ferry", "--format", "openai-chat")
    assert [each["role"] for each in json.loads(chat)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    linted = subprocess.run(
        [sys.executable, "-m", "thusfar", "lint", "-"],
        input=chat.encode(),
        capture_output=True,
        check=False,
    )
    assert linted.returncode == 0, linted.stdout.decode()

    ran(store, "delete", "ferry", "--yes")
    assert "[THREAD_DELETED]" in refused(store, "append", "ferry", "--text", "Hello again?")


def refused(store, *words):
    done = subprocess.run(
        [*THUSFAR, *words],
        capture_output=True,
        check=False,
        env={**os.environ, "THUSFAR_STORE": store},
    )
    assert done.returncode == 1
    return done.stderr.decode().replace("\n    ", " ")


def test_two_processes_that_append_lose_nothing(store):
    """Of appends behind the same message one is selected, and the other is a branch."""
    ran(store, "append", "race", "--text", "Start", "--id", "r0")
    both = [
        subprocess.Popen(
            [*THUSFAR, "append", "race", "--text", f"Racer {number}", "--after", "r0", "--json"],
            stdout=subprocess.PIPE,
            env={**os.environ, "THUSFAR_STORE": store},
        )
        for number in range(2)
    ]

    commits = [json.loads(process.communicate()[0]) for process in both]

    assert sorted(commit["status"] for commit in commits) == ["alternative", "selected"]
    assert len(json.loads(ran(store, "variants", "race", "@1", "--json"))["entries"]) == 2
    ran(store, "delete", "race", "--yes")


@pytest.mark.parametrize(("answer", "status", "left"), [(b"y\n", 0, 0), (b"\n", 1, 1)])
def test_on_a_terminal_erasing_asks_first(answer, status, left, tmp_path):
    store = f"sqlite:///{tmp_path}/t.db"
    ran(store, "append", "trip", "--text", "Hello", "--id", "u1")
    ours, theirs = pty.openpty()

    with subprocess.Popen(
        [*THUSFAR, "delete", "trip"],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        env={**os.environ, "THUSFAR_STORE": store},
    ) as process:
        os.close(theirs)
        asked = b""
        while not asked.endswith(b"[y/N] "):
            asked += os.read(ours, 100)
        os.write(ours, answer)
        process.communicate()
    os.close(ours)

    assert asked == b"Delete trip for good? [y/N] "
    assert process.returncode == status
    assert len(json.loads(ran(store, "list", "--json"))["threads"]) == left


def recorded():
    """List the recorded session logs."""
    assert SHARED is not None
    return sorted(path for pattern in LOGS for path in (SHARED / "data").glob(pattern))


def asked(capsys, *words):
    status = main(("thread", *words))
    return status, capsys.readouterr().out


@needs_shared
def test_every_recorded_log_is_kept_shown_and_given_back(tmp_path, monkeypatch, capsys):
    """A log becomes a thread whose path is the log's own, and an export makes it again."""
    first, second = (f"sqlite:///{tmp_path}/{name}.db" for name in ("first", "second"))
    monkeypatch.setenv("THUSFAR_STORE", first)
    monkeypatch.setenv("COLUMNS", "80")
    kinds: dict[str, int] = {}
    empty = 0
    for number, path in enumerate(recorded()):
        data = path.read_bytes()
        try:
            loaded = load(data)
        except TranscriptError:
            continue
        said = sum(len(each.messages) for each in loaded.entries if each.kind == "message")
        name = f"log-{number}"
        status, out = asked(capsys, "import", str(path), "--as", name, "--json")
        if not said:
            assert status == 1, path
            empty += 1
            continue
        assert status == 0, path
        (made,) = json.loads(out)["threads"]
        assert made["messages"] == len(loaded.messages), path
        kinds[loaded.kind] = kinds.get(loaded.kind, 0) + 1

        shows_the_path_of_the_log(capsys, name, loaded)
        comes_back(capsys, name, second, tmp_path / "export.jsonl")
        assert asked(capsys, "verify", name)[0] == 0, path
    with capsys.disabled():
        print(f"\n{kinds} logs kept, {empty} said nothing")

    assert min(kinds.get(kind, 0) for kind in ("claude-code", "gemini-cli", "pi")) > 0


def shows_the_path_of_the_log(capsys, name, loaded):
    """What is shown is the log's own transcript, in lines that a terminal can hold."""
    source = dialect(loaded.dialect)
    entries = json.loads(asked(capsys, "show", name, "--json")[1])["entries"]
    shown = [{k: v for k, v in each["message"].items() if k != "id"} for each in entries]
    expected = [to_json(source.lift(message)) for message in loaded.messages]
    expected = [{k: v for k, v in each.items() if k != "id"} for each in expected]
    assert [canonical_json(each) for each in shown] == [canonical_json(e) for e in expected]
    for words in ((), ("--tree",)):
        lines = asked(capsys, "show", name, *words)[1].splitlines()
        assert max(map(len, lines[1:])) <= 80, "the first line holds the whole id"
        assert all(char.isprintable() for line in lines for char in line)
    if loaded.dialect != "thusfar":
        out = asked(capsys, "export", name, "--format", loaded.dialect)[1]
        assert canonical_json(json.loads(out)) == canonical_json(list(loaded.messages))


def comes_back(capsys, name, second, file):
    """An export, imported into another store, is exported the same."""
    text = asked(capsys, "export", name)[1]
    file.write_text(text, encoding="utf-8")
    assert asked(capsys, "import", str(file), "--store", second)[0] == 0
    assert asked(capsys, "export", name, "--store", second)[1] == text
