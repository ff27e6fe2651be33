"""Selection: the highest fidelity that fits, over all ladders at once.

Fidelity compares ladder by ladder in the order of priority, so the answer does not depend on the
order in which candidates are looked at. Sizes add up, so no search is needed: a ladder takes its
best rung with which the smallest rungs of all later ladders still fit.

Source:
    docs/spec/planner.md#selection
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Representation = Literal["full", "shortened", "authored", "summary", "offload", "omitted"]
State = Literal["ready", "unprepared", "unavailable"]
RANKS: Final[dict[str, int]] = {
    "full": 0,
    "shortened": 1,
    "authored": 2,
    "summary": 3,
    "offload": 4,
    "omitted": 5,
}
Floor = tuple[int, int]
"""The best rung a ladder may still take: its rank, and among summaries how much they cover."""
HIGHEST: Final[Floor] = (0, 0)  # everything in full


@dataclass(slots=True)
class Rung:
    """One representation of a contributor.

    Attributes:
        kind: Which representation.
        tokens: Its size; for an unprepared one the least it can have.
        state: Whether it can be used, made, or neither.
        soft: Whether it may be taken only to get below the watermark.
        covers: For summaries of history: how many messages are covered.
        held: What the rung is made of, for whoever built it.
        place: Where it stands in the order of fidelity.
    """

    kind: Representation
    tokens: int
    state: State = "ready"
    soft: bool = True
    covers: int = 0
    held: Any = field(default=None, repr=False)
    place: Floor = field(init=False)

    def __post_init__(self) -> None:
        self.place = RANKS[self.kind], self.covers


@dataclass(slots=True)
class Ladder:
    """The representations of one contributor, the best first.

    Attributes:
        contributor: Its id.
        priority: Higher keeps its fidelity longer.
        order: Place of declaration.
        rungs: The representations.
    """

    contributor: str
    priority: float
    order: int
    rungs: list[Rung]

    def usable(self, floor: Floor, *, soft: bool, make: bool) -> list[Rung]:
        """List the rungs that may be taken now.

        Args:
            floor: The best that the epoch still allows; where nothing of the ladder is that low,
                its lowest rung.
            soft: Whether this is only about the watermark.
            make: Whether rungs that can be made count.
        """
        states = ("ready", "unprepared") if make else ("ready",)
        if floor > HIGHEST:
            floor = min(floor, max(rung.place for rung in self.rungs))
        return [
            rung
            for rung in self.rungs
            if rung.state in states and rung.place >= floor and (rung.soft or not soft)
        ]


Selection = dict[str, Rung]


def select(
    ladders: Sequence[Ladder],
    limit: int | None,
    *,
    fixed: int = 0,
    floors: dict[str, Floor] | None = None,
    soft: bool = False,
    make: bool = False,
) -> Selection | None:
    """Choose one rung of each ladder: the highest fidelity within the limit.

    Args:
        ladders: All contributors, history included.
        limit: Most tokens. `None`: no limit.
        fixed: Tokens of everything that has no ladder.
        floors: By contributor, the best rung that the epoch still allows.
        soft: Whether the limit is the watermark.
        make: Whether rungs that can be made count, with the least they can have.

    Returns:
        A rung for each contributor; `None` when nothing fits.
    """
    ordered = sorted(ladders, key=lambda ladder: (-ladder.priority, ladder.order))
    allowed = floors or {}
    usable = [
        ladder.usable(allowed.get(ladder.contributor, HIGHEST), soft=soft, make=make)
        for ladder in ordered
    ]
    if not all(usable):
        return None
    least = [min([rung.tokens for rung in rungs]) for rungs in usable]
    rest, used = sum(least), fixed
    chosen: Selection = {}
    for ladder, rungs, smallest in zip(ordered, usable, least, strict=True):
        rest -= smallest
        for rung in rungs:
            if limit is None or used + rung.tokens + rest <= limit:
                chosen[ladder.contributor] = rung
                used += rung.tokens
                break
        else:
            return None
    return chosen


def total(selection: Selection, fixed: int) -> int:
    """Add up a selection and everything that has no ladder."""
    return fixed + sum(rung.tokens for rung in selection.values())
