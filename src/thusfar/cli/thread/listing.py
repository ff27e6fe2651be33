"""`thusfar thread list` and `describe`: the threads of a store, and what they are called."""

from __future__ import annotations

from typing import Annotated

import msgspec
from cyclopts import Parameter

from thusfar.cli.options import AsJson, Whole
from thusfar.cli.output import console, print_json, print_table, shown
from thusfar.cli.store import StoreOptions, opened
from thusfar.cli.thread.options import ThreadName, opened_thread
from thusfar.cli.thread.told import time_text
from thusfar.codec import parse_json
from thusfar.errors import OptionsError, TranscriptError
from thusfar.thread import ThreadInfo, threads_sync


def list_threads(
    *,
    where: StoreOptions | None = None,
    limit: Annotated[Whole, Parameter(help="At most so many, the newest")] = None,
    as_json: AsJson = False,
) -> int:
    """List the threads of a store, newest change first.

    Times are UTC. Messages are those of the selected path of the owner main.

    With --json: {"threads": [{"thread_id", "title", "metadata", "created_at", "updated_at",
    "messages"}]}; times are milliseconds since 1970.

    Exit status: 0 listed, also where there are none; 1 the store cannot be read; 2 a wrong
    command line.
    """
    if limit is not None and limit < 1:
        raise OptionsError(
            "--limit got a number below 1.", fix="Pass a whole number from 1.", limit=limit
        )
    with opened(where, "read") as store:
        found = threads_sync(store, limit=limit)
    if as_json:
        print_json({"threads": [msgspec.to_builtins(info) for info in found]})
    else:
        _print(found)
    return 0


def _print(found: tuple[ThreadInfo, ...]) -> None:
    from rich.table import Table

    out = console()
    if not found:
        out.print("There are no threads.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("thread", overflow="fold")
    table.add_column("messages", justify="right", no_wrap=True)
    table.add_column("changed", no_wrap=True)
    table.add_column("title", overflow="fold")
    for info in found:
        table.add_row(
            shown(info.thread_id),
            f"{info.messages:,}",
            time_text(info.updated_at),
            shown(info.title),
        )
    print_table(table, out)


def describe(
    thread: ThreadName,
    /,
    *,
    where: StoreOptions | None = None,
    title: Annotated[str | None, Parameter(help="Set the title, at most 1,000 characters")] = None,
    metadata: Annotated[
        str | None, Parameter(help="Set the metadata: the text of a JSON object")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Print title, times, metadata, owners and branches of THREAD, or set the first two.

    With --json: {"thread_id", "title", "metadata", "created_at", "updated_at", "messages",
    "owners", "branches"}, a branch being {"leaf", "start", "parent_id", "length", "selected_by"}.

    Exit status: 0 printed; 1 refused, such as THREAD_NOT_FOUND; 2 a wrong command line.
    """
    free = None if metadata is None else _object(metadata)
    changes = title is not None or free is not None
    with opened_thread(where, thread, "main", "change" if changes else "read") as handle:
        told = handle.sync
        info = told.info()
        if changes:
            info = told.describe(title=title, metadata=free)
        owners = told.owners()
        branches = told.branches()
    if as_json:
        listed = [msgspec.to_builtins(branch) for branch in branches]
        print_json({**msgspec.to_builtins(info), "owners": owners, "branches": listed})
        return 0
    out = console()
    out.print(shown(info.thread_id), style="bold", soft_wrap=True)
    rows = [
        ("title", shown(info.title)),
        ("messages", f"{info.messages:,} on the selected path"),
        ("branches", f"{len(branches):,}"),
        ("created", time_text(info.created_at)),
        ("changed", time_text(info.updated_at)),
        *((f"{shown(name)} on", shown(head or "nothing")) for name, head in owners.items()),
        *((shown(key), shown(str(value))) for key, value in info.metadata.items()),
    ]
    for name, value in rows:
        if value:
            out.print(f"  {name:<9} {value}", soft_wrap=True)
    return 0


def _object(text: str) -> dict[str, object]:
    try:
        value = parse_json(text, where="--metadata")
    except TranscriptError as error:
        raise OptionsError(error.args[0], fix="Pass the text of a JSON object.") from None
    if not isinstance(value, dict):
        raise OptionsError(
            "--metadata got JSON that is no object.", fix="Pass the text of a JSON object."
        )
    return value
