"""Ids of calls as a provider takes them: characters, length, and each but once.

A call and its results are renamed together. A new id depends on the old one and on the calls
before it alone, so that a conversation that goes on keeps its ids.

Source:
    docs/spec/placement.md#ids
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from thusfar.dialects.placement_turns import BlockWire, Entry, Spot, paired
from thusfar.dialects.placement_values import Notes

UNNAMED: Final = "unnamed"
"""What a called function without a name is called."""

_DIGEST: Final = 8  # hexadecimal digits of the part of a shortened id that tells it from others


class IdRule(NamedTuple):
    """What ids of calls must look like.

    Attributes:
        allowed: Characters, as inside the brackets of a regular expression.
        most: Most characters. Unit: characters.
        unique: Within what no id may occur twice.
        exact: Whether an id has exactly that many characters.
    """

    allowed: str
    most: int
    unique: Literal["request", "message", ""] = ""
    exact: bool = False


def fitted(call_id: str, rule: IdRule) -> str:
    """Give the id itself where the rule takes it, else one that it takes."""
    least = rule.most if rule.exact else 1
    if re.fullmatch(f"[{rule.allowed}]{{{least},{rule.most}}}", call_id):
        return call_id
    digest = hashlib.blake2b(call_id.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    if rule.exact:
        return digest[: rule.most]
    made = re.sub(f"[^{rule.allowed}]", "_", call_id) or f"call_{digest[:_DIGEST]}"
    if len(made) <= rule.most:
        return made
    return f"{made[: rule.most - _DIGEST - 1]}_{digest[:_DIGEST]}"


def unused(call_id: str, rule: IdRule, used: set[str]) -> str:
    """Number an id that was used before, and remember the one that is given."""
    made, number = call_id, 1
    while made in used:
        number += 1
        made = f"{call_id[: rule.most - len(str(number)) - 1]}_{number}"
    used.add(made)
    return made


def rename_ids(wire: BlockWire, entries: list[Entry], notes: Notes, rule: IdRule) -> None:
    """Rename the ids of calls and results that break a rule, in place."""
    answers = paired(wire, entries)
    given: dict[Spot, str] = {}
    used: set[str] = set()
    for index, entry in enumerate(entries):
        used = set() if rule.unique == "message" else used
        for place, block in enumerate(entry.blocks):
            kind = wire.kind(block)
            call_id, name = wire.key(block) if kind in ("call", "result") else (None, None)
            if call_id is None:
                continue
            made = given.get(answers.get((index, place), (-1, -1))) or fitted(call_id, rule)
            if kind == "call":
                made = unused(made, rule, used) if rule.unique else made
                given[index, place] = made
            if made != call_id:
                notes.note("ids-renamed", entry.at)
                replace_block(entry, place, wire.with_key(block, (made, name)))


def rename_tools(wire: BlockWire, entries: list[Entry], notes: Notes, rule: IdRule) -> None:
    """Respell the tool names of calls that break a rule, in place."""
    for entry in entries:
        for place, block in enumerate(entry.blocks):
            if wire.kind(block) != "call":
                continue
            call_id, name = wire.key(block)
            if (made := fitted(name, rule) if name else UNNAMED) != name:
                notes.note("names-renamed", entry.at)
                replace_block(entry, place, wire.with_key(block, (call_id, made)))


def replace_block(entry: Entry, place: int, block: object) -> None:
    """Put another block into an entry; the list of blocks that was given stays as it is."""
    entry.blocks = [*entry.blocks[:place], block, *entry.blocks[place + 1 :]]  # type: ignore[list-item]
    entry.changed = True


def tool_names(wire: BlockWire, entries: Sequence[Entry]) -> list[str]:
    """List the names of the tools that are called, in order, each once."""
    keys = [wire.key(b) for e in entries for b in e.blocks if wire.kind(b) == "call"]
    return list(dict.fromkeys(name for _, name in keys if name))
