"""Long runs: every line to the end, memory bounded, and no step dearer than the ones before."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

from thusfar.models import Scripted
from thusfar.process import END, Process, RunLimits, Task
from thusfar.process.entries import Entry
from thusfar.process.lines import BLOCK_LINES, LineBlocks
from thusfar.process.log import ActionLog, LogOptions

STEPS = 10_000


def looping(steps: int) -> tuple[Process, list[Any], list[str]]:
    receipts: list[Any] = []
    last: list[str] = []

    def next_step(call: Any) -> str:
        last[:] = [call.prompt]
        model.calls.clear()
        number = process.log.recorded + 1
        target = END if number == steps else "a"
        return json.dumps({"goTo": target, "intent": f"file {number}", "stepAfter": "next"})

    model = Scripted(next_step)
    process = Process(
        [Task(id="a", transitions=["a", END])],
        model=model,
        limits=RunLimits(max_steps=steps),
        history_max_items=50,
        on_event=lambda event: (
            receipts.append(event.receipt) if hasattr(event, "receipt") else None
        ),
    )
    assert process.run_sync().status == "finished"
    return process, receipts, last


def test_ten_thousand_steps_keep_every_line_and_little_else():
    process, receipts, last = looping(STEPS)

    assert len(process.history) == 50
    assert process.log.recorded == STEPS
    prompt = last[0]
    lines = prompt.split("<completed-work>\n")[1].split("\n</completed-work>")[0].split("\n")
    assert lines == [f"a -> a | file {n}" for n in range(1, STEPS - 10)]
    for number, receipt in enumerate(receipts):
        part = receipt.history
        if number:
            assert part.recorded == number == part.lines + part.in_full
            assert part.left_memory == max(0, number - 50)


def test_what_a_step_adds_to_the_work_of_a_prompt_does_not_grow():
    """A full block is one object for good, and there are few of each size at any length."""
    blocks = LineBlocks()
    for number in range(STEPS):
        blocks.add(f"line {number}")
    before = blocks.texts()

    blocks.add("one more")
    after = blocks.texts()

    assert len(before) == 2 + 3 + 4 + 2 + 0, "10,000 = 2 x 4,096 + 3 x 512 + 4 x 64 + 2 x 8"
    assert after[-1] == "one more\n"
    assert all(a is b for a, b in zip(before, after, strict=False))
    assert len(blocks) == STEPS + 1
    assert blocks.lines() == [*(f"line {number}" for number in range(STEPS)), "one more"]


def test_blocks_keep_the_order_of_lines_at_every_length():
    blocks = LineBlocks()
    for number in range(2 * BLOCK_LINES**3 + 3):
        blocks.add(f"{number}")
        assert len(blocks.texts()) <= 4 * (BLOCK_LINES - 1)
    assert blocks.lines() == [f"{number}" for number in range(2 * BLOCK_LINES**3 + 3)]


def test_memory_is_that_of_the_ceiling_and_a_line_an_entry():
    log = ActionLog(LogOptions(history_max_items=50))

    def add(count: int) -> int:
        for _ in range(count):
            number = log.next_seq
            value = json.dumps(f"{number} " * 2_000)
            log.add(Entry(seq=number, kind="result", ts="", task_id="a", result_json=value))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, after = add(500), add(2_000)
    finally:
        tracemalloc.stop()

    line = len(log.older_lines()[-1])
    assert line == 200
    wide = 2 * line  # a text with an ellipsis takes two bytes a character
    assert (after - before) / 2_000 < 1.25 * wide, "what left memory costs no more than its line"
    assert before > 50 * 8_000, "those in memory are whole"
