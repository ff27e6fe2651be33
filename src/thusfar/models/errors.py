"""Errors of model calls: what a provider refused or failed at, in one tree for all providers.

Source:
    docs/spec/models.md#errors
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thusfar.errors import HistoryError, ProviderError


class ContextLengthError(ProviderError):
    """The provider found the request longer than the model's window."""

    code = "CONTEXT_LENGTH_EXCEEDED"


class ProviderRefusedError(ProviderError):
    """The provider refused the request; the same request will be refused again."""

    code = "PROVIDER_REFUSED"


class ProviderRateLimitedError(ProviderError):
    """The provider takes no more requests for now; `retry_after_seconds` says when, if it did."""

    code = "PROVIDER_RATE_LIMITED"
    retryable = True


class ProviderUnavailableError(ProviderError):
    """The provider could not be reached, or failed on its side."""

    code = "PROVIDER_UNAVAILABLE"
    retryable = True


class ProviderTimeoutError(ProviderError):
    """The provider was silent for longer than it was given."""

    code = "PROVIDER_TIMEOUT"
    retryable = True


class ProviderAnswerError(ProviderError):
    """The provider's answer could not be read, or a stream broke off before its end."""

    code = "PROVIDER_ANSWER_INVALID"
    retryable = True


class RecordingDivergedError(ProviderError):
    """A replayed model was asked something else, or its file could not be read."""

    code = "RECORDING_DIVERGED"


class OutputRejectedError(HistoryError):
    """No answer of the model fitted the output schema within its retries; nothing was stored."""

    code = "OUTPUT_REJECTED"


class ToolLoopLimitError(HistoryError):
    """The model still called tools after the most steps that were allowed; nothing was stored."""

    code = "TOOL_LOOP_LIMIT"


def failure_of_status(
    status: int,
    *,
    too_long: bool = False,
    retry_after_seconds: float | None = None,
    request_id: str = "",
) -> ProviderError:
    """Make the error for an answer with an HTTP status that is no success.

    Args:
        status: The HTTP status.
        too_long: Whether the provider says that the request is longer than the window.
        retry_after_seconds: As its `retry-after` header says. `None`: it has none.
        request_id: The provider's id of the request; empty when there is none.
    """
    facts: dict[str, Any] = {"status": status}
    if request_id:
        facts["request_id"] = request_id
    if retry_after_seconds is not None:
        facts["retry_after_seconds"] = retry_after_seconds
    if too_long:
        return ContextLengthError(
            "The provider found the request longer than the model's window.",
            fix="Lower the limit with InputBudget(max=...), or authorise a shorter view.",
            **facts,
        )
    if status == 429:
        return ProviderRateLimitedError(
            "The provider takes no more requests for now.",
            fix="Wait as long as the facts say, or raise the limit with the provider.",
            **facts,
        )
    if status in _TRANSIENT or status >= _SERVER:
        return ProviderUnavailableError(
            "The provider failed on its side.", fix="Try again later.", **facts
        )
    message, fix = _REFUSALS.get(status, _REFUSED)
    return ProviderRefusedError(message, fix=fix, **facts)


_REFUSED = (
    "The provider refused the request.",
    "Change what the cause names; the same request will be refused again.",
)
_REFUSALS = {
    401: (
        "The provider did not accept the key.",
        "Give a valid key in the environment, as the SDK reads it, or with api_key=.",
    ),
    403: (
        "The provider does not allow this to the key.",
        "Check what the key may use; the cause has the provider's words.",
    ),
    404: (
        "The provider knows no such model or address.",
        "Check the name of the model, and base_url= where one is given.",
    ),
}
_TRANSIENT = frozenset({408, 409, 425})  # timed out, conflict, too early: the SDKs retry these too
_SERVER = 500


def no_answer() -> ProviderTimeoutError:
    """Make the error for a provider that was silent for too long."""
    return ProviderTimeoutError(
        "The provider was silent for too long.",
        fix="Raise timeout_seconds, or stream the answer.",
    )


def unreachable() -> ProviderUnavailableError:
    """Make the error for a connection that could not be made, or broke before an answer."""
    return ProviderUnavailableError(
        "The provider could not be reached.", fix="Check the address, and try again later."
    )


def unreadable(
    *, input_tokens: int | None = None, output_tokens: int | None = None
) -> ProviderAnswerError:
    """Make the error for an answer that could not be read, or that broke off.

    Args:
        input_tokens: What the request cost, where the provider reported it.
        output_tokens: What the answer cost, where the provider reported it.
    """
    used = (("input_tokens", input_tokens), ("output_tokens", output_tokens))
    facts: dict[str, Any] = {name: tokens for name, tokens in used if tokens is not None}
    return ProviderAnswerError(
        "The provider's answer broke off or could not be read.",
        fix="Send the request again.",
        **facts,
    )


def said_nothing(finish: str) -> ProviderError:
    """Make the error for an answer without any message.

    Args:
        finish: Why it ended.
    """
    if finish == "content-filter":
        return ProviderRefusedError(
            "The provider blocked the request, and the model said nothing.",
            fix="Change what is asked; nothing was stored.",
            finish=finish,
        )
    return ProviderAnswerError(
        "The model said nothing.",
        fix="Raise max_output_tokens." if finish == "length" else "Ask again.",
        finish=finish,
    )


def not_sent(*, unset: str = "") -> ProviderRefusedError:
    """Make the error for a request that the provider's client refused to send.

    Args:
        unset: Name of the variable that could have a key, and is not set.
    """
    more = f"; {unset} is not set" if unset else ""
    return ProviderRefusedError(
        "The provider's client refused the request, or could not log in.",
        fix=f"Change what the cause names{more}.",
    )


FailureOf = Callable[[Exception], ProviderError | None]
"""Reads an SDK's exception; `None` for one that it does not know."""
