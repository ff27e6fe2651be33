"""Routing: where a run goes next, and what is wrong with a graph before it runs.

Source:
    docs/spec/process.md#routing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

import msgspec

from thusfar.process.kinds import END
from thusfar.process.tasks import AnyTask, DecisionTask, Task

FindingKind = Literal[
    "unknown-target",
    "unreachable",
    "no-end",
    "unknown-part",
    "unknown-name",
    "unused",
    "inside-itself",
    "unrecorded",
]
_WARNING: Final = ("unreachable", "no-end", "unknown-name", "unused", "unrecorded")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong with the definition of a process.

    Attributes:
        kind: What it is. A run starts in spite of `unreachable`, `no-end`, `unknown-name`, `unused`
            and `unrecorded`, and of no other.
        task_id: The task it was found at; empty for the whole process.
        message: One sentence.
        process_id: The process it was found in: the one that was checked, or one inside it.
    """

    kind: FindingKind
    task_id: str
    message: str
    process_id: str = ""

    @property
    def stops(self) -> bool:
        """Whether a run is refused because of it."""
        return self.kind not in _WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The tasks of a process and the order between them.

    Attributes:
        tasks: By id, in the order of declaration.
        start: Where a run begins.
        sequence: Ids of tasks that follow each other.
        default_return_task: Where a run goes on where a task names nothing else.
        error_task: Where it goes on behind a task that failed and names nothing itself.
        following: The task behind each of the sequence but the last.
    """

    tasks: Mapping[str, AnyTask]
    start: str
    sequence: tuple[str, ...] = ()
    default_return_task: str | None = None
    error_task: str | None = None
    following: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "following", dict(pairwise(self.sequence)))

    def behind(self, task: AnyTask) -> str | None:
        """Name what is declared behind a task; `None` leaves it to the calling task."""
        own = task.otherwise if isinstance(task, DecisionTask) else task.next_task
        if own is not None:
            return own
        return self.following.get(task.id, self.default_return_task)

    def after(self, task: AnyTask, callers: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """Route a run behind a task that chose no transition.

        Args:
            task: The task.
            callers: Tasks whose transition led here, the newest last.

        Returns:
            The next task or `END`, and the callers then. Returning to a caller takes it off.
        """
        target = self.behind(task)
        if target is not None:
            return target, callers
        return (callers[-1], callers[:-1]) if callers else (END, ())

    def behind_failure(self, task: AnyTask) -> str | None:
        """Name the task that takes over where a task fails; `None`: the run fails."""
        own = None if isinstance(task, DecisionTask) else task.failure_task
        return own if own is not None else self.error_task

    def exits(self, task: AnyTask) -> Iterator[str]:
        """List every target that a task names."""
        if isinstance(task, Task):
            yield from (edge.to for edge in task.edges)
        yield from self.others(task)

    def others(self, task: AnyTask) -> Iterator[str]:
        """List the targets that a task names and no model chooses."""
        if (taking_over := self.behind_failure(task)) not in (None, task.id):
            yield taking_over
        if isinstance(task, Task) and task.chooses_only:
            return
        if isinstance(task, DecisionTask):
            yield from (target for _, target in task.decisions)
        if (target := self.behind(task)) is not None:
            yield target

    def returns(self, task: AnyTask) -> bool:
        """Tell whether a task may go back to its caller, or end the run without one."""
        chooses = isinstance(task, Task) and task.chooses_only
        return not chooses and self.behind(task) is None


def called_from(callers: tuple[str, ...], task_id: str) -> tuple[str, ...]:
    """Note the task whose transition is taken; a task is on the stack at most once.

    Example:
        >>> called_from(("hub", "plan"), "hub")
        ('hub',)
    """
    kept = callers[: callers.index(task_id)] if task_id in callers else callers
    return (*kept, task_id)


def check_graph(graph: Graph) -> list[Finding]:
    """Find unknown targets, unreachable tasks, and a graph without a way to an end."""
    known = {*graph.tasks, END}
    found = [
        Finding(kind="unknown-target", task_id=task.id, message=f"{task.id} leads to {target}, "
                "which does not exist.")
        for task in graph.tasks.values()
        for target in dict.fromkeys(graph.exits(task))
        if target not in known
    ]  # fmt: skip
    if found:
        return found
    reached = _reached(graph)
    found += [
        Finding(kind="unreachable", task_id=name, message=f"Nothing declared leads to {name}.")
        for name in graph.tasks
        if name not in reached
    ]
    if END not in reached:
        found.append(
            Finding(kind="no-end", task_id="", message="No way through the tasks leads to an end.")
        )
    return found


def _reached(graph: Graph) -> set[str]:
    """Walk from the start; a task that returns may reach all that a transition to it came from."""
    reached: set[str] = set()
    waiting: list[tuple[str, tuple[str, ...]]] = [(graph.start, ())]
    seen: set[tuple[str, bool]] = set()
    while waiting:
        name, callers = waiting.pop()
        reached.add(name)
        if name == END or (name, bool(callers)) in seen:
            continue
        seen.add((name, bool(callers)))
        task = graph.tasks[name]
        chosen = [edge.to for edge in task.edges] if isinstance(task, Task) else []
        waiting += [(target, (name,)) for target in chosen]
        waiting += [(target, callers) for target in graph.others(task)]
        hooked = isinstance(task, Task) and task.process_outputs is not None  # it may end the run
        if hooked or (graph.returns(task) and not callers):
            waiting.append((END, ()))
        # A task that returns to its caller reaches nothing new: the caller was walked before.
    return reached
