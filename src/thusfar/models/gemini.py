"""Google Gemini, of the Gemini API or of Google Cloud.

Source:
    docs/spec/models.md#adapters; https://ai.google.dev/api/generate-content and
    https://ai.google.dev/gemini-api/docs/troubleshooting (read 2026-11-30); google-genai 3.6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from thusfar.errors import ProviderError
from thusfar.models.calling import Decoder
from thusfar.models.errors import failure_of_status, not_sent, unreadable
from thusfar.models.failures import (
    comes_from,
    headers_of,
    kinds_of,
    retry_after,
    seconds_of,
    told_of,
    transport_failure,
)
from thusfar.models.gemini_reading import GeminiDecoder, reply_of
from thusfar.models.port import ModelReply
from thusfar.models.sdk import SdkModel

# Sentence of the provider, for which it has no code:
# https://github.com/google-gemini/gemini-cli/issues/4231 (read 2026-11-30).
_TOO_LONG: Final = "exceeds the maximum number of tokens"
_RETRY_INFO: Final = "type.googleapis.com/google.rpc.RetryInfo"
_ANSWERS: Final = ("GenerateContentResponse", "CountTokensResponse", "HttpResponse")


class Gemini(SdkModel):
    """A model behind Google's `generateContent`.

    Arguments are those of `SdkModel`; settings go into `config`. A client of the caller is a
    `google.genai.Client`, whose async side is used too.

    Example:
        >>> Gemini("gemini-3-pro", settings={"temperature": 1.0})
        Gemini('gemini-3-pro')
    """

    provider: ClassVar[str] = "google"
    dialect: str = "gemini"
    extra: ClassVar[str] = "gemini"
    keys: ClassVar[tuple[str, ...]] = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    counts: ClassVar[bool] = True

    def __init__(self, name: str, *, client: Any = None, **options: Any) -> None:
        if client is not None and options.get("async_client") is None:
            options["async_client"] = getattr(client, "aio", None)
        super().__init__(name, client=client, **options)
        self._http_clients: dict[Any, Any] = {}

    def make_client(self, *, asynchronous: bool) -> Any:
        """Make a client of the SDK; see `SdkModel`."""
        from google import genai
        from google.genai import types

        options = types.HttpOptions(
            base_url=self.base_url,
            timeout=max(1, round(self.timeout_seconds * 1000)),  # 0 would be no limit
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        if asynchronous:  # else aiohttp is used where it happens to be installed
            options.httpx_async_client = _http().AsyncClient(
                timeout=self.timeout_seconds, event_hooks={"response": [_note]}
            )
        made = genai.Client(api_key=self.api_key, http_options=options)
        if not asynchronous:
            return made
        self._http_clients[made.aio] = options.httpx_async_client
        return made.aio

    async def aclose_client(self, client: Any) -> None:
        """Close an async client that was made here, and the HTTP client that it was given."""
        await client.aclose()
        await self._http_clients.pop(client).aclose()

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Add the settings to the config; what is there already wins."""
        made = dict(arguments)
        if self.settings:
            made["config"] = {**self.settings, **_fields(arguments.get("config"))}
        return made

    def send(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK."""
        models = client.models
        call = models.generate_content_stream if stream else models.generate_content
        return call(**arguments)

    async def asend(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK's async client; a stream can be closed before its end."""
        if not stream:
            return await self.send(client, arguments, stream=False)
        return _Pieces(await self.send(client, arguments, stream=True))

    def reply(self, answered: Any) -> ModelReply:
        """Read the SDK's answer."""
        return reply_of(answered)

    def decoder(self, opened: Any) -> Decoder:
        """Make the reader of one streamed answer."""
        return GeminiDecoder(opened)

    def failure(self, error: Exception) -> ProviderError | None:
        """Read an exception of the SDK."""
        if "ValidationError" in kinds_of(error) and comes_from(error, "pydantic_core"):
            answered = str(getattr(error, "title", "")) in _ANSWERS
            return unreadable() if answered else not_sent()
        if not comes_from(error, "google"):
            return transport_failure(error)
        kinds = kinds_of(error)
        if "UnknownApiResponseError" in kinds or "ContinuationInterruptedError" in kinds:
            return unreadable()
        if "APIError" not in kinds:
            return not_sent()
        return _refusal(error)

    def ask_count(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        """Ask for the input tokens; system text counts as one more content.

        The Gemini API counts no tools, so that a request with tools is not counted there.
        """
        config = _fields(arguments.get("config"))
        if config.get("tools"):
            return None
        contents = arguments["contents"]
        if system := config.get("system_instruction"):
            contents = [_content(system), *contents]
        return client.models.count_tokens(model=arguments["model"], contents=contents)

    def counted(self, answered: Any) -> int | None:
        """Read the answer of `ask_count`."""
        return None if answered is None else answered.total_tokens


# Where the responses of a call that is being made are noted.
_RESPONSES: Final[ContextVar[list[Any] | None]] = ContextVar("responses", default=None)


async def _note(response: Any) -> None:
    if (noted := _RESPONSES.get()) is not None:
        noted.append(response)


class _Pieces:
    """A stream of the SDK, which by itself leaves its connection open when it is left early."""

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces
        self._responses: list[Any] = []

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        token = _RESPONSES.set(self._responses)
        try:
            return await anext(self._pieces)
        finally:
            _RESPONSES.reset(token)

    async def aclose(self) -> None:
        for response in self._responses:
            await response.aclose()
        await self._pieces.aclose()


def _http() -> Any:
    """Load the HTTP client that the SDK takes; its versions differ in that."""
    if find_spec("httpx2") is None:
        return import_module("httpx")
    return import_module("httpx2")


def _fields(config: Any) -> dict[str, Any]:
    """Give the fields that are set in a config, which may be an object of the SDK."""
    if config is None or isinstance(config, Mapping):
        return dict(config or {})
    return {name: getattr(config, name) for name in config.model_fields_set}


def _content(system: Any) -> Any:
    if isinstance(system, str):
        return {"role": "user", "parts": [{"text": system}]}
    return {**system, "role": "user"} if isinstance(system, Mapping) else system


def _refusal(error: Any) -> ProviderError:
    told = told_of(getattr(error, "details", None))
    seconds = retry_after(headers_of(error))
    details = told.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and detail.get("@type") == _RETRY_INFO:
            # a duration as protocol buffers write it in JSON, such as `34.5s`
            seconds = seconds_of(str(detail.get("retryDelay")).removesuffix("s"))
    code = getattr(error, "code", None)
    status = code if type(code) is int and code >= 400 else 500
    return failure_of_status(
        status,
        too_long=status == 400 and _TOO_LONG in str(told.get("message")),
        retry_after_seconds=seconds,
    )
