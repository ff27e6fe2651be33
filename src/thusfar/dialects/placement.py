"""Placement: a view as its provider accepts it, changed as little as that takes.

A view is exact: the caller's messages in the order in which they were said. Providers refuse some
of what is true of real conversations: a model that speaks first, two users in a row, system text in
the middle, empty texts, ids of another provider. Each wire has a module that says what is done
about it; every change is a copy and has a note, and the caller's objects stay as they are.

Source:
    docs/spec/placement.md
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import msgspec

from thusfar.dialects.base import Dialect
from thusfar.dialects.placement_cache import MARKING, breakpoints
from thusfar.dialects.placement_text import without_surrogates
from thusfar.dialects.placement_values import Placed, PlacementCode, PlacementNote

__all__ = ["PROVIDERS", "Placed", "PlacementCode", "PlacementNote", "place"]

_HOMES: Final = {
    "anthropic": "anthropic",
    "bedrock-converse": "bedrock_converse",
    "gemini": "gemini",
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
}

PROVIDERS: Final = frozenset(_HOMES)
"""Wires that a provider speaks, and so refuses messages on."""


def place(
    dialect: Dialect,
    messages: Sequence[Any],
    *,
    system: Any = None,
    tools: Sequence[Any] | None = None,
    model: str | None = None,
    spoken: int = 0,
    stable: int | None = None,
    prefix_kept: bool = True,
    cache: bool = False,
) -> Placed:
    """Place a view for the provider of a wire.

    A dialect that no provider speaks is placed as it is. Placing what was placed changes nothing,
    and a conversation that goes on keeps the head that was placed.

    Args:
        dialect: The wire that is sent; the messages are in it.
        messages: The view: a leading run of system messages, the summary, then the rest.
        system: The system value outside the list.
        tools: The tool definitions that are sent. `None`: not known, and then none are added.
        model: Name of the model, for what differs between models of one wire.
        spoken: How many messages behind the leading system run are a summary.
        stable: How many messages at the head stay in the next request, for cache breakpoints.
            `None`: those up to the end of the summary.
        prefix_kept: Whether all that was before the messages when they were made is still there.
        cache: Whether to set cache breakpoints, where the caller set none and the wire has them.

    Returns:
        The request. A legal view comes back with the very objects given.

    Source:
        docs/spec/placement.md
    """
    home = _HOMES.get(dialect.name)
    if home is None:
        return Placed(
            messages=list(messages),
            system=system,
            tools=None if tools is None else tuple(tools),
            places=tuple((at,) for at in range(len(messages))),
        )
    writer = getattr(import_module(f"thusfar.dialects.placement_{home}"), f"place_{home}")
    clean = without_surrogates(system)
    placed: Placed = writer(
        messages,
        system=clean,
        tools=tools,
        model=model,
        spoken=spoken,
        prefix_kept=prefix_kept,
    )
    if clean is not system:
        notes = (*placed.notes, PlacementNote(code="surrogates"))
        placed = msgspec.structs.replace(placed, notes=notes)
    if not cache or dialect.name not in MARKING:
        return placed
    if stable is None:
        stable = _system_run(dialect, messages) + spoken if spoken else 0
    return _with_breakpoints(dialect, placed, model, stable)


def _system_run(dialect: Dialect, messages: Sequence[Any]) -> int:
    roles = (dialect.describe(message).role for message in messages)
    return next((at for at, role in enumerate(roles) if role != "system"), len(messages))


def _with_breakpoints(dialect: Dialect, placed: Placed, model: str | None, stable: int) -> Placed:
    """Set cache breakpoints; `stable` counts messages of the list that was given."""
    made = breakpoints(
        dialect.name,
        placed.messages,
        system=placed.system,
        tools=placed.tools or (),
        model=model,
        stable=sum(any(at < stable for at in places) for places in placed.places),
    )
    if not made.marked:
        return placed
    at = sorted({place for index in made.at for place in placed.places[index]})
    return msgspec.structs.replace(
        placed,
        messages=made.messages,
        system=made.system,
        tools=placed.tools if placed.tools is None else made.tools,
        notes=(*placed.notes, PlacementNote(code="cache-breakpoints", positions=tuple(at))),
    )
