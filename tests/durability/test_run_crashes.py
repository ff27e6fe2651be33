"""A stored run killed at any moment goes on elsewhere, and does nothing twice.

THUSFAR_RUN_CRASHES sets the number of kills on SQLite; PostgreSQL gets a quarter of it. The full
numbers are 200 and 50.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CRASHES = int(os.environ.get("THUSFAR_RUN_CRASHES", "200"))
HERE = Path(__file__).resolve().parent


def test_a_run_on_sqlite_survives_kills(tmp_path: Path) -> None:
    found = _crash(f"sqlite:///{tmp_path / 'runs.db'}", CRASHES)

    assert found["wrong"] == []
    assert found["inside"] > CRASHES * 0.8, "the runs were killed before they began or at their end"


def test_a_run_on_postgres_survives_kills(postgres_url: str) -> None:
    rounds = max(1, CRASHES // 4)

    found = _crash(postgres_url, rounds)

    assert found["wrong"] == []
    assert found["inside"] > rounds * 0.7, "the runs were killed before they began or at their end"


def _crash(url: str, rounds: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "run_crashing.py"), url, str(rounds), "17"],
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found
