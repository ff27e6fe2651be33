"""Hostile transcripts end in a typed error or a right answer, for work linear in their size."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thusfar import HistoryError, history, summarize

USER = {"role": "user", "content": "hi"}
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "text",
                    "tool_calls",
                    "id",
                    "function",
                    "name",
                    "parts",
                    "arguments",
                    "tool_call_id",
                    "call_id",
                    "tool_use_id",
                    "input",
                    "toolUse",
                    "kind",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)
ROLES = st.sampled_from(["user", "assistant", "tool", "system", "model", "function", "developer"])
NEARLY = st.dictionaries(
    st.sampled_from(
        ["content", "tool_calls", "tool_call_id", "name", "parts", "type", "function_call", "kind"]
    ),
    ANYTHING,
    max_size=4,
)


def call(*ids):
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids
        ],
    }


def result(call_id):
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


@given(
    st.lists(ANYTHING | st.builds(lambda r, rest: {"role": r, **rest}, ROLES, NEARLY), max_size=4)
)
@settings(max_examples=400, deadline=None)
def test_wrong_types_anywhere_end_in_a_typed_error_or_a_view(messages):
    for policy in (
        history.recent(3),
        history.recent(tokens=50, repair="drop"),
        history(recent=history.recent(1, repair="close"), summary=summarize.digest()),
    ):
        try:
            policy.project(messages)
        except HistoryError:
            continue


def lines_run(policy, messages):
    """Count the lines of Python that a projection runs: the same on every machine."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        policy.project(messages)
    except HistoryError:
        pass
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "make",
    [
        lambda n: [USER, call(*(f"c{i}" for i in range(n))), *(result(f"c{i}") for i in range(n))],
        lambda n: [USER, call(*("same" for _ in range(n))), *(result("same") for _ in range(n))],
        lambda n: [m for _ in range(n // 3) for m in (call("c"), result("c"), result("c"))],
        lambda n: [result(f"c{i}") for i in range(n)],
        lambda n: [call(f"c{i}") for i in range(n)],
        lambda n: [{"role": "system", "content": "s"}] * n,
        lambda n: [USER, call("c"), *([USER] * n), result("c")],
        lambda n: [USER] * n,
    ],
    ids=[
        "parallel calls",
        "one id for all",
        "duplicates",
        "orphans",
        "never answered",
        "all system",
        "all inside one exchange",
        "all user",
    ],
)
@pytest.mark.parametrize("repair", ["strict", "drop", "close"])
def test_the_work_grows_with_the_size_and_not_with_its_square(make, repair):
    small, large = make(150), make(1_500)

    for policy in (history.recent(5, repair=repair), history.recent(tokens=40_000, repair=repair)):
        ratio = lines_run(policy, large) / lines_run(policy, small)
        assert ratio < 40, f"ten times the size ran {ratio:.0f} times as many lines"


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "\ud800",
        "\udfff\ud800",
        "שלום\u202e",
        "e\u0301" * 50,
        "👩‍👩‍👧‍👦",
        "\u2028",
        "<|im_start|>",
    ],
)
def test_no_text_breaks_a_projection(text):
    talk = [
        {"role": "user", "content": text, "name": "n"},
        {"role": "assistant", "content": text, "tool_calls": call(text or "x")["tool_calls"]},
        result(text),
        {"role": "assistant", "content": text},
        {"role": "user", "content": text},
    ]

    for policy in (
        history.recent(2),
        history.recent(tokens=10),
        history(recent=1, summary=summarize.digest(line_max_chars=40)),
    ):
        projection = policy.project(talk).measured()
        assert talk[-1] in projection.messages
        assert projection.receipt.tokens.tokens > 0


def test_one_message_of_ten_megabytes_is_counted_and_kept_whole():
    huge = {"role": "user", "content": "lorem ipsum " * 900_000}

    projection = history.recent(tokens=100).project(
        [USER, {"role": "assistant", "content": "a"}, huge]
    )

    assert projection.messages == [huge]
    assert "HISTORY_CAP_OVERFLOW" in [w.code for w in projection.receipt.warnings]


def test_a_huge_id_and_a_deep_argument_are_only_text():
    deep = "[" * 200_000
    talk = [USER, call("x" * 1_000_000), result("x" * 1_000_000)]
    talk[1]["tool_calls"][0]["function"]["arguments"] = deep

    view = history(recent=1, summary=summarize.digest()).project([*talk, USER]).messages

    assert view[-1] is USER
    assert deep not in str(view[:-1])[:5000]
