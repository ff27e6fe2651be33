"""Measure `history.recent` against a naive slice and langchain-core, in one process and one run.

All candidates get the same messages. Each round times every candidate a few times, in turn, so
that what else the machine does falls on all of them; processor time is compared within a round,
and the median of the rounds is shown.
Counters are the same on both sides of a ratio: o200k_base, characters / 4, or counts that are
warm. The naive slice counts message by message, newest first, as one writes it. The column
`unseen` passes a new function of characters / 4 each time, which no cache can know; no promise
is made for it.

Run: python bench/projection.py [--sizes 100 1000 …] [--rounds 31] [--json]
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from long_transcript import newest, transcript

from thusfar import history

MESSAGES, TOKENS = 40, 8_000
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
PEER_SIZES = (100, 1_000, 10_000, 100_000)  # a million messages of the peer take 3 GB and 10 s
PEER = "langchain-core"
PEER_ROUNDS = 1
BURST = 5  # runs in a row of one candidate in a round, so that caches are its own
FLAT = 1.5  # times what it takes at 1,000 messages; caches and noise are in it

Work = Callable[[], Any]
Prepare = Callable[[], Work]
Name = Any  # a candidate's name, with the size of its list where sizes run in one race


@dataclass(frozen=True)
class Target:
    """One promise, and what was measured.

    Attributes:
        promise: What has to hold.
        limit: The largest ratio allowed, or the least where `at_least`.
        measured: The ratio.
        at_least: Whether more is better.
    """

    promise: str
    limit: float
    measured: float | None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether it holds; `None` where it could not be measured."""
        if self.measured is None:
            return None
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


class O200k:
    """The real tokenizer, without a cache of its own."""

    name = "o200k_base"
    confidence = "exact"

    def __init__(self) -> None:
        from toktok import batch_count

        self._count = batch_count

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count texts in one call."""
        return list(self._count(texts, "o200k_base", threads=1))


def texts_of(message: dict[str, Any]) -> list[str]:
    """List the texts of a message that a model reads."""
    content = message["content"]
    texts = [content] if content else []
    for call in message.get("tool_calls", ()):
        texts += (call["function"]["name"], call["function"]["arguments"])
    return texts


def naive(
    messages: Sequence[dict[str, Any]],
    count: Callable[[dict[str, Any]], int],
    most: int | None,
    tokens: int | None,
) -> list[dict[str, Any]]:
    """Keep the system message and the newest messages, counting each, until a cap is reached."""
    used = 0
    start = len(messages)
    while start > 1 and (most is None or len(messages) - start < most):
        weight = count(messages[start - 1])
        if tokens is not None and used + weight > tokens:
            break
        used += weight
        start -= 1
    return [messages[0], *messages[start:]]


def by_o200k() -> Callable[[dict[str, Any]], int]:
    """Count a message with the real tokenizer."""
    counter = O200k()
    return lambda message: sum(counter.count_many(texts_of(message)))


def by_characters() -> Callable[[dict[str, Any]], int]:
    """Count a message as its characters divided by four."""
    return lambda message: sum(len(text) // 4 for text in texts_of(message))


def characters(text: str) -> int:
    """Count a text as its characters divided by four: one function, as an application has."""
    return len(text) // 4


def warm(tail: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], int]:
    """Count a message by looking its texts up."""
    counter = O200k()
    texts = list({text for message in tail for text in texts_of(message)})
    known = dict(zip(texts, counter.count_many(texts), strict=True))
    return lambda message: sum([known[text] for text in texts_of(message)])


def race(candidates: dict[Name, Prepare], rounds: int) -> dict[Name, list[float]]:
    """Time each candidate in every round, in turn. Unit: microseconds.

    Returns:
        One time a round for each: the median of a few runs in a row.
    """
    spent: dict[Name, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, prepare in candidates.items():
            spent[name].append(median(_timed(prepare()) for _ in range(BURST)) / 1000)
    return spent


def times(these: Sequence[float], those: Sequence[float]) -> float:
    """Compare two candidates round by round: the machine's speed is the same in one round."""
    return median(a / b for a, b in zip(these, those, strict=True))


def _timed(work: Work) -> int:
    """Time one run by the process's own clock. Unit: nanoseconds."""
    start = time.process_time_ns()
    work()
    return time.process_time_ns() - start


POLICIES: dict[str, dict[str, int]] = {
    "recent(40)": {"messages": MESSAGES},
    "recent(tokens=8000)": {"tokens": TOKENS},
    "both": {"messages": MESSAGES, "tokens": TOKENS},
}
COUNTS = ("o200k", "chars/4", "warm", "unseen")
MOST_TIMES_NAIVE = {"o200k": 1.3, "chars/4": 3.0, "warm": 3.0}


def ours(messages: list[Any], caps: dict[str, int], counter: Callable[[], Any]) -> Prepare:
    """Prepare one projection with a counter that is cold when `counter` makes a new one."""
    policy = history.recent(**caps)

    def prepare() -> Work:
        made = counter()
        return lambda: policy.project(messages, counter=made)

    return prepare


def candidates(messages: list[Any], caps: dict[str, int]) -> dict[str, Prepare]:
    """List ours and the naive ones of one policy, by counter."""
    most, tokens = caps.get("messages"), caps.get("tokens")
    kept = O200k()
    counters: dict[str, Callable[[], Any]] = {
        "o200k": O200k,
        "chars/4": lambda: characters,
        "warm": lambda: kept,
        "unseen": lambda: lambda text: len(text) // 4,
    }
    slices = {
        "o200k": by_o200k(),
        "chars/4": by_characters(),
        "warm": warm(messages[-400:]),
        "unseen": by_characters(),
    }
    made: dict[str, Prepare] = {}
    for name in COUNTS:
        made[f"ours {name}"] = ours(messages, caps, counters[name])
        made[f"naive {name}"] = lambda c=slices[name]: lambda: naive(messages, c, most, tokens)
    if tokens is None:  # nothing has to be counted
        made["slice"] = lambda: lambda: [messages[0], *messages[-MESSAGES:]]
    history.recent(**caps).project(messages, counter=kept)  # warms what is to be warm
    return made


def peers(messages: list[Any], rounds: int) -> dict[str, list[float]]:
    """Time langchain-core's `trim_messages` on messages converted before, and ours beside it.

    By tokens with its own characters / 4, and with one that leaves tool calls uncounted. Nothing
    is timed where it is not installed.
    """
    try:
        from langchain_core.messages import convert_to_messages, trim_messages
        from langchain_core.messages.utils import count_tokens_approximately
    except ImportError:
        return {}

    def content_only(some: Sequence[Any]) -> int:
        return sum(len(message.content) // 4 for message in some)

    def trim(most: int, counter: Any) -> Prepare:
        wanted = {"strategy": "last", "include_system": True, "start_on": "human"}
        work = partial(trim_messages, max_tokens=most, token_counter=counter, **wanted)
        return lambda: lambda: work(converted)

    converted = convert_to_messages(messages)
    gc.collect()
    gc.freeze()
    own = {
        kind: candidates(messages, POLICIES[policy])["ours chars/4"]
        for kind, policy in (("messages", "recent(40)"), ("tokens", "recent(tokens=8000)"))
    }
    found = race(
        {
            "messages": trim(MESSAGES, len),
            "ours messages": own["messages"],
            "tokens": trim(TOKENS, count_tokens_approximately),
            "ours tokens": own["tokens"],
            "content": trim(TOKENS, content_only),
        },
        PEER_ROUNDS if len(messages) > 20_000 else rounds,
    )
    gc.unfreeze()
    return found


Table = dict[str, dict[Name, list[float]]]


def measure(sizes: Sequence[int], rounds: int) -> Table:
    """Time every policy at every size; the newest messages are the same at all sizes."""
    whole = transcript(max(sizes))
    lists = {size: newest(whole, size) for size in sizes}
    gc.collect()
    gc.freeze()
    table: Table = {}
    for policy, caps in POLICIES.items():
        field = {
            (size, name): prepare
            for size in sizes
            for name, prepare in candidates(lists[size], caps).items()
        }
        table[policy] = race(field, rounds)
    gc.unfreeze()
    table[PEER] = {}
    for size in sizes:
        if size in PEER_SIZES:
            table[PEER] |= {
                (size, name): spent for name, spent in peers(lists[size], rounds).items()
            }
    return table


def targets(table: Table) -> list[Target]:
    """Hold the table to the promises."""
    made: list[Target] = []
    for policy in POLICIES:
        rows = table[policy]
        sizes = sorted({size for size, _ in rows})
        for count in MOST_TIMES_NAIVE:
            worst = max(times(rows[n, f"ours {count}"], rows[n, f"naive {count}"]) for n in sizes)
            promise = f"{policy}, {count}: times a naive slice"
            made.append(Target(promise, MOST_TIMES_NAIVE[count], worst))
        if 1_000 in sizes:
            grown = max(
                times(rows[size, f"ours {count}"], rows[1_000, f"ours {count}"])
                for size in sizes
                if size >= 1_000
                for count in COUNTS
            )
            made.append(Target(f"{policy}: times that at 1,000 messages", FLAT, grown))
    at, peer = 100_000, table[PEER]
    for kind, limit in (("tokens", 1_000), ("messages", 200)):
        faster = times(peer[at, kind], peer[at, f"ours {kind}"]) if (at, kind) in peer else None
        promise = f"times faster than trim_messages by {kind} at {at:,}"
        made.append(Target(promise, limit, faster, at_least=True))
    return made


def show(table: Table, found: Sequence[Target]) -> None:
    """Print the table and the promises."""
    for policy in POLICIES:
        rows = table[policy]
        print(f"\n{policy:<24}" + "".join(f"{count:>27}" for count in COUNTS) + "     bare slice")
        print(f"{'messages':<24}" + f"{'ours us':>11}{'naive us':>10}{'ratio':>6}" * len(COUNTS))
        for size in sorted({size for size, _ in rows}):
            cells = []
            for count in COUNTS:
                own, other = rows[size, f"ours {count}"], rows[size, f"naive {count}"]
                cells.append(f"{median(own):>11.1f}{median(other):>10.1f}{times(own, other):>6.2f}")
            bare = rows.get((size, "slice"))
            cells.append(f"{median(bare):>15.1f}" if bare else "")
            print(f"{size:<24,}{''.join(cells)}")
    show_peers(table[PEER])
    print()
    for target in found:
        verdict = {True: "met", False: "NOT met", None: "not measured"}[target.met]
        measured = "–" if target.measured is None else f"{target.measured:,.2f}"
        sign = "≥" if target.at_least else "≤"
        print(f"{target.promise:<60}{sign}{target.limit:>8,}{measured:>12}  {verdict}")


def show_peers(rows: dict[Name, list[float]]) -> None:
    """Print how often ours fits into one run of the peer's, both with characters / 4."""
    kinds = {"messages": "ours messages", "tokens": "ours tokens", "content": "ours tokens"}
    head = "".join(f"{f'by {kind} us':>18}{'ours':>7}" for kind in kinds)
    print(f"\n{PEER:<24}{head if rows else '  is not installed'}")
    for size in sorted({size for size, _ in rows}):
        cells = [
            f"{median(rows[size, kind]):>18,.0f}{times(rows[size, kind], rows[size, own]):>6,.0f}x"
            for kind, own in kinds.items()
        ]
        print(f"{size:<24,}{''.join(cells)}")


def main() -> None:
    """Measure, print, and fail when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    table = measure(sorted(given.sizes), given.rounds)
    found = targets(table)
    if given.json:
        made = [
            {"promise": t.promise, "limit": t.limit, "measured": t.measured, "met": t.met}
            for t in found
        ]
        medians = {
            policy: {"/".join(map(str, name)): median(spent) for name, spent in rows.items()}
            for policy, rows in table.items()
        }
        print(json.dumps({"microseconds": medians, "targets": made}))
    else:
        show(table, found)
    raise SystemExit(any(target.met is False for target in found))


if __name__ == "__main__":
    main()
