"""Errors of the two OpenAI wires, in the shape and with the codes that the provider uses.

Source:
    https://developers.openai.com/docs/guides/error-codes (read 2026-11-30); the recorded refusals
    https://github.com/webtimemachine/wtm2/issues/579 and
    https://github.com/the-open-agent/openagent/issues/2344 for requests that are too long, and
    https://github.com/dyad-sh/dyad/issues/1672 and
    https://github.com/Wei-Shaw/sub2api/issues/6631 for errors inside a stream (read 2026-11-30)
"""

from __future__ import annotations

from typing import Any, Final

from thusfar.testing.loopback.faults import Problem, Trouble
from thusfar.testing.loopback.wire import Refusal

# Status, type, code and message of each refusal.
_REFUSALS: Final[dict[Trouble, tuple[int, str, str | None, str]]] = {
    "invalid": (400, "invalid_request_error", None, "The request is not valid."),
    "context-length": (400, "invalid_request_error", "context_length_exceeded", ""),
    "authentication": (
        401,
        "invalid_request_error",
        "invalid_api_key",
        "Incorrect API key provided.",
    ),
    "permission": (403, "invalid_request_error", None, "The key may not do this."),
    "not-found": (404, "invalid_request_error", None, "There is nothing at this address."),
    "rate-limit": (429, "requests", "rate_limit_exceeded", "Rate limit reached."),
    "server": (500, "server_error", None, "The server had an error."),
    "overloaded": (
        503,
        "service_unavailable_error",
        "server_is_overloaded",
        "Our servers are currently overloaded. Please try again later.",
    ),
}


def error_of(refusal: Refusal) -> tuple[int, dict[str, Any]]:
    """Write the error object, with its status; the two APIs name other fields."""
    problem = refusal.trouble
    status, kind, code, message = _REFUSALS[problem.trouble]
    param: str | None = None
    if problem.trouble == "context-length":
        chat = refusal.path.endswith("/chat/completions")
        param = "messages" if chat else "input"
        message = _too_long(problem) if chat else _TOO_LONG_INPUT
    elif problem.trouble == "invalid" and problem.param:
        param = problem.param
    error = {"message": problem.message or message, "type": kind, "param": param, "code": code}
    return problem.status or status, error


_TOO_LONG_INPUT: Final = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)


def _too_long(problem: Problem) -> str:
    return (
        f"This model's maximum context length is {problem.limit} tokens. However, your messages "
        f"resulted in {problem.tokens} tokens. Please reduce the length of the messages."
    )


def headers_of(refusal: Refusal) -> dict[str, str]:
    """Write the provider's headers: the id of the request, and when to try again."""
    headers = {"x-request-id": f"req_{refusal.mark}", "openai-version": "2020-10-01"}
    if refusal.retry_after is not None:
        headers["retry-after"] = f"{refusal.retry_after:g}"
        headers["retry-after-ms"] = f"{refusal.retry_after * 1000:.0f}"
    return headers
