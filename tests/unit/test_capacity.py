"""Model capacities: the table, names, overrides and the stand-in for unknown models."""

from __future__ import annotations

from datetime import date

import pytest

from thusfar.capacity import UNKNOWN, ModelCapacity, canonical_name, capacity_of
from thusfar.capacity_table import (
    COMPARED_WITH,
    CONFIRMED,
    PAGES_DATE,
    ROWS,
    SOURCES,
    TABLE_DATE,
    UNCONFIRMED,
)
from thusfar.errors import OptionsError
from thusfar.tokens.factors import RATIOS


@pytest.mark.parametrize(
    ("model", "window", "tokenizer", "vendor"),
    [
        ("gpt-5", 400_000, "o200k_base", "openai"),
        ("gpt-5-2025-08-07", 400_000, "o200k_base", "openai"),
        ("gpt-5-mini", 400_000, "o200k_base", "openai"),
        ("gpt-5-chat-latest", 128_000, "o200k_base", "openai"),
        ("gpt-5.4", 1_050_000, "o200k_base", "openai"),
        ("gpt-5.4-mini-2026-03-17", 400_000, "o200k_base", "openai"),
        ("gpt-6-sol", 1_050_000, "openai-6", "openai"),
        ("gpt-4.1-nano", 1_047_576, "o200k_base", "openai"),
        ("gpt-4o-mini-2024-07-18", 128_000, "o200k_base", "openai"),
        ("chatgpt-4o-latest", 128_000, "o200k_base", "openai"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144, "qwen-3", "qwen"),
        ("qwen3-30b-a3b-thinking-2507", 262_144, "qwen-3", "qwen"),
        ("deepseek-v2.5", 131_072, "deepseek-v3", "deepseek"),
        ("deepseek-v2-lite-chat", 32_768, "deepseek-v3", "deepseek"),
        ("gemini-live-2.5-flash-native-audio", 128_000, "gemini", "google"),
        ("o1-pro", 200_000, "o200k_base", "openai"),
        ("o1-mini", 128_000, "o200k_base", "openai"),
        ("o4-mini", 200_000, "o200k_base", "openai"),
        ("gpt-4-turbo-2024-04-09", 128_000, "cl100k_base", "openai"),
        ("gpt-4-1106-preview", 128_000, "cl100k_base", "openai"),
        ("gpt-4-0613", 8_192, "cl100k_base", "openai"),
        ("gpt-3.5-turbo-0125", 16_385, "cl100k_base", "openai"),
        ("gpt-oss-120b", 131_072, "o200k_base", "openai"),
        ("claude-3-haiku-20240307", 200_000, "claude-3", "anthropic"),
        ("claude-3-5-sonnet-latest", 200_000, "claude-3", "anthropic"),
        ("claude-3-7-sonnet-20250219", 200_000, "claude-3", "anthropic"),
        ("claude-opus-4-1-20250805", 200_000, "claude-3", "anthropic"),
        ("claude-sonnet-4-20250514", 200_000, "claude-3", "anthropic"),
        ("claude-haiku-4-5", 200_000, "claude-3", "anthropic"),
        ("claude-opus-4-6", 1_000_000, "claude-3", "anthropic"),
        ("claude-opus-4-8", 1_000_000, "claude-4.7", "anthropic"),
        ("claude-sonnet-5", 1_000_000, "claude-4.7", "anthropic"),
        ("claude-opus-5-5", 1_000_000, "claude-4.7", "anthropic"),
        ("gemini-1.5-pro-002", 2_097_152, "gemini", "google"),
        ("gemini-2.0-flash-001", 1_048_576, "gemini", "google"),
        ("gemini-2.5-flash-lite", 1_048_576, "gemini", "google"),
        ("gemini-3-pro-preview", 1_048_576, "gemini", "google"),
        ("gemini-2.5-flash-image", 32_768, "gemini", "google"),
        ("Llama-3-8B-Instruct", 8_192, "llama-3", "meta"),
        ("llama-3.3-70b-versatile", 131_072, "llama-3", "meta"),
        ("Llama-4-Scout-17B-16E", 131_072, "llama-3", "meta"),
        ("Qwen2.5-72B-Instruct", 32_768, "qwen-3", "qwen"),
        ("qwen3-32b", 32_768, "qwen-3", "qwen"),
        ("qwen3-max", 262_144, "qwen-3", "qwen"),
        ("deepseek-chat", 131_072, "deepseek-v3", "deepseek"),
        ("DeepSeek-R1", 65_536, "deepseek-v3", "deepseek"),
        ("deepseek-v4-pro", 1_000_000, "deepseek-v3", "deepseek"),
        ("mistral-large-latest", 262_144, "mistral", "mistral"),
        ("open-mistral-nemo", 131_072, "mistral", "mistral"),
        ("grok-4-0709", 256_000, "unknown", "xai"),
    ],
)
def test_a_model_is_found_by_the_longest_entry_that_begins_its_name(
    model: str, window: int, tokenizer: str, vendor: str
):
    found = capacity_of(model)

    assert (found.context_window, found.tokenizer, found.vendor) == (window, tokenizer, vendor)
    assert found.known


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("openai:gpt-5", "gpt-5"),
        ("openai/gpt-5", "gpt-5"),
        ("OpenAI:GPT-5", "gpt-5"),
        (" gpt-5 ", "gpt-5"),
        ("azure/gpt-4o", "gpt-4o"),
        ("ft:gpt-4o-2024-08-06:org::id", "gpt-4o-2024-08-06"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("openrouter:anthropic/claude-3.5-sonnet", "claude-3-5-sonnet"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("bedrock:global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-1-v1:0",
         "claude-opus-4-1"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("google-gla:gemini-2.5-pro", "gemini-2.5-pro"),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("meta.llama3-1-70b-instruct-v1:0", "llama-3.1-70b"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo", "llama-3.1-8b"),
        ("ollama:llama3.1:8b", "llama-3.1-8b"),
        ("ollama:mistral:7b", "mistral-7b"),
        ("mistral:7b", "mistral-7b"),
        ("accounts/fireworks/models/mixtral-8x22b-instruct", "mixtral-8x22b"),
        ("together_ai/Qwen/Qwen2.5-7B-Instruct-Turbo", "qwen2.5"),
    ],
)  # fmt: skip
def test_names_are_read_as_they_are_written_elsewhere(written: str, plain: str):
    limits = ("context_window", "output_reserve", "tokenizer", "vendor", "max_output", "known")

    found, expected = capacity_of(written), capacity_of(plain)

    assert [getattr(found, name) for name in limits] == [getattr(expected, name) for name in limits]
    assert found.known


def test_a_version_that_is_not_in_the_table_gets_its_family():
    assert capacity_of("gpt-5.9-preview").context_window == 400_000
    assert capacity_of("claude-novella-9").context_window == 200_000


@pytest.mark.parametrize("model", ["my-own-model", "", "gpt", "gpt-50", "o10", "llamas", ":", "/"])
def test_an_unknown_model_gets_a_small_window_and_says_so(model: str):
    found = capacity_of(model)

    assert (found.context_window, found.reserve, found.known) == (8_192, 2_048, False)
    assert found.tokenizer == UNKNOWN


def test_a_caller_may_override_by_name_or_by_the_beginning_of_one():
    mine = ModelCapacity(context_window=32_000, output_reserve=1_000, tokenizer="llama-3")
    overrides = {"my-model": mine, "openai:gpt-5": 99_000, "exact:odd name": 10_000}

    assert capacity_of("my-model-v2", overrides=overrides) is mine
    assert capacity_of("gpt-5-mini", overrides=overrides).context_window == 99_000
    assert capacity_of("exact:odd name", overrides=overrides).context_window == 10_000
    assert capacity_of("gpt-4o", overrides=overrides).context_window == 128_000


def test_a_model_that_is_no_text_is_refused():
    with pytest.raises(OptionsError):
        capacity_of(5)  # type: ignore[arg-type]
    with pytest.raises(OptionsError):
        capacity_of(None)  # type: ignore[arg-type]


# Values


@pytest.mark.parametrize("window", [None, 0, -1, True, 1.0, "8192", 2**53])
def test_a_window_is_a_positive_whole_number(window: object):
    with pytest.raises(OptionsError, match="context_window"):
        ModelCapacity(context_window=window)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [{"output_reserve": -1}, {"output_reserve": True}, {"max_input": 0}, {"max_output": 1.5}],
)
def test_other_numbers_are_checked_too(wrong: dict[str, int]):
    with pytest.raises(OptionsError, match=next(iter(wrong))):
        ModelCapacity(context_window=1_000, **wrong)


@pytest.mark.parametrize("reserve", [1_000, 1_001])
def test_a_reserve_must_leave_room(reserve: int):
    with pytest.raises(OptionsError, match="smaller than the window"):
        ModelCapacity(context_window=1_000, output_reserve=reserve)


def test_a_reserve_that_is_not_given_is_a_quarter_of_the_window_at_most_4096():
    assert ModelCapacity(context_window=1_000).reserve == 250
    assert ModelCapacity(context_window=100_000).reserve == 4_096
    assert ModelCapacity(context_window=1_000, output_reserve=0).reserve == 0


def test_a_whole_number_is_read_as_a_window():
    assert ModelCapacity.of(4_096) == ModelCapacity(context_window=4_096)
    for wrong in (True, "4096", None, 1.0):
        with pytest.raises(OptionsError):
            ModelCapacity.of(wrong)


# The table as data


def test_every_row_has_limits_that_make_sense():
    for row in ROWS:
        found = capacity_of(row.names[0])
        assert 0 < row.reserve <= row.window // 4, row.names
        assert row.reserve <= 32_768, row.names
        assert row.max_output is None or row.reserve <= row.max_output <= row.window, row.names
        assert row.max_input is None or row.max_input < row.window, row.names
        assert row.tokenizer in RATIOS or row.tokenizer == UNKNOWN, row.names
        assert found.source


def test_every_name_stands_once_and_finds_its_own_row():
    names = [canonical_name(name) for row in ROWS for name in row.names]
    assert len(names) == len(set(names))
    for row in ROWS:
        for name in row.names:
            assert capacity_of(name).context_window == row.window, name


def test_each_window_says_what_it_was_compared_with_or_that_nothing_confirms_it():
    compared, unconfirmed = capacity_of("gpt-5"), capacity_of("gemini-1.5-pro")

    assert (compared.source, compared.date) == (COMPARED_WITH, TABLE_DATE)
    assert unconfirmed.source == f"unconfirmed; see {SOURCES['google']}"
    assert unconfirmed.date == ""
    names = {name for row in ROWS for name in row.names}
    assert names > UNCONFIRMED | CONFIRMED.keys()
    assert UNCONFIRMED.isdisjoint(CONFIRMED)


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gemini-2.0-flash", 1_048_576),
        ("llama-3.1-8b", 131_072),
        ("open-mixtral-8x22b", 65_536),
        ("mistral-large-2402", 32_768),
        ("codestral-2508", 256_000),
        ("codestral-2405", 32_768),
    ],
)
def test_a_window_that_a_page_of_its_vendor_confirms_names_the_page(name: str, window: int):
    found = capacity_of(name)

    assert found.context_window == window
    assert found.source.startswith("https://")
    assert found.date == PAGES_DATE


def test_the_window_of_an_open_model_is_the_one_that_most_hosts_have():
    assert capacity_of("meta-llama/Llama-4-Scout-17B-16E-Instruct").context_window == 131_072


def test_every_source_is_a_page_and_the_date_is_a_date():
    assert date.fromisoformat(TABLE_DATE)
    assert all(source.startswith("https://") for source in SOURCES.values())
