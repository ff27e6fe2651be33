"""Checking: what is wrong with a definition, found without running it.

Source:
    docs/spec/process.md#routing
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thusfar.process.prompts import BUILT_IN, SAME
from thusfar.process.routing import Finding, check_graph
from thusfar.process.tasks import SubProcess, Task

if TYPE_CHECKING:
    from thusfar.process.definition import Process


def findings_of(process: Process, around: tuple[Process, ...]) -> list[Finding]:
    """Find what is wrong with a process and the processes in it.

    Args:
        process: The process.
        around: The processes it is inside of.
    """
    found = check_graph(process.graph)
    known = {*BUILT_IN, *SAME, *process.texts.optional_prompts}
    for task in process.graph.tasks.values():
        if isinstance(task, Task):
            found += [
                Finding(
                    kind="unknown-part",
                    task_id=task.id,
                    message=f"{task.id} omits {name}, which is no part of a prompt.",
                )
                for name in task.omit
                if name not in known
            ]
        elif isinstance(task, SubProcess):
            if any(task.process is each for each in (*around, process)):
                message = f"{task.id} runs a process inside itself."
                found.append(Finding(kind="inside-itself", task_id=task.id, message=message))
            else:
                found += findings_of(task.process, (*around, process))
    return found
