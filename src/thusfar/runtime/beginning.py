"""Beginning: what a caller of a plan said, and a thread where there is one, made into facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thusfar._setting import sequence_of
from thusfar.dialects import dialect
from thusfar.drive import Steps
from thusfar.errors import (
    OptionsError,
)
from thusfar.models.port import takes_any_input
from thusfar.planner.facts import Fingerprint, RequestFacts, Source, SummaryModel
from thusfar.runtime.arguments import PlanArguments
from thusfar.runtime.checking import wrong_kind
from thusfar.runtime.collecting import (
    capacity_for,
    dialect_of,
    facts_of_request,
    listed,
    model_name,
    turn_messages,
)
from thusfar.runtime.edge import Edge, Runtime
from thusfar.runtime.remembering import Conversation, read_steps
from thusfar.runtime.working import RunStore
from thusfar.tokens import measure_for


def runtime_of(said: PlanArguments, runtime: Runtime | None) -> Runtime:
    """Take the caller's runtime, or make one for this request.

    Raises:
        OptionsError: `INVALID_OPTIONS`, for a thread of another store than the runtime's, and
            for anything but a runtime.
    """
    if runtime is None:
        return Runtime(said.thread.store if said.thread is not None else None)
    if not isinstance(runtime, Runtime):
        raise wrong_kind("A plan", "runtime", runtime, "Pass a Runtime.")
    if said.thread is not None and runtime.store is not said.thread.store:
        raise OptionsError(
            "A plan got a thread of another store than its runtime's.",
            fix="Make the runtime with the store of the thread.",
            option="runtime",
        )
    return runtime


def _begin(said: PlanArguments, runtime: Runtime, *, preview: bool = False) -> Steps[Edge]:
    """Collect the facts of a request."""
    reader = None
    name = model_name(said.model)
    capacity = capacity_for(said.model, said.capacity)
    sized_as = None if capacity is None and takes_any_input(said.model) else name
    measure = measure_for(said.counter, sized_as, capacity=capacity)
    if said.messages is not None or said.thread is None:
        messages = () if said.messages is None else sequence_of(said.messages)
        wire = dialect_of(messages or listed(said.turn), said.dialect, "openai-chat")
        kind: Any = "none" if said.messages is None else "caller-messages"
        source = Source(kind=kind, messages=messages)
    else:
        from thusfar.runtime.reading import ThreadReader

        reader = ThreadReader(said.thread, said.wire or said.dialect, at=said.at)
        wire = reader.wire
        source = yield RunStore(steps=reader.begin_steps(measure))
    usage = (name, measure.tokenizer)
    known: tuple[Any, Sequence[float]] = (None, ())
    if runtime.durable:
        known = yield RunStore(steps=read_steps(conversation_of(said, reader), usage))
    within: Any = said.within
    target = reader.target if reader is not None else None
    if said.wire is not None:
        target = dialect(said.wire) if isinstance(said.wire, str) else said.wire
    facts, models = facts_of_request(
        said,
        request_id=runtime.new_id(),
        source=source,
        wire=wire,
        turn=reader.lifted_turn(said.turn) if reader else turn_messages(said.turn, wire),
        sent_as=target.name if target is not None else "",
        summariser=runtime.summariser,
        background=True,
        backing=runtime.durable,
        calibration=runtime.calibration(usage, known[1]),
        previous=_fingerprint(said, runtime, reader) or known[0],
        epoch=within.epoch if within is not None else None,
    )
    return Edge(
        runtime,
        _with_rests(facts, runtime),
        models,
        count_tokens=said.count_tokens,
        preview=preview,
        reader=reader,
        target=target,
    )


def _with_rests(facts: RequestFacts, runtime: Runtime) -> RequestFacts:
    """Say which summary models are left alone for now."""
    now = runtime.store.clock()

    def rested(model: SummaryModel) -> SummaryModel:
        left = runtime.setbacks.rest(model.identity.digest, now=now)
        return replace(model, rest_seconds=left) if left else model

    if facts.summary is None and not facts.summaries:
        return facts
    summary = None if facts.summary is None else rested(facts.summary)
    summaries = {name: rested(model) for name, model in facts.summaries.items()}
    return replace(facts, summary=summary, summaries=summaries)


def _fingerprint(said: PlanArguments, runtime: Runtime, reader: Any) -> Fingerprint | None:
    before = said.previous if said.previous is not None else said.within
    if before is not None:
        made: Fingerprint | None = getattr(before, "fingerprint", before)
        return made
    found: Fingerprint | None = runtime.previous(conversation_of(said, reader))
    return found


def conversation_of(said: PlanArguments, reader: Any) -> Conversation | None:
    """Name the conversation that a request belongs to; `None` where nobody said."""
    thread_id = reader.thread.id if reader is not None else ""
    if said.conversation is not None:
        name = f"named\n{thread_id}\n{said.conversation}"
        return Conversation(name=name, thread_id=thread_id, named=True)
    if reader is None:
        return None
    return Conversation(name=f"thread\n{thread_id}\n{reader.thread.owner}", thread_id=thread_id)


def begin_sync(said: PlanArguments, runtime: Runtime, *, preview: bool = False) -> Edge:
    """Collect the facts of a request here and now."""
    from thusfar.drive import drive

    made: Edge = drive(
        _begin(said, runtime, preview=preview), lambda asked: runtime.store.run(asked.steps)
    )
    return made


async def begin(said: PlanArguments, runtime: Runtime, *, preview: bool = False) -> Edge:
    """Collect the facts of a request without blocking the event loop."""
    from thusfar.drive import adrive

    async def answer(asked: RunStore) -> Any:
        return await runtime.store.arun(asked.steps)

    made: Edge = await adrive(_begin(said, runtime, preview=preview), answer)
    return made
