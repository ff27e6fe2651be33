"""Golden databases, written by the code of older schemas, opened with today's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from thusfar.storage import PostgresStore, SqliteStore, Store

GOLDEN = Path(__file__).parents[1] / "golden"
Opening = Callable[[], Store]


def opening_of(number: int, kind: str, request: pytest.FixtureRequest) -> Opening:
    """Load the database of a schema, and give what opens it."""
    script = (GOLDEN / f"schema_{number}.{kind}.sql").read_text(encoding="utf-8")
    if kind == "postgres":
        url = _loaded_into_postgres(request.getfixturevalue("postgres_url"), script)
        return lambda: PostgresStore(url)
    path = request.getfixturevalue("tmp_path") / "golden.db"
    connection = apsw.Connection(str(path))
    connection.execute(script).fetchall()
    connection.close()
    return lambda: SqliteStore(path)


def _loaded_into_postgres(url: str, script: str) -> str:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS thusfar_golden WITH (FORCE)")
        connection.execute("CREATE DATABASE thusfar_golden ENCODING 'UTF8' TEMPLATE template0")
    address, mark, query = url.partition("?")
    golden = f"{address.rpartition('/')[0]}/thusfar_golden{mark}{query}"
    with psycopg.connect(golden, autocommit=True) as connection:
        connection.execute(script.encode())
    return golden
