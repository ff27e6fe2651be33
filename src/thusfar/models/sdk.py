"""A model behind a provider's official SDK; an adapter fills in what differs between providers.

The SDK is imported when the first call is made. A client made by the caller is used as it is.

Source:
    docs/spec/models.md#adapters
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

from thusfar._numbers import require_seconds
from thusfar.capacity import ModelCapacity
from thusfar.errors import MissingExtraError, OptionsError, ProviderError
from thusfar.models.calling import Answer, Call, Calls, Decoder
from thusfar.models.errors import ProviderRefusedError, not_sent
from thusfar.models.objects import SmallContracts
from thusfar.models.port import ModelEvent, ModelReply

MAX_RETRIES: Final = 2  # as the providers' own clients do
TIMEOUT_SECONDS: Final = 600.0  # of silence; as the providers' own clients wait


class SdkModel(SmallContracts):
    """A model that is called through an SDK. See `Model` for its laws.

    Args:
        name: Name of the model, as the SDK takes it.
        client: A client of the SDK, sync or async. `None`: made from the environment when needed.
        async_client: An async client, beside a sync one. `None`: made when needed; with a sync
            client of the caller alone, async calls run it in threads.
        capacity: What the model holds, or its window. `None`: what the table knows.
        max_retries: How often a request is sent again after a failure that may pass. From 0.
        timeout_seconds: How long the provider may be silent; for clients made here.
        settings: More keyword arguments of each call, such as `temperature`; the request's win.
        base_url: Another address of the provider, for clients made here.
        api_key: A key, for clients made here. `None`: from the environment, as the SDK reads it.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a bad one of these.
        native_output: Whether the provider takes the schema of an answer of this model. Processes
            ask for JSON in words alone where it does not.

    Attributes:
        name: As given.
        capacity: As given.
        settings: As given.
        native_output: As given.
        owns_client: Whether the clients are made here.
    """

    provider: ClassVar[str]
    dialect: str
    extra: ClassVar[str]
    counts: ClassVar[bool] = False  # whether the provider counts the tokens of a request
    keys: ClassVar[tuple[str, ...]] = ()  # variables that a key is read from

    def __init__(
        self,
        name: str,
        *,
        client: Any = None,
        async_client: Any = None,
        capacity: ModelCapacity | int | None = None,
        max_retries: int = MAX_RETRIES,
        timeout_seconds: float = TIMEOUT_SECONDS,
        settings: Mapping[str, Any] | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        native_output: bool = True,
    ) -> None:
        if type(max_retries) is not int or max_retries < 0:
            raise OptionsError(
                "A number of retries was no whole number.",
                fix="Pass max_retries=, at least 0.",
                option="max_retries",
            )
        require_seconds(type(self).__name__, "timeout_seconds", timeout_seconds)
        _require_sendable(name, settings)
        given_async = client is not None and self.is_async(client)
        self.name = name
        self.capacity = None if capacity is None else ModelCapacity.of(capacity)
        self.settings = dict(settings or {})
        self.timeout_seconds = timeout_seconds
        self.base_url = base_url
        self.api_key = api_key
        self.native_output = native_output
        self.owns_client = client is None and async_client is None
        self._client = None if given_async else client
        self._async_client = client if given_async else async_client
        self._making = threading.Lock()
        self._per_loop: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        threads = not self.owns_client and self._async_client is None
        self.calls = Calls(
            client=self._sync,
            async_client=None if threads else self._async,
            failure=self._failed,
            max_retries=max_retries,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # What an adapter fills in.

    def is_async(self, client: Any) -> bool:
        """Tell whether a client of the SDK is the async one."""
        return type(client).__name__.startswith("Async")

    def make_client(self, *, asynchronous: bool) -> Any:
        """Make a client of the SDK from the environment, without retries of its own."""
        raise NotImplementedError

    def close_client(self, client: Any) -> None:
        """Close a sync client that was made here."""
        client.close()

    async def aclose_client(self, client: Any) -> None:
        """Close an async client that was made here."""
        await client.close()

    def send(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK; with an async client the answer is an awaitable."""
        raise NotImplementedError

    def asend(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK's async client, where that differs."""
        return self.send(client, arguments, stream=stream)

    def reply(self, answered: Any) -> ModelReply:
        """Read the SDK's answer."""
        raise NotImplementedError

    def decoder(self, opened: Any) -> Decoder:
        """Make the reader of one streamed answer; `opened` is the SDK's stream."""
        raise NotImplementedError

    def failure(self, error: Exception) -> ProviderError | None:
        """Read an exception of the SDK; `None` for one that is not the SDK's."""
        raise NotImplementedError

    def ask_count(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        """Ask the provider for the input tokens, where it has such a call."""
        raise NotImplementedError

    def counted(self, answered: Any) -> int | None:
        """Read the answer of `ask_count`."""
        raise NotImplementedError

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Add the settings of the model to the arguments of a call; what is there already wins."""
        made = {**self.settings, **arguments}
        for name, value in self.settings.items():
            given = arguments.get(name)
            if isinstance(value, Mapping) and isinstance(given, Mapping):
                made[name] = {**value, **given}
        return made

    # The port.

    async def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request; see `Model`."""
        return await self.calls.aask(self._acall(arguments), self.reply)

    def generate_sync(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request, for code without an event loop; see `Model`."""
        return self.calls.ask(self._call(arguments), self.reply)

    def stream(self, arguments: Mapping[str, Any]) -> AsyncIterator[ModelEvent]:
        """Answer a request piece by piece; see `Model`."""
        return self.calls.astream(self._acall(arguments, stream=True), self.decoder)

    def stream_sync(self, arguments: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Answer piece by piece, for code without an event loop; see `Model`."""
        return self.calls.stream(self._call(arguments, stream=True), self.decoder)

    async def count_tokens(self, arguments: Mapping[str, Any]) -> int | None:
        """Count the input tokens of a request; see `Model`."""
        if not self.counts:
            return None
        return await self.calls.aask(self._counting(arguments), self.counted)

    def count_tokens_sync(self, arguments: Mapping[str, Any]) -> int | None:
        """Count, for code without an event loop; see `Model`."""
        return self.calls.ask(self._counting(arguments), self.counted) if self.counts else None

    def _call(self, arguments: Mapping[str, Any], *, stream: bool = False) -> Call:
        made = self.completed(arguments)
        return lambda client: self.send(client, made, stream=stream)

    def _acall(self, arguments: Mapping[str, Any], *, stream: bool = False) -> Call:
        if self.calls.async_client is None:
            return self._call(arguments, stream=stream)
        made = self.completed(arguments)
        return lambda client: self.asend(client, made, stream=stream)

    def _counting(self, arguments: Mapping[str, Any]) -> Call:
        made = self.completed(arguments)
        return lambda client: self.ask_count(client, made)

    async def ask_once(self, call: Call, read: Callable[[Any], Answer]) -> Answer:
        """Make another call of the SDK; a client that was made for it alone is closed again."""
        made = self.owns_client and asyncio.get_running_loop() not in self._per_loop
        try:
            return await self.calls.aask(call, read)
        finally:
            if made:
                await self._aclose()

    def _failed(self, error: Exception) -> ProviderError | None:
        """Read an exception, and say which key is missing where nothing could be sent."""
        made = self.failure(error)
        refused = isinstance(made, ProviderRefusedError) and "status" not in made.facts
        unread = made is None and isinstance(error, TypeError | ValueError)
        if not (refused or unread) or not self.owns_client or self.api_key is not None:
            return made
        if not self.keys or any(map(os.environ.get, self.keys)):
            return made
        return not_sent(unset=self.keys[0])

    # Clients.

    def close(self) -> None:
        """Close the sync client that was made here; a client of the caller stays open."""
        if self.owns_client and self._client is not None:
            self.close_client(self._client)
            self._client = None

    async def aclose(self) -> None:
        """Close the async client that was made for the running event loop, and the sync one."""
        await self._aclose()
        self.close()

    async def _aclose(self) -> None:
        made = self._per_loop.pop(asyncio.get_running_loop(), None)
        if made is not None:
            await self.aclose_client(made)

    def _sync(self) -> Any:
        if self._client is None:
            if not self.owns_client:
                raise OptionsError(
                    "A model with an async client alone was called without an event loop.",
                    fix="Pass a sync client as client= and the async one as async_client=.",
                    option="client",
                )
            with self._making:
                if self._client is None:
                    self._client = self._made(asynchronous=False)
        return self._client

    def _async(self) -> Any:
        """The caller's async client, or one of ours for the running event loop."""
        if self._async_client is not None:
            return self._async_client
        loop = asyncio.get_running_loop()
        if loop not in self._per_loop:
            self._per_loop[loop] = self._made(asynchronous=True)
        return self._per_loop[loop]

    def _made(self, *, asynchronous: bool) -> Any:
        try:
            return self.make_client(asynchronous=asynchronous)
        except MissingExtraError:
            raise
        except ImportError as error:
            raise MissingExtraError(
                f"The SDK of {self.provider} is not installed.",
                fix=f"Install thusfar[{self.extra}], or pass client=.",
                extra=self.extra,
            ) from error


def _require_sendable(name: Any, settings: Any) -> None:
    """Check the name and the settings of a model.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a name that is no text, settings that are no mapping,
            and a number in them that JSON does not have.
    """
    if not isinstance(name, str) or not name:
        raise OptionsError(
            f"A model was named by a {type(name).__name__}." if name else "A model had no name.",
            fix="Pass the name of the model as text.",
            option="name",
        )
    if settings is not None and not isinstance(settings, Mapping):
        raise OptionsError(
            f"The settings of a model were given as a {type(settings).__name__}.",
            fix="Pass settings= a mapping of more arguments.",
            option="settings",
        )
    for key, value in (settings or {}).items():
        if not _is_finite(value):
            raise OptionsError(
                f"The setting {key} of a model held a number that JSON does not have.",
                fix=f"Pass a finite number for {key}.",
                option=str(key),
            )


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, list | tuple) or all(map(_is_finite, value))
