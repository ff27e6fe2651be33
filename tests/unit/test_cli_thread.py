"""The commands on threads: what each does, prints and refuses, one by one."""

import io
import json
import re
import sys
from pathlib import Path

import apsw
import pytest

from thusfar.cli import main
from thusfar.cli.store import WORDS
from thusfar.cli.thread import THREAD
from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.storage import open_store
from thusfar.thread import Thread, threads_sync

CHAT = [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "3 C, rain"},
    {"role": "assistant", "content": "3 C and rain."},
    {"role": "user", "content": "And tomorrow?"},
]
COMMANDS = tuple(name for name in THREAD if not name.startswith("-"))


@pytest.fixture
def store(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/t.db"
    monkeypatch.setenv("THUSFAR_STORE", url)
    monkeypatch.setenv("COLUMNS", "80")
    return url


@pytest.fixture
def trip(store):
    """A thread of two turns, the second question asked twice."""
    with_messages(
        store,
        "trip",
        [Message("user", (Text("Ferry to Bergen?"),), id="u1")],
        [Message("assistant", (Text("At nine."),), id="a1")],
        [Message("user", (Text("And back?"),), id="u2")],
    )
    opened = open_store(store)
    Thread("trip", store=opened).sync.edit("u2", "And to Stavanger?", id="u2b")
    opened.close()
    return store


@pytest.fixture
def oslo(store):
    """A thread with a call and its result in one group."""
    call = Message("assistant", (ToolCall("c1", "weather"),), id="call")
    result = Message("tool", (ToolResult("c1", parts=(Text("3 C"),)),), id="result")
    with_messages(store, "oslo", [Message("user", (Text("Weather?"),), id="ask")], [call, result])
    return store


def with_messages(url, name, *groups):
    opened = open_store(url)
    for group in groups:
        Thread(name, store=opened).sync.append(group)
    opened.close()


def asked(capsys, *words):
    status = main(("thread", *words))
    said = capsys.readouterr()
    return status, said.out, said.err.replace("\n    ", " ")


def printed(capsys, *words):
    status, out, err = asked(capsys, *words)
    assert (status, err) == (0, "")
    return out


def as_json(capsys, *words):
    return json.loads(printed(capsys, *words, "--json"))


def given_on_stdin(monkeypatch, data):
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_the_help_of_the_group_says_what_each_command_does(capsys):
    out = printed(capsys, "--help")

    listed = re.findall(r"^│ ([a-z]+) +(\S.*?) *│$", out, re.MULTILINE)
    assert [name for name, _ in listed] == list(COMMANDS)
    assert all(sentence for _, sentence in listed)
    assert printed(capsys) == out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_states_json_and_its_exit_statuses(name, capsys):
    out = printed(capsys, name, "--help")

    assert f"Usage: thusfar thread {name}" in out
    assert "With --json: {" in out
    assert {"--json", "--store", "--namespace"} <= set(re.findall(r"--\w+", out))
    assert "Exit status: 0 " in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "No store was given."),
        ("memory:", "A store in memory would be gone when the command ends."),
        ("threads.db", "A store was asked for by a URL of no known kind."),
        ("mysql://host/db", "A store was asked for by a URL of no known kind."),
    ],
)
def test_a_store_that_cannot_be_is_a_wrong_command_line(url, complaint, monkeypatch, capsys):
    monkeypatch.delenv("THUSFAR_STORE", raising=False)
    words = ["--store", url] if url else []

    status, out, err = asked(capsys, "list", *words)

    assert (status, out) == (2, "")
    assert complaint in err
    assert "Pass --store sqlite:///threads.db" in err


def test_the_option_wins_over_the_environment(store, tmp_path, capsys):
    with_messages(f"sqlite:///{tmp_path}/other.db", "there", [Message("user", (Text("Hi"),))])

    found = as_json(capsys, "list", "--store", f"sqlite:///{tmp_path}/other.db")

    assert [each["thread_id"] for each in found["threads"]] == ["there"]


@pytest.mark.parametrize(
    "words", [["list"], ["show", "x"], ["select", "x", "m"], ["redact", "x", "m", "--yes"]]
)
def test_a_store_is_made_only_by_what_fills_it(words, store, tmp_path, capsys):
    status, _, err = asked(capsys, *words)

    assert status == 1
    assert "The store does not exist." in err
    assert list(tmp_path.iterdir()) == []


def test_a_reading_command_leaves_another_products_database_as_it_is(tmp_path, capsys):
    path = tmp_path / "other.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE ferry (name text)")
    other.close()
    before = path.read_bytes()

    status, _, err = asked(capsys, "list", "--store", f"sqlite:///{path}")

    assert status == 1
    assert "Check --store; thusfar thread append and import make the tables." in err
    assert path.read_bytes() == before


def test_the_words_that_fixes_are_told_in_are_still_those_of_the_library():
    source = Path(main.__code__.co_filename).parents[1]
    modules = [p for part in ("thread", "storage", "process") for p in (source / part).glob("*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in modules)
    joined = re.sub(r'"\s+"', "", text)

    assert [library for library, _ in WORDS if library not in joined] == []


def test_append_makes_the_store_and_the_thread(store, capsys):
    out = printed(capsys, "append", "trip", "--text", "Ferry to Bergen?", "--id", "u1")

    assert out == "Stored: 1 message at the root.\n  u1\n"
    shown = printed(capsys, "show", "trip")
    assert shown == "trip · 1 message\n\n@0   user       u1  Ferry to Bergen?\n"


def test_append_stores_nothing_twice_under_the_same_ids(store, capsys):
    words = ("append", "trip", "--text", "Ferry?", "--id", "u1")
    first = as_json(capsys, *words)
    again = as_json(capsys, *words)

    assert again == {**first, "replayed": True}
    status, _, err = asked(capsys, "append", "trip", "--text", "Train?", "--id", "u1")
    assert status == 1
    assert "[IDENTITY_CONFLICT]" in err


def test_append_takes_one_group_of_messages_in_any_format(store, tmp_path, monkeypatch, capsys):
    file = tmp_path / "call.json"
    file.write_text(json.dumps(CHAT[1:3]), encoding="utf-8")
    given_on_stdin(monkeypatch, CHAT[0])

    question = as_json(capsys, "append", "oslo", "-")
    commit = as_json(capsys, "append", "oslo", str(file))

    assert commit["parent_id"] == question["message_ids"][0]
    assert commit["status"] == "selected"
    entries = as_json(capsys, "show", "oslo")["entries"]
    assert [each["message"]["role"] for each in entries] == ["user", "assistant", "tool"]
    assert entries[2]["group"] == entries[1]["id"]


def test_append_takes_the_answer_of_a_provider(store, monkeypatch, capsys):
    answer = {"id": "x", "object": "chat.completion", "choices": [{"message": CHAT[3]}]}
    given_on_stdin(monkeypatch, answer)

    printed(capsys, "append", "oslo", "-")

    assert "assistant" in printed(capsys, "show", "oslo")


def test_append_refuses_a_request_whose_other_parts_would_be_lost(store, monkeypatch, capsys):
    request = {"model": "claude-sonnet-4-5", "system": "Be brief.", "messages": [CHAT[0]]}
    given_on_stdin(monkeypatch, {**request, "max_tokens": 9})

    status, _, err = asked(capsys, "append", "oslo", "-")

    assert status == 1
    assert "thusfar thread import" in err


def test_append_reads_text_from_stdin_and_text_that_begins_with_a_dash(store, monkeypatch, capsys):
    given_on_stdin(monkeypatch, b"Two\nlines\n")

    printed(capsys, "append", "trip", "--text", "-", "--role", "system")
    printed(capsys, "append", "trip", "--text", "--help me")

    entries = as_json(capsys, "show", "trip")["entries"]
    texts = [(each["message"]["role"], each["message"]["parts"][0]["text"]) for each in entries]
    assert texts == [("system", "Two\nlines"), ("user", "--help me")]


def test_text_that_is_no_utf8_is_refused(store, monkeypatch, capsys):
    given_on_stdin(monkeypatch, b"caf\xe9")

    status, _, err = asked(capsys, "append", "trip", "--text", "-")

    assert status == 1
    assert "UTF-8" in err


def test_an_open_call_is_stored_when_asked_and_told_until_it_is_answered(
    store, monkeypatch, capsys
):
    given_on_stdin(monkeypatch, CHAT[1])
    status, _, err = asked(capsys, "append", "oslo", "-")
    assert status == 1
    assert "pass --open and append them later" in err

    given_on_stdin(monkeypatch, CHAT[1])
    printed(capsys, "append", "oslo", "-", "--open")
    assert printed(capsys, "show", "oslo").endswith("\n1 call still open.\n")

    given_on_stdin(monkeypatch, CHAT[2])
    printed(capsys, "append", "oslo", "-")
    assert "open" not in printed(capsys, "show", "oslo")


def test_append_elsewhere_is_a_branch_beside_the_selected_path(trip, capsys):
    behind = printed(capsys, "append", "trip", "--text", "At ten?", "--after", "@0", "--id", "x1")
    root = as_json(capsys, "append", "trip", "--text", "Hello?", "--root", "--id", "x2")

    assert behind == "Stored: 1 message behind u1, beside the selected path.\n  x1\n"
    assert (root["status"], root["parent_id"]) == ("alternative", None)
    assert as_json(capsys, "show", "trip")["head"] == "u2b"


@pytest.mark.parametrize(
    "words",
    [
        ["append", "trip"],
        ["append", "trip", "file.json", "--text", "Hi"],
        ["append", "trip", "file.json", "--id", "x"],
        ["append", "trip", "file.json", "--role", "user"],
        ["append", "trip", "--text", "Hi", "--role", "tool"],
        ["append", "trip", "--text", "Hi", "--root", "--after", "u1"],
        ["rewind", "trip"],
        ["rewind", "trip", "u1", "--root"],
        ["show", "trip", "--tree", "--limit", "2"],
        ["show", "trip", "--limit", "0"],
        ["list", "--limit", "0"],
        ["redact", "trip"],
        ["redact", "trip", "u1"],
        ["delete", "trip"],
        ["delete", "trip", "--branch", "u2", "--force", "--yes"],
        ["export", "trip", "--leave-out"],
        ["export", "trip", "--format", "morse"],
        ["import", "file.json", "--session", "s"],
        ["describe", "trip", "--metadata", "[1]"],
        ["describe", "trip", "--metadata", "{"],
        ["show", "trip", "--store", "memory:"],
    ],
)
def test_a_wrong_command_line_exits_with_2_and_changes_nothing(
    words, trip, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file.json").write_text(json.dumps(CHAT[:1]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = printed(capsys, "export", "trip")

    status, _, err = asked(capsys, *words)

    assert status == 2
    assert "fix: " in err
    assert printed(capsys, "export", "trip") == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show", "nowhere"], "THREAD_NOT_FOUND"),
        (["export", "nowhere"], "THREAD_NOT_FOUND"),
        (["export", "nowhere", "--format", "anthropic"], "THREAD_NOT_FOUND"),
        (["describe", "nowhere", "--title", "x"], "THREAD_NOT_FOUND"),
        (["verify", "nowhere"], "THREAD_NOT_FOUND"),
        (["variants", "nowhere"], "THREAD_NOT_FOUND"),
        (["show", "trip", "--at", "nope"], "MESSAGE_NOT_FOUND"),
        (["show", "trip", "--at", "@7"], "MESSAGE_NOT_FOUND"),
        (["show", "trip", "--at", "@-9"], "MESSAGE_NOT_FOUND"),
        (["edit", "trip", "a1", "--text", "x"], "INVALID_GROUP"),
        (["rewind", "trip", "u2"], "INVALID_GROUP"),
        (["fork", "trip", "main"], "IDENTITY_CONFLICT"),
        (["release", "trip", "main"], "THREAD_IN_USE"),
        (["delete", "trip", "--branch", "u2b", "--yes"], "THREAD_IN_USE"),
        (["show", "trip", "--namespace", ""], "INVALID_MESSAGE"),
        (["append", "trip", "nowhere.json"], "INVALID_TRANSCRIPT"),
    ],
)
def test_a_refusal_exits_with_1_and_is_json_on_stdout_too(words, code, trip, capsys):
    status, out, err = asked(capsys, *words, "--json")

    assert status == 1
    assert f"[{code}]" in err
    assert json.loads(out)["error"]["code"] == code


def test_show_prints_the_selected_path_and_marks_siblings(trip, capsys):
    assert printed(capsys, "show", "trip") == (
        "trip · 3 messages selected, 2 branches\n"
        "\n"
        "@0   user       u1        Ferry to Bergen?\n"
        "@1   assistant  a1        At nine.\n"
        "@2   user       u2b  2/2  And to Stavanger?\n"
    )


def test_show_pages_and_shows_other_paths(trip, capsys):
    newest = printed(capsys, "show", "trip", "--limit", "1")
    older = as_json(capsys, "show", "trip", "--before", "@2", "--limit", "1")
    other = as_json(capsys, "show", "trip", "--at", "u2")

    assert "2 messages before these.\n\n@2 " in newest
    assert [each["id"] for each in older["entries"]] == ["a1"]
    assert (older["cursor"], older["omitted"]) == ("a1", 1)
    assert [each["id"] for each in other["entries"]] == ["u1", "a1", "u2"]


def test_show_full_prints_messages_whole(trip, capsys):
    out = printed(capsys, "show", "trip", "--full")

    assert re.search(
        r"^@2 user  u2b  2/2  \d{4}-\d\d-\d\d \d\d:\d\d\n    And to Stavanger\?$", out, re.MULTILINE
    )


def test_what_was_redacted_keeps_its_place(oslo, capsys):
    done = printed(capsys, "redact", "oslo", "result", "--yes")

    assert done == (
        "Redacted: 1 message (result).\n  1 message of the same exchanges left the transcript.\n"
    )
    assert printed(capsys, "show", "oslo") == (
        "oslo · 1 message\n"
        "\n"
        "@0   user       ask     Weather?\n"
        "@1 ┌ assistant  call    (left out: its exchange lost a message) calls weather({…\n"
        "@2 └            result  [redacted]\n"
    )
    assert "@2 [redacted]  result\n" in printed(capsys, "show", "oslo", "--full")


def test_an_owner_without_a_position_stands_before_the_first_message(trip, capsys):
    out = printed(capsys, "show", "trip", "--owner", "ada")

    assert out.endswith("ada stands before the first message.\n")


def test_a_message_is_named_by_its_id_its_place_or_the_beginning_of_its_id(store, capsys):
    names = ["m1", "message-1", "message-2", "other-3", "@4"]
    with_messages(store, "trip", *([Message("user", (Text("Hi"),), id=each)] for each in names))

    def found(word):
        return as_json(capsys, "show", "trip", "--at", word)["entries"][-1]["id"]

    assert [found(word) for word in ("@0", "@-2", "@-5", "m1", "othe", "message-2")] == [
        "m1",
        "other-3",
        "m1",
        "m1",
        "other-3",
        "message-2",
    ]
    assert found("@4") == "@4", "a place comes first"
    status, _, err = asked(capsys, "show", "trip", "--at", "mess")
    assert status == 2
    assert "2 messages have ids that begin so." in err
    assert asked(capsys, "show", "trip", "--at", "oth")[0] == 1, "too short to be a beginning"


def test_a_beginning_finds_messages_of_every_branch(trip, capsys):
    printed(capsys, "append", "trip", "--text", "x", "--after", "u2", "--id", "far-away")
    printed(capsys, "append", "trip", "--text", "y", "--after", "far-away", "--id", "farther")

    assert as_json(capsys, "show", "trip", "--at", "farth")["entries"][-1]["id"] == "farther"


def test_edit_puts_a_message_beside_the_old_one(trip, tmp_path, capsys):
    file = tmp_path / "new.json"
    file.write_text('{"role": "user", "parts": [{"type": "text", "text": "Or not?"}], "id": "n"}')

    first = as_json(capsys, "edit", "trip", "@2", "--text", "And to Oslo?", "--id", "u2c")
    second = as_json(capsys, "edit", "trip", "@2", str(file))

    assert (first["message_ids"], first["parent_id"]) == (["u2c"], "a1")
    assert second["message_ids"] == ["n"]
    assert as_json(capsys, "show", "trip")["head"] == "n"


def test_an_edit_takes_exactly_one_message(trip, tmp_path, capsys):
    file = tmp_path / "two.json"
    file.write_text(json.dumps([CHAT[0], CHAT[0]]), encoding="utf-8")

    assert asked(capsys, "edit", "trip", "@2", str(file))[0] == 2


def test_regenerate_puts_another_answer_under_a_question(trip, capsys):
    commit = as_json(capsys, "regenerate", "trip", "u1", "--text", "At ten.", "--id", "a1b")

    assert (commit["parent_id"], commit["status"]) == ("u1", "selected")
    entries = as_json(capsys, "show", "trip")["entries"]
    assert [(each["id"], each["message"]["role"]) for each in entries] == [
        ("u1", "user"),
        ("a1b", "assistant"),
    ]


def test_variants_lists_siblings_with_the_selected_one_marked(trip, capsys):
    expected = (
        "  @2   user       u2  1/2  And back?\n* @2   user       u2b  2/2  And to Stavanger?\n"
    )

    assert printed(capsys, "variants", "trip", "u2") == expected
    assert printed(capsys, "variants", "trip", "@2") == expected
    assert printed(capsys, "variants", "trip") == expected.splitlines(keepends=True)[1]
    listed = as_json(capsys, "variants", "trip", "u2")["entries"]
    assert [each["id"] for each in listed] == ["u2", "u2b"]


def test_variants_of_a_thread_without_any_says_so(oslo, capsys):
    out = printed(capsys, "variants", "oslo")

    assert out == "No message of the selected path has siblings.\n"
    assert len(as_json(capsys, "variants", "oslo", "ask")["entries"]) == 1


def test_select_rewind_fork_and_release_move_owners(trip, capsys):
    def place(*words):
        made = as_json(capsys, *words)
        return made["owner"], made["head"], made["messages"]

    assert place("select", "trip", "u2") == ("main", "u2", 3)
    assert place("rewind", "trip", "a1") == ("main", "a1", 2)
    assert place("rewind", "trip", "--root") == ("main", None, 0)
    assert place("fork", "trip", "ada", "--at", "a1") == ("ada", "a1", 2)
    assert place("select", "trip", "u2b", "--owner", "ada") == ("ada", "u2b", 3)
    assert as_json(capsys, "describe", "trip")["owners"] == {"ada": "u2b", "main": None}
    assert as_json(capsys, "release", "trip", "ada")["owners"] == {"main": None}
    assert printed(capsys, "rewind", "trip", "--root") == (
        "main stands before the first message: 0 messages.\n"
    )
    assert (
        printed(capsys, "release", "trip", "ada") == "ada has no position any more: 1 owner left.\n"
    )


def test_remove_hides_a_group_and_keeps_it(oslo, capsys):
    assert printed(capsys, "remove", "oslo", "call") == "Removed: 2 messages (call, result).\n"
    assert as_json(capsys, "remove", "oslo", "call") == {"thread_id": "oslo", "removed": []}
    shown = printed(capsys, "show", "oslo")
    assert shown.count("[removed]") == 2
    assert "weather" in printed(capsys, "export", "oslo")


def test_redact_erases_what_is_stored_and_exported(trip, tmp_path, capsys):
    made = as_json(capsys, "redact", "trip", "u2", "@0", "--yes")

    assert made == {
        "thread_id": "trip",
        "message_ids": ["u2", "u1"],
        "unavailable": [],
        "artifacts": 0,
        "state": "complete",
    }
    assert "Bergen" not in printed(capsys, "export", "trip")
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Bergen" not in stored
    assert b"Stavanger" in stored


def test_what_erases_for_good_is_not_done_without_a_yes(trip, capsys):
    for words in (
        ["redact", "trip", "u1"],
        ["delete", "trip"],
        ["delete", "trip", "--branch", "u2"],
    ):
        status, _, err = asked(capsys, *words)

        assert status == 2
        assert "Pass --yes to erase without a question." in err
    assert len(as_json(capsys, "show", "trip")["entries"]) == 3


def test_delete_removes_a_branch_or_the_whole_thread(trip, capsys):
    branch = printed(capsys, "delete", "trip", "--branch", "u2", "--yes")
    printed(capsys, "fork", "trip", "ada")
    status, _, err = asked(capsys, "delete", "trip", "--yes")
    whole = printed(capsys, "delete", "trip", "--yes", "--force")

    assert branch == "Deleted the branch: 1 message (u2).\n"
    assert status == 1
    assert "Release them first, or pass --force." in err
    assert whole == "Deleted: trip.\n"
    assert printed(capsys, "list") == "There are no threads.\n"
    assert "[THREAD_DELETED]" in asked(capsys, "show", "trip")[2]


def test_list_shows_the_newest_change_first(trip, capsys):
    with_messages(trip, "later", [Message("user", (Text("Hi"),))])
    printed(capsys, "describe", "later", "--title", "Two \x1b[31mwords")

    lines = printed(capsys, "list").splitlines()

    assert re.fullmatch(r"thread  messages  changed {10} title", lines[0])
    assert re.fullmatch(r"later {10}1  \d{4}-\d\d-\d\d \d\d:\d\d  Two \\e\[31mwords", lines[1])
    assert lines[2].startswith("trip           3  ")
    assert len(as_json(capsys, "list", "--limit", "1")["threads"]) == 1


def test_threads_of_one_namespace_are_not_seen_from_another(trip, capsys):
    assert printed(capsys, "list", "--namespace", "other") == "There are no threads.\n"


def test_describe_prints_and_sets_title_and_metadata(trip, capsys):
    made = as_json(capsys, "describe", "trip", "--title", "Fjords", "--metadata", '{"paid": true}')
    out = printed(capsys, "describe", "trip")

    assert (made["title"], made["metadata"]) == ("Fjords", {"paid": True})
    assert [branch["leaf"] for branch in made["branches"]] == ["u2", "u2b"]
    assert re.search(r"^  title     Fjords$", out, re.MULTILINE)
    assert re.search(r"^  main on   u2b$", out, re.MULTILINE)
    assert re.search(r"^  paid      True$", out, re.MULTILINE)


def test_import_makes_a_thread_and_export_gives_it_back(store, tmp_path, capsys):
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT), encoding="utf-8")

    done = printed(capsys, "import", str(file), "--as", "oslo", "--title", "Weather")

    assert done == "oslo: 5 messages\n"
    assert json.loads(printed(capsys, "export", "oslo", "--format", "openai-chat")) == CHAT
    made = as_json(capsys, "export", "oslo", "--format", "openai-chat")
    assert (made["messages"], made["left_out"]) == (CHAT, 0)
    assert as_json(capsys, "list")["threads"][0]["title"] == "Weather"
    status, _, err = asked(capsys, "import", str(file), "--as", "oslo")
    assert status == 1
    assert "Pass --as with an id that no thread has." in err


def test_an_export_brings_its_id_its_branches_and_its_tombstones(trip, tmp_path, capsys):
    printed(capsys, "redact", "trip", "a1", "--yes")
    text = printed(capsys, "export", "trip")
    file = tmp_path / "trip.jsonl"
    file.write_text(text, encoding="utf-8")

    made = as_json(capsys, "import", str(file), "--store", f"sqlite:///{tmp_path}/second.db")

    assert [(each["thread_id"], each["branches"]) for each in made["threads"]] == [("trip", 2)]
    again = printed(capsys, "export", "trip", "--store", f"sqlite:///{tmp_path}/second.db")
    assert again == text
    records = as_json(capsys, "export", "trip")["records"]
    assert records == [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"sessionId": "s1", "projectHash": "p", "messages": '
         '[{"id": "g1", "type": "user", "content": "Hi"}]}', "s1"),
        ('{"type":"user","uuid":"r1","parentUuid":null,"sessionId":"s2",'
         '"message":{"role":"user","content":"Hi"}}', "s2"),
        ('{"type":"session","id":"s3","cwd":"/","timestamp":"x"}\n'
         '{"type":"message","id":"p1","parentId":null,"timestamp":"x",'
         '"message":{"role":"user","content":"Hi"}}', "s3"),
    ],
)  # fmt: skip
def test_a_session_log_brings_the_id_of_its_session(text, name, store, monkeypatch, capsys):
    given_on_stdin(monkeypatch, text.encode())

    assert printed(capsys, "import", "-") == f"{name}: 1 message\n"


def test_a_list_without_an_id_gets_a_new_one(store, monkeypatch, capsys):
    given_on_stdin(monkeypatch, CHAT)

    (made,) = as_json(capsys, "import", "-")["threads"]

    assert re.fullmatch(r"thread_[0-9a-f]{32}", made["thread_id"])


@pytest.fixture
def agents(tmp_path):
    path = tmp_path / "agents.db"
    raw = apsw.Connection(str(path))
    raw.execute(
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)"
    )
    for session in ("s1", "s2"):
        item = json.dumps({"role": "user", "content": f"Hello from {session}"})
        raw.execute(
            "INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)", (session, item)
        )
    raw.close()
    return str(path)


def test_every_session_of_an_agents_sdk_file_becomes_a_thread(store, agents, capsys):
    assert printed(capsys, "import", agents) == "s1: 1 message\ns2: 1 message\n"
    opened = open_store(store)
    names = {info.thread_id for info in threads_sync(opened)}
    opened.close()
    assert names == {"s1", "s2"}


def test_one_session_of_an_agents_sdk_file_may_be_chosen(store, agents, capsys):
    assert printed(capsys, "import", agents, "--session", "s2", "--as", "two") == (
        "two: 1 message\n"
    )
    assert asked(capsys, "import", agents, "--as", "both")[0] == 2
    assert asked(capsys, "import", agents, "--session", "s3")[0] == 2
    assert asked(capsys, "import", agents, "--dialect", "anthropic")[0] == 2


def test_an_sqlite_file_from_stdin_is_refused(store, agents, monkeypatch, capsys):
    given_on_stdin(monkeypatch, Path(agents).read_bytes())

    status, _, err = asked(capsys, "import", "-")

    assert status == 2
    assert "Pass its path." in err


def test_what_a_format_cannot_hold_is_refused_or_left_out_and_counted(store, monkeypatch, capsys):
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    said = {"role": "assistant", "content": [thinking, {"type": "text", "text": "3 C."}]}
    given_on_stdin(monkeypatch, [{"role": "user", "content": "Weather?"}, said])
    printed(capsys, "import", "-", "--as", "oslo", "--dialect", "anthropic")
    words = ("export", "oslo", "--format", "openai-chat")

    status, out, err = asked(capsys, *words)
    assert (status, out) == (1, "")
    assert "[UNSUPPORTED_PART]" in err
    assert "Pass --leave-out" in err

    status, out, err = asked(capsys, *words, "--leave-out")
    assert (status, err) == (0, "thusfar: 1 part left out\n")
    assert json.loads(out) == [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "3 C."},
    ]


def test_the_export_of_an_empty_path_is_an_empty_list(trip, capsys):
    printed(capsys, "rewind", "trip", "--root")

    assert printed(capsys, "export", "trip", "--format", "anthropic") == "[]\n"


def test_verify_checks_one_thread_or_all(trip, oslo, capsys):
    assert printed(capsys, "verify", "trip") == "trip: 4 messages, 2 branches: sound\n"
    every = printed(capsys, "verify", "--erased").splitlines()
    assert sorted(every) == [
        "oslo: 3 messages, 1 branch: sound, erasure complete",
        "trip: 4 messages, 2 branches: sound, erasure complete",
    ]
    assert as_json(capsys, "verify", "trip") == {
        "threads": [
            {
                "thread_id": "trip",
                "messages": 4,
                "branches": 2,
                "problems": [],
                "erasure": None,
            }
        ]
    }


def test_verify_tells_damage_and_exits_with_1(trip, tmp_path, capsys):
    raw = apsw.Connection(str(tmp_path / "t.db"))
    raw.execute("UPDATE thusfar_node SET body = replace(body, 'nine', 'ten')")
    raw.close()

    status, out, _ = asked(capsys, "verify")

    assert status == 1
    assert out.startswith("trip: 4 messages, 2 branches: 1 problem\n  CORRUPT_RECORD: A message")
    assert asked(capsys, "verify", "--json")[0] == 1


def test_an_erasure_that_a_reader_holds_up_is_pending(trip, tmp_path, capsys):
    reader = apsw.Connection(str(tmp_path / "t.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM thusfar_node").fetchall()

    done = printed(capsys, "redact", "trip", "u1", "--yes")
    status, out, _ = asked(capsys, "verify", "--erased")
    reader.close()

    assert "run thusfar thread verify --erased." in done.replace("\n  ", " ")
    assert (status, out) == (1, "trip: 4 messages, 2 branches: sound, erasure pending\n")
    assert "complete" in printed(capsys, "verify", "--erased")


def test_verify_of_an_empty_store_says_so(trip, capsys):
    assert printed(capsys, "verify", "--namespace", "other") == "There are no threads.\n"


@pytest.mark.parametrize("columns", ["0", "1", "99999999999"])
def test_a_terminal_of_odd_size_shows_lists_and_help(trip, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)

    assert main(["thread", "list"]) == 0
    assert " 3  20" in capsys.readouterr().out
    assert main(["thread", "--help"]) == 0
    assert "verify" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["u", "-1", "2", "@", "@x"])
def test_a_word_too_short_to_begin_an_id_is_told_what_words_there_are(trip, capsys, word):
    assert main(["thread", "select", "trip", word]) == 1

    told = " ".join(capsys.readouterr().err.split())
    assert "The beginning of an id needs 4 characters, and a place is written @N." in told
