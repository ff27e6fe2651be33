"""What a run may use, and what becomes of one that goes in a circle."""

from __future__ import annotations

import asyncio
import datetime
import json
from typing import Any

import pytest

from thusfar.errors import OptionsError
from thusfar.models import GeneratedText, Scripted
from thusfar.process import END, Capture, Process, Replay, RunLimits, SubProcess, Task


def choose(to: str) -> str:
    return json.dumps({"goTo": to, "intent": "why", "stepAfter": "then"})


def counting(answers: Any, **limits: Any) -> Process:
    hub = Task(id="hub", task_prompt="Choose.", transitions=["hub", END])
    return Process([hub], model=Scripted(answers), limits=RunLimits(**limits))


def reported(tokens: int, to: str = "hub") -> GeneratedText:
    return GeneratedText(text=choose(to), input_tokens=tokens, output_tokens=10)


def test_tokens_are_those_that_the_model_reports():
    process = counting([reported(90), reported(190, END)])

    outcome = process.run_sync()

    assert (outcome.status, outcome.tokens, outcome.calls) == ("finished", 300, 2)


def test_tokens_that_are_not_reported_are_counted():
    process = counting([choose(END)])
    receipts: list[Any] = []
    process.on_event = lambda event: receipts.append(getattr(event, "receipt", None))

    outcome = process.run_sync()

    sent = next(each for each in receipts if each is not None).request.input_tokens
    assert sent < outcome.tokens < sent + 40


def test_a_call_that_would_exceed_the_token_limit_is_not_made():
    process = counting([reported(900), reported(900)], max_tokens=920)

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "TOKEN_LIMIT"
    assert (outcome.steps, outcome.calls, outcome.tokens) == (1, 1, 910)
    assert outcome.failure.cause.facts["used_tokens"] == 910
    assert len(process.model.calls) == 1


def test_refused_answers_and_sub_processes_cost_tokens_too():
    wanted = {"type": "object", "required": ["x"]}
    child = Process([Task(id="c", output=wanted, next_task=END)], id="child")
    answers = [
        GeneratedText(text="{}", input_tokens=400, output_tokens=0),
        GeneratedText(text='{"x": 1}', input_tokens=500, output_tokens=0),
        "again",
    ]
    tasks = [
        SubProcess(id="sub", process=child, next_task="more"),
        Task(id="more", next_task=END),
    ]
    process = Process(tasks, model=Scripted(answers), limits=RunLimits(max_tokens=910))

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.task_id) == ("TOKEN_LIMIT", "more")
    assert outcome.tokens == 900


def test_tokens_are_in_a_snapshot_and_on_a_tape():
    capture = Capture()
    process = counting([reported(90), reported(90, END)])
    first = process.run_sync(tape=capture)

    again = counting([])
    replayed = again.run_sync(tape=Replay(capture.tape))
    later = counting([])
    later.restore(json.loads(json.dumps(process.snapshot())))

    assert (first.tokens, replayed.tokens, later.position.tokens) == (200, 200, 200)


def test_a_model_in_a_circle_is_told_once_and_may_go_on():
    process = counting([choose("hub"), choose("hub"), choose("hub"), choose(END)], loop_threshold=2)

    outcome = process.run_sync()

    assert (outcome.status, outcome.steps, outcome.calls) == ("finished", 3, 4)
    assert "You gave this answer 2 times and nothing came of it." in process.model.calls[3].prompt


@pytest.mark.parametrize(("retries", "calls"), [(3, 4), (0, 3)])
def test_a_model_that_insists_on_its_circle_fails_the_run(retries: int, calls: int):
    process = counting(lambda _: choose("hub"), loop_threshold=2, max_retries=retries)

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "LOOP_DETECTED"
    assert (outcome.steps, outcome.calls, len(process.history)) == (2, calls, 2)


def test_the_same_answer_in_another_state_is_no_circle():
    tasks = [
        Task(id="add", output={"type": "object"}, state_updates="all[]", next_task="hub"),
        Task(id="hub", transitions=["add", END]),
    ]
    answers = ["{}", choose("add"), "{}", choose("add"), "{}", choose("add"), "{}", choose(END)]
    process = Process(tasks, model=Scripted(answers), limits=RunLimits(loop_threshold=2))

    assert process.run_sync().status == "finished"


def test_a_circle_is_found_across_a_snapshot():
    process = counting([choose("hub"), choose("hub")], loop_threshold=2, max_steps=2)
    process.run_sync()
    later = counting(lambda _: choose("hub"), loop_threshold=2, max_retries=0)
    later.restore(json.loads(json.dumps(process.snapshot())))

    outcome = later.run_sync()

    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.steps) == ("LOOP_DETECTED", 2)


def test_loops_are_not_looked_for_unless_asked():
    process = counting(lambda _: choose("hub"), max_steps=20)

    outcome = process.run_sync()

    assert outcome.failure is not None
    assert outcome.failure.code == "STEP_LIMIT"
    assert process.position.seen == ()


@pytest.mark.parametrize(
    "options", [{"max_tokens": 0}, {"loop_threshold": 1}, {"loop_threshold": True}]
)
def test_an_impossible_limit_is_refused(options: dict[str, Any]):
    with pytest.raises(OptionsError):
        RunLimits(**options)


class Slow:
    """A model that answers late the first time, by a clock of its own or for good."""

    name = "slow"

    def __init__(self) -> None:
        self.now = 0.0
        self.prompts: list[str] = []
        self.cancelled = 0

    def generate_text(self, *, prompt: str, **_: Any) -> str:
        self.prompts.append(prompt)
        self.now += 9 if len(self.prompts) == 1 else 1
        return "done"

    async def agenerate_text(self, *, prompt: str, **_: Any) -> GeneratedText:
        self.prompts.append(prompt)
        if len(self.prompts) == 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        return GeneratedText(text="done")


def waiting(model: Slow, seconds: float, **limits: Any) -> Process:
    inner = Process([Task(id="in", state_updates="said")], id="inner")
    limited = RunLimits(call_timeout_seconds=seconds, **limits)
    process = Process([SubProcess(id="sub", process=inner)], model=model, limits=limited)
    inner.monotonic = process.monotonic = lambda: model.now
    inner.clock = process.clock = lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    return process


@pytest.mark.parametrize("on_loop", [False, True])
def test_a_call_that_takes_too_long_is_a_refused_answer(on_loop: bool):
    """W-33; the limit of a process holds for those inside it."""
    model, capture = Slow(), Capture()
    process = waiting(model, 0.01 if on_loop else 5)

    ran = process.run_sync if not on_loop else lambda **more: asyncio.run(process.run(**more))
    outcome = ran(tape=capture)

    assert (outcome.status, outcome.calls, model.cancelled) == ("finished", 2, int(on_loop))
    assert "- The answer was not finished (timeout)." in model.prompts[1]
    again = waiting(Slow(), 5)
    assert again.run_sync(tape=Replay(capture.tape)).require() == outcome.require()
    assert again.snapshot() == process.snapshot()


def test_a_step_that_takes_too_long_fails_also_within_the_time_of_a_call():
    slow = waiting(Slow(), 20, step_timeout_seconds=5).run_sync()
    loop = asyncio.run(waiting(Slow(), 5, step_timeout_seconds=0.01).run())

    for outcome in (slow, loop):
        assert outcome.failure is not None
        assert outcome.failure.code == "STEP_TIMEOUT"


@pytest.mark.parametrize("seconds", [0, -1, True, "1"])
def test_a_time_for_calls_is_a_number_above_nothing(seconds: Any):
    with pytest.raises(OptionsError):
        RunLimits(call_timeout_seconds=seconds)
