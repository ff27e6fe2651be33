"""`thusfar process run` and `resume`: a run to its end, every step kept."""

from __future__ import annotations

import asyncio
import traceback
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from thusfar.cli.options import AsJson
from thusfar.cli.output import console, counted, print_indented, print_json, shown
from thusfar.cli.process.options import DefinitionWord, HookOptions, RunWord, process_named
from thusfar.cli.store import StoreOptions, opened
from thusfar.codec import json_text, parse_json
from thusfar.errors import OptionsError, TranscriptError
from thusfar.process import Outcome, Process, Runs, StepCommitted
from thusfar.process.rendering import compact_line
from thusfar.storage import Store

_LINE = 76  # columns of an entry behind its number
_OWN = str(Path(__file__).resolve().parents[2])  # where the code of the library is


def run(
    definition: DefinitionWord,
    /,
    *,
    where: StoreOptions | None = None,
    names: HookOptions | None = None,
    run_id: Annotated[
        str | None, Parameter(name="--run", help="Id of the run; by default one is made")
    ] = None,
    given: Annotated[
        str | None, Parameter(name="--input", help="The input: the text of a JSON object")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run DEFINITION to an end, in a store where one is given.

    In a store each step is durable when it is committed, and thusfar process resume goes on with a
    run that was broken off.

    With --json: {"run_id", "status", "output", "failure", "reason", "steps", "calls",
    "tokens"}.

    Exit status: 0 finished; 1 failed or refused; 2 a wrong command line.
    """
    process = process_named(definition, names)
    values = None if given is None else json_object(given)
    told = _listener(process, as_json=as_json)
    if where is None or not where.store:
        if run_id is not None:
            raise OptionsError(
                "--run named a run that no store would keep.",
                fix="Pass --store, or leave out --run.",
            )
        outcome = asyncio.run(process.run(values))
        return _print(None, outcome, as_json=as_json, told=told)
    name = run_id if run_id is not None else f"{process.id}-{uuid.uuid4().hex[:12]}"
    if not as_json:
        console().print(f"Run {shown(name)}", soft_wrap=True)
    with opened(where, "create") as store:
        outcome = _driven(store, Runs(store).run(process, values, run_id=name))
    return _print(name, outcome, as_json=as_json, told=told)


def resume(
    run_id: RunWord,
    definition: DefinitionWord,
    /,
    *,
    where: StoreOptions | None = None,
    names: HookOptions | None = None,
    take_over: Annotated[
        bool,
        Parameter(
            negative=(), show_default=False, help="Take it from a process that still holds it"
        ),
    ] = False,
    allow_changed: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Go on although tasks lead elsewhere than when the run began",
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Go on with RUN of DEFINITION behind its last committed step.

    A run that failed goes on at the task that failed; a finished one gives its output again. Texts,
    models, schemas, limits and functions of DEFINITION may have changed since, the way from task to
    task only with --allow-changed.

    With --json: {"run_id", "status", "output", "failure", "reason", "steps", "calls",
    "tokens"}.

    Exit status: 0 finished; 1 failed or refused, such as RUN_HELD; 2 a wrong command line.
    """
    process = process_named(definition, names)
    told = _listener(process, as_json=as_json)
    with opened(where, "change") as store:
        work = Runs(store).resume(process, run_id, take_over=take_over, allow_changed=allow_changed)
        outcome = _driven(store, work)
    return _print(run_id, outcome, as_json=as_json, told=told)


def _driven(store: Store, work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run to an end on an event loop, and leave nothing of the store on it."""

    async def whole() -> Outcome:
        try:
            return await work
        finally:
            if callable(leave := getattr(store, "leave_loop", None)):
                await leave()

    return asyncio.run(whole())


def _listener(process: Process, *, as_json: bool) -> Callable[[], int]:
    """Print the entries of each step as it is committed; tell how many there were."""
    own, seen = process.on_event, [0]
    out = console()

    def listen(event: Any) -> None:
        if own is not None:
            own(event)
        if isinstance(event, StepCommitted) and event.process_id == process.id:
            for entry in event.entries:
                seen[0] += 1
                if not as_json:
                    line = shown(compact_line(entry, most=_LINE))
                    out.print(f"{entry.seq:>4}  {line}", soft_wrap=True)

    process.on_event = listen
    return lambda: seen[0]


def outcome_json(run_id: str | None, outcome: Outcome) -> dict[str, Any]:
    """Write an outcome as JSON values."""
    from thusfar.process.keeping import told_outcome

    failure = outcome.failure
    told = None
    if failure is not None:
        told = {**(told_outcome(outcome) or {}), "cause": cause_text(failure.cause) or None}
    return {
        "run_id": run_id,
        "status": outcome.status,
        "output": outcome.output,
        "failure": told,
        "reason": outcome.reason,
        "steps": outcome.steps,
        "calls": outcome.calls,
        "tokens": outcome.tokens,
    }


def cause_text(error: BaseException) -> str:
    """Say what an author's function or a model raised, and where; empty where that is not known."""
    cause = error.__cause__
    if cause is None:
        return ""
    frames = traceback.extract_tb(cause.__traceback__)
    theirs = [each for each in frames if not each.filename.startswith(_OWN)] or frames
    where = f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
    return f"{type(cause).__name__}: {cause}{where}"


def _print(run_id: str | None, outcome: Outcome, *, as_json: bool, told: Callable[[], int]) -> int:
    finished = outcome.status == "finished"
    if as_json:
        print_json(outcome_json(run_id, outcome))
        return 0 if finished else 1
    out = console()
    if told():
        out.print()
    size = f"{counted(outcome.steps, 'step')}, {counted(outcome.calls, 'model call')}"
    out.print(f"{outcome.status.capitalize()}: {size}", soft_wrap=True)
    failure = outcome.failure
    if failure is not None:
        place = f" at {failure.task_id}, step {failure.step}" if failure.task_id else ""
        print_indented(shown(f"{failure.code}{place}"), out)
        print_indented(shown(failure.message), out)
        for error in failure.errors:
            print_indented(shown(error), out, hanging=2)
        if cause := cause_text(failure.cause):
            print_indented(shown(f"cause: {cause}"), out, hanging=2)
        print_indented(shown(failure.fix), out)
    elif outcome.output is not None:
        print_indented(shown(json_text(outcome.output)), out)
    return 0 if finished else 1


def json_object(text: str, option: str = "--input") -> dict[str, Any]:
    """Read the JSON object that an option was given.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for anything else.
    """
    try:
        value = parse_json(text, where=option)
    except TranscriptError as error:
        raise OptionsError(error.args[0], fix="Pass the text of a JSON object.") from None
    if not isinstance(value, dict):
        raise OptionsError(
            f"{option} got JSON that is no object.", fix="Pass the text of a JSON object."
        )
    return value
