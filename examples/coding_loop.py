"""A coding agent's loop of 300 steps, and why nothing may be left out of its history.

75 modules have a failing test each. The loop is: plan, edit, test, note; four steps a module. The
model remembers nothing between two calls: what it has done is what its prompt names. Take entries
out of the prompt, as a window of the last ones does, and it edits the same modules again.

Run it: python examples/coding_loop.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from thusfar.models import Scripted
from thusfar.process import END, AnyTask, Process, RunLimits, ScriptTask, Task

MODULES = 75
STEPS = 4 * MODULES
_PLANNED = re.compile(r'(?:plan -> edit \| |"intent":")repair module (\d+)')


def coding_loop(model: Any, **options: Any) -> tuple[Process, list[int]]:
    """Make the process.

    Args:
        model: The model.
        **options: Further options of `Process`.

    Returns:
        The process, and the numbers of the modules that it edited, in order.
    """
    edited: list[int] = []

    def run_tests(state: Any) -> dict[str, int]:
        edited.append(state["edit"]["module"])
        return {"failing": MODULES - len({*edited})}

    tasks: list[AnyTask] = [
        Task(
            id="plan",
            title="Plan",
            task_prompt="Which module is to be repaired next?",
            transitions=["edit"],
        ),
        Task(
            id="edit",
            title="Edit",
            task_prompt="Write the change.",
            output={
                "type": "object",
                "properties": {"module": {"type": "integer"}, "change": {"type": "string"}},
                "required": ["module", "change"],
            },
            state_updates="edit",
            history_summary="changed module ${output.module}",
            next_task="test",
        ),
        ScriptTask(
            id="test",
            title="Run the tests",
            run=run_tests,
            state_updates="tests",
            record=True,
            next_task="note",
        ),
        Task(
            id="note",
            title="Note",
            task_prompt="Failing tests: ${state.tests.failing}. Sum up in a few words.",
            state_updates="note",
            process_outputs=_onwards,
        ),
    ]
    given: dict[str, Any] = {
        "id": "codingLoop",
        "goal": f"All tests of {MODULES} modules pass.",
        "limits": RunLimits(max_steps=STEPS),
    }
    return Process(tasks, model=model, **{**given, **options}), edited


def _onwards(_note: Any, state: Any) -> str:
    """Go on until all tests pass."""
    return "plan" if state["tests"]["failing"] else END


def stateless_model(reads: Callable[[str], str] = str) -> Scripted:
    """Make a model that repairs the first module which its prompt does not name.

    Args:
        reads: What of the prompt reaches it.
    """

    def answer(call: Any) -> str:
        model.calls.clear()
        prompt = reads(str(call.prompt))
        planned = [int(number) for number in _PLANNED.findall(prompt)]
        if "Which module" in prompt:
            left = [number for number in range(MODULES) if number not in {*planned}]
            intent = f"repair module {left[0] if left else 0}"
            return json.dumps({"goTo": "edit", "intent": intent, "stepAfter": "run the tests"})
        if "Write the change." in prompt:
            return json.dumps({"module": planned[-1] if planned else 0, "change": "return early"})
        return "one module more passes"

    model = Scripted(answer)
    return model


def last_entries(prompt: str, *, most: int = 20) -> str:
    """Cut a prompt as a window of the last entries would: everything older is gone."""
    head, _, rest = prompt.partition("<completed-work>\n")
    lines, mark, behind = rest.partition("</completed-work>")
    entries = lines.splitlines(keepends=True)
    kept = entries[max(0, len(entries) - most) :]
    return "".join([head, "<completed-work>\n", *kept, mark, behind]) if mark else prompt


if __name__ == "__main__":
    for name, reads in (("everything", str), ("the last 30 entries", last_entries)):
        process, edited = coding_loop(stateless_model(reads))
        status = process.run_sync().status
        print(f"{name}: {status}, {len(edited)} edits of {len({*edited})} modules")
