"""What `project` takes besides the policy: lists of every kind, dialects, system text, tools."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from thusfar import InputBudget, OptionsError, history, per_message, summarize
from thusfar.tokens import Counter

TALK = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"line {n}"} for n in range(12)]
PICTURE = {
    "role": "user",
    "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}],
}
ROOM = InputBudget(max=100_000)
POLICIES = [
    history.exact(),
    history.recent(4),
    history.recent(4, cut="exchange"),
    history.recent(tokens=60, advance=0.5),
    history(recent=4, summary=summarize.digest()),
]


class OneByOne(Sequence[Any]):
    """A sequence that takes no slices."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int):
            raise TypeError("one by one")
        return self.messages[index]


class WithoutLength:
    """An iterable and nothing more."""

    def __iter__(self) -> Iterator[Any]:
        return iter(TALK)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "kind", [tuple, deque, UserList, OneByOne, iter, lambda _: WithoutLength()]
)
def test_every_kind_of_list_gives_the_same_view_as_a_list(
    policy: Any, kind: Callable[[list[Any]], Any]
):
    projection = policy.project(kind(TALK))

    assert projection == policy.project(TALK)
    assert type(projection.messages) is list


def test_projections_that_are_equal_are_not_unequal():
    one, other = (history.recent(4).project(TALK) for _ in range(2))

    assert one == other
    assert not one != other  # noqa: SIM202 - the operator itself is tested
    assert one != history.recent(5).project(TALK)


class OnlyDescribes:
    name = "half"

    def describe(self, message: Any) -> Any:
        return message


@pytest.mark.parametrize("dialect", [5, [], OnlyDescribes(), OnlyDescribes, "no-such"])
def test_a_dialect_that_is_none_is_a_typed_error(dialect: Any):
    with pytest.raises(OptionsError) as caught:
        history.recent(4).project(TALK, dialect=dialect)

    assert caught.value.facts["option"] == "dialect"


@pytest.mark.parametrize(("option", "value"), [("system", 5), ("system", [5]), ("tools", 5)])
def test_system_text_and_tools_of_another_type_are_a_typed_error(option: str, value: Any):
    given = {option: value}

    with pytest.raises(OptionsError) as caught:
        history.recent(4).project(TALK, budget=ROOM, **given)

    assert caught.value.facts["option"] == option


@pytest.mark.parametrize(
    "system",
    [
        "Be brief and kind.",
        [{"type": "text", "text": "Be brief and kind."}],
        {"parts": [{"text": "Be brief and kind."}]},
        {"role": "system", "content": "Be brief and kind."},
        SimpleNamespace(model_dump=lambda **_: {"parts": [{"text": "Be brief and kind."}]}),
    ],
)
def test_system_text_counts_the_same_in_every_form(system: Any):
    def tokens(**more: Any) -> int:
        counted = history.exact().project(TALK, budget=ROOM, **more).receipt.tokens
        assert counted is not None
        return counted.tokens

    assert tokens(system=system) - tokens() == 5


class Exact:
    """Counts words, and is sure of it."""

    name = "words"
    confidence = "exact"

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


COUNTER: Counter = Exact()  # type: ignore[assignment]  # a class attribute is a property enough


@pytest.mark.parametrize("policy", POLICIES)
def test_a_view_with_a_picture_is_estimated_however_exact_the_counter(policy: Any):
    with_picture = [*TALK, PICTURE]

    plain = policy.project(TALK, counter=COUNTER, budget=ROOM).receipt
    pictured = policy.project(with_picture, counter=COUNTER, budget=ROOM).receipt

    assert plain.tokens.confidence == "exact"
    assert pictured.tokens.confidence == "estimated"


def test_a_picture_that_is_left_out_leaves_the_count_exact():
    receipt = history.recent(tokens=10).project([PICTURE, *TALK], counter=COUNTER).receipt

    assert receipt.tokens.confidence == "exact"


def test_a_picture_under_a_repaired_token_cap_is_seen():
    orphan = {"role": "tool", "tool_call_id": "gone", "content": "ok"}
    policy = history.recent(tokens=5_000, repair="drop")

    receipt = policy.project([*TALK, orphan, PICTURE], counter=COUNTER).receipt

    assert receipt.repairs
    assert receipt.tokens.confidence == "estimated"


def test_tools_beside_messages_that_are_counted_whole_make_the_count_an_estimate():
    whole = per_message(lambda message: 7, name="seven")
    tools = [{"type": "function", "function": {"name": "track"}}]

    receipt = history.exact().project(TALK, counter=whole, budget=ROOM, tools=tools).receipt

    assert receipt.tokens.confidence == "estimated"
