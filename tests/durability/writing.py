"""One of many writers: appends to one thread and prints what each append returned.

Run as a program: `python writing.py URL THREAD NUMBER COUNT`. It waits for a line on its input, so
that all writers begin together.
"""

from __future__ import annotations

import json
import sys
import time

from thusfar.storage import open_store
from thusfar.testing.store_laws.told import thread, user


def main(url: str, name: str, number: int, count: int) -> None:
    """Append so many messages."""
    store = open_store(url, busy_timeout_seconds=60)
    told = thread(store, name)
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    commits = [told.append(user(f"w{number}-{i}")) for i in range(count)]
    statuses = [commit.status for commit in commits]
    replayed = sum(commit.replayed for commit in commits)
    store.close()
    seconds = time.monotonic() - began
    print(json.dumps({"statuses": statuses, "replayed": replayed, "seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
