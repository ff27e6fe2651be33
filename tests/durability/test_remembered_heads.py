"""What a process remembers of heads may be stale; then nothing is written on top of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from thusfar.storage import Store, open_store
from thusfar.testing.store_laws.told import assistant, sound, thread, user


@pytest.fixture(params=["sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two stores that share a database and no memory, as two processes do."""
    url = f"sqlite:///{tmp_path / 'two.db'}"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    namespace = f"remembered-{os.getpid()}-{request.node.name[:40]}"
    both = open_store(url, namespace=namespace), open_store(url, namespace=namespace)
    yield both
    for each in both:
        each.close()


def test_two_that_append_in_turn_make_one_line(stores: tuple[Store, Store]) -> None:
    one, two = thread(stores[0]), thread(stores[1])
    for _ in range(40):
        one.append(user(None, "one"))
        two.append(assistant(None, "two"))
        two.append([user(None, "three"), assistant(None, "four")])

    assert [m.text for m in one.read().messages] == ["one", "two", "three", "four"] * 40
    sound(one)


def test_a_redaction_elsewhere_is_noticed_by_the_next_append(stores: tuple[Store, Store]) -> None:
    one, two = thread(stores[0]), thread(stores[1])
    kept = [one.append(user(None, "kept")).message_ids[0] for _ in range(3)]
    two.redact(kept[1])
    one.append(user(None, "next"))

    assert [m.text for m in two.read().messages if m] == ["kept", "kept", "next"]
    sound(two)


def test_a_move_elsewhere_is_noticed_by_the_next_append(stores: tuple[Store, Store]) -> None:
    one, two = thread(stores[0]), thread(stores[1])
    first = one.append(user(None, "first")).message_ids[0]
    left = one.append(assistant(None, "left")).message_ids[0]
    two.rewind(first)
    one.append(assistant(None, "instead"))

    assert [m.text for m in two.read().messages] == ["first", "instead"]
    assert two.select(left).ids == (first, left)
    sound(two)


def test_a_branch_that_was_deleted_and_grew_again_is_no_trap(stores: tuple[Store, Store]) -> None:
    one, two = thread(stores[0]), thread(stores[1])
    first = one.append(user(None, "first")).message_ids[0]
    gone = one.append(assistant(None, "gone")).message_ids[0]
    two.rewind(first)
    two.delete(branch=gone)
    two.append(assistant(None, "new"))
    one.append(user(None, "next"))

    assert [m.text for m in two.read().messages] == ["first", "new", "next"]
    sound(two)


def test_another_owner_that_takes_over_the_branch_is_noticed(stores: tuple[Store, Store]) -> None:
    one, two = thread(stores[0]), thread(stores[1], owner="two")
    one.append(user(None, "first"))
    one.append(user(None, "second"))
    thread(stores[1]).fork("two")
    two.append(assistant(None, "of two"))
    one.append(assistant(None, "of one"))
    two.append(user(None, "of two again"))

    assert [m.text for m in one.read().messages] == ["first", "second", "of one"]
    assert [m.text for m in two.read().messages] == ["first", "second", "of two", "of two again"]
    sound(one)


def test_a_deleted_thread_is_noticed(stores: tuple[Store, Store]) -> None:
    from thusfar.errors import ThreadDeletedError

    one, two = thread(stores[0]), thread(stores[1])
    one.append(user(None, "first"))
    one.append(user(None, "second"))
    two.delete()

    with pytest.raises(ThreadDeletedError):
        one.append(user(None, "third"))
