"""Making: the work of each strategy, as generators of support calls. Pure.

`make_summary` asks for messages and for texts and answers with an artifact; it stores nothing.
Every range is sent to the model once; what was summarised before is carried as its summary.

Source:
    docs/spec/summaries.md#strategies
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from thusfar.artifacts import KEPT_SUPERSEDED, LINKED_SUPPORT, Artifact, Segment, SourceArtifact
from thusfar.drive import Steps
from thusfar.errors import SummaryFailedError
from thusfar.summaries.asking import Work, room_for_data
from thusfar.summaries.chunks import Chunk, chunks_of, whole_range
from thusfar.summaries.instructions import (
    merge_prompt,
    segment_prompt,
    source_prompt,
    update_prompt,
)
from thusfar.summaries.native import make_natively
from thusfar.summaries.values import (
    CHUNK_TOKENS,
    MERGE_WIDTH,
    SourceJob,
    SummaryJob,
)

# Of the limit this is asked for, and up to the limit accepted. Texts of this size pay for merging
# eight of a level: over all levels a range costs its own size and twice the limit.
SEGMENT_SHARE: Final = (7, 8)
DRIFT_BOUND: Final = 6  # rewritings after which adaptive() goes back to the messages themselves


def make_summary(job: SummaryJob) -> Steps[Artifact]:
    """Carry out a job, with the strategy of its options.

    Raises:
        SummaryFailedError: `SUMMARY_FAILED`, when a text could not be had.
    """
    work = Work(job)
    if job.identity.native:
        yield from make_natively(work, job)
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


def _artifact(work: Work, job: SummaryJob) -> Artifact:
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


def _continue(work: Work, base: Artifact) -> None:
    work.segments = list(base.segments)
    work.source, work.spent, work.retried = (
        base.source_tokens,
        base.spent_tokens,
        base.retried_tokens,
    )
    work.ranges, work.clipped = base.ranges, base.clipped


def _covered(work: Work) -> int:
    return work.segments[-1].end if work.segments else 0


def _took(work: Work, chunk: Chunk) -> None:
    work.source += chunk.tokens
    work.ranges += 1
    work.clipped += chunk.clipped


def _roll(work: Work, job: SummaryJob) -> Steps[None]:
    """Bring one running summary up to date, range by range."""
    most = job.options.max_tokens
    room = room_for_data(job, carried=most)
    for chunk in (yield from chunks_of(job, _covered(work), most=room)):
        yield from _update(work, chunk, most)


def _update(work: Work, chunk: Chunk, most: int) -> Steps[None]:
    """Put a range into the newest segment, or begin the first one."""
    _took(work, chunk)
    if not work.segments:
        work.segments.append((yield from _leaf(work, chunk, most)))
        return
    work.segments[-1] = yield from _extended(work, work.segments[-1], chunk, most)


def _extended(work: Work, last: Segment, chunk: Chunk, most: int) -> Steps[Segment]:
    """Put a range behind a segment, in one call."""
    text, tokens = yield from work.ask(
        "update",
        update_prompt(last.text, chunk.text, most=most),
        cost=chunk.tokens + last.tokens,
        most=work.job.options.max_tokens,
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


def _leaf(work: Work, chunk: Chunk, most: int) -> Steps[Segment]:
    text, tokens = yield from work.ask(
        "segment",
        segment_prompt(chunk.text, most=most),
        cost=chunk.tokens,
        most=work.job.options.max_tokens,
        replaced=chunk.counted,
        span=(chunk.start, chunk.end),
    )
    return Segment(start=chunk.start, end=chunk.end, text=text, tokens=tokens)


def _segment_limit(job: SummaryJob) -> int:
    return max(1, job.options.max_tokens * SEGMENT_SHARE[0] // SEGMENT_SHARE[1])


def _grow(work: Work, job: SummaryJob) -> Steps[None]:
    """Add a segment a range, and merge where eight of a level stand in a row."""
    most = _segment_limit(job)
    yield from _settle(work, most)
    for chunk in (yield from chunks_of(job, _covered(work), most=room_for_data(job, carried=most))):
        _took(work, chunk)
        yield from _add(work, chunk, most)


def _add(work: Work, chunk: Chunk, most: int) -> Steps[None]:
    """Put a range behind the segments as one of its own, where the request has room for one."""
    fits, limit = work.job.fits, work.job.options.max_tokens
    if fits is not None and work.tokens + limit > fits:
        spare = work.saved - chunk.tokens - 2 * limit
        yield from _shrink(work, most, to=fits - limit, spare=spare)
        if work.segments and work.tokens + limit > fits:
            work.segments[-1] = yield from _extended(work, work.segments[-1], chunk, most)
            return
    try:
        work.segments.append((yield from _leaf(work, chunk, most)))
    except SummaryFailedError as error:
        if error.facts.get("reason") != "not-shorter" or not work.segments:
            raise
        # A piece of a few words has no shorter summary of its own.
        work.segments[-1] = yield from _extended(work, work.segments[-1], chunk, most)
    yield from _merge(work, most)


def _merge(work: Work, most: int) -> Steps[None]:
    """Merge eight in a row of one level, the oldest first, as far as the law pays for it."""
    while (start := _row_of_eight(work.segments)) is not None:
        row = work.segments[start : start + MERGE_WIDTH]
        if work.saved < sum(segment.tokens for segment in row) + work.job.options.max_tokens:
            return
        work.segments[start : start + MERGE_WIDTH] = [(yield from _merged(work, row, most))]


def _row_of_eight(segments: Sequence[Segment]) -> int | None:
    for start in range(len(segments) - MERGE_WIDTH + 1):
        if len({segment.level for segment in segments[start : start + MERGE_WIDTH]}) == 1:
            return start
    return None


def _merged(work: Work, row: Sequence[Segment], most: int) -> Steps[Segment]:
    """Write one text for segments that follow each other."""
    carried = sum(segment.tokens for segment in row)
    text, tokens = yield from work.ask(
        "merge",
        merge_prompt(tuple(segment.text for segment in row), most=most),
        cost=carried,
        most=work.job.options.max_tokens,
        replaced=carried,
        span=(row[0].start, row[-1].end),
    )
    return Segment(
        start=row[0].start,
        end=row[-1].end,
        text=text,
        tokens=tokens,
        level=max(segment.level for segment in row) + 1,
        generation=max(segment.generation for segment in row) + 1,
    )


def _settle(work: Work, most: int) -> Steps[None]:
    """Merge what was made for a request with more room; what is made here never asks for it."""
    if work.job.fits is not None:
        yield from _shrink(work, most, to=work.job.fits + work.job.options.max_tokens)


def _shrink(work: Work, most: int, *, to: int, spare: int | None = None) -> Steps[None]:
    """Merge the oldest segments until all of them have so many tokens.

    Args:
        work: The work.
        most: What is asked of a segment. Unit: tokens.
        to: Most tokens of all segments.
        spare: What may be spent on it. `None`: as much as it takes.
    """
    while len(work.segments) > 1 and work.tokens > to:
        row = work.segments[:MERGE_WIDTH]
        cost = sum(segment.tokens for segment in row) + work.job.options.max_tokens
        if spare is not None and spare < cost:
            return
        work.segments[: len(row)] = [(yield from _merged(work, row, most))]
        spare = None if spare is None else spare - cost


def _adapt(work: Work, job: SummaryJob) -> Steps[None]:
    """Keep one segment while the range is small, then grow; go back to the messages on drift."""
    most = _segment_limit(job)
    yield from _settle(work, most)
    room = room_for_data(job, carried=most)
    for chunk in (yield from chunks_of(job, _covered(work), most=room)):
        small = work.source + chunk.tokens <= CHUNK_TOKENS and len(work.segments) <= 1
        if small or (work.segments and chunk.counted < most):  # too small for one of its own
            yield from _carry_on(work, job, chunk, most)
        else:
            _took(work, chunk)
            yield from _add(work, chunk, most)
    yield from _refresh(work, job, most)


def _carry_on(work: Work, job: SummaryJob, chunk: Chunk, most: int) -> Steps[None]:
    """Put a range into the newest segment, unless that would pass the drift bound.

    Then the segment is made anew from its messages; while the law does not pay for that, the range
    begins a segment of its own.
    """
    if not work.segments or work.segments[-1].generation < DRIFT_BOUND:
        yield from _update(work, chunk, most)
        return
    worn = msgspec.structs.replace(work.segments[-1], end=chunk.end, generation=DRIFT_BOUND)
    _took(work, chunk)
    fresh = yield from _reread(work, job, worn, most)
    if fresh is None:
        yield from _add(work, chunk, most)
    else:
        work.segments[-1] = fresh


def _refresh(work: Work, job: SummaryJob, most: int) -> Steps[None]:
    """Summarise a merged segment anew from its messages once it passed the drift bound."""
    worst = max(work.segments, key=lambda segment: segment.generation)
    if worst.generation > DRIFT_BOUND:
        fresh = yield from _reread(work, job, worst, most)
        if fresh is not None:
            work.segments[work.segments.index(worst)] = fresh


def _reread(work: Work, job: SummaryJob, worn: Segment, most: int) -> Steps[Segment | None]:
    """Summarise the range of a segment from its messages, with less rewriting than it had.

    It is done when what the law allows and was not spent pays for it; a failure changes nothing.
    """
    saved, limit = work.saved, job.options.max_tokens
    if saved <= limit or worn.start < _first_readable(job):
        return None
    part = replace(
        job,
        messages=worn.end,
        turns=tuple(turn for turn in job.turns if worn.start <= turn[0] < worn.end),
    )
    room = room_for_data(job, carried=most)
    chunks = yield from chunks_of(part, worn.start, most=room)
    cost = sum(chunk.tokens + 2 * limit for chunk in chunks)
    if not chunks or cost > saved or len(chunks) > worn.generation:
        return None
    try:
        fresh = yield from _anew(work, chunks, most)
    except SummaryFailedError:
        return None
    return msgspec.structs.replace(fresh, level=worn.level)


def _anew(work: Work, chunks: Sequence[Chunk], most: int) -> Steps[Segment]:
    """Summarise a range from its messages, in as many calls as the summary model needs."""
    segment = yield from _leaf(work, chunks[0], most)
    for chunk in chunks[1:]:
        segment = yield from _extended(work, segment, chunk, most)
    return segment


def reread_from(base: Artifact | None) -> int:
    """Say from where on messages must be at hand, for a summary that may go back to them.

    Args:
        base: The summary that is continued.

    Returns:
        Where its worn segment begins; the end of the base where nothing is worn, or where it
        holds more than may be read again.
    """
    if base is None:
        return 0
    worst = max(base.segments, key=lambda segment: segment.generation)
    pieces = MERGE_WIDTH**worst.level  # at least so many were merged
    worn = worst.generation >= DRIFT_BOUND and pieces <= worst.generation
    return worst.start if worn else base.messages


def _first_readable(job: SummaryJob) -> int:
    return job.turns[0][0] if job.turns else job.messages


def _regenerate(work: Work, job: SummaryJob) -> Steps[None]:
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
    work = Work(job)
    text, tokens = yield from work.ask(
        "source", source_prompt(data, most=most), cost=size, most=most, replaced=size
    )
    return SourceArtifact(key=job.key, text=text, tokens=tokens, support=tuple(work.support))
