"""`thusfar thread show`: print a path of a thread, or draw all of its branches."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from thusfar.cli.options import AsJson, Whole
from thusfar.cli.output import console, counted, print_json, shown
from thusfar.cli.store import StoreOptions
from thusfar.cli.thread.lines import path_lines, print_whole, role_of, variant_of
from thusfar.cli.thread.options import Owner, ThreadName, opened_thread
from thusfar.cli.thread.places import message_id
from thusfar.cli.thread.told import time_text
from thusfar.errors import OptionsError
from thusfar.thread import SyncThread, ThreadInfo, ThreadSnapshot


def show(
    thread: ThreadName,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    tree: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Draw every branch")
    ] = False,
    full: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Print messages whole; with --tree: no stretch is shortened",
        ),
    ] = False,
    at: Annotated[str | None, Parameter(help="Show the path to this message instead")] = None,
    before: Annotated[
        str | None, Parameter(help="Show only what is before this message; it begins a group")
    ] = None,
    limit: Annotated[
        Whole, Parameter(help="At most so many of the newest messages, in whole groups")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Print the selected path of THREAD, oldest message first, a line each.

    A bracket joins messages that are one group: what is appended, selected and paged together.
    2/3 marks the second of three siblings; thusfar thread variants lists them. What was redacted
    or removed keeps its place. With --tree every branch is drawn, the selected path with filled
    dots, and who stands where.

    With --json: {"thread_id", "revision", "head", "entries", "cursor", "omitted"}, an entry
    being {"kind", "id", "parent_id", "message", "created_at", "group", "open", "available",
    "variant"}. With --tree: {"thread_id", "head", "owners", "branches", "entries"}, each entry
    with "selected" beside.

    Exit status: 0 printed; 1 there is no such thread or message; 2 a wrong command line.
    """
    if tree and (at or before or limit):
        raise OptionsError(
            "--tree draws all of a thread and got a part of it.",
            fix="Leave out --at, --before and --limit, or --tree.",
        )
    with opened_thread(where, thread, owner, "read") as handle:
        told = handle.sync
        info = told.info()
        if tree:
            from thusfar.cli.thread.tree import print_tree

            print_tree(told, info, full=full, as_json=as_json)
            return 0
        page = told.read(
            at=None if at is None else message_id(told, at),
            before=None if before is None else message_id(told, before),
            limit=limit,
        )
        if as_json:
            print_json(_plain(page))
            return 0
        _print(told, info, page, owner=owner, full=full)
        waiting = told.transcript(newest=1).open_calls
        if waiting and at is None and before is None:
            console().print(f"\n{counted(waiting, 'call')} still open.")
    return 0


def _plain(page: ThreadSnapshot) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(page)
    return made


def _print(
    told: SyncThread, info: ThreadInfo, page: ThreadSnapshot, *, owner: str, full: bool
) -> None:
    out = console()
    out.print(heading(info, len(told.branches())), style="bold", soft_wrap=True)
    if not page.entries:
        out.print(f"{shown(owner)} stands before the first message.")
        return
    if page.omitted:
        out.print(f"{counted(page.omitted, 'message')} before these.")
    out.print()
    if not full:
        for line in path_lines(page.entries, page.omitted, out.width):
            out.print(line, soft_wrap=True)
        return
    for position, entry in enumerate(page.entries, page.omitted):
        facts = [role_of(entry) or f"[{entry.kind}]", shown(entry.id), variant_of(entry)]
        facts.append(time_text(entry.created_at) if entry.created_at else "")
        said = "  ".join(filter(None, facts))
        out.print(f"@{position} {said}", style="bold", soft_wrap=True)
        if entry.message is not None:
            print_whole(entry.message, out)


def heading(info: ThreadInfo, branches: int) -> str:
    """Write the line above a thread: id, title, messages, branches."""
    title = f" · {shown(info.title)}" if info.title else ""
    size = counted(info.messages, "message")
    if branches <= 1:
        return f"{shown(info.thread_id)}{title} · {size}"
    return f"{shown(info.thread_id)}{title} · {size} selected, {branches} branches"
