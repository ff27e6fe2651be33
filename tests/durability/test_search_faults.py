"""Searching while others search, append and erase, and with a store that fails at each question."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from durability.failing import FailingStore
from thusfar.errors import StorageBusyError
from thusfar.storage import open_store
from thusfar.storage.fulltext import ReadIndexed, SearchWords, terms_of
from thusfar.storage.rows import last_of
from thusfar.testing.store_laws.told import sound, user
from thusfar.thread import SyncThread, Thread
from thusfar.words import Search

MANY = 700  # two writes of the index
ONE_WRITE = 512  # what is left then is read, and not indexed by the next search


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: Any, tmp_path: Path) -> Iterator[Any]:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    else:
        url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'races.db'}"
    opened = open_store(url, namespace=f"races-{uuid.uuid4().hex}", synchronous="NORMAL")
    yield opened
    opened.close()


def told(store: Any, name: str = "t") -> SyncThread:
    thread = Thread(name, store=store).sync
    thread.append([user(f"m{i}", f"common number{i}") for i in range(MANY)])
    return thread


def named_by_index(store: Any, words: str, name: str = "t") -> list[int]:
    """What the index alone names for a search."""

    def steps() -> Any:
        found: list[int] = []
        rows = yield ReadIndexed(name)
        for row in rows.values():
            terms = terms_of(Search(words).stems, row.salt)
            pages = yield SearchWords(row.branch << 24, last_of(row.branch), terms, 10_000)
            found += [page.node for page in pages]
        return found

    return store.run(steps())  # type: ignore[no-any-return]


def at_once(*work: Any) -> None:
    """Run functions in threads of their own, and raise what any of them raised."""
    barrier = threading.Barrier(len(work))
    errors: list[BaseException] = []

    def one(function: Any) -> None:
        barrier.wait(300)
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - raised below, in the test
            errors.append(error)

    threads = [threading.Thread(target=one, args=(each,)) for each in work]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]


def test_searches_at_once_index_each_message_once(store: Any):
    thread = told(store)
    found: list[list[str | None]] = []

    def search() -> None:
        found.append([f.message.id for f in thread.search("number69", limit=None)])

    at_once(*[search] * 6)

    expected = [f"m{i}" for i in (699, 698, 697, 696, 695, 694, 693, 692, 691, 690, 69)]
    assert found == [expected] * 6
    assert len(named_by_index(store, "common")) == MANY
    sound(thread)


def test_owners_that_search_at_once_share_one_index(store: Any):
    thread = told(store)
    others = [thread.fork(f"owner{i}").sync for i in range(4)]

    at_once(*[lambda each=each: each.search("common") for each in others])

    assert len(named_by_index(store, "common")) == MANY
    for each in others:
        assert [f.message.id for f in each.search("number699")] == ["m699"]


def test_erasing_and_appending_while_others_search(store: Any):
    thread = told(store)

    def search() -> None:
        for _ in range(5):
            thread.search("number3")

    def erase() -> None:
        for i in range(300, 310):
            thread.redact(f"m{i}")

    def append() -> None:
        for i in range(20):
            thread.append(user(f"late{i}", f"common late{i}"))

    at_once(search, search, erase, append)

    assert [f.message.id for f in thread.search("number30", limit=None)] == ["m30"]
    assert len(thread.search("common", limit=None)) == MANY - 10 + 20
    assert [f.message.id for f in thread.search("late19")] == ["late19"]
    indexed = len(named_by_index(store, "common"))
    assert indexed in (0, MANY - 10) or indexed <= MANY + 10, "a redaction may drop the index"
    for i in range(300, 310):
        assert thread.search(f"number{i}") == ()
    sound(thread)


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
def test_a_store_fails_at_each_question_of_a_search(store: Any, after: bool):
    failing = FailingStore(store)
    kinds: set[str] = set()
    for at in range(1, 200):
        thread = told(failing, f"t{at}")
        failing.fail_at(at, after=after)
        try:
            found = thread.search("number699")
        except StorageBusyError:
            found = ()
        if not failing.failed:
            break
        kinds.add(failing.failed)
        failing.fail_at(None)

        assert [f.message.id for f in found] in ([], ["m699"])
        assert [f.message.id for f in thread.search("number699")] == ["m699"]
        assert len(named_by_index(store, "common", f"t{at}")) in (ONE_WRITE, MANY)
        thread.delete()
    assert {"BeginIndex", "Write", "Lock", "SearchWords", "ReadIndexed"} <= kinds


def test_a_search_is_cancelled_at_each_question(store: Any):
    async def main() -> None:
        failing = FailingStore(store)
        for at in range(1, 200):
            thread = told(failing, f"t{at}")
            failing.fail_at(at)
            failing.victim = asyncio.get_running_loop().create_task(
                thread._thread.search("number699")
            )
            await asyncio.gather(failing.victim, return_exceptions=True)
            failing.victim = None
            late = not failing.failed
            failing.fail_at(None)
            if late:
                break

            found = await thread._thread.search("number699")

            assert [f.message.id for f in found] == ["m699"]
            assert len(named_by_index(store, "common", f"t{at}")) in (ONE_WRITE, MANY)
            thread.delete()
        if hasattr(store, "leave_loop"):
            await store.leave_loop()

    asyncio.run(main())
