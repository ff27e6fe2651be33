"""Who decides what each request holds: no trimming, thusfar's policies, and the peers.

A contestant is begun once a conversation and then asked before each call of the model. The peers
that rewrite the history keep what they made of it, as they do in an agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prefix_cache import Scale
from recorded import Messages

from thusfar import history, summarize
from thusfar.budget import InputBudget
from thusfar.models import Scripted, ScriptedCall
from thusfar.runtime.edge import Runtime
from thusfar.runtime.planning import plan_sync

MODEL = "gpt-4o"
PROMISED_FROM = 20_000  # tokens that are kept exactly; below that nothing is promised
SUMMARY_CHARACTERS = 1_600  # about 400 tokens, below the 500 that `history()` accepts
COVERED = "They compared the fares, ran the tests again and kept the smaller change. "


@dataclass(frozen=True)
class Sent:
    """One request.

    Attributes:
        messages: What is sent: messages of the transcript, and messages that were made.
        support: Input of the calls that made summaries for it. Unit: tokens.
        said: What its receipt says is the same as in the request before. Unit: tokens.
    """

    messages: Sequence[Any]
    support: int = 0
    said: int = 0


Step = Callable[[Messages, Messages], Sent]
"""From the transcript so far, and the answer that the model then gave, to the request."""


@dataclass(frozen=True)
class Contestant:
    """One way to decide what is sent.

    Attributes:
        name: As in the table.
        begin: Begins a conversation.
        target: Whether the design promises a share for it.
        missing: The package it needs and that is not installed.
    """

    name: str
    begin: Callable[[Scale], Step]
    target: bool = False
    missing: str = ""


@dataclass(frozen=True)
class Sizes:
    """The sizes that all contestants share. Unit: tokens unless said.

    Attributes:
        messages: The message cap.
        caps: Token caps, the smallest first.
        maxima: Largest requests of those that summarise.
        counter: Counts a text.
    """

    messages: int
    caps: tuple[int, ...]
    maxima: tuple[int, ...]
    counter: Any

    def pressed(self, most: int) -> tuple[int, int]:
        """Where a peer compacts and what it keeps: as `history()` does by default."""
        return most * 80 // 100, most * 40 // 100


def written_summary(number: int) -> str:
    """Write a summary of realistic length that is no other's."""
    words = f"Summary {number}. " + COVERED * (SUMMARY_CHARACTERS // len(COVERED))
    return words[:SUMMARY_CHARACTERS]


def own(sizes: Sizes) -> Iterator[Contestant]:
    """List no trimming and thusfar's policies."""
    yield Contestant("untrimmed", lambda scale: lambda said, _: Sent(said))
    count, first = sizes.messages, sizes.caps[0]
    for name, policy in (
        (f"recent({count})", history.recent(count)),
        (f"recent({count}, advance=0.5)", history.recent(count, advance=0.5)),
        (f"recent(tokens={first})", history.recent(tokens=first)),
    ):
        yield Contestant(name, _projected(policy, sizes))
    for cap in sizes.caps:
        policy = history.recent(tokens=cap, advance=0.5)
        name = f"recent(tokens={cap}, advance=0.5)"
        yield Contestant(name, _projected(policy, sizes), cap >= PROMISED_FROM)
    for most in sizes.maxima:
        promised = sizes.pressed(most)[1] >= PROMISED_FROM
        for name, managed in (
            ("history()", history()),
            ("history(digest())", history(summary=summarize.digest())),
        ):
            yield Contestant(f"{name}, max={most}", _managed(managed, most, sizes), promised)


def _projected(policy: Any, sizes: Sizes) -> Callable[[Scale], Step]:
    def begin(scale: Scale) -> Step:
        return lambda said, _: Sent(policy.project(said, counter=sizes.counter).messages)

    return begin


class AtOnce:
    """Does background work before the next request, as a host has done by then."""

    def retain(self, job: Any) -> bool:
        """Run a job."""
        asyncio.run(job())
        return True


def _managed(policy: Any, most: int, sizes: Sizes) -> Callable[[Scale], Step]:
    """Plan each request with one runtime, whose summaries are scripted."""

    def begin(scale: Scale) -> Step:
        model = Scripted(lambda call: written_summary(len(model.calls)))
        runtime = Runtime(summariser=model, host=AtOnce())
        paid = 0

        def step(said: Messages, answer: Messages) -> Sent:
            nonlocal paid
            planned = plan_sync(
                said,
                model=MODEL,
                policy=policy,
                budget=InputBudget(max=most),
                counter=sizes.counter,
                conversation="replay",
                runtime=runtime,
            )
            planned.accept_sync(answer[0])
            asked, paid = model.calls[paid:], len(model.calls)
            support = sum(_asked(call, scale) for call in asked)
            return Sent(planned.messages, support, planned.receipt.cached_prefix_tokens or 0)

        return step

    return begin


def _asked(call: ScriptedCall, scale: Scale) -> int:
    return scale.text(call.system or "") + scale.text(call.prompt or "")
