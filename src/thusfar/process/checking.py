"""Checking: what is wrong with a definition, found without running it.

Source:
    docs/spec/process.md#routing
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from thusfar.process.prompts import BUILT_IN, SAME
from thusfar.process.routing import Finding, Graph, check_graph
from thusfar.process.tasks import AnyTask, SubProcess, Task
from thusfar.process.templates import PROMPT_SCOPE, SUMMARY_SCOPE, names_used, parts_named
from thusfar.process.views import FRAGMENTS

if TYPE_CHECKING:
    from thusfar.process.definition import Process

_FOR_OUTPUTS: Final = (
    *("state_updates", "next_task", "history_summary"),
    *("before_commit", "process_outputs", "after_commit"),
)


def findings_of(process: Process, around: tuple[Process, ...]) -> list[Finding]:
    """Find what is wrong with a process and the processes in it.

    Args:
        process: The process.
        around: The processes it is inside of.
    """
    found = [*check_graph(process.graph), *_unknown_parts(process), *_unrecorded(process)]
    found += [*_unknown_names(process), *_unused(process)]
    found = [msgspec.structs.replace(each, process_id=process.id) for each in found]
    for task in process.graph.tasks.values():
        if isinstance(task, SubProcess):
            if any(task.process is each for each in (*around, process)):
                message = f"{task.id} runs a process inside itself."
                found.append(
                    Finding(
                        kind="inside-itself",
                        task_id=task.id,
                        message=message,
                        process_id=process.id,
                    )
                )
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


def _unknown_names(process: Process) -> Iterator[Finding]:
    """Find names in templates that are not in their scope, and would fail where they are read."""
    texts = process.texts
    named: list[tuple[str, str, str | None, tuple[str, ...]]] = [
        ("", name, getattr(texts, name), PROMPT_SCOPE)
        for name in ("system_prompt", "intro_prompt", "standard_prompt")
    ]
    named += [("", name, text, PROMPT_SCOPE) for name, text in texts.optional_prompts.items()]
    for task in process.graph.tasks.values():
        for name in ("task_prompt", "prompt"):
            named.append((task.id, f"{task.id}.{name}", getattr(task, name, None), PROMPT_SCOPE))
        summary = getattr(task, "history_summary", None)
        named.append((task.id, f"{task.id}.history_summary", summary, SUMMARY_SCOPE))
    for task_id, where, text, scope in named:
        for name in sorted(names_used(text or "") - {*scope}):
            message = f"The template {where} uses {name}, which is none of {', '.join(scope)}."
            yield Finding(kind="unknown-name", task_id=task_id, message=message)


def _unused(process: Process) -> Iterator[Finding]:
    """Find what tasks that can only choose have for outputs, which there are none of."""
    for task in process.graph.tasks.values():
        if isinstance(task, Task) and task.chooses_only:
            given = [name for name in _FOR_OUTPUTS if getattr(task, name) is not None]
            if given:
                message = (
                    f"{task.id} has transitions and no output, so it only chooses, and never uses "
                    f"{', '.join(given)}."
                )
                yield Finding(kind="unused", task_id=task.id, message=message)


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
