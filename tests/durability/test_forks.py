"""A store that was open when its process forked works in the child and in the parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from thusfar.storage import open_store
from thusfar.testing.store_laws.told import sound, thread, user

store = open_store(sys.argv[1])
told = thread(store, sys.argv[2])
told.append(user("before"))
child = os.fork()
if child == 0:
    for i in range(20):
        told.append(user(f"child-{i}"))
    os._exit(0)
for i in range(20):
    told.append(user(f"parent-{i}"))
assert os.waitpid(child, 0)[1] == 0
told.append(user("after"))
sound(told)
ids = set(told.read().ids)
who = ("child", "parent")
assert ids == {"before", "after", *(f"{w}-{i}" for w in who for i in range(20))}, ids
store.close()
"""


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_a_forked_child_and_its_parent_both_append(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if backend == "sqlite":
        url = f"sqlite:///{tmp_path / 'fork.db'}"
    else:
        url = request.getfixturevalue("postgres_url")

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, url, f"fork-{os.getpid()}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
