"""Whatever breaks on the way, a thread is as before or has the whole turn."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Any

import pytest

from model_adapters import ADAPTERS, Adapter
from thusfar import Message, Thread, ToolCall, generate, generate_sync, open_store, stream, tool
from thusfar.errors import HistoryError
from thusfar.models.scripted import Scripted
from thusfar.runtime.generate import stream_sync
from thusfar.storage.sqlite_pool import ASYNC_THREADS
from thusfar.testing.loopback import Answer, Fault, LoopbackServer

pytestmark = pytest.mark.anyio

ANSWER = Answer(text="It is sunny, and it will stay so for days.")
CALLING = Answer(text="Let me see.", tool_calls=(ToolCall(None, "add", '{"left": 1, "right": 2}'),))

IN_STREAM = (
    Fault.disconnect(ANSWER, after_chunks=0),
    Fault.disconnect(ANSWER, after_chunks=1),
    Fault.disconnect(ANSWER, after_chunks=3),
    Fault.disconnect(ANSWER, after_bytes=40),
    Fault.truncate(ANSWER, after_chunks=2),
    Fault.malformed(ANSWER, after_chunks=3),
    Fault.error_in_stream(ANSWER, after_chunks=2),
    Fault.stall(20.0, ANSWER, after_chunks=2),
    Fault.empty(),
    Fault.wrong_content_type(),
    Fault.server_error(),
    Fault.rate_limit(),
    Fault.overloaded(),
    Fault.unauthorized(),
    Fault.context_length(),
)
WHOLE = (
    Fault.disconnect(ANSWER),
    Fault.disconnect(ANSWER, after_bytes=40),
    Fault.malformed(ANSWER),
    Fault.stall(20.0, ANSWER),
    *(fault for fault in IN_STREAM if fault.problem or fault.disturbance in ("empty",)),
)


def named(fault: Fault) -> str:
    trouble = fault.problem.trouble if fault.problem else fault.disturbance
    return f"{trouble}-{fault.after_chunks}-{fault.after_bytes}"


@tool
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


@pytest.fixture
def thread():
    store = open_store("memory:")
    made = Thread("t", store=store)
    made.sync.append([Message("user", "One."), Message("assistant", "Two.")])
    yield made
    store.close()


def said(thread):
    return [(m.role, m.text) for m in thread.sync.read().messages]


BEFORE = [("user", "One."), ("assistant", "Two.")]


def model_of(adapter: Adapter, server: LoopbackServer, fault: Fault | None = None):
    silent = fault is not None and fault.disturbance == "stall"
    return adapter.to(server, max_retries=0, timeout_seconds=0.4 if silent else 300)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", IN_STREAM, ids=named)
@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
def test_a_stream_that_breaks_leaves_the_thread_as_it_was(adapter, fault, thread):
    with LoopbackServer([fault, ANSWER]) as server:
        model, again = model_of(adapter, server, fault), model_of(adapter, server)

        with pytest.raises(HistoryError) as caught:
            list(stream_sync("Weather?", model=model, thread=thread))
        after = said(thread)
        result = generate_sync("Weather?", model=again, thread=thread)
        model.close()
        again.close()

    assert after == BEFORE
    assert result.text == ANSWER.text
    assert said(thread) == [*BEFORE, ("user", "Weather?"), ("assistant", ANSWER.text)]
    assert "sunny" not in str(caught.value)
    assert thread.sync.verify().ok


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", WHOLE, ids=named)
@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
async def test_an_answer_that_breaks_leaves_the_thread_as_it_was(adapter, fault, thread):
    with LoopbackServer([fault, ANSWER]) as server:
        model, again = model_of(adapter, server, fault), model_of(adapter, server)

        with pytest.raises(HistoryError):
            await generate("Weather?", model=model, thread=thread)
        after = said(thread)
        result = await generate("Weather?", model=again, thread=thread)
        await model.aclose()
        await again.aclose()

    assert after == BEFORE
    assert result.text == ANSWER.text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
def test_a_break_after_a_tool_round_stores_nothing_of_the_round(adapter, thread):
    with LoopbackServer([CALLING, Fault.disconnect(ANSWER, after_chunks=2)]) as server:
        model = model_of(adapter, server)

        with pytest.raises(HistoryError):
            list(stream_sync("Add.", model=model, thread=thread, tools=[add]))
        model.close()

    assert said(thread) == BEFORE


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
def test_a_tool_round_goes_over_every_wire_and_is_stored_whole(adapter, thread):
    with LoopbackServer([CALLING, ANSWER]) as server:
        model = model_of(adapter, server)
        result = generate_sync("Add.", model=model, thread=thread, tools=[add])
        model.close()
        findings = [each.findings for each in server.requests]

    assert findings == [(), ()]
    assert result.text == ANSWER.text
    stored = thread.sync.read()
    assert stored.messages[-1].text == ANSWER.text
    assert len({entry.group for entry in stored.entries[2:]}) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("moment", range(0, 12, 2))
@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
async def test_a_cancelled_stream_leaves_no_half_turn(adapter, moment, thread):
    """The stream is cancelled after so many of its events; afterwards all or nothing is stored."""
    with LoopbackServer([ANSWER, ANSWER]) as server:
        model = model_of(adapter, server)
        events = stream("Weather?", model=model, thread=thread)

        async def take() -> None:
            taken = 0
            async for _ in events:
                taken += 1
                if taken > moment:
                    asyncio.current_task().cancel()
                    await asyncio.sleep(0)

        task = asyncio.ensure_future(take())
        await asyncio.wait([task])
        await events.aclose()
        after = said(thread)
        await generate("And now?", model=model, thread=thread)
        await model.aclose()

    assert after in (BEFORE, [*BEFORE, ("user", "Weather?"), ("assistant", ANSWER.text)])
    assert said(thread)[-1] == ("assistant", ANSWER.text)
    assert thread.sync.verify().ok


def _end_what_the_database_began(store: Any) -> None:
    """Meet all threads of the store: a cancelled write that one began goes on to its end."""
    meeting = threading.Barrier(ASYNC_THREADS)
    list(store._pool.executor().map(lambda _: meeting.wait(300), range(ASYNC_THREADS)))


@pytest.mark.parametrize("moment", range(40))
async def test_a_turn_cancelled_at_any_await_is_stored_whole_or_not_at_all(moment, tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'a.db'}")
    thread = Thread("t", store=store)
    await thread.append([Message("user", "One."), Message("assistant", "Two.")])
    model = Scripted([ToolCall("a", "add", '{"left": 1, "right": 2}'), "Three.", "Four."])

    task = asyncio.ensure_future(generate("Add.", model=model, thread=thread, tools=[add]))
    for _ in range(moment):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    _end_what_the_database_began(store)

    stored = len(thread.sync.read().messages)
    assert stored in (2, 6)
    again = await generate("Next?", model=Scripted(["Four."]), thread=thread)
    assert again.text == "Four."
    assert len(thread.sync.read().messages) == stored + 2
    assert thread.sync.verify().ok
    store.close()


@pytest.mark.parametrize("chunks", [0, 1, 3, 5, 9])
def test_a_process_killed_in_mid_stream_leaves_the_thread_as_it_was(chunks, tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    store = open_store(url)
    Thread("t", store=store).sync.append([Message("user", "One."), Message("assistant", "Two.")])
    store.close()
    with LoopbackServer(Fault.stall(30.0, ANSWER, after_chunks=chunks)) as server:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                opened = open_store(url)
                model = ADAPTERS[0].to(server)
                os.write(write, b"x")
                list(stream_sync("Weather?", model=model, thread=Thread("t", store=opened)))
            finally:
                os._exit(1)
        os.read(read, 1)
        while not server.wait(1, timeout=1):
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "it ended before it asked"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    store = open_store(url)
    thread = Thread("t", store=store)
    assert said(thread) == BEFORE
    assert thread.sync.verify().ok
    assert generate_sync("Weather?", model=Scripted(["Sun."]), thread=thread).text == "Sun."
    store.close()
