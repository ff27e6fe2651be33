"""Thirty turns in a small window: a real model in process, and a stand-in behind a wide door."""

from __future__ import annotations

import pytest

from model_adapters import LiteLLM
from thusfar import InputBudget, Prompt, Thread, generate_sync, history, inspect_request_sync
from thusfar.models.local import Local
from thusfar.runtime.edge import Runtime
from thusfar.storage import open_store
from thusfar.testing.loopback import Answer, LoopbackServer

TURNS = 30
WINDOW = 2048
LIMIT = 900  # tokens of a request; thirty turns need far more
WORDS = (
    "Ferry {0} leaves at {0} past nine with {0} cars, a cook, and the harbour's old pilot aboard."
)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'talk.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    made = open_store(url, namespace=f"talk-{request.node.name}")
    yield made
    made.close()


def converse(store, model, runtime) -> list:
    """Hold the conversation, and check each turn as it is stored."""
    asked = Prompt(
        prompt=WORDS.format,
        system="You take notes for a harbour master.",
        use=[Thread("harbour", store=store), history(summary={"max_tokens": 160, "attempts": 4})],
        model=model,
        budget=InputBudget(max=LIMIT),
        max_output_tokens=12,
    )
    results = [
        generate_sync(asked, input=number, runtime=runtime) for number in range(1, TURNS + 1)
    ]
    assert all(result.thread_commit.status == "selected" for result in results)
    return results


def check(store, results) -> None:
    """What every such conversation ends with: all is kept, each request fitted and adds up."""
    thread = Thread("harbour", store=store).sync
    stored = thread.read().messages
    assert [m.role for m in stored] == ["user", "assistant"] * TURNS
    assert stored[0].text == WORDS.format(1)
    assert thread.verify().ok
    for result in results:
        assert result.request.input_tokens <= LIMIT
    summarised = [r.request for r in results if r.request.history.covered]
    assert len(summarised) >= 3
    for receipt in summarised:
        view = receipt.history.view
        kept = sum(end - start for start, end in view.kept)
        assert kept + receipt.history.covered + view.system >= view.messages
    last = summarised[-1]
    evidence = inspect_request_sync(last.id, store=store)
    assert sum(size for _, size in evidence.breakdown) == last.input_tokens


def test_a_real_model_talks_for_thirty_turns_in_a_small_window(store):
    runtime = Runtime(store)

    results = converse(store, Local(window=WINDOW), runtime)

    check(store, results)
    assert any(result.request.support for result in results)
    assert any(r.request.history.covered and not r.request.support for r in results)


@pytest.mark.filterwarnings("ignore")
def test_the_same_through_litellm_and_a_loopback_server(store):
    def answer(received):
        asked = str(received.body["messages"][-1]["content"])
        if "harbour's old pilot" in asked and asked.startswith("Ferry"):
            return Answer(text="Noted: it leaves on time, and the cook is aboard.")
        return Answer(text="Ferries left on time with cars, a cook and the old pilot aboard.")

    with LoopbackServer(answer) as server:
        model = LiteLLM("openai/gpt-4.1", base_url=server.base_url("openai-chat"), api_key="a-key")
        results = converse(store, model, Runtime(store))
        sent = len(server.requests)
        findings = [each.findings for each in server.requests if each.findings]
        model.close()

    check(store, results)
    made = sum(len(r.request.support) for r in results)
    assert sent == TURNS + made
    assert findings == []
