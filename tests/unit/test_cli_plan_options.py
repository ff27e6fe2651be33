"""Plan options: what the words of a command line authorise."""

import pytest

from thusfar._history import history
from thusfar._options import RecentHistoryOptions
from thusfar._summarize import summarize
from thusfar.budget import InputBudget
from thusfar.cli.plan_options import WRITTEN, PlanOptions
from thusfar.cli.request_body import for_model, output_limit, output_schema
from thusfar.cli.view_options import BoundOptions
from thusfar.errors import OptionsError, TranscriptError

MESSAGES = [{"role": "user", "content": text} for text in "abcd"]
SCHEMA = {"type": "object", "properties": {"gate": {"type": "string"}}}


def policy(*, output_limit=None, bounds=None, **options):
    asked = PlanOptions(bounds=BoundOptions(**(bounds or {})), **options)
    return asked.policy_for(MESSAGES, model="gpt-4o", output_limit=output_limit)


def test_nothing_said_authorises_nothing():
    assert policy() == history.exact()
    assert policy(optimize_at=900, bounds={"max": 1_000, "counter": "estimate"}) == history.exact()


def test_a_cap_asks_for_recent_history():
    assert policy(bounds={"tokens": 900}) == history.recent(tokens=900)
    assert policy(policy="recent") == history.recent(messages=20)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"strategy": "rolling"}, history(summary=summarize.rolling())),
        ({"on_miss": "fail"}, history(on_miss="fail")),
        ({"shorten": 400}, history(shorten=400)),
        ({"policy": "managed"}, history()),
        ({"policy": "digest"}, history(summary=summarize.digest())),
        ({"policy": "digest", "strategy": "digest"}, history(summary=summarize.digest())),
    ],
)
def test_an_option_of_managed_history_asks_for_it(options, expected):
    assert policy(**options) == expected


def test_caps_are_those_of_the_exact_part_beside_a_summary():
    given = {"messages": 4, "cut": "turn", "repair": "drop"}

    assert policy(strategy="digest", bounds=given) == history(
        recent=RecentHistoryOptions(messages=4, cut="turn", repair="drop"),
        summary=summarize.digest(),
    )


def test_without_a_cap_two_fifths_of_the_limit_stand_beside_a_summary():
    """The output limit of the request is kept free in the window, as in the plan itself."""
    limited = {"repair": "close", "max": 10_000}
    whole = {"repair": "close", "counter": "o200k_base"}

    assert policy(strategy="digest", bounds=limited).options.recent.tokens == 4_000
    few = policy(strategy="digest", bounds=whole, output_limit=100_000).options.recent.tokens
    assert few == int(0.4 * (128_000 - 100_000 - 32))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"policy": "exact", "bounds": {"messages": 3}}, "got --messages"),
        ({"bounds": {"repair": "drop"}}, "got --repair"),
        ({"policy": "recent", "on_miss": "fail", "shorten": 9}, "got --on-miss, --shorten"),
        ({"policy": "exact", "summary_text": "x"}, "got --summary-text"),
        ({"policy": "digest", "strategy": "rolling"}, "another way to make a summary"),
        ({"policy": "digest", "summary_text": "x"}, "another way to make a summary"),
        ({"summary_text": "x", "strategy": "adaptive"}, "got --strategy adaptive"),
        ({"shorten": 0}, "shorten"),
    ],
)
def test_options_that_a_policy_has_no_use_for_are_refused(options, complaint):
    with pytest.raises(OptionsError, match=complaint):
        policy(**options)


def test_a_written_summary_may_be_as_long_as_it_is(tmp_path):
    file = tmp_path / "summary.txt"
    file.write_text("They sailed. " * 400, encoding="utf-8")

    made = policy(summary_text=str(file), bounds={"counter": "estimate"}).options.summary

    assert made.model.name == WRITTEN
    assert made.strategy == summarize.regenerate()
    assert made.max_tokens > 500
    assert made.attempts == 1


def test_a_summary_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "summary.bin"
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(TranscriptError, match=r"summary\.bin is no text in UTF-8"):
        policy(summary_text=str(file))
    with pytest.raises(TranscriptError, match="does not exist"):
        policy(summary_text=str(tmp_path / "nowhere.txt"))


def test_a_budget_is_made_of_what_was_given():
    assert PlanOptions().budget() is None
    assert PlanOptions(optimize_at=5).budget() == InputBudget(optimize_at=5)
    assert PlanOptions(bounds=BoundOptions(max=9)).budget() == InputBudget(max=9)
    with pytest.raises(OptionsError):
        PlanOptions(optimize_at=10, bounds=BoundOptions(max=9)).budget()


@pytest.mark.parametrize(
    "body",
    [
        {"max_completion_tokens": 700},
        {"max_tokens": 700, "messages": []},
        {"max_output_tokens": 700, "input": []},
        {"generationConfig": {"maxOutputTokens": 700}},
        {"config": {"max_output_tokens": 700}},
        {"inferenceConfig": {"maxTokens": 700}},
    ],
)
def test_the_output_limit_of_a_request_is_found_on_every_wire(body):
    assert output_limit(body) == 700


@pytest.mark.parametrize(
    "body", [{}, {"max_tokens": None}, {"max_tokens": True}, {"max_tokens": 0}, {"config": 3}]
)
def test_what_is_no_output_limit_is_none(body):
    assert output_limit(body) is None


@pytest.mark.parametrize(
    "body",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"generationConfig": {"responseJsonSchema": SCHEMA}},
        {"config": {"response_json_schema": SCHEMA}},
    ],
)
def test_the_output_schema_of_a_request_is_found_on_every_wire(body):
    assert output_schema(body) == SCHEMA
    assert output_schema({"response_format": {"type": "json_object"}}) is None


def test_a_body_names_the_model_where_its_wire_does():
    assert for_model({"model": "a", "input": []}, "b") == {"model": "b", "input": []}
    assert for_model({"modelId": "a"}, "b") == {"modelId": "b"}
    assert for_model({"contents": []}, "b") == {"contents": []}
