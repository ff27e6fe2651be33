"""Reading: a file gives its transcript, and every way to fail has its sentence and its fix."""

import io
import json
import os
import sys

import pytest

from thusfar.cli.reading import STDIN, read_bytes, read_source
from thusfar.errors import OptionsError, TranscriptError

ASK = {"role": "user", "content": "Weather in Oslo?"}


def written(tmp_path, value, name="input.json"):
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def refusal(file):
    with pytest.raises(TranscriptError) as caught:
        read_source(file)
    return caught.value


def test_a_file_that_does_not_exist_is_named():
    error = refusal("nowhere/trip.json")

    assert error.args[0] == "The file nowhere/trip.json does not exist."
    assert error.fix == "Pass the path of a file, or - for stdin."


def test_no_name_at_all_is_no_directory():
    with pytest.raises(TranscriptError, match="named by nothing"):
        read_bytes("")


def test_a_directory_is_no_file(tmp_path):
    assert refusal(str(tmp_path)).args[0].endswith(" is a directory.")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read_is_refused(tmp_path):
    file = written(tmp_path, [ASK])
    os.chmod(file, 0)

    assert refusal(file).args[0].endswith(" may not be read.")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5_000])
def test_a_name_that_is_no_path_is_refused(name):
    assert "could not be read" in refusal(name).args[0]


def test_control_characters_of_a_name_are_escaped():
    assert refusal("a\x1b[2Jb").args[0] == "The file a\\e[2Jb does not exist."


@pytest.mark.parametrize("data", [b"", b"  \n", bytes(range(256)), b"\0\0", b'{"a":', b"3"])
def test_what_is_no_transcript_is_refused(data, tmp_path):
    path = tmp_path / "odd"
    path.write_bytes(data)

    assert refusal(str(path)).code == "INVALID_TRANSCRIPT"


def test_stdin_is_read_whole(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[1, 2]")))

    assert read_bytes(STDIN) == b"[1, 2]"


def test_a_dialect_that_does_not_exist_is_a_wrong_option(tmp_path):
    with pytest.raises(OptionsError):
        read_source(written(tmp_path, [ASK]), "morse")


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"model": "gpt-5", "messages": [ASK], "temperature": 0.1}, "messages"),
        ({"model": "gpt-5", "input": [ASK], "instructions": "Be brief."}, "input"),
        ({"model": "gpt-5", "input": "Hi", "store": False}, "input"),
        ({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": []}, "contents"),
        ({"contents": "Hi", "model": "gemini-3"}, "contents"),
        ({"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "modelId": "m"}, "messages"),
    ],
)
def test_a_request_keeps_everything_beside_its_list(body, key, tmp_path):
    source = read_source(written(tmp_path, body))

    assert source.body() == body
    assert source.with_messages([]) == {**body, key: []}
    assert list(source.with_messages([])) == list(body)


def test_what_is_no_request_has_no_body(tmp_path):
    source = read_source(written(tmp_path, [ASK]))

    assert source.body() is None
    assert source.with_messages([]) is None


@pytest.mark.parametrize("form", [lambda body: body, json.dumps, lambda body: {"string": body}])
def test_the_body_of_a_cassette_is_that_of_its_last_request(form, tmp_path):
    bodies = [
        {"model": "gpt-5", "input": [ASK]},
        {"model": "gpt-5", "input": [ASK], "previous_response_id": "resp_1"},
    ]
    cassette = {"interactions": [{"request": {"body": form(b)}, "response": {}} for b in bodies]}

    source = read_source(written(tmp_path, cassette))

    assert source.body() == bodies[1]
    assert source.with_messages([]) is None
