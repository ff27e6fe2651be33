"""Values of placement: what was placed, and notes of what was changed for it. Never content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

PlacementCode = Literal[
    "arguments-wrapped",
    "cache-breakpoints",
    "document-text",
    "empty-filled",
    "empty-left-out",
    "ids-left-out",
    "ids-renamed",
    "media-moved",
    "merged",
    "names-renamed",
    "parts-left-out",
    "reasoning-left-out",
    "response-fields",
    "results-moved",
    "signature-skipped",
    "summary-joined",
    "surrogates",
    "system-fenced",
    "tools-added",
    "tools-left-out",
    "trailing-space",
    "user-calls-quoted",
    "user-first",
]
"""What placement may do; each is a row of docs/spec/placement.md."""

CONTINUES: Final = "[The conversation continues.]"
"""What the user says where a provider wants the user to speak first and the view does not."""

EMPTY: Final = "[Empty.]"
"""What stands for a message or a failed result without content, where that is refused."""

DOCUMENT: Final = "[See the document.]"
"""What stands beside a document where a text is required."""

DRAWN: Final = "[The assistant made this:]"
"""What stands before an image of the model that only a message of the user may hold."""

MOST_SHOWN: Final = 8
"""Positions of a note that are shown to people."""

GONE: Final = "Offered earlier in this conversation."
"""How a tool is described that is not offered any more."""

_OPEN: Final = "<system-message>\n"
_CLOSE: Final = "\n</system-message>"


def fenced_system(text: str) -> str:
    """Write text of a system message as a part of what the user says."""
    return f"{_OPEN}{text}{_CLOSE}"


def is_made(text: str) -> bool:
    """Tell whether a text is one that placement writes, so that nobody takes it for user input."""
    return text in (CONTINUES, EMPTY, DRAWN) or (text.startswith(_OPEN) and text.endswith(_CLOSE))


class PlacementNote(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of change that a provider's rules made necessary.

    Attributes:
        code: What was done.
        positions: Indexes, in the list that was placed, of the messages concerned, ascending;
            empty for what concerns the request as a whole.
    """

    code: PlacementCode
    positions: tuple[int, ...] = ()

    def __str__(self) -> str:
        places = ", ".join(map(str, self.positions[:MOST_SHOWN]))
        more = ", …" if len(self.positions) > MOST_SHOWN else ""
        return f"{self.code} at {places}{more}" if places else self.code


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A request as its provider accepts it.

    Attributes:
        messages: The messages; those that needed no change are the objects that were given.
        system: The system value outside the list; what was given, where nothing joined it.
        tools: The tool definitions; `None` where they were not known.
        places: For each message, where it stood in the list that was given: one position, several
            for messages that were joined, none for one that was added.
        notes: What was changed, by position.
        added: The texts that were written into the messages, to be counted.
        stubs: The definitions that were added for tools that are not offered any more.
    """

    messages: list[Any]
    system: Any = None
    tools: tuple[Any, ...] | None = None
    places: tuple[tuple[int, ...], ...] = ()
    notes: tuple[PlacementNote, ...] = ()
    added: tuple[str, ...] = ()
    stubs: tuple[Any, ...] = ()


@dataclass(slots=True)
class Notes:
    """The notes of one placement while it is made."""

    found: dict[PlacementCode, set[int]] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)

    def note(self, code: PlacementCode, positions: Iterable[int] = ()) -> None:
        """Remember a change of the messages at some positions."""
        self.found.setdefault(code, set()).update(positions)

    def wrote(self, text: str) -> str:
        """Remember a text that is written into the request, and give it back."""
        self.added.append(text)
        return text

    def sealed(self) -> tuple[PlacementNote, ...]:
        """List the notes, by first position then code."""
        notes = [
            PlacementNote(code=code, positions=tuple(sorted(positions)))
            for code, positions in self.found.items()
        ]
        return tuple(sorted(notes, key=lambda note: (note.positions[:1], note.code)))
