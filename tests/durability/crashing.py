"""A writer that is killed again and again, and what is found after each time.

Run as a program: `python crashing.py URL ROUNDS SEED`. It prints one JSON object. Each round forks
a writer that appends to a thread of its own and reports what was acknowledged over a pipe; the
writer is killed with SIGKILL at a random moment. Then the thread is verified.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time

from thusfar.errors import StorageUnavailableError
from thusfar.messages import Message
from thusfar.storage import Store, open_store
from thusfar.testing.store_laws.told import assistant, calling, result, thread, user
from thusfar.thread import SyncThread


def write_forever(url: str, name: str, out: int) -> None:
    """Append groups, edits and redactions, and report each that was acknowledged."""
    told = thread(open_store(url), name)
    for i in range(100_000):
        told.append(user(f"u{i}"))
        os.write(out, f"u{i}\n".encode())
        told.append([calling(f"c{i}", "k"), result(f"t{i}", "k"), assistant(f"a{i}")])
        os.write(out, f"c{i} t{i} a{i}\n".encode())
        if i % 7 == 3:
            told.edit(f"u{i}", "again", id=f"e{i}")
            os.write(out, f"e{i}\n".encode())
        if i % 11 == 5:
            told.redact(f"u{i}")
            os.write(out, f"-u{i}\n".encode())


def crash_once(url: str, name: str, chance: random.Random, round_number: int) -> set[str]:
    """Let a writer work for a moment, kill it, and return what it had acknowledged.

    On PostgreSQL every fourth time the server's process for it is ended first, and every
    twentieth time it is killed, so that the whole server recovers.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            write_forever(url, name, write)
        finally:
            os._exit(1)
    os.close(write)
    reported = os.read(read, 65_536)
    time.sleep(chance.uniform(0, 0.03))
    if url.startswith("postgres") and round_number % 4 == 0:
        kill_backends(url, hard=round_number % 20 == 8)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(read, 65_536):
        reported += more
    os.close(read)
    whole = reported.decode().rpartition("\n")[0]
    return set(whole.split())


def kill_backends(url: str, hard: bool) -> None:
    """End the server's processes for all other connections, as an operator or the kernel might."""
    import psycopg

    of_others = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as connection:
        if not hard:
            connection.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {of_others}"
            )
            return
        rows = connection.execute(f"SELECT pid FROM pg_stat_activity WHERE {of_others}").fetchall()
        for (process,) in rows:
            os.kill(process, signal.SIGKILL)
        for (process,) in rows:
            wait_for_end(process)


def wait_for_end(process: int) -> None:
    """Wait until a process was seen to be dead by its parent; only then the server recovers."""
    for _ in range(6000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)


def reopened(url: str) -> Store:
    """Open the store, waiting for a server that recovers."""
    for _ in range(600):
        try:
            return open_store(url)
        except StorageUnavailableError:
            time.sleep(0.05)
    return open_store(url)


def faults(store: Store, name: str, acknowledged: set[str]) -> list[str]:
    """Say what is wrong with a thread after a crash."""
    told = thread(store, name)
    found = [problem.message for problem in told.verify().problems]
    stored = stored_messages(told)
    for message_id in acknowledged:
        if message_id.startswith("-"):
            if stored.get(message_id[1:], "absent") is not None:
                found.append("an acknowledged redaction was lost")
        elif message_id not in stored:
            found.append("an acknowledged message was lost")
    for message_id in stored:
        if message_id[0] in "cta" and not {f"{k}{message_id[1:]}" for k in "cta"} <= stored.keys():
            found.append("a group was stored in part")
    return found


def stored_messages(told: SyncThread) -> dict[str, Message | None]:
    """Collect what all branches hold, by id."""
    return {
        entry.id: entry.message
        for branch in told.branches()
        for entry in told.read(at=branch.leaf).entries
    }


def main(url: str, rounds: int, seed: int) -> None:
    """Crash so many times, and print what was found."""
    chance = random.Random(seed)
    open_store(url).close()
    wrong: list[str] = []
    acknowledged = 0
    for i in range(rounds):
        name = f"crash-{seed}-{i}"
        acks = crash_once(url, name, chance, i)
        acknowledged += len(acks)
        store = reopened(url)
        wrong += [f"round {i}: {fault}" for fault in faults(store, name, acks)]
        store.close()
    print(json.dumps({"rounds": rounds, "acknowledged": acknowledged, "wrong": wrong[:20]}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
