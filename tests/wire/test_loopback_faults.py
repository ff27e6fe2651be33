"""A loopback server fails as providers and networks do, and the official SDKs notice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google.genai import errors as google

from thusfar.errors import OptionsError
from thusfar.testing.loopback import WIRES, Answer, Fault, LoopbackServer, Problem
from wire.sdks import ASK, anthropic_client, gemini_client, hear, openai_client

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

wires = pytest.mark.parametrize("wire", WIRES)
colours = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

# Name of the SDK's error class, HTTP status and what the provider's error names, for each wire.
REFUSALS: dict[str, tuple[Fault, dict[str, tuple[str, int, str]]]] = {
    "rate limit": (
        Fault.rate_limit(),
        {
            "openai-chat": ("RateLimitError", 429, "rate_limit_exceeded"),
            "openai-responses": ("RateLimitError", 429, "rate_limit_exceeded"),
            "anthropic": ("RateLimitError", 429, "rate_limit_error"),
            "gemini": ("ClientError", 429, "RESOURCE_EXHAUSTED"),
        },
    ),
    "server error": (
        Fault.server_error(),
        {
            "openai-chat": ("InternalServerError", 500, "server_error"),
            "openai-responses": ("InternalServerError", 500, "server_error"),
            "anthropic": ("InternalServerError", 500, "api_error"),
            "gemini": ("ServerError", 500, "INTERNAL"),
        },
    ),
    "overloaded": (
        Fault.overloaded(),
        {
            "openai-chat": ("InternalServerError", 503, "server_is_overloaded"),
            "openai-responses": ("InternalServerError", 503, "server_is_overloaded"),
            "anthropic": ("OverloadedError", 529, "overloaded_error"),
            "gemini": ("ServerError", 503, "UNAVAILABLE"),
        },
    ),
    "unauthorized": (
        Fault.unauthorized(),
        {
            "openai-chat": ("AuthenticationError", 401, "invalid_api_key"),
            "openai-responses": ("AuthenticationError", 401, "invalid_api_key"),
            "anthropic": ("AuthenticationError", 401, "authentication_error"),
            "gemini": ("ClientError", 400, "API_KEY_INVALID"),
        },
    ),
    "context length": (
        Fault.context_length(tokens=130_000, limit=128_000),
        {
            "openai-chat": ("BadRequestError", 400, "context_length_exceeded"),
            "openai-responses": ("BadRequestError", 400, "context_length_exceeded"),
            "anthropic": ("BadRequestError", 400, "prompt is too long: 130000 tokens > 128000"),
            "gemini": ("ClientError", 400, "The input token count (130000) exceeds"),
        },
    ),
    "any status": (
        Fault.status(418, message="I am a teapot."),
        {
            "openai-chat": ("APIStatusError", 418, "I am a teapot."),
            "openai-responses": ("APIStatusError", 418, "I am a teapot."),
            "anthropic": ("APIStatusError", 418, "I am a teapot."),
            "gemini": ("ClientError", 418, "I am a teapot."),
        },
    ),
}


def raised(ask: Callable[[], Any]) -> Exception:
    """Give back what an SDK raised."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what the tests ask
        ask()
    return caught.value


def status_of(error: Any) -> int:
    return error.code if isinstance(error, google.APIError) else error.status_code


def body_of(error: Any) -> str:
    found = error.details if isinstance(error, google.APIError) else error.body
    return json.dumps(found)


@wires
@colours
@ways
@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_has_the_providers_shape(wire, asynchronous, stream, name):
    fault, expected = REFUSALS[name]
    kind, status, named = expected[wire]
    with LoopbackServer(fault) as server:
        error = raised(lambda: hear(wire, server, asynchronous=asynchronous, stream=stream))

    assert (type(error).__name__, status_of(error)) == (kind, status)
    assert named in body_of(error)


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_an_sdk_tries_again_when_retry_after_says_so(wire):
    asked = [{"role": "user", "content": ASK}]
    with LoopbackServer([Fault.rate_limit(retry_after=0.01), "Hello."]) as server:
        if wire == "anthropic":
            with anthropic_client(server) as client:
                again = client.with_options(max_retries=1)
                found = again.messages.create(model="m", max_tokens=9, messages=asked)
                text = found.content[0].text
        else:
            with openai_client(server, wire) as client:
                again = client.with_options(max_retries=1)
                if wire == "openai-chat":
                    found = again.chat.completions.create(model="m", messages=asked)
                    text = found.choices[0].message.content
                else:
                    text = again.responses.create(model="m", input=ASK).output_text

    assert text == "Hello."
    assert len(server.requests) == 2


def test_retry_after_stands_in_the_headers_and_on_gemini_in_the_body_too():
    with LoopbackServer(Fault.rate_limit(retry_after=1.5)) as server:
        by_claude = raised(lambda: hear("anthropic", server, asynchronous=False, stream=False))
        by_openai = raised(lambda: hear("openai-chat", server, asynchronous=False, stream=False))
        by_gemini = raised(lambda: hear("gemini", server, asynchronous=False, stream=False))

    assert by_claude.response.headers["retry-after"] == "1.5"
    assert by_openai.response.headers["retry-after"] == "1.5"
    assert by_openai.response.headers["retry-after-ms"] == "1500"
    assert by_gemini.details["error"]["details"][0]["retryDelay"] == "1.5s"


def test_a_refusal_may_have_a_body_of_your_own():
    with LoopbackServer(Fault.status(502, body="<h1>Bad gateway</h1>")) as server:
        error = raised(lambda: hear("openai-chat", server, asynchronous=False, stream=False))

    assert error.response.text == "<h1>Bad gateway</h1>"


ANSWER = Answer(text="A rather long answer, in several pieces.")
CUT = (openai.APIConnectionError, anthropic.APIConnectionError, httpx2.TransportError)


def is_cut(error: BaseException | None) -> bool:
    """Tell whether an error, or what it came from, is a broken connection."""
    while error is not None:
        if isinstance(error, CUT) or "ServerDisconnected" in type(error).__name__:
            return True
        if type(error).__name__ in ("ClientPayloadError", "ClientConnectionError"):
            return True
        error = error.__cause__ or error.__context__
    return False


@wires
@colours
@ways
@pytest.mark.parametrize(
    "place", [{"after_chunks": 0}, {"after_bytes": 0}, {"after_bytes": 40}], ids=str
)
def test_a_disconnect_is_an_error_of_the_connection(wire, asynchronous, stream, place):
    with LoopbackServer(Fault.disconnect(ANSWER, **place)) as server:
        error = raised(lambda: hear(wire, server, asynchronous=asynchronous, stream=stream))

    assert is_cut(error), repr(error)


@wires
@colours
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_stream_may_be_cut_between_its_chunks(wire, asynchronous, after):
    with LoopbackServer(Fault.disconnect(ANSWER, after_chunks=after)) as server:
        error = raised(lambda: hear(wire, server, asynchronous=asynchronous, stream=True))

    assert is_cut(error), repr(error)


def test_a_truncated_stream_ends_in_good_order_without_a_finish():
    asked = [{"role": "user", "content": ASK}]
    with LoopbackServer(Fault.truncate(ANSWER, after_chunks=3)) as server:
        with openai_client(server, "openai-chat") as client:
            chunks = list(client.chat.completions.create(model="m", messages=asked, stream=True))
        with gemini_client(server) as gemini:
            pieces = list(gemini.models.generate_content_stream(model="gemini-3", contents=ASK))
        with anthropic_client(server) as claude:
            events = list(
                claude.messages.create(model="m", max_tokens=9, messages=asked, stream=True)
            )

    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 3
    assert [piece.candidates[0].finish_reason for piece in pieces] == [None] * 3
    assert [event.type for event in events][:2] == ["message_start", "content_block_start"]
    assert "message_stop" not in [event.type for event in events]


@wires
@colours
@ways
def test_a_malformed_chunk_is_not_json(wire, asynchronous, stream):
    with LoopbackServer(Fault.malformed(ANSWER, after_chunks=1 if stream else 0)) as server:
        error = raised(lambda: hear(wire, server, asynchronous=asynchronous, stream=stream))

    names = {type(each).__name__ for each in (error, error.__cause__, error.__context__)}
    expected = {"JSONDecodeError", "UnknownApiResponseError", "APIResponseValidationError"}
    assert names & expected or "truncated" in str(error), repr(error)


@wires
@colours
@ways
def test_an_error_may_come_inside_a_stream(wire, asynchronous, stream):
    fault = Fault.error_in_stream(ANSWER, trouble="overloaded", after_chunks=2)
    with LoopbackServer(fault) as server:
        error = raised(lambda: hear(wire, server, asynchronous=asynchronous, stream=stream))

    named = {"anthropic": "overloaded_error", "gemini": "UNAVAILABLE"}
    assert named.get(wire, "service_unavailable_error") in body_of(error)


@wires
@pytest.mark.parametrize(
    "fault", [Fault.empty(), Fault.wrong_content_type()], ids=["empty", "html"]
)
def test_something_that_is_no_answer_is_never_taken_for_one(wire, fault):
    with LoopbackServer(fault) as server:
        raised(lambda: hear(wire, server, asynchronous=False, stream=False))


@wires
def test_slow_chunks_all_arrive(wire):
    with LoopbackServer(Fault.slow(0.005, ANSWER)) as server:
        heard = hear(wire, server, asynchronous=False, stream=True)

    assert heard.text == "A rather long answer, in several pieces."


@ways
def test_a_stall_outlasts_a_client_that_waits_less(stream):
    with (
        LoopbackServer(Fault.stall(30, ANSWER)) as server,
        openai_client(server, "openai-chat") as client,
    ):
        impatient = client.with_options(timeout=0.1)
        asked = [{"role": "user", "content": ASK}]
        error = raised(
            lambda: impatient.chat.completions.create(model="m", messages=asked, stream=stream)
        )

    assert isinstance(error, openai.APITimeoutError)


def test_a_short_stall_is_only_late():
    with LoopbackServer(Fault.stall(0.05, ANSWER, after_chunks=2)) as server:
        heard = hear("anthropic", server, asynchronous=False, stream=True)

    assert heard.text == "A rather long answer, in several pieces."


def test_closing_the_server_ends_a_stall_at_once():
    with (
        LoopbackServer(Fault.stall(60, ANSWER, after_chunks=1)) as server,
        openai_client(server, "openai-chat") as client,
    ):
        asked = [{"role": "user", "content": ASK}]
        chunks = client.chat.completions.create(model="m", messages=asked, stream=True)
        assert next(iter(chunks)).choices[0].delta.role == "assistant"
        start = time.monotonic()
        server.close()
        took = time.monotonic() - start
        chunks.close()

    assert took < 30


def test_a_client_that_leaves_is_noticed():
    with LoopbackServer(Fault.stall(60, ANSWER, after_chunks=1)) as server:
        with openai_client(server, "openai-chat") as client:
            asked = [{"role": "user", "content": ASK}]
            chunks = client.chat.completions.create(model="m", messages=asked, stream=True)
            next(iter(chunks))
            chunks.close()
        assert server.wait_hung_up(timeout=300)

    assert server.hung_up == (0,)


@pytest.mark.parametrize("wire", ["openai-responses", "anthropic", "gemini"])
def test_a_fault_of_a_count_is_refused_like_any_other(wire):
    with LoopbackServer(counts=Fault.rate_limit()) as server:
        error = raised(lambda: _count(wire, server))

    assert status_of(error) == 429


def _count(wire: str, server: LoopbackServer) -> Any:
    if wire == "openai-responses":
        with openai_client(server, wire) as client:
            return client.responses.input_tokens.count(model="m", input=ASK)
    if wire == "anthropic":
        with anthropic_client(server) as client:
            asked = [{"role": "user", "content": ASK}]
            return client.messages.count_tokens(model="m", messages=asked)
    with gemini_client(server) as client:
        return client.models.count_tokens(model="gemini-3", contents=ASK)


@pytest.mark.parametrize("seconds", [-1, 61])
def test_a_fault_waits_no_longer_than_a_minute(seconds):
    with pytest.raises(OptionsError, match="Pass from 0 to 60 seconds"):
        Fault.stall(seconds)


def test_a_problem_can_be_made_by_hand():
    fault = Fault(problem=Problem(trouble="permission", message="Not yours."))
    with LoopbackServer(fault) as server:
        error = raised(lambda: hear("anthropic", server, asynchronous=False, stream=False))

    assert isinstance(error, anthropic.PermissionDeniedError)


def test_a_compaction_may_be_refused_too():
    with (
        LoopbackServer(compactions=Fault.context_length()) as server,
        openai_client(server, "openai-responses") as client,
    ):
        error = raised(lambda: client.responses.compact(model="m", input=ASK))

    assert error.code == "context_length_exceeded"
    assert error.param == "input"
