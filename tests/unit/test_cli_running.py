"""Running: from words to a command, and from what happens to an exit status."""

import io
import json
import os
import re
import subprocess
import sys

import pytest
from cyclopts import App

from thusfar import __version__
from thusfar.cli import main
from thusfar.cli.registry import COMMANDS, Command
from thusfar.cli.running import build_app
from thusfar.demo import transcript

ASK = {"role": "user", "content": "Weather in Oslo?"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    ],
}
SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.fixture
def ferry(tmp_path):
    path = tmp_path / "ferry.json"
    path.write_text(json.dumps(transcript()), encoding="utf-8")
    return str(path)


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text(json.dumps([ASK, CALL, ASK]), encoding="utf-8")
    return str(path)


def asked(capsys, *words):
    status = main(words)
    said = capsys.readouterr()
    return status, said.out, said.err


def given_on_stdin(monkeypatch, value):
    data = json.dumps(value).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_the_version_is_told_without_the_parser_of_the_command_line():
    program = (
        "import sys; from thusfar.cli import main; main(['--version']);"
        "print(sorted({'cyclopts', 'rich', 'msgspec'} & set(sys.modules)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert told == f"thusfar {__version__}\n[]\n"


def test_the_parser_knows_the_version_too(capsys):
    assert asked(capsys, "--version", "--json")[:2] == (0, f"thusfar {__version__}\n")


def test_help_lists_the_commands_in_their_order(capsys):
    status, out, err = asked(capsys, "--help")

    assert (status, err) == (0, "")
    listed = re.findall(r"^│ (\w+) +(.*?) *│$", out, re.MULTILINE)
    assert listed == [(command.name, command.summary) for command in COMMANDS]
    assert asked(capsys)[1] == out, "no word at all shows the help"


# A group states these for each of its own commands; see the tests of the group.
SINGLE = [command for command in COMMANDS if command.name not in ("process", "thread")]


@pytest.mark.parametrize("command", SINGLE, ids=lambda command: command.name)
def test_the_help_of_a_command_states_json_and_its_exit_statuses(command, capsys):
    status, out, err = asked(capsys, command.name, "--help")

    assert (status, err) == (0, "")
    assert f"Usage: thusfar {command.name}" in out
    assert "With --json: {" in out
    assert "--json" in out.partition("─ Parameters ─")[2]
    assert "Exit status: 0 " in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_group_of_commands_is_one_line_of_the_registry(capsys):
    group = App(name="flags")

    @group.command
    def count(*, as_json: bool = False) -> int:
        """Count the flags."""
        print("4 flags")
        return 0

    sys.modules[__name__].FLAGS = group
    app = build_app((Command("flags", f"{__name__}:FLAGS", "Flags."),), used="flags")

    assert app(["flags", "count"], result_action="return_value") == 0
    assert capsys.readouterr().out == "4 flags\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["embark"], 'Unknown command "embark"'),
        (["project"], "requires an argument"),
        (["project", "x", "--cut", "sideways"], "sideways"),
        (["project", "x", "--messages", "many"], "many"),
        (["project", "x", "--messages", "1.5"], "1.5"),
        (["project", "x", "--max", "1e3"], "1e3"),
        (["project", "x", "--mesages", "3"], "--messages"),
        (["lint", "x", "y"], "y"),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_says_why(words, complaint, capsys):
    status, out, err = asked(capsys, *words)

    assert (status, out) == (2, "")
    assert err.startswith("thusfar: ")
    assert complaint in err
    assert "fix: Run thusfar --help" in err


def test_control_characters_of_a_wrong_word_are_escaped(capsys):
    assert "\x1b" not in asked(capsys, "em\x1b[2Jbark")[2]


@pytest.mark.parametrize(
    "words",
    [
        ["--messages", "0"],
        ["--dialect", "morse"],
        ["--counter", "abacus"],
        ["--max", "0"],
        ["--advance", "1"],
        ["--pinned", "999"],
        ["--policy", "exact", "--tokens", "5"],
    ],
)
def test_an_option_out_of_its_range_exits_with_2_and_its_code(words, ferry, capsys):
    status, out, err = asked(capsys, "project", ferry, *words)

    assert (status, out) == (2, "")
    assert "[INVALID_OPTIONS]" in err.replace("\n    ", " ")


def test_a_refusal_exits_with_1_and_says_code_sentence_and_fix(ferry, capsys):
    status, out, err = asked(capsys, "project", ferry, "--policy", "exact", "--max", "8000")

    assert (status, out) == (1, "")
    assert err == (
        "thusfar: The request needed 10,346 input tokens (estimated), and the limit is\n"
        "    8,000. [REQUEST_TOO_LARGE]\n"
        "  fix: Authorise a shorter view with history.recent() or history(), or raise the\n"
        "    limit.\n"
        "  on the command line: Pass --policy recent or --policy digest, lower --messages\n"
        "    or --tokens, or raise --max.\n"
        "  REQUEST_INPUT_LIMIT: The request needed 10,346 input tokens of 8,000.\n"
    )


def test_a_refusal_is_json_on_stdout_too(broken, capsys):
    status, out, err = asked(capsys, "project", broken, "--json")

    assert status == 1
    assert "[INVALID_COMPOSITION]" in err.replace("\n    ", " ")
    assert json.loads(out) == {
        "error": {
            "code": "INVALID_COMPOSITION",
            "message": "Calls and results did not pair at 1 message(s) of the view, the first at "
            "position 1.",
            "fix": 'Correct the transcript, or pass repair="drop" or repair="close".',
            "diagnostics": [
                {
                    "code": "INVALID_HISTORY_TRANSCRIPT",
                    "message": "A result had no call, or a call was never answered.",
                    "positions": [1],
                    "facts": {},
                }
            ],
            "facts": {"positions": [1]},
        }
    }


def test_of_many_positions_the_first_are_told(tmp_path, capsys):
    path = tmp_path / "many.json"
    path.write_text(json.dumps([each for _ in range(40) for each in (ASK, CALL)] + [ASK]))

    _, _, err = asked(capsys, "project", str(path), "--messages", "99")

    assert "At 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 and 28 more." in err.replace("\n    ", " ")


@pytest.mark.parametrize("command", ["project", "lint"])
def test_a_file_that_cannot_be_read_exits_with_1(command, capsys):
    status, out, err = asked(capsys, command, "nowhere.json")

    assert (status, out) == (1, "")
    assert err == (
        "thusfar: The file nowhere.json does not exist. [INVALID_TRANSCRIPT]\n"
        "  fix: Pass the path of a file, or - for stdin.\n"
    )


def test_projected_json_has_the_messages_and_a_receipt(ferry, capsys):
    status, out, err = asked(capsys, "project", ferry, "--tokens", "3000", "--json")

    made = json.loads(out)
    receipt = made["receipt"]
    assert (status, err) == (0, "")
    assert list(made) == ["dialect", "messages", "receipt", "source"]
    assert made["messages"] == [transcript()[0], *transcript()[133:]]
    assert receipt["kept"] == [[0, 1], [133, 192]]
    assert receipt["omitted"] == [[1, 133]]
    assert receipt["tokens"] == {
        "tokens": 2798,
        "tokenizer": "estimate-1",
        "confidence": "estimated",
    }
    assert [warning["code"] for warning in receipt["warnings"]] == ["HISTORY_CAUSAL_BOUNDARY"]


def test_what_was_projected_can_be_projected_again(ferry, monkeypatch, capsys):
    first = json.loads(asked(capsys, "project", ferry, "--messages", "9", "--json")[1])
    given_on_stdin(monkeypatch, first)

    again = json.loads(asked(capsys, "project", "-", "--messages", "9", "--json")[1])

    assert again["messages"] == first["messages"]


def test_a_request_comes_back_whole_with_the_view_in_it(monkeypatch, capsys):
    body = {
        "model": "claude-sonnet-4-5",
        "system": "Be brief.",
        "max_tokens": 500,
        "messages": [ASK, {"role": "assistant", "content": "3 C"}, ASK],
        "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
    }
    given_on_stdin(monkeypatch, body)

    made = json.loads(asked(capsys, "project", "-", "--messages", "1", "--json")[1])

    assert made["request"] == {**body, "messages": [ASK]}
    assert list(made["request"]) == list(body)
    assert made["source"] == {
        "kind": "request",
        "model": "claude-sonnet-4-5",
        "facts": {"messages": 3},
    }
    assert made["receipt"]["tokens"]["tokens"] > 20, "system and tools are counted"


def test_a_session_of_our_own_messages_comes_out_in_their_json_form(monkeypatch, capsys):
    message = {"role": "user", "content": [{"type": "text", "text": "Hi"}], "timestamp": 1}
    given_on_stdin(monkeypatch, {"type": "message", "message": message, "timestamp": "t"})

    made = json.loads(asked(capsys, "project", "-", "--json")[1])

    assert made["dialect"] == "thusfar"
    assert made["messages"] == [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}]


def test_pinned_metadata_and_positions_stay(monkeypatch, capsys):
    marked = {**ASK, "metadata": {"pinned": True}}
    talk = [marked, {"role": "assistant", "content": "3 C"}, ASK, ASK]
    given_on_stdin(monkeypatch, talk)
    words = ["project", "-", "--messages", "1", "--cut", "exchange", "--json", "--pinned"]
    by_metadata = json.loads(asked(capsys, *words, "metadata")[1])
    given_on_stdin(monkeypatch, talk)
    by_position = json.loads(asked(capsys, *words, "1")[1])

    assert by_metadata["receipt"]["pinned"] == [[0, 1]]
    assert by_position["receipt"]["pinned"] == [[1, 2]]


def test_lint_exits_with_1_when_it_finds_something(broken, capsys):
    status, out, err = asked(capsys, "lint", broken)

    assert (status, err) == (1, "")
    assert out == (
        "3 messages: pairing of calls and results, 8 rules of openai-chat\n"
        "\n"
        "1  INVALID_HISTORY_TRANSCRIPT  unanswered-call\n"
        "  A call was never answered though the conversation went on.\n"
        "  fix: Add its result, or remove the call; project --repair close fills in a\n"
        "  marked result, --repair drop leaves the call out.\n"
        "\n"
        "1  WIRE_RULE_BROKEN  openai-chat/calls-answered\n"
        "  Tool messages that answer every tool call follow the calls directly.\n"
        "  fix: Add the missing results directly behind the calls, or remove the calls.\n"
        "\n"
        "2 findings to correct.\n"
    )


def test_lint_exits_with_0_on_a_clean_transcript(ferry, capsys):
    assert asked(capsys, "lint", ferry)[0] == 0
    made = json.loads(asked(capsys, "lint", ferry, "--json")[1])
    assert made == {
        "dialect": "openai-chat",
        "messages": 192,
        "rules": 8,
        "findings": [],
        "notes": [],
    }


def test_lint_takes_calls_that_wait_for_a_note(monkeypatch, capsys):
    given_on_stdin(monkeypatch, [ASK, CALL])

    status, out, _ = asked(capsys, "lint", "-")

    assert status == 0
    assert "1  HISTORY_OPEN_CALLS  pending-call\n" in out
    assert out.endswith("\nNothing was found.\n")


def test_lint_leaves_pairs_to_the_provider_where_a_request_continues(monkeypatch, capsys):
    output = {"type": "function_call_output", "call_id": "c1", "output": "3 C"}
    body = {"model": "gpt-5", "input": [output]}
    given_on_stdin(monkeypatch, body)
    alone, _, _ = asked(capsys, "lint", "-")
    given_on_stdin(monkeypatch, {**body, "previous_response_id": "resp_1"})
    continued, out, _ = asked(capsys, "lint", "-")

    assert (alone, continued) == (1, 0)
    assert "0  INVALID_HISTORY_TRANSCRIPT  orphan-result\n" in out
    assert "the provider may hold the call." in out


def test_dialects_are_listed_in_the_order_they_are_tried(capsys):
    status, out, _ = asked(capsys, "dialects")
    made = json.loads(asked(capsys, "dialects", "--json")[1])["dialects"]

    names = re.findall(r"^([a-z-]+) +\d", out, re.MULTILINE)
    assert status == 0
    assert names[:3] == ["openai-chat", "openai-responses", "anthropic"]
    assert [each["name"] for each in made] == names
    assert made[0]["rules"][0].keys() == {"name", "statement", "source"}


def test_the_rules_of_one_dialect_are_shown_with_their_sources(capsys):
    _, out, _ = asked(capsys, "dialects", "gemini")
    status, never_sent, _ = asked(capsys, "dialects", "thusfar")

    assert "gemini/first-user\n  The first content is not of the model.\n  source: " in out
    assert status == 0
    assert "No rules" in never_sent
    assert asked(capsys, "dialects", "morse")[0] == 2


def test_doctor_shows_versions_tokenizers_and_extras(capsys):
    status, out, _ = asked(capsys, "doctor")
    made = json.loads(asked(capsys, "doctor", "--json")[1])

    assert status == 0
    assert f"thusfar     {__version__}" in out
    assert "This SQLite has the fix of the WAL-reset bug." in out
    assert list(made) == ["python", "thusfar", "packages", "sqlite", "tokenizers", "extras"]


def test_what_a_terminal_would_act_on_never_reaches_it(monkeypatch, capsys):
    evil = {"role": "user", "content": "\x1b]0;title\x07 \x9b2J [red]\u202e"}
    given_on_stdin(monkeypatch, [evil])
    _, out, _ = asked(capsys, "project", "-")
    given_on_stdin(monkeypatch, [evil])
    _, as_json, _ = asked(capsys, "project", "-", "--json")

    for text in (out, as_json):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    assert "\\e]0;title\\x07 \\x9b2J [red]\\u202e" in out
    assert json.loads(as_json)["messages"] == [evil]


def test_an_interrupt_ends_with_130(monkeypatch):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())

    assert main(["project", "-"]) == 130


def test_a_reader_that_left_ends_the_command_quietly(monkeypatch, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, "stdout", os.fdopen(writer, "w"))

    assert main(["dialects", "--json"]) == 0
    sys.stdout.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here is always full")
def test_output_that_cannot_be_written_exits_with_1_and_says_why(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", open("/dev/full", "w"))  # noqa: SIM115 - main closes it

    assert main(["dialects"]) == 1
    assert "output could not be written: no space left" in capsys.readouterr().err
    sys.stdout.close()
