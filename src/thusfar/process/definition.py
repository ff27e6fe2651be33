"""Process: tasks, the state they share, and the log of what was done.

Source:
    docs/spec/process.md
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any

import msgspec

from thusfar.models.resolving import resolve_model
from thusfar.process.building import check_settings, graph_of, prompt_texts
from thusfar.process.checking import findings_of
from thusfar.process.entries import Entry, manual_entry, time_of
from thusfar.process.intercepting import Interceptor
from thusfar.process.kinds import check_id
from thusfar.process.log import (
    DETAIL_ITEMS,
    MAX_ITEMS,
    RESULT_MAX_CHARS,
    ActionHistory,
    ActionLog,
    Adding,
    LogOptions,
    check_flag,
)
from thusfar.process.moments import view_of
from thusfar.process.outcomes import Listener
from thusfar.process.planning import RequestSettings
from thusfar.process.position import Position, RunLimits
from thusfar.process.routing import Finding
from thusfar.process.runnable import Runnable
from thusfar.process.snapshots import require_task
from thusfar.process.state import State
from thusfar.process.steps import Commit
from thusfar.process.tape import Capture, Replay
from thusfar.process.tasks import AnyTask
from thusfar.process.views import PartialPrompt, PartialPromptConfig
from thusfar.runtime.schemas import OutputSchema


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Process(Runnable):
    """An AI workflow: a model is asked again and again, each time for one small task.

    The process holds the state the tasks share and the log of what they did. One object runs
    once at a time. A run that failed may be run again: it goes on at the task that failed.

    Args:
        tasks: The tasks: an unordered pool. Mappings are read as `Task`.
        id: Its name on receipts, entries and events.
        start: Where a run begins. `None`: the first of `sequence`, else the first task.
        sequence: Ids of tasks that follow each other.
        default_return_task: Where a run goes on behind a task that names nothing else.
        error_task: Where a run goes on behind a task that failed and has no `failure_task`. It sees
            `failure` in its templates. `None`: the run fails.
        model: The model of every task that names none: a name such as `anthropic:claude-sonnet-5`
            or `local`; an object with `generate_text` (and, for native structured output,
            `generate_object`), as every adapter is; or a function of the shape of
            `generate_text`.
        state: The values at the start.
        input: What the input of a run must be, as `Task.output`. `None`: any mapping.
        output: What its output must be, as `Task.output`. `None`: the whole state.
        goal: The goal, for every prompt.
        intro_prompt: As in `PromptTexts`.
        system_prompt: As in `PromptTexts`. `None`: a general one.
        standard_prompt: As in `PromptTexts`. `None`: `STANDARD_PROMPT`.
        optional_prompts: As in `PromptTexts`.
        goal_primer: As in `Primers`; `None` everywhere here: the library's own.
        history_primer: As in `Primers`.
        completed_work_primer: As in `Primers`.
        transitions_primer: As in `Primers`.
        errors_primer: As in `Primers`.
        history_detail_items: As in `LogOptions`.
        history_result_max_chars: As in `LogOptions`.
        history_max_items: As in `LogOptions`.
        state_history_max_items: As in `LogOptions`.
        on_history_limit: As in `LogOptions`.
        collapse_equal: As in `LogOptions`.
        open_intents: As in `LogOptions`.
        no_history: Keeps history out of all prompts; it is recorded all the same.
        record_history: Whether tasks are recorded. Entries made with `add_history` always are.
        prompt_modes: Further modes of partial prompts, by name.
        limits: How much a run may use.
        requests: How attempts are planned: budget, capacity, counter, output limit.
        interceptor: Decides about each call of a model before it is made; see `Interceptor`. That
            of a task wins; those of sub-processes are seen too, where they have none of their own.
        on_event: Told what happens, as it happens, and at once. What it raises ends the run, which
            raises it; what was committed stays.
        clock: Gives the time of an entry.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, for a task that does not exist or an id that
            is used twice.
        InvalidTemplateError: `INVALID_TEMPLATE`, for a template that cannot be read.
        InvalidStateError: `INVALID_STATE`, for a state with the reserved name `history`.
        OptionsError: `INVALID_OPTIONS`, for an option outside its range.

    Example:
        >>> from thusfar.models import Scripted
        >>> from thusfar.process import END, Process, Task
        >>> process = Process(
        ...     [Task(id="greet", task_prompt="Greet.", state_updates="greeting", next_task=END)],
        ...     model=Scripted("Good morning."),
        ... )
        >>> process.run_sync().output
        {'greeting': 'Good morning.'}
    """

    def __init__(
        self,
        tasks: Sequence[AnyTask | Mapping[str, Any]],
        *,
        id: str = "process",  # noqa: A002 - named as the attribute
        start: str | None = None,
        sequence: Sequence[str] = (),
        default_return_task: str | None = None,
        error_task: str | None = None,
        model: Any = None,
        state: Mapping[str, Any] | None = None,
        input: Any = None,  # noqa: A002 - the counterpart of output
        output: Any = None,
        goal: str = "",
        intro_prompt: str = "",
        system_prompt: str | None = None,
        standard_prompt: str | None = None,
        optional_prompts: Mapping[str, str] | None = None,
        goal_primer: str | None = None,
        history_primer: str | None = None,
        completed_work_primer: str | None = None,
        transitions_primer: str | None = None,
        errors_primer: str | None = None,
        history_detail_items: int = DETAIL_ITEMS,
        history_result_max_chars: int = RESULT_MAX_CHARS,
        history_max_items: int = MAX_ITEMS,
        state_history_max_items: int | None = None,
        on_history_limit: Any = "fold",
        collapse_equal: bool = False,
        open_intents: bool = False,
        no_history: bool = False,
        record_history: bool = True,
        prompt_modes: Mapping[str, PartialPromptConfig] | None = None,
        limits: RunLimits | None = None,
        requests: RequestSettings | None = None,
        interceptor: Interceptor | None = None,
        on_event: Listener | None = None,
        clock: Callable[[], datetime.datetime] = _utc_now,
    ) -> None:
        check_id(id, "A process")
        check_settings(
            state=state,
            sequence=sequence,
            optional_prompts=optional_prompts,
            prompt_modes=prompt_modes,
            limits=limits,
            requests=requests,
            interceptor=interceptor,
            on_event=on_event,
            clock=clock,
        )
        check_flag("no_history", no_history)
        check_flag("record_history", record_history)
        self.id = id
        self.graph = graph_of(tasks, start, tuple(sequence), default_return_task, error_task)
        self.model = resolve_model(model) if isinstance(model, str) else model
        self.no_history = no_history
        self.record_history = record_history
        self.limits = limits or RunLimits()
        self.requests = requests or RequestSettings()
        self.interceptor = interceptor
        self.on_event = on_event
        self.clock = clock
        self.monotonic: Callable[[], float] = time.monotonic
        self.input_schema = None if input is None else OutputSchema.of(input, owner=id)
        self.output_schema = None if output is None else OutputSchema.of(output, owner=id)
        self.texts = prompt_texts(
            goal=goal,
            intro_prompt=intro_prompt,
            system_prompt=system_prompt,
            standard_prompt=standard_prompt,
            optional_prompts=optional_prompts,
            goal_primer=goal_primer,
            history_primer=history_primer,
            completed_work_primer=completed_work_primer,
            transitions_primer=transitions_primer,
            errors_primer=errors_primer,
        )
        self.log = ActionLog(
            LogOptions(
                history_detail_items=history_detail_items,
                history_result_max_chars=history_result_max_chars,
                history_max_items=history_max_items,
                state_history_max_items=state_history_max_items,
                on_history_limit=on_history_limit,
                collapse_equal=collapse_equal,
                open_intents=open_intents,
            )
        )
        self._state = State(state or {}, self._mirror)
        self.given = {"state": self._state.values_only, "input": input, "output": output}
        self.position = Position(at=self.graph.start)
        self.pending: list[Entry] | None = None
        self.running = False
        self.adding = Adding()
        self.tape: Capture | Replay | None = None
        self.last_errors: tuple[str, ...] = ()
        self.prompt_modes = dict(prompt_modes or {})

    def _mirror(self) -> tuple[Entry, ...]:
        return self.log.mirror()

    @property
    def state(self) -> State:
        """The state; `state["history"]` mirrors the newest entries of the log."""
        return self._state

    @property
    def history(self) -> ActionHistory:
        """The entries in memory, oldest first, read-only."""
        return self.log.history

    @property
    def steps_executed(self) -> int:
        """Steps committed in this run."""
        return self.position.steps

    @property
    def failure(self) -> dict[str, Any] | None:
        """What the step before failed with: `code`, `message`, `task_id` and `errors`."""
        told: dict[str, Any] | None = self.position.failure
        return told

    def add_history(self, entry: Mapping[str, Any] | None = None, /, **fields: Any) -> Entry:
        """Record an entry by hand.

        Inside a hook or a script it is committed with the step, or dropped with it. Other threads
        may add entries too.

        Args:
            entry: The fields as a mapping, such as `{"taskID": …, "summary": …, "ts": …}`.
            **fields: The same as keywords; they win.

        Returns:
            The entry.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for a field of the wrong type.
            TranscriptError: `INVALID_TRANSCRIPT`, for a value that is not JSON.
            HistoryLimitError: `HISTORY_LIMIT`, at the ceiling of a log that does not fold.
        """
        with self.adding:
            waiting = self.pending
            seq = self.log.next_seq + len(waiting or ())
            given = {**entry, **fields} if isinstance(entry, Mapping) else entry or fields
            made = manual_entry(given, seq=seq, now=self.now())
            self.log.require_room(1 + len(waiting or ()))
            if waiting is None:
                self.log.add(made)
            else:
                waiting.append(made)
            return made

    def now(self) -> str:
        """The time, in ISO 8601; in a replay, the time that was captured."""
        if isinstance(self.tape, Replay):
            return self.tape.time()
        made = time_of(self.clock)
        if self.tape is not None:
            self.tape.keep_time(made)
        return made

    def check(self) -> tuple[Finding, ...]:
        """Find what is wrong with the definition, without running it.

        Returns:
            Targets and prompt parts that do not exist, tasks that nothing leads to, a graph
            without a way to an end, a process inside itself; those of sub-processes too.
        """
        return tuple(findings_of(self, ()))

    def partial_prompt(
        self, config: PartialPromptConfig | str, *, task: str | None = None
    ) -> PartialPrompt:
        """Show the prompt of a task as it would be now, with parts left out, for reading.

        Args:
            config: What is left out, or the name of a mode.
            task: Id of the task. `None`: the one that runs, or runs next.

        Raises:
            OptionsError: `INVALID_OPTIONS`, for an unknown mode or name, or a task that asks no
                model.
            InvalidTemplateError: `INVALID_TEMPLATE`, when a template cannot be rendered.
        """
        return view_of(self, config, task)

    def reset(self, state: Mapping[str, Any] | None = None) -> None:
        """Begin anew: an empty log, a fresh state, and the start task.

        Args:
            state: The values. `None`: those the process was made with.

        Raises:
            InvalidStateError: `INVALID_STATE`, for the reserved name.
            ProcessRunningError: `PROCESS_RUNNING`, during a run.
        """
        from thusfar.process.running import require_idle

        require_idle(self)
        fresh = State(self.given["state"] if state is None else state, self._mirror)
        self.log = ActionLog(self.log.options)
        self._state = fresh
        self.position = Position(at=self.graph.start)
        self.last_errors = ()

    def swap(self, position: Position, state: State) -> tuple[Position, State]:
        """Stand elsewhere with another state, for a task alone.

        Returns:
            Where it stood, and its state.
        """
        was = self.position, self._state
        self.position, self._state = position, state
        return was

    def restart(self) -> None:
        """Go back to the start task for a new run; the log and the state stay."""
        self.position = Position(at=self.graph.start)

    def numbered(self, commit: Commit) -> Commit:
        """Number the entries of a step for good; what is added from now on stands behind them."""
        with self.adding:
            made = [*commit.entries]
            made += [each for each in self.pending or () if not any(each is one for one in made)]
            first = self.log.next_seq
            for place, entry in enumerate(made, first):
                if entry.seq != place:
                    made[place - first] = msgspec.structs.replace(entry, seq=place)
            self.pending = made
            same = len(made) == len(commit.entries) and all(map(is_, made, commit.entries))
            return commit if same else replace(commit, entries=tuple(made))

    def commit(self, commit: Commit) -> None:
        """Carry a step out: state, log, counter and position together.

        Raises:
            HistoryLimitError: `HISTORY_LIMIT`, before anything was changed.
        """
        with self.adding:
            entries = self.pending or commit.entries
            self.log.require_room(len(entries))
            for entry in entries:
                self.log.add(entry)
            self._state.replace(commit.values)
            self.position = self.position.behind(commit)
            self.pending = None
            self.last_errors = ()

    def take_over(self, log: ActionLog, position: Position, values: dict[str, Any]) -> None:
        """Stand where a log, a position and a state say.

        Raises:
            InvalidStateError: `INVALID_STATE`, for a task that does not exist here.
        """
        require_task(self.graph, position)
        self.log, self.position, self._state = log, position, State(values, self._mirror)
        self.last_errors = ()

    def __repr__(self) -> str:
        return f"Process({self.id!r}, at={self.position.at!r}, recorded={self.log.recorded})"
