"""The view of a planned request: its parts add up, and every form has its reason."""

import io
import sys

import pytest

from thusfar import InputBudget, history, plan_sync, summarize
from thusfar.cli.plan_view import BAR, Part, bar, forms, parts, print_request
from thusfar.demo import transcript
from thusfar.planner.receipt import (
    Candidate,
    Inspection,
    RequestReceipt,
    SupportReceipt,
)
from thusfar.planner.receipt import HistoryEvidence as Evidence

FERRY = transcript()
LIMITS = {"max": 1_000, "optimize_at": 800, "prepare_at": 750}


def candidate(tokens, reason=None, kind="summary", **more):
    return Candidate(
        contributor=more.pop("contributor", "history"),
        representation=kind,
        tokens=tokens,
        available=True,
        selected=reason is None,
        reason=reason,
        **more,
    )


def receipt(**more):
    given = {"id": "r1", "model": "m", "input_tokens": 700, "max_input_tokens": 1_000}
    given |= {"measurement": "estimated", "tokenizer": "estimate-1"}
    return RequestReceipt(**{**given, "history": Evidence(source="none", policy="none"), **more})


def whys(*candidates, breakdown=(("history", 700),)):
    inspection = Inspection(candidates=candidates, breakdown=breakdown, limits=LIMITS)
    return [why for _, why in forms(inspection)]


@pytest.mark.parametrize(
    "policy",
    [
        history.exact(),
        history.recent(tokens=3_000),
        history(recent=history.recent(tokens=3_000), summary=summarize.digest()),
    ],
)
def test_the_parts_are_the_whole_request_largest_first(policy):
    planned = plan_sync(
        FERRY,
        model="gpt-4o",
        counter="estimate",
        policy=policy,
        system="Answer in Norwegian.",
        budget=InputBudget(max=20_000, optimize_at=7_000),
    )
    made = parts(planned.receipt, planned.inspect(), system=57)

    assert sum(part.tokens for part in made) == planned.receipt.input_tokens
    assert [part.tokens for part in made] == sorted((p.tokens for p in made), reverse=True)
    assert Part("system text", 57 + 5) in made, "the value and the messages at the head are one"


def test_a_summary_is_a_part_of_its_own():
    policy = history(recent=history.recent(tokens=3_000), summary=summarize.digest())
    planned = plan_sync(
        FERRY, model="gpt-4o", counter="estimate", policy=policy, budget=InputBudget(max=8_000)
    )

    assert parts(planned.receipt, planned.inspect(), system=57) == [
        Part("summary of 132 messages", 3_090),
        Part("history kept", 2_741),
        Part("system text", 57),
        Part("framing", 5),
    ]


def test_every_form_says_why_it_is_in_the_request_or_is_not():
    assert whys(
        candidate(1_200, "over-limit", kind="full"),
        candidate(900, "over-limit", kind="shortened"),
        candidate(700),
        candidate(600, "lower-fidelity"),
        candidate(500, "unprepared"),
        candidate(400, "unavailable"),
        candidate(300, "epoch"),
    ) == [
        "over max, 1,200 in all",
        "over optimize_at, 900 in all",
        "chosen",
        "less faithful, and not needed",
        "not made yet",
        "could not be had",
        "given up earlier in this execution",
    ]


def test_a_choice_above_the_watermark_says_so():
    assert whys(candidate(850), breakdown=(("history", 850),)) == [
        "chosen, though over optimize_at"
    ]


def test_forms_are_weighed_with_the_rest_of_the_request():
    """300 of history and 400 of tools: the full history of 900 would make 1,300."""
    chosen = (candidate(900, "over-limit", kind="full"), candidate(300))

    assert whys(*chosen, breakdown=(("tools", 400), ("history", 300)))[0] == (
        "over max, 1,300 in all"
    )


def test_a_bar_is_as_long_as_its_share_of_the_largest(monkeypatch):
    assert bar(500, 500) == "█" * BAR
    assert bar(250, 500) == "█" * (BAR // 2)
    assert bar(1, 500) == "█"
    assert bar(0, 500) == ""
    assert bar(500, 500, most=0) == ""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert bar(500, 500) == "#" * BAR


def test_bars_give_way_to_names_in_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    print_request(receipt(), Inspection(breakdown=(("house-rules", 600), ("history", 100))))

    assert capsys.readouterr().out.splitlines()[1:3] == [
        "house-rules     600   86 %  █████",
        "history         100   14 %  █",
    ]


def test_a_request_without_a_history_and_without_a_limit_is_shown(capsys):
    alone = receipt(max_input_tokens=None, cached_prefix_tokens=120)
    print_request(alone, Inspection(breakdown=(("turn", 690), ("framing", 10))))

    assert capsys.readouterr().out == (
        "part          tokens  share\n"
        "current turn     690   99 %  ████████████████████████████\n"
        "framing           10    1 %  █\n"
        "\n"
        "Total: 700 input tokens (estimate-1, estimated)\n"
        "120 tokens at the head equal the request before\n"
        "\n"
        "form  tokens  why\n"
    )


def test_support_calls_are_listed_with_what_came_of_them(capsys):
    calls = tuple(
        SupportReceipt(id=f"r1.{n}", model="small", purpose="segment", input_tokens=900, **more)
        for n, more in enumerate(({"output_tokens": 80}, {"outcome": "timed-out", "attempt": 2}))
    )
    print_request(receipt(), Inspection(support=calls))

    assert capsys.readouterr().out.endswith(
        "\nSupport calls\n"
        "  small: segment, 900 in, 80 out, answered\n"
        "  small: segment, 900 in, no answer, timed-out\n"
    )


def test_very_many_parts_forms_and_calls_are_counted(capsys):
    many = Inspection(
        breakdown=tuple((f"note {n}", 100 - n) for n in range(40)),
        candidates=tuple(candidate(9, contributor=f"note {n}") for n in range(40)),
        support=tuple(
            SupportReceipt(id=f"s{n}", model="small", purpose="source", input_tokens=9)
            for n in range(40)
        ),
    )
    print_request(receipt(), many)
    shown = capsys.readouterr().out

    assert "\n24 more  " in shown
    assert "see --json for every form" in shown
    assert "\n  24 more, see --json\n" in shown
    assert len(shown.splitlines()) < 70


def test_names_of_contributors_never_control_a_terminal(capsys):
    evil = Inspection(
        breakdown=(("\x1b[2J", 5),), candidates=(candidate(5, contributor="\x1b[2J"),)
    )
    print_request(receipt(), evil)

    assert "\x1b" not in capsys.readouterr().out
