"""Working: one summary from its lease to the store, once for each process and once for all.

The steps are written once. A sync caller runs them where it stands; an async one runs them as a
task of their own, so that a caller who gives up does not take the work with it.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from thusfar.artifacts import Artifact, SourceArtifact
from thusfar.drive import Steps, adrive, drive
from thusfar.errors import StorageError
from thusfar.planner.questions import Prepare, Prepared
from thusfar.runtime.keeping import (
    Lease,
    find_source_steps,
    find_steps,
    keep_steps,
    lease_steps,
    release_steps,
)
from thusfar.runtime.setbacks import wait_before
from thusfar.runtime.supporting import Supporter
from thusfar.storage.base import Store
from thusfar.summaries.making import make_source_summary, make_summary
from thusfar.summaries.values import NativeCall, ReadRange, SummaryJob, SupportCall

FIRST_PAUSE: Final = 0.02  # seconds between looks at another's lease; doubled up to the longest
LONGEST_PAUSE: Final = 1.0

Sleep = Callable[[float], Any]
"""Waits so many seconds; what it returns is awaited in async code, where it can be."""


class RunStore(msgspec.Struct, frozen=True, kw_only=True):
    """Question: run these steps in the store."""

    steps: Any


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """Question: wait a little for whoever holds the lease."""

    seconds: float


@dataclass(slots=True)
class Work:
    """One summary being made.

    Attributes:
        ask: What is to be made.
        supporter: Makes the calls.
        store: Where it is kept.
        holder: Who asks for the lease.
        lease_seconds: How long a lease lasts without a sign of life; longer than a call may take.
        reader: The thread it belongs to; `None` for caller-owned messages.
        damaged: Keys of summaries that could not be read, which go when this one is kept.
        sleep: Waits so many seconds, sync or async. `None`: as the clock goes.
        lease: The lease, while it is held.
    """

    ask: Prepare
    supporter: Supporter
    store: Store
    holder: str
    lease_seconds: float
    reader: Any = None
    damaged: tuple[str, ...] = ()
    sleep: Sleep | None = None
    lease: Lease | None = field(default=None, init=False)

    def steps(self) -> Steps[Prepared]:
        """Take the lease, make the summary and keep it; or wait for whoever makes it."""
        job = self.ask.job
        pause = FIRST_PAUSE
        waited = False
        while True:
            there = yield RunStore(steps=self.find())
            if there is not None:
                return Prepared(artifact=there, how="joined" if waited else "found")
            self.lease = yield RunStore(steps=self._take())
            if self.lease is not None:
                break
            waited = True
            yield Pause(seconds=pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        there = yield RunStore(steps=self.find())  # made between the look and the lease
        if there is not None:
            return Prepared(artifact=there, how="found")
        made: Any
        if isinstance(job, SummaryJob):
            made = yield from make_summary(job)
        else:
            made = yield from make_source_summary(job)
        kept = yield RunStore(steps=self._keep(made))
        return Prepared(artifact=kept, how="made")

    def find(self) -> Steps[Artifact | SourceArtifact | None]:
        """Look whether somebody has made it."""
        job, now = self.ask.job, self.store.clock()
        if isinstance(job, SummaryJob):
            ends = ((job.messages, job.chain),)
            found = yield from find_steps(job.identity.digest, ends, now=now)
        else:
            found = yield from find_source_steps(job.key, now=now)
        return found.artifacts[0] if found.artifacts else None

    def _take(self) -> Steps[Lease | None]:
        now = self.store.clock()
        until = now + int(self.lease_seconds * 1000)
        return (yield from lease_steps(self.ask.job.key, holder=self.holder, now=now, until=until))

    def _wears_out(self) -> bool:
        """Whether the lease has less than three quarters of its time left."""
        left = self.lease.expires_at - self.store.clock() if self.lease is not None else 0
        return self.lease is not None and left < self.lease_seconds * 750

    def _keep(self, made: Artifact | SourceArtifact) -> Steps[Any]:
        reader, now = self.reader, self.store.clock()
        ttl = self.ask.job.options.ttl_seconds
        if reader is None or not isinstance(made, Artifact):
            return (yield from keep_steps(made, now=now, ttl_seconds=ttl, damaged=self.damaged))
        return (
            yield from keep_steps(
                made,
                now=now,
                ttl_seconds=ttl,
                place=reader.place_steps(made),
                lock=reader.lock,
                damaged=self.damaged,
            )
        )

    def _patience(self, call: SupportCall | NativeCall) -> float | None:
        """How long to wait before a call; `None`: the provider asked for too long a rest."""
        if call.attempt < 2:
            return 0.0
        return wait_before(call.attempt, self.supporter.raised)

    def run(self) -> Prepared:
        """Do the work here and now."""
        try:
            return drive(self.steps(), self._answer)
        finally:
            if self.lease is not None:
                with suppress(StorageError):  # it ends by itself, and what was made is kept
                    self.store.run(release_steps(self.lease))

    async def arun(self) -> Prepared:
        """Do the work without blocking the event loop."""
        try:
            return await adrive(self.steps(), self._aanswer)
        finally:
            if self.lease is not None:
                with suppress(StorageError):
                    await self.store.arun(release_steps(self.lease))

    def _answer(self, question: Any) -> Any:
        match question:
            case RunStore(steps=steps):
                return self.store.run(steps)
            case SupportCall() | NativeCall():
                patience = self._patience(question)
                if patience is None:
                    return self.supporter.not_asked()
                if patience:
                    self._wait(patience)
                if self._wears_out():
                    self.lease = self.store.run(self._take()) or self.lease
                return self.supporter.call(question)
            case ReadRange(start=start, end=end) if self.ask.read is not None:
                return self.ask.read(start, end)
            case Pause(seconds=seconds):
                return self._wait(seconds)
            case _:
                raise AssertionError

    def _wait(self, seconds: float) -> None:
        (self.sleep or time.sleep)(seconds)

    async def _await(self, seconds: float) -> None:
        waiting = (self.sleep or asyncio.sleep)(seconds)
        if inspect.isawaitable(waiting):
            await waiting

    async def _aanswer(self, question: Any) -> Any:
        match question:
            case RunStore(steps=steps):
                return await self.store.arun(steps)
            case SupportCall() | NativeCall():
                patience = self._patience(question)
                if patience is None:
                    return self.supporter.not_asked()
                if patience:
                    await self._await(patience)
                if self._wears_out():
                    self.lease = await self.store.arun(self._take()) or self.lease
                return await self.supporter.acall(question)
            case Pause(seconds=seconds):
                return await self._await(seconds)
            case _:
                return self._answer(question)
