"""An event loop that ends under operations ends soon, and loses and leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import psycopg
import pytest

from thusfar.errors import StorageBusyError, StorageClosedError
from thusfar.storage import PostgresStore
from thusfar.testing.store_laws.told import sound, thread, user
from thusfar.thread import Thread

SECONDS = 20.0


def ended(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a loop to its end, or fail: a loop that never ends would keep the tests waiting."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - raised where it is seen
            failures.append(error)

    running = threading.Thread(target=run, daemon=True)
    running.start()
    running.join(SECONDS)
    assert not running.is_alive()
    for failure in failures:
        raise failure


def others(url: str, name: str) -> int:
    """Count the sessions of an application."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (name,)
        ).fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize("writers", [1, 3, 12])
@pytest.mark.parametrize("seconds", [0.0, 0.002, 0.004, 0.006, 0.01, 0.03])
def test_a_loop_ends_while_operations_connect_or_work(
    postgres_url: str, seconds: float, writers: int
) -> None:
    store = PostgresStore(postgres_url, namespace=f"ends-{os.getpid()}-{seconds}-{writers}")
    written: list[str] = []

    async def write(told: Thread, i: int) -> None:
        try:
            for j in range(10_000):
                await told.append(user(f"{i}-{j}"))
                written.append(f"{i}-{j}")
        finally:  # what a caller still stores on its way out is stored
            await told.append(user(f"{i}-last"))
            written.append(f"{i}-last")

    async def main() -> None:
        told = Thread("t", store=store)
        tasks = [asyncio.create_task(write(told, i)) for i in range(writers)]
        await asyncio.sleep(seconds)
        del tasks

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an open connection that nobody closed would warn
        ended(main)
        gc.collect()

    told = thread(store)
    assert [told.read(at=each).ids[-1] for each in written] == written
    sound(told)
    store.close()


def test_connections_of_a_loop_that_ended_are_closed_by_the_next(postgres_url: str) -> None:
    name = f"loops-{os.getpid()}"
    store = PostgresStore(f"{postgres_url}&application_name={name}", namespace=name)

    async def main() -> None:
        told = Thread("t", store=store)
        await asyncio.gather(*(told.read() for _ in range(4)))

    for _ in range(3):
        asyncio.run(main())
        assert others(postgres_url, name) <= 5  # four of this loop, and the one of the migration
    store.close()


@pytest.mark.parametrize("how", ["close", "aclose", "another thread"])
def test_a_closed_store_keeps_no_connection_of_a_loop_that_goes_on(
    postgres_url: str, how: str
) -> None:
    name = f"closed-{how[0]}-{os.getpid()}"
    store = PostgresStore(f"{postgres_url}&application_name={name}", namespace=name)

    async def main() -> None:
        told = Thread("t", store=store)
        await asyncio.gather(*(told.read() for _ in range(4)))
        assert others(postgres_url, name) == 4
        working = asyncio.create_task(told.append(user("u1")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if how == "another thread":
            await asyncio.to_thread(store.close)
        elif how == "close":
            store.close()
        else:
            await store.aclose()
        await asyncio.wait([working])
        await asyncio.sleep(0)
        for _ in range(100):  # the server sees the end of a session a little later
            if not others(postgres_url, name):
                return
            await asyncio.sleep(0.05)
        raise AssertionError

    ended(main)


def test_whoever_waits_for_a_connection_is_told_that_the_store_was_closed(
    postgres_url: str,
) -> None:
    store = PostgresStore(postgres_url, namespace=f"close-{os.getpid()}", max_connections=1)

    async def main() -> None:
        told = Thread("t", store=store)
        works = [asyncio.create_task(told.append(user(f"u{i}"))) for i in range(5)]
        await asyncio.sleep(0)
        await store.aclose()
        done = await asyncio.gather(*works, return_exceptions=True)
        assert {type(each) for each in done[1:]} == {StorageClosedError}
        assert asyncio.all_tasks() == {asyncio.current_task()}

    ended(main)


def test_more_operations_than_connections_wait_for_one(postgres_url: str) -> None:
    store = PostgresStore(postgres_url, namespace=f"wait-{os.getpid()}", max_connections=2)

    async def main() -> None:
        told = [Thread(f"t{i}", store=store) for i in range(20)]
        await asyncio.gather(*(each.append(user("u1")) for each in told))
        assert [(await each.read()).ids for each in told] == [("u1",)] * 20
        await store.aclose()

    ended(main)


def test_async_code_hears_that_all_connections_work(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thusfar.storage.postgres_connections._SHORTEST_CONNECT", 0.05)
    store = PostgresStore(
        postgres_url, namespace=f"all-{os.getpid()}", busy_timeout_seconds=0, max_connections=1
    )

    async def main() -> None:
        pool = store._shared.loop_pool()
        taken = await pool.take(SECONDS)
        with pytest.raises(StorageBusyError):
            await Thread("t", store=store).append(user("u1"))
        pool.give_back(taken)
        assert (await Thread("t", store=store).append(user("u1"))).status == "selected"
        await store.aclose()

    ended(main)
