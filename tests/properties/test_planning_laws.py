"""Laws of planning, over random transcripts, policies and budgets with a scripted summariser."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from thusfar import (
    InputBudget,
    Runtime,
    Scripted,
    compact_now_sync,
    dialect,
    history,
    per_message,
    plan_sync,
    preview_sync,
    summarize,
)
from thusfar.drive import drive
from thusfar.errors import (
    HistoryError,
    RepresentationUnavailableError,
    RequestCompositionError,
    RequestTooLargeError,
)
from thusfar.planner.planning import plan_steps
from thusfar.runtime.arguments import said_to
from thusfar.runtime.beginning import begin_sync
from thusfar.testing import transcripts

OPENAI = dialect("openai-chat")
STRATEGIES = (
    summarize.adaptive(),
    summarize.rolling(),
    summarize.hierarchical(),
    summarize.regenerate(),
    summarize.digest(line_max_chars=40),
)
SETTINGS = st.fixed_dictionaries(
    {
        "on_miss": st.sampled_from(["inline", "recent-only", "fail"]),
        "strategy": st.sampled_from(STRATEGIES),
        "recent": st.integers(1, 12),
        "cut": st.sampled_from(["auto", "turn", "exchange"]),
        "shorten": st.none() | st.integers(1, 5),
        "keep_user": st.none() | st.sampled_from([0.2, 20]),
        "offload": st.booleans(),
        "max": st.integers(20, 700),
        "share": st.integers(30, 100),
    }
)


def tokens_of(message: Any) -> int:
    """A count that depends on the content alone; the summaries made here are small."""
    text = str(message)
    return 7 if "history-summary" in text else 4 + len(text) // 16


COUNTER = per_message(tokens_of, name="sixteenths")


class Said:
    """One plan of one drawn setting."""

    def __init__(self, messages: list[Any], drawn: dict[str, Any], answer: Any = "ok") -> None:
        self.messages, self.model = messages, Scripted(answer)
        self.max = drawn["max"]
        budget = InputBudget(max=self.max, optimize_at=max(1, self.max * drawn["share"] // 100))
        self.arguments: dict[str, Any] = {
            "model": "answering",
            "dialect": "openai-chat",
            "counter": COUNTER,
            "budget": budget,
            "policy": history(
                recent=history.recent(messages=drawn["recent"], cut=drawn["cut"]),
                summary={
                    "model": self.model,
                    "strategy": drawn["strategy"],
                    "keep_user": drawn["keep_user"],
                    "max_tokens": 5,
                },
                on_miss=drawn["on_miss"],
                shorten=drawn["shorten"],
                offload=drawn["offload"],
            ),
            "runtime": Runtime(new_id=lambda: "request_1"),
        }

    def plan(self) -> Any:
        return plan_sync(self.messages, **self.arguments)

    def prepare(self, missing: list[int]) -> None:
        """Make the summaries of the conversation as it was."""
        for fewer in sorted(missing, reverse=True):
            with contextlib.suppress(HistoryError):
                compact_now_sync(
                    self.messages[: max(0, len(self.messages) - fewer)], **self.arguments
                )

    def artifacts(self) -> list[Any]:
        spaces = self.arguments["runtime"].store._spaces
        return [row for space in spaces.values() for row in space.artifacts.values()]


def positions(ranges: Any) -> list[int]:
    return [p for a, b in ranges for p in range(a, b)]


PREPARED = st.lists(st.integers(0, 30), max_size=3)
"""How many messages were missing yet when a summary was made."""


@given(transcripts(), SETTINGS, PREPARED)
@settings(max_examples=400, deadline=None)
def test_a_plan_fits_explains_every_message_and_leaves_the_record_alone(messages, drawn, prepared):
    before = copy.deepcopy(messages)
    said = Said(messages, drawn)
    said.prepare(prepared)
    full = sum(map(tokens_of, messages))

    try:
        planned = said.plan()
    except RequestTooLargeError as error:
        assert error.facts["input_tokens"] > said.max, "refused though something fitted"
        assert full > said.max, "refused although full history fits"
        assert messages == before, "the canonical transcript changed"
        return
    except RepresentationUnavailableError:
        assert full > said.max, "refused although full history fits"
        assert messages == before, "the canonical transcript changed"
        return

    view = planned.receipt.history.view
    kept, covered, omitted = map(positions, (view.kept, view.summarised, view.omitted))
    assert messages == before, "the canonical transcript changed"
    assert planned.receipt.input_tokens <= said.max, "over the maximum"
    added = dict(planned.inspect().breakdown).get("placement", 0)
    sealed = planned._sealed.request.messages  # before the provider's rules of placement
    assert sum(map(tokens_of, sealed)) + added == planned.receipt.input_tokens
    assert sorted(kept + covered + omitted) == list(range(len(messages))), "not a partition"
    if omitted:
        assert drawn["on_miss"] == "recent-only", "left out without authority"
        assert full > said.max, "left out although full history fits"
    if full <= said.arguments["budget"].optimize_at:
        assert kept == list(range(len(messages))), "fidelity given away below the watermark"
    if covered and full <= said.max:
        assert planned.receipt.input_tokens <= said.arguments["budget"].optimize_at
    inside = [p for p in kept if covered and view.system <= p < covered[-1]]
    asked_for = {"user", "system"}  # what keep_user keeps, and openers
    assert {messages[p]["role"] for p in inside} <= asked_for, "kept what nobody asked for"
    own = [m for m in sealed if any(m is mine for mine in messages)]
    if drawn["shorten"] is None:
        assert own == [messages[p] for p in kept], "not the caller's own objects in order"


@given(transcripts(), SETTINGS, PREPARED)
@settings(max_examples=300, deadline=None)
def test_no_fidelity_is_given_away_that_fitted(messages, drawn, prepared):
    """Under the watermark the best that is ready and fits it is sent, else the best within max."""
    said = Said(messages, drawn)
    said.prepare(prepared)
    try:
        planned = said.plan()
    except RequestCompositionError:
        return

    budget, sent = said.arguments["budget"], planned.receipt.input_tokens
    candidates = planned.inspect().candidates
    chosen = next(each for each in candidates if each.selected)
    limit = budget.optimize_at if sent <= budget.optimize_at else budget.max
    for each in candidates:
        if fidelity(each) > fidelity(chosen):
            assert not each.available or sent - chosen.tokens + each.tokens > limit, each
            assert each.reason in ("over-limit", "unavailable")
        elif each is not chosen:
            assert each.reason in ("lower-fidelity", "unprepared", "unavailable")


ORDER = ("full", "shortened", "authored", "summary", "offload", "omitted")


def fidelity(candidate: Any) -> tuple[int, int, int]:
    """More is better: the form; then how little it covers; then how much it says of that."""
    place = ORDER.index(candidate.representation)
    return -place, -candidate.covers, candidate.tokens


def quarters(message: Any) -> int:
    return 4 + len(str(message)) // 4


def digest_plan(messages: list[Any], drawn: dict[str, Any], chars: int, **more: Any) -> Any:
    """Plan with the digest, in a budget that its lines matter to."""
    most = drawn["max"] * 4
    return plan_sync(
        messages,
        model="answering",
        dialect="openai-chat",
        counter=per_message(quarters),
        budget=InputBudget(max=most, optimize_at=max(1, most * drawn["share"] // 100)),
        policy=history(
            recent=history.recent(messages=drawn["recent"], cut=drawn["cut"]),
            summary=summarize.digest(line_max_chars=chars),
            on_miss=drawn["on_miss"],
            **more,
        ),
    )


def sizes_without_a_planner(
    messages: list[Any], drawn: dict[str, Any], chars: int
) -> dict[str, int]:
    """Tokens of each form, the best first, as projected by itself."""
    recent = history.recent(messages=drawn["recent"], cut=drawn["cut"])
    with_counter: dict[str, Any] = {"dialect": "openai-chat", "counter": per_message(quarters)}
    forms = {"full": sum(map(quarters, messages))}
    widths = [chars]
    while widths[-1] > 40:
        widths.append(max(40, widths[-1] // 2))
    for width in widths:
        digest = history(recent=recent, summary=summarize.digest(line_max_chars=width))
        made = digest.project(messages, **with_counter).receipt
        if made.summarised:
            forms[f"summary {width}"] = made.tokens.tokens
    if drawn["on_miss"] == "recent-only":
        alone = recent.project(messages, **with_counter).measured()
        forms["omitted"] = alone.receipt.tokens.tokens
    return forms


@given(transcripts(max_turns=9), SETTINGS, st.integers(40, 400))
@settings(max_examples=200, deadline=None)
def test_the_widest_digest_that_fits_is_sent(messages, drawn, chars):
    forms = sizes_without_a_planner(messages, drawn, chars)
    most = drawn["max"] * 4
    mark = max(1, most * drawn["share"] // 100)
    below = [form for form in forms if forms[form] <= mark and form != "omitted"]
    best = next(iter(below + [form for form in forms if forms[form] <= most]), None)

    try:
        planned = digest_plan(messages, drawn, chars)
    except RequestTooLargeError:
        assert best is None
        return

    receipt = planned.receipt
    kind = receipt.adaptations[0].representation if receipt.adaptations else "full"
    narrowed = [w.facts for w in receipt.warnings if w.code == "HISTORY_DIGEST_SHORTENED"]
    if kind == "summary":
        kind = f"summary {narrowed[0]['line_max_chars'] if narrowed else chars}"
    assert kind == best
    assert receipt.input_tokens == forms[kind]


@given(transcripts(max_turns=9), SETTINGS, st.integers(1, 60), st.integers(5, 30))
@settings(max_examples=200, deadline=None)
def test_results_are_cut_before_anything_is_summarised(messages, drawn, most, times):
    for message in messages:
        if message["role"] == "tool":
            message["content"] *= times

    try:
        planned = digest_plan(messages, drawn, 200, shorten=most)
    except RequestTooLargeError:
        return

    view = planned.receipt.history.view
    tried = {each.representation: each for each in planned.inspect().candidates}
    cut = max(positions(view.summarised), default=0)
    old = [m for m in messages[view.system : cut] if m["role"] == "tool"]
    if any(len(message["content"]) > 6 * most + 100 for message in old):
        shorter = tried["shortened"]
        assert shorter.tokens < tried["full"].tokens
        assert shorter.reason == "over-limit", "summarised although cutting results would do"
        assert planned.receipt.input_tokens < shorter.tokens


class Asked:
    """Answers the questions of a plan, counts them, and stops at too many."""

    MOST = 40

    def __init__(self, edge: Any) -> None:
        self.edge, self.questions = edge, 0

    def __call__(self, question: Any) -> Any:
        self.questions += 1
        assert self.questions <= self.MOST, "a plan that does not end"
        return self.edge._answer(question)


@given(transcripts(max_turns=12), SETTINGS, st.sampled_from(["ok", "", RuntimeError("no")]))
@settings(max_examples=150, deadline=None)
def test_a_plan_ends_after_few_questions_whatever_it_is_answered(messages, drawn, answer):
    arguments = Said(messages, drawn, answer).arguments
    runtime = arguments.pop("runtime")
    arguments["count_tokens"] = lambda **_: 10**6  # a counter that never lets anything through
    said = said_to("plan", messages, arguments.pop("model"), arguments)
    edge = begin_sync(said, runtime)
    asked = Asked(edge)

    with contextlib.suppress(RequestCompositionError):
        drive(plan_steps(edge.facts), asked)

    assert asked.questions <= 12, "a search, two attempts for each summary, and three counts"


@given(transcripts(), SETTINGS)
@settings(max_examples=200, deadline=None)
def test_no_summary_covers_an_open_call_or_cuts_an_exchange(messages, drawn):
    said = Said(messages, drawn)
    try:
        view = said.plan().receipt.history.view
    except RequestCompositionError:
        return

    found = oracle.structure([OPENAI.describe(message) for message in messages])
    summarised, kept = set(positions(view.summarised)), set(positions(view.kept))
    open_from = min(found.pending, default=len(messages))
    assert not any(place >= open_from for place in summarised), "an open call is covered"
    assert not any(place >= open_from for place in positions(view.omitted)), "an open call is lost"
    for start, end in found.exchanges:
        exchange = set(range(start, end))
        assert exchange <= kept or not exchange & kept or drawn["keep_user"], "cut inside"


WIRES = st.sampled_from(["openai-chat", "openai-responses", "anthropic", "gemini"])


@given(transcripts(), SETTINGS, st.none() | st.integers(0, 30), WIRES)
@settings(max_examples=300, deadline=None)
def test_plan_and_preview_agree_and_a_preview_makes_nothing(messages, drawn, prepared, wire):
    """Also where a summary is ready, and where the provider's rules of placement add to it."""
    said = Said(messages, drawn)
    said.arguments |= {"wire": wire, "leave_out": True}
    if prepared is not None:
        with contextlib.suppress(HistoryError):
            compact_now_sync(messages[: len(messages) - prepared], **said.arguments)
        said.model.calls.clear()
    kept = said.artifacts()

    shown = preview_sync(messages, **said.arguments)
    assert said.model.calls == [], "a preview called the model"
    assert said.artifacts() == kept, "a preview wrote something"
    try:
        planned = said.plan()
    except RequestCompositionError:
        assert shown.status in ("over-limit", "unknown")
        return
    if said.model.calls:
        assert shown.status == "unknown"
        assert shown.input_tokens <= planned.receipt.input_tokens
    else:
        assert shown.status == "fits"
        assert shown.receipt == planned.receipt


@given(transcripts(), SETTINGS)
@settings(max_examples=100, deadline=None)
def test_the_same_facts_give_the_same_bytes(messages, drawn):
    def bytes_of() -> bytes:
        try:
            planned = Said(copy.deepcopy(messages), drawn).plan()
        except RequestCompositionError as error:
            return str((error, error.facts, error.diagnostics)).encode()
        return msgspec.json.encode(
            (planned.receipt, planned.inspect(), planned.messages), order="deterministic"
        )

    assert bytes_of() == bytes_of()


@given(transcripts(), SETTINGS, st.sampled_from(["", "word " * 400, RuntimeError("no")]))
@settings(max_examples=150, deadline=None)
def test_a_failing_summariser_ends_in_a_typed_error_or_an_authorised_form(messages, drawn, answer):
    said = Said(messages, drawn, answer)
    before = copy.deepcopy(messages)

    try:
        planned = said.plan()
    except RequestCompositionError:
        planned = None

    assert messages == before
    assert len(said.model.calls) <= 2, "asked more often than attempts allow"
    assert said.artifacts() == []
    if planned is not None:
        view = planned.receipt.history.view
        made = [a for a in planned.receipt.adaptations if a.representation == "summary"]
        assert not made or drawn["strategy"].kind == "digest"
        assert planned.receipt.input_tokens <= said.max
        if view.omitted:
            assert drawn["on_miss"] == "recent-only"
