"""Laws of append: whole groups, once, exactly where they were meant to be."""

from __future__ import annotations

from msgspec.structs import replace

from thusfar.digests import message_digest
from thusfar.messages import (
    Audio,
    File,
    Image,
    Message,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
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
from thusfar.thread import Thread


def an_append_is_read_back_equal(store: Store) -> None:
    """What was appended comes back as the same value, by another handle too."""
    told = thread(store)
    message = Message("user", (Text("Weather in Oslo?"),), id="u1", name="Ada", metadata={"n": 1})
    commit = told.append(message)
    snapshot = thread(store).read()
    assert snapshot.messages == (message,)
    assert (commit.status, commit.message_ids, commit.parent_id) == ("selected", ("u1",), None)
    assert commit.selected_head == "u1"
    assert not commit.replayed
    assert snapshot.entries[0].variant is None, "a linear thread has no variants"


def every_kind_of_part_is_read_back_equal(store: Store) -> None:
    """Text, media, calls, results, reasoning and native blocks survive, and so do their digests."""
    parts = (
        Text("a", wire='{"anthropic":{"cache_control":{"type":"ephemeral"}}}'),
        Image(mime="image/png", data="aGk="),
        Audio(url="https://example.org/a.wav"),
        File(file_id="f1", name="a.pdf"),
        Reasoning("because", signature="sig", provider="anthropic"),
        Native("openai-responses", "hologram", '{"type":"hologram","z":1,"a":2}'),
        ToolCall("c1", "look", '{"z": 1, "a": [1.0, 1]}'),
    )
    group = [
        Message("assistant", parts, id="a1", wire='{"x":{"k":null}}'),
        Message(
            "tool",
            (ToolResult("c1", name="look", parts=(Text("ok"),), is_error=True),),
            id="t1",
        ),
    ]
    told = thread(store)
    told.append(group)
    assert told.read().messages == tuple(group)
    sound(told)


def any_text_comes_back_character_by_character(store: Store) -> None:
    """NUL, lone surrogates, controls, line separators and astral characters survive everywhere."""
    texts = ("rain \0 today?", "\ud83d", "\udc00x\ud800", "\x01\x1f\x7f\x85\u2028", "😀é漢", "")
    told = thread(store)
    for i, text in enumerate(texts):
        told.append(Message("user", (Text(text),), id=f"m{i}", metadata={"k\0": text}))
    read = told.read().messages
    assert tuple(m.text for m in read) == texts
    assert tuple(m.metadata["k\0"] for m in read) == texts
    nul = Message("user", (Text(texts[0]),))
    assert message_digest(read[0]) == message_digest(nul)
    told.append(user("after"))
    sound(told)


def a_call_of_any_id_and_name_is_stored_and_answered(store: Store) -> None:
    """NUL and lone surrogates too, in one group and in an open one; an export has them as well."""
    told = thread(store)
    for i, odd in enumerate(("nul\0", "half \ud800", "line\u2028\x85\x1b", "\ufffe\U0010ffff")):
        call = Message(
            "assistant", (ToolCall(odd, odd),), name=odd, id=f"a{i}", metadata={odd: odd}
        )
        told.append([call, result(f"t{i}", odd, odd)])
        told.append(Message("assistant", (ToolCall(odd, odd),), id=f"b{i}"), open=True)
        told.append(user(f"u{i}", odd))
        told.append(result(f"r{i}", odd, odd))
        told.regenerate(f"u{i}", user(f"v{i}"))
        told.append(result(f"s{i}", odd))
        assert told.read(at=f"a{i}").messages[-1] == call
        sound(told)
    copy = thread(store, "copy")
    copy.import_(told.export())
    assert copy.export().split("\n")[1:] == told.export().split("\n")[1:]
    assert copy.read().messages == told.read().messages
    sound(copy)


def numbers_and_key_order_of_arguments_are_kept(store: Store) -> None:
    """Arguments are the text received: neither sorted nor rewritten."""
    arguments = '{"b": 1E400, "a": 0.10, "a": 12345678901234567890123}'
    told = thread(store)
    call = Message("assistant", (ToolCall("c1", "f", arguments),), id="a1")
    told.append([call, result("t1", "c1")])
    assert told.read().messages[0] == call


def a_batch_is_one_group_in_order(store: Store) -> None:
    """The messages of one append share a group and follow each other."""
    told = thread(store)
    told.append([user("u1"), assistant("a1"), user("u2")])
    entries = told.read().entries
    assert [e.id for e in entries] == ["u1", "a1", "u2"]
    assert [e.parent_id for e in entries] == [None, "u1", "a1"]
    assert {e.group for e in entries} == {"u1"}


def a_tool_exchange_is_appended_whole(store: Store) -> None:
    """A call and its result are one group; half of one is refused and nothing is stored."""
    told = thread(store)
    told.append(user("u1"))
    with refusal("INVALID_GROUP"):
        told.append(calling("a1", "c1"))
    with refusal("INVALID_GROUP"):
        told.append(result("t1", "c1"))
    with refusal("INVALID_GROUP"):
        told.append([calling("a1", "c1", "c2"), result("t1", "c1")])
    with refusal("INVALID_GROUP"):
        told.append([result("t1", "c1"), calling("a1", "c1")])
    assert told.read().ids == ("u1",)
    told.append([calling("a1", "c1"), result("t1", "c1"), assistant("a2")])
    assert told.read().ids == ("u1", "a1", "t1", "a2")


def results_pair_with_the_latest_open_call_of_their_id(store: Store) -> None:
    """Call ids may recur in one thread, and within one group once they were answered."""
    told = thread(store)
    told.append([calling("a1", "c1"), result("t1", "c1"), calling("a2", "c1"), result("t2", "c1")])
    with refusal("INVALID_GROUP"):
        told.append([calling("a3", "c1"), calling("a4", "c1"), result("t3", "c1")])
    told.append([calling("a3", "c1"), result("t3", "c1")])
    assert len(told.read().ids) == 6


def calls_without_ids_pair_by_name_and_order(store: Store) -> None:
    """Wires without call ids are stored too."""
    call = Message("assistant", (ToolCall(None, "f"), ToolCall(None, "g")), id="a1")
    answers = Message("tool", (ToolResult(None, "f"), ToolResult(None, "g")), id="t1")
    told = thread(store)
    told.append([call, answers])
    with refusal("INVALID_GROUP"):
        told.append([Message("assistant", (ToolCall(None, "f"),)), replace(answers, id="t2")])
    assert told.read().messages == (call, answers)


def an_open_group_is_closed_by_a_later_append(store: Store) -> None:
    """A call may wait for its result, when that is said, and is answered once."""
    told = thread(store)
    told.append(user("u1"))
    told.append(calling("a1", "c1", "c2"), open=True)
    assert told.transcript().open_calls == 2
    told.append(result("t1", "c1"))
    assert told.transcript().open_calls == 1
    told.append(user("u2", "still there?"))
    told.append([result("t2", "c2"), assistant("a2")])
    assert told.transcript().open_calls == 0
    with refusal("INVALID_GROUP"):
        told.append(result("t3", "c2"))
    sound(told)


def an_append_repeated_exactly_is_stored_once(store: Store) -> None:
    """Same ids, content and position give the first receipt, also after the head moved on."""
    told = thread(store)
    first = told.append([user("u1"), assistant("a1")])
    again = told.append([user("u1"), assistant("a1")])
    assert again.replayed
    assert again.message_ids == first.message_ids
    assert again.committed_at == first.committed_at
    told.append(user("u2"))
    late = told.append([user("u1"), assistant("a1")], after=None)
    assert late.replayed
    assert late.status == "selected"
    assert told.read().ids == ("u1", "a1", "u2")


def an_id_never_stands_for_anything_else(store: Store) -> None:
    """Other content, role, metadata, group or position under a stored id is a conflict."""
    told = conversation(store, 2)
    told.append([user("x1"), assistant("x2")])
    with refusal("IDENTITY_CONFLICT"):
        told.append(user("u1", "another text"))
    with refusal("IDENTITY_CONFLICT"):
        told.append(assistant("u1"))
    with refusal("IDENTITY_CONFLICT"):
        told.append(Message("user", (Text("…"),), id="u1", metadata={"a": 1}))
    with refusal("IDENTITY_CONFLICT"):
        told.append(user("u2"), after=None)
    with refusal("IDENTITY_CONFLICT"):
        told.append(user("x1"))
    with refusal("IDENTITY_CONFLICT"):
        told.append([user("u2"), assistant("new")])
    assert told.read().ids == ("u1", "a1", "u2", "a2", "x1", "x2")
    sound(told)


def a_message_without_an_id_gets_one(store: Store) -> None:
    """Made ids are unique, so that equal messages are two messages."""
    told = thread(store)
    one = told.append("Hello")
    two = told.append("Hello")
    assert one.message_ids != two.message_ids
    assert [m.text for m in told.read().messages] == ["Hello", "Hello"]


def an_id_made_for_a_message_names_it_alone(store: Store) -> None:
    """A made id is found, repeated and refused like any other, in its own thread only."""
    told, other = thread(store), thread(store, "other")
    first = told.append([user(None, "Hello"), assistant(None, "again")]).message_ids
    second = told.append("Hello").message_ids[0]
    again = told.append(user(second, "Hello"), after=first[-1])
    assert (again.replayed, again.message_ids) == (True, (second,))
    assert told.read(at=first[0]).ids == first[:1]
    with refusal("IDENTITY_CONFLICT"):
        told.append(user(second, "Another"))
    with refusal("IDENTITY_CONFLICT"):
        told.append([user(first[0], "Hello"), assistant("new", "again")])
    with refusal("MESSAGE_NOT_FOUND"):
        other.append("Hello", after=second)
    assert other.append(user(second, "Mine"), after=None).status == "selected"
    assert [m.text for m in other.read().messages] == ["Mine"]
    sound(told)
    sound(other)


def a_made_id_is_never_used_again(store: Store) -> None:
    """Neither for what stands at the same place later, nor by a caller."""
    told = thread(store)
    kept = told.append("Hello").message_ids[0]
    gone = told.append(assistant(None, "Good day")).message_ids[0]
    told.rewind(kept)
    told.delete(branch=gone)
    new = told.append(assistant(None, "Good day")).message_ids[0]
    assert new != gone
    for refused in (lambda: told.append(assistant(gone, "Good day")), lambda: told.read(at=gone)):
        with refusal("MESSAGE_REDACTED"):
            refused()
    told.redact(new)
    with refusal("MESSAGE_REDACTED"):
        told.append(assistant(new, "Good day"), after=kept)
    sound(told)


def an_id_that_looks_made_may_be_chosen(store: Store) -> None:
    """What a caller calls a message is its id, whatever an id made here looks like."""
    told = thread(store)
    told.append("Hello")
    for chosen in ("msg_" + "0" * 32, f"msg_{2**24 + 1:016x}{7:016x}", "msg_" + "f" * 32):
        told.append(user(chosen, "Mine"))
        assert told.append(user(chosen, "Mine")).replayed
        assert told.read(at=chosen).ids[-1] == chosen
    with refusal("IDENTITY_CONFLICT"):
        told.append(user("msg_" + "f" * 32, "Other"))
    sound(told)


def bad_ids_and_values_are_refused_before_anything_is_written(store: Store) -> None:
    """Ids have a length and no control characters; what is not JSON is named by its place."""
    told = thread(store)
    for bad in ("", " u1", "u1 ", "u\0", "u\n1", "x" * 513, "\ud800"):
        with refusal("INVALID_MESSAGE"):
            told.append(user(bad))
        with refusal("INVALID_MESSAGE"):
            Thread(bad, store=store)
    for value in (float("nan"), float("inf"), b"\0\xff", {1: "a"}, {"k": {1, 2}}):
        with refusal("INVALID_MESSAGE"):
            told.append(Message("user", (Text("…"),), id="u1", metadata={"value": value}))
    with refusal("INVALID_GROUP"):
        told.append([])
    with refusal("INVALID_GROUP"):
        told.append([user("u1"), assistant("u1")])
    assert told.read().entries == ()
    told.append(user("x" * 512))


def values_that_are_not_json_are_converted_by_one_rule(store: Store) -> None:
    """Dates become ISO 8601, decimals text, tuples lists; twice the same value, the same bytes."""
    from datetime import UTC, datetime
    from decimal import Decimal

    values = {"at": datetime(2025, 3, 1, 10, tzinfo=UTC), "sum": Decimal("1.10"), "pair": (1, 2)}
    told = thread(store)
    told.append(Message("user", (Text("…"),), id="u1", metadata=values))
    again = told.append(Message("user", (Text("…"),), id="u1", metadata=values))
    assert again.replayed
    assert told.read().messages[0].metadata == {
        "at": "2025-03-01T10:00:00+00:00",
        "sum": "1.10",
        "pair": [1, 2],
    }


def an_unknown_parent_is_refused(store: Store) -> None:
    """A place that does not exist, or lies inside a group, stores nothing."""
    told = thread(store)
    with refusal("MESSAGE_NOT_FOUND"):
        told.append(user("u0"), after="tmp-7")
    told.append(user("u1"))
    with refusal("MESSAGE_NOT_FOUND"):
        told.append(user("u2"), after="tmp-7")
    told.append([calling("a1", "c1"), result("t1", "c1"), assistant("a2")])
    with refusal("INVALID_GROUP"):
        told.append(user("u2"), after="t1")
    assert told.read().ids == ("u1", "a1", "t1", "a2")
    sound(told)


def a_handle_is_frozen_and_inert(store: Store) -> None:
    """Making a handle stores nothing, and reading a new thread is empty."""
    handle = Thread("t", store=store)
    try:
        handle.id = "other"
    except AttributeError:
        pass
    else:
        raise AssertionError("a handle was changed")
    assert handle.sync.read().entries == ()
    assert handle.sync.transcript().messages == ()
    with refusal("THREAD_NOT_FOUND"):
        handle.sync.info()


def many_messages_in_one_group_are_stored_whole(store: Store) -> None:
    """A group may be as long as a long agent run."""
    told = thread(store)
    group = [user("m0"), *(assistant(f"m{i}") for i in range(1, 1200))]
    told.append(group)
    again = told.append(group)
    assert again.replayed
    assert told.read().ids == tuple(f"m{i}" for i in range(1200))
    assert len(told.read(limit=3).entries) == 1200, "the newest group is whole"
    sound(told)
