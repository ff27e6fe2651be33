"""Laws of a whole thread: import and export, verification, records, managed turns."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from thusfar.messages import Message, Text
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
from thusfar.thread import SyncThread, Thread


def an_export_and_import_lose_nothing(store: Store) -> None:
    """Branches, owners, tombstones, continuations and receipts come back."""
    told = _grown(store)
    text = told.export()
    copy = thread(store, "copy")
    copy.import_(text)
    assert _without_header(copy.export()) == _without_header(text)
    assert copy.read().ids == told.read().ids
    assert copy.read().messages == told.read().messages
    assert [v.variant for v in copy.read().entries] == [v.variant for v in told.read().entries]
    assert thread(store, "copy", owner="helper").read().ids == ("u1", "a1")
    assert copy.append(user("u1")).replayed
    assert copy.select("u2").ids == told.select("u2").ids
    assert copy.owners().keys() == told.owners().keys()
    sound(copy)


def an_import_is_whole_or_nothing(store: Store) -> None:
    """A line that cannot be read is named, and nothing is stored; a thread is never merged."""
    text = _grown(store).export()
    copy = thread(store, "copy")
    lines = text.splitlines()
    for broken in ("", "{}", "[]", "\n".join([*lines[:3], '{"parent": 1']), lines[0].upper()):
        with refusal("INVALID_TRANSCRIPT"):
            copy.import_(broken)
    unknown_parent = lines[1].replace('"parent":null', '"parent":"nowhere"')
    with refusal("INVALID_TRANSCRIPT"):
        copy.import_("\n".join([lines[0], unknown_parent]))
    newer = lines[0].replace('"schema":1', '"schema":99')
    with refusal("INVALID_TRANSCRIPT"):
        copy.import_(newer)
    assert copy.read().entries == ()
    copy.import_(text)
    with refusal("IDENTITY_CONFLICT"):
        copy.import_(text)


def a_file_that_was_cut_off_is_not_imported(store: Store) -> None:
    """An export counts its lines, so that one without its last lines is no smaller thread."""
    text = _grown(store).export()
    lines = text.split("\n")[:-1]
    copy = thread(store, "copy")
    for kept in range(len(lines)):
        with refusal("INVALID_TRANSCRIPT"):
            copy.import_("\n".join(lines[:kept]))
    with refusal("INVALID_TRANSCRIPT"):
        copy.import_(text + lines[-1])
    for kept in range(0, len(text.encode()) - 1, 97):
        with refusal("INVALID_TRANSCRIPT"):
            copy.import_(text.encode()[:kept])
    assert copy.read().entries == ()
    old = lines[0].replace(f',"lines":{len(lines) - 1}', "")
    assert old != lines[0]
    copy.import_("\n".join([old, *lines[1:]]))
    assert copy.export().split("\n")[1:] == text.split("\n")[1:]


def an_export_is_known_however_it_was_saved(store: Store) -> None:
    """Spaces, the order of keys, a byte order mark and other ends of lines change nothing."""
    text = _grown(store).export()
    rows = [json.loads(line) for line in text.split("\n")[:-1]]
    saved: dict[str, Any] = {
        "spaced": "\n".join(json.dumps(row) for row in rows),
        "sorted": "\n".join(json.dumps(row, sort_keys=True) for row in rows),
        "marked": "\ufeff" + text,
        "marked bytes": b"\xef\xbb\xbf" + text.encode(),
        "windows": text.replace("\n", "\r\n").encode(),
        "blank lines": "\n\n" + text.replace("\n", "\n\n"),
        "buffer": bytearray(text.encode()),
    }
    for name, data in saved.items():
        copy = thread(store, name)
        copy.import_(data)
        assert copy.export().split("\n")[1:] == text.split("\n")[1:], name
    with refusal("INVALID_TRANSCRIPT"):
        thread(store, "copy").import_(text.encode().replace(b"Everything", b"\xe9"))


def an_import_believes_no_line_that_cannot_be(store: Store) -> None:
    """Times, titles, flags and places are checked; what was refused leaves nothing behind."""
    header, group, *rest = _grown(store).export().splitlines()
    copy = thread(store, "copy")
    bad = (
        header.replace('"title":"Everything"', '"title":"\\u0000"'),
        header.replace('"title":"Everything"', '"title":5'),
        header.replace('"metadata":{"n":1}', '"metadata":[]'),
        header.replace('"created_at":', '"created_at":-'),
        header.replace('"created_at":', '"created_at":9007199254740992,"x":'),
        header.replace('"schema":1', '"schema":true'),
    )
    for one in bad:
        assert one != header, "nothing was made wrong"
        with refusal("INVALID_TRANSCRIPT"):
            copy.import_("\n".join([one, group, *rest]))
    places = group[group.index('"places":') :].partition(',"group"')[0]
    for wrong in (
        '[9,0,-1,6,""]',
        '[0,1,-1,6,""]',
        '[0,0,-1,6,"x"]',
        '[0,0,-1,999,""]',
        '[true,0,-1,6,""]',
    ):
        with refusal("INVALID_TRANSCRIPT"):
            copy.import_("\n".join([header, group.replace(places, f'"places":[{wrong}]'), *rest]))
    for old, new in (
        ('"parent":null', '"parent":null,"flags":4'),
        ('"created_at":', '"created_at":1e9,"x":'),
    ):
        with refusal("INVALID_TRANSCRIPT"):
            copy.import_("\n".join([header, group.replace(old, new, 1), *rest]))
    assert copy.read().entries == ()
    copy.import_("\n".join([header, group, *rest]))
    sound(copy)


def a_managed_turn_is_one_group_behind_its_plan(store: Store) -> None:
    """If the head moved meanwhile, the turn becomes an alternative, with a receipt."""
    told = conversation(store, 1)
    planned = told.transcript()
    turn = [user("u2"), calling("b1", "c1"), result("t1", "c1"), assistant("b2")]
    told.append(user("elsewhere"))
    commit = told.commit_turn(turn, after=planned.head)
    assert (commit.status, commit.parent_id) == ("alternative", "a1")
    assert told.read().ids == ("u1", "a1", "elsewhere")
    assert told.select("u2").ids == ("u1", "a1", "u2", "b1", "t1", "b2")
    assert {e.group for e in told.read().entries[2:]} == {"u2"}
    commit = told.commit_turn([user("u3"), assistant("b3")], after="b2")
    assert commit.status == "selected"
    assert told.commit_turn([user("u3"), assistant("b3")], after="b2").replayed
    with refusal("INVALID_GROUP"):
        told.commit_turn([user("u4"), calling("b4", "c9")], after="b3")
    sound(told)


def a_turn_can_be_the_first_of_a_thread(store: Store) -> None:
    """A plan over an empty thread commits at the root."""
    told = thread(store)
    assert told.transcript().head is None
    commit = told.commit_turn([user("u1"), assistant("a1")], after=None)
    assert (commit.status, commit.parent_id) == ("selected", None)
    late = told.commit_turn([user("v1"), assistant("b1")], after=None)
    assert late.status == "alternative"
    sound(told)


def async_and_sync_do_the_same(store: Store) -> None:
    """The async verbs run the same steps."""

    async def tell() -> tuple[str, ...]:
        told = Thread("t", store=store)
        await told.append(user("u1"))
        await asyncio.gather(*(told.append(assistant(f"a{i}")) for i in range(5)))
        await told.redact("u1")
        found = await told.verify()
        assert found.ok
        return (await told.read()).ids

    ids = asyncio.run(_closing(store, tell()))
    assert ids[0] == "u1"
    assert set(ids) == {"u1", *(f"a{i}" for i in range(5))}
    assert thread(store).read().ids == ids


async def _closing(store: Store, work: object) -> tuple[str, ...]:
    """Let an async store leave the event loop before it ends."""
    try:
        return await work  # type: ignore[no-any-return, misc]
    finally:
        leave = getattr(store, "leave_loop", None)
        if leave is not None:
            await leave()


def order_never_depends_on_a_clock(store: Store) -> None:
    """A clock that steps back changes no order."""
    told = thread(store)
    told.append(user("u1"))
    told.append([calling("a1", "c1"), result("t1", "c1")])
    told.append(assistant("a2"))
    text = told.export()
    lines = text.splitlines()
    stamps = iter((100_000, 205_500, 205_310))
    for i in range(1, 4):
        before, _, rest = lines[i].partition('"created_at":')
        lines[i] = f'{before}"created_at":{next(stamps)}{rest[rest.index(",") :]}'
    copy = thread(store, "copy")
    copy.import_("\n".join(lines))
    assert copy.read().ids == ("u1", "a1", "t1", "a2")
    assert [e.created_at for e in copy.read().entries] == [100_000, 205_500, 205_500, 205_310]


def an_unknown_wire_block_is_kept(store: Store) -> None:
    """What has no canonical form comes back as it was, key by key."""
    from thusfar.messages import Native

    raw = '{"type":"hologram","z":1,"a":{"k":null}}'
    told = thread(store)
    told.append(Message("assistant", (Native("openai-responses", "hologram", raw),), id="x1"))
    told.append(Message("assistant", (Text("hello"),), id="a1", metadata={"details": None}))
    part = told.read().messages[0].parts[0]
    assert isinstance(part, Native)
    assert part.raw == raw
    assert told.read().messages[1].metadata == {"details": None}


def title_and_metadata_are_kept(store: Store) -> None:
    """They are the application's, and may be set before the first message."""
    told = thread(store)
    told.describe(title="Order 17 – Überweisung", metadata={"a": {"b": [1, None]}})
    told.append(user("u1"))
    told.describe(title="Order 18")
    info = told.info()
    assert (info.title, info.metadata, info.messages) == (
        "Order 18",
        {"a": {"b": [1, None]}},
        1,
    )
    with refusal("INVALID_MESSAGE"):
        told.describe(title="\0")
    with refusal("INVALID_MESSAGE"):
        told.describe(metadata={"x": b""})


def _grown(store: Store) -> SyncThread:
    """A thread with everything in it."""
    told = conversation(store, 3)
    told.describe(title="Everything", metadata={"n": 1})
    told.append([calling("c1", "k1"), result("r1", "k1"), assistant("d1", "s\0e\ud800")])
    told.edit("u2", "edited", id="e2")
    told.append(calling("o1", "k2"), open=True)
    told.append(user("alt"), after="a1")
    told.fork("helper", at="a1")
    told.redact("r1", "u3")
    told.remove("a2")
    told.append(result("o2", "k2"))
    sound(told)
    return told


def _without_header(text: str) -> list[str]:
    return text.splitlines()[1:]
