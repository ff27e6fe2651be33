"""A shortcut for what nearly all appends are: one plain message, behind the head, in sync code.

It decides nothing: `behind` says where the head goes, as in `append_steps`. Where it says nothing,
and where the store does not remember the head or finds another one, the append goes its usual way.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Protocol

from thusfar.digests import plain_form
from thusfar.messages import Message
from thusfar.storage.base import Store
from thusfar.storage.heads import Heads, Key
from thusfar.storage.rows import HeadRow
from thusfar.thread.following import behind
from thusfar.thread.paths import Context
from thusfar.thread.tracking import PLAIN
from thusfar.thread.values import ThreadCommit


class Following(Protocol):
    """What a store has besides that appends without an operation to drive.

    Attributes:
        heads: The heads as this process wrote them last, for `Lock` that lets it guess.
    """

    heads: Heads

    def append_following(self, key: Key, head: HeadRow, digest: bytes, body: bytes) -> bool:
        """Store one plain message, if the head that was remembered is still the owner's.

        Args:
            key: Namespace, thread id and owner.
            head: Where the message puts the head.
            digest: Of the message.
            body: The message as stored JSON, with its id, in UTF-8.
        """
        ...


def append_at_once(store: Store, ctx: Context, message: Message) -> ThreadCommit | None:
    """Append one message without a generator, or do nothing and return `None`.

    Args:
        store: Where.
        ctx: The thread.
        message: The message.
    """
    append, facts = getattr(store, "append_following", None), PLAIN.get(message.role)
    if append is None or facts is None:
        return None
    following: Any = store  # a `Following`; checking for the protocol takes longer than the rest
    key = (store.namespace, ctx.thread_id, ctx.owner)
    head: HeadRow | None = following.heads.rows.get(key)
    form = plain_form(message)  # an id of the caller's may be stored already
    if head is None or form is None:
        return None
    body, covered = form
    digest = sha256(covered).digest()
    moved = behind(head, facts, None, digest, store.clock())
    if moved is None:
        return None
    made = moved.head_id
    if not append(key, moved, digest, b'%b,"id":"%b"}' % (body[:-1], made.encode())):
        return None
    return ThreadCommit(
        thread_id=ctx.thread_id,
        status="selected",
        message_ids=(made,),
        parent_id=head.head_id,
        selected_head=made,
        committed_at=moved.updated_at,
    )
