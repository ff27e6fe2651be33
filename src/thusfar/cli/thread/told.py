"""What a command did, in a line for people and as one JSON object for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from thusfar.cli.output import console, counted, print_json, shown
from thusfar.thread import ThreadCommit, ThreadSnapshot

_MOST_IDS: Final = 4


def time_text(milliseconds: int) -> str:
    """Show a time to the minute, in UTC. Unit of the argument: milliseconds since 1970."""
    return f"{datetime.fromtimestamp(milliseconds / 1_000, UTC):%Y-%m-%d %H:%M}"


def print_commit(commit: ThreadCommit, *, as_json: bool) -> None:
    """Print the receipt of an append, an edit or another answer."""
    if as_json:
        print_json(msgspec.to_builtins(commit))
        return
    out = console()
    size = counted(len(commit.message_ids), "message")
    stored = "Stored before" if commit.replayed else "Stored"
    place = "at the root" if commit.parent_id is None else f"behind {shown(commit.parent_id)}"
    beside = "" if commit.status == "selected" else ", beside the selected path"
    out.print(f"{stored}: {size} {place}{beside}.", soft_wrap=True)
    for each in commit.message_ids:
        out.print(f"  {shown(each)}", soft_wrap=True)


def print_position(page: ThreadSnapshot, owner: str, *, as_json: bool) -> None:
    """Print where an owner stands now."""
    length = page.omitted + len(page.entries)
    if as_json:
        print_json(
            {
                "thread_id": page.thread_id,
                "owner": owner,
                "revision": page.revision,
                "head": page.head,
                "messages": length,
            }
        )
        return
    stands = "before the first message" if page.head is None else f"on {shown(page.head)}"
    console().print(
        f"{shown(owner)} stands {stands}: {counted(length, 'message')}.", soft_wrap=True
    )


def id_list(ids: tuple[str, ...]) -> str:
    """Name some ids, of many only the first."""
    named = ", ".join(map(shown, ids[:_MOST_IDS]))
    more = len(ids) - _MOST_IDS
    return f"{named} and {more} more" if more > 0 else named
