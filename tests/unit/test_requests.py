"""Requests: what is sealed, previewed, counted, linked, amended and recalled."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    ProviderHistorySummaryInput,
    ProviderHistorySummaryResult,
    Runtime,
    Scripted,
    context,
    droppable,
    history,
    plan,
    plan_sync,
    preview_sync,
    summarize,
)
from thusfar.errors import (
    OptionsError,
    RequestCompositionError,
    RequestTooLargeError,
    TranscriptError,
)


def count_words(text: str) -> int:
    return len(text.split())


def talk(count: int, words: int = 9) -> list[dict[str, Any]]:
    body = " ".join(["word"] * words)
    return [{"role": ("user", "assistant")[i % 2], "content": f"m{i} {body}"} for i in range(count)]


def setting(**more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "counter": count_words, "runtime": Runtime(), **more}


def managed(model: Any, **more: Any) -> Any:
    return history(recent=4, summary={"model": model, "max_tokens": 20}, **more)


# Exact requests


def test_an_exact_request_is_the_callers_own_list_with_an_empty_list_of_adaptations():
    messages = talk(4)

    planned = plan_sync(messages, **setting())

    assert planned.kwargs == {"model": "gpt-4o", "messages": messages}
    assert all(a is b for a, b in zip(planned.kwargs["messages"], messages, strict=True))
    assert planned.receipt.adaptations == ()
    assert planned.receipt.history.policy == "exact"


def test_exact_history_warns_near_the_limit_and_points_at_policies_above_it():
    near = plan_sync(talk(9), **setting(budget=InputBudget(max=100)))
    with pytest.raises(RequestTooLargeError) as raised:
        plan_sync(talk(11), **setting(budget=InputBudget(max=100)))

    assert "HISTORY_EXACT_NEAR_LIMIT" in {w.code for w in near.receipt.warnings}
    assert "history.recent()" in raised.value.fix
    assert "HISTORY_EXACT_REMEDY" in {d.code for d in raised.value.diagnostics}
    assert "word" not in str(raised.value)


def test_fixed_parts_alone_above_the_watermark_are_warned_of_and_nothing_is_prepared():
    planned = plan_sync(
        talk(4),
        system=" ".join(["rule"] * 90),
        policy=managed(Scripted("x")),
        **setting(budget=InputBudget(max=200, optimize_at=80, prepare_at=70)),
    )

    assert "REQUEST_FIXED_NEAR_LIMIT" in {w.code for w in planned.receipt.warnings}
    assert planned.accept_sync().preparing is False


def test_required_contexts_are_fixed_parts_too():
    """A summary of the history would be made in vain beside them."""
    planned = plan_sync(
        talk(4),
        use=[context("rules", " ".join(["rule"] * 90))],
        policy=managed(Scripted("x")),
        **setting(budget=InputBudget(max=200, optimize_at=80, prepare_at=70)),
    )

    noted = {w.code: w.facts for w in planned.receipt.warnings}
    assert noted["REQUEST_FIXED_NEAR_LIMIT"] == {"fixed_tokens": 90, "optimize_at": 80}
    assert planned.accept_sync().preparing is False


@pytest.mark.parametrize(
    ("dialect", "system", "where"),
    [
        ("openai-chat", "Be brief.", lambda k: k["messages"][0]["content"]),
        ("openai-responses", "Be brief.", lambda k: k["instructions"]),
        ("anthropic", "Be brief.", lambda k: k["system"][0]["text"]),
        ("gemini", "Be brief.", lambda k: k["config"]["system_instruction"]),
        ("bedrock-converse", "Be brief.", lambda k: k["system"][0]["text"]),
    ],
)
def test_the_system_text_goes_where_the_wire_has_it(dialect: str, system: str, where: Any):
    planned = plan_sync([], dialect=dialect, system=system, turn="Hi", **setting())

    assert where(planned.kwargs) == "Be brief."


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "bedrock-converse"])
def test_a_summary_is_a_part_of_its_own_where_a_user_must_speak_first(dialect: str):
    from thusfar import dialect as dialect_named
    from thusfar.messages import Message, Text

    wire = dialect_named(dialect)
    messages = [
        made
        for i in range(8)
        for made in wire.lower(
            Message(("user", "assistant")[i % 2], (Text(f"m{i} " + "word " * 9),))
        )
    ]
    planned = plan_sync(
        messages,
        dialect=dialect,
        policy=managed(Scripted("short")),
        **setting(budget=InputBudget(max=70)),
    )

    lifted = [wire.lift(message) for message in planned.messages]
    assert [message.role for message in lifted] == ["user", "assistant"] * 2
    assert "history-summary" in lifted[0].parts[0].text
    assert lifted[0].parts[1].text == "m4 " + "word " * 9
    assert "history-summary" not in json.dumps(planned.kwargs.get("system", ""))


# Previews


def test_a_preview_fits_is_over_the_limit_or_unknown_and_never_makes_anything():
    model = Scripted("short")
    arguments = setting(policy=managed(model))

    fits = preview_sync(talk(4), budget=InputBudget(max=100), **arguments)
    over = preview_sync(talk(4, 40), budget=InputBudget(max=100), **arguments)
    unknown = preview_sync(talk(20), budget=InputBudget(max=100), **arguments)

    assert (fits.status, over.status, unknown.status) == ("fits", "over-limit", "unknown")
    assert unknown.measurement == "incomplete"
    assert unknown.adaptations[0].state == "unprepared"
    assert over.diagnostics[0].code == "REQUEST_INPUT_LIMIT"
    assert model.calls == []


def test_a_preview_throws_for_what_cannot_be_composed():
    with pytest.raises(RequestCompositionError):
        preview_sync(talk(3), use=[history(), history.recent(2)], **setting())
    with pytest.raises(OptionsError):
        preview_sync(talk(3), **setting(model=None))


# Counting


def test_the_provider_is_asked_to_count_only_where_its_answer_can_matter():
    asked: list[int] = []

    def count(messages: Any, **_: Any) -> int:
        asked.append(len(messages))
        return 60

    arguments = setting(counter="estimate", capacity=300, max_output_tokens=50, count_tokens=count)
    small = plan_sync(talk(2), **arguments)
    assert (small.receipt.measurement, asked) == ("estimated", [])

    large = plan_sync(talk(16), **arguments)
    assert large.receipt.input_tokens == 60
    assert large.receipt.measurement == "exact"
    assert large.receipt.tokenizer == "provider"
    assert asked == [16]


def test_a_managed_plan_asks_at_most_three_times():
    asked: list[int] = []

    def count(messages: Any, **_: Any) -> int:
        asked.append(len(messages))
        return 10_000

    with pytest.raises(RequestCompositionError):
        plan_sync(
            talk(40),
            policy=history(recent=30, summary={"model": Scripted("x")}),
            **setting(counter="estimate", capacity=300, max_output_tokens=50, count_tokens=count),
        )

    assert 1 <= len(asked) <= 3


@pytest.mark.parametrize("answer", [-1, 1.5, "9", None, True])
def test_a_counter_that_gives_no_whole_number_is_refused(answer: Any):
    arguments = setting(counter="estimate", capacity=300, max_output_tokens=50)

    with pytest.raises(OptionsError):
        plan_sync(talk(40), count_tokens=lambda **_: answer, **arguments)


def test_a_providers_counter_is_asked_once_for_one_and_the_same_request():
    asked: list[int] = []

    def count(messages: Any, **_: Any) -> int:
        asked.append(len(messages))
        return 10_000

    with pytest.raises(RequestTooLargeError):
        plan_sync(talk(16), count_tokens=count, **setting(budget=InputBudget(max=100)))

    assert asked == [16]


def test_an_async_counter_is_awaited():
    async def count(**_: Any) -> int:
        return 60

    arguments = setting(counter="estimate", capacity=300, max_output_tokens=50)
    planned = asyncio.run(plan(talk(16), count_tokens=count, **arguments))

    assert planned.receipt.input_tokens == 60


def test_reported_usage_moves_the_maximum_once_there_is_enough_of_it():
    runtime = Runtime()
    arguments = {"model": "gpt-4o", "counter": "estimate", "runtime": runtime}
    before = plan_sync(talk(4), **arguments)
    for _ in range(8):
        planned = plan_sync(talk(4), **arguments)
        planned.accept_sync(input_tokens=planned.receipt.input_tokens * 101 // 100)
    after = plan_sync(talk(4), **arguments)

    assert before.receipt.calibration is None
    assert after.receipt.calibration["samples"] == 8
    assert after.receipt.max_input_tokens > before.receipt.max_input_tokens
    assert after.receipt.input_tokens == before.receipt.input_tokens


def reported(*shares: float) -> Any:
    """Plan behind requests of which so much was reported as of each we counted."""
    arguments = {"model": "gpt-4o", "counter": "estimate", "runtime": Runtime()}
    for share in shares:
        planned = plan_sync(talk(40), **arguments)
        planned.accept_sync(input_tokens=max(1, int(planned.receipt.input_tokens * share)))
    return plan_sync(talk(40), **arguments).receipt


def test_reported_usage_never_lifts_the_maximum_above_what_the_window_leaves():
    """Who reports only what came from no cache would else overflow the window."""
    exact = plan_sync(talk(40), model="gpt-4o", counter=count_words).receipt

    assert reported(*[0.02] * 20).max_input_tokens == exact.max_input_tokens


def test_a_report_far_from_the_others_says_nothing_of_one_request():
    """The usage of a whole run, once reported for one request, would else refuse all others."""
    usual = [1.02, 1.03, 1.02, 1.04] * 4

    found = reported(*usual, 1_000, 0.001)

    assert found.calibration["samples"] == len(usual)
    assert found.max_input_tokens == reported(*usual).max_input_tokens


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"usage": {"prompt_tokens": 12}}, 12),
        ({"usage": {"input_tokens": 5, "cache_read_input_tokens": 7}}, 12),
        ({"usage": {"inputTokens": 12}}, 12),
        ({"usage_metadata": {"prompt_token_count": 12}}, 12),
        ({}, None),
    ],
)
def test_usage_is_read_as_each_provider_reports_it(usage: dict[str, Any], tokens: int | None):
    message = {"role": "assistant", "content": "Hello."}
    response = {"choices": [{"message": message}], **usage}

    accepted = plan_sync(talk(1), **setting()).accept_sync(response)

    assert accepted.reported_input_tokens == tokens


# Executions


def test_fidelity_does_not_go_up_again_within_an_execution():
    budget = InputBudget(max=100, optimize_at=90)
    arguments = setting(policy=managed(Scripted("short")), budget=budget)
    crowded = {**arguments, "use": [context("notes", " ".join(["x"] * 40))]}

    first = plan_sync(talk(7), **crowded)
    within = plan_sync(talk(7), within=first, **arguments)
    fresh = plan_sync(talk(7), **arguments)
    other = plan_sync(talk(7), within=first, **{**arguments, "budget": InputBudget(max=99)})

    assert first.receipt.adaptations[0].representation == "summary"
    assert within.receipt.adaptations[0].representation == "summary"
    assert fresh.receipt.adaptations == ()
    assert other.receipt.adaptations == ()
    assert within.receipt.previous_request_id == first.receipt.id


def test_a_transport_retry_is_recorded_and_not_planned_anew():
    planned = plan_sync(talk(3), **setting())

    planned.retried()
    planned.retried(2)

    assert planned.inspect().transport_retries == 3
    with pytest.raises(OptionsError):
        planned.retried(-1)


def test_inspection_names_every_candidate_and_why_it_was_rejected():
    planned = plan_sync(
        talk(12),
        use=[managed(Scripted("short")), droppable(context("notes", "a b c"))],
        **setting(budget=InputBudget(max=100, optimize_at=60)),
    )

    evidence = planned.inspect()

    reasons = {(c.contributor, c.representation): c.reason for c in evidence.candidates}
    assert reasons["history", "full"] == "over-limit"
    assert reasons["history", "summary"] is None
    assert reasons["notes", "omitted"] == "lower-fidelity"
    assert [s.purpose for s in evidence.support] == ["segment"]
    assert evidence.support[0].id in planned.receipt.adaptations[0].support
    assert sum(size for _, size in evidence.breakdown) == planned.receipt.input_tokens
    assert list(evidence.breakdown) == sorted(evidence.breakdown, key=lambda p: -p[1])
    boundaries = {c.id: c.boundary for c in evidence.contributions}
    assert boundaries["notes"] == "elastic"


# Summaries by the provider, user input kept, shortening


class Native:
    name = "native"
    provider = "maker"
    window = None

    def __init__(self) -> None:
        self.inputs: list[ProviderHistorySummaryInput] = []

    def compact_history(self, wanted: ProviderHistorySummaryInput) -> Any:
        self.inputs.append(wanted)
        return ProviderHistorySummaryResult(summary="natively short")

    def generate_text(self, **_: Any) -> str:
        return "portably short"


@pytest.mark.parametrize(("native", "text"), [(True, "natively"), (False, "portably")])
def test_a_providers_own_path_is_used_unless_the_author_forbids_it(native: bool, text: str):
    model = Native()
    messages = talk(12)
    before = copy.deepcopy(messages)
    policy = history(
        recent=4,
        summary={"model": model, "strategy": summarize.rolling()},
        provider_native=native,
    )

    planned = plan_sync(messages, policy=policy, **setting(budget=InputBudget(max=100)))

    assert text in planned.messages[0]["content"]
    assert len(model.inputs) == native
    if native:
        assert len(model.inputs[0].messages) == 8
        assert model.inputs[0].strategy == summarize.rolling()
        assert model.inputs[0].model == "native"
    assert messages == before


def test_user_input_is_kept_word_for_word_beside_the_summary():
    policy = history(recent=4, summary={"model": Scripted("short"), "keep_user": 25})

    planned = plan_sync(talk(14), policy=policy, **setting(budget=InputBudget(max=130)))

    view = planned.receipt.history.view
    sent = [m["content"].split()[0] for m in planned.messages if m["role"] == "user"]
    assert sent == ["m6", "m8", "m10", "m12"]
    assert view.also_summarised == 2


def test_old_tool_results_and_images_are_cut_before_any_summary():
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "See."}, image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "word " * 400},
        {"role": "assistant", "content": "Read."},
        {"role": "user", "content": "And now?"},
    ]
    before = copy.deepcopy(messages)
    model = Scripted("short")
    policy = history(recent=1, shorten=20, summary={"model": model})

    planned = plan_sync(
        messages, policy=policy, **setting(counter="estimate", budget=InputBudget(max=300))
    )

    shown = json.dumps(planned.messages)
    assert planned.receipt.adaptations[0].representation == "shortened"
    assert "characters left out" in shown
    assert "[image left out]" in shown
    assert "base64" not in shown
    assert planned.messages[2]["tool_call_id"] == "c"
    assert planned.messages[-1] is messages[-1]
    assert model.calls == []
    assert messages == before


@pytest.mark.parametrize(
    "result",
    [
        "北京的天气很冷，明天会下雪。" * 90,
        [{"type": "text", "text": f"part {i} " * 3} for i in range(60)],
    ],
    ids=["script without spaces", "many small parts"],
)
def test_a_tool_result_is_cut_to_its_limit_in_any_script_and_however_many_parts(result: Any):
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result},
        {"role": "user", "content": "And now?"},
    ]
    policy = history(recent=1, shorten=100, summary={"model": Scripted("short")})

    def one_a_char(text: str) -> int:
        return len(text)

    planned = plan_sync(
        messages, policy=policy, **setting(counter=one_a_char, budget=InputBudget(max=800))
    )

    assert planned.receipt.adaptations[0].representation == "shortened"
    left = planned.messages[2]["content"]
    texts = [left] if isinstance(left, str) else [part["text"] for part in left]
    assert sum(map(len, texts)) <= 100
    assert "characters left out" in texts[0]


def test_what_a_listener_raises_is_logged_and_stops_no_request(caplog: pytest.LogCaptureFixture):
    def broken(event: Any) -> None:
        raise KeyError("words that nobody shall read")

    planned = plan_sync(
        talk(14),
        policy=managed(Scripted("short")),
        **setting(budget=InputBudget(max=100), runtime=Runtime(on_event=broken)),
    )

    assert planned.receipt.history.covered > 0
    assert [r.getMessage() for r in caplog.records] == ["on_event raised KeyError."] * 2


def test_a_preparation_never_raises_into_its_host(caplog: pytest.LogCaptureFixture):
    """A host may be a task group, which an error would end with all other tasks."""
    jobs: list[Any] = []

    class Host:
        def retain(self, job: Any) -> bool:
            jobs.append(job)
            return True

    broken: list[bool] = []

    def pinned(message: Any) -> bool:
        return bool(broken and 1 // 0)

    policy = history(
        recent=history.recent(4, pinned=pinned), summary={"model": Scripted("x"), "max_tokens": 20}
    )
    budget = InputBudget(max=180, optimize_at=170, prepare_at=100)
    planned = plan_sync(
        talk(14), policy=policy, **setting(budget=budget, runtime=Runtime(host=Host()))
    )
    assert planned.accept_sync("Yes.").preparing
    broken.append(True)

    asyncio.run(jobs[0]())

    (record,) = caplog.records
    assert record.getMessage() == "The preparation of a summary raised ZeroDivisionError."


# Recall


def test_a_digest_with_recall_stands_in_where_no_summary_can_be_had(tmp_path: Any):
    from thusfar.storage import open_store

    runtime = Runtime(open_store(f"sqlite:///{tmp_path / 'r.db'}"))
    messages = talk(30, 30)
    messages[7]["content"] += " the passphrase is swordfish"
    policy = history(recent=4, offload=True, summary={"model": Scripted(RuntimeError("no"))})

    planned = plan_sync(
        messages, policy=policy, **setting(runtime=runtime, budget=InputBudget(max=700))
    )

    codes = {w.code for w in planned.receipt.warnings}
    assert planned.receipt.adaptations[0].representation == "offload"
    assert "HISTORY_SUMMARY_FAILED" in codes
    assert [t["function"]["name"] for t in planned.kwargs["tools"]] == ["recall"]
    assert planned.recall_sync('{"search": "SWORDFISH passphrase"}').startswith("[7] assistant: m7")
    assert planned.recall_sync({"first": 2, "last": 3}).count("\n") == 1
    assert planned.recall_sync({"search": "nowhere"}) == "(nothing found)"
    assert planned.recall_sync({"handle": "offload_x"}) == "(nothing found)"
    with pytest.raises(TranscriptError):
        planned.recall_sync('{"first": "two"}')
