"""`thusfar thread verify`: recompute what is stored, and clear what erasures left."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from cyclopts import Parameter

from thusfar.cli.options import AsJson
from thusfar.cli.output import console, counted, print_indented, print_json, shown
from thusfar.cli.store import StoreOptions, opened
from thusfar.storage import Store
from thusfar.thread import Thread, Verification, threads_sync

SOUND: Final = 0
DAMAGED: Final = 1
_MOST_PROBLEMS: Final = 20


def verify(
    thread: Annotated[str | None, Parameter(help="Id of the thread. By default all")] = None,
    /,
    *,
    where: StoreOptions | None = None,
    erased: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Also clear what erasures left in the store's files, and say whether it is gone",
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Recompute everything that is stored of THREAD, or of all threads, and compare.

    Nothing is repaired. With --erased the bytes of erased messages are cleared from the store's
    own files as well; while another program reads an older state that is pending.

    With --json: {"threads": [{"thread_id", "messages", "branches", "problems", "erasure"}]}.

    Exit status: 0 all is well; 1 a problem was found, an erasure is pending, or the store cannot
    be read; 2 a wrong command line.
    """
    with opened(where, "change" if erased else "read") as store:
        names = [info.thread_id for info in threads_sync(store)] if thread is None else [thread]
        found = [_check(store, name, erased=erased) for name in names]
    if as_json:
        print_json({"threads": [msgspec.to_builtins(each) for each in found]})
    else:
        _print(found)
    sound = all(each.ok and each.erasure != "pending" for each in found)
    return SOUND if sound else DAMAGED


def _check(store: Store, name: str, *, erased: bool) -> Verification:
    return Thread(name, store=store).sync.verify(erased=erased)


def _print(found: list[Verification]) -> None:
    out = console()
    if not found:
        out.print("There are no threads.")
    for each in found:
        size = f"{counted(each.messages, 'message')}, {each.branches} branches"
        if each.branches == 1:
            size = size.replace("branches", "branch")
        state = "sound" if each.ok else counted(len(each.problems), "problem")
        gone = f", erasure {each.erasure}" if each.erasure else ""
        out.print(f"{shown(each.thread_id)}: {size}: {state}{gone}", soft_wrap=True)
        for problem in each.problems[:_MOST_PROBLEMS]:
            facts = ", ".join(f"{key} {value}" for key, value in problem.facts.items())
            print_indented(f"{problem.code}: {problem.message} ({facts})", out)
        if len(each.problems) > _MOST_PROBLEMS:
            print_indented(f"… {len(each.problems) - _MOST_PROBLEMS} more, see --json", out)
