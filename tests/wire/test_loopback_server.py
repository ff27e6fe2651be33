"""The loopback server by itself: what it notes, refuses and leaves behind, with no SDK at all."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from thusfar import ToolCall
from thusfar.errors import HistoryError, OptionsError
from thusfar.messages import Native, Reasoning, Text
from thusfar.testing.loopback import WIRES, Answer, Fault, LoopbackServer, Received, Usage

CHAT = "/v1/chat/completions"
ASKED = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
PATHS = {
    "openai-chat": CHAT,
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-3:generateContent",
}
BODIES = {
    "openai-chat": ASKED,
    "openai-responses": {"model": "gpt-5", "input": "Hi"},
    "anthropic": {**ASKED, "max_tokens": 9},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
# One request of each wire that breaks a rule: a result whose call is not there.
ORPHANS = {
    "openai-chat": {
        "model": "gpt-5",
        "messages": [{"role": "tool", "tool_call_id": "c1", "content": "3 C"}],
    },
    "openai-responses": {
        "model": "gpt-5",
        "input": [{"type": "function_call_output", "call_id": "c1", "output": "3 C"}],
    },
    "anthropic": {
        "model": "claude-sonnet-5",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
        ],
    },
    "gemini": {
        "contents": [
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "weather", "response": {"c": 3}}}],
            }
        ]
    },
}


def post(server: LoopbackServer, path: str, body: object, method: str = "POST"):
    """Send one request and read the whole answer: status, headers, body."""
    host = server.origin.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=20)
    try:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, sent, {"content-type": "application/json", "x-one": "1"})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_received_is_kept_byte_for_byte(wire):
    raw = json.dumps(BODIES[wire], indent=2).encode()
    with LoopbackServer() as server:
        status, _, _ = post(server, PATHS[wire] + "?key=test", raw)

    (received,) = server.requests
    assert status == 200
    assert isinstance(received, Received)
    assert (received.wire, received.kind) == (wire, "generate")
    assert (received.path, received.query) == (PATHS[wire], "key=test")
    assert (received.raw, received.body) == (raw, BODIES[wire])
    assert received.headers["x-one"] == "1"
    assert received.model == ("gemini-3" if wire == "gemini" else BODIES[wire]["model"])
    assert not received.stream


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_breaks_a_rule_is_refused_in_the_providers_shape(wire):
    with LoopbackServer() as server:
        status, _, body = post(server, PATHS[wire], ORPHANS[wire])

    (found,) = server.requests[0].findings
    rules = {
        "openai-chat": "openai-chat/result-follows-call",
        "openai-responses": "openai-responses/output-follows-call",
        "anthropic": "anthropic/result-call",
        "gemini": "gemini/response-after-call",
    }
    assert found.rule == rules[wire]
    assert status == 400
    message = json.loads(body)["error"]["message"]
    assert found.rule in message
    assert found.statement in message


@pytest.mark.parametrize("wire", WIRES)
def test_without_validation_findings_are_noted_and_the_answer_is_given(wire):
    with LoopbackServer(validate=False) as server:
        status, _, _ = post(server, PATHS[wire], ORPHANS[wire])

    assert status == 200
    assert len(server.requests[0].findings) == 1


@pytest.mark.parametrize(
    ("wire", "field"),
    [
        ("openai-chat", "model"),
        ("openai-chat", "messages"),
        ("anthropic", "messages"),
        ("anthropic", "max_tokens"),
        ("anthropic", "model"),
    ],
)
def test_a_field_that_the_provider_requires_is_missed(wire, field):
    body = {name: value for name, value in BODIES[wire].items() if name != field}
    with LoopbackServer() as server:
        status, _, _ = post(server, PATHS[wire], body)

    assert status == 400
    name = f"{wire}/field-{field.replace('_', '-')}"
    assert name in [found.rule for found in server.requests[0].findings]


@pytest.mark.parametrize("body", [b"{", b"[]", b"", b"\xff", b"null"])
def test_a_body_that_is_no_object_is_refused(body):
    with LoopbackServer() as server:
        assert post(server, CHAT, body)[0] == 400


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/nothing", {"error"}),
        ("/v1/messages/nothing", {"type", "error", "request_id"}),
        ("/v1beta/models/gemini-3:doSomething", {"error"}),
    ],
)
def test_an_unknown_path_is_not_found_and_not_listed(path, shape):
    with LoopbackServer() as server:
        status, _, body = post(server, path, {})
        other, _, _ = post(server, CHAT, b"", method="GET")

    assert (status, other) == (404, 404)
    assert set(json.loads(body)) == shape
    assert server.requests == ()


def test_answers_are_given_in_order_and_then_no_more():
    with LoopbackServer(["one", Answer(text="two")]) as server:
        given = [json.loads(post(server, CHAT, ASKED)[2]) for _ in range(3)]

    texts = [each["choices"][0]["message"]["content"] for each in given[:2]]
    assert texts == ["one", "two"]
    assert given[2]["error"]["message"].startswith("The loopback server was given no answer")


def test_counts_take_no_answer_away():
    with LoopbackServer(["one"]) as server:
        post(server, "/v1/messages/count_tokens", BODIES["anthropic"])
        status, _, _ = post(server, "/v1/messages", BODIES["anthropic"])

    assert status == 200
    assert [received.kind for received in server.requests] == ["count", "generate"]


def test_a_function_sees_the_request_and_decides():
    def answer(received: Received) -> Answer | Fault | str:
        said = received.body["messages"][-1]["content"]
        return Fault.rate_limit() if said == "Too fast" else f"You said {said}."

    with LoopbackServer(answer) as server:
        _, _, body = post(server, CHAT, ASKED)
        status, _, _ = post(
            server, CHAT, {**ASKED, "messages": [{"role": "user", "content": "Too fast"}]}
        )

    assert json.loads(body)["choices"][0]["message"]["content"] == "You said Hi."
    assert status == 429


def test_what_a_function_raises_is_raised_again_at_the_end_of_the_block():
    def answer(received: Received) -> str:
        assert received.model == "another", "the wrong model was asked"
        return "Hello."

    with pytest.raises(AssertionError, match="the wrong model"), LoopbackServer(answer) as server:
        assert post(server, CHAT, ASKED)[0] == 400


def test_an_error_in_the_block_itself_comes_first():
    def answer(received: Received) -> str:
        raise KeyError(received.path)

    def run() -> None:
        with LoopbackServer(answer) as server:
            post(server, CHAT, ASKED)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()


@pytest.mark.parametrize(
    ("wire", "answer"),
    [
        ("openai-chat", Answer(text="x", compaction="y")),
        ("openai-chat", Answer(text="x", finish="pause")),
        ("openai-chat", Answer(parts=[Native("openai-responses", "x", "{}")])),
        ("openai-chat", Answer(text="x", finish="failed")),
        ("anthropic", Answer(text="x", finish="blocked")),
        ("openai-responses", Answer(text="x", finish="context-window")),
        ("openai-responses", Answer(parts=[Native("anthropic", "x", "{}")])),
        ("anthropic", Answer(parts=[Native("gemini", "x", "{}")])),
        ("gemini", Answer(text="x", compaction="y")),
        ("gemini", Answer(text="x", finish="pause")),
    ],
)
def test_what_a_wire_cannot_say_is_an_error_and_no_silence(wire, answer):
    with pytest.raises(OptionsError, match="cannot say"), LoopbackServer(answer) as server:
        assert post(server, PATHS[wire], BODIES[wire])[0] == 400


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_arguments_that_are_no_object_cannot_be_said_where_they_are_objects(wire):
    answer = Answer(tool_calls=[ToolCall("c1", "now", "{")])
    with pytest.raises(HistoryError), LoopbackServer(answer) as server:
        assert post(server, PATHS[wire], BODIES[wire])[0] == 400


def test_broken_arguments_are_said_as_they_are_where_they_are_text():
    answer = Answer(tool_calls=[ToolCall("c1", "now", "{")])
    with LoopbackServer(answer) as server:
        chat = json.loads(post(server, CHAT, ASKED)[2])["choices"][0]["message"]
        items = json.loads(post(server, "/v1/responses", BODIES["openai-responses"])[2])["output"]

    assert chat["tool_calls"][0]["function"]["arguments"] == "{"
    assert items[0]["arguments"] == "{"


def test_a_response_may_have_failed_with_status_200():
    with LoopbackServer(Answer(text="So f", finish="failed")) as server:
        status, _, body = post(server, "/v1/responses", BODIES["openai-responses"])
        stream = post(server, "/v1/responses", {**BODIES["openai-responses"], "stream": True})[2]

    assert (status, json.loads(body)["status"]) == (200, "failed")
    assert json.loads(body)["error"]["code"] == "server_error"
    assert b"event: response.failed\n" in stream


def test_a_prompt_may_be_blocked_with_no_candidate():
    with LoopbackServer(Answer(finish="blocked")) as server:
        body = json.loads(post(server, PATHS["gemini"], BODIES["gemini"])[2])

    assert body["promptFeedback"] == {"blockReason": "PROHIBITED_CONTENT"}
    assert "candidates" not in body


def test_a_request_may_come_in_chunks():
    with LoopbackServer() as server:
        host = server.origin.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=20)
        raw = json.dumps(ASKED).encode()
        connection.request("POST", CHAT, iter([raw[:10], raw[10:]]), encode_chunked=True)
        assert connection.getresponse().status == 200
        connection.close()

    assert server.requests[0].raw == raw


@pytest.mark.parametrize(
    "part",
    [b"content-length: 100\r\n\r\n{", b"transfer-encoding: chunked\r\n\r\n5\r\n{"],
    ids=["whole", "in chunks"],
)
def test_a_client_that_leaves_in_the_middle_of_its_request_is_no_failure(part: bytes):
    with LoopbackServer() as server:
        host, _, port = server.origin.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"POST {CHAT} HTTP/1.1\r\n".encode() + part)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b"", "it gets no answer"

    assert server.requests == ()


def test_equal_requests_get_equal_answers_but_for_their_numbers():
    with LoopbackServer("Hello.") as server:
        first, second = (post(server, CHAT, ASKED)[2] for _ in range(2))
    with LoopbackServer("Hello.", mark="other") as server:
        third = post(server, CHAT, ASKED)[2]

    assert first.replace(b"loopback_1", b"loopback_2") == second
    assert first.replace(b"loopback_1", b"other_1") == third


def test_many_clients_at_once_each_get_one_answer():
    answers = [str(number) for number in range(40)]
    with LoopbackServer(answers) as server, ThreadPoolExecutor(8) as pool:
        replies = pool.map(lambda _: json.loads(post(server, CHAT, ASKED)[2]), answers)
        given = {reply["choices"][0]["message"]["content"] for reply in replies}

    assert given == set(answers)
    assert len(server.requests) == 40


def test_a_closed_server_leaves_no_thread_and_no_address():
    before = set(threading.enumerate())
    server = LoopbackServer().start()
    host = server.origin.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.request("POST", CHAT, json.dumps(ASKED))
    connection.getresponse().read()
    server.close()
    server.close()

    assert set(threading.enumerate()) <= before
    assert server.requests[0].body == ASKED
    with pytest.raises(OptionsError, match="did not listen"):
        server.base_url("anthropic")
    connection.close()


def test_a_server_can_be_waited_for():
    with LoopbackServer() as server:
        assert not server.wait(1, timeout=0.01)
        asking = threading.Thread(target=post, args=(server, CHAT, ASKED))
        asking.start()
        assert server.wait(1, timeout=300)
        asking.join()  # its answer is read before the server is closed


def test_the_address_of_an_unknown_wire_is_refused():
    with LoopbackServer() as server, pytest.raises(OptionsError, match="openai-chat, openai"):
        server.base_url("bedrock-converse")


def test_a_connection_is_kept_open_between_answers():
    with LoopbackServer("Hello.") as server:
        connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=20)
        connection.request("POST", CHAT, json.dumps({**ASKED, "stream": True}))
        streamed = connection.getresponse().read()
        same = connection.sock
        connection.request("POST", CHAT, json.dumps(ASKED))
        connection.getresponse().read()
        assert connection.sock is same
        connection.close()

    assert streamed.endswith(b"data: [DONE]\n\n")


def test_what_is_said_can_be_given_once_only():
    with pytest.raises(OptionsError, match="both a text and a structured value"):
        Answer(text="x", structured={})
    with pytest.raises(OptionsError, match="both its parts"):
        Answer(text="x", parts=[Text("y")])
    with pytest.raises(OptionsError, match="empty pieces"):
        LoopbackServer(piece=0)


def test_parts_keep_their_order():
    parts = [Text("First."), ToolCall("c1", "now"), Reasoning("Hm."), Text("Then.")]
    answer = Answer(parts=parts, usage=Usage(output_tokens=1))
    with LoopbackServer(answer) as server:
        _, _, body = post(server, "/v1/messages", BODIES["anthropic"])

    kinds = [block["type"] for block in json.loads(body)["content"]]
    assert kinds == ["text", "tool_use", "thinking", "text"]
    assert json.loads(body)["stop_reason"] == "tool_use"


def test_it_needs_nothing_that_a_bare_install_has_not():
    answered = (
        "from thusfar.testing.loopback import Answer, LoopbackServer, count_body\n"
        "with LoopbackServer() as server: server.base_url('gemini')\n"
    )
    loaded = packages(answered) - packages("pass") - set(sys.stdlib_module_names)

    # msgspec loads typing_extensions where some other package has installed it.
    assert loaded - {"typing_extensions"} == {"thusfar", "msgspec"}


def packages(program: str) -> set[str]:
    """Tell which packages a program has loaded at its end."""
    program += "\nimport json, sys\nprint(json.dumps([*sys.modules]))"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in json.loads(shown.stdout)}
