"""Contracts: functions that generate a text or an object; all that summaries need of a model.

They add no tools, retries, memory or observability by themselves.

Source:
    docs/spec/models.md
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

import msgspec

from thusfar._summarize import SummarizeStrategy
from thusfar.errors import HistoryError, OptionsError
from thusfar.messages import Message
from thusfar.summaries.values import Finish


class GeneratedText(msgspec.Struct, frozen=True, kw_only=True):
    """What a model wrote.

    Attributes:
        text: The text; empty when there is none.
        finish: Why it ended. Anything but `stop` is never used as a summary.
        input_tokens: As the provider reported it. `None`: not reported.
        output_tokens: As the provider reported it. `None`: not reported.
        request_id: The provider's id of the request; empty when there is none.
    """

    text: str
    finish: Finish = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None
    request_id: str = ""


class GeneratedObject(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON value that a model wrote; the other fields as on `GeneratedText`."""

    value: Any
    finish: Finish = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None
    request_id: str = ""


class ProviderHistorySummaryInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider's own summary path is given; it must not change the messages.

    Attributes:
        messages: The exact range to summarise, canonical, oldest first.
        model: Name of the summary model.
        strategy: The strategy of the policy.
        provider_native: Always true: the path is only asked where the policy allows it.
        max_output_tokens: Most tokens of an accepted summary.
    """

    messages: tuple[Message, ...]
    model: str
    strategy: SummarizeStrategy
    provider_native: bool = True
    max_output_tokens: int | None = None


class ProviderHistorySummaryResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider's own summary path made.

    Attributes:
        summary: The text; untrusted evidence like any summary.
        request_id: The provider's id of the request; `None` when it has none.
        input_tokens: As the provider reported it. `None`: not reported.
        output_tokens: As the provider reported it. `None`: not reported.
    """

    summary: str
    request_id: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class GenerateText(Protocol):
    """A function that answers with text, at once or as an awaitable.

    Exactly one of `prompt` and `messages` is given.
    """

    def __call__(
        self,
        *,
        model: str,
        prompt: str | None = None,
        messages: Sequence[Any] | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
    ) -> GeneratedText | str | Awaitable[GeneratedText | str]:
        """Generate a text.

        Args:
            model: Name of the model.
            prompt: One user message.
            messages: A transcript, in the dialect the function takes.
            system: The system text.
            max_output_tokens: Output limit. Unit: tokens.
        """
        ...


class GenerateObject(Protocol):
    """A function that answers with a JSON value; the arguments as for `GenerateText`."""

    def __call__(
        self,
        *,
        model: str,
        schema: Any,
        prompt: str | None = None,
        messages: Sequence[Any] | None = None,
        system: str | None = None,
        max_output_tokens: int | None = None,
    ) -> GeneratedObject | Awaitable[GeneratedObject]:
        """Generate a value of this schema."""
        ...


def as_text(answer: object) -> GeneratedText:
    """Read what a `GenerateText` function returned.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when it is neither text nor a `GeneratedText`.
    """
    if isinstance(answer, GeneratedText):
        return answer
    if isinstance(answer, str):
        return GeneratedText(text=answer)
    if isinstance(answer, ProviderHistorySummaryResult):
        return GeneratedText(
            text=answer.summary,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            request_id=answer.request_id or "",
        )
    raise OptionsError(
        f"A model answered with a {type(answer).__name__}.",
        fix="Return text or a GeneratedText.",
    )


def nothing_of(error: HistoryError) -> GeneratedText:
    """Stand for an answer that could not be read, with what it cost where that is known.

    Args:
        error: A `ProviderAnswerError`.
    """
    taken, given = (error.facts.get(name) for name in ("input_tokens", "output_tokens"))
    return GeneratedText(
        text="",
        input_tokens=taken if isinstance(taken, int) else None,
        output_tokens=given if isinstance(given, int) else None,
    )


def generator_of(model: Any) -> Any:
    """Find the `GenerateText` function of a model: itself, or its `generate_text`.

    Raises:
        OptionsError: `INVALID_OPTIONS`, when it has none.
    """
    function = getattr(model, "generate_text", model)
    if callable(function):
        return function
    raise OptionsError(
        "A model was passed that cannot be called.",
        fix="Pass an object with generate_text, or a function of that shape.",
        option="model",
    )
