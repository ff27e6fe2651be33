"""Anthropic Messages.

Source:
    docs/spec/models.md#adapters; https://platform.claude.com/docs/en/api/messages and
    https://platform.claude.com/docs/en/api/errors (read 2026-11-30); anthropic 2.14.0.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar, Final

from thusfar.capacity import capacity_of
from thusfar.errors import ProviderError
from thusfar.models.anthropic_compaction import compaction_arguments, compacts, summary_of
from thusfar.models.anthropic_reading import AnthropicDecoder, reply_of
from thusfar.models.calling import Decoder
from thusfar.models.contracts import ProviderHistorySummaryInput, ProviderHistorySummaryResult
from thusfar.models.failures import stainless_failure
from thusfar.models.port import ModelReply
from thusfar.models.sdk import SdkModel

# What counting takes of a request. anthropic 2.14.0, types/message_count_tokens_params.py.
_COUNTED: Final = (
    "messages",
    "model",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "extra_headers",
    "extra_query",
    "extra_body",
)
# Sentences of the provider, for which it has no code:
# https://github.com/boldsoftware/exe.dev/issues/62 (read 2026-11-30).
_TOO_LONG: Final = ("prompt is too long", "exceed context limit")

Compact = Callable[[ProviderHistorySummaryInput], Coroutine[Any, Any, ProviderHistorySummaryResult]]


class Anthropic(SdkModel):
    """A model behind Anthropic's Messages API.

    Arguments are those of `SdkModel`. `max_tokens`, which the API wants, is the output reserve of
    the capacity where neither the request nor the settings say it.

    Example:
        >>> Anthropic("claude-sonnet-5")
        Anthropic('claude-sonnet-5')
    """

    provider: ClassVar[str] = "anthropic"
    dialect: str = "anthropic"
    extra: ClassVar[str] = "anthropic"
    keys: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    counts: ClassVar[bool] = True

    def make_client(self, *, asynchronous: bool) -> Any:
        """Make a client of the SDK; see `SdkModel`."""
        import anthropic

        kind = anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic
        return kind(
            api_key=self.api_key,
            base_url=self.base_url,
            timeout=self.timeout_seconds,
            max_retries=0,
        )

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Add the settings, and `max_tokens` where nothing says it."""
        made = super().completed(arguments)
        if made.get("max_tokens") is None:
            held = self.capacity or capacity_of(str(made.get("model") or self.name))
            made["max_tokens"] = held.output_reserve
        return made

    def send(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK."""
        if stream:
            return client.messages.create(**arguments, stream=True)
        return client.messages.create(**_patient(client, arguments))

    def reply(self, answered: Any) -> ModelReply:
        """Read the SDK's answer."""
        return reply_of(answered)

    def decoder(self, opened: Any) -> Decoder:
        """Make the reader of one streamed answer."""
        return AnthropicDecoder(opened)

    def failure(self, error: Exception) -> ProviderError | None:
        """Read an exception of the SDK."""
        return stainless_failure(error, ("anthropic",), _too_long)

    @property
    def compact_history(self) -> Compact:
        """The provider's own summaries (`NativeCompaction`), for models that make them.

        Raises:
            AttributeError: for a model without them.
        """
        if not compacts(self.name):
            raise AttributeError("this model does not summarise histories itself")
        return self._compact

    async def _compact(self, wanted: ProviderHistorySummaryInput) -> ProviderHistorySummaryResult:
        model = wanted.model or self.name
        arguments = self.completed(compaction_arguments(wanted, model))
        return await self.ask_once(lambda client: _compaction(client, arguments), summary_of)

    def ask_count(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        """Ask for the input tokens: https://platform.claude.com/docs/en/api/messages-count-tokens."""
        counted = {key: arguments[key] for key in _COUNTED if key in arguments}
        return client.messages.count_tokens(**counted)

    def counted(self, answered: Any) -> int | None:
        """Read the answer of `ask_count`."""
        return int(answered.input_tokens)


def _compaction(client: Any, arguments: Mapping[str, Any]) -> Any:
    return client.beta.messages.create(**_patient(client, arguments))


def _patient(client: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """State the client's own time limit, else the SDK refuses whole answers that may be long."""
    limit = getattr(client, "timeout", None)
    return dict(arguments) if limit is None else {"timeout": limit, **arguments}


def _too_long(told: Mapping[str, Any]) -> bool:
    message = str(told.get("message"))
    return any(text in message for text in _TOO_LONG)
