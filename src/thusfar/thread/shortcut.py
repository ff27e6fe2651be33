"""A shortcut for what nearly all appends are: one plain message, behind the head, in sync code.

It decides nothing: `follow` says what is written, as in `append_steps`. Where it says nothing, and
where the store does not remember the head or finds another one, the append goes its usual way.
"""

from __future__ import annotations

from typing import Any, Protocol

from thusfar.storage.base import Store
from thusfar.storage.questions import AppendGroup
from thusfar.storage.rows import HeadRow
from thusfar.thread.following import follow
from thusfar.thread.paths import Context
from thusfar.thread.preparing import Prepared
from thusfar.thread.replaying import receipt
from thusfar.thread.values import ThreadCommit


class Following(Protocol):
    """What a store has besides that appends without an operation to drive."""

    def recall(self, thread_id: str, owner: str) -> HeadRow | None:
        """Return the head as this process wrote it last, as `Lock` does that lets it guess."""
        ...

    def append_following(self, ask: AppendGroup) -> bool:
        """Answer the append of one message behind a head that was recalled."""
        ...


def append_at_once(store: Store, ctx: Context, one: Prepared) -> ThreadCommit | None:
    """Append one message without a generator, or do nothing and return `None`.

    Args:
        store: Where.
        ctx: The thread.
        one: The message.
    """
    if one.key is not None or not hasattr(store, "append_following"):
        return None  # an id of the caller's may be stored already
    following: Any = store  # a `Following`; checking for the protocol takes longer than the rest
    head = following.recall(ctx.thread_id, ctx.owner)
    if head is None:
        return None
    at = store.clock()
    ask = follow(head, one, at)
    if ask is None or not following.append_following(ask):
        return None
    return receipt(ctx, ask.nodes, head.head_id, at)
