"""Runs: processes run in a store, so that another process can go on with them.

Every committed step is durable before it counts. A run has one id, is run by one process at a time,
and goes on behind its last committed step wherever it is resumed.

Source:
    docs/spec/process.md#stored-runs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thusfar._numbers import require_seconds
from thusfar.errors import OptionsError
from thusfar.process import shelving
from thusfar.process.answering import adriven, driven
from thusfar.process.control import Control, RunHandle
from thusfar.process.entries import Entry
from thusfar.process.outcomes import Outcome
from thusfar.process.replaying import replay_steps
from thusfar.process.resuming import StoredRun, holding
from thusfar.process.run_values import ReplayedRun, RunComparison, RunInfo
from thusfar.process.running import require_idle
from thusfar.process.shelving import Erased
from thusfar.process.tape import PromptMatching, Tape
from thusfar.storage.base import Store

if TYPE_CHECKING:
    from thusfar.process.definition import Process

Input = Mapping[str, Any] | None


class Runs:
    """Stored runs of processes; `sync` is the same for code without an event loop.

    Args:
        store: Where they are kept; every namespace has its own.
        lease_seconds: How long nobody else may resume a run whose process gives no sign of life.
            `None`: twice the time limit of a step of the process. A process that is known to have
            ended, on the same machine, holds nothing.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a lease of no time.

    Example:
        >>> from thusfar.models import Scripted
        >>> from thusfar.process import END, Process, Runs, Task
        >>> from thusfar.storage import open_store
        >>> task = Task(id="greet", state_updates="greeting", next_task=END)
        >>> runs = Runs(open_store("memory:")).sync
        >>> runs.run(Process([task], model=Scripted("Good morning.")), run_id="r1").output
        {'greeting': 'Good morning.'}
        >>> [(info.run_id, info.status, info.steps) for info in runs.list()]
        [('r1', 'finished', 1)]
    """

    def __init__(self, store: Store, *, lease_seconds: float | None = None) -> None:
        if lease_seconds is not None:
            require_seconds("Runs()", "lease_seconds", lease_seconds)
        self.store = store
        self.lease_seconds = lease_seconds

    @property
    def sync(self) -> SyncRuns:
        """The same runs, for code without an event loop."""
        return SyncRuns(self)

    async def run(
        self,
        process: Process,
        input: Input = None,  # noqa: A002 - the counterpart of output
        *,
        run_id: str,
    ) -> Outcome:
        """Run a process from where it stands to an end; every committed step is durable.

        Args:
            process: The process.
            input: As for `Process.run`.
            run_id: The id of the run, unique within the namespace for good.

        Raises:
            RunExistsError: `RUN_EXISTS`, when the id is taken; nothing was begun.
            InvalidDefinitionError: As for `Process.run`.
            ProcessRunningError: As for `Process.run`.
        """
        with holding() as holder:
            return await adriven(self._stored(process, run_id, holder).begin(input))

    def start(
        self,
        process: Process,
        input: Input = None,  # noqa: A002 - the counterpart of output
        *,
        run_id: str,
        resume: bool = False,
        take_over: bool = False,
        allow_changed: bool = False,
    ) -> RunHandle:
        """Start a stored run with a handle to pause and end it; see `run`, `Process.start`.

        Args:
            process: The process.
            input: Its input; none where the run is resumed.
            run_id: The id of the run.
            resume: Whether to go on with a run that there is, as `resume` does.
            take_over: As for `resume`.
            allow_changed: As for `resume`.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for an input of a run that is resumed, or for what only
                a resumed one takes.
        """
        import asyncio

        if (resume and input is not None) or (not resume and (take_over or allow_changed)):
            raise OptionsError(
                "A run was to be begun and to be resumed.",
                fix="Pass input= for a new run; take_over= and allow_changed= with resume=True.",
                option="resume",
            )
        loop = asyncio.get_running_loop()
        require_idle(process)
        control = Control()

        async def whole() -> Outcome:
            with holding() as holder:
                run = self._stored(process, run_id, holder, control)
                if resume:
                    steps = run.resume(take_over=take_over, allow_changed=allow_changed)
                else:
                    steps = run.begin(input)
                return await adriven(steps)

        return RunHandle(loop.create_task(whole()), control)

    async def resume(
        self,
        process: Process,
        run_id: str,
        *,
        take_over: bool = False,
        allow_changed: bool = False,
    ) -> Outcome:
        """Go on with a run behind its last committed step; a finished one gives its outcome.

        A run that failed goes on at the task that failed, one that was stopped where it stopped.

        Args:
            process: A process of the same definition; what it holds is replaced.
            run_id: The run.
            take_over: Whether to take the run from somebody who holds it; from then on nothing of
                that one is committed.
            allow_changed: Whether tasks may lead elsewhere than when the run began; from then on
                it goes by these. Texts, models, schemas, limits and functions may be others in
                any case.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
            RunHeldError: `RUN_HELD`, while somebody else runs it.
            InvalidStateError: `INVALID_STATE`, when it is a run of another process, or tasks lead
                elsewhere.
            ProcessRunningError: `PROCESS_RUNNING`, when the process runs.
        """
        with holding() as holder:
            steps = self._stored(process, run_id, holder).resume(
                take_over=take_over, allow_changed=allow_changed
            )
            return await adriven(steps)

    async def list(
        self, *, process_id: str | None = None, limit: int | None = None, offset: int = 0
    ) -> tuple[RunInfo, ...]:
        """List the runs of the namespace, newest change first.

        Args:
            process_id: Only those of this process. `None`: of any.
            limit: At most so many. `None`: all.
            offset: Skip so many.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for an impossible limit or offset.
            InvalidMessageError: `INVALID_MESSAGE`, for what can be no id of a process.
        """
        now = self.store.clock()
        return await self.store.arun(shelving.list_steps(now, process_id, limit, offset))

    async def info(self, run_id: str) -> RunInfo:
        """Say how a run stands.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
        """
        return await self.store.arun(shelving.info_steps(run_id, self.store.clock()))

    async def entries(
        self, run_id: str, *, first: int = 1, last: int | None = None
    ) -> tuple[Entry, ...]:
        """Read entries of a run, oldest first; those that have left memory too.

        Args:
            run_id: The run.
            first: Number of the first.
            last: Number of the last. `None`: the newest.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
        """
        return await self.store.arun(shelving.entries_steps(run_id, first, last))

    async def state(self, run_id: str, *, entry: int | None = None) -> dict[str, Any]:
        """Read the state of a run as it stands, or as it was behind the step of an entry.

        Args:
            run_id: The run.
            entry: Number of the entry; 0 is how the run began. `None`: as it stands.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
            OptionsError: `INVALID_OPTIONS`, when it has no such entry.
        """
        return (await self.store.arun(shelving.as_of_steps(run_id, entry))).values

    async def tape(self, run_id: str) -> Tape:
        """Read the answers and times that the committed steps of a run were made from.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
        """
        return await self.store.arun(shelving.tape_steps(run_id))

    async def replay(
        self, process: Process, run_id: str, *, prompts: PromptMatching = "strict"
    ) -> ReplayedRun:
        """Run the committed steps of a run again from its tape, in memory, and compare.

        Args:
            process: A process of the same definition; what it holds is replaced.
            run_id: The run; it is not changed.
            prompts: As for `Replay`.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
            InvalidStateError: `INVALID_STATE`, when it is a run of another process.
        """
        return await adriven(replay_steps(self.store, process, run_id, prompts))

    async def fork(
        self, run_id: str, *, entry: int, new_id: str, state: Mapping[str, Any] | None = None
    ) -> RunInfo:
        """Make a run that stands where another one stood behind an entry, with another state.

        The entry's whole step is taken over. Go on with `resume`, and compare with `compare`.

        Args:
            run_id: The run; it is not changed.
            entry: The last entry taken over; 0 is how the run began.
            new_id: Id of the new run.
            state: Updates of the state, as `Task.state_updates`.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is no such run.
            RunExistsError: `RUN_EXISTS`, when the new id is taken.
            OptionsError: `INVALID_OPTIONS`, when the run has no such entry.
            InvalidStateError: `INVALID_STATE`, for an update that cannot be carried out.
        """
        now = self.store.clock()
        return await self.store.arun(shelving.fork_steps(run_id, entry, new_id, state, now))

    async def compare(self, run_id: str, other: str) -> RunComparison:
        """Compare two runs: up to where their logs agree, and how their states differ.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when one is not there.
        """
        now = self.store.clock()
        return await self.store.arun(shelving.compare_steps(run_id, other, now))

    async def delete(self, run_id: str, *, force: bool = False, thorough: bool = False) -> Erased:
        """Delete a run for good: its row, steps, entries, answers, those of sub-processes too.

        Args:
            run_id: The run.
            force: Whether to delete it while somebody runs it; nothing of that one is committed
                from then on.
            thorough: Whether work that grows with the database may be done to clear its files.

        Returns:
            `complete`, or `pending` while something keeps the last bytes in the store's files.

        Raises:
            RunNotFoundError: `RUN_NOT_FOUND`, when there is none.
            RunHeldError: `RUN_HELD`, while somebody runs it.
        """
        now = self.store.clock()
        steps = shelving.delete_steps(run_id, now, force=force, thorough=thorough)
        return await self.store.arun(steps)

    def _stored(
        self, process: Process, run_id: str, holder: str, control: Control | None = None
    ) -> StoredRun:
        return StoredRun(
            store=self.store,
            lease_seconds=self.lease_seconds,
            process=process,
            run_id=run_id,
            holder=holder,
            control=control,
        )


class SyncRuns:
    """Stored runs for code without an event loop; each method is as on `Runs`."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._store = runs.store

    def run(
        self,
        process: Process,
        input: Input = None,  # noqa: A002 - the counterpart of output
        *,
        run_id: str,
    ) -> Outcome:
        """Run a process to an end; see `Runs.run` and `Process.run_sync`."""
        with holding() as holder:
            return driven(self._runs._stored(process, run_id, holder).begin(input))

    def resume(
        self,
        process: Process,
        run_id: str,
        *,
        take_over: bool = False,
        allow_changed: bool = False,
    ) -> Outcome:
        """Go on with a run; see `Runs.resume`."""
        with holding() as holder:
            steps = self._runs._stored(process, run_id, holder).resume(
                take_over=take_over, allow_changed=allow_changed
            )
            return driven(steps)

    def list(
        self, *, process_id: str | None = None, limit: int | None = None, offset: int = 0
    ) -> tuple[RunInfo, ...]:
        """List runs; see `Runs.list`."""
        now = self._store.clock()
        return self._store.run(shelving.list_steps(now, process_id, limit, offset))

    def info(self, run_id: str) -> RunInfo:
        """Say how a run stands; see `Runs.info`."""
        return self._store.run(shelving.info_steps(run_id, self._store.clock()))

    def entries(self, run_id: str, *, first: int = 1, last: int | None = None) -> tuple[Entry, ...]:
        """Read entries; see `Runs.entries`."""
        return self._store.run(shelving.entries_steps(run_id, first, last))

    def state(self, run_id: str, *, entry: int | None = None) -> dict[str, Any]:
        """Read the state; see `Runs.state`."""
        return self._store.run(shelving.as_of_steps(run_id, entry)).values

    def tape(self, run_id: str) -> Tape:
        """Read the tape; see `Runs.tape`."""
        return self._store.run(shelving.tape_steps(run_id))

    def replay(
        self, process: Process, run_id: str, *, prompts: PromptMatching = "strict"
    ) -> ReplayedRun:
        """Run it again from its tape; see `Runs.replay`."""
        return driven(replay_steps(self._store, process, run_id, prompts))

    def fork(
        self, run_id: str, *, entry: int, new_id: str, state: Mapping[str, Any] | None = None
    ) -> RunInfo:
        """Make a run behind an entry of another; see `Runs.fork`."""
        now = self._store.clock()
        return self._store.run(shelving.fork_steps(run_id, entry, new_id, state, now))

    def compare(self, run_id: str, other: str) -> RunComparison:
        """Compare two runs; see `Runs.compare`."""
        return self._store.run(shelving.compare_steps(run_id, other, self._store.clock()))

    def delete(self, run_id: str, *, force: bool = False, thorough: bool = False) -> Erased:
        """Delete a run for good; see `Runs.delete`."""
        now = self._store.clock()
        return self._store.run(shelving.delete_steps(run_id, now, force=force, thorough=thorough))
