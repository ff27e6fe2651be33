"""Placing: a planned request on the wire that is sent, as its provider accepts it.

What placement adds to a request is small and fixed, and is counted where it applies: a request that
would pass the maximum with it is planned again with that much room kept free.

Source:
    docs/spec/planner.md#wire
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from thusfar.dialects.base import Dialect
from thusfar.dialects.placement import Placed, PlacementNote, place
from thusfar.dialects.placement_values import CONTINUES
from thusfar.drive import Steps
from thusfar.errors import UnsupportedPartError
from thusfar.planner.planning import plan_steps
from thusfar.planner.receipt import Contribution
from thusfar.planner.sealing import Sealed
from thusfar.runtime.arguments import PlanArguments
from thusfar.runtime.crossing import crossed
from thusfar.runtime.edge import Edge
from thusfar.tokens import Measure

PLACEMENT: Final = "placement"
"""How a breakdown names the tokens of what placement adds."""


def placed_plan(edge: Edge, said: PlanArguments) -> Steps[tuple[Sealed, Placed]]:
    """Plan a request, and place it.

    Returns:
        The sealed request, whose receipt says what was changed for the provider and what that
        weighs; and its pieces as they are sent.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on the wire.
        RequestCompositionError: as `plan_steps` does.
    """
    sealed, made = yield from _with_room(edge, said)
    assert made is not None
    return sealed, made


def previewed_plan(edge: Edge, said: PlanArguments) -> Steps[Sealed]:
    """Plan a request without sending it; one that has no form on the wire is told unplaced.

    Raises:
        RequestCompositionError: as `plan_steps` does.
    """
    sealed, _ = yield from _with_room(edge, said, preview=True)
    return sealed


def _with_room(
    edge: Edge, said: PlanArguments, *, preview: bool = False
) -> Steps[tuple[Sealed, Placed | None]]:
    """Plan until there is room for what placement adds."""
    facts, room = edge.facts, 0
    while True:
        sealed: Sealed = yield from plan_steps(replace(facts, placement=room) if room else facts)
        try:
            made = placed(sealed, edge, said)
        except UnsupportedPartError:
            if preview:
                return sealed, None
            raise
        weight = placement_tokens(made, facts.measure)
        receipt = sealed.receipt
        most = receipt.max_input_tokens
        fits = most is None or receipt.input_tokens + max(0, weight - room) <= most
        if weight <= room or fits:
            return noted(sealed, made, max(0, weight - room)), made
        room = weight + facts.measure.text(CONTINUES)


def placed(sealed: Sealed, edge: Edge, said: PlanArguments) -> Placed:
    """Place a sealed request on the wire that is sent.

    Raises:
        UnsupportedPartError: `UNSUPPORTED_PART`, for a part with no form on the wire.
    """
    wire = edge.wire
    lowered = _on_the_wire(sealed, edge.facts.dialect, wire, said.leave_out)
    made = place(
        wire,
        lowered.messages,
        system=sealed.request.system,
        tools=sealed.request.tools,
        model=edge.facts.model,
        spoken=lowered.spoken,
        prefix_kept=_keeps_prefix(sealed),
        cache=said.cache,
    )
    if lowered.origins is None:
        return made
    lost = (PlacementNote(code="tools-left-out"),) if said.tools_left_out else ()
    return msgspec.structs.replace(
        made, notes=(*lowered.notes, *lost, *_traced(made.notes, lowered.origins))
    )


class _Lowered(NamedTuple):
    """The messages on the wire.

    Attributes:
        messages: In order.
        spoken: How many of them are the summary.
        origins: The message of the request that each was written from. `None`: that very one.
        notes: What was changed to lower them, with positions in the request.
    """

    messages: list[Any]
    spoken: int
    origins: list[int] | None = None
    notes: tuple[PlacementNote, ...] = ()


def _on_the_wire(sealed: Sealed, dialect: Dialect, wire: Dialect, leave_out: bool) -> _Lowered:
    """Lower the messages, where the wire is another one."""
    messages = sealed.request.messages
    if wire is dialect:
        return _Lowered(list(messages), sealed.spoken)
    made, origins, notes = crossed(messages, dialect, wire, leave_out=leave_out)
    view = sealed.receipt.history.view
    start = view.system if view is not None else 0
    spoken = sum(start <= origin < start + sealed.spoken for origin in origins)
    return _Lowered(made, spoken, origins, notes)


def _traced(notes: Sequence[PlacementNote], origins: list[int]) -> list[PlacementNote]:
    """Write positions as those of the request."""
    return [
        msgspec.structs.replace(
            note, positions=tuple(sorted({origins[place] for place in note.positions}))
        )
        for note in notes
    ]


def _keeps_prefix(sealed: Sealed) -> bool:
    """Whether the view has all that was before each of its messages when it was made."""
    history = sealed.receipt.history
    view = history.view
    if view is None:
        return True
    return not (view.omitted or view.summarised or view.repairs or history.shortened)


def placement_tokens(made: Placed, measure: Measure) -> int:
    """Count what placement added. Unit: tokens."""
    return sum(map(measure.text, made.added)) + measure.tools(made.stubs)


def noted(sealed: Sealed, made: Placed, weight: int) -> Sealed:
    """Write into the receipt and the inspection what was changed for the provider.

    Args:
        sealed: The request.
        made: The same as placed.
        weight: What placement added that is not counted yet. Unit: tokens.
    """
    if not made.notes:
        return sealed
    receipt = msgspec.structs.replace(
        sealed.receipt,
        placement=made.notes,
        input_tokens=sealed.receipt.input_tokens + weight,
    )
    if not weight:
        return replace(sealed, receipt=receipt)
    before = sealed.inspection
    counted = dict(before.breakdown)
    counted[PLACEMENT] = counted.get(PLACEMENT, 0) + weight
    others = [each for each in before.contributions if each.id != PLACEMENT]
    inspection = msgspec.structs.replace(
        before,
        contributions=(*others, Contribution(id=PLACEMENT, tokens=counted[PLACEMENT])),
        breakdown=tuple(sorted(counted.items(), key=lambda pair: -pair[1])),
    )
    return replace(sealed, receipt=receipt, inspection=inspection)
