"""OpenAI Chat Completions, and every server that speaks it at another address.

Source:
    docs/spec/models.md#adapters; https://platform.openai.com/docs/api-reference/chat (read
    2026-11-30); openai-python 3.57.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from thusfar.errors import ProviderError
from thusfar.models.calling import Decoder
from thusfar.models.failures import stainless_failure
from thusfar.models.openai_chat_reading import ChatDecoder, reply_of
from thusfar.models.port import ModelReply
from thusfar.models.sdk import SdkModel

# Code of the provider: https://github.com/webtimemachine/wtm2/issues/579. Type of llama.cpp's
# server: https://github.com/ggml-org/llama.cpp/pull/16486. Read 2026-11-30.
_TOO_LONG: Final = frozenset({"context_length_exceeded", "exceed_context_size_error"})
# Compatible servers (vLLM, LiteLLM, OpenRouter) send the sentence without the code. Of xAI and
# LM Studio: https://github.com/cline/cline/issues/3120,
# https://github.com/anomalyco/opencode/issues/2259. Read 2026-11-30.
_TOO_LONG_TEXTS: Final = (
    "maximum context length",
    "exceeds the context window",
    "maximum prompt length",
    "greater than the context length",
)


class OpenAIChat(SdkModel):
    """A model behind Chat Completions; `base_url=` reaches any compatible server.

    Arguments are those of `SdkModel`.

    Example:
        >>> OpenAIChat("gpt-5", settings={"reasoning_effort": "low"})
        OpenAIChat('gpt-5')
    """

    provider: ClassVar[str] = "openai"
    dialect: str = "openai-chat"
    extra: ClassVar[str] = "openai"
    keys: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)

    def make_client(self, *, asynchronous: bool) -> Any:
        """Make a client of the SDK; see `SdkModel`."""
        return openai_client(self, asynchronous=asynchronous)

    def send(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK; a stream is asked to report its usage."""
        if stream:
            arguments = {"stream_options": {"include_usage": True}, **arguments, "stream": True}
        return client.chat.completions.create(**arguments)

    def reply(self, answered: Any) -> ModelReply:
        """Read the SDK's answer."""
        return reply_of(answered)

    def decoder(self, opened: Any) -> Decoder:
        """Make the reader of one streamed answer."""
        return ChatDecoder(opened)

    def failure(self, error: Exception) -> ProviderError | None:
        """Read an exception of the SDK."""
        return stainless_failure(error, ("openai",), too_long)


def openai_client(model: SdkModel, *, asynchronous: bool) -> Any:
    """Make a client of OpenAI's SDK, without retries of its own."""
    import openai

    kind = openai.AsyncOpenAI if asynchronous else openai.OpenAI
    return kind(
        api_key=model.api_key,
        base_url=model.base_url,
        timeout=model.timeout_seconds,
        max_retries=0,
    )


def too_long(told: Mapping[str, Any]) -> bool:
    """Tell whether an error object says that the request is longer than the window."""
    if not _TOO_LONG.isdisjoint({str(told.get("code")), str(told.get("type"))}):
        return True
    message = str(told.get("message"))
    return any(text in message for text in _TOO_LONG_TEXTS)
