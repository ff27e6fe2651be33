"""The public cases of counting: what media and special text weigh, and how often is asked."""

from __future__ import annotations

import copy
from collections import Counter as Tally
from typing import Any

import pytest

from cases.case_file import CUTS, Wire, case, cases
from shared_data import needs_shared
from thusfar import history, per_message
from thusfar.dialects import dialect as dialect_named
from thusfar.tokens import measure_for

COUNT = cases("count")
COUNT_CALLS = cases("count-calls")
SENTENCES = {"C15": 3, "C17": 3, "C25": 3}


@needs_shared
def test_every_count_case_is_tried_and_every_sentence_known(capsys: pytest.CaptureFixture[str]):
    with capsys.disabled():
        print(f"\n{len(COUNT)} count cases, {len(COUNT_CALLS)} of how often is counted")

    assert COUNT
    assert COUNT_CALLS
    assert {each.id: each.sentences for each in COUNT + COUNT_CALLS} == SENTENCES


def picture(size: int, mime: str = "image/png") -> dict[str, tuple[str, dict[str, Any]]]:
    """The same words and the same picture in each wire format, with its dialect."""
    data = "iVBO" * (size // 4)
    url = f"data:{mime};base64,{data}"
    inline = {"inlineData": {"mimeType": mime, "data": data}}
    source = {"type": "base64", "media_type": mime, "data": data}
    said = {"type": "text", "text": "look"}
    return {
        "OpenAI image_url": (
            "openai-chat",
            {
                "role": "user",
                "content": [said, {"type": "image_url", "image_url": {"url": url}}],
            },
        ),
        "OpenAI input_image": (
            "openai-responses",
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "look"},
                    {"type": "input_image", "detail": "auto", "image_url": url},
                ],
            },
        ),
        "Anthropic image, base64": (
            "anthropic",
            {"role": "user", "content": [said, {"type": "image", "source": source}]},
        ),
        "Gemini inlineData": ("gemini", {"role": "user", "parts": [{"text": "look"}, inline]}),
    }


def other_media(name: str, size: int) -> dict[str, tuple[str, dict[str, Any]]]:
    data = "JVBE" * (size // 4)
    said = {"type": "text", "text": "look"}
    if name.startswith("document"):
        url = f"data:application/pdf;base64,{data}"
        source = {"type": "base64", "media_type": "application/pdf", "data": data}
        file = {"filename": "a.pdf", "file_data": url}
        return {
            "chat": (
                "openai-chat",
                {"role": "user", "content": [said, {"type": "file", "file": file}]},
            ),
            "responses": (
                "openai-responses",
                {"role": "user", "content": [{"type": "input_file", **file}]},
            ),
            "anthropic": (
                "anthropic",
                {"role": "user", "content": [said, {"type": "document", "source": source}]},
            ),
        }
    inline = {"inlineData": {"mimeType": "audio/mp3", "data": data}}
    return {
        "chat": (
            "openai-chat",
            {
                "role": "user",
                "content": [
                    said,
                    {"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}},
                ],
            },
        ),
        "gemini": ("gemini", {"role": "user", "parts": [{"text": "look"}, inline]}),
    }


def weigh(shapes: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, int]:
    return {
        name: sum(measure_for().count(dialect_named(dialect), [message]))
        for name, (dialect, message) in shapes.items()
    }


@needs_shared
def test_the_size_of_a_picture_in_bytes_never_weighs_and_all_wires_agree():
    each = case("count", "C15")
    (size,) = (p["data_chars"] for p in each.input["messages"][0]["parts"] if "data_chars" in p)

    once, twice = weigh(picture(size)), weigh(picture(2 * size))

    assert once.keys() == {name for name in each.input["variants"] if "," not in name} | {
        "Anthropic image, base64"
    }
    assert once == twice
    assert len(set(once.values())) == 1
    assert 1 < max(once.values()) < 5000


@needs_shared
@pytest.mark.parametrize("prefix", ["document", "audio"])
def test_the_size_of_a_document_or_of_sound_in_bytes_never_weighs(prefix: str):
    (variant,) = (
        name for name in case("count", "C15").input["variants"] if name.startswith(prefix)
    )
    size = int("".join(filter(str.isdigit, variant)))

    once, twice = weigh(other_media(variant, size)), weigh(other_media(variant, 2 * size))

    assert len(once) > 1
    assert once == twice
    assert all(1 < count < 5000 for count in once.values())


COUNTERS = [None, "estimate", "o200k_base", "cl100k_base"]
MODELS = [None, "gpt-4o", "gpt-5", "claude-opus-4-6", "gemini-2.5-pro", "no-such-model"]


@needs_shared
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("counter", COUNTERS)
def test_the_text_of_special_tokens_is_counted_as_plain_text(
    counter: str | None, model: str | None
):
    if counter and counter.endswith("_base"):
        pytest.importorskip("toktok")
    each = case("count", "C17")
    wire = Wire(each.input["messages"], "openai-chat")
    measure = measure_for(counter, model)

    counts = measure.count(dialect_named("openai-chat"), wire.messages)
    texts = [measure.text(message["content"]) for message in wire.messages]
    view = history.recent(tokens=10_000).project(wire.messages, counter=counter, model=model)

    assert min(counts) >= 1
    assert min(texts) >= 1
    assert all(shown is own for shown, own in zip(view.messages, wire.messages, strict=True))
    assert wire.untouched


def long_list(each: Any, count: int) -> list[dict[str, str]]:
    roles = each.input["messages_rule"]["roles"]
    return [
        {"role": roles[number % len(roles)], "content": f"m{number + 1}"} for number in range(count)
    ]


@needs_shared
@pytest.mark.parametrize("times", [1, 100])
@pytest.mark.parametrize("cut", CUTS)
def test_only_what_is_kept_and_the_unit_that_does_not_fit_are_counted_once(cut: str, times: int):
    each = case("count-calls", "C25")
    rule = each.input["messages_rule"]
    messages = long_list(each, rule["count"] * times)
    before = copy.deepcopy(messages)
    asked: Tally[int] = Tally()

    def count(message: Any) -> int:
        asked[id(message)] += 1
        return int(rule["tok"])

    view = history.recent(**each.input["caps"], cut=cut).project(
        messages, counter=per_message(count)
    )

    selected = Tally(asked)
    assert view.receipt.kept_messages == each.expected["kept"][cut]
    assert len(view.messages) == each.expected["kept"][cut]
    assert set(selected.values()) == {1}
    assert len(selected) <= (251 if cut == "exchange" else 252)
    assert {id(message) for message in view.messages} <= selected.keys()
    assert messages == before
