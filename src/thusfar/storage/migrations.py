"""Migrations: numbered, forwards only, each step and its number in one transaction.

Several processes may start at once: the number is read again under the write lock, so each step
runs exactly once. A database with a number that this version does not know is refused.

| Number | What it added |
|---|---|
| 1 | threads, heads, branches, nodes, chains, leaves, spent keys, artifacts, tallies, records |
| 2 | runs of processes, their steps and entries |
| 3 | digests and ids beside the body; heads that follow their branch without being written |
| 4 | what messages are known by in a search, and how far branches are indexed |
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from thusfar.drive import Steps
from thusfar.errors import SchemaTooNewError
from thusfar.storage.fulltext_sql import WORD_STATEMENTS, WORD_STATEMENTS_POSTGRES
from thusfar.storage.runs_sql import RUN_STATEMENTS


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One forward step, written so that both dialects read it.

    `{big}`, `{bytes}` and `{serial}` stand for the column types of a 64-bit integer, of bytes, and
    of a primary key that counts up; `{strict}` ends a table, `{no_rowid}` one without row ids.

    Attributes:
        number: Position in the sequence, from 1, without gaps.
        name: What changes, in a few words.
        statements: In order.
        postgres: Those of PostgreSQL, where it needs others; else empty.
    """

    number: int
    name: str
    statements: tuple[str, ...]
    postgres: tuple[str, ...] = ()


_KEYS_AND_FOLLOWERS: Final = (
    "CREATE UNIQUE INDEX thusfar_node_key ON thusfar_node (key) WHERE key IS NOT NULL",
    "ALTER TABLE thusfar_head ADD COLUMN follows {big}",
    "CREATE UNIQUE INDEX thusfar_head_follows ON thusfar_head (follows) WHERE follows IS NOT NULL",
)

# Bodies and metadata are text, not jsonb: jsonb reorders keys and refuses NUL, so that digests
# would change.
MIGRATIONS: Final[tuple[Migration, ...]] = (
    Migration(
        number=1,
        name="threads",
        statements=(
            "CREATE TABLE thusfar_thread ("
            " namespace text NOT NULL, thread_id text NOT NULL, title text NOT NULL,"
            " metadata text NOT NULL, deleted {big} NOT NULL, spent {big} NOT NULL,"
            " salt text NOT NULL, created_at {big} NOT NULL, updated_at {big} NOT NULL,"
            " PRIMARY KEY (namespace, thread_id)){no_rowid}",
            "CREATE TABLE thusfar_head ("
            " namespace text NOT NULL, thread_id text NOT NULL, owner text NOT NULL,"
            " revision {big} NOT NULL, node {big} NOT NULL, head_id text NOT NULL,"
            " depth {big} NOT NULL, turn {big} NOT NULL, exchange {big} NOT NULL,"
            " run {big} NOT NULL, flags {big} NOT NULL, pending text NOT NULL,"
            " chain {bytes} NOT NULL, messages {big} NOT NULL, salt text NOT NULL,"
            " updated_at {big} NOT NULL,"
            " PRIMARY KEY (namespace, thread_id, owner)){no_rowid}",
            "CREATE TABLE thusfar_branch ("
            " branch {serial}, namespace text NOT NULL, thread_id text NOT NULL,"
            " parent {big} NOT NULL, depth {big} NOT NULL){strict}",
            "CREATE INDEX thusfar_branch_place ON thusfar_branch (namespace, thread_id, parent)",
            "CREATE TABLE thusfar_node ("
            " node {big} PRIMARY KEY, namespace text NOT NULL, key {bytes} NOT NULL UNIQUE,"
            " body text, state {big} NOT NULL, at {big} NOT NULL, size {big} NOT NULL,"
            " created_at {big} NOT NULL, depth {big} NOT NULL, turn {big} NOT NULL,"
            " exchange {big} NOT NULL, run {big} NOT NULL, flags {big} NOT NULL,"
            " pending text NOT NULL, head_then {big} NOT NULL, erased_id text){strict}",
            "CREATE TABLE thusfar_chain ("
            " node {big} PRIMARY KEY, namespace text NOT NULL, digest {bytes} NOT NULL,"
            " chain {bytes} NOT NULL, messages {big} NOT NULL){strict}",
            "CREATE TABLE thusfar_leaf ("
            " start {big} PRIMARY KEY, namespace text NOT NULL, thread_id text NOT NULL,"
            " leaf {big} NOT NULL){strict}",
            "CREATE INDEX thusfar_leaf_place ON thusfar_leaf (namespace, thread_id, leaf)",
            "CREATE TABLE thusfar_spent ("
            " key {bytes} PRIMARY KEY, namespace text NOT NULL, thread_id text NOT NULL){strict}",
            "CREATE INDEX thusfar_spent_thread ON thusfar_spent (namespace, thread_id)",
            "CREATE TABLE thusfar_artifact ("
            " namespace text NOT NULL, key text NOT NULL, thread_id text NOT NULL,"
            " first {big} NOT NULL, node {big} NOT NULL, kind text NOT NULL,"
            " body text NOT NULL, created_at {big} NOT NULL,"
            " PRIMARY KEY (namespace, key)){no_rowid}",
            "CREATE INDEX thusfar_artifact_thread"
            " ON thusfar_artifact (namespace, thread_id, kind, node)",
            "CREATE TABLE thusfar_tally ("
            " namespace text NOT NULL, tokenizer text NOT NULL, node {big} NOT NULL,"
            " tokens {big} NOT NULL, PRIMARY KEY (node, tokenizer)){no_rowid}",
            "CREATE TABLE thusfar_record ("
            " namespace text NOT NULL, kind text NOT NULL, key text NOT NULL,"
            " thread_id text NOT NULL, body text NOT NULL, created_at {big} NOT NULL,"
            " PRIMARY KEY (namespace, kind, key)){no_rowid}",
            "CREATE INDEX thusfar_record_thread ON thusfar_record (namespace, thread_id)",
        ),
    ),
    Migration(number=2, name="runs", statements=RUN_STATEMENTS),
    # What an append writes is one row, in one page that the append before it wrote too. A message
    # without digests, which is damaged, keeps its key in their place, so that verify finds it.
    Migration(
        number=3,
        name="appends of one row",
        statements=(
            "CREATE TABLE thusfar_node_3 ("
            " node {big} PRIMARY KEY, namespace text NOT NULL, key {bytes}, message_id text,"
            " state {big} NOT NULL, at {big} NOT NULL, size {big} NOT NULL,"
            " created_at {big} NOT NULL, depth {big} NOT NULL, turn {big} NOT NULL,"
            " exchange {big} NOT NULL, run {big} NOT NULL, flags {big} NOT NULL,"
            " pending text NOT NULL, head_then {big} NOT NULL, digest {bytes} NOT NULL,"
            " chain {bytes} NOT NULL, messages {big} NOT NULL, body text){strict}",
            "INSERT INTO thusfar_node_3"
            " SELECT n.node, n.namespace, n.key, n.erased_id, n.state, n.at, n.size, n.created_at,"
            " n.depth, n.turn, n.exchange, n.run, n.flags, n.pending, n.head_then,"
            " coalesce(c.digest, n.key), coalesce(c.chain, n.key), coalesce(c.messages, 0), n.body"
            " FROM thusfar_node n LEFT JOIN thusfar_chain c ON c.node = n.node ORDER BY n.node",
            "DROP TABLE thusfar_node",
            "DROP TABLE thusfar_chain",
            "ALTER TABLE thusfar_node_3 RENAME TO thusfar_node",
            *_KEYS_AND_FOLLOWERS,
        ),
        postgres=(  # in place: the table keeps the rights that were granted on it
            "ALTER TABLE thusfar_node RENAME COLUMN erased_id TO message_id",
            "ALTER TABLE thusfar_node DROP CONSTRAINT thusfar_node_key_key,"
            " ALTER COLUMN key DROP NOT NULL, ADD COLUMN digest {bytes},"
            " ADD COLUMN chain {bytes}, ADD COLUMN messages {big}",
            "UPDATE thusfar_node n SET digest = coalesce(c.digest, o.key),"
            " chain = coalesce(c.chain, o.key), messages = coalesce(c.messages, 0)"
            " FROM thusfar_node o LEFT JOIN thusfar_chain c ON c.node = o.node"
            " WHERE o.node = n.node",
            "ALTER TABLE thusfar_node ALTER COLUMN digest SET NOT NULL,"
            " ALTER COLUMN chain SET NOT NULL, ALTER COLUMN messages SET NOT NULL",
            "DROP TABLE thusfar_chain",
            *_KEYS_AND_FOLLOWERS,
        ),
    ),
    Migration(
        number=4,
        name="full text",
        statements=WORD_STATEMENTS,
        postgres=WORD_STATEMENTS_POSTGRES,
    ),
)

NEWEST: Final = MIGRATIONS[-1].number

SQLITE_TYPES: Final = {
    "big": "INTEGER",
    "bytes": "BLOB",
    "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "strict": " STRICT",
    "no_rowid": " STRICT, WITHOUT ROWID",
}
POSTGRES_TYPES: Final = {
    "big": "bigint",
    "bytes": "bytea",
    "serial": "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    "strict": "",
    "no_rowid": "",
}


def migrate_steps(
    version: int, migrations: tuple[Migration, ...], types: dict[str, str]
) -> Steps[None]:
    """Apply the next steps, inside a transaction that the store has begun.

    Args:
        version: The database's number, read inside the transaction.
        migrations: All that this version knows.
        types: Names of column types in the database's dialect.

    Raises:
        SchemaTooNewError: `SCHEMA_TOO_NEW`, when the database's number is larger than all.
    """
    require_known(version, migrations)
    for step in migrations:
        if step.number > version:
            postgres = types is POSTGRES_TYPES and step.postgres
            for statement in postgres or step.statements:
                yield statement.format(**types), ()
            yield (
                "INSERT INTO thusfar_schema (version, name) VALUES (?, ?)",
                (
                    step.number,
                    step.name,
                ),
            )


def require_known(version: int, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Check that a database's number is one that this version knows.

    Raises:
        SchemaTooNewError: `SCHEMA_TOO_NEW`.
    """
    newest = migrations[-1].number
    if version > newest:
        raise SchemaTooNewError(
            "The database was written by a newer version of the library.",
            fix="Upgrade thusfar before opening it.",
            database_version=version,
            known_version=newest,
        )


def version_of(rows: list[Any]) -> int:
    """Read the number from the answer to `VERSION_SQL`."""
    return int(rows[0][0] or 0) if rows else 0


SCHEMA_SQL: Final = (
    "CREATE TABLE IF NOT EXISTS thusfar_schema (version {big} PRIMARY KEY, name text NOT NULL)"
)
VERSION_SQL: Final = "SELECT max(version) FROM thusfar_schema"
