"""The drawing of a thread: every branch in the terminal, the selected path marked.

What goes on along the selected path stays in one column; each sibling hangs off it to the right,
in the order in which the siblings were stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from thusfar.cli.output import console, preview, print_json, shown
from thusfar.cli.thread.lines import LEAST_PREVIEW, entry_texts, id_width, role_of
from thusfar.cli.thread.places import entries_of
from thusfar.thread import Entry, SyncThread, ThreadInfo

_LONGEST_STRETCH: Final = 8  # messages without a fork; of longer stretches the middle is counted
_STRETCH_ENDS: Final = 3
_DEEPEST: Final = 24  # columns of the drawing; what hangs deeper is drawn at the margin


class Glyphs(NamedTuple):
    """The signs of a drawing.

    Attributes:
        selected: Marks a message of the selected path.
        other: Marks any other message.
        fork: Joins a sibling to the line.
        line: Goes on below a fork.
        gap: Stands for messages that are counted, not drawn.
        stands: Points from the names of owners to the message they stand on.
    """

    selected: str
    other: str
    fork: str
    line: str
    gap: str
    stands: str


UNICODE: Final = Glyphs("●", "○", "├─", "│ ", "┊", "←")
ASCII: Final = Glyphs("*", "o", "|-", "| ", ":", "<-")


class Tree(NamedTuple):
    """A whole thread.

    Attributes:
        entries: Every place, by id, in the order stored.
        children: Ids behind a place, in the order stored; `None` is the root.
        selected: Ids of the selected path.
        owners: Names of those who stand on a message, by its id.
    """

    entries: dict[str, Entry]
    children: dict[str | None, list[str]]
    selected: frozenset[str]
    owners: dict[str, list[str]]


def print_tree(told: SyncThread, info: ThreadInfo, *, full: bool, as_json: bool) -> None:
    """Print a thread with all of its branches, as a drawing or as JSON.

    Args:
        told: The thread; the selected path is that of its owner.
        info: What is known of it.
        full: Whether long stretches are drawn whole.
        as_json: Whether JSON is printed.
    """
    from thusfar.cli.thread.showing import heading

    tree = read_tree(told)
    branches = told.branches()
    if as_json:
        print_json(_plain(told, tree, branches))
        return
    out = console()
    out.print(heading(info, len(branches)), style="bold", soft_wrap=True)
    glyphs = UNICODE if (out.encoding or "").lower().startswith("utf") else ASCII
    for line in tree_lines(tree, glyphs, out.width, full=full):
        out.print(line, soft_wrap=True)


def read_tree(told: SyncThread) -> Tree:
    """Read every branch of a thread."""
    entries: dict[str, Entry] = {}
    children: dict[str | None, list[str]] = {}
    for run in entries_of(told):
        for entry in run:
            entries[entry.id] = entry
            children.setdefault(entry.parent_id, []).append(entry.id)
    owners: dict[str, list[str]] = {}
    for owner, head in told.owners().items():
        if head is not None:
            owners.setdefault(head, []).append(owner)
    return Tree(entries, children, frozenset(told.read().ids), owners)


def _plain(told: SyncThread, tree: Tree, branches: Sequence[Any]) -> dict[str, Any]:
    rows = [
        {**msgspec.to_builtins(entry), "selected": entry.id in tree.selected}
        for entry in tree.entries.values()
    ]
    page = told.read(limit=1)
    return {
        "thread_id": page.thread_id,
        "head": page.head,
        "owners": told.owners(),
        "branches": [msgspec.to_builtins(branch) for branch in branches],
        "entries": rows,
    }


def tree_lines(tree: Tree, glyphs: Glyphs, width: int, *, full: bool = False) -> Iterator[str]:
    """Draw a thread, a message a line.

    Args:
        tree: The thread.
        glyphs: The signs to draw with.
        width: Columns.
        full: Whether stretches without a fork are drawn whole, however long.
    """
    ids = id_width(tuple(tree.entries.values()))
    waiting = _behind(tree, None, glyphs, "")
    while waiting:
        start, lead, prefix = waiting.pop()
        stretch = _stretch(tree, start)
        cut = not full and len(stretch) > _LONGEST_STRETCH
        for number, each in enumerate(stretch):
            if cut and number == _STRETCH_ENDS:
                yield f"{prefix}{glyphs.gap} {len(stretch) - 2 * _STRETCH_ENDS:,} more"
            if not cut or not _STRETCH_ENDS <= number < len(stretch) - _STRETCH_ENDS:
                yield _line(tree, each, lead if number == 0 else prefix, glyphs, ids, width)
        waiting += _behind(tree, stretch[-1], glyphs, prefix)


def _behind(
    tree: Tree, parent: str | None, glyphs: Glyphs, prefix: str
) -> list[tuple[str, str, str]]:
    """List what follows a place as it is to be drawn, the last first: start, lead and prefix."""
    following = tree.children.get(parent, [])
    if not following:
        return []
    main = next((each for each in following if each in tree.selected), following[0])
    inner = prefix + glyphs.line
    hanging = [(each, prefix + glyphs.fork, inner) for each in following if each != main]
    return [(main, prefix, prefix), *reversed(hanging)]


def _stretch(tree: Tree, start: str) -> list[str]:
    """List the messages from one to the next fork or end."""
    stretch = [start]
    while len(behind := tree.children.get(stretch[-1], [])) == 1:
        stretch.append(behind[0])
    return stretch


def _line(tree: Tree, message_id: str, lead: str, glyphs: Glyphs, ids: int, width: int) -> str:
    entry = tree.entries[message_id]
    mark = glyphs.selected if message_id in tree.selected else glyphs.other
    drawn = lead if len(lead) <= _DEEPEST else f"…{lead[-_DEEPEST + 1 :]}"
    role = role_of(entry) or "-"
    head = f"{drawn}{mark} {role:<9}  {shown(entry.id)[:ids]:<{ids}}  "
    owners = ", ".join(map(shown, tree.owners.get(message_id, ())))
    tail = f"  {glyphs.stands} {owners}" if owners else ""
    room = max(width - len(head) - len(tail), LEAST_PREVIEW)
    return f"{head}{preview(entry_texts(entry), most=room)}{tail}".rstrip()
