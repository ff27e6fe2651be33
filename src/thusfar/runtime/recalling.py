"""Recalling: the answer to the `recall` tool: exact older messages, or the text behind a handle.

Found text is quoted with positions, like the data of a summary, so that what was said long ago is
read as a record.

Source:
    docs/spec/planner.md#recall
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from thusfar.codec import parse_json
from thusfar.drive import Steps
from thusfar.errors import TranscriptError
from thusfar.messages import Message
from thusfar.planner.facts import RequestFacts
from thusfar.planner.questions import ReadPositions, SearchMessages
from thusfar.runtime.keeping import recall_steps
from thusfar.runtime.working import RunStore
from thusfar.summaries.rendering import quoted
from thusfar.tokens import Measure
from thusfar.words import Search, text_of

MOST_MESSAGES: Final = 50  # messages shown at once; the model may ask again
MOST_MATCHES: Final = 10
MOST_CHARS: Final = 40_000  # about ten thousand tokens
ROOM_SHARE: Final = 4  # a quarter of the maximum: a summary makes room for that much
BESIDE: Final = 100  # tokens of the call and of what is said around an answer
_NOTHING: Final = "(nothing found)"


class Recall(msgspec.Struct, frozen=True, kw_only=True):
    """What a model asked for; positions are those that a digest shows.

    Attributes:
        first: First message.
        last: Last message.
        search: Words that a message has, in any order; see `thusfar.words`.
        handle: Handle of a contributor.
        start: Character of the answer to read from, where it is too long to be shown at once.
    """

    first: int | None = None
    last: int | None = None
    search: str | None = None
    handle: str | None = None
    start: int | None = None


def read_arguments(arguments: str | Mapping[str, Any]) -> Recall:
    """Read the arguments of a tool call.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when they are not what the tool takes.
    """
    value = (
        parse_json(arguments, where="a call of recall") if isinstance(arguments, str) else arguments
    )
    try:
        return msgspec.convert(dict(value), Recall)
    except (msgspec.ValidationError, TypeError, ValueError):
        raise TranscriptError(
            "The arguments of recall were not what it takes.",
            fix="Pass first and last, search, or handle.",
        ) from None


def recall_answer(facts: RequestFacts, wanted: Recall, *, used: int = 0) -> Steps[str]:
    """Answer a call of the tool.

    Args:
        facts: The facts of the request that offered the tool.
        wanted: What the model asked for.
        used: Size of that request. Unit: tokens.
    """
    room = _room(facts, used)
    if wanted.handle is not None:
        text: str | None = yield RunStore(steps=recall_steps(wanted.handle))
        return _NOTHING if text is None else _piece(text, wanted.start, facts.measure, room)
    stored = facts.source.kind == "thread"
    messages, lift = facts.source.messages, facts.dialect.lift
    found: Sequence[tuple[int, Message]]
    if wanted.first is not None or wanted.last is not None:
        first, last = _range(wanted, len(messages))
        if stored:
            found = yield ReadPositions(first=first, last=last)
        else:
            found = [(place, lift(messages[place])) for place in range(first, last + 1)]
    elif stored:
        found = yield SearchMessages(words=wanted.search or "", limit=MOST_MATCHES)
    else:
        places = _scanned(facts, Search(wanted.search or ""))
        found = [(place, lift(messages[place])) for place in places]
    return _piece(quoted(found), wanted.start, facts.measure, room) if found else _NOTHING


def _room(facts: RequestFacts, used: int) -> int | None:
    """Say how large an answer may be, so that it fits the next request; `None`: of any size."""
    most = facts.limits.max
    return None if most is None else max(most - used - BESIDE, most // ROOM_SHARE)


def _piece(text: str, start: int | None, measure: Measure, room: int | None) -> str:
    """Show as much of an answer as fits the next request, and say how to read on."""
    begin = min(max(0, start or 0), len(text))
    size = min(len(text) - begin, MOST_CHARS)
    while room is not None and size > 1:
        tokens = measure.text(text[begin : begin + size])
        if tokens <= room:
            break
        size = max(1, min(size * 9 // 10, size * room // tokens))
    end = begin + size
    if end >= len(text):
        return text[begin:] or _NOTHING
    border = text.rfind("\n", begin + size // 2, end) + 1  # whole lines, where they are short
    end = border or end
    note = f"[characters {begin} to {end} of {len(text)}; read on with start={end}]"
    return f"{text[begin:end].removesuffix(chr(10))}\n{note}"


def _range(wanted: Recall, messages: int) -> tuple[int, int]:
    ends = [end for end in (wanted.first, wanted.last) if end is not None]
    first = max(0, min(ends))
    return first, min(max(ends), messages - 1, first + MOST_MESSAGES - 1)


def _scanned(facts: RequestFacts, search: Search) -> list[int]:
    """Find the newest messages of the caller's list, by the rule that threads are searched by."""
    messages, matches = facts.source.messages, deque[int]()
    place = len(messages) - 1 if search else -1
    while place >= 0 and len(matches) < MOST_MATCHES:
        if search.finds(text_of(facts.dialect.content(messages[place]))):
            matches.appendleft(place)
        place -= 1
    return list(matches)
