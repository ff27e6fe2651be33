"""Checking: what is wrong with a definition, found without running it.

Source:
    docs/spec/process.md#routing
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from thusfar.process.prompts import BUILT_IN, SAME
from thusfar.process.routing import Finding, Graph, check_graph
from thusfar.process.tasks import AnyTask, SubProcess, Task
from thusfar.process.templates import parts_named
from thusfar.process.views import FRAGMENTS

if TYPE_CHECKING:
    from thusfar.process.definition import Process


def findings_of(process: Process, around: tuple[Process, ...]) -> list[Finding]:
    """Find what is wrong with a process and the processes in it.

    Args:
        process: The process.
        around: The processes it is inside of.
    """
    found = [*check_graph(process.graph), *_unknown_parts(process), *_unrecorded(process)]
    for task in process.graph.tasks.values():
        if isinstance(task, SubProcess):
            if any(task.process is each for each in (*around, process)):
                message = f"{task.id} runs a process inside itself."
                found.append(Finding(kind="inside-itself", task_id=task.id, message=message))
            else:
                found += findings_of(task.process, (*around, process))
    return found


def _unknown_parts(process: Process) -> Iterator[Finding]:
    """Find parts of prompts that are asked for, or left out, and do not exist."""
    texts = process.texts
    known = {*BUILT_IN, *SAME, *texts.optional_prompts}
    named: list[tuple[str, str, str, Iterable[str]]] = [
        ("", name, "asks for", parts_named(getattr(texts, name)))
        for name in ("system_prompt", "intro_prompt", "standard_prompt")
    ]
    named += [
        ("", name, "asks for", parts_named(text)) for name, text in texts.optional_prompts.items()
    ]
    for task in process.graph.tasks.values():
        if isinstance(task, Task):
            asked = parts_named(task.task_prompt) | parts_named(task.prompt or "")
            named.append((task.id, task.id, "asks for", asked))
            named.append((task.id, task.id, "omits", task.omit))
    for task_id, who, what, names in named:
        for name in sorted({*names} - known):
            message = f"{who} {what} {name}, which is no part of a prompt."
            yield Finding(kind="unknown-part", task_id=task_id, message=message)
    for mode, config in process.prompt_modes.items():
        fragments = {*FRAGMENTS, *texts.optional_prompts}
        for name in sorted({*config.omit} - fragments):
            message = f"The mode {mode} omits {name}, which is no part of a prompt."
            yield Finding(kind="unknown-part", task_id="", message=message)


def _unrecorded(process: Process) -> Iterator[Finding]:
    """Find a task that a run may come back to with nothing recorded: work would be repeated."""
    if process.record_history:
        return
    graph = process.graph
    for task in graph.tasks.values():
        if isinstance(task, Task) and _comes_back(graph, task):
            message = f"A run may come back to {task.id}, and record_history is off."
            yield Finding(kind="unrecorded", task_id=task.id, message=message)
            return


def _comes_back(graph: Graph, task: AnyTask) -> bool:
    """Tell whether a way through the tasks leads from a task to itself."""
    seen: set[str] = set()
    waiting = [task.id]
    while waiting:
        here = graph.tasks[waiting.pop()]
        behind = set(graph.exits(here))
        if graph.returns(here):
            behind |= {each.id for each in graph.tasks.values() if here.id in graph.exits(each)}
        if task.id in behind:
            return True
        new = (behind & graph.tasks.keys()) - seen
        seen |= new
        waiting += new
    return False
