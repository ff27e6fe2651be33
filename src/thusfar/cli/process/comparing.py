"""`thusfar process replay`, `fork` and `compare`: a run again, and a run otherwise."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from thusfar.cli.options import AsJson
from thusfar.cli.output import console, counted, print_indented, print_json, shown
from thusfar.cli.process.listing import entry_json
from thusfar.cli.process.options import (
    DefinitionWord,
    HookOptions,
    RunWord,
    opened_runs,
    process_named,
)
from thusfar.cli.process.running import json_object
from thusfar.cli.store import StoreOptions
from thusfar.codec import json_text
from thusfar.process import Entry
from thusfar.process.rendering import compact_line

_LINE = 70  # columns of an entry behind what it is called


def replay(
    run_id: RunWord,
    definition: DefinitionWord,
    /,
    *,
    where: StoreOptions | None = None,
    names: HookOptions | None = None,
    prompts: Annotated[
        Literal["strict", "warn", "ignore"],
        Parameter(help="What another prompt means: a failure, a note, or nothing"),
    ] = "strict",
    as_json: AsJson = False,
) -> int:
    """Run the committed steps of RUN again from its answers, and compare; no model is asked.

    Functions of the author run again; RUN itself is not changed.

    With --json: {"run_id", "same", "steps", "same_log", "same_state", "changed_prompts",
    "failure"}.

    Exit status: 0 it came to the same; 1 it did not, or was refused; 2 a wrong command line.
    """
    process = process_named(definition, names)
    with opened_runs(where, "read") as kept:
        made = kept.replay(process, run_id, prompts=prompts)
    if as_json:
        print_json({"run_id": run_id, "same": made.same, **msgspec.to_builtins(made)})
        return 0 if made.same else 1
    out = console()
    word = "the same" if made.same else "otherwise"
    out.print(f"Replayed: {counted(made.steps, 'step')}, {word}", soft_wrap=True)
    if made.failure is not None:
        print_indented(shown(f"{made.failure[0]}: {made.failure[1]}"), out)
    for what, same in (("log", made.same_log), ("state", made.same_state)):
        if not same:
            print_indented(f"The {what} is another one.", out)
    for place in made.changed_prompts:
        print_indented(f"Another prompt: {shown(place)}", out)
    return 0 if made.same else 1


def fork(
    run_id: RunWord,
    new: Annotated[str, Parameter(help="Id of the new run")],
    /,
    *,
    where: StoreOptions | None = None,
    entry: Annotated[int, Parameter(help="The last entry taken over; 0: how it began")],
    updates: Annotated[
        str | None,
        Parameter(name="--state", help="Updates: the text of a JSON object of paths and values"),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make the run NEW, which stands where RUN stood behind an entry, with another state.

    Go on with it: thusfar process resume NEW. RUN itself is not changed.

    With --json: the fields of thusfar process runs.

    Exit status: 0 made; 1 refused, such as RUN_EXISTS; 2 a wrong command line.
    """
    values = None if updates is None else json_object(updates, "--state")
    with opened_runs(where, "change") as kept:
        info = kept.fork(run_id, entry=entry, new_id=new, state=values)
    if as_json:
        print_json(msgspec.to_builtins(info))
    else:
        at = f"at {shown(info.task_id)}, behind entry {info.entries}"
        console().print(f"Forked: {shown(new)} stands {at}.", soft_wrap=True)
    return 0


def compare(
    run_id: RunWord,
    other: Annotated[str, Parameter(help="Id of the other run")],
    /,
    *,
    where: StoreOptions | None = None,
    as_json: AsJson = False,
) -> int:
    """Tell up to where the logs of two runs agree, and how their states differ.

    Times are not compared.

    With --json: {"runs", "equal", "same_entries", "entries", "first", "changes", "statuses"}.

    Exit status: 0 compared, whatever was found; 1 refused; 2 a wrong command line.
    """
    with opened_runs(where, "read") as kept:
        found = kept.compare(run_id, other)
    if as_json:
        first = [None if each is None else entry_json(each) for each in found.first]
        values: dict[str, Any] = {**msgspec.to_builtins(found), "first": first}
        print_json({"equal": found.equal, **values})
        return 0
    out = console()
    counts = " and ".join(f"{each:,}" for each in found.entries)
    out.print(f"Equal entries: {found.same_entries:,} of {counts}", soft_wrap=True)
    for name, entry in zip(found.runs, found.first, strict=True):
        if found.first != (None, None):
            print_indented(f"{shown(name)}: {_line(entry)}", out, hanging=2)
    for path, kind, value in found.changes:
        place = ".".join(str(step) for step in path)
        print_indented(shown(f"state {kind} {place}: {json_text(value)}"), out, hanging=2)
    if found.equal:
        print_indented("Their states are equal.", out)
    return 0


def _line(entry: Entry | None) -> str:
    return "(ends before)" if entry is None else shown(compact_line(entry, most=_LINE))
