"""`import thusfar` is cheap: nothing heavy is loaded before it is used."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

HEAVY = {
    "apsw", "asyncio", "concurrent.futures", "cyclopts", "hypothesis", "importlib.metadata",
    "jinja2", "logging", "psycopg", "psycopg_pool", "pydantic", "rich", "sqlite3", "tiktoken",
    "toktok",
}  # fmt: skip
IMPORTED = "import thusfar; thusfar.history"
PROJECTED = f"{IMPORTED}.recent(2).project([dict(role='user', content='Hi')])"
ROUNDS = 7  # the least of several runs: what else the machine does only adds

# The aim is 60 ms over an interpreter that starts in 15 ms. Processor time in ratios holds on slow
# and busy machines too.
MOST_TIMES_BARE = 5
MOST_TIMES_MSGSPEC = 4
MOST_MODULES_BESIDE_MSGSPEC = 60


def loaded_by(program: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport json, sys\nprint(json.dumps([*sys.modules]))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(out.stdout))


def seconds(program: str, cache: Path) -> float:
    """Measure a run of a program whose modules are compiled already, wherever that is kept."""
    world = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", program],
        env={**world, "PYTHONPYCACHEPREFIX": str(cache)},
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_importing_loads_nothing_heavy():
    assert (loaded_by(IMPORTED) - loaded_by("pass")) & HEAVY == set()


def test_a_projection_loads_no_tokenizer_and_no_database():
    assert (loaded_by(PROJECTED) - loaded_by("pass")) & HEAVY == set()


def test_importing_loads_few_modules():
    new = loaded_by(IMPORTED) - loaded_by("import msgspec")

    assert "thusfar.projection" in new
    assert len(new) <= MOST_MODULES_BESIDE_MSGSPEC, sorted(new)


def test_importing_costs_a_few_times_the_start_of_an_interpreter(tmp_path: Path):
    programs = ("pass", "import thusfar", "import msgspec", IMPORTED)
    bare, package, msgspec, history = (
        min(seconds(program, tmp_path) for _ in range(ROUNDS)) for program in programs
    )

    assert package <= MOST_TIMES_BARE * bare, f"{package:.3f} s against {bare:.3f} s"
    assert history - bare <= MOST_TIMES_MSGSPEC * (msgspec - bare), (
        f"{history - bare:.3f} s against {msgspec - bare:.3f} s for msgspec alone"
    )
