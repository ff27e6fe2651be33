"""Request history, statement by statement, through what a user calls.

`STATEMENTS` numbers the statements of the text that request history was built from, each in a few
words of ours. Every test names in its docstring the statements that it shows to be true.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
import re
from collections.abc import Iterator
from typing import Any

import pytest

import thusfar
from thusfar import (
    InputBudget,
    Message,
    Prompt,
    ProviderHistorySummaryInput,
    ProviderHistorySummaryResult,
    RecentHistoryOptions,
    Runtime,
    Scripted,
    SummarizeStrategy,
    Text,
    Thread,
    context,
    generate_sync,
    history,
    inspect_request_sync,
    open_store,
    plan,
    plan_sync,
    preview_sync,
    summarize,
    when,
)
from thusfar.errors import (
    RepresentationUnavailableError,
    RequestCompositionError,
    RequestTooLargeError,
)

STATEMENTS = {
    1: "planning chooses a view of a complete transcript",
    2: "the caller's messages are neither changed nor replaced",
    3: "over a thread the same policies project the selected path, and nothing stored changes",
    4: "exactly one projection is active once conditions are resolved",
    5: "two of them are INVALID_COMPOSITION",
    6: "without a policy the full transcript is sent",
    7: "a window is never invented",
    8: "near the watermark a warning points at the policies",
    9: "what cannot fit exactly is REQUEST_TOO_LARGE before the provider is called",
    10: "recent takes the newest exact suffix of whole causal groups",
    11: "recent stands in the use list of a prompt with both caps",
    12: "recent makes no summary",
    13: "constructing and projecting recent calls no model, stores nothing and defers nothing",
    14: "its limit is a number of messages or an options object",
    15: "both caps hold where groups allow it",
    16: "a leading run of system messages is kept outside the caps",
    17: "tool calls stay with their results",
    18: "a newest group above a cap is kept whole, with a warning free of content",
    19: "limits are positive safe whole numbers, else a TypeError",
    20: "an empty options object is invalid",
    21: "history authorises a summary prefix and an exact recent suffix",
    22: "its options are recent, summary with model and strategy, on_miss and provider_native",
    23: "older turns may lose detail and do not disappear",
    24: "history() without options is a normal start",
    25: "provider_native=False forces the portable path",
    26: "crossing optimize_at alone never waits for a missing summary",
    27: "full history serves, and the summary is prepared for a later request",
    28: "every support call is linked from the inspection of the request",
    29: "an unknown on_miss is a TypeError",
    30: "a strategy that summarize did not make is a TypeError",
    31: "a summary that is needed and cannot be had is REPRESENTATION_UNAVAILABLE",
    32: "summarize makes inert, versioned values",
    33: "constructing a strategy generates nothing",
    34: "regenerate is such a strategy, for replay and compliance with the portable path",
    35: "a strategy has _tag, kind and version",
    36: "strategies come from their constructors only",
    37: "the identity of a summary includes kind and version of the strategy",
    38: "the first source is the messages of the call",
    39: "the second source is the messages of the prompt",
    40: "the third source is the path of the active thread",
    41: "without a source there is no history",
    42: "sources are never merged",
    43: "messages of the call take the place of the prompt's messages",
    44: "manual messages imply no commit to a thread",
    45: "a projection without a source says so and what to do",
    46: "a provider may summarise by a path of its own",
    47: "that path answers with a text and may name its request",
    48: "it is given the exact prefix, the summary model, the strategy and the permission",
    49: "the request it names is linked as a support request",
    50: "it cannot change the canonical messages",
    51: "the root has small generation contracts that summaries are made with",
    52: "those contracts bring no prompt, tools, retry, memory or telemetry",
    53: "the managed surface is what brings the full runtime",
    54: "applications need only history, history.recent and summarize",
    55: "the exported option types are for libraries that build configurations",
}


def count_words(text: str) -> int:
    return len(text.split())


def talk(count: int, words: int = 9) -> list[dict[str, Any]]:
    body = " ".join(["word"] * words)
    return [{"role": ("user", "assistant")[i % 2], "content": f"m{i} {body}"} for i in range(count)]


def setting(**more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "counter": count_words, "runtime": Runtime(), **more}


def tight(most: int = 100, **more: Any) -> dict[str, Any]:
    return setting(budget=InputBudget(max=most, **more))


def names(messages: Any) -> list[str]:
    return [str(message["content"]).split()[0] for message in messages]


def codes(planned: Any) -> set[str]:
    return {warning.code for warning in planned.receipt.warnings}


@pytest.fixture
def store() -> Iterator[Any]:
    made = open_store("memory:")
    yield made
    made.close()


def stored(store: Any, count: int = 12) -> Thread:
    thread = Thread("talk", store=store)
    for low in range(0, count, 2):
        said = talk(count)[low : low + 2]
        thread.sync.append([Message(m["role"], (Text(m["content"]),)) for m in said])
    return thread


def test_every_statement_has_a_test():
    """The table above and the docstrings below speak of the same statements."""
    told = [
        int(number)
        for name, value in globals().items()
        if name.startswith("test_") and value is not test_every_statement_has_a_test
        for number in re.findall(r"\d+", (inspect.getdoc(value) or "").split(".")[0])
    ]

    assert sorted(set(told)) == list(STATEMENTS)
    assert len(told) == len(set(told)), "a statement has one test of its own"


# The view and its owner


def test_a_view_is_chosen_from_the_complete_transcript():
    """Statement 1."""
    messages = talk(12)

    planned = plan_sync(messages, policy=history.recent(4), **setting())

    view = planned.receipt.history.view
    assert view.messages == 12
    assert planned.kwargs["messages"] == messages[8:]
    assert (view.kept, view.omitted) == (((8, 12),), ((0, 8),))


@pytest.mark.parametrize(
    "policy",
    [None, history.recent(4), history(recent=4, summary={"model": Scripted("They talked.")})],
    ids=["exact", "recent", "managed"],
)
def test_the_callers_messages_stay_what_they_were(policy: Any):
    """Statement 2."""
    messages = talk(12)
    before, objects = copy.deepcopy(messages), [id(each) for each in messages]

    planned = plan_sync(messages, policy=policy, **tight(140))

    assert messages == before
    assert [id(each) for each in messages] == objects
    own = [each for each in planned.messages if "summary" not in each["content"]]
    assert all(any(each is mine for mine in messages) for each in own)


@pytest.mark.parametrize(
    "policy",
    [history.recent(4), history(recent=4, summary={"model": Scripted("They talked.")})],
    ids=["recent", "managed"],
)
def test_a_thread_is_projected_by_the_same_policies_and_keeps_what_it_stores(
    store: Any, policy: Any
):
    """Statement 3."""
    thread = stored(store)
    alternative = thread.sync.read().entries[-2].message.id
    thread.sync.edit(alternative, "Another question.")
    thread.sync.select(alternative)
    before = thread.sync.transcript().messages
    arguments = {**tight(100), "runtime": Runtime(store)}

    of_thread = plan_sync(thread=thread, policy=policy, **arguments)
    of_list = plan_sync(talk(12), policy=policy, **tight(100))

    assert of_thread.kwargs["messages"] == of_list.kwargs["messages"]
    assert thread.sync.transcript().messages == before
    assert of_thread.receipt.history.source == "thread"


def test_one_projection_is_active_once_conditions_are_resolved():
    """Statement 4."""
    for short in (True, False):
        use = [when(short, history.recent(2)), when(not short, history.recent(6))]
        planned = plan_sync(talk(12), use=use, **setting())
        assert len(planned.messages) == (2 if short else 6)


@pytest.mark.parametrize(
    "use",
    [
        [history(), history.recent(3)],
        [history.recent(2), [context("notes", "x"), [history.recent(3)]]],
    ],
    ids=["beside", "nested"],
)
def test_two_projections_are_an_invalid_composition(use: list[Any]):
    """Statement 5."""
    model = Scripted("never")

    with pytest.raises(RequestCompositionError) as raised:
        plan_sync(talk(4), use=use, **setting())
    with pytest.raises(RequestCompositionError):
        generate_sync(messages=talk(4), use=use, model=model)

    assert raised.value.code == "INVALID_COMPOSITION"
    assert [each.code for each in raised.value.diagnostics] == ["INVALID_HISTORY_COMPOSITION"]
    assert model.requests == []


# Exact history


def test_without_a_policy_the_full_transcript_is_sent():
    """Statement 6."""
    messages = talk(40)
    model = Scripted("Answer.")

    planned = plan_sync(messages, **setting())
    generate_sync(messages=messages, model=model)

    assert planned.kwargs["messages"] == messages
    assert planned.receipt.history.policy == "exact"
    assert model.requests[0]["messages"] == messages


def test_no_window_is_invented_however_long_the_transcript_is():
    """Statement 7."""
    messages = talk(3_000)

    planned = plan_sync(messages, **setting())

    assert len(planned.messages) == 3_000
    assert planned.receipt.history.view.omitted == ()
    assert planned.receipt.adaptations == ()


def test_near_the_watermark_a_warning_names_the_policies():
    """Statement 8."""
    below = plan_sync(talk(7), **tight(100, optimize_at=80))
    near = plan_sync(talk(9), **tight(100, optimize_at=80))

    (warning,) = near.receipt.warnings
    assert "HISTORY_EXACT_NEAR_LIMIT" not in codes(below)
    assert warning.code == "HISTORY_EXACT_NEAR_LIMIT"
    assert "history.recent()" in warning.message
    assert "history()" in warning.message


def test_what_cannot_fit_exactly_is_refused_before_the_provider_is_called():
    """Statement 9."""
    model = Scripted("never")

    with pytest.raises(RequestTooLargeError) as raised:
        plan_sync(talk(11), **tight(100))
    with pytest.raises(RequestTooLargeError):
        generate_sync(
            messages=talk(11), model=model, counter=count_words, budget=InputBudget(max=100)
        )

    assert raised.value.code == "REQUEST_TOO_LARGE"
    assert model.requests == model.calls == []


# history.recent


def called(call_id: str) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def returned(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "seen"}


def test_recent_is_the_newest_exact_suffix_of_whole_groups():
    """Statement 10."""
    messages = [*talk(8), {"role": "user", "content": "Look."}, called("c"), returned("c")]

    planned = plan_sync(messages, policy=history.recent(messages=6, cut="turn"), **setting())

    assert planned.messages == messages[6:]
    assert all(one is other for one, other in zip(planned.messages, messages[6:], strict=True))


def test_recent_stands_in_the_use_list_of_a_prompt():
    """Statement 11."""
    model = Scripted("We go on.")
    reply = Prompt(
        id="support-reply",
        use=[history.recent(messages=12, tokens=8_000)],
        prompt="Continue the support conversation.",
        model=model,
    )

    result = generate_sync(reply, messages=talk(40))

    assert names(model.requests[0]["messages"])[:12] == [f"m{i}" for i in range(28, 40)]
    assert result.text == "We go on."


def test_recent_makes_no_summary(store: Any):
    """Statement 12."""
    model = Scripted("never")
    runtime = Runtime(store, summariser=model)

    planned = plan_sync(talk(40), policy=history.recent(4), **setting(runtime=runtime))
    planned.accept_sync({"role": "assistant", "content": "ok"})

    assert model.calls == []
    assert planned.receipt.history.artifact is None
    assert planned.receipt.support == ()
    assert not store._spaces["default"].artifacts


class Watched:
    """A host that counts what it is asked to do later."""

    def __init__(self) -> None:
        self.jobs: list[Any] = []

    def retain(self, job: Any) -> bool:
        self.jobs.append(job)
        return True


def test_recent_calls_no_model_stores_nothing_and_defers_nothing():
    """Statement 13."""
    host, model = Watched(), Scripted("never")
    runtime = Runtime(summariser=model, host=host)

    policy = history.recent(messages=4, tokens=60)
    view = policy.project(talk(40), counter=count_words)
    plan_sync(talk(40), policy=policy, **setting(runtime=runtime)).accept_sync("ok")

    assert len(view.messages) == 4
    assert model.calls == []
    assert host.jobs == []
    assert not any(space.artifacts or space.records for space in runtime.store._spaces.values())
    assert b"m39" not in pickle.dumps(policy), "a policy keeps no transcript"


def test_a_limit_is_a_number_of_messages_or_an_options_object():
    """Statement 14."""
    options = RecentHistoryOptions(messages=4, tokens=1_000)

    assert history.recent(4) == history.recent(messages=4)
    assert history.recent(options) == history.recent({"messages": 4, "tokens": 1_000})
    assert len(plan_sync(talk(8), policy=history.recent(options), **setting()).messages) == 4


@pytest.mark.parametrize(
    ("caps", "kept"),
    [
        ({"messages": 6, "tokens": 25}, ["m10", "m11"]),
        ({"messages": 4, "tokens": 900}, ["m8", "m9", "m10", "m11"]),
    ],
)
def test_both_caps_hold_where_groups_allow_it(caps: dict[str, int], kept: list[str]):
    """Statement 15."""
    planned = plan_sync(talk(12), policy=history.recent(**caps), **setting())

    assert names(planned.messages) == kept


def test_a_leading_run_of_system_messages_is_outside_the_caps():
    """Statement 16."""
    rules = [{"role": "system", "content": f"rule {n} " + "word " * 50} for n in range(3)]

    planned = plan_sync(
        [*rules, *talk(12)], policy=history.recent(messages=2, tokens=30), **setting()
    )

    assert planned.messages == [*rules, *talk(12)[10:]]


@pytest.mark.parametrize("cap", range(1, 8))
def test_tool_calls_stay_with_their_results(cap: int):
    """Statement 17."""
    messages = [{"role": "user", "content": "Look."}]
    messages += [each for n in range(3) for each in (called(f"c{n}"), returned(f"c{n}"))]

    sent = plan_sync(messages, policy=history.recent(cap), **setting()).messages

    made = {call["id"] for m in sent for call in m.get("tool_calls", ())}
    assert made == {m["tool_call_id"] for m in sent if m["role"] == "tool"}


def test_a_newest_group_above_a_cap_is_kept_whole_with_a_warning_free_of_content():
    """Statement 18."""
    group = [called("c"), returned("c"), returned("d")]
    group[0]["tool_calls"].append({**group[0]["tool_calls"][0], "id": "d"})

    planned = plan_sync(
        [*talk(4), {"role": "user", "content": "SECRET"}, *group],
        policy=history.recent(messages=2),
        **setting(),
    )

    assert planned.messages[-3:] == group
    assert "HISTORY_CAP_OVERFLOW" in codes(planned)
    assert "SECRET" not in json.dumps(planned.receipt.to_json()) + str(planned.receipt)


@pytest.mark.parametrize("limit", [0, -1, 1.5, float("nan"), float("inf"), 2**53, True, "4", [4]])
@pytest.mark.parametrize("cap", ["messages", "tokens"])
def test_a_limit_that_is_no_positive_safe_whole_number_is_a_type_error(cap: str, limit: Any):
    """Statement 19."""
    with pytest.raises(TypeError, match=cap):
        history.recent(**{cap: limit})


def test_an_empty_options_object_is_invalid():
    """Statement 20."""
    with pytest.raises(TypeError):
        history.recent({})
    with pytest.raises(TypeError):
        history(recent={})


# history(...)


def test_history_sends_a_summary_and_the_exact_recent_part():
    """Statement 21."""
    messages = talk(12)
    policy = history(recent=4, summary={"model": Scripted("They greeted.")})

    planned = plan_sync(messages, policy=policy, **tight())

    assert [m["role"] for m in planned.messages[:1]] == ["assistant"]
    assert "They greeted." in planned.messages[0]["content"]
    assert planned.messages[1:] == messages[8:]
    assert planned.receipt.history.view.summarised == ((0, 8),)


def test_history_takes_the_documented_options():
    """Statement 22."""
    model = Scripted("They greeted.", name="cheap")
    reply = Prompt(
        id="managed-support-reply",
        use=[
            history(
                recent={"messages": 10, "tokens": 60},
                summary={"model": model, "strategy": summarize.adaptive()},
                on_miss="inline",
                provider_native=False,
            )
        ],
        prompt="Continue the support conversation.",
        model=(answering := Scripted("We go on.")),
    )

    result = generate_sync(
        reply, messages=talk(40), counter=count_words, budget=InputBudget(max=150)
    )

    assert {call.model for call in model.calls} == {"cheap"}
    assert "They greeted." in answering.requests[0]["messages"][0]["content"]
    assert result.steps[0].request.history.policy == "managed"


def test_older_turns_may_lose_detail_and_do_not_disappear():
    """Statement 23."""
    policy = history(recent=4, summary={"model": Scripted("They talked.")})

    for count in range(2, 40):
        view = plan_sync(talk(count), policy=policy, **tight(120)).receipt.history.view
        held = [p for a, b in (*view.kept, *view.summarised) for p in range(a, b)]
        assert sorted(held) == list(range(count))
        assert view.omitted == ()


def test_history_without_options_is_a_start():
    """Statement 24."""
    summariser = Scripted("They talked.")
    answering = Scripted("We go on.")
    runtime = Runtime(summariser=summariser)

    small = plan_sync(talk(6), policy=history(), **setting(runtime=runtime))
    result = generate_sync(
        messages=talk(60),
        use=[history()],
        model=answering,
        counter=count_words,
        budget=InputBudget(max=300),
        runtime=runtime,
    )

    options = history().options
    assert (options.on_miss, options.provider_native) == ("inline", True)
    assert options.summary.strategy == summarize.adaptive()
    assert small.messages == talk(6)
    assert result.steps[0].request.history.view.summarised
    assert summariser.calls


class Native:
    """A provider that can summarise by a path of its own."""

    name = "native"
    window = None

    def __init__(self, request_id: str | None = "cmp_1", *, meddle: bool = False) -> None:
        self.inputs: list[ProviderHistorySummaryInput] = []
        self.portable: list[str] = []
        self.request_id, self.meddle = request_id, meddle

    def generate_text(self, **asked: Any) -> str:
        self.portable.append(asked["prompt"])
        return "Portable text."

    def compact_history(self, given: ProviderHistorySummaryInput) -> ProviderHistorySummaryResult:
        self.inputs.append(given)
        if self.meddle:
            with pytest.raises((AttributeError, TypeError)):
                given.messages[0].role = "system"  # type: ignore[misc]
            with pytest.raises(TypeError):
                given.messages[0] = None  # type: ignore[index]
        return ProviderHistorySummaryResult(summary="Native text.", request_id=self.request_id)


def native_plan(model: Native, messages: list[Any], **options: Any) -> Any:
    policy = history(recent=4, summary={"model": model, **options.pop("summary", {})}, **options)
    return plan_sync(messages, policy=policy, **tight())


def test_the_portable_path_can_be_forced():
    """Statement 25."""
    model = Native()

    planned = native_plan(model, talk(12), provider_native=False)

    assert model.inputs == []
    assert len(model.portable) == 1
    assert "Portable text." in planned.messages[0]["content"]


def test_crossing_the_watermark_alone_waits_for_nothing():
    """Statement 26."""
    model = Scripted("never")

    for on_miss in ("inline", "recent-only", "fail"):
        policy = history(recent=4, summary={"model": model}, on_miss=on_miss)
        planned = plan_sync(talk(10), policy=policy, **tight(120, optimize_at=60))
        assert planned.messages == talk(10)
        assert planned.receipt.input_tokens > 60

    assert model.calls == []


def test_full_history_serves_and_the_summary_is_there_for_a_later_request():
    """Statement 27."""
    model = Scripted("They talked.")
    policy = history(recent=4, summary={"model": model, "max_tokens": 20})

    async def main() -> tuple[Any, Any]:
        arguments = tight(150, optimize_at=90, prepare_at=70)
        first = await plan(talk(12), policy=policy, **arguments)
        assert model.calls == [], "the first request waits for nothing"
        accepted = await first.accept({"role": "assistant", "content": "ok"})
        assert accepted.preparing
        await arguments["runtime"].drain()
        second = await plan(talk(14), policy=policy, **arguments)
        return first, second

    first, second = asyncio.run(main())

    assert first.messages == talk(12)
    assert len(model.calls) == 1
    assert second.receipt.history.view.summarised
    assert "HISTORY_SUMMARY_INLINE" not in codes(second)


def test_every_support_call_is_linked_from_the_inspection(store: Any):
    """Statement 28."""
    model = Scripted(["", "They talked."])
    policy = history(recent=4, summary={"model": model})

    planned = plan_sync(talk(12), policy=policy, **{**tight(), "runtime": Runtime(store)})

    support = inspect_request_sync(planned.receipt.id, store=store).support
    assert [call.attempt for call in support] == [1, 2], "an empty answer is asked for again"
    assert len(model.calls) == len(support) == 2
    assert set(planned.receipt.support) <= {call.id for call in support}
    assert planned.receipt.adaptations[0].support == planned.receipt.support
    assert all(call.input_tokens > 0 and call.model == "scripted" for call in support)


@pytest.mark.parametrize("value", ["later", "", None, 1, True])
def test_an_unknown_on_miss_is_a_type_error(value: Any):
    """Statement 29."""
    with pytest.raises(TypeError, match="on_miss"):
        history(on_miss=value)


def strategy_shaped() -> list[Any]:
    class Shaped:
        _tag, kind, version = "SummarizeStrategy", "adaptive", 1

    return ["adaptive", {"kind": "adaptive", "version": 1}, Shaped(), summarize.adaptive, 7]


@pytest.mark.parametrize("value", strategy_shaped(), ids=["text", "mapping", "shape", "call", "n"])
def test_a_strategy_that_summarize_did_not_make_is_a_type_error(value: Any):
    """Statement 30."""
    with pytest.raises(TypeError):
        history(summary={"strategy": value})


@pytest.mark.parametrize(
    ("model", "on_miss"),
    [(Scripted(RuntimeError("down")), "inline"), (Scripted("ok"), "fail"), (None, "inline")],
    ids=["failing", "forbidden", "no model"],
)
def test_a_summary_that_is_needed_and_cannot_be_had_is_unavailable(model: Any, on_miss: Any):
    """Statement 31."""
    policy = history(recent=4, summary={"model": model}, on_miss=on_miss)

    with pytest.raises(RequestCompositionError) as raised:
        plan_sync(talk(12), policy=policy, **tight())

    assert isinstance(raised.value, RepresentationUnavailableError)
    assert raised.value.code == "REPRESENTATION_UNAVAILABLE"


# Strategies

MAKERS = {
    "adaptive": summarize.adaptive,
    "rolling": summarize.rolling,
    "hierarchical": summarize.hierarchical,
    "regenerate": summarize.regenerate,
    "digest": summarize.digest,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_strategy_is_an_inert_versioned_value(kind: str):
    """Statement 32."""
    made = MAKERS[kind]()

    assert made == MAKERS[kind]()
    assert made.version == 1
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(AttributeError):
        made.kind = "other"


def test_constructing_strategies_and_policies_generates_nothing():
    """Statement 33."""
    model = Scripted("never")

    for make in MAKERS.values():
        history(summary={"model": model, "strategy": make()})

    assert model.calls == []


def test_regenerate_with_the_portable_path_reads_the_whole_range_each_time():
    """Statement 34."""
    model = Native()
    policy = history(
        recent=4,
        summary={"model": model, "strategy": summarize.regenerate()},
        provider_native=False,
    )
    arguments = tight()

    plan_sync(talk(12), policy=policy, **arguments)
    later = plan_sync(talk(40), policy=policy, **arguments)

    assert model.inputs == []
    assert "m0" in model.portable[-1]
    assert "m35" in model.portable[-1]
    assert later.receipt.history.regenerate_tokens > 0


@pytest.mark.parametrize("kind", MAKERS)
def test_a_strategy_has_a_tag_a_kind_and_a_version(kind: str):
    """Statement 35."""
    made = MAKERS[kind]()

    assert (made._tag, made.kind, made.version) == ("SummarizeStrategy", kind, 1)


def test_a_strategy_cannot_be_built_beside_its_constructors():
    """Statement 36."""
    with pytest.raises(TypeError):
        SummarizeStrategy(kind="adaptive")
    with pytest.raises(TypeError):
        SummarizeStrategy(kind="anything", version=1)


def test_kind_and_version_of_the_strategy_are_part_of_a_summarys_identity():
    """Statement 37."""
    found: dict[str, str] = {}
    arguments = tight()
    for kind in ("adaptive", "rolling", "hierarchical", "regenerate"):
        summary = {"model": Scripted(f"By {kind}."), "strategy": MAKERS[kind]()}
        planned = plan_sync(talk(12), policy=history(recent=4, summary=summary), **arguments)
        found[kind] = planned.receipt.history.artifact
        assert f"By {kind}." in planned.messages[0]["content"], "no other strategy's summary"
        assert f'strategy="{kind}-1"' in planned.messages[0]["content"]

    assert len(set(found.values())) == len(found)


# Sources


def prompted(model: Any, **more: Any) -> Prompt:
    return Prompt(id="p", use=[history.recent(2)], model=model, **more)


def sent(model: Scripted) -> list[str]:
    return names(model.requests[-1]["messages"])


def test_messages_of_the_call_come_first(store: Any):
    """Statement 38."""
    model, thread = Scripted("ok"), stored(store)
    of_prompt = [{"role": "user", "content": "prompted"}]

    generate_sync(prompted(model, messages=of_prompt), messages=talk(4), thread=thread)
    planned = plan_sync(talk(4), thread=thread, **setting(runtime=Runtime(store)))

    assert sent(model) == ["m2", "m3"]
    assert planned.receipt.history.source == "caller-messages"
    assert len(planned.messages) == 4


def test_messages_of_the_prompt_come_second(store: Any):
    """Statement 39."""
    model, thread = Scripted("ok"), stored(store)
    of_prompt = [{"role": "user", "content": f"p{n} x"} for n in range(1)]

    generate_sync(prompted(model, messages=of_prompt), thread=thread)

    assert sent(model) == ["p0"]


def test_the_path_of_the_thread_comes_third(store: Any):
    """Statement 40."""
    model, thread = Scripted("ok"), stored(store)

    generate_sync(prompted(model, prompt="now what"), thread=thread)

    assert sent(model) == ["m10", "m11", "now"]


def test_without_a_source_there_is_no_history():
    """Statement 41."""
    model = Scripted("ok")

    generate_sync(Prompt(id="p", prompt="now what", model=model))
    planned = plan_sync(turn="now what", **setting())

    assert sent(model) == ["now"]
    assert planned.receipt.history.source == "none"


def test_sources_are_never_merged(store: Any):
    """Statement 42."""
    model, thread = Scripted("ok"), stored(store)
    of_prompt = [{"role": "user", "content": "prompted"}]

    for messages in ([{"role": "user", "content": "called"}], []):
        planned = plan_sync(messages, thread=thread, **setting(runtime=Runtime(store)))
        assert planned.messages == messages
    generate_sync(
        Prompt(id="p", model=model, messages=of_prompt),
        messages=[{"role": "user", "content": "called"}],
        thread=thread,
    )

    assert sent(model) == ["called"]


def test_messages_of_the_call_take_the_place_of_the_prompts():
    """Statement 43."""
    model = Scripted("ok")
    prompt = Prompt(
        id="p", model=model, system="Be brief.", messages=[{"role": "user", "content": "prompted"}]
    )

    generate_sync(prompt, messages=talk(2))
    generate_sync(prompt)

    assert names(model.requests[0]["messages"]) == ["Be", "m0", "m1"]
    assert names(model.requests[1]["messages"]) == ["Be", "prompted"]


def test_manual_messages_imply_no_commit(store: Any):
    """Statement 44."""
    model, thread = Scripted("ok"), stored(store)
    before = thread.sync.transcript().messages

    result = generate_sync(Prompt(id="p", model=model), messages=talk(2), thread=thread)
    planned = plan_sync(talk(2), thread=thread, **setting(runtime=Runtime(store)))
    accepted = planned.accept_sync({"role": "assistant", "content": "ok"})

    assert result.thread_commit is None
    assert accepted.commit is None
    assert thread.sync.transcript().messages == before


@pytest.mark.parametrize("policy", [history.recent(4), history()], ids=["recent", "managed"])
def test_a_projection_without_a_source_says_so_and_what_to_do(policy: Any):
    """Statement 45."""
    model = Scripted("never")

    with pytest.raises(RequestCompositionError) as raised:
        plan_sync(turn="Hi", policy=policy, **setting())
    with pytest.raises(RequestCompositionError):
        generate_sync(Prompt(id="p", use=[policy], prompt="Hi", model=model))

    assert [each.code for each in raised.value.diagnostics] == ["HISTORY_NO_SOURCE"]
    assert "messages=" in raised.value.fix
    assert model.requests == []


# The provider's own path


def test_a_provider_may_summarise_by_a_path_of_its_own():
    """Statement 46."""
    model = Native()

    planned = native_plan(model, talk(12))

    assert "Native text." in planned.messages[0]["content"]
    assert model.portable == []


@pytest.mark.parametrize("request_id", ["cmp_1", None])
def test_its_request_id_may_be_missing(request_id: str | None):
    """Statement 47."""
    model = Native(request_id)

    planned = native_plan(model, talk(12))

    assert "Native text." in planned.messages[0]["content"]
    assert len(model.inputs) == 1


def test_it_is_given_the_exact_prefix_the_model_the_strategy_and_the_permission():
    """Statement 48."""
    model = Native()

    native_plan(model, talk(12), summary={"strategy": summarize.rolling(), "name": "small-1"})

    (given,) = model.inputs
    assert [message.text for message in given.messages] == [m["content"] for m in talk(12)[:8]]
    assert (given.model, given.strategy) == ("small-1", summarize.rolling())
    assert given.provider_native is True


def test_the_request_that_it_names_is_linked():
    """Statement 49."""
    planned = native_plan(Native("cmp_77"), talk(12))

    (support,) = planned.inspect().support
    assert support.purpose == "native"
    assert planned.receipt.support == (support.id,)
    assert support.provider_request_id == "cmp_77"


def test_it_cannot_change_the_canonical_messages():
    """Statement 50."""
    messages = talk(12)
    before = copy.deepcopy(messages)

    native_plan(Native(meddle=True), messages)

    assert messages == before


# Support functions and types


def test_the_root_has_the_contracts_that_summaries_are_made_with():
    """Statement 51."""
    asked: list[dict[str, Any]] = []

    def generate_text(
        *,
        model: str,
        prompt: str | None = None,
        messages: Any = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
    ) -> str:
        asked.append({"model": model, "prompt": prompt, "messages": messages, "system": system})
        return "They talked."

    contract: thusfar.GenerateText = generate_text
    policy = history(recent=4, summary={"model": contract, "name": "mine"})

    planned = plan_sync(talk(12), policy=policy, **tight())

    assert {"GenerateText", "GenerateObject"} <= set(thusfar.__all__)
    assert "They talked." in planned.messages[0]["content"]
    assert [(call["messages"] is None, bool(call["prompt"])) for call in asked] == [(True, True)]
    assert asked[0]["model"] == "mine"


@pytest.mark.parametrize("contract", [thusfar.GenerateText, thusfar.GenerateObject])
def test_the_contracts_bring_nothing_of_a_runtime(contract: Any):
    """Statement 52."""
    allowed = {"self", "model", "prompt", "messages", "system", "max_output_tokens", "schema"}

    assert set(inspect.signature(contract.__call__).parameters) <= allowed


def test_the_managed_surface_brings_what_they_leave_out(store: Any):
    """Statement 53."""
    model = Scripted(['{"port": "no"}', '{"port": 8080}'])
    thread = Thread("run", store=store)
    schema = {
        "type": "object",
        "properties": {"port": {"type": "integer"}},
        "required": ["port"],
    }

    result = generate_sync("Which port?", model=model, thread=thread, output=schema)

    assert result.output == {"port": 8080}, "validated, and asked for anew"
    assert [step.accepted for step in result.steps] == [False, True]
    assert [step.request.id for step in result.steps] == list(
        dict.fromkeys(step.request.id for step in result.steps)
    )
    assert [m.role for m in thread.sync.transcript().messages] == ["user", "assistant"]


def test_three_names_are_enough_for_an_application():
    """Statement 54."""
    from thusfar import history as policies
    from thusfar import summarize as strategies

    view = policies(summary=strategies.digest()).project(talk(40), budget=InputBudget(max=800))

    assert view.messages[-1] == talk(40)[-1]
    assert policies.recent(4).project(talk(40)).messages == talk(40)[36:]


def test_libraries_can_build_configurations_from_the_exported_types():
    """Statement 55."""
    options = thusfar.HistoryOptions(
        recent=RecentHistoryOptions(messages=6),
        summary=thusfar.SummaryOptions(strategy=summarize.digest()),
        on_miss="fail",
    )

    assert history(options) == history(recent=6, summary=summarize.digest(), on_miss="fail")
    assert preview_sync(talk(8), policy=history(options), **setting()).status == "fits"
