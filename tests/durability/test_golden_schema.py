"""A database and an export of schema 1 are read by today's code, with everything in them.

The files were written by the version that had schema 1 and are never made anew. They hold the
threads `full` (branches, variants, owners, open calls, erasures, artifacts, counts), `long`,
`emptied` and the deleted `gone`, another tenant's `full`, and two records.
"""

from __future__ import annotations

import itertools

import pytest

from durability.golden import GOLDEN, Opening, opening_of
from thusfar.errors import HistoryError
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
from thusfar.storage import MemoryStore, Store
from thusfar.storage import questions as q
from thusfar.testing.store_laws.told import sound
from thusfar.thread import SyncThread, Thread, threads_sync

ODD = "NUL \0 lone \ud800 low \udfff pair \U0001f600 line \u2028 tab \t del \x7f quote '\" \\ é"
TURN = ("s1", "u1", "a1", "u2", "b2", "t1", "t2", "a2")
OPENED = ("u3", "b3", "u3x", "r1", "r2", "a3")
ERASED = ("e1", "e2", "e3", "e4", "e5")


@pytest.fixture(params=["sqlite", "postgres"])
def opening(request: pytest.FixtureRequest) -> Opening:
    """What opens the golden database with today's code."""
    return opening_of(1, request.param, request)


@pytest.fixture
def store(opening: Opening) -> Store:
    """The golden database, opened."""
    return opening()


def _told(store: Store, name: str = "full", owner: str = "main") -> SyncThread:
    return Thread(name, store=store, owner=owner).sync


def test_every_thread_of_schema_1_is_listed_and_sound(store: Store) -> None:
    listed = [(info.thread_id, info.messages) for info in threads_sync(store)]

    assert listed == [("long", 60), ("emptied", 0), ("full", 22)]
    for name, _ in listed:
        sound(_told(store, name))
    sound(_told(store.within("tenant-2")))
    info = _told(store).info()
    assert (info.title, info.metadata) == ("Full \u2028 é😀", {"team": "x", "odd": ODD})
    assert (info.created_at, info.updated_at) == (1_700_000_000_000, 1_700_000_047_000)
    with pytest.raises(HistoryError) as deleted:
        _told(store, "gone").read()
    assert deleted.value.code == "THREAD_DELETED"


def test_every_part_of_a_message_of_schema_1_is_read(store: Store) -> None:
    stored = {m.id: m for m in _told(store).read().messages}

    assert stored["u1"] == Message(
        "user",
        (
            Text(ODD),
            Image("image/png", data="iVBORw0KGgo="),
            Audio("audio/wav", url="https://example.org/a.wav"),
            File("application/pdf", file_id="file-1", name="a.pdf"),
        ),
        id="u1",
        name="Ada",
        metadata={
            "note": ODD,
            "n": 1.5,
            "big": 2**60,
            "list": [None, True, {"k": ""}],
            "pinned": True,
        },
    )
    assert stored["a1"].parts == (
        Reasoning("Think.", signature="c2ln", provider="anthropic"),
        Text("Answer", wire='{"anthropic":{"citations":null}}'),
        Native("anthropic", "server_tool_use", '{"type":"server_tool_use","id":"x"}'),
    )
    assert stored["b2"].parts == (
        ToolCall("c1", "look", '{"b": 1, "a":  2}'),
        ToolCall("c2", "look"),
    )
    assert stored["t1"].parts == (ToolResult("c1", "look", (Text(ODD),)),)
    assert stored["t2"].parts == (
        ToolResult(
            "c2",
            None,
            (Text("no"), Image("image/png", url="https://example.org/i.png")),
            is_error=True,
        ),
    )


def test_the_paths_of_schema_1_are_where_their_owners_left_them(store: Store) -> None:
    told = _told(store)
    page = told.read()
    kinds = {e.id: (e.kind, e.available) for e in page.entries}

    assert page.ids == (*TURN, *OPENED, "u4c", "a4d", *ERASED, "m1", "m2", "u5", "a5", "g1", "g2")
    assert kinds["e1"] == kinds["e3"] == ("redacted", False)
    assert kinds["e2"] == ("message", False)
    assert kinds["m1"] == kinds["m2"] == ("removed", False)
    assert [e.id for e in page.entries if e.open] == ["b3", "g2"]
    assert {e.created_at for e in page.entries if e.kind == "redacted"} == {0}
    transcript = told.transcript()
    assert tuple(m.id for m in transcript.messages) == (
        *TURN,
        *OPENED,
        *("u4c", "a4d", "e4", "e5", "u5", "a5", "g1", "g2"),
    )
    assert (transcript.unavailable, transcript.open_calls) == (("e2",), 1)
    assert told.owners() == {"b": "ba1", "c": "a1", "main": "g2", "ü b": "uu1"}
    assert _told(store, owner="b").read().ids == (*TURN, *OPENED, "bu1", "ba1")
    assert _told(store, owner="ü b").read().ids == ("uu1",)
    assert _told(store, "long").read(limit=4).cursor == "lu28"
    assert _told(store.within("tenant-2")).read().messages[0].text == "same ids, other tenant"


def test_the_branches_of_schema_1_are_all_there(store: Store) -> None:
    told = _told(store)
    variants = {e.id: e.variant for e in told.read().entries if e.variant}

    assert sorted(b.leaf for b in told.branches()) == [
        *("a4c", "ba1", "f2", "g2", "o1", "o2", "root2a", "uu1", "w2")
    ]
    assert {key: (v.index, v.count, v.previous, v.next) for key, v in variants.items()} == {
        "s1": (0, 3, None, "root2"),
        "u4c": (2, 5, "u4b", "w1"),
        "a4d": (1, 2, "a4c", None),
        "g1": (1, 2, "f1", None),
    }
    left = {
        start: told.select(start).ids[-3:] for start in ("u4", "u4b", "w1", "root2", "s1", "f1")
    }
    assert left == {
        "u4": ("u4", "a4", "o1"),
        "u4b": ("u4b", "a4b", "o2"),
        "w1": ("a3", "w1", "w2"),
        "root2": ("root2", "root2a"),
        "s1": ("a3", "w1", "w2"),
        "f1": ("a5", "f1", "f2"),
    }
    sound(told)


def test_what_was_derived_in_schema_1_is_there(store: Store) -> None:
    told = _told(store)

    assert [(a.key, a.kind, a.first, a.last, a.body) for a in told.artifacts()] == [
        ("art-1", "summary", "s1", "a2", {"text": ODD, "n": 3}),
        ("art-2", "summary", "u1", "a3", {"text": "two"}),
    ]
    window = told.window(tokens=20, tokenizer="words")
    assert (window.first, window.messages, window.tokens) == ("e5", 5, 20)
    assert store.run(_record("receipt", "req-1")) == '{"v":1}'
    told.select("w1")
    assert [a.key for a in told.artifacts()] == ["art-1", "art-2", "art-3"]


def test_a_thread_of_schema_1_goes_on(opening: Opening) -> None:
    told = _told(opening())

    replay = told.append(Message("assistant", (Text("to the third"),), id="a4c"), after="u4c")
    told.append(Message("tool", (ToolResult("q1"),), id="g3"))
    told.append([Message("user", (Text("More."),), id="n1")])
    told.edit("u5", "Otherwise.", id="n2")
    with pytest.raises(HistoryError) as erased:
        told.append(Message("user", (Text("Again."),), id="e1"))
    with pytest.raises(HistoryError) as deleted:
        told.append(Message("user", (Text("Again."),), id="d2"))

    assert replay.replayed
    assert erased.value.code == "MESSAGE_REDACTED"
    assert deleted.value.code == "MESSAGE_REDACTED"
    again = _told(opening())
    assert again.read().ids[-2:] == ("m2", "n2")
    assert again.select("u5").ids[-5:] == ("a5", "g1", "g2", "g3", "n1")
    again.redact("t1")
    assert again.artifacts() == ()
    sound(again)


def test_an_export_of_schema_1_is_read_as_the_database_is(store: Store) -> None:
    text = (GOLDEN / "schema_1.jsonl").read_text(encoding="utf-8")
    exports = _exports(text)
    assert list(exports) == ["full", "emptied", "long"]

    for name, export in exports.items():
        told, copy = _told(store, name), _told(MemoryStore(), name)
        copy.import_(export)
        sound(copy)
        assert copy.owners() == told.owners()
        assert {b.leaf: b.length for b in copy.branches()} == {
            b.leaf: b.length for b in told.branches()
        }
        for owner, leaf in itertools.product(told.owners(), (b.leaf for b in told.branches())):
            assert _entries(copy, leaf) == _entries(told, leaf)
            of_copy = Thread(name, store=copy._thread.store, owner=owner).sync
            assert of_copy.transcript().messages == _told(store, name, owner).transcript().messages


def _exports(text: str) -> dict[str, str]:
    """Cut the file into the exports of the default tenant, by thread."""
    found: dict[str, str] = {}
    for part in text.split('{"thusfar":"thread"')[1:]:
        name = part.partition('"thread":"')[2].partition('"')[0]
        found.setdefault(name, f'{{"thusfar":"thread"{part}')
    return found


def _entries(told: SyncThread, leaf: str) -> list[tuple[object, ...]]:
    """Read a path with all that stands in it but the places of siblings."""
    return [
        (e.kind, e.id, e.parent_id, e.message, e.created_at, e.group, e.open, e.available)
        for e in told.read(at=leaf).entries
    ]


def _record(kind: str, key: str) -> object:
    body = yield q.ReadRecord(kind, key)
    return body
