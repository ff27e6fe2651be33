"""Laws of races: nothing is lost, nothing is stored twice, one path is selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from thusfar.errors import HistoryError
from thusfar.storage.base import Store
from thusfar.testing.store_laws.told import (
    assistant,
    conversation,
    refusal,
    sound,
    thread,
    user,
)
from thusfar.thread import ThreadCommit


def of_two_appends_behind_one_head_one_is_selected(store: Store) -> None:
    """The other becomes an alternative with the same parent, and both keep their receipts."""
    told = conversation(store, 1)
    commits = _at_once(lambda i: thread(store).append(user(f"r{i}"), after="a1") for i in range(2))
    assert sorted(c.status for c in commits) == ["alternative", "selected"]
    assert {c.parent_id for c in commits} == {"a1"}
    for i, commit in enumerate(commits):
        again = told.append(user(f"r{i}"), after="a1")
        assert again.replayed
        assert (again.status, again.message_ids) == (commit.status, commit.message_ids)
    assert len(told.read().ids) == 3
    sound(told)


def every_append_of_many_writers_is_stored_exactly_once(store: Store) -> None:
    """Twenty-five writers at once: each message once, no error reaches a caller."""
    told = conversation(store, 1)
    commits = _at_once(lambda i: thread(store).append(user(f"w{i}")) for i in range(25))
    assert any(c.status == "selected" for c in commits)
    paths = {told.read(at=b.leaf).ids for b in told.branches()}
    stored = {i for path in paths for i in path}
    assert stored == {"u1", "a1", *(f"w{i}" for i in range(25))}
    assert told.verify().messages == 27
    sound(told)


def the_same_append_by_many_writers_is_stored_once(store: Store) -> None:
    """Retries that overlap give one message and equal receipts."""
    told = conversation(store, 1)
    commits = _at_once(lambda _: thread(store).append(user("same", "x")) for _ in range(8))
    assert sum(not c.replayed for c in commits) == 1
    assert len({c.message_ids for c in commits}) == 1
    assert told.read().ids == ("u1", "a1", "same")
    sound(told)


def the_first_append_of_a_thread_may_race(store: Store) -> None:
    """Two writers that begin one thread both find their message stored."""
    _at_once(lambda i: thread(store).append(user(f"w{i}")) for i in range(8))
    assert thread(store).verify().messages == 8
    sound(thread(store))


def writers_of_one_id_with_other_content_conflict(store: Store) -> None:
    """One of them stores it; the others are told, and nothing of theirs is stored."""
    told = conversation(store, 1)

    def write(i: int) -> str:
        try:
            return thread(store).append(user("same", f"text {i}")).status
        except HistoryError as error:
            return error.code

    outcomes = _at_once(write for _ in range(6))
    assert sorted(set(outcomes)) == ["IDENTITY_CONFLICT", "selected"]
    assert outcomes.count("selected") == 1
    assert len(told.read().ids) == 3


def identical_concurrent_edits_are_one_edit(store: Store) -> None:
    """Two clients that send the same edit get the same receipt."""
    told = conversation(store, 2)
    commits = _at_once(lambda _: thread(store).edit("u2", "new", id="e") for _ in range(4))
    assert sum(not c.replayed for c in commits) == 1
    assert told.read().ids == ("u1", "a1", "e")
    sound(told)


def an_edit_that_races_a_redaction_leaves_no_content(store: Store) -> None:
    """Whoever is first, the redacted text is gone and the thread is consistent."""
    told = conversation(store, 2)

    def edit(_: int) -> str:
        try:
            return thread(store).edit("u2", "new", id="e").status
        except HistoryError as error:
            return error.code

    def redact(_: int) -> str:
        return thread(store).redact("u2").state

    _at_once([edit, redact])
    entry = told.read(at="u2").entries[-1]
    assert (entry.kind, entry.message) == ("redacted", None)
    sound(told)


def a_delete_that_races_appends_leaves_nothing(store: Store) -> None:
    """A late writer is refused, and its rows are not there."""
    told = conversation(store, 1)

    def append(i: int) -> str:
        try:
            return thread(store).append(user(f"w{i}")).status
        except HistoryError as error:
            return error.code

    def delete(_: int) -> str:
        return thread(store).delete().state

    outcomes = _at_once([append, append, delete, append])
    assert set(outcomes) <= {"selected", "complete", "pending", "THREAD_DELETED"}
    with refusal("THREAD_DELETED"):
        told.read()


def owners_append_at_once_without_conflict(store: Store) -> None:
    """Owners of one thread do not make alternatives of each other."""
    told = conversation(store, 1)
    names = [f"o{i}" for i in range(4)]
    for name in names:
        told.fork(name)

    def write(i: int) -> list[ThreadCommit]:
        mine = thread(store, owner=names[i])
        return [mine.append(assistant(f"{names[i]}-{k}")) for k in range(5)]

    commits = _at_once(write for _ in names)
    assert all(c.status == "selected" for group in commits for c in group)
    for name in names:
        ids = thread(store, owner=name).read().ids
        assert ids == ("u1", "a1", *(f"{name}-{k}" for k in range(5)))
    sound(told)


def _at_once(works: Iterable[Callable[[int], Any]]) -> list[Any]:
    """Run each work in a thread of its own, all begun together; results in order."""
    listed = list(works)
    barrier = Barrier(len(listed))

    def begin(index: int) -> Any:
        barrier.wait()
        return listed[index](index)

    with ThreadPoolExecutor(len(listed)) as pool:
        return list(pool.map(begin, range(len(listed))))
