"""An append that takes the shortcut leaves the rows and gives the receipt of the usual way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from thusfar import Message
from thusfar.codec import encode_message
from thusfar.digests import digested, stored_form
from thusfar.errors import HistoryError
from thusfar.messages import Text
from thusfar.storage import SqliteStore
from thusfar.storage.rows import LARGEST_NODE
from thusfar.storage.statements import HEAD_NOW, HEADS, NODE
from thusfar.testing import canonical_transcripts
from thusfar.thread import Thread
from thusfar.thread import shortcut as shortcuts
from thusfar.thread.appending import append_steps
from thusfar.thread.ids import made_id, node_in
from thusfar.thread.paths import Context
from thusfar.thread.values import ThreadCommit

NAMES = itertools.count()
POSITION = 0xFFFFFF


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shortcut") / "rows.db"


@pytest.fixture(scope="module")
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, synchronous="NORMAL", clock=lambda: 7)
    yield opened
    opened.close()


def stored(path: Path, name: str) -> list[tuple[Any, ...]]:
    """What is stored of a thread, without its made ids, its salted chains and its branch."""
    raw = apsw.Connection(str(path))
    select = f"SELECT {NODE} FROM thusfar_node n JOIN thusfar_branch b ON b.branch = n.node >> 24"
    rows = raw.execute(f"{select.replace('depth', 'n.depth')} WHERE b.thread_id = ?", (name,))
    nodes = [
        (node & POSITION, key, *rest[:-2], rest[-1], body.replace(message_id, "id"))
        for node, key, message_id, *rest, body in rows
    ]
    where = "WHERE h.thread_id = ?"
    heads = raw.execute(f"SELECT {HEAD_NOW} FROM {HEADS} {where}", (name,)).fetchall()
    return nodes + [(h[2], h[3] & POSITION, *h[5:11], h[12], h[14]) for h in heads]


def outcome(work: Callable[[], ThreadCommit]) -> tuple[Any, ...]:
    try:
        commit = work()
    except HistoryError as error:
        return (error.code,)
    ids = commit.message_ids
    return commit.status, len(ids), commit.selected_head == ids[-1], commit.committed_at


@settings(max_examples=30)
@given(transcript=canonical_transcripts(defects=True))
def test_the_shortcut_and_the_usual_way_store_the_same(
    store: SqliteStore, path: Path, transcript: list[Message]
) -> None:
    number = next(NAMES)
    short = Thread(f"short-{number}", store=store).sync
    usual = Context(store.namespace, f"usual-{number}", "main")
    for message in [Message("user", (Text("Begin."),)), *transcript]:
        nameless = replace(message, id=None)
        steps = append_steps(usual, store.clock, nameless, open=True)

        one = outcome(lambda message=nameless: short.append(message, open=True))
        other = outcome(lambda steps=steps: store.run(steps))

        assert one == other
    assert stored(path, f"short-{number}") == stored(path, f"usual-{number}")
    assert short.verify().ok


def test_the_shortcut_is_taken_by_plain_messages(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bool] = []

    def watched(*args: Any) -> Any:
        commit = shortcuts.append_at_once(*args)
        taken.append(commit is not None)
        return commit

    monkeypatch.setattr("thusfar.thread.handle.append_at_once", watched)
    told = Thread("taken", store=store).sync
    for text in ("one", "two", "three"):
        told.append(text)
    told.append({"role": "user", "content": "four"})
    told.append(Message("user", (Text("five"),), id="mine"))
    told.append("six")

    assert taken == [False, True, True, True, False, True]
    assert [m.text for m in told.read().messages] == ["one", "two", "three", "four", "five", "six"]


messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "system", "tool"]),
    st.lists(st.builds(Text, st.text(), wire=st.sampled_from(["", '{"openai-chat":{}}']))).map(
        tuple
    ),
    id=st.none() | st.just("m1"),
    name=st.none() | st.text(max_size=3),
    metadata=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=1),
    wire=st.sampled_from(["", '{"openai-chat":{}}']),
)


@given(messages | st.text(st.characters()).map(lambda text: Message("user", (Text(text),))))
def test_one_pass_encodes_and_writes_what_the_digest_covers(message: Message) -> None:
    assert stored_form(message) == (encode_message(message).decode(), digested(message))


@given(st.integers(1, LARGEST_NODE))
def test_a_made_id_tells_its_node(node: int) -> None:
    one, two = made_id(node), made_id(node)

    assert (node_in(one), node_in(two)) == (node, node)
    assert one != two
    assert len(one) == 36


@given(st.text(max_size=40) | st.from_regex("msg_[0-9a-f_ x]{32}", fullmatch=True))
def test_any_other_id_tells_a_node_that_can_be_looked_up_or_none(text: str) -> None:
    assert 0 <= node_in(text) <= LARGEST_NODE
