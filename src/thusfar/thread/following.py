"""Following: the append of one plain message behind the head, which nearly all appends are.

It gives the rows that `advance`, `rows_of` and `head_on` give, in one step. Pure.

Source:
    docs/spec/threads.md#append
"""

from __future__ import annotations

from typing import Final

from thusfar.storage.questions import AppendGroup
from thusfar.storage.rows import (
    BOUNDARY,
    GUESSED,
    LEADS,
    LIVE,
    POSITION_MASK,
    SPENT,
    HeadRow,
    NodeRow,
)
from thusfar.thread.preparing import Prepared
from thusfar.thread.tracking import extended, facts_of_stored, turn_after

LAST_POSITION: Final = POSITION_MASK - 1_000_000  # room for the longest group


def follow(head: HeadRow, one: Prepared, at: int) -> AppendGroup | None:
    """Say what one message behind a head changes.

    Args:
        head: The owner's head.
        one: The message.
        at: When it is appended. Unit: milliseconds since 1970, UTC.

    Returns:
        The write; `None` for messages and heads about which more has to be known.
    """
    if head.pending or head.flags & (LEADS | SPENT) or not head.tip:
        return None
    facts = facts_of_stored(one.message)
    if facts.calls or facts.results or facts.leads:
        return None
    if not head.node or head.node & POSITION_MASK >= LAST_POSITION:
        return None
    node, depth = head.node + 1, head.depth + 1
    turn, run, flags = turn_after(head.turn, head.run, head.flags, depth, facts)
    flags |= BOUNDARY
    chain, live = extended(head.chain, one.digest, head.salt), head.messages + 1
    message_id, body = one.at(node)
    moved = HeadRow(
        head.thread_id,
        head.owner,
        head.revision + 1,
        node,
        message_id,
        depth,
        turn,
        depth,
        run,
        flags,
        "",
        chain,
        live,
        head.salt,
        at,
        GUESSED,
        head.base,
    )
    row = NodeRow(
        node,
        one.key,
        message_id,
        LIVE,
        0,
        1,
        at,
        depth,
        turn,
        depth,
        run,
        flags,
        "",
        0,
        one.digest,
        chain,
        live,
        body,
    )
    return AppendGroup(moved, head, (row,))
