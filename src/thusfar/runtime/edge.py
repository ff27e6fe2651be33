"""Edge: a runtime's store, clock, ids, models and background work; it answers every question.

One `Runtime` is shared by the requests that should share summaries in flight.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from thusfar._numbers import require_seconds
from thusfar.dialects import Dialect
from thusfar.drive import Steps, adrive, drive
from thusfar.errors import HistoryError, StorageError, SummaryFailedError
from thusfar.planner.facts import Calibration, RequestFacts
from thusfar.planner.questions import (
    UNPREPARED,
    AskInFlight,
    CountRequest,
    FindArtifacts,
    FindSource,
    Found,
    Prepare,
    Prepared,
    Publish,
)
from thusfar.planner.receipt import SupportReceipt
from thusfar.runtime.checking import check_runtime
from thusfar.runtime.counting import ProviderCount, sync_count
from thusfar.runtime.events import Listener, SummaryEvent
from thusfar.runtime.hosts import BackgroundHost, TaskHost
from thusfar.runtime.in_flight import InFlight
from thusfar.runtime.keeping import find_source_steps, find_steps, publish_steps
from thusfar.runtime.remembering import SAMPLES_REMEMBERED, Conversation, Usage, flush_steps
from thusfar.runtime.setbacks import Setbacks
from thusfar.runtime.supporting import SUPPORT_TIMEOUT_SECONDS, Supporter
from thusfar.runtime.telling import log_raised
from thusfar.runtime.working import RunStore, Sleep, Work
from thusfar.storage.base import Store
from thusfar.storage.memory import MemoryStore
from thusfar.summaries.values import SummaryJob

LEASE_TIMEOUTS: Final = 2  # time limits of a call that a lease lasts; it is renewed in between
FAR: Final = 3  # times the median: no tokenizer differs that much from itself
CONVERSATIONS_REMEMBERED: Final = 1024  # fingerprints only; oldest forgotten first


def calibrated(ratios: Sequence[float]) -> Calibration:
    """Say what samples say; the band holds the next one with 99 % confidence.

    A sample that is far from most of them is left out: usage of a whole run, or without what came
    from a cache, says nothing of one request.
    """
    middle = sorted(ratios)[len(ratios) // 2]
    ratios = [ratio for ratio in ratios if middle / FAR <= ratio <= middle * FAR]
    count = len(ratios)
    mean = sum(ratios) / count
    spread = (sum((ratio - mean) ** 2 for ratio in ratios) / count) ** 0.5
    return Calibration(samples=count, mean=mean, high=max(*ratios, mean + 2.6 * spread))


class Runtime:
    """What plans share: where summaries are kept, who makes them, and who works on afterwards.

    Args:
        store: Keeps summaries, leases, receipts and exact text behind handles. `None`: memory of
            this object, and no handles are offered.
        summariser: Model for summaries where a policy names none: an object with
            `generate_text`, or a function of that shape. `None`: the model of the request, where
            it can be called.
        host: Takes background work. `None`: tasks on the running event loop.
        on_event: Told when work on a summary begins and ends. What it raises is logged.
        support_timeout_seconds: How long a support call may take.
        lease_seconds: How long another process waits for one that gave no sign of life. `None`:
            twice the time limit of a support call.
        new_id: Makes ids of requests.
        sleep: Waits so many seconds between attempts and looks, sync or async; for tests. `None`:
            as the clock goes.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        summariser: Any = None,
        host: BackgroundHost | None = None,
        on_event: Listener | None = None,
        support_timeout_seconds: float = SUPPORT_TIMEOUT_SECONDS,
        lease_seconds: float | None = None,
        new_id: Callable[[], str] | None = None,
        sleep: Sleep | None = None,
    ) -> None:
        check_runtime(store, summariser, host, on_event)
        require_seconds("Runtime", "support_timeout_seconds", support_timeout_seconds)
        if lease_seconds is not None:
            require_seconds("Runtime", "lease_seconds", lease_seconds)
        self.durable = store is not None
        self.store: Store = MemoryStore() if store is None else store
        self.summariser = summariser
        self.host: BackgroundHost = TaskHost() if host is None else host
        self.support_timeout_seconds = support_timeout_seconds
        self.lease_seconds = lease_seconds or LEASE_TIMEOUTS * support_timeout_seconds
        self.holder = uuid.uuid4().hex
        self.sleep = sleep
        self.setbacks = Setbacks()
        self._new_id = new_id or (lambda: f"request_{uuid.uuid4().hex}")
        self._on_event = on_event
        self.in_flight = InFlight()
        self._ratios: dict[Usage, list[float]] = {}
        self._last: OrderedDict[str, Any] = OrderedDict()

    def new_id(self) -> str:
        """Make the id of a request."""
        return self._new_id()

    def tell(self, event: SummaryEvent) -> None:
        """Tell the listener; what it raises is logged, since a summary is not its business."""
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception as error:  # noqa: BLE001 - a listener may raise anything
            log_raised("on_event", error)

    def calibration(self, usage: Usage, kept: Sequence[float] = ()) -> Calibration | None:
        """What reported usage says of our counts.

        Args:
            usage: Model and tokenizer.
            kept: What the store knows of them, beside what was reported here since.
        """
        ratios = [*kept, *self._ratios.get(usage, ())][-SAMPLES_REMEMBERED:]
        return calibrated(ratios) if ratios else None

    def report(self, model: str, tokenizer: str, *, counted: int, reported: int) -> None:
        """Remember what a provider reported for a request that was counted here."""
        if counted > 0 and reported > 0:
            ratios = self._ratios.setdefault((model, tokenizer), [])
            ratios.append(reported / counted)
            del ratios[:-SAMPLES_REMEMBERED]

    @contextmanager
    def telling(self) -> Iterator[Mapping[Usage, Sequence[float]]]:
        """Hand out what was reported since the store was told last; taken back where that fails."""
        told, self._ratios = self._ratios, {}
        try:
            yield told
        except BaseException:
            for usage, ratios in told.items():
                since = self._ratios.get(usage, [])
                self._ratios[usage] = [*ratios, *since][-SAMPLES_REMEMBERED:]
            raise

    async def flush(self) -> None:
        """Tell the store what was reported. Where it cannot take it now, the next plan tells it."""
        if self.durable and self._ratios:
            with suppress(StorageError), self.telling() as told:
                await self.store.arun(flush_steps(told, now=self.store.clock()))

    def flush_sync(self) -> None:
        """Tell the store what was reported, for code without an event loop; see `flush`."""
        if self.durable and self._ratios:
            with suppress(StorageError), self.telling() as told:
                self.store.run(flush_steps(told, now=self.store.clock()))

    def previous(self, conversation: Conversation | None) -> Any:
        """The fingerprint of the request before in this conversation, without a store."""
        return self._last.get(conversation.name) if conversation is not None else None

    def remember(self, conversation: Conversation | None, fingerprint: Any) -> None:
        """Keep the fingerprint of the newest request of a conversation, without a store."""
        if conversation is None or fingerprint is None:
            return
        self._last[conversation.name] = fingerprint
        self._last.move_to_end(conversation.name)
        while len(self._last) > CONVERSATIONS_REMEMBERED:
            self._last.popitem(last=False)

    async def drain(self) -> None:
        """Wait until the summaries in flight and the background work of this runtime have ended."""
        if isinstance(self.host, TaskHost):
            await self.host.drain()
        await self.in_flight.drain()


@dataclass(slots=True)
class Edge:
    """Answers the questions of one plan.

    Attributes:
        runtime: What it works with.
        facts: The facts of the request.
        models: The summary models, by contributor.
        count_tokens: The provider's counter.
        why: For events.
        preview: Whether everything that would have to be made stays unprepared.
        reader: Answers the questions about a thread; `None` for caller-owned messages.
        target: The wire format that is sent, where it is not the one of the messages.
        support: Receipts of the support calls made.
        damaged: Keys of summaries that could not be read.
    """

    runtime: Runtime
    facts: RequestFacts
    models: dict[str, Any]
    count_tokens: Any = None
    why: Any = "inline"
    preview: bool = False
    reader: Any = None
    target: Dialect | None = None
    support: list[SupportReceipt] = field(default_factory=list)
    damaged: dict[str, None] = field(default_factory=dict)

    @property
    def wire(self) -> Dialect:
        """The wire format that is sent."""
        if self.target is not None:
            return self.target
        return self.reader.target if self.reader is not None else self.facts.dialect

    def run(self, steps: Steps[Any]) -> Any:
        """Drive a plan here and now."""
        return drive(steps, self._answer)

    async def arun(self, steps: Steps[Any]) -> Any:
        """Drive a plan without blocking the event loop."""
        return await adrive(steps, self._aanswer)

    def _store_steps(self, question: Any) -> Steps[Any] | None:
        """The steps in the store that answer a question; `None` for other questions."""
        now = self.runtime.store.clock()
        match question:
            case RunStore(steps=steps):
                return steps  # type: ignore[no-any-return]
            case FindArtifacts(identity=identity, ends=ends):
                if self.reader is not None:
                    return self._noted(self.reader.find_steps(identity, ends, now=now))
                return self._noted(find_steps(identity, ends, now=now))
            case FindSource(key=key):
                return self._noted(find_source_steps(key, now=now))
            case Publish(handle=handle, text=text) if not self.preview:
                return publish_steps(handle, text, now=now)
        if self.reader is not None:
            return self.reader.steps_for(question)  # type: ignore[no-any-return]
        return None

    def _noted(self, steps: Steps[Found]) -> Steps[Found]:
        """Remember which summaries were damaged, so that a new one takes their place."""
        found = yield from steps
        self.damaged.update(dict.fromkeys(found.damaged))
        return found

    def _answer(self, question: Any) -> Any:
        if (steps := self._store_steps(question)) is not None:
            return self.runtime.store.run(steps)
        if isinstance(question, AskInFlight):
            return self.runtime.in_flight.joinable(question.key, blocking=True)
        if self.preview:
            return UNPREPARED
        if isinstance(question, CountRequest):
            if isinstance(self.count_tokens, ProviderCount):
                return self.count_tokens.ask(question, self.facts.dialect, self.wire)
            return sync_count(self._count(question))
        work = self._work(question)
        if question.join:
            with _as_failure():
                joined = self.runtime.in_flight.join(question.job.key)
                return joined or _found(self.runtime.store.run(work.find()))
        self._begin(question)
        try:
            prepared = self.runtime.in_flight.run(work)
        except Exception as error:
            self._end(question, work, error)
            raise
        self._end(question, work, None)
        return prepared

    async def _aanswer(self, question: Any) -> Any:
        if (steps := self._store_steps(question)) is not None:
            return await self.runtime.store.arun(steps)
        if isinstance(question, AskInFlight):
            return self.runtime.in_flight.joinable(question.key, blocking=False)
        if self.preview:
            return UNPREPARED
        if isinstance(question, CountRequest):
            if isinstance(self.count_tokens, ProviderCount):
                return await self.count_tokens.aask(question, self.facts.dialect, self.wire)
            counted = self._count(question)
            return await counted if hasattr(counted, "__await__") else counted
        work = self._work(question)
        if question.join:
            with _as_failure():
                joined = await self.runtime.in_flight.ajoin(question.job.key)
                return joined or _found(await self.runtime.store.arun(work.find()))
        self._begin(question)
        try:
            prepared: Prepared = await self.runtime.in_flight.arun(work)
        except Exception as error:
            self._end(question, work, error)
            raise
        self._end(question, work, None)
        return prepared

    def _count(self, question: CountRequest) -> Any:
        return self.count_tokens(
            messages=list(question.messages),
            system=question.system,
            tools=list(question.tools),
            schema=question.schema,
        )

    def _work(self, ask: Prepare) -> Work:
        job = ask.job
        of_history = isinstance(job, SummaryJob)
        name = "history" if of_history else job.contributor  # type: ignore[union-attr]
        model = self.models[name]
        facts = self.facts.summary if of_history else self.facts.summaries[name]
        assert facts is not None
        supporter = Supporter(
            model=model,
            name=facts.identity.model,
            prefix=f"{self.facts.request_id}.{name}",
            measure=job.measure,
            timeout_seconds=self.runtime.support_timeout_seconds,
            room=job.room,
        )
        return Work(
            ask=ask,
            supporter=supporter,
            store=self.runtime.store,
            holder=self.runtime.holder,
            lease_seconds=self.runtime.lease_seconds,
            reader=self.reader if of_history else None,
            damaged=tuple(self.damaged),
            sleep=self.runtime.sleep,
        )

    def _begin(self, ask: Prepare) -> None:
        self.runtime.tell(self._event("started", ask))

    def _end(self, ask: Prepare, work: Work, error: Exception | None) -> None:
        self.support += work.supporter.receipts
        self._learn(ask, error)
        event = self._event("finished" if error is None else "failed", ask)
        if error is not None:
            code = error.code if isinstance(error, HistoryError) else "HISTORY_ERROR"
            event = msgspec.structs.replace(event, code=code)
        self.runtime.tell(event)

    def _learn(self, ask: Prepare, error: Exception | None) -> None:
        """Let a model rest that failed in all attempts, and one that answered work again."""
        job, setbacks = ask.job, self.runtime.setbacks
        of_history = isinstance(job, SummaryJob)
        model = self.facts.summary if of_history else self.facts.summaries[job.contributor]  # type: ignore[union-attr]
        assert model is not None
        if error is None:
            setbacks.succeeded(model.identity.digest)
        elif isinstance(error, SummaryFailedError) and "reasons" in error.facts:
            now = self.runtime.store.clock()
            setbacks.failed(model.identity.digest, now=now, error=error)

    def _event(self, kind: Any, ask: Prepare) -> SummaryEvent:
        covered = ask.job.messages if isinstance(ask.job, SummaryJob) else 0
        return SummaryEvent(kind=kind, key=ask.job.key, messages=covered, why=self.why)


def _found(artifact: Any) -> Prepared:
    """Take what somebody made meanwhile.

    Raises:
        SummaryFailedError: `SUMMARY_FAILED`, where nobody did.
    """
    if artifact is None:
        raise _not_joined()
    return Prepared(artifact=artifact, how="found")


def _not_joined() -> SummaryFailedError:
    return SummaryFailedError(
        "A summary that was being made came to nothing.", fix="Plan again.", reason="not-joined"
    )


@contextmanager
def _as_failure() -> Iterator[None]:
    """Take whatever became of the work of others for a summary that is missing."""
    try:
        yield
    except SummaryFailedError:
        raise
    except HistoryError as error:
        raise _not_joined() from error
