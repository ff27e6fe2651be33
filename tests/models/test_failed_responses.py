"""Responses that failed, by the code that they say."""

from __future__ import annotations

import pytest

from thusfar.errors import ProviderError
from thusfar.models.openai_responses_reading import reply_of


@pytest.mark.parametrize(
    ("said", "code", "retryable"),
    [
        ("server_error", "PROVIDER_UNAVAILABLE", True),
        ("rate_limit_exceeded", "PROVIDER_RATE_LIMITED", True),
        ("vector_store_timeout", "PROVIDER_UNAVAILABLE", True),
        ("invalid_prompt", "PROVIDER_REFUSED", False),
        ("image_content_policy_violation", "PROVIDER_REFUSED", False),
        ("invalid_image_url", "PROVIDER_REFUSED", False),
        ("context_length_exceeded", "CONTEXT_LENGTH_EXCEEDED", False),
    ],
)
def test_what_the_request_is_to_blame_for_is_not_sent_again(said, code, retryable):
    """MO-17."""
    failed = {"status": "failed", "output": [], "error": {"code": said, "message": "No."}}
    with pytest.raises(ProviderError) as caught:
        reply_of(failed)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
