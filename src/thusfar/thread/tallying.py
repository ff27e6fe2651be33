"""Tallying: cumulative counts along a path, so that a window's start is found without reading it.

Messages are counted as they are stored; tokens are counted when somebody asks, once for each
message and tokenizer, and kept. An erasure drops the counts of its thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from thusfar.drive import Steps
from thusfar.errors import OptionsError, UnsupportedCapabilityError
from thusfar.messages import Message
from thusfar.storage import questions as q
from thusfar.storage.base import check_id
from thusfar.storage.rows import LIVE, ChainRow, HeadRow, NodeRow, TallyRow
from thusfar.thread.paths import (
    Context,
    Range,
    chain_at,
    decode,
    id_at,
    newest_range,
    node_on_path,
    older_range,
    owner_head,
)
from thusfar.thread.reading import check_limit
from thusfar.tokens.custom import checked

CountTokens = Callable[[Sequence[Message]], Sequence[int]]

PAGE: Final = 500  # messages counted at once; batches are what tokenizers are fast at


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The longest suffix of a path within a cap; groups and exchanges are the caller's concern.

    Attributes:
        first: Id of its first message; `None` when it is empty.
        depth: Place of that message on the path, from 0; the length of the path when empty.
        messages: Live messages in it.
        tokens: Tokens in it; `None` when no tokenizer was given.
    """

    first: str | None
    depth: int
    messages: int
    tokens: int | None = None


def tally_steps(ctx: Context, tokenizer: str, count: CountTokens) -> Steps[int]:
    """Count what is new on the selected path; see `Thread.tally`."""
    check_id(tokenizer, "tokenizer name")
    head = yield from owner_head(ctx)
    if head is None or not head.node:
        return 0
    total, uncounted = yield from _uncounted(head, tokenizer)
    if not uncounted:
        return total
    tip: ChainRow = yield from chain_at(head.node)
    made: list[TallyRow] = []
    for step in reversed(uncounted):
        for low in range(step.low, step.high + 1, PAGE):
            rows: list[NodeRow] = yield q.ReadNodes(low, min(low + PAGE - 1, step.high))
            total = _count(rows, tokenizer, count, total, made)
    yield q.Lock(ctx.thread_id, ctx.owner, whole=True)
    now: list[ChainRow] = yield q.ReadChains(head.node, head.node)
    if now and now[0].chain == tip.chain:  # else an erasure came between: nothing is kept
        yield q.Write((q.PutTallies(tuple(made)),))
    return total


def _uncounted(head: HeadRow, tokenizer: str) -> Steps[tuple[int, list[Range]]]:
    """Find the count that is kept nearest to the head, and the ranges behind it, newest first."""
    ranges: list[Range] = []
    step = yield from newest_range(head.node, head.depth)
    while step is not None:
        kept: list[TallyRow] = yield q.ReadTallies(tokenizer, step.low, step.high, 1)
        if kept:
            begin = kept[0].node + 1
            if begin <= step.high:
                ranges.append(Range(begin, step.high, step.depth + begin - step.low))
            return kept[0].tokens, ranges
        ranges.append(step)
        step = yield from older_range(step)
    return 0, ranges


def _count(
    rows: list[NodeRow], tokenizer: str, count: CountTokens, total: int, made: list[TallyRow]
) -> int:
    live = [row for row in rows if row.state == LIVE]
    given = checked(count([decode(row) for row in live]), len(live), tokenizer)
    counts = dict(zip((row.node for row in live), given, strict=True))
    for row in rows:
        total += counts.get(row.node, 0)
        made.append(TallyRow(tokenizer, row.node, total))
    return total


def window_steps(
    ctx: Context, *, messages: int | None, tokens: int | None, tokenizer: str | None
) -> Steps[Window]:
    """Find where the newest messages within both caps begin; see `Thread.window`."""
    check_limit(messages, "messages")
    check_limit(tokens, "tokens")
    if tokens is not None and tokenizer is None:
        raise OptionsError(
            "A window of tokens named no tokenizer.", fix="Pass the tokenizer= that was tallied."
        )
    if tokenizer is not None:
        check_id(tokenizer, "tokenizer name")
    head = yield from owner_head(ctx)
    if head is None or not head.node:
        return Window(first=None, depth=0, messages=0, tokens=0 if tokenizer else None)
    live, whole = yield from _totals(head.node, tokenizer)
    low, high = 0, head.depth + 1  # the start lies in low … high
    while low < high:
        middle = (low + high) // 2
        kept_live, kept_tokens = yield from _before(head, middle, tokenizer)
        fits = (messages is None or live - kept_live <= messages) and (
            tokens is None or whole - kept_tokens <= tokens
        )
        low, high = (low, middle) if fits else (middle + 1, high)
    before_live, before_tokens = yield from _before(head, low, tokenizer)
    node = (yield from node_on_path(low, head.node, head.depth)) if low <= head.depth else 0
    return Window(
        first=(yield from id_at(node)),
        depth=low,
        messages=live - before_live,
        tokens=whole - before_tokens if tokenizer else None,
    )


def _before(head: HeadRow, depth: int, tokenizer: str | None) -> Steps[tuple[int, int]]:
    """Count what stands before a depth of the path."""
    if depth == 0:
        return 0, 0
    node = yield from node_on_path(depth - 1, head.node, head.depth)
    return (yield from _totals(node, tokenizer))


def _totals(node: int, tokenizer: str | None) -> Steps[tuple[int, int]]:
    chain = yield from chain_at(node)
    if tokenizer is None:
        return chain.messages, 0
    kept: list[TallyRow] = yield q.ReadTallies(tokenizer, node, node)
    if not kept:
        raise UnsupportedCapabilityError(
            "The path was not counted with that tokenizer since it changed.",
            fix="Call tally first.",
            tokenizer=tokenizer,
        )
    return chain.messages, kept[0].tokens
