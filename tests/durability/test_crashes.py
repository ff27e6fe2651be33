"""A writer killed at any moment leaves whole groups, and all that it acknowledged.

THUSFAR_CRASHES sets the number of kills on SQLite; PostgreSQL gets a third of it. The full numbers
are 300 and 100.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CRASHES = int(os.environ.get("THUSFAR_CRASHES", "300"))
HERE = Path(__file__).resolve().parent


def test_sqlite_survives_killed_writers(tmp_path: Path) -> None:
    found = _crash(f"sqlite:///{tmp_path / 'crash.db'}", CRASHES)

    assert found["wrong"] == []
    assert found["acknowledged"] >= CRASHES, "the writers were killed before they wrote"


def test_postgres_survives_killed_writers_and_backends(postgres_url: str) -> None:
    rounds = max(1, CRASHES // 3)

    found = _crash(postgres_url, rounds)

    assert found["wrong"] == []
    assert found["acknowledged"] >= rounds, "the writers were killed before they wrote"


def _crash(url: str, rounds: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "crashing.py"), url, str(rounds), "17"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found
