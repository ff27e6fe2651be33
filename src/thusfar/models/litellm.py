"""LiteLLM, the wide door: what it reaches has the messages of Chat Completions.

Source:
    docs/spec/models.md#adapters; https://docs.litellm.ai/docs/completion/input and
    https://docs.litellm.ai/docs/exception_mapping (read 2026-11-30); litellm 1.110.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thusfar.errors import ProviderError
from thusfar.models.calling import Decoder
from thusfar.models.errors import unreadable
from thusfar.models.failures import kinds_of, stainless_failure
from thusfar.models.openai_chat import too_long
from thusfar.models.openai_chat_reading import ChatDecoder, reply_of
from thusfar.models.port import ModelReply
from thusfar.models.sdk import SdkModel

_FINISHES = ("received_finish_reason", "intermittent_finish_reason")  # of its stream


class LiteLLM(SdkModel):
    """A model behind LiteLLM, named as there: `provider/model`.

    Arguments are those of `SdkModel`. A client of the caller is a `litellm.Router` or anything
    else with `completion` and `acompletion`. `base_url=` and `api_key=` go with each call.

    Example:
        >>> LiteLLM("mistral/mistral-large-latest")
        LiteLLM('mistral/mistral-large-latest')
    """

    provider: ClassVar[str] = "litellm"
    dialect: str = "openai-chat"
    extra: ClassVar[str] = "litellm"

    def __init__(self, name: str, *, client: Any = None, **options: Any) -> None:
        super().__init__(name, client=client, **{"async_client": client, **options})

    def make_client(self, *, asynchronous: bool) -> Any:
        """Give the module, whose functions are both sync and async."""
        del asynchronous
        import litellm

        litellm.suppress_debug_info = True  # it prints advice to stdout, amid what programs read
        return litellm

    async def aclose_client(self, client: Any) -> None:
        """Do nothing: the clients of LiteLLM are its own."""

    def close_client(self, client: Any) -> None:
        """Do nothing: the clients of LiteLLM are its own."""

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Add the settings, and how the call is made."""
        made = super().completed(arguments)
        if self.owns_client:
            made.setdefault("timeout", self.timeout_seconds)
            made.setdefault("max_retries", 0)
        for name, value in (("base_url", self.base_url), ("api_key", self.api_key)):
            if value is not None:
                made.setdefault(name, value)
        return made

    def send(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK."""
        return client.completion(**_streaming(arguments, stream))

    async def asend(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK on the event loop."""
        return await client.acompletion(**_streaming(arguments, stream))

    def reply(self, answered: Any) -> ModelReply:
        """Read the SDK's answer."""
        return reply_of(answered, nulls=False)

    def decoder(self, opened: Any) -> Decoder:
        """Make the reader of one streamed answer."""
        return LiteLLMDecoder(opened, nulls=False)

    def failure(self, error: Exception) -> ProviderError | None:
        """Read an exception of the SDK."""
        longer = "ContextWindowExceededError" in kinds_of(error)
        return stainless_failure(
            error, ("litellm", "openai"), lambda told: longer or too_long(told)
        )


class LiteLLMDecoder(ChatDecoder):
    """Reads the chunks of one streamed answer; LiteLLM makes up an end where none came."""

    def reply(self) -> ModelReply:
        """Put the answer together; see `Decoder`."""
        told = [getattr(self.opened, name, "unknown") for name in _FINISHES]
        if told == [None, None]:
            raise unreadable()
        return super().reply()


def _streaming(arguments: Mapping[str, Any], stream: bool) -> dict[str, Any]:
    if not stream:
        return dict(arguments)
    return {"stream_options": {"include_usage": True}, **arguments, "stream": True}
