"""Laws of search: the same messages in the same order on every store, whatever is indexed."""

from __future__ import annotations

from typing import Any

from thusfar.messages import Message, Text, ToolCall, ToolResult
from thusfar.storage.base import Store
from thusfar.storage.fulltext import ReadIndexed
from thusfar.storage.rows import POSITION_MASK
from thusfar.testing.store_laws.told import (
    assistant,
    conversation,
    refusal,
    result,
    sound,
    thread,
    user,
)
from thusfar.thread import SyncThread

_MANY = 300  # more than a search reads without an index


def a_search_finds_all_words_in_any_order_and_case(store: Store) -> None:
    """Newest first, with the place among the live messages; beginnings of words count."""
    told = thread(store)
    told.append(user("u1", "My order arrived broken."))
    told.append(assistant("a1", "I refunded the ORDER."))
    told.append(user("u2", "Reorder it, id 7."))
    assert _ids(told, "order") == ["a1", "u1"]
    assert _ids(told, "REFUND order") == ["a1"]
    assert _ids(told, "order refund") == ["a1"]
    assert _ids(told, "i") == ["a1"]
    assert _ids(told, "id 7") == ["u2"]
    assert _ids(told, "order missing") == []
    assert [found.position for found in told.search("order")] == [1, 0]
    assert told.search("order")[0].message == assistant("a1", "I refunded the ORDER.")


def nothing_in_a_search_is_syntax(store: Store) -> None:
    """Quotes, operators, wildcards and controls only separate words, read or indexed."""
    for name, filler in (("short", 1), ("long", _MANY)):
        told = thread(store, name)
        told.append([user(f"f{i}", f"filler {i}") for i in range(filler)])
        text = 'He said "NEAR the OR gate", AND (not) \\ that; 777% -- C:\\tmp* ^x'
        told.append(user("u1", text))
        for words in (
            '"NEAR the OR gate"',
            "near AND or",
            "NOT that",
            "(gate",
            "gate)",
            "gate*",
            "^gate",
            "-gate",
            "that'; --",
            "c:\\tmp*",
            "{gate}: +gate",
            "777%",
            "gate\x00",
            "\ud800 gate",
            "gate & that | said ! <->",
        ):
            assert _ids(told, words) == ["u1"], words
        for words in ("", '"', "*", "()", "\x00", "' OR 1=1 --", "'; DROP TABLE thusfar_node"):
            assert _ids(told, words) == [], words
        assert _is_indexed(store, name) == (name == "long")


def every_script_can_be_searched(store: Store) -> None:
    """Words of any script; text without spaces and pictures wherever they stand."""
    told = thread(store)
    told.append([user(f"f{i}", f"filler {i}") for i in range(_MANY)])
    for name, text in (
        ("han", "我住在北京市。"),
        ("kana", "カードを失くしました"),
        ("thai", "ฉันรักประเทศไทย"),
        ("hindi", "मुझे हिन्दी में बताओ"),
        ("cyrillic", "Быстрая ЛИСА"),
        ("arabic", "أين طلبي؟"),
        ("accents", "Crème brûlée"),
        ("greek", "ΟΔΥΣΣΕΥΣ"),
        ("wide", "ＡＢＣ１２３"),
        ("picture", "great👩‍💻work🎉"),
        ("german", "Straße"),
    ):
        told.append(user(name, text))
    told.append([user(f"g{i}", f"filler {i}") for i in range(_MANY)])
    for words, expected in (
        ("北京", ["han"]),
        ("京", ["han"]),
        ("京北", []),
        ("北市", []),
        ("カード", ["kana"]),
        ("ไทย", ["thai"]),
        ("हिन्दी", ["hindi"]),
        ("лис", ["cyrillic"]),
        ("طلبي", ["arabic"]),
        ("cre\u0300me BRÛL", ["accents"]),
        ("creme", []),
        ("οδυσσευς", ["greek"]),
        ("abc123", ["wide"]),
        ("🎉", ["picture"]),
        ("💻", ["picture"]),
        ("STRASSE", ["german"]),
        ("北京 カード", []),
    ):
        assert _ids(told, words) == expected, words
    assert _is_indexed(store)


def what_is_indexed_is_found_like_what_is_read(store: Store) -> None:
    """A long path is indexed by a search; appends are found before and after."""
    told = thread(store)
    told.append([user(f"m{i}", f"word{i % 7} number{i}") for i in range(_MANY)])
    assert not _is_indexed(store)
    expected = [f"m{i}" for i in reversed(range(_MANY)) if i % 7 == 3]
    assert _ids(told, "word3") == expected[:10]
    assert _is_indexed(store)
    assert _ids(told, "word3", limit=None) == expected
    told.append(user("late", "number late, word3"))
    assert _ids(told, "word3", limit=None) == ["late", *expected]
    assert _ids(told, "word3", limit=2) == ["late", expected[0]]
    assert _ids(told, "number number1", limit=None)[-1] == "m1"
    told.append([user(f"n{i}", f"word{i % 7}") for i in range(_MANY)])
    assert len(_ids(told, "word3", limit=None)) == 1 + 2 * len(expected)
    assert _ids(told, "number299") == ["m299"]
    sound(told)


def a_search_of_a_very_long_path_indexes_it_bit_by_bit(store: Store) -> None:
    """Each search finds the same, however much is indexed by then."""
    told = thread(store)
    for low in range(0, 5_000, 500):
        told.append([user(f"m{i}", f"term{i % 1_250}") for i in range(low, low + 500)])
    expected = [f"m{i}" for i in (4_999, 3_749, 2_499, 1_249)]
    reached = []
    for _ in range(4):
        assert _ids(told, "term1249") == expected
        reached.append(_reached(store))
    assert reached[0] < reached[1] < reached[2] == reached[3] == 5_000


def a_search_goes_on_before_a_message(store: Store) -> None:
    """Each next page begins where the last one ended."""
    told = thread(store)
    told.append([user(f"m{i}", f"page{i % 2}") for i in range(_MANY)])
    pages: list[str] = []
    before: str | None = None
    while page := told.search("page1", limit=40, before=before):
        pages += [found.message.id or "" for found in page]
        before = pages[-1]
    assert pages == [f"m{i}" for i in reversed(range(_MANY)) if i % 2]
    with refusal("MESSAGE_NOT_FOUND"):
        told.search("page1", before="nowhere")
    with refusal("INVALID_OPTIONS"):
        told.search("page1", limit=0)
    with refusal("INVALID_OPTIONS"):
        told.search(b"page1")  # type: ignore[arg-type]


def a_search_sees_the_selected_path_only(store: Store) -> None:
    """Alternatives are found once they are selected; each owner searches its own path."""
    told = thread(store)
    told.append([user(f"m{i}", f"common number{i}") for i in range(_MANY)])
    told.append(user("old", "the question was apples"))
    told.append([assistant(f"o{i}", f"apples {i}") for i in range(_MANY)])
    other = told.fork("other")
    told.edit("old", "the question was pears", id="new")
    assert _ids(told, "apples") == []
    assert _ids(told, "pears") == ["new"]
    assert _ids(told, "number7") == _ids(other.sync, "number7")
    assert _ids(other.sync, "question") == ["old"]
    with refusal("INVALID_GROUP"):
        told.search("common", before="o1")
    told.select("old")
    assert _ids(told, "question") == ["old"]
    assert _ids(told, "apples", limit=1) == [f"o{_MANY - 1}"]


def what_is_erased_is_found_no_more(store: Store) -> None:
    """A redaction, a removal and a deletion, of what was indexed and of what was not."""
    for name, filler in (("short", 3), ("long", _MANY)):
        told = thread(store, name)
        told.append([user(f"m{i}", f"secret{i} common") for i in range(filler)])
        told.append(user("u1", "secret passport"))
        told.append([assistant("r1", "secret draft"), user("r2", "secret note")])
        assert _ids(told, "passport") == ["u1"]
        told.redact("u1", "m0")
        told.remove("r1")
        assert _ids(told, "passport") == []
        assert _ids(told, "draft") == []
        assert _ids(told, "secret0") == []
        assert _ids(told, "secret", limit=None) == [f"m{i}" for i in reversed(range(1, filler))]
        assert told.search("secret1", limit=None)[-1].position == 0, "places count live messages"
        told.append(user("u2", "another secret"))
        told.edit("u2", "harmless", id="u3")
        told.delete(branch="u2")
        told.append([user(f"n{i}", "again") for i in range(_MANY)])
        assert _ids(told, "another") == []
        assert _ids(told, "harmless") == ["u3"]
        assert _ids(told, "secret1", limit=None)[-1] == "m1"
        sound(told)
        assert told.verify(erased=True).ok
        told.delete()
        with refusal("THREAD_DELETED"):
            told.search("common")
        assert not _is_indexed(store, name)


def a_search_never_leaves_its_namespace(store: Store) -> None:
    """The same thread id in two namespaces is two threads, also in the index."""
    north, south = store.within(f"{store.namespace}-n"), store.within(f"{store.namespace}-s")
    for place, word in ((north, "north"), (south, "south")):
        told = thread(place)
        told.append([user(f"m{i}", f"{word} common") for i in range(_MANY)])
        assert len(told.search("common", limit=None)) == _MANY
    for place, own, foreign in ((north, "north", "south"), (south, "south", "north")):
        assert len(thread(place).search(own, limit=None)) == _MANY
        assert thread(place).search(foreign) == ()
        assert _is_indexed(place)
    thread(north).delete()
    assert len(thread(south).search("common", limit=None)) == _MANY


def calls_and_results_are_searched_too(store: Store) -> None:
    """Tool names, arguments and results; a thread that nobody appended to has nothing."""
    assert thread(store, "empty").search("anything") == ()
    told = thread(store)
    call = ToolCall("c1", "look_up_weather", '{"city": "Ulaanbaatar"}')
    told.append([Message("assistant", (call,), id="a1"), result("t1", "c1", "minus thirty")])
    told.append(Message("user", (Text("one"), Text("two")), id="u1"))
    assert _ids(told, "weather") == ["a1"]
    assert _ids(told, "ulaan") == ["a1"]
    assert _ids(told, "thirty") == ["t1"]
    assert _ids(told, "two one") == ["u1"]
    assert _ids(told, "onetwo") == []


def a_long_message_is_found_by_any_word(store: Store) -> None:
    """Whatever its size: words, one endless word, and a text in a script without spaces."""
    told = conversation(store, 1)
    told.append([user(f"f{i}", "filler") for i in range(_MANY)])
    told.append(user("words", " ".join(f"term{i}" for i in range(50_000))))
    told.append(user("most", " ".join(f"{i:05x}{i:04x}zzz" for i in range(70_000))))
    told.append(user("blob", "x" * 200_000 + "y"))
    told.append(user("han", "".join(chr(0x4E00 + i % 20_000) for i in range(40_000))))
    told.append([user(f"g{i}", "filler") for i in range(_MANY)])
    assert _ids(told, "term49999") == ["words"]
    assert _ids(told, "0fffffffffff") == []
    assert _ids(told, "0ffffffffzzz 00000") == ["most"]
    assert _ids(told, "x" * 200_000) == ["blob"]
    assert _ids(told, "x" * 200_001) == []
    assert _ids(told, "".join(chr(0x4E00 + i) for i in range(19_000, 19_100))) == ["han"]
    assert _is_indexed(store)


def a_result_of_parts_is_one_text_of_many(store: Store) -> None:
    """Words of two parts are found together, and never as one word."""
    told = thread(store)
    parts = (Text("alpha"), Text("beta"))
    told.append(
        [
            Message("assistant", (ToolCall("c", "look"),), id="a"),
            Message("tool", (ToolResult("c", parts=parts),), id="t"),
        ]
    )
    assert _ids(told, "beta alpha") == ["t"]
    assert _ids(told, "alphabeta") == []


def _ids(told: SyncThread, words: str, **options: Any) -> list[str | None]:
    return [found.message.id for found in told.search(words, **options)]


def _is_indexed(store: Store, thread_id: str = "t") -> bool:
    def steps() -> Any:
        return (yield ReadIndexed(thread_id))

    return bool(store.run(steps()))


def _reached(store: Store) -> int:
    """How many messages of the one branch are indexed."""

    def steps() -> Any:
        return (yield ReadIndexed("t"))

    (row,) = store.run(steps()).values()
    reached: int = (row.node & POSITION_MASK) + 1
    return reached
