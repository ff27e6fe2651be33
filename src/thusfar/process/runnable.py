"""Runnable: the ways in which a process is run, with and without an event loop.

Source:
    docs/spec/process.md#runs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from thusfar.process.control import Control, RunHandle
from thusfar.process.outcomes import Outcome
from thusfar.process.tape import Capture, Replay

if TYPE_CHECKING:
    from thusfar.process.definition import Process
    from thusfar.process.isolating import TaskOutcome


class Runnable:
    """What can be run; the base of `Process`."""

    @property
    def itself(self) -> Process:
        """The process."""
        return cast("Process", self)

    async def run(
        self,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - the counterpart of output
        *,
        tape: Capture | Replay | None = None,
    ) -> Outcome:
        """Run to an end.

        Args:
            input: Values merged into the state before the first step of a run.
            tape: A `Capture` that records the run, or a `Replay` that answers it.

        Returns:
            How it ended. A failure is an outcome and not an exception: what was committed before
            it stays, and nothing of the step that failed does.

        Raises:
            InvalidDefinitionError: `INVALID_DEFINITION`, when `check()` finds what stops a run.
            ProcessRunningError: `PROCESS_RUNNING`, when it runs already.
        """
        from thusfar.process.answering import adriven
        from thusfar.process.running import run_steps

        return await adriven(run_steps(self.itself, input, tape=tape))

    def start(
        self,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - the counterpart of output
        *,
        tape: Capture | Replay | None = None,
    ) -> RunHandle:
        """Start a run in the running event loop, with a handle to pause and to end it.

        Awaited, the handle gives what `run` does, and raises what it raises.
        """
        import asyncio

        from thusfar.process.answering import adriven
        from thusfar.process.running import require_idle, run_steps

        loop = asyncio.get_running_loop()
        require_idle(self.itself)
        control = Control()
        steps = run_steps(self.itself, input, control=control, tape=tape)
        return RunHandle(loop.create_task(adriven(steps)), control)

    def run_sync(
        self,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - the counterpart of output
        *,
        tape: Capture | Replay | None = None,
    ) -> Outcome:
        """Run to an end, for code without an event loop; see `run`.

        A model call cannot be interrupted here: an answer that comes too late is not used.
        """
        from thusfar.process.answering import driven
        from thusfar.process.running import run_steps

        return driven(run_steps(self.itself, input, tape=tape))

    async def run_task(
        self,
        task_id: str,
        *,
        state: Mapping[str, Any] | None = None,
        input: Any = None,  # noqa: A002 - as for run
    ) -> TaskOutcome:
        """Run one task alone, to test it: no routing, and nothing of the process is changed.

        The log is in its prompt as it is. Hooks that are told `after_commit` are not told, and
        failure tasks do not take over.

        Args:
            task_id: Id of the task.
            state: The state it finds. `None`: that of the process.
            input: What its templates see as `inputs`.

        Returns:
            What it would have done.

        Raises:
            OptionsError: `INVALID_OPTIONS`, when there is no such task.
            ProcessRunningError: `PROCESS_RUNNING`, during a run.
        """
        from thusfar.process.answering import adriven
        from thusfar.process.isolating import task_steps

        return await adriven(task_steps(self.itself, task_id, state, input))

    def run_task_sync(
        self,
        task_id: str,
        *,
        state: Mapping[str, Any] | None = None,
        input: Any = None,  # noqa: A002 - as for run
    ) -> TaskOutcome:
        """Run one task alone, for code without an event loop; see `run_task`."""
        from thusfar.process.answering import driven
        from thusfar.process.isolating import task_steps

        return driven(task_steps(self.itself, task_id, state, input))

    def snapshot(self) -> dict[str, Any]:
        """Write everything a run needs to go on, as JSON values.

        It stands at the last committed step, also while a step runs.
        """
        from thusfar.process.snapshots import write_snapshot

        process = self.itself
        return write_snapshot(process.id, process.state.values_only, process.log, process.position)

    def restore(self, snapshot: Mapping[str, Any], *, allow_changed: bool = False) -> None:
        """Take over what `snapshot` wrote, in this process or another one of the same definition.

        Args:
            snapshot: The snapshot.
            allow_changed: Whether tasks may lead elsewhere than in the definition that wrote it.
                Texts, models, schemas, limits and functions may be others in any case.

        Raises:
            InvalidStateError: `INVALID_STATE`, for a snapshot of another process, of a newer
                version, or of another shape, or where tasks lead elsewhere; nothing was changed.
            ProcessRunningError: `PROCESS_RUNNING`, during a run.
        """
        from thusfar.process.fingerprints import require_unchanged
        from thusfar.process.running import require_idle
        from thusfar.process.snapshots import read_snapshot

        process = self.itself
        require_idle(process)
        log, position, values = read_snapshot(
            snapshot, process.id, process.graph, process.log.options
        )
        if not allow_changed:
            require_unchanged(process.graph, position, process_id=process.id)
        process.take_over(log, position, values)
