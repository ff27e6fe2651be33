"""Thoughts: which reasoning of a view is sent again, on wires made of blocks.

Source:
    docs/spec/placement.md#turns
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thusfar.dialects.placement_turns import Block, BlockWire, Entry, changed_entry, is_result
from thusfar.dialects.placement_values import Notes, is_made


def strip_thoughts(
    wire: BlockWire, entries: list[Entry], notes: Notes, *, keep: Callable[[int, Block], bool]
) -> list[Entry]:
    """Leave out reasoning, and messages that hold nothing else.

    Args:
        wire: How blocks are read and written.
        entries: The entries behind the leading system run.
        notes: Where it is noted.
        keep: Whether a thought of the entry at an index stays.

    Returns:
        The list that was given, where nothing is left out.
    """
    made: list[Entry] = []
    changed = False
    for index, entry in enumerate(entries):
        if entry.role != "assistant":
            made.append(entry)
            continue
        kept = [b for b in entry.blocks if wire.kind(b) != "thought" or keep(index, b)]
        if len(kept) == len(entry.blocks):
            made.append(entry)
            continue
        changed = True
        notes.note("reasoning-left-out", entry.at)
        if any(wire.kind(block) != "mark" for block in kept):
            made.append(changed_entry(entry, kept))
    return made if changed else entries


def loop_start(wire: BlockWire, entries: Sequence[Entry]) -> int:
    """Find where the running tool loop starts: behind the last user input.

    Returns:
        An index; the number of entries where no results wait for the model's next step.
    """
    last = entries[-1] if entries else None
    if last is None or last.role != "user" or not any(is_result(wire, b) for b in last.blocks):
        return len(entries)
    for index in range(len(entries) - 1, -1, -1):
        if entries[index].role == "user" and _is_input(wire, entries[index]):
            return index + 1
    return 0


def _is_input(wire: BlockWire, entry: Entry) -> bool:
    """Whether the user speaks here: no results, and not only words that placement wrote."""
    return not any(is_result(wire, block) for block in entry.blocks) and not all(
        wire.kind(block) == "text" and is_made(wire.text(block)) for block in entry.blocks
    )
