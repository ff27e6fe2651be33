"""A long agent transcript in OpenAI's chat format, the same on every machine.

One system message, then turns; 55 % of the turns run one to four tool steps of one to three
parallel calls. About 505 characters a message. The texts come from a pool, so that a million
messages fit into memory; within any window they differ.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

POOL = 20_000  # texts; far more than any window holds
PARALLEL = (1, 1, 1, 1, 1, 2, 3)  # calls of one step
WORDS = """
the a of to and in for with on from by is was be this that it not as at or when then if
order ticket flight seat invoice payment refund customer account address region price total
file module function argument value error test branch commit release version queue worker
retry timeout request response header token cache index table column row query result value
Oslo Bergen Tromsø Madrid Kyoto 12 48 7.5 2031 id=44 status=ok limit=20 retry=3 page=2
""".split()  # noqa: SIM905 - words are read more easily as text


def transcript(count: int, seed: int = 11) -> list[dict[str, Any]]:
    """Write a transcript of `count` messages that ends with a question."""
    rng = random.Random(seed)
    pool = [_text(rng) for _ in range(POOL)]
    made: list[dict[str, Any]] = [{"role": "system", "content": _text(rng)}]
    for message in _turns(rng, pool):
        made.append(message)
        if len(made) >= count and message["role"] == "user":
            break
    return made


def newest(messages: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Take the system message and about the newest `count`, from a turn on."""
    start = max(1, len(messages) - count)
    while messages[start]["role"] != "user":
        start += 1
    return [messages[0], *messages[start:]]


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(10, 172)))


def _turns(rng: random.Random, pool: list[str]) -> Iterator[dict[str, Any]]:
    called = 0
    while True:
        yield {"role": "user", "content": rng.choice(pool)}
        for _ in range(rng.randint(1, 4) if rng.random() < 0.55 else 0):
            count = rng.choice(PARALLEL)
            calls = [_call(f"call_{called + number}", rng, pool) for number in range(count)]
            yield {"role": "assistant", "content": None, "tool_calls": calls}
            for call in calls:
                answer = {"role": "tool", "tool_call_id": call["id"]}
                yield {**answer, "content": rng.choice(pool)}
            called += count
        yield {"role": "assistant", "content": rng.choice(pool)}


def _call(call_id: str, rng: random.Random, pool: list[str]) -> dict[str, Any]:
    arguments = f'{{"query": "{rng.choice(pool)[:300]}", "limit": {rng.randint(1, 50)}}}'
    function = {"name": rng.choice(("search", "read_file", "run_tests")), "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}
