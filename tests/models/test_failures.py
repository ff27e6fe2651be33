"""What goes wrong on the way to an answer, over every adapter with its real SDK."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from model_adapters import ADAPTERS, QUIET, Adapter
from thusfar.errors import ProviderError
from thusfar.models.failures import retry_after
from thusfar.models.litellm import LiteLLM
from thusfar.models.port import ModelEvent, Replied
from thusfar.models.sdk import SdkModel
from thusfar.testing.loopback import Answer, Fault, LoopbackServer

pytestmark = [pytest.mark.filterwarnings(each) for each in QUIET]
every_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
every_face = pytest.mark.parametrize("face", ["whole", "streamed", "awhole", "astreamed"])

LONG = Answer(text="One two three four five six seven eight nine ten eleven. " * 2)


def ask(model: SdkModel, adapter: Adapter, face: str) -> tuple[list[ModelEvent], Any]:
    """Ask in one way; give what was handed out, and the reply or what was raised."""
    arguments = adapter.asking("Hello")
    seen: list[ModelEvent] = []

    async def run() -> Any:
        try:
            if face == "awhole":
                return await model.generate(arguments)
            async for event in model.stream(arguments):
                seen.append(event)
            return seen[-1].reply if isinstance(seen[-1], Replied) else None
        finally:
            await model.aclose()

    try:
        if face == "whole":
            return seen, model.generate_sync(arguments)
        if face == "streamed":
            seen.extend(model.stream_sync(arguments))
            return seen, seen[-1].reply if isinstance(seen[-1], Replied) else None
        return seen, asyncio.run(run())
    except ProviderError as error:
        return seen, error
    finally:
        model.close()


REFUSALS = {
    "rate limit": (Fault.rate_limit(retry_after=120), "PROVIDER_RATE_LIMITED"),
    "server": (Fault.server_error(), "PROVIDER_UNAVAILABLE"),
    "overloaded": (Fault.overloaded(), "PROVIDER_UNAVAILABLE"),
    "key": (Fault.unauthorized(), "PROVIDER_REFUSED"),
    "permission": (Fault.status(403), "PROVIDER_REFUSED"),
    "no such model": (Fault.status(404), "PROVIDER_REFUSED"),
    "invalid": (Fault.status(400), "PROVIDER_REFUSED"),
    "too long": (Fault.context_length(), "CONTEXT_LENGTH_EXCEEDED"),
}


@every_face
@every_adapter
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_has_a_code_and_the_error_of_the_sdk_as_its_cause(
    adapter: Adapter, face: str, refusal: str
) -> None:
    fault, code = REFUSALS[refusal]
    with LoopbackServer(fault) as server:
        seen, error = ask(adapter.to(server, max_retries=0), adapter, face)
    assert seen == []
    assert isinstance(error, ProviderError)
    assert error.code == code
    assert type(error.__cause__).__module__.startswith(adapter.sdks)
    assert len(server.requests) == 1
    if refusal == "rate limit" and adapter.kind is not LiteLLM:
        assert error.facts["retry_after_seconds"] == 120
    if "openai" in adapter.sdks[0] or adapter.wire == "anthropic":
        assert error.facts["request_id"] == "req_loopback_1"


@every_face
@every_adapter
@pytest.mark.parametrize(
    "fault",
    [Fault.rate_limit(retry_after=0.01), Fault.server_error(), Fault.disconnect()],
    ids=["rate limit", "server", "disconnect"],
)
def test_what_may_pass_is_sent_again_and_counted(adapter: Adapter, face: str, fault: Fault) -> None:
    with LoopbackServer([fault, fault, "Hi."]) as server:
        model = adapter.to(server)
        paused = quickly(model)
        seen, reply = ask(model, adapter, face)
    assert reply.text == "Hi."
    assert reply.retries == 2
    assert len(server.requests) == 3
    if fault.problem is not None and fault.problem.retry_after and adapter.kind is not LiteLLM:
        assert paused == [0.01, 0.01]
    else:
        assert len(paused) == 2
    assert [isinstance(event, Replied) for event in seen].count(True) <= 1


def quickly(model: SdkModel) -> list[float]:
    """Note the pauses of a model instead of making them."""
    paused: list[float] = []

    async def anote(seconds: float) -> None:
        paused.append(seconds)

    model.calls.sleep = paused.append
    model.calls.asleep = anote
    return paused


@every_adapter
def test_what_will_not_pass_is_sent_once(adapter: Adapter) -> None:
    with LoopbackServer(Fault.context_length()) as server:
        model = adapter.to(server)
        paused = quickly(model)
        _, error = ask(model, adapter, "whole")
    assert error.code == "CONTEXT_LENGTH_EXCEEDED"
    assert (len(server.requests), paused) == (1, [])


BREAKS = {
    "disconnect": Fault.disconnect(LONG, after_chunks=8),
    "truncate": Fault.truncate(LONG, after_chunks=8),
    "malformed": Fault.malformed(LONG, after_chunks=8),
    "error": Fault.error_in_stream(LONG, after_chunks=8),
}


@pytest.mark.parametrize("face", ["streamed", "astreamed"])
@every_adapter
@pytest.mark.parametrize("fault", BREAKS)
def test_a_stream_that_breaks_raises_and_is_not_begun_again(
    adapter: Adapter, face: str, fault: str
) -> None:
    with LoopbackServer(BREAKS[fault]) as server:
        model = adapter.to(server)
        quickly(model)
        seen, error = ask(model, adapter, face)
    assert isinstance(error, ProviderError)
    assert error.code in ("PROVIDER_ANSWER_INVALID", "PROVIDER_UNAVAILABLE")
    assert seen
    assert not any(isinstance(event, Replied) for event in seen)
    assert len(server.requests) == 1


@every_face
@every_adapter
def test_silence_is_a_timeout(adapter: Adapter, face: str) -> None:
    with LoopbackServer(Fault.stall(30.0, LONG, after_chunks=0)) as server:
        model = adapter.to(server, timeout_seconds=0.2, max_retries=0)
        _, error = ask(model, adapter, face)
    assert isinstance(error, ProviderError)
    assert error.code == "PROVIDER_TIMEOUT"


@pytest.mark.parametrize("face", ["streamed", "astreamed"])
@every_adapter
def test_silence_within_a_stream_is_a_timeout(adapter: Adapter, face: str) -> None:
    seen: list[ModelEvent] = []
    seconds = 0.2
    while not seen:  # a busy machine may need longer for what comes before the silence
        assert seconds < 60, "the pieces before a silence are handed out"
        with LoopbackServer(Fault.stall(60.0, LONG, after_chunks=7)) as server:
            model = adapter.to(server, timeout_seconds=seconds, max_retries=0)
            seen, error = ask(model, adapter, face)
        assert isinstance(error, ProviderError)
        assert error.code == "PROVIDER_TIMEOUT"
        seconds *= 4


@every_face
@every_adapter
def test_an_answer_that_is_none_is_invalid(adapter: Adapter, face: str) -> None:
    with LoopbackServer(Fault.wrong_content_type()) as server:
        model = adapter.to(server, max_retries=0)
        _, error = ask(model, adapter, face)
    assert isinstance(error, ProviderError)
    assert error.code in ("PROVIDER_ANSWER_INVALID", "PROVIDER_UNAVAILABLE")


@every_face
@every_adapter
def test_an_address_where_nobody_listens_is_unavailable(adapter: Adapter, face: str) -> None:
    with socket.socket() as deaf:  # holds the port, so that nobody else can listen there
        deaf.bind(("127.0.0.1", 0))
        model = adapter.at(f"http://127.0.0.1:{deaf.getsockname()[1]}", max_retries=0)
        _, error = ask(model, adapter, face)
    assert isinstance(error, ProviderError)
    assert error.code == "PROVIDER_UNAVAILABLE"


@every_adapter
def test_arguments_that_the_sdk_does_not_take_are_refused_once(adapter: Adapter) -> None:
    wrong = adapter.as_arguments({"no_such_argument": 1})
    with LoopbackServer() as server:
        model = adapter.to(server)
        paused = quickly(model)
        if adapter.kind is LiteLLM:
            pytest.skip("LiteLLM sends what it does not know")
        with pytest.raises(ProviderError) as caught:
            model.generate_sync(adapter.asking("Hello", **wrong))
        model.close()
    assert caught.value.code == "PROVIDER_REFUSED"
    assert (server.requests, paused) == ((), [])


@every_adapter
def test_every_exception_of_the_sdk_is_read(adapter: Adapter) -> None:
    model = adapter.kind(adapter.model)
    found = list(exceptions_of(adapter.sdks[0]))
    assert len(found) >= 5
    unread = [kind.__qualname__ for kind in found if model.failure(bare(kind)) is None]
    assert unread == []


def exceptions_of(package: str) -> set[type[Exception]]:
    """Find the exceptions that the modules of an SDK about errors define."""
    root = importlib.import_module(package)
    names = [module.name for module in pkgutil.iter_modules(root.__path__)]
    errors = [name for name in names if name.strip("_") in ("exceptions", "errors")]
    modules = [importlib.import_module(f"{package}.{name}") for name in errors]
    return {
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__.startswith(package)
    }


def bare(kind: type[Exception]) -> Exception:
    """Make an exception without its constructor; it has none of its fields."""
    return kind.__new__(kind)


def test_the_header_says_when_to_try_again() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=30)
    assert retry_after({}) is None
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "7", "retry-after-ms": "1500"}) == 1.5
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "-5"}) == 0
    assert retry_after({"retry-after": "nan"}) is None
    assert retry_after({"retry-after": "inf"}) is None
    dated = retry_after({"retry-after": format_datetime(soon, usegmt=True)})
    assert dated is not None
    assert 28 <= dated <= 30
    past = datetime.now(UTC) - timedelta(days=1)
    assert retry_after({"retry-after": format_datetime(past, usegmt=True)}) == 0


@every_adapter
def test_a_pause_of_more_than_a_minute_is_not_waited_for(adapter: Adapter) -> None:
    if adapter.kind is LiteLLM:
        pytest.skip("LiteLLM does not hand on the header")
    with LoopbackServer(Fault.rate_limit(retry_after=61)) as server:
        model = adapter.to(server)
        paused = quickly(model)
        _, error = ask(model, adapter, "whole")
    assert error.code == "PROVIDER_RATE_LIMITED"
    assert (len(server.requests), paused) == (1, [])
