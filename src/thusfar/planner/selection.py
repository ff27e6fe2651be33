"""Selection: the highest fidelity that fits, over all ladders at once.

Fidelity compares ladder by ladder in the order of priority, so the answer does not depend on the
order in which candidates are looked at. Sizes add up, so no search is needed: a ladder takes its
best rung with which the smallest rungs of all later ladders still fit. What several rungs bring and
a request has once, such as the tool `recall`, is paid by the first of them.

Source:
    docs/spec/planner.md#selection
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
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
        shared: What it needs that a request has once, whoever else needs it: name and tokens of
            each, beside its size.
        place: Where it stands in the order of fidelity.
    """

    kind: Representation
    tokens: int
    state: State = "ready"
    soft: bool = True
    covers: int = 0
    held: Any = field(default=None, repr=False)
    shared: tuple[tuple[str, int], ...] = ()
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
    rest = _Rest(usable)
    used, paid = fixed, frozenset[str]()
    chosen: Selection = {}
    for place, (ladder, rungs) in enumerate(zip(ordered, usable, strict=True), 1):
        for rung in rungs:
            now = used + rung.tokens + sum(t for name, t in rung.shared if name not in paid)
            having = paid.union(name for name, _ in rung.shared)
            if limit is None or now + rest.least(place, having) <= limit:
                chosen[ladder.contributor] = rung
                used, paid = now, having
                break
        else:
            return None
    return chosen


class _Rest:
    """The least that the ladders from a place on take, with what is paid for already.

    Args:
        usable: The rungs of each ladder.
    """

    def __init__(self, usable: Sequence[Sequence[Rung]]) -> None:
        self._costs = {n: t for rungs in usable for rung in rungs for n, t in rung.shared}
        names = sorted(self._costs)
        several = [frozenset(s) for k in range(len(names) + 1) for s in combinations(names, k)]
        self._sums = {having: _from_the_end(usable, having) for having in several}

    def least(self, place: int, paid: frozenset[str] = frozenset()) -> float:
        """Add up the smallest rungs from a ladder on; infinite where there is none."""
        return min(
            sums[place] + sum(self._costs[name] for name in having - paid)
            for having, sums in self._sums.items()
            if having >= paid
        )


def _from_the_end(usable: Sequence[Sequence[Rung]], having: frozenset[str]) -> list[float]:
    """Add up from each ladder on the smallest rungs that need no more than there is."""
    sums = [0.0]
    for rungs in reversed(usable):
        fitting = [r.tokens for r in rungs if all(name in having for name, _ in r.shared)]
        sums.append(sums[-1] + min(fitting, default=math.inf))
    return sums[::-1]


def least_total(usable: Sequence[Sequence[Rung]], fixed: int) -> int:
    """Add up the smallest rung of every ladder and everything that has no ladder."""
    return fixed + int(_Rest(usable).least(0))


def shared_tokens(rungs: Iterable[Rung]) -> int:
    """Add up what rungs share, each once. Unit: tokens."""
    return sum({name: tokens for rung in rungs for name, tokens in rung.shared}.values())


def total(selection: Selection, fixed: int) -> int:
    """Add up a selection, what its rungs share, and everything that has no ladder."""
    rungs = selection.values()
    return fixed + sum(rung.tokens for rung in rungs) + shared_tokens(rungs)
