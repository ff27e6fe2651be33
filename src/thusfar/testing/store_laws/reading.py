"""Laws of reading: exact paths, whole-group pages, transcripts and lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from thusfar.messages import Message
from thusfar.storage.base import Store
from thusfar.testing.store_laws.told import (
    assistant,
    calling,
    conversation,
    refusal,
    result,
    thread,
    user,
)


def a_path_can_be_read_at_any_message(store: Store) -> None:
    """Reading at a place gives the path to it, also inside a group, and moves nothing."""
    told = conversation(store, 2)
    told.append([user("u3"), assistant("a3")])
    assert told.read(at="u2").ids == ("u1", "a1", "u2")
    assert told.read(at="u3").ids == ("u1", "a1", "u2", "a2", "u3")
    assert told.read().head == "a3"
    with refusal("MESSAGE_NOT_FOUND"):
        told.read(at="nowhere")


def pages_are_whole_groups_from_the_newest(store: Store) -> None:
    """Following the cursor gives every entry once; a group larger than the limit comes whole."""
    told = conversation(store, 3)
    told.append([calling("b1", "c1"), result("t1", "c1"), assistant("b2")])
    page = told.read(limit=2)
    assert page.ids == ("b1", "t1", "b2")
    assert (page.cursor, page.omitted) == ("b1", 6)
    page = told.read(limit=4)
    assert page.ids == ("a3", "b1", "t1", "b2")
    assert page.cursor == "a3"
    seen: tuple[str, ...] = ()
    cursor = None
    while True:
        page = told.read(before=cursor, limit=2)
        seen = page.ids + seen
        assert len(seen) + page.omitted == 9
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == told.read().ids
    assert told.read(before="u2").ids == ("u1", "a1")
    assert told.read(before="u1").ids == ()


def a_cursor_must_begin_a_group_of_the_path(store: Store) -> None:
    """A page cannot end inside a group, or at a message of another branch."""
    told = conversation(store, 2)
    told.append([user("u3"), assistant("a3"), assistant("a4")])
    told.append(user("alt"), after="a1")
    with refusal("INVALID_GROUP"):
        told.read(before="a4", limit=1)
    with refusal("INVALID_GROUP"):
        told.read(before="alt", limit=1)
    with refusal("MESSAGE_NOT_FOUND"):
        told.read(before="nowhere", limit=1)
    bad: tuple[Any, ...] = (0, -1, True, 1.5)
    for limit in bad:
        with refusal("INVALID_OPTIONS"):
            told.read(limit=limit)


def a_transcript_has_the_live_messages_and_a_revision(store: Store) -> None:
    """The newest part of it agrees with the whole about chain, head and revision."""
    told = conversation(store, 4)
    whole = told.transcript()
    assert [m.id for m in whole.messages] == ["u1", "a1", "u2", "a2", "u3", "a3", "u4", "a4"]
    assert whole.omitted == 0
    part = told.transcript(newest=3)
    assert [m.id for m in part.messages] == ["a3", "u4", "a4"]
    assert part.omitted == 5
    assert (part.chain, part.head, part.revision) == (whole.chain, whole.head, whole.revision)
    assert part.chain_before != whole.chain_before
    told.check_revision(whole.revision)
    told.append(user("u5"))
    with refusal("IDENTITY_CONFLICT"):
        told.check_revision(whole.revision)


def a_revision_covers_the_path_of_its_owner_only(store: Store) -> None:
    """Alternatives and other owners do not conflict; a redaction on the path does."""
    told = conversation(store, 2)
    revision = told.transcript().revision
    told.append(user("alt"), after="a1")
    told.fork("helper")
    thread(store, owner="helper").append(user("h1"))
    told.redact("alt")
    told.check_revision(revision)
    told.redact("u1")
    with refusal("IDENTITY_CONFLICT"):
        told.check_revision(revision)


def a_window_is_found_from_kept_counts(store: Store) -> None:
    """Its start is that of a walk from the newest message; each message is counted once."""
    told = conversation(store, 6)
    told.regenerate("u4", assistant("b4", "x" * 7))
    told.append([user("v5"), assistant("c5", "yy")])
    counted: list[str | None] = []

    def count(messages: Sequence[Message]) -> list[int]:
        counted.extend(m.id for m in messages)
        return [len(m.text) for m in messages]

    with refusal("UNSUPPORTED_CAPABILITY"):
        told.window(tokens=5, tokenizer="letters")
    for _ in range(2):
        path = told.transcript().messages
        sizes = [len(m.text) for m in path]
        assert told.tally("letters", count) == sum(sizes)
        assert told.tally("letters", count) == sum(sizes)
        for cap in (1, 2, 5, 9, 10, 11, 100):
            kept = next(i for i in range(len(sizes) + 1) if sum(sizes[i:]) <= cap)
            found = told.window(tokens=cap, tokenizer="letters")
            assert (found.messages, found.tokens) == (len(sizes) - kept, sum(sizes[kept:]))
            assert told.window(messages=cap).messages == min(cap, len(path))
            both = told.window(messages=3, tokens=cap, tokenizer="letters")
            assert both.messages == min(3, len(sizes) - kept)
        assert len(counted) == len(set(counted)), "a message was counted twice"
        told.edit("v5", "another question", id="w5")
    told.redact("u1")
    with refusal("UNSUPPORTED_CAPABILITY"):
        told.window(tokens=5, tokenizer="letters")
    assert told.tally("letters", count) == sum(len(m.text) for m in told.transcript().messages)


_LOOKING: Final[dict[str, dict[str, str]]] = {
    "edit": {"content": "…"},
    "regenerate": {"messages": "…"},
    "select": {},
    "rewind": {},
    "remove": {},
    "redact": {},
}


def what_a_counter_answers_is_checked(store: Store) -> None:
    """One whole number for each message; of anything else nothing is kept."""
    told = conversation(store, 2)
    wrong: tuple[object, ...] = (None, [1], [1] * 5, [-1] * 4, [1.5] * 4, ["1"] * 4, [2**62] * 4)
    for answer in wrong:
        with refusal("INVALID_OPTIONS"):
            told.tally("odd", lambda _, answer=answer: answer)  # type: ignore[misc]
    assert told.tally("odd", lambda messages: [1] * len(messages)) == 4


def what_is_looked_for_is_checked_like_what_is_stored(store: Store) -> None:
    """An id, kind or name that cannot be stored is refused in the same way by every store."""
    from thusfar.thread import threads_sync

    told = conversation(store, 2)
    told.tally("letters", lambda messages: [1] * len(messages))
    odd: Any
    for odd in ("\0", "\ud800", 5, ["a"], True):
        with refusal("INVALID_MESSAGE"):
            told.artifacts(kind=odd)
        with refusal("INVALID_MESSAGE"):
            told.drop_artifacts(odd)
        with refusal("INVALID_MESSAGE"):
            told.window(tokens=5, tokenizer=odd)
    for odd in (5, ["a"], True, b"u1"):
        for name, options in _LOOKING.items():
            with refusal("INVALID_MESSAGE"):
                getattr(told, name)(odd, **options)
        for places in ({"at": odd}, {"before": odd, "limit": 1}):
            with refusal("INVALID_MESSAGE"):
                told.read(**places)
        with refusal("INVALID_MESSAGE"):
            told.append(user("u3"), after=odd)
        with refusal("INVALID_MESSAGE"):
            told.keep_artifact("k", kind="k", first=odd, last="a1", body={})
    for odd in (-1, 1.5, True, "1"):
        with refusal("INVALID_OPTIONS"):
            threads_sync(store, limit=odd)
        with refusal("INVALID_OPTIONS"):
            threads_sync(store, offset=odd)
    assert told.read().ids == ("u1", "a1", "u2", "a2")


def threads_are_listed_newest_change_first(store: Store) -> None:
    """A list has title, times and length; deleted threads are not in it."""
    from thusfar.thread import threads_sync

    conversation(store, 2, id="one")
    conversation(store, 1, id="two")
    thread(store, "two").describe(title="Second", metadata={"tag": ["x"]})
    thread(store, "gone").append(user("u1"))
    thread(store, "gone").delete()
    listed = {info.thread_id: info for info in threads_sync(store)}
    assert set(listed) == {"one", "two"}
    assert listed["one"].messages == 4
    assert (listed["two"].title, listed["two"].metadata) == ("Second", {"tag": ["x"]})
    assert listed["two"].updated_at >= listed["two"].created_at
    assert len(threads_sync(store, limit=1)) == 1
    assert threads_sync(store, limit=1, offset=1) != threads_sync(store, limit=1)


def namespaces_never_mix(store: Store) -> None:
    """The same ids in two namespaces are two threads; one never sees the other."""
    from thusfar.thread import threads_sync

    here, there = store, store.within(f"{store.namespace}-other")
    thread(here).append(user("u1", "here"))
    thread(there).append(user("u1", "there"))
    thread(there).append(user("u2"))
    assert thread(here).read().messages[0].text == "here"
    assert thread(there).read().ids == ("u1", "u2")
    with refusal("MESSAGE_NOT_FOUND"):
        thread(here).read(at="u2")
    thread(there).delete()
    assert thread(here).read().ids == ("u1",)
    assert [info.thread_id for info in threads_sync(here)] == ["t"]
    assert threads_sync(there) == ()


def threads_of_one_namespace_never_mix(store: Store) -> None:
    """The same message id in two threads is two messages."""
    one, two = thread(store, "one"), thread(store, "two")
    one.append(user("u1", "one"))
    two.append(user("u1", "two"))
    one.redact("u1")
    assert two.read().messages[0].text == "two"
    with refusal("MESSAGE_REDACTED"):
        one.append(user("u1", "one"))
