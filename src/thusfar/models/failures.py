"""Failures: the exceptions of the SDKs as errors of ours, read by their names and fields.

Reading them needs no import of an SDK, so that it works for any client a caller brings.

Source:
    docs/spec/models.md#errors; anthropic 2.14.0 and openai 3.57.0, `_exceptions.py`. Headers:
    https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Retry-After (read
    2026-11-30); `retry-after-ms` as both SDKs read it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from thusfar.errors import ProviderError
from thusfar.models.errors import (
    failure_of_status,
    no_answer,
    not_sent,
    unreachable,
    unreadable,
)
from thusfar.models.received import REQUEST_ID_HEADERS

_SILENT: Final = frozenset({"APITimeoutError", "TimeoutException", "Timeout"})
_BROKEN_OFF: Final = frozenset({"ReadError", "RemoteProtocolError", "DecodingError"})
_HTTP: Final = ("httpx2", "httpx", "httpcore2", "httpcore")

# Statuses of the error types that are sent inside a stream, where there is no status.
# https://platform.claude.com/docs/en/api/errors and
# https://platform.openai.com/docs/guides/error-codes, read 2026-11-30; those of a response that
# failed: openai-python 3.57.0, types/responses/response_error.py.
STATUS_OF_TYPE: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "tokens": 429,
    "requests": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "service_unavailable_error": 503,
    "vector_store_timeout": 504,
    **dict.fromkeys(
        (
            "invalid_prompt",
            "data_residency_mismatch",
            "bio_policy",
            "misalignment_policy_violation",
            "invalid_image",
            "invalid_image_format",
            "invalid_base64_image",
            "invalid_image_url",
            "image_too_large",
            "image_too_small",
            "image_parse_error",
            "image_content_policy_violation",
            "invalid_image_mode",
            "image_file_too_large",
            "unsupported_image_media_type",
            "empty_image_file",
            "failed_to_download_image",
            "image_file_not_found",
        ),
        400,
    ),
}


def kinds_of(error: BaseException) -> frozenset[str]:
    """Name the classes of an exception, from its own to `Exception`."""
    return frozenset(kind.__name__ for kind in type(error).__mro__)


def comes_from(error: BaseException, *packages: str) -> bool:
    """Tell whether a class of an exception is defined in one of these packages."""
    return any(kind.__module__.partition(".")[0] in packages for kind in type(error).__mro__)


def transport_failure(error: Exception) -> ProviderError | None:
    """Read an exception of the HTTP client; `None` for any other."""
    if not comes_from(error, *_HTTP):
        return None
    kinds = kinds_of(error)
    if not kinds.isdisjoint(_SILENT):
        return no_answer()
    return unreadable() if not kinds.isdisjoint(_BROKEN_OFF) else unreachable()


def stainless_failure(
    error: Exception, packages: tuple[str, ...], too_long: Callable[[Mapping[str, Any]], bool]
) -> ProviderError | None:
    """Read an exception of an SDK of the family of `openai` and `anthropic`.

    Args:
        error: The exception.
        packages: The SDK, and those that its exceptions inherit from.
        too_long: Whether an error object says that the request is longer than the window.
    """
    if not comes_from(error, *packages):
        return transport_failure(error)
    kinds = kinds_of(error)
    if not kinds.isdisjoint(_SILENT):
        return no_answer()
    if "APIConnectionError" in kinds:
        return unreachable()
    if "APIResponseValidationError" in kinds:
        return unreadable()
    if "APIError" not in kinds:
        return not_sent()
    told = told_of(getattr(error, "body", None))
    headers = headers_of(error)
    status = getattr(error, "status_code", None)
    if type(status) is not int or status < 400:  # inside a stream, which began as a success
        status = status_told(told)
    return failure_of_status(
        status,
        too_long=too_long(told),
        retry_after_seconds=retry_after(headers),
        request_id=_request_id(headers),
    )


def told_of(body: Any) -> Mapping[str, Any]:
    """Find the error object in the body of a refusal."""
    if isinstance(body, str):  # some servers say their sentence alone
        return {"message": body}
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    if isinstance(inner, str):
        return {"message": inner, **body}
    return inner if isinstance(inner, Mapping) else body


def headers_of(error: Exception) -> Mapping[str, str]:
    """Give the headers of the response that an exception carries."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers if headers is not None else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read when a provider takes requests again. Unit: seconds from now; `None`: not said."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        if (said := seconds_of(headers.get(name))) is not None:
            return said / unit
    try:
        at = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, at.timestamp() - time.time())
    except (KeyError, ValueError, OverflowError, OSError):
        return None


def seconds_of(said: Any) -> float | None:
    """Read a length of time that a provider wrote; what is past is 0, and what is none `None`."""
    try:
        made = float(said)
    except (TypeError, ValueError):
        return None
    return max(0.0, made) if math.isfinite(made) else None


def _request_id(headers: Mapping[str, str]) -> str:
    return next((headers[name] for name in REQUEST_ID_HEADERS if name in headers), "")


def status_told(told: Mapping[str, Any]) -> int:
    """Give the HTTP status that belongs to an error object inside a stream."""
    for key in ("code", "type"):
        said = told.get(key)
        if type(said) is int and said >= 400:
            return said
        if isinstance(said, str) and said in STATUS_OF_TYPE:
            return STATUS_OF_TYPE[said]
    return 400 if told.get("code") == "context_length_exceeded" else 500
