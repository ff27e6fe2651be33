"""Contributors: which forms an author allows, in which order, and what is chosen under pressure."""

from __future__ import annotations

from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Runtime,
    Scripted,
    context,
    droppable,
    history,
    offload,
    offloadable,
    plan_sync,
    prefer,
    summarizable,
    when,
)
from thusfar.errors import (
    OptionsError,
    RepresentationUnavailableError,
    RequestCompositionError,
    RequestTooLargeError,
)
from thusfar.storage.memory import MemoryStore

TALK = [{"role": "user", "content": "What now?"}]


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def count_words(text: str) -> int:
    return len(text.split())


class Setting:
    def __init__(self, *use: Any, most: int | None = None, mark: int | None = None) -> None:
        self.model = Scripted("few words")
        self.store = MemoryStore()
        self.runtime = Runtime(self.store, summariser=self.model)
        self.arguments: dict[str, Any] = {
            "model": "gpt-4o",
            "counter": count_words,
            "use": use,
            "budget": InputBudget(max=most, optimize_at=mark),
            "runtime": self.runtime,
        }

    def plan(self, messages: Any = TALK, **more: Any) -> Any:
        return plan_sync(messages, **{**self.arguments, **more})


def sent(planned: Any) -> dict[str, str]:
    return {a.contributor: a.representation for a in planned.receipt.adaptations}


def test_everything_is_sent_in_full_while_it_fits():
    said = Setting(
        context("rules", "Be brief."),
        droppable(summarizable(prefer(context("notes", words(40)), words(10)))),
        most=100,
    )

    planned = said.plan()

    assert planned.receipt.adaptations == ()
    assert planned.kwargs["messages"][0]["content"] == f"Be brief.\n\n{words(40)}"
    assert said.model.calls == []


@pytest.mark.parametrize(
    ("most", "form"), [(46, "full"), (45, "authored"), (16, "authored"), (7, "summary"), (4, "")]
)
def test_a_smaller_form_is_taken_only_where_a_larger_one_does_not_fit(most: int, form: str):
    said = Setting(
        context("rules", "Be brief."),
        droppable(summarizable(prefer(context("notes", words(42)), words(12)))),
        most=most,
        mark=most,
    )

    planned = said.plan()

    assert sent(planned).get("notes", "full") == (form or "omitted")
    assert len(said.model.calls) == (form == "summary")
    assert planned.receipt.input_tokens <= most


def test_priority_decides_whose_fidelity_is_kept():
    low = droppable(context("low", words(30), priority=1))
    high = droppable(context("high", words(30), priority=2))

    for use in ((low, high), (high, low)):
        planned = Setting(*use, most=40, mark=40).plan()
        assert sent(planned) == {"low": "omitted"}


def test_history_outranks_other_contributors_unless_the_author_ranks_it():
    talk = [{"role": ("user", "assistant")[i % 2], "content": words(10)} for i in range(8)]
    notes = droppable(context("notes", words(30), priority=5))
    common = {"recent": 2, "summary": {"model": Scripted("short")}}

    first = Setting(history(**common), notes, most=90, mark=90).plan(talk)
    ranked = Setting(history(**common, priority=0), notes, most=90, mark=90).plan(talk)

    assert sent(first) == {"notes": "omitted"}
    assert sent(ranked) == {"history": "summary"}


def test_a_required_contributor_that_does_not_fit_is_named_with_the_largest_parts():
    with pytest.raises(RequestTooLargeError) as raised:
        Setting(context("rules", words(60)), context("notes", words(50)), most=100).plan()

    largest = [
        d.facts["contributor"]
        for d in raised.value.diagnostics
        if d.code == "LARGEST_REQUIRED_CONTRIBUTOR"
    ]
    assert largest == ["rules", "notes", "history"]
    assert "word" not in str(raised.value)


def test_an_offloaded_text_is_a_preview_with_a_handle_and_the_recall_tool():
    text = words(500, "alpha")
    said = Setting(offloadable(context("book", text)), most=200, mark=200)

    planned = said.plan()

    system = planned.kwargs["messages"][0]["content"]
    (tool,) = planned.kwargs["tools"]
    handle = system.split('handle="')[1].split('"')[0]
    assert sent(planned) == {"book": "offload"}
    assert tool["function"]["name"] == "recall"
    assert len(system) < 800
    assert said.store._spaces["default"].records["offload", handle].body == f'"{text}"'


def test_what_loses_is_never_published():
    said = Setting(offloadable(context("book", words(50))), most=200)

    said.plan()

    assert [kind for kind, _ in said.store._spaces["default"].records] == ["receipt"]


@pytest.mark.parametrize("more", [{"schema": {"type": "object"}}, {"runtime": Runtime()}])
def test_a_reference_needs_a_store_and_tools(more: dict[str, Any]):
    said = Setting(offload(context("book", words(50))), most=400)

    with pytest.raises(RepresentationUnavailableError) as raised:
        said.plan(**more)

    codes = {d.code for d in raised.value.diagnostics}
    assert codes == {"REPRESENTATION_CAPABILITY_UNAVAILABLE"}


def test_a_small_text_is_not_offloaded_below_its_threshold():
    with pytest.raises(RequestTooLargeError):
        Setting(offloadable(context("note", words(50)), above_tokens=60), most=30).plan()


def test_an_omitted_contributor_takes_its_tools_along_and_others_keep_theirs():
    tool = {"type": "function", "function": {"name": "look", "parameters": {}}}
    entry = prefer(context("map", words(40), tools=[tool]), "small map")

    kept = Setting(entry, most=30, mark=30).plan()
    gone = Setting(droppable(context("map", words(40), tools=[tool])), most=30, mark=30).plan()

    assert kept.kwargs["tools"] == [tool]
    assert "tools" not in gone.kwargs


def test_a_summary_of_a_contributor_is_kept_and_used_again():
    said = Setting(summarizable(context("notes", words(60))), most=20, mark=20)

    first, second = said.plan(), said.plan()

    assert sent(first) == sent(second) == {"notes": "summary"}
    assert len(said.model.calls) == 1
    assert len(first.receipt.support) == 1
    assert second.receipt.support == ()
    assert second.inspect().artifacts


GRAMMAR = [
    lambda: prefer(droppable(context("a", "x")), "y"),
    lambda: summarizable(droppable(context("a", "x"))),
    lambda: summarizable(offloadable(context("a", "x"))),
    lambda: offloadable(droppable(context("a", "x"))),
    lambda: droppable(droppable(context("a", "x"))),
    lambda: prefer(summarizable(context("a", "x")), "y"),
    lambda: offload(prefer(context("a", "x"), "y")),
    lambda: prefer(context("a", "x", tools=[{"name": "t"}]), context("a", "y")),
]


@pytest.mark.parametrize("build", GRAMMAR)
def test_forms_are_wrapped_in_one_order_only(build: Any):
    with pytest.raises(RequestCompositionError) as raised:
        build()

    assert raised.value.code == "INVALID_COMPOSITION"
    assert raised.value.diagnostics[0].code == "INVALID_LADDER"


@pytest.mark.parametrize(
    "build",
    [
        lambda: prefer(context("a", "x")),
        lambda: summarizable([]),
        lambda: offloadable(context("a", "x"), above_tokens=0),
        lambda: context("", "x"),
        lambda: context("a", 3),  # type: ignore[arg-type]
        lambda: context("a", "x", priority=True),
    ],
)
def test_bad_arguments_are_refused_at_construction(build: Any):
    with pytest.raises(OptionsError):
        build()


def test_two_contributors_may_not_have_one_name():
    with pytest.raises(RequestCompositionError):
        Setting(context("a", "x"), context("a", "y")).plan()


def test_two_policies_are_refused_before_anything_is_called():
    use = [history(), [when(True, history.recent(2))]]

    with pytest.raises(RequestCompositionError) as raised:
        Setting(*use).plan()

    assert raised.value.diagnostics[0].code == "INVALID_HISTORY_COMPOSITION"


def test_a_condition_that_does_not_hold_leaves_one_policy():
    planned = Setting(when(False, history()), history.recent(1)).plan()

    assert planned.receipt.history.policy == "recent"


@pytest.mark.parametrize("policy", [history(), history.recent(3)])
def test_a_policy_without_a_source_says_so(policy: Any):
    with pytest.raises(RequestCompositionError) as raised:
        Setting(policy).plan(None)

    assert raised.value.diagnostics[0].code == "HISTORY_NO_SOURCE"


def test_exact_history_needs_no_source_and_an_empty_list_is_one():
    assert Setting(history.exact()).plan(None, turn="Hi").receipt.history.source == "none"
    assert Setting(history(recent=3)).plan([]).receipt.history.source == "caller-messages"
