"""The command as its users run it: as a process, and over recorded transcripts."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shared_data import SHARED, needs_shared
from thusfar.cli import main
from thusfar.demo import transcript

THUSFAR = (sys.executable, "-m", "thusfar")
LOGS = ("claude-code-log/*.jsonl", "entire-sessions/*/*.json*", "pi-mono/*.json*")
WIRES = ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse")
DEFECT = "INVALID_HISTORY_TRANSCRIPT"


def ran(*words, stdin=b"", environment=None):
    return subprocess.run(
        [*THUSFAR, *words],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )


def recorded(*patterns):
    """List the recorded files that match; none at all is a failure of the test that asks."""
    assert SHARED is not None
    return sorted(path for pattern in patterns for path in (SHARED / "data").glob(pattern))


def asked(capsys, *words):
    status = main(words)
    return status, json.loads(capsys.readouterr().out)


@pytest.fixture
def ferry(tmp_path):
    path = tmp_path / "ferry.json"
    path.write_text(json.dumps(transcript()), encoding="utf-8")
    return path


def test_a_long_conversation_is_bounded_checked_and_sent_on(ferry, tmp_path):
    """Exact is refused, a digest fits, what comes out is legal and is a transcript again."""
    refused = ran("project", str(ferry), "--policy", "exact", "--max", "8000")
    words = ("--policy", "digest", "--tokens", "3000", "--max", "8000", "--json")
    bounded = ran("project", str(ferry), *words)
    checked = ran("lint", "-", stdin=bounded.stdout)
    again = ran("project", "-", "--policy", "exact", "--max", "8000", stdin=bounded.stdout)

    assert refused.returncode == 1
    assert refused.stdout == b""
    assert b"[REQUEST_TOO_LARGE]" in refused.stderr
    assert bounded.returncode == 0
    assert len(json.loads(bounded.stdout)["messages"]) == 61
    assert (checked.returncode, checked.stderr) == (0, b"")
    assert b"Sent: 61 messages, 5,888 tokens" in again.stdout


def test_the_installed_script_is_the_same_command():
    script = shutil.which("thusfar", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.skip("the package is not installed beside this interpreter")
    told = subprocess.run([script, "--version"], capture_output=True, check=True)

    assert told.stdout == ran("--version").stdout


def test_the_output_has_no_escapes_in_a_pipe_and_utf8_where_the_locale_has_none(ferry):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "FORCE_COLOR": ""}
    table = ran("project", str(ferry), environment=plain)
    as_json = ran("project", str(ferry), "--json", environment=plain)

    assert table.returncode == 0
    assert b"\x1b" not in table.stdout
    assert as_json.stdout.isascii()
    assert json.loads(as_json.stdout)["messages"] == [transcript()[0], *transcript()[172:]]


def test_a_reader_that_leaves_early_is_no_error(ferry):
    with subprocess.Popen(
        [*THUSFAR, "project", str(ferry), "--messages", "190", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        told = process.stderr.read()

    assert (process.returncode, told) == (0, b"")


@pytest.mark.parametrize(
    "words", [["--help"], ["project", "--help"], ["dialects"], ["project", "@"]]
)
def test_a_reader_that_is_gone_is_no_error_for_tables_and_help(ferry, words):
    reader, writer = os.pipe()
    os.close(reader)
    words = [str(ferry) if word == "@" else word for word in words]

    done = subprocess.run([*THUSFAR, *words], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_stream_is_no_error(ferry):
    for stream, status in (("1", 0), ("2", 0), ("0", 0)):
        line = f'"$@" {stream}>&-' if stream != "0" else '"$@" <&-'

        done = subprocess.run(
            [
                "sh",
                "-c",
                line,
                "sh",
                *THUSFAR,
                "project",
                str(ferry),
                "--messages",
                "190",
                "--json",
            ],
            capture_output=True,
            check=False,
        )

        assert (done.returncode, done.stderr) == (status, b"")
        assert bool(done.stdout) == (stream != "1")


def test_a_wrong_command_line_is_told_as_json_too():
    done = subprocess.run(
        [*THUSFAR, "thread", "list", "--limit", "x", "--json"], capture_output=True, check=False
    )

    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "INVALID_OPTIONS"
    assert b"--limit" in done.stderr


def test_the_version_costs_little_more_than_an_interpreter():
    """The aim is 150 ms on any machine; processor time in a ratio holds on busy ones too."""

    def seconds(*words):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    bare = min(seconds("-c", "pass") for _ in range(5))
    version = min(seconds("-m", "thusfar", "--version") for _ in range(5))

    assert version <= 5 * bare, f"{version:.3f} s against {bare:.3f} s"


@needs_shared
def test_every_recorded_log_and_cassette_is_projected_and_linted(capsys):
    """Strict refuses exactly what lint finds unpaired; repaired views are paired again."""
    files = recorded(*LOGS, *(f"pydantic-ai/{wire}/*.json" for wire in WIRES))
    refused = 0
    for path in files:
        checked, linted = asked(capsys, "lint", str(path), "--json")
        told = linted["findings"] + linted["notes"]
        defective = [each for each in told if each["code"] == DEFECT]
        words = ("project", str(path), "--policy", "digest", "--messages", "8", "--json")
        status, made = asked(capsys, *words)

        assert checked == bool(linted["findings"]), path
        last = max(linted["messages"] - 1, 0)  # an empty request is found wanting at 0
        assert all(0 <= p <= last for f in told for p in f["positions"]), path
        assert all(each["fix"] and each["what"] for each in told)
        assert status == bool(defective), path
        if defective:
            refused += 1
            assert made["error"]["code"] == "INVALID_COMPOSITION"
            status, made = asked(capsys, *words, "--repair", "close")
            assert status == 0, path
        receipt = made["receipt"]
        kept = sum(end - start for start, end in receipt["kept"])
        assert len(made["messages"]) == kept + receipt["added"], path
        assert receipt["messages"] == linted["messages"], path
        assert receipt["tokens"]["confidence"] == "estimated", path
    with capsys.disabled():
        print(f"\n{len(files)} recorded files, {refused} of them refused under strict")

    assert files, "no recorded file was found"
    assert refused


@needs_shared
@pytest.mark.parametrize("wire", WIRES)
def test_a_recorded_request_of_every_wire_comes_back_whole(wire, tmp_path, capsys):
    files = recorded(f"pydantic-ai/{wire}/*.json")
    requests = []
    for path in files:
        for interaction in json.loads(path.read_text(encoding="utf-8"))["interactions"]:
            body = interaction["request"].get("body")
            if isinstance(body, dict) and body.keys() & {"messages", "input", "contents"}:
                requests.append(body)
    whole = 0
    for number, body in enumerate(requests):
        request = tmp_path / f"{number}.json"
        request.write_text(json.dumps(body), encoding="utf-8")
        status, made = asked(capsys, "project", str(request), "--policy", "exact", "--json")

        held = next(key for key in ("messages", "contents", "input") if key in body)
        assert status == 0
        assert list(made["request"]) == list(body)
        if isinstance(body[held], list):
            assert made["request"] == body
            whole += 1

    assert whole, "no request was found"


@needs_shared
@pytest.mark.parametrize("pattern", [*LOGS, *(f"pydantic-ai/{wire}/*.json" for wire in WIRES)])
def test_a_recorded_file_of_every_kind_is_shown_in_80_columns(pattern, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    path = max(recorded(pattern), key=lambda each: each.stat().st_size)

    status = main(["project", str(path), "--messages", "3", "--repair", "drop"])
    shown = capsys.readouterr().out
    main(["lint", str(path)])
    linted = capsys.readouterr().out

    assert status == 0
    assert shown.startswith("Recent history of ")
    assert "\nSent: " in shown
    assert max(map(len, (shown + linted).splitlines())) <= 80
    assert all(char == "\n" or char.isprintable() for char in shown + linted)
