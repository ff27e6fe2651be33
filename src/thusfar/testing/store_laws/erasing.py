"""Laws of erasure: what is erased is gone with all that was made of it; the rest stays in place."""

from __future__ import annotations

from thusfar.storage.base import Store
from thusfar.testing.store_laws.told import (
    assistant,
    calling,
    conversation,
    refusal,
    result,
    sound,
    thread,
    user,
)
from thusfar.thread import SyncThread


def a_redaction_keeps_the_place_and_nothing_else(store: Store) -> None:
    """Content, role, metadata and time are gone; id and links stay."""
    told = thread(store)
    told.append(user("u1", "my passport is X123"))
    told.append(assistant("a1", "noted X123"))
    told.append(user("u2"))
    erased = told.redact("u1", "a1")
    assert erased.message_ids == ("u1", "a1")
    entries = told.read().entries
    assert [(e.kind, e.id, e.parent_id) for e in entries] == [
        ("redacted", "u1", None),
        ("redacted", "a1", "u1"),
        ("message", "u2", "a1"),
    ]
    assert entries[0].message is None
    assert entries[0].created_at == 0
    assert [m.id for m in told.transcript().messages] == ["u2"]
    assert "X123" not in told.export()
    told.append(assistant("a2"))
    assert told.read().ids == ("u1", "a1", "u2", "a2")
    sound(told)


def a_redaction_is_whole_or_nothing_and_may_be_repeated(store: Store) -> None:
    """An unknown id stops it; a second time it erases nothing."""
    told = conversation(store, 2)
    with refusal("MESSAGE_NOT_FOUND"):
        told.redact("u1", "nowhere")
    assert told.read().entries[0].kind == "message"
    with refusal("INVALID_OPTIONS"):
        told.redact()
    told.redact("u1")
    assert told.redact("u1").message_ids == ()
    sound(told)


def a_redacted_id_is_never_used_again(store: Store) -> None:
    """Appends, edits and replays under it are refused."""
    told = conversation(store, 2)
    told.append([user("x1"), assistant("x2")])
    told.redact("u2", "x1")
    with refusal("MESSAGE_REDACTED"):
        told.append(user("u2"))
    with refusal("MESSAGE_REDACTED"):
        told.append([user("x1"), assistant("x2")])
    with refusal("MESSAGE_REDACTED"):
        told.edit("u2", "new")
    with refusal("MESSAGE_REDACTED"):
        told.edit("u1", "new", id="u2")
    sound(told)


def half_an_exchange_is_never_shown(store: Store) -> None:
    """Redacting a result makes its call unavailable, and the other way round."""
    told = thread(store)
    told.append(user("u1"))
    told.append([calling("a1", "c1"), result("t1", "c1"), assistant("a2")])
    erased = told.redact("t1")
    assert erased.unavailable == ("a1",)
    transcript = told.transcript()
    assert [m.id for m in transcript.messages] == ["u1", "a2"]
    assert transcript.unavailable == ("a1",)
    assert told.read().entries[1].message is not None
    assert not told.read().entries[1].available
    sound(told)


def a_redacted_open_call_cannot_be_answered(store: Store) -> None:
    """Its results, on every branch, leave the transcript, and no later one is taken."""
    told = thread(store)
    told.append(user("u1"))
    told.append(calling("a1", "c1"), open=True)
    told.append([result("t1", "c1"), assistant("x1")])
    told.append(result("t1b", "c1"), after="a1")
    told.redact("a1")
    assert [m.id for m in told.transcript().messages] == ["u1", "x1"]
    told.select("t1b")
    assert told.transcript().messages[-1].id == "u1"
    sound(told)
    told.rewind("a1")
    with refusal("INVALID_GROUP"):
        told.append(result("t9", "c1"))
    sound(told)


def what_was_said_while_a_call_waited_stays(store: Store) -> None:
    """Erasing one remark, or the waiting call itself, takes nothing else along."""
    told = thread(store)
    told.append(user("u1"))
    told.append(calling("a1", "c1"), open=True)
    told.append(user("u2"))
    told.append(assistant("a2"))
    assert told.redact("u2").unavailable == ()
    assert [m.id for m in told.transcript().messages] == ["u1", "a1", "a2"]
    assert told.transcript().open_calls == 1
    sound(told)
    assert told.redact("a1").unavailable == ()
    assert [m.id for m in told.transcript().messages] == ["u1", "a2"]
    assert told.transcript().open_calls == 0
    with refusal("INVALID_GROUP"):
        told.append(result("t1", "c1"))
    sound(told)


def chained_digests_change_behind_an_erasure(store: Store) -> None:
    """No chain of the old content is left, so that it cannot be guessed from one."""
    told = conversation(store, 3)
    before = told.transcript()
    told.redact("u2")
    after = told.transcript()
    assert after.chain != before.chain
    assert len(after.messages) == 5
    assert after.revision != before.revision
    sound(told)


def a_removal_hides_a_group_and_keeps_it(store: Store) -> None:
    """It leaves transcripts, its place stays, and a repeated append still finds it."""
    told = conversation(store, 1)
    told.append([user("x1"), assistant("x2")])
    told.append(user("u2"))
    assert told.remove("x1") == ("x1", "x2")
    assert told.remove("x2") == ()
    assert [m.id for m in told.transcript().messages] == ["u1", "a1", "u2"]
    assert [e.kind for e in told.read().entries] == [
        "message",
        "message",
        "removed",
        "removed",
        "message",
    ]
    assert told.append([user("x1"), assistant("x2")]).replayed
    assert told.redact("x1").message_ids == ("x1",)
    assert told.remove("x1") == ()
    assert told.read().entries[2].kind == "redacted"
    sound(told)


def a_deleted_thread_stays_deleted(store: Store) -> None:
    """Every verb is refused, deleting again is harmless, and its id is never used again."""
    told = conversation(store, 2)
    told.edit("u2", "new")
    told.delete()
    told.delete()
    for attempt in (
        lambda: told.append(user("u9")),
        lambda: told.append(user("u1")),
        told.read,
        told.transcript,
        lambda: told.edit("u1", "x"),
        lambda: told.redact("u1"),
        told.export,
        told.info,
        told.verify,
        lambda: told.select("u1"),
        lambda: told.fork("other"),
    ):
        with refusal("THREAD_DELETED"):
            attempt()
    with refusal("THREAD_NOT_FOUND"):
        thread(store, "never").delete()


def a_thread_with_other_owners_is_not_deleted(store: Store) -> None:
    """They release it first, or the caller says that it may go anyway."""
    told = conversation(store, 1)
    told.fork("helper")
    with refusal("THREAD_IN_USE"):
        told.delete()
    assert told.read().ids == ("u1", "a1")
    thread(store, owner="helper").release()
    told.delete()
    other = conversation(store, 1, id="t2")
    other.fork("helper")
    other.delete(force=True)
    with refusal("THREAD_DELETED"):
        other.read()


def an_alternative_is_deleted_with_all_that_follows(store: Store) -> None:
    """The selected path cannot be; the ids of what is gone are never used again."""
    told = conversation(store, 3)
    told.edit("u2", "secret branch", id="e1")
    told.append(assistant("e2"))
    told.edit("e1", "deeper", id="f1")
    told.select("u2")
    with refusal("THREAD_IN_USE"):
        told.delete(branch="u2")
    erased = told.delete(branch="e1")
    assert erased.message_ids == ("e1", "e2")
    with refusal("MESSAGE_REDACTED"):
        told.append(user("e1"))
    with refusal("MESSAGE_REDACTED"):
        told.read(at="e2")
    assert told.read().ids == ("u1", "a1", "u2", "a2", "u3", "a3")
    assert "secret branch" not in told.export()
    assert told.read(at="f1").ids == ("u1", "a1", "f1")
    sound(told)


def the_answer_of_a_turn_can_be_deleted(store: Store) -> None:
    """What is left of its group is its question, and a page of it is whole."""
    told = thread(store)
    told.commit_turn([user("u1"), assistant("a1"), assistant("a2")], after=None)
    told.regenerate("u1", assistant("b1"))
    assert told.delete(branch="a1").message_ids == ("a1", "a2")
    assert told.read().ids == ("u1", "b1")
    assert told.rewind("u1").ids == ("u1",)
    assert told.read(limit=1).ids == ("u1",)
    told.append(assistant("c1"))
    sound(told)


def the_older_branch_can_be_deleted_too(store: Store) -> None:
    """What was stored first at a place goes, and the place takes new messages."""
    told = conversation(store, 3)
    told.edit("u2", "new", id="e1")
    told.delete(branch="u2")
    assert told.read().ids == ("u1", "a1", "e1")
    assert told.append(user("later"), after="a1").status == "alternative"
    sound(told)
    with refusal("MESSAGE_REDACTED"):
        told.append(user("u3"))
    told.select("later")
    assert told.read().ids == ("u1", "a1", "later")
    sound(told)


def what_is_stored_after_a_deletion_comes_last(store: Store) -> None:
    """A deletion leaves the order of other alternatives; what comes later stands behind them."""
    told = conversation(store, 2)
    told.edit("u2", "second", id="e1")
    told.append(user("other root"), after=None)
    told.edit("e1", "third", id="f1")
    told.delete(branch="u2")
    assert _siblings(told, "f1") == (1, 2, "e1", None)
    told.append(user("later"), after="a1")
    assert _siblings(told, "f1") == (1, 3, "e1", "later")
    told.regenerate("a1", user("last"))
    told.rewind("a1")
    told.append(user("at the tip"))
    assert _siblings(told, "later") == (2, 5, "f1", "last")
    assert _siblings(told, "at the tip") == (4, 5, "last", None)
    starts = ["u1", "other root", "f1", "later", "last", "at the tip"]
    assert [branch.start for branch in told.branches()] == starts
    assert told.branches()[0].leaf == "e1", "an end is a message that nothing follows"
    sound(told)
    copy = thread(store, "copy")
    copy.import_(told.export())
    assert copy.export().splitlines()[1:] == told.export().splitlines()[1:]
    assert copy.branches() == told.branches()


def _siblings(told: SyncThread, message_id: str) -> tuple[object, ...]:
    variant = told.read(at=message_id).entries[-1].variant
    assert variant is not None, "a message had no siblings"
    return variant.index, variant.count, variant.previous, variant.next


def a_receipt_outlives_the_head_that_it_names(store: Store) -> None:
    """The head of that moment may be deleted; the receipt names none then, an export is whole."""
    told = conversation(store, 2)
    told.edit("u2", "gone soon", id="e1")
    assert told.append(user("alt"), after="a1").selected_head == "e1"
    told.select("u2")
    told.delete(branch="e1")
    told.append(user("u3"))
    again = told.append(user("alt"), after="a1")
    assert (again.status, again.selected_head, again.replayed) == ("alternative", None, True)
    copy = thread(store, "copy")
    copy.import_(told.export())
    assert copy.append(user("alt"), after="a1").selected_head is None
    sound(told)


def an_erasure_takes_derived_texts_with_it(store: Store) -> None:
    """An artifact goes at once when any message of its range does, and only then."""
    told = conversation(store, 3)
    told.keep_artifact("S1", kind="digest@1", first="u1", last="a1", body={"text": "User: X123"})
    told.keep_artifact("S2", kind="digest@1", first="u2", last="a2", body={"text": "more"})
    assert [a.key for a in told.artifacts()] == ["S1", "S2"]
    erased = told.redact("u1")
    assert erased.artifacts == 1
    assert [a.key for a in told.artifacts()] == ["S2"]
    told.remove("a2")
    assert told.artifacts() == ()


def an_artifact_belongs_to_the_paths_through_its_range(store: Store) -> None:
    """After an edit the new path does not see it; the old path does."""
    told = conversation(store, 3)
    told.keep_artifact("S1", kind="digest@1", first="u1", last="u2", body={"text": "…"})
    told.edit("u2", "new", id="u2e")
    assert told.artifacts() == ()
    told.select("u2")
    assert [a.key for a in told.artifacts()] == ["S1"]
    told.edit("u2", "new", id="u2f")
    told.delete(branch="u2")
    assert told.artifacts() == ()
