"""Laws of records: JSON text under a kind and a key, such as receipts of requests."""

from __future__ import annotations

from thusfar.drive import Steps
from thusfar.storage import questions as q
from thusfar.storage.base import Store
from thusfar.storage.records import FINGERPRINT
from thusfar.testing.store_laws.told import conversation

BODY = '{"text":"NUL \\u0000, half \\ud800, whole \U0001f600"}'


def a_record_is_read_back_equal_and_the_next_takes_its_place(store: Store) -> None:
    """The newest text of a kind and key is the one that is read."""
    assert _read(store, "k", "a") is None
    _put(store, q.PutRecord("k", "a", "", BODY, 1))
    assert _read(store, "k", "a") == BODY
    _put(store, q.PutRecord("k", "a", "", "{}", 2))
    assert _read(store, "k", "a") == "{}"


def records_are_apart_by_kind_by_key_and_by_namespace(store: Store) -> None:
    """No record is seen under another name, or by another tenant."""
    names = [("k", "a"), ("k", "b"), ("l", "a"), ("K", "a"), ("k", "a ")]
    _put(store, *(q.PutRecord(k, key, "", f"{i}", i) for i, (k, key) in enumerate(names)))
    assert [_read(store, k, key) for k, key in names] == ["0", "1", "2", "3", "4"]
    other = store.within(f"{store.namespace}-other")
    assert [_read(other, k, key) for k, key in names] == [None] * 5


def records_of_a_thread_go_away_with_it(store: Store) -> None:
    """A deletion takes the records that name the thread, and no others."""
    told = conversation(store, 1)
    kept = conversation(store, 1, id="kept")
    _put(store, q.PutRecord("k", "of", "t", "1", 1), q.PutRecord("k", "other", "kept", "2", 2))
    _put(store, q.PutRecord("k", "none", "", "3", 3))
    told.delete()
    assert [_read(store, "k", key) for key in ("of", "other", "none")] == [None, "2", "3"]
    kept.delete()
    assert [_read(store, "k", key) for key in ("of", "other", "none")] == [None, None, "3"]


def fingerprints_go_away_with_any_message_of_their_thread(store: Store) -> None:
    """A redaction takes what was remembered of requests, since it was made of what is erased."""
    told = conversation(store, 1)
    conversation(store, 1, id="other")
    _put(store, *(q.PutRecord(FINGERPRINT, name, name, "1", 1) for name in ("t", "other")))
    _put(store, q.PutRecord("k", "of", "t", "2", 1))
    told.redact("u1")
    assert [_read(store, FINGERPRINT, name) for name in ("t", "other")] == [None, "1"]
    assert _read(store, "k", "of") == "2"


def _put(store: Store, *records: q.PutRecord) -> None:
    def steps() -> Steps[None]:
        yield q.Lock("records", "records")
        yield q.Write(records)

    store.run(steps())


def _read(store: Store, kind: str, key: str) -> str | None:
    def steps() -> Steps[str | None]:
        found: str | None = yield q.ReadRecord(kind, key)
        return found

    return store.run(steps())
