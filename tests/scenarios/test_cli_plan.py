"""Planning as its users do it: as processes, and over recorded requests and session logs."""

import json
import subprocess
import sys

import pytest

from shared_data import SHARED, needs_shared
from thusfar import InputBudget, Runtime, history, plan_sync, sources, summarize
from thusfar.cli import main
from thusfar.cli.findings import find
from thusfar.demo import transcript
from thusfar.dialects import dialect
from thusfar.dialects.rules import Wire
from thusfar.storage import open_store

THUSFAR = (sys.executable, "-m", "thusfar")
LOGS = ("claude-code-log/*.jsonl", "entire-sessions/*/*.json*", "pi-mono/*.json*")
WIRES = ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse")
HELD = ("messages", "contents", "input")
MOST = 3_000  # the tool definitions of a few recorded requests alone are larger


def ran(*words, stdin=b""):
    return subprocess.run([*THUSFAR, *words], input=stdin, capture_output=True, check=False)


def recorded(*patterns):
    """List the recorded files that match; none at all is a failure of the test that asks."""
    assert SHARED is not None
    return sorted(path for pattern in patterns for path in (SHARED / "data").glob(pattern))


def asked(capsys, *words):
    status = main(words)
    return status, json.loads(capsys.readouterr().out)


def lacks_model(path):
    return sources.load(path.read_bytes()).model is None


def words_for(path, *more):
    named = ("--model", "gpt-4o") if lacks_model(path) else ()
    return ("plan", str(path), "--counter", "estimate", *named, *more)


def complaints(loaded, messages):
    """Name what a provider would refuse about a list of messages, in its request."""
    wire = Wire(messages=tuple(messages), system=loaded.system, tools=loaded.tools)
    return {each.name for each in find(wire.messages, dialect(loaded.dialect), wire).findings}


def test_a_request_is_refused_planned_checked_and_planned_again(tmp_path):
    ferry = tmp_path / "ferry.json"
    ferry.write_text(json.dumps(transcript()), encoding="utf-8")
    words = ("plan", str(ferry), "--model", "gpt-4o", "--counter", "estimate", "--max", "8000")

    refused = ran(*words)
    needs_model = ran(*words, "--strategy", "adaptive")
    digest = ran(*words, "--tokens", "3000", "--strategy", "digest", "--json")
    checked = ran("lint", "-", stdin=digest.stdout)
    again = ran("plan", "-", "--counter", "estimate", "--max", "8000", stdin=digest.stdout)

    assert (refused.returncode, needs_model.returncode) == (1, 1)
    assert b"[REQUEST_TOO_LARGE]" in refused.stderr
    assert b"--strategy digest, which needs no model" in needs_model.stderr
    assert (digest.returncode, digest.stderr) == (0, b"")
    assert (checked.returncode, checked.stderr) == (0, b"")
    assert "Total: 5,893 input tokens" in again.stdout.decode()


def test_a_receipt_outlives_the_process_that_planned_the_request(tmp_path):
    url = f"sqlite:///{tmp_path / 'chat.db'}"
    store = open_store(url)
    try:
        planned = plan_sync(
            transcript(),
            model="gpt-4o",
            counter="estimate",
            policy=history(recent=history.recent(tokens=3_000), summary=summarize.digest()),
            budget=InputBudget(max=8_000),
            runtime=Runtime(store),
        )
        while_open = ran("receipts", planned.receipt.id, "--store", url, "--json")
    finally:
        store.close()
    told = ran("receipts", planned.receipt.id, "--store", url)

    assert json.loads(while_open.stdout)["receipt"]["id"] == planned.receipt.id
    assert (told.returncode, told.stderr) == (0, b"")
    assert "summary of 132 messages   3,090" in told.stdout.decode()


@needs_shared
def test_every_recorded_log_and_cassette_is_planned_within_its_maximum(capsys):
    """What is refused is too large even as a digest; what is planned is as legal as it was."""
    files = recorded(*LOGS, *(f"pydantic-ai/{wire}/*.json" for wire in WIRES))
    counts = {"full": 0, "shortened": 0, "summary": 0, "refused": 0}
    for path in files:
        more = ("--max", str(MOST), "--strategy", "digest", "--repair", "close", "--shorten", "300")
        status, made = asked(capsys, *words_for(path, *more, "--json"))
        if status:
            counts["refused"] += 1
            assert made["error"]["code"] == "REQUEST_TOO_LARGE", path
            continue
        receipt, inspection = made["receipt"], made["inspection"]
        adapted = [each["representation"] for each in receipt["adaptations"]]
        counts[adapted[0] if adapted else "full"] += 1
        chosen = [each for each in inspection["candidates"] if each["selected"]]
        messages = next(made["request"][key] for key in HELD if key in made["request"])

        assert receipt["input_tokens"] <= MOST, path
        assert receipt["input_tokens"] == sum(size for _, size in inspection["breakdown"]), path
        assert len(chosen) == 1, path
        loaded = sources.load(path.read_bytes())
        if messages and loaded.dialect != "thusfar":
            assert complaints(loaded, messages) <= complaints(loaded, loaded.messages), path
    with capsys.disabled():
        print(f"\n{len(files)} recorded files: {counts}")

    assert files, "no recorded file was found"
    assert all(counts.values()), "every outcome is in the recorded files"


@needs_shared
@pytest.mark.parametrize("wire", WIRES)
def test_a_recorded_request_of_every_wire_comes_back_whole(wire, tmp_path, capsys):
    whole = 0
    for path in recorded(f"pydantic-ai/{wire}/*.json"):
        for interaction in json.loads(path.read_text(encoding="utf-8"))["interactions"]:
            body = interaction["request"].get("body")
            if not isinstance(body, dict):
                continue
            held = next((key for key in HELD if isinstance(body.get(key), list)), None)
            if held is None:
                continue
            request = tmp_path / f"{whole}.json"
            request.write_text(json.dumps(body), encoding="utf-8")
            status, made = asked(capsys, *words_for(request, "--json"))

            assert status == 0, path
            assert list(made["request"]) == list(body)
            assert {**made["request"], "model": None} == {**body, "model": None}
            whole += 1

    assert whole, "no request was found"


@needs_shared
@pytest.mark.parametrize("pattern", [*LOGS, *(f"pydantic-ai/{wire}/*.json" for wire in WIRES)])
def test_a_recorded_file_of_every_kind_is_planned_in_80_columns(pattern, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    path = max(recorded(pattern), key=lambda each: each.stat().st_size)

    status = main([*words_for(path, "--strategy", "digest", "--repair", "close")])
    shown = capsys.readouterr().out

    assert status == 0
    assert shown.startswith("A request to ")
    assert "\nTotal: " in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert all(char == "\n" or char.isprintable() for char in shown)
