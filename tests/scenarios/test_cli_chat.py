"""A chat on the command line, against a provider's real SDK and a server on this machine."""

from __future__ import annotations

import io
import json

import pytest

from thusfar import Thread, open_store
from thusfar.cli import main
from thusfar.testing.loopback import Answer, Fault, LoopbackServer


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path / 'chat.db'}"


@pytest.fixture
def talk(monkeypatch, capsys, store):
    """Run a chat: lines in, and what the server answers; gives the output and the requests."""

    def run(lines, answers, *options):
        with LoopbackServer(answers) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai-chat"))
            monkeypatch.setenv("OPENAI_API_KEY", "test")
            monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
            words = ["chat", "--model", "openai-chat:gpt-5", "--store", store, *options]
            status = main(words)
        out = capsys.readouterr()
        return status, out.out, out.err, [each.body for each in server.requests]

    return run


def said(store, thread="chat"):
    opened = open_store(store)
    try:
        return [(m.role, m.text) for m in Thread(thread, store=opened).sync.read().messages]
    finally:
        opened.close()


def test_every_turn_is_stored_and_sent_with_the_next(talk, store):
    status, out, _, requests = talk(
        ["Hello.", "And now?"], [Answer(text="Good day."), Answer(text="Now this.")]
    )

    assert status == 0
    assert out == "Good day.\nNow this.\n"
    assert [m["content"] for m in requests[1]["messages"]] == ["Hello.", "Good day.", "And now?"]
    assert said(store) == [
        ("user", "Hello."),
        ("assistant", "Good day."),
        ("user", "And now?"),
        ("assistant", "Now this."),
    ]


def test_a_conversation_goes_on_in_another_process(talk, store):
    talk(["Hello."], [Answer(text="Good day.")])

    _, _, _, requests = talk(["Who am I?"], [Answer(text="You.")])

    assert [m["content"] for m in requests[0]["messages"]] == ["Hello.", "Good day.", "Who am I?"]


def test_an_edit_is_answered_on_a_branch_of_its_own(talk, store):
    status, out, err, requests = talk(
        ["Helo.", "/edit Hello.", "/history", "/branch @0"],
        [Answer(text="What?"), Answer(text="Good day.")],
    )

    assert (status, err) == (0, "")
    assert [m["content"] for m in requests[1]["messages"]] == ["Hello."]
    assert "2/2" in out
    assert said(store) == [("user", "Hello."), ("assistant", "Good day.")]


def test_a_branch_can_be_drawn_and_selected(talk, store):
    talk(["One."], [Answer(text="1")])
    opened = open_store(store)
    question = Thread("chat", store=opened).sync.read().entries[0].id
    opened.close()
    talk(["/edit Two."], [Answer(text="2")])
    assert said(store) == [("user", "Two."), ("assistant", "2")]

    _, out, err, _ = talk(["/branch", f"/branch {question}"], [])

    assert ("One." in out, "Two." in out, err) == (True, True, "")
    assert said(store) == [("user", "One."), ("assistant", "1")]


def test_the_receipt_of_the_newest_request_is_shown(talk):
    _, out, _, _ = talk(["/receipt", "Hello.", "/receipt"], [Answer(text="Good day.")])

    assert out.startswith("No request was made yet in this session.\nGood day.\n")
    assert "gpt-5" in out


def test_an_unknown_command_is_told_and_help_lists_them_all(talk):
    status, out, _, _ = talk(["/nothing", "/help", "/quit", "Never said."], [])

    assert status == 0
    assert out.startswith("There is no command /nothing; /help lists them.\n/help ")
    assert all(word in out for word in ("/history", "/branch", "/edit", "/receipt", "/quit"))


def test_what_fails_is_told_and_the_talk_goes_on(talk, store):
    status, out, err, _ = talk(
        ["Hello.", "Hello?"], [Fault.unauthorized(), Answer(text="Good day.")]
    )

    assert status == 0
    assert out == "Good day.\n"
    assert "PROVIDER_REFUSED" in err
    assert said(store) == [("user", "Hello?"), ("assistant", "Good day.")]


def test_one_thing_said_fails_with_the_status_of_the_failure(talk, store):
    status, out, err, _ = talk([], [Fault.unauthorized()], "Hello.")

    assert (status, out) == (1, "")
    assert "PROVIDER_REFUSED" in err
    assert said(store) == []


def test_json_has_a_line_for_each_event(talk):
    _, out, err, _ = talk([], [Answer(text="Good day.")], "Hello.", "--json")

    lines = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    assert "".join(line["text"] for line in lines if line["type"] == "text") == "Good day."
    assert lines[-1]["type"] == "turn"
    assert lines[-1]["thread_commit"]["status"] == "selected"
    assert lines[-1]["request"]["model"] == "gpt-5"


def test_what_a_model_says_cannot_control_the_terminal(talk):
    _, out, _, _ = talk(["Hello."], [Answer(text="red \x1b[31m alert")])

    assert out == "red \\e[31m alert\n"


def test_a_wrong_model_is_a_wrong_command_line(store, capsys):
    assert main(["chat", "Hi.", "--model", "nobody:x", "--store", store]) == 2
    assert "anthropic" in capsys.readouterr().err


def test_ctrl_c_at_the_prompt_gives_up_the_line_and_not_the_talk(monkeypatch, store, capsys):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    typed = iter([KeyboardInterrupt(), "Hello.", EOFError()])

    def read(_: str) -> str:
        line = next(typed)
        if isinstance(line, BaseException):
            raise line
        return line

    monkeypatch.setattr("builtins.input", read)
    monkeypatch.setattr("sys.stdin", Terminal())
    with LoopbackServer(["Good day."]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai-chat"))
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        status = main(["chat", "--model", "openai-chat:gpt-5", "--store", store])

    assert (status, capsys.readouterr().out) == (0, "\nGood day.\n\n")
    assert said(store) == [("user", "Hello."), ("assistant", "Good day.")]


REFUSED = Fault.status(400)


def test_a_repetition_that_fails_leaves_the_answer_that_there_was(talk, store):
    _, _, err, _ = talk(["Hello.", "/again"], ["Good day.", REFUSED])

    assert "PROVIDER_REFUSED" in err
    assert said(store) == [("user", "Hello."), ("assistant", "Good day.")]


def test_an_edit_that_fails_keeps_the_words_and_says_how_to_have_them_answered(talk, store):
    _, out, err, _ = talk(["Hello.", "/edit Goodbye.", "/again"], ["Good day.", REFUSED, "Bye."])

    assert "PROVIDER_REFUSED" in err
    assert "(your new words are kept; /again has them answered)" in out
    assert said(store) == [("user", "Goodbye."), ("assistant", "Bye.")]


def test_a_history_of_no_number_says_how_to_write_it(talk):
    _, out, _, _ = talk(["Hello.", "/history all", "/history 0"], ["Good day."])
    assert out.count("/history 5") == 2


def test_a_refusal_is_told_with_the_words_of_the_provider(talk):
    _, _, err, _ = talk(["Hello."], [Fault.status(401)])
    assert "did not accept the key" in err
    assert "cause:" in err


def test_bytes_that_are_no_text_do_not_end_the_talk(talk, monkeypatch, store):
    with LoopbackServer(["Good day.", "Bye."]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai-chat"))
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        raw = io.BytesIO(b"Caf\xff\nGoodbye.\n")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw, encoding="utf-8"))
        assert main(["chat", "--model", "openai-chat:gpt-5", "--store", store]) == 0
    assert [text for role, text in said(store) if role == "user"] == ["Caf\ufffd", "Goodbye."]


@pytest.mark.parametrize("words", ["", "  "])
def test_nothing_is_not_said(talk, store, words):
    status, _, err, requests = talk([], ["Good day."], words)
    assert (status, requests, said(store)) == (2, [], [])
    assert "nothing to say" in err
