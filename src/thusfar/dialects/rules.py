"""Wire rules: what a provider refuses, as data, and the one validator over them.

Every rule cites where it comes from: a provider's page with the date it was read, or a recorded
refusal. The command `lint`, projections, plans and the model adapters all use `check_wire`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """A request as its rules see it.

    Attributes:
        messages: The messages on the wire, in order, as plain mappings.
        system: The system text outside the list, where the wire has it; `None` when absent.
        tools: Tool definitions of the request; `None` when unknown, and then rules about
            them do not apply.
        continued: Whether the provider already holds what came before these messages (a
            previous response, a stored conversation); pairs are then judged only within them.
    """

    messages: Sequence[Any]
    system: Any = None
    tools: Sequence[Any] | None = None
    continued: bool = False


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One place where a request breaks a rule. Never content.

    Attributes:
        rule: Stable name of the rule, `dialect/short-name`.
        position: Index of the message.
        statement: What the provider requires.
    """

    rule: str
    position: int
    statement: str


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a provider refuses.

    Attributes:
        name: Stable name, `dialect/short-name`.
        statement: What must hold, in one sentence.
        source: Provider page with the date it was read, or the recorded refusal.
        check: Yields the positions that break it, in order.
    """

    name: str
    statement: str
    source: str
    check: Callable[[Wire], Iterable[int]]


def check_wire(rules: Iterable[Rule], wire: Wire) -> tuple[Finding, ...]:
    """Run every rule over a request and list what breaks, by position then rule."""
    found = [
        Finding(rule=rule.name, position=position, statement=rule.statement)
        for rule in rules
        for position in rule.check(wire)
    ]
    return tuple(sorted(found, key=lambda finding: (finding.position, finding.rule)))
