"""Verifying: everything stored of a thread is recomputed and compared; nothing is repaired."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from thusfar.digests import chain_digest, message_digest
from thusfar.drive import Steps
from thusfar.errors import CorruptRecordError, Diagnostic
from thusfar.messages import Message
from thusfar.storage import questions as q
from thusfar.storage.rows import (
    LIVE,
    REDACTED,
    ArtifactRow,
    BranchRow,
    ChainRow,
    HeadRow,
    LeafRow,
    NodeRow,
    first_of,
    last_of,
)
from thusfar.thread.ids import node_in
from thusfar.thread.paths import Context, decode, id_of, live_thread
from thusfar.thread.tracking import (
    ROOT,
    Place,
    chain_text,
    digest_bytes,
    is_place,
    is_placed,
    place_of_head,
    place_of_node,
)
from thusfar.thread.values import Verification

_PAGE: Final = 1_000  # rows read at once, so that a long thread is checked in bounded memory
_PLACE_BITS: Final = 0x7F


def verify_steps(ctx: Context, *, erased: bool) -> Steps[Verification]:
    """Check everything stored of a thread; see `Thread.verify`."""
    yield q.Snapshot()
    thread = yield from live_thread(ctx)
    branches: list[BranchRow] = yield q.ReadBranches(ctx.thread_id)
    check = _Check(ctx, thread.salt)
    heads: list[HeadRow] = yield q.ReadHeads(ctx.thread_id)
    leaves: list[LeafRow] = yield q.ReadLeaves(ctx.thread_id)
    check.wanted = {b.parent for b in branches} | {h.node for h in heads}
    artifacts: list[ArtifactRow] = yield q.ReadArtifacts(ctx.thread_id)
    check.named = {artifact.node: artifact.node for artifact in artifacts}
    check.wanted |= {leaf.leaf for leaf in leaves} | {leaf.start for leaf in leaves}
    for branch in branches:
        yield from _check_branch(check, branch)
    for head in heads:
        check.head(head)
    yield from _check_named(check)
    for leaf in leaves:
        if leaf.leaf not in check.places or leaf.start not in check.places:
            check.report("A remembered continuation pointed at nothing.", leaf.start)
    return Verification(
        thread_id=ctx.thread_id,
        messages=check.messages,
        branches=len(branches),
        problems=tuple(check.problems),
        erasure=(yield from _erasure()) if erased else None,
    )


def _erasure() -> Steps[Any]:
    complete = yield q.Checkpoint(thorough=True)
    return "complete" if complete else "pending"


def _check_named(check: _Check) -> Steps[None]:
    """Check that what receipts and artifacts name is stored."""
    for named, by in check.named.items():
        rows: list[ChainRow] = yield q.ReadChains(named, named)
        if not rows:
            check.report("A receipt or an artifact named a message that is not stored.", by)


def _check_branch(check: _Check, branch: BranchRow) -> Steps[None]:
    low, high = first_of(branch.branch), last_of(branch.branch)
    check.begin(branch)
    while True:
        end = min(low + _PAGE - 1, high)
        nodes: list[NodeRow] = yield q.ReadNodes(low, end)
        for node in nodes:
            check.node(node)
        if len(nodes) < _PAGE:
            check.end(branch)
            return
        low = end + 1


class _Check:
    """What has been seen, and what was wrong with it."""

    def __init__(self, ctx: Context, salt: str) -> None:
        self.ctx, self.salt = ctx, salt
        self.problems: list[Diagnostic] = []
        self.places: dict[int, tuple[Place, str]] = {0: (ROOT, "")}
        self.wanted: set[int] = set()
        self.messages = 0
        self._next = 0
        self._depth = 0
        self._chain = ""
        self._live = 0
        self._group: NodeRow | None = None
        self._place = ROOT  # of the message before
        self.named: dict[int, int] = {}  # messages that others name, with who does

    def report(self, message: str, node: int) -> None:
        """Note a problem."""
        self.problems.append(
            Diagnostic(code="CORRUPT_RECORD", message=message, facts={"node": node})
        )

    def begin(self, branch: BranchRow) -> None:
        """Stand at the parent of a branch."""
        parent = self.places.get(branch.parent)
        if parent is None:
            self.report("A branch followed a message that is not stored.", first_of(branch.branch))
            parent = (ROOT, "")
        elif parent[0].depth + 1 != branch.depth:
            self.report("A branch began at another depth than it said.", first_of(branch.branch))
        self._next, self._depth = first_of(branch.branch), branch.depth
        self._chain, self._live = chain_text(parent[0].chain), parent[0].messages
        self._group = None
        self._place = parent[0]

    def node(self, row: NodeRow) -> None:
        """Check the next message of a branch."""
        self.messages += 1
        if row.node != self._next or row.depth != self._depth:
            self.report("A message stood at another place than it said.", row.node)
        self._next, self._depth = row.node + 1, row.depth + 1
        self._check_group(row)
        self._check_body(row)
        self._place = place_of_node(row)
        if row.head_then:
            self.named.setdefault(row.head_then, row.node)
        if row.state == LIVE:
            self._chain = chain_digest(self._chain, f"tf1:{row.digest.hex()}", salt=self.salt)
            self._live += 1
        if row.chain != digest_bytes(self._chain) or row.messages != self._live:
            self.report("A chained digest did not follow from the one before.", row.node)
            self._chain, self._live = chain_text(row.chain), row.messages
        if row.node in self.wanted:
            self.places[row.node] = place_of_node(row), self._id(row)

    def end(self, branch: BranchRow) -> None:
        """Check that the branch did not end inside a group."""
        if self._group is not None and self._group.at != self._group.size - 1:
            self.report("A group was stored in part.", first_of(branch.branch))

    def head(self, head: HeadRow) -> None:
        """Check that a head says what its message says."""
        known = self.places.get(head.node)
        if known is None:
            self.report("A head pointed at a message that is not stored.", head.node)
            return
        place, message_id = known
        there = place_of_head(head)
        bits = place.flags & _PLACE_BITS
        if msgspec.structs.replace(there, flags=there.flags & _PLACE_BITS) != (
            msgspec.structs.replace(place, flags=bits)
        ):
            self.report("A head disagreed with the message it points at.", head.node)
        if head.head_id != message_id or head.salt != self.salt:
            self.report("A head had another message id or salt than its thread.", head.node)

    def _check_group(self, row: NodeRow) -> None:
        before = self._group
        follows = row.at == 0 if before is None or before.at == before.size - 1 else False
        inside = before is not None and row.at == before.at + 1 and row.size == before.size
        if not follows and not inside:
            self.report("A group was stored in part.", row.node)
        self._group = row

    def _check_body(self, row: NodeRow) -> None:
        if row.state == REDACTED:
            if row.body is not None or row.digest or row.pending:
                self.report("A redacted message kept some of its content.", row.node)
            if row.message_id is None or not self._is_named(row, row.message_id):
                self.report("A message id did not have the key that was stored with it.", row.node)
            return
        try:
            message = decode(row)
        except CorruptRecordError:
            self.report("A message could not be decoded.", row.node)
            return
        if digest_bytes(message_digest(message)) != row.digest:
            self.report("A message did not have the digest that was stored with it.", row.node)
        if not self._is_placed(row, message):
            self.report("A message said of its turn or its open calls what cannot be.", row.node)
        if message.id is None or not self._is_named(row, message.id):
            self.report("A message id did not have the key that was stored with it.", row.node)

    def _is_placed(self, row: NodeRow, message: Message) -> bool:
        if not is_place(row.depth, row.turn, row.exchange, row.run, row.pending):
            return False
        try:
            return is_placed(self._place, row, message)
        except CorruptRecordError:
            return True  # told of the message before

    def _is_named(self, row: NodeRow, message_id: str) -> bool:
        """Tell whether all that is stored of an id says the same."""
        key = self.ctx.key(message_id) if row.key is not None else None
        found = row.node if row.key is not None else node_in(message_id)
        return (row.key, row.node) == (key, found) and row.message_id in (None, message_id)

    def _id(self, row: NodeRow) -> str:
        try:
            return id_of(row)
        except CorruptRecordError:
            return ""
