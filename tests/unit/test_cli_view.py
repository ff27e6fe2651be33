"""The view for people: every message has one fate, and the tokens add up."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar import sources
from thusfar._history import history
from thusfar._setting import Setting
from thusfar._summarize import summarize
from thusfar.budget import InputBudget
from thusfar.cli.view import MOST_ROWS, Row, place, print_view, view_rows
from thusfar.demo import transcript

FERRY = transcript()
SENT = ("system", "opener", "pinned", "sent", "repaired", "fixed")


def ask(number):
    return {"role": "user", "content": f"Question {number}?"}


def answer(number):
    return {"role": "assistant", "content": f"Answer {number}."}


def call(name):
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name):
    return {"role": "tool", "tool_call_id": name, "content": f"seen {name}"}


TALK = [
    {"role": "system", "content": "Be brief."},
    *(each for number in range(4) for each in (ask(number), answer(number))),
    ask(9),
    call("c1"),
    result("c1"),
    call("c2"),
    result("c2"),
    answer(9),
]


def rows(policy, messages, **setting):
    loaded = sources.load(messages)
    wanted = Setting(dialect=loaded.dialect, **setting)
    projection = policy.project(
        messages, dialect=loaded.dialect, budget=wanted.budget, system=wanted.system
    ).measured()
    return projection, list(view_rows(projection, loaded, wanted))


def printed(policy, messages, capsys, **setting):
    loaded = sources.load(messages)
    projection = policy.project(messages, **setting).measured()
    print_view(projection, loaded, Setting(dialect=loaded.dialect, **setting))
    return capsys.readouterr().out


def test_a_recent_view_says_what_was_left_out_and_why():
    _, made = rows(history.recent(messages=8), TALK)

    assert made == [
        Row("0", "system", 1, 7, "system messages at the start, always sent"),
        Row("1–6", "left out", 6, 48, "older than what fits 8 messages"),
        Row("7–14", "sent", 8, 58, "newest within 8 messages, cut by turn"),
    ]


def test_an_opener_and_a_pin_are_rows_of_their_own():
    pinned = history.recent(messages=2, cut="exchange", pinned=lambda m: m is TALK[3])
    _, made = rows(pinned, TALK)

    assert [(row.place, row.what) for row in made] == [
        ("0", "system"),
        ("1–2", "left out"),
        ("3", "pinned"),
        ("4–8", "left out"),
        ("9", "opener"),
        ("10–13", "left out"),
        ("14", "sent"),
    ]


def test_a_digest_has_a_row_for_itself():
    policy = history(recent=history.recent(messages=6), summary=summarize.digest())
    projection, made = rows(policy, FERRY, budget=InputBudget(max=9_000))

    assert [row.what for row in made] == ["system", "digest", "sent", "digest"]
    assert made[-1].place == ""
    assert made[-1].tokens == projection.receipt.summary_tokens
    assert made[-1].why == "one line an exchange, for 1–186"


def test_what_a_repair_leaves_out_and_adds_is_shown():
    broken = [ask(0), call("c1"), ask(1), result("c9"), answer(1)]
    _, dropped = rows(history.recent(messages=9, repair="drop"), broken)
    _, closed = rows(history.recent(messages=9, repair="close"), broken)

    assert [(row.place, row.what) for row in dropped] == [
        ("0", "sent"),
        ("1", "dropped"),
        ("2", "sent"),
        ("3", "dropped"),
        ("4", "sent"),
    ]
    assert [(row.place, row.what, row.messages) for row in closed] == [
        ("0–2", "sent", 3),
        ("3", "dropped", 1),
        ("4", "sent", 1),
        ("", "repaired", 1),
    ]


def test_system_text_and_framing_outside_the_list_have_a_row():
    _, made = rows(history.exact(), TALK, system="You know every harbour.")

    assert made[-1] == Row("", "fixed", 0, 5, "system, tools and framing outside the list")


@settings(max_examples=40)
@given(
    cap=st.integers(1, 40),
    tokens=st.none() | st.integers(1, 3_000),
    cut=st.sampled_from(["auto", "turn", "exchange"]),
    pins=st.sets(st.integers(0, len(FERRY) - 1), max_size=4),
    digest=st.booleans(),
)
def test_every_message_has_one_row_and_the_tokens_add_up(cap, tokens, cut, pins, digest):
    pinned = {id(FERRY[position]) for position in pins}
    recent = history.recent(messages=cap, tokens=tokens, cut=cut, pinned=lambda m: id(m) in pinned)
    policy = history(recent=recent, summary=summarize.digest()) if digest else recent
    projection, made = rows(policy, FERRY, system="Outside the list.")

    placed = [row for row in made if row.place]
    covered = [int(n) for row in placed for n in (row.place.split("–") * 2)[:2]]
    starts, ends = covered[0::2], covered[1::2]
    assert starts[0] == 0
    assert ends[-1] == len(FERRY) - 1
    assert starts[1:] == [end + 1 for end in ends[:-1]], "a gap or an overlap"
    assert sum(row.messages for row in placed) == len(FERRY)
    sent = [row for row in made if row.what in SENT or (row.what == "digest" and not row.place)]
    assert sum(row.tokens for row in sent) == projection.receipt.tokens.tokens
    assert sum(row.messages for row in sent) == len(projection.messages)


def test_the_whole_picture_is_printed(capsys):
    out = printed(history.recent(messages=3), TALK, capsys)

    assert out == (
        "Recent history of 15 messages (openai-chat)\n"
        "\n"
        "positions  what      messages  tokens  why\n"
        "0          system           1       7  system messages at the start, always sent\n"
        "1–8        left out         8      64  older than what fits 3 messages\n"
        "9          opener           1       8  opened the newest turn; outside the caps\n"
        "10–11      left out         2      13  older than what fits 3 messages\n"
        "12–14      sent             3      21  newest within 3 messages, cut by exchange\n"
        "\n"
        "Sent: 5 messages, 36 tokens (estimate-1, estimated)\n"
        "The conversation begins at 9, user: Question 9?\n"
        "\n"
        "Warnings\n"
        "  HISTORY_OPENER_OUTSIDE_CAP: messages 1\n"
        "    The user input that opened the newest turn was added outside the caps.\n"
    )


def test_repairs_are_listed_by_position(capsys):
    broken = [ask(0), call("c\x1b1"), ask(1), result("c9"), answer(1)]

    out = printed(history.recent(messages=9, repair="drop"), broken, capsys)

    assert "\nRepairs\n  dropped 1: unanswered-call (c\\e1)\n  dropped 3: orphan-result (c9)" in out


def test_of_very_many_rows_and_repairs_the_rest_is_counted(capsys):
    many = [each for number in range(60) for each in (ask(number), call(f"c{number}"))]

    out = printed(history.recent(messages=200, repair="drop"), [*many, ask(1)], capsys)

    assert "81 more" in out
    assert "… 48 more, see --json" in out
    assert len(re.findall(r"^\d+ +(?:sent|dropped)", out, re.MULTILINE)) == MOST_ROWS


def test_an_empty_transcript_is_shown_as_one(capsys):
    out = printed(history.recent(3), [], capsys)

    assert out.startswith("Recent history of 0 messages (openai-chat)\n")
    assert "Sent: 0 messages, 0 tokens" in out


@pytest.mark.parametrize(
    ("policy", "title"),
    [
        (history.exact(), "Exact history of 15 messages"),
        (history.recent(tokens=1), "Recent history of 15 messages"),
        (history(summary=summarize.digest()), "Full history (a digest was not needed) of 15"),
    ],
)
def test_the_title_names_the_policy(policy, title, capsys):
    assert printed(policy, TALK, capsys).startswith(title)


def test_the_limit_is_stated(capsys):
    out = printed(history.recent(messages=3), TALK, capsys, budget=InputBudget(max=4_000))

    assert "Sent: 5 messages, 36 tokens (estimate-1, estimated), of at most 4,000\n" in out


def test_a_place_has_both_its_ends():
    assert [place((0, 1)), place((3, 9))] == ["0", "3–8"]
