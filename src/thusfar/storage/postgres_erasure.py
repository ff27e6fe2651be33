"""What keeps erased content in PostgreSQL's files: old row versions, and who can still see them."""

from __future__ import annotations

from typing import Final

from thusfar.storage.runs_sql import RUN_TABLES

VACUUMED: Final = (
    "thusfar_thread",
    "thusfar_head",
    "thusfar_node",
    "thusfar_artifact",
    "thusfar_record",
    "thusfar_words",
    "thusfar_indexed",
    *RUN_TABLES,
)
"""The tables that held content, or digests of it."""

# A role that may not vacuum a table gets a warning, not an error, so it is asked about first. The
# privilege MAINTAIN is of PostgreSQL 17; naming it is an error before.
HINDERED: Final = """
SELECT
  (SELECT count(*) FROM pg_stat_activity
   WHERE (datname = current_database() OR datname IS NULL)
   AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid())
  + (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database())
  + (SELECT count(*) FROM pg_replication_slots WHERE xmin IS NOT NULL)
  + (SELECT count(*) FROM pg_class c, pg_database d
     WHERE c.oid IN (SELECT to_regclass(n) FROM unnest(?::text[]) n)
     AND d.datname = current_database()
     AND NOT pg_has_role(c.relowner, 'USAGE') AND NOT pg_has_role(d.datdba, 'USAGE')
     AND NOT CASE WHEN current_setting('server_version_num')::int >= 170000
       THEN has_table_privilege(c.oid, 'MAINTAIN') ELSE false END)
"""
"""Counts what lets old row versions live on; its parameter is `VACUUMED`, as a list."""
