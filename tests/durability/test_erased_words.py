"""What a search indexed of an erased message goes with it: terms, and what made them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from thusfar.messages import Message, Text
from thusfar.storage import SqliteStore, Store, open_store
from thusfar.storage.fulltext import IndexedRow, ReadIndexed, terms_of
from thusfar.testing.store_laws.told import sound, user
from thusfar.thread import SyncThread, Thread
from thusfar.words import spaced, stems_of

SECRET = "passportx4711 zanzibar quetzalcoatl"
NEIGHBOURS = [f"passportx{n} zanzibar{n}" for n in range(4_600, 4_800) if n != 4_711]


def told_and_searched(store: Store) -> SyncThread:
    """A long thread whose words are indexed, with a secret among words that are nearly the same."""
    told = Thread("t", store=store).sync
    told.append([user(f"m{i}", f"filler {i} and more") for i in range(200)])
    told.append([user(f"n{i}", text) for i, text in enumerate(NEIGHBOURS)])
    told.append(Message("user", (Text(SECRET),), id="s1"))
    assert [found.message.id for found in told.search("passportx4711")] == ["s1"]
    return told


def indexed(store: Store) -> dict[int, IndexedRow]:
    def steps() -> Any:
        return (yield ReadIndexed("t"))

    return store.run(steps())  # type: ignore[no-any-return]


def of_the_secret_alone(salt: str) -> tuple[str, ...]:
    """Terms of the secret that no other message has."""
    others = {stem for text in NEIGHBOURS for stem in stems_of(spaced(text))}
    return terms_of(stems_of(spaced(SECRET)) - others, salt)


def hits(directory: Path, *needles: str) -> int:
    """Count the needles that stand anywhere in the files of a directory."""
    content = b"".join(path.read_bytes() for path in directory.iterdir())
    return sum(needle.encode() in content for needle in needles)


def test_a_redaction_takes_the_terms_out_of_the_files(tmp_path: Path):
    store = SqliteStore(tmp_path / "words.db")
    told = told_and_searched(store)
    (row,) = indexed(store).values()
    terms = of_the_secret_alone(row.salt)
    assert len(terms) == 3
    assert hits(tmp_path, *terms) == 3, "the term was never in the files, so nothing is shown"

    told.redact("s1")

    assert hits(tmp_path, *terms, "passportx4711") == 0
    assert indexed(store) == {row.branch: row}, "the rest of the branch stays indexed"
    assert told.search("passportx4711") == ()
    assert [f.message.id for f in told.search("passportx4712")] == ["n111"]
    connection = apsw.Connection(str(tmp_path / "words.db"))
    connection.execute("INSERT INTO thusfar_words (thusfar_words) VALUES ('integrity-check')")
    sound(told)


def test_a_deletion_takes_the_secret_out_of_the_files_and_every_row(tmp_path: Path):
    store = SqliteStore(tmp_path / "words.db")
    told = told_and_searched(store)
    (row,) = indexed(store).values()
    assert hits(tmp_path, row.salt) == 1

    told.delete()

    assert hits(tmp_path, row.salt, "passportx4711") == 0
    assert indexed(store) == {}
    connection = apsw.Connection(str(tmp_path / "words.db"))
    assert connection.execute("SELECT count(*) FROM thusfar_words").fetchall() == [(0,)]


def test_secure_deletion_is_on_again_after_a_deletion(tmp_path: Path):
    store = SqliteStore(tmp_path / "words.db")
    told_and_searched(store).delete()
    connection = apsw.Connection(str(tmp_path / "words.db"))

    said = connection.execute("SELECT v FROM thusfar_words_config WHERE k = 'secure-delete'")

    assert said.fetchall() == [(1,)]


def test_postgres_forgets_the_whole_branch_so_that_no_key_can_be_guessed(postgres_url: str):
    import psycopg

    store = open_store(postgres_url, namespace="erased-words")
    told = told_and_searched(store)
    (before,) = indexed(store).values()

    told.redact("s1")

    assert indexed(store) == {}
    assert [f.message.id for f in told.search("passportx471", limit=2)] == ["n118", "n117"]
    (after,) = indexed(store).values()
    assert after.salt != before.salt
    assert told.verify(erased=True).erasure == "complete"
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM thusfar_words WHERE namespace = 'erased-words'"
            " AND words @@ %s::tsquery",
            (" | ".join(of_the_secret_alone(before.salt)),),
        ).fetchone()
    assert rows == (0,)
    told.delete()
    store.close()


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_no_text_is_in_the_index(backend: str, tmp_path: Path, request: pytest.FixtureRequest):
    if backend == "sqlite":
        url = f"sqlite:///{tmp_path / 'words.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    store = open_store(url, namespace="no-text")
    told_and_searched(store)

    if backend == "sqlite":
        connection = apsw.Connection(str(tmp_path / "words.db"))
        rows = connection.execute(
            "SELECT hex(block) FROM thusfar_words_data"
            " UNION ALL SELECT c1 FROM thusfar_words_content"
        ).fetchall()
    else:
        import psycopg

        with psycopg.connect(url) as connection:
            rows = connection.execute("SELECT words::text FROM thusfar_words").fetchall()
    if backend == "sqlite":  # the blocks of the index come as hexadecimal digits
        blocks = [bytes.fromhex(r[0]) for r in rows if set(r[0]) <= set("0123456789ABCDEF")]
        written = b" ".join(blocks).decode("latin-1") + " ".join(r[0] for r in rows)
    else:
        written = " ".join(row[0] for row in rows)

    assert len(written) > 4_000
    for word in ("passportx", "zanzibar", "filler"):
        assert word not in written
    store.close()


def test_a_store_opened_read_only_is_searched_by_reading(tmp_path: Path):
    path = tmp_path / "words.db"
    told = Thread("t", store=SqliteStore(path)).sync
    told.append([user(f"m{i}", f"number{i}") for i in range(300)])
    store = SqliteStore(path, read_only=True)

    found = Thread("t", store=store).sync.search("number7", limit=None)

    expected = [f"m{i}" for i in reversed(range(300)) if str(i).startswith("7")]
    assert [f.message.id for f in found] == expected
    assert indexed(store) == {}
