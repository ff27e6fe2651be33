"""The port that every model adapter fulfils, and the values that go through it.

A model is given the keyword arguments of its provider's own SDK call, as `plan(...).kwargs` has
them, and answers with a `ModelReply`. It never changes what it is given.

Source:
    docs/spec/models.md#port
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from thusfar.capacity import ModelCapacity
from thusfar.messages import Message
from thusfar.models.contracts import ProviderHistorySummaryInput, ProviderHistorySummaryResult
from thusfar.summaries.values import Finish


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one request, as the provider reported them. `None`: not reported.

    Attributes:
        input_tokens: All input, what came from a cache included.
        output_tokens: All output, reasoning included.
        cache_read_tokens: The part of the input that a prefix cache served.
        cache_write_tokens: The part of the input that was written into a prefix cache.
        reasoning_tokens: The part of the output that was reasoning.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        """Add up two requests; a number that neither reported stays `None`."""
        return Usage(
            **{name: _sum(getattr(self, name), getattr(other, name)) for name in _USAGE_NAMES}
        )


_USAGE_NAMES = Usage.__struct_fields__


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a model.

    Attributes:
        messages: What was said, canonical; most wires have one message, Responses has several
            items. They lower to the wire they came from exactly as they were received.
        finish: Why it ended; `tool-calls` when it waits for results.
        usage: Tokens, as reported.
        request_id: The provider's id of the request; empty when there is none.
        model: Name of the model that answered, as reported; empty when it is not.
        retries: How often the same request was sent again before.
    """

    messages: tuple[Message, ...]
    finish: Finish = "stop"
    usage: Usage = Usage()
    request_id: str = ""
    model: str = ""
    retries: int = 0

    @property
    def text(self) -> str:
        """The text of the answer; empty when there is none."""
        return "".join(message.text for message in self.messages)


class TextDelta(msgspec.Struct, frozen=True, tag="text"):
    """A piece of the answer's text."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning"):
    """A piece of readable reasoning."""

    text: str


class ToolCallDelta(msgspec.Struct, frozen=True, tag="tool_call"):
    """A piece of a tool call.

    Attributes:
        index: Number of the call within the answer, from 0.
        id: Id of the call, with the first piece that has it; else empty.
        name: Name of the tool, with the first piece that has it; else empty.
        arguments: The next piece of its arguments' JSON text.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Replied(msgspec.Struct, frozen=True, tag="replied"):
    """The end of a stream: the whole answer. A stream that ends without one broke off."""

    reply: ModelReply


ModelEvent = TextDelta | ReasoningDelta | ToolCallDelta | Replied


class Model(Protocol):
    """A model that can be called.

    Laws, each tested for every adapter against a loopback server:

    1. The arguments are sent as they are; nothing of them is changed or kept.
    2. `messages` of a reply lower to the wire exactly as received.
    3. A stream ends with `Replied`, equal to what `generate` would have given, or raises; never
       both, and never neither.
    4. Every failure is a `ProviderError` with a code; its cause is the SDK's own error.
    5. Cancelling a call closes its connection; a late answer is never used.
    6. It has a sync and an async face and one meaning.

    A model also has `generate_text` and `generate_object`, the small contracts, so that it can
    make summaries.
    """

    @property
    def name(self) -> str:
        """Name of the model, as the SDK takes it."""
        ...

    @property
    def provider(self) -> str:
        """Who serves it, for example `anthropic`."""
        ...

    @property
    def dialect(self) -> str:
        """Name of the wire format of its messages."""
        ...

    @property
    def capacity(self) -> ModelCapacity | None:
        """What it holds; `None`: what the table knows of its name, if it has no `window`."""
        ...

    async def generate(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request.

        Args:
            arguments: Keyword arguments of the SDK's call.

        Raises:
            ProviderError: by code; see `thusfar.models.errors`.
        """
        ...

    def generate_sync(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Answer a request, for code without an event loop; see `generate`."""
        ...

    def stream(self, arguments: Mapping[str, Any]) -> AsyncIterator[ModelEvent]:
        """Answer a request piece by piece; the last event is `Replied`."""
        ...

    def stream_sync(self, arguments: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Answer piece by piece, for code without an event loop; see `stream`."""
        ...

    async def count_tokens(self, arguments: Mapping[str, Any]) -> int | None:
        """Count the input tokens of a request without generating.

        Returns:
            The provider's count; `None` where it has no such call.
        """
        ...

    def count_tokens_sync(self, arguments: Mapping[str, Any]) -> int | None:
        """Count, for code without an event loop; see `count_tokens`."""
        ...


class NativeCompaction(Protocol):
    """What a model has beside, where its provider summarises histories itself."""

    async def compact_history(
        self, wanted: ProviderHistorySummaryInput
    ) -> ProviderHistorySummaryResult:
        """Summarise an exact range; the messages are not changed."""
        ...


def takes_any_input(model: Any) -> bool:
    """Tell whether a model says that it has no window, with a `window` that is `None`."""
    return getattr(model, "window", 0) is None
