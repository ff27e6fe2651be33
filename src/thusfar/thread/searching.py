"""Searching: messages of a path that have all the words looked for, the newest first.

What is indexed is asked of the index, what was stored since is read; every message that is found
was read and judged by the rule of `thusfar.words`, so that every store finds the same.

Source:
    docs/spec/threads.md#search
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from thusfar.drive import Steps
from thusfar.errors import (
    InvalidGroupError,
    OptionsError,
    StorageBusyError,
    StorageFullError,
    StorageReadOnlyError,
)
from thusfar.facts import content_of
from thusfar.messages import Message
from thusfar.storage import questions as q
from thusfar.storage.fulltext import (
    ANY,
    MOST_TERMS,
    Abandon,
    BeginIndex,
    DropWords,
    IndexedRow,
    PutWords,
    ReadIndexed,
    SearchWords,
    Terms,
    WordsRow,
    new_salt,
    terms_of,
)
from thusfar.storage.rows import LIVE, HeadRow, PageRow, branch_of
from thusfar.thread.paths import (
    Context,
    Range,
    chain_at,
    decode,
    find,
    node_on_path,
    on_path,
    owner_head,
    parent_of,
    ranges,
)
from thusfar.thread.reading import check_limit
from thusfar.words import WORDS_VERSION, Search, stems_of, text_of

DEFAULT_FOUND: Final = 10
INDEX_BEHIND: Final = 256  # messages not indexed yet that are read sooner than indexed
INDEXED_AT_ONCE: Final = 2_048  # messages; takes about as long as reading 20,000
_BATCH: Final = 512  # messages of one write: others wait for about 200 ms
_PAGE: Final = 128


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was found.

    Attributes:
        position: Its place among the live messages of the path, from 0.
        message: The message.
        created_at: When it was stored. Unit: milliseconds since 1970, UTC.
    """

    position: int
    message: Message
    created_at: int


def search_steps(
    ctx: Context, words: str, *, limit: int | None, before: str | None = None
) -> Steps[tuple[Found, ...]]:
    """Find messages of the selected path; see `Thread.search`."""
    if type(words) is not str:
        raise OptionsError("A search got no text.", fix="Pass words as text.", option="words")
    check_limit(limit)
    head: HeadRow | None = yield from owner_head(ctx)
    node, depth = (head.node, head.depth) if head else (0, -1)
    if before is not None:
        target = yield from find(ctx, before)
        if not (node and (yield from on_path(target, node, depth))):
            raise InvalidGroupError(
                "A search was to end before a message that is not on the selected path.",
                fix="Select its alternative, or leave before= out.",
            )
        node, depth = (yield from parent_of(target)), target.depth - 1
    return (yield from search_path(ctx, Search(words), (node, depth), limit=limit))


def search_path(
    ctx: Context, search: Search, tip: tuple[int, int], *, limit: int | None = DEFAULT_FOUND
) -> Steps[tuple[Found, ...]]:
    """Find messages of the path to a node, the newest first.

    Args:
        ctx: The thread.
        search: What is looked for.
        tip: The node, and its depth.
        limit: At most so many. `None` means all.
    """
    if not search or not tip[0]:
        return ()
    path = yield from ranges(*tip)
    yield from _catch_up(ctx, path)
    yield q.Snapshot()
    indexed = yield from _indexed(ctx)
    found: list[Found] = []
    for step in path:
        row = indexed.get(branch_of(step.low))
        border = min(step.high, row.node) if row is not None else step.low - 1
        yield from _read(search, max(step.low, border + 1), step.high, found, limit)
        if row is not None and border >= step.low:
            yield from _ask(search, row, step.low, border, found, limit)
        if len(found) == limit:
            break
    return tuple(found)


def read_positions(tip: tuple[int, int], first: int, last: int) -> Steps[list[tuple[int, Message]]]:
    """Read live messages of the path to a node by their places; the cost is theirs alone.

    Args:
        tip: The node, and its depth.
        first: Place of the first among the live messages of the path, from 0.
        last: Place of the last.

    Returns:
        Pairs of a place and a message, ascending; nothing where there is none.
    """
    found: list[tuple[int, Message]] = []
    if not tip[0] or first > last:
        return found
    yield q.Snapshot()
    low, high = 0, tip[1]
    while low < high:
        middle = (low + high) // 2
        counted = yield from chain_at((yield from node_on_path(middle, *tip)))
        low, high = (low, middle) if counted.messages > first else (middle + 1, high)
    reached = yield from chain_at((yield from node_on_path(low, *tip)))
    if reached.messages <= first:
        return found
    path = yield from ranges(*tip)
    for step in reversed(path):
        begin = step.low + max(0, low - step.depth)
        while begin <= step.high and first + len(found) <= last:
            rows: list[PageRow] = yield q.ReadPage(begin, min(begin + _PAGE - 1, step.high))
            live = [row for row in reversed(rows) if row.state == LIVE]
            found += [(first + len(found) + i, decode(row)) for i, row in enumerate(live)]
            begin += _PAGE
    return found[: last - first + 1]


def _indexed(ctx: Context) -> Steps[dict[int, IndexedRow]]:
    """Read how far branches are indexed; an index of another rule counts for nothing."""
    rows: dict[int, IndexedRow] = yield ReadIndexed(ctx.thread_id)
    return {branch: row for branch, row in rows.items() if row.version == WORDS_VERSION}


def _read(
    search: Search, low: int, high: int, found: list[Found], limit: int | None
) -> Steps[None]:
    """Search by reading, page by page."""
    while low <= high and len(found) != limit:
        rows: list[PageRow] = yield q.ReadPage(max(low, high - _PAGE + 1), high)
        yield from _judge(search, rows, found, limit)
        high -= _PAGE


def _ask(
    search: Search, row: IndexedRow, low: int, high: int, found: list[Found], limit: int | None
) -> Steps[None]:
    """Search by asking the index, and judge what it names."""
    terms = terms_of(search.stems, row.salt)
    while low <= high and len(found) != limit:
        rows: list[PageRow] = yield SearchWords(low, high, terms, _PAGE)
        yield from _judge(search, rows, found, limit)
        if len(rows) < _PAGE:
            return
        high = rows[-1].node - 1


def _judge(
    search: Search, rows: list[PageRow], found: list[Found], limit: int | None
) -> Steps[None]:
    for row in rows:
        if len(found) == limit:
            return
        if row.state != LIVE:
            continue
        message = decode(row)
        if search.finds(text_of(content_of(message))):
            chain = yield from chain_at(row.node)
            found.append(
                Found(position=chain.messages - 1, message=message, created_at=row.created_at)
            )


def _catch_up(ctx: Context, path: list[Range]) -> Steps[None]:
    """Index some of what was stored since, where it is much, the oldest first.

    The newest messages are read sooner anyway. A store that cannot be written is read.
    """
    indexed = yield from _indexed(ctx)
    behind: list[Range] = []
    for step in path:
        row = indexed.get(branch_of(step.low))
        low = step.low if row is None else max(step.low, row.node + 1)
        behind += [step._replace(low=low)] if low <= step.high else []
    much = sum(step.high - step.low + 1 for step in behind)
    if much <= INDEX_BEHIND:
        return
    left = max(INDEXED_AT_ONCE, much // 8)
    try:
        for step in reversed(behind):
            high = min(step.high, step.low + left - 1)
            if left > 0:
                yield from _index(ctx, branch_of(step.low), high)
            left -= high - step.low + 1
    except (StorageReadOnlyError, StorageBusyError, StorageFullError):
        yield Abandon()


def _index(ctx: Context, branch: int, high: int) -> Steps[None]:
    """Index a branch up to a message, in writes that others need not wait for long."""
    terms: dict[str, Terms] = {}
    while True:
        yield q.Lock(ctx.thread_id, ctx.owner)
        fresh = IndexedRow(branch, ctx.thread_id, new_salt(), WORDS_VERSION, (branch << 24) - 1)
        row: IndexedRow = yield BeginIndex(fresh)
        if row.version != WORDS_VERSION:
            yield q.Write((DropWords(branch),))  # type: ignore[arg-type]
            continue
        rows: list[PageRow] = yield q.ReadPage(row.node + 1, min(high, row.node + _BATCH))
        if not rows:
            yield Abandon()
            return
        under = terms.setdefault(row.salt, Terms(row.salt))
        words = tuple(_words(each, under) for each in reversed(rows) if each.state == LIVE)
        reached: Any = PutWords(msgspec.structs.replace(row, node=rows[0].node), words)
        yield q.Write((reached,))


def _words(row: PageRow, terms: Terms) -> WordsRow:
    stems = stems_of(text_of(content_of(decode(row))))
    many = len(stems) > MOST_TERMS
    return WordsRow(row.node, ANY if many else " ".join(terms.of(stems)))
