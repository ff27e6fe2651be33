"""Measure the counters: cold, cached, and by length of text.

Run: python bench/tokens.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

from thusfar.dialects import dialect
from thusfar.tokens import estimate, measure_for
from thusfar.tokens.cache import CachedCounter
from thusfar.tokens.counters import BpeCounter, bpe_available
from thusfar.tokens.estimator import Estimator

CHAT = dialect("openai-chat")
SENTENCE = 'The quick brown fox, aged 12, jumped over {"dogs": 3} lazy dogs.\n'
TEXTS = [f"{index} {SENTENCE * 8}"[:500] for index in range(256)]
MESSAGES = [{"role": ("user", "assistant")[i % 2], "content": TEXTS[i]} for i in range(67)]
LONG = {"words": "hello world ", "letters": "a", "Han": "字", "mixed": "a1!字 "}


def best(work: Callable[[], object], repeats: int = 20) -> float:
    """Time the fastest of several runs. Unit: seconds."""
    fastest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def counters() -> None:
    """Compare the counters on texts of 500 characters, by size of batch."""
    made = [Estimator(), *([BpeCounter("o200k_base")] if bpe_available() else [])]
    for counter in made:
        counter.count_many(["load"])
        for size in (1, 8, 32, 256):
            spent = best(lambda c=counter, n=size: c.count_many(TEXTS[:n])) / size
            print(f"{counter.name:<12} batch {size:>3}   {spent * 1e6:8.2f} us a text")
        cached = CachedCounter(counter)
        cached.count_many(TEXTS)
        spent = best(lambda c=cached: c.count_many(TEXTS)) / len(TEXTS)
        print(f"{counter.name:<12} cached      {spent * 1e6:8.2f} us a text")


def measures() -> None:
    """Time the measure of 67 messages whose counts are known already."""
    for name in ("estimate", *(["o200k_base"] if bpe_available() else [])):
        measure = measure_for(name)
        spent = best(lambda m=measure: m.count(CHAT, MESSAGES), repeats=200)
        print(f"{name:<12} 67 messages {spent * 1e6:8.1f} us in all, warm")


def lengths() -> None:
    """Show that the time for one long text grows with its length only."""
    for kind, piece in LONG.items():
        for size in (100_000, 1_000_000, 10_000_000):
            text = piece * (size // len(piece))
            spent = best(lambda t=text: estimate(t), repeats=1)
            print(f"estimate     {kind:<8} {size:>10,} characters {spent * 1e3:9.1f} ms")


if __name__ == "__main__":
    counters()
    measures()
    lengths()
