"""Findings: what makes a transcript illegal to send as it stands, with what to do about it.

Two things are checked over the whole transcript: whether calls and results pair, whatever the
format, and the rules of the wire that the messages are in.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from thusfar._window import Window
from thusfar.cli.fixes import fix_for
from thusfar.dialects import Dialect
from thusfar.dialects.rules import Rule, Wire, check_wire
from thusfar.units import Place

DEFECT: Final = "INVALID_HISTORY_TRANSCRIPT"
RULE_BROKEN: Final = "WIRE_RULE_BROKEN"
OPEN_CALLS: Final = "HISTORY_OPEN_CALLS"

_ANSWER_RULES: Final = ("call-answered", "calls-answered")


class Complaint(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, at every position where it is. Never content.

    Attributes:
        code: `INVALID_HISTORY_TRANSCRIPT` for a call or result without the other,
            `WIRE_RULE_BROKEN` for a rule of the wire, `HISTORY_OPEN_CALLS` for the note that
            calls at the end wait for their results.
        name: Which: `orphan-result`, `unanswered-call`, `pending-call`, or the name of the rule.
        positions: Indexes of the messages, ascending.
        what: What is wrong, or for a rule what the provider requires.
        fix: One imperative sentence.
        source: Where the rule is from; empty for what is not a rule of a provider.
    """

    code: str
    name: str
    positions: tuple[int, ...]
    what: str
    fix: str
    source: str = ""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole transcript was found to be.

    Attributes:
        rules: How many rules of the wire were checked; 0 for a form that is not sent.
        findings: What a provider would refuse; empty for a legal transcript.
        notes: What is no fault but must happen before the transcript is sent.
    """

    rules: int
    findings: tuple[Complaint, ...]
    notes: tuple[Complaint, ...]


def find(messages: Sequence[Any], dialect: Dialect, wire: Wire) -> Findings:
    """Check a whole transcript.

    A call at the very end that still waits is a note: the rules that miss its result are not
    reported for it. So is a result whose call the provider may hold, where a request continues
    what the provider stores.

    Args:
        messages: The transcript.
        dialect: Its wire format.
        wire: The same messages as a request, with what is known of system text and tools.
    """
    window = Window(messages, dialect, look=len(messages))
    grouping, first = window.grouping, window.first
    waiting = {position + first for position, _ in grouping.pending}
    rules = rules_of(dialect)
    broken: dict[str, list[int]] = {}
    for found in check_wire(rules, wire):
        expected = found.position in waiting and found.rule.rpartition("/")[2] in _ANSWER_RULES
        if not expected:
            broken.setdefault(found.rule, []).append(found.position)
    by_name = {rule.name: rule for rule in rules}
    held = _orphans(grouping.orphans, first, held=wire.continued)
    complaints = [
        *(() if wire.continued else held),
        *_unanswered(grouping.unanswered, first),
        *(_broken(by_name[name], positions) for name, positions in broken.items()),
    ]
    complaints.sort(key=lambda complaint: (complaint.positions[0], complaint.code, complaint.name))
    notes = (*(held if wire.continued else ()), *_pending(grouping.pending, first))
    return Findings(rules=len(rules), findings=tuple(complaints), notes=notes)


def rules_of(dialect: Dialect) -> tuple[Rule, ...]:
    """Find the rules of a dialect: the `RULES` of the module that its class is in."""
    module = sys.modules.get(type(dialect).__module__)
    found: tuple[Rule, ...] = tuple(getattr(module, "RULES", ()))
    return found


def _orphans(orphans: Sequence[Place], first: int, *, held: bool) -> tuple[Complaint, ...]:
    """Complain about results without a call; `held`: the provider may hold their calls."""
    if not orphans:
        return ()
    what = "A result answers no call before it, or one that was answered already."
    fix = (
        "Remove the result, or put its call before it; project --repair drop leaves it out of a "
        "view."
    )
    if held:
        what = "A result answers no call of this request; the provider may hold the call."
        fix = "Send the request as it is, or project the whole conversation instead."
    return (
        Complaint(
            code=DEFECT,
            name="orphan-result",
            positions=_positions(orphans, first),
            what=what,
            fix=fix,
        ),
    )


def _unanswered(unanswered: Sequence[Place], first: int) -> tuple[Complaint, ...]:
    if not unanswered:
        return ()
    return (
        Complaint(
            code=DEFECT,
            name="unanswered-call",
            positions=_positions(unanswered, first),
            what="A call was never answered though the conversation went on.",
            fix="Add its result, or remove the call; project --repair close fills in a marked "
            "result, --repair drop leaves the call out.",
        ),
    )


def _broken(rule: Rule, positions: Sequence[int]) -> Complaint:
    return Complaint(
        code=RULE_BROKEN,
        name=rule.name,
        positions=tuple(dict.fromkeys(positions)),
        what=rule.statement,
        fix=fix_for(rule.name),
        source=rule.source,
    )


def _pending(pending: Sequence[Place], first: int) -> tuple[Complaint, ...]:
    if not pending:
        return ()
    return (
        Complaint(
            code=OPEN_CALLS,
            name="pending-call",
            positions=_positions(pending, first),
            what="The transcript ends with calls that wait for their results.",
            fix="Add the results before the next request.",
        ),
    )


def _positions(places: Sequence[Place], first: int) -> tuple[int, ...]:
    return tuple(sorted({position + first for position, _ in places}))
