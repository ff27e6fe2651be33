"""A shortcut for what nearly all appends are: one plain message, behind the head, in sync code.

It decides nothing: `behind` says where the head goes, as in `append_steps`. Where it says nothing,
and where the store does not remember the head or finds another one, the append goes its usual way.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Protocol

from thusfar.digests import stored_form
from thusfar.messages import Message
from thusfar.storage.base import Store
from thusfar.storage.rows import HeadRow
from thusfar.thread.following import behind, row_at
from thusfar.thread.paths import Context
from thusfar.thread.preparing import with_id
from thusfar.thread.tracking import facts_of_stored
from thusfar.thread.values import ThreadCommit


class Following(Protocol):
    """What a store has besides that appends without an operation to drive."""

    def recall(self, thread_id: str, owner: str) -> HeadRow | None:
        """Return the head as this process wrote it last, as `Lock` does that lets it guess."""
        ...

    def append_following(self, head: HeadRow, row: tuple[Any, ...]) -> bool:
        """Store one message, if the head that was recalled is still the owner's.

        Args:
            head: Where the owner stands then, made of the recalled one.
            row: The message: the fields of a `NodeRow`.
        """
        ...


def append_at_once(store: Store, ctx: Context, message: Message) -> ThreadCommit | None:
    """Append one message without a generator, or do nothing and return `None`.

    Args:
        store: Where.
        ctx: The thread.
        message: The message.
    """
    if message.id is not None or message.metadata or not hasattr(store, "append_following"):
        return None  # an id of the caller's may be stored already, metadata may not be JSON
    following: Any = store  # a `Following`; checking for the protocol takes longer than the rest
    head: HeadRow | None = following.recall(ctx.thread_id, ctx.owner)
    if head is None:
        return None
    body, covered = stored_form(message)
    digest = sha256(covered).digest()
    moved = behind(head, facts_of_stored(message), None, digest, store.clock())
    if moved is None:
        return None
    made = moved.head_id
    if not following.append_following(moved, row_at(moved, None, digest, with_id(body, made))):
        return None
    return ThreadCommit(
        thread_id=ctx.thread_id,
        status="selected",
        message_ids=(made,),
        parent_id=head.head_id,
        selected_head=made,
        committed_at=moved.updated_at,
    )
