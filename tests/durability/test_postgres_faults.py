"""A server that cannot work gives a typed error that names the fix, and loses nothing."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import psycopg_pool
import pytest

from thusfar.errors import (
    OptionsError,
    SchemaTooNewError,
    StorageBusyError,
    StorageClosedError,
    StorageError,
    StorageFullError,
    StorageReadOnlyError,
    StorageUnavailableError,
)
from thusfar.storage import PostgresStore, open_store
from thusfar.storage.migrations import MIGRATIONS, Migration
from thusfar.storage.postgres_errors import BY_CLASS, BY_GROUP, BY_STATE, translated
from thusfar.testing.store_laws.told import assistant, conversation, sound, thread, user
from thusfar.thread import Thread


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(StorageUnavailableError, match="Check the server"):
        open_store("postgresql://127.0.0.1:1/nowhere")


@pytest.mark.parametrize("rest", ["[bad", "%ff@host/x", "host/x?bogus=1", "user@host/half\ud800"])
def test_a_url_that_cannot_be_read_is_refused(rest: str) -> None:
    with pytest.raises(OptionsError, match="postgresql://user:password@host"):
        open_store(f"postgresql://{rest}")


def test_an_unknown_database_is_told(postgres_url: str) -> None:
    with pytest.raises(StorageUnavailableError):
        open_store(postgres_url.replace("/postgres", "/no_such_database"))


@pytest.mark.parametrize("wait", [0, 0.0004, 0.2])
def test_a_held_row_is_told_after_the_timeout(postgres_url: str, wait: float) -> None:
    name = f"held-{os.getpid()}-{wait}"
    store = open_store(postgres_url, namespace=name, busy_timeout_seconds=wait)
    told = conversation(store, 1)
    with psycopg.connect(postgres_url) as other:
        other.execute(
            "SELECT 1 FROM thusfar_head WHERE namespace = %s FOR UPDATE", (store.namespace,)
        )

        with pytest.raises(StorageBusyError) as caught:
            told.append(user("u2"))

    assert caught.value.retryable
    assert told.append(user("u2")).status == "selected"
    sound(told)
    store.close()


@pytest.fixture
def odd_database(postgres_url: str) -> Iterator[str]:
    """A database whose defaults are none that the library would choose."""
    name = f"odd_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        for setting in (
            "client_encoding = 'LATIN1'",
            "default_transaction_isolation = 'serializable'",
            "bytea_output = 'escape'",
            "timezone = 'Asia/Tokyo'",
        ):
            admin.execute(f"ALTER DATABASE {name} SET {setting}")  # type: ignore[call-overload]
        yield postgres_url.replace("/postgres?", f"/{name}?")
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[call-overload]


def test_the_defaults_of_a_server_change_nothing(odd_database: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_store(odd_database), range(4)))
    told = thread(stores[0], "中")
    told.append(user("第一", "漢字 \\x41 \ud800 \0 é"))

    with ThreadPoolExecutor(4) as pool:
        commits = list(
            pool.map(lambda i: thread(stores[i % 4], "中").append(user(f"u{i}")), range(40))
        )

    assert {commit.status for commit in commits} == {"selected"}
    assert told.read().messages[0] == user("第一", "漢字 \\x41 \ud800 \0 é")
    assert len(told.read().ids) == 41
    sound(told)
    for store in stores:
        store.close()


def test_a_server_that_went_away_is_told_after_the_timeout(odd_database: str) -> None:
    store = open_store(odd_database, busy_timeout_seconds=0.1)
    told = conversation(store, 1)
    name = odd_database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(odd_database.replace(f"/{name}?", "/postgres?"), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")  # type: ignore[call-overload]
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        for _ in range(2):  # the connection that was ended, and the one that is not to be had
            with pytest.raises(StorageUnavailableError):
                told.append(user("u2"))
        with pytest.raises(StorageUnavailableError):
            asyncio.run(Thread("t", store=store).append(user("u2")))

        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")  # type: ignore[call-overload]

    assert told.append(user("u2")).status == "selected"
    sound(told)
    store.close()


def test_connections_that_all_work_are_told_as_busy(postgres_url: str) -> None:
    store = PostgresStore(
        postgres_url, namespace=f"few-{os.getpid()}", busy_timeout_seconds=0, max_connections=1
    )
    told = conversation(store, 1)
    taken = store._shared.pool().getconn()

    with pytest.raises(StorageBusyError):
        told.append(user("u2"))

    store._shared.pool().putconn(taken)
    assert told.append(user("u2")).status == "selected"
    store.close()


@pytest.mark.parametrize("waits", [(1, 1), (0,) * 200], ids=["twice more", "at each turn"])
def test_operations_that_are_cancelled_again_and_again_keep_no_connection(
    postgres_url: str, waits: tuple[int, ...]
) -> None:
    # Some frameworks cancel a task anew at each turn of the loop until it has ended.
    namespace = f"cancelled-{len(waits)}-{os.getpid()}"
    store = PostgresStore(postgres_url, namespace=namespace, max_connections=2)

    async def work() -> int:
        told = Thread("t", store=store)
        await told.append(user("u0"))
        for i in range(40):
            task = asyncio.create_task(told.append(user(f"c{i}")))
            for wait in (i % 8, *waits):
                await asyncio.sleep(wait * 0.0004)
                task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await told.append(user("end"))
        assert (await told.verify()).ok
        return len((await told.read()).ids)

    assert asyncio.run(work()) >= 2
    gc.collect()  # what the driver gave up half-way would complain here
    store.close()


def test_a_replay_and_a_race_write_nothing_to_the_log(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(postgres_url, namespace=f"quiet-{os.getpid()}")
    told = thread(store)

    for _ in range(2):
        told.append(user("u1"))
        told.append([user("u2"), assistant("a2")])
        asyncio.run(Thread("t", store=store).append([user("u3"), assistant("a3")]))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: told.append(user(f"w{i % 10}")), range(40)))

    assert sorted(told.read().ids) == sorted(
        ["u1", "u2", "a2", "u3", "a3", *(f"w{i}" for i in range(10))]
    )
    assert [record.getMessage() for record in caplog.records] == []
    store.close()


def test_a_read_only_server_is_told(postgres_url: str) -> None:
    store = open_store(postgres_url, namespace=f"ro-{os.getpid()}")
    told = conversation(store, 1)
    with store._shared.pool().connection() as connection:
        connection.execute("SET default_transaction_read_only = on")

    with pytest.raises(StorageReadOnlyError):
        told.append(user("u2"))

    assert told.read().ids == ("u1", "a1")
    store.close()


def test_an_ended_connection_is_told_and_replaced(postgres_url: str) -> None:
    store = open_store(postgres_url, namespace=f"ended-{os.getpid()}")
    told = conversation(store, 1)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )

    with pytest.raises(StorageUnavailableError) as caught:
        told.append(user("u2"))

    assert caught.value.retryable
    assert told.append(user("u2")).status == "selected"
    assert told.read().ids == ("u1", "a1", "u2")
    store.close()


def test_a_newer_database_is_refused(postgres_url: str) -> None:
    number = len(MIGRATIONS) + 1
    newer = Migration(number=number, name="future", statements=("SELECT 1",))
    try:
        PostgresStore(postgres_url, migrations=(*MIGRATIONS, newer)).close()

        with pytest.raises(SchemaTooNewError):
            open_store(postgres_url)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DELETE FROM thusfar_schema WHERE version = %s", (number,))


def test_a_closed_store_says_so(postgres_url: str) -> None:
    store = open_store(postgres_url)
    told = conversation(store, 1, id=f"closed-{os.getpid()}")
    store.close()

    with pytest.raises(StorageClosedError):
        told.read()


def test_a_full_disk_and_damage_are_told_apart() -> None:
    assert isinstance(translated(psycopg.errors.DiskFull("x")), StorageFullError)
    assert translated(psycopg.errors.DataCorrupted("x")).code == "CORRUPT_RECORD"
    assert translated(psycopg.errors.DeadlockDetected("x")).retryable


def test_every_error_of_the_driver_has_one_of_ours() -> None:
    kinds = {
        value
        for module in (psycopg, psycopg_pool)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, psycopg.Error)
    }
    unmapped = {k for k in kinds if not any(base in BY_CLASS for base in k.__mro__)}
    tables = (*BY_CLASS.values(), *BY_GROUP.values(), *BY_STATE.values())

    assert unmapped == set()
    assert all(issubclass(ours, StorageError) and fix for ours, _, fix in tables)
