"""Messages are plain values; errors carry a code, a fix and facts, and survive a queue."""

from __future__ import annotations

import pickle

import pytest

from thusfar import (
    HistoryError,
    Message,
    OptionsError,
    RequestTooLargeError,
    Text,
    TranscriptError,
)
from thusfar.codes import CODES
from thusfar.errors import Diagnostic


def test_text_given_for_parts_becomes_one_text_part():
    assert Message("user", "Hi") == Message("user", (Text("Hi"),))
    assert Message("user", [Text("Hi")]).parts == (Text("Hi"),)


def test_an_unknown_role_is_refused_without_quoting_it():
    with pytest.raises(TranscriptError) as caught:
        Message("my secret role", "Hi")

    assert "secret" not in str(caught.value)


def test_a_message_is_frozen():
    message = Message("user", "Hi")

    with pytest.raises(AttributeError):
        message.role = "system"


def test_an_error_says_what_happened_and_the_fix_and_the_code():
    error = RequestTooLargeError("It needed 10 of 5.", fix="Raise the limit.", input_tokens=10)

    assert str(error) == "It needed 10 of 5. Raise the limit. [REQUEST_TOO_LARGE]"
    assert isinstance(error, HistoryError)
    assert error.facts == {"input_tokens": 10}


def test_an_error_survives_pickling_with_its_findings():
    found = Diagnostic(code="REQUEST_INPUT_LIMIT", message="Too large.", positions=(1, 2))
    error = RequestTooLargeError("No.", fix="Yes.", diagnostics=(found,), limit=3)

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is RequestTooLargeError
    assert (again.fix, again.diagnostics, again.facts) == ("Yes.", (found,), {"limit": 3})


def test_wrong_options_are_type_errors_and_bad_transcripts_value_errors():
    assert issubclass(OptionsError, TypeError)
    assert issubclass(TranscriptError, ValueError)


def test_every_error_class_has_a_code_of_the_table_and_no_two_share_one():
    classes, todo = set(), [HistoryError]
    while todo:
        kind = todo.pop()
        classes.add(kind)
        todo += kind.__subclasses__()
    codes = [kind.code for kind in classes]

    assert len(set(codes)) == len(codes)
    assert {code for code in codes if CODES.get(code, ("",))[0] != "error"} == set()
