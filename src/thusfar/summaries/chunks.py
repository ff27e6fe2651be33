"""Chunks: a range cut at turn borders into pieces that one support call takes.

Boundaries depend on the range alone: a piece is closed before the turn with which it would pass
4,000 tokens, and after eight turns. A turn that is larger is a piece of its own.

Source:
    docs/spec/summaries.md#chunks
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from thusfar.drive import Steps
from thusfar.messages import Message
from thusfar.summaries.rendering import quoted, shortened
from thusfar.summaries.values import CHUNK_TOKENS, CHUNK_TURNS, ReadRange, SummaryJob

_TRIES: Final = 12  # each removes at least a tenth: far more than any window needs


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a range.

    Attributes:
        start: First message.
        end: End (exclusive).
        text: Its messages as quoted data.
        tokens: Size of the text.
        counted: Tokens of its messages as counted in the request.
        clipped: How many turns had to be cut to fit the summary model.
    """

    start: int
    end: int
    text: str
    tokens: int
    counted: int
    clipped: int = 0


def chunks_of(job: SummaryJob, start: int, *, most: int) -> Steps[list[Chunk]]:
    """Cut the range of a job from `start` on, reading it turn by turn.

    Args:
        job: What is to be made.
        start: Where the range begins.
        most: Most tokens that one call takes beside its other text.
    """
    limit = min(CHUNK_TOKENS, most)
    made: list[Chunk] = []
    open_turns: list[Chunk] = []
    for turn in (yield from _turns(job, start, most)):
        size = sum(each.tokens for each in open_turns)
        if open_turns and (size + turn.tokens > limit or len(open_turns) == CHUNK_TURNS):
            made.append(_joined(open_turns))
            open_turns = []
        open_turns.append(turn)
    if open_turns:
        made.append(_joined(open_turns))
    return made


def whole_range(job: SummaryJob, *, most: int) -> Steps[list[Chunk]]:
    """Take the range as one piece, or as few as the summary model takes."""
    made: list[Chunk] = []
    for turn in (yield from _turns(job, 0, most)):
        if made and made[-1].tokens + turn.tokens <= most:
            made[-1] = _joined([made[-1], turn])
        else:
            made.append(turn)
    return made


def _turns(job: SummaryJob, start: int, most: int) -> Steps[list[Chunk]]:
    """Render each turn of the range."""
    read: Sequence[tuple[int, Message]] = yield ReadRange(start=start, end=job.messages)
    mask = job.options.redact.apply if job.options.redact else None
    starts = [(at, counted) for at, counted in job.turns if start <= at < job.messages]
    ends = [at for at, _ in starts[1:]] + [job.messages]
    turns: list[Chunk] = []
    place = 0
    for (low, counted), high in zip(starts, ends, strict=True):
        first = place
        while place < len(read) and read[place][0] < high:
            place += 1
        text, tokens, clipped = _fitting(job, quoted(read[first:place], mask), most)
        turns.append(
            Chunk(start=low, end=high, text=text, tokens=tokens, counted=counted, clipped=clipped)
        )
    return turns


def _fitting(job: SummaryJob, text: str, most: int) -> tuple[str, int, int]:
    """Cut a turn that alone is larger than what the summary model takes."""
    tokens = job.measure.text(text)
    if tokens <= most:
        return text, tokens, 0
    cut = text
    for _ in range(_TRIES):
        cut = shortened(text, max(1, min(len(cut) * 9 // 10, len(cut) * most // tokens)))
        tokens = job.measure.text(cut)
        if tokens <= most:
            break
    return cut, tokens, 1


def _joined(turns: Sequence[Chunk]) -> Chunk:
    if len(turns) == 1:
        return turns[0]
    return Chunk(
        start=turns[0].start,
        end=turns[-1].end,
        text="\n".join(turn.text for turn in turns if turn.text),
        tokens=sum(turn.tokens for turn in turns),
        counted=sum(turn.counted for turn in turns),
        clipped=sum(turn.clipped for turn in turns),
    )
