"""`thusfar thread variants`, `select`, `rewind`, `fork` and `release`: where owners stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from cyclopts import Parameter

from thusfar.cli.options import AsJson
from thusfar.cli.output import console, counted, print_json, shown
from thusfar.cli.store import StoreOptions
from thusfar.cli.thread.lines import path_lines
from thusfar.cli.thread.options import MessageWord, Owner, ThreadName, opened_thread
from thusfar.cli.thread.places import message_id
from thusfar.cli.thread.told import print_position
from thusfar.errors import OptionsError
from thusfar.thread import Entry, SyncThread


def variants(
    thread: ThreadName,
    message: Annotated[
        str | None, Parameter(help="A message: its id, the beginning of it, or @N")
    ] = None,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    as_json: AsJson = False,
) -> int:
    """List the siblings of MESSAGE in THREAD: what else stands at its place.

    Without MESSAGE, list every message of the selected path that has siblings.

    With --json: {"thread_id", "head", "entries"}, each entry as thusfar thread show --json.

    Exit status: 0 listed; 1 there is no such thread or message; 2 a wrong command line.
    """
    with opened_thread(where, thread, owner, "read") as handle:
        told = handle.sync
        told.info()
        path = told.read()
        if message is None:
            places = [(i, entry) for i, entry in enumerate(path.entries) if entry.variant]
        else:
            found = list(siblings(told, message_id(told, message)))
            depth = told.read(at=found[0].id, limit=1)
            at = depth.omitted + len(depth.entries) - 1
            places = [(at, entry) for entry in found]
    if as_json:
        entries = [msgspec.to_builtins(entry) for _, entry in places]
        print_json({"thread_id": path.thread_id, "head": path.head, "entries": entries})
        return 0
    out = console()
    if not places:
        out.print("No message of the selected path has siblings.")
    selected = set(path.ids)
    for at, entry in places:
        (line,) = path_lines((entry,), at, out.width - 2)
        out.print(f"{'*' if entry.id in selected else ' '} {line}", soft_wrap=True)
    return 0


def siblings(told: SyncThread, found: str) -> Iterator[Entry]:
    """List a message with its siblings, in the order in which they were stored."""
    entry = told.read(at=found, limit=1).entries[-1]
    while entry.variant is not None and entry.variant.previous is not None:
        entry = told.read(at=entry.variant.previous, limit=1).entries[-1]
    yield entry
    while entry.variant is not None and entry.variant.next is not None:
        entry = told.read(at=entry.variant.next, limit=1).entries[-1]
        yield entry


def select(
    thread: ThreadName,
    message: MessageWord,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    as_json: AsJson = False,
) -> int:
    """Select the branch that MESSAGE of THREAD begins, where it was left last.

    MESSAGE is the first of its group; thusfar thread variants and show --tree tell which there
    are. A message of the selected path changes nothing. Nothing is deleted.

    With --json: {"thread_id", "owner", "revision", "head", "messages"}.

    Exit status: 0 selected; 1 refused; 2 a wrong command line.
    """
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        page = told.select(message_id(told, message))
    print_position(page, owner, as_json=as_json)
    return 0


def rewind(
    thread: ThreadName,
    message: Annotated[
        str | None, Parameter(help="The last message of a group: its id, beginning, or @N")
    ] = None,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    root: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Before the first message")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Move back to MESSAGE of THREAD, or with --root before the first.

    What follows it stays as a branch, and the next append begins another one.

    With --json: {"thread_id", "owner", "revision", "head", "messages"}.

    Exit status: 0 moved; 1 refused; 2 a wrong command line.
    """
    if (message is None) != root:
        raise OptionsError(
            "A place to rewind to was expected once: as MESSAGE or as --root.",
            fix="Pass one of them.",
        )
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        page = told.rewind(None if message is None else message_id(told, message))
    print_position(page, owner, as_json=as_json)
    return 0


def fork(
    thread: ThreadName,
    new: Annotated[str, Parameter(help="Name of the owner who gets a position")],
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    at: Annotated[
        str | None, Parameter(help="Where it begins; by default where --owner stands")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Give the owner NEW a position of its own on THREAD.

    What NEW appends, edits and selects does not move any other owner.

    With --json: {"thread_id", "owner", "revision", "head", "messages"}.

    Exit status: 0 made; 1 refused, such as for an owner that has one; 2 a wrong command line.
    """
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        made = told.fork(new, at=None if at is None else message_id(told, at))
        page = made.sync.read()
    print_position(page, new, as_json=as_json)
    return 0


def release(
    thread: ThreadName,
    owner: Annotated[str, Parameter(help="Name of the owner")],
    /,
    *,
    where: StoreOptions | None = None,
    as_json: AsJson = False,
) -> int:
    """Give up the position of OWNER on THREAD; its messages stay.

    With --json: {"thread_id", "owners"}: who stands where afterwards.

    Exit status: 0 done, also where OWNER had none; 1 refused, such as for main; 2 a wrong
    command line.
    """
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        told.release()
        owners = told.owners()
    if as_json:
        print_json({"thread_id": thread, "owners": owners})
    else:
        left = counted(len(owners), "owner")
        console().print(f"{shown(owner)} has no position any more: {left} left.", soft_wrap=True)
    return 0
