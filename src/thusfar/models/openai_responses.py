"""OpenAI Responses. What the provider keeps is not used: each request holds all it needs.

Source:
    docs/spec/models.md#adapters; https://platform.openai.com/docs/api-reference/responses and
    https://platform.openai.com/docs/guides/reasoning (read 2026-11-30); openai-python 3.57.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from thusfar.errors import ProviderError
from thusfar.models.calling import Decoder
from thusfar.models.contracts import ProviderHistorySummaryInput, ProviderHistorySummaryResult
from thusfar.models.errors import ProviderRefusedError
from thusfar.models.failures import stainless_failure
from thusfar.models.openai_chat import openai_client, too_long
from thusfar.models.openai_compaction import (
    Compacted,
    compacted,
    compaction_arguments,
    recap_arguments,
    summary_of,
)
from thusfar.models.openai_responses_reading import ResponsesDecoder, reply_of
from thusfar.models.port import ModelReply, Usage
from thusfar.models.sdk import SdkModel

SEALED: Final = "reasoning.encrypted_content"
# Models that do not reason refuse to be asked for sealed reasoning.
_NO_REASONING: Final = ("gpt-3.5", "gpt-4", "chatgpt-4o", "gpt-5-chat")
# openai-python 3.57.0, types/responses/input_token_count_params.py.
_COUNTED: Final = (
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "text",
    "reasoning",
    "truncation",
    "conversation",
    "previous_response_id",
    "extra_headers",
    "extra_query",
    "extra_body",
)


class OpenAIResponses(SdkModel):
    """A model behind OpenAI's Responses API.

    Arguments are those of `SdkModel`. Where neither the request nor the settings say otherwise,
    nothing is stored by the provider (`store=False`) and a model that reasons is asked for its
    sealed reasoning, so that the next request can replay it.

    Example:
        >>> OpenAIResponses("gpt-5")
        OpenAIResponses('gpt-5')
    """

    provider: ClassVar[str] = "openai"
    dialect: str = "openai-responses"
    extra: ClassVar[str] = "openai"
    keys: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    counts: ClassVar[bool] = True

    def make_client(self, *, asynchronous: bool) -> Any:
        """Make a client of the SDK; see `SdkModel`."""
        return openai_client(self, asynchronous=asynchronous)

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Add the settings, and that answers are kept by us alone."""
        made = super().completed(arguments)
        made.setdefault("store", False)
        model = str(made.get("model") or self.name).removeprefix("ft:")
        if made["store"] is False and not model.startswith(_NO_REASONING):
            made.setdefault("include", [SEALED])
        return made

    def send(self, client: Any, arguments: Mapping[str, Any], *, stream: bool) -> Any:
        """Call the SDK."""
        more = {"stream": True} if stream else {}
        return client.responses.create(**arguments, **more)

    def reply(self, answered: Any) -> ModelReply:
        """Read the SDK's answer."""
        return reply_of(answered)

    def decoder(self, opened: Any) -> Decoder:
        """Make the reader of one streamed answer."""
        return ResponsesDecoder(opened)

    def failure(self, error: Exception) -> ProviderError | None:
        """Read an exception of the SDK."""
        return stainless_failure(error, ("openai",), too_long)

    async def compact_history(
        self, wanted: ProviderHistorySummaryInput
    ) -> ProviderHistorySummaryResult:
        """Have the provider compact messages, and write down in words what that kept.

        Args:
            wanted: The messages and the length of the summary.

        Raises:
            UnsupportedPartError: `UNSUPPORTED_PART`, for a part that the wire cannot hold.
            ProviderError: by code, when one of the two requests failed.
        """
        model = wanted.model or self.name
        asked = compaction_arguments(wanted, model)
        try:
            left = await self.ask_once(lambda client: client.responses.compact(**asked), compacted)
        except ProviderRefusedError:  # servers of others speak this wire without compaction
            left = Compacted(asked["input"], Usage())
        recap = self.completed(recap_arguments(left.items, wanted, model))
        reply = await self.ask_once(
            lambda client: self.send(client, recap, stream=False), self.reply
        )
        return summary_of(reply, left.usage)

    def ask_count(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        """Ask for the input tokens."""
        counted = {key: arguments[key] for key in _COUNTED if key in arguments}
        return client.responses.input_tokens.count(**counted)

    def counted(self, answered: Any) -> int | None:
        """Read the answer of `ask_count`."""
        return int(answered.input_tokens)
