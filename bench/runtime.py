"""Overhead of `generate` over the bare SDK call, against the same loopback server.

Run: python bench/runtime.py [--turns 200]

Both sides send the same request to the same server, which has a process of its own, with the same
SDK and client, in turns. What is reported is the time of a turn beyond that of the bare call:
reading the thread, planning, placing, storing the turn and its receipt. A conversation has 200 to
220 messages: then the next one, which was filled outside the clock, takes its place.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from openai import OpenAI

from thusfar import Message, Thread, generate_sync, history, open_store
from thusfar.models.openai_chat import OpenAIChat
from thusfar.runtime.edge import Runtime
from thusfar.testing.loopback import Answer, LoopbackServer

TARGET_MS = 5.0
SEEDED = 200  # messages in a thread before its first turn
TURNS = 10  # of a conversation


def serve(pipe) -> None:
    """Run the server until the other end of the pipe is closed."""
    with LoopbackServer(lambda _: Answer(text="A short answer."), validate=False) as server:
        pipe.send(server.base_url("openai-chat"))
        with suppress(EOFError):
            pipe.recv()


@contextmanager
def serving():
    """Start the server in a process of its own, and give its address."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    process.start()
    theirs.close()
    yield ours.recv()
    ours.close()
    process.join()


class Remembering(OpenAIChat):
    """Keeps the arguments of the newest call, for the bare one."""

    arguments = None

    def generate_sync(self, arguments):
        self.arguments = arguments
        return super().generate_sync(arguments)


def bare(client: OpenAI, messages: list[dict[str, str]]) -> None:
    client.chat.completions.create(model="gpt-5", messages=messages)


def seeded(store, name: str) -> Thread:
    thread = Thread(name, store=store)
    for number in range(SEEDED // 2):
        thread.sync.append(
            [Message("user", f"Question {number}. " * 8), Message("assistant", "An answer. " * 12)]
        )
    return thread


def race(store, turns: int, policy) -> tuple[list[float], list[float]]:
    """Time bare calls and generated turns alternately. Unit of the answer: milliseconds."""
    ours, theirs = [], []
    with serving() as url:
        client = OpenAI(api_key="test", base_url=url, max_retries=0)
        model = Remembering("gpt-5", client=client)
        runtime = Runtime(store)
        use = [] if policy == "exact" else [history.recent(40)]
        for number in range(turns + TURNS):
            if number % TURNS == 0:
                thread = seeded(store, f"bench-{policy}-{number}")
            start = time.perf_counter()
            result = generate_sync(
                f"Turn {number}?", model=model, thread=thread, runtime=runtime, use=use
            )
            middle = time.perf_counter()
            sent = model.arguments["messages"]
            again = time.perf_counter()
            bare(client, sent)
            end = time.perf_counter()
            assert result.text == "A short answer."
            if number >= TURNS:
                ours.append((middle - start) * 1000)
                theirs.append((end - again) * 1000)
    return ours, theirs


def fastest_tenth(times: list[float]) -> float:
    """Give the time that one in ten stays below: the machine did least else then."""
    return sorted(times)[len(times) // 10]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=200)
    asked = parser.parse_args()
    print(f"overhead of a turn over the bare call, target {TARGET_MS} ms")
    print("(median and p90 of the differences; quiet: between the fastest tenths of both)")
    with tempfile.TemporaryDirectory() as folder:
        for durability in ("memory", "NORMAL", "FULL"):
            for policy in ("recent", "exact"):
                if durability == "memory":
                    store = open_store("memory:")
                else:
                    path = Path(folder) / f"{durability}-{policy}.db"
                    store = open_store(f"sqlite:///{path}", synchronous=durability)
                ours, theirs = race(store, asked.turns, policy)
                store.close()
                over = sorted(one - other for one, other in zip(ours, theirs, strict=True))
                print(
                    f"{durability:7} {policy:7} bare {statistics.median(theirs):6.2f} ms  "
                    f"overhead {statistics.median(over):6.2f} ms; "
                    f"{over[int(len(over) * 0.9)]:6.2f} ms; "
                    f"quiet {fastest_tenth(ours) - fastest_tenth(theirs):6.2f} ms"
                )


if __name__ == "__main__":
    main()
