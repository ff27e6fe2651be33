"""Replaying: an append that is stored already is answered again, one that resembles it refused.

Source:
    docs/spec/threads.md#append
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thusfar.drive import Steps
from thusfar.errors import IdentityConflictError, MessageRedactedError
from thusfar.storage import questions as q
from thusfar.storage.rows import ALTERNATIVE, EDITED, REDACTED, NodeRow
from thusfar.thread.paths import Context, decode, id_at, id_of, look_up, parent_of
from thusfar.thread.preparing import Prepared, same_content
from thusfar.thread.values import ThreadCommit


class Head:
    """Stands for the owner's head at the moment of the append, where a place is expected."""

    def __repr__(self) -> str:
        return "HEAD"


HEAD: Final = Head()
After = str | None | Head


def receipt(
    ctx: Context, nodes: Sequence[NodeRow], parent: str, at: int, *, beside: str | None = None
) -> ThreadCommit:
    """Make the receipt of a group; `beside` is the head it did not become, empty for none."""
    last = nodes[-1].message_id or ""
    ids = (last,) if len(nodes) == 1 else tuple([node.message_id or "" for node in nodes])
    return ThreadCommit(
        thread_id=ctx.thread_id,
        status="selected" if beside is None else "alternative",
        message_ids=ids,
        parent_id=parent or None,
        selected_head=last if beside is None else beside or None,
        committed_at=at,
    )


def stored(ctx: Context, group: Sequence[Prepared]) -> Steps[dict[str, NodeRow]]:
    """Find which messages of a group are stored already, by id."""
    return (yield from look_up(ctx, [one.message.id for one in group if one.message.id]))


def refuse_spent(group: Sequence[Prepared]) -> Steps[None]:
    """Refuse ids whose messages were deleted with a branch."""
    spent = yield q.FindSpent(tuple(one.key for one in group if one.key is not None))
    if spent:
        raise MessageRedactedError(
            "An id belonged to a message that was deleted with its branch.",
            fix="Append under a new id.",
        )


def replay(
    ctx: Context, group: Sequence[Prepared], found: dict[str, NodeRow], after: After
) -> Steps[ThreadCommit]:
    """Answer an append whose messages are stored already, if they are stored exactly so.

    Raises:
        MessageRedactedError: `MESSAGE_REDACTED`, for an erased message.
        IdentityConflictError: `IDENTITY_CONFLICT`, for another content, group or position.
    """
    rows = [found.get(one.message.id or "") for one in group]
    for row in rows:
        if row is not None and row.state == REDACTED:
            raise MessageRedactedError(
                "An id belonged to a message that was redacted.", fix="Append under a new id."
            )
    same = all(
        row is not None
        and row.at == i
        and row.size == len(group)
        and not row.flags & EDITED
        and same_content(decode(row), one.message)
        for i, (row, one) in enumerate(zip(rows, group, strict=True))
    )
    first, last = rows[0], rows[-1]
    if not same or first is None or last is None or last.node - first.node != len(group) - 1:
        raise _conflict(ctx)
    parent = yield from parent_of(first)
    parent_id = yield from id_at(parent)
    if not isinstance(after, Head) and after != parent_id:
        raise _conflict(ctx)
    return (yield from commit_of(ctx, first, last, parent_id))


def commit_of(
    ctx: Context, first: NodeRow, last: NodeRow, parent_id: str | None
) -> Steps[ThreadCommit]:
    """Make again the receipt that the append of a stored group returned."""
    rows: list[NodeRow] = yield q.ReadNodes(first.node, last.node)
    ids = tuple(id_of(row) for row in rows)
    alternative = bool(first.flags & ALTERNATIVE)
    selected = (yield from id_at(first.head_then)) if alternative else ids[-1]
    return ThreadCommit(
        thread_id=ctx.thread_id,
        status="alternative" if alternative else "selected",
        message_ids=ids,
        parent_id=parent_id,
        selected_head=selected,
        committed_at=first.created_at,
        replayed=True,
    )


def _conflict(ctx: Context) -> IdentityConflictError:
    return IdentityConflictError(
        "A message id is stored with other content, in another group or at another position.",
        fix="Repeat the append exactly, or use new ids.",
        thread_id=ctx.thread_id,
    )
