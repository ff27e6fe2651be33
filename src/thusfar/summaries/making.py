"""Making: the work of each strategy, as generators of support calls. Pure.

`make_summary` asks for messages and for texts and answers with an artifact; it stores nothing.
Every range is sent to the model once; what was summarised before is carried as its summary.

Source:
    docs/spec/summaries.md#strategies
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from thusfar.artifacts import KEPT_SUPERSEDED, LINKED_SUPPORT, Artifact, Segment, SourceArtifact
from thusfar.drive import Steps
from thusfar.errors import SummaryFailedError
from thusfar.messages import Message
from thusfar.summaries.accepting import accepted, failed
from thusfar.summaries.chunks import Chunk, chunks_of, whole_range
from thusfar.summaries.instructions import (
    merge_prompt,
    segment_prompt,
    source_prompt,
    system_words,
    update_prompt,
)
from thusfar.summaries.rendering import masked
from thusfar.summaries.values import (
    CHUNK_TOKENS,
    MERGE_WIDTH,
    OUTPUT_ROOM,
    NativeCall,
    Purpose,
    ReadRange,
    Reason,
    SourceJob,
    SummaryJob,
    SupportAnswer,
    SupportCall,
    SupportFailure,
)

# A level merges eight segments of at most 7/8 of the limit: over all levels a range then costs at
# most its own size and twice the limit, which is the law of rolling summaries too.
SEGMENT_SHARE: Final = (7, 8)
DRIFT_BOUND: Final = 6  # rewritings after which adaptive() goes back to the messages themselves
LEAST_DATA: Final = 64  # tokens of data that a call must have room for


@dataclass(slots=True)
class _Work:
    """The state of one job: what it has spent and how its calls are named."""

    job: SummaryJob | SourceJob
    segments: list[Segment] = field(default_factory=list)
    source: int = 0
    spent: int = 0
    retried: int = 0
    ranges: int = 0
    clipped: int = 0
    support: list[str] = field(default_factory=list)

    def ask(
        self,
        purpose: Purpose,
        prompt: str,
        *,
        cost: int,
        most: int,
        replaced: int,
        span: tuple[int, int] = (0, 0),
    ) -> Steps[tuple[str, int]]:
        """Ask for a text until one is accepted or the attempts are used up.

        Raises:
            SummaryFailedError: `SUMMARY_FAILED`, with the cause of the last attempt.
        """
        options, measure = self.job.options, self.job.measure
        system = system_words(options.instructions)
        size = measure.text(system) + measure.text(prompt)
        reasons: list[Reason] = []
        cause: Exception | None = None
        for attempt in range(1, options.attempts + 1):
            call = SupportCall(
                purpose=purpose,
                system=system,
                prompt=prompt,
                max_output_tokens=options.max_tokens * OUTPUT_ROOM,
                input_tokens=size,
                start=span[0],
                end=span[1],
                attempt=attempt,
            )
            answer: SupportAnswer | SupportFailure = yield call
            if answer.request_id:
                self.support.append(answer.request_id)
            judged = accepted(answer, most=most, replaced=replaced, measure=measure)
            if isinstance(judged, tuple):
                self.spent += cost + judged[1]
                return judged
            self.retried += cost
            if isinstance(answer, SupportAnswer):
                self.retried += measure.text(answer.text)
            cause = answer.error if isinstance(answer, SupportFailure) else None
            reasons.append(judged)
        raise failed(reasons, call, cause)


def room_for_data(job: SummaryJob | SourceJob, *, carried: int) -> int:
    """Compute how many tokens of data a call of this job may hold.

    Args:
        job: What is to be made.
        carried: Most tokens of summaries that the call carries as well.
    """
    if job.room is None:
        return 2**53 - 1
    words = job.measure.text(system_words(job.options.instructions))
    words += job.measure.text(update_prompt("", "", most=job.options.max_tokens))
    return max(LEAST_DATA, job.room - words - carried)


def make_summary(job: SummaryJob) -> Steps[Artifact]:
    """Carry out a job, with the strategy of its options.

    Raises:
        SummaryFailedError: `SUMMARY_FAILED`, when a text could not be had.
    """
    work = _Work(job)
    if job.identity.native:
        yield from _native(work, job)
        return _artifact(work, job)
    if job.base is not None and job.options.strategy.kind != "regenerate":
        _continue(work, job.base)
    match job.options.strategy.kind:
        case "rolling":
            yield from _roll(work, job)
        case "hierarchical":
            yield from _grow(work, job)
        case "adaptive":
            yield from _adapt(work, job)
        case _:
            yield from _regenerate(work, job)
    return _artifact(work, job)


def _artifact(work: _Work, job: SummaryJob) -> Artifact:
    return Artifact(
        key=job.key,
        identity=job.identity.digest,
        chain=job.chain,
        messages=job.messages,
        segments=tuple(work.segments),
        kept_user=job.kept_user,
        source_tokens=work.source,
        spent_tokens=work.spent,
        retried_tokens=work.retried,
        ranges=work.ranges,
        clipped=work.clipped,
        calls=len(work.support),
        support=tuple(work.support[-LINKED_SUPPORT:]),
        lineage=_lineage(job.base),
    )


def _lineage(base: Artifact | None) -> tuple[str, ...]:
    return (base.key, *base.lineage)[: KEPT_SUPERSEDED + 1] if base else ()


def _continue(work: _Work, base: Artifact) -> None:
    work.segments = list(base.segments)
    work.source, work.spent, work.retried = (
        base.source_tokens,
        base.spent_tokens,
        base.retried_tokens,
    )
    work.ranges, work.clipped = base.ranges, base.clipped


def _covered(work: _Work) -> int:
    return work.segments[-1].end if work.segments else 0


def _took(work: _Work, chunk: Chunk) -> None:
    work.source += chunk.tokens
    work.ranges += 1
    work.clipped += chunk.clipped


def _roll(work: _Work, job: SummaryJob) -> Steps[None]:
    """Bring one running summary up to date, range by range."""
    most = job.options.max_tokens
    room = room_for_data(job, carried=most)
    for chunk in (yield from chunks_of(job, _covered(work), most=room)):
        yield from _update(work, chunk, most)


def _update(work: _Work, chunk: Chunk, most: int) -> Steps[None]:
    """Put a range into the newest segment, or begin the first one."""
    _took(work, chunk)
    if not work.segments:
        work.segments.append((yield from _leaf(work, chunk, most)))
        return
    work.segments[-1] = yield from _extended(work, work.segments[-1], chunk, most)


def _extended(work: _Work, last: Segment, chunk: Chunk, most: int) -> Steps[Segment]:
    """Put a range behind a segment, in one call."""
    text, tokens = yield from work.ask(
        "update",
        update_prompt(last.text, chunk.text, most=most),
        cost=chunk.tokens + last.tokens,
        most=most,
        replaced=last.tokens + chunk.counted,
        span=(chunk.start, chunk.end),
    )
    return Segment(
        start=last.start,
        end=chunk.end,
        text=text,
        tokens=tokens,
        level=last.level,
        generation=last.generation + 1,
    )


def _leaf(work: _Work, chunk: Chunk, most: int) -> Steps[Segment]:
    text, tokens = yield from work.ask(
        "segment",
        segment_prompt(chunk.text, most=most),
        cost=chunk.tokens,
        most=most,
        replaced=chunk.counted,
        span=(chunk.start, chunk.end),
    )
    return Segment(start=chunk.start, end=chunk.end, text=text, tokens=tokens)


def _segment_limit(job: SummaryJob) -> int:
    return max(1, job.options.max_tokens * SEGMENT_SHARE[0] // SEGMENT_SHARE[1])


def _grow(work: _Work, job: SummaryJob) -> Steps[None]:
    """Add a segment a range, and merge where eight of a level stand in a row."""
    most = _segment_limit(job)
    for chunk in (yield from chunks_of(job, _covered(work), most=room_for_data(job, carried=0))):
        _took(work, chunk)
        work.segments.append((yield from _leaf(work, chunk, most)))
        yield from _merge(work, most)


def _merge(work: _Work, most: int) -> Steps[None]:
    while len(work.segments) >= MERGE_WIDTH:
        row = work.segments[-MERGE_WIDTH:]
        if len({segment.level for segment in row}) > 1:
            return
        carried = sum(segment.tokens for segment in row)
        text, tokens = yield from work.ask(
            "merge",
            merge_prompt(tuple(segment.text for segment in row), most=most),
            cost=carried,
            most=most,
            replaced=carried,
            span=(row[0].start, row[-1].end),
        )
        merged = Segment(
            start=row[0].start,
            end=row[-1].end,
            text=text,
            tokens=tokens,
            level=row[0].level + 1,
            generation=max(segment.generation for segment in row) + 1,
        )
        work.segments[-MERGE_WIDTH:] = [merged]


def _adapt(work: _Work, job: SummaryJob) -> Steps[None]:
    """Keep one segment while the range is small, then grow; go back to the messages on drift."""
    most = _segment_limit(job)
    room = room_for_data(job, carried=most)
    for chunk in (yield from chunks_of(job, _covered(work), most=room)):
        small = work.source + chunk.tokens <= CHUNK_TOKENS and len(work.segments) <= 1
        if small or (work.segments and chunk.counted < most):  # too small for one of its own
            yield from _update(work, chunk, most)
        else:
            _took(work, chunk)
            work.segments.append((yield from _leaf(work, chunk, most)))
            yield from _merge(work, most)
    yield from _refresh(work, job, most)


def _refresh(work: _Work, job: SummaryJob, most: int) -> Steps[None]:
    """Summarise a segment anew from its messages once it passed the drift bound.

    It is done when what the law allows and was not spent pays for it; a failure changes nothing.
    """
    worst = max(work.segments, key=lambda segment: segment.generation)
    saved = work.source + 2 * job.options.max_tokens * work.ranges - work.spent
    if worst.generation <= DRIFT_BOUND or saved <= most or worst.start < _first_readable(job):
        return
    part = replace(
        job,
        messages=worst.end,
        turns=tuple(turn for turn in job.turns if worst.start <= turn[0] < worst.end),
    )
    room = room_for_data(job, carried=most)
    chunks = yield from chunks_of(part, worst.start, most=room)
    cost = sum(chunk.tokens + 2 * most for chunk in chunks)
    if not chunks or cost > saved or len(chunks) > worst.generation:
        return
    try:
        fresh = yield from _anew(work, chunks, most)
    except SummaryFailedError:
        return
    place = work.segments.index(worst)
    work.segments[place] = msgspec.structs.replace(fresh, level=worst.level)


def _anew(work: _Work, chunks: Sequence[Chunk], most: int) -> Steps[Segment]:
    """Summarise a range from its messages, in as many calls as the summary model needs."""
    segment = yield from _leaf(work, chunks[0], most)
    for chunk in chunks[1:]:
        segment = yield from _extended(work, segment, chunk, most)
    return segment


def _first_readable(job: SummaryJob) -> int:
    return job.turns[0][0] if job.turns else job.messages


def _native(work: _Work, job: SummaryJob) -> Steps[None]:
    """Let the provider summarise the whole range by its own means."""
    read: list[tuple[int, Message]] = yield ReadRange(start=0, end=job.messages)
    mask = job.options.redact.apply if job.options.redact else None
    messages = tuple(message if mask is None else masked(message, mask) for _, message in read)
    counted = sum(tokens for _, tokens in job.turns)
    options = job.options
    reasons: list[Reason] = []
    for attempt in range(1, options.attempts + 1):
        call = NativeCall(
            messages=messages,
            input_tokens=counted,
            end=job.messages,
            strategy=options.strategy,
            max_output_tokens=options.max_tokens,
            attempt=attempt,
        )
        answer: SupportAnswer | SupportFailure = yield call
        if answer.request_id:
            work.support.append(answer.request_id)
        judged = accepted(answer, most=options.max_tokens, replaced=counted, measure=job.measure)
        if isinstance(judged, tuple):
            text, tokens = judged
            work.segments.append(Segment(start=0, end=job.messages, text=text, tokens=tokens))
            work.source, work.spent, work.ranges = counted, counted + tokens, 1
            return
        reasons.append(judged)
        work.retried += counted
    cause = answer.error if isinstance(answer, SupportFailure) else None
    raise failed(reasons, call, cause)


def _regenerate(work: _Work, job: SummaryJob) -> Steps[None]:
    """Summarise the whole range anew, in one call where the summary model takes it."""
    most = job.options.max_tokens
    for chunk in (yield from whole_range(job, most=room_for_data(job, carried=most))):
        yield from _update(work, chunk, most)


def make_source_summary(job: SourceJob) -> Steps[SourceArtifact]:
    """Summarise a contributor's text in one call.

    Raises:
        SummaryFailedError: `SUMMARY_FAILED`, when a text could not be had, or the contributor is
            larger than what the summary model takes.
    """
    most = job.options.max_tokens
    mask = job.options.redact.apply if job.options.redact else str
    data = "\n\n".join(mask(text) for text in job.texts)
    size = job.measure.text(data)
    if size > room_for_data(job, carried=0):
        raise SummaryFailedError(
            "A contributor was larger than what the summary model takes.",
            fix="Use a summary model with a larger window, or authorise a smaller form.",
            contributor=job.contributor,
            input_tokens=size,
            room=job.room,
        )
    work = _Work(job)
    text, tokens = yield from work.ask(
        "source", source_prompt(data, most=most), cost=size, most=most, replaced=size
    )
    return SourceArtifact(key=job.key, text=text, tokens=tokens, support=tuple(work.support))
