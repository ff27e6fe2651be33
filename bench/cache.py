"""Measure what a provider's prefix cache would serve, request by request, in one run.

Recorded conversations are replayed: a request is made wherever the model was called. Every
contestant says what it would send, and a simulated cache says how much of that was the head of an
earlier request of the same conversation. Each message is written canonically and counted once,
with one counter for all. Two sets are replayed: the conversations as they were recorded, most of
which are too short for any cap, and long ones, made of the recordings of a family one after
another. Tool definitions are not in the recordings and not counted, nor is output.

`history()` and the peers that summarise act at four fifths of their maximum and keep two fifths.
Their summaries are scripted, 1,600 characters each, and what they read is paid for.

Run: python bench/cache.py [--length 150000] [--cached-price 0.1] … [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from cache_contestants import Contestant, Sizes, own
from cache_peers import peers
from prefix_cache import PrefixCache, Rules, Scale, Tally
from projection import O200k, Target, characters
from recorded import Conversation, calls, chained, conversations

from thusfar.tokens import measure_for

TARGET = 0.9  # of the share that untrimmed history gets
ALL = "all"
UNTRIMMED = "untrimmed"

Table = dict[str, dict[str, Tally]]
"""Tallies by family and contestant."""


@dataclass(frozen=True)
class Replayed:
    """A set of conversations, replayed.

    Attributes:
        name: What it is.
        table: What every contestant sent.
        targets: The promises.
    """

    name: str
    table: Table
    targets: list[Target]


def replay(one: Conversation, contestant: Contestant, scale: Scale, rules: Rules) -> Tally:
    """Let a contestant make every request of a conversation."""
    step, cache, tally = contestant.begin(scale), PrefixCache(rules), Tally()
    for place in calls(one.messages):
        sent = step(one.messages[:place], one.messages[place : place + 1])
        pieces = [piece for message in sent.messages for piece in scale.pieces(message)]
        total, cached = cache.send(pieces)
        tally.add(Tally(1, total, cached, sent.support, total, sent.said))
    return tally


def measure(
    found: Iterable[Conversation], field: Sequence[Contestant], scale: Scale, rules: Rules
) -> Table:
    """Replay every conversation with every contestant that is installed."""
    table: Table = {}
    for one in found:
        for message in one.messages:
            scale.piece(message)
        for contestant in field:
            if not contestant.missing:
                tally = replay(one, contestant, scale, rules)
                for family in (one.family, ALL):
                    table.setdefault(family, {}).setdefault(contestant.name, Tally()).add(tally)
    return {**{family: rows for family, rows in table.items() if family != ALL}, ALL: table[ALL]}


def targets(name: str, table: Table, field: Sequence[Contestant]) -> list[Target]:
    """Hold every family to the promise, where a contestant had to trim anything."""
    return [
        Target(
            f"{name}, {family}: {contestant.name}",
            TARGET,
            _part(rows, contestant.name),
            at_least=True,
        )
        for family, rows in table.items()
        for contestant in field
        if contestant.target
    ]


def _part(rows: dict[str, Tally], name: str) -> float | None:
    trimmed = rows[name].input < rows[UNTRIMMED].input
    return rows[name].share / rows[UNTRIMMED].share if trimmed else None


def show(made: Replayed, field: Sequence[Contestant], rules: Rules) -> None:
    """Print the shares and the costs of one set."""
    print(f"\n{made.name}")
    for family, rows in made.table.items():
        first = rows[UNTRIMMED]
        mean = first.input / first.requests
        print(
            f"  {family}: {first.requests:,} requests of {mean:,.0f} tokens on average, the "
            f"largest {first.largest:,.0f}"
        )
    width = max(len(contestant.name) for contestant in field) + 2
    print("\nshare of the input from the cache; cost and input as parts of the untrimmed")
    print(f"{'':<{width}}" + "".join(f"{family:>21}" for family in made.table))
    for contestant in field:
        if contestant.missing:
            print(f"{contestant.name:<{width}}  {contestant.missing} is not installed")
            continue
        cells = []
        for rows in made.table.values():
            tally, first = rows[contestant.name], rows[UNTRIMMED]
            cost = tally.cost(rules) / first.cost(rules)
            cells.append(f"{tally.share:>9.3f}{cost:>6.2f}{tally.input / first.input:>6.2f}")
        print(f"{contestant.name:<{width}}{''.join(cells)}")


def show_support(made: Replayed) -> None:
    """Print what summaries cost, and what receipts say of the prefix."""
    print("\ninput of the calls that make summaries, as a part of all input")
    for name, tally in made.table[ALL].items():
        if tally.support or tally.said:
            share = tally.support / (tally.support + tally.input)
            said = f"  receipts: {tally.said / tally.input:.3f} as in the request before"
            print(f"{name:<46}{share:>7.3f}{said if tally.said else ''}")


def show_targets(found: Iterable[Target]) -> None:
    """Print the promises."""
    print("\nshare, as a part of what untrimmed history gets")
    for target in found:
        measured = "–" if target.measured is None else f"{target.measured:.3f}"
        verdict = {True: "met", False: "NOT met", None: "nothing had to be trimmed"}[target.met]
        print(f"{target.promise:<64}≥{target.limit:>6}{measured:>8}  {verdict}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counter", choices=("characters", "o200k"), default="characters")
    parser.add_argument("--messages", type=int, default=40, help="the message cap")
    parser.add_argument("--caps", type=int, nargs="+", default=(20_000, 40_000))
    parser.add_argument("--maxima", type=int, nargs="+", default=(50_000,))
    parser.add_argument("--length", type=int, default=150_000, help="of a long conversation")
    rules = Rules()
    for name, value in asdict(rules).items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(value), default=value, help=f"{value}")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and fail when a promise is broken."""
    given = arguments()
    rules = Rules(**{name: getattr(given, name) for name in asdict(Rules())})
    counter = O200k() if given.counter == "o200k" else characters
    scale = Scale(measure_for(counter, "gpt-4o"))
    text = partial(_count, counter) if given.counter == "o200k" else characters
    sizes = Sizes(given.messages, tuple(sorted(given.caps)), tuple(given.maxima), counter)
    field = [*own(sizes), *peers(Sizes(sizes.messages, sizes.caps, sizes.maxima, text))]
    source, found = conversations(given.length)
    long = chained(found, given.length, scale.weigh)
    sets = []
    for name, some in (("as recorded", found), (f"long ({given.length:,} tokens)", long)):
        table = measure(some, field, scale, rules)
        sets.append(Replayed(name, table, targets(name.split()[0], table, field)))
    met = [target for made in sets for target in made.targets]
    if given.json:
        print(json.dumps(_plain(sets, rules, source)))
    else:
        print(f"Conversations: {source}. Counter: {given.counter}. Rules: {rules}")
        for one in long:
            print(f"  long {one.family}: {one.name}")
        for made in sets:
            show(made, field, rules)
            show_support(made)
        show_targets(met)
    raise SystemExit(any(target.met is False for target in met))


def _count(counter: O200k, text: str) -> int:
    return counter.count_many([text])[0]


def _plain(sets: Sequence[Replayed], rules: Rules, source: str) -> dict[str, object]:
    return {
        "conversations": source,
        "rules": asdict(rules),
        "sets": {
            made.name: {
                family: {
                    name: {**asdict(tally), "share": tally.share, "cost": tally.cost(rules)}
                    for name, tally in rows.items()
                }
                for family, rows in made.table.items()
            }
            for made in sets
        },
        "targets": [
            {"promise": t.promise, "limit": t.limit, "measured": t.measured, "met": t.met}
            for made in sets
            for t in made.targets
        ],
    }


if __name__ == "__main__":
    main()
