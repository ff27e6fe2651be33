"""Whole conversations through plan, accept and a stored thread, on every store that is at hand."""

from __future__ import annotations

import asyncio
import json
import uuid
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from thusfar import (
    InputBudget,
    Message,
    Runtime,
    Scripted,
    Text,
    compact_now_sync,
    history,
    inspect_request_sync,
    plan,
    plan_sync,
    summarize,
)
from thusfar.errors import InspectionUnavailableError, OptionsError
from thusfar.storage import open_store
from thusfar.thread.handle import Thread

WORDS = " ".join(["word"] * 40)


class Counter:
    name = "words"
    confidence = "exact"

    def count_many(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: Any, tmp_path: Path) -> Any:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    else:
        url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'threads.db'}"
    opened = open_store(url, namespace=f"talk-{uuid.uuid4().hex}")
    yield opened
    opened.close()


class Talk:
    """One conversation in a thread, planned turn by turn."""

    def __init__(self, store: Any, *, most: int = 1000, **options: Any) -> None:
        self.model = Scripted("What was said so far.")
        self.thread = Thread("talk", store=store)
        self.runtime = Runtime(store, summariser=self.model)
        summary = {"max_tokens": 60, **options.pop("summary", {})}
        self.arguments: dict[str, Any] = {
            "thread": self.thread,
            "model": "gpt-4o",
            "counter": Counter(),
            "budget": InputBudget(max=most),
            "policy": history(recent=4, summary=summary, **options),
            "runtime": self.runtime,
        }

    def turn(self, number: int) -> Any:
        planned = plan_sync(turn=f"question {number} {WORDS}", **self.arguments)
        planned.accept_sync({"role": "assistant", "content": f"answer {number} {WORDS}"})
        return planned

    async def aturn(self, number: int) -> Any:
        planned = await plan(turn=f"question {number} {WORDS}", **self.arguments)
        await planned.accept({"role": "assistant", "content": f"answer {number} {WORDS}"})
        await self.runtime.drain()
        return planned


def test_a_long_conversation_never_passes_its_budget_and_is_stored_exactly(store: Any):
    async def main() -> None:
        talk = Talk(store)
        plans = [await talk.aturn(i) for i in range(40)]

        said = [m.text for m in talk.thread.sync.transcript().messages]
        assert len(said) == 80
        assert said[0] == f"question 0 {WORDS}"
        assert all(p.receipt.input_tokens <= 1000 for p in plans)
        assert all(p.receipt.history.view.omitted == () for p in plans)
        assert all("HISTORY_SUMMARY_INLINE" not in str(p.receipt) for p in plans)
        assert plans[-1].receipt.history.covered > 40
        assert "history-summary" not in json.dumps(said)

    asyncio.run(main())


def test_requests_share_their_head_with_the_one_before(store: Any):
    async def main() -> None:
        talk = Talk(store)
        plans = [await talk.aturn(i) for i in range(40)]

        pairs = list(pairwise(plans))
        whole = [b for a, b in pairs if b.receipt.cached_prefix_tokens == a.receipt.input_tokens]
        assert len(whole) >= 0.85 * len(pairs)
        assert all(b.receipt.previous_request_id == a.receipt.id for a, b in pairs)

    asyncio.run(main())


def test_a_plan_reads_no_more_of_a_thread_than_it_looks_at(store: Any):
    talk = Talk(store)
    for low in range(0, 2000, 2):
        talk.thread.sync.append(
            [
                Message("user", (Text(f"q{low} {WORDS}"),)),
                Message("assistant", (Text(f"a{low} {WORDS}"),)),
            ]
        )
    compact_now_sync(**talk.arguments)

    planned = plan_sync(turn="And now?", **talk.arguments)

    pages = planned._edge.facts.source.messages
    assert len(pages) == 2000
    assert len(pages) - pages.first <= 64 + 8
    assert planned.receipt.history.covered == 1996
    assert planned.receipt.adaptations[0].full_tokens == 2000 * (len(WORDS.split()) + 1)
    view = planned.receipt.history.view
    assert view.summarised == ((0, 1996),)
    assert view.kept == ((1996, 2000),)


def test_the_leading_system_message_is_kept_outside_the_summary(store: Any):
    talk = Talk(store)
    talk.thread.sync.append({"role": "system", "content": "Be kind."})
    for i in range(30):
        planned = talk.turn(i)

    assert planned.kwargs["messages"][0] == {"role": "system", "content": "Be kind."}
    assert "history-summary" in planned.kwargs["messages"][1]["content"]
    assert planned.receipt.history.view.summarised[0][0] == 1


def test_redacting_a_covered_message_erases_its_summaries_at_once(store: Any):
    talk = Talk(store)
    talk.model = talk.runtime.summariser = Scripted("User's passport: X123")
    for i in range(30):
        talk.turn(i)
    first = talk.thread.sync.read().ids[0]
    before = plan_sync(**talk.arguments)
    assert "X123" in json.dumps(before.kwargs)

    erased = talk.thread.sync.redact(first)
    talk.runtime.summariser = talk.model = Scripted("Nothing left.")
    after = plan_sync(**talk.arguments)

    assert erased.artifacts >= 1
    assert "X123" not in json.dumps(after.kwargs)
    assert after.receipt.history.artifact != before.receipt.history.artifact
    assert len(talk.model.calls) >= 1


def test_another_branch_does_not_find_the_summary_of_this_one(store: Any):
    talk = Talk(store)
    for i in range(30):
        talk.turn(i)
    here = plan_sync(**talk.arguments)
    second = talk.thread.sync.read().ids[2]

    talk.thread.sync.edit(second, "another question")
    for i in range(30):
        there = talk.turn(100 + i)

    prompts = " ".join(call.prompt for call in talk.model.calls[-3:])
    assert there.receipt.history.artifact != here.receipt.history.artifact
    assert "another question" in prompts or "answer 10" in prompts
    assert "question 29" not in prompts


def test_a_turn_that_moves_the_thread_while_it_is_planned_is_planned_again(store: Any):
    talk = Talk(store)
    for i in range(30):
        talk.turn(i)
    talk.arguments["policy"] = history(recent=4, summary={"max_tokens": 60, "instructions": "New."})

    def moves(_: Any) -> str:
        talk.runtime.summariser = Scripted("fine")
        talk.thread.sync.append("something else")
        return "What was said."

    talk.runtime.summariser = Scripted(moves)
    planned = plan_sync(turn="And now?", **talk.arguments)

    assert planned.receipt.history.revision == talk.thread.sync.transcript().revision
    assert "something else" in json.dumps(planned.kwargs)


def test_a_receipt_is_inspected_from_the_store_in_another_process(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'threads.db'}"
    store = open_store(url)
    planned = Talk(store).turn(1)
    store.close()

    other = open_store(url)
    evidence = inspect_request_sync(planned.receipt.id, store=other)

    assert evidence.breakdown == planned.inspect().breakdown
    with pytest.raises(InspectionUnavailableError):
        inspect_request_sync("request_unknown", store=other)
    with pytest.raises(InspectionUnavailableError):
        inspect_request_sync(planned.receipt, store=other.within("elsewhere"))


def test_nothing_of_what_was_said_is_in_receipts_or_keys(store: Any):
    talk = Talk(store, summary={"instructions": "secret wish"})
    for i in range(30):
        planned = talk.turn(i)

    shown = json.dumps(planned.receipt.to_json()) + str(planned.receipt) + str(planned.inspect())
    for secret in ("word word", "question", "secret wish", "What was said"):
        assert secret not in shown


def test_call_site_messages_win_over_the_thread_also_when_there_are_none(store: Any):
    talk = Talk(store)
    talk.turn(1)

    shadowed = plan_sync([], **talk.arguments)

    assert shadowed.receipt.history.source == "caller-messages"
    assert shadowed.messages == []


def test_an_empty_thread_is_a_source(store: Any):
    planned = plan_sync(turn="Hello", **Talk(store).arguments)

    assert planned.receipt.history.source == "thread"
    assert planned.kwargs["messages"] == [{"role": "user", "content": "Hello"}]


def test_a_thread_needs_the_runtime_of_its_own_store(store: Any):
    talk = Talk(store)
    talk.arguments["runtime"] = Runtime()

    with pytest.raises(OptionsError):
        plan_sync(**talk.arguments)


@pytest.mark.parametrize("strategy", [summarize.digest(), summarize.regenerate()])
def test_strategies_that_look_at_everything_work_over_a_thread_too(store: Any, strategy: Any):
    talk = Talk(store, most=1500, summary={"strategy": strategy})
    for i in range(40):
        planned = talk.turn(i)

    view = planned.receipt.history.view
    assert view.summarised[0][0] == 0
    assert planned.receipt.input_tokens <= 1500
    assert len(talk.model.calls) == 0 or strategy.kind == "regenerate"


def test_a_pending_call_and_all_after_it_stay_exact(store: Any):
    talk = Talk(store)
    for i in range(20):
        talk.turn(i)
    call = {"id": "c1", "type": "function", "function": {"name": "ask", "arguments": "{}"}}
    talk.thread.sync.append(
        [
            {"role": "user", "content": "Do it."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ],
        open=True,
    )

    planned = plan_sync(**talk.arguments)

    view = planned.receipt.history.view
    assert view.kept[-1][1] == 42
    assert view.summarised[-1][1] <= 40
    assert "HISTORY_OPEN_CALLS" in {w.code for w in planned.receipt.warnings}


@pytest.mark.parametrize("repair", ["close", "drop"])
@pytest.mark.parametrize("said_since", [1, 20, 90])
def test_a_summary_does_not_cover_a_call_that_waits_however_much_was_said_since(
    store: Any, repair: str, said_since: int
):
    """Also where it is further back than what a plan reads."""
    talk = Talk(store)
    for i in range(20):
        talk.turn(i)
    call = {"id": "c1", "type": "function", "function": {"name": "ask", "arguments": "{}"}}
    asked = [
        {"role": "user", "content": "Do it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    talk.thread.sync.append(asked, open=True)
    for i in range(20, 20 + said_since):
        talk.thread.sync.append({"role": "user", "content": f"question {i} {WORDS}"})
        talk.thread.sync.append({"role": "assistant", "content": f"answer {i} {WORDS}"})
    recent = history.recent(4, repair=repair)
    summary = {"model": Scripted("They talked."), "strategy": summarize.rolling()}
    talk.arguments |= {"policy": history(recent=recent, summary=summary)}

    talk.arguments["budget"] = InputBudget(max=said_since * 2 * 50 + 500)
    planned = plan_sync(**talk.arguments)
    compacted = compact_now_sync(**talk.arguments)

    view = planned.receipt.history.view
    kept = {place for low, high in view.kept for place in range(low, high)}
    absent = {41} if repair == "drop" else set()
    assert kept >= set(range(41, 42 + 2 * said_since)) - absent
    assert compacted.messages <= 41
    talk.thread.sync.append({"role": "tool", "tool_call_id": "c1", "content": "Done."})
    assert plan_sync(**talk.arguments).receipt.history.view.repairs == ()


def test_the_text_of_an_erased_summary_is_nowhere_in_the_database_files(tmp_path: Path):
    store = open_store(f"sqlite:///{tmp_path / 'threads.db'}")
    talk = Talk(store)
    talk.runtime.summariser = Scripted("The passport is PASSPORT-X123.")
    for i in range(30):
        talk.turn(i)
    held = [path for path in tmp_path.iterdir() if b"PASSPORT-X123" in path.read_bytes()]
    assert held, "the summary was not stored"

    talk.thread.sync.redact(talk.thread.sync.read().ids[0])
    talk.thread.sync.verify(erased=True)
    store.close()

    assert not [path for path in tmp_path.iterdir() if b"PASSPORT-X123" in path.read_bytes()]


POLICIES = {
    "exact": (history.exact(), 0),
    "recent messages": (history.recent(6), 34),
    "recent tokens": (history.recent(tokens=252), 34),
    "stepped": (history.recent(messages=6, advance=0.5), 36),
    "pinned": (history.recent(messages=6, pinned=lambda m: "question 3 " in m.text), 33),
}


@pytest.mark.parametrize(("policy", "omitted"), POLICIES.values(), ids=list(POLICIES))
def test_every_policy_works_over_a_thread(store: Any, policy: Any, omitted: int):
    talk = Talk(store, most=10_000)
    for i in range(20):
        talk.turn(i)
    talk.arguments["policy"] = policy

    planned = plan_sync(turn="And now?", **talk.arguments)

    view = planned.receipt.history.view
    assert view.messages == 40
    assert view.omitted_messages == omitted
    assert planned.messages[-1] == {"role": "user", "content": "And now?"}
    ours = plan_sync(
        [*talk.thread.sync.transcript().messages],
        turn=Message("user", (Text("And now?"),)),
        **{**talk.arguments, "thread": None, "runtime": Runtime()},
    )
    assert len(ours.messages) == len(planned.messages)
    assert ours.receipt.input_tokens == planned.receipt.input_tokens


def test_user_input_kept_word_for_word_works_over_a_thread_too(store: Any):
    talk = Talk(store, most=1500, summary={"keep_user": 100})
    for i in range(40):
        planned = talk.turn(i)

    kept = planned.receipt.history.view.kept
    assert planned.receipt.history.view.also_summarised == 2
    assert len(kept) == 3
    assert planned.receipt.input_tokens <= 1500


def test_exact_messages_are_recalled_from_a_thread_of_any_length(store: Any):
    talk = Talk(store, offload=True, most=3000, summary={"strategy": summarize.digest()})
    talk.thread.sync.append("the passphrase is swordfish")
    talk.thread.sync.append({"role": "assistant", "content": "Noted."})
    for i in range(40):
        planned = talk.turn(i)

    assert "swordfish" in planned.recall_sync({"search": "swordfish"})
    assert planned.recall_sync({"first": 1}) == "[1] assistant: Noted."


def test_a_tool_loop_of_ones_own_is_stored_answer_by_answer(store):
    """Each answer is accepted as it comes; the results of its calls are the next turn."""
    thread = Thread("talk", store=store)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = plan_sync(thread=thread, turn="What is there?", model="gpt-4o")
    first = asked.accept_sync({"role": "assistant", "content": None, "tool_calls": [call]})
    result = {"role": "tool", "tool_call_id": "c1", "content": "A ferry."}

    told = plan_sync(thread=thread, turn=[result], within=asked, model="gpt-4o")
    last = told.accept_sync("There is a ferry.")
    after = plan_sync(thread=thread, turn="When?", model="gpt-4o")

    assert first.commit.status == last.commit.status == "selected"
    assert [message["role"] for message in told.messages] == ["user", "assistant", "tool"]
    assert [message["role"] for message in after.messages] == [
        *("user", "assistant", "tool", "assistant", "user")
    ]
    told_of = [warning.code for each in (told, after) for warning in each.receipt.warnings]
    assert "HISTORY_OPEN_CALLS" not in told_of


def anthropic_block(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def test_results_of_an_open_answer_may_come_one_by_one_on_another_wire(store):
    thread = Thread("talk", store=store)
    said = {"thread": thread, "model": "claude-sonnet-4-5", "dialect": "anthropic"}
    calls = [anthropic_block("tool_use", id=f"t{i}", name="look", input={}) for i in range(2)]
    results = [
        {
            "role": "user",
            "content": [anthropic_block("tool_result", tool_use_id=f"t{i}", content="Fog.")],
        }
        for i in range(2)
    ]

    asked = plan_sync(turn="What is there?", max_output_tokens=100, **said)
    asked.accept_sync({"type": "message", "role": "assistant", "content": calls})
    half = plan_sync(turn=results[0], max_output_tokens=100, **said)
    thread.sync.append(results[:1], open=True)
    told = plan_sync(turn=results[1], max_output_tokens=100, **said)
    told.accept_sync({"role": "assistant", "content": "There is fog."})

    codes = [{warning.code for warning in each.receipt.warnings} for each in (half, told)]
    assert ["HISTORY_OPEN_CALLS" in each for each in codes] == [True, False]
    assert thread.sync.verify().problems == ()
    after = plan_sync(turn="And now?", max_output_tokens=100, **said)
    assert [message["role"] for message in after.messages] == ["user", "assistant"] * 2 + ["user"]


def test_an_answer_is_stored_once_however_often_it_is_accepted(store):
    """Whoever does not know whether `accept` came through accepts again."""
    thread = Thread("talk", store=store)
    planned = plan_sync(thread=thread, turn="Hello", model="gpt-4o")

    first = planned.accept_sync("Hi there.", input_tokens=9)
    again = planned.accept_sync("Hi there.", input_tokens=9)
    other = planned.accept_sync("Good day.")

    assert (first.commit.replayed, again.commit.replayed) == (False, True)
    assert again.commit.message_ids == first.commit.message_ids
    assert other.commit.status == "alternative"
    assert [len(m.parts) for m in thread.sync.transcript().messages] == [1, 1]
    assert len(planned._edge.runtime._ratios) <= 1
