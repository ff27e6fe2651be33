"""Contenders of `bench/storage.py`: threads, raw SQL on the same driver, and other session stores.

Each keeps one conversation, which is filled outside every timing. All of one race get the same
durability setting and texts of the same length.
"""

from __future__ import annotations

import asyncio
import importlib.util
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
from long_transcript import POOL, WORDS

from thusfar.codec import decode_message, encode_message
from thusfar.messages import Message, Text
from thusfar.storage import Store, open_store
from thusfar.thread import Thread

PAGE = 40
FILLED = 1_000  # messages of one write while a conversation is made long
PREPARED = 10  # runs after which the driver has prepared a statement
MANY, SLOW = 1_000, 2  # runs in a row
SINGLE = 2 * PAGE  # the newest messages are stored one at a time, as in use

Work = Callable[[], Any]  # its answer is awaited for a contender with an event loop


@dataclass(frozen=True)
class Contender:
    """One store with one conversation.

    Attributes:
        append: Store one more message.
        read: Read the newest `PAGE` messages, decoded.
        close: Release the database.
        loop: The event loop that its work runs in; `None` for code without one.
        most: Most runs in a row; few for what takes many milliseconds.
    """

    append: Work
    read: Work
    close: Work
    loop: asyncio.AbstractEventLoop | None = None
    most: int = MANY

    def time(self, work: Work, runs: int) -> list[float]:
        """Time runs in a row as their caller waits for each. Unit: seconds."""
        count = min(runs, self.most)
        if self.loop is None:
            return [_timed(work) for _ in range(count)]
        return self.loop.run_until_complete(_timed_within(work, count))


def _timed(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


async def _timed_within(work: Work, count: int) -> list[float]:
    spent = []
    for _ in range(count):
        start = time.perf_counter()
        await work()
        spent.append(time.perf_counter() - start)
    return spent


def installed(module: str) -> bool:
    """Tell whether a module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def texts(count: int, seed: int = 11) -> list[str]:
    """Write different texts of about 505 characters: as long as a message of an agent's log."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=91)) for _ in range(min(count, POOL))]


TEXTS = texts(512)


def turning(made: list[Any]) -> Callable[[], Any]:
    """Give one after the other, again and again."""

    def endless() -> Iterator[Any]:
        while True:
            yield from made

    return endless().__next__


def message(index: int) -> Message:
    """Make the message of a position: a question or an answer, without an id."""
    text = TEXTS[index % len(TEXTS)]
    return Message("assistant" if index % 2 else "user", (Text(text),))


def item(index: int) -> dict[str, Any]:
    """Make the same message as other stores take it."""
    return {"role": "assistant" if index % 2 else "user", "content": TEXTS[index % len(TEXTS)]}


MESSAGES = [message(index) for index in range(len(TEXTS))]
ITEMS = [item(index) for index in range(len(TEXTS))]
BODIES = [
    encode_message(Message(one.role, one.parts, id=f"msg_{index:032x}")).decode()
    for index, one in enumerate(MESSAGES)
]


def chunks(length: int) -> Iterator[int]:
    """Cut a length into the writes that fill a conversation."""
    bulk = max(0, length - SINGLE)
    yield from [FILLED] * (bulk // FILLED)
    if bulk % FILLED:
        yield bulk % FILLED
    yield from [1] * (length - bulk)


def fill_thread(store: Store, length: int) -> None:
    """Make a thread long; most of it in groups of 1,000, the newest messages one by one."""
    thread = Thread("t", store=store).sync
    following = turning(MESSAGES)
    for size in chunks(length):
        thread.append([following() for _ in range(size)])


def of_thread(store: Store) -> Contender:
    """Race the thread of a store, from code without an event loop."""
    thread, following = Thread("t", store=store).sync, turning(MESSAGES)
    return Contender(
        lambda: thread.append(following()), lambda: thread.read(limit=PAGE), store.close
    )


def of_sqlite(path: Path, synchronous: Any) -> Contender:
    """Race a thread in an SQLite file."""
    return of_thread(open_store(f"sqlite:///{path}", synchronous=synchronous))


def of_sqlite_async(path: Path, synchronous: Any) -> Contender:
    """Race a thread in an event loop; its verbs run in other threads of the process."""
    store = open_store(f"sqlite:///{path}", synchronous=synchronous)
    thread, following = Thread("t", store=store), turning(MESSAGES)
    return Contender(
        lambda: thread.append(following()),
        lambda: thread.read(limit=PAGE),
        store.close,
        asyncio.new_event_loop(),
    )


def of_postgres(url: str, length: int) -> Contender:
    """Race a thread in PostgreSQL; each length has a namespace of its own."""
    from thusfar.storage import PostgresStore

    store = PostgresStore(url).within(f"{length}")
    fill_thread(store, length)
    return of_thread(store)


def fill_raw(path: Path, length: int) -> None:
    """Make a table of bodies as long as the thread."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    with connection:
        rows = ((BODIES[index % len(BODIES)],) for index in range(length))
        connection.executemany("INSERT INTO message (body) VALUES (?)", rows)
    connection.close()


def of_raw(path: Path, synchronous: str) -> Contender:
    """Race the least that any store does: one insert in a transaction, one range with decoding.

    It encodes the message that it stores, and decodes what it reads.
    """
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # prepares once, as the threads do
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    execute, following = connection.cursor().execute, turning(MESSAGES)

    def append() -> None:
        body = encode_message(following()).decode()
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO message (body) VALUES (?)", (body,))
        execute("COMMIT")

    def read() -> list[Message]:
        rows = execute("SELECT body FROM message ORDER BY id DESC LIMIT ?", (PAGE,)).fetchall()
        return [decode_message(row[0]) for row in reversed(rows)]

    return Contender(append, read, connection.close)


def of_session(path: Path, synchronous: str, length: int) -> Contender:
    """Race openai-agents' `SQLiteSession`."""
    from agents import SQLiteSession

    session = _with_setting(SQLiteSession, synchronous)(session_id="t", db_path=path)
    return _of_session(session, length, MANY)


def of_advanced_session(path: Path, synchronous: str, length: int) -> Contender:
    """Race openai-agents' `AdvancedSQLiteSession`, which reads every message at each step."""
    from agents.extensions.memory import AdvancedSQLiteSession

    kind = _with_setting(AdvancedSQLiteSession, synchronous)
    return _of_session(kind(session_id="t", db_path=path, create_tables=True), length, SLOW)


def _with_setting(base: Any, synchronous: str) -> Any:
    class Session(base):  # type: ignore[misc] # every connection is made by a worker thread
        @staticmethod
        def _configure_connection(conn: Any) -> None:
            base._configure_connection(conn)
            conn.execute(f"PRAGMA synchronous = {synchronous}")

    return Session


def of_sqlalchemy(url: str, length: int) -> Contender:
    """Race openai-agents' `SQLAlchemySession`, with the driver its documentation names."""
    from agents.extensions.memory import SQLAlchemySession

    address = url.replace("postgresql://", "postgresql+asyncpg://", 1)
    if "?host=" in address:  # asyncpg wants the directory of a Unix socket so too
        address = address.replace("@localhost", "@", 1)
    session = SQLAlchemySession.from_url(f"t{length}", url=address, create_tables=True)
    return _of_session(session, length, MANY)


def _of_session(session: Any, length: int, most: int) -> Contender:
    loop, following = asyncio.new_event_loop(), turning(ITEMS)
    bulk = [ITEMS[index % len(ITEMS)] for index in range(FILLED)]

    async def fill() -> None:
        for size in chunks(length):
            await session.add_items(bulk[:size])

    loop.run_until_complete(fill())
    return Contender(
        lambda: session.add_items([following()]),
        lambda: session.get_items(limit=PAGE),
        getattr(session, "close", lambda: None),
        loop,
        most,
    )


def of_saver(path: Path, synchronous: str, length: int) -> Contender:
    """Race LangGraph's `SqliteSaver`, which stores the whole list of messages at each step."""
    import sqlite3

    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    stored = [ITEMS[index % len(ITEMS)] for index in range(length)]
    following = turning(ITEMS)

    def append() -> None:
        stored.append(following())
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": stored}
        saver.put(config, checkpoint, {}, {})

    def read() -> list[Any]:
        found = saver.get_tuple(config)
        assert found is not None
        newest: list[Any] = found.checkpoint["channel_values"]["messages"][-PAGE:]
        return newest

    append()
    return Contender(append, read, connection.close, most=SLOW)


def of_postgres_raw(url: str, length: int) -> Contender:
    """Race one prepared insert with encoding, and one range with decoding, on PostgreSQL."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    table = f"message_{length}"
    connection.execute(f"CREATE TABLE {table} (id bigserial PRIMARY KEY, body text NOT NULL)")
    bodies, following = turning(BODIES), turning(MESSAGES)
    with connection.cursor() as cursor, connection.transaction():
        rows = [(bodies(),) for _ in range(length)]
        cursor.executemany(f"INSERT INTO {table} (body) VALUES (%s)", rows)

    def append() -> None:
        body = encode_message(following()).decode()
        connection.execute(f"INSERT INTO {table} (body) VALUES (%s)", (body,), prepare=True)

    def read() -> list[Message]:
        sql = f"SELECT body FROM {table} ORDER BY id DESC LIMIT %s"
        rows = connection.execute(sql, (PAGE,), prepare=True).fetchall()
        return [decode_message(row[0]) for row in reversed(rows)]

    return Contender(append, read, connection.close)


def round_trips(url: str, runs: int = 20) -> float:
    """Count how often an append waits for the server, by the driver's own trace."""
    from thusfar.storage import PostgresStore

    store = PostgresStore(url)
    thread = Thread("traced", store=store).sync
    for _ in range(PREPARED):
        thread.append(MESSAGES[0])
    pool = store._shared.pool()
    with tempfile.TemporaryFile() as trace:
        connection = pool.getconn()
        connection.pgconn.trace(trace.fileno())
        pool.putconn(connection)
        for _ in range(runs):
            thread.append(MESSAGES[0])
        connection.pgconn.untrace()
        trace.seek(0)
        count = trace.read().count(b"ReadyForQuery")
    store.close()
    return count / runs
