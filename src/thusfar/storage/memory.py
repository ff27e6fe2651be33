"""The memory store: the executable specification that the databases are compared with.

It keeps rows in dicts, one set for each namespace, and runs one operation at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import msgspec

from thusfar.drive import drive
from thusfar.storage import questions as q
from thusfar.storage.base import DEFAULT_NAMESPACE, Clock, Steps, check_id, closed, now
from thusfar.storage.forks import hold_during_forks
from thusfar.storage.fulltext_memory import WORD_ANSWERS, WORD_CHANGES, Words, forget_words
from thusfar.storage.records import DropRecords, drop_held
from thusfar.storage.rows import (
    REDACTED,
    ArtifactRow,
    BranchRow,
    ChainRow,
    HeadRow,
    LeafRow,
    NodeRow,
    PageRow,
    TallyRow,
    ThreadRow,
    branch_of,
    first_of,
)
from thusfar.storage.runs_memory import RUN_ANSWERS, Runs

Result = TypeVar("Result")


class MemoryStore:
    """Threads in the memory of this process; safe for several threads.

    Args:
        namespace: The tenant.
        clock: Stamps rows; the wall clock when absent.
    """

    def __init__(self, *, namespace: str = DEFAULT_NAMESPACE, clock: Clock = now) -> None:
        self.namespace = check_id(namespace, "namespace")
        self.clock = clock
        self._lock = hold_during_forks(threading.RLock())
        self._spaces: dict[str, Space] = {}
        self._closed = False

    def within(self, namespace: str) -> MemoryStore:
        """Look at another tenant's rows in the same memory."""
        other = MemoryStore(namespace=namespace, clock=self.clock)
        other._lock, other._spaces = self._lock, self._spaces
        return other

    def run(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end; what it began and did not write is undone."""
        if self._closed:
            raise closed()
        with self._lock:
            space = self._spaces.setdefault(self.namespace, Space())
            try:
                return drive(steps, space.answer)
            finally:
                space.undo()

    async def arun(self, steps: Steps[Result]) -> Result:
        """Run an operation to its end; it never waits for anything outside the process."""
        return self.run(steps)

    def close(self) -> None:
        """Refuse further use of this view; the rows live as long as another view does."""
        self._closed = True

    async def aclose(self) -> None:
        """Close, from async code."""
        self.close()


class Space:
    """The rows of one namespace, and how each question is answered from them."""

    def __init__(self) -> None:
        self.threads: dict[str, ThreadRow] = {}
        self.heads: dict[tuple[str, str], HeadRow] = {}
        self.branches: dict[int, BranchRow] = {}
        self.runs: dict[int, list[NodeRow]] = {}
        self.keys: dict[bytes | None, int] = {}  # all made ids share `None`, which nobody asks for
        self.spent: dict[bytes, str] = {}
        self.leaves: dict[int, LeafRow] = {}
        self.artifacts: dict[str, ArtifactRow] = {}
        self.tallies: dict[tuple[str, int], int] = {}
        self.records: dict[tuple[str, str], q.PutRecord] = {}
        self.processes = Runs()
        self.words = Words()
        self.begun: list[Callable[[], object]] = []
        self.newest_branch = 0

    def undo(self) -> None:
        """Take back what an operation began and did not write."""
        while self.begun:
            self.begun.pop()()

    def answer(self, question: Any) -> Any:
        """Answer one question."""
        kind = type(question)
        own = kind in RUN_ANSWERS
        return self.processes.answer(question) if own else ANSWERS[kind](self, question)

    def node(self, number: int) -> NodeRow:
        """Look up a node by its number."""
        return self.runs[branch_of(number)][number - first_of(branch_of(number))]

    def replace(self, row: NodeRow) -> None:
        """Put a changed node in the place of the old one."""
        branch = branch_of(row.node)
        self.runs[branch][row.node - first_of(branch)] = row

    def between(self, low: int, high: int) -> list[NodeRow]:
        """List the nodes of one branch from `low` to `high`."""
        base = first_of(branch_of(high))
        run = self.runs.get(branch_of(high), [])
        return run[max(0, low - base) : max(0, high - base + 1)]


def _read_head(space: Space, ask: q.ReadHead | q.Lock) -> HeadRow | None:
    head = space.heads.get((ask.thread_id, ask.owner))
    if head is None:
        return None
    follows = bool(space.between(head.node + 1, head.node + 1)) if head.node else False
    return msgspec.structs.replace(head, tip=int(not follows))


def _read_nodes(space: Space, ask: q.ReadNodes) -> list[NodeRow]:
    rows = space.between(ask.low, ask.high)
    if ask.limit is not None:
        rows = rows[max(0, len(rows) - ask.limit) :]
    return rows[::-1] if ask.newest_first else rows


def _read_page(space: Space, ask: q.ReadPage) -> list[PageRow]:
    return [
        PageRow(r.node, r.body, r.state, r.at, r.created_at, r.depth, r.flags, r.message_id)
        for r in reversed(space.between(ask.low, ask.high))
    ]


def _read_forks(space: Space, ask: q.ReadForks) -> list[BranchRow]:
    return [
        row
        for row in space.branches.values()
        if row.thread_id == ask.thread_id and ask.low <= row.parent <= ask.high
    ]


def _list_threads(space: Space, ask: q.ListThreads) -> list[tuple[ThreadRow, int, int]]:
    found = []
    for row in space.threads.values():
        if row.deleted:
            continue
        heads = [h for (thread, _), h in space.heads.items() if thread == row.thread_id]
        main = space.heads.get((row.thread_id, "main"))
        changed = max([row.updated_at, *(h.updated_at for h in heads)])
        found.append((row, changed, main.messages if main else 0))
    found.sort(key=lambda item: (-item[1], item[0].thread_id))
    end = None if ask.limit is None else ask.offset + ask.limit
    return found[ask.offset : end]


def _new_branch(space: Space, ask: q.NewBranch) -> int:
    space.newest_branch += 1
    branch = space.newest_branch
    space.branches[branch] = BranchRow(branch, ask.thread_id, ask.parent, ask.depth)
    space.begun.append(lambda: space.branches.pop(branch))
    return branch


def _begin_thread(space: Space, ask: q.BeginThread) -> ThreadRow:
    thread_id = ask.row.thread_id
    if thread_id not in space.threads:
        space.threads[thread_id] = ask.row
        space.begun.append(lambda: space.threads.pop(thread_id))
    return space.threads[thread_id]


def _append_group(space: Space, ask: q.AppendGroup) -> bool:
    if any((row.key and row.key in space.keys) or row.key in space.spent for row in ask.nodes):
        space.undo()
        return False
    _add_nodes(space, q.AddNodes(ask.nodes))
    space.heads[ask.head.thread_id, ask.head.owner] = ask.head
    space.begun.clear()
    return True


def _write(space: Space, ask: q.Write) -> None:
    for change in ask.changes:
        forget_words(space, change)
        CHANGES[type(change)](space, change)
    space.begun.clear()


def _add_nodes(space: Space, change: q.AddNodes) -> None:
    for row in change.nodes:
        space.runs.setdefault(branch_of(row.node), []).append(row)
        space.keys[row.key] = row.node


def _put_chains(space: Space, change: q.PutChains) -> None:
    for row in change.rows:
        old, digests = space.node(row.node), msgspec.structs.asdict(row)
        space.replace(msgspec.structs.replace(old, **digests))


def _read_chains(space: Space, ask: q.ReadChains) -> list[ChainRow]:
    rows = space.between(ask.low, ask.high)
    return [ChainRow(row.node, row.digest, row.chain, row.messages) for row in rows]


def _put_head(space: Space, change: q.PutHead) -> None:
    space.heads[change.row.thread_id, change.row.owner] = change.row


def _set_state(space: Space, change: q.SetState) -> None:
    for node in change.nodes:
        space.replace(msgspec.structs.replace(space.node(node), state=change.state))


def _resize_group(space: Space, change: q.ResizeGroup) -> None:
    for row in space.between(change.low, change.high):
        space.replace(msgspec.structs.replace(row, size=change.high - change.low + 1))


def _clear_pending(space: Space, change: q.ClearPending) -> None:
    for node in change.nodes:
        space.replace(msgspec.structs.replace(space.node(node), pending=""))


def _erase_nodes(space: Space, change: q.EraseNodes) -> None:
    for node, message_id in change.nodes:
        row = space.node(node)
        space.replace(
            msgspec.structs.replace(
                row, body=None, state=REDACTED, created_at=0, pending="", message_id=message_id
            )
        )


def _drop_nodes(space: Space, change: q.DropNodes) -> None:
    dropped = space.between(change.low, change.high)
    numbers = {row.node for row in dropped}
    for row in dropped:
        space.keys.pop(row.key, None)
    run = space.runs.get(branch_of(change.high), [])
    del run[len(run) - len(dropped) :]
    for row in [row for each in space.runs.values() for row in each if row.head_then in numbers]:
        space.replace(msgspec.structs.replace(row, head_then=0))
    space.leaves = {
        start: row
        for start, row in space.leaves.items()
        if start not in numbers and row.leaf not in numbers
    }
    space.tallies = {k: v for k, v in space.tallies.items() if k[1] not in numbers}


def _drop_branch(space: Space, change: q.DropBranch) -> None:
    del space.branches[change.branch]
    space.runs.pop(change.branch, None)


def _drop_thread(space: Space, change: q.DropThread) -> None:
    thread = change.thread_id
    for branch in [b for b, row in space.branches.items() if row.thread_id == thread]:
        for row in space.runs.pop(branch, []):
            space.keys.pop(row.key, None)
            space.tallies = {k: v for k, v in space.tallies.items() if k[1] != row.node}
        del space.branches[branch]
    space.heads = {k: v for k, v in space.heads.items() if k[0] != thread}
    space.leaves = {k: v for k, v in space.leaves.items() if v.thread_id != thread}
    space.artifacts = {k: v for k, v in space.artifacts.items() if v.thread_id != thread}
    space.records = {k: v for k, v in space.records.items() if v.thread_id != thread}
    space.spent = {k: v for k, v in space.spent.items() if v != thread}


def _move_leaves(space: Space, change: q.MoveLeaves) -> None:
    for start, row in list(space.leaves.items()):
        if row.thread_id == change.thread_id and row.leaf == change.old:
            space.leaves[start] = msgspec.structs.replace(row, leaf=change.new)


def _drop_artifacts(space: Space, change: q.DropArtifacts) -> None:
    for key in change.keys:
        space.artifacts.pop(key, None)


def _drop_tallies(space: Space, change: q.DropTallies) -> None:
    space.tallies = {
        k: v for k, v in space.tallies.items() if not change.low <= k[1] <= change.high
    }


def _of_thread(rows: Iterable[Any], thread_id: str) -> list[Any]:
    return [row for row in rows if row.thread_id == thread_id]


def _read_leaf(space: Space, ask: q.ReadLeaf) -> int:
    row = space.leaves.get(ask.start)
    return row.leaf if row else 0


def _read_artifacts(space: Space, ask: q.ReadArtifacts) -> list[ArtifactRow]:
    rows = cast("list[ArtifactRow]", _of_thread(space.artifacts.values(), ask.thread_id))
    found = [row for row in rows if ask.kind is None or row.kind == ask.kind]
    return sorted(found, key=lambda row: (row.node, row.key))


def _read_tallies(space: Space, ask: q.ReadTallies) -> list[TallyRow]:
    found = [
        TallyRow(name, node, tokens)
        for (name, node), tokens in sorted(space.tallies.items())
        if name == ask.tokenizer and ask.low <= node <= ask.high
    ]
    return found if ask.limit is None else found[max(0, len(found) - ask.limit) :]


def _read_record(space: Space, ask: q.ReadRecord) -> str | None:
    record = space.records.get((ask.kind, ask.key))
    return record.body if record else None


Answer = Callable[[Space, Any], Any]

ANSWERS: dict[type, Answer] = {
    q.ReadThread: lambda s, a: s.threads.get(a.thread_id),
    q.ReadHead: _read_head,
    q.ReadHeads: lambda s, a: sorted(
        _of_thread(s.heads.values(), a.thread_id), key=lambda row: row.owner
    ),
    q.FindNodes: lambda s, a: {k: s.node(s.keys[k]) for k in a.keys if k in s.keys},
    q.FindSpent: lambda s, a: [k for k in a.keys if k in s.spent],
    q.ReadNodes: _read_nodes,
    q.ReadPage: _read_page,
    q.ReadChains: _read_chains,
    q.ReadBranch: lambda s, a: s.branches.get(a.branch),
    q.ReadBranches: lambda s, a: _of_thread(s.branches.values(), a.thread_id),
    q.ReadForks: _read_forks,
    q.ReadLeaves: lambda s, a: sorted(
        _of_thread(s.leaves.values(), a.thread_id), key=lambda row: row.start
    ),
    q.ReadLeaf: _read_leaf,
    q.ListThreads: _list_threads,
    q.ReadArtifacts: _read_artifacts,
    q.FindArtifacts: lambda s, a: {k: s.artifacts[k] for k in a.keys if k in s.artifacts},
    q.ReadTallies: _read_tallies,
    q.ReadRecord: _read_record,
    q.Snapshot: lambda *_: None,
    q.Lock: _read_head,
    q.BeginThread: _begin_thread,
    q.NewBranch: _new_branch,
    q.AppendGroup: _append_group,
    q.Write: _write,
    q.Checkpoint: lambda *_: True,
    **WORD_ANSWERS,
}

CHANGES: dict[type, Answer] = {
    q.PutThread: lambda s, c: s.threads.__setitem__(c.row.thread_id, c.row),
    q.PutHead: _put_head,
    q.DropHead: lambda s, c: s.heads.pop((c.thread_id, c.owner), None),
    q.AddNodes: _add_nodes,
    q.PutChains: _put_chains,
    q.SetState: _set_state,
    q.ResizeGroup: _resize_group,
    q.ClearPending: _clear_pending,
    q.EraseNodes: _erase_nodes,
    q.DropNodes: _drop_nodes,
    q.SpendKeys: lambda s, c: s.spent.update((key, c.thread_id) for key in c.keys),
    q.DropBranch: _drop_branch,
    q.DropThread: _drop_thread,
    q.PutLeaf: lambda s, c: s.leaves.__setitem__(c.row.start, c.row),
    q.MoveLeaves: _move_leaves,
    q.PutArtifact: lambda s, c: s.artifacts.setdefault(c.row.key, c.row),
    q.DropArtifacts: _drop_artifacts,
    q.PutTallies: lambda s, c: s.tallies.update(((r.tokenizer, r.node), r.tokens) for r in c.rows),
    q.DropTallies: _drop_tallies,
    q.PutRecord: lambda s, c: s.records.__setitem__((c.kind, c.key), c),
    DropRecords: lambda s, c: drop_held(s.records, c),
    **WORD_CHANGES,
}
