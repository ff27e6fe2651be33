"""`thusfar thread remove`, `redact` and `delete`: what leaves a thread."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import msgspec
from cyclopts import Parameter

from thusfar.cli.options import AsJson
from thusfar.cli.output import console, counted, print_indented, print_json, shown
from thusfar.cli.store import StoreOptions
from thusfar.cli.thread.options import MessageWord, Owner, ThreadName, Yes, opened_thread
from thusfar.cli.thread.places import message_id
from thusfar.cli.thread.told import id_list
from thusfar.errors import OptionsError
from thusfar.thread import Erasure

REFUSED: Final = 1


def remove(
    thread: ThreadName,
    message: MessageWord,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    as_json: AsJson = False,
) -> int:
    """Take the whole group of MESSAGE out of the transcripts of THREAD, and keep it stored.

    It keeps its place, is never sent again, and is still in an export. thusfar thread redact
    erases.

    With --json: {"thread_id", "removed"}: the ids that this command hid.

    Exit status: 0 removed, also where it was before; 1 refused; 2 a wrong command line.
    """
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        hidden = told.remove(message_id(told, message))
    if as_json:
        print_json({"thread_id": thread, "removed": list(hidden)})
    else:
        size = counted(len(hidden), "message")
        console().print(f"Removed: {size}{_named(hidden)}.", soft_wrap=True)
    return 0


def redact(
    thread: ThreadName,
    messages: Annotated[
        tuple[str, ...], Parameter(help="Messages: ids, beginnings of ids, or @N", negative=())
    ],
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Erase the content of MESSAGES of THREAD for good; their places and ids stay.

    Either all are erased or none. Whatever was derived from them goes too, and what else belongs
    to their exchanges leaves the transcript. thusfar thread verify --erased clears the last
    bytes from the store's files where this command says pending.

    With --json: {"thread_id", "message_ids", "unavailable", "artifacts", "state"}.

    Exit status: 0 erased, also where they were before; 1 refused, or not confirmed; 2 a wrong
    command line.
    """
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        ids = tuple(dict.fromkeys(message_id(told, each) for each in messages))
        if not yes and not confirmed(f"Erase {id_list(ids)} of {shown(thread)} for good?"):
            return REFUSED
        erasure = told.redact(*ids)
    _print(thread, "Redacted", erasure, as_json=as_json)
    return 0


def delete(
    thread: ThreadName,
    /,
    *,
    where: StoreOptions | None = None,
    owner: Owner = "main",
    branch: Annotated[
        str | None, Parameter(help="Delete only the branch that this message begins")
    ] = None,
    force: Annotated[
        bool,
        Parameter(
            negative=(), show_default=False, help="Also where other owners have positions on it"
        ),
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Delete THREAD for good, or one branch of it with all that follows.

    The id of a deleted thread can never be used again. A branch that an owner stands on is not
    deleted: select another one first.

    With --json: {"thread_id", "message_ids", "unavailable", "artifacts", "state"}.

    Exit status: 0 deleted, also where it was before; 1 refused, or not confirmed; 2 a wrong
    command line.
    """
    if branch is not None and force:
        raise OptionsError(
            "--force is for whole threads and stood beside --branch.",
            fix="Select another branch for the owners that stand on this one.",
        )
    with opened_thread(where, thread, owner, "change") as handle:
        told = handle.sync
        first = None if branch is None else message_id(told, branch)
        what = f"the branch from {shown(first)} of " if first else ""
        if not yes and not confirmed(f"Delete {what}{shown(thread)} for good?"):
            return REFUSED
        erasure = told.delete(branch=first, force=force)
    _print(thread, "Deleted" if branch is None else "Deleted the branch", erasure, as_json=as_json)
    return 0


def confirmed(question: str) -> bool:
    """Ask on the terminal.

    Raises:
        OptionsError: `INVALID_OPTIONS`, where there is no terminal to ask on.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OptionsError(
            "What erases for good was not confirmed.", fix="Pass --yes to erase without a question."
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    sys.stderr.write("Nothing was erased.\n")
    return False


def _named(ids: tuple[str, ...]) -> str:
    return f" ({id_list(ids)})" if ids else ""


def _print(thread: str, verb: str, erasure: Erasure, *, as_json: bool) -> None:
    if as_json:
        print_json({"thread_id": thread, **msgspec.to_builtins(erasure)})
        return
    out = console()
    ids = erasure.message_ids
    size = f": {counted(len(ids), 'message')}{_named(ids)}" if ids else ""
    out.print(f"{verb}{size or f': {shown(thread)}'}.", soft_wrap=True)
    if erasure.unavailable:
        left = counted(len(erasure.unavailable), "message")
        print_indented(f"{left} of the same exchanges left the transcript.", out)
    if erasure.artifacts:
        derived = counted(erasure.artifacts, "derived text")
        print_indented(f"{derived} went with them.", out)
    if erasure.state == "pending":
        print_indented(
            "Bytes of it are still in the store's files: run thusfar thread verify --erased.",
            out,
        )
