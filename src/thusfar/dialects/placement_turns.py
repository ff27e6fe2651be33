"""Turns on wires made of blocks: who speaks first, where results stand, what is joined.

The steps here are the same for every wire whose results are blocks of a user message; what
differs is in a `BlockWire`. An entry that no step changes is sent as the object that was given.

Source:
    docs/spec/placement.md#turns
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import is_
from typing import Any, Literal, Protocol

from thusfar.dialects.base import plain
from thusfar.dialects.placement_text import without_surrogates
from thusfar.dialects.placement_values import CONTINUES, EMPTY, Notes, fenced_system

Block = Mapping[str, Any]
Kind = Literal["text", "call", "result", "thought", "mark", "other"]
Joining = Literal["all", "answers", "results"]
Key = tuple[str | None, str | None]
"""A call or a result: its id, its tool's name; either may be absent."""


class BlockWire(Protocol):
    """How one wire writes messages made of blocks."""

    @property
    def joining(self) -> Joining:
        """Which messages of one role in a row are joined.

        `all` of them; the user's `answers`: all of a turn that has results; or only those that
        hold the `results`.
        """
        ...

    def read(self, body: Block) -> tuple[str, list[Block]]:
        """Give the role (`user`, `assistant` or `system`) and the blocks of a message."""
        ...

    def write(self, body: Block, role: str, blocks: list[Block]) -> dict[str, Any]:
        """Write a message with these blocks, keeping what else the body holds."""
        ...

    def kind(self, block: Block) -> Kind:
        """Tell what a block is; a call or result of the provider's own tools is `other`."""
        ...

    def text(self, block: Block) -> str:
        """Read a text block."""
        ...

    def said(self, text: str) -> Block:
        """Write a text block."""
        ...

    def key(self, block: Block) -> Key:
        """Read what a call or a result pairs by."""
        ...

    def with_key(self, block: Block, key: Key) -> Block:
        """Copy a call or a result with another id or name."""
        ...


@dataclass(slots=True)
class Entry:
    """One message while it is placed.

    Attributes:
        role: `user`, `assistant` or `system`.
        blocks: Its blocks.
        source: The object that was given; `None` for a message that was made.
        body: The object as a mapping, to be written anew from.
        at: Where it stood in the list that was given.
        changed: Whether it has to be written anew.
        joins: Whether it is text for the model that goes into what the user says beside it.
    """

    role: str
    blocks: list[Block]
    source: Any = None
    body: Block = field(default_factory=dict)
    at: tuple[int, ...] = ()
    changed: bool = False
    joins: bool = False


def read_entries(wire: BlockWire, messages: Sequence[Any], notes: Notes) -> list[Entry]:
    """Read messages; lone surrogates in them are replaced."""
    entries: list[Entry] = []
    for position, message in enumerate(messages):
        body = plain(message) or {}
        role, blocks = wire.read(body)
        clean = blocks
        if without_surrogates(blocks) is not blocks:
            clean = [without_surrogates(block) for block in blocks]
        changed = clean is not blocks
        if changed:
            notes.note("surrogates", (position,))
        entries.append(Entry(role, clean, message, body, (position,), changed))
    return entries


def opened_blocks(body: Block, key: str) -> list[Block]:
    """List the blocks in a field, objects of an SDK as mappings."""
    held = body.get(key)
    blocks = held if isinstance(held, list | tuple) else ()
    opened = [block if type(block) is dict else plain(block) for block in blocks]
    return [block for block in opened if block is not None]


def written(wire: BlockWire, entries: Iterable[Entry]) -> list[Any]:
    """Write entries; those that no step changed are the objects that were given."""
    return [
        wire.write(entry.body, entry.role, entry.blocks) if entry.changed else entry.source
        for entry in entries
    ]


def without_system_run(entries: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Split off the leading run of system messages."""
    count = next((at for at, entry in enumerate(entries) if entry.role != "system"), len(entries))
    return entries[:count], entries[count:]


def join_summary(entries: list[Entry], spoken: int, notes: Notes) -> list[Entry]:
    """Make the summary, the first of the entries, a text that the user's turn begins with."""
    if not spoken:
        return entries
    said = entries[:spoken]
    at = tuple(place for entry in said for place in entry.at)
    notes.note("summary-joined", at)
    blocks = [block for entry in said for block in entry.blocks]
    return [Entry("user", blocks, at=at, changed=True, joins=True), *entries[spoken:]]


def fence_system(
    wire: BlockWire, entries: list[Entry], notes: Notes, *, inline: Callable[[int], bool]
) -> list[Entry]:
    """Fence the system messages within the conversation.

    Args:
        wire: How blocks are read and written.
        entries: The entries behind the leading system run.
        notes: Where it is noted.
        inline: Whether the entry at an index may stay as it is.
    """
    made: list[Entry] = []
    for index, entry in enumerate(entries):
        if entry.role != "system" or inline(index):
            made.append(entry)
            continue
        text = "".join(wire.text(block) for block in entry.blocks if wire.kind(block) == "text")
        rest = [block for block in entry.blocks if wire.kind(block) not in ("text", "mark")]
        notes.note("system-fenced", entry.at)
        notes.wrote(fenced_system(""))
        blocks = [wire.said(fenced_system(text)), *rest]
        made.append(Entry("user", blocks, at=entry.at, changed=True, joins=True))
    return made


def fill_or_leave_out(
    wire: BlockWire,
    entries: list[Entry],
    notes: Notes,
    *,
    cleaned: Callable[[Entry], list[Block]],
    may_be_empty: Callable[[int], bool],
) -> list[Entry]:
    """Take out empty blocks; fill a user message that has nothing else, leave out any other.

    Args:
        wire: How blocks are read and written.
        entries: The entries behind the leading system run.
        notes: Where it is noted.
        cleaned: Gives the blocks of an entry that may be sent, the same objects where nothing is
            wrong with them.
        may_be_empty: Whether the entry at an index may stay without content.
    """
    made: list[Entry] = []
    for index, entry in enumerate(entries):
        kept = cleaned(entry)
        shown = any(wire.kind(block) != "mark" for block in kept)
        if shown and _same(kept, entry.blocks):
            made.append(entry)
        elif shown:
            notes.note("empty-left-out", entry.at)
            made.append(changed_entry(entry, kept))
        elif not entry.blocks and may_be_empty(index):
            made.append(entry)
        elif entry.role == "user":
            notes.note("empty-filled", entry.at)
            made.append(changed_entry(entry, [wire.said(notes.wrote(EMPTY))]))
        else:
            notes.note("empty-left-out", entry.at)
    return made


def _same(one: Sequence[Any], two: Sequence[Any]) -> bool:
    return one is two or (len(one) == len(two) and all(map(is_, one, two)))


def changed_entry(entry: Entry, blocks: list[Block]) -> Entry:
    """Give an entry with other blocks."""
    return Entry(
        entry.role, blocks, entry.source, entry.body, entry.at, changed=True, joins=entry.joins
    )


def runs_of(entries: list[Entry]) -> list[list[Entry]]:
    """Split entries into runs of one role."""
    return [list(run) for _, run in groupby(entries, key=lambda entry: entry.role)]


Spot = tuple[int, int]
"""A block: index of its entry, index within it."""


def paired(wire: BlockWire, entries: Sequence[Entry]) -> dict[Spot, Spot]:
    """Find the call that each result answers.

    A result answers the latest open call of its id before it; without an id, the latest entry with
    an open call of its name, in order. An id that is called again closes the older call.
    """
    found: dict[Spot, Spot] = {}
    by_id: dict[str, Spot] = {}
    by_name: dict[str | None, dict[int, list[Spot]]] = {}
    for index, entry in enumerate(entries):
        for place, block in enumerate(entry.blocks):
            kind = wire.kind(block)
            if kind not in ("call", "result"):
                continue
            call_id, name = wire.key(block)
            if kind == "call" and call_id is not None:
                by_id[call_id] = (index, place)
            elif kind == "call":
                by_name.setdefault(name, {}).setdefault(index, []).append((index, place))
            elif call_id is not None:
                if (call := by_id.pop(call_id, None)) is not None:
                    found[index, place] = call
            elif waiting := by_name.get(name):
                newest = max(waiting)
                found[index, place] = waiting[newest].pop(0)
                if not waiting[newest]:
                    del waiting[newest]
    return found


def gather_results(wire: BlockWire, entries: list[Entry], notes: Notes) -> list[Entry]:
    """Move each result that stands later into the user's turn directly behind its call."""
    run_of = [number for number, run in enumerate(runs_of(entries)) for _ in run]
    late: dict[int, list[Spot]] = {}
    for spot, (caller, _) in paired(wire, entries).items():
        if run_of[spot[0]] != run_of[caller] + 1:
            late.setdefault(run_of[caller], []).append(spot)
    if not late:
        return entries
    gone = {spot for spots in late.values() for spot in spots}
    made: list[Entry] = []
    for index, entry in enumerate(entries):
        kept = [block for place, block in enumerate(entry.blocks) if (index, place) not in gone]
        if kept or not entry.blocks:
            made.append(entry if len(kept) == len(entry.blocks) else changed_entry(entry, kept))
        last_of_run = index + 1 == len(entries) or run_of[index + 1] != run_of[index]
        if last_of_run and (spots := late.get(run_of[index])):
            at = tuple(dict.fromkeys(p for place, _ in spots for p in entries[place].at))
            notes.note("results-moved", at)
            blocks = [entries[place].blocks[inner] for place, inner in spots]
            made.append(Entry("user", blocks, at=at, changed=True))
    return made


def join_turns(wire: BlockWire, entries: list[Entry], notes: Notes) -> list[Entry]:
    """Join messages of one role in a row, where the provider wants one, with results first."""
    made: list[Entry] = []
    for run in runs_of(entries):
        role = run[0].role
        answers = role == "user" and any(is_result(wire, b) for e in run for b in e.blocks)
        if role == "system" or (role == "assistant" and wire.joining != "all"):
            made += run
        elif wire.joining == "all" or (answers and wire.joining == "answers"):
            made.append(_joined(wire, run, notes))
        elif answers:
            made += _gathered(wire, run, notes)
        else:
            made += _with_joins(wire, run, notes)
    return made


def _gathered(wire: BlockWire, run: list[Entry], notes: Notes) -> list[Entry]:
    """Put all results of a turn into its first message."""
    answering = [e for e in run if any(is_result(wire, block) for block in e.blocks)]
    rest = [entry for entry in run if not any(entry is each for each in answering)]
    if not _same([*answering, *rest], run):
        notes.note("results-moved", (place for entry in answering for place in entry.at))
    return _with_joins(wire, [_joined(wire, answering, notes), *rest], notes)


def is_result(wire: BlockWire, block: Block) -> bool:
    """Tell whether a block is the result of a call."""
    return wire.kind(block) == "result"


def _joined(wire: BlockWire, run: list[Entry], notes: Notes) -> Entry:
    blocks = [block for entry in run for block in entry.blocks]
    ordered = _results_first(wire, blocks) if run[0].role == "user" else blocks
    at = tuple(place for entry in run for place in entry.at)
    moved = not _same(ordered, blocks)
    if moved:
        notes.note("results-moved", at)
    if len(run) == 1:
        return changed_entry(run[0], ordered) if moved else run[0]
    notes.note("merged", at)
    body = next((entry.body for entry in run if not entry.joins), run[0].body)
    return Entry(run[0].role, ordered, None, body, at, changed=True)


def _results_first(wire: BlockWire, blocks: list[Block]) -> list[Block]:
    return sorted(blocks, key=lambda block: not is_result(wire, block))


def _with_joins(wire: BlockWire, run: list[Entry], notes: Notes) -> list[Entry]:
    """Put what joins at the head of the next message of the user, else at the end of the last."""
    made: list[Entry] = []
    waiting: list[Entry] = []
    for entry in run:
        if entry.joins:
            waiting.append(entry)
            continue
        made.append(_joined(wire, [*waiting, entry], notes) if waiting else entry)
        waiting = []
    if waiting:
        before = [made.pop()] if made else []
        made.append(_joined(wire, [*before, *waiting], notes))
    return made


def begin_with_user(
    wire: BlockWire, entries: list[Entry], notes: Notes, *, may_begin: Callable[[Entry], bool]
) -> list[Entry]:
    """Let the user speak first, in a few fixed words, where the model would, or nobody does."""
    if entries and (entries[0].role == "user" or may_begin(entries[0])):
        return entries
    notes.note("user-first", entries[0].at[:1] if entries else ())
    said = wire.said(notes.wrote(CONTINUES))
    return [Entry("user", [said], at=(), changed=True), *entries]
