"""`thusfar process runs`, `show` and `delete`: the runs that a store keeps."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from thusfar.cli.options import AsJson, Whole
from thusfar.cli.output import console, counted, print_indented, print_json, print_table, shown
from thusfar.cli.process.options import RunWord, opened_runs
from thusfar.cli.store import StoreOptions
from thusfar.cli.thread.erasing import confirmed
from thusfar.cli.thread.options import Yes
from thusfar.cli.thread.told import time_text
from thusfar.codec import json_text
from thusfar.errors import OptionsError, ProcessError
from thusfar.process import Entry, Outcome, ProcessFailure, RunInfo, run_markdown
from thusfar.process.rendering import compact_line

_LINE = 76  # columns of an entry behind its number


def runs(
    *,
    where: StoreOptions | None = None,
    process: Annotated[
        str | None, Parameter(help="Only the runs of the process of this id")
    ] = None,
    limit: Annotated[Whole, Parameter(help="At most so many, the newest")] = None,
    as_json: AsJson = False,
) -> int:
    """List the runs of a store, newest change first.

    A run that nobody holds and that did not end is interrupted: thusfar process resume goes on
    with it. Times are UTC.

    With --json: {"runs": [{"run_id", "process_id", "status", "task_id", "steps", "calls",
    "entries", "input_tokens", "output_tokens", "failure", "reason", "forked_from", "forked_at",
    "created_at", "updated_at"}]}; times are milliseconds since 1970.

    Exit status: 0 listed, also where there are none; 1 the store cannot be read; 2 a wrong
    command line.
    """
    if limit is not None and limit < 1:
        raise OptionsError(
            "--limit got a number below 1.", fix="Pass a whole number from 1.", limit=limit
        )
    with opened_runs(where, "read") as kept:
        found = kept.list(process_id=process, limit=limit)
    if as_json:
        print_json({"runs": [msgspec.to_builtins(info) for info in found]})
    else:
        _print(found)
    return 0


def _print(found: tuple[RunInfo, ...]) -> None:
    from rich.table import Table

    out = console()
    if not found:
        out.print("There are no runs.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("run", "process"):
        table.add_column(name, overflow="fold")
    table.add_column("status", no_wrap=True)
    for name in ("steps", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("next", overflow="fold")
    table.add_column("changed", no_wrap=True)
    for info in found:
        cells = (shown(info.run_id), shown(info.process_id), info.status, f"{info.steps:,}")
        tokens = f"{info.input_tokens + info.output_tokens:,}"
        table.add_row(*cells, tokens, shown(info.task_id), time_text(info.updated_at))
    print_table(table, out)


def show(
    run_id: RunWord,
    /,
    *,
    where: StoreOptions | None = None,
    last: Annotated[Whole, Parameter(help="Only so many of the newest entries")] = None,
    state: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print the state too")
    ] = False,
    entry: Annotated[
        Whole, Parameter(help="The state as it was behind the step of this entry; 0: at the start")
    ] = None,
    markdown: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Print the run as a Markdown document"),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Print how RUN stands, its entries a line each, and the state where it is asked for.

    With --json: the fields of thusfar process runs, "entries" in full, and "state", which is null
    where it was not asked for.

    Exit status: 0 printed; 1 refused, such as RUN_NOT_FOUND; 2 a wrong command line.
    """
    if last is not None and last < 0:
        raise OptionsError("--last got a number below 0.", fix="Pass a whole number from 0.")
    with opened_runs(where, "read") as kept:
        info = kept.info(run_id)
        first = 1 if last is None else max(1, info.entries - last + 1)
        entries = kept.entries(run_id, first=first)
        values = kept.state(run_id, entry=entry) if state or entry is not None else None
    if as_json:
        listed = [entry_json(each) for each in entries]
        print_json({**msgspec.to_builtins(info), "entries": listed, "state": values})
    elif markdown:
        text = run_markdown(entries, outcome_of(info), title=info.run_id, state=values)
        console().print(text, end="", markup=False, soft_wrap=True)
    else:
        _print_run(info, entries, values)
    return 0


def outcome_of(info: RunInfo) -> Outcome | None:
    """Tell how a stored run ended, without its output; `None` while it has not."""
    if info.status == "running" or info.status == "interrupted":
        return None
    failure = None
    if info.failure is not None:
        told = {**info.failure, "errors": tuple(info.failure["errors"])}
        cause = ProcessError(told["message"], fix=told["fix"])
        failure = ProcessFailure(**told, cause=cause)
    return Outcome(
        status=info.status,
        failure=failure,
        reason=info.reason,
        steps=info.steps,
        calls=info.calls,
        tokens=info.input_tokens + info.output_tokens,
    )


def entry_json(entry: Entry) -> dict[str, Any]:
    """Write an entry as JSON values, with its step and the entries of a sub-process."""
    made = {**entry.to_json(), "step": entry.step}
    if entry.nested:
        made["nested"] = [entry_json(each) for each in entry.nested]
    return made


def _print_run(info: RunInfo, entries: tuple[Entry, ...], state: dict[str, Any] | None) -> None:
    out = console()
    out.print(shown(info.run_id), style="bold", soft_wrap=True)
    origin = f"{shown(info.forked_from)}, entry {info.forked_at}" if info.forked_from else ""
    failure = info.failure or {}
    rows = [
        ("process", shown(info.process_id)),
        ("status", info.status),
        ("failed with", shown(f"{failure['code']}: {failure['message']}") if failure else ""),
        *(("complaint", shown(each)) for each in failure.get("errors", ())),
        ("fix", shown(failure.get("fix", ""))),
        ("reason", shown(info.reason)),
        ("next", shown(info.task_id)),
        ("so far", f"{counted(info.steps, 'step')}, {counted(info.calls, 'model call')}"),
        ("tokens", f"{info.input_tokens:,} in, {info.output_tokens:,} out" if info.calls else ""),
        ("forked from", origin),
        ("began", time_text(info.created_at)),
        ("changed", time_text(info.updated_at)),
    ]
    for name, value in rows:
        if value:
            out.print(f"  {name:<11} {value}", soft_wrap=True)
    if entries:
        out.print()
    for entry in entries:
        line = shown(compact_line(entry, most=_LINE))
        out.print(f"{entry.seq:>4}  {line}", soft_wrap=True)
    if state is not None:
        out.print()
        out.print("State")
        for name, value in state.items():
            print_indented(shown(f"{name}: {json_text(value)}"), out, hanging=2)


def delete(
    run_id: RunWord,
    /,
    *,
    where: StoreOptions | None = None,
    force: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Also while a process runs it"),
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Delete RUN for good: its steps, entries and answers, and those of its sub-processes.

    With --json: {"run_id", "state"}: complete, or pending while something keeps its last bytes in
    the store's files.

    Exit status: 0 deleted; 1 refused, or not confirmed; 2 a wrong command line.
    """
    with opened_runs(where, "change") as kept:
        kept.info(run_id)
        if not yes and not confirmed(f"Delete the run {shown(run_id)} for good?"):
            return 1
        state = kept.delete(run_id, force=force, thorough=True)
    if as_json:
        print_json({"run_id": run_id, "state": state})
        return 0
    console().print(f"Deleted: {shown(run_id)}.", soft_wrap=True)
    if state == "pending":
        print_indented("Bytes of it are still in the store's files.", console())
    return 0
