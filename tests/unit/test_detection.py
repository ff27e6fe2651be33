"""Detection: one dialect that describes everything, or a reason why there is none."""

import subprocess
import sys

import pytest

from thusfar.dialects import (
    DIALECTS,
    DialectMismatch,
    candidates,
    detect,
    dialect,
    ordered,
    register,
)
from thusfar.dialects import _registered as registered_names
from thusfar.errors import OptionsError, TranscriptError
from thusfar.facts import ASSISTANT, USER, Content
from thusfar.messages import Message

HELLO = {"role": "user", "content": "Hello."}
ONE_OF_EACH = {
    "openai-chat": {"role": "tool", "tool_call_id": "c1", "content": "3 C"},
    "openai-responses": {"type": "function_call_output", "call_id": "c1", "output": "3 C"},
    "anthropic": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3 C"}],
    },
    "gemini": {"role": "model", "parts": [{"text": "3 C"}]},
    "bedrock-converse": {"role": "assistant", "content": [{"text": "3 C"}]},
    "thusfar": {"role": "assistant", "parts": [{"type": "text", "text": "3 C"}]},
    "langchain": {"type": "human", "data": {"content": "Hello."}},
    "pydantic-ai": {
        "kind": "request",
        "parts": [{"part_kind": "user-prompt", "content": "Hello."}],
    },
}


@pytest.fixture
def no_registrations():
    before = dict(registered_names)
    yield
    registered_names.clear()
    registered_names.update(before)


class Shouting:
    """A dialect of messages that are upper-case words."""

    name = "shouting"

    def describe(self, message):
        if not isinstance(message, str) or not message.isupper():
            raise DialectMismatch
        return USER

    def content(self, message):
        return Content((message,))

    def lift(self, message):
        return Message("user", message)

    def lower(self, message):
        return (message.text,)


def test_the_names_stand_in_the_order_in_which_they_are_tried():
    assert DIALECTS == (
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock-converse",
        "thusfar",
        "langchain",
        "pydantic-ai",
    )
    assert [each.name for each in ordered()][:8] == list(DIALECTS)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_message_that_only_one_wire_has_tells_its_dialect(name):
    assert detect([ONE_OF_EACH[name]]).name == name
    assert [each.name for each in candidates(ONE_OF_EACH[name])] == [name]


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "anthropic"])
def test_plain_messages_take_the_dialect_of_the_one_that_decides(name):
    assert detect([HELLO, ONE_OF_EACH[name], HELLO]).name == name


def test_where_all_agree_openai_chat_is_taken():
    answer = {"role": "assistant", "content": "Hi."}

    assert detect([HELLO, answer]).name == "openai-chat"
    assert {each.name for each in candidates(HELLO)} >= {"openai-chat", "anthropic"}


def test_an_empty_list_is_openai_chat():
    assert detect([]).name == "openai-chat"


def test_an_iterator_of_messages_is_read_once():
    assert detect(iter([HELLO, ONE_OF_EACH["anthropic"]])).name == "anthropic"


def test_objects_of_our_own_are_found():
    assert detect([Message("user", "Hello."), Message("assistant", "Hi.")]).name == "thusfar"


def test_the_refusal_names_where_the_best_candidates_stopped():
    with pytest.raises(TranscriptError) as caught:
        detect(
            [HELLO, ONE_OF_EACH["anthropic"], {"role": "tool", "tool_call_id": "c", "content": ""}]
        )

    error = caught.value
    assert error.code == "INVALID_TRANSCRIPT"
    assert error.facts["position"] == 2
    assert error.facts["dialects"] == ("anthropic",)
    assert error.args[0] == (
        "No dialect fits all messages: anthropic came furthest, up to message 2."
    )


def test_the_refusal_of_a_first_message_lists_the_dialects():
    with pytest.raises(TranscriptError) as caught:
        detect([{"speaker": "Ada", "words": "Hello."}])

    assert caught.value.facts == {"position": 0}
    assert all(name in caught.value.fix for name in DIALECTS)


def test_candidates_that_disagree_are_an_error_that_says_where(no_registrations):
    class Contrary(Shouting):
        name = "contrary"

        def describe(self, message):
            return ASSISTANT if super().describe(message) and message == "NO" else USER

    register(Shouting())
    register(Contrary())

    assert detect(["YES"]).name == "shouting"
    with pytest.raises(TranscriptError) as caught:
        detect(["YES", "NO"])
    assert caught.value.facts == {"position": 1, "dialects": ("shouting", "contrary")}
    assert caught.value.fix == "Pass dialect='shouting' or dialect='contrary'."


def test_a_refusal_never_shows_what_was_said():
    with pytest.raises(TranscriptError) as caught:
        detect([HELLO, {"role": "wizard", "content": "sesame"}])

    assert "sesame" not in str(caught.value)
    assert "wizard" not in str(caught.value)


@pytest.mark.parametrize("messages", ["text", b"bytes", {"role": "user"}, 7])
def test_what_is_no_sequence_is_a_type_error(messages):
    with pytest.raises(TypeError):
        detect(messages)


def test_a_dialect_is_found_by_name():
    assert dialect("gemini").name == "gemini"
    assert dialect("gemini") is dialect("gemini")


@pytest.mark.parametrize("name", ["gpt", "", None, 7, ["gemini"]])
def test_an_unknown_name_is_an_error_that_lists_the_names(name):
    with pytest.raises(OptionsError) as caught:
        dialect(name)

    assert caught.value.code == "INVALID_OPTIONS"
    assert "openai-chat, openai-responses" in caught.value.fix


def test_a_dialect_of_the_application_is_tried_after_the_others(no_registrations):
    register(Shouting())

    assert dialect("shouting").name == "shouting"
    assert [each.name for each in ordered()][-1] == "shouting"
    assert detect(["HELLO", "THERE"]).name == "shouting"


def test_registering_a_name_again_replaces_the_earlier_one(no_registrations):
    first, second = Shouting(), Shouting()

    register(first)
    register(second)

    assert dialect("shouting") is second


def test_what_is_no_dialect_is_not_registered(no_registrations):
    with pytest.raises(OptionsError):
        register(object())


def test_a_name_of_the_library_cannot_be_taken(no_registrations):
    class Usurper(Shouting):
        name = "anthropic"

    with pytest.raises(OptionsError) as caught:
        register(Usurper())

    assert "anthropic" in caught.value.args[0]


def test_importing_the_package_loads_no_dialect():
    code = (
        "import sys, thusfar.dialects\n"
        "print(any(name.startswith('thusfar.dialects.') and not name.endswith('.base') "
        "for name in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
