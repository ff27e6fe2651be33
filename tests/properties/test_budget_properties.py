"""Laws of counts and limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thusfar.budget import InputBudget, limits
from thusfar.capacity import ModelCapacity, capacity_of
from thusfar.capacity_table import ROWS
from thusfar.errors import OptionsError
from thusfar.facts import Content
from thusfar.tokens import estimate, measure_for
from thusfar.tokens.counters import BpeCounter, well_formed

texts = st.text(max_size=300) | st.text(alphabet="ab1 \n.,字かé😀\ud800", max_size=300)
sizes = st.integers(1, 300_000)
marks = st.none() | sizes
models = st.none() | st.sampled_from(sorted(row.names[0] for row in ROWS)) | st.just("unheard-of")
counters = st.sampled_from([None, "estimate", "o200k_base", "cl100k_base", len])


@st.composite
def budgets(draw: st.DrawFn) -> InputBudget:
    values = sorted(draw(st.lists(sizes, min_size=3, max_size=3)))
    prepare_at, optimize_at, most = (value if draw(st.booleans()) else None for value in values)
    return InputBudget(optimize_at=optimize_at, max=most, prepare_at=prepare_at)


@given(budget=budgets(), window=marks, model=models, counter=counters, reserve=st.none() | sizes)
def test_limits_are_in_order_and_fit_the_window(budget, window, model, counter, reserve):
    measure = measure_for(counter, model, capacity=window)
    try:
        found = limits(budget, window, model=model, measure=measure, output_reserve=reserve)
    except OptionsError as error:
        refused = error.facts
        room = refused["window"] - refused["reserve"] - refused["overhead"]
        if room < 1:
            return
        raise

    set_marks = [m for m in (found.prepare_at, found.optimize_at, found.max) if m is not None]
    assert set_marks == sorted(set_marks), "the marks are out of order"
    assert all(mark >= 1 for mark in set_marks), "a mark is not positive"
    assert found.factor >= 1, "a margin makes the window larger"
    if budget.max is not None:
        assert found.max is not None
        assert found.max <= budget.max, "the author's maximum is passed"
    if found.window is not None:
        assert found.max is not None
        used = found.max * found.factor + found.reserve + found.overhead
        assert used <= found.window + 1e-6 or found.max == 1, "the window is passed"


@given(first=budgets(), second=budgets())
def test_merging_takes_each_field_from_the_invocation_where_it_is_set(first, second):
    try:
        merged = first.merge(second)
    except OptionsError:
        return

    for name in ("prepare_at", "optimize_at", "max"):
        given_there = getattr(second, name)
        expected = getattr(first, name) if given_there is None else given_there
        assert getattr(merged, name) == expected, name


@given(small=sizes, more=sizes, counter=counters)
def test_a_larger_window_never_gives_a_smaller_maximum(small, more, counter):
    measure = measure_for(counter)

    def most(window: int) -> int | None:
        mine = ModelCapacity(context_window=window, output_reserve=0)
        return limits(capacity=mine, measure=measure, overhead=0).max

    low, high = most(small), most(small + more)
    assert low is not None
    assert high is not None
    assert low <= high, "more room, less input"


@given(text=texts)
def test_every_text_has_a_count_and_the_same_one_again(text):
    first = estimate(text)

    assert first == estimate("".join(list(text))), "the count depends on more than the text"
    assert (first >= 1) == bool(text), "an empty text counts, or a text does not"
    assert first <= 2 * len(text) + 1, "more tokens than any character costs"


@given(left=texts, right=texts)
def test_joining_two_texts_changes_their_count_by_one_run_at_most(left, right):
    """A border may cut a run in two: two spaces, a word, a number."""
    whole, parts = estimate(left + right), estimate(left) + estimate(right)

    assert abs(whole - parts) <= 4, "more than the run at the border was counted anew"


@given(batch=st.lists(texts, max_size=8), encoding=st.sampled_from(["o200k_base", "cl100k_base"]))
def test_a_batch_counts_as_its_texts_do_one_by_one(batch, encoding):
    counter = BpeCounter(encoding)

    counts = counter.count_many(batch)

    assert counts == [counter.count_many([text])[0] for text in batch]
    assert counts == counter.count_many(well_formed(batch)), "a surrogate is not U+FFFD"


@given(
    contents=st.lists(
        st.builds(
            Content,
            st.lists(texts, max_size=3).map(tuple),
            st.lists(st.sampled_from(["image", "audio", "file"]), max_size=2).map(tuple),
        ),
        max_size=6,
    ),
    model=models,
    counter=counters,
)
def test_a_message_counts_the_same_alone_as_among_others(contents, model, counter):
    measure = measure_for(counter, model)

    together = measure.contents(contents)

    assert together == [measure.contents([content])[0] for content in contents]
    full = [any(content.texts) or bool(content.media) for content in contents]
    assert all(count >= 1 for count, filled in zip(together, full, strict=True) if filled)


@given(model=st.text(max_size=40))
def test_any_text_is_a_model_name(model):
    found = capacity_of(model)

    assert found.known or (found.context_window, found.reserve) == (8_192, 2_048)
