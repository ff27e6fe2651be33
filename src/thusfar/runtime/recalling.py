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
from thusfar.summaries.rendering import quoted, shortened
from thusfar.words import Search, text_of

MOST_MESSAGES: Final = 50  # messages shown at once; the model may ask again
MOST_MATCHES: Final = 10
MOST_CHARS: Final = 40_000  # about ten thousand tokens: an answer must fit the next request
_NOTHING: Final = "(nothing found)"


class Recall(msgspec.Struct, frozen=True, kw_only=True):
    """What a model asked for; positions are those that a digest shows.

    Attributes:
        first: First message.
        last: Last message.
        search: Words that a message has, in any order; see `thusfar.words`.
        handle: Handle of a contributor.
    """

    first: int | None = None
    last: int | None = None
    search: str | None = None
    handle: str | None = None


def read_arguments(arguments: str | Mapping[str, Any]) -> Recall:
    """Read the arguments of a tool call.

    Raises:
        TranscriptError: `INVALID_TRANSCRIPT`, when they are not what the tool takes.
    """
    value = (
        parse_json(arguments, where="the arguments") if isinstance(arguments, str) else arguments
    )
    try:
        return msgspec.convert(dict(value), Recall)
    except (msgspec.ValidationError, TypeError, ValueError):
        raise TranscriptError(
            "The arguments of recall were not what it takes.",
            fix="Pass first and last, search, or handle.",
        ) from None


def recall_answer(facts: RequestFacts, wanted: Recall) -> Steps[str]:
    """Answer a call of the tool.

    Args:
        facts: The facts of the request that offered the tool.
        wanted: What the model asked for.
    """
    if wanted.handle is not None:
        text: str | None = yield RunStore(steps=recall_steps(wanted.handle))
        return _NOTHING if text is None else shortened(text, MOST_CHARS)
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
    return shortened(quoted(found), MOST_CHARS) if found else _NOTHING


def _range(wanted: Recall, messages: int) -> tuple[int, int]:
    first = max(0, wanted.first if wanted.first is not None else wanted.last or 0)
    last = min(messages - 1, wanted.last if wanted.last is not None else first)
    return first, min(last, first + MOST_MESSAGES - 1)


def _scanned(facts: RequestFacts, search: Search) -> list[int]:
    """Find the newest messages of the caller's list, by the rule that threads are searched by."""
    messages, matches = facts.source.messages, deque[int]()
    place = len(messages) - 1 if search else -1
    while place >= 0 and len(matches) < MOST_MATCHES:
        if search.finds(text_of(facts.dialect.content(messages[place]))):
            matches.appendleft(place)
        place -= 1
    return list(matches)
