"""Counters, the cache and the measure."""

from __future__ import annotations

import gc
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from shared_data import SHARED, needs_shared
from thusfar.capacity import ModelCapacity
from thusfar.dialects import dialect
from thusfar.errors import MissingExtraError, OptionsError
from thusfar.facts import Content, content_of
from thusfar.messages import Audio, File, Image, Message, Text
from thusfar.tokens import (
    TokenCount,
    counters,
    custom,
    estimate,
    measure_for,
    per_message,
    tiktoken_backend,
    weakest,
)
from thusfar.tokens.cache import CachedCounter, CountCache
from thusfar.tokens.counters import BpeCounter, counter_named
from thusfar.tokens.tiktoken_backend import pieces

CHAT = dialect("openai-chat")
ASK = {"role": "user", "content": "Weather in Oslo?"}
SPECIAL = "Split on <|endoftext|> and <|im_start|> please"
ODD_TEXTS = ["", "a\ud800b", "\udfff", "a\x00b", "\x00", SPECIAL, "😀", "字\ud83d", "\ud83d\ude00"]


class Asked:
    """A counter that remembers how often each text was asked for."""

    name = "asked"
    confidence = "exact"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def count_many(self, texts: Sequence[str]) -> list[int]:
        self.calls.append(list(texts))
        return [len(text) for text in texts]


# Counters


def test_a_combination_is_no_better_than_its_weakest_part():
    assert weakest("exact", "estimated") == "estimated"
    assert weakest("estimated", "conservative", "exact") == "conservative"
    assert weakest() == "exact"


def test_exact_counts_are_those_of_the_published_encodings():
    assert BpeCounter("o200k_base").count_many(["hello world", "天气", ""]) == [2, 1, 0]
    assert BpeCounter("cl100k_base").count_many(["hello world", "天气"]) == [2, 3]


@pytest.mark.parametrize("name", ["estimate", "o200k_base", "cl100k_base"])
def test_no_text_is_refused_by_any_counter(name: str):
    counts = counter_named(name).count_many(ODD_TEXTS)

    assert counts[0] == 0
    assert all(count >= 1 for count in counts[1:])


def test_special_token_text_is_counted_as_the_plain_text_it_is_sent_as():
    assert BpeCounter("o200k_base").count_many(["<|endoftext|>"]) == [7]


def test_one_odd_text_does_not_change_the_counts_of_its_batch():
    counter = BpeCounter("o200k_base")

    assert counter.count_many(["hello world", "a\ud800b"]) == [
        *counter.count_many(["hello world"]),
        *counter.count_many(["a\ufffdb"]),
    ]


@pytest.mark.parametrize(
    ("text", "tokens"), [("字" * 1_000_000, 1_000_000), ("a" * 1_000_000, 125_000)]
)
def test_a_million_characters_without_a_space_are_counted_exactly(text: str, tokens: int):
    assert BpeCounter("o200k_base").count_many([text]) == [tokens]


@pytest.mark.parametrize("name", ["o200k", "chars/4", "", "tiktoken:gpt2", "ESTIMATE"])
def test_a_counter_name_that_does_not_exist_is_refused_with_the_names_that_do(name: str):
    with pytest.raises(OptionsError, match="o200k_base") as caught:
        measure_for(name)

    assert caught.value.code == "INVALID_OPTIONS"


def test_a_tokenizer_that_is_not_installed_names_its_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(counters, "bpe_available", lambda: False)

    with pytest.raises(MissingExtraError, match=r"Install thusfar\[tokens\]"):
        counter_named("o200k_base")


def test_a_tokenizer_that_fails_to_import_names_its_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "toktok", None)

    with pytest.raises(MissingExtraError) as caught:
        BpeCounter("o200k_base").count_many(["a"])

    assert caught.value.facts == {"extra": "tokens"}


# tiktoken


def test_tiktoken_is_refused_without_its_rank_file_instead_of_downloading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    with pytest.raises(OptionsError, match="TIKTOKEN_CACHE_DIR"):
        counter_named("tiktoken:o200k_base")


def test_a_wrong_rank_file_of_tiktoken_is_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wrong = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    wrong.write_bytes(b"wrong")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)

    with pytest.raises(OptionsError):
        counter_named("tiktoken:o200k_base")

    assert wrong.read_bytes() == b"wrong"


def test_tiktoken_with_its_cache_switched_off_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")

    with pytest.raises(OptionsError):
        counter_named("tiktoken:cl100k_base")


def test_tiktoken_looks_in_the_temporary_directory_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr(tiktoken_backend.tempfile, "gettempdir", lambda: str(tmp_path))

    assert tiktoken_backend._cache_directory() == tmp_path / "data-gym-cache"


def test_tiktoken_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)

    with pytest.raises(MissingExtraError, match="tiktoken"):
        counter_named("tiktoken:o200k_base")


def test_tiktoken_counts_as_toktok_does(monkeypatch: pytest.MonkeyPatch):
    """Runs where the rank file is at hand; the pieces of a long text count as the whole."""
    try:
        counter = counter_named("tiktoken:o200k_base")
    except OptionsError:
        pytest.skip("tiktoken's rank file is not here")
    texts = [*ODD_TEXTS, "Weather in Oslo? " * 9_000]

    assert counter.name == "o200k_base"
    assert counter.count_many(texts) == BpeCounter("o200k_base").count_many(texts)
    assert counter.count_many([" " * 1_000_000])[0] > 0


def test_tiktoken_with_the_right_rank_file_counts_any_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """With an encoding of one token a byte, so that no rank file has to be at hand."""
    rank_file = tmp_path / "ranks"
    rank_file.write_bytes(b"ranks")
    digest = hashlib.sha256(b"ranks").hexdigest()
    ranks = {bytes([byte]): byte for byte in range(256)}
    bytewise = tiktoken.Encoding("b", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={})
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(tiktoken_backend._RANK_FILES, "o200k_base", ("ranks", digest))
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "o200k_base", bytewise)

    counter = counter_named("tiktoken:o200k_base")

    assert counter.name == "o200k_base"
    assert counter.count_many(["", "ab", "a\ud800", SPECIAL]) == [0, 2, 4, len(SPECIAL)]
    assert counter.count_many(["word " * 30_000]) == [150_000]


@pytest.mark.parametrize("text", ["", "ab", "one two three four", "x" * 25, "a  b 1 2 c d e f"])
@pytest.mark.parametrize("size", [1, 4, 7, 10, 100])
def test_pieces_of_a_long_text_are_short_and_make_up_the_text(text: str, size: int):
    made = pieces(text, size)

    assert "".join(made) == text
    assert all(len(piece) <= size for piece in made)


def test_a_long_text_is_cut_before_a_space_between_words():
    assert pieces("one two three four", 10) == ["one two", " three", " four"]


# Counters of the caller


def test_any_function_of_a_text_counts_without_framing():
    measure = measure_for(len)

    assert measure.count(CHAT, [ASK]) == [16]
    assert measure.base == 0
    assert measure.tokenizer == "custom:len"
    assert measure.confidence == "exact"


def test_objects_that_count_are_accepted_by_their_methods():
    class Tokens:
        def count_tokens(self, text: str) -> int:
            return 3

    class Plain:
        name = "plain"
        confidence = "estimated"

        def count(self, text: str) -> int:
            return 5

    assert measure_for(Tokens()).count(CHAT, [ASK]) == [3]
    assert measure_for(Plain()).count(CHAT, [ASK]) == [5]
    assert measure_for(Plain()).tokenizer == "plain"
    assert measure_for(Plain()).confidence == "estimated"
    assert measure_for(Asked()).count(CHAT, [ASK]) == [16]


def test_an_object_without_a_usable_name_or_confidence_gets_both():
    class Odd:
        name = 7
        confidence = "certain"

        def __call__(self, text: str) -> int:
            return 1

    measure = measure_for(Odd())

    assert measure.tokenizer.startswith("custom:")
    assert measure.tokenizer.endswith("Odd")
    assert measure.confidence == "exact"


@pytest.mark.parametrize("counter", [7, 1.5, [len], {"a": 1}, object(), ("x",), b"x"])
def test_a_thing_that_cannot_count_is_refused(counter: Any):
    with pytest.raises(OptionsError, match="cannot count"):
        measure_for(counter)


@pytest.mark.parametrize("answer", [True, -1, 1.0, "1", None, 2**53])
def test_a_counter_that_answers_with_no_whole_number_is_named_without_content(answer: Any):
    def secretive(text: str) -> Any:
        return answer

    with pytest.raises(OptionsError) as caught:
        measure_for(secretive).count(CHAT, [{"role": "user", "content": "hidden words"}])

    assert "secretive" in str(caught.value)
    assert "hidden" not in str(caught.value)
    assert caught.value.code == "INVALID_OPTIONS"


@pytest.mark.parametrize("answer", [[], [1, 2], "3", None, 4])
def test_a_counter_must_answer_once_for_each_text(answer: Any):
    class Wrong:
        def count_many(self, texts: Sequence[str]) -> Any:
            return answer

    with pytest.raises(OptionsError, match="Wrong"):
        measure_for(Wrong()).text("a")


def test_whole_messages_are_counted_as_the_caller_says():
    measure = measure_for(per_message(lambda message: message["tok"], name="stored"))
    picture = {
        "role": "user",
        "tok": 7,
        "content": [{"type": "image_url", "image_url": {"url": "x"}}],
    }

    assert measure.count(CHAT, [{"role": "user", "content": "a", "tok": 0}, picture]) == [0, 7]
    assert measure.base == 0
    assert measure.tokenizer == "stored"
    assert measure.text("Weather in Oslo?") == 4


def test_a_counter_of_messages_gets_the_callers_own_objects():
    seen: list[Any] = []

    def size(message: Any) -> int:
        seen.append(message)
        return 1

    measure_for(per_message(size)).count(CHAT, [ASK])

    assert seen[0] is ASK


def test_a_counter_of_messages_may_count_texts_too():
    class Both:
        def count_messages(self, messages: Sequence[Any]) -> list[int]:
            return [9 for _ in messages]

        def count(self, text: str) -> int:
            return 2

    measure = measure_for(Both())

    assert measure.count(CHAT, [ASK]) == [9]
    assert measure.text("anything") == 2


@pytest.mark.parametrize("answer", [True, -3, 2.0])
def test_a_wrong_count_of_a_message_is_refused(answer: Any):
    with pytest.raises(OptionsError, match="stored"):
        measure_for(per_message(lambda _: answer, name="stored")).count(CHAT, [ASK])


def test_per_message_checks_what_it_is_given():
    with pytest.raises(OptionsError, match="cannot count"):
        per_message(7)  # type: ignore[arg-type]
    with pytest.raises(OptionsError, match="confidence"):
        per_message(len, confidence="sure")  # type: ignore[arg-type]


# The cache


def test_a_text_is_counted_once_and_new_texts_go_out_in_one_call():
    asked = Asked()
    counter = CachedCounter(asked)

    assert counter.count_many(["a", "bb", "a"]) == [1, 2, 1]
    assert counter.count_many(["bb", "ccc", "a", "dddd"]) == [2, 3, 1, 4]
    assert asked.calls == [["a", "bb"], ["ccc", "dddd"]]


def test_the_cache_goes_by_content_and_not_by_identity():
    asked = Asked()
    counter = CachedCounter(asked)
    counter.count_many(["".join(["we", "ather"])])

    counter.count_many(["".join(["weat", "her"])])

    assert asked.calls == [["weather"]]


def test_the_cache_keeps_no_text():
    counter = CachedCounter(Asked())
    text = "a secret of " + "several words"
    before = sys.getrefcount(text)

    counter.count_many([text])

    gc.collect()
    assert sys.getrefcount(text) == before + 1  # the list of calls of the counter itself
    held = [*counter.cache.new, *counter.cache.new.values()]
    assert all(isinstance(item, int | tuple) for item in held)


def test_the_cache_is_bounded_and_keeps_what_was_used_last():
    asked = Asked()
    counter = CachedCounter(asked, CountCache(entries=10))

    for number in range(40):
        counter.count_many([f"text {number}"])
        assert len(counter.cache) <= 10
    counter.count_many(["text 39", "text 31"])

    assert len(asked.calls) == 40


def test_more_texts_than_the_cache_holds_are_still_counted():
    counter = CachedCounter(Asked(), CountCache(entries=4))
    texts = ["x" * size for size in range(20)]

    assert counter.count_many(texts) == list(range(20))
    assert len(counter.cache) <= 4


def test_a_function_of_the_caller_is_remembered_between_measures():
    texts: list[str] = []

    def count(text: str) -> int:
        texts.append(text)
        return 1

    measure_for(count).text("once")
    measure_for(count).text("once")

    assert texts == ["once"]


def test_remembering_a_counter_does_not_keep_it_alive():
    def count(text: str) -> int:
        return 1

    measure_for(count).text("a")
    held = len(custom._caches)
    del count
    gc.collect()

    assert len(custom._caches) < held


def test_a_counter_that_cannot_be_hashed_still_counts():
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, text: str) -> int:
            return 2

    assert measure_for(Unhashable()).text("a") == 2


# The measure


def test_without_a_model_the_pinned_estimate_counts_whatever_is_installed():
    measure = measure_for()

    assert (measure.tokenizer, measure.confidence, measure.base) == ("estimate-1", "estimated", 0)
    assert measure.count(CHAT, [ASK]) == [estimate("Weather in Oslo?") + 4]
    assert measure_for("estimate") is measure


def test_a_measure_given_as_counter_is_used_as_it_is():
    measure = measure_for("o200k_base")

    assert measure_for(measure, "claude-sonnet-4-5") is measure


def test_an_openai_model_is_counted_exactly_with_its_framing():
    measure = measure_for(model="openai:gpt-5")

    assert (measure.tokenizer, measure.confidence, measure.base) == ("o200k_base", "exact", 5)
    assert measure.count(CHAT, [{"role": "user", "content": "hello world"}]) == [2 + 4]
    assert measure_for(model="gpt-4").tokenizer == "cl100k_base"


def test_another_vendors_model_is_counted_by_the_nearest_tokenizer_scaled():
    measure = measure_for(model="claude-sonnet-4-5")

    assert measure.tokenizer == "claude-3~o200k_base*1.30"
    assert (measure.confidence, measure.base) == ("estimated", 6)
    assert measure.count(CHAT, [{"role": "user", "content": "hello world"}]) == [3 + 2]
    assert measure_for(model="claude-opus-4-8").tokenizer == "claude-4.7~o200k_base*1.51"
    assert measure_for(model="gemini-2.5-pro").base == 0


def test_without_a_tokenizer_every_model_is_estimated(monkeypatch: pytest.MonkeyPatch):
    from thusfar.tokens import measure as module

    monkeypatch.setattr(module, "bpe_available", lambda: False)
    module._own.cache_clear()
    try:
        assert repr(measure_for(model="gpt-5")) == "Measure('estimate-1', 'estimated')"
        assert measure_for(model="gpt-4").tokenizer == "cl100k_base~estimate-1*1.19"
        assert measure_for(model="claude-sonnet-5").tokenizer == "claude-4.7~estimate-1*1.51"
        assert measure_for(model="no-such-model").confidence == "conservative"
    finally:
        module._own.cache_clear()


def test_a_model_that_is_not_known_is_counted_conservatively():
    measure = measure_for(model="my-own-model")

    assert (measure.tokenizer, measure.confidence, measure.base) == (
        "o200k_base",
        "conservative",
        3,
    )


def test_a_pinned_counter_gives_raw_counts_for_any_model():
    measure = measure_for("o200k_base", "claude-sonnet-4-5")

    assert measure.text("hello world") == 2
    assert (measure.tokenizer, measure.confidence, measure.base) == ("o200k_base", "estimated", 6)
    assert measure_for("o200k_base", "gpt-5").confidence == "exact"
    assert measure_for("o200k_base", "my-own-model").confidence == "conservative"


def test_a_capacity_of_the_caller_chooses_the_tokenizer():
    mine = ModelCapacity(context_window=9_000, tokenizer="qwen-3", vendor="me")

    assert measure_for(model="x", capacity=mine).tokenizer == "qwen-3~o200k_base*1.07"
    assert measure_for(model="gpt-5", capacity=50_000).tokenizer == "o200k_base"
    assert measure_for(capacity=50_000).tokenizer == "estimate-1"


def test_a_model_that_is_no_text_is_refused():
    with pytest.raises(OptionsError):
        measure_for(model=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "framing"), [(None, 4), ("gemini-2.5-pro", 0), ("gpt-5", 4), ("claude-3-opus", 2)]
)
def test_an_empty_message_counts_what_is_around_it(model: str | None, framing: int):
    assert measure_for(model=model).contents([Content()]) == [framing]


def test_no_message_counts_nothing():
    assert measure_for().count(CHAT, []) == []


def test_every_text_of_a_message_is_counted():
    measure = measure_for(len)
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}

    counts = measure.count(
        CHAT, [{"role": "assistant", "content": "ab", "tool_calls": [call]}, ASK]
    )

    assert counts == [2 + 7 + 2, 16]


def test_tools_are_counted_as_their_json_with_framing():
    tool = {"name": "weather", "parameters": {"type": "object"}}
    text = json.dumps(tool, separators=(",", ":"))

    assert measure_for(len).tools([tool]) == len(text)
    assert measure_for(len).tools([tool], schema={"a": 1}) == len(text) + 7
    assert measure_for(model="gpt-5").tools([tool, tool]) - measure_for(model="gpt-5").tools(
        [tool]
    ) == 6 + measure_for(model="gpt-5").text(text)
    claude = measure_for(model="claude-sonnet-4-5")
    assert claude.tools([tool]) == 549 + 53 + claude.text(text)


def test_no_tools_and_no_schema_count_nothing():
    assert measure_for(model="claude-sonnet-4-5").tools() == 0
    assert measure_for(model="claude-sonnet-4-5").tools([]) == 0


def test_a_schema_may_be_text_or_a_class_that_knows_its_schema():
    class Answer:
        @classmethod
        def model_json_schema(cls) -> dict[str, Any]:
            return {"type": "object"}

    assert measure_for(len).tools(schema=Answer) == len('{"type":"object"}')
    assert measure_for(len).tools(schema="{}") == 2


def test_a_request_is_everything_a_model_reads():
    measure = measure_for(model="gpt-5")
    tool = {"name": "weather"}

    count = measure.request(CHAT, [ASK, ASK], tools=[tool], schema={"a": 1})

    parts = measure.base + sum(measure.count(CHAT, [ASK, ASK])) + measure.tools([tool], {"a": 1})
    assert count == TokenCount(tokens=parts, tokenizer="o200k_base", confidence="exact")


def test_media_make_an_exact_count_an_estimate():
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}

    assert measure_for(model="gpt-5").request(CHAT, [picture]).confidence == "estimated"
    assert measure_for("estimate").request(CHAT, [picture]).confidence == "estimated"


def test_tools_counted_beside_whole_messages_are_an_estimate():
    measure = measure_for(per_message(lambda _: 5, name="stored"))

    assert measure.request(CHAT, [ASK]).confidence == "exact"
    assert measure.request(CHAT, [ASK], tools=[{"name": "a"}]).confidence == "estimated"


def test_importing_the_counters_loads_no_tokenizer():
    """Loading ranks takes 0.3 s; a program that counts nothing must not pay for it."""
    import subprocess

    code = (
        "import sys, thusfar.tokens, thusfar.budget;"
        "print([m for m in ('toktok', 'tiktoken', 'thusfar.tokens.tiktoken_backend',"
        " 'thusfar.capacity_table', 'logging', 'asyncio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert done.stdout.strip() == "[]"


# Media


def _pictures(size: int) -> dict[str, Any]:
    data = "A" * size
    url = f"data:image/png;base64,{data}"
    return {
        "openai-chat": {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": url}},
            ],
        },
        "openai-responses": {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": url},
            ],
        },
        "anthropic": {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": data},
                },
            ],
        },
        "gemini": {
            "role": "user",
            "parts": [
                {"text": "look"},
                {"inlineData": {"mimeType": "image/png", "data": data}},
            ],
        },
    }


@pytest.mark.parametrize("counter", ["estimate", "o200k_base"])
def test_one_picture_counts_the_same_in_every_wire_format_and_size(counter: str):
    measure = measure_for(counter)

    counts = {
        measure.count(dialect(name), [message])[0]
        for size in (300_000, 600_000)
        for name, message in _pictures(size).items()
    }

    assert counts == {measure.text("look") + 4 + 1600}


@pytest.mark.parametrize("part", [Image, Audio, File])
def test_media_cost_the_same_whatever_their_size(part: type[Any]):
    counts = {
        measure_for().contents([content_of(Message("user", (part(data="A" * size),)))])[0]
        for size in (10, 1_000_000, 2_000_000)
    }

    assert len(counts) == 1
    assert counts.pop() < 5000


# Cases from public bug reports


def _case(name: str) -> dict[str, Any]:
    assert SHARED is not None
    lines = (SHARED / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    (found,) = [case for case in map(json.loads, lines) if case["id"] == name]
    return found


@needs_shared
def test_case_c16_chinese_is_counted_by_character():
    messages = [Message(m["role"], m["text"]) for m in _case("C16")["input"]["messages"]]

    counts = measure_for("estimate").contents([content_of(message) for message in messages])

    assert counts == [90] * len(messages), "two of them fit into 200 tokens, and not 67"


@needs_shared
@pytest.mark.parametrize("counter", [None, "estimate", "o200k_base", "cl100k_base", len])
def test_case_c17_special_token_text_is_counted_and_kept(counter: Any):
    messages = [Message(m["role"], (Text(m["text"]),)) for m in _case("C17")["input"]["messages"]]
    before = list(messages)

    counts = measure_for(counter).contents([content_of(message) for message in messages])

    assert len(counts) == 2
    assert all(count >= 1 for count in counts)
    assert messages == before
