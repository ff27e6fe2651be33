"""Responses that failed, by the code that they say."""

from __future__ import annotations

import pytest

from thusfar.errors import ProviderError
from thusfar.models import Gemini, OpenAIChat
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


class APIError(Exception):
    """Stands for the error of an SDK, by its name and its fields."""

    status_code = code = 429

    def __init__(self, body: object) -> None:
        super().__init__("No.")
        self.body = self.details = body


RETRY = "type.googleapis.com/google.rpc.RetryInfo"


@pytest.mark.parametrize(
    ("details", "pause"),
    [
        ([{"@type": RETRY, "retryDelay": "34.5s"}], 34.5),
        ([{"@type": RETRY, "retryDelay": "-1s"}], 0.0),
        ([{"@type": RETRY, "retryDelay": "nans"}], None),
        ([{"@type": RETRY, "retryDelay": None}], None),
        (["busy", None], None),
        ("busy", None),
    ],
)
def test_gemini_is_waited_for_as_long_as_it_says_in_whatever_form(details, pause):
    """MO-16."""
    error = type("APIError", (APIError,), {"__module__": "google.genai.errors"})(
        {"error": {"code": 429, "details": details}}
    )
    failure = Gemini("gemini-3-pro").failure(error)
    assert failure is not None
    assert failure.facts.get("retry_after_seconds") == pause


@pytest.mark.parametrize(
    "body",
    [
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        {"code": "invalid", "error": "This model's maximum prompt length is 10 tokens."},
        {"message": "This model's maximum context length is 10 tokens."},
    ],
)
def test_a_request_too_long_is_told_by_the_sentence_alone(body):
    """MO-17."""
    made = type("APIError", (APIError,), {"__module__": "openai._exceptions", "status_code": 400})
    failure = OpenAIChat("m").failure(made(body))
    assert failure is not None
    assert failure.code == "CONTEXT_LENGTH_EXCEEDED"


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (401, "Give a valid key in the environment, as the SDK reads it, or with api_key=."),
        (403, "Check what the key may use; the cause has the provider's words."),
        (404, "Check the name of the model, and base_url= where one is given."),
        (400, "Change what the cause names; the same request will be refused again."),
    ],
)
def test_a_refusal_says_what_to_change_by_its_status(status, fix):
    """MO-17."""
    made = type("APIError", (APIError,), {"__module__": "openai", "status_code": status})
    failure = OpenAIChat("m").failure(made({}))
    assert failure is not None
    assert (failure.code, failure.fix) == ("PROVIDER_REFUSED", fix)
