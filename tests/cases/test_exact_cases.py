"""The public cases of exact history: sent whole, or refused before dispatch with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cases.case_file import Case, Wire, cases
from shared_data import needs_shared
from thusfar import ModelCapacity, history
from thusfar.errors import RequestTooLargeError

EXACT = cases("exact")
VARIANTS = [(each, number) for each in EXACT for number in range(len(each.input["variants"]))]
SENTENCES = {"C14": 1}


@needs_shared
def test_every_exact_case_is_tried_and_every_sentence_known(capsys: pytest.CaptureFixture[str]):
    with capsys.disabled():
        print(f"\n{len(EXACT)} exact cases, {len(VARIANTS)} variants")

    assert EXACT
    assert {each.id: each.sentences for each in EXACT} == SENTENCES


class StatedTokens:
    """Counts what a case states: messages by identity, system text and tools by their text."""

    name = "stated"
    confidence = "exact"

    def __init__(self, wire: Wire, texts: dict[str, int]) -> None:
        self._wire, self._texts = wire, texts

    def count_messages(self, messages: Sequence[Any]) -> list[int]:
        return [self._wire.tokens(message) for message in messages]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [self._texts[text] for text in texts]


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize(("each", "number"), VARIANTS, ids=str)
def test_exact_history_counts_the_complete_request(each: Case, number: int, dialect: str):
    given = each.input
    tokens = given["variants"][number]
    roles = {"u": "user", "a": "assistant"}
    wire = Wire(
        [
            {"id": name, "role": roles[name[0]], "text": f"text of {name}", "tok": count}
            for name, count in tokens.items()
        ],
        dialect,
    )
    outcome = each.expected["by_variant"][number]
    whole = int(outcome.partition("(")[2].partition(")")[0].partition(",")[0])
    reserve = given["output_reserve"]

    def project() -> Any:
        return history.exact().project(
            wire.messages,
            dialect=dialect,
            counter=StatedTokens(
                wire, {"the rules": given["system_tok"], "the tools": given["tools_tok"]}
            ),
            system="the rules",
            tools=["the tools"],
            capacity=ModelCapacity(context_window=given["window"], output_reserve=reserve),
        )

    if outcome.startswith("sent"):
        view = project()
        assert view.messages == wire.messages
        assert view.receipt.tokens.tokens + reserve == whole
        assert view.receipt.tokens.confidence == "exact"
        assert 0 <= given["window"] - reserve - view.receipt.limit <= 100
    else:
        with pytest.raises(RequestTooLargeError) as raised:
            project()
        assert outcome.startswith(raised.value.code)
        assert raised.value.facts["input_tokens"] + reserve == whole
        assert 0 <= given["window"] - reserve - raised.value.facts["max_input_tokens"] <= 100
        assert "text of" not in str(raised.value)
        assert "text of" not in repr((raised.value.facts, raised.value.diagnostics))
    assert wire.untouched
