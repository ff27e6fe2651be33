"""Why nothing is omitted: a model repeats the work that its prompt no longer names."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

from thusfar.models import Scripted
from thusfar.process import END, Process, RunLimits, Task

FILES = 150
HUB = re.compile(r"(?:intent\":\"|edit -> |plan -> edit \| )fix file-(\d+)")


def fixed_files(reads: Callable[[str], str]) -> list[str]:
    """Run a loop of a plan and an edit; the model fixes the first file its prompt does not name.

    Args:
        reads: What of the prompt the model gets to see.
    """
    fixed: list[str] = []

    def next_step(call: object) -> str:
        prompt = reads(str(getattr(call, "prompt", "")))
        model.calls.clear()
        if "EDIT" in prompt:
            return json.dumps({"fixed": fixed[-1]})
        done = set(HUB.findall(prompt))
        left = [str(number) for number in range(FILES) if str(number) not in done]
        if not left or len(fixed) == FILES:
            return json.dumps({"goTo": END, "intent": "all is fixed", "stepAfter": ""})
        fixed.append(left[0])
        intent = f"fix file-{left[0]}"
        return json.dumps({"goTo": "edit", "intent": intent, "stepAfter": "the next file"})

    model = Scripted(next_step)
    tasks = [
        Task(id="plan", task_prompt="PLAN", transitions=["edit", END]),
        Task(id="edit", task_prompt="EDIT", output={"type": "object"}, state_updates="last"),
    ]
    process = Process(tasks, model=model, limits=RunLimits(max_steps=2 * FILES + 1))
    assert process.run_sync().status == "finished"
    return fixed


def test_three_hundred_steps_repeat_no_work():
    fixed = fixed_files(lambda prompt: prompt)

    assert fixed == [str(number) for number in range(FILES)]


def test_the_same_model_repeats_work_when_earlier_entries_are_dropped():
    fixed = fixed_files(
        lambda prompt: re.sub(r"(?s)<completed-work>.*</completed-work>", "", prompt)
    )

    assert max(Counter(fixed).values()) > 10


def test_the_same_model_repeats_work_when_a_single_entry_is_dropped():
    fixed = fixed_files(lambda prompt: re.sub(r"plan -> edit \| fix file-7\n", "", prompt))

    assert Counter(fixed)["7"] > 1
