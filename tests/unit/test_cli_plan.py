"""`thusfar plan` and `thusfar receipts`: from a command line to a request, or to a refusal."""

import io
import json
import sys

import pytest

from thusfar import InputBudget, Runtime, context, history, plan_sync
from thusfar.cli import main
from thusfar.demo import transcript
from thusfar.storage import open_store

ASK = {"role": "user", "content": "Weather in Oslo?"}
SAID = {"role": "assistant", "content": "3 C"}
SCHEMA = {"type": "object", "properties": {"degrees": {"type": "integer"}}}
FERRY = ("--model", "gpt-4o", "--counter", "estimate", "--max", "8000")
DIGEST = (*FERRY, "--tokens", "3000", "--strategy", "digest")


@pytest.fixture
def ferry(tmp_path):
    path = tmp_path / "ferry.json"
    path.write_text(json.dumps(transcript()), encoding="utf-8")
    return str(path)


def asked(capsys, *words):
    status = main(words)
    said = capsys.readouterr()
    return status, said.out, said.err


def planned(capsys, *words):
    status, out, err = asked(capsys, "plan", *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def given_on_stdin(monkeypatch, value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_plan_shows_parts_history_forms_limits_and_warnings(ferry, capsys):
    status, out, err = asked(capsys, "plan", ferry, *DIGEST)

    assert (status, err) == (0, "")
    assert out == (
        "A request to gpt-4o that fits\n"
        "\n"
        "part                     tokens  share\n"
        "summary of 132 messages   3,090   52 %  ████████████████████████████\n"
        "history kept              2,741   47 %  █████████████████████████\n"
        "system text                  57    1 %  █\n"
        "framing                       5    0 %  █\n"
        "\n"
        "Total: 5,893 input tokens (estimate-1, estimated), 2,107 left\n"
        "Limits: max 8,000, optimize_at 6,400, prepare_at 6,000\n"
        "Window: 128,000, less 16,416 for the answer and overhead, 20 % margin\n"
        "\n"
        "History: managed, 192 messages (openai-chat)\n"
        "  kept           60  0, 133–191\n"
        "  summarised    132  1–132\n"
        "\n"
        "form                              tokens  why\n"
        "history: full                     10,346  over max, 10,351 in all\n"
        "history: summary of 132 messages   5,888  chosen\n"
        "history: summary of 132 messages   4,580  less faithful, and not needed\n"
        "history: summary of 132 messages   3,827  less faithful, and not needed\n"
        "history: summary of 132 messages   3,676  less faithful, and not needed\n"
    )


def test_planned_json_is_the_request_its_receipt_and_its_inspection(ferry, capsys):
    made = planned(capsys, ferry, *DIGEST)

    assert list(made) == ["request", "receipt", "inspection"]
    assert list(made["request"]) == ["model", "messages"]
    assert made["request"]["messages"][0] == transcript()[0]
    assert made["request"]["messages"][2:] == transcript()[133:]
    assert made["receipt"]["input_tokens"] == 5_893
    assert made["receipt"]["history"]["view"]["summarised"] == [[1, 133]]
    assert made["inspection"]["breakdown"] == [["history", 5_888], ["framing", 5]]
    assert made["inspection"]["limits"]["optimize_at"] == 6_400


def test_the_watermark_alone_brings_a_digest(ferry, capsys):
    words = ("--model", "gpt-4o", "--counter", "estimate", "--strategy", "digest")
    full = planned(capsys, ferry, *words)
    marked = planned(capsys, ferry, *words, "--optimize-at", "9000", "--messages", "60")

    assert full["receipt"]["adaptations"] == []
    assert [each["representation"] for each in marked["receipt"]["adaptations"]] == ["summary"]
    assert marked["receipt"]["input_tokens"] < 9_000


def test_nothing_is_left_out_unless_it_was_allowed(ferry, capsys):
    status, out, err = asked(capsys, "plan", ferry, *FERRY)

    assert (status, out) == (1, "")
    assert "[REQUEST_TOO_LARGE]" in err.replace("\n    ", " ")
    assert "  LARGEST_REQUIRED_CONTRIBUTOR: history took at least 10,346 tokens.\n" in err


def test_a_strategy_that_needs_a_model_says_so(ferry, capsys):
    status, out, err = asked(capsys, "plan", ferry, *FERRY, "--strategy", "adaptive", "--json")

    told = err.replace("\n    ", " ")
    assert status == 1
    assert json.loads(out)["error"]["code"] == "REPRESENTATION_UNAVAILABLE"
    assert "[REPRESENTATION_UNAVAILABLE]" in told
    assert "on the command line: Pass --strategy digest, which needs no model," in told


def test_without_a_model_the_newest_part_alone_is_sent_only_where_that_is_allowed(ferry, capsys):
    words = (*FERRY, "--strategy", "rolling", "--messages", "9")
    made = planned(capsys, ferry, *words, "--on-miss", "recent-only")
    status, out, _ = asked(capsys, "plan", ferry, *words, "--on-miss", "recent-only")

    assert asked(capsys, "plan", ferry, *words, "--on-miss", "fail")[0] == 1
    assert [each["code"] for each in made["receipt"]["warnings"]] == ["HISTORY_RECENT_ONLY"]
    assert status == 0
    assert "\nhistory: older part omitted " in out


def test_a_summary_that_was_written_already_stands_for_the_older_part(ferry, tmp_path, capsys):
    summary = tmp_path / "summary.txt"
    summary.write_text("Fares were settled; receipts go by letter.", encoding="utf-8")
    words = (ferry, *FERRY, "--tokens", "3000", "--summary-text", str(summary))
    made = planned(capsys, *words)
    _, out, _ = asked(capsys, "plan", *words)

    said = made["request"]["messages"][1]
    assert said["role"] == "assistant"
    assert "Fares were settled; receipts go by letter." in said["content"]
    assert made["request"]["messages"][2:] == transcript()[133:]
    assert made["inspection"].get("support", []) == [], "no model was called"
    assert "support" not in made["receipt"] or made["receipt"]["support"] == []
    assert all(not each.get("support") for each in made["receipt"]["adaptations"])
    assert made["receipt"]["warnings"] == []
    assert "Support calls" not in out
    assert "HISTORY_SUMMARY_INLINE" not in out


def test_a_written_summary_that_is_empty_is_refused_with_its_cause(ferry, tmp_path, capsys):
    empty = tmp_path / "empty.txt"
    empty.write_text("", encoding="utf-8")

    words = ("plan", ferry, *FERRY, "--summary-text", str(empty), "--json")
    status, out, err = asked(capsys, *words)

    assert status == 1
    assert json.loads(out)["error"]["cause"] == {
        "code": "SUMMARY_FAILED",
        "message": "The summary model answered with no text, in attempt 1 of 1.",
    }
    assert (
        "  cause: The summary model answered with no text, in attempt 1 of 1. [SUMMARY_FAILED]"
    ) in err.replace("\n    ", " ")


def test_stdin_is_read_for_one_thing_only(monkeypatch, capsys):
    given_on_stdin(monkeypatch, transcript())
    status, _, err = asked(capsys, "plan", "-", *FERRY, "--summary-text", "-")

    assert status == 2
    assert "were to be read from stdin" in err


def test_the_model_is_that_of_the_file_unless_another_is_named(monkeypatch, capsys):
    body = {"model": "gpt-4o", "messages": [ASK], "temperature": 0}
    given_on_stdin(monkeypatch, body)
    own = planned(capsys, "-")
    given_on_stdin(monkeypatch, body)
    other = planned(capsys, "-", "--model", "gpt-5")
    given_on_stdin(monkeypatch, [ASK])
    status, _, err = asked(capsys, "plan", "-")

    assert own["request"] == body
    assert own["receipt"]["model"] == "gpt-4o"
    assert other["request"] == {**body, "model": "gpt-5"}
    assert status == 2
    assert "fix: Pass --model with the name of the model" in err.replace("\n    ", " ")


def test_the_whole_body_of_a_request_counts_and_comes_back(monkeypatch, capsys):
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9_000,
        "system": "Be brief.",
        "messages": [ASK, SAID, ASK],
        "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "metadata": {"user_id": "u1"},
    }
    given_on_stdin(monkeypatch, body)
    made = planned(capsys, "-", "--counter", "estimate")

    parts = {name for name, tokens in made["inspection"]["breakdown"] if tokens}
    assert made["request"] == body
    assert list(made["request"]) == list(body)
    assert parts == {"history", "tools", "system", "schema", "framing"}
    assert made["inspection"]["limits"]["reserve"] == 9_000


def test_a_summary_goes_into_a_user_message_where_the_wire_wants_one_first(monkeypatch, capsys):
    talk = [{"role": "user", "content": f"Question {n}? " + "word " * 300} for n in range(8)]
    talk = [each for ask in talk for each in (ask, SAID)] + [ASK]
    body = {"model": "claude-sonnet-4-5", "system": "Be brief.", "messages": talk}
    given_on_stdin(monkeypatch, body)
    words = ("--counter", "estimate", "--max", "1500", "--policy", "digest", "--messages", "3")
    made = planned(capsys, "-", *words)

    messages = made["request"]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"][0]["text"].startswith("<history-summary strategy=")
    assert messages[1:] == [SAID, ASK]


def test_what_was_planned_can_be_checked_and_planned_again(ferry, monkeypatch, capsys):
    first = planned(capsys, ferry, *DIGEST)
    given_on_stdin(monkeypatch, first)
    checked = asked(capsys, "lint", "-")
    given_on_stdin(monkeypatch, first)
    again = planned(capsys, "-", "--counter", "estimate")

    assert checked[0] == 0
    assert checked[1].startswith("61 messages: ")
    assert again["request"]["messages"] == first["request"]["messages"]
    assert again["receipt"]["model"] == "gpt-4o"


def test_a_session_of_our_own_messages_comes_out_in_their_json_form(monkeypatch, capsys):
    message = {"role": "user", "content": [{"type": "text", "text": "Hi"}], "timestamp": 1}
    given_on_stdin(monkeypatch, {"type": "message", "message": message, "timestamp": "t"})

    made = planned(capsys, "-", "--model", "gpt-4o", "--counter", "estimate")

    assert made["request"]["messages"] == [
        {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("--tokens", "0"),
        ("--optimize-at", "9000"),
        ("--shorten", "0"),
        ("--dialect", "morse"),
        ("--counter", "abacus"),
        ("--policy", "recent", "--strategy", "digest"),
        ("--messages", "3", "--policy", "exact"),
    ],
)
def test_an_option_out_of_its_range_exits_with_2_and_its_code(words, ferry, capsys):
    status, out, err = asked(capsys, "plan", ferry, "--model", "gpt-4o", "--max", "8000", *words)

    assert (status, out) == (2, "")
    assert "[INVALID_OPTIONS]" in err.replace("\n    ", " ")


@pytest.fixture
def kept(tmp_path):
    """Keep the receipt of one request in a database; give its URL and the planned request."""
    url = f"sqlite:///{tmp_path / 'chat.db'}"
    store = open_store(url)
    try:
        planned = plan_sync(
            transcript(),
            model="gpt-4o",
            counter="estimate",
            use=[history.recent(tokens=3_000), context("house-rules", "Prices in kroner. " * 9)],
            budget=InputBudget(max=8_000),
            runtime=Runtime(store),
        )
    finally:
        store.close()
    return url, planned


def test_a_stored_request_is_shown_in_another_process(kept, capsys):
    url, planned = kept
    status, out, err = asked(capsys, "receipts", planned.receipt.id, "--store", url)

    assert (status, err) == (0, "")
    assert out.startswith(f"Request {planned.receipt.id} to gpt-4o\n\npart ")
    assert "\nhouse-rules " in out
    assert "\n  left out      132  1–132\n" in out
    assert "\nhouse-rules: full " in out
    assert out.count("HISTORY_CAUSAL_BOUNDARY") == 1
    assert max(map(len, out.splitlines())) <= 80


def test_a_stored_request_as_json_is_its_receipt_and_inspection(kept, capsys):
    url, planned = kept
    status, out, _ = asked(capsys, "receipts", planned.receipt.id, "--store", url, "--json")

    made = json.loads(out)
    assert status == 0
    assert list(made) == ["receipt", "inspection"]
    assert made["receipt"] == json.loads(json.dumps(planned.receipt.to_json()))
    assert made["inspection"]["breakdown"][0] == ["history", 2_798]


def test_a_receipt_that_is_not_kept_exits_with_1(kept, tmp_path, capsys):
    url, _ = kept
    nowhere = f"sqlite:///{tmp_path / 'nowhere.db'}"

    for words, code in (
        (("receipts", "request_0", "--store", url), "REQUEST_INSPECTION_UNAVAILABLE"),
        (("receipts", "request_0", "--store", nowhere), "STORAGE_UNAVAILABLE"),
    ):
        status, out, err = asked(capsys, *words)
        assert (status, out) == (1, "")
        assert f"[{code}]" in err.replace("\n    ", " ")
    assert not (tmp_path / "nowhere.db").exists()


@pytest.mark.parametrize("words", [(), ("--store", "chat.db"), ("--store", "memory:")])
def test_what_is_no_store_exits_with_2(words, monkeypatch, capsys):
    monkeypatch.delenv("THUSFAR_STORE", raising=False)

    status, out, err = asked(capsys, "receipts", "request_0", *words)

    assert (status, out) == (2, "")
    assert "fix: " in err


def test_a_model_may_be_named_that_makes_the_missing_summary(ferry, monkeypatch, capsys):
    pytest.importorskip("openai")
    from thusfar.testing.loopback import LoopbackServer

    with LoopbackServer("Fares were settled; receipts go by letter.") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai-chat"))
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        words = (ferry, *FERRY, "--tokens", "3000", "--strategy", "regenerate")
        made = planned(capsys, *words, "--summary-model", "openai-chat:gpt-5-mini")
        _, out, _ = asked(capsys, "plan", *words, "--summary-model", "openai-chat:gpt-5-mini")
        requests = len(server.requests)

    assert requests == 2
    assert "Fares were settled" in made["request"]["messages"][1]["content"]
    assert [each["model"] for each in made["inspection"]["support"]] == ["gpt-5-mini"]
    assert made["receipt"]["warnings"][0]["code"] == "HISTORY_SUMMARY_INLINE"
    assert "Support calls\n  gpt-5-mini: segment" in out


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("--summary-model", "gpt-5"), "Write provider:model, with one of these providers"),
        (("--summary-model", "nobody:x"), "Write provider:model"),
        (("--summary-model", "local", "--strategy", "digest"), "Leave --summary-model out"),
        (("--summary-model", "local", "--policy", "digest"), "Pass --policy managed"),
        (("--summary-model", "local", "--policy", "recent"), "Leave these out"),
    ],
)
def test_a_model_that_cannot_be_meant_is_refused_with_the_way_out(words, fix, ferry, capsys):
    status, out, err = asked(capsys, "plan", ferry, *FERRY, *words)

    assert (status, out) == (2, "")
    assert fix in err.replace("\n    ", " ")


def test_a_model_without_a_name_is_none(ferry, capsys):
    status, _, err = asked(capsys, "plan", ferry, "--model", "")

    assert status == 2
    assert "Pass --model with the name" in err.replace("\n    ", " ")


def test_a_summary_is_written_already_or_made_by_a_model(ferry, tmp_path, capsys):
    summary = tmp_path / "summary.txt"
    summary.write_text("Fares were settled.", encoding="utf-8")
    both = ("--summary-text", str(summary), "--summary-model", "local")

    assert asked(capsys, "plan", ferry, *FERRY, *both)[0] == 2
