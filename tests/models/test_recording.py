"""A recorded run can be replayed, and only exactly."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from thusfar.errors import OptionsError, ProviderError
from thusfar.messages import Text, ToolCall
from thusfar.models import Recording, Replay, Scripted
from thusfar.models.errors import ContextLengthError, RecordingDivergedError, failure_of_status
from thusfar.models.port import Replied


def asking(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], **more}


def test_the_same_requests_get_the_same_answers_and_events(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answers = ["One.", (Text("Two \ud800.\u2028\x85"), ToolCall("call_1", "look"))]
    first = Recording(Scripted(answers), path)
    whole = first.generate_sync(asking("a"))
    streamed = list(first.stream_sync(asking("b")))
    assert first.count_tokens_sync(asking("c")) is None

    again = Replay(path)
    assert again.generate_sync(asking("a")) == whole
    assert list(again.stream_sync(asking("b"))) == streamed
    assert again.count_tokens_sync(asking("c")) is None
    again.finish()
    assert (again.name, again.provider, again.dialect) == ("scripted", "scripted", "openai-chat")


def test_both_colours_record_and_replay_alike(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    async def run(model: Any) -> list[Any]:
        whole = await model.generate(asking("a"))
        streamed = [event async for event in model.stream(asking("b"))]
        return [whole, streamed, await model.count_tokens(asking("c"))]

    recorded = asyncio.run(run(Recording(Scripted(["One.", "Two."]), path)))
    assert asyncio.run(run(Replay(path))) == recorded


def test_a_recorded_whole_answer_can_be_streamed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    reply = Recording(Scripted("One two."), path).generate_sync(asking("a"))
    *pieces, end = Replay(path).stream_sync(asking("a"))
    assert end == Replied(reply)
    assert "".join(piece.text for piece in pieces) == "One two."


def test_failures_are_replayed_with_their_code_and_facts(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    raised = failure_of_status(400, too_long=True, request_id="req_1")
    with pytest.raises(ContextLengthError):
        Recording(Scripted(raised), path).generate_sync(asking("a"))
    with pytest.raises(ContextLengthError) as caught:
        Replay(path).generate_sync(asking("a"))
    assert caught.value.facts == {"status": 400, "request_id": "req_1"}


def test_another_request_another_order_or_one_too_many_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    model = Recording(Scripted(["One.", "Two."]), path)
    model.generate_sync(asking("a"))
    model.generate_sync(asking("b"))

    with pytest.raises(RecordingDivergedError) as caught:
        Replay(path).generate_sync(asking("b"))
    assert caught.value.code == "RECORDING_DIVERGED"
    assert caught.value.facts == {"place": 1, "recorded": 2}
    with pytest.raises(RecordingDivergedError):
        Replay(path).generate_sync(asking("a", temperature=1))
    with pytest.raises(RecordingDivergedError):
        Replay(path).count_tokens_sync(asking("a"))

    replay = Replay(path)
    replay.generate_sync(asking("a"))
    with pytest.raises(RecordingDivergedError):
        replay.finish()
    replay.generate_sync(asking("b"))
    with pytest.raises(RecordingDivergedError) as caught:
        replay.generate_sync(asking("b"))
    assert caught.value.facts == {"place": 3, "recorded": 2}


def test_no_key_and_no_header_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    secret = asking("a", extra_headers={"x-key": "hush"}, api_key="hush")
    Recording(Scripted("One."), path).generate_sync(secret)
    assert "hush" not in path.read_text("utf-8")
    assert Replay(path).generate_sync(asking("a", api_key="other")).text == "One."


def test_a_file_that_exists_is_not_recorded_over(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("kept", "utf-8")
    with pytest.raises(OptionsError):
        Recording(Scripted("One."), path)
    assert path.read_text("utf-8") == "kept"
    with pytest.raises(RecordingDivergedError):
        Replay(path)


def test_a_file_that_is_not_there_is_told_and_a_directory_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    for path in (tmp_path, tmp_path / "none.jsonl"):
        with pytest.raises(RecordingDivergedError):
            Replay(path)
    with pytest.raises(OptionsError):
        Recording(Scripted("One."), tmp_path / "none" / "run.jsonl")


def test_it_makes_summaries_like_the_model_it_records(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    text = Recording(Scripted("A summary."), path).generate_text(prompt="Summarise.")
    assert Replay(path).generate_text(prompt="Summarise.") == text


def test_a_stream_that_broke_off_breaks_off_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(ProviderError):
        list(Recording(Scripted([]), path).stream_sync(asking("a")))
    with pytest.raises(ProviderError):
        list(Replay(path).stream_sync(asking("a")))
