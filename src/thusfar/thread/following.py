"""Following: the append of one plain message behind the head, which nearly all appends are.

It gives the rows that `advance`, `rows_of` and `head_on` give, in one step. Pure.

Source:
    docs/spec/threads.md#append
"""

from __future__ import annotations

from typing import Final

from thusfar.facts import Facts
from thusfar.storage.questions import AppendGroup
from thusfar.storage.rows import (
    BOUNDARY,
    GUESSED,
    LEADS,
    POSITION_MASK,
    SPENT,
    HeadRow,
    NodeRow,
    node_at,
)
from thusfar.thread.ids import made_id
from thusfar.thread.preparing import Prepared, with_id
from thusfar.thread.tracking import extended, facts_of_stored, turn_after

LAST_POSITION: Final = POSITION_MASK - 1_000_000  # room for the longest group


def behind(
    head: HeadRow, facts: Facts, message_id: str | None, digest: bytes, at: int
) -> HeadRow | None:
    """Say where an owner stands after one plain message.

    Args:
        head: Where the owner stands.
        facts: Of the message.
        message_id: Its id; `None` lets one be made.
        digest: Its digest, 32 bytes.
        at: When it is appended. Unit: milliseconds since 1970, UTC.

    Returns:
        The owner's next head; `None` for messages and heads about which more has to be known.
    """
    last, flags = head.node, head.flags
    if head.pending or flags & (LEADS | SPENT) or not head.tip:
        return None
    if facts.calls or facts.results or facts.leads:
        return None
    if not last or last & POSITION_MASK >= LAST_POSITION:
        return None
    depth, salt = head.depth + 1, head.salt
    turn, run, flags = turn_after(head.turn, head.run, flags, depth, facts)
    return HeadRow(
        head.thread_id,
        head.owner,
        head.revision + 1,
        last + 1,
        made_id(last + 1) if message_id is None else message_id,
        depth,
        turn,
        depth,
        run,
        flags | BOUNDARY,
        "",
        extended(head.chain, digest, salt),
        head.messages + 1,
        salt,
        at,
        GUESSED,
        head.base,
    )


def follow(head: HeadRow, one: Prepared, at: int) -> AppendGroup | None:
    """Say what one message behind a head changes; arguments and `None` as of `behind`."""
    moved = behind(head, facts_of_stored(one.message), one.message.id, one.digest, at)
    if moved is None:
        return None
    body = one.body if one.given else with_id(one.body, moved.head_id)
    return AppendGroup(moved, head, (NodeRow(*node_at(moved, one.key, one.digest, body)),))
